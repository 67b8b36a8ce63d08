"""Contribution limits of a unit: which part of an answer they may leave out, and which ends of intervals still hold.

A release counts what is left within the limits. Where a limit can leave something out, an interval holds for what was
counted; of what was asked it states the ends that follow, and leaves the others open. All of it is decided by the
question, the limits, the declared bins and declared facts, and never by looking at data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from dpviz.boundary import protect_module
from dpviz.model.aggregate import Sum
from dpviz.model.question import Question
from dpviz.privacy.unit import FACTS, Unit, plural, plural_of

End = TypeVar("End")

LEFT_OUT: Final = "This says nothing of the rows that were left out."
"""Follows a p-value, which is about counted rows."""

COUNTED: Final = (
    ("the truth", "what is counted within the limits"),
    ("true value", "counted value"),
    ("true count", "counted number"),
)
"""The words for a number without noise, and those for it where a limit may leave rows out."""

WITHIN: Final = "counted within the limits"
"""Stands beside an interval that holds for what was counted."""


@dataclass(frozen=True, slots=True)
class Limited:
    """Say what the limits of a unit may leave out of the answer to one question.

    Parameters
    ----------
    question : Question
        The question.
    unit : Unit
        The unit, with its limits.
    together : int, default 1
        The number of parts whose bins share `max_bins`, where `max_parts` leaves out nothing; 1 where the limit holds
        for the bins of this question alone.

    Notes
    -----
    Let x be what a unit counts with in a bin, and r what it has there: 0 <= x <= r, so for counts, and for sums of
    values that are not negative, a lower end for the counted number is one for the number that was asked. The upper end
    follows from nothing. For sums of values that are not positive both are exchanged; for all others, differences and
    shares neither end follows.

    A unit is in at most k bins, the least of the declared bins, `most_bins` and `most_records`, with at most r rows in
    each, the lesser of `most_per_bin` and `most_records`. Whole bins are left out only where `max_bins` < k, rows where
    `max_per_bin` < r, or where `max_records` is below both k r and `most_records`.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> months = Question(Domain.integers(1, 12, column="month"))
    >>> Limited(months, Unit("aircraft", max_bins=3)).ends, Limited(months, Unit("aircraft", max_bins=12)).cuts
    ((True, False), False)
    >>> Limited(months, Unit("aircraft", max_bins=3, most_records=3)).sentence
    'Nothing is left out if, as declared, no aircraft has more than 3 rows.'
    """

    question: Question
    unit: Unit
    together: int = 1

    @property
    def cuts(self) -> bool:
        """Whether a limit can leave something out: not of a profile, which counts each unit once, before any limit."""
        if self.question.aggregate.profiled is not None:
            return False
        return self._bins or self._rows or self._parts

    @property
    def _bins(self) -> bool:
        """Whether whole bins of a unit may be left out."""
        most, filled = self.unit.max_bins, self._filled
        return not self.unit.is_row and most is not None and (filled is None or most < filled)

    @property
    def _rows(self) -> bool:
        """Whether rows in a kept bin may be left out: not where units in the bin are counted, each once."""
        unit, filled = self.unit, self._filled
        if unit.is_row or (self.question.aggregate.counts and unit.max_per_bin == 1):
            return False
        each = _least(unit.most_per_bin, unit.most_records)
        if each is None or unit.max_per_bin < each:
            return True
        every = _least(unit.most_records, None if filled is None else filled * each)
        return unit.max_records is not None and (every is None or unit.max_records < every)

    @property
    def _parts(self) -> bool:
        """Whether whole parts of a unit may be left out."""
        parts, rows = self.question.partition, self.unit.most_records
        if self.unit.is_row or self.together > 1 or parts is None or parts.cut is None:
            return False
        return rows is None or parts.cut < rows

    @property
    def _filled(self) -> int | None:
        """The most bins that one unit can have rows in; None where nothing public says it."""
        domain, unit = self.question.domain, self.unit
        bins = None if unit.most_bins is None else unit.most_bins * self.together
        return _least(domain.size * self.together if domain.declared else None, bins, unit.most_records)

    @property
    def _resting(self) -> Unit | None:
        """The unit with the facts alone that it rests on that nothing is left out; None where it rests on none."""
        if self.cuts or not self.unit.facts or not replace(self, unit=self.unit.with_facts()).cuts:
            return None
        unit = self.unit
        for fact in FACTS:
            fewer = replace(unit, **{fact: None})  # type: ignore[arg-type]
            unit = unit if replace(self, unit=fewer).cuts else fewer
        return unit

    @property
    def ends(self) -> tuple[bool, bool]:
        """Whether the lower and the upper end for a counted number hold for the number that was asked."""
        if not self.cuts:
            return True, True
        aggregate = self.question.aggregate
        if not aggregate.additive:
            return False, False
        return (aggregate.low >= 0, aggregate.high <= 0) if isinstance(aggregate, Sum) else (True, False)

    def opened(self, low: End | None, high: End | None) -> tuple[End | None, End | None]:
        """The ends for what was asked, from those for what was counted; None where an end is open."""
        stands = self.ends
        return low if stands[0] else None, high if stands[1] else None

    # ------------------------------------------------------------ words

    @property
    def _bin(self) -> str:
        """The noun of a bin of the question."""
        each = self.question.domain.each
        return "bin" if " " in each or self.together > 1 else each

    @property
    def _most(self) -> list[str]:
        """The limits that can leave something out: `at most 3 of 12 months`."""
        unit, domain, parts = self.unit, self.question.domain, self.question.partition
        found = []
        if self._parts and parts is not None and parts.cut is not None:
            found.append(f"in at most {parts.cut:,} of {parts.size:,} parts")
        if self._bins and unit.max_bins is not None:
            many = plural_of(unit.max_bins, self._bin)
            if domain.declared:
                many = f"{unit.max_bins:,} of {domain.size * self.together:,} {plural(self._bin)}"
            found.append(f"in at most {many}")
        if self._rows:
            found.append(f"with at most {plural_of(unit.max_per_bin, 'row')} in each {self._bin}")
        if self._rows and unit.max_records is not None:
            found.append(f"with at most {plural_of(unit.max_records, 'row')} in all")
        return found

    @property
    def limit(self) -> str:
        """`Each aircraft counts in at most 3 of 12 months.`; empty where nothing can be left out."""
        return f"Each {self.unit.noun} counts {', '.join(self._most)}." if self.cuts else ""

    @property
    def effect(self) -> str:
        """The consequence for intervals, as a sentence; empty where nothing can be left out."""
        if not self.cuts:
            return ""
        aggregate = self.question.aggregate
        if not aggregate.additive:
            return "The rest is left out, and records are drawn from what counts."
        values = aggregate.noun
        so = {
            (True, False): "may be larger: lower ends hold for them, upper ends are open",
            (False, True): "may be smaller: upper ends hold for them, lower ends are open",
        }.get(self.ends, "may be larger or smaller: both ends are open")
        return f"The rest is left out, so the {values} asked for {so}."

    @property
    def declared(self) -> str:
        """The facts that it rests on that nothing is left out, as a sentence; empty where it rests on none."""
        unit = self._resting
        if unit is None:
            return ""
        said = []
        if unit.most_bins is not None:
            said.append(f"is in more than {plural_of(unit.most_bins, self._bin)}")
        if unit.most_per_bin is not None:
            said.append(f"has more than {plural_of(unit.most_per_bin, 'row')} in one {self._bin}")
        if unit.most_records is not None:
            said.append(f"has more than {plural_of(unit.most_records, 'row')}")
        return f"Nothing is left out if, as declared, no {unit.noun} {' or '.join(said)}."

    @property
    def sentence(self) -> str:
        """Both, as an answer says them; where nothing can be left out, the facts that this rests on, or nothing."""
        return f"{self.limit} {self.effect}" if self.cuts else self.declared

    @property
    def values(self) -> str:
        """The consequence for values beside a list; empty where nothing can be left out."""
        return "Their values are counted numbers: lower ends hold for what was asked, upper ends are open." * self.cuts

    @property
    def listed(self) -> str:
        """The statement beside a list or a set of items; where nothing can be left out, that of `declared`."""
        if not self.cuts:
            return self.declared
        return f"{self.limit} The rest is left out: the items that are listed, and their order, follow what is counted."

    @property
    def of_sum(self) -> str:
        """The statement beside a sum of values; empty where nothing can be left out."""
        return self.sentence

    @property
    def of_pair(self) -> str:
        """The statement beside a difference or a share; empty where nothing can be left out."""
        if not self.cuts:
            return ""
        return f"{self.limit} The rest is left out, so for what was asked both ends are open."

    @property
    def uncut(self) -> str:
        """`No aircraft can be in more than 12 months: nothing is left out.`, for a unit that may have several rows."""
        if self.cuts or self.unit.is_row:
            return ""
        noun, domain = self.unit.noun, self.question.domain
        if self.question.aggregate.profiled is not None:
            return f"Each {noun} is in one class, before any limit: nothing is left out."
        if declared := self.declared:
            return declared
        if not domain.declared or self.unit.max_bins is None:
            return f"Each {noun} counts in every {self._bin} that it is in: nothing is left out."
        every = plural_of(domain.size * self.together, self._bin)
        return f"No {noun} can be in more than {every}: nothing is left out."

    def of_answer(self, listing: bool) -> str:
        """The statement of a plan about limits, of a list where its answer is one; empty where the unit is a row."""
        if not self.cuts:
            return self.uncut
        return self.listed if listing else self.sentence

    def of_counted(self, words: str) -> str:
        """The explanation of an error; where rows may be left out, of the error against what is counted."""
        if not self.cuts:
            return words
        for true, counted in COUNTED:
            words = words.replace(true, counted)
        return f"{words} {LEFT_OUT}"

    def nouns(self, several: bool) -> str:
        """The noun of a number in an answer; of a sum over several bins that of its pairs: `aircraft-months`."""
        unit, question = self.unit, self.question
        pairs = several and not unit.is_row and question.aggregate.counts and unit.max_per_bin == 1
        pairs = pairs and question.aggregate.profiled is None
        if not pairs:
            return question.nouns(unit)
        return f"pairs of {unit.noun} and bin" if self._bin == "bin" else f"{unit.noun}-{plural(self._bin)}"

    def to_json(self) -> dict[str, Any] | None:
        """The statement for a page; None where nothing can be left out."""
        if not self.cuts:
            return None
        low, high = self.ends
        return {"sentence": self.sentence, "low": low, "high": high}


def _least(*bounds: int | None) -> int | None:
    """The least of the bounds that are known; None where none is."""
    return min((bound for bound in bounds if bound is not None), default=None)


protect_module(vars())
