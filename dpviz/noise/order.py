"""The largest of very many equal draws, exactly, without drawing them all: how the empty bins of a huge domain compete.

m bins are empty, and each would get an independent number clip(Z, 0, top), with Z two-sided geometric. Only those that
reach a public level can matter. How many these are is one binomial number; how far each exceeds the level is a
geometric number, as the law has no memory; which bins they are is a uniform set. Should too few reach the level, the
next lower one is opened, whose newcomers have exactly its value. The law does not depend on the level, only the work
does.

`Heavy.keep` is for bins that are known all at once. `StreamedContest` is the same law for bins that are met one after
the other and forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpviz.exact import Decay, exp_bounds, log_bounds, log_factorial_bounds
from dpviz.noise.bits import Bits
from dpviz.noise.fixed import power
from dpviz.noise.geometric import BASE, WIDEST_TABLE, check_scale, two_sided_geometric
from dpviz.noise.table import PIECE, Law, Sampler, SamplingTable

GUARD = 64
"""Binary places beyond the random bits revealed, for the rounding of a walk over a binomial law."""

CROWDED = math.log(4)
"""The logarithm of how many times more bins than wanted a level may bring; beyond, the next higher one comes first."""

Chance = Callable[[int], tuple[int, int]]
"""A probability, enclosed: low <= chance * 2**places <= high for any number of places."""

Labels = NDArray[Any]
"""Bin numbers, ascending: uint64, or whole numbers of any size as objects."""


# ---------------------------------------------------------------- one binomial number


def binomial(trials: int, chance: Chance, bits: Bits, most: int | None = None) -> int:
    """How many of `trials` independent trials succeed, or `most` where that is less.

    Inverse-CDF sampling over the outcomes in a fixed order: bits of U are revealed until they lie inside one outcome's
    cell for certain.

    >>> from dpviz.noise.bits import TeachingBits
    >>> hundred = lambda bits: (100 << bits >> 64, (100 << bits >> 64) + 1)
    >>> binomial(2**64, hundred, TeachingBits(1))
    97
    """
    if trials == 0 or most == 0:
        return 0
    prefix, fraction_bits = 0, 0
    while True:
        prefix = prefix << 64 | int.from_bytes(bits.take(8), "little")
        fraction_bits += 64
        found = locate(prefix, fraction_bits, trials, chance, most)
        if found is not None:
            return found


def locate(prefix: int, fraction_bits: int, trials: int, chance: Chance, most: int | None = None) -> int | None:
    """The outcome of every U whose first `fraction_bits` bits are `prefix`; None where they do not tell.

    Outcomes lie in this order: from the mode outward, first up; or, where the mode is not below `most`, from most - 1
    down to 0 and last `most`.
    """
    walk = _Walk(fraction_bits + GUARD, trials, chance)
    first, last = prefix << GUARD, (prefix + 1) << GUARD
    if most is not None and walk.mode >= most:
        return walk.downward(first, last, most)
    found = walk.outward(first, last)
    return found if found is None or most is None else min(found, most)


class _Walk:
    """The probabilities of a binomial law as enclosed fixed-point integers, each from the one beside it."""

    def __init__(self, work: int, trials: int, chance: Chance) -> None:
        self.work = work
        self.trials = trials
        self.precision = work + 2 * trials.bit_length() + GUARD
        self.low, self.high = chance(self.precision)
        one = 1 << self.precision
        # p / (1 - p), the ratio of neighbouring probabilities but for whole factors.
        self.odds_low = (self.low << self.precision) // (one - self.low)
        self.odds_high = -((-self.high << self.precision) // (one - self.high))
        coarse = 2 * trials.bit_length() + GUARD  # the same for every U, so that the order of outcomes is one order
        # A binomial law is largest at floor((n + 1) p).
        self.mode = min(trials, (trials + 1) * chance(coarse)[0] >> coarse)

    def at(self, k: int) -> tuple[int, int]:
        """Pr[k], from factorials."""
        one = Fraction(1 << self.precision)
        precision = self.precision + GUARD
        # ln Pr[k] = ln n! - ln k! - ln (n - k)! + k ln p + (n - k) ln(1 - p).
        terms = [log_factorial_bounds(self.trials, precision)]
        for part in (k, self.trials - k):
            low, high = log_factorial_bounds(part, precision)
            terms.append((-high, -low))
        if k:
            terms.append(_times(k, log_bounds(self.low / one, precision)[0], log_bounds(self.high / one, precision)[1]))
        fails_low, fails_high = 1 - self.high / one, 1 - self.low / one
        bounds = log_bounds(fails_low, precision)[0], log_bounds(fails_high, precision)[1]
        terms.append(_times(self.trials - k, *bounds))
        low, high = (sum((term[side] for term in terms), Fraction(0)) for side in (0, 1))
        if high < -self.work:  # below 2**-work; the exact number may have more digits than fit in memory
            return 0, 1
        scale = 1 << self.work
        return math.floor(exp_bounds(low, precision)[0] * scale), math.ceil(exp_bounds(high, precision)[1] * scale)

    def up(self, k: int, low: int, high: int) -> tuple[int, int]:
        """Pr[k + 1] from Pr[k]."""
        # Pr[k + 1] = Pr[k] (n - k) / (k + 1) p / (1 - p).
        room, below = self.trials - k, (k + 1) << self.precision
        return low * room * self.odds_low // below, -(-high * room * self.odds_high // below)

    def down(self, k: int, low: int, high: int) -> tuple[int, int]:
        """Pr[k - 1] from Pr[k]."""
        # Pr[k - 1] = Pr[k] k / (n - k + 1) (1 - p) / p.
        room, above = self.trials - k + 1, k << self.precision
        return low * above // (room * self.odds_high), -(-high * above // (room * self.odds_low))

    def outward(self, first: int, last: int) -> int | None:
        """From the mode, mode + 1, mode - 1, mode + 2, ...: the outcome whose cell holds all of first..last."""
        above = below = k = self.mode
        up = down = self.at(k)
        low, high = up
        while True:
            if last <= low or (below == 0 and above == self.trials):
                return k
            if first < high or up[0] == down[0] == 0:
                return None
            if above < self.trials and (above - self.mode <= self.mode - below or below == 0):
                up = self.up(above, *up)
                k = above = above + 1
                low, high = low + up[0], high + up[1]
            else:
                down = self.down(below, *down)
                k = below = below - 1
                low, high = low + down[0], high + down[1]

    def downward(self, first: int, last: int, most: int) -> int | None:
        """From most - 1 down to 0, and then `most`, which stands for all from there up."""
        k, (low, high) = most - 1, self.at(most - 1)
        total_low, total_high = low, high
        while True:
            if last <= total_low:
                return k
            if first >= total_high + self._still_below(k, high):
                return most
            if first < total_high:
                return None
            if k == 0 or low == 0:
                return most if k == 0 else None
            low, high = self.down(k, low, high)
            k -= 1
            total_low, total_high = total_low + low, total_high + high

    def _still_below(self, k: int, high: int) -> int:
        """At least the probability of all below k, which shrink at least as fast as the first two."""
        # The ratio Pr[k - 1] / Pr[k] falls with k, so a geometric series from here encloses all below.
        rises, falls = k << self.precision, (self.trials - k + 1) * self.odds_low
        return -(-high * rises // (falls - rises)) if rises < falls else 1 << self.work


def _times(number: int, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    return number * low, number * high


# ---------------------------------------------------------------- one-sided geometric numbers


@lru_cache(maxsize=32)
def geometric(decay: Decay) -> Sampler:
    """A sampler of Pr[G = g] = (1 - decay) * decay**g for g >= 0, made once and kept; digit by digit where it is wide.

    >>> from dpviz.noise.bits import TeachingBits
    >>> geometric(Decay.exp(Fraction(1, 2))).draw(8, TeachingBits(1)).tolist()
    [0, 2, 10, 2, 0, 1, 14, 1]
    """
    check_scale(decay)
    tables, step, scale = [], 1, scale_of(decay)
    while scale > WIDEST_TABLE:
        tables.append(SamplingTable(Digit(decay, step), step))
        step *= BASE
        scale /= BASE
    tables.append(SamplingTable(OneSided(decay, step), step))
    return Sampler(tables)


def scale_of(decay: Decay) -> float:
    """1 / -ln(decay), roughly: it chooses levels and tables of the same law."""
    if decay.exponent is not None:
        return float(1 / decay.exponent)
    assert decay.ratio is not None
    misses = float(1 - decay.ratio)
    if misses < 1:
        return -1 / math.log1p(-misses)
    return 1 / (math.log(decay.ratio.denominator) - math.log(decay.ratio.numerator))  # the ratio itself may be no float


@dataclass(frozen=True)
class OneSided(Law):
    """The geometric law of ratio a = decay**step: F(g) = 1 - a**(g + 1) for g >= 0."""

    decay: Decay
    step: int = 1

    first = 0
    last = None

    def cdf(self, value: int, fraction_bits: int) -> tuple[int, int]:
        low, high = power(self.decay, self.step * (value + 1), fraction_bits)
        return (1 << fraction_bits) - high, (1 << fraction_bits) - low

    def sweep(self, fraction_bits: int) -> tuple[int, list[int], int]:
        one = 1 << fraction_bits
        a_low, a_high = power(self.decay, self.step, fraction_bits)
        tail, width, tails = a_low, a_high - a_low + 1, [a_low]
        while tail + width >= one >> 64:
            tail = tail * a_low >> fraction_bits
            width += a_high - a_low + 1
            tails.append(tail)
        return 0, [max(0, one - tail - width) for tail in tails], width


@dataclass(frozen=True)
class Digit(Law):
    """R on 0..BASE-1 with Pr[R = r] proportional to b**r, b = decay**step: F(r) = (1 - b**(r+1)) / (1 - b**BASE)."""

    decay: Decay
    step: int

    first = 0
    last = BASE - 1

    def cdf(self, value: int, fraction_bits: int) -> tuple[int, int]:
        work = fraction_bits + 128
        one = 1 << work
        (low, high), (all_low, all_high) = (power(self.decay, self.step * times, work) for times in (value + 1, BASE))
        return (one - high << fraction_bits) // (one - all_low), -(-(one - low << fraction_bits) // (one - all_high))

    def sweep(self, fraction_bits: int) -> tuple[int, list[int], int]:
        pairs = [self.cdf(value, fraction_bits) for value in range(BASE - 1)]
        return 0, [low for low, _ in pairs], max(high - low for low, high in pairs)


# ---------------------------------------------------------------- uniform bins


def outside(count: int, taken: Labels, size: int, bits: Bits) -> tuple[Labels, NDArray[np.intp]]:
    """A uniform sequence of `count` different bins of 0..size-1 that are not in `taken`: ascending, and their places in
    the sequence."""
    free = size - len(taken)
    if size > 2**64:
        return _outside_by_hand(count, taken.tolist(), free, bits)
    ranks = uniform_below(free, count, bits)
    order = np.argsort(ranks)
    ascending = ranks[order]
    while (ascending[1:] == ascending[:-1]).any():  # keep the first of each and go on with the sequence
        firsts = np.sort(np.unique(ranks, return_index=True)[1])
        ranks = np.concatenate((ranks[firsts], uniform_below(free, count - firsts.size, bits)))
        order = np.argsort(ranks)
        ascending = ranks[order]
    gaps = taken - np.arange(len(taken), dtype=np.uint64)  # how many free bins lie below each taken one
    return ascending + np.searchsorted(gaps, ascending, side="right").astype(np.uint64), order


def _outside_by_hand(count: int, taken: list[int], free: int, bits: Bits) -> tuple[Labels, NDArray[np.intp]]:
    """The same for bins whose numbers exceed 64 bits."""
    fraction_bits: dict[int, int] = {}
    while len(fraction_bits) < count:
        fraction_bits.setdefault(bits.below(free), len(fraction_bits))
    labels, passed = [], 0
    for rank in sorted(fraction_bits):
        while passed < len(taken) and taken[passed] - passed <= rank:
            passed += 1
        labels.append(rank + passed)
    order = np.array([fraction_bits[rank] for rank in sorted(fraction_bits)], dtype=np.intp)
    return np.array(labels, dtype=object), order


def uniform_below(bound: int, count: int, bits: Bits) -> NDArray[np.uint64]:
    """Independent uniform numbers in 0..bound-1, for a bound of at most 2**64."""
    drawn = np.zeros(count, dtype=np.uint64)
    if count == 0 or bound == 1:
        return drawn
    excess, last = np.uint64(64 - (bound - 1).bit_length()), np.uint64(bound - 1)
    filled = 0
    while filled < count:
        words = np.frombuffer(bits.take(8 * (count - filled)), dtype="<u8") >> excess
        words = words[words <= last]
        drawn[filled : filled + words.size] = words
        filled += words.size
    return drawn


# ---------------------------------------------------------------- the bins above the cut


@dataclass(frozen=True)
class Heavy:
    """All of `size` bins get noise; those strictly above the (n + 1)-st largest noisy count are kept, so at most n.

    decay  the ratio of the noise: Pr[Z = z] is proportional to decay ** |z|
    top    noisy counts are clamped to 0..top
    level  where the competition of the empty bins starts: any gives the same law; left out, one that costs little
    """

    decay: Decay
    size: int
    n: int
    top: int
    level: int = 0

    def __post_init__(self) -> None:
        if not self.level:
            object.__setattr__(self, "level", self._start())

    def keep(self, labels: Labels, noisy: NDArray[np.int64], bits: Bits) -> tuple[Labels, NDArray[np.int64]]:
        """The kept bins, ascending, and their noisy counts, given the bins that are not empty and theirs."""
        cut, values = self.compete(noisy, self.size - len(labels), bits)
        stays = noisy > cut
        values = values[values > cut]
        added, order = outside(values.size, labels, self.size, bits)
        every = np.concatenate((labels[stays], added))
        place = np.argsort(every)
        return every[place], np.concatenate((noisy[stays], values[order]))[place]

    def compete(self, noisy: NDArray[np.int64], empty: int, bits: Bits) -> tuple[int, NDArray[np.int64]]:
        """The (n + 1)-st largest of the noisy counts and of `empty` draws, and the draws that can exceed it."""
        level, wanted = self.level, self.n + 1
        passed = binomial(empty, self._reach(level), bits, wanted if level == self.top else None)
        # The geometric law has no memory: the excess over the level is geometric again.
        values = np.minimum(level + geometric(self.decay).draw(passed, bits), self.top)
        return self.descend(level, noisy, values, empty - passed, bits)

    def descend(
        self, level: int, noisy: NDArray[np.int64], values: NDArray[np.int64], rest: int, bits: Bits
    ) -> tuple[int, NDArray[np.int64]]:
        """The (n + 1)-st largest of all, and the draws that can exceed it, once those that reach a level are known:
        `values`. All `rest` others lie below it. Lower levels are opened while too few have come."""
        wanted = self.n + 1
        while values.size + np.count_nonzero(noisy >= level) < wanted and level > 1:
            level -= 1
            # Of the bins known to lie below the level before, those at this one are binomial.
            more = binomial(rest, self._opened(level), bits, wanted)
            values = np.concatenate((values, np.full(more, level, dtype=np.int64)))
            rest -= more
        return _cut(np.concatenate((noisy[noisy >= level], values)), wanted), values

    def below(self, level: int, counts: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
        """Noisy counts of bins that are not empty, where it is known of each that it lies below a level >= 1.

        Of a count that reaches the level by itself, the law has no memory: it falls short by 1 and a geometric number.
        A lower one stays below with a chance above 1/2, so it is drawn until it does.
        """
        found, short = np.empty_like(counts), counts >= level
        # Below a level that is not above the count, the shortfall is 1 and a geometric number.
        found[short] = np.maximum(level - 1 - geometric(self.decay).draw(int(np.count_nonzero(short)), bits), 0)
        noise, open_ = two_sided_geometric(self.decay), np.flatnonzero(~short)
        while open_.size:
            drawn = noise.add(counts[open_], 0, self.top, bits)
            found[open_] = drawn
            open_ = open_[drawn >= level]
        return found

    def _reach(self, level: int) -> Chance:
        """Pr[Z >= level] = a**level / (1 + a) for level >= 1."""

        def chance(fraction_bits: int) -> tuple[int, int]:
            one = 1 << fraction_bits
            (a_low, a_high), (low, high) = power(self.decay, 1, fraction_bits), power(self.decay, level, fraction_bits)
            return (low << fraction_bits) // (one + a_high), -(-(high << fraction_bits) // (one + a_low))

        return chance

    def _opened(self, level: int) -> Chance:
        """Pr[Z = level, given Z <= level] for level >= 1: (1 - a) a**level / (1 + a - a**(level + 1))."""

        def chance(fraction_bits: int) -> tuple[int, int]:
            one = 1 << fraction_bits
            (a_low, a_high), (low, high), (next_low, next_high) = (
                power(self.decay, times, fraction_bits) for times in (1, level, level + 1)
            )
            least, most = one + a_low - next_high, one + a_high - next_low
            return (one - a_high) * low // most, -(-(one - a_low) * high // least)

        return chance

    @property
    def crowded(self) -> bool:
        """Whether many times more empty bins reach the level than can be shown. From the level that `_start` chooses
        only the top can be crowded, where all that reach it tie: there it is enough to know how many they are."""
        scale = scale_of(self.decay)
        return scale > 0 and self._room - self.level / scale > CROWDED

    @property
    def _room(self) -> float:
        """Bound the rise of the level, in multiples of the noise's scale, until no more than enough bins reach it; in
        floating point."""
        target = self.n + 1 + 8 * math.isqrt(self.n + 1) + 32
        return math.log(self.size) - math.log(target) - math.log1p(float(self.decay.bounds()[0]))

    def _start(self) -> int:
        """A level that n + 1 bins reach almost surely and not many more do; from public sizes, in floating point."""
        scale, room = scale_of(self.decay), self._room
        level = math.floor(room * scale) if room > 0 else 0
        if scale == 0 or (level > 0 and room - level / scale > CROWDED):
            level += 1
        return max(1, min(self.top, level))


def _cut(rivals: NDArray[np.int64], wanted: int) -> int:
    """The `wanted`-th largest, or 0 where there are fewer."""
    place = rivals.size - wanted
    return int(np.partition(rivals, place)[place]) if place >= 0 else 0


# ---------------------------------------------------------------- the same while bins pass by


class StreamedContest:
    """`Heavy.keep` for bins that are not empty and come in batches, in any order, each bin once.

    Before the first comes, every bin of the domain has a draw as if it were empty. Those that reach a public level are
    written down, with their labels: a binomial number of them, a uniform set. A bin that is met is not empty, so its
    draw is struck out. Draws of different bins are independent, so what is left is what the empty bins have drawn,
    whichever these are. Of the bins that are met, those are kept that can still be among the n + 1 largest. So there is
    no more in memory than a few times n bins and a batch, whatever the data hold.

    Should too few bins reach the level, that is, fewer than n + 1, those one below decide: how many empty ones there
    are is one more binomial number. As long as there are n + 1 bins then, all that reached the level are shown and
    nothing else. Else the bins must be met again, all at once (`again`). However many bins are not empty and whatever
    their counts, that happens with a chance below 10**-13 from the level that `Heavy` chooses: a bin that is not empty
    is the likelier to reach it.
    """

    def __init__(self, heavy: Heavy, bits: Bits) -> None:
        self._heavy, self._bits, self._wanted = heavy, bits, heavy.n + 1
        self._level = heavy.level + heavy.crowded
        self._floor = max(1, self._level - 1)  # the least noisy count that can matter
        drawn = 0 if self._level > heavy.top else binomial(heavy.size, heavy._reach(self._level), bits)
        nothing = np.zeros(0, dtype=np.uint64 if heavy.size <= 2**64 else object)
        self._labels, _ = outside(drawn, nothing, heavy.size, bits)
        self._values = np.minimum(self._level + geometric(heavy.decay).draw(drawn, bits), heavy.top)
        self._empty = np.ones(drawn, dtype=np.bool_)
        self._marks = _Marks(self._labels)
        self._met = 0
        self._kept: list[tuple[Labels, NDArray[np.int64]]] = [(nothing, np.zeros(0, dtype=np.int64))]
        self._many = 0
        self._short = 0  # of the empty bins, how many lie just below the level

    def meet(self, labels: Labels, noisy: NDArray[np.int64]) -> None:
        """Bins that are not empty, and their noisy counts."""
        self._met += len(labels)
        places = self._marks.find(labels)
        self._empty[places] = False
        reached = np.flatnonzero(noisy >= self._floor)
        if reached.size:
            self._kept.append((labels[reached], noisy[reached]))
            self._many += len(self._kept[-1][1])
        if self._many > 2 * self._wanted + PIECE:
            self._prune()

    def _prune(self) -> None:
        """Keep n + 1 of the largest. A value no larger than the least of them can neither be shown nor move the cut."""
        labels, noisy = self._together()
        first = np.argpartition(noisy, noisy.size - self._wanted)[noisy.size - self._wanted :]
        self._kept, self._many = [(labels[first], noisy[first])], self._wanted
        self._floor = int(noisy[first].min()) + 1

    def _together(self) -> tuple[Labels, NDArray[np.int64]]:
        labels, noisy = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        self._kept = [(labels, noisy)]
        return labels, noisy

    def result(self) -> tuple[Labels, NDArray[np.int64]] | None:
        """The kept bins, in any order, and their noisy counts; None where the bins must be met again."""
        heavy, below = self._heavy, self._level - 1
        labels, noisy = self._together()
        empty, values = self._labels[self._empty], self._values[self._empty]
        if below:
            chance = heavy._reach(below) if below == heavy.top else heavy._opened(below)
            missing = max(0, self._wanted - noisy.size - values.size)
            rest = heavy.size - self._met - values.size
            self._short = binomial(max(0, rest), chance, self._bits, missing)
            if self._short < missing:
                return None
        cut = _cut(np.concatenate((noisy, values, np.full(self._short, below, dtype=np.int64))), self._wanted)
        return _above(cut, (labels, noisy), (empty, values))

    def again(self, labels: Labels, counts: NDArray[np.int64]) -> tuple[Labels, NDArray[np.int64]]:
        """The same where `result` found too few: from all bins that were met, ascending, and their exact counts.

        Those that reached the level have the noise that they had, all others noise of which it is known that they did
        not reach it. The empty bins go on as in `Heavy`.
        """
        heavy, level, bits = self._heavy, self._level - 1, self._bits
        met, known = self._together()
        places = np.searchsorted(labels, met)
        if len(labels) != self._met or not np.array_equal(labels[np.minimum(places, self._met - 1)], met):
            raise ArithmeticError("these are not the bins that were met before")
        noisy = np.empty(len(labels), dtype=np.int64)
        forgotten = np.ones(len(labels), dtype=np.bool_)
        forgotten[places] = False
        noisy[places] = known
        noisy[forgotten] = heavy.below(level, np.clip(counts[forgotten], 0, heavy.top), bits)
        empty, values = self._labels[self._empty], self._values[self._empty]
        values = np.concatenate((values, np.full(self._short, level, dtype=np.int64)))
        cut, values = heavy.descend(level, noisy, values, heavy.size - len(labels) - values.size, bits)
        more = values[empty.size :]
        more = more[more > cut]
        added, order = outside(more.size, np.sort(np.concatenate((labels, empty))), heavy.size, bits)
        return _above(cut, (labels, noisy), (empty, values[: empty.size]), (added, more[order]))


def _above(cut: int, *parts: tuple[Labels, NDArray[np.int64]]) -> tuple[Labels, NDArray[np.int64]]:
    labels = np.concatenate([some[noisy > cut] for some, noisy in parts])
    return labels, np.concatenate([noisy[noisy > cut] for _, noisy in parts])


class _Marks:
    """Finds which of some ascending labels are among others: most are told apart by one look at a small table."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels
        size = 1 << min(24, max(10, (16 * len(labels)).bit_length()))
        self._last = np.uint64(size - 1)
        self._table: NDArray[np.bool_] | None = None
        if labels.dtype == np.uint64:
            self._table = np.zeros(size, dtype=np.bool_)
            self._table[self._slots(labels)] = True

    def _slots(self, labels: Labels) -> NDArray[np.int64]:
        # Marks are a uniform set, so their last bits lie as evenly as any hash would put them.
        return (labels & self._last).view(np.int64)

    def find(self, others: Labels) -> NDArray[np.intp]:
        """The places of those labels that are among the others."""
        if not len(self._labels):
            return np.zeros(0, dtype=np.intp)
        if self._table is not None:
            others = others[np.flatnonzero(self._table.take(self._slots(others)))]
        places = np.minimum(np.searchsorted(self._labels, others), len(self._labels) - 1)
        found: NDArray[np.intp] = places[self._labels[places] == others]
        return found
