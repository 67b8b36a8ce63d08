"""A release: what was paid for, and everything public that is needed to read it rightly."""

from __future__ import annotations

import json
import pkgutil
import string
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpviz import files
from dpviz.boundary import kind_of, one_word, plain_arguments, protect_module, single_arguments
from dpviz.errors import DomainError, ParameterError, ReleaseFormat
from dpviz.exact import Number, probability, text
from dpviz.kinds import bases
from dpviz.model import binary
from dpviz.model.answers import Answer, Axis, Enclosed, Intervals, Listing, Reading
from dpviz.model.answers.reading import Among, Base64, Values
from dpviz.model.answers.values import listed, value_columns
from dpviz.model.asking import Subject
from dpviz.model.derived import Paid, marked, told
from dpviz.model.domain import each_of
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.linear import LinearError, Query
from dpviz.model.mechanism import Bound, Mode
from dpviz.model.ordered import OrderedAskable
from dpviz.model.question import Question, canonical
from dpviz.model.spreadsheet import table
from dpviz.model.terms import DOUBT, NOBODY, SESSION, TEACHING, UNCHECKED, Terms, Used, price_json
from dpviz.noise.bits import SystemBits, TeachingBits
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit, known_unit

if TYPE_CHECKING:
    import pandas as pd

    from dpviz.fitting.shares import Pair
    from dpviz.model.answers import Draws
    from dpviz.model.bought_together import BoughtProfile
    from dpviz.model.closing import Closed

FORMAT = "dpviz.release"
VERSION = 3
"""The latest format: of counts and a profile that were bought together, and of each. Others have the one before."""

WITHOUT_PROFILE = 2

AGAIN: Final = "release another record, which is paid for anew"

Of: TypeAlias = Literal["asked", "counted"]
"""The number that an interval holds for: the one that was asked, or the one that was counted within the limits."""

ENDINGS: Final[dict[Among, str]] = {"one": "", "all": "_all"}
"""How the columns of a frame are called that hold the ends of intervals: `low` and `low_all`."""


@dataclass(frozen=True, eq=False)
class Release(OrderedAskable):
    """Hold a public answer with its question, guarantee and error. A release holds no private value.

    Parameters
    ----------
    terms : Terms
        The promises of the time when the release was paid for: question, unit, price, limits, mechanism and law.
    answer : Answer
        The drawn answer.
    mode : {"exact", "strict"}
        How the answer was drawn.
    randomness : str
        The kind of random bits, such as "operating system".
    dataset : str, optional
        The declared name of the data.
    number : int, optional
        The ledger entry that paid; None in teaching.
    use : int, optional
        Which use of that entry it is, where the entry is a sub-session, whose guarantee the release then shows.
    key : str, optional
        The key of the entry.
    teaching : int, optional
        The seed of a teaching draw, which is not private and must not be called a release.
    origin : str, default "unchecked"
        How it is known that the ledger made the release: "session", from the session's own ledger; "ledger
        visits.ledger", where ``dv.load(..., ledger=...)`` found it there; "teaching"; else "unchecked".
    uses : tuple of Used, optional
        The amounts that an answer of a sub-session used of what was paid before.
    bought : BoughtProfile, optional
        The profile that was bought with the answer, in the same entry.
    entry_price : Guarantee, optional
        Of such a profile, the price of the entry, for counts and profile together.

    Attributes
    ----------
    written : bytes or dict or None
        The stored form that the release was read from. The release is saved as these bytes again, whatever their
        format; of a binary file it is the JSON without the columns of the answer. A copy with another part has none.

    Raises
    ------
    UnknownArgument
        If a part is left out.

    Notes
    -----
    Sessions make releases; a person reads them. Reading, charting and asking (`sum`, `range`, `share`, ...) are
    post-processing, and free.
    """

    terms: Terms
    answer: Answer
    mode: Mode
    randomness: str
    dataset: str = ""
    number: int | None = None
    use: int | None = None
    key: str = ""
    teaching: int | None = None
    origin: str = UNCHECKED
    uses: tuple[Used, ...] = ()
    bought: BoughtProfile | None = None
    entry_price: Guarantee | None = None
    written: bytes | Mapping[str, Any] | None = field(default=None, init=False)
    _ledger: weakref.ref[Any] | None = field(default=None, init=False)
    _confirmed: bool = field(default=False, init=False)

    @classmethod
    def of(cls, bound: Bound, answer: Answer, **drawn: Any) -> Release:
        """Make the release of an answer that a bound mechanism drew.

        The release keeps what was promised, and not the mechanism.

        Parameters
        ----------
        bound : Bound
            The mechanism, bound to a question and a unit.
        answer : Answer
            The drawn answer.
        **drawn
            The other parts of the release, by name.

        Returns
        -------
        Release
            The release.

        Raises
        ------
        UnknownArgument
            If a part is left out.
        """
        return cls(Terms.of(bound), answer, uses=bound.uses(answer), **drawn)

    @classmethod
    def stored(cls, written: bytes | Mapping[str, Any], **parts: Any) -> Release:
        """Make the release of a saved form, of which the parts were read.

        Parameters
        ----------
        written : bytes or dict
            The saved form, as `opened` or `binary.opened` gave it.
        **parts
            The parts of the release, by name.

        Returns
        -------
        Release
            The release, which is saved as the same bytes again.

        Raises
        ------
        UnknownArgument
            If a part is left out.
        """
        release = cls(**parts)
        object.__setattr__(release, "written", written)
        return release

    def found_in(self, ledger: object) -> Release:
        """Remember the ledger that the release was read from, without keeping it alive.

        Parameters
        ----------
        ledger : Ledger
            The ledger.

        Returns
        -------
        Release
            This release.

        Raises
        ------
        ParameterError
            If it is no ledger.
        """
        if not any("charge" in vars(kind) for kind in bases(type(ledger))):
            raise ParameterError.of(kind_of(ledger), "a release is found in a ledger", "write session.releases[1]")
        object.__setattr__(self, "_ledger", weakref.ref(ledger))
        return self.confirmed()

    def confirmed(self) -> Release:
        """Mark the release as seen in its ledger. A copy with another part is not confirmed.

        Returns
        -------
        Release
            This release.
        """
        object.__setattr__(self, "_confirmed", True)
        return self

    @property
    def is_confirmed(self) -> bool:
        """Whether this very release, its number included, was seen in its ledger."""
        return self._confirmed

    @property
    def doubt(self) -> str:
        """`Origin unchecked: ...` where no ledger is known to have made the release; empty for teaching draws."""
        return DOUBT if self.origin == UNCHECKED and self.teaching is None else ""

    @property
    def kept_in(self) -> object | None:
        """The ledger that the release was read from, while the session has it; never saved, and None for a copy."""
        return None if self._ledger is None else self._ledger()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_ledger"}

    @property
    def question(self) -> Question:
        """The question that was asked."""
        return self.terms.question

    @property
    def unit(self) -> Unit:
        """The privacy unit."""
        return self.terms.unit

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that was paid for, with its neighbouring relation: of all answers of its purchase."""
        if self.entry_price is not None:
            return self.entry_price
        price = self.terms.price
        return price if self.bought is None else self.bought.price_with(price)

    @property
    def profile(self) -> Release | None:
        """The profile that was bought with the counts, as a release of the same entry; None where none was."""
        bought = self.bought
        return None if bought is None else self._about(bought.terms, bought.answer, self.guarantee)

    @property
    def error(self) -> ErrorModel:
        """The error model: bounds for one bin and for all bins."""
        return self.terms.error

    # ------------------------------------------------------------ reading

    @cached_property
    def reading(self) -> Reading:
        """The public facts that the answer's shape needs to be read."""
        terms = self.terms
        parts = terms.limited.together
        return Reading(self.question, self.unit, self.error, terms.clamp, terms.max_items, self.number, parts)

    @property
    def limits(self) -> str:
        """`Each aircraft counts in at most 3 of 12 months. …`: the part of an answer that limits may leave out."""
        limited = self.terms.limited
        if self.terms.max_items is None:
            return limited.sentence
        return " ".join(filter(None, (limited.listed, limited.values if self.answer.has_values else "")))

    @property
    def _subject(self) -> Subject:
        return PaidAnswer(self)

    @property
    def asking(self) -> Subject:
        """The answer as it evaluates linear questions and bounds their error."""
        return self._subject

    @single_arguments
    def closed_by(self, profile: Release | None = None) -> Closed:
        """Close the ends that a limit on bins leaves open, by a profile of the same users. Free.

        Parameters
        ----------
        profile : Release, optional
            A release of `Question.contribution_profile` about the same bins, with the same filter. By default the
            profile that was bought with the counts.

        Returns
        -------
        Closed
            Sums and a frame with both ends for the numbers that were asked.

        Raises
        ------
        ParameterError
            If the profile says nothing of these counts, a limit on bins leaves out nothing, or no profile is given and
            none was bought with the counts.

        Examples
        --------
        ``counts.closed_by(profile).sum([1, 2])``, ``counts.closed_by(profile).to_frame()``
        """
        from dpviz.model.closing import Closed

        given = self.profile if profile is None else profile
        if given is None:
            raise ParameterError.of(
                "no profile",
                "ends are closed by a profile, and none was bought with these counts",
                "give closed_by a release of Question.contribution_profile",
            )
        return Closed(self, given)

    @property
    def paid(self) -> Paid:
        """This release as what is derived from it names it."""
        return Paid(self.number, self.use, self.price_text, self.plain_title, self.teaching, bool(self.doubt))

    @property
    def title(self) -> str:
        """`Visits per person-year, released with ε = 0.1`."""
        verb = "drawn with" if self.teaching is not None else "released for" if self.used else "released with"
        return f"{self.plain_title}, {verb} {self.price_text}"

    @property
    def plain_title(self) -> str:
        """The subject of the answer, without its price."""
        return self.terms.title

    @property
    def max_items(self) -> int | None:
        """The most items that could come, for a list or a set; None for an answer with values per bin."""
        return None if self.listing is None else self.listing.most

    @cached_property
    def listing(self) -> Listing | None:
        """The answer as a list or a set of items, where it is one; else None."""
        return self.answer.listing(self.reading)

    @property
    def sentence(self) -> str:
        """The sentence of a list or a set, with the meaning of "no more"; empty for other answers."""
        return self.answer.sentence(self.reading)

    @single_arguments
    def sureness(self, beta: Number = "0.05") -> tuple[str, ...]:
        """Say how sure a list or a set is, in sentences that all hold but for a chance of `beta`.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often an interval may miss the truth, above 0 and at most 1.

        Returns
        -------
        tuple of str
            The distance below the true count of its last rank at which a named item may lie, and the meaning of the end
            of the list. Empty for an answer with a value per row, where each row has its interval.

        Raises
        ------
        ParameterError
            If `beta` is outside its range.
        """
        return self.answer.sureness(self.reading, probability(beta, "beta", zero=False))

    @property
    def used(self) -> str:
        """`9 of 50 symbols and 1 of 20 questions of entry 3`: what an answer of a sub-session used; else nothing."""
        entry = "" if self.number is None else f" of entry {self.number}"
        return f"{' and '.join(use.text for use in self.uses)}{entry}" if self.uses else ""

    @property
    def promise(self) -> str:
        """The protection of the release in words; an answer of a sub-session is protected with all its others."""
        together = f", for all answers of entry {self.number} together" if self.used else ""
        if self.question.part is not None and self.question.by is not None and not self.used:
            together = f", for all {self.question.by.size:,} parts together"
        return f"{self.guarantee.sentence}{together}{self._with_profile}"

    @property
    def protection(self) -> str:
        """The promise; of a teaching draw, that it protects nobody."""
        return self.promise if self.teaching is None else NOBODY

    @property
    def _with_profile(self) -> str:
        """Words for a price of several answers."""
        several = self.bought is not None or self.entry_price is not None
        return ", for counts and profile together" if several else ""

    @property
    def price_text(self) -> str:
        """`ε = 0.1`, as paid; for an answer of a sub-session, its part of the price of that sub-session."""
        if self.used:
            return self.used
        if self.question.part is not None and self.question.by is not None:
            return f"{self._price} for all {self.question.by.size:,} parts together"
        return f"{self._price}{self._with_profile.replace(',', '')}"

    @property
    def _price(self) -> str:
        return ", ".join(part.replace(" ", " = ", 1) for part in self.guarantee.loss.short.split(", "))

    @property
    def axis(self) -> Axis:
        """The rows of the answer: bins, items, or other rows of its shape."""
        return self.answer.axis(self.reading)

    @property
    def shown(self) -> Values:
        """The released values, one for each row: whole numbers as an array, others as fractions or enclosed."""
        return self.answer.read(self.reading)

    @property
    def values(self) -> list[Any]:
        """The released values, in the order of `labels`: whole numbers, fractions, or `Enclosed` by two fractions."""
        return listed(self.shown)

    @property
    def labels(self) -> list[str]:
        """The labels of the rows: of every bin, of the bins that are shown, or of the items in the order they came."""
        if not self.answer.has_rows:
            self.answer.rows(self.reading)  # refuses, in the words of the shape
        return list(self.axis.labels)

    @cached_property
    def groups(self) -> Mapping[str, Release]:
        """The answers about the parts by name, where the question was asked about each part.

        Each is a release that is read, charted and added up as any other. They share one price, which is that of all
        parts together.
        """
        by, answers = self.question.by, self.answer.parts
        if by is None or answers is None:
            raise ReleaseFormat.of(
                self.answer.kind, "this question was not asked about parts", "give by= to session.release"
            )
        parts = zip(by.names, self.terms.of_parts(answers), answers, strict=True)
        return {name: self._about(terms, answer) for name, terms, answer in parts}

    def _about(self, terms: Terms, answer: Answer, entry_price: Guarantee | None = None) -> Release:
        """The answer about one part, or another answer of the same entry, at the price of all of it."""
        bought = self.bought if entry_price is None else None
        part = replace(self, terms=terms, answer=answer, bought=bought, entry_price=entry_price or self.entry_price)
        object.__setattr__(part, "_ledger", self._ledger)
        object.__setattr__(part, "_confirmed", self._confirmed)
        return part

    @single_arguments
    def with_facts(
        self,
        most_bins: int | None = None,
        most_per_bin: int | None = None,
        most_records: int | None = None,
    ) -> Release:
        """Return the same release, read with these facts declared of the data in place of any before. Free.

        Parameters
        ----------
        most_bins : int, optional
            The most bins of the question that one unit has rows in.
        most_per_bin : int, optional
            The most rows that one unit has in one bin.
        most_records : int, optional
            The most rows that one unit has in all.

        Returns
        -------
        Release
            The release, of which an end is open only where a limit can still leave rows out.

        Raises
        ------
        UnitError
            If the unit is a row, which has nothing to declare.
        ParameterError
            If a fact is no whole number above 0.

        Notes
        -----
        Facts are statements of a person, and nothing in a ledger rests on them: price, key and saved form stay, and a
        release that was saved is read without facts again. Where a fact is false, intervals may miss more often.

        Examples
        --------
        >>> import dpviz as dv, pandas as pd
        >>> rows = pd.DataFrame({"user": ["a", "a", "b"], "month": [1, 2, 2]})
        >>> lesson = dv.teaching(rows, seed=1, unit=dv.Unit("user", max_bins=2))
        >>> draw = lesson.draw(dv.Domain.integers(1, 12, column="month"), dv.Dense(40))
        >>> draw.sum([1]).interval_text, draw.with_facts(most_records=2).sum([1]).interval_text
        ('at least 1', '1 to 1')
        """
        return self.as_declared(self.unit.with_facts(most_bins, most_per_bin, most_records))

    def as_declared(self, unit: Unit) -> Release:
        """Return the same release, read with the facts of a unit.

        Parameters
        ----------
        unit : Unit
            The unit that has the facts.

        Returns
        -------
        Release
            The release; this one where its facts are the same.

        Raises
        ------
        UnitError
            If the unit is no Unit.
        """
        if known_unit(unit).facts == self.unit.facts:
            return self
        terms = replace(self.terms, unit=self.unit.with_facts(**unit.facts))
        again = self._about(terms, self.answer)
        object.__setattr__(again, "written", self.written)
        return again

    @property
    def record(self) -> dict[str, str]:
        """The drawn record: its label in each column."""
        return dict(self.answer.labels_of(self.reading))

    @single_arguments
    def draw(self, count: int = 1, *, seed: int | None = None) -> Draws:
        """Draw further records, free where the mechanism released what they are drawn from with the first one.

        Parameters
        ----------
        count : int, default 1
            How many records.
        seed : int, optional
            For a teaching draw only: the seed of these records.

        Returns
        -------
        Draws
            The records.

        Raises
        ------
        ReleaseFormat
            If the answer is no record, or no other record may be drawn from it; the error says why.
        ParameterError
            If a seed is given for a release, or `count` is no whole number above 0.

        Notes
        -----
        Each record has the law of the released record. The records are not independent of each other, for all share the
        noise of this one release. They are drawn now, with the system's bits, so that the next call draws others.
        """
        if seed is not None and self.teaching is None:
            raise ParameterError.of(seed, "records of a release are drawn with the system's bits", "leave seed out")
        if why := self.terms.law.once:
            raise ReleaseFormat.of(f"{count!r} further records" if type(count) is int else kind_of(count), why, AGAIN)
        return self.answer.draws(self.reading, count, SystemBits() if seed is None else TeachingBits(seed))

    @property
    def valued(self) -> bool:
        """Whether the answer has released values, one for each label."""
        return self.answer.has_rows and self.answer.has_values

    @property
    def items(self) -> list[str]:
        """The labels that came: in the order they were drawn, or ascending where the answer is a set."""
        if self.listing is None:
            raise ReleaseFormat.of(self.answer.kind, "this answer is not a list of items", "read release.labels")
        return list(self.listing.items)

    @property
    def ended(self) -> bool:
        """Whether ⊥ came: no further item stood out enough, and the list ended there."""
        if self.listing is None or not self.listing.ordered:
            raise ReleaseFormat.of(self.answer.kind, "only a ranked answer can end early", "read release.labels")
        return self.listing.ended

    @plain_arguments
    def __getitem__(self, label: object) -> int | Fraction | Enclosed:
        """The released value of one bin, free. Counts that are not shown read 0."""
        value: int | Fraction | Enclosed = listed(self._read([self._point(label)]))[0]
        return value

    @plain_arguments
    def value(self, label: object, reader: str = "") -> int | Fraction | Enclosed:
        """Read the released value of one bin, free.

        Parameters
        ----------
        label : label
            The bin, as for ``release[label]``.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        int, Fraction or Enclosed
            The value; `Enclosed` by two fractions where it is no fraction. A bin that is not shown reads 0.

        Raises
        ------
        DomainError
            If no bin has this label.
        ParameterError
            If the answer has no such reader.
        ReleaseFormat
            If the answer has no values.
        """
        value: int | Fraction | Enclosed = listed(self._read([self._point(label)], reader))[0]
        return value

    @plain_arguments
    def many(self, labels: Sequence[object], reader: str = "") -> Values:
        """Read the released values of many bins at once, free.

        Parameters
        ----------
        labels : list, tuple or range
            The bins, as for ``release[label]``.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        array or list
            The values in the order of the labels: whole numbers as an array, others as fractions or `Enclosed`.

        Raises
        ------
        DomainError
            If the labels come in no list, or no bin has one of them.
        ParameterError
            If the answer has no such reader.

        Notes
        -----
        ``release.error.estimator(reader).one_bin(beta)`` is the error of each value; None where no error is stated.
        """
        if not isinstance(labels, list | tuple | range):
            raise DomainError.of(kind_of(labels), "labels are given in a list", "write release.many([1, 2])")
        points = self.answer.points_of_labels(self.reading, labels)
        if points is None:
            points = each_of(labels, self._point)
        return self._read(points, reader)

    def _point(self, label: object, name: str = "a label") -> Any:
        """The point of the answer that a label names."""
        return self.answer.point(self.reading, label)

    def _read(self, points: Sequence[Any], reader: str = "") -> Values:
        return self.answer.read(self.reading, points, reader)

    @property
    def bits(self) -> int:
        """The size of an answer to look-ups (a sketch or a compact table), in bits."""
        size = self.answer.bits
        if size is None:
            raise ReleaseFormat.of(self.answer.kind, "only an answer to look-ups states its size", "see plan.space")
        return size

    @single_arguments
    def bars(self, beta: Number = "0.05") -> tuple[ErrorValue, ErrorValue | None]:
        """Return half-widths of error bars: for one bin, and for all bins at once.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often an interval may miss the truth, above 0 and at most 1.

        Returns
        -------
        one : ErrorValue
            For one bin picked before looking.
        every : ErrorValue or None
            For all bins at once; None where nothing public bounds how many bins are occupied.

        Raises
        ------
        ReleaseFormat
            If the rows have intervals of different lengths, or none: `to_frame` has the intervals.
        ParameterError
            If `beta` is outside its range.
        """
        one, every = self.answer.bars(self.reading, probability(beta, "beta", zero=False))
        if one is None:
            raise ReleaseFormat.of(self.answer.kind, "this answer has no error bar per bin", "read release.to_frame()")
        return one, every

    @single_arguments
    def intervals(
        self, beta: Number = "0.05", among: Among = "one", reader: str = "", of: Of = "asked"
    ) -> Intervals | None:
        """Return the intervals of all rows.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often an interval may miss the truth, above 0 and at most 1.
        among : {"one", "all"}, default "one"
            "one": each holds for one row that was picked before looking. "all": all hold at once.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.
        of : {"asked", "counted"}, default "asked"
            "asked": for the numbers that were asked; an end is open where a limit of the unit may leave rows out.
            "counted": for the numbers that were counted within the limits.

        Returns
        -------
        Intervals or None
            The ends of the intervals; None where no interval is known.

        Raises
        ------
        ParameterError
            If `beta`, `among`, `reader` or `of` is outside its range.
        """
        if among not in ("one", "all"):
            raise ParameterError.of(among, 'among must be "one" or "all"', 'write among="one"')
        one_word(of, "of", ("asked", "counted"), 'write of="asked"')
        if not self.valued:
            return None
        level = probability(beta, "beta", zero=False)
        counted = self.answer.intervals(self.reading, level, among, reader=reader)
        return counted if counted is None or of == "counted" else counted.asked(self.terms.limited)

    @single_arguments
    def to_frame(self, beta: Number = "0.05", reader: str = "", *, profile: Release | None = None) -> pd.DataFrame:
        """Return one row per bin, per shown bin, per item that came, or per other row of the answer.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often an interval may miss the truth, above 0 and at most 1.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.
        profile : Release, optional
            A profile of the same users, which closes the ends that a limit on bins leaves open: the frame is that of
            ``release.closed_by(profile)``.

        Returns
        -------
        DataFrame
            Columns: bin, value, low and high (this bin alone), low_all and high_all (all bins at once; left out where
            no bar holds for all of them). A list has rank and item instead of bin, a set item alone; both have a value
            and its intervals only where the mechanism releases them. A value that is no fraction, a root for example,
            lies between value_low and value_high, and value is their middle; these two columns are there for no other
            answer. Where a limit of the unit may leave rows out, low, high, low_all and high_all are the ends for the
            numbers that were asked, open where nothing closes them, and low_counted, high_counted, low_all_counted and
            high_all_counted, of those that are open, the ends for the numbers that were counted.

        Raises
        ------
        ParameterError
            If `beta` or `reader` is outside its range, or the profile says nothing of these counts.
        ReleaseFormat
            If the answer has no rows.

        Notes
        -----
        Each interval contains its number with probability at least 1 - beta: ``low..high`` for one bin picked before
        looking, ``low_all..high_all`` for all bins together. ``frame.attrs["limits"]`` says which rows the limits of
        the unit may leave out, where they may.

        A list of at most k items has `below`, too: with probability at least 1 - beta the item in this place lies no
        further below the k-th largest true count; and `below_all`: no item in any place does. A set has `below_all`.
        Where all parts share the places of a list, the counts are those of all parts.

        Where the origin of the release is unchecked, ``frame.attrs["origin"]`` is "unchecked".
        """
        import pandas as pd

        if profile is not None:
            return self.closed_by(profile).to_frame(beta, reader)
        if self.answer.parts is not None:
            frames = {name: part.to_frame(beta, reader) for name, part in self.groups.items()}
            for name, frame in frames.items():
                each = self.axis.name
                frame.insert(0, each if each not in frame.columns else f"{each} (part)", name)
            rows = [frame for frame in frames.values() if len(frame)]  # one without any would make numbers floats
            return told(marked(pd.concat(rows or frames.values(), ignore_index=True), self.paid), self.limits)
        limited = self.terms.limited
        columns: dict[str, Any] = {name: list(cells) for name, cells in self.answer.rows(self.reading).items()}
        if self.valued:
            columns |= value_columns(self.answer.read(self.reading, reader=reader))
            for among, ending in ENDINGS.items():
                if (counted := self.intervals(beta, among, reader, "counted")) is not None:
                    ends = counted.asked(limited)
                    columns |= {f"low{ending}": ends.low, f"high{ending}": ends.high}
                    columns |= {} if limited.ends[0] else {f"low{ending}_counted": counted.low}
                    columns |= {} if limited.ends[1] else {f"high{ending}_counted": counted.high}
        columns |= self.answer.rank_errors(self.reading, probability(beta, "beta", zero=False))
        return told(marked(pd.DataFrame(columns), self.paid), self.limits)

    @single_arguments
    def to_csv(
        self, path: str | Path | None = None, beta: Number = "0.05", *, profile: Release | None = None
    ) -> str | None:
        """Write the frame of `to_frame` as CSV, preceded by comment lines that state the guarantee.

        Parameters
        ----------
        path : str or Path, optional
            The file to write. Left out, the text is returned.
        beta : number, default "0.05"
            How often an interval may miss the truth.
        profile : Release, optional
            A profile of the same users, which closes the ends that a limit on bins leaves open: the table is that of
            ``release.closed_by(profile)``.

        Returns
        -------
        str or None
            The text, where no path is given.

        Raises
        ------
        ParameterError
            If the name of the file promises another format, such as ``.json`` or ``.xlsx``, or the file cannot be
            written, or the profile says nothing of these counts.

        Notes
        -----
        Each row is one line. A label that a spreadsheet would run as a formula, as ``=1+1``, has an apostrophe before
        it, a line break in a label is written as ``\\n`` or ``\\r``, and labels are in quotes where they hold a comma,
        a quotation mark or ``#``. ``dpviz.model.spreadsheet.plain`` gives the label of such a cell. Fractions are
        decimals where they have a finite one. These calls read the same rows, all as texts, so that no label is taken
        for a number or for a missing value:

        pandas: ``pd.read_csv(path, comment="#", dtype=str, keep_default_na=False)``
        polars: ``pl.read_csv(path, comment_prefix="#", infer_schema=False)``
        DuckDB: ``duckdb.read_csv(path, comment="#", header=True, all_varchar=True, sep=",", quotechar='"')``
        R: ``read.csv(path, comment.char="#", colClasses="character", na.strings=character(), check.names=FALSE)``

        Examples
        --------
        >>> import dpviz as dv, pandas as pd
        >>> lesson = dv.teaching(pd.DataFrame({"language": ["C", "C#", "C#"]}), seed=1)
        >>> draw = lesson.draw(dv.Domain.categories(["C", "C#"], column="language"), dv.Dense(50))
        >>> print(draw.to_csv())
        # not private: seeded teaching draw
        # intervals fail at most 0.05 of the time
        bin,value,low,high,low_all,high_all
        C,1,1,1,1,1
        "C#",2,2,2,2,2
        <BLANKLINE>
        """
        if profile is not None:
            return self.closed_by(profile).to_csv(path, beta)
        level = text(probability(beta, "beta", zero=False))
        about = [
            "not private: seeded teaching draw" if self.teaching is not None else self.promise,
            self.doubt,
            self.limits,
            self.sentence,
            *self.sureness(beta),
            f"intervals fail at most {level} of the time" * self.valued,
        ]
        return table(filter(None, about), lambda: self.to_frame(beta), path)

    @plain_arguments
    def registry(self, path: str | Path | None = None, **facts: Any) -> str | None:
        """Write the release as a record for OpenDP's registry of deployments, in YAML.

        Facts that a release knows are filled in: variant, unit, parameters, mechanism, composition, type of the data
        source, floating point, timing. A fact that only a person knows is a gap: `null`, with a comment that asks for
        it.

        Parameters
        ----------
        path : str or Path, optional
            The file to write. Left out, the text is returned.
        **facts
            Facts for gaps, by their names: `data_curators` is a dict of names and kinds ("Government", "Industry" or
            "Nonprofit"), `registry_authors` a name or a list of names, `publication_date` a day as "YYYY-MM-DD"; texts
            are `intended_use`, `data_product_region`, `data_product_sector`, `actors`,
            `preprocessing_and_hyperparameter_tuning` and `justification`.

        Returns
        -------
        str or None
            The text, where no path is given.

        Raises
        ------
        ReleaseFormat
            If this is a teaching draw, which is not private.
        ParameterError
            If a fact has an unknown name or a value that the registry does not allow, or the file cannot be written.

        Notes
        -----
        The fields are those of `schemas/deployments-schema.yaml` in opendp/deployments-registry-data, as read on
        2026-11-28. The day of publication is the day of the draw where the ledger is at hand and no other is given.

        Examples
        --------
        >>> import dpviz as dv, tempfile
        >>> data, ledger = dv.datasets.doctor_visits(), tempfile.mkdtemp() + "/visits.ledger"
        >>> session = dv.Session(data, dv.Unit("row", noun="person-year"), dv.Budget("1"), ledger)
        >>> card = session.release(dv.Domain.integers(0, 40, column="visits"), dv.Dense("1/2")).registry()
        >>> print("\\n".join(card.split("\\n")[4:6]))
          basic:
            name: "Visits per person-year"
        """
        place = None if path is None else files.of_format(path, "a card", "visits.yaml", files.YAML)
        from dpviz.model import registry

        made = registry.yaml(registry.record(self, self.drawn, facts))
        if place is None:
            return made
        files.write(place, made.encode(), "a card", "visits.yaml")
        return None

    @property
    def drawn(self) -> str:
        """The day when the answer was drawn, where its ledger is at hand; else empty."""
        ledger = None if self._ledger is None else self._ledger()
        if ledger is None or self.number is None:
            return ""
        entry = ledger.entry(self.number) if self.use is None else ledger.use(self.number, self.use)
        return (entry.closed or "")[: len("YYYY-MM-DD")]

    @plain_arguments
    def chart(self, *, profile: Release | None = None, **options: Any) -> Any:
        """Draw the release as an Altair chart; see `dpviz.charts.of_release`.

        Parameters
        ----------
        profile : Release, optional
            A profile of the same users, which closes the ends that a limit on bins leaves open: the chart is that of
            ``release.closed_by(profile)``.
        **options
            Options of the chart for this kind of answer, such as those of `dpviz.charts.histogram`.

        Returns
        -------
        altair.Chart
            The chart, with error bars.

        Raises
        ------
        ParameterError
            If an option is unknown or outside its range, or the profile says nothing of these counts.
        """
        if profile is not None:
            return self.closed_by(profile).chart(**options)
        return pkgutil.resolve_name("dpviz.charts:of_release")(self, **options)

    # ------------------------------------------------------------ storing

    def to_json(self) -> dict[str, Any]:
        """Return every part as texts; of a release that was stored, the stored parts.

        Returns
        -------
        dict
            The saved form, without its checksum.
        """
        if isinstance(self.written, bytes):
            return checked(self.written)
        return self._with_answer(self.answer.to_json())

    def _with_answer(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Every part as texts, beside the answer that is given."""
        if self.written is not None and not isinstance(self.written, bytes):
            return {**self.written, "answer": answer}
        return {
            "format": FORMAT,
            "version": VERSION if self._with_profile else WITHOUT_PROFILE,
            "dataset": self.dataset,
            "number": self.number,
            **({} if self.use is None else {"use": self.use}),
            "key": self.key,
            **self.terms.to_json(),
            "uses": [use.to_json() for use in self.uses],
            "mode": self.mode,
            "randomness": self.randomness,
            "teaching": self.teaching,
            "answer": answer,
            **({} if self.bought is None else {"profile": self.bought.to_json(self.terms.price)}),
            **({} if self.entry_price is None else {"together": price_json(self.entry_price)}),
        }

    def to_bytes(self) -> bytes:
        """Return the saved form: canonical JSON and its SHA-256, which shows damage and is no signature.

        Returns
        -------
        bytes
            The content of a JSON file.
        """
        if isinstance(self.written, bytes):
            return self.written
        return with_checksum(self._with_answer(self.answer.held_json()))

    def to_binary(self) -> bytes:
        """Return the saved form with the columns of the answer as they lie in memory; see docs/formats.md.

        Returns
        -------
        bytes
            The content of a ``.dpviz`` file.
        """
        body, answer = self.to_json(), self.answer.to_json()
        # an answer in a form that is no longer written stays as it was, so that it is saved as the same JSON again
        return binary.BinaryFile(body, self.answer.pack() if body["answer"] == answer else None).to_bytes()

    @single_arguments
    def save(self, path: str | Path) -> Path:
        """Write the release to a file that `dv.load` reads. The file holds public parts only.

        Parameters
        ----------
        path : str or Path
            The file to write. A name that ends in ``.dpviz`` makes a binary file: smaller, and read at once where an
            answer is long. Any other name makes JSON, which people and other programs can read.

        Returns
        -------
        Path
            The file that was written.

        Raises
        ------
        ParameterError
            If the name promises another format, such as ``visits.csv``, or the file cannot be written.

        Notes
        -----
        The content of both kinds is the same, and one can be loaded and saved as the other. The name decides, and not
        the length, so that a script always writes the same kind of file.
        """
        place = files.of_format(path, "a release", "visits.json", files.JSON)
        long = place.suffix.lower() == binary.SUFFIX
        return files.write(place, self.to_binary() if long else self.to_bytes(), "a release", "visits.json")

    def _repr_html_(self) -> str:
        """A short table for a notebook, escaped; found by name, as for `chart`."""
        shown: str = pkgutil.resolve_name("dpviz.charts:table_of_release")(self)
        return shown

    def __repr__(self) -> str:
        head = f"Draw (not private · teaching, seed {self.teaching})" if self.teaching is not None else "Release"
        paid = "" if self.number is None else f", number {self.number}"
        paid += "" if self.use is None else f", question {self.use}"
        paid += {SESSION: "", TEACHING: "", UNCHECKED: ", origin unchecked"}.get(self.origin, f", {self.origin}")
        kept = self.promise if self.teaching is None else f"noise of {self.price_text}, no guarantee"
        limits = f"; {self.limits}" if self.limits else ""
        return f"<{head}{paid}: {self.question.text}; {kept}{limits}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())


@dataclass(frozen=True)
class PaidAnswer:
    """A release as it is asked: its shape reads, its stored law says how far that may be off."""

    release: Release

    @property
    def answer(self) -> Answer:
        return self.release.answer

    @property
    def reading(self) -> Reading:
        return self.release.reading

    @property
    def paid(self) -> tuple[Paid, ...]:
        return (self.release.paid,)

    @property
    def remarks(self) -> tuple[str, ...]:
        return ()

    def value(self, query: Query, reader: str) -> Fraction | Enclosed:
        return self.answer.weighted_sum(self.reading, query, reader)

    def error(self, query: Query, reader: str) -> LinearError:
        return self.release.terms.law.linear(query, self.answer, self.reading, reader)

    def running_counts(self, bins: range, reader: str) -> NDArray[np.int64] | None:
        return self.answer.running_counts(self.reading, bins, reader)

    def pair(self, first: Query, second: Query, reader: str) -> Pair | None:
        from dpviz.model.sum_errors import pair_of

        return pair_of(first, second, lambda query: self.value(query, reader), lambda query: self.error(query, reader))

    def limits(self, query: Query) -> tuple[Fraction | None, Fraction | None]:
        return self.release.terms.law.limits(self.reading).of(query)

    def all_bins(self, beta: Fraction, reader: str) -> ErrorValue | None:
        return self.release.error.estimator(reader).all_bins(beta)


def with_checksum(body: Mapping[str, Any]) -> bytes:
    """The JSON of a release as it is saved: `canonical({"release": body, "sha256": digest})`. Long arrays are put into
    it as they are, a piece at a time, for they take long to write and much memory."""
    long: list[str | Base64] = []
    parts = _filled(canonical(_shortened(body, long)), long)
    saved, digest = BytesIO(), sha256()
    saved.write(BEFORE)
    for part in [canonical(_with_texts_of_arrays(body))] if parts is None else parts:
        for piece in part.pieces() if isinstance(part, Base64) else _pieces(part, 0, len(part)):
            digest.update(piece)
            saved.write(piece)
    saved.write(b"".join([BETWEEN, digest.hexdigest().encode(), AFTER]))
    return saved.getvalue()


def _saved(written: bytes, digest: str) -> bytes:
    """The saved form of a body that is written already."""
    return b"".join([BEFORE, written, BETWEEN, digest.encode(), AFTER])


def checked(content: bytes) -> dict[str, Any]:
    """The JSON of a saved release, or ReleaseFormat where it is truncated, altered or of a newer format."""
    return opened(content)[0]


def opened(content: bytes, *, views: bool = False) -> tuple[dict[str, Any], bytes]:
    """The JSON of a saved release and its saved form, or ReleaseFormat as above. `views` are given in place of the
    base64 of long arrays, where these need not be copied."""
    body = _as_saved(content, views)
    if body is not None:
        known_format(body)
        return body, content
    try:
        outer = json.loads(content)
        body, digest = outer["release"], outer["sha256"]
        known_format(body)
        written = canonical(body)
    except (ValueError, KeyError, TypeError, RecursionError):
        body = None
    if body is None:
        raise _unknown()
    if sha256(written).hexdigest() != digest:
        raise ReleaseFormat.damaged("a saved release must match its checksum", "one that was altered or damaged")
    return body, _saved(written, digest)


def known_format(body: object) -> None:
    """Refuse what is no release, or one of a newer format."""
    version = body.get("version") if isinstance(body, dict) and body.get("format") == FORMAT else None
    if type(version) is not int or version < 1:
        raise _unknown()
    if version > VERSION:
        raise ReleaseFormat.of(version, f"this dpviz reads release formats up to {VERSION}", "update dpviz")


def _unknown() -> ReleaseFormat:
    return ReleaseFormat.damaged(
        "a saved release must be a dpviz.release file", "one that is truncated, or something else"
    )


BEFORE: Final = b'{"release":'
BETWEEN: Final = b',"sha256":"'
AFTER: Final = b'"}'
DIGITS: Final = 64
"""The brackets of the JSON of a release in its saved form, and the number of digits of its checksum."""


def _as_saved(content: bytes, views: bool = False) -> dict[str, Any] | None:
    """The JSON of a release, where the content is, byte for byte, what `with_checksum` writes; else None. The checksum
    is that of what was read, and a long answer is not written once more."""
    end = max(0, len(content) - len(BETWEEN) - DIGITS - len(AFTER))
    rest = content[end:]
    between, digest = rest[: len(BETWEEN)], rest[len(BETWEEN) : -len(AFTER)]
    if not (content.startswith(BEFORE) and content.endswith(AFTER) and between == BETWEEN):
        return None
    written = memoryview(content)[len(BEFORE) : end]  # no copy: an answer may be long
    if sha256(written).hexdigest().encode() != digest:
        return None
    try:
        return _read_canonical(content, len(BEFORE), end, views)
    except (ValueError, RecursionError):
        return None


LONG: Final = 4096
"""A text of more characters is neither written nor parsed by the JSON library, where it is plain."""


PIECE: Final = 1 << 20
"""Characters of a long text that are made into bytes at once."""


def _read_canonical(content: bytes, first: int, last: int, views: bool) -> dict[str, Any] | None:
    """The object that the bytes between these places are the canonical JSON of, or None where they are not. Long plain
    texts are written in one way only, so they are cut out before the rest is parsed and written again to be compared.
    """
    places = list(_long_plain(content, first, last))
    ends, starts = [first, *(end for _, end in places)], [*(start for start, _ in places), last]
    hole = canonical(HOLE)[1:-1]
    short = hole.join(content[end:start] for end, start in zip(ends, starts, strict=True))
    body = json.loads(str(short, "utf-8"))
    if not isinstance(body, dict) or canonical(body) != short or short.count(hole) != len(places):
        return None
    texts = (memoryview(content)[start:end] for start, end in places)
    return dict(_with_texts(body, texts, views)) if places else body


def _long_plain(content: bytes, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Where a whole text of JSON begins and ends that is long, plain and no key. A quote inside of a text has a
    backslash before it, and after the quote that ends one comes a mark of JSON: so these are quotes around a text."""
    start = content.find(b'"', first, last) + 1
    while 0 < start and start + LONG < last:
        end = content.find(b'"', start, last)
        if end < 0:
            return
        whole = end - start > LONG and content[start - 2] not in b"\\" and content[end + 1] not in b":"
        if whole and all(not piece.translate(None, PLAIN) for piece in _pieces(content, start, end)):
            yield start, end
        start = end + 1


HOLE: Final = "\0"
"""Stands for a long text."""


PLAIN: Final = (string.ascii_letters + string.digits + "+/=").encode()
"""The characters of base64, which JSON writes as they are."""


def _shortened(value: object, long: list[str | Base64]) -> object:
    """The same with a hole for each array and each long plain text, by the order of their keys. Lists stay as they
    are."""
    if isinstance(value, dict):
        return {key: _shortened(value[key], long) for key in sorted(value)}
    if isinstance(value, Base64) or (
        isinstance(value, str) and len(value) > LONG and value.isascii() and _plain(value)
    ):
        long.append(value)
        return HOLE
    return value


def _plain(text: str) -> bool:
    return all(not piece.translate(None, PLAIN) for piece in _pieces(text, 0, len(text)))


def _with_texts(value: object, texts: Iterator[memoryview], views: bool, view: bool = False) -> Any:
    """The same with the next of these texts in place of each hole: a view of it, where one is wanted and it is the
    base64 of an array, for whatever else is a text."""
    if isinstance(value, dict):
        return {key: _with_texts(one, texts, views, views and key == "base64") for key, one in value.items()}
    if isinstance(value, list):
        return [_with_texts(one, texts, views) for one in value]
    if value != HOLE:
        return value
    text = next(texts)
    return text if view else str(text, "ascii")


def _with_texts_of_arrays(value: object) -> Any:
    """The same with the text of each array, as JSON has it."""
    if isinstance(value, dict):
        return {key: _with_texts_of_arrays(one) for key, one in value.items()}
    return str(value) if isinstance(value, Base64) else value


def _filled(short: bytes, long: Sequence[str | Base64]) -> list[bytes | str | Base64] | None:
    """Text that `canonical` wrote with holes, in parts: what lies between the holes, and the long texts in their place.
    None where a text has the sign of a hole in it."""
    between = short.split(canonical(HOLE)[1:-1])
    if len(between) != len(long) + 1:
        return None
    parts: list[bytes | str | Base64] = [between[0]]
    for one, after in zip(long, between[1:], strict=True):
        parts += [one, after]
    return parts


def _pieces(text: bytes | str, first: int, last: int) -> Iterator[bytes]:
    """The bytes of a text between these places, some at a time."""
    for at in range(first, last, PIECE):
        piece = text[at : min(at + PIECE, last)]
        yield piece if isinstance(piece, bytes) else piece.encode()


protect_module(vars())
