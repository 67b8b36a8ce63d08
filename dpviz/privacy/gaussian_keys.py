"""The price of Gaussian noise behind a threshold, on keys that are shown only where they occur.

Let P and Q be the laws of the answer for two neighbours. Of the keys that one unit moves, i occur without it under Q
alone, j under P alone, and k are common to both. A key that one of the two does not have is hidden there, and the
other shows it with a chance tau(c) = Pr[Z >= t - c] for c records. With d_j = 1 - (1 - tau)^j, the chance that any of j
keys is shown, and no such key shown,

    max over S of P(S) - e^epsilon Q(S) = d_j + (1 - d_j) delta_k(epsilon + ln(1 - d_i) - ln(1 - d_j)),

where delta_k is the delta of noise on k keys that move (`privacy.discrete_gaussian`), which no threshold raises. A unit
that comes or goes has i = 0 or j = 0. The value grows with d_i, d_j and k, one by one: it is the largest of
P(S) - e^epsilon Q(S), and the three make P larger or Q smaller on the best S. So a set of splits is proved at once by
its largest i and j and by the k of its smallest.

The two deltas are shared: m keys that are all new cost d_m, and keys that are all common delta_m, but not both. Where
a limit on all records leaves a choice of moves, and where noise is so narrow that a Rényi order alone proves its price,
splits are not enumerated, and

    delta + 1 - product of (1 - tau(c)) over the keys of one side and (1 - tau(0)) over those of the other

is charged, with delta that of noise on every key that moves. Proof: let that noise be on keys that are absent, too, and
S an event about common keys with no other shown. Then (1 - d_j) (1 - o) P(S) <= e^epsilon (1 - d_i) Q(S) + delta, o the
chance that a key is shown that holds nothing, and P has d_j more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias

from dpviz.boundary import protect_module
from dpviz.exact import Enclosure, ceil_to, exp_bounds, floor_to, log1p_bounds, place
from dpviz.laws.first_guesses import gaussian_near
from dpviz.laws.gaussian import gaussian_tail
from dpviz.laws.search import least
from dpviz.privacy.discrete_gaussian import Shifts, calibrate, certain, rho_of, surely_fails
from dpviz.privacy.grid import DELTA_STEP
from dpviz.privacy.unknown_keys import Filled, shown_at_most

SHARE: Final = Fraction(99, 100)
"""The part of delta that the variance is found for, where keys that are new and keys that are common share it."""

APART: Final = Fraction(1, 2)
"""That part where they are charged one beside the other."""

PRECISION: Final = 192

CHANCE_DIGITS: Final = 4
"""Significant digits of the chance that any new key is shown."""

GRID: Final = Fraction(1, 1 << 96)
"""An epsilon between two that are known is rounded down to this grid."""


Rectangle: TypeAlias = tuple[int, int, int, int]
"""The least and the largest number of keys that are gone, and of keys that are new."""


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


MOST_SPLITS: Final = 200
"""For replaced units of more keys delta is halved: each number of gone keys meets each number of new ones, and a plan
is to come within a second."""


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


def costs_at_most(keys: KeyMoves, variance: Fraction, threshold: int, epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether (epsilon, delta) is proved for noise of this variance behind this threshold.

    Parameters
    ----------
    keys : KeyMoves
        How one unit moves keys, without a limit on all of its records.
    variance : Fraction
        Of the noise.
    threshold : int
        A noisy value is shown where it is at least this.
    epsilon : Fraction
        Above 0.
    delta : Fraction
        Strictly between 0 and 1.

    Returns
    -------
    bool
        True where it is certain, by intervals alone.

    Examples
    --------
    >>> ten, delta = KeyMoves(((1, 10),), (((1, 10),),), False), Fraction(1, 10**6)
    >>> [costs_at_most(ten, Fraction(1787, 10), threshold, Fraction(1), delta) for threshold in (70, 71)]
    [False, True]
    """
    if keys.box is None:
        return False
    moved, own, each = keys.box
    tau = gaussian_tail(variance, threshold - each, PRECISION)[1]
    if tau >= 1:
        return False
    low, high = log1p_bounds(-tau, PRECISION)

    def proved(gone: int, new: int, common: int) -> bool:
        """Whether delta is proved of any split with at most these numbers of keys."""
        any_new, any_gone = (1 - exp_bounds(number * low, PRECISION)[0] for number in (new, gone))
        if not common:  # P(S) - e^epsilon Q(S) is at most 1 - e^epsilon (1 - d_i), which is below d_i
            return max(any_new, any_gone) <= delta
        if any_new >= delta:
            return False
        least = floor_to(epsilon + gone * low - new * high, GRID)
        moves, left = Shifts.box(common, each), (delta - any_new) / (1 - any_new)
        return not surely_fails(moves, variance, least, left) and certain(moves, variance, least, left)

    sides = [(0, own, 0, own)] if keys.replaced else [(0, 0, 0, own), (0, own, 0, 0)]
    return all(_all_proved(proved, moved, side) for side in sides)


def _all_proved(proved: Callable[[int, int, int], bool], moved: int, side: Rectangle) -> bool:
    """Whether every split in this rectangle is proved."""
    waiting = [side]
    while waiting:
        least_gone, gone, least_new, new = waiting.pop()
        common = moved - least_gone - least_new
        if common < 0 or proved(gone, new, common):
            continue
        if (least_gone, least_new) == (gone, new):
            return False
        waiting += _halves(least_gone, gone, least_new, new)
    return True


def _halves(least_gone: int, gone: int, least_new: int, new: int) -> Iterator[Rectangle]:
    if gone - least_gone > new - least_new:
        middle = (least_gone + gone) // 2
        yield from ((middle + 1, gone, least_new, new), (least_gone, middle, least_new, new))
    else:
        middle = (least_new + new) // 2
        yield from ((least_gone, gone, middle + 1, new), (least_gone, gone, least_new, middle))


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
    records, for replaced units of many keys, and below the delta that tails of limited precision prove.

    Examples
    --------
    >>> found = calibrate_keys(KeyMoves(((1, 10),), (((1, 10),),), False), Fraction(1), Fraction(1, 10**6))
    >>> found.threshold, round(float(found.variance) ** 0.5, 2)
    (71, 13.37)
    """
    shifts = keys.shifts
    shared = keys.box is not None and not (keys.replaced and keys.box[1] > MOST_SPLITS)
    if shared and delta >= LEAST_SHARED:
        noise = calibrate(shifts, epsilon, SHARE * delta)
        if noise.rule == "exact":
            start = _least_shown(keys, noise.variance, delta)
            threshold = least(lambda t: costs_at_most(keys, noise.variance, t, epsilon, delta), start=start)
            return _made(keys, noise.variance, threshold, delta)
    variance = calibrate(shifts, epsilon, APART * delta).variance
    threshold = _least_shown(keys, variance, (1 - APART) * delta, apart=True)
    if shared:  # proved together, they may do with less
        apart = threshold
        threshold = least(
            lambda t: t >= apart or costs_at_most(keys, variance, t, epsilon, delta), start=1, near=apart - 1
        )
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
