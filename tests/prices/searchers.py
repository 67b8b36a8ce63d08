"""For every mechanism a search for two neighbours that its price does not cover, from definitions.

A searcher draws a random question, unit and parameters, binds the mechanism, reads from the bound mechanism which noise
would be drawn, and enumerates how well the worst pair of neighbours is told apart by that noise: in L1 for
geometric noise, in L2 and by its delta for Gaussian noise, by the product of the laws of all bins where a threshold has
a delta, by the law of whole lists or records elsewhere. What the package says of sensitivities is used by the mechanism
alone.

Privacy losses are doubles here; a price counts as too low where it is so by more than one in 10^9.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

import dpviz as dv
from dpviz.errors import DpvizError
from dpviz.mechanisms.groups import Groups
from dpviz.model.question import Question
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.loss import RangeBounded
from dpviz.session.accountant import booked
from tests.mechanisms import ranking
from tests.mechanisms.samples import current, declared
from tests.prices.contributions import Limits, contributions, moves, pairs, random_limits, valued

TOLERANCE = 1e-9
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Held:
    """One price, held against the worst pair that was found.

    what     the mechanism and its parameters, for whoever reads a failure
    norm     in which sense the pair is the worst
    charged  the price in that sense
    true     what the pair costs
    """

    what: str
    norm: str
    charged: float
    true: float

    @property
    def too_low(self) -> bool:
        return self.true > self.charged * (1 + TOLERANCE) + 1e-15

    @property
    def ratio(self) -> float:
        """How many times the price is what the pair costs."""
        return self.charged / self.true if self.true > 0 else math.inf


Searcher = Callable[[random.Random], Iterator[Held]]


def bins_of(number: int, column: str = "x") -> Any:
    return dv.Domain.integers(0, number - 1, column=column)


def told(made: Any, limits: Limits, bins: int) -> str:
    return f"{made!r} over {bins} bins, {limits}"


def epsilon_of(chance: random.Random) -> str:
    return chance.choice(("1/10", "1/2", "1", "2", "3"))


# ---------------------------------------------------------------- noise on linear queries


def linear(what: str, bound: Any, rates: Floats | None, squares: Floats | None, moved: Floats) -> Iterator[Held]:
    """Noise on numbers that one unit moves by the rows of `moved`.

    rates    of geometric noise: what a move by one costs; or
    squares  of Gaussian noise: 1 / (2 variance)
    """
    if rates is not None:
        true = float((np.abs(moved) @ rates).max())
        yield Held(what, "L1", float(to_approx(bound.price.loss).epsilon), true)
        books = booked("zcdp", bound.price.loss, bound.price.zcdp_steps)["rho"]
        yield Held(what, "mean loss", float(books), worst_mean_loss(rates, moved))
        return
    assert squares is not None
    yield from gaussian(what, bound.price, moved, squares)


def worst_mean_loss(rates: Floats, moved: Floats) -> float:
    """The largest mean of the loss of geometric noise, which is the divergence of orders near 1: from its law."""
    means = np.zeros(moved.shape)
    for at, rate in enumerate(rates.tolist()):
        z = np.arange(-math.ceil(45 / rate), math.ceil(45 / rate) + 1, dtype=np.float64) if rate else np.zeros(1)
        law = math.tanh(rate / 2) * np.exp(-rate * np.abs(z))
        steps, places = np.unique(np.abs(moved[:, at]), return_inverse=True)
        losses = [rate * float((law * (np.abs(z - step) - np.abs(z))).sum()) if step else 0.0 for step in steps]
        means[:, at] = np.array(losses)[places.reshape(-1)]
    return float(means.sum(axis=1).max())


def gaussian(what: str, price: Any, moved: Floats, squares: Floats) -> Iterator[Held]:
    """rho, and the delta at the epsilon that it is sold for, of those moves that are longest."""
    rhos = moved.astype(np.float64) ** 2 @ squares
    yield Held(what, "L2", float(price.zcdp_steps.rho), float(rhos.max()))
    yield Held(what, "delta", float(to_approx(price.loss).delta), worst_delta(price, moved, squares))


LOOKED_AT = 4
"""The moves of several lengths and divisors that the delta is enumerated for."""


def worst_delta(price: Any, moved: Floats, squares: Floats) -> float:
    """The largest delta of noise with 1 / (2 variance) = squares, over the longest of different moves."""
    rhos = moved.astype(np.float64) ** 2 @ squares
    several: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
    for at in np.argsort(-rhos, kind="stable"):
        kept = (moved[at] != 0) & (squares > 0)
        steps, rates = np.abs(moved[at][kept]).astype(np.int64), squares[kept]
        order = np.lexsort((rates, steps))
        told_by = (*steps[order].tolist(), *(1e12 * rates[order] / squares.max()).round().astype(np.int64).tolist())
        several.setdefault(told_by, (steps[order], rates[order]))
        if len(several) == LOOKED_AT:
            break
    epsilon = float(to_approx(price.loss).epsilon)
    return max((delta_of_noise(steps, rates, epsilon) for steps, rates in several.values()), default=0.0)


def delta_of_noise(steps: Any, rates: Floats, epsilon: float) -> float:
    """Of a vector with independent noise: the sum over all losses of what the one law exceeds e**epsilon times the
    other by. The loss of step s at noise z is rate (2 s z + s**2), whole multiples of one unit beside a constant."""
    if not rates.size:
        return 0.0
    units = (float(rates.min()) / weight**2 for weight in range(1, 100))  # rates go by the squares of whole weights
    least = next(one for one in units if np.allclose(np.rint(rates / one) * one, rates, rtol=1e-9))
    times = np.rint(rates / least).astype(np.int64)
    chances, start = np.ones(1), 0
    for step, time in zip(steps.tolist(), times.tolist(), strict=True):
        rate = time * least
        reach = math.ceil(5.5 / math.sqrt(rate)) + 3
        z = np.arange(-reach, reach + 1)
        law = np.exp(-rate * z.astype(np.float64) ** 2)
        spread = np.zeros(2 * reach * step * time + 1)
        spread[:: step * time] = law / law.sum()
        chances, start = convolved(chances, spread), start - reach * step * time
    places = start + np.arange(chances.size, dtype=np.float64)
    losses = least * (2 * places + float((times * steps**2).sum()))
    held = losses > epsilon
    return float((chances[held] * -np.expm1(epsilon - losses[held])).sum())


def convolved(one: Floats, other: Floats) -> Floats:
    """Off by about 10**-16 in a chance, which is nothing beside a delta of 10**-3."""
    if min(one.size, other.size) < 64:
        return np.convolve(one, other)
    found: Floats = np.maximum(0.0, fftconvolve(one, other))
    return found


def renyi_price(what: str, price: Any, rho: float) -> Iterator[Held]:
    """rho, and the epsilon that one Rényi order proves of it."""
    yield Held(what, "L2", float(price.zcdp_steps.rho), rho)
    loss = to_approx(price.loss)
    log = math.log(1 / float(loss.delta))
    orders = 1 + np.exp(np.linspace(-6, 20, 20_000))
    needed = orders * rho + (log - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)
    yield Held(what, "L2 as epsilon", float(loss.epsilon) + 1e-6, float(needed.min()))


def rate_of(noise: Any) -> float:
    """What one step of a count costs with the noise of counts."""
    if noise.finite is None:
        return float(noise.exponent)
    return math.log(noise.finite.p / noise.finite.q)


def dense(chance: random.Random) -> Iterator[Held]:
    bins = chance.randint(1, 5)
    limits = random_limits(chance, bins)
    kind = chance.choice(("exp", "exp", "gaussian", "gaussian", "tight", "paper"))
    given: dict[str, Any] = {"delta": "1e-3"} if kind == "gaussian" else {}
    if kind in ("tight", "paper"):
        given = {"cap": 9, "sampler": chance.choice(("auto", "geosample", "fastsample"))}
    made = dv.Dense(epsilon_of(chance), base=kind, **given)
    bound: Any = made.bind(Question.of(bins_of(bins)), limits.unit())
    moved, noise = moves(limits, bins), bound.noise.law
    if kind == "gaussian":
        squares = np.full(bins, 1 / (2 * float(noise.variance)))
        yield from linear(told(made, limits, bins), bound, None, squares, moved)
    else:
        yield from linear(told(made, limits, bins), bound, np.full(bins, rate_of(noise)), None, moved)


def pure_sparse(chance: random.Random) -> Iterator[Held]:
    bins = chance.randint(5, 6)  # it asks for more bins than can be shown
    limits = random_limits(chance, bins)
    kind = chance.choice(("exp", "tight", "paper"))
    made = dv.PureSparse(epsilon_of(chance), base=kind, cap=chance.randint(1, 2))
    bound: Any = made.bind(Question.of(bins_of(bins)), limits.unit())
    rates = np.full(bins, rate_of(bound.noise.law))
    yield from linear(told(made, limits, bins), bound, rates, None, moves(limits, bins))


def sample_category(chance: random.Random) -> Iterator[Held]:
    bins = chance.randint(2, 5)
    limits = random_limits(chance, bins)
    made = dv.SampleCategory(epsilon_of(chance), draws=chance.choice(("many", "one")))
    bound: Any = made.bind(Question.records([bins_of(bins)]), limits.unit())
    rates = np.full(bins, float(bound.exponent))
    yield from linear(told(made, limits, bins), bound, rates, None, moves(limits, bins))


@lru_cache(maxsize=512)
def tree_rows(bins: int, branching: int) -> tuple[tuple[int, ...], Floats]:
    """For every node of a tree its height, and which leaves it adds up."""
    heights, rows, width, height = [], [], 1, 0
    while True:
        for first in range(0, bins, width):
            heights.append(height)
            rows.append([1 if first <= leaf < first + width else 0 for leaf in range(bins)])
        if width >= bins:
            return tuple(heights), np.array(rows, dtype=np.float64)
        width, height = width * branching, height + 1


def tree(chance: random.Random) -> Iterator[Held]:
    bins, branching = chance.randint(1, 8), chance.choice((2, 2, 3, 4))
    limits = random_limits(chance, bins, rows=0.1, swapped=0.7)
    heights, rows = tree_rows(bins, branching)
    levels = [chance.choice((0, 1, 1, 2, 3, 10)) for _ in range(heights[-1] + 1)]
    levels = levels if any(levels) else [1] * len(levels)
    public = limits.row and limits.swapped and chance.random() < 0.5
    given: dict[str, Any] = {
        "branching": branching,
        "levels": ",".join(map(str, levels)),
        "padding": chance.choice(("free", "pinned")),
        "root": "public" if public else "asked",
    }
    exact = chance.random() < 0.4
    if not exact:
        given |= {"base": "gaussian", "delta": "1e-3"}
    made = dv.Tree(epsilon_of(chance), **given)
    bound: Any = made.bind(Question.of(bins_of(bins)), limits.unit())
    if bound.law.amount is None:
        return
    moved = moves(limits, bins)
    if public:  # every row has a bin
        moved = moved[moved.sum(axis=1) == 0]
        levels[-1] = 0
    weights = np.array([levels[height] for height in heights], dtype=np.float64)
    through = moved @ rows.T
    what = told(made, limits, bins)
    if exact:
        yield from linear(what, bound, float(bound.law.step) * weights, None, through)
    else:
        yield from linear(what, bound, None, weights**2 / (2 * float(bound.law.variance)), through)


def queries(chance: random.Random) -> Iterator[Held]:
    bins = chance.randint(1, 5)
    limits = random_limits(chance, bins)
    asked = {
        f"q{at}": sorted(chance.sample(range(bins), chance.randint(1, bins))) for at in range(chance.randint(1, 5))
    }
    made = dv.Queries(epsilon_of(chance), asked)
    bound: Any = made.bind(Question.of(bins_of(bins)), limits.unit())
    rows = np.array([[int(bin in some) for bin in range(bins)] for some in asked.values()])
    rates = np.full(len(rows), rate_of(bound.noise.law))
    yield from linear(told(made, limits, bins), bound, rates, None, moves(limits, bins) @ rows.T)


def marginals(chance: random.Random) -> Iterator[Held]:
    sizes = chance.choice(((2, 2), (2, 3), (2, 1), (2, 2, 2), (1, 3), (3, 2)))
    bins, names = math.prod(sizes), "abc"[: len(sizes)]
    limits = random_limits(chance, bins, swapped=0.6)
    weights: dict[tuple[str, ...], int] = {
        some: chance.choice((0, 1, 1, 2, 5)) for size in range(3) for some in itertools.combinations(names, size)
    }
    ways = chance.randint(1, 2)
    public = limits.row and limits.swapped and chance.random() < 0.5
    if public:
        weights[()] = 0
    if not any(weights.values()):
        return
    given: dict[str, Any] = {"ways": ways, "weights": weights, "total": "public" if public else "fitted"}
    exact = chance.random() < 0.4
    if not exact:
        given |= {"base": "gaussian", "delta": "1e-3"}
    made = dv.Marginals(epsilon_of(chance), **given)
    domain = dv.Domain.product(*(bins_of(size, name) for size, name in zip(sizes, names, strict=True)))
    bound: Any = made.bind(Question.of(domain), limits.unit())
    rows, scale = [], []
    labels = list(itertools.product(*(range(size) for size in sizes)))
    for size in range(len(sizes) + 1):
        for some in itertools.combinations(range(len(sizes)), size):
            weight = weights.get(tuple(names[at] for at in some), 1 if size == ways else 0)
            for cell in itertools.product(*(range(sizes[at]) for at in some)):
                rows.append([int(tuple(label[at] for at in some) == cell) for label in labels])
                scale.append(weight)
    moved, weigh = moves(limits, bins), np.array(scale, dtype=np.float64)
    if public:
        moved = moved[moved.sum(axis=1) == 0]
    through, what = moved @ np.array(rows, dtype=np.float64).T, told(made, limits, bins)
    if exact:
        yield from linear(what, bound, float(bound.law.step) * weigh, None, through)
    else:
        yield from linear(what, bound, None, weigh**2 / (2 * float(bound.law.amount)), through)


def sorted_counts(chance: random.Random) -> Iterator[Held]:
    bins = chance.randint(1, 5)
    limits = random_limits(chance, bins)
    ranks = chance.choice((None, chance.randint(1, bins)))
    made = dv.Sorted(epsilon_of(chance), ranks)
    bound: Any = made.bind(Question.of(bins_of(bins)), limits.unit())
    before, after = pairs(limits, bins)
    kept = bins if ranks is None else ranks
    true = 0.0
    for others in [*(np.array([chance.randint(0, 3) for _ in range(bins)]) for _ in range(4)), np.zeros(bins), None]:
        base = np.arange(bins) * 9 if others is None else others
        one, other = (np.sort(base + some, axis=1)[:, bins - kept :] for some in (before, after))
        true = max(true, float(np.abs(one - other).sum(axis=1).max()))
    rate = rate_of(bound.noise.law)
    yield Held(told(made, limits, bins), "L1", float(to_approx(bound.price.loss).epsilon), true * rate)


def compact(chance: random.Random) -> Iterator[Held]:
    """Every record costs the odds of one that is replaced, or that comes in place of one that is made up."""
    bins = chance.randint(2, 5)
    limits = random_limits(chance, bins)
    made = dv.Compact(chance.choice(("1", "2", "3")), cap=None if limits.n else chance.randint(1, 6))
    bound: Any = made.bind(Question.of(bins_of(bins)), limits.unit())
    moved = moves(limits, bins)
    replaced = int(np.maximum(np.maximum(moved, 0).sum(axis=1), np.maximum(-moved, 0).sum(axis=1)).max())
    part, quotient = bound.design.part, bound.design.quotient
    each = 2 * math.log(part.p / part.q) + math.log1p(1 / quotient)
    yield Held(told(made, limits, bins), "L1", float(to_approx(bound.price.loss).epsilon), replaced * each)


# ---------------------------------------------------------------- counts and sums of bins, by themselves


@dataclass(frozen=True)
class Sums:
    """A random question for counts or for sums in whole steps, and what one unit contributes before and after."""

    question: Question
    limits: Limits
    bins: int
    signed: bool
    before: NDArray[np.int64]
    after: NDArray[np.int64]


def sums(chance: random.Random, *, keys: bool, most: int = 4) -> Sums:
    bins = chance.randint(1, most)
    limits = random_limits(chance, bins)
    while len(contributions(limits, bins)) > 40:
        limits = random_limits(chance, bins)
    if chance.random() < 0.5:
        domain = dv.Domain.keys(column="x") if keys and limits.bins is not None else bins_of(bins)
        before, after = pairs(limits, bins)
        return Sums(Question.of(domain), limits, bins, False, before, after)
    low, high = sorted((chance.randint(-3, 2), chance.randint(-2, 4)))
    high += low == high
    domain = dv.Domain.keys(column="x") if keys and limits.bins is not None else bins_of(bins)
    question = Question.sum("pay", by=domain, low=low, high=high, step=1)
    alone = valued(contributions(limits, bins), low, high, chance)
    alone = alone[np.array(sorted(chance.sample(range(len(alone)), min(len(alone), 60))), dtype=np.int64)]
    ends = [vector * end for vector in contributions(limits, bins)[-6:] for end in (low, high)]
    alone = np.unique(np.vstack((alone, *[end[None] for end in ends], np.zeros((1, bins), dtype=np.int64))), axis=0)
    if limits.swapped:
        one, other = np.divmod(np.arange(len(alone) ** 2), len(alone))
        return Sums(question, limits, bins, low < 0, alone[one], alone[other])
    nothing = np.zeros_like(alone)
    return Sums(question, limits, bins, low < 0, np.vstack((alone, nothing)), np.vstack((nothing, alone)))


def separate(found: Sums, loss: Callable[[int, int], float]) -> float:
    """The worst sum over bins of what one bin costs, which the others' records may make as large as they can."""
    values = np.unique(np.concatenate((found.before, found.after), axis=None))
    table = np.array([[loss(int(one), int(other)) for other in values] for one in values])
    places = [np.searchsorted(values, some) for some in (found.before, found.after)]
    return float(table[places[0], places[1]].sum(axis=1).max())


def max_projection(chance: random.Random) -> Iterator[Held]:
    found = sums(chance, keys=True)
    made = dv.MaxProjection(epsilon_of(chance), cap=20, keys=4)
    bound: Any = made.bind(found.question, found.limits.unit())
    true = float(bound.exponent) * separate(found, lambda one, other: abs(one - other))
    yield Held(told(made, found.limits, found.bins), "L1", float(to_approx(bound.price.loss).epsilon), true)


# ---------------------------------------------------------------- sketches


def levels(plan: Any, value: int) -> list[tuple[int, int, float]]:
    """How many bits a value sets: the half, the number and its chance, by the definition of each encoding."""
    half, size = 0, float(abs(value))
    kind = type(plan).__name__
    if kind == "SignedPlan":
        middle, worth = plan.columns, float(plan.worth)
        place = min(max(middle + value * worth, 0), 2 * middle)
        low = math.floor(place)
        return [(0, low, 1 - (place - low)), (0, low + 1, place - low)]
    if value < 0:
        half = 1
    if kind == "LogPlan":
        table = [float(rung) / float(1 << 16) for rung in plan.rungs.table]
        place = next((at for at in range(1, len(table)) if table[at] > size), len(table)) - 1
        if place + 1 >= len(table):
            return [(half, plan.columns, 1.0)]
        part = (size - table[place]) / (table[place + 1] - table[place])
        return [(half, place, 1 - part), (half, place + 1, part)]
    place = min(size * float(plan.worth), float(plan.columns))
    low = math.floor(place)
    return [(half, low, 1 - (place - low)), (half, low + 1, place - low)]


def bit_loss(plan: Any, one: int, other: int) -> float:
    """The log of the largest ratio of the chances of a number's bits, where nobody else sets any of them.

    Bits that both set, or neither, say nothing. The largest ratio is looked for among strings of ones and then zeros.
    """
    flipped = plan.ones / (1 << plan.places)
    total = 0.0
    for half in (0, 1):
        first, second = ([(n, p) for side, n, p in levels(plan, value) if side == half] for value in (one, other))
        first, second = (some if some else [(0, 1.0)] for some in (first, second))
        numbers = [n for n, p in first + second if p > 0]
        low, high = min(numbers), max(numbers)
        worst = 0.0
        for ones in range(low, high + 1):

            def chance_of(law: list[tuple[int, float]], ones: int = ones, high: int = high) -> float:
                return sum(p * (1 - flipped) ** (high - abs(n - ones)) * flipped ** abs(n - ones) for n, p in law if p)

            worst = max(worst, math.log(chance_of(first) / chance_of(second)))
        total += worst
    return total


def sketch_loss(plan: Any, found: Sums, chance: random.Random) -> float:
    bases = {0, *(chance.randint(-6 if found.signed else 0, 12) for _ in range(4))}
    if not found.signed:
        bases = {abs(base) for base in bases}

    @cache
    def loss(one: int, other: int) -> float:
        return max(bit_loss(plan, base + one, base + other) for base in bases)

    return separate(found, loss)


def encoded(chance: random.Random, found: Sums) -> dict[str, Any]:
    kinds = ["unary", "unary", "log"] if not found.signed else ["unary", "signed"]
    kinds += ["histogram"] if found.question.aggregate.counts else []
    kind = chance.choice(kinds)
    given = {"encoding": kind, "alpha": chance.choice(("1", "3", "1/2"))}
    if kind == "unary" and not found.signed:
        given["accounting"] = chance.choice(("auto", "count-exact", "l1-real"))
    return given


def alp(chance: random.Random) -> Iterator[Held]:
    found = sums(chance, keys=True, most=3)
    made = dv.ALP(chance.choice(("1", "2", "3")), cap=60, keys=4, **encoded(chance, found))
    bound: Any = made.bind(found.question, found.limits.unit())
    true = sketch_loss(bound.plan, found, chance)
    yield Held(told(made, found.limits, found.bins), "ratio of bits", float(to_approx(bound.price.loss).epsilon), true)


# ---------------------------------------------------------------- thresholds with a delta


def shown(value: int, exponent: float, least: int, top: int, *, signed: bool, truncated: bool = False) -> Floats:
    """The law of what is shown of a bin: hidden, every noisy value from `least` to `top`, and all beyond together; then
    the same below 0, where a value is shown on its own side. A bin that is empty is never shown.

    truncated  whether noise is smaller than `least` in size
    """
    decay, size = math.exp(-exponent), abs(value)
    if truncated:
        whole = sum(decay ** abs(z) for z in range(1 - least, least))
        noisy = [decay ** abs(place - size) / whole if abs(place - size) < least else 0.0 for place in range(top + 1)]
        parts = [*noisy[least:], 0.0] if value else [0.0] * (top - least + 2)
        return np.array([max(0.0, 1 - sum(parts)), *parts])
    heights = [(1 - decay) / (1 + decay) * decay ** abs(place - size) for place in range(least, top + 1)]
    parts = [*heights, decay ** (top + 1 - size) / (1 + decay)] if value else [0.0] * (top - least + 2)
    nothing = [0.0] * len(parts)
    if signed:
        parts = [*parts, *nothing] if value > 0 else [*nothing, *parts]
    return np.array([max(0.0, 1 - sum(parts)), *parts])


def excess(one: Floats, other: Floats, odds: float) -> float:
    return float(np.maximum(one - odds * other, 0).sum())


def told_apart(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Two laws with outcomes that say the same of both taken together."""
    used = (one > 0) | (other > 0)
    with np.errstate(divide="ignore"):
        said = np.round(np.log(one[used]) - np.log(other[used]), 10)
    _, places = np.unique(said, return_inverse=True)
    return np.bincount(places, one[used]), np.bincount(places, other[used])


def delta_of(laws: list[tuple[Floats, Floats]], odds: float) -> float:
    """The hockey-stick divergence of products of laws."""
    first, second = np.ones(1), np.ones(1)
    for one, other in laws:
        used = (one > 0) | (other > 0)
        first = np.outer(first, one[used]).ravel()
        second = np.outer(second, other[used]).ravel()
        if len(first) > 40_000:
            return 0.0
    return excess(first, second, odds)


def shown_gaussian(value: int, variance: float, least: int, top: int) -> Floats:
    """The law of what is shown of a bin with Gaussian noise; nothing is beyond `top` that counts."""
    if not value:
        return np.array([1.0, *[0.0] * (top - least + 1)])
    far = math.ceil(9 * math.sqrt(variance)) + 1
    z = np.arange(-far, far + 1)
    weights = np.exp(-(z.astype(np.float64) ** 2) / (2 * variance))
    chances = np.zeros(max(top, value + far) + 1)
    np.add.at(chances, np.maximum(0, value + z), weights / weights.sum())
    return np.array([chances[:least].sum(), *chances[least : top + 1]])


def delta_of_many(laws: list[tuple[Floats, Floats]], odds: float) -> float:
    """The hockey-stick divergence of products of laws, whose outcomes that say the same are put together."""
    first, second = np.ones(1), np.ones(1)
    for one, other in laws:
        first, second = told_apart(np.outer(first, one).ravel(), np.outer(second, other).ravel())
    return excess(first, second, odds)


def worst_excess(
    found: Sums,
    chance: random.Random,
    exponent: float,
    least: int,
    epsilon: float,
    tries: int = 12,
    *,
    truncated: bool = False,
    variance: float | None = None,
) -> float:
    """Among pairs that move the most, with other records that make bins new, gone or just high enough.

    variance  of Gaussian noise, in place of an exponent
    """
    distance = np.abs(found.before - found.after).sum(axis=1)
    touched = (found.before != found.after).sum(axis=1)
    order = np.argsort(-(distance * 100 + touched), kind="stable")[:6]
    order = np.concatenate((order, np.argsort(-(touched * 100 + distance), kind="stable")[:6]))
    order = np.concatenate((order, np.array([chance.randrange(len(distance)) for _ in range(4)])))
    odds, worst = math.exp(epsilon), 0.0
    for at in dict.fromkeys(order.tolist()):
        x, y = found.before[at].tolist(), found.after[at].tolist()
        for turn in range(tries // 4):
            laws = []
            for one, other in zip(x, y, strict=True):
                if one == other:
                    continue
                choices = [0] if turn == 0 else [0, -one, -other, least, 2 * least]
                base = chance.choice(choices)
                base = base if found.signed else max(0, base)
                ends = base + one, base + other
                top = max(least, *map(abs, ends)) + 1  # beyond it the ratio of both laws no longer moves
                top += least if truncated else 0
                if variance is not None:
                    top += math.ceil(9 * math.sqrt(variance))
                    first, second = (shown_gaussian(end, variance, least, top) for end in ends)
                else:
                    first, second = (
                        shown(end, exponent, least, top, signed=found.signed, truncated=truncated) for end in ends
                    )
                laws.append(told_apart(first, second))
            worst = max(worst, (delta_of if variance is None else delta_of_many)(laws, odds))
    return worst


def behind_gaussian(what: str, found: Sums, chance: random.Random, bound: Any) -> Iterator[Held]:
    """A threshold behind Gaussian noise, at its price."""
    loss, noise = to_approx(bound.price.loss), bound.found
    variance = float(noise.variance)
    true = worst_excess(found, chance, 0.0, noise.threshold, float(loss.epsilon), variance=variance)
    yield Held(what, "delta", float(loss.delta), true)
    longest = int(((found.before - found.after) ** 2).sum(axis=1).max())
    yield Held(what, "L2", float(noise.rho), longest / (2 * variance))
    own = longest / (2 * variance)
    yield Held(what, "booked", float(booked("zcdp", loss, bound.price.zcdp_steps)["rho"]), min(own, of_pure(loss)))


def of_pure(loss: Any) -> float:
    """The rho of any answer at this price, but for its delta."""
    epsilon = float(loss.epsilon)
    return epsilon * math.tanh(epsilon / 2)


def threshold(chance: random.Random) -> Iterator[Held]:
    found = sums(chance, keys=True, most=3)
    delta = chance.choice((None, "1e-2", "1e-1", "1/4"))
    given: Any = {"base": "gaussian"} if delta and not found.signed and chance.random() < 0.4 else {}
    made = dv.Threshold(chance.choice(("1", "2", "3", "5")), delta=delta, **given)
    if delta is None and not found.question.domain.declared:
        return
    bound: Any = made.bind(found.question, found.limits.unit())
    what = told(made, found.limits, found.bins)
    if given:
        yield from behind_gaussian(what, found, chance, bound)
        return
    cut = bound.cut
    yield from behind(what, found, chance, cut, bound.price.loss, truncated=bound.truncated)


def behind(
    what: str,
    found: Sums,
    chance: random.Random,
    cut: Any,
    loss: Any,
    share: Fraction | None = None,
    *,
    truncated: bool = False,
) -> Iterator[Held]:
    """A threshold at a price, or at its share of one."""
    priced = to_approx(loss)
    epsilon = float(priced.epsilon if share is None else share)
    distance = separate(found, lambda one, other: abs(one - other))
    yield Held(what, "L1", epsilon, distance * float(cut.exponent))
    if not cut.certain:
        true = worst_excess(found, chance, float(cut.exponent), cut.least, epsilon, truncated=truncated)
        yield Held(what, "delta", float(priced.delta), true)


def stability(chance: random.Random) -> Iterator[Held]:
    bins = chance.randint(1, 3)
    limits = random_limits(chance, bins)
    while len(contributions(limits, bins)) > 40:
        limits = random_limits(chance, bins)
    base: Any = chance.choice(("exp", "exp", "gaussian"))
    made = dv.Stability(chance.choice(("1", "2", "3", "5")), chance.choice(("1e-2", "1e-1", "1/4")), base=base)
    domain = dv.Domain.keys(column="x") if limits.bins is not None else bins_of(bins)
    bound: Any = made.bind(Question.of(domain), limits.unit())
    before, after = pairs(limits, bins)
    found = Sums(Question.of(domain), limits, bins, False, before, after)
    what = told(made, limits, bins)
    if base == "gaussian":
        yield from behind_gaussian(what, found, chance, bound)
        return
    rate, loss = rate_of(bound.noise.law), to_approx(bound.price.loss)
    distance = separate(found, lambda one, other: abs(one - other))
    yield Held(what, "L1", float(loss.epsilon), distance * rate)
    truncated, epsilon = bound.reach is not None, float(loss.epsilon)
    true = worst_excess(found, chance, rate, bound.threshold + 1, epsilon, truncated=truncated)
    yield Held(what, "delta", float(loss.delta), true)
    books = float(booked("zcdp", bound.price.loss, bound.price.zcdp_steps)["rho"])
    yield Held(what, "mean loss", books, min(of_pure(loss), worst_mean_loss(np.full(bins, rate), before - after)))


def threshold_alp(chance: random.Random) -> Iterator[Held]:
    found = sums(chance, keys=False, most=3)
    given = encoded(chance, found)
    made = dv.ThresholdALP(chance.choice(("2", "3")), keys=4, delta=chance.choice((None, "1e-2", "1e-1")), **given)
    bound: Any = made.bind(found.question, found.limits.unit())
    what, loss = told(made, found.limits, found.bins), bound.price.loss
    distance = separate(found, lambda one, other: abs(one - other))
    first = distance * float(bound.cut.exponent)
    second = sketch_loss(bound.plan, found, chance)
    yield Held(what, "both parts", float(to_approx(loss).epsilon), first + second)
    yield from behind(what, found, chance, bound.cut, loss, made.first)


def threshold_max_projection(chance: random.Random) -> Iterator[Held]:
    found = sums(chance, keys=False, most=3)
    made = dv.ThresholdMaxProjection(epsilon_of(chance), keys=4, delta=chance.choice((None, "1e-2", "1e-1")))
    bound: Any = made.bind(found.question, found.limits.unit())
    what, loss = told(made, found.limits, found.bins), bound.price.loss
    distance = separate(found, lambda one, other: abs(one - other))
    both = distance * (float(bound.cut.exponent) + float(bound.exponent))
    yield Held(what, "both parts", float(to_approx(loss).epsilon), both)
    yield from behind(what, found, chance, bound.cut, loss, made.first)


# ---------------------------------------------------------------- lists


def list_pairs(
    chance: random.Random, limits: Limits, bins: int, many: int
) -> list[tuple[ranking.Counts, ranking.Counts]]:
    """Neighbours: those that move the most, and others, beside few records of others."""
    before, after = pairs(limits, bins)
    distance = np.abs(before - after).sum(axis=1)
    far = np.flatnonzero(distance == distance.max())
    found = []
    for turn in range(many):
        at = int(chance.choice(far.tolist())) if turn % 3 else chance.randrange(len(before))
        others = [chance.randint(0, 2) for _ in range(bins)]
        found.append((tuple((before[at] + others).tolist()), tuple((after[at] + others).tolist())))
    return found


def contest_law(bound: Any, k: int, counts: ranking.Counts) -> ranking.Law:
    rows = bound.rule.rows(ranking.statistic(counts, bound.rows), bound.rows)
    contest = bound.rule.contest(rows, bound.rows, bound.step_price.delta)
    return ranking.law_of(contest, k, math.exp(bound.rate))


def lists_limits(chance: random.Random, bins: int) -> Limits:
    while True:
        limits = random_limits(chance, bins)
        if limits.records is None and len(contributions(limits, bins)) <= 60:
            return limits


def top_k(chance: random.Random) -> Iterator[Held]:
    bins = chance.randint(2, 3)
    limits = lists_limits(chance, bins)
    kbar = chance.randint(1, bins)
    k = chance.randint(1, kbar)
    rule = chance.choice(("positive", "strict", "paper"))
    made = dv.TopK(
        k,
        kbar,
        chance.choice(("1", "2", "4")),
        chance.choice(("1e-2", "1e-1")),
        domain_rule=rule,
        ties=chance.choice(("label", "unknown")),
        accounting=chance.choice(("safe", "zcdp")),
    )
    bound: Any = made.bind(Question.of(bins_of(bins)), limits.unit())
    loss, what = to_approx(bound.price.loss), told(made, limits, bins)
    odds, true, worst = math.exp(float(loss.epsilon)), 0.0, 0.0
    for one, other in list_pairs(chance, limits, bins, 8):
        laws = contest_law(bound, k, one), contest_law(bound, k, other)
        true = max(true, float(ranking.hockey_stick(*laws, odds)))
        if not loss.delta:
            worst = max(worst, max(math.log(p / laws[1][answer]) for answer, p in laws[0].items()))
    if loss.delta:
        yield Held(what, "delta", float(loss.delta), true)
    else:
        yield Held(what, "ratio of lists", float(loss.epsilon), worst)
    if isinstance(steps := bound.price.zcdp_steps, RangeBounded):
        yield Held(what, "range", float(steps.epsilon), range_of(bound.rate, limits, bins))


def range_of(rate: Fraction, limits: Limits, bins: int) -> float:
    """The length of the interval of one symbol's log ratios: how far counts move up beside how far they move down."""
    moved = moves(limits, bins)
    return float(rate) * float((np.maximum(moved.max(axis=1), 0) - np.minimum(moved.min(axis=1), 0)).max())


def exponential_top_k(chance: random.Random) -> Iterator[Held]:
    bins = chance.randint(2, 4)
    limits = random_limits(chance, bins)
    k = chance.randint(1, min(bins, 3))
    made = dv.ExponentialTopK(k, epsilon_of(chance), chance.choice((0, 0, "1e-2")))
    bound: Any = made.bind(Question.of(bins_of(bins)), limits.unit())
    base, loss, what = math.exp(bound.rate), to_approx(bound.price.loss), told(made, limits, bins)
    true, ratio = 0.0, 0.0
    for one, other in list_pairs(chance, limits, bins, 10):
        laws = [ranking.peeled({at: base**count for at, count in enumerate(counts)}, k) for counts in (one, other)]
        true = max(true, float(ranking.hockey_stick(*laws, math.exp(float(loss.epsilon)))))
        ratio = max(ratio, max(math.log(p / laws[1][answer]) for answer, p in laws[0].items()))
    if loss.delta:
        yield Held(what, "delta", float(loss.delta), true)
    else:
        yield Held(what, "ratio of lists", float(loss.epsilon), ratio)
    yield Held(what, "range", float(bound.price.zcdp_steps.epsilon), range_of(bound.rate, limits, bins))


def set_law(bound: Any, counts: ranking.Counts) -> ranking.Law:
    """Coins of the items above the next count, by the definition."""
    k, rate, gap, delta = bound.rows, float(bound.rate), bound.rule.gap, float(bound.step_price.delta)
    order = ranking.order(counts)
    following = sorted(counts)[::-1][k] if len(counts) > k else 0
    law: ranking.Law = {(): 1.0}
    for item in sorted(order[:k]):
        above = counts[item] - following
        if above < 1:
            continue
        x = delta * math.exp(rate * (above - gap))
        heads = x if x <= 0.5 else 1 - 1 / (4 * x)
        law = {(*answer, *more): p * q for answer, p in law.items() for more, q in (((item,), heads), ((), 1 - heads))}
    return law


def top_k_set(chance: random.Random) -> Iterator[Held]:
    bins = chance.randint(2, 4)
    limits = random_limits(chance, bins)
    k = chance.randint(1, bins)
    made = dv.TopKSet(k, chance.choice(("1", "2", "4")), chance.choice(("1e-2", "1e-1")))
    bound: Any = made.bind(Question.of(bins_of(bins)), limits.unit())
    loss = to_approx(bound.price.loss)
    true = max(
        float(ranking.hockey_stick(set_law(bound, one), set_law(bound, other), math.exp(float(loss.epsilon))))
        for one, other in list_pairs(chance, limits, bins, 12)
    )
    yield Held(told(made, limits, bins), "delta", float(loss.delta), true)


def laplace_law(bound: Any, counts: ranking.Counts, far: int) -> dict[tuple[tuple[int, int], ...], float]:
    """Noisy counts of one or two items above a noisy threshold, noise beyond `far` left out."""
    decay, rows = math.exp(-float(bound.rate)), bound.rows
    order = [item for item in ranking.order(counts) if counts[item]][:rows]
    above = [counts[item] for item in ranking.order(counts)]
    following = above[rows] if len(above) > rows else 0
    bottom = following + bound.rule.gap + bound.offset
    noise = np.arange(-far, far + 1)
    chances = (1 - decay) / (1 + decay) * decay ** np.abs(noise)
    found: dict[tuple[tuple[int, int], ...], float] = {}
    reached = np.cumsum(chances)
    tops = bottom + noise
    for values in itertools.product(*(noise + counts[item] for item in order)):
        weight = math.prod(chances[value - counts[item] + far] for value, item in zip(values, order, strict=True))
        ranked = sorted((-value, item) for value, item in zip(values, order, strict=True))
        # the threshold lies between two of the values: as many are listed as are above it
        places = [min(max(-value - 1 - int(tops[0]), -1), 2 * far) for value, _ in ranked]
        below = [reached[place] if place >= 0 else 0.0 for place in places]
        for listed in range(len(ranked) + 1):
            share = (1.0 if listed == 0 else below[listed - 1]) - (below[listed] if listed < len(ranked) else 0.0)
            answer = tuple(ranked[: min(listed, bound.max_items)]) + (((0, -1),) if listed < bound.max_items else ())
            if share > 0:
                found[answer] = found.get(answer, 0.0) + weight * share
    return found


def top_k_laplace(chance: random.Random) -> Iterator[Held]:
    bins = 2
    limits = lists_limits(chance, bins)
    kbar = chance.randint(1, 2)
    if limits.bins is None or limits.bins > kbar:
        return
    made = dv.TopKLaplace(chance.randint(1, kbar), kbar, chance.choice(("3", "5")), chance.choice(("1e-2", "1e-1")))
    bound: Any = made.bind(Question.of(bins_of(bins)), limits.unit())
    far = math.ceil(14 / float(bound.rate))
    if far > 40:
        return
    loss = to_approx(bound.price.loss)
    true = 0.0
    for one, other in list_pairs(chance, limits, bins, 3):
        laws = laplace_law(bound, one, far), laplace_law(bound, other, far)
        # values that one law reaches and the other does not, for the cut, are left out: a bound from below
        common = {answer: p for answer, p in laws[0].items() if answer in laws[1] or answer_far(answer, other, far)}
        true = max(true, float(ranking.hockey_stick(common, laws[1], math.exp(float(loss.epsilon)))))
    yield Held(told(made, limits, bins), "delta", float(loss.delta), true)


def answer_far(answer: tuple[tuple[int, int], ...], counts: ranking.Counts, far: int) -> bool:
    """Whether an answer cannot come from these counts for another reason than that noise was cut off."""
    return all(item < 0 or abs(-value - counts[item]) <= far - 2 for value, item in answer)


# ---------------------------------------------------------------- records


def columns_of(number: int) -> Question:
    return Question.records([dv.Domain.integers(0, 1, column=f"b{at}") for at in range(number)])


def row_limits(chance: random.Random, least: int = 3, most: int = 12) -> Limits:
    swapped = chance.random() < 0.5
    return Limits(True, swapped, n=chance.randint(least, most) if swapped else None)


def sample_bounded(chance: random.Random) -> Iterator[Held]:
    """Coins of single columns, and of all columns together where there is a delta."""
    number, level = chance.randint(1, 4), chance.choice((Fraction(1, 4), Fraction(1, 5), Fraction(1, 10)))
    limits = row_limits(chance)
    made = dv.SampleBounded(
        chance.choice(("8", "20")), level=level, delta=chance.choice((0, 0, "1e-2")), accounting="exact"
    )
    bound: Any = made.bind(columns_of(number), limits.unit())
    loss, what = to_approx(bound.price.loss), told(made, limits, number)

    def chance_of(ones: int, rows: int) -> float:
        made_up = 0 if limits.swapped else max(0, bound.records - rows)
        every = rows + made_up
        share = Fraction(2 * ones + made_up, 2 * every)
        return float(min(max(share, level), 1 - level))

    if limits.swapped:
        assert limits.n is not None
        around = [((ones, limits.n), (ones + 1, limits.n)) for ones in range(limits.n)]
    else:
        rows = range(bound.records + 3)
        around = [((ones, many), (ones + new, many + 1)) for many in rows for ones in range(many + 1) for new in (0, 1)]
    around = [pair for pair in around if pair[0][1] or not limits.swapped]
    steps = {(chance_of(*one), chance_of(*other)) for one, other in around if one[1] or bound.records}
    steps |= {(other, one) for one, other in steps}
    true = max(max(math.log(a / b), math.log((1 - a) / (1 - b))) for a, b in steps)
    if not loss.delta:
        yield Held(what, "ratio of coins", float(loss.epsilon), number * true)
    else:
        for a, b in chance.sample(sorted(steps), min(6, len(steps))):
            coins = [(np.array([a, 1 - a]), np.array([b, 1 - b]))] * number
            yield Held(what, "delta", float(loss.delta), delta_of(coins, math.exp(float(loss.epsilon))))
    logits = max(abs(math.log(a / (1 - a)) - math.log(b / (1 - b))) for a, b in steps)
    yield Held(what, "range", float(bound.price.zcdp_steps.epsilon), logits)


def sample_product(chance: random.Random) -> Iterator[Held]:
    """The noise on sums of rows of bits, of which one is replaced: in L2, whatever the norm that rows are cut to."""
    number = chance.randint(1, 6)
    limits = row_limits(chance, 20, 60)
    given = {} if limits.swapped else {"rows": chance.randint(20, 60)}
    made = dv.SampleProduct(epsilon_of(chance), "1e-3", noise=chance.choice(("repaired", "paper", "tight")), **given)
    bound: Any = made.bind(columns_of(number), limits.unit())
    plan = bound.plan
    rows = np.array(list(itertools.product((0, 1), repeat=number)), dtype=np.float64)
    worst = 0.0
    for at in range(1, plan.rounds + 2):
        cut = float(plan.cut(at, number))
        norms = np.maximum(np.sqrt((rows**2).sum(axis=1)), 1e-300)
        kept = rows * np.minimum(1, math.sqrt(cut) / norms)[:, None]
        apart = ((kept[:, None, :] - kept[None, :, :]) ** 2).sum(axis=2).max()
        worst = max(worst, float(apart) * plan.grid**2 / (2 * float(plan.variance(plan.cut(at, number), number))))
    yield from renyi_price(told(made, limits, number), bound.price, worst)


def randomised_record(chance: random.Random) -> Iterator[Held]:
    """The chance of each label, from the definition of the answer."""
    bins = chance.randint(2, 4)
    limits = random_limits(chance, bins, rows=0.5)
    if limits.swapped and not limits.row:
        limits = Limits(False, False, limits.bins, limits.each, limits.records)
    made = dv.RandomisedRecord(epsilon_of(chance))
    bound: Any = made.bind(Question.records([bins_of(bins)]), limits.unit())
    law, true = bound.law, 0.0
    before, after = pairs(limits, bins)

    def chances(counts: NDArray[Any]) -> Floats:
        total = counts.sum(axis=1, keepdims=True)
        if limits.row and limits.swapped:
            uniform = law.labels / (law.labels + law.records * math.expm1(float(law.epsilon)))
            return (1 - uniform) * counts / np.maximum(total, 1) + uniform / bins
        extra = law.moves / math.expm1(float(law.epsilon))
        found: Floats = (counts + extra) / (total + bins * extra)
        return found

    for turn in range(4):
        others = np.array([chance.randint(0, 4) * (turn > 0) for _ in range(bins)])
        one, other = before + others, after + others
        if limits.row and limits.swapped:
            assert limits.n is not None
            place = chance.randrange(bins)
            others = np.zeros(bins, dtype=np.int64)
            others[place] = limits.n - 1
            kept = (before.sum(axis=1) == 1) & (after.sum(axis=1) == 1)  # every row has a label
            one, other = before[kept] + others, after[kept] + others
        true = max(true, float(np.log(chances(one) / chances(other)).max()))
    yield Held(told(made, limits, bins), "ratio of labels", float(bound.price.epsilon), true)


# ---------------------------------------------------------------- parts


def over_parts(limits: Limits, few: int, parts: int, alone: float, both: float) -> float:
    """The worst over all parts that a unit is in before and after, one by one."""
    every = [set(some) for size in range(few + 1) for some in itertools.combinations(range(parts), size)]
    after = every if limits.swapped else [set()]
    return max(
        sum(
            both if part in old and part in new else alone if part in old or part in new else 0 for part in range(parts)
        )
        for old in every
        for new in after
    )


def over_all_parts(
    limits: Limits, few: int, parts: int, lonely: Limits, bins: int, rows: Floats, weights: Floats, bound: Any
) -> float:
    """The delta of the worst vector over all parts: in some a unit stays, some it leaves, others it enters."""
    variance = float(getattr(bound.each.law, "variance", None) or bound.each.law.noise.variance)
    squares, longest = weights**2 / (2 * variance), []
    for some in (lonely, limits):
        moved = moves(some, bins) @ rows.T
        longest.append(moved[np.argmax(moved.astype(np.float64) ** 2 @ squares)])
    alone, both = longest
    found = 0.0
    for same in range(few + 1) if limits.swapped else (0,):
        others = min(2 * (few - same), parts - same) if limits.swapped else few
        whole = np.concatenate([both] * same + [alone] * others or [alone * 0])
        found = max(found, worst_delta(bound.price, whole[None, :], np.tile(squares, same + others or 1)))
    return found


def groups(chance: random.Random) -> Iterator[Held]:
    """Dense and Tree about each part: what one part costs, by enumeration, over all parts that a unit may be in."""
    bins, parts = chance.randint(2, 4), chance.randint(2, 4)
    limits = random_limits(chance, bins)
    few = 1 if limits.row else chance.randint(1, parts)
    way: Any = chance.choice(("parallel", "parallel", "sequence"))
    kind = chance.choice(("dense", "gaussian", "tree"))
    inner: Any
    if kind == "tree":
        heights, rows = tree_rows(bins, 2)
        levels_ = [chance.choice((1, 2, 3, 10)) for _ in range(heights[-1] + 1)]
        inner = dv.Tree("2", branching=2, levels=",".join(map(str, levels_)), base="gaussian", delta="1e-3")
        weights = np.array([levels_[height] for height in heights], dtype=np.float64)
    else:
        inner = dv.Dense("2", base="gaussian", delta="1e-3") if kind == "gaussian" else dv.Dense("2")
        rows, weights = np.eye(bins), np.ones(bins)
    domain = dv.Partition(bins_of(parts, "part"), None if limits.row else few)
    question = Question(bins_of(bins), by=domain)
    bound: Any = Groups(inner, way).bind(question, limits.unit())
    law = bound.each.law
    lonely = Limits(limits.row, False, limits.bins, limits.each, limits.records)

    def worst(some: Limits) -> float:
        moved = (moves(some, bins) @ rows.T).astype(np.float64)
        if kind == "dense":
            return float((np.abs(moved) * rate_of(law.noise)).sum(axis=1).max())
        variance = float(law.noise.variance if kind == "gaussian" else law.variance)
        return float((moved**2 * weights**2 / (2 * variance)).sum(axis=1).max())

    true = over_parts(limits, few, parts, worst(lonely), worst(limits))
    what = f"{inner!r} {way} over {parts} parts, in {few} of them, {bins} bins, {limits}"
    if kind == "dense":
        yield Held(what, "L1", float(to_approx(bound.price.loss).epsilon), true)
        yield from composed_parts(chance, question, limits, few, parts)
    else:
        yield Held(what, "L2", float(bound.price.zcdp_steps.rho), true)
        yield Held(what, "delta", 1e-3, over_all_parts(limits, few, parts, lonely, bins, rows, weights, bound))


def composed_parts(chance: random.Random, question: Question, limits: Limits, few: int, parts: int) -> Iterator[Held]:
    """The same at the exact composition of the parts: the literal delta of some pairs that move the most."""
    bins, delta = question.bins, Fraction(chance.choice(("1/4", "1/10", "1/100")))
    try:
        bound: Any = Groups(dv.Dense("2"), "exact", delta).bind(question, limits.unit())
    except DpvizError:  # hardly less than the sum
        return
    rate, odds, true = rate_of(bound.law.each.noise), math.exp(to_approx(bound.price.loss).epsilon), 0.0
    alone, both = (
        found[np.argsort(-np.abs(found).sum(axis=1), kind="stable")[:5]]
        for found in (moves(replace(limits, swapped=False, n=None), bins), moves(limits, bins))
    )
    for same in range(few + 1) if limits.swapped else (0,):
        others = min(2 * (few - same), parts - same) if limits.swapped else few
        for turn in range(2):
            rows = [
                found[0 if turn == 0 else chance.randrange(len(found))] for found in [both] * same + [alone] * others
            ]
            laws = [moved_count(rate, abs(int(move))) for row in rows for move in row if move]
            true = max(true, delta_of_many(laws, odds))
    yield Held(
        f"exact composition at {delta} over {parts} parts, in {few}, {bins} bins, {limits}", "delta", float(delta), true
    )


def sub_session_parts(chance: random.Random) -> Iterator[Held]:
    """Every part's balance is spent on counts: what one unit's parts cost together."""
    bins, parts = chance.randint(1, 4), chance.randint(2, 4)
    limits = random_limits(chance, bins, swapped=0)
    few = 1 if limits.row else chance.randint(1, parts)
    domain = dv.Partition(bins_of(parts, "part"), None if limits.row else few)
    made = dv.Parts(domain, epsilon_of(chance))
    price = made.price(limits.unit())
    balance, lost = made.opened(), 0.0
    for _ in range(8):
        asked = dv.Dense(chance.choice(("1/20", "1/10", "1/2", "1")))
        use = made.use(asked, part="0")
        try:
            balance = use.reserve(balance)
        except DpvizError:
            continue
        bound: Any = use.bind(Question.of(bins_of(bins)), limits.unit())
        lost += rate_of(bound.law.noise) * float(np.abs(moves(limits, bins)).sum(axis=1).max())
    what = f"{made!r}, in {few} of {parts} parts, {bins} bins, {limits}"
    yield Held(what, "a part", float(made.epsilon), lost)
    yield Held(what, "L1", float(to_approx(price.loss).epsilon), over_parts(limits, few, parts, lost, lost))


def pay_what_you_get(chance: random.Random) -> Iterator[Held]:
    """Two questions of a sub-session about columns of their own, that one unit counts in at once."""
    bins = 2
    limits = lists_limits(chance, bins)
    ks = chance.choice(((1, 1), (1, 2), (2, 1), (1,), (2,)))
    made = dv.PayWhatYouGet(
        sum(ks),
        len(ks),
        chance.choice(("1", "2", "4")),
        chance.choice(("1e-2", "1e-1")),
        accounting=chance.choice(("safe", "zcdp")),
        domain_rule=chance.choice(("positive", "strict")),
    )
    loss, laws = to_approx(made.price(limits.unit()).loss), []
    bounds: list[Any] = [made.use(k, 2).bind(Question.of(bins_of(bins)), limits.unit()).ranked for k in ks]
    true = 0.0
    for _ in range(5):
        laws = []
        for k, bound in zip(ks, bounds, strict=True):
            one, other = list_pairs(chance, limits, bins, 2)[1]
            laws.append((contest_law(bound, k, one), contest_law(bound, k, other)))
        answers = [sorted(set(first) | set(second)) for first, second in laws]
        coins = [
            tuple(np.array([float(law.get(answer, 0)) for answer in some]) for law in pair)
            for pair, some in zip(laws, answers, strict=True)
        ]
        true = max(true, delta_of(coins, math.exp(float(loss.epsilon))))
    yield Held(f"{made!r}, asked k={ks}, {limits}", "delta", float(loss.delta), true)


def moved_count(rate: float, move: int) -> tuple[Floats, Floats]:
    """A count with two-sided geometric noise, and the same count moved; outcomes of one loss are one."""
    z = np.arange(-int(40 / rate) - move, int(40 / rate) + 2 * move + 1, dtype=np.float64)
    first, second = (np.exp(-rate * np.abs(z - by)) * math.tanh(rate / 2) for by in (0, move))
    losses = np.rint(np.abs(z - move) - np.abs(z)).astype(np.int64) + move
    return np.bincount(losses, first), np.bincount(losses, second)


def batch(chance: random.Random) -> Iterator[Held]:
    """A few lists of counts, of which one unit moves each as it can: the literal delta at the price of the list."""
    bins, many = chance.randint(1, 3), chance.randint(2, 4)
    limits = random_limits(chance, bins)
    epsilons = [Fraction(chance.choice(("1/2", "2/3", "1", "3/2"))) + Fraction(part, 1000) for part in range(many)]
    lines = [(bins_of(bins), dv.Dense(epsilon)) for epsilon in epsilons]
    made = dv.FixedList(lines, chance.choice(("1e-1", "1e-2", "1e-3")))
    price, bounds = to_approx(made.price(limits.unit()).loss), made.bind_lines(limits.unit())
    found = moves(limits, bins)
    longest = found[np.argsort(-np.abs(found).sum(axis=1), kind="stable")]
    true = 0.0
    for turn in range(8):
        laws = []
        for bound in bounds:
            row = longest[0] if turn == 0 else chance.choice(list(longest[:5] if turn < 5 else found))
            laws += [moved_count(rate_of(bound.law.noise), abs(int(move))) for move in row if move]
        true = max(true, delta_of(laws, math.exp(float(price.epsilon))))
    yield Held(f"{made!r} of {epsilons}, {bins} bins, {limits}", "delta", float(made.delta), true)


SEARCHERS: dict[str, tuple[Searcher, int]] = {
    "Dense": (dense, 8),
    "Stability": (stability, 2),
    "PureSparse": (pure_sparse, 2),
    "Compact": (compact, 1),
    "Tree": (tree, 16),
    "TopK": (top_k, 2),
    "TopKLaplace": (top_k_laplace, 1),
    "TopKSet": (top_k_set, 2),
    "ExponentialTopK": (exponential_top_k, 2),
    "Sorted": (sorted_counts, 4),
    "Queries": (queries, 8),
    "Marginals": (marginals, 10),
    "Threshold": (threshold, 3),
    "ALP": (alp, 3),
    "ThresholdALP": (threshold_alp, 2),
    "MaxProjection": (max_projection, 4),
    "ThresholdMaxProjection": (threshold_max_projection, 2),
    "SampleCategory": (sample_category, 3),
    "SampleBounded": (sample_bounded, 3),
    "SampleProduct": (sample_product, 3),
    "RandomisedRecord": (randomised_record, 3),
    "PayWhatYouGet": (pay_what_you_get, 1),
    "Parts": (sub_session_parts, 3),
    "Groups": (groups, 8),
    "FixedList": (batch, 3),
}
"""What looks for a pair above the price of each mechanism, and how often, by its weight. A mechanism whose own test
declares a searcher is not among them; see `searchers`."""

current(SEARCHERS, "SEARCHERS of tests/prices/searchers.py", also=["Groups"])


def searchers() -> dict[str, tuple[Searcher, int]]:
    """Those of the table and those that mechanisms declare in their own tests."""
    return {**SEARCHERS, **{name: samples.searcher for name, samples in declared().items()}}


TURNS = tuple(name for name, (_, weight) in SEARCHERS.items() for _ in range(weight))

TRIES = 50
"""A set that the mechanism refuses is drawn again, so often at most."""


@dataclass
class Search:
    """The findings of a search.

    sets     how many sets were tried, by mechanism and relation
    refused  how many others the mechanism refused
    too_low  prices that some pair is above
    ratios   by mechanism and norm, the least and the most times that a price was what the worst pair costs
    """

    sets: Counter[tuple[str, bool]]
    refused: int
    too_low: list[Held]
    ratios: dict[tuple[str, str], tuple[float, float]]

    @property
    def text(self) -> str:
        """For the table of `make soak`."""
        nearest = [min(low for (other, _), (low, _) in self.ratios.items() if other == name) for name in searchers()]
        far = {key: high for key, (_, high) in self.ratios.items() if key[1] in ("L1", "L2", "both parts")}
        widest = [f"{' '.join(key)} {far[key]:.1f} times" for key in sorted(far, key=lambda key: -far[key])[:4]]
        return (
            f"{sum(self.sets.values()):,} sets ({self.refused:,} others refused), {len(self.too_low)} pairs above the "
            f"price; {sum(low < 1.001 for low in nearest)} of {len(nearest)} prices are met to 0.1 %; most above their "
            f"worst pair: {', '.join(widest)}"
        )


def search(turns: Iterable[int], names: tuple[str, ...] = (), *, stop: bool = False) -> Search:
    """Try one random set for each of these numbers, which draw it.

    names  only the sets of these mechanisms; left out, of all
    stop   at the first price that is too low
    """
    made = Search(Counter(), 0, [], {})
    for name, chance in sets(turns):
        if names and name not in names:
            continue
        found = _accepted(name, chance, made)
        made.sets[name, "swapped=True" in found[0].what] += 1
        for held in found:
            if held.too_low:
                made.too_low.append(held)
            if held.true > 0:
                low, high = made.ratios.get((name, held.norm), (math.inf, 0.0))
                made.ratios[name, held.norm] = min(low, held.ratio), max(high, held.ratio)
        if stop and made.too_low:
            break
    return made


def sets(turns: Iterable[int]) -> Iterator[tuple[str, random.Random]]:
    """The mechanism of each random set, and what draws the set. Mechanisms with a searcher in their own test come
    beside the others, so that a new one moves no set of another."""
    own = {name: samples.searcher for name, samples in declared().items()}
    for turn in turns:
        chance = random.Random(turn)
        yield chance.choice(TURNS), chance
        due = [name for name, (_, weight) in own.items() if turn % (len(TURNS) // weight) == 0]
        yield from ((name, random.Random(f"{name} {turn}")) for name in due)


def _accepted(name: str, chance: random.Random, made: Search) -> list[Held]:
    for _ in range(TRIES):
        try:
            found = list(searchers()[name][0](chance))
        except DpvizError:
            found = []
        if found:
            return found
        made.refused += 1
    raise AssertionError(f"{name} refused {TRIES} sets one after the other")
