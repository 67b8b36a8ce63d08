"""Two answers to one question as one: measured again, each paid for by itself, read together for nothing."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from dpviz.boundary import as_given, plain_arguments, protect_module, single_arguments
from dpviz.errors import ParameterError
from dpviz.exact import Enclosure, Number, probability, text
from dpviz.fitting.shares import Pair
from dpviz.fitting.sums import Quantile
from dpviz.model.answers import Answer, Axis, Enclosed, Reading
from dpviz.model.answers.values import plus
from dpviz.model.asking import Subject, ask
from dpviz.model.between import between
from dpviz.model.declared_next import declares
from dpviz.model.derived import Among, DerivedTable, Paid, marked, saved, seeds
from dpviz.model.either import EitherError, reach_in_accord
from dpviz.model.error import ErrorValue
from dpviz.model.laws.base import StoredLaw
from dpviz.model.linear import AllKeys, Bias, Ends, LinearError, Query, length
from dpviz.model.ordered import OrderedAskable
from dpviz.model.question import Question
from dpviz.model.release import PaidAnswer, Release
from dpviz.model.spreadsheet import table
from dpviz.model.sum_errors import SumError, pair_of
from dpviz.model.words import escape, few, often
from dpviz.privacy.unit import Unit

if TYPE_CHECKING:
    import pandas as pd

FINEST: Final = 60
"""A weight is a whole number of 1 / d with d at most this: it costs next to nothing, and keeps the law on a lattice."""

MOST_ROWS: Final = 100_000
"""A frame has at most so many rows."""

HALF, USUAL = Fraction(1, 2), Fraction(1, 20)

ONE_BIN: Final = Query.of((range(1), 1))

ACCORD: Final = "the p-values of both answers, multiplied, where both agree"

Order: TypeAlias = Literal["apart", "together", "assumed"]
"""Whether one of two answers may have been chosen by the other, by the entries that paid for them; "assumed" of a file
that an earlier dpviz wrote, whose intervals assume that it was not."""

Weighted: TypeAlias = "tuple[tuple[LinearError, LinearError], tuple[Fraction, Fraction]]"
"""The errors of two values and the weights of their mean."""

APART: Final = "Bought one after the other: intervals hold whatever the second answer was chosen by."
TOGETHER: Final = "Both fixed before either was drawn: intervals rest on the law of both noises."
ASSUMED: Final = "Saved by an earlier dpviz: intervals hold where the second answer was not chosen by the first."


@plain_arguments
def combine(first: Release, second: Release) -> Combined:
    """Combine two releases that answer one question about one unit. Both are paid, and this is free.

    Parameters
    ----------
    first, second : Release
        Two answers to one question about one dataset and one unit, each drawn by itself: for example with two keys.

    Returns
    -------
    Combined
        One answer, read and asked like a release.

    Raises
    ------
    ParameterError
        If the answers are lists, are one answer twice, or answer other questions. Two releases that hold the same
        numbers under two entries are taken for one answer, unless each was seen in its ledger: with a large epsilon two
        draws may agree.

    Notes
    -----
    Where the noise of both adds up, the value is their mean with public weights near the inverse variances. These
    weights follow from the two laws alone, so they were fixed before the second draw; unclamped values stay unbiased
    where the second law was not chosen by the first answer. Where a law depends on what is shown, the weights are near
    the inverse squares of the error bars of one bin.

    The second purchase may follow from the first answer, and a buyer who knows the truth may choose it so that
    intervals by the law of the mean miss: 11 in 100 of those for 95 in 100. So that law is taken only where the entries
    of the ledger say that both answers were fixed before either was drawn: as the two lines of a list
    (`session.batch`), or where the second was declared with the first (``session.release(..., then=...)``). Else a
    number is rejected where the product of both p-values is small [1]_ [2]_. These hold whatever was chosen, and are
    on the mean 2 % wider for counts at equal epsilon, and up to 5 % for sums of many. They are about one second answer,
    whichever was bought: a choice among several that were seen, or between the first answer alone and both, is a choice
    after looking. `combined.order` says which form holds.

    Combining is post-processing: both releases stay charged, and nothing more is. Where the origin of one is unchecked,
    the combination and every question asked of it say so.

    References
    ----------
    .. [1] Fisher (1932), section 21.1.
    .. [2] Bauer, Köhne (1994): the later p-value given the earlier one is one of its own, whatever the design was.

    Examples
    --------
    >>> import dpviz as dv, pandas as pd
    >>> lesson = dv.teaching(pd.DataFrame({"x": [0, 0, 1]}), seed=1)
    >>> bins = dv.Domain.integers(0, 1, column="x")
    >>> first, second = (lesson.draw(bins, dv.Dense(1, clamp=False)) for _ in range(2))
    >>> dv.combine(first, second).order
    'apart'
    """
    for release in (first, second):
        if not isinstance(release, Release):
            raise ParameterError.of(as_given(release), "two releases are combined", "write dv.combine(one, other)")
    return in_order(first, second, order_of(first, second))


def in_order(first: Release, second: Release, order: Order) -> Combined:
    """Combine two releases of a known order. Raises as `combine`."""
    _check(first, second)
    return Combined(first, second, order)


def order_of(first: Release, second: Release) -> Order:
    """Whether the entries of a ledger say that both answers were fixed before either was drawn."""
    same = first.kept_in is not None and first.kept_in is second.kept_in
    fixed = same and (are_one_list(first, second) or declares(first, second) or declares(second, first))
    return "together" if fixed else "apart"


def are_one_list(first: Release, second: Release) -> bool:
    """Whether these are both lines of a list of two that one entry paid for. Of a longer list it may have been chosen
    which line was drawn."""
    whole = all([(used.noun, used.paid) for used in release.uses] == [("line", 2)] for release in (first, second))
    return whole and first.number is not None and first.number == second.number and first.use != second.use


def _check(first: Release, second: Release) -> None:
    fits(first.question, first.unit, second.question, second.unit)
    for release in (first, second):
        if release.max_items is not None:
            raise ParameterError.of(
                "a list of items",
                "which items are listed is no count, so lists are not combined",
                "combine releases that count",
            )
    if first.terms.counts_alone != second.terms.counts_alone:
        raise ParameterError.of(
            "a part of one product domain and an answer of its own",
            f"both answers must count one {first.unit.noun} in the same bins, and over all parts it counts in fewer",
            "combine two releases that share the price out in one way",
        )
    if first.dataset != second.dataset:
        raise ParameterError.of(
            f"{first.dataset} and {second.dataset}",
            "both answers must be about one dataset",
            "combine two releases of one dataset",
        )
    if (first.teaching is None) != (second.teaching is None):
        raise ParameterError.of(
            "a release and a teaching draw",
            "a teaching draw is not private and stands alone",
            "combine it with another teaching draw",
        )
    if first == second or (same_entry(first, second) and first.answer.to_json() == second.answer.to_json()):
        raise ParameterError.of(
            "one answer twice", "an answer says nothing new by being read again", "draw another, with another key="
        )
    if drawn_once(first, second):
        raise ParameterError.of(
            "two releases with the same numbers under two entries",
            "an answer that was drawn once is combined once, and nobody confirms that these were drawn twice",
            "load both with dv.load(path, ledger=...), or read them from session.releases",
        )
    axes = [release.axis for release in (first, second)]
    if axes[0].noun != axes[1].noun or (axes[0].noun != "bin" and list(axes[0].labels) != list(axes[1].labels)):
        raise ParameterError.of(
            f"{axes[0].noun} and {axes[1].noun}",
            "both answers must have values for the same points",
            "release the same question twice, with two keys",
        )


def drawn_once(first: Release, second: Release) -> bool:
    """Whether both hold what may be one draw: the same numbers from the same law, where no ledger confirms both.

    A number, a key and an origin are only said; what was drawn is compared.
    """
    if first.teaching is not None or (first.is_confirmed and second.is_confirmed):
        return False
    return first.answer.to_json() == second.answer.to_json()


def same_entry(first: Release, second: Release) -> bool:
    """Whether both bear the number of one entry.

    A release does not say which ledger it is from. An entry has one answer for good, so two answers of one number that
    differ are from two ledgers; where they do not differ they are taken for one.
    """
    return first.number is not None and (first.number, first.use) == (second.number, second.use)


def fits(question: Question, unit: Unit, other: Question, other_unit: Unit) -> None:
    """Refuse two answers that are not about the same: nothing is combined across questions or units."""
    if not question.aggregate.additive:
        raise ParameterError.of(
            f"answers that are {question.aggregate.noun}", "only values that add up are combined", "read each by itself"
        )
    if question.each_text:
        raise ParameterError.of(
            question.each_text,
            "answers about one part are combined",
            "combine those of one part, which release.groups has by name",
        )
    if question.to_json() != other.to_json():
        raise ParameterError.of(
            f"{question.text} / {other.text}",
            "both answers must be to one question",
            "release one question twice, with two keys",
        )
    if unit.protects == other_unit.protects and unit != other_unit:
        raise ParameterError.of(
            " / ".join(one.limits.besides(two.limits).text for one, two in ((unit, other_unit), (other_unit, unit))),
            "both answers must be counted within the same limits, for else their true values differ",
            "release the question twice within one set of limits, with two keys",
        )
    if unit != other_unit:
        raise ParameterError.of(
            f"{unit.text} / {other_unit.text}", "both answers must protect one unit", "combine releases of one session"
        )


# ---------------------------------------------------------------- as one answer


@dataclass(frozen=True, repr=False)
class Combined(OrderedAskable):
    """Read two paid answers to one question together. All that is asked of them is free.

    Parameters
    ----------
    first, second : Release
        The two releases, as `dv.combine` took them.
    order : {"apart", "together", "assumed"}
        "together": both were fixed before either was drawn, by the entries of a ledger. "apart": the second may have
        been chosen by the first. "assumed": read from a file that an earlier dpviz wrote, whose intervals assume that
        it was not.

    Raises
    ------
    UnknownArgument
        If a release is left out.

    Notes
    -----
    `dv.combine` makes it. `sum`, `range`, `difference`, `share`, `compare`, `marginal` and `to_frame` read it.
    """

    first: Release
    second: Release
    order: Order = "apart"

    @property
    def _subject(self) -> Subject:
        return BothAnswers(PaidAnswer(self.first), PaidAnswer(self.second), self.order)

    @property
    def holds(self) -> str:
        """Whether intervals hold whatever the second answer was chosen by, as a sentence."""
        return holding(self.first, self.second, self.order)

    @property
    def paid(self) -> tuple[Paid, ...]:
        """Both answers with their prices and their entries in the ledger."""
        return self.first.paid, self.second.paid

    @property
    def averaged(self) -> bool:
        """Whether the values are averaged with weights near the inverse variances, as errors add up."""
        return adds_up(self.first.terms.law, self.second.terms.law)

    @single_arguments
    def to_frame(self, beta: Number = "0.05") -> pd.DataFrame:
        """Return one row per bin, or per key that either answer shows.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often an interval may miss the truth, above 0 and at most 1.

        Returns
        -------
        DataFrame
            The value, and low and high for one bin picked before looking; low_all and high_all for all of them at once,
            where that is known. ``frame.attrs["order"]`` says whether they hold whatever the second answer was chosen
            by.

        Raises
        ------
        ParameterError
            If `beta` is outside its range.
        """
        level, subject = probability(beta, "beta", zero=False), self._subject
        frame = self.rows(level).to_frame().rename(columns={"what": subject.answer.noun}).drop(columns="how")
        stands = subject.reading.limited.ends
        frame = frame.drop(columns=["low_counted"] * stands[0] + ["high_counted"] * stands[1], errors="ignore")
        if (together := self.rows_together(level)) is not None:
            ends = together.to_frame()
            for end, holds in zip(("low", "high"), stands, strict=True):
                frame[f"{end}_all"] = ends[end]
                if not holds:
                    frame[f"{end}_all_counted"] = ends[f"{end}_counted"]
        frame.attrs["order"] = self.holds
        return marked(frame, *self.paid)

    def rows(self, beta: Fraction) -> DerivedTable:
        """Return each bin, or each key that is shown, with an interval for one that was picked before looking.

        Parameters
        ----------
        beta : Fraction
            How often an interval may miss the truth.

        Returns
        -------
        DerivedTable
            One derived value for each.

        Raises
        ------
        UnknownArgument
            If `beta` is left out.
        """
        return self._asked(beta, "one")

    def rows_together(self, beta: Fraction) -> DerivedTable | None:
        """Return each bin, or each key that either answer shows, with intervals that all hold at once.

        Parameters
        ----------
        beta : Fraction
            How often any of the intervals may miss the truth.

        Returns
        -------
        DerivedTable or None
            None where no such intervals are known.

        Raises
        ------
        UnknownArgument
            If `beta` is left out.
        """
        return None if self._subject.all_bins(beta, "") is None else self._asked(beta, "all")

    @property
    def axis(self) -> Axis:
        """The rows of either answer, or the keys that one of them shows."""
        subject, axis = self._subject, self.first.axis
        if not isinstance(subject.answer.all_points(subject.reading), AllKeys):
            return axis
        return Axis(axis.name, axis.noun, self._keys)

    @property
    def _keys(self) -> list[str]:
        return sorted({*self.first.labels, *self.second.labels})

    def _asked(self, beta: Fraction, among: Among) -> DerivedTable:
        subject = self._subject
        every = subject.answer.all_points(subject.reading)
        points: list[Any]
        if isinstance(every, AllKeys):
            points = [subject.answer.query_point(subject.reading, label) for label in self._keys]
        elif length(every) > MOST_ROWS:
            raise ParameterError.of(
                f"{length(every):,} {subject.answer.noun}s",
                f"a combined frame has at most {MOST_ROWS:,} rows",
                "ask for sums of them",
            )
        else:
            points = list(every)
        return DerivedTable(ask(subject, points, beta, among))

    @single_arguments
    def to_csv(self, path: str | Path | None = None, beta: Number = "0.05") -> str | None:
        """Write the frame of `to_frame` as CSV, preceded by comment lines.

        Parameters
        ----------
        path : str or Path, optional
            The file to write. Left out, the text is returned.
        beta : number, default "0.05"
            How often an interval may miss the truth.

        Returns
        -------
        str or None
            The text, where no path is given.

        Raises
        ------
        ParameterError
            If the name of the file promises another format, or the file cannot be written; and as `to_frame`.

        See Also
        --------
        dpviz.Release.to_csv : how labels and numbers are written, and the calls that read them.
        """
        seeded = self.first.teaching is not None
        level = text(probability(beta, "beta", zero=False))
        about = [
            *(
                ["not private: seeded teaching draw"] * seeded
                or dict.fromkeys([self.first.promise, self.second.promise])
            ),
            self.sentence,
            f"intervals fail at most {level} of the time",
        ]
        return table(about, lambda: self.to_frame(beta), path)

    @single_arguments
    def save(self, path: str | Path) -> Path:
        """Write both releases to one file that `dv.load_derived` reads and combines again.

        Of a second answer that was declared with the first, no file can prove it: both are read as bought one after the
        other. `session.releases` has them as they were bought.

        Parameters
        ----------
        path : str or Path
            The file to write, as JSON.

        Returns
        -------
        Path
            The file that was written.

        Raises
        ------
        ParameterError
            If the name of the file promises another format, or the file cannot be written.
        """
        both = (self.first, self.second)
        listed = self.order != "together" or are_one_list(*both)
        order = self.order if listed else "apart"  # a declaration stands in the ledger alone
        return saved(path, {"combined": [release.to_json() for release in both], "order": order})

    @plain_arguments
    def chart(self, **options: Any) -> Any:
        """Draw the combined counts with both their error bars as an Altair chart; see `dpviz.charts.of_combined`.

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
        return pkgutil.resolve_name("dpviz.charts:of_combined")(self, **options)

    @property
    def sentence(self) -> str:
        """The subject of the answer, how both are read together, and the releases that it rests on."""
        how = "averaged with public weights" if self.averaged else "read together"
        on = " and ".join(one.text for one in self.paid)
        two = " They bear one number and differ, so they are of two ledgers." * same_entry(self.first, self.second)
        said = f"{self.first.plain_title}; {how}. Rests on {on}.{two}{seeds(self.paid)}"
        said = " ".join(filter(None, (said, self.holds, self.first.limits)))
        return f"{said} {doubt}." if (doubt := self.first.doubt or self.second.doubt) else said

    def _repr_html_(self) -> str:
        return f"<p class='mathjax_ignore tex2jax_ignore'>{escape(self.sentence)}</p>"

    def __repr__(self) -> str:
        return f"<Combined: {self.sentence}>"


def adds_up(first: StoredLaw, second: StoredLaw) -> bool:
    """Whether both are averaged."""
    return first.adds_up and second.adds_up


def holding(first: Release, second: Release, order: Order) -> str:
    """Whether intervals hold whatever the second answer was chosen by, as a sentence."""
    averaged = adds_up(first.terms.law, second.terms.law)
    if order == "together":
        return TOGETHER if averaged else ""
    if order == "assumed" and averaged:
        return ASSUMED
    return APART if first.teaching is None else APART.replace("Bought", "Drawn")


def weights(first: LinearError, second: LinearError) -> tuple[Fraction, Fraction]:
    """Weights near the inverse variances of the noise, from the laws alone."""
    if isinstance(first, SumError) and isinstance(second, SumError) and first.over == second.over:
        return HALF, HALF
    variances = [sum(one.noise.variance(), Fraction(0)) for one in (first, second) if isinstance(one, SumError)]
    if not sum(variances):
        return HALF, HALF
    weight = (variances[1] / sum(variances)).limit_denominator(FINEST)
    return weight, 1 - weight


def shares_of_trust(first: StoredLaw, second: StoredLaw) -> tuple[Fraction, Fraction]:
    """Where errors do not add up, weights near the inverse squares of what one bin may be off by: the laws decide."""
    known = [bar.value**2 for law in (first, second) if (bar := law.error.one_bin(USUAL)) is not None]
    if len(known) < 2 or not sum(known):
        return HALF, HALF
    weight = (known[1] / sum(known, Fraction(0))).limit_denominator(FINEST)
    return weight, 1 - weight


@dataclass(frozen=True)
class BothAnswers:
    """Two answers as they are asked together."""

    first: PaidAnswer
    second: PaidAnswer
    order: Order = "apart"
    last: list[tuple[Query, str, Weighted]] = field(default_factory=list, compare=False, repr=False)

    @property
    def answer(self) -> Answer:
        return self.first.answer

    @property
    def remarks(self) -> tuple[str, ...]:
        said = holding(self.first.release, self.second.release, self.order)
        return (said,) if said else ()

    @property
    def by_one_law(self) -> bool:
        """Whether intervals are those of the law of the mean, as errors add up and neither answer was chosen."""
        return self.averaged and self.order != "apart"

    @property
    def reading(self) -> Reading:
        return self.first.reading

    @property
    def paid(self) -> tuple[Paid, ...]:
        return self.first.paid + self.second.paid

    @property
    def averaged(self) -> bool:
        return adds_up(self.first.release.terms.law, self.second.release.terms.law)

    def _asked(self, query: Query, reader: str) -> Weighted:
        """The errors of both answers to a query, with their weights. Those that were asked for last are kept: value and
        error of a query are asked for one after the other."""
        for known, by, found in self.last:
            if known is query and by == reader:
                return found
        errors = self.first.error(query, reader), self.second.error(query, reader)
        found = errors, self._weights_of(errors)
        self.last[:] = [(query, reader, found)]
        return found

    def _errors(self, query: Query, reader: str) -> tuple[LinearError, LinearError]:
        return self._asked(query, reader)[0]

    def _weights(self, query: Query, reader: str) -> tuple[Fraction, Fraction]:
        return self._asked(query, reader)[1]

    def _weights_of(self, errors: tuple[LinearError, LinearError]) -> tuple[Fraction, Fraction]:
        if self.averaged:
            return self._trusted() or weights(*errors)
        return shares_of_trust(*(part.release.terms.law for part in (self.first, self.second)))

    def _trusted(self) -> tuple[Fraction, Fraction] | None:
        """One pair of weights for all sums, where both laws say how much they count."""
        mine, theirs = (part.release.terms.law.trust for part in (self.first, self.second))
        if mine is None or theirs is None:
            return None
        weight = (mine / (mine + theirs)).limit_denominator(FINEST)
        return weight, 1 - weight

    def value(self, query: Query, reader: str) -> Fraction | Enclosed:
        mine, theirs = self._weights(query, reader)
        weighted = plus(Fraction(0), self.first.value(query, reader), mine)
        return plus(weighted, self.second.value(query, reader), theirs)

    def error(self, query: Query, reader: str) -> LinearError:
        (one, other), weights = self._asked(query, reader)
        if self.by_one_law and isinstance(one, SumError) and isinstance(other, SumError):
            return one.plus(other, *weights)
        values = self.first.value(query, reader), self.second.value(query, reader)
        if self.order == "assumed":
            return CommonError(values, (one, other), weights)
        return EitherError(values, (one, other), weights, self.order == "apart")

    def running_counts(self, bins: range, reader: str) -> None:
        """None: the weights of two answers depend on the query."""

    def pair(self, first: Query, second: Query, reader: str) -> Pair | None:
        """Both sums by the weights of the whole, so that the law of p times the one and q times the other is known."""
        if not self.by_one_law:
            return None
        together = Query.of(*first.parts, *second.parts)
        mine, theirs = self._weights(together, reader)

        def value(query: Query) -> Fraction | Enclosed:
            weighted = plus(Fraction(0), self.first.value(query, reader), mine)
            return plus(weighted, self.second.value(query, reader), theirs)

        def error(query: Query) -> LinearError:
            one, other = self._errors(query, reader)
            assert isinstance(one, SumError) and isinstance(other, SumError)
            return one.plus(other, mine, theirs)

        return pair_of(first, second, value, error)

    def limits(self, query: Query) -> tuple[Fraction | None, Fraction | None]:
        (low, high), (other_low, other_high) = self.first.limits(query), self.second.limits(query)
        lows = [end for end in (low, other_low) if end is not None]
        return max(lows, default=None), min((end for end in (high, other_high) if end is not None), default=None)

    def all_bins(self, beta: Fraction, reader: str) -> ErrorValue | None:
        """By a union bound over bins where it is known which err alike; else each answer's own band at beta / 2."""
        every = self.answer.all_points(self.reading)
        parts = alike(*(part.release.terms.law for part in (self.first, self.second)))
        if parts and self.by_one_law and not isinstance(every, AllKeys):
            ends = [self.error(Query.of((range(at, at + 1), 1)), reader).ends(beta / length(every)) for at in parts]
            bars = [bar for end in ends if (bar := _wider(end)) is not None]
            if len(bars) < len(ends):
                return None
            return ErrorValue(max(bars), "bound", f"union bound over {length(every):,} {self.answer.noun}s")
        bands = [part.all_bins(beta / 2, reader) for part in (self.first, self.second)]
        known = [bar.value for bar in bands if bar is not None]
        if len(known) < 2:
            return None
        shares = self._one_weight(reader)
        if shares is None:
            return ErrorValue(max(known), "bound", "both bands at beta / 2")
        reach = sum((share * bar for share, bar in zip(shares, known, strict=True)), Fraction(0))
        return ErrorValue(reach, "bound", "the mean of both bands at beta / 2")

    def _one_weight(self, reader: str) -> tuple[Fraction, Fraction] | None:
        """The weights, where those of all sums are the same; None where they may differ, and as files had it."""
        if self.order == "assumed":
            return None
        if self.averaged and self._trusted() is None:
            alone = all(error.independent for error in self._errors(ONE_BIN, reader))  # of one law in all bins
            return self._weights(ONE_BIN, reader) if alone else None
        return self._weights(ONE_BIN, reader)


def alike(first: StoredLaw, second: StoredLaw) -> list[int]:
    """The first bins of the parts of the domain in each of which all bins err alike by both; none where unknown."""
    if first.alike is None or second.alike is None:
        return []
    return sorted({*first.alike, *second.alike})


def _wider(ends: Ends) -> Fraction | None:
    """The wider side of an interval; None where a side is open."""
    below, above = ends
    return None if below is None or above is None else max(below.value, above.value)


@dataclass(frozen=True)
class CommonError(LinearError):
    """The intersection of two intervals at beta / 2, seen from the mean of the two values with these weights.

    Where they have nothing in common, which happens beta of the time at most, what spans both is given.
    """

    values: tuple[Fraction | Enclosed, Fraction | Enclosed]
    errors: tuple[LinearError, LinearError]
    weights: tuple[Fraction, Fraction]

    @property
    def rule(self) -> str:
        return "what two intervals at beta / 2 have in common: " + " / ".join(
            dict.fromkeys(error.rule for error in self.errors)
        )

    @property
    def why_open(self) -> str:
        return " ".join(dict.fromkeys(error.why_open for error in self.errors if error.why_open))

    @property
    def bias(self) -> Bias:
        return Bias("; ".join(dict.fromkeys(error.bias.words for error in self.errors)))

    def _intervals(self, beta: Fraction) -> tuple[list[Fraction], list[Fraction]]:
        lows, highs = [], []
        for value, error in zip(self.values, self.errors, strict=True):
            below, above = error.ends(beta / 2)
            lows += [] if below is None else [between(value).low - below.value]
            highs += [] if above is None else [between(value).high + above.value]
        return lows, highs

    def ends(self, beta: Fraction) -> Ends:
        (one, other), (mine, theirs) = self.values, self.weights
        middle = between(plus(plus(Fraction(0), one, mine), other, theirs))
        lows, highs = self._intervals(beta)
        apart = bool(lows and highs) and max(lows) > min(highs)
        low = (min if apart else max)(lows, default=None)
        high = (max if apart else min)(highs, default=None)
        below, above = None if low is None else middle.low - low, None if high is None else high - middle.high
        return tuple(None if end is None else Quantile(end, end) for end in (below, above))  # type: ignore[return-value]

    def remark(self, beta: Fraction) -> str:
        lows, highs = self._intervals(beta)
        if lows and highs and max(lows) > min(highs):
            return "The two intervals have nothing in common; what spans both is given."
        return ""

    def at_least(self, gap: Fraction) -> Enclosure | None:
        """Twice the smaller chance of the two, each of its own value."""
        chances = [error.at_least(between(value).low) for value, error in zip(self.values, self.errors, strict=True)]
        known = [chance[1] for chance in chances if chance is not None]
        return (Fraction(0), min(Fraction(1), 2 * min(known))) if known else None


# ---------------------------------------------------------------- before the second is paid for


@dataclass(frozen=True, repr=False)
class After:
    """Bound the error of one bin once another answer is paid for and combined with one that is there.

    error   of both together, where they agree; None where nothing bounds it
    before  of the one that is there
    noun    what has a value: a bin, a rank
    limits  the statement about rows that the limits of the unit may leave out, where they may
    """

    error: ErrorValue | None
    before: ErrorValue | None
    beta: Fraction
    nouns: str
    noun: str = "bin"
    limits: str = ""

    @property
    def sentence(self) -> str:
        """`after this, ±4 rows (exact) in any one bin, 95 in 100; now ±5`."""
        if self.error is None:
            return f"after this, still nothing bounds how far one {self.noun} is off"
        now = "" if self.before is None else f"; now ±{few(self.before.value)}"
        if self.before is not None and self.before.value <= self.error.value:
            now += ", so both together are no surer than the first"
        held = f"({self.error.how}) in any one {self.noun} where both answers agree, {often(self.beta)}"
        limits = f". {self.limits}" if self.limits else ""
        return f"after this, ±{few(self.error.value)} {self.nouns} {held}{now}{limits}"

    def to_json(self) -> dict[str, Any]:
        return {
            "error": None if self.error is None else self.error.to_json(),
            "before": None if self.before is None else self.before.to_json(),
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"<{self.sentence[:1].upper()}{self.sentence[1:]}>"


def after(
    release: Release, law: StoredLaw, question: Question, unit: Unit, max_items: int | None, beta: Fraction
) -> After:
    """Bound the error of one bin after an answer of this law was combined with the release. It sees laws alone."""
    fits(release.question, release.unit, question, unit)
    if max_items is not None or release.max_items is not None:
        raise ParameterError.of(
            "a list of items",
            "which items are listed is no count, so lists are not combined",
            "combine releases that count",
        )
    now = release.answer.bars(release.reading, beta)[0]
    together = _together(release.terms.law, law, question, unit, beta)
    return After(together, now, beta, question.nouns(unit), release.answer.noun, release.limits)


def _together(first: StoredLaw, second: StoredLaw, question: Question, unit: Unit, beta: Fraction) -> ErrorValue | None:
    """Bound the error of the combined value of the bin that errs most, where both answers agree in it: the second would
    be bought after the first."""
    if (parts := alike(first, second)) and adds_up(first, second):
        pairs = [[_bin(law, at, question, unit) for law in (first, second)] for at in parts]
    else:
        bars = [law.error.one_bin(beta / 2) for law in (first, second)]
        if None in bars:
            return None
        pairs = [[WorstBin(law) for law in (first, second)]]
    found = [reach_in_accord(one, other, beta) for one, other in pairs]
    known = [reach for reach in found if reach is not None]
    rules = " / ".join(dict.fromkeys(error.rule for pair in pairs for error in pair))
    return ErrorValue(max(known), "bound", f"{ACCORD}: {rules}") if len(known) == len(found) else None


@dataclass(frozen=True)
class WorstBin(LinearError):
    """The error of the bin that errs most, by its error bar alone."""

    law: StoredLaw

    @property
    def rule(self) -> str:
        bar = self.law.error.one_bin(USUAL)
        return "" if bar is None else bar.rule

    def ends(self, beta: Fraction) -> Ends:
        bar = self.law.error.one_bin(beta)
        end = None if bar is None else Quantile(bar.value, bar.value)
        return end, end


def _bin(law: StoredLaw, at: int, question: Question, unit: Unit) -> LinearError:
    """The error of one bin."""
    return law.linear(Query.of((range(at, at + 1), 1)), None, Reading(question, unit, law.error, law.clamp))


protect_module(vars())
