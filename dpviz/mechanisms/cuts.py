"""Noise and threshold of what is shown: how high it must be, who reaches it, and the parameters that say so."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dpviz.boundary import protect_module
from dpviz.errors import DpvizError, ParameterError
from dpviz.laws.first_guesses import reach_near, threshold_near
from dpviz.laws.search import least
from dpviz.mechanisms.gaussian import GAUSSIAN
from dpviz.mechanisms.moves import Moves, moved_keys, own_keys
from dpviz.model.laws.threshold import Cut, least_passing
from dpviz.model.parameters import Parameters, Probability, parameter
from dpviz.model.question import Question
from dpviz.noise.bits import Bits
from dpviz.noise.geometric import check_scale, two_sided_geometric
from dpviz.noise.order import binomial, geometric, outside
from dpviz.noise.table import Sampler
from dpviz.privacy.concentrated import geometric_rho, pure_rho
from dpviz.privacy.loss import ApproxDP, ApproxZCDP, Loss, PureDP
from dpviz.privacy.unit import Unit
from dpviz.privacy.unknown_keys import (
    Filled,
    shown_at_most,
    truncated_at_most,
)

DELTA: Final[Any] = parameter(
    reads=Probability(zero=False), default=None, optional=True, label="δ (left out: pure, on declared bins)"
)

DELTA_FOR_KEYS: Final = "1e-6"
"""A widget begins with this delta where keys are unknown."""


class PureOrNot(Parameters):
    """Parameters with a delta that may be left out: then the price is pure, and the bins must be declared."""

    moved_revision: ClassVar[int] = 2

    @property
    def revision(self) -> int:  # type: ignore[override]
        """Only thresholds with a delta have moved."""
        return self.moved_revision if self.parameters()["delta"] else 1

    @classmethod
    def at_price(cls, epsilon: Fraction, delta: Fraction) -> Self:
        given: dict[str, Any] = {"epsilon": epsilon, "delta": delta or None}
        return cls(**given)

    @classmethod
    def fitted(cls, question: Question) -> dict[str, str]:
        return super().fitted(question) | suggested_delta(Question.of(question))


def loss_of(epsilon: Fraction, delta: Fraction | None) -> Loss:
    """The loss that is paid, pure or with a delta."""
    return PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)


def suggested_delta(question: Question) -> dict[str, str]:
    """The parameters that a widget gives for a question over unknown keys, which only a threshold with a delta can
    answer."""
    return {} if question.domain.declared else {"delta": DELTA_FOR_KEYS}


def cut_for(who: str, epsilon: Fraction, delta: Fraction | None, question: Question, unit: Unit, moves: Moves) -> Cut:
    """Noise for this price, and the least threshold. Refuses unknown keys without a delta."""
    exponent, signed = epsilon / moves.l1, question.aggregate.signed
    cut = Cut(exponent, 1, delta is None, signed)
    check_scale(cut.decay)
    if delta is not None:
        return Cut(exponent, least_cut(exponent, delta, own_keys(question, unit)), False, signed)
    if not question.domain.declared:
        raise ParameterError.of(
            "no delta",
            f"without a delta {who} adds noise to every bin, and these keys are not declared",
            "give a delta, or declare the bins",
        )
    sides = 2 if signed else 1
    each = Fraction(1, 2 * sides * question.bins**2)
    return Cut(exponent, least_passing(exponent, each, 0), True, signed)


def truncated_cut(exponent: Fraction, delta: Fraction | None, question: Question, unit: Unit) -> Cut | None:
    """Noise that is truncated at the threshold, where that is no higher then; None where it is, where values of both
    signs count, and where empty bins get noise."""
    if delta is None or question.aggregate.signed:
        return None
    reach = reach_for(exponent, delta, moved_keys(question, unit), own_keys(question, unit))
    return None if reach is None else Cut(exponent, reach + 1, False, False)


def least_cut(exponent: Fraction, delta: Fraction, filled: tuple[Filled, ...]) -> int:
    """The least threshold that the keys of one unit alone reach with a chance of at most delta, and above each."""
    farthest = max(amount for way in filled for amount, _ in way)

    def holds(threshold: int) -> bool:
        return shown_at_most(filled, Cut(exponent, threshold, False, False).passes, delta)

    return least(holds, start=farthest + 1, near=threshold_near(filled, exponent, delta))


WIDEST = Fraction(1, 2)
"""Noise is truncated where its reach times its rate is at least this: then more than one draw in three is kept. Below,
delta is above epsilon."""


def reach_for(rate: Fraction, delta: Fraction, moved: Filled, filled: tuple[Filled, ...]) -> int | None:
    """The least reach of noise that is truncated at the threshold, for this price; None where noise that is not
    truncated has a lower threshold."""
    farthest = max(move for move, _ in moved)
    reach = least(
        lambda reach: truncated_at_most(moved, rate, reach, delta),
        start=farthest,
        near=reach_near(moved, rate, delta),
    )
    if reach * rate < WIDEST or shown_at_most(filled, Cut(rate, reach, False, False).passes, delta):
        return None
    return reach


CONVEX: Final = 2
"""Up to this epsilon the rho of a pure answer is convex in it."""


def steps_behind(moved: Filled, rate: Fraction, delta: Fraction, *, truncated: bool) -> ApproxZCDP:
    """The rho of geometric noise behind a threshold, beside the delta of that threshold.

    Without truncation it is that of the noise, on keys that are common. Truncated noise on one key is pure, of rate
    times move, but where it leaves the range of the other, which the delta is for. With x for rate times move that is
    x tanh(x / 2), which is 0 at 0 and convex while (x / 2) tanh(x / 2) <= 1: up to x = 2 full moves and one rest are
    the worst. Beyond, two moves of middle size may cost more, and each step of a move is charged as in a full one:
    tanh(x / 2) grows.
    """
    if truncated:
        far = max(move for move, _ in moved)
        if rate * far > CONVEX:
            whole = Fraction(sum(many * move for move, many in moved), far)
            return ApproxZCDP(whole * pure_rho(rate * far), delta)
        return ApproxZCDP(sum((many * pure_rho(rate * move) for move, many in moved), Fraction(0)), delta)
    return ApproxZCDP(geometric_rho((rate, move, many) for move, many in moved), delta)


def compared(
    made: Parameters, question: Question, unit: Unit, shown: Callable[[Any], Fraction], own: Any = None
) -> dict[str, Fraction]:
    """Return the least value that is shown with geometric and with Gaussian noise, where both are drawn at this price.

    `own` is the mechanism as it is bound already, whose noise is one of the two.
    """
    found = {}
    for base in ("exp", GAUSSIAN):
        with suppress(DpvizError):
            if own is None or own.mechanism.base != base:
                one: Any = type(made).from_parameters({**made.parameters(), "base": base})
                found[base] = shown(one.bind(question, unit))
            else:
                found[base] = shown(own)
    return found if len(found) == 2 else {}


def cut_through(
    cut: Cut,
    labels: NDArray[Any],
    values: NDArray[np.int64],
    bins: int | None,
    bits: Bits,
    sampler: Sampler | None = None,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Select the values that reach the threshold, ascending by label: noisy values of bins that are not empty, and,
    where the cut is certain, of those empty bins that reach it. How many do is one binomial number; by how much is a
    geometric one."""
    noisy = (sampler or two_sided_geometric(cut.decay)).add(values, None, None, bits)
    heights = noisy if not cut.signed else np.abs(noisy) if cut.certain else np.sign(values) * noisy
    reached = heights >= cut.least
    shown, kept = labels[reached], noisy[reached]
    if not cut.certain:
        return shown, kept
    assert bins is not None
    every = labels.astype(np.uint64 if bins <= 2**64 else object)
    sides = 2 if cut.signed else 1
    passed = binomial(bins - len(labels), lambda places: _reach(cut, sides, places), bits)
    added, order = outside(passed, every, bins, bits)
    heights = (cut.least + geometric(cut.decay).draw(passed, bits))[order]
    if cut.signed and passed:
        heights *= 1 - 2 * (np.frombuffer(bits.take(passed), dtype=np.uint8) & 1).astype(np.int64)
    every = np.concatenate((every[reached], added))
    place = np.argsort(every)
    return every[place], np.concatenate((kept, heights))[place]


def _reach(cut: Cut, sides: int, places: int) -> tuple[int, int]:
    """The chance that an empty bin reaches the threshold, times 2**places, enclosed."""
    low, high = cut.passes(0, places + 64)
    return int(sides * low * 2**places), int(sides * high * 2**places) + 1


protect_module(vars())
