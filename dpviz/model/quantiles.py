"""Quantiles that were computed from paid answers, with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from dpviz.boundary import protect_module, single_arguments
from dpviz.exact import text
from dpviz.model.derived import Among, Paid, marked, saved, seeds
from dpviz.model.error import How
from dpviz.model.spreadsheet import table
from dpviz.model.words import escape, often, told

if TYPE_CHECKING:
    import pandas as pd

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class DerivedQuantile:
    """Hold a quantile that was computed from paid answers, with its interval.

    Parameters
    ----------
    q : Fraction
        The share of what is counted that lies at the quantile or below it, above 0 and below 1.
    column : str
        The column of the bins.
    label : str or None
        The bin of the estimate; None where nothing seems to be counted.
    low_label, high_label : str
        The first and the last bin of the interval, both inside.
    low, high : Fraction or None
        The numbers between which the quantile lies: the least of the first bin and the greatest of the last; None where
        a bin has no end, or holds no numbers.
    how : {"exact", "bound", "numerical"}
        How the interval is known: exact, a proved bound, or numerical.
    rule : str
        The rule by which it is known.
    beta : Fraction
        How often the interval may miss a quantile.
    among : {"one"} or int
        The number of quantiles that the interval holds for at once.
    paid : tuple of Paid
        The answers that the quantile rests on.
    nouns : str
        The noun of what is counted, in the plural.
    remarks : tuple of str, optional
        Further facts that a reader must know, as sentences.

    Raises
    ------
    UnknownArgument
        If a part is left out.

    Notes
    -----
    `release.quantile` and `release.median` make it. It costs nothing more. A bin is a q-quantile where at most the
    share q lies below it, and at least the share q in it or below it. The interval holds every bin of which that is
    true.
    """

    q: Fraction
    column: str
    label: str | None
    low_label: str
    high_label: str
    low: Fraction | None
    high: Fraction | None
    how: How
    rule: str
    beta: Fraction
    among: Among
    paid: tuple[Paid, ...]
    nouns: str
    remarks: tuple[str, ...] = ()

    @property
    def interval(self) -> tuple[Fraction | None, Fraction | None]:
        """Both ends of the interval as numbers; None where there is none."""
        return self.low, self.high

    @property
    def name(self) -> str:
        """`median`, `quantile 9/10`."""
        return "median" if self.q == HALF else f"quantile {self.q}"

    @property
    def interval_text(self) -> str:
        """`3 to 5`, `4`: the labels of the bins."""
        return told(self.low_label if self.low_label == self.high_label else f"{self.low_label} to {self.high_label}")

    @property
    def among_text(self) -> str:
        """`if this was picked before looking`."""
        if self.among == "one":
            return "if this was picked before looking"
        return f"for all of {self.among:,} such questions at once"

    @property
    def sentence(self) -> str:
        """All of it in a few words."""
        known = "proved bound" if self.how == "bound" else self.how
        seen = f"{self.column}, {self.name} of the {self.nouns}: {told(self.label or 'none is seen')}"
        held = f"{often(self.beta)} times it lies in {self.interval_text} ({known}), {self.among_text}"
        return " ".join([f"{seen}; {held}.", *self.remarks])

    @property
    def rests_on(self) -> str:
        """`Rests on entry 3 (ε = 0.1); costs nothing more.`"""
        free = "" if any(one.teaching is not None for one in self.paid) else "; costs nothing more"
        return f"Rests on {' and '.join(one.text for one in self.paid)}{free}.{seeds(self.paid)}"

    def to_json(self) -> dict[str, Any]:
        """Return every part as plain texts.

        Returns
        -------
        dict
            Texts and lists of texts.
        """
        return {
            "q": text(self.q),
            "column": self.column,
            "label": self.label,
            "low_label": self.low_label,
            "high_label": self.high_label,
            "low": None if self.low is None else text(self.low),
            "high": None if self.high is None else text(self.high),
            "how": self.how,
            "rule": self.rule,
            "beta": text(self.beta),
            "among": str(self.among),
            "paid": [one.to_json() for one in self.paid],
            "nouns": self.nouns,
            "remarks": list(self.remarks),
            "sentence": self.sentence,
            "rests_on": self.rests_on,
        }

    @property
    def columns(self) -> dict[str, Any]:
        """One row of a frame."""
        return {
            "quantile": text(self.q),
            "bin": self.label,
            "low_bin": self.low_label,
            "high_bin": self.high_label,
            "low": self.low,
            "high": self.high,
            "how": self.how,
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a frame of one row.

        Returns
        -------
        DataFrame
            The quantile, the bin of its estimate, both bins and both numbers of its interval, and how it is known.
        """
        return DerivedQuantiles((self,)).to_frame()

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
        """
        return DerivedQuantiles((self,)).to_csv(path)

    @single_arguments
    def save(self, path: str | Path) -> Path:
        """Write the quantile to a file that `dv.load_derived` reads. The file holds public parts only.

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
        return saved(path, {"quantiles": [self.to_json()], "alone": True})

    def _repr_html_(self) -> str:
        return DerivedQuantiles((self,))._repr_html_()

    def __repr__(self) -> str:
        return f"<Quantile: {self.sentence} {self.rests_on}>"


@dataclass(frozen=True, repr=False)
class DerivedQuantiles(Sequence[DerivedQuantile]):
    """Hold several quantiles of one answer.

    Parameters
    ----------
    rows : tuple of DerivedQuantile
        The quantiles, in the order of asking.

    Raises
    ------
    UnknownArgument
        If the rows are left out.
    """

    rows: tuple[DerivedQuantile, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> DerivedQuantile: ...

    @overload
    def __getitem__(self, place: slice) -> DerivedQuantiles: ...

    def __getitem__(self, place: int | slice) -> DerivedQuantile | DerivedQuantiles:
        return DerivedQuantiles(self.rows[place]) if isinstance(place, slice) else self.rows[place]

    def __iter__(self) -> Iterator[DerivedQuantile]:
        return iter(self.rows)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each quantile.

        Returns
        -------
        DataFrame
            The quantile, the bin of its estimate, both bins and both numbers of its interval, and how it is known.
        """
        import pandas as pd

        frame = pd.DataFrame([row.columns for row in self.rows])
        return marked(frame, *(one for row in self.rows for one in row.paid))

    @property
    def notes(self) -> tuple[str, ...]:
        """The remarks and the answers that the quantiles rest on, each sentence once."""
        said = dict[str, None]()
        for row in self.rows:
            said |= dict.fromkeys([f"{row.column}, of the {row.nouns}.", *row.remarks, row.rests_on])
        return tuple(said)

    @single_arguments
    def to_csv(self, path: str | Path | None = None) -> str | None:
        """Write the frame of `to_frame` as CSV, preceded by comment lines.

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
        """
        seeded = any(one.teaching is not None for row in self.rows for one in row.paid)
        missed = dict.fromkeys(
            f"intervals fail at most {text(row.beta)} of the time, {row.among_text}" for row in self.rows
        )
        return table([*["not private: seeded teaching draw"] * seeded, *self.notes, *missed], self.to_frame, path)

    @single_arguments
    def save(self, path: str | Path) -> Path:
        """Write the quantiles to a file that `dv.load_derived` reads. The file holds public parts only.

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
        return saved(path, {"quantiles": [row.to_json() for row in self.rows]})

    def _repr_html_(self) -> str:
        """A table for a notebook, escaped."""
        lines = []
        for row in self.rows:
            cells = [told(row.label or ""), row.interval_text, row.how, f"{often(row.beta)}, {row.among_text}"]
            line = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            lines.append(f"<tr><th scope='row'>{escape(f'{row.column}, {row.name}')}</th>{line}</tr>")
        heads = "".join(f"<th scope='col'>{name}</th>" for name in ("asked", "bin", "interval", "known", "holds"))
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        return f"<div class='mathjax_ignore tex2jax_ignore'>{table}<p>{escape(' '.join(self.notes))}</p></div>"

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.rows))


protect_module(vars())
