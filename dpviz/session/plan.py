"""A plan: what a release would cost and how wrong it would be. Free, and blind to the data."""

from __future__ import annotations

import math
import pkgutil
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, cast

from dpviz.boundary import as_given, plain_arguments, protect_module, single_arguments
from dpviz.errors import DpvizError, ParameterError
from dpviz.exact import Number, place, probability, text, whole
from dpviz.mechanisms import REGISTRY
from dpviz.model.bought_together import price_of_both
from dpviz.model.error import SIGNS, ErrorModel, ErrorValue
from dpviz.model.limited import Limited
from dpviz.model.measures import MOST_LOOK_UPS, Measure, among
from dpviz.model.mechanism import Bound, Mechanism, Space
from dpviz.model.ways import CALLED, Way, Ways, best, least
from dpviz.model.words import RELEASED, Verbs, reach
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.limits import Limits
from dpviz.privacy.unit import Unit, known_unit
from dpviz.session.accountant import SYMBOLS, Budget, Remaining
from dpviz.session.stale import stale

if TYPE_CHECKING:
    from dpviz.model.biases import Biases
    from dpviz.model.combination import After
    from dpviz.model.limit_choice import SuggestedLimit
    from dpviz.model.release import Release
    from dpviz.planning.sheet import PlanSheet

NOTED = Fraction(1, 20)
"""The chance that an error in a plan's own words fails."""

CHOSEN = ("chosen", "second", "third")
"""The heads of the reasons for a mechanism that was chosen, and of the next ones."""

TEACHING_TOP = Fraction(2)
"""Where the slider ends when there is no budget."""


@dataclass(frozen=True)
class Plan:
    """State the price and the error of one release before it is paid. In teaching there is no budget.

    Parameters
    ----------
    bound : Bound
        The mechanism, bound to a question and a unit.
    budget : Budget, optional
        The budget in force; None in teaching.
    remaining : Remaining, optional
        The remaining budget; None in teaching.
    asof : str, optional
        The time at which the ledger last stated the remaining budget, where its server does not answer now.
    many : int, optional
        The number of look-ups that the error of several at once is about; None for the usual number.
    verbs : Verbs, optional
        Whether an answer is released, or drawn in a lesson.
    ways : dict, optional
        Of a question about each part, every way to share the price out: bound, or the error that refuses it.
    asked : Mechanism, optional
        The mechanism for one question, as it was asked to answer each part; None where the question has no parts.
    within : Limits, optional
        The limits that the question was asked with; None where those of the session's unit hold.
    profile : Bound, optional
        The profile that is bought with the answer; None where none is.
    reasons : tuple of str, optional
        Of a mechanism that was chosen for the question, why it was, and the errors of the next ones; empty where it was
        named.

    Raises
    ------
    UnknownArgument
        If `bound` is left out.

    Notes
    -----
    Sessions make plans (`session.plan`). A plan follows from public facts alone, so it costs nothing.
    """

    bound: Bound
    budget: Budget | None = None
    remaining: Remaining | None = None
    asof: str = ""
    many: int | None = None
    verbs: Verbs = RELEASED
    ways: Ways = field(default_factory=dict)
    asked: Mechanism | None = None
    within: Limits | None = None
    profile: Bound | None = None
    reasons: tuple[str, ...] = ()

    @classmethod
    def of_ways(
        cls,
        ways: Ways,
        asked: Mechanism,
        budget: Budget | None = None,
        remaining: Remaining | None = None,
        asof: str = "",
        verbs: Verbs = RELEASED,
    ) -> Plan:
        """Plan the way that errs least to answer a question about each part, beside all other ways.

        Parameters
        ----------
        ways : dict
            Every way to share the price out: bound, or the error that refuses it.
        asked : Mechanism
            The mechanism for one question.
        budget, remaining, asof, verbs
            As for `Plan`.

        Returns
        -------
        Plan
            The plan of the best way.

        Raises
        ------
        ParameterError
            If no way can be taken.
        """
        return cls(best(ways)[1], budget, remaining, asof, verbs=verbs, ways=dict(ways), asked=asked)

    def asked_within(self, unit: Unit) -> Plan:
        """Return the same plan, which names its limits where they are not those of a unit.

        Parameters
        ----------
        unit : Unit
            The unit of the session.

        Returns
        -------
        Plan
            The plan; its call has `limits=` where that is needed.

        Raises
        ------
        UnitError
            If the unit is no Unit.
        """
        limits = self.bound.unit.limits.besides(known_unit(unit).limits)
        named = limits.given and self.bound.question.aggregate.profiled is None
        return replace(self, within=limits) if named else self

    def taking(self, way: str) -> Plan:
        """Plan another way to share the price out.

        Parameters
        ----------
        way : str
            One of `plan.ways`.

        Returns
        -------
        Plan
            The same plan, about that way.

        Raises
        ------
        ParameterError
            If there is no such way, or it cannot be taken.
        """
        known = next((one for one in self.ways if one == way), None)
        if known is None:
            raise ParameterError.of(
                as_given(way),
                f"the price is shared out {', '.join(self.ways)}" if self.ways else "this question has no parts",
                "leave the way out: the plan takes the best one",
            )
        found = self.ways[known]
        if isinstance(found, ParameterError):
            raise found
        return replace(self, bound=found)

    @property
    def way(self) -> Way | None:
        """The planned way to share the price out, where the question is about each part; else None."""
        return cast("Way | None", self.bound.way)

    @single_arguments
    def among(self, look_ups: int) -> Plan:
        """Plan for several look-ups at once: how far off the worst of them may be.

        Parameters
        ----------
        look_ups : int
            How many look-ups: ``plan.among(10_000)``.

        Returns
        -------
        Plan
            The same plan, about that many look-ups. Free.

        Raises
        ------
        ParameterError
            If the mechanism states no error for several look-ups, or `look_ups` is no whole number above 0.
        """
        many = whole(look_ups, "look_ups", most=MOST_LOOK_UPS)
        if not any(one.among is not None for one in self.bound.measures):
            raise ParameterError.of(
                self.bound.mechanism.name,
                "this mechanism says nothing of several look-ups",
                "plan ALP, Threshold or ThresholdALP",
            )
        return replace(self, many=many)

    @property
    def price(self) -> Guarantee:
        """The guarantee that the release would be charged for: of counts and profile, where both are bought."""
        return self.bound.price if self.profile is None else price_of_both(self.bound, self.profile)

    @property
    def error(self) -> ErrorModel:
        """The error model: bounds for one bin and for all bins."""
        return self.bound.error

    @property
    def space(self) -> Space:
        """The size of the answer."""
        return self.bound.space

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The statements about the error, each with its words: ``plan.measures[0].at(beta)``."""
        return among(self.bound.measures, self.many)

    @property
    def limits(self) -> str:
        """The rows that limits of the unit may leave out, and which ends of intervals are open; of a row nothing."""
        return self.bound.limits

    @property
    def uncut(self) -> Plan | None:
        """The same question for the same price, under limits that leave out no bin of any unit.

        None where nothing is left out, where rows would be left out all the same, or where the question has parts or
        undeclared bins. Which of both errs less depends on the data: a limit saves noise, and leaves out an unknown
        number of rows.
        """
        bound, domain = self.bound, self.bound.question.domain
        if not domain.declared or self.ways or not bound.limited.cuts:
            return None
        question, unit = bound.question.limited(Limits(max_bins=domain.size, max_records=None)).resolved(bound.unit)
        if Limited(question, unit).cuts:
            return None
        with suppress(DpvizError):
            asked = {} if self.within is None else self.within.given
            named = Limits(**{**asked, **unit.limits.besides(bound.unit.limits).given})  # type: ignore[arg-type]
            return replace(self, bound=bound.mechanism.bind(question, unit), within=named, profile=None)
        return None

    @property
    def affordable(self) -> bool:
        """Whether the price fits into what is left."""
        if self.remaining is None:
            return True
        return self.remaining.admits(self.price)

    def _fitting_lines(self) -> list[str]:
        """The epsilon that would fit, and the reason why a filter cannot take the epsilon of one answer."""
        if (
            self.verbs is not RELEASED
            or not self.zcdp
            or self.remaining is None
            or self.ways
            or self.profile is not None
        ):
            return []  # parts and profiles share the price out in ways of their own
        most = largest_fitting(self.bound, self.remaining)
        if most is None:
            return []
        alone = ""
        if self.price.is_gaussian:
            alone = "; one answer alone may use the exact rule of its proof, a filter of all answers cannot"
        return [f"  fits         {type(self.bound.mechanism).__name__} of ε {text(most)} at most{alone}"]

    @plain_arguments
    def suggest_limit(
        self,
        profile: Release | list[int],
        *,
        objective: Literal["absolute", "squared"] = "absolute",
        beta: Number = "0.05",
    ) -> SuggestedLimit:
        """Suggest the limit on the bins of one user under which the planned counts err least. Free.

        Parameters
        ----------
        profile : Release or list of int
            A released profile of the same users, by all numbers of bins; or made-up numbers of users in 1, 2, … bins.
        objective : {"absolute", "squared"}, default "absolute"
            The error that is to be least: "absolute", the mean sizes of the errors of all bins together; "squared", the
            mean square of one, where losses are spread evenly over the bins.
        beta : str, float or Fraction, default "0.05"
            How often the interval of a bin may miss, above 0 and at most 1, where limits are compared by its length.

        Returns
        -------
        SuggestedLimit
            The limit, the error under every other one, and with how few users over it a limit gains anything.

        Raises
        ------
        ParameterError
            If the plan is none of users that count once in declared bins, the profile is about other bins or users, or
            an argument is outside its range.

        Notes
        -----
        All limits are tried; of two that err alike the larger is taken. The limit follows from released numbers and
        public facts, so that choosing costs nothing. Counts that are bought with it have ends that allow for the
        choice (`release.closed_by`). A tenth of both epsilons for the profile errs little more than the best share.

        Examples
        --------
        >>> import dpviz as dv, pandas as pd
        >>> stays = pd.DataFrame({"user": ["a", "b"], "month": [1, 2]})
        >>> lesson = dv.teaching(stays, seed=1, unit=dv.Unit("user"))
        >>> plan = lesson.plan(dv.Domain.integers(1, 4, column="month"), dv.Dense(1))
        >>> plan.suggest_limit([900, 60, 1, 0]).limits, plan.suggest_limit([0, 0, 0, 500]).limit
        (Limits(max_bins=2), 4)
        """
        from dpviz.model.limit_choice import suggested_limit

        if self.ways:
            raise ParameterError.of(
                "a plan with by=", "limits are compared for counts in all parts together", "plan without by="
            )
        return suggested_limit(self.bound, profile, objective, probability(beta, "beta", zero=False))

    @single_arguments
    def one_bin(self, beta: Number = "0.05") -> ErrorValue | None:
        """Return the error of one bin that is picked before looking.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often the bound may fail, above 0 and at most 1.

        Returns
        -------
        ErrorValue or None
            In rows or in the unit of a sum; None where nothing bounds it.

        Raises
        ------
        ParameterError
            If `beta` is outside its range.
        """
        return self.error.one_bin(probability(beta, "beta", zero=False))

    @single_arguments
    def all_bins(self, beta: Number = "0.05") -> ErrorValue | None:
        """Return the error of the worst of all bins.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often the bound may fail, above 0 and at most 1.

        Returns
        -------
        ErrorValue or None
            In rows or in the unit of a sum; None where nothing bounds it.

        Raises
        ------
        ParameterError
            If `beta` is outside its range.
        """
        return self.error.all_bins(probability(beta, "beta", zero=False))

    @property
    def max_items(self) -> int | None:
        """The most items that the answer names; None where it has a value per bin."""
        return self.bound.max_items

    @single_arguments
    def listed(self, beta: Number = "0.05") -> ErrorValue | None:
        """Return how far an item must lie above the first count past the rows that are read to come before ⊥.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often the bound may fail, above 0 and at most 1.

        Returns
        -------
        ErrorValue or None
            In rows; None where the answer is no list, or nothing bounds it.

        Raises
        ------
        ParameterError
            If `beta` is outside its range.
        """
        return None if self.max_items is None else self.error.listed(probability(beta, "beta", zero=False))

    @single_arguments
    def rank(self, beta: Number = "0.05") -> ErrorValue | None:
        """Return how far below the true count of the last rank a listed item may lie.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often the bound may fail, above 0 and at most 1.

        Returns
        -------
        ErrorValue or None
            In rows; None where the answer is no list, or nothing bounds it.

        Raises
        ------
        ParameterError
            If `beta` is outside its range.
        """
        level = probability(beta, "beta", zero=False)
        return None if self.max_items is None else self.error.rank(self.max_items, level)

    @single_arguments
    def after(self, release: Release, beta: Number = "0.05") -> After:
        """Plan the error of one bin once this was paid for and combined with an earlier release.

        Parameters
        ----------
        release : Release
            An earlier answer to the same question.
        beta : str, float or Fraction, default "0.05"
            How often the bound may fail, above 0 and at most 1.

        Returns
        -------
        After
            `after this, ±4`, as it follows from the two laws alone.

        Raises
        ------
        ParameterError
            If `dv.combine` would refuse the two.
        """
        from dpviz.model.combination import after
        from dpviz.model.release import Release

        if not isinstance(release, Release):
            raise ParameterError.of(as_given(release), "a plan is combined with a release", "write plan.after(release)")
        bound = self.bound
        level = probability(beta, "beta", zero=False)
        return after(release, bound.law, bound.question, bound.unit, bound.max_items, level)

    @plain_arguments
    def biases(self, columns: object, counts: object) -> Biases:
        """State the mean error of every reader of a table, for counts that you make up.

        Parameters
        ----------
        columns : str or list of str
            The columns of the table; ``[]`` for the total alone.
        counts : int or list of int
            Public or made-up counts of its cells: a whole number for all of them, or a list of the first ones, where
            all others are 0: ``[1000]`` for one full cell among empty ones.

        Returns
        -------
        Biases
            The mean error of each reader: whole numbers that are never below 0 are biased. Free.

        Raises
        ------
        ParameterError
            If the mechanism has no such readers (`dv.Marginals` has), or a count is no whole number.
        DomainError
            If the question does not have these columns.
        """
        return self.bound.law.biases(self.bound.question, self.bound.unit, columns, counts)

    @property
    def sheet(self) -> PlanSheet:
        """The plan sheet, which widgets and reports draw from."""
        if self.profile is not None:
            raise ParameterError.of(
                "a plan of counts and a profile",
                "a sheet plans one answer",
                "plan the counts without over=, and draw that plan",
            )
        if self.way == "exact":
            raise ParameterError.of(
                "a plan of exact composition",
                "a sheet plans one price, without a delta of all parts together",
                "plan without delta=, and draw that plan",
            )
        from dpviz.planning.sheet import PlanSheet

        return PlanSheet(
            question=self.bound.question,
            unit=self.bound.unit,
            mechanism=self.asked or self.bound.mechanism,
            way=self.way,
            refused={way: one for way, one in self.ways.items() if isinstance(one, ParameterError)},
            top=TEACHING_TOP if self.budget is None else self.budget.epsilon,
            offered=REGISTRY.offers(),
            made=datetime.now().strftime("%H:%M"),
            many=self.many,
            zcdp=self.zcdp,
            verbs=self.verbs,
            within=self.within,
        )

    @property
    def zcdp(self) -> bool:
        """Whether a zCDP budget pays."""
        return self.budget is not None and self.budget.filter == "zcdp"

    @plain_arguments
    def chart(self, **options: Any) -> Any:
        """Draw error against epsilon as an Altair chart; see `dpviz.charts.error_against_epsilon`.

        Parameters
        ----------
        **options
            Options of that chart.

        Returns
        -------
        altair.Chart
            The chart.

        Raises
        ------
        ParameterError
            If an option is unknown or outside its range.
        """
        return pkgutil.resolve_name("dpviz.charts:of_plan")(self.sheet, **options)

    def __repr__(self) -> str:
        from dpviz.planning import premises, thresholds

        cost = would_cost(self.price, self.budget, self.remaining, self.verbs)
        lines = [
            f"Plan (free, sees no data): {self.bound.question.text}, {self.bound.mechanism!r}",
            f"  {self.verbs.cost:<12} {cost}{stale(self.asof)}",
            f"  guarantee    {self.price.sentence}",
        ]
        if self.verbs is RELEASED or self.price.is_gaussian:  # other rules may speak of a price, and a lesson has none
            lines.append(f"  proof        {self.price.rule}")
        lines += [f"  {head:<12} {said}" for head, said in zip(CHOSEN, self.reasons, strict=False)]
        lines += [f"  saved        {self.bound.saved}"] if self.bound.saved else []
        lines += together_lines(self.price, self.remaining) if self.affordable else self._fitting_lines()
        lines += error_lines(self.bound, self.many)
        lines += [] if self.ways else advice_lines(self.bound, rivals=not self.zcdp)
        told = (thresholds.told(self.bound), premises.told(self.bound))
        lines += ["  {:<12} {}".format(*line) for line in told if line is not None]
        lines += uncut_lines(self.uncut)
        lines += profile_lines(self.bound, self.profile)
        lines += way_lines(self.ways, self.way)
        lines += rival_lines(self.bound) if self.zcdp else []
        stored = f"{self.space.bits:,} bits ({self.space.text})" if self.max_items is None else self.space.text
        lines.append(f"  space        {stored}")
        if self.bound.cost.slow:
            lines.append(f"  slow         {self.bound.cost.text}")
        return "\n".join(lines)


def error_lines(bound: Bound, many: int | None = None) -> list[str]:
    """The rows that limits may leave out, and the errors that hold 95 times in 100, one to a line; of several look-ups,
    of so many."""
    told = [one for one in among(bound.measures, many) if one.weight or one.many is not None or not one.counts]
    drawn = [(measure, measure.at(NOTED)) for measure in told]
    known = [(measure, error) for measure, error in drawn if error is not None]
    wide = max([12, *(len(measure.words) for measure, _ in known)])
    lines = [f"  {'limits':<{wide}} {bound.limits}"] if bound.limits else []
    for measure, error in known:
        sign = measure.sign or SIGNS[error.how]
        size = f"{sign}{reach(error.value)}" + (f" {bound.question.nouns(bound.unit)}" if measure.counts else "")
        ending = f" {measure.origin}" if measure.origin else ""
        chance = "" if measure.certain else ", 95 in 100"
        lines.append(f"  {measure.words:<{wide}} {size}{ending}{chance} ({error.how})")
    return lines


def advice_lines(bound: Bound, *, rivals: bool) -> list[str]:
    """The advice of `dpviz.planning.advice.told_of`, a sentence to a line."""
    from dpviz.planning.advice import told_of

    return [f"  {head:<12} {said}" for head, said in told_of(bound, rivals=rivals)]


def uncut_lines(uncut: Plan | None) -> list[str]:
    """The first error under limits that leave out no bin, and the argument that asks for it."""
    measure = None if uncut is None else uncut.measures[0]
    value = None if measure is None else measure.at(NOTED)
    if uncut is None or measure is None or value is None or uncut.within is None:
        return []
    error = f"{measure.sign or SIGNS[value.how]}{reach(value.value)}"
    return [f"  nothing cut  {measure.words} {error}, with limits={uncut.within.python}"]


def profile_lines(bound: Bound, profile: Bound | None) -> list[str]:
    """The mechanism of a profile that is bought with counts."""
    if profile is None:
        return []
    over = f"the {bound.unit.nouns} over the limit"
    return [f"  profile      {profile.mechanism!r}, in this price, closes upper ends: it counts {over}"]


def way_lines(ways: Ways, chosen: Way | None) -> list[str]:
    """Compare the other ways to share the price out, by the first measure of error."""
    if chosen is None:
        return []
    others = {way: bound for way, bound in ways.items() if way != chosen and isinstance(bound, Bound)}
    lines, why = [f"  {CALLED[way] + ':':<24} {_compared(bound)}" for way, bound in others.items()], ""
    if (bound := ways[chosen]) and isinstance(bound, Bound) and others:
        first = all(least(bound) <= least(other) for other in others.values())
        fair = ", the least error of one release that leaves nothing out" if best(ways)[0] == chosen else ""
        why = ", which errs least" if first else fair
    instead = bound.subsession_calls if isinstance(bound, Bound) else ""
    lines += [f"  ask for it   {instead}"] if instead else []
    return [f"  shared out   {CALLED[chosen]}{why}; each error is that of one part", *lines]


def _compared(bound: Bound) -> str:
    """`to be listed +48`, with what else there is to know of that way."""
    measure = bound.measures[0]
    value = measure.at(NOTED)
    error = "no error known" if value is None else f"{measure.sign or SIGNS[value.how]}{reach(value.value)}"
    beside = [measure.origin if bound.error.among else "", bound.leaves_out, bound.opening_call]
    return "; ".join(filter(None, (f"{measure.words} {error}", *beside)))


def rival_lines(bound: Bound) -> list[str]:
    """Compare noise made for zCDP budgets at no more of rho, where that is less of an error."""
    from dpviz.planning.sheet import rivals

    found = [f"{measure.short} ±{reach(value.value)}" for measure, value in rivals(bound, NOTED)]
    rival = bound.for_zcdp
    return [f"  for the same ρ {', '.join(found)}, by {rival.mechanism.python}"] if found and rival is not None else []


def largest_fitting(bound: Bound, remaining: Remaining) -> Fraction | None:
    """The largest epsilon, in steps of three digits and below that of this mechanism, whose answer fits into what
    is left; None where none does. Of noise that is calibrated a larger epsilon may fit where a smaller does not: the
    one that is found fits."""
    asked = bound.price.requested or payable(to_approx(bound.price.loss)).epsilon
    if not asked:
        return None
    step = place(asked, 3)

    def fits(steps: int) -> bool:
        with suppress(DpvizError):
            made = bound.mechanism.with_epsilon(steps * step)
            return remaining.admits(made.bind(bound.question, bound.unit).price)
        return False

    low, high = 0, math.ceil(asked / step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low * step or None


def together_lines(price: Guarantee, remaining: Remaining | None) -> list[str]:
    """The promise of a zCDP budget, and the amount that would be spent, which is no promise of this session."""
    limited = None if remaining is None else remaining.had_been_limited(price)
    if remaining is None or limited is None:
        return []
    total = f"({text(remaining.total.epsilon)}, {text(remaining.total.delta)})"
    spent = text(remaining.caps["rho"] - remaining.parts["rho"] + remaining.cost(price)["rho"])
    return [
        f"  together     all answers of this session are {total} at most, whatever is asked; had the session been",
        f"               limited to the ρ {spent} spent by then, that would be "
        f"({text(limited.epsilon)}, {text(limited.delta)})",
    ]


def would_cost(price: Guarantee, budget: Budget | None, remaining: Remaining | None, verbs: Verbs = RELEASED) -> str:
    """`ε 0.5 per person; leaves 1.5 of 2`: a price beside what is left, in words."""
    charged = payable(to_approx(price.loss))
    cost = f"ε {text(charged.epsilon)}" + (f", δ {text(charged.delta)}" if charged.delta else "")
    if price.requested is not None and price.requested != charged.epsilon:
        exactly = f" (exactly {price.exact})" if price.exact else ""
        cost = f"asked {text(price.requested)}, {verbs.pays} {cost}{exactly}"
    cost += f" per {price.unit.noun}"
    if budget is None or remaining is None:
        return cost
    if remaining.filter == "zcdp":
        booking, left = remaining.cost(price), remaining.parts
        short = [part for part in booking if booking[part] > left[part]]
        part, fits = (short[0], "more than") if short else ("rho", "of")
        return (
            f"{cost}; {SYMBOLS[part]} {text(booking[part])}, {fits} the {text(left[part])} left under the zCDP filter"
        )
    if charged.epsilon > remaining.epsilon:
        return f"{cost}; more than the {text(remaining.epsilon)} that is left"
    if charged.delta > remaining.delta:
        return f"{cost}; more than the δ {text(remaining.delta)} that is left"
    return f"{cost}; leaves {text(remaining.epsilon - charged.epsilon)} of {text(budget.epsilon)}"


protect_module(vars())
