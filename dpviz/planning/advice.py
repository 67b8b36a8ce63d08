"""The advisor: the mechanisms that answer a question, ranked by their error for it at one price. It sees no data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpviz.boundary import as_given, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import text
from dpviz.mechanisms import REGISTRY
from dpviz.model.error import SIGNS, ErrorValue
from dpviz.model.goals import GOALS, Goal
from dpviz.model.measures import LOOK_UPS
from dpviz.model.mechanism import Bound, Mechanism, Premise
from dpviz.model.offers import Offer, by_choice
from dpviz.model.question import Question
from dpviz.model.words import reach
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.unit import Unit
from dpviz.wanted import each

if TYPE_CHECKING:
    from dpviz.model.linear import LinearError

NOTED: Final = Fraction(1, 20)
"""Errors are compared that hold 95 times in 100."""

LEGIBLE: Final = 10_000
"""Among more bars than this that are noise alone nobody finds the others."""

BADLY: Final = 2
"""A mechanism loses badly where its error is this many times that of another one."""

LONG: Final = 100
"""Of fewer bins clamped counts are not added up to see what clamping costs their sum."""

ITEMS: Final = 10
"""The largest items that are compared, where a mechanism does not say how many it lists."""

PLACES: Final = 20
"""Of a longer list the errors of so many places are compared, beside that of the first."""

WORDS: Final[Mapping[Goal, str]] = {
    "bins": "every bin",
    "ranges": "sums of ranges",
    "top": "the largest items",
    "look-ups": "any label by look-up",
    "distinct": "the number of occupied bins",
    "sample": "realistic records",
}
"""The goals in words, for a list to choose from."""


@dataclass(frozen=True)
class Advised:
    """One mechanism at a price, and its errors for what is asked.

    errors  their labels, the same for all mechanisms of an advice, and values; None where nothing bounds one
    noise   how many bins that hold nothing show a value above 0, on average, where each bin has a bar
    reason  its place in a sentence
    """

    mechanism: Mechanism
    bound: Bound
    errors: tuple[tuple[str, ErrorValue | None], ...]
    noise: int = 0
    reason: str = ""

    @property
    def name(self) -> str:
        return self.mechanism.name

    @property
    def worst(self) -> Fraction | None:
        """The largest of its errors; None where nothing bounds one of them."""
        known = [value.value for _, value in self.errors if value is not None]
        return max(known) if known and len(known) == len(self.errors) else None

    @property
    def suggested(self) -> tuple[Premise, ...]:
        """The facts about the data on which its errors rest, and which are suggestions."""
        return tuple(one for one in self.mechanism.premises(self.bound.question) if one.suggested)

    @property
    def order(self) -> tuple[bool, bool, int, Fraction]:
        """Legible answers first; of these the ones whose errors rest on the fewest suggestions, as a cap that nobody
        stated; and of these the one whose largest error is the least."""
        return self.noise > LEGIBLE, self.worst is None, len(self.suggested), self.worst or Fraction(0)

    def loses_to(self, other: Advised) -> bool:
        """Whether it loses badly to another one."""
        if self.worst is None or other.worst is None or other.noise > LEGIBLE >= self.noise:
            return False
        if len(other.suggested) > len(self.suggested):
            return False
        return self.worst > BADLY * other.worst or (self.noise > LEGIBLE >= other.noise)


@dataclass(frozen=True)
class Advice:
    """The mechanisms for one question and one goal, the best first, and the refusals of the others by name."""

    question: Question
    unit: Unit
    goal: Goal
    rows: tuple[Advised, ...]
    refused: Mapping[str, str]

    def of(self, name: str) -> Advised | None:
        """The row of a mechanism."""
        return next((row for row in self.rows if row.name == name), None)


def goals_of(question: Question) -> list[Goal]:
    """The goals that a question may have, the usual one first: records are drawn, unknown keys ranked, and bins in an
    order added up where a mechanism for ranges errs less than noise on every bin."""
    if not question.aggregate.additive:
        return ["sample"]
    if not question.domain.declared:
        return ["top", "bins", "look-ups", "distinct"]
    found: list[Goal] = ["bins", "ranges", "top", "look-ups", "distinct"]
    return found if question.domain.usual_ranges else [goal for goal in found if goal != "ranges"]


def advise(
    question: Question,
    unit: Unit,
    epsilon: Fraction,
    delta: Fraction = Fraction(0),
    goal: Goal | None = None,
    items: int | None = None,
) -> Advice:
    """Rank the mechanisms for a question by the error of their answers at one price.

    Parameters
    ----------
    question : Question
        The question, which is asked within the limits of the unit.
    unit : Unit
        The privacy unit.
    epsilon : Fraction
        The price of each, in the unit.
    delta : Fraction, default 0
        The delta that may be spent; with 0 mechanisms that need one are refused.
    goal : str, optional
        One of `GOALS`: what the answer is read for. By default the usual one for the question.
    items : int, optional
        How many of the largest are listed, where they are the goal; by default as many as each mechanism suggests.

    Returns
    -------
    Advice
        The mechanisms that answer it, the best first. Free.

    Raises
    ------
    ParameterError
        If the goal is unknown.
    """
    chosen = usual_goal(question, unit, epsilon, delta) if goal is None else known_goal(goal)
    rows, refused = [], {}
    for name, offer in each(REGISTRY.offers().items()):
        if chosen in offer.serves and (question.domain.declared or chosen == offer.serves[0]):
            try:
                row = row_of(at_price(name, question, epsilon, delta, chosen, items), question, unit, chosen)
            except ParameterError as why:
                refused[name] = str(why)
                continue
            asked = to_approx(row.bound.price.loss).delta
            if asked > delta:
                refused[name] = f"{name} costs a delta of {text(asked)}, and {text(delta)} may be spent"
            else:
                rows.append(row)
    ranked = sorted(rows, key=lambda row: row.order)
    return Advice(question, unit, chosen, tuple(_reasoned(ranked, chosen, question)), refused)


def goal_of(bound: Bound, given: str = "") -> Goal:
    """The goal that an answer is compared by: the one that is given; else the usual one of the question, where the
    mechanism serves it; else the first that it serves."""
    if given:
        return known_goal(given)
    serves, goals = bound.mechanism.serves, goals_of(bound.question)
    price = to_approx(bound.price.loss)
    quick = plain_first(bound.question, bound.unit, price.epsilon)
    if quick is not None and quick.name == bound.mechanism.name:
        return "bins"
    usual = usual_goal(bound.question, bound.unit, price.epsilon, price.delta)
    return usual if usual in serves else next((goal for goal in serves if goal in goals), usual)


def better_than(bound: Bound) -> tuple[Advised, Advice] | None:
    """The errors of a bound mechanism and the advice that it loses badly in, at no more than its price; None where it
    does not. Where it opens pages first and stands first of the advice, no other mechanism is loaded."""
    question, unit, price = bound.question, bound.unit, to_approx(bound.price.loss)
    if question.by is not None or not bound.mechanism.serves:
        return None
    quick = plain_first(question, unit, price.epsilon)
    if quick is not None and quick.name == bound.mechanism.name:
        return None
    goal = goal_of(bound)
    found = advise(question, unit, price.epsilon, price.delta, goal, bound.max_items if goal == "top" else None)
    mine = Advised(bound.mechanism, bound, errors_of(bound, goal), noise_bars(bound) if goal == "bins" else 0)
    return (mine, found) if better_text(mine, found) else None


def better_text(mine: Advised, found: Advice) -> str:
    """The first mechanism of an advice that costs no δ beyond that of a plan, with both errors, where the plan's own
    loses badly to it; else nothing."""
    spent = to_approx(mine.bound.price.loss).delta
    fair = (row for row in found.rows if to_approx(row.bound.price.loss).delta <= spent and row.name != mine.name)
    best = next(fair, None)
    if best is None or not mine.loses_to(best):
        return ""
    if mine.noise > LEGIBLE >= best.noise:
        return f"{best.mechanism.python} instead: here {_noise_text(mine, found.question)}"
    at = max(range(len(mine.errors)), key=lambda place: _value(mine, place))
    how = ", its counts sorted" if found.goal == "top" and best.bound.max_items is None else ""
    label, here = mine.errors[at]
    return (
        f"{best.mechanism.python}{how}, for the same price: {label} {error_text(best.errors[at][1])}, "
        f"here {error_text(here)}"
    )


def told_of(bound: Bound, *, rivals: bool) -> list[tuple[str, str]]:
    """The advice beside a plan, each sentence under its head: the errors of ranges of usual lengths, of a mechanism for
    them; the sum of clamped counts, where it is far wider than that of free ones; and, with `rivals`, a mechanism that
    errs far less for the same ε and δ: where a budget counts rho, one of the same ε may cost more."""
    worse = better_than(bound) if rivals else None
    found = {
        "ranges": ranges_text(bound),
        "sums": clamped_text(bound),
        "better": "" if worse is None else better_text(*worse),
    }
    return [(head, said) for head, said in found.items() if said]


def known_goal(given: object) -> Goal:
    """One of the goals. Raises ParameterError for another text."""
    found = next((goal for goal in GOALS if goal == given), None)
    if found is None:
        raise ParameterError.of(as_given(given), f"a goal is one of {', '.join(GOALS)}", "write one of these")
    return found


def first_mechanisms(
    question: Question, unit: Unit, epsilon: Fraction, delta: Fraction, goal: Goal | None = None
) -> Iterator[Mechanism]:
    """The mechanisms to open with at this price, the best first, each made when its turn comes: those of the advice,
    and then all others in the order in which they offer themselves. Where every bin has a bar that can be read, and no
    other mechanism is worth its noise at this size, none but the first is loaded. Unknown keys and records are opened
    in that order, too, where no goal is given: to compare their mechanisms loads all of them. A goal that the question
    cannot have is none."""
    seen: set[str] = set()
    goal = goal if goal in goals_of(question) else None
    chosen = goals_of(question)[0] if goal is None else goal
    if goal is not None or (question.domain.declared and question.aggregate.additive):
        quick = None if goal is not None else plain_first(question, unit, epsilon)
        if quick is not None:
            seen.add(quick.name)
            yield quick.mechanism
        advice = advise(question, unit, epsilon, delta, goal)
        chosen = advice.goal
        for row in advice.rows:
            if row.name not in seen:
                seen.add(row.name)
                yield row.mechanism
    for name in by_choice(REGISTRY.offers()):
        if name not in seen:
            with suppress(ParameterError):
                yield at_price(name, question, epsilon, delta, chosen)


def opening_words(opening: Mechanism, question: Question, unit: Unit, epsilon: Fraction, delta: Fraction) -> str:
    """Why a page opens on this mechanism and not on the one that opens pages first; empty where it is that one, or
    where their errors do not say so."""
    usual = next(iter(by_choice(REGISTRY.offers())))
    advice = advise(question, unit, epsilon, delta)
    mine, other = advice.of(opening.name), advice.of(usual)
    if opening.name == usual or mine is None or other is None or not other.loses_to(mine):
        return ""
    if other.noise > LEGIBLE >= mine.noise:
        why = f"{_noise_text(other, question)} with {usual}"
    else:
        at = max(range(len(other.errors)), key=lambda place: _value(other, place))
        label, value = other.errors[at]
        why = (
            f"{label} err by {error_text(value)} with {usual}, and by {error_text(mine.errors[at][1])} with {mine.name}"
        )
    return f"{why[:1].upper()}{why[1:]}. So the plan opens on {mine.name}."


def _value(row: Advised, place: int) -> Fraction:
    value = row.errors[place][1]
    return Fraction(0) if value is None else value.value


def plain_first(question: Question, unit: Unit, epsilon: Fraction) -> Advised | None:
    """The mechanism that opens pages first, where it stands first of the advice, too: its bars can be read, and the
    question is below the size from which one for ranges is worth its noise. None where that has to be compared."""
    offers = REGISTRY.offers()
    name = next(iter(by_choice(offers)))
    if not (question.aggregate.additive and question.domain.declared) or _long_enough(question, offers):
        return None
    try:
        row = row_of(at_price(name, question, epsilon, Fraction(0), "bins"), question, unit, "bins")
    except ParameterError:
        return None
    return row if row.noise <= LEGIBLE and row.worst is not None else None


def _long_enough(question: Question, offers: Mapping[str, Offer]) -> list[str]:
    """The mechanisms for ranges that are worth their noise, by the longest of the usual ranges."""
    longest = max((length for length, _ in question.domain.usual_ranges), default=0)
    return [name for name, offer in offers.items() if 0 < offer.worth_from <= longest]


def usual_goal(question: Question, unit: Unit, epsilon: Fraction, delta: Fraction) -> Goal:
    """The usual goal: ranges, where the mechanism that opens pages first loses badly to one for them, or refuses the
    question; else the first."""
    goals, offers = goals_of(question), REGISTRY.offers()
    if "ranges" in goals and (long_enough := _long_enough(question, offers)):
        advice = advise(question, unit, epsilon, delta, "ranges")
        best, usual = next(iter(advice.rows), None), advice.of(next(iter(by_choice(offers))))
        if best is not None and best.name in long_enough and (usual is None or usual.loses_to(best)):
            return "ranges"
    return goals[0]


def at_price(
    name: str, question: Question, epsilon: Fraction, delta: Fraction, goal: Goal, items: int | None = None
) -> Mechanism:
    """A mechanism at this price, with the parameters that the question and the goal need."""
    kind = REGISTRY[name]
    made: Mechanism = kind.at_price(epsilon, delta)
    said = made.parameters()
    fitted = kind.fitted(question)
    if goal == "ranges" and "clamp" in said:
        fitted = {**fitted, "clamp": "false"}
    if goal == "top" and items is not None and "k" in said:
        fitted = {**fitted, "k": str(items)}
    return kind.from_parameters({**said, **fitted}) if fitted else made


def row_of(mechanism: Mechanism, question: Question, unit: Unit, goal: Goal) -> Advised:
    """The errors of a mechanism for a goal. Raises ParameterError where it does not answer the question."""
    bound = mechanism.bind(question, unit)
    return Advised(mechanism, bound, errors_of(bound, goal), noise_bars(bound) if goal == "bins" else 0)


# ---------------------------------------------------------------- the errors of each goal

Errors = tuple[tuple[str, ErrorValue | None], ...]


def _of_bins(bound: Bound) -> Errors:
    """All bins at once: a reader looks for the bar that stands out. Of unknown keys any one."""
    question = bound.question
    if not question.domain.declared:
        return (("any one key", bound.error.one_bin(NOTED)),)
    return ((f"all {question.bins:,} bins" if question.bins > 1 else "the only bin", bound.error.all_bins(NOTED)),)


def _of_ranges(bound: Bound) -> Errors:
    """One bin, and a range of each usual length in the middle of the domain."""
    ranges = ((1, "one bin"), *bound.question.domain.usual_ranges)
    return tuple((label, range_error(bound, length)) for length, label in ranges)


def middle(question: Question, length: int) -> tuple[int, int]:
    """The first and the last bin of a range of this length in the middle of the domain."""
    bins = question.domain.bins_in_order
    first = bins.start + (bins.stop - bins.start - length) // 2
    return first, first + length - 1


def range_error(bound: Bound, length: int) -> ErrorValue | None:
    """The error of a range of this length, picked before looking: by its own law, or that of a sum of bins, of which
    it is half of the width."""
    first, last = middle(bound.question, length)
    own = bound.error.one_bin(NOTED) if length == 1 else bound.error.range(first, last, NOTED)
    return own if own is not None else sum_error(bound, range(first, last + 1))


def sum_error(bound: Bound, bins: range) -> ErrorValue | None:
    """Half of the width of the interval of a sum of bins, where the law needs no answer to state it."""
    error = _linear(bound, bins)
    below, above = (None, None) if error is None else error.ends(NOTED)
    if error is None or below is None or above is None:
        return None
    return ErrorValue((below.value + above.value) / 2, "exact" if error.exact else "bound", error.rule)


def ranges_text(bound: Bound) -> str:
    """The errors of ranges of usual lengths, of a mechanism whose answer is for them: `10 bins ±87, 100 bins ±100`."""
    ranges = bound.question.domain.usual_ranges
    if not bound.mechanism.worth_from or not ranges:
        return ""
    told = ", ".join(f"{label} {error_text(range_error(bound, length))}" for length, label in ranges)
    return f"{told}, 95 in 100 each"


def clamped_text(bound: Bound) -> str:
    """How wide the sum of all bins is with counts that are clamped at 0 and with free ones, where the first is more
    than twice the second; else nothing."""
    question, made = bound.question, bound.mechanism
    if made.parameters().get("clamp") != "true" or not question.domain.declared or question.bins < LONG:
        return ""
    free = type(made).from_parameters({**made.parameters(), "clamp": "false"}).bind(question, bound.unit)
    clamped, loose = (sum_error(one, range(question.bins)) for one in (bound, free))
    if clamped is None or loose is None or clamped.value <= BADLY * loose.value:
        return ""
    times = times_text(clamped.value / loose.value)
    return (
        f"the interval of all {question.bins:,} bins together is {times} as wide as with clamp=False "
        f"({error_text(loose)}), for the same price"
    )


def _linear(bound: Bound, bins: range) -> LinearError | None:
    from dpviz.model.answers.reading import Reading
    from dpviz.model.linear import Query

    if not bound.law.adds_up:
        return None
    return bound.law.linear(Query.of((bins, 1)), None, Reading(bound.question, bound.unit, bound.error, bound.clamp))


def _of_top(bound: Bound) -> Errors:
    """The error of the order: the distance of an item below the count of any later place, or above that of the last
    place where it is not listed. Of sorted noisy counts both are at most twice the error of all bins."""
    question, most = bound.question, bound.max_items
    if most is None:
        every = bound.error.all_bins(NOTED) if question.domain.declared else None
        twice = None if every is None else replace(every, value=2 * every.value, how="bound", off=None)
        return ((_place(question, most), twice),)
    places = sorted({1 + (most - 1) * step // PLACES for step in range(PLACES + 1)})
    errors = [bound.error.rank(place, NOTED) for place in places]
    known = [value for value in (*errors, bound.error.listed(NOTED)) if value is not None]
    largest = max(known, key=lambda value: value.value, default=None)
    return ((_place(question, most), None if largest is None else replace(largest, how="bound", off=None)),)


def _place(question: Question, most: int | None) -> str:
    return (
        f"the order of the {most or min(ITEMS, question.bins)} largest" if question.domain.declared else "being listed"
    )


def _of_look_ups(bound: Bound) -> Errors:
    many = bound.error.look_ups(LOOK_UPS, NOTED) or bound.error.all_bins(NOTED)
    return ("one look-up", bound.error.one_bin(NOTED)), (f"{LOOK_UPS:,} look-ups", many)


def _of_distinct(bound: Bound) -> Errors:
    return (("the number", bound.error.one_bin(NOTED)),)


def _of_sample(bound: Bound) -> Errors:
    return (("distance between the laws", bound.error.total_variation()),)


_ERRORS: Final[Mapping[Goal, Callable[[Bound], Errors]]] = {
    "bins": _of_bins,
    "ranges": _of_ranges,
    "top": _of_top,
    "look-ups": _of_look_ups,
    "distinct": _of_distinct,
    "sample": _of_sample,
}


def errors_of(bound: Bound, goal: Goal) -> Errors:
    """The errors of a bound mechanism for a goal: their labels, and values."""
    return _ERRORS[goal](bound)


def noise_bars(bound: Bound) -> int:
    """How many of the bins would show a value above 0 if all were empty, on average."""
    if not bound.question.domain.declared:
        return 0
    chance = bound.error.chance_shown(0)
    return 0 if chance is None else int(chance * bound.question.bins)


# ---------------------------------------------------------------- words


def _reasoned(rows: list[Advised], goal: Goal, question: Question) -> Iterable[Advised]:
    best = rows[0] if rows else None
    for row in rows:
        yield replace(row, reason=_reason(row, best, goal, question))


def _reason(row: Advised, best: Advised | None, goal: Goal, question: Question) -> str:
    """`All 42 bins ±13, 95 in 100; 2.8 times the error of Dense.`"""
    errors = ", ".join(f"{label} {error_text(value)}" for label, value in row.errors)
    said = f"{errors[:1].upper()}{errors[1:]}" + ("" if goal == "sample" or row.worst is None else ", 95 in 100")
    return "; ".join((said, *held_against(row, best, question))) + "."


def held_against(row: Advised, best: Advised | None, question: Question) -> list[str]:
    """The suggestions on which its errors rest, the bars of noise alone that nobody reads, and how many times the
    error of the first mechanism it has."""
    guessed = ", ".join(one.python for one in row.suggested)
    found = [f"rests on suggestions ({guessed})"] if guessed else []
    found += [_noise_text(row, question)] if row.noise > LEGIBLE else []
    ratio = None if best is None or best is row else ratio_text(row, best)
    return found if ratio is None or best is None else [*found, f"{ratio} the error of {best.name}"]


def _noise_text(row: Advised, question: Question) -> str:
    return f"about {reach_down(row.noise):,} of {question.bins:,} bins would show noise alone"


def ratio_text(row: Advised, other: Advised) -> str | None:
    """`2.8 times`, of the largest errors of both; None where it is no number, or no more than 1."""
    if row.worst is None or not other.worst or row.worst <= other.worst:
        return None
    return times_text(row.worst / other.worst)


def times_text(ratio: Fraction) -> str:
    """A ratio above 1 to two digits.

    >>> times_text(Fraction(14, 5)), times_text(Fraction(11)), times_text(Fraction(321)), times_text(Fraction(48_123))
    ('2.8 times', '11 times', '320 times', '48,000 times')
    """
    return f"{reach_down(int(ratio)):,} times" if ratio >= 99 else f"{float(ratio):.2g} times"


def reach_down(number: int) -> int:
    """A large number to two digits, rounded down."""
    unit: int = 10 ** max(0, len(str(number)) - 2)
    return number // unit * unit


def error_text(value: ErrorValue | None) -> str:
    """`±13`, `at most 36`, or that nothing bounds it."""
    return "no bound" if value is None else f"{SIGNS[value.how]}{reach(value.value)}"


protect_module(vars())
