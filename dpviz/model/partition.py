"""Disjoint parts of the data: public bins, of which a row is in one at most, and a unit counts in a few at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dpviz.boundary import as_given, plain_arguments, protect_module
from dpviz.errors import DomainError, ParameterError
from dpviz.exact import whole
from dpviz.model.domain import Domain, is_domain

MOST_PARTS: Final = 1_000
"""A partition has at most so many parts: each is counted and answered by itself."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Take the bins of a declared domain as disjoint parts of the data.

    Parameters
    ----------
    domain : Domain
        The public bins, of one column or of several, at most 1,000.
    max_parts : int, optional
        In how many parts one unit counts at most; its rows in all others are left out. None for all of them. A row is
        in one part anyway.

    Raises
    ------
    ParameterError
        If the bins are not declared, or the limit is no whole number above 0.
    DomainError
        If there are more than 1,000 parts.

    Notes
    -----
    A digest of the partition, the unit and the part decides once which parts a unit keeps: over all its rows, before
    any filter, and alike for every question. So an analyst who asks the parts one after the other, each after seeing
    the answers before, still meets one unit in `max_parts` parts at most.

    Examples
    --------
    >>> Partition(Domain.integers(1, 12, column="month"), max_parts=2).text
    'month, 12 parts, a unit in at most 2'
    """

    domain: Domain
    max_parts: int | None = None

    @plain_arguments
    def __init__(self, domain: Domain, max_parts: int | None = None) -> None:
        if not is_domain(domain) or not domain.declared:
            raise ParameterError.of(
                as_given(domain),
                "parts are the bins of a declared domain, for what they are must be public",
                "write dv.Partition(domain), with a domain of declared bins",
            )
        if domain.size > MOST_PARTS:
            raise DomainError.of(
                domain.size_text, f"a partition has at most {MOST_PARTS:,} parts", "declare fewer, wider bins"
            )
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "max_parts", None if max_parts is None else whole(max_parts, "max_parts"))

    @property
    def size(self) -> int:
        """The number of parts."""
        return self.domain.size

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that decide which part a row is in."""
        return self.domain.columns

    @property
    def filtered(self) -> tuple[str, ...]:
        """The columns that are filtered for the partition: none, for a part is found by its bin."""
        return ()

    @property
    def apart(self) -> bool:
        """Whether no row is in two parts: always true of bins."""
        return True

    @property
    def cut(self) -> int | None:
        """The limit on the parts of a unit where it leaves some out; else None."""
        return None if self.max_parts is None or self.max_parts >= self.size else self.max_parts

    @property
    def names(self) -> list[str]:
        """The names of the parts, in order."""
        return [self.domain.label(part) for part in range(self.size)]

    @property
    def each(self) -> str:
        """The name of the parts' column in a table: `month`, `visits`."""
        return self.domain.each if self.domain.kind == "times" else self.domain.columns_text.replace("_", " ")

    @property
    def noun(self) -> str:
        """The noun of one part, after `each`: `month`, `number of visits`, `range of age`."""
        return self.domain.each

    @property
    def text(self) -> str:
        """The partition in a few words, for a label."""
        limit = "" if self.max_parts is None else f", a unit in at most {self.max_parts:,}"
        return f"{self.each}, {self.size:,} parts{limit}"

    @property
    def python(self) -> str:
        """The call that makes the partition; without a limit, the call of its domain, which stands for it."""
        made = self.domain.python
        return made if self.max_parts is None else f"dv.Partition({made}, max_parts={self.max_parts})"

    def to_json(self) -> dict[str, Any]:
        """Return the saved form.

        Returns
        -------
        dict
            The domain, and the limit as a text where there is one.
        """
        written: dict[str, Any] = {"domain": self.domain.to_json()}
        return written if self.max_parts is None else {**written, "max_parts": str(self.max_parts)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Partition:
        """Read the partition that `to_json` wrote.

        Parameters
        ----------
        data : dict
            The saved form.

        Returns
        -------
        Partition
            The same partition.

        Raises
        ------
        ParameterError
            If the data are not what `to_json` writes.
        """
        if not isinstance(data, Mapping) or not {"domain"} <= set(data) <= {"domain", "max_parts"}:
            raise ParameterError.of(as_given(data), "saved parts have a domain, perhaps a limit", "write to_json()")
        most = data.get("max_parts")
        return cls(Domain.from_json(data["domain"]), None if most is None else int(most))


protect_module(vars())
