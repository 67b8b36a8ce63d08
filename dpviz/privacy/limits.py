"""Contribution limits of one question, in place of those of the unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from dpviz.boundary import as_given, plain_arguments, protect_module, single_arguments
from dpviz.errors import ParameterError
from dpviz.exact import whole

NAMES: Final = ("max_bins", "max_per_bin", "max_records")
"""The limits, by name."""


LARGEST: Final = 2**53 - 1
"""The largest limit: ledgers keep limits as whole numbers that every reader of JSON holds."""


def read_limit(value: object, name: str) -> int:
    """Read one limit, or one fact of the same size."""
    found = whole(value, name)
    if found > LARGEST:
        raise ParameterError.of(as_given(value), f"{name} must be below 2^53", "give the largest number that can occur")
    return found


class Declared(Enum):
    """Stands for a limit that is left out: that of the unit holds."""

    OF_UNIT = "the unit's"

    def __repr__(self) -> str:
        return self.value


OF_UNIT: Final = Declared.OF_UNIT


@dataclass(frozen=True, slots=True, repr=False)
class Limits:
    """Limit how much one unit adds to the answer of one question, in place of the limits that the unit declares.

    Parameters
    ----------
    max_bins : int or None, optional
        How many bins one unit may touch; None for no limit.
    max_per_bin : int, optional
        How much one unit may add to one bin.
    max_records : int or None, optional
        How many records one unit counts with in all bins together; None for no limit but the other two.

    Raises
    ------
    ParameterError
        If a limit is no whole number above 0.

    Notes
    -----
    A limit that is left out is that of the unit. Each unit's own rows alone decide which of them count, so neighbouring
    data stay neighbours under every limit, and a price is that of the sensitivity under the limits of its question. No
    theorem on composition mentions a limit: the filter adds up prices of answers with different limits.

    Examples
    --------
    >>> Limits(max_bins=12), Limits(max_bins=None, max_per_bin=3)
    (Limits(max_bins=12), Limits(max_bins=None, max_per_bin=3))
    """

    max_bins: int | Declared | None = OF_UNIT
    max_per_bin: int | Declared = OF_UNIT
    max_records: int | Declared | None = OF_UNIT

    @single_arguments
    def __init__(
        self,
        max_bins: int | Declared | None = OF_UNIT,
        max_per_bin: int | Declared = OF_UNIT,
        max_records: int | Declared | None = OF_UNIT,
    ) -> None:
        given = {"max_bins": max_bins, "max_per_bin": max_per_bin, "max_records": max_records}
        for name, value in given.items():
            open_ended = value is None and name != "max_per_bin"
            kept = value if value is OF_UNIT or open_ended else read_limit(value, name)
            object.__setattr__(self, name, kept)

    @property
    def given(self) -> dict[str, int | None]:
        """The limits that are given, by name."""
        found = {name: getattr(self, name) for name in NAMES}
        return {name: value for name, value in found.items() if value is not OF_UNIT}

    @property
    def text(self) -> str:
        """`max_bins 12, max_records no limit`; empty where none is given."""
        return ", ".join(
            f"{name} {'no limit' if value is None else f'{value:,}'}" for name, value in self.given.items()
        )

    @property
    def python(self) -> str:
        """The call that makes the limits."""
        return f"dv.{self!r}"

    def to_json(self) -> dict[str, int | None]:
        """Return the saved form.

        Returns
        -------
        dict
            The limits that are given, by name.
        """
        return self.given

    def besides(self, other: Limits) -> Limits:
        """Return these limits without those that other limits have alike.

        Parameters
        ----------
        other : Limits
            The limits that hold anyway.

        Returns
        -------
        Limits
            The limits that differ.

        Raises
        ------
        UnknownArgument
            If `other` is left out.

        Examples
        --------
        >>> Limits(12, 1, None).besides(Limits(3, 1, None))
        Limits(max_bins=12)
        """
        known = other.given
        kept = {name: value for name, value in self.given.items() if name not in known or known[name] != value}
        return Limits(**kept)  # type: ignore[arg-type]

    @classmethod
    @plain_arguments
    def from_json(cls, data: Mapping[str, Any]) -> Limits:
        """Read the limits that `to_json` wrote.

        Parameters
        ----------
        data : dict
            The saved form.

        Returns
        -------
        Limits
            The same limits.

        Raises
        ------
        ParameterError
            If the data are not what `to_json` writes.
        """
        if not isinstance(data, Mapping) or not set(data) <= set(NAMES):
            rule = f"saved limits are {', '.join(NAMES)} and nothing else"
            raise ParameterError.of(as_given(data), rule, "write what limits.to_json() returns")
        return cls(**data)

    def __repr__(self) -> str:
        return f"Limits({', '.join(f'{name}={value}' for name, value in self.given.items())})"


def checked_limits(limits: object) -> Limits:
    """The limits, or a refusal of what is none."""
    if type(limits) is not Limits:
        raise ParameterError.of(as_given(limits), "limits must be Limits", "write limits=dv.Limits(max_bins=...)")
    return limits


protect_module(vars())
