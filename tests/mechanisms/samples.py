"""The samples of one mechanism, declared in its own test, for the tests that run over the whole registry.

`tests/mechanisms/test_<file>.py` holds `SAMPLES`, and no other test names the mechanism. Where a test still has a table
of its own, `listed` joins both, refuses a name that the registry no longer has when the test is imported, and says in
words what a mechanism lacks that is in neither.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import gmpy2
import numpy as np
import pytest

from dpviz.mechanisms import CATALOGUE, NAMES, OPENINGS, REGISTRY, in_catalogue

if TYPE_CHECKING:
    import dpviz as dv
    from tests.model.test_sureness import Case
    from tests.prices.searchers import Searcher

FOLDER = Path(__file__).parent

NUMBERS = [1, "1/2", "0.1", 0.25, Fraction(3, 7), Decimal("0.3"), np.float64(2), gmpy2.mpq(1, 3), "1e-3", 1000]
CHANCES = ["1e-6", Fraction(1, 3), 1e-9, "1/1000000", "0.5"]
"""Positive numbers and chances as people write them."""

T = TypeVar("T")


@dataclass(frozen=True)
class Samples:
    """What other tests try a mechanism with.

    values    for each parameter what a person may type; together some of it may be refused
    starts    parameters that fit together, the fewest first
    planned   how it is asked for an answer that is hard to plan: the mechanism, the question and the unit
    searcher  looks for two neighbours that the price does not cover: a name and a function of `tests/prices/searchers`
              or one like them; and how many of 80 random sets are of it
    keys      whether it answers bins that nobody declared
    per_bin   whether its answer has a value for each bin
    sums      how it is asked for sums, where it takes them: the mechanism with little noise, the bins, the lower limit
    laws      by name, the oracles of a stored law that no other mechanism has: cases of `tests/model/test_sureness.py`
    """

    values: Mapping[str, Sequence[Any]]
    starts: Sequence[Mapping[str, Any]]
    planned: tuple[Any, dv.Question, dv.Unit]
    searcher: tuple[Searcher, int]
    keys: bool = False
    per_bin: bool = True
    sums: Sequence[tuple[Any, dv.Domain, int]] = ()
    laws: Mapping[str, Callable[[], Case]] = field(default_factory=dict)

    def at(self, **given: Any) -> Any:
        """The mechanism as its last start has it, with those of the given parameters that it has."""
        kind = type(self.planned[0])
        return kind(**{**self.starts[-1], **{key: given[key] for key in given if key in self.values}})

    def drawn(self, chance: random.Random) -> dict[str, Any]:
        """Random parameters apart from epsilon."""
        start = {**chance.choice(self.starts), **{key: chance.choice(self.values[key]) for key in self.values}}
        return {key: value for key, value in start.items() if key != "epsilon"}


def test_of(name: str) -> Path:
    """The test of the mechanism of that name, which is called as its file."""
    return FOLDER / f"test_{in_catalogue(CATALOGUE.read_text())[name]}.py"


@cache
def declared() -> dict[str, Samples]:
    """The samples of each mechanism whose own test declares them, in the order of the registry."""
    own = [name for name in REGISTRY if name in NAMES]
    has = [name for name in own if test_of(name).exists() and "\nSAMPLES = " in test_of(name).read_text()]
    return {name: import_module(f"tests.mechanisms.{test_of(name).stem}").SAMPLES for name in has}


class Listed(dict[str, T], Generic[T]):
    """A table by mechanisms, which says what to write where one is missing."""

    def __init__(self, entries: Mapping[str, T], place: str) -> None:
        super().__init__(entries)
        self.place = place

    def __missing__(self, name: str) -> T:
        pytest.fail(lacking(name, self.place))


def lacking(name: str, place: str) -> str:
    return f"{name} has no entry in {place}: declare SAMPLES in {test_of(name).relative_to(FOLDER.parents[1])}"


class StaleName(Exception):
    """A table of a test names a mechanism that the registry does not have."""


def current(names: Collection[str], place: str, *, also: Collection[str] = ()) -> None:
    """Refuse names that are no mechanism and no sub-session of dpviz."""
    if stale := [name for name in names if name not in REGISTRY and name not in OPENINGS and name not in also]:
        raise StaleName(f"{place} names {', '.join(stale)}, which the registry does not have: delete the entry there")


def listed(own: Mapping[str, T], of: Callable[[Samples], T], place: str, *, also: Collection[str] = ()) -> Listed[T]:
    """A table of a test, joined with what mechanisms declare themselves, in the order of the registry.

    own    the entries of the table
    of     the entry that samples make
    place  how the table is called, for messages
    also   names in it that are no mechanisms
    """
    current(own, place, also=also)
    entries = {**own, **{name: of(samples) for name, samples in declared().items()}}
    first = [name for name in REGISTRY if name in entries]
    return Listed({name: entries[name] for name in dict.fromkeys([*first, *entries])}, place)
