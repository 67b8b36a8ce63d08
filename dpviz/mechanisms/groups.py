"""Groups: another mechanism for each of some disjoint parts of the data, all for one price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Final

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import ceil_to, counted, floor_to, place, probability, text
from dpviz.mechanisms.exact_parts import OTHERWISE, charged, largest_each, pairs_of_parts, without_delta
from dpviz.mechanisms.gaussian import GAUSSIAN, PRICED_BY
from dpviz.mechanisms.one_domain import product
from dpviz.mechanisms.opened_parts import opened
from dpviz.model.answers import Answer, Grouped
from dpviz.model.error import ErrorModel
from dpviz.model.goals import Goal
from dpviz.model.laws.grouped import GroupedLaw
from dpviz.model.mechanism import Bound, Choice, Cost, Mechanism, Mode, Premise, Space
from dpviz.model.partition import Partition
from dpviz.model.question import NamedParts, Question
from dpviz.model.repricing import Repricing, at_rho
from dpviz.model.source import Source, Tick, TopRules
from dpviz.model.statistic import GroupedCounts, Need, Statistic
from dpviz.model.ways import CALLED, WAYS, Way, Ways
from dpviz.privacy import discrete_gaussian
from dpviz.privacy.composition import basic
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.discrete_gaussian import Shifts, below_any_noise, epsilon_of, holds, proof, rho_of
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, ApproxDP, PureDP, RangeBounded
from dpviz.privacy.loss_distribution import PROOF, compose_fixed
from dpviz.privacy.parallel import moved, parallel, share
from dpviz.privacy.range_bounded import calibrate
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    from dpviz.model.terms import Terms
    from dpviz.noise.bits import Bits


TOGETHER: Final = "delta_of_all"
"""The name that the delta of an exact composition is kept under, beside the parameters of the mechanism."""


class Around:
    """A mechanism around another one: no page offers it."""

    revision: ClassVar[int] = 1
    repriced: ClassVar[tuple[Repricing, ...]] = ()
    names_items: ClassVar[bool] = False
    draws_records: ClassVar[bool] = False
    cuts: ClassVar[bool] = False
    serves: ClassVar[tuple[Goal, ...]] = ()
    worth_from: ClassVar[int] = 0
    first_choice: ClassVar[int] = 0

    @classmethod
    def at_price(cls, epsilon: Fraction, delta: Fraction) -> Mechanism:
        raise NotImplementedError

    @classmethod
    def fitted(cls, question: Question) -> dict[str, str]:
        return {}

    @classmethod
    def in_place_of(cls, name: str) -> tuple[str, ...]:
        return ()

    @classmethod
    def choices(cls) -> tuple[Choice, ...]:
        return ()

    def bind_first(self, question: Question, unit: Unit) -> Bound:
        """Releases of the first format are about no parts."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Groups(Around):
    """Another mechanism for each part that a question is asked by; its epsilon and delta are the price of all parts.

    inner  the mechanism, as it would be written for one question
    way    "parallel": each part costs what one unit's parts may cost together, for the unit counts in `max_parts` of
           them at most; "sequence": the prices of all parts add up; "zcdp": lists whose symbols add up as
           zero-concentrated, over the parts that a unit may count in; "product": one question about the product of the
           parts and the bins (`one_domain`); "sub-session": one that is opened and asked (`opened_parts`); "exact":
           the exact composition of the parts that one unit counts in is the price (`exact_parts`)
    delta  of "exact" alone, and needed there: of all parts together, those of the mechanism included

    Made by `session.plan(question, mechanism, by=...)`, which compares the ways, and by `session.release`.

    Privacy: parallel: `dpviz.privacy.parallel`. sequence: basic composition, Dwork, Roth 2014, Theorem 3.16. zcdp:
             the lists are the answers of a session of k symbols and one question for each part (Durfee, Rogers 2019,
             Theorem 2, repaired as `PayWhatYouGet` has it, with the zero-concentrated drift); those about parts in
             which a unit does not count have the same law without it. A unit that is replaced may leave its parts for
             others: `dpviz.privacy.parallel.moved`. Gaussian noise, in parallel parts or one after the other: the rhos
             of all parts that a unit counts in add up (Bun, Steinke 2016, Lemma 1.7), and so do its moves, whose exact
             delta is that of all of them together (`privacy.discrete_gaussian`). exact: `mechanisms.exact_parts`.
    """

    inner: Mechanism
    way: Way
    delta: Fraction | None = None

    @property
    def revision(self) -> int:  # type: ignore[override]
        """The calibration of Gaussian noise has moved once more, and that of thresholds with a delta twice."""
        given = self.inner.parameters()
        if self._moves_add_up:
            return 4
        return 5 if given.get("delta") and not self.inner.names_items else 3

    repriced: ClassVar[tuple[Repricing, ...]] = (
        Repricing(3, lambda terms: _cost(terms), "the mechanism that answered each part was charged too little"),
    )
    name: ClassVar[str] = "Groups"
    about: ClassVar[str] = "Another mechanism for each part of the data."
    delta_text: ClassVar[str] = "The mechanism that answers each part needs δ."

    @property
    def _moves_add_up(self) -> bool:
        """Whether one unit's moves of Gaussian counts in all parts are priced as one; behind thresholds they are not,
        and the price is shared out."""
        return self.inner.parameters().get("base") == GAUSSIAN and not self.inner.cuts

    def parameters(self) -> dict[str, str]:
        together = {} if self.delta is None else {TOGETHER: text(self.delta)}
        return {"way": self.way, "mechanism": self.inner.name, **together, **self.inner.parameters()}

    @classmethod
    def longest(cls, name: str) -> int:
        """Those of the inner mechanism are as long as it allows, which it checks itself."""
        return 10_000

    @classmethod
    def from_parameters(cls, parameters: dict[str, str]) -> Groups:
        from dpviz.mechanisms import mechanism

        inner = {name: value for name, value in parameters.items() if name not in ("way", "mechanism", TOGETHER)}
        way = next((way for way in WAYS if way == parameters["way"]), None)
        if way is None:
            raise ParameterError.of(parameters["way"], f"parts are answered {' or '.join(WAYS)}", "upgrade dpviz")
        delta = probability(parameters[TOGETHER], TOGETHER, zero=False) if TOGETHER in parameters else None
        return cls(mechanism(parameters["mechanism"], inner), way, delta)

    @property
    def python(self) -> str:
        return self.inner.python

    def premises(self, question: Question) -> tuple[Premise, ...]:
        return self.inner.premises(question)

    def with_epsilon(self, epsilon: Fraction) -> Groups:
        return replace(self, inner=self.inner.with_epsilon(epsilon))

    def __repr__(self) -> str:
        at = "" if self.delta is None else f" at δ {text(self.delta)}"
        return f"{self.inner!r}, {CALLED[self.way]}{at}"

    def bind(self, question: Question, unit: Unit) -> Bound:
        """Share the price, and bind what answers each part. Raises ParameterError on public facts only."""
        if question.by is None or question.part is not None:
            raise ParameterError.of(
                question.text,
                "Groups answers a question about each part",
                "give by= to session.plan or session.release",
            )
        self._check(question.by, unit)
        if self.way == "product":
            return product(self, self.inner, question, question.by, unit)
        if self.way == "sub-session":
            return opened(self, self.inner, question, question.by, unit)
        bound = GroupsBound(self, question, unit, self._each(question, question.by, unit))
        if self.way == "exact":
            bound.price  # noqa: B018 - refused here where it is hardly less than the sum
        return bound

    def _check(self, by: Partition | NamedParts, unit: Unit) -> None:
        if not self.inner.parameters().get("epsilon"):
            raise ParameterError.of(
                repr(self.inner), "the price of all parts is given as epsilon, and shared out", "give epsilon"
            )
        if unit.of in (*by.columns, *by.filtered) and not unit.is_row:
            raise ParameterError.of(
                unit.of, "the column of the unit makes no parts, for whom it names is private", "ask by another column"
            )
        if (self.way == "exact") != (self.delta is not None):
            raise ParameterError.of(
                CALLED[self.way],
                "exact composition, and no other way, has a delta of its own, of all parts together",
                "give delta= beside by=" if self.way == "exact" else "leave delta= out",
            )

    def _each(self, question: Question, by: Partition | NamedParts, unit: Unit) -> Bound:
        """The bound mechanism that answers the first part: every part is answered alike."""
        first, given = question.in_parts()[0], self.inner.parameters()
        epsilon, delta = Fraction(given["epsilon"]), Fraction(given.get("delta") or 0)
        few = touched(by, unit)
        if self.way == "zcdp":
            return self._concentrated(first, by, unit, epsilon, delta)
        if self.way == "exact":
            return self._composed(first, by, unit, epsilon, delta)
        gaussian = self._moves_add_up
        if self.way == "sequence":
            if gaussian:
                return self._gaussian(first, unit, unit).bind(first, unit)
            return self._priced(*share(epsilon, delta, by.size, "add-remove")).bind(first, unit)
        if few == by.size:
            raise ParameterError.of(
                by.text,
                f"one {unit.noun} may count in all {counted(by.size, 'part')}, so their prices add up",
                f"declare bins as parts, and in how many one {unit.noun} counts: dv.Partition(domain, max_parts=n)",
            )
        inside = unit.in_part()

        def alone() -> Bound:
            if gaussian:
                return self._gaussian(first, inside, unit).bind(first, inside)
            return self._priced(*share(epsilon, delta, few, unit.relation)).bind(first, inside)

        return self._inside(unit, alone)

    def _inside(self, unit: Unit, bind: Callable[[], Bound]) -> Bound:
        """Bind the answer about a part, against one unit that comes or goes in it; a refusal says why it is so."""
        try:
            return bind()
        except ParameterError as refused:
            if unit.relation == "add-remove":
                raise
            failure = refused
        raise ParameterError.of(
            self.inner.name,
            f"the number of {unit.nouns} in a part is not public, so each part is protected against adding or removing "
            f"one {unit.noun}, and there it is refused: {failure}",
            "take a mechanism for adding and removing, or ask the parts one after the other",
        )

    def _composed(
        self, first: Question, by: Partition | NamedParts, unit: Unit, epsilon: Fraction, delta: Fraction
    ) -> Bound:
        """The answer about one part at the largest epsilon with which the exact composition of all costs what is asked.

        delta  what the deltas of the answers add up to, within that of the composition
        """
        assert self.delta is not None
        if self._moves_add_up:
            raise ParameterError.of(
                self.inner.name,
                "Gaussian noise in all parts is priced exactly without a delta of its own",
                OTHERWISE,
            )
        few = touched(by, unit)
        every = few == by.size  # each is asked about the unit itself, one after the other
        inside, relation = (unit, "add-remove") if every else (unit.in_part(), unit.relation)
        lines = few if relation == "add-remove" else 2 * few

        def at(each: Fraction) -> Bound:
            priced = self._priced(*share(lines * each, delta, few, "add-remove" if every else unit.relation))
            return priced.bind(first, inside) if every else self._inside(unit, lambda: priced.bind(first, inside))

        return at(largest_each(epsilon, self.delta, lines, lambda each: pairs_of_parts(at(each), by.size, few, unit)))

    def _priced(self, epsilon: Fraction, delta: Fraction) -> Mechanism:
        """The inner mechanism at this price."""
        given = self.inner.parameters()
        priced = {"epsilon": text(epsilon), **({"delta": text(delta)} if given.get("delta") else {})}
        return type(self.inner).from_parameters({**given, **priced})

    def _gaussian(self, first: Question, inside: Unit, unit: Unit) -> Mechanism:
        """The inner mechanism with Gaussian noise, at an epsilon for which the answers about all parts cost theirs.

        inside  the unit as the answer about one part protects it

        The variance that is drawn is tested, for wider noise is not always cheaper.
        """
        asked = self.inner.parameters()
        epsilon, delta = Fraction(asked["epsilon"]), Fraction(asked["delta"])
        whole = self.inner.bind(first, inside)
        found, alone = together(whole, unit, self.way), whole.gaussian(inside)
        if found is None or alone is None:  # nothing is drawn
            return self.inner
        each = epsilon_of(alone[1], discrete_gaussian.calibrate(found[1], epsilon, delta).variance, delta)
        step = place(each, 4) if each else Fraction(0)
        each = min(epsilon, floor_to(each, step) if step else each)
        while each > 0:
            made = self._priced(each, delta)
            drawn = together(made.bind(first, inside), unit, self.way)
            if drawn is not None and holds(drawn[1], drawn[0], epsilon, delta):
                return made
            each -= step
        raise below_any_noise(epsilon, delta)

    def _concentrated(
        self, first: Question, by: Partition | NamedParts, unit: Unit, epsilon: Fraction, delta: Fraction
    ) -> Bound:
        """Lists of which each symbol costs one step of a session over so many questions.

        A replaced unit may leave lists and enter others. In each of these a symbol costs one step, and two where the
        unit counts in a list before and after: squares add up to most where it stays in the same lists. The domains of
        all lists that change have to be agreed on, and these are most where it leaves them all.
        """
        given, few = self.inner.parameters(), touched(by, unit)
        if not {"k", "epsilon_per_item", "delta_prime", "accounting"} <= set(given) or given.get("kbar") == "private":
            raise ParameterError.of(
                self.inner.name, "only the symbols of TopK with a public kbar add up as zCDP", "take another way"
            )
        k, swapped, lists = int(given["k"]), unit.relation == "replace-one", changed(by, unit)
        if lists == 1:
            raise ParameterError.of(
                unit.text, f"one {unit.noun} counts in one part, so there is nothing to add up", "take parallel parts"
            )
        step = calibrate(epsilon, delta, k * few, lists, "zcdp", relation_factor=1 + swapped, shifts=k * lists)
        priced = {"epsilon": "", "epsilon_per_item": text(step.step), "delta": text(step.delta), "delta_prime": ""}
        each = type(self.inner).from_parameters({**given, **priced, "accounting": "zcdp"}).bind(first, unit)
        if each.item_price is None or isinstance(each.price.loss, PureDP):
            raise ParameterError.of(self.inner.name, "only lists that may end early add up so", "take another way")
        return each


def _cost(terms: Terms) -> Guarantee | None:
    """The price of Gaussian answers about all parts, from what their mechanism says of the answer about one part.

    A stored answer by parts does not say which revision of that mechanism it had, so everything that the mechanism
    says of earlier ones is asked. It goes by the noise that was drawn, and so says no more than the truth.
    """
    from dpviz.mechanisms import named

    law, given, by = terms.law, terms.mechanism.parameters, terms.question.by
    if not isinstance(law, GroupedLaw) or by is None or given["way"] == "product":
        return None
    each, inside = law.of_part(terms.unit)
    one = replace(terms, question=terms.question.in_parts()[0], law=each, unit=inside)
    costs = [repricing.cost(one) for repricing in named(given["mechanism"]).repriced]
    steps = [cost.zcdp_steps for cost in costs if cost is not None]
    rhos = [step.rho for step in steps if isinstance(step, ZCDP)]
    if not rhos:
        return None
    return at_rho(terms, _added_up(by, terms.unit, given["way"], max(rhos), None))


def touched(by: Partition | NamedParts, unit: Unit) -> int:
    """In how many parts one unit counts at most: a row in one, where no row is in two."""
    return 1 if unit.is_row and by.apart else by.cut or by.size


def changed(by: Partition | NamedParts, unit: Unit) -> int:
    """In how many parts one unit changes what is counted: one that is replaced may leave all its parts for others."""
    few, one = touched(by, unit), Fraction(1)
    return few if unit.relation == "add-remove" else int(moved(one, one, few, by.size))


def together(each: Bound, unit: Unit, way: Way) -> tuple[Fraction, Shifts] | None:
    """The variance of Gaussian noise on the counts of all parts, and how one unit moves all of them; else None.

    The parts are disjoint, so the squares of its moves add up. A unit that is replaced in a part moves its counts as
    the mechanism says.
    """
    by, found = each.question.by, each.gaussian(each.unit)
    if by is None or found is None:
        return None
    variance, alone = found
    if way == "sequence":
        return variance, alone.times(by.size)
    few = touched(by, unit)
    if unit.relation == "add-remove":
        return variance, alone.times(few)
    both = each.gaussian(unit)
    if both is None:  # a removal and an addition
        return variance, Shifts.unknown(int(moved(Fraction(alone.squared), Fraction(4 * alone.squared), few, by.size)))
    return variance, alone.over(int(moved(Fraction(alone.squared), Fraction(both[1].squared), few, by.size)))


def rho_together(each: Bound, unit: Unit, way: Way) -> Fraction | None:
    """The rho of the answers about all parts, where each is Gaussian noise; else None."""
    by, alone, found = each.question.by, each.price.zcdp_steps, together(each, unit, way)
    if by is None or not isinstance(alone, ZCDP) or isinstance(each.price.loss, PureDP):
        return None
    if found is not None:
        return rho_of(found[1], found[0])
    return _added_up(by, unit, way, alone.rho, None)


def _added_up(by: Partition | NamedParts, unit: Unit, way: str, alone: Fraction, both: Fraction | None) -> Fraction:
    """The rho of all parts: `alone` where one unit comes or goes in a part, `both` where it is replaced there."""
    if way == "sequence":
        return by.size * alone
    few = touched(by, unit)
    if unit.relation == "add-remove":
        return few * alone
    return moved(alone, 4 * alone if both is None else both, few, by.size)


def steps_together(each: Bound, unit: Unit, way: Way) -> RangeBounded | None:
    """The steps of the lists about all parts that one unit counts in, where each is made of such; else None. Of lists
    that a replaced unit leaves or enters, no such sum says what they cost."""
    by, alone = each.question.by, each.price.zcdp_steps
    if by is None or not isinstance(alone, RangeBounded) or (way != "sequence" and unit.relation == "replace-one"):
        return None
    times = by.size if way == "sequence" else touched(by, unit)
    return RangeBounded(alone.epsilon, times * alone.delta, steps=times * alone.steps, rounds=times * alone.rounds)


# ---------------------------------------------------------------- bound


@dataclass(frozen=True)
class GroupsBound(Bound):
    """Groups, bound to a question about parts and a unit.

    each  what answers the first part, and every other one like it
    """

    mechanism: Groups
    question: Question
    unit: Unit
    each: Bound

    shape: ClassVar[type[Answer]] = Grouped

    @property
    def way(self) -> Way:  # type: ignore[override]
        return self.mechanism.way

    @property
    def parts(self) -> int:
        assert self.question.by is not None
        return self.question.by.size

    @property
    def needs(self) -> Need:
        return self.each.needs

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        return self.each.ordered

    @property
    def reuse(self) -> bool:  # type: ignore[override]
        return self.each.reuse

    @property
    def max_items(self) -> int | None:
        return self.each.max_items

    @cached_property
    def price(self) -> Guarantee:
        by, unit, each = self.question.by, self.unit, self.each.price
        assert by is not None
        given, few = self.mechanism.inner.parameters(), touched(by, unit)
        asked = Fraction(given["epsilon"])
        if self.mechanism.way == "zcdp":
            rule = "Durfee, Rogers 2019, Theorem 2, with ln(1 + δ) for each symbol and the zero-concentrated drift"
            lists = changed(by, unit)
            moves = "" if lists == few else f", and so many others where it is replaced: {lists:,} in all"
            loss = ApproxDP(asked, Fraction(given["delta"]))
            rule = f"{rule}: {counted(few, 'list')} of one {unit.noun}{moves}"
            return Guarantee(loss, unit, rule, requested=asked, zcdp_steps=steps_together(self.each, unit, self.way))
        if self.mechanism.delta is not None:
            return self._composed(by, asked, self.mechanism.delta)
        rho, losses = rho_together(self.each, unit, self.way), [each.loss] * by.size
        if rho is not None and (found := together(self.each, unit, self.way)) is not None:
            return self._gaussian(*found, ZCDP(rho))
        if self.way == "sequence":
            rule = f"{each.rule}; {counted(by.size, 'part')} add up by {'basic composition' if rho is None else 'ρ'}"
        else:
            where = "one part" if few == 1 else f"at most {few:,} parts"
            rule = f"{each.rule}; McSherry 2009, parallel composition: one {unit.noun} counts in {where} of {by.size:,}"
        if rho is not None:
            loss = ApproxDP(asked, Fraction(given["delta"]))  # more than this rho nobody pays for
            return Guarantee(loss, unit, f"{rule}, {ZCDP(rho).short} in all", requested=asked, zcdp_steps=ZCDP(rho))
        whole = basic(losses) if self.way == "sequence" else parallel(losses, few, unit.relation)
        steps = steps_together(self.each, unit, self.way)
        return Guarantee(whole, unit, rule, requested=asked, zcdp_steps=steps)

    def _gaussian(self, variance: Fraction, moves: Shifts, rho: ZCDP) -> Guarantee:
        """The price of Gaussian noise on the counts of all parts: one unit moves them all at once."""
        by, unit, given = self.question.by, self.unit, self.mechanism.inner.parameters()
        assert by is not None
        asked, delta, few = Fraction(given["epsilon"]), Fraction(given["delta"]), touched(by, unit)
        rule = proof(moves, variance, asked, delta)
        assert rule is not None, "the mechanism of each part was chosen so"
        where = f"all {counted(by.size, 'part')}"
        if self.way == "parallel":
            where = f"{'one part' if few == 1 else f'at most {few:,} parts'} of {by.size:,}"
        words = (
            f"discrete Gaussian noise, priced by {PRICED_BY[rule]}; one {unit.noun} counts in {where}, whose "
            f"moves add up; {rho.short} in all under zCDP"
        )
        return Guarantee(ApproxDP(asked, delta), unit, words, requested=asked, zcdp_steps=rho)

    def _composed(self, by: Partition | NamedParts, asked: Fraction, delta: Fraction) -> Guarantee:
        """The price of the parts as a fixed list. Raises ParameterError where it is hardly less than their sum."""
        unit, few = self.unit, touched(by, self.unit)
        composed = compose_fixed(pairs_of_parts(self.each, by.size, few, unit), delta).epsilon
        epsilon = charged(asked, composed, self.without_delta)
        where = f"at most {few:,} of" if few < by.size else "all of"
        rule = (
            f"{PROOF.format(counted(few, 'answer'))}; one {unit.noun} counts in {where} {by.size:,} parts; "
            f"each: {self.each.price.rule}"
        )
        return Guarantee(ApproxDP(epsilon, delta), unit, rule, requested=asked)

    @property
    def by_sum(self) -> ApproxDP:
        """The prices of the parts that one unit counts in, added up."""
        by, losses = self.question.by, [self.each.price.loss] * self.parts
        assert by is not None
        few = touched(by, self.unit)
        return to_approx(basic(losses) if few == by.size else parallel(losses, few, self.unit.relation))

    @property
    def without_delta(self) -> Fraction:
        """The epsilon of all parts without a delta of their own: by the sum, or by the largest loss of their noise."""
        by = self.question.by
        assert by is not None
        pairs = pairs_of_parts(self.each, by.size, touched(by, self.unit), self.unit)
        return without_delta(pairs, self.by_sum.epsilon)

    @property
    def saved(self) -> str:
        if self.mechanism.delta is None:
            return ""
        total, (each, paid) = self.without_delta, (to_approx(one.price.loss) for one in (self.each, self))
        less = text(floor_to(100 * (1 - paid.epsilon / total), Fraction(1, 10)))
        by_sum = text(ceil_to(total, Fraction(1, 10**6)))
        return f"{less} % of ε {by_sum}, the sum of the parts of one {self.unit.noun}, ε {text(each.epsilon)} each"

    @property
    def space(self) -> Space:
        one = self.each.space
        return Space(bits=self.parts * one.bits, text=f"{self.parts:,} times {one.text}")

    @property
    def cost(self) -> Cost:
        one = self.each.cost
        return Cost(self.parts * one.steps, f"{self.parts:,} times {one.text}", self.parts * one.seconds)

    @cached_property
    def law(self) -> GroupedLaw:
        by, way = self.question.by, self.mechanism.way
        assert by is not None
        return GroupedLaw(self.each.law, way == "parallel" or (way == "exact" and touched(by, self.unit) < by.size))

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        each, verb = self.question.each_text, self.each.verb
        return f"{each[:1].upper()}{each[1:]}: {verb[:1].lower()}{verb[1:]}"

    def modes(self) -> tuple[Mode, ...]:
        return self.each.modes()

    def check_countable(self, source: Source) -> None:
        """Every part: each of those that filters make reads columns of its own."""
        for part in self.question.in_parts() if self.question.partition is None else self.question.in_parts()[:1]:
            source.check(part, self.each.unit, self.each.needs)

    def check_source(self, rules: TopRules) -> None:
        self.each.check_source(rules)

    def count_statistic(self, source: Source, tick: Tick | None = None) -> Statistic:
        """Each part when its turn comes."""

        def counts(at: int, part: Question) -> Statistic:
            told = None if tick is None else lambda done, of: tick(at, self.parts)
            return source.count(part, self.each.unit, self.each.needs, told)

        return GroupedCounts([partial(counts, at, part) for at, part in enumerate(self.question.in_parts())])

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Grouped:
        assert isinstance(statistic, GroupedCounts)
        return Grouped(tuple(self.each.draw(one, bits, mode=mode) for one in statistic.each()))


def ways(inner: Mechanism, question: Question, unit: Unit, delta: Fraction | None = None) -> Ways:
    """Every way bound, or why it cannot be; exact composition at a delta, where one is given."""
    found: dict[Way, Bound | ParameterError] = {}
    for way in WAYS:
        try:
            found[way] = Groups(inner, way, delta if way == "exact" else None).bind(question, unit)
        except ParameterError as refused:
            found[way] = refused
    return found


protect_module(vars())
