"""The measures of an answer's error: what can be said about it before it is drawn, one by one, each with its words.

A mechanism says which measures its answers have, in the order in which they matter; the first two are the headline of a
plan. Sheets, charts and pages show the list that they are given, and know none of the names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final, Literal

from dpviz.boundary import protect_module
from dpviz.exact import text
from dpviz.laws import lower_bounds
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.limited import Limited
from dpviz.model.question import Question
from dpviz.model.words import RELEASED, Verbs

Weight = Literal["thick", "medium", "thin", ""]
"""How heavy the curve of a measure is in a chart; an empty one is told in words alone."""

HEADLINE = 2
"""The most measures that head a plan: the first ones of the list."""


@dataclass(frozen=True)
class Setting:
    """The facts that a lower bound rests on, all of them public.

    epsilon, delta  what is paid
    n     the public number of rows, where there is one
    few   whether at most n bins are shown on average, as the proof for sparse answers needs
    """

    epsilon: Fraction
    delta: Fraction
    n: int | None
    few: bool = False


@dataclass(frozen=True)
class Floor:
    """The least error of any answer at a price, in the worst case over true counts, and who proved it."""

    value: Fraction
    rule: str

    def to_json(self) -> dict[str, Any]:
        return {"value": text(self.value), "rule": self.rule}


@dataclass(frozen=True)
class Measure:
    """One statement about the error, at any chance `beta` that it fails.

    name      what a sheet calls it
    label     what a person calls it: "Any one bin"
    short     the same in two words, for a narrow chart
    phrase    the statement inside a sentence: "any one bin within {value}"
    tip       the statement explained. In `phrase` and `tip`, {value} stands for the error, {often} for how often the
              statement holds ("95 in 100") and {times} for the same as an adverb ("95 times in 100"); {done} in `tip`
              for what becomes of an answer: "released", or "drawn" in a lesson
    at        the error for a beta; None where nothing public bounds it
    sign      of an error with one side, what stands before the number: "+" or a minus sign; else empty
    origin    of an error with one side, what it is measured from: "above the 51st count"
    missing   why there is no error, where `at` gives none
    weight    how heavy its curve is
    pictured  whether the picture of equally likely errors, `ErrorModel.quantiles`, is about this measure
    given     the error for a beta of a bin whose true count is known, where that makes a difference
    floor     the least error that is possible for a beta, where a lower bound is known
    counts    whether the error is so many rows or units; a factor is not
    certain   whether the statement holds for sure, so that no chance that it fails is told beside it
    many      of a statement about several look-ups at once, how many they are
    among     the same statement about another number of them
    """

    name: str
    label: str
    short: str
    phrase: str
    tip: str
    at: Callable[[Fraction], ErrorValue | None]
    sign: str = ""
    origin: str = ""
    missing: str = ""
    weight: Weight = "medium"
    pictured: bool = False
    given: Callable[[Fraction, int], ErrorValue | None] | None = None
    floor: Callable[[Fraction, Setting], Floor | None] | None = None
    counts: bool = True
    certain: bool = False
    many: int | None = None
    among: Callable[[int], Measure] | None = None

    def phrased(self, value: str) -> str:
        """The statement with its error. Names of columns and bins stand before the error, and may hold braces."""
        before, _, after = self.phrase.rpartition("{value}")
        return f"{before}{value}{after}"

    @property
    def words(self) -> str:
        """The label inside a sentence."""
        return self.label[:1].lower() + self.label[1:]

    def to_json(self, verbs: Verbs = RELEASED, limited: Limited | None = None) -> dict[str, Any]:
        """The measure as a sheet carries it: its words, without its values.

        limited  the limits of the unit: where they may leave rows out, the error is that of what is counted
        """
        tip = self.tip.replace("{done}", verbs.done)
        return {
            "name": self.name,
            "label": self.label,
            "short": self.short,
            "phrase": self.phrase,
            "tip": tip if limited is None else limited.of_counted(tip),
            "sign": self.sign,
            "origin": self.origin,
            "missing": self.missing,
            "weight": self.weight,
            "pictured": self.pictured,
            **({"certain": True} if self.certain else {}),
            **({} if self.many is None else {"many": str(self.many)}),
        }


def values_json(measures: tuple[Measure, ...], beta: Fraction) -> dict[str, Any]:
    """The values of all measures at one beta, by name; what has none is left out."""
    values = {measure.name: measure.at(beta) for measure in measures}
    return {name: value.to_json() for name, value in values.items() if value is not None}


def headline(measures: tuple[Measure, ...]) -> tuple[Measure, ...]:
    """The measures that head a plan."""
    return measures[:HEADLINE]


# ---------------------------------------------------------------- of values per bin


def of_bins(error: ErrorModel, question: Question) -> tuple[Measure, ...]:
    """The measures of an answer with a value per bin: any one bin, all at once, and an empty one."""
    return one_bin(error, question), all_bins(error, question), empty_bin(error)


def one_bin(error: ErrorModel, question: Question) -> Measure:
    """Bound the error of one bin, picked before looking."""
    return Measure(
        name="one",
        label="Any one bin",
        short="one bin",
        phrase="any one bin within {value}",
        tip="Pick a bin before looking: at least {times} its {done} value is within {value} of the truth.",
        at=error.one_bin,
        missing="this mechanism states no error per bin",
        weight="thick",
        pictured=True,
        given=lambda beta, count: error.one_bin(beta, count=count),
        floor=partial(_one_bin_floor, question),
    )


_WITHIN: Final = "is within {value}"


def all_bins(error: ErrorModel, question: Question) -> Measure:
    """Bound the error of the worst of all bins."""
    use = "Use it to compare bins, or when one caught your eye."
    if not question.domain.declared:
        label, short, phrase, tip = (
            "All bins at once",
            "all bins",
            "all that are occupied",
            f"every bin {_WITHIN}. {use}",
        )
    elif question.bins == 1:
        label, short, phrase, tip = (
            "The only bin",
            "the only bin",
            "the only bin",
            f"the only bin {_WITHIN} of the truth.",
        )
    else:
        many = f"all {question.bins:,}"
        label, short, phrase = f"A{many[1:]} at once", many, many
        tip = f"every one of the {question.bins:,} {_WITHIN}. {use}"
    return Measure(
        name="all",
        label=label,
        short=short,
        phrase=f"{phrase} within {{value}}",
        tip=f"At least {{times}} {tip}",
        at=error.all_bins,
        missing="nothing public says how many bins are occupied, so no bar holds for all of them",
        weight="thin",
        floor=partial(_all_bins_floor, question),
    )


def empty_bin(error: ErrorModel) -> Measure:
    """Bound the error of a bin that nobody is in."""
    return Measure(
        name="edge",
        label="An empty bin",
        short="empty bin",
        phrase="an empty bin within {value}",
        tip="At least {times} the {done} value of an empty bin is within {value} of 0.",
        at=lambda beta: error.one_bin(beta, count=0),
        weight="",
    )


LOOK_UPS: Final = 1000
"""A plan says how far off the worst of so many look-ups may be, where nobody gives another number."""

MOST_LOOK_UPS: Final = 10**9
"""The most look-ups that one statement is about."""


def look_ups(error: ErrorModel, many: int = LOOK_UPS) -> Measure:
    """Bound the worst error of this many look-ups, of keys that were picked before looking."""
    return Measure(
        name="look_ups",
        label=f"{many:,} look-ups at once",
        short=f"{many:,} look-ups",
        phrase=f"all of {many:,} look-ups within {{value}}",
        tip=f"Pick {many:,} keys before looking: at least {{times}} every one of them is read within {{value}} of the "
        "truth.",
        at=partial(error.look_ups, many),
        missing="nothing is proved of several look-ups at once",
        weight="",
        many=many,
        among=partial(look_ups, error),
    )


def among(measures: tuple[Measure, ...], many: int | None) -> tuple[Measure, ...]:
    """The measures; those of several look-ups about so many of them, where a number is given."""
    if many is None:
        return measures
    return tuple(one if one.among is None else one.among(many) for one in measures)


def _one_bin_floor(question: Question, beta: Fraction, setting: Setting) -> Floor:
    epsilon, delta, n = setting.epsilon, setting.delta, setting.n
    floor = Floor(lower_bounds.one_bin(epsilon, beta, n=n, delta=delta), "Balcer, Vadhan 2018, Theorem 7.1")
    if not (question.domain.declared and n is not None and setting.few):
        return floor
    sparse = lower_bounds.sparse(epsilon, beta, bins=question.bins, shown=n, n=n, delta=delta)
    return Floor(sparse, "Balcer, Vadhan 2018, Theorem 7.2") if sparse > floor.value else floor


def _all_bins_floor(question: Question, beta: Fraction, setting: Setting) -> Floor | None:
    if not question.domain.declared or question.bins < 2:
        return None
    least = lower_bounds.all_bins(setting.epsilon, beta, bins=question.bins, n=setting.n, delta=setting.delta)
    return Floor(least, "Balcer, Vadhan 2018, Theorem 7.1")


# ---------------------------------------------------------------- measures of a list


def next_count(error: ErrorModel) -> str:
    """The first count that is not read, in words: its place is public, unless it was chosen privately."""
    return "the next count" if error.next_place is None else f"the {count_of(error, error.next_place)}"


def count_of(error: ErrorModel, place: int) -> str:
    """The count in a place, in words: `51st count`, or `601st count of all parts`."""
    return " ".join(filter(None, (f"{ordinal(place)} count", error.among)))


def to_be_listed(error: ErrorModel, comes: str = "comes before ⊥") -> Measure:
    """Bound how far above the first count that is not read an item must lie to be listed; of a list that ends with ⊥,
    to come before it, unless its places are filled by then."""
    count = next_count(error)
    return Measure(
        name="listed",
        label="To be listed",
        short="listed",
        phrase=f"an item {{value}} above {count} {comes}",
        tip=f"An item {{value}} above {count} {comes} at least {{times}}.",
        at=error.listed,
        sign="+",
        origin=f"above {count}",
    )


def at_worst(error: ErrorModel, most: int) -> Measure:
    """Bound how far below the true count of the last of `most` places a listed item may lie."""
    count = f"the {count_of(error, most)}"
    return Measure(
        name="rank",
        label="Listed at worst",
        short="at worst",
        phrase=f"none listed is more than {{value}} below {count}",
        tip=f"At least {{times}} no listed item lies more than {{value}} below {count}.",
        at=lambda beta: error.rank(most, beta),
        sign="\u2212",
        origin=f"below {count}",
    )


def any_value(error: ErrorModel) -> Measure:
    """Bound the error of the released value of one item, picked before looking."""
    return Measure(
        name="one",
        label="Any one value",
        short="one value",
        phrase="the value of any one item within {value}",
        tip="Pick an item before looking: at least {times} its noisy count is within {value} of the truth.",
        at=error.one_bin,
        weight="thick",
        pictured=True,
    )


def all_values(error: ErrorModel) -> Measure:
    """Bound the error of the released value of any item, whichever are listed."""
    return Measure(
        name="all",
        label="All values at once",
        short="all values",
        phrase="all values within {value}",
        tip="At least {times} every value is within {value}. Use it to compare items, or when one caught your eye.",
        at=error.all_bins,
        weight="thin",
    )


def ordinal(place: int) -> str:
    """`1st`, `2nd`, `3rd`, `4th`, `11th`."""
    ending = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place:,}{ending}"


protect_module(vars())
