"""Prices of disjoint parts, by enumeration: every pair of neighbouring data sets, every output, both relations.

A unit is a set of parts that its rows are in; it counts in the first `c` of them by an order of its own, which stands
for the digest. Each part's answer has a law over a few outputs, given how many units count there. The law of all
answers is their product, also where what is asked of a part hangs on the answers before.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache

import pytest

from dpviz.exact import exp_bounds
from dpviz.privacy.loss import ZCDP, ApproxDP, Loss, PureDP
from dpviz.privacy.parallel import parallel, share
from dpviz.privacy.unit import Relation

PARTS, UNITS = 3, 2
Law = Mapping[int, Fraction]
Data = tuple[frozenset[int], ...]
"""The parts that each unit's rows are in."""
Keep = Callable[[int, frozenset[int]], frozenset[int]]
"""Which parts a unit counts in, by its number and its own rows alone."""

RELATIONS: tuple[Relation, ...] = ("add-remove", "replace-one")


def first(few: int) -> Keep:
    """The first few of its parts, in another order for each unit."""
    return lambda unit, parts: frozenset(sorted(parts, key=lambda part: (part + unit) % PARTS)[:few])


@cache
def geometric(count: int, base: int) -> Law:
    """A clamped two-sided geometric on 0..UNITS: one unit more moves each chance by a factor of `base` at most, and
    that of an end by exactly so much."""
    ratio = Fraction(1, base)
    weight = (1 - ratio) / (1 + ratio)
    inner = {out: weight * ratio ** abs(out - count) for out in range(1, UNITS)}
    low = ratio**count / (1 + ratio)
    return {0: low, **inner, UNITS: 1 - low - sum(inner.values(), Fraction(0))}


def neighbours(relation: Relation) -> Iterator[tuple[Data, Data]]:
    """All ordered pairs of data sets of up to UNITS units that differ in one: it is there or not, or has other rows."""
    rows = [frozenset(parts) for size in range(PARTS + 1) for parts in itertools.combinations(range(PARTS), size)]
    nobody: frozenset[int] = frozenset()
    for other in rows:
        for before, after in itertools.product(rows, repeat=2):
            if relation == "replace-one" or nobody in (before, after):
                yield (before, other), (after, other)


def counts(data: Data, keep: Keep) -> list[int]:
    kept = [keep(unit, parts) for unit, parts in enumerate(data)]
    return [sum(part in parts for parts in kept) for part in range(PARTS)]


def worst_ratio(laws: Callable[[Data], Mapping[tuple[int, ...], Fraction]], relation: Relation) -> Fraction:
    worst = Fraction(0)
    known = cache(laws)
    for before, after in neighbours(relation):
        one, two = known(before), known(after)
        worst = max(worst, *(one[out] / two[out] for out in one))
    return worst


def product(data: Data, keep: Keep, bases: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    found = counts(data, keep)
    law: dict[tuple[int, ...], Fraction] = {}
    for out in itertools.product(range(UNITS + 1), repeat=PARTS):
        chance = Fraction(1)
        for part in range(PARTS):
            chance *= geometric(found[part], bases[part])[out[part]]
        law[out] = chance
    return law


def adaptive(data: Data, keep: Keep, bases: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    """A part is asked at its full price only where the answer about the part before was 0; else twice at half of it,
    the square root of its base: two answers, each of which hangs on the one before."""
    found = counts(data, keep)

    def branch(part: int, before: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        if part == PARTS:
            yield (), Fraction(1)
            return
        if before == 0:
            for out, chance in geometric(found[part], bases[part]).items():
                for rest, more in branch(part + 1, out):
                    yield (out, -1, *rest), chance * more
            return
        half = {4: 2, 16: 4}[bases[part]]
        for (one, p), (two, q) in itertools.product(geometric(found[part], half).items(), repeat=2):
            for rest, more in branch(part + 1, two):
                yield (one, two, *rest), p * q * more

    law: dict[tuple[int, ...], Fraction] = {}
    for out, chance in branch(0, 0):
        law[out] = law.get(out, Fraction(0)) + chance
    return law


BASES = (4, 16, 4)
DOUBLINGS = [PureDP(Fraction(2)), PureDP(Fraction(4)), PureDP(Fraction(2))]
"""The price of each part with ln 2 as its unit: base 4 is 2 of them."""


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("few", [1, 2, 3])
@pytest.mark.parametrize("law", [product, adaptive])
def test_no_pair_exceeds_the_price_of_parts(
    law: Callable[..., dict[tuple[int, ...], Fraction]], few: int, relation: Relation
) -> None:
    price = parallel(DOUBLINGS, few, relation)
    assert isinstance(price, PureDP)
    worst = worst_ratio(lambda data: law(data, first(few), BASES), relation)
    assert worst <= 2 ** int(price.epsilon)
    if relation == "add-remove":
        assert worst == 2 ** int(price.epsilon), "the bound is attained"


def test_the_price_of_a_replacement_is_attained_where_one_unit_has_parts_of_its_own_to_go_to() -> None:
    """Parts of one price, of which a unit moves from some to others: all of them move by its full price."""
    worst = worst_ratio(lambda data: product(data, first(1), (4, 4, 4)), "replace-one")
    price = parallel([PureDP(Fraction(2))] * 3, 1, "replace-one")
    assert isinstance(price, PureDP) and worst == 2 ** int(price.epsilon)


def too_cheap(losses: Sequence[Loss], parts: int, relation: Relation) -> Loss:
    """The twin that charges one part too few, but never none."""
    return parallel(losses, max(1, parts - 1), relation)


def for_one_side(losses: Sequence[Loss], parts: int, relation: Relation) -> Loss:
    """The twin that takes a replacement for a removal."""
    return parallel(losses, parts, "add-remove")


def of_all_alike(losses: Sequence[Loss], parts: int, relation: Relation) -> Loss:
    """The twin that charges the first parts, not the dearest."""
    return parallel(losses[:parts], parts, relation)


@pytest.mark.parametrize(
    ("twin", "few", "relation"),
    [
        (too_cheap, 2, "add-remove"),
        (too_cheap, 3, "add-remove"),
        (for_one_side, 1, "replace-one"),
        (of_all_alike, 1, "add-remove"),
    ],
)
def test_a_rule_that_charges_too_little_is_caught(twin: Callable[..., Loss], few: int, relation: Relation) -> None:
    price = twin(DOUBLINGS, few, relation)
    assert isinstance(price, PureDP)
    assert worst_ratio(lambda data: product(data, first(few), BASES), relation) > 2 ** int(price.epsilon)


def test_parts_that_are_chosen_anew_for_each_question_cost_more() -> None:
    """The twin that salts by question: adaptive questions keep different parts of one unit, and all of them add up."""
    price = parallel([PureDP(Fraction(2))] * PARTS, 1, "add-remove")
    assert isinstance(price, PureDP)

    def law(data: Data) -> dict[tuple[int, ...], Fraction]:
        found = [sum(part in first(1)(unit + part, parts) for unit, parts in enumerate(data)) for part in range(PARTS)]
        return {
            out: geometric(found[0], 4)[out[0]] * geometric(found[1], 4)[out[1]] * geometric(found[2], 4)[out[2]]
            for out in itertools.product(range(UNITS + 1), repeat=PARTS)
        }

    assert worst_ratio(law, "add-remove") > 2 ** int(price.epsilon)


# ---------------------------------------------------------------- with a delta

EPSILON, DELTA = Fraction(7, 10), Fraction(1, 50)
"""e^0.7 is just above 2, the base of the law below."""


def leaky(count: int) -> dict[tuple[str, int], Fraction]:
    """With chance DELTA the count itself, else a geometric of base 2: (ln 2, DELTA)-DP, and no better in delta."""
    told = {("told", out): DELTA * (out == count) for out in range(UNITS + 1)}
    return told | {("noisy", out): (1 - DELTA) * chance for out, chance in geometric(count, 2).items()}


def excess(few: int, relation: Relation, epsilon: Fraction) -> Fraction:
    """The largest sum of what the chances exceed e^epsilon times the others by, rounded up."""
    factor, worst = exp_bounds(epsilon)[0], Fraction(0)
    laws = {count: leaky(count) for count in range(UNITS + 1)}
    seen = set()
    for before, after in neighbours(relation):
        one, two = counts(before, first(few)), counts(after, first(few))
        moved = tuple(sorted((a, b) for a, b in zip(one, two, strict=True) if a != b))
        if moved in seen:
            continue
        seen.add(moved)
        total = Fraction(0)
        for out in itertools.product(laws[0], repeat=len(moved)):
            p = q = Fraction(1)
            for (a, b), each in zip(moved, out, strict=True):
                p, q = p * laws[a][each], q * laws[b][each]
            total += max(p - factor * q, Fraction(0))
        worst = max(worst, total)
    return worst


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("few", [1, 2])
def test_no_pair_exceeds_the_delta_of_parts(few: int, relation: Relation) -> None:
    price = parallel([ApproxDP(EPSILON, DELTA)] * PARTS, few, relation)
    assert isinstance(price, ApproxDP)
    assert price.delta / 3 < excess(few, relation, price.epsilon) <= price.delta


@pytest.mark.parametrize(("few", "relation"), [(2, "add-remove"), (1, "replace-one"), (2, "replace-one")])
def test_a_delta_of_one_part_or_one_side_too_few_is_caught(few: int, relation: Relation) -> None:
    price = parallel([ApproxDP(EPSILON, DELTA)] * PARTS, few, relation)
    twin = (too_cheap if relation == "add-remove" else for_one_side)([ApproxDP(EPSILON, DELTA)] * 3, few, relation)
    assert isinstance(price, ApproxDP) and isinstance(twin, ApproxDP)
    assert excess(few, relation, price.epsilon) > twin.delta


# ---------------------------------------------------------------- shares


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("parts", [1, 2, 7])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**5), Fraction(1, 10**12)])
def test_shares_cost_no_more_than_the_whole_and_hardly_less(parts: int, relation: Relation, delta: Fraction) -> None:
    epsilon, each = share(Fraction(3), delta, parts, relation)
    loss: Loss = ApproxDP(epsilon, each) if each else PureDP(epsilon)
    price = parallel([loss] * 12, parts, relation)
    assert isinstance(price, PureDP | ApproxDP)
    assert price.epsilon == 3
    assert delta * Fraction(99_999, 100_000) <= price.delta <= delta


def test_rho_adds_up_and_a_replacement_is_a_group_of_two() -> None:
    losses = [ZCDP(Fraction(1, 10)), ZCDP(Fraction(1, 2)), ZCDP(Fraction(1, 5))]
    assert parallel(losses, 2, "add-remove") == ZCDP(Fraction(7, 10))
    assert parallel(losses, 2, "replace-one") == ZCDP(Fraction(28, 10))
