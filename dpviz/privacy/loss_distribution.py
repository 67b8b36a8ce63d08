"""The exact price of a fixed list of steps: the privacy loss of each as a distribution on a lattice, convolved.

A step is known by its dominating pair (P, Q): whatever the data, the answer is post-processing of one draw from P or
from Q. The loss is ln(P/Q) of that draw. Losses of independent draws add up, so the product of the pairs of a list
dominates the list (Kairouz, Oh, Viswanath 2017, Theorem 3.3; Zhu, Dong, Wang 2022, Theorem 10), and

    delta(epsilon) = sum over losses L > epsilon of P(L) (1 - exp(epsilon - L)).

Every pair here is symmetric: P and Q in exchange have the same losses. So one direction is enough.

The list is fixed beforehand: its prices depend on no answer. Nothing here is a filter. Where the price of a later step
depends on an earlier answer, this price proves nothing; the sum of epsilons, or of rhos, does.

Masses are whole numbers of 2**-192 or less, rounded up after every product, so that delta is never too small. Products
are those of whole numbers. A loss that is moved to a coarser lattice is rounded up, for delta grows with every loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Any, Final, TypeAlias

import gmpy2

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Enclosure, ceil_to, directed, exp_bounds, from_mpfr, positive, probability, text
from dpviz.laws.gaussian import DiscreteGaussian
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.discrete_gaussian import Shifts, worst_alone
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ApproxDP
from dpviz.privacy.unit import Unit

PLACES: Final = 192
"""Binary places of a mass, beyond those of the delta that is asked about."""

MOST_LOSSES: Final = 1 << 16
"""A lattice of more losses is made coarser, each loss rounded up."""

NOTHING: Final = 1 << 40
"""The mass of the ends of a long lattice that are put together, in 2**-places."""

MOST_APART: Final = 8
"""The most kinds of steps without a common unit of their losses: each costs a product of long lattices."""

MOST_BLOCKS: Final = 1 << 12
"""Of one count that moves by more, several losses are one."""

STEP: Final = Fraction(1, 10**6)
"""An epsilon is rounded up to this grid."""

WIDEST: Final = Fraction(1 << 26)
"""The largest variance of one coordinate whose weights are added up."""

CLOSE: Final = Fraction(1, 1 << 40)
"""The most that the masses of several Gaussian counts may be off, relatively."""

WORTH: Final = Fraction(99, 100)
"""Answers are composed exactly where that costs at most this share of their sum: less saved is not worth a delta."""

PROOF: Final = (
    "exact composition of {}, fixed beforehand; Kairouz, Oh, Viswanath 2017, Theorem 3.3, and Zhu, Dong, Wang 2022, "
    "Theorem 10"
)
"""The proof of the price, for a number of answers."""


# ---------------------------------------------------------------- the lattice


@dataclass(frozen=True)
class LossLattice:
    """A distribution of losses `top`, `top - unit`, `top - 2 unit`, ..., with masses that are rounded up.

    masses    whole numbers of 2**-places, from the largest loss on
    infinite  the mass of an infinite loss, likewise
    raised    the most by which a loss was rounded up
    lumped    the mass of losses that were rounded up by more than that
    """

    top: Fraction
    unit: Fraction
    masses: tuple[Any, ...]
    places: int
    infinite: int = 0
    raised: Fraction = Fraction(0)
    lumped: int = 0

    def on_lattice(self, unit: Fraction) -> LossLattice:
        """Return the same on another lattice, each loss rounded up; exactly the same where `unit` divides the old."""
        ratio = self.unit / unit
        by, over = ratio.numerator, ratio.denominator
        # Losses count down from `top`, so a place that is rounded down is a loss that is rounded up: delta grows with
        # every loss.
        found: list[Any] = [gmpy2.mpz(0)] * ((len(self.masses) - 1) * by // over + 1)
        for index, mass in enumerate(self.masses):
            found[index * by // over] += mass
        raised = self.raised if ratio.denominator == 1 else self.raised + unit
        return LossLattice(self.top, unit, tuple(found), self.places, self.infinite, raised, self.lumped)

    def added_to(self, other: LossLattice) -> LossLattice:
        """Return the distribution of the sum of two independent losses."""
        unit = _common(self, other)
        one, two = (lattice if lattice.unit == unit else lattice.on_lattice(unit) for lattice in (self, other))
        masses = _product(one.masses, two.masses, self.places)
        made = LossLattice(
            one.top + two.top,
            unit,
            masses,
            self.places,
            one.infinite + two.infinite,
            one.raised + two.raised,
            one.lumped + two.lumped,
        )
        return made.cut_short()

    def cut_short(self) -> LossLattice:
        """Return the same with MOST_LOSSES at most: without ends that weigh nothing, and coarser where need be."""
        if len(self.masses) <= MOST_LOSSES:
            return self
        first, above = _end(self.masses)
        last, below = _end(self.masses[::-1])
        kept = list(self.masses[first : len(self.masses) - last])
        # Mass below the range moves up to the lowest loss that is kept, and mass above it to infinity: either only
        # raises delta.
        kept[-1] += below
        lumped, top = self.lumped + above + below, self.top - first * self.unit
        short = replace(self, top=top, masses=tuple(kept), infinite=self.infinite + above, lumped=lumped)
        return short if len(kept) <= MOST_LOSSES else short.on_lattice(-(-len(kept) // MOST_LOSSES) * self.unit)

    def added_up(self, times: int) -> LossLattice:
        """Return the distribution of the sum of this number of such losses, by squaring."""
        found, square = None, self
        while True:
            if times & 1:
                found = square if found is None else found.added_to(square)
            times >>= 1
            if not times:
                assert found is not None
                return found
            square = square.added_to(square)


def _common(one: LossLattice, two: LossLattice) -> Fraction:
    """A unit of both lattices; of as many losses as may be where the common one is too fine."""
    units = (one.unit, two.unit)
    below = lcm(*(unit.denominator for unit in units))
    fine = Fraction(gcd(*(int(unit * below) for unit in units)), below)
    length = (len(one.masses) - 1) * one.unit + (len(two.masses) - 1) * two.unit
    return fine if length <= 4 * MOST_LOSSES * fine else length / MOST_LOSSES


def _product(one: tuple[Any, ...], two: tuple[Any, ...], places: int) -> tuple[Any, ...]:
    """The coefficients of a product of polynomials, rounded up: one product of whole numbers (Kronecker)."""
    width = max(one).bit_length() + max(two).bit_length() + min(len(one), len(two)).bit_length()
    packed = gmpy2.pack(list(one), width)
    whole = packed * (packed if two is one else gmpy2.pack(list(two), width))
    # Each product is rounded up, so that the masses of k steps are too large by less than k len 2**-places, and never
    # too small.
    up = (gmpy2.mpz(1) << places) - 1
    found = [(mass + up) >> places for mass in gmpy2.unpack(whole, width)]
    # the lowest losses may have no mass, and the list of a number ends with its last digit that is not 0
    return tuple(found) + (gmpy2.mpz(0),) * (len(one) + len(two) - 1 - len(found))


def _end(masses: tuple[Any, ...]) -> tuple[int, int]:
    """How many of the first masses are together below NOTHING, and their sum."""
    gone = 0
    for index, mass in enumerate(masses):
        if gone + int(mass) >= NOTHING:
            return index, gone
        gone += int(mass)
    raise ArithmeticError("a distribution without mass")


def _masses(values: Iterable[Fraction], places: int) -> tuple[Any, ...]:
    return tuple(gmpy2.mpz(-((-value.numerator << places) // value.denominator)) for value in values)


# ---------------------------------------------------------------- dominating pairs


class DominatingPair:
    """The dominating pair of one step, in both directions the same."""

    @property
    def failure_chance(self) -> Fraction:
        """The chance that the step promises nothing: its delta, apart from the pair."""
        return Fraction(0)

    @property
    def largest_loss(self) -> Fraction | None:
        """The largest loss; None where there is none."""
        raise NotImplementedError

    def loss_lattice(self, places: int) -> LossLattice:
        """Return the distribution of the loss, masses rounded up to 2**-places."""
        raise NotImplementedError


@dataclass(frozen=True)
class RandomisedResponse(DominatingPair):
    """An answer of which nothing but its epsilon is known, and its delta: the worst is randomised response.

    Parameters
    ----------
    epsilon : Fraction
        Above 0.
    delta : Fraction, default 0
        In [0, 1): with this chance the answer promises nothing.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon"), probability(self.delta, "delta")

    @property
    def failure_chance(self) -> Fraction:
        return self.delta

    @property
    def largest_loss(self) -> Fraction:
        return self.epsilon

    def loss_lattice(self, places: int) -> LossLattice:
        # Kairouz, Oh, Viswanath 2017, Theorem 3.3: losses of +-epsilon, with masses 1/(1 + e^-epsilon) and
        # e^-epsilon/(1 + e^-epsilon); each takes the end of the enclosure that makes it larger.
        small = exp_bounds(-self.epsilon, places + 32)
        masses = _masses((1 / (1 + small[0]), small[1] / (1 + small[1])), places)
        return LossLattice(self.epsilon, 2 * self.epsilon, masses, places)


@dataclass(frozen=True)
class GeometricMoves(DominatingPair):
    """Two-sided geometric noise on counts, of which one unit moves at most `counts` by at most `each`.

    With a = exp(-rate), a count that moves by p has the loss p with mass 1 / (1 + a), p - 2j with a**j (1 - a) / (1 +
    a) for 0 < j < p, and -p with a**p / (1 + a), in units of the rate. Log-concave noise has a monotone likelihood
    ratio, so that smaller moves are dominated, count by count.

    Parameters
    ----------
    rate : Fraction
        Pr[Z = z] is proportional to exp(-rate |z|).
    each : int
        The most that a count moves, at least 1.
    counts : int
        The most counts that move, at least 1.
    """

    rate: Fraction
    each: int
    counts: int

    def __post_init__(self) -> None:
        positive(self.rate, "rate"), positive(self.each, "each"), positive(self.counts, "counts")

    @property
    def largest_loss(self) -> Fraction:
        return self.rate * self.each * self.counts

    def loss_lattice(self, places: int) -> LossLattice:
        wide = -(-self.each // MOST_BLOCKS)  # so many losses are one, the largest of them
        starts = range(0, self.each + 1, wide)
        ends = [self._tail(start, places) for start in starts]
        masses = [high - low for (_, high), (low, _) in zip(ends, [*ends[1:], (Fraction(0), Fraction(0))], strict=True)]
        unit = 2 * wide * self.rate
        raised = unit if wide > 1 else Fraction(0)
        once = LossLattice(self.each * self.rate, unit, _masses(masses, places), places, raised=raised)
        return once.added_up(self.counts)

    def _tail(self, start: int, places: int) -> Enclosure:
        """The mass of all losses from p - 2 start down: a**start / (1 + a)."""
        if start == 0:
            return Fraction(1), Fraction(1)
        (low, high), (least, most) = (exp_bounds(-self.rate * power, places + 32) for power in (1, start))
        return least / (1 + high), most / (1 + low)


@dataclass(frozen=True)
class GaussianMoves(DominatingPair):
    """Discrete Gaussian noise on counts, of whose moves one is the worst: see `privacy.discrete_gaussian`.

    The noise of all counts together loses as that of one coordinate, of variance V and moved by D: at z the loss is
    (D**2 - 2 z D) / 2V, with a mass that may be larger by a factor of e**tau. Further answers with the same noise go on
    with the same lattice, as one longer move does.

    Parameters
    ----------
    variance : Fraction
        Of the noise on each count.
    moves : Shifts
        At most this number of counts by at most so much, as `Shifts.box` has it.

    Raises
    ------
    ParameterError
        If no single move is proved to be the worst. `gaussian_pair` gives None there.
    """

    variance: Fraction
    moves: Shifts

    def __post_init__(self) -> None:
        if worst_alone(self.moves, self.variance) is None:
            rule = "noise composes exactly where one move of the counts is proved to be the worst"
            raise ParameterError.of(text(self.variance), rule, "take the pair of its epsilon and delta")

    @property
    def largest_loss(self) -> None:
        return None

    def loss_lattice(self, places: int) -> LossLattice:
        found = worst_alone(self.moves, self.variance)
        assert found is not None
        # The one coordinate of `privacy.discrete_gaussian`: its masses may be too small by a factor of e^tau, so
        # `larger` multiplies them.
        variance, shift, larger = found
        precision = places + 64
        one = gmpy2.mpz(1) << precision
        weights, rest = _weights(variance, precision)
        scale = larger * DiscreteGaussian(variance).pmf(0, precision)[1]
        by, most = gmpy2.mpz(scale.numerator) << places, scale.denominator * one
        half = [-(-weight * by // most) for weight in weights]
        beyond = int(-(-rest * by // most))
        # from the largest loss on, at -z, down to the smallest, which takes the tail beyond it
        masses = (*half[:0:-1], *half[:-1], half[-1] + beyond)
        top = Fraction(shift * shift + 2 * (len(half) - 1) * shift) / (2 * variance)
        made = LossLattice(top, shift / variance, masses, places, infinite=beyond, lumped=beyond)
        return made.cut_short()


def gaussian_pair(variance: Fraction, moves: Shifts) -> GaussianMoves | None:
    """Return the pair of Gaussian noise; None where no single move is proved to be the worst, or noise is too wide."""
    found = worst_alone(moves, variance)
    return None if found is None or found[0] > WIDEST or found[2] > 1 + CLOSE else GaussianMoves(variance, moves)


def geometric_pair(rate: Fraction, unit: Unit, bins: int) -> GeometricMoves | None:
    """Return the pair of two-sided geometric noise of one rate on each of these counts.

    None where a limit on all records of a unit leaves a choice between moves, of which none is proved to be the worst.
    """
    # A maximum over moves of their delta curves is the curve of no pair, and must not be composed: so one worst move,
    # or None.
    counts, rest = divmod(unit.l1(bins), unit.max_per_bin)
    touched = bins if unit.max_bins is None else min(unit.max_bins, bins)
    limited = unit.max_records is not None and unit.max_records < touched * unit.max_per_bin
    return None if rest or (limited and unit.max_per_bin > 1) else GeometricMoves(rate, unit.max_per_bin, counts)


def pair_of(price: Guarantee) -> RandomisedResponse:
    """Return the pair of an answer of which nothing but its price is known."""
    loss = to_approx(price.loss)
    return RandomisedResponse(loss.epsilon, loss.delta)


def _weights(variance: Fraction, precision: int) -> tuple[list[Any], Any]:
    """exp(-z**2 / 2V) for z = 0, 1, ... in whole numbers of 2**-precision, rounded up; and a bound of all that follow.

    The weight at z + 1 is that at z times exp(-(2 z + 1) / 2V), a factor that falls by exp(-1 / V).
    """

    def fixed(power: Fraction) -> Any:
        high = exp_bounds(power, precision)[1]
        return gmpy2.mpz(-((-high.numerator << precision) // high.denominator))

    one = gmpy2.mpz(1) << precision
    up, factor, fall = one - 1, fixed(-1 / (2 * variance)), fixed(-1 / variance)
    found, weight = [], one
    while weight >> 64 > 1:
        found.append(weight)
        weight, factor = (weight * factor + up) >> precision, (factor * fall + up) >> precision
    # Further weights fall by this factor or faster: their sum is at most that of a geometric series.
    return found, -((-weight << precision) // (one - factor))


# ---------------------------------------------------------------- the price of a list

Listed: TypeAlias = Iterable[DominatingPair] | Mapping[DominatingPair, int]
"""The pairs of some steps: one after another, or how often each comes."""


def compose_fixed(steps: Listed, delta: Fraction) -> ApproxDP:
    """Return the least epsilon that a fixed list of steps is proved to cost at delta, in millionths.

    Parameters
    ----------
    steps : iterable or mapping
        The dominating pair of each step, or how often each comes. The list is fixed before any answer.
    delta : Fraction
        In [0, 1). With 0 the epsilons add up.

    Returns
    -------
    ApproxDP
        Epsilon rounded up, and delta as given.

    Raises
    ------
    ParameterError
        If delta is outside its range, or does not cover the deltas of the steps themselves; or if many steps have
        losses that share no unit.

    Notes
    -----
    Steps with a delta of their own keep what they promise with a chance of the product of all 1 - delta_i, so the pairs
    are left 1 - (1 - delta) / product. Between two losses delta is SP - exp(epsilon) SQ, with the masses SP of P and SQ
    of Q above, and epsilon is solved for: losses alone would overcharge.

    Examples
    --------
    >>> float(compose_fixed({RandomisedResponse(Fraction(1, 10)): 100}, Fraction(1, 10**6)).epsilon)
    4.774568
    >>> float(compose_fixed({GeometricMoves(Fraction(1, 100), 1, 10): 100}, Fraction(1, 10**6)).epsilon)
    1.365447
    """
    probability(delta, "delta")
    tally = _tally(steps)
    left = _left(tally, delta)
    if not tally or left >= 1:
        return ApproxDP(Fraction(0), delta)
    if not left:
        return ApproxDP(ceil_to(_sum(tally), STEP), delta)
    places = PLACES + max(0, (left.denominator // left.numerator).bit_length() - 64)
    return ApproxDP(_least(_together(tally, places), left), delta)


def fixed_delta(steps: Listed, epsilon: Fraction) -> Enclosure:
    """Return the delta of a fixed list of steps at epsilon, enclosed.

    Parameters
    ----------
    steps : iterable or mapping
        As for `compose_fixed`.
    epsilon : Fraction
        At least 0.

    Returns
    -------
    tuple of Fraction
        A lower and an upper bound. They are about 2**-170 apart, or as far as losses had to be rounded up.

    Examples
    --------
    >>> low, high = fixed_delta({RandomisedResponse(Fraction(1)): 1}, Fraction(1, 2))
    >>> float(low) == float(high), round(float(high), 6)
    (True, 0.287649)
    """
    if epsilon < 0:
        raise ParameterError.of(text(epsilon), "epsilon must not be negative", "give 0 or more")
    tally = _tally(steps)
    keeps = _kept(tally)
    if not tally:
        return Fraction(0), Fraction(0)
    lattice = _together(tally, PLACES)
    one = Fraction(1 << lattice.places)
    excess = Fraction(int(sum(lattice.masses)) + lattice.infinite) / one - 1
    surely = _finite(lattice, epsilon + lattice.raised, down=True) - excess - lattice.lumped / one
    most = min(Fraction(1), _finite(lattice, epsilon) + lattice.infinite / one)
    return 1 - (1 - max(Fraction(0), surely)) * keeps, 1 - (1 - most) * keeps


def _tally(steps: Listed) -> dict[DominatingPair, int]:
    tally = dict(steps) if isinstance(steps, Mapping) else dict(Counter(steps))
    for times in tally.values():
        if isinstance(times, bool) or not isinstance(times, int) or times < 1:
            rule = "how often a step comes must be a whole number above 0"
            raise ParameterError.of(times, rule, "give a whole number from 1 on")
    return tally


def _kept(tally: Mapping[DominatingPair, int]) -> Fraction:
    """The chance that every step keeps what it promises."""
    found = Fraction(1)
    for step, times in tally.items():
        found *= (1 - step.failure_chance) ** times
    return found


def _left(tally: Mapping[DominatingPair, int], delta: Fraction) -> Fraction:
    """The delta that is left to the pairs."""
    keeps = _kept(tally)
    if 1 - keeps > delta:
        least = text(ceil_to(1 - keeps, Fraction(1, 10**12)))
        rule = f"the deltas of the steps together are at most {least}, and the delta of the list covers them"
        raise ParameterError.of(text(delta), rule, f"give a delta of {least} or more")
    return 1 - (1 - delta) / keeps


def _sum(tally: Mapping[DominatingPair, int]) -> Fraction:
    """The largest losses of all steps together."""
    found = Fraction(0)
    for step, times in tally.items():
        if step.largest_loss is None:
            raise ParameterError.of("0", "noise without bounds needs a delta above 0", "give a delta like 0.000001")
        found += times * step.largest_loss
    return found


def _together(tally: Mapping[DominatingPair, int], places: int) -> LossLattice:
    return _composed(tuple(sorted(tally.items(), key=repr)), places)


@lru_cache(maxsize=64)
def _composed(tally: tuple[tuple[DominatingPair, int], ...], places: int) -> LossLattice:
    """The distribution of the loss of all steps together, the shortest first."""
    parts = sorted(
        (step.loss_lattice(places).added_up(times) for step, times in tally), key=lambda part: len(part.masses)
    )
    _check_units(parts)
    found = parts[0]
    for part in parts[1:]:
        found = found.added_to(part)
    return found


def _check_units(parts: Sequence[LossLattice]) -> None:
    """Refuse many lattices without a common unit. Raises ParameterError."""
    units = {part.unit for part in parts}
    if len(units) <= MOST_APART:
        return
    below = lcm(*(unit.denominator for unit in units))
    fine = Fraction(gcd(*(int(unit * below) for unit in units)), below)
    length = sum((len(part.masses) - 1) * part.unit for part in parts)
    if length > 4 * MOST_LOSSES * fine:
        raise ParameterError.of(
            f"{len(units):,} of them",
            f"a list is composed exactly where its different ε are multiples of one step, or {MOST_APART} at most",
            "give more lines the same ε, or an ε with a short common denominator, such as hundredths",
        )


# ---------------------------------------------------------------- epsilon and delta of a distribution


def _least(lattice: LossLattice, delta: Fraction) -> Fraction:
    """The least multiple of STEP whose delta is at most this one; the largest loss where none below is."""
    one = Fraction(1 << lattice.places)
    guess = ceil_to(max(Fraction(0), min(lattice.top, _solved(lattice, delta))), STEP)
    while _finite(lattice, guess) + lattice.infinite / one > delta:  # rounding in the guess
        guess += STEP
    return guess


def _solved(lattice: LossLattice, delta: Fraction) -> Fraction:
    """About where delta is met, by MPFR: the losses from the largest on, until delta at the next one is above."""
    one = gmpy2.mpfr(1)
    with gmpy2.context(precision=lattice.places + 128, emin=gmpy2.get_emin_min(), emax=gmpy2.get_emax_max()):
        target = gmpy2.mpfr(gmpy2.mpq(delta.numerator, delta.denominator)) * (gmpy2.mpz(1) << lattice.places)
        target -= lattice.infinite
        grows = gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(lattice.unit.numerator, lattice.unit.denominator)))
        near, far, odds = gmpy2.mpfr(0), gmpy2.mpfr(0), gmpy2.mpfr(one)
        for mass in lattice.masses:
            # at this loss, of which the mass does not count yet: SP - exp(loss) SQ, with SQ over exp(-top) in `far`
            if near - far / odds > target:
                break
            near, far, odds = near + mass, far + mass * odds, odds * grows
        if near <= target or not far:
            return Fraction(0) if near <= target and far else lattice.top
        return lattice.top + from_mpfr(gmpy2.log((near - target) / far))


def _finite(lattice: LossLattice, epsilon: Fraction, *, down: bool = False) -> Fraction:
    """The delta of the finite losses at epsilon, rounded up, or down: the sum of P(L) - exp(epsilon - L) P(L)."""
    above = lattice.top - epsilon
    if above <= 0:
        return Fraction(0)
    counted = min(len(lattice.masses), int(-(-above // lattice.unit)))
    masses = lattice.masses[:counted]
    lower, upper = directed(lattice.places + 128)
    with upper if down else lower:
        ends = exp_bounds(lattice.unit, lattice.places + 128)
        end = ends[1] if down else ends[0]
        grows, odds, far = gmpy2.mpfr(gmpy2.mpq(end.numerator, end.denominator)), gmpy2.mpfr(1), gmpy2.mpfr(0)
        for mass in masses:
            far, odds = far + mass * odds, odds * grows
        ends = exp_bounds(-above, lattice.places + 128)
        end = ends[1] if down else ends[0]
        lost = from_mpfr(far * gmpy2.mpfr(gmpy2.mpq(end.numerator, end.denominator)))
    return max(Fraction(0), (int(sum(masses)) - lost) / (1 << lattice.places))


protect_module(vars())
