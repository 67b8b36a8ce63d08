"""A value computed from paid answers, free: a sum, a range, a difference, a share, a comparison.

A `Derived` is public, as the answers are that it rests on. It says how far it may be off, how that is known, what
biases it, and which entries of the ledger paid for it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, overload

from dpviz import files
from dpviz.boundary import plain_arguments, protect_module, single_arguments
from dpviz.exact import text
from dpviz.model.between import Enclosed, between
from dpviz.model.error import How
from dpviz.model.limited import LEFT_OUT, WITHIN
from dpviz.model.linear import Bias
from dpviz.model.question import canonical
from dpviz.model.spreadsheet import table
from dpviz.model.words import escape, few, often, shown, supported

if TYPE_CHECKING:
    import pandas as pd

Among: TypeAlias = Literal["one", "all"] | int
"""The event that an interval holds for: one question that was picked before looking, so many of them, or all of a
kind."""

Ends: TypeAlias = tuple[Fraction | None, Fraction | None]
"""Both ends of an interval; None where an end is open."""

DerivedKind: TypeAlias = Literal["sum", "range", "difference", "share", "mean", "comparison"]


@dataclass(frozen=True)
class Paid:
    """One answer that a derived value rests on.

    number    the ledger's entry that paid for it; None in teaching
    use       which use of that entry it is, where the entry is a sub-session
    price     as paid: `ε = 0.1`
    title     what was released
    teaching  the seed of a teaching draw, which is not private
    unchecked  whether it was read from a file and no ledger confirms it
    """

    number: int | None
    use: int | None
    price: str
    title: str
    teaching: int | None = None
    unchecked: bool = field(default=False, compare=False)

    @property
    def text(self) -> str:
        """`entry 3 (ε = 0.1)`, `entry 4 (ε = 0.1, origin unchecked)`."""
        return self._text[:-1] + ", origin unchecked)" if self.unchecked else self._text

    @property
    def _text(self) -> str:
        if self.teaching is not None:
            return f"a teaching draw, seed {self.teaching}, which is not private ({self.price})"
        use = "" if self.use is None else f", question {self.use}"
        return (
            f"an answer without a ledger ({self.price})"
            if self.number is None
            else f"entry {self.number}{use} ({self.price})"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "use": self.use,
            "price": self.price,
            "title": self.title,
            "teaching": self.teaching,
        }


def marked(frame: pd.DataFrame, *paid: Paid) -> pd.DataFrame:
    """The frame, which says in its `attrs` that the origin of an answer is unchecked that it rests on."""
    if any(one.unchecked for one in paid):
        frame.attrs["origin"] = "unchecked"
    return frame


def told(frame: pd.DataFrame, limits: str) -> pd.DataFrame:
    """The frame, which says in its `attrs` which rows the limits of the unit may leave out, where they may."""
    if limits:
        frame.attrs["limits"] = limits
    return frame


def seeds(paid: Sequence[Paid]) -> str:
    """A sentence on two teaching draws with one seed; or nothing. Successive teaching draws are independent; two that
    begin with the same seed draw the same noise."""
    given = [one.teaching for one in paid if one.teaching is not None]
    if len(given) == len(set(given)):
        return ""
    return " Both draws have one seed: this holds if one teaching drew them, one after the other."


@dataclass(frozen=True)
class Derived:
    """Hold a value that was computed from paid answers, with its interval.

    Parameters
    ----------
    kind : {"sum", "range", "difference", "share", "mean", "comparison"}
        The kind of question.
    what : str
        The bins that the value is about, in words.
    value : Fraction or Enclosed
        The value, or two fractions that enclose it; of a comparison the difference.
    low, high : Fraction or None
        The ends of the interval for what was asked, both inside; None where an end is open.
    how : {"exact", "bound", "numerical"}
        How the interval is known: exact, a proved bound, or numerical.
    rule : str
        The rule by which it is known.
    off : Fraction or None
        Of a numerical interval, by how much an end is too far out at most.
    beta : Fraction
        How often the interval may miss the truth.
    among : {"one", "all"} or int
        The questions that the interval holds for: one picked before looking, several, or all of a kind.
    bias : Bias
        The mean error of the value.
    paid : tuple of Paid
        The answers that the value rests on.
    nouns : str
        The noun of a count, in the plural.
    remarks : tuple of str, optional
        Further facts that a reader must know, as sentences.
    cut : tuple of bool, optional
        Whether each end is that of a public limit, and not of an error bar.
    empty : bool, default False
        Whether no public limit lies within the error bar, which is then shown as it is.
    chance : Chance, optional
        Of a comparison: the probability of so large a difference where the first count is no larger than the second.
    limits : str, optional
        The statement about rows that the limits of the unit may leave out; empty where they leave out nothing.
    counted : tuple of Fraction or None, optional
        Both ends of the interval for what was counted within the limits; None where nothing is left out.

    Raises
    ------
    UnknownArgument
        If a part is left out.

    Notes
    -----
    `release.sum`, `range`, `difference`, `share`, `mean` and `compare` make it. It costs nothing more. Where a limit of
    the unit may leave rows out, the value and its bias, a chance and `counted` are about counted rows, and `low` and
    `high` about all rows that were asked for.
    """

    kind: DerivedKind
    what: str
    value: Fraction | Enclosed
    low: Fraction | None
    high: Fraction | None
    how: How
    rule: str
    off: Fraction | None
    beta: Fraction
    among: Among
    bias: Bias
    paid: tuple[Paid, ...]
    nouns: str
    remarks: tuple[str, ...] = ()
    cut: tuple[bool, bool] = (False, False)
    empty: bool = False
    chance: Chance | None = None
    limits: str = ""
    counted: Ends | None = None

    @property
    def interval(self) -> tuple[Fraction | None, Fraction | None]:
        """Both ends of the interval; None where an end is open."""
        return self.low, self.high

    @property
    def teaching(self) -> bool:
        """Whether it rests on a teaching draw, which is not private."""
        return any(one.teaching is not None for one in self.paid)

    @property
    def interval_text(self) -> str:
        """`100 to 146`, `at least 3`."""
        return _between(self.low, self.high, self._half)

    @property
    def counted_text(self) -> str:
        """`966 to 984 counted within the limits`; empty where nothing is left out."""
        return "" if self.counted is None else f"{_between(*self.counted, self._half)} {WITHIN}"

    @property
    def told_text(self) -> str:
        """Both intervals: `at least 966; 966 to 984 counted within the limits`."""
        return "; ".join(filter(None, (self.interval_text, self.counted_text)))

    @property
    def counted_interval(self) -> Ends:
        """Both ends of the interval for what was counted; None where an end is open."""
        return self.interval if self.counted is None else self.counted

    @property
    def _held(self) -> str:
        """The interval as a clause: `the truth lies between 100 and 146 rows`."""
        if self.counted is not None:
            asked = "nothing bounds the number that was asked"
            if self.interval != (None, None):
                asked = f"the number that was asked is {self.interval_text}{self._unit}"
            low, high = self.counted
            if low is None or high is None:
                return f"{asked}, and the counted one {_between(low, high, self._half)}"
            return f"{asked}, and the counted one lies between {self._ends_text(low, high)}"
        if self.low is None and self.high is None:
            return "nothing bounds the truth"
        if self.low is None or self.high is None:
            return f"the truth is {self.interval_text}{self._unit}"
        return f"the truth lies between {self._ends_text(self.low, self.high)}{self._unit}"

    @property
    def _half(self) -> Fraction | None:
        """Half the width of the interval of the counted number, whose digits are told; None where an end is open."""
        low, high = self.counted_interval
        return None if low is None or high is None else (high - low) / 2

    def _ends_text(self, low: Fraction, high: Fraction) -> str:
        return f"{_number(low, self._half, -1)} and {_number(high, self._half, 1)}"

    @property
    def _unit(self) -> str:
        """The words that follow a number of it; nothing after a share or a mean."""
        return "" if self.kind in ("share", "mean") else f" {self.nouns}"

    @property
    def value_text(self) -> str:
        """The value for reading: in the digits that its interval supports."""
        rounded = supported(self.value, self._half)
        if rounded is None:
            return _number(self.value)
        return shown(rounded) if rounded == between(self.value).low else f"about {shown(rounded)}"

    @property
    def known(self) -> str:
        """How the interval is known, in a word or two."""
        if self.off is not None:
            return f"calculated to within {few(self.off)}{self._unit}"
        return "proved bound" if self.how == "bound" else self.how

    @property
    def among_text(self) -> str:
        """`for this one, if it was picked before looking`."""
        if self.among == "one":
            return "if this was picked before looking"
        if self.among == "all":
            return "for all of its kind at once"
        return f"for all of {self.among:,} such questions at once"

    @property
    def bias_text(self) -> str:
        """`unbiased`, `biased: counts that would be below 0 were raised to 0; on average at most 200 rows too high`."""
        low, high = self.bias.low, self.bias.high
        parts = [f"{few(-low)}{self._unit} too low"] if low else []
        parts += [f"{few(high)}{self._unit} too high"] if high else []
        words = f"{self.bias.words}; on average at most {' or '.join(parts)}" if parts else self.bias.words
        return words if self.counted is None else f"of what is {WITHIN}: {words}"

    @property
    def sentence(self) -> str:
        """All of it in a few words."""
        held = f"{often(self.beta)} times {self._held} ({self.known}), {self.among_text}"
        counted = "" if self.counted is None else f" {WITHIN}"
        said = f"{self.what}: {self.value_text}{self._unit}{counted}; {held}; {self.bias_text}."
        return " ".join([said, *self._more])

    @property
    def _more(self) -> list[str]:
        found = [] if self.chance is None else [self.chance_text]
        return [*found, *([self.limits] if self.limits else []), *self.remarks]

    @property
    def chance_text(self) -> str:
        """The p-value of a comparison as a sentence, which says what it is about; empty where there is none."""
        if self.chance is None:
            return ""
        said = self.chance.sentence
        return said if self.counted is None else f"Among what is {WITHIN}: {said[:1].lower()}{said[1:]} {LEFT_OUT}"

    @property
    def rests_on(self) -> str:
        """`Rests on entry 3 (ε = 0.1); costs nothing more.`"""
        free = "" if self.teaching else "; costs nothing more"
        return f"Rests on {' and '.join(one.text for one in self.paid)}{free}.{seeds(self.paid)}"

    def to_json(self) -> dict[str, Any]:
        """Return every part as plain texts, as a page or a report takes it.

        Returns
        -------
        dict
            Texts, truth values and lists of texts.
        """
        value = self.value
        return {
            "kind": self.kind,
            "what": self.what,
            "value": [text(value.low), text(value.high)] if isinstance(value, Enclosed) else text(value),
            "low": _text(self.low),
            "high": _text(self.high),
            "how": self.how,
            "rule": self.rule,
            "off": _text(self.off),
            "beta": text(self.beta),
            "among": str(self.among),
            "bias": {"words": self.bias.words, "low": _text(self.bias.low), "high": _text(self.bias.high)},
            "paid": [one.to_json() for one in self.paid],
            "nouns": self.nouns,
            "remarks": list(self.remarks),
            "cut": list(self.cut),
            "empty": self.empty,
            "chance": None if self.chance is None else self.chance.to_json(),
            **({} if self.counted is None else {"limits": self.limits, "counted": list(map(_text, self.counted))}),
            "sentence": self.sentence,
            "rests_on": self.rests_on,
        }

    @property
    def columns(self) -> dict[str, Any]:
        """One row of a frame."""
        value = {"value": self.value}
        if isinstance(self.value, Enclosed):
            value = {"value": self.value.middle, "value_low": self.value.low, "value_high": self.value.high}
        found = {"what": self.what, **value, "low": self.low, "high": self.high}
        if self.counted is not None:
            found |= {"low_counted": self.counted[0], "high_counted": self.counted[1]}
        found["how"] = self.how
        return found if self.chance is None else {**found, "chance": self.chance.value.high}

    def to_frame(self) -> pd.DataFrame:
        """Return a frame of one row.

        Returns
        -------
        DataFrame
            The subject, value, low, high, and how these are known. A comparison has its chance, too. Where a limit of
            the unit may leave rows out, low_counted and high_counted are the ends for what was counted.
        """
        return DerivedTable((self,)).to_frame()

    @single_arguments
    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Write the row of `to_frame` as CSV below comment lines.

        Parameters
        ----------
        path : str or Path, optional
            The file to write. Left out, the text is returned.

        Returns
        -------
        str or None
            The text, where no path is given.

        Raises
        ------
        ParameterError
            If the name of the file promises another format, or the file cannot be written.

        See Also
        --------
        dpviz.Release.to_csv : how labels and numbers are written, and the calls that read them.
        """
        return DerivedTable((self,)).to_csv(path)

    @single_arguments
    def save(self, path: str | Path) -> Path:
        """Write the value to a file that `dv.load_derived` reads. The file holds public parts only.

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
        return saved(path, {"rows": [self.to_json()], "alone": True})

    @plain_arguments
    def chart(self, **options: Any) -> Any:
        """Draw the value with its interval as an Altair chart; see `dpviz.charts.of_derived`.

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
        return DerivedTable((self,)).chart(**options)

    def _repr_html_(self) -> str:
        return DerivedTable((self,))._repr_html_()

    def __repr__(self) -> str:
        return f"<{self.kind.capitalize()}: {self.sentence} {self.rests_on}>"


@dataclass(frozen=True)
class Chance:
    """The p-value of a comparison: how likely so large a difference is where the first is no larger than the second.

    value  what encloses it; of a bound, its upper end is what is proved
    """

    value: Enclosed
    how: How
    rule: str

    @property
    def sentence(self) -> str:
        """The statement, with the chance rounded up."""
        chance = few(self.value.high)
        return (
            f"If the first were no larger, so large a difference would come with chance at most {chance} ({self.rule})."
        )

    def to_json(self) -> dict[str, Any]:
        return {"low": text(self.value.low), "high": text(self.value.high), "how": self.how, "rule": self.rule}


@dataclass(frozen=True, repr=False)
class DerivedTable(Sequence[Derived]):
    """Many derived values, asked for at once.

    Parameters
    ----------
    rows : tuple of Derived
        The values, in the order of asking.
    """

    rows: tuple[Derived, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Derived: ...

    @overload
    def __getitem__(self, place: slice) -> DerivedTable: ...

    def __getitem__(self, place: int | slice) -> Derived | DerivedTable:
        return DerivedTable(self.rows[place]) if isinstance(place, slice) else self.rows[place]

    def __iter__(self) -> Iterator[Derived]:
        return iter(self.rows)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each value.

        Returns
        -------
        DataFrame
            The subject, value, low, high, and how these are known. A comparison has its chance, too.
        """
        import pandas as pd

        names = None if self.rows else ("what", "value", "low", "high", "how")
        frame = pd.DataFrame([row.columns for row in self.rows], columns=names)
        said = " ".join(dict.fromkeys(row.limits for row in self.rows if row.limits))
        return told(marked(frame, *(one for row in self.rows for one in row.paid)), said)

    def to_json(self) -> list[dict[str, Any]]:
        """Return every value as plain texts.

        Returns
        -------
        list of dict
            One for each value, as `Derived.to_json` returns it.
        """
        return [row.to_json() for row in self.rows]

    @property
    def notes(self) -> tuple[str, ...]:
        """The remarks, the bias, and the answers that the values rest on, each sentence once."""
        said = dict[str, None]()
        for row in self.rows:
            said |= dict.fromkeys([*row._more, f"{row.bias_text[:1].upper()}{row.bias_text[1:]}.", row.rests_on])
        return tuple(said)

    @single_arguments
    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Write the frame of `to_frame` as CSV, preceded by comment lines.

        The comments say which entries of the ledger the values rest on, how often an interval may miss the truth, and
        what biases a value.

        Parameters
        ----------
        path : str or Path, optional
            The file to write. Left out, the text is returned.

        Returns
        -------
        str or None
            The text, where no path is given.

        Raises
        ------
        ParameterError
            If the name of the file promises another format, or the file cannot be written.

        See Also
        --------
        dpviz.Release.to_csv : how labels and numbers are written, and the calls that read them.
        """
        seeded = any(row.teaching for row in self.rows)
        missed = dict.fromkeys(
            f"intervals fail at most {text(row.beta)} of the time, {row.among_text}" for row in self.rows
        )
        about = [*["not private: seeded teaching draw"] * seeded, *self.notes, *missed]
        return table(about, self.to_frame, path)

    @single_arguments
    def save(self, path: str | Path) -> Path:
        """Write the values to a file that `dv.load_derived` reads. It holds public things only.

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
        return saved(path, self._body)

    @property
    def _body(self) -> dict[str, Any]:
        return {"rows": self.to_json()}

    @plain_arguments
    def chart(self, **options: Any) -> Any:
        """Draw the values with their intervals as an Altair chart; see `dpviz.charts.of_derived`.

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
        return pkgutil.resolve_name("dpviz.charts:of_derived")(self, **options)

    def _repr_html_(self) -> str:
        """A table for a notebook, escaped."""
        limited = any(row.counted is not None for row in self.rows)
        lines = []
        for row in self.rows:
            ends = [row.interval_text, *([row.counted_text] if limited else [])]
            cells = [row.value_text, *ends, row.known, f"{often(row.beta)}, {row.among_text}"]
            line = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            lines.append(f"<tr><th scope='row'>{escape(row.what)}</th>{line}</tr>")
        names = ["asked", "counted" if limited else "value", "interval", "known", "holds"]
        names[3:3] = ["interval of the counted"] if limited else []
        heads = "".join(f"<th scope='col'>{name}</th>" for name in names)
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        about = f"<p>{escape(' '.join(self.notes))}</p>"
        return f"<div class='mathjax_ignore tex2jax_ignore'>{table}{about}</div>"

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.rows))


FORMAT: Final = "dpviz.derived"
VERSION: Final = 1
"""The form in which derived values and combined answers are saved."""


def saved(path: object, body: Mapping[str, Any]) -> Path:
    """Write a body with its checksum, as releases are written."""
    place = files.of_format(path, "a file of derived values", "totals.json", files.JSON)
    whole = {"format": FORMAT, "version": VERSION, **body}
    content = canonical({"derived": whole, "sha256": sha256(canonical(whole)).hexdigest()})
    return files.write(place, content, "a file of derived values", "totals.json")


def _between(low: Fraction | None, high: Fraction | None, half: Fraction | None) -> str:
    """`100 to 146`, `at least 3`."""
    if low is None:
        return "anything" if high is None else f"at most {_number(high, half, 1)}"
    least = _number(low, half, -1)
    return f"at least {least}" if high is None else f"{least} to {_number(high, half, 1)}"


def _text(number: Fraction | None) -> str | None:
    return None if number is None else text(number)


def _number(number: int | Fraction | Enclosed, half: Fraction | None = None, side: int = 0) -> str:
    """A number for reading: an end in the digits that its interval supports, one with no finite decimal to three places
    where an end is open."""
    if (rounded := supported(number, half, side)) is not None:
        return shown(rounded)
    exact = number.low if isinstance(number, Enclosed) and number.low == number.high else number
    if isinstance(exact, Fraction) and "/" in text(exact):
        return f"about {shown(round(exact, 3))}"
    return shown(exact)


protect_module(vars())
