"""Who is protected, and under which change of the data."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from dpviz.boundary import as_given, protect_module, single_arguments
from dpviz.errors import UnitError, unwritable
from dpviz.exact import whole
from dpviz.privacy.limits import Limits, checked_limits, read_limit

Relation = Literal["add-remove", "replace-one"]
RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one")

FACTS: Final = ("most_bins", "most_per_bin", "most_records")
"""The facts that may be declared of the data of all units, by name."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Declare the privacy unit of a session: two datasets are neighbours when they differ in one unit.

    Parameters
    ----------
    of : str, default "row"
        "row", or the name of the column that names the user.
    relation : {"add-remove", "replace-one"}, default "add-remove"
        "add-remove": the unit is there or not. "replace-one": its data is exchanged for other data.
    noun : str, optional
        The name of one unit in sentences, such as "person-year"; "row" or the column by default.
    max_bins : int or None, default 1
        How many bins one unit may touch (1 for a row); None for no limit.
    max_per_bin : int, default 1
        How much one unit may add to one bin (1 for a row).
    n : int, optional
        The number of rows: public under replace-one of rows, which needs it, and unknown to every plan otherwise.
    max_records : int, optional
        How many records one unit counts with in all bins together; None for no limit but the other two. They are cut to
        it, for no unit can touch more bins, or add more to one, than it has records.
    most_bins, most_per_bin, most_records : int, optional
        Facts about the data, declared true: no unit has rows in more bins of any question, more rows in one bin, or
        more rows in all. They are public statements, and no limits.

    Raises
    ------
    UnitError
        If a part is outside its range, or the parts contradict each other.
    ParameterError
        If a limit or a fact is no whole number above 0.

    Notes
    -----
    A guarantee rests on the limits alone, which are enforced. Facts change the words and the open ends of intervals: a
    limit that no unit exceeds leaves nothing out. They lower no price, and are no part of a ledger, of the key of an
    answer or of a saved release; units that differ in facts alone are equal. A false fact makes statements wrong, and
    breaks no guarantee.

    Examples
    --------
    >>> Unit("user", noun="person", max_bins=3).text
    'one person, add or remove, at most 3 bins, 1 in each'
    >>> Unit("user", max_bins=3, most_bins=2) == Unit("user", max_bins=3)
    True
    """

    of: str = "row"
    relation: Relation = "add-remove"
    noun: str = ""
    max_bins: int | None = 1
    max_per_bin: int = 1
    n: int | None = None
    max_records: int | None = None
    most_bins: int | None = field(default=None, compare=False)
    most_per_bin: int | None = field(default=None, compare=False)
    most_records: int | None = field(default=None, compare=False)

    @single_arguments
    def __init__(
        self,
        of: str = "row",
        relation: Relation = "add-remove",
        noun: str = "",
        max_bins: int | None = 1,
        max_per_bin: int = 1,
        n: int | None = None,
        max_records: int | None = None,
        most_bins: int | None = None,
        most_per_bin: int | None = None,
        most_records: int | None = None,
    ) -> None:
        given = {
            "of": of,
            "relation": relation,
            "noun": noun,
            "max_bins": max_bins,
            "max_per_bin": max_per_bin,
            "n": n,
            "max_records": max_records,
            "most_bins": most_bins,
            "most_per_bin": most_per_bin,
            "most_records": most_records,
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        if not isinstance(self.of, str) or not self.of:
            rule = 'a unit must be "row" or the name of the column that names the user'
            raise UnitError.of(self.of, rule, 'write dv.Unit("row") to protect single rows')
        if self.relation not in RELATIONS:
            rule = 'relation must be "add-remove" or "replace-one"'
            raise UnitError.of(self.relation, rule, 'write relation="add-remove" where rows may come and go')
        if not isinstance(self.noun, str):
            raise UnitError.of(self.noun, "noun must be text", 'write noun="person", or leave it out')
        for name in ("of", "noun"):
            if unwritable(getattr(self, name)):
                shown, rule = ascii(getattr(self, name)), f"{name} must be text that can be written as UTF-8"
                raise UnitError.of(shown, rule, "leave half characters (surrogates) out of it")
        for name in ("max_bins", "max_per_bin", "max_records", *FACTS):
            if name != "max_per_bin" and getattr(self, name) is None:
                continue
            object.__setattr__(self, name, read_limit(getattr(self, name), name))
        if self.is_row and self.max_records is not None:
            raise UnitError.of(
                f"max_records={self.max_records}",
                "a row is one record",
                "name the user column as the unit to bound contributions",
            )
        if self.is_row and self.facts:
            raise UnitError.of(
                ", ".join(f"{name}={fact}" for name, fact in self.facts.items()),
                "a row is in one bin, once, so nothing is left to declare",
                "leave it out, or name the user column as the unit",
            )
        if self.max_records is not None:
            bins = self.max_records if self.max_bins is None else min(self.max_bins, self.max_records)
            object.__setattr__(self, "max_bins", bins)
            object.__setattr__(self, "max_per_bin", min(self.max_per_bin, self.max_records))
        if self.is_row and (self.max_bins, self.max_per_bin) != (1, 1):
            raise UnitError.of(
                f"max_bins={self.max_bins}, max_per_bin={self.max_per_bin}",
                "a row touches one bin and adds one to it",
                "name the user column as the unit to bound contributions",
            )
        if self.n is not None:
            if not (self.is_row and self.relation == "replace-one"):
                raise UnitError.of(
                    self.n,
                    "n is public only under replace-one of rows",
                    "leave n out; a public cap goes to the mechanism",
                )
            object.__setattr__(self, "n", whole(self.n, "n"))
        elif self.is_row and self.relation == "replace-one":
            raise UnitError.of(
                None,
                "replace-one of rows makes the number of rows public, so n must be given",
                "write Unit(..., n=...) with the public number of rows",
            )
        if not self.noun:
            object.__setattr__(self, "noun", "row" if self.is_row else self.of)

    @property
    def is_row(self) -> bool:
        """Whether the unit is a single row."""
        return self.of == "row"

    @property
    def facts(self) -> dict[str, int]:
        """The facts that were declared, by name."""
        return {name: fact for name in FACTS if (fact := getattr(self, name)) is not None}

    @single_arguments
    def with_facts(
        self,
        most_bins: int | None = None,
        most_per_bin: int | None = None,
        most_records: int | None = None,
    ) -> Unit:
        """Return the same unit with these facts declared of the data, in place of any before.

        Parameters
        ----------
        most_bins : int, optional
            The most bins of any question that one unit has rows in.
        most_per_bin : int, optional
            The most rows that one unit has in one bin.
        most_records : int, optional
            The most rows that one unit has in all.

        Returns
        -------
        Unit
            An equal unit: facts change statements, and no price.

        Raises
        ------
        UnitError
            If the unit is a row, which has nothing to declare.
        ParameterError
            If a fact is no whole number above 0.

        Examples
        --------
        >>> Unit("user", max_bins=12).with_facts(most_per_bin=1).facts
        {'most_per_bin': 1}
        """
        return replace(self, most_bins=most_bins, most_per_bin=most_per_bin, most_records=most_records)

    @property
    def limits(self) -> Limits:
        """The limits, each of which is given."""
        return Limits(self.max_bins, self.max_per_bin, self.max_records)

    @property
    def protects(self) -> tuple[str, Relation, str, int | None]:
        """The column, the relation, the noun and the public number of rows: all that prices of a ledger share."""
        return self.of, self.relation, self.noun, self.n

    @single_arguments
    def limited(self, limits: Limits) -> Unit:
        """Return the same unit under other limits; its own hold where none is given.

        Parameters
        ----------
        limits : Limits
            The limits.

        Returns
        -------
        Unit
            Who is protected, and under which change of the data, is the same; so are the facts.

        Raises
        ------
        ParameterError
            If `limits` is no `Limits`.
        UnitError
            If the unit is a row, which adds one to one bin.

        Notes
        -----
        A limit on all records cuts the other two, as it does in a new unit. One that is lifted gives back none of that:
        name the other limits with it.

        Examples
        --------
        >>> Unit("user", max_bins=3).limited(Limits(max_bins=12)).l1(12)
        12
        """
        return replace(self, **checked_limits(limits).given)  # type: ignore[arg-type]

    @property
    def nouns(self) -> str:
        """The plural of the noun."""
        return plural(self.noun)

    @property
    def counted_nouns(self) -> str:
        """The noun of a count in one bin: the units themselves, or their rows where one adds several."""
        return self.nouns if self.max_per_bin == 1 else f"rows of {self.nouns}"

    def in_part(self) -> Unit:
        """Return the same unit as it comes and goes in one of several disjoint parts.

        Returns
        -------
        Unit
            With the relation "add-remove" and no `n`, for the number of rows of a part is not public.
        """
        return replace(self, relation="add-remove", n=None)

    def l1(self, bins: int | None = None) -> int:
        """Return how far one unit moves a vector of counts in L1: the sensitivity of a histogram.

        Parameters
        ----------
        bins : int, optional
            How many counts there are; None where that is not known.

        Returns
        -------
        int
            The L1 sensitivity, in rows or in steps of a sum.

        Raises
        ------
        UnitError
            If nothing limits how many bins one unit touches.

        Notes
        -----
        A replacement empties some bins and fills others; in each the count moves by max_per_bin at most, and in all
        together by the records that go and those that come.

        Examples
        --------
        >>> Unit().l1(10), Unit("user", relation="replace-one", max_bins=3).l1(10)
        (1, 6)
        """
        if self.max_bins is None:
            if bins is None:
                raise UnitError.of(
                    "max_bins=None",
                    "without a limit on the bins of one unit, this question has no sensitivity",
                    "declare the bins, give max_bins, or ask for the top k",
                )
            return bins * self.max_per_bin
        sides = 1 if self.relation == "add-remove" else 2
        touched = self.max_bins * sides
        moved = (touched if bins is None else min(touched, bins)) * self.max_per_bin
        return moved if self.max_records is None else min(moved, sides * self.max_records)

    def l2_squared(self, bins: int) -> int:
        """Return the square of how far one unit moves a vector of counts in L2.

        Parameters
        ----------
        bins : int
            How many counts there are.

        Returns
        -------
        int
            The squared L2 sensitivity.

        Raises
        ------
        UnknownArgument
            If `bins` is left out.

        Notes
        -----
        A unit that comes or goes moves the counts by its own, none of which is below 0. Their squares add up to most
        where as many bins as its records fill hold max_per_bin, and one more holds the rest. In a replacement some
        counts rise and others fall: where both units count in a bin, taking the same from both changes nothing. So the
        worst replacement fills bins for the one and others for the other, the full ones first, as long as there are
        bins.

        Examples
        --------
        >>> unit = Unit("user", max_bins=3, max_per_bin=4, max_records=9)
        >>> unit.l2_squared(10), Unit("user", relation="replace-one", max_bins=3).l2_squared(10)
        (33, 6)
        """
        touched = bins if self.max_bins is None else min(self.max_bins, bins)
        full, left = touched, 0
        if self.max_records is not None and self.max_records < touched * self.max_per_bin:
            full, left = divmod(self.max_records, self.max_per_bin)
        sides = 1 if self.relation == "add-remove" else 2
        filled = min(bins, sides * full)
        return filled * self.max_per_bin**2 + min(bins - filled, sides) * left**2

    def records(self, bins: int) -> int:
        """Return how many records one unit counts with at most.

        Parameters
        ----------
        bins : int
            How many bins there are.

        Returns
        -------
        int
            The largest number of records.

        Raises
        ------
        UnknownArgument
            If `bins` is left out.
        """
        most = (bins if self.max_bins is None else min(self.max_bins, bins)) * self.max_per_bin
        return most if self.max_records is None else min(most, self.max_records)

    @property
    def text(self) -> str:
        """For a label: `one person-year, add or remove`."""
        bins = "any number of bins" if self.max_bins is None else f"at most {plural_of(self.max_bins, 'bin')}"
        bounds = "" if self.is_row else f", {bins}, {self.max_per_bin} in each"
        if self.max_records is not None:
            bounds += f", {plural_of(self.max_records, 'record')} in all"
        return f"{self.change}{bounds}"

    @property
    def change(self) -> str:
        """The same without the limits."""
        return f"one {self.noun}, {'add or remove' if self.relation == 'add-remove' else 'replace'}"

    @property
    def sentence(self) -> str:
        """For a guarantee: `adding or removing one person-year`."""
        change = "adding or removing" if self.relation == "add-remove" else "replacing"
        return f"{change} one {self.noun}"

    def to_json(self) -> dict[str, object]:
        """Return the parts by name, as a ledger keeps them: without facts, on which nothing in it rests.

        Returns
        -------
        dict
            Plain texts, whole numbers and None.
        """
        written: dict[str, object] = {
            "of": self.of,
            "relation": self.relation,
            "noun": self.noun,
            "max_bins": self.max_bins,
            "max_per_bin": self.max_per_bin,
            "n": self.n,
        }
        if self.max_records is not None:  # as it was written before there was such a limit: an answer is known by it
            written["max_records"] = self.max_records
        return written


def known_unit(given: object) -> Unit:
    """The unit that was given as one. Raises UnitError for anything else."""
    if type(given) is not Unit:
        raise UnitError.of(as_given(given), "unit must be a Unit", 'write dv.Unit("row", noun="person-year")')
    return given


def plural_of(number: int, noun: str) -> str:
    """`1 record`, `2 records`."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


IRREGULAR = {"person": "people", "child": "children", "woman": "women", "man": "men"}


def plural(noun: str) -> str:
    """`person-years`, `aircraft`, `bodies`, `people`: enough for a label.

    >>> plural("person"), plural("sick child"), plural("human"), plural("person-year")
    ('people', 'sick children', 'humans', 'person-years')
    """
    last = re.split(r"[\s_-]", noun)[-1]
    if last.lower() in IRREGULAR:
        return noun[: len(noun) - len(last) + 1] + IRREGULAR[last.lower()][1:]
    if noun.endswith(("craft", "s")):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("x", "ch", "sh")) else "s")


protect_module(vars())
