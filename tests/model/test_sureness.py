"""What an error says of how it is known is true, for every law that is registered.

Each law comes with an oracle: the chance that each statement fails, enumerated from the law's definition and from
nothing in `dpviz.laws`. An exact value is the least that holds, or the mean itself; a bound holds; a numerical one lies
within its `off` of the truth. A question about errors that no oracle answers, and a law without one, fail here.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache

import gmpy2
import pytest

from dpviz.exact import Decay, Enclosure, exp_bounds
from dpviz.mechanisms.dense import Dense
from dpviz.mechanisms.groups import Groups
from dpviz.model.answers.log_sketch import LogPlan
from dpviz.model.answers.signed_sketch import SignedPlan
from dpviz.model.answers.sketch import SketchPlan
from dpviz.model.domain import Domain
from dpviz.model.error import ErrorModel, ErrorValue, mean
from dpviz.model.laws import LAWS, StoredLaw
from dpviz.model.laws.buckets import BucketsLaw
from dpviz.model.laws.compact import CompactLaw
from dpviz.model.laws.count_noise import FiniteLaw, GaussianNoise, NoiseLaw
from dpviz.model.laws.dense import DenseLaw, GaussianDenseLaw
from dpviz.model.laws.key_count import KeyCountLaw
from dpviz.model.laws.log_sketch import LogSketchLaw
from dpviz.model.laws.marginals import GaussianMarginalsLaw, MarginalsLaw
from dpviz.model.laws.product import CutProductLaw, ProductLaw
from dpviz.model.laws.pure_sparse import PureSparseLaw
from dpviz.model.laws.queries import QueriesLaw
from dpviz.model.laws.ranking import CoinsLaw, ExponentialLaw, NoisyListLaw, PeelingLaw
from dpviz.model.laws.records import BoundedLaw, CategoryLaw, PaddedBoundedLaw, PseudocountLaw, ResponseLaw
from dpviz.model.laws.shared_list import SharedListLaw
from dpviz.model.laws.signed_sketch import SignedSketchLaw
from dpviz.model.laws.sketch import SketchLaw
from dpviz.model.laws.sorted import SortedLaw
from dpviz.model.laws.stability import GaussianStabilityLaw, StabilityLaw, TruncatedStabilityLaw
from dpviz.model.laws.threshold import Cut, GaussianThresholdLaw, ThresholdLaw, TruncatedThresholdLaw
from dpviz.model.laws.tree import GaussianTreeLaw, TreeLaw
from dpviz.model.partition import Partition
from dpviz.model.question import Question
from dpviz.noise.empty_bin import fold
from dpviz.privacy.unit import Unit
from tests.fitting.reference import LeastSquares
from tests.mechanisms.samples import declared

BETAS = (Fraction(9, 10), Fraction(1, 2), Fraction(1, 10), Fraction(1, 300))
COUNTS = (0, 1, 2, 3, 7)
NARROW = Fraction(1, 10**15)
"""No wider than this is a mean of the oracle, where it is irrational."""

NONE = Fraction(0)
SURE = Fraction(1)
TINY = Fraction(1, 10**6)
"""Less than any step of an error."""

Tail = Callable[[int | Fraction], Enclosure]
"""The chance, enclosed, that an error exceeds a: a whole number, or any where errors are fractions."""

Pmf = dict[int, Enclosure]
"""The law of one released count: value to chance, enclosed. What is missing above has the rest."""

QUESTIONS: dict[str, Callable[[ErrorModel, Fraction], ErrorValue | None]] = {
    "one_bin": lambda error, beta: error.one_bin(beta),
    **{f"one_bin {c}": lambda error, beta, c=c: error.one_bin(beta, count=c) for c in COUNTS},  # type: ignore[misc]
    "all_bins": lambda error, beta: error.all_bins(beta),
    "shown": lambda error, beta: error.shown(beta),
    "look_ups 2": lambda error, beta: error.look_ups(2, beta),
    "above 1": lambda error, beta: error.above(1, beta),
    "above 2": lambda error, beta: error.above(2, beta),
    "above all": lambda error, beta: error.above(None, beta),
    "range 0 1": lambda error, beta: error.range(0, 1, beta),
    "sum_of 0 1": lambda error, beta: error.sum_of([0, 1], beta),
    "rank 1": lambda error, beta: error.rank(1, beta),
    "rank 2": lambda error, beta: error.rank(2, beta),
    "in_place 1": lambda error, beta: error.in_place(1, 2, beta),
    "in_place 2": lambda error, beta: error.in_place(2, 2, beta),
    "listed": lambda error, beta: error.listed(beta),
    "left_out": lambda error, beta: error.left_out(beta),
    "named": lambda error, beta: error.named(beta),
}
MEANS: dict[str, Callable[[ErrorModel], ErrorValue | None]] = {
    **{f"expected {c}": lambda error, c=c: error.expected(c) for c in COUNTS},  # type: ignore[misc]
    **{f"bias {c}": lambda error, c=c: error.bias(c) for c in COUNTS},  # type: ignore[misc]
    "total_variation": lambda error: error.total_variation(),
}


@dataclass(frozen=True)
class Case:
    """A law with its oracle: for each question the chance that its statement fails, and each mean."""

    law: StoredLaw
    tails: dict[str, Tail]
    means: dict[str, Enclosure] = field(default_factory=dict)


def chance_check(value: ErrorValue, tail: Tail, beta: Fraction) -> None:
    assert value.value.denominator == 1 and value.value >= 0, f"an error of counts must be whole: {value}"
    a = int(value.value)
    assert tail(a)[1] <= beta, f"an error must hold but for beta = {beta}, and this one does not: {value}"
    if value.how == "exact":
        assert a == 0 or tail(a - 1)[0] > beta, f'an "exact" error must be the least that holds at {beta}: {value}'
    elif value.how == "numerical":
        assert value.off is not None, f'a "numerical" error must state how far it is off: {value}'
        below = tail(value.value - value.off - TINY)[0]
        assert below > beta, f'a "numerical" error must lie within its `off` of the least that holds: {value}'
    else:
        assert value.how == "bound", f'an error must be "exact", "numerical" or "bound": {value}'


def mean_check(value: ErrorValue, truth: Enclosure) -> None:
    low, high = truth
    if value.how == "exact":
        assert high - low < NARROW, f'the oracle of an "exact" mean must be narrow: {float(low)} to {float(high)}'
        assert low <= value.value <= high, f'an "exact" mean must be the mean, {float(low)}: {value}'
    elif value.how == "bound":
        assert high <= value.value, f'a mean that is a "bound" must not lie below the mean, {float(high)}: {value}'
    else:
        assert value.how == "numerical" and value.off is not None, f'a "numerical" mean must state its `off`: {value}'
        near = value.value - value.off <= low and high <= value.value + value.off
        assert near, f'a "numerical" mean must lie within its `off` of the mean, {float(low)}: {value}'


def refused(check: Callable[[], None]) -> bool:
    try:
        check()
    except AssertionError:
        return True
    return False


# ---------------------------------------------------------------- one released count, from its definition


def whole(chance: Fraction) -> Enclosure:
    return chance, chance


def total(parts: Sequence[Enclosure]) -> Enclosure:
    return sum((low for low, _ in parts), NONE), sum((high for _, high in parts), NONE)


def but(part: Enclosure) -> Enclosure:
    return 1 - part[1], 1 - part[0]


def geometric(decay: Decay, z: int) -> Enclosure:
    """Pr[Z = z]: proportional to y**|z|."""
    (low, high), (least, most) = decay.bounds(400), decay.power(abs(z), 400)
    return (1 - high) / (1 + high) * least, (1 - low) / (1 + low) * most


def reaches(decay: Decay, z: int) -> Enclosure:
    """Pr[Z >= z] for z >= 1: the sum of a geometric series."""
    (low, high), (least, most) = decay.bounds(400), decay.power(z, 400)
    return least / (1 + high), most / (1 + low)


def noisy(noise: NoiseLaw, count: int, low: int | None, high: int | None) -> Pmf:
    """The law of count + Z, clamped to low..high."""
    finite = noise.finite
    if finite is not None:
        return sampled(finite, count)
    decay, far = Decay.exp(noise.exponent or NONE), 60
    law: Pmf = {}
    for value in range(low if low is not None else count - far, (high if high is not None else count + far) + 1):
        law[value] = geometric(decay, value - count)
    if low is not None:
        law[low] = reaches(decay, count - low) if count > low else but(reaches(decay, 1))
    if high is not None:
        law[high] = reaches(decay, high - count) if high > count else but(reaches(decay, 1))
    return law


def sampled(law: FiniteLaw, count: int) -> Pmf:
    """GeoSample: geometric noise, clamped to 0..n. FastSample: its noise beyond t is 0 instead, and once in g times the
    value is uniform."""
    decay, chances = Decay.rational(Fraction(law.q, law.p)), dict.fromkeys(range(law.n + 1), NONE)
    fast = law.kind == "fastsample"
    far = law.t if fast else max(count, law.n - count)
    for z in range(-far, far + 1):
        chances[min(law.n, max(0, count + z))] += geometric(decay, z)[0]
    beyond = reaches(decay, far + 1)[0]
    if fast:
        chances[count] += 2 * beyond
        return {
            v: whole((law.g - 1) * chance / law.g + Fraction(1, law.g * (law.n + 1))) for v, chance in chances.items()
        }
    chances[0] += beyond
    chances[law.n] += beyond
    assert sum(chances.values()) == 1
    return {v: whole(chance) for v, chance in chances.items()}


# ---------------------------------------------------------------- bins that are independent


def independent(
    law: StoredLaw, pmf: Callable[[int], Pmf], bins: int, n: int | None, top: int | None, floor: int = -1
) -> Case:
    """Bins whose released counts are independent.

    n      the counts add up to at most this
    top    a larger true count is moved to this before it gets noise
    floor  values above this are shown
    """
    pmf, most = cache(pmf), min(part for part in (16, n, top) if part is not None)

    @cache
    def far(count: int, a: int) -> Enclosure:
        inside = count if top is None else min(count, top)
        return but(total([chance for value, chance in pmf(inside).items() if abs(value - count) <= a]))

    def of_one(a: int) -> Enclosure:
        tails = [far(count, a) for count in range(most + 1)]
        return max(low for low, _ in tails), max(high for _, high in tails)

    def of_all(a: int) -> Enclosure:
        worst = NONE, NONE
        for counts in itertools.combinations_with_replacement(range(most + 1), bins):
            if n is None or sum(counts) <= n:
                low = high = SURE
                for count in counts:
                    tail = far(count, a)
                    low, high = low * (1 - tail[1]), high * (1 - tail[0])
                worst = max(worst[0], 1 - high), max(worst[1], 1 - low)
        return worst

    def of_shown(a: int) -> Enclosure:
        worst = NONE, NONE
        for count in range(most + 1):
            fine = [chance for value, chance in pmf(count).items() if value <= floor or abs(value - count) <= a]
            low, high = but(total(fine))
            worst = max(worst[0], low), max(worst[1], high)
        return worst

    means = {}
    if law.error.expected(0) is not None:
        for count in COUNTS:
            inside = count if top is None else min(count, top)
            reading = pmf(inside)
            means[f"expected {count}"] = mean_of(reading, lambda value, count=count: abs(value - count))  # type: ignore[misc]
            means[f"bias {count}"] = mean_of(reading, lambda value, count=count: value - count)  # type: ignore[misc]
    tails: dict[str, Tail] = {f"one_bin {c}": lambda a, c=c: far(c, a) for c in COUNTS}  # type: ignore[misc]
    return Case(law, {**tails, "one_bin": of_one, "all_bins": of_all, "shown": of_shown}, means)


def mean_of(pmf: Pmf, size: Callable[[int], int]) -> Enclosure:
    """The mean, enclosed. Of an open law only so many values are listed: what is left weighs little."""
    ends = sorted(pmf)
    parts = [sorted((size(value) * low, size(value) * high)) for value, (low, high) in pmf.items()]
    left = max(NONE, 1 - sum((low for low, _ in pmf.values()), NONE)) * (abs(ends[0]) + abs(ends[-1]) + 100)
    left = NONE if left < Fraction(1, 10**100) else left
    return sum((low for low, _ in parts), -left), sum((high for _, high in parts), left)


GEO = FiniteLaw("geosample", n=4, p=3, q=2, g=0, t=0)
FAST = FiniteLaw("fastsample", n=4, p=3, q=1, g=20, t=2)
THIRDS = FiniteLaw("geosample", n=3, p=2, q=1, g=0, t=0)


@cache
def bells(variance: Fraction) -> list[Enclosure]:
    """Pr[Z = 0], Pr[Z = 1], ..., proportional to exp(-z**2 / (2 variance)). Beyond 100 there is nothing, at the
    variances used here."""
    parts = [exp_bounds(-Fraction(at * at) / (2 * variance), 400) for at in range(101)]
    least, most = (parts[0][side] + 2 * sum((one[side] for one in parts[1:]), NONE) for side in (0, 1))
    return [(low / (most + TINY / 10**20), high / least) for low, high in parts]


def bell(variance: Fraction, z: int) -> Enclosure:
    """Pr[Z = z] of discrete Gaussian noise."""
    return bells(variance)[abs(z)]


def gaussian(variance: Fraction, clamps: bool = True, limit: int | None = None, n: int | None = None) -> Case:
    top = limit if clamps else None

    def pmf(count: int) -> Pmf:
        found: Pmf = {}
        for z in range(-100, 101):
            value = count + z if not clamps else max(0, count + z) if top is None else min(top, max(0, count + z))
            found[value] = total([found.get(value, whole(NONE)), bell(variance, z)])
        return found

    law = GaussianDenseLaw(GaussianNoise(variance, limit), clamps, 2, n)
    return independent(law, pmf, 2, n, top)


def dense(noise: NoiseLaw, clamps: bool = True, bins: int = 2, n: int | None = None) -> Case:
    top = (noise.limit if clamps else None) if noise.finite is None else noise.finite.n
    ends = (0, top) if clamps or noise.finite else (None, None)
    law = DenseLaw(noise, clamps, bins, n)
    return independent(law, lambda count: noisy(noise, count, *ends), bins, n, top)


def stability(noise: NoiseLaw, threshold: int, bins: int = 2, n: int | None = None) -> Case:
    def pmf(count: int) -> Pmf:
        if count == 0:
            return {0: whole(SURE)}
        kept: Pmf = {}
        for value, chance in noisy(noise, count, 0, top).items():
            at = value if value > threshold else 0
            kept[at] = total([kept.get(at, whole(NONE)), chance])
        return kept

    top = noise.limit if noise.finite is None else noise.finite.n
    case = independent(StabilityLaw(noise, threshold, bins, n), pmf, bins, n, top, threshold)
    return replace(case, means={"expected 0": whole(NONE), "bias 0": whole(NONE)})


def truncated(noise: NoiseLaw, threshold: int, bins: int = 2, n: int | None = None) -> Case:
    """Noise from -threshold to threshold alone, from its weights; noisy counts above the threshold are shown."""
    decay = Decay.exp(noise.exponent or NONE)
    weights = {z: decay.power(abs(z), 400) for z in range(-threshold, threshold + 1)}
    least, most = (sum((one[side] for one in weights.values()), NONE) for side in (0, 1))

    def pmf(count: int) -> Pmf:
        if count == 0:
            return {0: whole(SURE)}
        kept: Pmf = {}
        for z, (low, high) in weights.items():
            value = max(0, count + z) if noise.limit is None else min(noise.limit, max(0, count + z))
            at = value if value > threshold else 0
            kept[at] = total([kept.get(at, whole(NONE)), (low / most, high / least)])
        return kept

    case = independent(TruncatedStabilityLaw(noise, threshold, bins, n), pmf, bins, n, noise.limit, threshold)
    return replace(case, means={"expected 0": whole(NONE), "bias 0": whole(NONE)})


def gaussian_occupied(
    variance: Fraction, threshold: int, limit: int | None = None, bins: int = 2, n: int | None = None
) -> Case:
    """Gaussian noise from its weights; noisy counts above the threshold are shown."""

    def pmf(count: int) -> Pmf:
        if count == 0:
            return {0: whole(SURE)}
        kept: Pmf = {}
        for z in range(-100, 101):
            value = max(0, count + z) if limit is None else min(limit, max(0, count + z))
            at = value if value > threshold else 0
            kept[at] = total([kept.get(at, whole(NONE)), bell(variance, z)])
        return kept

    law = GaussianStabilityLaw(GaussianNoise(variance, limit), threshold, bins, n)
    case = independent(law, pmf, bins, n, limit, threshold)
    return replace(case, means={"expected 0": whole(NONE), "bias 0": whole(NONE)})


def gaussian_threshold(variance: Fraction, least: int, bins: int = 2) -> Case:
    own, both = (gaussian_occupied(variance, least - 1, bins=number) for number in (bins, 2))
    law = GaussianThresholdLaw(variance, least, SURE, bins)
    return replace(own, law=law, tails={**own.tails, "look_ups 2": both.tails["all_bins"]})


def compact(sampler: FiniteLaw, name: str, elements: int, bins: int = 5) -> Case:
    """A bin that is not empty has the sampler's law; an empty one that of a uniform element, folded."""
    own = sampled(sampler, 0)
    size = next(d for d in range(1, elements) if all((chance[0] * d).denominator == 1 for chance in own.values()))
    law = CompactLaw(sampler, name, bins)
    size = law.empty.sampler.size // size * size
    below = list(itertools.accumulate(int(own[value][0] * size) for value in range(sampler.n + 1)))
    values = [
        next(v for v, top in enumerate(below) if fold(u0, d0=elements, d=size) <= top) for u0 in range(1, elements + 1)
    ]
    empty = {v: whole(Fraction(values.count(v), elements)) for v in range(sampler.n + 1)}
    case = independent(law, lambda count: sampled(sampler, count) if count else empty, 2, sampler.n, sampler.n)

    def of_many(number: int, a: int) -> Enclosure:
        """Labels are read one by one from what is not independent: in all, at most the sum."""
        vectors = itertools.combinations_with_replacement(range(sampler.n + 1), number)
        sums = [sum((far(c, a) for c in counts), NONE) for counts in vectors if sum(counts) <= sampler.n]
        return NONE, max(sums)

    def far(count: int, a: int) -> Fraction:
        pmf = sampled(sampler, count) if count else empty
        return sum((chance[1] for value, chance in pmf.items() if abs(value - count) > a), NONE)

    tails = {**case.tails, "look_ups 2": lambda a: of_many(2, a), "all_bins": lambda a: of_many(bins, a)}
    return Case(law, tails, case.means)


def threshold(cut: Cut, bins: int = 2) -> Case:
    """What reaches the threshold is shown; an empty bin gets noise only where that is said."""
    own = NoiseLaw(cut.exponent, None, None)

    def pmf(count: int) -> Pmf:
        if count == 0 and not cut.certain:
            return {0: whole(SURE)}
        kept: Pmf = {}
        for value, chance in noisy(own, count, 0, None).items():
            at = value if value >= cut.least else 0
            kept[at] = total([kept.get(at, whole(NONE)), chance])
        return kept

    case = independent(ThresholdLaw(cut, SURE, bins), pmf, bins, None, None, cut.least - 1)
    both = independent(ThresholdLaw(cut, SURE, 2), pmf, 2, None, None, cut.least - 1).tails["all_bins"]
    means = {"expected 0": whole(NONE), "bias 0": whole(NONE)}
    return replace(case, tails={**case.tails, "look_ups 2": both}, means=means)


def truncated_threshold(cut: Cut, bins: int = 2) -> Case:
    own = truncated(NoiseLaw(cut.exponent, None, None), cut.least - 1, bins)
    both = truncated(NoiseLaw(cut.exponent, None, None), cut.least - 1, 2).tails["all_bins"]
    law = TruncatedThresholdLaw(cut, SURE, bins)
    return replace(own, law=law, tails={**own.tails, "look_ups 2": both})


def sketch(worth: Fraction, columns: int, keys: int, cut: Cut | None = None, bins: int = 5) -> Case:
    """The estimate from each string of bits, with as many collisions as may be or with none; behind a threshold what
    reaches it is read as it was drawn."""
    law = SketchLaw(SketchPlan(13, 6, worth, columns, 7, keys, 1), SURE, bins, cut, False)
    most = max(16, 2 * cut.least if cut else 0) if cut else int(columns / worth)

    @cache
    def pmf(count: int, more: Fraction) -> dict[Fraction, Fraction]:
        scaled, p = min(count * worth, Fraction(columns)), Fraction(13, 64)
        raised, found = p + more * (1 - 2 * p), {}
        for y, share in ((int(scaled), 1 - scaled % 1), (int(scaled) + 1, scaled % 1)):
            for string in itertools.product((0, 1), repeat=columns) if share else ():
                chance = share
                for place, bit in enumerate(string):
                    one = 1 - p if place < y else raised
                    chance *= one if bit else 1 - one
                sums = [0, *itertools.accumulate(2 * bit - 1 for bit in string)]
                peaks = [place for place, sum_ in enumerate(sums) if sum_ == max(sums)]
                value = Fraction(sum(peaks), len(peaks)) / worth
                found[value] = found.get(value, NONE) + chance
        return found

    @cache
    def far(count: int, a: int) -> Fraction:
        laws = [pmf(count, law.plan.collisions), pmf(count, NONE)]
        read = max(sum((part for value, part in one.items() if abs(value - count) > a), NONE) for one in laws)
        if cut is None or (count == 0 and not cut.certain):
            return read
        noise = noisy(NoiseLaw(cut.exponent, None, None), count, None, None)
        shown = [(value, chance[1]) for value, chance in noise.items() if value >= cut.least]
        kept = sum((chance for _, chance in shown), NONE)
        return (1 - kept) * read + sum((chance for value, chance in shown if abs(value - count) > a), NONE)

    def of_one(a: int) -> Enclosure:
        return NONE, max(far(count, a) for count in range(most + 1))

    tails: dict[str, Tail] = {"one_bin": of_one}
    tails |= {f"one_bin {c}": lambda a, c=c: (NONE, far(c, a)) for c in COUNTS}  # type: ignore[misc]
    tails |= {"look_ups 2": lambda a: (NONE, 2 * of_one(a)[1]), "all_bins": lambda a: (NONE, bins * of_one(a)[1])}
    reading = pmf(0, law.plan.collisions)
    empty = whole(sum((value * chance for value, chance in reading.items()), NONE))
    return Case(law, tails, {"expected 0": empty, "bias 0": empty})


def buckets(exponent: Fraction, cap: int, keys: int, cut: Cut | None = None, bins: int = 5) -> Case:
    """A bucket holds a key's own value, or with the chance of a collision any that is no smaller, whichever is worst;
    behind a threshold what reaches it is read as it was drawn. A value at the cap is "or more"."""
    law = BucketsLaw(exponent, 7, keys, cap, False, SURE, bins, cut)
    most, load = 3 * cap if cut else cap, Fraction(keys, 128) + Fraction(keys, 2**64)

    @cache
    def bucket(held: int) -> Pmf:
        return noisy(NoiseLaw(exponent, None, None), held, 0, cap)

    @cache
    def shown(count: int) -> tuple[Fraction, Pmf]:
        if cut is None or (count == 0 and not cut.certain):
            return NONE, {}
        law_ = noisy(NoiseLaw(cut.exponent, None, None), count, None, None)
        values = {value: chance for value, chance in law_.items() if value >= cut.least}
        below = sum((chance[0] for value, chance in law_.items() if value < cut.least), NONE)
        return 1 - below, values

    @cache
    def far(count: int, a: int) -> Fraction:
        own = min(count, cap)
        off = [
            sum((chance[1] for value, chance in bucket(held).items() if abs(value - count) > a), NONE)
            for held in range(own, cap + 1)
        ]
        read = max(off[0], (1 - load) * off[0] + load * max(off))
        passed, values = shown(count)
        kept = sum((chance[1] for value, chance in values.items() if abs(value - count) > a), NONE)
        hidden = 1 - sum((chance[0] for chance in values.values()), NONE) if values else SURE
        return hidden * read + kept + max(NONE, passed - sum((chance[1] for chance in values.values()), NONE))

    @cache
    def over(count: int, a: int) -> Fraction:
        """The truth is above the interval, which is open where it reaches the cap."""
        own = min(count, cap)
        read = sum((chance[1] for value, chance in bucket(own).items() if value + a < min(count, cap)), NONE)
        passed, values = shown(count)
        kept = sum((chance[1] for value, chance in values.items() if abs(value - count) > a), NONE)
        hidden = 1 - sum((chance[0] for chance in values.values()), NONE) if values else SURE
        return hidden * read + kept + max(NONE, passed - sum((chance[1] for chance in values.values()), NONE))

    def worst(chance: Callable[[int, int], Fraction], many: int) -> Tail:
        return lambda a: (NONE, many * max(chance(count, int(a)) for count in range(most + 1)))

    tails: dict[str, Tail] = {f"one_bin {c}": lambda a, c=c: (NONE, far(c, a)) for c in COUNTS}  # type: ignore[misc]
    tails |= {"one_bin": worst(far, 1), "look_ups 2": worst(far, 2), "all_bins": worst(far, bins)}
    tails |= {"above 1": worst(over, 1), "above 2": worst(over, 2), "above all": worst(over, bins)}
    return Case(law, tails)


def key_count(exponent: Fraction, shift: int) -> Case:
    """max(1, k + Z + shift), summed over Z."""

    @cache
    def off(count: int) -> Pmf:
        found: Pmf = {}
        for z in range(-200, 201):
            at = max(1, count + z + shift) - count
            found[at] = total([found.get(at, whole(NONE)), geometric(Decay.exp(exponent), z)])
        return found

    @cache
    def far(count: int, a: int) -> Enclosure:
        low, high = total([chance for value, chance in off(count).items() if abs(value) > a])
        return low, high + Fraction(1, 10**20)  # of what lies beyond 200

    def worst(a: int) -> Enclosure:
        tails = [far(count, a) for count in (0, 1, 50)]
        return max(low for low, _ in tails), max(high for _, high in tails)

    tails: dict[str, Tail] = {f"one_bin {c}": lambda a, c=c: far(c, a) for c in COUNTS}  # type: ignore[misc]
    return Case(KeyCountLaw(exponent, shift), {**tails, "one_bin": worst, "all_bins": worst})


def shown_off(cut: Cut, count: int, a: int) -> tuple[Fraction, Fraction]:
    """The chances, from above, that a value is not shown, and that it is shown and off by more than a."""
    if count == 0 and not cut.certain:
        return SURE, NONE
    law = noisy(NoiseLaw(cut.exponent, None, None), count, None, None)
    sign = -1 if count < 0 else 1
    either = cut.signed and cut.certain
    shown = [(value, p) for value, p in law.items() if (abs(value) if either else sign * value) >= cut.least]
    rest = 1 - sum((p[0] for p in law.values()), NONE)  # beyond what is listed
    kept = sum((p[0] for _, p in shown), NONE)
    return 1 - kept, rest + sum((p[1] for value, p in shown if abs(value - count) > a), NONE)


def logarithms(
    worth: Fraction, growth: Fraction, columns: int, keys: int, cut: Cut | None = None, bins: int = 5
) -> Case:
    """The value that stands for the estimate from each string of bits, with as many collisions as may be or with none;
    behind a threshold what reaches it is read as it was drawn.

    The table: from the floor on, each rung as far above the last as the factor says, in whole numbers of 2**-20.
    """
    law = LogSketchLaw(LogPlan(13, 6, worth, columns, 7, keys, 1, growth), SURE, bins, cut)
    unit, rungs = 1 << 20, [0]
    gap = math.ceil(unit / worth)
    rungs[0] = max(math.ceil((gap + 1) / (growth - 1)), unit // 64)
    rungs[0] = math.ceil(Fraction(rungs[0], unit)) * unit if rungs[0] >= 2 * unit else rungs[0]
    rungs.append(rungs[0] + gap)
    while len(rungs) <= columns:
        rungs.append(rungs[-1] + math.floor(rungs[-1] * (growth - 1)))
    p = Fraction(13, 64)

    @cache
    def strings(y: int, more: Fraction) -> dict[Fraction, Fraction]:
        raised, found = p + more * (1 - 2 * p), {}
        for string in itertools.product((0, 1), repeat=columns):
            chance = SURE
            for place, bit in enumerate(string):
                one = 1 - p if place < y else raised
                chance *= one if bit else 1 - one
            sums = [0, *itertools.accumulate(2 * bit - 1 for bit in string)]
            peaks = [place for place, sum_ in enumerate(sums) if sum_ == max(sums)]
            mean_, last = Fraction(sum(peaks), len(peaks)), columns - 1
            below = min(int(mean_), last)
            value = (rungs[below] + (mean_ - below) * (rungs[below + 1] - rungs[below])) / unit
            found[value] = found.get(value, NONE) + chance
        return found

    @cache
    def far(count: int, a: int) -> Fraction:
        place = min(max(count * unit, rungs[0]), rungs[-1])
        y = max(j for j in range(columns) if rungs[j] <= place)
        share = Fraction(place - rungs[y], rungs[y + 1] - rungs[y])
        laws = [(strings(y, more), strings(y + 1, more)) for more in (law.plan.collisions, NONE)]
        hidden, kept = (SURE, NONE) if cut is None else shown_off(cut, count, a)
        return kept + hidden * max(
            sum(
                weight * sum((part for value, part in one.items() if abs(value - count) > a), NONE)
                for one, weight in zip(pair, (1 - share, share), strict=True)
            )
            for pair in laws
        )  # type: ignore[return-value]

    def of_one(a: int) -> Enclosure:
        return NONE, max(far(count, a) for count in range((2 * cut.least if cut else rungs[-1] // unit) + 1))

    tails: dict[str, Tail] = {"one_bin": of_one}
    tails |= {f"one_bin {c}": lambda a, c=c: (NONE, far(c, a)) for c in COUNTS}  # type: ignore[misc]
    tails |= {"look_ups 2": lambda a: (NONE, 2 * of_one(a)[1]), "all_bins": lambda a: (NONE, bins * of_one(a)[1])}
    return Case(law, tails)


def both_signs(worth: Fraction, m: int, keys: int, cut: Cut | None = None, bins: int = 5) -> Case:
    """One number of 2m bits: the estimate from each string, where others touch no bit, those up to a value, those
    beyond it, or all, as often as may be. They clear the first m bits and set the last m. Behind a threshold what
    reaches it is read as it was drawn."""
    law = SignedSketchLaw(SignedPlan(13, 6, worth, m, 7, keys, 2), SURE, bins, cut)
    p, q = Fraction(13, 64), law.plan.collisions

    @cache
    def strings(y: int, below: Fraction, beyond: Fraction) -> dict[Fraction, Fraction]:
        found: dict[Fraction, Fraction] = {}
        for string in itertools.product((0, 1), repeat=2 * m):
            chance = SURE
            for place, bit in enumerate(string):
                one = Fraction(place < m + y)
                one = one * (1 - below) if place < m else one + (1 - one) * beyond
                shown = one * (1 - p) + (1 - one) * p
                chance *= shown if bit else 1 - shown
            sums = [0, *itertools.accumulate(2 * bit - 1 for bit in string)]
            peaks = [place for place, sum_ in enumerate(sums) if sum_ == max(sums)]
            value = (Fraction(sum(peaks), len(peaks)) - m) / worth
            found[value] = found.get(value, NONE) + chance
        return found

    @cache
    def far(count: int, a: int) -> Fraction:
        scaled = max(Fraction(-m), min(count * worth, Fraction(m)))
        y = min(math.floor(scaled), m - 1)
        hidden, kept = (SURE, NONE) if cut is None else shown_off(cut, count, a)
        return kept + hidden * max(
            sum(
                share * sum((part for value, part in strings(z, *touched).items() if abs(value - count) > a), NONE)
                for z, share in ((y, y + 1 - scaled), (y + 1, scaled - y))
            )
            for touched in itertools.product((NONE, q), repeat=2)
        )  # type: ignore[return-value]

    def of_one(a: int) -> Enclosure:
        top = 2 * cut.least if cut else int(m / worth)
        return NONE, max(far(count, a) for count in range(-top, top + 1))

    tails: dict[str, Tail] = {"one_bin": of_one}
    tails |= {f"one_bin {c}": lambda a, c=c: (NONE, far(c, a)) for c in COUNTS}  # type: ignore[misc]
    tails |= {"look_ups 2": lambda a: (NONE, 2 * of_one(a)[1]), "all_bins": lambda a: (NONE, bins * of_one(a)[1])}
    return Case(law, tails)


# ---------------------------------------------------------------- the largest noisy counts of all bins


def pure_sparse(decay: Decay, bins: int = 3, n: int = 2) -> Case:
    """All bins get noise, clamped to 0..n; those strictly above the (n + 1)-st largest are shown."""

    def one(count: int) -> Pmf:
        law = {value: geometric(decay, value - count) for value in range(n + 1)}
        law[0] = reaches(decay, count) if count else but(reaches(decay, 1))
        law[n] = reaches(decay, n - count) if count < n else but(reaches(decay, 1))
        return law

    @cache
    def outcomes(counts: tuple[int, ...]) -> list[tuple[tuple[int, ...], Enclosure]]:
        found = []
        for vector in itertools.product(*(one(count).items() for count in counts)):
            cut = sorted((value for value, _ in vector), reverse=True)[n]
            low = high = SURE
            for _, chance in vector:
                low, high = low * chance[0], high * chance[1]
            found.append((tuple(value if value > cut else 0 for value, _ in vector), (low, high)))
        return found

    vectors = [counts for counts in itertools.product(range(n + 1), repeat=bins) if sum(counts) <= n]

    def worst(fails: Callable[[tuple[int, ...], tuple[int, ...]], bool], first: int | None = None) -> Enclosure:
        chances = [
            total([chance for shown, chance in outcomes(counts) if fails(shown, counts)])
            for counts in vectors
            if first is None or counts[0] == first
        ]
        return max(low for low, _ in chances), max(high for _, high in chances)

    tails: dict[str, Tail] = {
        "one_bin": lambda a: worst(lambda shown, counts: abs(shown[0] - counts[0]) > a),
        "all_bins": lambda a: worst(
            lambda shown, counts: any(abs(h - c) > a for h, c in zip(shown, counts, strict=True))
        ),
        "shown": lambda a: worst(lambda shown, counts: shown[0] > 0 and abs(shown[0] - counts[0]) > a),
    }
    for count in COUNTS:
        tails[f"one_bin {count}"] = lambda a, count=count: worst(  # type: ignore[misc]
            lambda shown, counts: abs(shown[0] - count) > a, min(count, n)
        )
    return Case(PureSparseLaw(decay, bins, n, True, NONE), tails)


# ---------------------------------------------------------------- lists and sets


def odds(exponent: Fraction) -> Fraction:
    """exp(exponent), to far more digits than any comparison here needs."""
    return sum(exp_bounds(exponent, 400), NONE) / 2


def behind(items: int, rows: int, rate: Fraction, position: int, place: int = 0) -> Tail:
    """Items drawn one after the other with odds exp(rate * count): how far one of the first lies below that rank, or
    the one in a place."""

    def fails(counts: tuple[int, ...], left: tuple[int, ...], draws: int, least: int) -> Fraction:
        if draws == 0:
            return NONE
        weights = [odds(rate * counts[row]) for row in left]
        asked = place in (0, position - draws + 1)
        chance = NONE
        for at, row in enumerate(left):
            rest = left[:at] + left[at + 1 :]
            later = SURE if asked and counts[row] < least else fails(counts, rest, draws - 1, least)
            chance += weights[at] / sum(weights) * later
        return chance

    @cache
    def tail(a: int) -> Enclosure:
        worst = NONE
        for counts in itertools.product((0, 1, a, a + 1, a + 2, a + 40), repeat=rows):
            ranked = sorted(counts, reverse=True)
            if tuple(ranked) == counts:
                worst = max(worst, fails(counts, tuple(range(rows)), position, ranked[position - 1] - a))
        return whole(worst)

    return tail


def behind_all(rows: int, rate: Fraction) -> dict[str, Tail]:
    """What is asked of the ranks and places of a list of two items."""
    ranks = {f"rank {position}": behind(2, rows, rate, position) for position in (1, 2)}
    return ranks | {f"in_place {place}": behind(2, rows, rate, 2, place) for place in (1, 2)}


def peeling(strict: bool, rate: Fraction = Fraction(1), gap: int = 2, weight: Fraction | None = Fraction(30)) -> Case:
    def missed(above: int) -> Enclosure:
        """The chance that the bottom symbol comes before an item so far above the next count."""
        if strict and above == 0:
            return whole(SURE)
        assert weight is not None
        bottom, item = weight * odds(rate * gap), odds(rate * above)
        return whole(bottom / (bottom + item))

    def left_out(above: int) -> Enclosure:
        """The chance that the bottom symbol is one of two symbols and comes before one that is so far above."""
        assert weight is not None
        worst = SURE if strict and above == 0 else NONE
        for counts in itertools.product((0, above, above + 1, above + 40), repeat=3):
            worst = max(
                worst, ends_before(weight * odds(rate * gap), [odds(rate * c) for c in counts], counts, above, 2)
            )
        return whole(worst)

    law = PeelingLaw(2, 3, rate, gap, weight, strict, False)
    return Case(law, {**behind_all(3, rate), "listed": missed, "left_out": left_out})


def shared_list(whole_list: Case) -> Case:
    """A part of a list that all parts share: any of its items may be the last one of the list."""
    law, tails = whole_list.law, whole_list.tails
    assert isinstance(law, PeelingLaw)
    last = tails["rank 2"]
    kept = {"rank 2": last, "in_place 1": last, "in_place 2": last}
    return Case(SharedListLaw(law, 2), {**kept, "listed": tails["listed"], "left_out": tails["left_out"]})


def ends_before(
    bottom: Fraction, weights: Sequence[Fraction], counts: Sequence[int], above: int, draws: int
) -> Fraction:
    """The chance that the bottom symbol is drawn within so many draws while a count of at least `above` is left."""
    if draws == 0 or max(counts, default=-1) < above:
        return NONE
    total_, chance = bottom + sum(weights), bottom
    for at, weight in enumerate(weights):
        rest = [*weights[:at], *weights[at + 1 :]], [*counts[:at], *counts[at + 1 :]]
        chance += weight * ends_before(bottom, *rest, above, draws - 1)
    return chance / total_


def exponential(rate: Fraction) -> Case:
    return Case(ExponentialLaw(2, 3, rate), behind_all(3, rate))


def noisy_list(rate: Fraction, gap: int, offset: int) -> Case:
    decay = Decay.exp(rate)

    @cache
    def difference(t: int) -> Enclosure:
        """Pr[Z - Z' >= t], summed over Z'."""
        far = 80
        parts = []
        for z in range(-far, far + 1):
            low, high = geometric(decay, z)
            least, most = reaches(decay, t + z) if t + z >= 1 else but(reaches(decay, 1 - t - z))
            parts.append((low * least, high * most))
        low, high = total(parts)
        return low, high + 2 * reaches(decay, far + 1)[1]

    @cache
    def one_of_two(t: int) -> Enclosure:
        """The chance that one of two items that reach t above the threshold is not above it, summed over its noise."""
        far, parts = 80, []
        for z in range(-far, far + 1):
            low, high = geometric(decay, z)
            above = z - t + 1
            least, most = reaches(decay, above) if above >= 1 else but(reaches(decay, 1 - above))
            parts.append((low * (1 - most**2), high * (1 - least**2)))
        low, high = total(parts)
        return low, high + 2 * reaches(decay, far + 1)[1]

    def far_off(rows: int, a: int) -> Enclosure:
        low, high = reaches(decay, a + 1)
        return 1 - (1 - 2 * low) ** rows, 1 - (1 - 2 * high) ** rows

    def one(a: int) -> Enclosure:
        return far_off(1, a)

    tails: dict[str, Tail] = {
        **{name: one for name in QUESTIONS if name.startswith("one_bin") or name == "shown"},
        "all_bins": lambda a: far_off(2, a),
        "rank 1": lambda a: difference(a + 1),
        "rank 2": lambda a: whole(NONE),
        "in_place 1": lambda a: whole(NONE),
        "in_place 2": lambda a: whole(NONE),
        "listed": lambda above: difference(above - gap - offset),
        "left_out": lambda above: one_of_two(above - gap - offset),
    }
    return Case(NoisyListLaw(2, 2, rate, gap, offset), tails)


def coins(rate: Fraction, gap: int, delta: Fraction) -> Case:
    def missed(above: int) -> Enclosure:
        if above == 0:
            return whole(SURE)
        x = delta * odds(rate * (above - gap))
        return whole(1 - (x if 2 * x <= 1 else 1 - 1 / (4 * x)))

    tails: dict[str, Tail] = {
        "rank 2": lambda a: whole(NONE),
        "listed": missed,
        "left_out": lambda above: whole(1 - (1 - missed(above)[0]) ** 2),
    }
    return Case(CoinsLaw(2, rate, gap, delta), tails)


def in_order(noise: NoiseLaw, ranks: int, bins: int = 2, n: int | None = None) -> Case:
    """One or two sorted counts with noise: their fit is what was drawn, or the mean of both where that ascends."""
    decay, far, scale = noise.decay, 40, 1 << 300
    one = {
        z: tuple(int(end * scale) + side for side, end in enumerate(geometric(decay, z))) for z in range(-far, far + 1)
    }
    truths = [pair for pair in ((90, 0), (7, 7), (2, 0), (2, 1), (1, 0), (0, 0)) if n is None or sum(pair) <= n]

    def fitted(drawn: Sequence[int]) -> list[Fraction]:
        mean = Fraction(sum(drawn), len(drawn))
        return [Fraction(value) for value in drawn] if list(drawn) == sorted(drawn, reverse=True) else [mean] * 2

    @cache
    def outcomes() -> list[tuple[tuple[int, ...], int, int]]:
        """Every vector of noises with its chance, in units of 1 / scale**ranks; what lies beyond is the last of all."""
        vectors = itertools.product(one, repeat=ranks)
        return [(v, math.prod(one[z][0] for z in v), math.prod(one[z][1] for z in v)) for v in vectors]

    def tail_of(sizes: Callable[[tuple[int, ...]], Fraction]) -> Tail:
        """The chance that a size exceeds a: which it does where it does when it is rounded up."""
        found: dict[int, tuple[int, int]] = {}
        for vector, low, high in outcomes():
            at, so_far = math.ceil(sizes(vector)), found.get(math.ceil(sizes(vector)), (0, 0))
            found[at] = so_far[0] + low, so_far[1] + high
        whole = scale**ranks
        missing = whole - sum(low for low, _ in found.values())

        def tail(a: int) -> Enclosure:
            beyond = [chance for at, chance in found.items() if at > a]
            low, high = sum(low for low, _ in beyond), sum(high for _, high in beyond) + missing
            return Fraction(low, whole), Fraction(high, whole)

        return tail

    def worst(size: Callable[[list[Fraction]], Fraction]) -> Tail:
        """The same for the errors of the fit, at the truth where it is most likely."""

        @cache
        def tails() -> list[Tail]:
            def error(truth: tuple[int, ...], vector: tuple[int, ...]) -> Fraction:
                fit = fitted([c + z for c, z in zip(truth, vector, strict=False)])
                return size([abs(value - c) for value, c in zip(fit, truth, strict=False)])

            return [tail_of(lambda vector, truth=truth: error(truth, vector)) for truth in truths]  # type: ignore[misc]

        return cache(lambda a: (max(tail(a)[0] for tail in tails()), max(tail(a)[1] for tail in tails())))

    of_total = tail_of(lambda vector: Fraction(abs(sum(vector))))
    first, last = worst(lambda error: error[0]), worst(lambda error: error[-1])
    tails: dict[str, Tail] = {
        name: lambda a: max(first(a), last(a)) for name in QUESTIONS if name.startswith("one_bin")
    }
    tails |= {"all_bins": worst(max), **({"range 0 1": of_total} if ranks == 2 else {})}
    return Case(SortedLaw(noise, bins, ranks, n), tails)


def weighted_tail(exact: dict[int, Enclosure], weights: tuple[int, int, int], scale: int) -> Tail:
    """How often a sum of three independent noises, each times its weight and divided by 3, is off by more than a."""
    found: dict[Fraction, tuple[Fraction, Fraction]] = {}
    one = {z: (int(low * scale), int(high * scale) + 1) for z, (low, high) in exact.items()}
    sums: dict[int, list[int]] = {0: [1, 1]}
    for weight in weights:
        later: dict[int, list[int]] = {}
        for total_, (low, high) in sums.items():
            for z, (least, most) in one.items():
                at = later.setdefault(total_ + weight * z, [0, 0])
                at[0], at[1] = at[0] + low * least, at[1] + high * most
        sums = later
    for total_, (low, high) in sums.items():
        so_far = found.get(at := Fraction(abs(total_), 3), (NONE, NONE))
        found[at] = so_far[0] + Fraction(low, scale**3), so_far[1] + Fraction(high, scale**3)
    missing = 1 - sum((low for low, _ in found.values()), NONE)

    @cache
    def tail(a: int) -> Enclosure:
        beyond = [chance for at, chance in found.items() if at > a]
        return sum((low for low, _ in beyond), NONE), sum((high for _, high in beyond), missing)

    return tail


def queries(noise: NoiseLaw) -> Case:
    """The total of two bins and each of them. The fit is off by (2 t + a + b) / 3, in a bin by (t + 2 a - b) / 3."""
    decay, far, scale = noise.decay, 40, 1 << 300
    exact = {z: geometric(decay, z) for z in range(-far, far + 1)}
    all_of, own = (weighted_tail(exact, of, scale) for of in ((2, 1, 1), (1, 2, -1)))

    def two(a: int) -> Enclosure:
        """Of two answers at most the sum, so a bound."""
        return NONE, 2 * max(all_of(a)[1], own(a)[1])

    law = QueriesLaw(noise, '[2,[["all",[[0,2]]],["a",[[0,1]]],["b",[[1,2]]]]]', None)
    return Case(law, {"range 0 1": all_of, "look_ups 2": two})


def tables(amount: Fraction, gaussian: bool = False) -> Case:
    """The total of two labels and the table of both, with noise of one law. The fit is off by (2 t + a + b) / 3, in a
    cell by (t + 2 a - b) / 3, and in the sum of the total and the first cell by t + a."""
    far, scale = 40, 1 << 300
    exact = {z: bell(amount, z) if gaussian else geometric(Decay.exp(amount), z) for z in range(-far, far + 1)}
    asked = "[[2],[[[],1],[[0],1]]]"
    law = GaussianMarginalsLaw(asked, amount, None) if gaussian else MarginalsLaw(asked, amount, None)
    whole_, own, both = (weighted_tail(exact, of, scale) for of in ((2, 1, 1), (1, 2, -1), (3, 3, 0)))
    worst = cache(lambda a: (max(whole_(a)[0], own(a)[0]), max(whole_(a)[1], own(a)[1])))
    every = cache(lambda a: (NONE, whole_(a)[1] + 2 * own(a)[1]))
    ones = {name: worst for name in QUESTIONS if name.startswith("one_bin")}
    means = {f"bias {count}": (NONE, NONE) for count in COUNTS}
    return Case(law, {**ones, "all_bins": every, "range 0 1": both, "sum_of 0 1": both}, means)


# ---------------------------------------------------------------- a drawn record: the worst distance over laws


def shapes(n: int, k: int) -> Iterator[tuple[int, ...]]:
    """All counts of n records over k labels."""
    if k == 1:
        yield (n,)
    else:
        yield from ((first, *rest) for first in range(n + 1) for rest in shapes(n - first, k - 1))


def category(exponent: Fraction, n: int) -> Case:
    """Two labels, divided by their sum: over shares of quarters, from the law of max(0, count + Z), in floats."""
    r, far = math.exp(-float(exponent)), 60

    def weight(count: int, w: int) -> float:
        return r**count / (1 + r) if w == 0 else (1 - r) / (1 + r) * r ** abs(w - count)

    def first(t: int) -> float:
        chances = [(weight(t, a) * weight(n - t, b), a, b) for a in range(n + far) for b in range(n + far)]
        return math.fsum(chance * (a / (a + b) if a + b else 0.5) for chance, a, b in chances)

    drawn = [first(t) for t in range(n + 1)]
    worst = max(
        abs(math.fsum(math.comb(n, t) * p**t * (1 - p) ** (n - t) * drawn[t] for t in range(n + 1)) - p)
        for p in (0, 0.25, 0.5, 0.75, 1)
    )
    law = CategoryLaw(exponent, 2, n, "normalise", True)
    return Case(law, {}, {"total_variation": (Fraction(worst), Fraction(worst) + TINY / 10**6)})


def bits_of(columns: int, n: int, level: Fraction, *, padded: bool = False) -> Case:
    """Columns in the class err alike at worst, and the distance of a product is at least that of one of them."""
    least = min(level * Fraction(4, 3), Fraction(1, 2))

    def off(p: Fraction) -> Fraction:
        chances = (math.comb(n, t) * p**t * (1 - p) ** (n - t) for t in range(n + 1))
        clipped = (min(max(Fraction(t, n), level), 1 - level) for t in range(n + 1))
        return abs(sum((a * b for a, b in zip(chances, clipped, strict=True)), NONE) - p)

    each = max(off(least + (1 - 2 * least) * Fraction(at, 8)) for at in range(9))
    law = (PaddedBoundedLaw if padded else BoundedLaw)(columns, n, level)
    return Case(law, {}, {"total_variation": whole(each)})


def noisy_means(columns: int, n: int, rho: Fraction, *, cut: bool = False) -> Case:
    """The distance of columns that are never cut is at least that of one, by its law over all counts and noise."""
    law = (CutProductLaw if cut else ProductLaw)(columns, n, rho, Fraction(1, 12), "repaired", True)
    variance = float(columns / (2 * rho))
    far = int(12 * math.sqrt(variance)) + 2
    weights = [math.exp(-z * z / (2 * variance)) for z in range(-far, far + 1)]
    total = math.fsum(weights)
    means = [
        math.fsum(weight * min(max(ones + z, 0), n) for z, weight in zip(range(-far, far + 1), weights, strict=True))
        / (total * n)
        for ones in range(n + 1)
    ]
    each = max(
        abs(math.fsum(math.comb(n, t) * p**t * (1 - p) ** (n - t) * means[t] for t in range(n + 1)) - p)
        for p in (0, 0.25, 0.5, 0.75, 1)
    )
    return Case(law, {}, {"total_variation": (Fraction(each), Fraction(each) + TINY / 10**6)})


def response(epsilon: Fraction, labels: int, n: int) -> Case:
    low, high = exp_bounds(epsilon, 400)
    ends = [Fraction(labels - 1) / (labels + n * (end - 1)) for end in (high, low)]
    return Case(ResponseLaw(epsilon, labels, n), {}, {"total_variation": (ends[0], ends[1])})


def tree(law: TreeLaw | GaussianTreeLaw, far: int = 60) -> Case:
    """Each node's noise counts in a fitted leaf as normal equations say, and a sum of noises is convolved."""
    k, n, pinned = law.branching, law.bins, law.pinned
    levels = len(law.heights)
    leaves = n if pinned else k ** (levels - 1)
    rows, variances = [], list[Fraction | None]()
    exponents: list[Fraction] = []
    for level, weight in enumerate(law.heights):
        for start in range(0, leaves, k**level):
            rows.append([1 if start <= leaf < start + k**level else 0 for leaf in range(leaves)])
            known = law.total is not None and level == levels - 1
            variances.append(NONE if known else Fraction(1, weight**2) if weight else None)
            width = (
                (law.step or NONE) * weight if isinstance(law, TreeLaw) else (law.variance or NONE) / (weight or 1) ** 2
            )
            exponents.append(NONE if known or not weight else width)

    def one(width: Fraction, z: int) -> Enclosure:
        return geometric(Decay.exp(width), z) if isinstance(law, TreeLaw) else bell(width, z)

    squares = LeastSquares(rows, variances)
    counts = [
        squares.fit([1 if at == node and exponents[at] else 0 for at in range(len(rows))]) for node in range(len(rows))
    ]

    def of_sum(first: int, last: int) -> Tail:
        """Chances are at least what so many values of each noise add up to, in units of 2**-200.

        Laws are multiplied as polynomials, and these as whole numbers with room for a coefficient in every 320 bits.
        """
        weights = [sum(fitted[first : last + 1], NONE) for fitted in counts]
        common = math.lcm(*(weight.denominator for weight in weights))
        sums, least = [1 << 200], 0
        for weight, exponent in zip(weights, exponents, strict=True):
            if weight and exponent:
                step = abs(int(weight * common))
                noise = [0] * (2 * far * step + 1)
                noise[::step] = [int(one(exponent, z)[0] * 2**60) for z in range(-far, far + 1)]
                product = gmpy2.unpack(gmpy2.pack(sums, 320) * gmpy2.pack(noise, 320), 320)
                sums, least = [int(chance) >> 60 for chance in product], least - far * step
        left = (1 << 200) - sum(sums)

        def tail(a: int | Fraction) -> Enclosure:
            inside = sum(chance for at, chance in enumerate(sums, start=least) if abs(at) <= a * common)
            return 1 - Fraction(inside + left, 1 << 200), 1 - Fraction(inside, 1 << 200)

        return tail

    leaf_tails = [of_sum(leaf, leaf) for leaf in range(n)]

    def worst(a: int | Fraction) -> Enclosure:
        return max(tail(a)[0] for tail in leaf_tails), max(tail(a)[1] for tail in leaf_tails)

    def any_leaf(a: int | Fraction) -> Enclosure:
        return max(tail(a)[0] for tail in leaf_tails), sum((tail(a)[1] for tail in leaf_tails), NONE)

    tails: dict[str, Tail] = {name: worst for name in QUESTIONS if name.startswith("one_bin")}
    return Case(
        law,
        {**tails, "all_bins": any_leaf if n > 1 else worst, **({"range 0 1": of_sum(0, 1)} if n > 1 else {})},
        {f"bias {count}": whole(NONE) for count in COUNTS},
    )


def noise(exponent: str, limit: int | None = None) -> NoiseLaw:
    return NoiseLaw(Fraction(exponent), None, limit)


CASES: dict[str, Callable[[], Case]] = {
    "dense, open": lambda: dense(noise("1"), clamps=False),
    "dense, clamped below": lambda: dense(noise("1")),
    "dense, clamped": lambda: dense(noise("1/3", 5), bins=3),
    "dense, n": lambda: dense(noise("1/2", 6), n=6),
    "dense, geosample": lambda: dense(NoiseLaw(None, GEO, GEO.n)),
    "dense, fastsample": lambda: dense(NoiseLaw(None, FAST, FAST.n)),
    "dense, fastsample, n": lambda: dense(NoiseLaw(None, FAST, FAST.n), n=1),
    "stability": lambda: stability(noise("2"), 2),
    "stability, n": lambda: stability(noise("1", 9), 3, n=9),
    "stability, capped": lambda: stability(noise("1", 6), 3),
    "stability, lost": lambda: stability(noise("1", 4), 9),
    "stability, lost, n": lambda: stability(noise("1", 4), 4, n=4),
    "stability, n below the threshold": lambda: stability(noise("1", 9), 5, n=3),
    "dense, Gaussian": lambda: gaussian(Fraction(2)),
    "dense, Gaussian, of an n": lambda: gaussian(Fraction(1, 2), limit=4, n=4),
    "dense, Gaussian, as it is": lambda: gaussian(Fraction(7, 3), clamps=False),
    "stability, truncated": lambda: truncated(noise("2"), 2),
    "stability, truncated, n": lambda: truncated(noise("1", 9), 3, n=9),
    "stability, truncated, capped": lambda: truncated(noise("1", 6), 3),
    "stability, truncated, lost": lambda: truncated(noise("1", 4), 9),
    "threshold, gaussian": lambda: gaussian_threshold(Fraction(4), 4),
    "threshold, truncated": lambda: truncated_threshold(Cut(Fraction(2), 3, False, False)),
    "stability, gaussian": lambda: gaussian_occupied(Fraction(4), 3),
    "stability, gaussian, n": lambda: gaussian_occupied(Fraction(9), 3, 9, n=9),
    "stability, gaussian, capped": lambda: gaussian_occupied(Fraction(4), 3, 6),
    "stability, gaussian, lost": lambda: gaussian_occupied(Fraction(4), 9, 4),
    "stability, fastsample": lambda: stability(NoiseLaw(None, FAST, FAST.n), 2),
    "pure sparse": lambda: pure_sparse(Decay.rational(Fraction(1, 3))),
    "pure sparse, four bins": lambda: pure_sparse(Decay.exp(Fraction(1)), bins=4),
    "compact": lambda: compact(THIRDS, "3*2^5+1", 97),
    "compact, fastsample": lambda: compact(FiniteLaw("fastsample", 3, 2, 1, 3, 4), "9*2^7+1", 1153),
    "threshold": lambda: threshold(Cut(Fraction(2), 3, False, False)),
    "threshold, every bin": lambda: threshold(Cut(Fraction(1), 3, True, False)),
    "sketch": lambda: sketch(Fraction(3, 5), 7, 12),
    "sketch, without collisions, almost": lambda: sketch(Fraction(1), 6, 1),
    "sketch behind a threshold": lambda: sketch(Fraction(2, 3), 4, 10, Cut(Fraction(1), 6, False, False)),
    "sketch behind a threshold on every bin": lambda: sketch(Fraction(2, 3), 4, 10, Cut(Fraction(1), 6, True, False)),
    "buckets": lambda: buckets(Fraction(1), 8, 12),
    "buckets, hardly a collision": lambda: buckets(Fraction(1, 2), 9, 1),
    "buckets of two values": lambda: buckets(Fraction(1, 3), 1, 50),
    "buckets behind a threshold": lambda: buckets(Fraction(2), 5, 1, Cut(Fraction(1), 5, False, False)),
    "buckets behind a threshold on every bin": lambda: buckets(Fraction(1), 6, 12, Cut(Fraction(2), 6, True, False)),
    "buckets behind a low threshold": lambda: buckets(Fraction(3), 2, 1, Cut(Fraction(1, 2), 2, False, False)),
    "key count": lambda: key_count(Fraction(1, 2), 3),
    "key count, raised by 1": lambda: key_count(Fraction(2), 1),
    "logarithms": lambda: logarithms(Fraction(3, 5), Fraction(5, 4), 6, 12),
    "logarithms of large steps": lambda: logarithms(Fraction(7, 2), Fraction(3, 2), 5, 1),
    "both signs": lambda: both_signs(Fraction(3, 5), 4, 12),
    "both signs, without collisions, almost": lambda: both_signs(Fraction(1), 3, 1),
    "a label from weights": lambda: category(Fraction(1, 2), 3),
    "a label from weights, little noise": lambda: category(Fraction(2), 5),
    "bits": lambda: bits_of(1, 30, Fraction(1, 4)),
    "bits of two columns": lambda: bits_of(2, 7, Fraction(2, 5)),
    "bits of so many rows or more": lambda: bits_of(1, 30, Fraction(1, 4), padded=True),
    "bits by noisy means of rows that were cut": lambda: noisy_means(1, 9, Fraction(1, 2), cut=True),
    "bits by noisy means": lambda: noisy_means(1, 9, Fraction(1, 2)),
    "bits by noisy means of three columns": lambda: noisy_means(3, 12, Fraction(2)),
    "a told record of any number": lambda: Case(PseudocountLaw(Fraction(1, 3), 4, 2), {}),  # states nothing
    "a told record": lambda: response(Fraction(1, 3), 4, 7),
    "logarithms behind a threshold": lambda: logarithms(
        Fraction(7, 2), Fraction(3, 2), 5, 1, Cut(Fraction(1), 2, False, False)
    ),
    "logarithms behind a threshold on every bin": lambda: logarithms(
        Fraction(3, 5), Fraction(5, 4), 6, 12, Cut(Fraction(1, 2), 20, True, False)
    ),
    "both signs behind a threshold": lambda: both_signs(Fraction(3, 5), 4, 12, Cut(Fraction(1), 6, False, True)),
    "both signs behind a threshold on every bin": lambda: both_signs(
        Fraction(1), 3, 1, Cut(Fraction(2), 3, True, True)
    ),
    "peeling": lambda: peeling(strict=False),
    "shared list": lambda: shared_list(peeling(strict=False)),
    "peeling, strict": lambda: peeling(strict=True, gap=1, weight=Fraction(1, 4)),
    "exponential": lambda: exponential(Fraction(1, 2)),
    "noisy list": lambda: noisy_list(Fraction(1), 1, 3),
    "noisy list, much noise": lambda: noisy_list(Fraction(3), 1, 4),
    "sorted": lambda: in_order(noise("1"), 2),
    "sorted, the largest alone": lambda: in_order(noise("1"), 1, bins=3),
    "sorted, n": lambda: in_order(noise("2", 3), 2, n=3),
    "queries": lambda: queries(noise("1")),
    "tables": lambda: tables(Fraction(1)),
    "tables, Gaussian": lambda: tables(Fraction(3), gaussian=True),
    "coins": lambda: coins(Fraction(1, 2), 1, Fraction(1, 40)),
    "tree, one pair": lambda: tree(TreeLaw(2, 2, False, Fraction(1, 2), "1,1", None)),
    "tree, padded": lambda: tree(TreeLaw(2, 3, False, Fraction(1), "1,1,1", None), 30),
    "tree, pinned": lambda: tree(TreeLaw(2, 3, True, Fraction(1), "1,1,1", None), 30),
    "tree, weighted": lambda: tree(TreeLaw(3, 3, False, Fraction(1, 2), "1,2", None), 50),
    "tree, without a middle": lambda: tree(TreeLaw(2, 4, False, Fraction(1), "1,0,2", None), 30),
    "tree, Gaussian": lambda: tree(GaussianTreeLaw(2, 3, False, Fraction(3), "1,1,2", None), 40),
    "tree, public root": lambda: tree(TreeLaw(3, 2, True, Fraction(1), "1,1", 9), 40),
    **{name: case for samples in declared().values() for name, case in samples.laws.items()},
}
case_of = cache(lambda name: CASES[name]())
each = pytest.mark.parametrize("name", CASES)


def chances(case: Case) -> Iterator[tuple[ErrorValue, Tail, Fraction]]:
    """Every statement of a law about chances, with the oracle's word on it."""
    for question, beta in itertools.product(QUESTIONS, BETAS):
        value = QUESTIONS[question](case.law.error, beta)
        if value is not None:
            assert question in case.tails, f"no oracle says how often {question} fails"
            yield value, case.tails[question], beta


def means(case: Case) -> Iterator[tuple[ErrorValue, Enclosure]]:
    for question, ask in MEANS.items():
        value = ask(case.law.error)
        if value is not None:
            assert question in case.means, f"no oracle knows {question}"
            yield value, case.means[question]


@each
def test_what_is_called_exact_is_enumerated_and_what_is_called_numerical_lies_within_its_off(name: str) -> None:
    case = case_of(name)
    checked = 0
    for value, tail, beta in chances(case):
        chance_check(value, tail, beta)
        checked += 1
    for value, truth in means(case):
        mean_check(value, truth)
        checked += 1
    assert checked >= len(BETAS) or checked == ("total_variation" in case.means)


@each
def test_a_relabelled_value_or_one_with_half_its_off_is_caught(name: str) -> None:
    case = case_of(name)
    for value, tail, beta in chances(case):
        if value.how == "exact":
            assert refused(lambda: chance_check(replace(value, value=value.value + 1), tail, beta))  # noqa: B023
        if value.off is not None:
            assert refused(lambda: chance_check(replace(value, off=value.off / 2), tail, beta))  # noqa: B023
    for value, truth in means(case):
        if value.off is not None:
            assert refused(lambda: mean_check(replace(value, off=value.off / 2), truth))  # noqa: B023
            assert refused(lambda: mean_check(replace(value, how="exact", off=None), truth))  # noqa: B023


def test_some_means_are_exact_and_some_numerical() -> None:
    assert {value.how for name in CASES for value, _ in means(case_of(name))} == {"exact", "numerical", "bound"}


def test_every_registered_law_has_an_oracle() -> None:
    """But for that of an answer about each part, whose errors are those of the law of one part."""
    grouped = Groups(Dense("1/3"), "sequence").bind(
        Question(Domain.integers(0, 2, column="x"), by=Partition(Domain.integers(1, 3, column="part"))), Unit()
    )
    assert grouped.law.error == grouped.each.law.error
    own = {(grouped.law.name, grouped.law.version)}
    assert {(case_of(name).law.name, case_of(name).law.version) for name in CASES} | own == set(LAWS)


def test_every_question_about_an_error_is_asked_here() -> None:
    answering = {
        name
        for name, method in inspect.getmembers(ErrorModel, inspect.isfunction)
        if "ErrorValue" in str(inspect.signature(method).return_annotation)
    }
    assert answering == {question.split(" ")[0] for question in (*QUESTIONS, *MEANS)}


@pytest.mark.parametrize("truth", ["1/3", "-7/2", "0", "123456789", "1/7000001", "1e-9", "1e-40", "2.5e40"])
@pytest.mark.parametrize("width", ["0", "1e-12"])
def test_a_mean_is_exact_where_a_few_digits_are_all_of_it_and_else_says_how_far_off_it_is(
    truth: str, width: str
) -> None:
    number, precisions = Fraction(truth), []

    def enclose(precision: int) -> Enclosure:
        precisions.append(precision)
        reach = Fraction(width) / 2**precision * 2**128
        return number - reach, number + reach

    value = mean(enclose, "a rule", more=-5)
    assert precisions == sorted(set(precisions)) and len(precisions) < 10
    low, high = (end - 5 for end in enclose(precisions[-1]))
    mean_check(value, (low, high))
    assert (value.how == "exact") == (width == "0" and truth in ("-7/2", "0"))
    if value.off is not None:
        assert value.off <= max(abs(number - 5) / 100, Fraction(1, 10**24))
