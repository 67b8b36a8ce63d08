"""The top of many equal draws against laws enumerated here, outcome by outcome, with twins that are refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from dpviz.exact import Decay
from dpviz.laws.geometric import TwoSidedGeometric
from dpviz.noise import order
from dpviz.noise.bits import Bits, TeachingBits
from dpviz.noise.fixed import power as power_of
from dpviz.noise.geometric import BASE, two_sided_geometric
from dpviz.noise.order import Digit, Heavy, OneSided, StreamedContest, binomial, geometric, locate, outside
from tests.noise.choices import Choices
from tests.noise.statistics import FALSE_ALARM, p_value, power

FRACTION_BITS = 320


def chance_of(p: Fraction) -> Callable[[int], tuple[int, int]]:
    return lambda fraction_bits: (math.floor(p * 2**fraction_bits), math.ceil(p * 2**fraction_bits))


# ---------------------------------------------------------------- one binomial number


def cells(trials: int, p: Fraction, most: int | None) -> list[tuple[int, Fraction]]:
    """Outcomes in their stated order with their exact probabilities, from the definition."""
    law = {k: math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1)}
    mode = min(trials, math.floor((trials + 1) * p))
    if most is not None and mode >= most:
        below = [(k, law[k]) for k in range(most - 1, -1, -1)]
        return [*below, (most, 1 - sum(chance for _, chance in below))]
    outward = sorted(law, key=lambda k: (abs(k - mode), -k))
    return [(k if most is None else min(k, most), law[k]) for k in outward]


BINOMIALS = [
    (1, Fraction(2, 5)),
    (2, Fraction(2, 7)),
    (7, Fraction(3, 7)),
    (30, Fraction(1, 11)),
    (64, Fraction(9, 20)),
]


@pytest.mark.parametrize("most", [None, 1, 2, 5, 40], ids=str)
@pytest.mark.parametrize(("trials", "p"), BINOMIALS, ids=str)
def test_every_cell_of_the_binomial_law_begins_and_ends_where_it_should(
    trials: int, p: Fraction, most: int | None
) -> None:
    """A hair inside each end of each cell: so every outcome has its exact probability, to 2**-300."""
    hair, begin = 2**20, Fraction(0)
    for k, chance in cells(trials, p, most):
        end = begin + chance
        for at in (math.ceil(begin * 2**FRACTION_BITS) + hair, math.floor(end * 2**FRACTION_BITS) - hair):
            if begin * 2**FRACTION_BITS < at < end * 2**FRACTION_BITS - 1:
                assert locate(at, FRACTION_BITS, trials, chance_of(p), most) == k
        begin = end
    assert begin == 1


def test_bits_that_do_not_tell_are_not_guessed() -> None:
    begin = cells(7, Fraction(3, 7), None)[0][1]
    for fraction_bits in (1, 8, 64):
        assert locate(math.floor(begin * 2**fraction_bits), fraction_bits, 7, chance_of(Fraction(3, 7))) is None


@pytest.mark.parametrize("trials", [2**64, 2**128, 10**40], ids=str)
def test_a_huge_number_of_trials_gives_the_poisson_law(trials: int) -> None:
    """With success 1000.5 / m the law is within 1000.5 / m of Poisson in every outcome: cell ends agree to 10**-12."""
    mean, mode = 1000.5, 1000
    chance = chance_of(Fraction(mean) / trials)
    law = {k: math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(500, 1600)}
    end = 0.0
    for k in sorted(law, key=lambda k: (abs(k - mode), -k))[:200]:
        inside = Fraction(end) + Fraction(law[k]) * Fraction(1, 1000), Fraction(end) + Fraction(law[k] * 0.999)
        assert [locate(math.floor(at * 2**64), 64, trials, chance) for at in inside] == [k, k]
        end += law[k]


def test_draws_of_a_binomial_follow_its_law() -> None:
    trials, p, draws, bits = 12, Fraction(1, 4), 6_000, TeachingBits(5)
    seen = np.bincount([binomial(trials, chance_of(p), bits) for _ in range(draws)], minlength=trials + 1)
    law, fewer = (
        np.array([math.comb(m, k) * 0.25**k * 0.75 ** (m - k) if k <= m else 0 for k in range(13)]) for m in (12, 11)
    )
    assert p_value(seen, law) > FALSE_ALARM
    assert power(draws, law, fewer + 1e-12) > 0.999 and p_value(seen, fewer + 1e-12) < FALSE_ALARM


def test_no_trials_take_no_bits_and_a_chance_below_all_digits_fails_always() -> None:
    assert binomial(0, chance_of(Fraction(1, 2)), TeachingBits(1)) == 0
    assert binomial(9, chance_of(Fraction(1, 2)), TeachingBits(1), most=0) == 0
    assert {binomial(2**64, lambda fraction_bits: (0, 1), TeachingBits(seed)) for seed in range(50)} == {0}
    assert {binomial(2**64, chance_of(Fraction(1, 3)), TeachingBits(seed), most=7) for seed in range(50)} == {7}


# ---------------------------------------------------------------- geometric numbers


@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(20, 21), Fraction(1, 2**70)], ids=str)
@pytest.mark.parametrize("step", [1, 3])
def test_boundaries_of_a_geometric_table_enclose_the_law(ratio: Fraction, step: int) -> None:
    law = OneSided(Decay.rational(ratio), step)
    start, lows, width = law.sweep(192)
    for value, low in enumerate(lows, start):
        exact = (1 - ratio ** (step * (value + 1))) * 2**192
        assert low <= exact <= low + width < low + 2**64
        assert law.cdf(value, 192)[0] <= exact <= law.cdf(value, 192)[1]
    assert 1 - Fraction(lows[-1] + width, 2**192) < Fraction(1, 2**63)


def test_boundaries_of_a_digit_enclose_its_law() -> None:
    ratio = Fraction(999, 1000)
    law = Digit(Decay.rational(ratio), 2)
    start, lows, width = law.sweep(192)
    assert start == 0 and len(lows) == BASE - 1 and 0 < width < 2**64
    for value, low in enumerate(lows):
        exact = (1 - ratio ** (2 * (value + 1))) / (1 - ratio ** (2 * BASE)) * 2**192
        assert low <= exact <= low + width


@pytest.mark.parametrize(
    "decay", [Decay.exp(Fraction(1, 2)), Decay.rational(Fraction(20, 21)), Decay.exp(Fraction(1, 400))], ids=str
)
def test_geometric_numbers_follow_their_law_in_every_value(decay: Decay) -> None:
    draws, rate = 400_000, -math.log(float(decay.bounds()[0]))
    last = math.ceil(30 / rate)
    laws = []
    for each in (rate, rate * 1.05):
        law = -math.expm1(-each) * np.exp(-each * np.arange(last + 1))
        law[-1] += math.exp(-each * (last + 1))
        laws.append(law[::-1])
    drawn = np.minimum(geometric(decay).draw(draws, TeachingBits(6)), last)
    seen = np.bincount(last - drawn, minlength=last + 1)
    assert p_value(seen, laws[0]) > FALSE_ALARM
    assert power(draws, laws[0], laws[1]) > 0.999 and p_value(seen, laws[1]) < FALSE_ALARM


# ---------------------------------------------------------------- uniform bins


def sequence(count: int, taken: list[int], size: int, bits: Bits) -> tuple[int, ...]:
    """The bins in the order of the sequence."""
    labels, places = outside(count, np.array(taken, dtype=np.uint64 if size <= 2**64 else object), size, bits)
    assert labels.tolist() == sorted(labels.tolist())
    found = [0] * count
    for label, place in zip(labels.tolist(), places.tolist(), strict=True):
        found[place] = label
    return tuple(found)


def test_every_sequence_of_different_free_bins_is_equally_likely() -> None:
    draws, bits, taken = 12_000, TeachingBits(7), [1, 3, 4]
    wanted = list(itertools.permutations([0, 2, 5, 6], 3))
    drawn = [sequence(3, taken, 7, bits) for _ in range(draws)]
    assert set(drawn) <= set(wanted)
    seen = np.array([drawn.count(one) for one in wanted])
    assert p_value(seen, np.full(len(wanted), 1 / len(wanted))) > FALSE_ALARM
    with_order_lost = np.array([6.0 if list(one) == sorted(one) else 1e-9 for one in wanted])
    assert p_value(seen, with_order_lost / with_order_lost.sum()) < FALSE_ALARM


def test_bins_beyond_64_bits_are_drawn_in_the_same_way() -> None:
    """The numbers of the free bins are drawn one by one; a repeated one is dropped."""

    class Ranks(TeachingBits):
        def __init__(self, ranks: list[int]) -> None:
            super().__init__(0)
            self.ranks: Iterator[int] = iter(ranks)

        def below(self, bound: int) -> int:
            assert bound == 2**70 - 4
            return next(self.ranks)

    taken = [0, 1, 5, 2**70 - 1]
    ranks = [3, 0, 3, 2**70 - 5, 2, 0]
    assert sequence(4, taken, 2**70, Ranks(ranks)) == (6, 2, 2**70 - 2, 4)


def test_bins_at_the_end_of_64_bits_are_found() -> None:
    taken = [0, 2**64 - 2]
    labels, _ = outside(1000, np.array(taken, dtype=np.uint64), 2**64, TeachingBits(8))
    assert len(set(labels.tolist())) == 1000 and not set(labels.tolist()) & set(taken)
    assert sequence(3, [2, 0][::-1], 5, TeachingBits(1)) in set(itertools.permutations([1, 3, 4]))


# ---------------------------------------------------------------- the bins above the cut

Shown = tuple[tuple[int, int], ...]


@cache
def clamped(ratio: Fraction, count: int, top: int) -> dict[int, Fraction]:
    """clip(count + Z, 0, top) with Pr[Z = z] proportional to ratio ** |z|, from the definition."""
    far = 120
    law: dict[int, Fraction] = dict.fromkeys(range(top + 1), Fraction(0))
    for z in range(-far, far + 1):
        law[min(max(count + z, 0), top)] += (1 - ratio) / (1 + ratio) * ratio ** abs(z)
    law[0] += ratio ** (far + 1) / (1 + ratio)
    law[top] += ratio ** (far + 1) / (1 + ratio)
    return law


def shown(noisy: tuple[int, ...], n: int, *, ties: bool = False) -> Shown:
    cut = sorted(noisy, reverse=True)[n]
    return tuple((x, v) for x, v in enumerate(noisy) if v > cut or (ties and v == cut and v > 0))


def heavy_law(counts: list[int], n: int, ratio: Fraction, top: int, **how: bool) -> dict[Shown, float]:
    found: dict[Shown, float] = {}
    laws = [[(v, float(p)) for v, p in clamped(ratio, count, top).items()] for count in counts]
    for vector in itertools.product(*laws):
        outcome = shown(tuple(v for v, _ in vector), n, **how)
        found[outcome] = found.get(outcome, 0.0) + math.prod(p for _, p in vector)
    return found


def with_repeats(counts: list[int], n: int, ratio: Fraction, top: int) -> dict[Shown, float]:
    """The law if empty bins were drawn with replacement, the last draw of a bin counting."""
    empty = [x for x, count in enumerate(counts) if not count]
    found: dict[Shown, float] = {}
    for outcome, chance in heavy_law(counts, n, ratio, top).items():
        fixed = {x: v for x, v in outcome if x not in empty}
        values = [v for x, v in outcome if x in empty]
        for places in itertools.product(empty, repeat=len(values)):
            twin = tuple(sorted({**fixed, **dict(zip(places, values, strict=True))}.items()))
            found[twin] = found.get(twin, 0.0) + chance / len(empty) ** len(values)
    return found


def with_one_rival_less(counts: list[int], n: int, ratio: Fraction, top: int) -> dict[Shown, float]:
    """The law if one empty bin too few competed, and the labels were spread over all of them."""
    empty = [x for x, count in enumerate(counts) if not count]
    found: dict[Shown, float] = {}
    for gone in empty:
        rest = [x for x in range(len(counts)) if x != gone]
        for outcome, chance in heavy_law([counts[x] for x in rest], n, ratio, top).items():
            twin = tuple((rest[x], v) for x, v in outcome)
            found[twin] = found.get(twin, 0.0) + chance / len(empty)
    return found


def drawn(heavy: Heavy, counts: list[int], draws: int, seed: int) -> dict[Shown, int]:
    bits, noise = TeachingBits(seed), two_sided_geometric(heavy.decay)
    labels = np.array([x for x, count in enumerate(counts) if count], dtype=np.uint64)
    occupied = np.array([count for count in counts if count], dtype=np.int64)
    seen: dict[Shown, int] = {}
    for _ in range(draws):
        found, values = heavy.keep(labels, noise.add(occupied, 0, heavy.top, bits), bits)
        outcome = tuple(zip(found.tolist(), values.tolist(), strict=True))
        seen[outcome] = seen.get(outcome, 0) + 1
    return seen


def fit(seen: dict[Shown, int], law: dict[Shown, float]) -> float:
    """The p-value over all outcomes, those of little chance together at the ends."""
    outcomes = sorted({*seen, *law}, key=lambda one: (law.get(one, 0.0), one))
    return p_value(
        np.array([seen.get(one, 0) for one in outcomes]), np.array([law.get(one, 1e-12) for one in outcomes])
    )


def strength(draws: int, law: dict[Shown, float], twin: dict[Shown, float]) -> float:
    outcomes = sorted({*law, *twin}, key=lambda one: (twin.get(one, 0.0), one))
    pair = (np.array([which.get(one, 1e-12) for one in outcomes]) for which in (law, twin))
    return power(draws, *pair)


CASES = {
    "no occupied bin": ([0, 0, 0, 0, 0], 2, Fraction(1, 2), 2),
    "two occupied bins": ([0, 2, 0, 1, 0], 2, Fraction(1, 2), 2),
    "more occupied bins than n": ([1, 2, 0, 1, 0], 2, Fraction(1, 3), 2),
    "no empty bin": ([1, 1, 2, 1, 1], 2, Fraction(1, 2), 2),
    "wide noise, a far clamp": ([0, 0, 3, 0, 0], 2, Fraction(3, 4), 5),
    "seven bins": ([0, 0, 1, 0, 3, 0, 0], 3, Fraction(2, 3), 3),
}
DRAWS, MANY = 2_500, 15_000


def up_to_the_top(cases: dict[str, tuple[list[int], int, Fraction, int]], *levels: int) -> list[tuple[str, int]]:
    """Each case from each level that it has: from above its top nothing starts but what starts at the top."""
    return [(name, level) for name in cases for level in sorted({min(level, cases[name][3]) for level in levels})]


@pytest.fixture(autouse=True)
def each_chance_is_enclosed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What depends on nothing random is kept from one of thousands of draws to the next."""
    for place, name in ((Heavy, "_reach"), (Heavy, "_opened"), (order._Walk, "at"), (order, "_Walk")):
        monkeypatch.setattr(place, name, cache(getattr(place, name)))


def by_choice(choices: Choices, heavy: Heavy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Binomial numbers, geometric numbers and bins take every value they can."""
    ratio = heavy.decay.ratio
    assert ratio is not None
    most_steps = heavy.top

    @cache
    def counted(trials: int, low: int, high: int, most: int | None) -> list[tuple[int, Fraction]]:
        p = Fraction(low, 2**400).limit_denominator(10**15)  # the only simple fraction in so narrow an enclosure
        assert low <= p * 2**400 <= high <= low + 2**10
        law: dict[int, Fraction] = {}
        for k in range(trials + 1):
            key = k if most is None else min(k, most)
            law[key] = law.get(key, Fraction(0)) + math.comb(trials, k) * p**k * (1 - p) ** (trials - k)
        return list(law.items())

    def binomial_by_choice(trials: int, chance: Any, bits: Bits, most: int | None = None) -> int:
        return int(choices.one_of(counted(trials, *chance(400), most)))

    class Geometric:
        def __init__(self, decay: Decay) -> None:
            assert decay == heavy.decay

        def draw(self, size: int, bits: Bits) -> np.ndarray:
            law = [(g, (1 - ratio) * ratio**g) for g in range(most_steps)]
            law.append((most_steps, ratio**most_steps))  # all from there on are clamped
            return np.array([choices.one_of(law) for _ in range(size)], dtype=np.int64)

    def outside_by_choice(count: int, taken: Any, size: int, bits: Bits) -> Any:
        free = [x for x in range(size) if x not in set(taken.tolist())]
        sequences = list(itertools.permutations(free, count))
        drawn = choices.one_of([(one, Fraction(1, len(sequences))) for one in sequences])
        places = sorted(range(count), key=lambda place: drawn[place])
        return np.array([drawn[place] for place in places], dtype=np.uint64), np.array(places, dtype=np.intp)

    monkeypatch.setattr(order, "power", cache(power_of))
    monkeypatch.setattr(order, "binomial", binomial_by_choice)
    monkeypatch.setattr(order, "geometric", Geometric)
    monkeypatch.setattr(order, "outside", outside_by_choice)


def enumerated(heavy: Heavy, counts: list[int], monkeypatch: pytest.MonkeyPatch) -> dict[Shown, Fraction]:
    """The exact law of `Heavy.keep`."""
    choices, ratio = Choices(), heavy.decay.ratio
    assert ratio is not None
    by_choice(choices, heavy, monkeypatch)
    labels = np.array([x for x, count in enumerate(counts) if count], dtype=np.uint64)
    noises = [list(clamped(ratio, count, heavy.top).items()) for count in counts if count]
    law: dict[Shown, Fraction] = {}
    for _ in choices.runs():
        noisy = np.array([choices.one_of(noise) for noise in noises], dtype=np.int64)
        found, values = heavy.keep(labels, noisy, TeachingBits(1))
        outcome = tuple(zip(found.tolist(), values.tolist(), strict=True))
        law[outcome] = law.get(outcome, Fraction(0)) + choices.chance
    return law


def exact_heavy(counts: list[int], n: int, ratio: Fraction, top: int) -> dict[Shown, Fraction]:
    found: dict[Shown, Fraction] = {}
    for vector in itertools.product(*(clamped(ratio, count, top).items() for count in counts)):
        outcome = shown(tuple(v for v, _ in vector), n)
        chance = Fraction(1)
        for _, part in vector:
            chance *= part
        found[outcome] = found.get(outcome, Fraction(0)) + chance
    return found


ENUMERATED = {
    "no occupied bin": ([0, 0, 0, 0], 1, Fraction(1, 2), 2),
    "one occupied bin": ([0, 2, 0, 0], 1, Fraction(1, 3), 3),
    "two occupied bins": ([0, 2, 0, 1, 0], 2, Fraction(1, 2), 2),
    "more occupied bins than n": ([1, 2, 0, 1, 0], 2, Fraction(2, 3), 2),
    "no empty bin": ([1, 1, 2], 1, Fraction(1, 2), 2),
}


@pytest.mark.parametrize(("name", "level"), up_to_the_top(ENUMERATED, 1, 2, 3))
def test_the_law_is_exactly_that_of_noise_on_every_bin(name: str, level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal as fractions, in every outcome, from every level; the twins of one step's chances are not."""
    counts, n, ratio, top = ENUMERATED[name]
    heavy = Heavy(Decay.rational(ratio), len(counts), n, top, level)
    law = enumerated(heavy, counts, monkeypatch)
    assert law == exact_heavy(counts, n, ratio, top)
    assert law != exact_heavy([*counts[:-1], counts[-1] + 1], n, ratio, top)


def test_an_opened_level_with_the_unconditional_chance_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, n, ratio, top = ENUMERATED["two occupied bins"]
    right = Heavy._opened
    monkeypatch.setattr(Heavy, "_opened", Heavy._reach)
    wrong = enumerated(Heavy(Decay.rational(ratio), len(counts), n, top, 2), counts, monkeypatch)
    assert sum(wrong.values()) == 1 and wrong != exact_heavy(counts, n, ratio, top)
    monkeypatch.setattr(Heavy, "_opened", right)
    assert enumerated(Heavy(Decay.rational(ratio), len(counts), n, top, 2), counts, monkeypatch) == exact_heavy(
        counts, n, ratio, top
    )


@pytest.mark.parametrize(("name", "level"), up_to_the_top(CASES, 1, 5))
def test_draws_follow_the_whole_law_whatever_the_level(name: str, level: int) -> None:
    counts, n, ratio, top = CASES[name]
    heavy = Heavy(Decay.rational(ratio), len(counts), n, top, level)
    assert fit(drawn(heavy, counts, DRAWS, 30 + level), heavy_law(counts, n, ratio, top)) > FALSE_ALARM


@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(99, 100)], ids=str)
def test_the_chances_of_a_level_are_enclosed(ratio: Fraction) -> None:
    """Pr[Z >= v], and Pr[Z = v given Z <= v], from the definition of Z."""
    heavy = Heavy(Decay.rational(ratio), 100, 3, 50)
    for v in (1, 2, 7):
        at = (1 - ratio) / (1 + ratio) * ratio**v
        beyond = ratio ** (v + 1) / (1 + ratio)
        for exact, chance in ((at + beyond, heavy._reach(v)), (at / (1 - beyond), heavy._opened(v))):
            low, high = chance(200)
            assert low <= exact * 2**200 <= high <= low + 200


TWINS = {
    "ties at the cut shown": lambda *case: heavy_law(*case, ties=True),
    "one rival less": with_one_rival_less,
    "labels with replacement": with_repeats,
    "noise 20 % narrower": lambda counts, n, ratio, top: heavy_law(counts, n, ratio * Fraction(4, 5), top),
    "noise 20 % wider": lambda counts, n, ratio, top: heavy_law(counts, n, ratio * Fraction(6, 5), top),
}


@cache
def many(name: str) -> dict[Shown, int]:
    counts, n, ratio, top = CASES[name]
    return drawn(Heavy(Decay.rational(ratio), len(counts), n, top), counts, MANY, 40)


@pytest.mark.parametrize("name", TWINS)
def test_a_near_wrong_law_is_refused(name: str) -> None:
    """With a probability of at least 0.999, by the test that the right law passes."""
    place = "no occupied bin" if name == "labels with replacement" else "two occupied bins"
    case, seen = CASES[place], many(place)
    law, twin = heavy_law(*case), TWINS[name](*case)
    assert math.isclose(sum(twin.values()), 1)
    assert strength(MANY, law, twin) > 0.999
    assert fit(seen, law) > FALSE_ALARM
    assert fit(seen, twin) < FALSE_ALARM


def test_the_withdrawn_order_statistics_are_refused() -> None:
    """The conference version drew the next largest of m values from (F(z)/F(v))**(m - 1), which is wrong with ties."""
    ratio, m, draws = Fraction(1, 2), 6, 10_000
    one = [float(p) for p in clamped(ratio, 0, 2).values()]
    F = np.cumsum(one)
    right: dict[Shown, float] = {}
    wrong: dict[Shown, float] = {}
    for values in itertools.product(range(3), repeat=m):
        key = tuple(enumerate(sorted(values, reverse=True)[:2]))
        right[key] = right.get(key, 0.0) + math.prod(one[v] for v in values)
    for first, second in itertools.product(range(3), repeat=2):
        if second <= first:
            top = F[first] ** m - (F[first - 1] ** m if first else 0)
            given = (F[second] / F[first]) ** (m - 1) - ((F[second - 1] / F[first]) ** (m - 1) if second else 0)
            wrong[((0, first), (1, second))] = top * given
    heavy, bits, seen = Heavy(Decay.rational(ratio), m, 1, 2, 1), TeachingBits(41), {}
    for _ in range(draws):
        _, values = heavy.compete(np.zeros(0, dtype=np.int64), m, bits)
        key = tuple(enumerate([*sorted(values.tolist(), reverse=True), 0, 0][:2]))
        seen[key] = seen.get(key, 0) + 1
    assert fit(seen, right) > FALSE_ALARM
    assert strength(draws, right, wrong) > 0.999 and fit(seen, wrong) < FALSE_ALARM


def test_a_level_is_reached_by_more_than_n_bins_and_not_by_many_more() -> None:
    """In expectation: enough to hold but for a chance below 10**-10, and few enough to cost little."""
    for size, n, step in itertools.product((10**4, 2**32, 2**64, 10**60), (1, 40, 3000), (1, Fraction(1, 40))):
        if size < 2 * n + 1:
            continue
        heavy = Heavy(Decay.exp(Fraction(step)), size, n, 10**6)
        reached = size * float(TwoSidedGeometric(heavy.decay).above(heavy.level - 1)[0])
        assert reached < 4 * (n + 1 + 8 * math.sqrt(n + 1) + 32)
        assert reached > (n + 1) / math.e and (step == 1 or reached > n + 1 + 7 * math.sqrt(n + 1))


@pytest.mark.parametrize("size", [2**64, 2**64 + 1, 10**60], ids=str)
def test_bins_are_ascending_few_enough_and_in_the_domain(size: int) -> None:
    heavy, bits = Heavy(Decay.exp(Fraction(1, 2)), size, 50, 10**6), TeachingBits(42)
    labels = np.array([0, 7, size - 1], dtype=np.uint64 if size <= 2**64 else object)
    for _ in range(20):
        found, values = heavy.keep(labels, np.array([500, 400, 300]), bits)
        assert found.tolist() == sorted(set(found.tolist())) and 0 <= found[0] and int(found[-1]) < size
        kept = dict(zip(found.tolist(), values.tolist(), strict=True))
        assert len(kept) <= 50 and (kept[0], kept[7], kept[size - 1]) == (500, 400, 300)


def test_noise_so_narrow_or_so_wide_that_all_bins_tie_shows_no_empty_one() -> None:
    for step, n in ((Fraction(10**6), 5), (Fraction(30), 1000), (Fraction(1, 10**9), 10)):
        heavy = Heavy(Decay.exp(step), 2**64, n, n)
        found, _ = heavy.keep(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64), TeachingBits(1))
        assert found.size == 0


# ---------------------------------------------------------------- the same while bins pass by

Batches = tuple[tuple[int, ...], ...]
"""The occupied bins by their place in the order of their labels, in the batches in which they come."""


def passing_law(
    heavy: Heavy, counts: list[int], batches: Batches, monkeypatch: pytest.MonkeyPatch, *, crowded: bool = False
) -> tuple[dict[Shown, Fraction], Fraction]:
    """The exact law of a `StreamedContest` in which the occupied bins come in these batches, and the chance that
    they have to come again. What is drawn then, given what is known, takes every value it can, too."""
    choices, ratio = Choices(), heavy.decay.ratio
    assert ratio is not None
    by_choice(choices, heavy, monkeypatch)
    right, begun = order.outside, list[bool]()

    def sets_at_first(count: int, taken: Any, size: int, bits: Bits) -> Any:
        """Of the first draws, which are alike, only the set of bins matters; a use of their order would be seen."""
        if not begun:
            return right(count, taken, size, bits)
        begun.clear()
        sets = list(itertools.combinations(range(size), count))
        drawn = choices.one_of([(one, Fraction(1, len(sets))) for one in sets])
        return np.array(drawn, dtype=np.uint64), np.full(count, size**9)

    class Given:
        """Noise on counts below a level, given that they stay below it."""

        def add(self, given: np.ndarray, low: int, high: int, bits: Bits) -> np.ndarray:
            level = heavy.level + crowded - 1
            drawn = []
            for count in given.tolist():
                law = [(v, p) for v, p in clamped(ratio, count, heavy.top).items() if v < level]
                whole = sum(p for _, p in law)
                drawn.append(choices.one_of([(v, p / whole) for v, p in law]))
            return np.array(drawn, dtype=np.int64)

    monkeypatch.setattr(order, "outside", sets_at_first)
    monkeypatch.setattr(order, "two_sided_geometric", lambda decay: Given())
    monkeypatch.setattr(Heavy, "crowded", crowded)
    labels = np.array([x for x, count in enumerate(counts) if count], dtype=np.uint64)
    exact = np.array([count for count in counts if count], dtype=np.int64)
    noises = [list(clamped(ratio, min(count, heavy.top), heavy.top).items()) for count in exact.tolist()]
    law: dict[Shown, Fraction] = {}
    again = Fraction(0)
    for _ in choices.runs():
        begun.append(True)
        contest = StreamedContest(heavy, TeachingBits(1))
        for batch in batches:
            noisy = [choices.one_of(noises[place]) for place in batch]
            contest.meet(labels[list(batch)], np.array(noisy, dtype=np.int64))
        result = contest.result()
        if result is None:
            result = contest.again(labels, exact)
            again += choices.chance
        outcome = tuple(sorted(zip(*(part.tolist() for part in result), strict=True)))
        law[outcome] = law.get(outcome, Fraction(0)) + choices.chance
    return law, again


def apart(many: int) -> Batches:
    """The last bin first, then none, then all others backwards."""
    places = tuple(range(many))[::-1]
    return places[:1], (), places[1:]


PASSING = {
    "no occupied bin": ([0, 0, 0], 1, Fraction(1, 2), 2),
    "one occupied bin": ([0, 2, 0, 0], 1, Fraction(1, 3), 2),
    "two occupied bins": ([0, 2, 0, 1], 1, Fraction(1, 2), 2),
    "more may be shown than are occupied": ([0, 2, 0, 0], 2, Fraction(1, 2), 1),
    "more occupied bins than n": ([1, 2, 0, 1], 1, Fraction(2, 3), 2),
    "no empty bin": ([1, 1, 2], 1, Fraction(1, 2), 2),
    "a count beyond the top": ([0, 9, 1], 1, Fraction(1, 2), 3),
}


@pytest.mark.parametrize("crowded", [False, True], ids=["listed", "counted"])
@pytest.mark.parametrize(("name", "level"), up_to_the_top(PASSING, 1, 2, 3))
def test_bins_that_pass_by_have_exactly_the_law_of_bins_that_are_known_at_once(
    name: str, level: int, crowded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal as fractions, in every outcome, from every level, and with the second pass that some levels need."""
    counts, n, ratio, top = PASSING[name]
    heavy = Heavy(Decay.rational(ratio), len(counts), n, top, level)
    many = sum(1 for count in counts if count)
    law, again = passing_law(heavy, counts, apart(many), monkeypatch, crowded=crowded)
    assert law == exact_heavy([min(count, top) for count in counts], n, ratio, top)
    assert (again > 0) is (heavy.level + crowded > 1), "some paths take every way that there is"


def without_striking_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bin that is met keeps what it drew as an empty one."""
    monkeypatch.setattr(order._Marks, "find", lambda self, others: np.zeros(0, dtype=np.intp))


def with_one_bin_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a bin drew as an empty one is struck out for the first of a batch only."""
    right = order._Marks.find
    monkeypatch.setattr(order._Marks, "find", lambda self, others: right(self, others[:1]))


def with_rivals_among_the_occupied(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bins just below the level are counted among all bins, not among the empty ones."""
    right = StreamedContest.result

    def result(self: StreamedContest) -> Any:
        met, self._met = self._met, 0
        found = right(self)
        self._met = met
        return found

    monkeypatch.setattr(StreamedContest, "result", result)


def with_a_floor_too_high(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bins that are met just below the level are forgotten as if they could not decide."""
    right = StreamedContest.meet

    def meet(self: StreamedContest, labels: Any, noisy: Any) -> None:
        self._floor = self._level
        right(self, labels, noisy)

    monkeypatch.setattr(StreamedContest, "meet", meet)


def with_an_even_chance_for_the_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the second pass, what was forgotten lies just below the level."""
    monkeypatch.setattr(Heavy, "below", lambda self, level, counts, bits: np.full(len(counts), level - 1))


def with_the_chance_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bins just below the level are those of it and above."""
    monkeypatch.setattr(Heavy, "_opened", Heavy._reach)


WRONG: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str, int]] = {
    "a met bin keeps its draw": (without_striking_out, "two occupied bins", 1),
    "only the first of a batch is struck out": (with_one_bin_missed, "more occupied bins than n", 1),
    "rivals among the occupied": (with_rivals_among_the_occupied, "two occupied bins", 2),
    "a floor that is too high": (with_a_floor_too_high, "two occupied bins", 2),
    "the forgotten lie just below": (with_an_even_chance_for_the_forgotten, "a count beyond the top", 3),
    "the chance of all above": (with_the_chance_of_all, "one occupied bin", 2),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_contest_that_is_nearly_right_has_another_law(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil, case, level = WRONG[name]
    counts, n, ratio, top = PASSING[case]
    heavy, many = Heavy(Decay.rational(ratio), len(counts), n, top, level), sum(1 for count in counts if count)
    exact = exact_heavy([min(count, top) for count in counts], n, ratio, top)
    with monkeypatch.context() as patches:
        assert passing_law(heavy, counts, (tuple(range(many)),), patches)[0] == exact
    spoil(monkeypatch)
    law, _ = passing_law(heavy, counts, (tuple(range(many)),), monkeypatch)
    assert sum(law.values()) == 1 and law != exact


@pytest.mark.parametrize("batches", [((0, 1, 2),), ((2,), (1,), (0,)), ((1, 0), (2,))], ids=str)
def test_what_is_let_go_early_changes_no_law(batches: Batches, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept as soon as n + 1 are there. A twin that keeps n of them loses the one that makes the cut."""
    counts, n, ratio, top = [1, 2, 1], 1, Fraction(1, 2), 2
    heavy = Heavy(Decay.rational(ratio), 3, n, top, 1)
    monkeypatch.setattr(order, "PIECE", -(n + 1))
    pruned = []
    right = StreamedContest._prune
    monkeypatch.setattr(StreamedContest, "_prune", lambda self: (pruned.append(1), right(self))[1])
    exact = exact_heavy(counts, n, ratio, top)
    with monkeypatch.context() as patches:
        assert passing_law(heavy, counts, batches, patches)[0] == exact
    assert pruned

    def prune_to_n(self: StreamedContest) -> None:
        self._wanted -= 1
        right(self)
        self._wanted += 1

    monkeypatch.setattr(StreamedContest, "_prune", prune_to_n)
    law, _ = passing_law(heavy, counts, batches, monkeypatch)
    assert sum(law.values()) == 1 and law != exact


@pytest.mark.parametrize("decay", [Decay.rational(Fraction(2, 3)), Decay.exp(Fraction(1, 40))], ids=str)
def test_what_was_forgotten_is_drawn_given_that_it_was_forgotten(decay: Decay) -> None:
    """In every value, of counts below, at and above the level; but for rare values, a level one off is refused."""
    heavy, level, draws = Heavy(decay, 1000, 3, 60), 20, 40_000
    for count in (1, 12, 19, 20, 21, 60):
        drawn = heavy.below(level, np.full(draws, count), TeachingBits(count))
        assert 0 <= drawn.min() and drawn.max() < level
        ratio = Fraction(float(decay.bounds()[0]))
        laws = []
        for limit in (level, level - 1):
            law = np.array([float(p) for v, p in clamped(ratio, count, 60).items() if v < limit])
            if len(law) < level:
                law = np.append(law, 1e-9)
            laws.append(law / law.sum())
        seen = np.bincount(drawn, minlength=level)
        assert p_value(seen, laws[0]) > FALSE_ALARM
        if count > 1:
            assert power(draws, laws[0], laws[1]) > 0.999 and p_value(seen, laws[1]) < FALSE_ALARM


def passed(heavy: Heavy, counts: list[int], draws: int, seed: int) -> dict[Shown, int]:
    """As `drawn`, of bins that come one by one, the last first."""
    bits, noise = TeachingBits(seed), two_sided_geometric(heavy.decay)
    labels = np.array([x for x, count in enumerate(counts) if count], dtype=np.uint64)
    occupied = np.array([count for count in counts if count], dtype=np.int64)
    seen: dict[Shown, int] = {}
    for _ in range(draws):
        contest = StreamedContest(heavy, bits)
        for place in reversed(range(len(labels))):
            some = slice(place, place + 1)
            contest.meet(labels[some], noise.add(occupied[some], 0, heavy.top, bits))
        found = contest.result() or contest.again(labels, occupied)
        outcome = tuple(sorted(zip(*(part.tolist() for part in found), strict=True)))
        seen[outcome] = seen.get(outcome, 0) + 1
    return seen


@pytest.mark.parametrize(("name", "level"), up_to_the_top(CASES, 1, 2, 5))
def test_draws_of_bins_that_pass_by_follow_the_whole_law(name: str, level: int) -> None:
    counts, n, ratio, top = CASES[name]
    heavy = Heavy(Decay.rational(ratio), len(counts), n, top, level)
    assert fit(passed(heavy, counts, DRAWS, 60 + level), heavy_law(counts, n, ratio, top)) > FALSE_ALARM


def test_draws_of_bins_that_pass_by_refuse_near_wrong_laws() -> None:
    case = CASES["two occupied bins"]
    counts, n, ratio, top = case
    seen = passed(Heavy(Decay.rational(ratio), len(counts), n, top), counts, MANY, 70)
    for name in ("ties at the cut shown", "one rival less", "noise 20 % narrower", "noise 20 % wider"):
        assert strength(MANY, heavy_law(*case), TWINS[name](*case)) > 0.999
        assert fit(seen, TWINS[name](*case)) < FALSE_ALARM


SIZES = [
    (size, n, step)
    for size in (10**4, 2**32, 2**64, 10**60)
    for n in (1, 10, 50, 3000, 10**6)
    for step in (20, 2, 1, Fraction(1, 40), Fraction(1, 10**6))
    if size >= 2 * n + 1
]


def test_bins_must_come_again_with_a_chance_below_1e_13_and_few_empty_ones_are_listed() -> None:
    """Where all bins are empty, which is where the fewest reach a level. Fewer than n + 1 of a mean of m do with a
    chance of at most exp(n - m) (m/n)^n, by Chernoff."""
    ways = set()
    for size, n, step in SIZES:
        heavy = Heavy(Decay.exp(Fraction(step)), size, n, n)
        level, law = heavy.level + heavy.crowded, TwoSidedGeometric(heavy.decay)
        reached = 0.0 if level > n else size * float(law.above(level - 1)[1])
        assert reached < 5 * (n + 1 + 8 * math.sqrt(n + 1) + 32)
        ways.add((level == 1, bool(heavy.crowded)))
        if level > 1:
            mean = size * float(law.above(level - 2)[0])
            assert mean > n and n - mean + n * math.log(mean / n) < math.log(1e-13)
    assert ways == {(True, False), (False, False), (False, True)}


@pytest.mark.parametrize("size", [2**64, 2**64 + 1, 10**60], ids=str)
def test_bins_that_pass_by_may_have_numbers_of_any_size(size: int) -> None:
    heavy, bits = Heavy(Decay.exp(Fraction(1, 2)), size, 50, 10**6), TeachingBits(42)
    labels = np.array([size - 1, 7, 0], dtype=np.uint64 if size <= 2**64 else object)
    for _ in range(20):
        contest = StreamedContest(heavy, bits)
        contest.meet(labels[:1], np.array([300]))
        contest.meet(labels[1:], np.array([400, 500]))
        result = contest.result()
        assert result is not None
        kept = dict(zip(*(part.tolist() for part in result), strict=True))
        assert len(kept) == len(result[0]) <= 50 and (kept[0], kept[7], kept[size - 1]) == (500, 400, 300)
        assert all(0 <= label < size for label in kept)


@pytest.mark.parametrize("wide", [False, True])
def test_a_bin_that_is_met_loses_the_draw_it_had_as_an_empty_one(wide: bool) -> None:
    """Among many, whatever the slots of a table."""
    random = np.random.default_rng(5)
    labels = np.unique(random.integers(0, 2**64 - 1, 3_000, dtype=np.uint64))
    others = random.permutation(np.concatenate((labels[::7], random.integers(0, 2**64 - 1, 5_000, dtype=np.uint64))))
    if wide:
        labels, others = (
            np.array([2**70 + label for label in some.tolist()], dtype=object) for some in (labels, others)
        )
    found = order._Marks(labels).find(others)
    assert sorted(found.tolist()) == np.flatnonzero(np.isin(labels, others)).tolist() and len(found) == len(labels[::7])
    assert order._Marks(labels[:0]).find(others).tolist() == []


@pytest.mark.parametrize("twin", ["fewer", "another"])
def test_bins_that_are_others_the_second_time_are_refused(twin: str) -> None:
    heavy = Heavy(Decay.rational(Fraction(1, 10**9)), 10, 3, 5, 4)
    contest = StreamedContest(heavy, TeachingBits(1))
    contest.meet(np.array([8, 2], dtype=np.uint64), np.array([5, 0]))
    assert contest.result() is None
    labels = {"fewer": [8], "another": [2, 9]}[twin]
    with pytest.raises(ArithmeticError, match="not the bins that were met before"):
        contest.again(np.array(labels, dtype=np.uint64), np.array([5] * len(labels)))
    found = contest.again(np.array([2, 8], dtype=np.uint64), np.array([1, 5]))
    assert dict(zip(*(part.tolist() for part in found), strict=True)) == {2: 1, 8: 5}
