"""Noisy shares of three labels and what may be made of them: the projection picker's part of the sampling sheet.

Made-up people, three labels of which nobody has the third. The noise is that of a release, drawn with teaching bits;
chances are those of `laws/`. Nothing here is private.
Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 3; the choice is derived in `laws/simplex.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np

from dpviz.exact import Decay
from dpviz.laws.sampling_curves import few_law
from dpviz.laws.simplex import closest, nearest_law
from dpviz.noise.bits import TeachingBits
from dpviz.noise.category import nearest
from dpviz.noise.geometric import two_sided_geometric

LABELS: Final = ("A", "B", "C")
EXACT_FROM = Fraction(1, 4)
"""From this epsilon on the chances are exact but for floats."""


def made_up(n: int) -> list[int]:
    """The counts of n people: about 3 in 5, 2 in 5, and nobody.

    >>> made_up(50)
    [30, 20, 0]
    """
    return [n - 2 * n // 5, 2 * n // 5, 0]


@lru_cache(maxsize=512)
def projections(n: int, epsilon: Fraction, seeds: tuple[int, ...]) -> dict[str, Any]:
    """The fate of the counts of n people: one draw of the noise for each seed, and the chances of each label.

    >>> found = projections(50, Fraction(1), (1,))
    >>> found["draws"][0]["noisy"], found["scaled"]
    ([29, 21, 9], [0.5899, 0.3922, 0.0179])
    """
    counts = made_up(n)
    decay = Decay.exp(epsilon / 2)
    return {
        "shares": [count / n for count in counts],
        "draws": [_draw(counts, n, decay, seed) for seed in seeds],
        "scaled": _shown(few_law(counts, epsilon).tolist()),
        "moved": _shown(nearest_law(counts, epsilon).tolist()),
        "how": "exact" if epsilon >= EXACT_FROM else "numerical",
    }


def _draw(counts: list[int], n: int, decay: Decay, seed: int) -> dict[str, Any]:
    noisy = two_sided_geometric(decay).add(np.array(counts, dtype=np.int64), None, None, TeachingBits(seed))
    weights, total = noisy.clip(min=0), int(noisy.clip(min=0).sum())
    moved, whole = nearest(noisy, n)
    return {
        "noisy": noisy.tolist(),
        "scaled": _shown([weight / total for weight in weights.tolist()] if total else [1 / 3] * 3),
        "moved": _shown([int(weight) / whole for weight in moved]),
        "closest": [_shown([float(share) for share in corner]) for corner in closest(noisy.tolist(), n)],
    }


def _shown(shares: Sequence[float]) -> list[float]:
    """In four places, for pictures."""
    return [round(share, 4) for share in shares]
