"""The counts from which on bins are shown with each law of noise, in words, for a plan and its sheet."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from dpviz.boundary import protect_module
from dpviz.exact import text
from dpviz.model.mechanism import Bound
from dpviz.model.words import reach

NOISES: Final = {"exp": "geometric", "gaussian": "Gaussian"}
"""The noise laws of thresholds, in words."""

HALF: Final = Fraction(1, 2)


def lines(bound: Bound) -> list[str]:
    """The least value that is shown with each noise law, and the call that shows more, for a plan in text."""
    found, beside, half = bound.thresholds, bound.with_counts, bound.error.named(HALF)
    if found:
        lower = f'; base="{_lowest(found)}" shows more' if len(set(found.values())) > 1 else ""
        return [f"  thresholds   {_told(found)}{lower}"]
    if not beside or half is None:
        return []
    best = _lowest(beside)
    more = f'; Stability(base="{best}") names more' if beside[best] < half.value else ", by Stability"
    return [f"  with counts  {_told(beside)}{more}"]


def sheet_json(bound: Bound, epsilon: Fraction) -> dict[str, Any]:
    """The same as a sheet carries it, with the epsilon that it holds at; nothing where there is no choice."""
    found, beside = bound.thresholds, bound.with_counts
    if not (found or beside):
        return {}
    what = "Bins are shown" if found else "Stability shows bins with their counts"
    return {"thresholds": {"epsilon": text(epsilon), "text": f"{what} {_told(found or beside)}."}}


def _told(found: Mapping[str, Fraction]) -> str:
    return " and ".join(f"from {reach(least)} with {NOISES[base]} noise" for base, least in found.items())


def _lowest(found: Mapping[str, Fraction]) -> str:
    return min(found, key=lambda base: found[base])


protect_module(vars())
