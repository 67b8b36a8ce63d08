"""The counts from which on bins are shown with each law of noise, in words, for a plan and the advice beside it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from dpviz.boundary import protect_module
from dpviz.model.mechanism import Bound
from dpviz.model.words import reach

NOISES: Final = {"exp": "geometric", "gaussian": "Gaussian"}
"""The noise laws of thresholds, in words."""

HALF: Final = Fraction(1, 2)


def told(bound: Bound) -> tuple[str, str] | None:
    """The least value that is shown with each noise law, and the other law where it shows more, under its head; None
    where there is no choice."""
    found, beside, half = bound.thresholds, bound.with_counts, bound.error.named(HALF)
    if found:
        made: Any = bound.mechanism
        best = _lowest(found)
        return "thresholds", _told(found) + (f'; base="{best}" shows more' if found[best] < found[made.base] else "")
    if not beside or half is None:
        return None
    best = _lowest(beside)
    more = f'; Stability(base="{best}") names more' if beside[best] < half.value else ", by Stability"
    return "with counts", f"{_told(beside)}{more}"


def _told(found: Mapping[str, Fraction]) -> str:
    return " and ".join(f"from {reach(least)} with {NOISES[base]} noise" for base, least in found.items())


def _lowest(found: Mapping[str, Fraction]) -> str:
    return min(found, key=lambda base: found[base])


protect_module(vars())
