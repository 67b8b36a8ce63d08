"""The exact price of discrete Gaussian noise on counts: delta at an epsilon, and the variance that a price pays for.

One coordinate. Noise of variance V, moved by a whole number D >= 1, loses more than epsilon at z > epsilon V/D - D/2.
With t the least whole number above that and T(t) = Pr[Z >= t],

    delta(epsilon; V, D) = T(t) - e**epsilon T(t + D),

which is the same in both directions and grows with D (Canonne, Kamath, Steinke 2020, Theorem 7).

Several coordinates. A unit moves counts by a vector s of whole numbers, of squared length n, with g the greatest common
divisor of its entries. The loss depends on <s, Z> alone, a number on gZ, and

    Pr[<s, Z> = g k] = Pr[DG(n v / g**2) = k] e**theta,  |theta| <= tau = 4.01 (N - 1) q,  q = exp(-2 pi**2 v / n),

for N entries that are not 0, wherever q <= 2**-20. So delta is that of one coordinate with V = n v / g**2, D = n / g,
but for a factor between e**-tau and e**tau on each T. Proof: add coordinates one at a time. A partial sum on hZ has
weights exp(-x**2 / (2 A v)), with A >= h**2 a sum of squares. For the next entry s, completing the square leaves a
shifted Gaussian sum of variance c = A s**2 v / (A + s**2) and spacing at most h s. By Poisson's summation such sums
differ by a factor of at most (1 + eta) / (1 - eta), where eta = 2 sum over j of exp(-2 pi**2 j**2 c / (h s)**2) and
c / (h s)**2 >= v / (A + s**2) >= v / n.

The worst move. One coordinate grows with its shift, and dominating pairs compose: delta grows with every entry. Limits
on the number of bins and on each of them have one worst vector. Where n and the largest entry are all that is known,
the worst is one of the lengths n_g = g**2 floor(n / g**2), over every g up to that entry: a vector with the divisor g
has a squared length that g**2 divides, and entries of g can be appended to it.

delta is not monotone in the variance: for epsilon above 1 wider noise may cost more. So no variance is rounded after it
was found; the one that is drawn is tested.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final, Literal, TypeAlias

from dpviz.boundary import protect_module
from dpviz.errors import DpvizError, ParameterError
from dpviz.exact import Enclosure, ceil_to, exp_bounds, place, text
from dpviz.laws.gaussian import DiscreteGaussian, chance_from
from dpviz.laws.gaussian_loss import log_delta, surely_above, surely_below, variance_at
from dpviz.privacy import renyi
from dpviz.privacy.grid import EPSILON_STEP
from dpviz.privacy.unit import Unit

Rule = Literal["exact", "renyi"]

Tails: TypeAlias = tuple[Enclosure, Enclosure]
"""The chance that the loss is above epsilon, and the share of it that epsilon pays for."""

DIGITS: Final = 6
"""Significant digits of a variance."""

MOST_ADDED: Final = 1 << 20
"""Tails of noise of a larger variance are not added up: integrals decide alone."""

FEW: Final = 64
"""Above this variance of one coordinate integrals are tried before weights are added up."""

WIDE: Final = 64
"""From this variance of one coordinate on a search may begin where floats say that delta is met. Steps of the lattice
are small there, so that delta falls with the variance."""

MOST_PRECISE: Final = 4096
"""A comparison that is not decided at this precision counts as one that does not hold."""

MOST_DIVISORS: Final = 8
"""Where one entry may be larger, the rule of Rényi orders is taken, which needs no divisors."""

MOST_TAU: Final = 1024
"""Where tau is larger, which takes 10**8 entries, e^tau times a chance proves nothing, and has too many digits."""

LEAST_RATIO: Final = Fraction(7025, 10_000)
"""v / n from which on q <= 2**-20: above 20 ln(2) / (2 pi**2)."""


@dataclass(frozen=True)
class Shifts:
    """The moves of one unit that may be worst, for noise of one variance on every count.

    Parameters
    ----------
    squared : int
        The squared L2 sensitivity, at least 1.
    worst : tuple of (int, int)
        Squared length and greatest common divisor of the vectors of which one is worst. Empty where that is not known:
        then the rule of Rényi orders is all that is proved.
    entries : int
        The largest number of entries that are not 0.
    each : int
        The largest entry, where limits on the number of entries and on each are all; else 0.
    """

    squared: int
    worst: tuple[tuple[int, int], ...]
    entries: int
    each: int = 0

    def __post_init__(self) -> None:
        if self.squared < 1:
            raise ParameterError.of(
                self.squared, "noise protects counts that one unit moves", "publish them as they are"
            )

    @classmethod
    def box(cls, entries: int, each: int) -> Shifts:
        """Return the moves of at most this number of counts by at most `each`."""
        return cls(entries * each**2, ((entries * each**2, each),), entries, each)

    @classmethod
    def of(cls, unit: Unit, bins: int) -> Shifts:
        """Return the moves of this number of counts by one unit.

        Limits on bins and on each bin alone have one worst vector. A limit on all records leaves a choice between full
        bins and others.
        """
        squared, each = unit.l2_squared(bins), unit.max_per_bin
        entries, rest = divmod(squared, each**2)
        touched = bins if unit.max_bins is None else min(unit.max_bins, bins)
        if rest == 0 and (unit.max_records is None or unit.max_records >= touched * each):
            return cls.box(entries, each)
        return cls.within(squared, each)

    def times(self, parts: int) -> Shifts:
        """Return the moves of this number of parts, each of which moves so."""
        return self.over(parts * self.squared)

    def over(self, squared: int) -> Shifts:
        """Return the moves of counts in several parts that come to this squared length, each entry limited as here."""
        if self.each and squared % self.each**2 == 0:
            return Shifts.box(squared // self.each**2, self.each)
        return Shifts.unknown(squared)

    @classmethod
    def within(cls, squared: int, largest: int) -> Shifts:
        """Return the moves of this squared length at most, with no entry above `largest`."""
        if largest == 1:
            return cls.box(squared, 1)
        if largest > MOST_DIVISORS:
            return cls.unknown(squared)
        # A vector with common divisor g has a squared length that g^2 divides. For one g delta grows with it, so the
        # longest of each g are all that can be worst.
        longest = ((squared // divisor**2 * divisor**2, divisor) for divisor in range(1, largest + 1))
        return cls(squared, tuple(one for one in longest if one[0]), squared)

    @classmethod
    def unknown(cls, squared: int) -> Shifts:
        """Return the moves of this squared length at most, of which nothing else is known, or levels that differ in
        their noise."""
        return cls(squared, (), squared)


@dataclass(frozen=True)
class Calibrated:
    """The noise that a price pays for.

    Parameters
    ----------
    variance : Fraction
        Of the law that is drawn.
    rho : Fraction
        The price of this variance in zero-concentrated differential privacy, rounded up.
    rule : {"exact", "renyi"}
        The proof that the price is enough: the exact delta, or a Rényi order.
    """

    variance: Fraction
    rho: Fraction
    rule: Rule


def below_any_noise(epsilon: Fraction, delta: Fraction) -> DpvizError:
    """Return the refusal of a price for which no noise is wide enough."""
    return ParameterError.of(
        f"epsilon = {text(epsilon)}, delta = {text(delta)}",
        "the rho that this pays for is below any noise that is drawn",
        "ask for a larger epsilon",
    )


def rho_of(moves: Shifts, variance: Fraction) -> Fraction:
    """Return n / (2 variance), rounded up: the rho of the noise that is drawn."""
    return ceil_to(moves.squared / (2 * variance), EPSILON_STEP)


# ---------------------------------------------------------------- calibration


@lru_cache(maxsize=4096)
def calibrate(moves: Shifts, epsilon: Fraction, delta: Fraction) -> Calibrated:
    """Return the noise that (epsilon, delta) pays for.

    Parameters
    ----------
    moves : Shifts
        How one unit moves the counts.
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
    The search begins at the variance n / (2 rho) of the Rényi rule, rounded up on a grid of six digits, where the price
    holds at every larger variance too. It walks down while the exact delta holds, and halves the last step on the grid.
    The variance that is found holds and the one before it on the grid does not. Nothing is claimed of others.

    Examples
    --------
    >>> found = calibrate(Shifts.box(1, 1), Fraction(1), Fraction(1, 10**6))
    >>> float(found.variance), round(float(found.variance) ** 0.5, 4), float(found.rho), found.rule
    (17.8995, 4.2308, 0.027933741166, 'exact')
    """
    rho = renyi.rho_for(epsilon, delta)
    if not rho:
        raise below_any_noise(epsilon, delta)
    # Canonne, Kamath, Steinke 2020, Proposition 5: rho = n / 2v at every order, for any vector.
    enough = moves.squared / (2 * rho)
    step = place(enough, DIGITS)
    # Delta may rise with the variance (at epsilon 6 it does from 0.60 to 0.70), so rounding a calibrated one up would
    # prove nothing. This start is safe: the bound of the Rényi orders does fall with the variance.
    first = high = int(ceil_to(enough, step) / step)
    if moves.worst:
        low, high = _bracket(moves, first, step, epsilon, delta)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _holds(moves, middle * step, epsilon, delta) else (middle, high)
        more = 1  # where intervals are too wide to decide so near, larger steps away
        while high < first and not certain(moves, high * step, epsilon, delta):
            high, more = min(first, high + more), 2 * more
    # rho is that of the noise which is drawn. The rho that was asked for is smaller, and would undercharge a zCDP
    # ledger.
    variance = high * step
    return Calibrated(variance, rho_of(moves, variance), "exact" if high < first else "renyi")


def _bracket(moves: Shifts, first: int, step: Fraction, epsilon: Fraction, delta: Fraction) -> tuple[int, int]:
    """A multiple of `step` whose variance does not hold, or 0, and a larger one that does, or `first`."""
    guess = _guess(moves, first * step, epsilon, delta)
    if guess is not None:
        high = min(first, int(guess / step) + 2)
        low = high - 4
        if low > 0 and _holds(moves, high * step, epsilon, delta) and not _holds(moves, low * step, epsilon, delta):
            return low, high
    low = high = first
    while low and _holds(moves, low * step, epsilon, delta):
        low, high = low * 63 // 64, low
    return low, high


def _guess(moves: Shifts, variance: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction | None:
    """About where delta is met below this variance, where the lattice is fine; None where that is unsure."""

    def told(vector: tuple[int, int], less: Fraction) -> float | None:
        wide, shift = _alone(vector, less)
        return None if wide < WIDE else log_delta(wide, shift, _first(wide, shift, epsilon), epsilon)

    known = {vector: found for vector in moves.worst if (found := told(vector, variance)) is not None}
    if len(known) < len(moves.worst):
        return None
    return variance_at(delta, variance, partial(told, max(known, key=known.__getitem__)))


@lru_cache(maxsize=1024)
def proof(moves: Shifts, variance: Fraction, epsilon: Fraction, delta: Fraction) -> Rule | None:
    """Return the rule that proves that noise of this variance costs (epsilon, delta) at most; None where neither does.

    Of variances that a Rényi order proves, too, that is the rule: it needs nothing but the squared length.
    """
    if moves.squared <= 2 * variance * renyi.rho_for(epsilon, delta):
        return "renyi"
    return "exact" if _holds(moves, variance, epsilon, delta) and certain(moves, variance, epsilon, delta) else None


def holds(moves: Shifts, variance: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether noise of this variance is proved to cost (epsilon, delta) at most, by either rule."""
    return proof(moves, variance, epsilon, delta) is not None


@lru_cache(maxsize=1024)
def epsilon_of(moves: Shifts, variance: Fraction, delta: Fraction) -> Fraction:
    """Return the least epsilon, in millionths, that noise of this variance is proved to cost at delta.

    Parameters
    ----------
    moves : Shifts
        How one unit moves the counts.
    variance : Fraction
        Of the noise.
    delta : Fraction
        Strictly between 0 and 1.

    Examples
    --------
    >>> float(epsilon_of(Shifts.box(1, 1), Fraction("28.6223"), Fraction(1, 10**6)))
    0.776418
    """
    most = high = int(renyi.epsilon_for(moves.squared / (2 * variance), delta) / renyi.STEP)
    # At one variance delta does fall with epsilon, so that a bisection is exact here.
    low, more = -1, 1
    while moves.worst and high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _holds(moves, variance, middle * renyi.STEP, delta) else (middle, high)
    while high < most and not certain(moves, variance, high * renyi.STEP, delta):
        high, more = min(most, high + more), 2 * more
    return high * renyi.STEP


# ---------------------------------------------------------------- decisions


def _applies(moves: Shifts, variance: Fraction) -> bool:
    """Whether the exact rule is proved here."""
    # One coordinate needs no theorem. Several do, whose q = e^(-2 pi^2 v/n) must be at most 2^-20.
    if not moves.worst or moves.entries == 1:
        return bool(moves.worst)
    return variance >= LEAST_RATIO * moves.squared and _tau(moves, variance) <= MOST_TAU


def certain(moves: Shifts, variance: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether the exact rule proves (epsilon, delta), by intervals alone."""
    return _applies(moves, variance) and all(_below(moves, one, variance, epsilon, delta) for one in moves.worst)


def surely_fails(moves: Shifts, variance: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether (epsilon, delta) surely does not hold by the exact rule, which spares its proof."""
    return not _applies(moves, variance) or any(
        surely_below(*(alone := _alone(one, variance)), _first(*alone, epsilon), epsilon, delta) is False
        for one in moves.worst
    )


def _below(moves: Shifts, vector: tuple[int, int], variance: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    wide, shift = _alone(vector, variance)
    if wide > FEW:
        off = _off(moves, variance)
        if off[1] > 1 and surely_above(wide, shift, _first(wide, shift, epsilon), epsilon, delta, off):
            return False  # tau keeps the upper end above delta, however precise the tails are
        tails = _tails(vector, variance, epsilon, 96)
        low, high = _integrated(tails, off)
        if high <= delta or low > delta or wide > MOST_ADDED:
            return high <= delta
        if _least_end(tails, off) > delta:  # sums have the same tau, and would not prove it
            return False
    precision, width = 96, Fraction(1)
    while precision <= MOST_PRECISE:
        low, high = delta_bounds(moves, vector, variance, epsilon, precision)
        if high <= delta or low > delta:
            return high <= delta
        if 2 * (high - low) > width:  # tau keeps the ends apart, and more digits do not help
            return False
        precision, width = 2 * precision, high - low
    return False


def _holds(moves: Shifts, variance: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """As `certain`, by floating point where that is sure."""
    if not variance or not _applies(moves, variance):
        return False
    unsure = []
    for vector in moves.worst:
        wide, shift = _alone(vector, variance)
        surely = surely_below(wide, shift, _first(wide, shift, epsilon), epsilon, delta)
        if surely is False:
            return False
        if surely is None:
            unsure.append(vector)
    return all(_below(moves, vector, variance, epsilon, delta) for vector in unsure)


def _alone(vector: tuple[int, int], variance: Fraction) -> tuple[Fraction, int]:
    """Variance and shift of the one coordinate that stands for a vector."""
    squared, divisor = vector
    # The projection of the noise on the vector is a multiple of its divisor g: discrete Gaussian with V = nv/g^2, moved
    # by n/g.
    return squared * variance / divisor**2, squared // divisor


def _first(variance: Fraction, shift: int, epsilon: Fraction) -> int:
    """The least whole number at which the loss exceeds epsilon, exactly."""
    # Theorem 7 of Canonne, Kamath, Steinke 2020: Pr[Z > epsilon V/D - D/2] - e^epsilon Pr[Z > epsilon V/D + D/2]. The
    # second bound is this one plus D; rounded apart, they could differ by a whole atom.
    return math.floor(epsilon * variance / shift - Fraction(shift, 2)) + 1


def worst_alone(moves: Shifts, variance: Fraction) -> tuple[Fraction, int, Fraction] | None:
    """Return variance and shift of the one coordinate that stands for the worst move, and a bound of e**tau.

    None where several moves may be the worst, or the noise is too narrow for the rule.
    """
    if not moves.each or not _applies(moves, variance):
        return None
    return *_alone(moves.worst[0], variance), _off(moves, variance)[1]


# ---------------------------------------------------------------- intervals


def delta_bounds(
    moves: Shifts,
    vector: tuple[int, int],
    variance: Fraction,
    epsilon: Fraction,
    precision: int = 96,
    *,
    added: bool | None = None,
) -> Enclosure:
    """Return an enclosure of the delta of one vector at epsilon.

    Parameters
    ----------
    moves : Shifts
        The moves that contain the vector.
    vector : (int, int)
        Squared length and greatest common divisor.
    variance : Fraction
        Of the noise on each count; at least 0.7025 times `moves.squared` where several entries are not 0.
    epsilon : Fraction
        At least 0.
    precision : int
        Binary places.
    added : bool, optional
        Whether weights are added up, rather than compared with integrals; up to MOST_ADDED by default.
    """
    wide, shift = _alone(vector, variance)
    low, high = _off(moves, variance)
    if wide > MOST_ADDED if added is None else not added:
        return _integrated(_tails(vector, variance, epsilon, precision), (low, high))
    first = _first(wide, shift, epsilon)
    (least, most), (lost_least, lost_most) = _summed(wide, shift, epsilon, first, precision)
    scale = exp_bounds(-Fraction(first * first) / (2 * wide), precision)
    alone = DiscreteGaussian(wide).pmf(0, precision)  # 1 over the sum of all weights
    # The two tails are off by factors of their own between e^-tau and e^tau, so the ends cross over.
    smallest, largest = low * least - high * lost_most, high * most - low * lost_least
    return max(Fraction(0), smallest) * scale[0] * alone[0], max(Fraction(0), largest) * scale[1] * alone[1]


def _tau(moves: Shifts, variance: Fraction) -> Fraction:
    """At least tau of several entries."""
    # 19.739 is below 2 pi**2, and far out e**-1000 stands for anything smaller
    power = max(Fraction(-1000), Fraction(-19739, 1000) * variance / moves.squared)
    return Fraction(401, 100) * (moves.entries - 1) * exp_bounds(power, 64)[1]


@lru_cache(maxsize=64)
def _off(moves: Shifts, variance: Fraction) -> Enclosure:
    """e**-tau and e**tau, enclosed together."""
    if moves.entries == 1:
        return Fraction(1), Fraction(1)
    tau = _tau(moves, variance)
    if tau > 1:
        return Fraction(0), exp_bounds(ceil_to(tau, Fraction(1, 8)), 64)[1]
    return 1 - tau, 1 + tau + tau * tau


def _tails(vector: tuple[int, int], variance: Fraction, epsilon: Fraction, precision: int) -> Tails:
    """T(t) and e**epsilon T(t + D) of one coordinate, by integrals, each enclosed."""
    wide, shift = _alone(vector, variance)
    first, odds = _first(wide, shift, epsilon), exp_bounds(epsilon, precision)
    near, far = chance_from(wide, first, precision), chance_from(wide, first + shift, precision)
    return near, (odds[0] * far[0], odds[1] * far[1])


def _integrated(tails: Tails, off: Enclosure) -> Enclosure:
    """The difference of two tails, each between the ends of its own times those of `off`."""
    near, far = tails
    least, most = off[0] * near[0] - off[1] * far[1], off[1] * near[1] - off[0] * far[0]
    return max(Fraction(0), least), max(Fraction(0), most)


def _least_end(tails: Tails, off: Enclosure) -> Fraction:
    """A number that the upper end of the difference is not below, however precisely the tails are enclosed."""
    near, far = tails
    return off[1] * near[0] - off[0] * far[1]


def _summed(
    variance: Fraction, shift: int, epsilon: Fraction, first: int, precision: int
) -> tuple[Enclosure, Enclosure]:
    """T(t) and e**epsilon T(t + D), over the weight at t, enclosed.

    In fixed point, all four chains rounded outwards. The weight at t + j + 1 is that at t + j times
    exp(-(2 (t + j) + 1) / 2V), a factor that falls by exp(-1 / V). The second sum has at z the weight of z times
    exp(epsilon - loss), the loss being (2 z D + D**2) / 2V: the weight at z + D over that at z.
    """
    places = precision + 32
    one = 1 << places

    def fixed(power: Fraction) -> tuple[int, int]:
        low, high = exp_bounds(max(power, Fraction(-2 * places)), places)
        least = (low.numerator << places) // low.denominator if power > -2 * places else 0
        return least, -(-(high.numerator << places) // high.denominator)

    (low, high), (fall_low, fall_high) = fixed(-Fraction(2 * first + 1) / (2 * variance)), fixed(-1 / variance)
    share_low, share_high = fixed(epsilon - (2 * first * shift + shift * shift) / (2 * variance))
    shrink_low, shrink_high = fixed(-shift / variance)
    least = most = one
    sum_low = sum_high = lost_low = lost_high = 0
    while high >= one or most >> 32:
        sum_low, sum_high = sum_low + least, sum_high + most
        lost_low, lost_high = lost_low + (least * share_low >> places), lost_high - (-most * share_high >> places)
        least, most = least * low >> places, -(-most * high >> places)
        low, high = low * fall_low >> places, -(-high * fall_high >> places)
        share_low, share_high = share_low * shrink_low >> places, -(-share_high * shrink_high >> places)
    rest = -(-(most << places) // (one - high))  # weights that fall by this factor or faster
    sum_high, lost_high = sum_high + rest, lost_high + (rest * share_high >> places) + 1
    near = Fraction(sum_low, one), Fraction(sum_high, one)
    return near, (Fraction(lost_low, one), Fraction(lost_high, one))


protect_module(vars())
