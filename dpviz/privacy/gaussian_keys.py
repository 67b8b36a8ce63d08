"""The price of Gaussian noise behind a threshold, on keys that are shown only where they occur.

Let P and Q be the laws of the answer for two neighbours. Of the keys that one unit moves, i occur without it under Q
alone, j under P alone, and k are common to both. A key that one of the two does not have is hidden there, and the
other shows it with a chance tau(c) = Pr[Z >= t - c] for c records. Let S be an event about common keys with no other
shown, and d_n = 1 - (1 - tau)^n the chance that any of n keys is shown. The worst event is such an S and
every answer that shows a new key, so that delta is at most

    max over S of 1 - (1 - tau)^j (1 - P(S)) - e^epsilon (1 - tau)^i Q(S) <= d_n + (1 - d_n) delta_k(epsilon)

for n >= i and j, where delta_k is the delta of noise on k keys that move (`privacy.discrete_gaussian`), which no
threshold raises. The right side is charged, with all keys that are not common as n, or those that one unit can have.
Chances of the left side are at most (1 - tau)^-n times as large as those of the right. It grows with n and with k, one
by one, so a run of splits is proved at once by the n of its last and the k of its first.

The two deltas are shared: m keys that are all new cost d_m, and keys that are all common delta_m, but not both. Where
a limit on all records leaves a choice of moves, and where noise is so narrow that a Rényi order alone proves its price,
splits are not enumerated, and

    delta + 1 - product of (1 - tau(c)) over the keys of one side and (1 - tau(0)) over those of the other

is charged, with delta that of noise on every key that moves. Proof: let that noise be on keys that are absent, too, and
S an event about common keys with no other shown. Then (1 - d_j) (1 - o) P(S) <= e^epsilon (1 - d_i) Q(S) + delta, o the
chance that a key is shown that holds nothing, and P has d_j more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final

from dpviz.boundary import protect_module
from dpviz.exact import Enclosure, ceil_to, exp_bounds, log1p_bounds, place
from dpviz.laws.first_guesses import gaussian_near
from dpviz.laws.gaussian import gaussian_tail
from dpviz.laws.search import least
from dpviz.privacy.discrete_gaussian import FEW, MOST_ADDED, Shifts, calibrate, delta_bounds, rho_of
from dpviz.privacy.grid import DELTA_STEP
from dpviz.privacy.unknown_keys import Filled, shown_at_most

SHARE: Final = Fraction(99, 100)
"""The part of delta that the variance is found for, where keys that are new and keys that are common share it."""

APART: Final = Fraction(1, 2)
"""That part where they are charged one beside the other."""

NARROW: Final = Fraction(4, 5)
"""A run of splits whose first is at least this part of its last is not halved: it is proved as one, or not at all."""

PRECISION: Final = 192

CHANCE_DIGITS: Final = 4
"""Significant digits of the chance that any new key is shown."""


@dataclass(frozen=True)
class KeyMoves:
    """How one unit moves keys that get noise only where they occur.

    Parameters
    ----------
    moved : tuple
        All keys that it moves, as pairs: how far, and the number of keys that it moves so at most.
    own : tuple of tuples
        The ways to fill the keys that it alone has, of which one is the worst (`unknown_keys.fullest_keys`).
    replaced : bool
        Whether a unit is replaced, so that keys may be new and gone at once.

    Examples
    --------
    >>> KeyMoves(((1, 10),), (((1, 10),),), False).box
    (10, 10, 1)
    """

    moved: Filled
    own: tuple[Filled, ...]
    replaced: bool

    @property
    def shifts(self) -> Shifts:
        """The same as moves of counts. A limit on all records leaves more moves than the fullest keys, even where no
        rest is left: none of them is below all others, entry by entry."""
        if self.box is not None:
            keys, _, each = self.box
            return Shifts.box(keys, each)
        return Shifts.within(sum(many * move**2 for move, many in self.moved), max(self.moved)[0])

    @property
    def box(self) -> tuple[int, int, int] | None:
        """The number of keys that move, of those that one unit alone has, and how far each moves; None where a limit on
        all records leaves a choice."""
        if len(self.moved) > 1 or len(self.own) > 1 or len(self.own[0]) > 1:
            return None
        (each, keys), (amount, own) = self.moved[0], self.own[0][0]
        return (keys, min(own, keys), each) if amount == each else None


LEAST_SHARED: Final = Fraction(1, 1 << PRECISION // 2)
"""A delta below this is not shared between new and common keys: tails of so few digits do not prove it, however high
the threshold."""


@dataclass(frozen=True)
class KeyNoise:
    """Gaussian noise behind a threshold, as a price pays for it.

    Parameters
    ----------
    variance : Fraction
        Of the law that is drawn.
    threshold : int
        A noisy value is shown where it is at least this.
    rho : Fraction
        Of the noise on all keys that one unit moves, rounded up.
    chance : Fraction
        At least the chance that any key is shown that one unit alone has, and at most delta.
    """

    variance: Fraction
    threshold: int
    rho: Fraction
    chance: Fraction


class Splits:
    """The delta of noise of one variance behind a threshold, over all splits of keys into common ones and others.

    Parameters
    ----------
    keys : KeyMoves
        How one unit moves keys, without a limit on all of its records.
    variance : Fraction
        Of the noise.
    epsilon : Fraction
        Above 0.
    noise : Fraction, optional
        A proved delta of the noise on all keys that move.

    Examples
    --------
    >>> ten, delta = KeyMoves(((1, 10),), (((1, 10),),), False), Fraction(1, 10**6)
    >>> splits = Splits(ten, Fraction(1787, 10), Fraction(1))
    >>> [splits.cost_at_most(delta, threshold) for threshold in (70, 71)]
    [False, True]
    """

    def __init__(self, keys: KeyMoves, variance: Fraction, epsilon: Fraction, noise: Fraction | None = None) -> None:
        assert keys.box is not None
        self.moved, own, self.each = keys.box
        self.own = min(own, self.moved)
        self.variance, self.epsilon = variance, epsilon
        self._known = {0: Fraction(0)} | ({} if noise is None else {self.moved: noise})

    def common(self, number: int) -> Fraction:
        """At least the delta of the noise on this number of keys. No threshold changes it."""
        found = self._known.get(number)
        if found is None:
            box, wide = Shifts.box(number, self.each), number * self.variance
            bounds = partial(delta_bounds, box, box.worst[0], self.variance, self.epsilon)
            low, found = bounds(added=wide <= FEW)
            if FEW < wide <= MOST_ADDED and found > 2 * low:  # integrals are quick, and wide where delta is tiny
                found = min(found, bounds(added=True)[1])
            self._known[number] = found
        return found

    def cost_at_most(self, delta: Fraction, threshold: int) -> bool:
        """Return whether delta is proved of every split, behind this threshold."""
        tau = gaussian_tail(self.variance, threshold - self.each, PRECISION)[1]
        if tau >= 1:
            return False
        low = log1p_bounds(-tau, PRECISION)[0]
        waiting = [(0, self.own)]
        while waiting:
            first, last = waiting.pop()
            hidden = exp_bounds(last * low, PRECISION)[0]
            if 1 - hidden * (1 - self.common(self.moved - first)) <= delta:
                continue
            if NARROW * last <= first or first == last:
                return False
            middle = math.isqrt(first * last)  # delta of common keys changes with the ratio of their numbers
            waiting += [(first, middle), (middle + 1, last)]
        return True


@lru_cache(maxsize=1024)
def calibrate_keys(keys: KeyMoves, epsilon: Fraction, delta: Fraction) -> KeyNoise:
    """Return the noise and the threshold that (epsilon, delta) pays for.

    Parameters
    ----------
    keys : KeyMoves
        How one unit moves keys.
    epsilon : Fraction
        Above 0.
    delta : Fraction
        Strictly between 0 and 1.

    Raises
    ------
    ParameterError
        Where the price is below that of any noise that is drawn.

    Notes
    -----
    The variance is the one that `discrete_gaussian.calibrate` finds for nearly all of delta on common keys, and the
    threshold the least that is proved with it. Where nothing is shared, each takes half of delta: under a limit on all
    records, and below the delta that tails of limited precision prove.

    Examples
    --------
    >>> found = calibrate_keys(KeyMoves(((1, 10),), (((1, 10),),), False), Fraction(1), Fraction(1, 10**6))
    >>> found.threshold, round(float(found.variance) ** 0.5, 2)
    (71, 13.37)
    """
    shifts = keys.shifts
    if keys.box is not None and delta >= LEAST_SHARED:
        noise = calibrate(shifts, epsilon, SHARE * delta)
        if noise.rule == "exact":
            splits = Splits(keys, noise.variance, epsilon, SHARE * delta)
            start = _least_shown(keys, noise.variance, delta)
            threshold = least(lambda t: splits.cost_at_most(delta, t), start=start)
            return _made(keys, noise.variance, threshold, delta)
    variance = calibrate(shifts, epsilon, APART * delta).variance
    threshold = _least_shown(keys, variance, (1 - APART) * delta, apart=True)
    return _made(keys, variance, threshold, delta)


def _made(keys: KeyMoves, variance: Fraction, threshold: int, delta: Fraction) -> KeyNoise:
    any_shown = max(_any_shown(way, variance, threshold) for way in keys.own)
    chance = ceil_to(any_shown, max(place(any_shown, CHANCE_DIGITS), DELTA_STEP))
    return KeyNoise(variance, threshold, rho_of(keys.shifts, variance), min(delta, chance))


def _any_shown(filled: Filled, variance: Fraction, threshold: int) -> Fraction:
    """At least the chance that any of these keys is shown: 1 - prod(1 - tau)."""
    kept = Fraction(0)
    for amount, many in filled:
        kept += many * log1p_bounds(-gaussian_tail(variance, threshold - amount, PRECISION)[1], PRECISION)[0]
    return 1 - exp_bounds(kept, PRECISION)[0]


def _least_shown(keys: KeyMoves, variance: Fraction, delta: Fraction, *, apart: bool = False) -> int:
    """The least threshold at which a key that one unit alone has is shown with a chance of at most delta.

    apart  whether that chance is charged beside the noise: then the keys of the other side count, too, as many as any
           unit has, and as if they held nothing
    """
    ways = keys.own
    if apart and keys.replaced:
        most = max(sum(many for _, many in way) for way in ways)
        ways = tuple((*way, (0, most)) for way in ways)

    def holds(threshold: int) -> bool:
        def shows(count: int, precision: int) -> Enclosure:
            return gaussian_tail(variance, threshold - count, precision)

        return shown_at_most(ways, shows, delta)

    most = max(sum(many for _, many in way) for way in ways)
    near = gaussian_near(max(keys.moved)[0], variance, delta / most)
    return least(holds, start=1, near=near)


protect_module(vars())
