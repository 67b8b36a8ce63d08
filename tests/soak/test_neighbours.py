"""A search for two neighbours that a price does not cover: random questions, units, limits, weights and parameters of
every mechanism, held against what is enumerated from definitions."""

from __future__ import annotations

import pytest

from dpviz import mechanisms
from tests.mechanisms.samples import lacking
from tests.prices.searchers import search, searchers
from tests.soak.amounts import record, rounds

PARTS = 4
EACH = 25_000


def turns(part: int, many: int) -> range:
    """The numbers that draw the sets of one part. Those of `make test` are the first of them."""
    return range(part * EACH, part * EACH + many)


SEEDED = tuple(turn for part in range(PARTS) for turn in turns(part, EACH // 20))
"""What `make test` runs in all parts together."""


@pytest.mark.parametrize("part", range(PARTS))
def test_no_pair_of_neighbours_is_told_apart_by_more_than_was_charged(part: int) -> None:
    found = search(turns(part, rounds(EACH)))
    assert not found.too_low, found.too_low[:5]
    assert {name for name, _ in found.sets} == set(searchers()), "a mechanism was not tried"
    swapped = {name for name, relation in found.sets if relation}
    assert swapped >= set(searchers()) - {"Parts"}, "a mechanism was not tried where a unit is replaced"
    record("pairs of neighbours above the price", f"part {part}: {found.text}")


def test_every_mechanism_has_a_searcher() -> None:
    registered = {*mechanisms.NAMES, *mechanisms.OF_PARTS}
    missing = sorted(registered - set(searchers()))
    assert [lacking(name, "SEARCHERS of tests/prices/searchers.py") for name in missing] == []
