"""Where numpy counts in 32 bits by itself, as in a browser, no draw changes."""

from __future__ import annotations

import types
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpviz.exact import Decay
from dpviz.noise import race, table
from dpviz.noise.bits import TeachingBits
from dpviz.noise.geometric import two_sided_geometric


def narrow() -> types.SimpleNamespace:
    """The functions of numpy whose integers are as wide as the machine's addresses, as on a machine of 32 bits."""

    def cumsum(values: NDArray[Any], dtype: Any = None) -> NDArray[Any]:
        return np.cumsum(values, dtype=values.dtype if dtype is None else dtype)

    def searchsorted(*given: Any, **named: Any) -> NDArray[np.int32]:
        return np.searchsorted(*given, **named).astype(np.int32)

    def bincount(*given: Any, **named: Any) -> NDArray[np.int32]:
        return np.bincount(*given, **named).astype(np.int32)

    names = {name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
    return types.SimpleNamespace(
        **names | {"intp": np.int32} | {f.__name__: f for f in (cumsum, searchsorted, bincount)}
    )


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 10**12)], ids=str)
def test_counts_get_the_same_noise(epsilon: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.arange(20_000, dtype=np.int64)

    def drawn() -> NDArray[np.int64]:
        two_sided_geometric.cache_clear()  # tables that were made before
        return two_sided_geometric(Decay.exp(epsilon)).add(counts, None, None, TeachingBits(3))

    wide = drawn()
    monkeypatch.setattr(table, "np", narrow())
    assert np.array_equal(drawn(), wide) and drawn().dtype == np.int64
    two_sided_geometric.cache_clear()


def test_lists_are_in_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.array([9, 9, 8, 8, 7, 2], dtype=np.int64)

    def lists() -> list[list[int]]:
        return [race.rank(counts, Fraction(1, 2), 4, TeachingBits(seed)) for seed in range(50)]

    wide = lists()
    assert len({tuple(found) for found in wide}) > 20, "the noise decides"
    monkeypatch.setattr(race, "np", narrow())
    assert lists() == wide
