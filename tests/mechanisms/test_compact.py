"""Compact: its whole output law over small fields, its price over all neighbours, its error, its saved form.

The law is written out twice. `defined` is the product formula over all polynomials, evaluated naively; `built` joins
points with the mechanism's own interpolation and padding, over every noisy count and every element. They must agree
on every polynomial, and the twins must not.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dpviz as dv
from dpviz.errors import ParameterError, ReleaseCancelled, ReleaseFormat
from dpviz.exact import exp_bounds, log_at_most
from dpviz.mechanisms.compact import CompactBound, first_rows, polynomial, with_padding
from dpviz.model.answers import CompactTable
from dpviz.model.laws.count_noise import FiniteLaw
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts
from dpviz.noise.bits import SystemBits, TeachingBits
from dpviz.noise.empty_bin import EmptyBin
from dpviz.noise.field import BinaryField, Field, PrimeField, levels
from dpviz.noise.finite import FiniteSampler, fastsample, geosample
from dpviz.noise.uniform import uniform
from dpviz.privacy import Unit

FALSE_ALARM = 1e-9
KEYS = dv.Domain.integers(0, 2**64 - 1, column="key")
PUBLIC = Unit("row", relation="replace-one", n=1000)
Counts = tuple[int, ...]
Output = dict[tuple[int, ...], Fraction]


@dataclass(frozen=True)
class Small:
    """A field, a sampler and a number of bins, all small enough to write every polynomial down."""

    field: Field
    sampler: FiniteSampler
    bins: int

    @property
    def n(self) -> int:
        return self.sampler.n

    @property
    def empty(self) -> EmptyBin:
        return EmptyBin(self.sampler, self.field.order)

    @property
    def odds(self) -> Fraction:
        """What one replaced row costs, as the mechanism states it."""
        return Fraction(self.sampler.p, self.sampler.q) ** 2 * self.empty.odds

    def counts(self, most: int) -> list[Counts]:
        every = itertools.product(range(most + 1), repeat=self.bins)
        return [counts for counts in every if sum(counts) <= most]


def prime(order: int) -> PrimeField:
    return PrimeField(f"modulo {order}", order)


SMALL = {
    "n = 1 modulo 5": Small(prime(5), FiniteSampler(1, 2, 1), 4),
    "n = 1 modulo 7": Small(prime(7), FiniteSampler(1, 3, 2), 3),
    "n = 1 in the paper's GF(4)": Small(BinaryField(0), FiniteSampler(1, 2, 1), 4),
    "n = 2 modulo 7": Small(prime(7), FiniteSampler(2, 2, 1), 4),
    "n = 2 modulo 11": Small(prime(11), FiniteSampler(2, 2, 1), 3),
    "n = 2 modulo 19, a wider base": Small(prime(19), FiniteSampler(2, 3, 2), 3),
    "n = 1 modulo 53, FastSample": Small(prime(53), FiniteSampler(1, 2, 1, "fastsample", 2, 2), 3),
    "n = 1 modulo 61, FastSample": Small(prime(61), FiniteSampler(1, 2, 1, "fastsample", 2, 2), 3),
}
cases = pytest.mark.parametrize("small", SMALL.values(), ids=SMALL.keys())


@cache
def noise(sampler: FiniteSampler, count: int) -> dict[int, Fraction]:
    """The law of a noisy count, by the sampler's pure function over all its uniform integers."""
    n, p, q = sampler.n, sampler.p, sampler.q

    def drawn(u: int) -> int:
        if sampler.kind == "geosample":
            return geosample(count, u, n=n, p=p, q=q)
        assert sampler.g is not None and sampler.t is not None
        return fastsample(count, u, n=n, p=p, q=q, g=sampler.g, t=sampler.t)

    seen = Counter(drawn(u) for u in range(1, sampler.size + 1))
    return {value: Fraction(seen[value], sampler.size) for value in range(n + 1)}


@cache
def answers(small: Small) -> dict[tuple[int, ...], Counts]:
    """Every polynomial of degree at most n, and the count that it gives each bin."""
    empty, found = small.empty, {}
    for coefficients in itertools.product(range(small.field.order), repeat=small.n + 1):
        values = small.field.evaluator(list(coefficients))(list(range(small.bins)))
        found[coefficients] = tuple(empty.value(value) for value in values)
    return found


@cache
def defined(small: Small, counts: Counts) -> Output:
    """d0^-(n + 1) times the product of P_c(v)/P0(v) over the bins that are not empty."""
    whole, empty = Fraction(1, small.field.order ** (small.n + 1)), small.empty
    weight = [
        {
            value: noise(small.sampler, count)[value] / empty.chance(value) if count else 1
            for value in range(small.n + 1)
        }
        for count in counts
    ]
    law = {}
    for coefficients, values in answers(small).items():
        chance = whole
        for place, value in enumerate(values):
            chance = chance * weight[place][value]
        law[coefficients] = chance
    return law


Elements = Callable[[EmptyBin, int], Sequence[int]]


def all_elements(empty: EmptyBin, value: int) -> Sequence[int]:
    first, length = empty.interval(value)
    return range(first, first + length)


def built(small: Small, counts: Counts, elements: Elements = all_elements, pads: Sequence[int] | None = None) -> Output:
    """What the mechanism does, over all its chances: noise, an element, padding, interpolation."""
    labels = [place for place, count in enumerate(counts) if count]
    points = with_padding(labels, small.n + 1, small.field.order)
    padded = pads if pads is not None else range(small.field.order)
    law: Output = dict.fromkeys(answers(small), Fraction(0))
    choices = [
        [
            (element, noise(small.sampler, counts[label])[value] / len(elements(small.empty, value)))
            for value in range(small.n + 1)
            for element in elements(small.empty, value)
        ]
        for label in labels
    ]
    free = [[(element, Fraction(1, len(padded))) for element in padded] for _ in range(len(points) - len(labels))]
    for chosen in itertools.product(*choices, *free):
        chance = Fraction(1)
        for _, part in chosen:
            chance *= part
        law[polynomial(small.field, points, [element for element, _ in chosen])] += chance
    return law


# ---------------------------------------------------------------- law


@cases
def test_the_output_law_is_the_product_formula_on_every_polynomial(small: Small) -> None:
    for counts in small.counts(small.n):
        law = defined(small, counts)
        assert built(small, counts) == law and sum(law.values()) == 1


@cases
def test_every_bin_alone_has_its_own_law(small: Small) -> None:
    """M(c) where there are rows, P0 where there are none; any n + 1 bins with all the rows are independent."""
    for counts in small.counts(small.n):
        for place, count in enumerate(counts):
            law = dict.fromkeys(range(small.n + 1), Fraction(0))
            for coefficients, chance in defined(small, counts).items():
                law[answers(small)[coefficients][place]] += chance
            own = noise(small.sampler, count)
            assert law == {value: own[value] if count else small.empty.chance(value) for value in own}


def test_which_labels_pad_changes_nothing() -> None:
    small = SMALL["n = 2 modulo 11"]
    law = dict.fromkeys(answers(small), Fraction(0))
    for element in range(11):
        for one, two in itertools.product(range(11), repeat=2):
            share = (
                noise(small.sampler, 1)[small.empty.value(element)]
                / small.empty.interval(small.empty.value(element))[1]
            )
            law[polynomial(small.field, [1, 7, 4], [element, one, two])] += share / 121
    assert law == defined(small, (0, 1, 0))


def lower_half(empty: EmptyBin, value: int) -> Sequence[int]:
    every = all_elements(empty, value)
    return every[: (len(every) + 1) // 2]


def one_further(empty: EmptyBin, value: int) -> Sequence[int]:
    """Each interval begins and ends one element late: no dataset is ruled out, but no bin has its law."""
    return [(element + 1) % empty.d0 for element in all_elements(empty, value)]


def one_short(empty: EmptyBin, value: int) -> Sequence[int]:
    """A threshold read with < for <=: each interval lacks its first element."""
    return all_elements(empty, value)[1:]


TWINS: dict[str, tuple[Elements, Sequence[int] | None]] = {
    "one padding point fixed": (all_elements, [0]),
    "half of each interval": (lower_half, None),
    "thresholds one short": (one_short, None),
    "thresholds one further": (one_further, None),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_is_rejected_by_its_law_and_most_by_their_price(name: str) -> None:
    small = SMALL["n = 2 modulo 19, a wider base"]
    vectors = [(0, 0, 0), (0, 1, 0), (1, 1, 0)]
    laws = {counts: built(small, counts, *TWINS[name]) for counts in vectors}
    assert any(laws[counts] != defined(small, counts) for counts in vectors)
    priced = [within_price(laws[one], laws[two], small.odds) for one, two in itertools.permutations(vectors, 2)]
    assert all(priced) == (name == "thresholds one further")


# ---------------------------------------------------------------- price


def replacements(small: Small, most: int) -> Iterator[tuple[Counts, Counts]]:
    """Every two vectors of at most `most` rows of which one has a row elsewhere, or one row more or less."""
    every = small.counts(most)
    for one, two in itertools.product(every, repeat=2):
        steps = [b - a for a, b in zip(one, two, strict=True)]
        if sum(step for step in steps if step > 0) <= 1 and sum(-step for step in steps if step < 0) <= 1:
            yield one, two


def ratio(one: Output, two: Output) -> Fraction:
    assert all(chance > 0 for law in (one, two) for chance in law.values()), "an answer rules a dataset out"
    return max(one[answer] / two[answer] for answer in one)


def within_price(one: Output, two: Output, odds: Fraction) -> bool:
    return all(chance <= odds * two[answer] for answer, chance in one.items())


@cases
def test_the_worst_ratio_over_all_neighbours_is_at_most_the_price(small: Small) -> None:
    worst = max(ratio(defined(small, one), defined(small, two)) for one, two in replacements(small, small.n))
    assert worst <= small.odds
    bare = Fraction(small.sampler.p, small.sampler.q) ** 2
    over = [small.empty.chance(value) / noise(small.sampler, 0)[value] for value in range(small.n + 1)]
    if small.sampler.kind == "geosample":
        assert worst == bare * max(over) / min(over), "the exact loss of every field that was written down"


def test_the_price_is_reached() -> None:
    """Where the remainder of d0 covers the first count and spares the last, the price is the worst ratio itself."""
    reached = []
    for name, small in SMALL.items():
        worst = max(ratio(defined(small, one), defined(small, two)) for one, two in replacements(small, small.n))
        reached += [name] if worst == small.odds else []
    assert "n = 2 modulo 11" in reached or "n = 1 modulo 5" in reached or "n = 1 modulo 7" in reached
    assert reached


def test_a_price_without_the_empty_bins_is_rejected() -> None:
    small = SMALL["n = 1 modulo 7"]
    bare = Fraction(small.sampler.p, small.sampler.q) ** 2
    with pytest.raises(AssertionError):
        for one, two in replacements(small, small.n):
            assert within_price(defined(small, one), defined(small, two), bare)


def kept(small: Small, counts: Counts) -> Counts:
    """The counts of the first n rows, as the mechanism takes them."""
    labels = np.array([place for place, count in enumerate(counts) if count], dtype=np.uint64)
    found, left = first_rows(labels, np.array([count for count in counts if count], dtype=np.int64), small.n)
    return tuple(dict(zip(found, left.tolist(), strict=True)).get(place, 0) for place in range(small.bins))


def added(small: Small, most: int, rows: int) -> Iterator[tuple[Counts, Counts]]:
    """Every vector, and it with one unit of at most `rows` rows more."""
    for counts in small.counts(most):
        for more in small.counts(rows):
            yield counts, tuple(a + b for a, b in zip(counts, more, strict=True))


@pytest.mark.parametrize("name", ["n = 1 modulo 5", "n = 2 modulo 7", "n = 2 modulo 11"])
@pytest.mark.parametrize("rows", [1, 2])
def test_adding_or_removing_a_unit_costs_no_more_even_beyond_the_cap(name: str, rows: int) -> None:
    small = SMALL[name]
    worst = Fraction(0)
    for fewer, more in {(kept(small, one), kept(small, other)) for one, other in added(small, small.n + 2, rows)}:
        one, two = defined(small, fewer), defined(small, more)
        worst = max(worst, ratio(one, two), ratio(two, one))
    assert worst <= small.odds**rows
    if rows == 1:
        half = Fraction(small.sampler.p, small.sampler.q) * small.empty.odds
        assert worst > half, "half the price would not cover a row that pushes another out"


def test_keeping_the_first_bins_whole_would_cost_more_than_any_price() -> None:
    """The twin that keeps the first n bins with all their rows: one row more, and a bin loses all it has."""
    small = SMALL["n = 2 modulo 11"]

    def first_bins(counts: Counts) -> Counts:
        occupied = [place for place, count in enumerate(counts) if count][: small.n]
        return tuple(min(count, small.n) if place in occupied else 0 for place, count in enumerate(counts))

    one, two = (defined(small, first_bins(counts)) for counts in ((0, 2, 2), (1, 2, 2)))
    assert max(ratio(one, two), ratio(two, one)) > small.odds
    one, two = (defined(small, kept(small, counts)) for counts in ((0, 2, 2), (1, 2, 2)))
    assert max(ratio(one, two), ratio(two, one)) <= small.odds


def test_the_first_rows_are_kept_whatever_the_counts() -> None:
    for counts in itertools.product(range(1, 5), repeat=3):
        for n in range(1, 8):
            rows = [place for place, count in enumerate(counts) for _ in range(count)][:n]
            labels, left = first_rows(np.arange(3, dtype=np.uint64), np.array(counts), n)
            assert dict(zip(labels, left.tolist(), strict=True)) == Counter(rows)
    labels, left = first_rows(np.array([], dtype=np.uint64), np.array([], dtype=np.int64), 3)
    assert labels == [] and left.size == 0
    labels, left = first_rows(np.array([2**70, 2**71], dtype=object), np.array([2**62, 2**62]), 3)
    assert labels == [2**70] and left.tolist() == [3]


# ---------------------------------------------------------------- what is charged


def compact(unit: Unit = PUBLIC, domain: dv.Domain = KEYS, **parameters: Any) -> CompactBound:
    return dv.Compact(**parameters).bind(Question.of(domain), unit)


CHARGED = {
    "epsilon 1": compact(epsilon=1),
    "epsilon 1/10": compact(epsilon="0.1"),
    "epsilon 5": compact(epsilon=5),
    "geosample, Mersenne": compact(epsilon=1, sampler="geosample", field="mersenne"),
    "fastsample, gamma": compact(epsilon="1/2", sampler="fastsample", gamma="1/1000", field="proth"),
    "paper": compact(epsilon="1/2", base="paper"),
    "paper's field": compact(Unit("row", relation="replace-one", n=60), epsilon=1, base="paper", field="paper"),
    "a cap": compact(Unit("row"), epsilon=1, cap=300),
    "a user": compact(Unit("user", max_bins=3, max_per_bin=2), epsilon=2, cap=300),
    "a user exchanged": compact(Unit("user", relation="replace-one", max_bins=2), epsilon=2, cap=300),
    "few labels": compact(Unit("row"), dv.Domain.integers(0, 4, column="x"), epsilon=1, cap=9),
    "nearly nothing left": compact(epsilon="0.8109303"),
}
charged = pytest.mark.parametrize("bound", CHARGED.values(), ids=CHARGED.keys())


@charged
def test_the_charge_covers_the_odds_of_the_field_in_force_and_is_at_most_what_was_asked(bound: CompactBound) -> None:
    part, empty, asked = bound.design.part, bound.empty, bound.mechanism.epsilon
    true = (Fraction(part.p, part.q) ** 2 * empty.odds) ** bound.rows
    assert log_at_most(true, bound.price.epsilon)
    assert bound.price.epsilon <= asked and bound.price.requested == asked and bound.price.loss.delta == 0
    assert bound.rows * (2 if bound.unit.relation == "replace-one" else 1) == bound.unit.l1(bound.question.bins)
    if bound.mechanism.base == "tight":
        assert true**3 > exp_bounds(asked)[1], "at least a third of epsilon is used, and never halved by the field"


@charged
def test_space_is_n_plus_1_elements_of_the_field_in_force(bound: CompactBound) -> None:
    bits = (bound.field.order - 1).bit_length()
    assert bound.space.bits == (bound.n + 1) * bits and bound.space.text == f"{bound.n + 1:,} × {bits}"
    assert bound.field.order >= max(bound.question.bins, bound.n + 1, bound.design.sampler.size)


def test_the_field_is_sized_by_the_smaller_sampler() -> None:
    for epsilon, kind in (("1", "fastsample"), ("0.1", "geosample")):
        sizes = {one: compact(epsilon=epsilon, sampler=one).design for one in ("geosample", "fastsample")}
        smaller = min(sizes.values(), key=lambda design: design.bits)
        assert compact(epsilon=epsilon).design == smaller and smaller.part.kind == kind


def test_the_printed_case_takes_the_printed_field() -> None:
    bound = compact(epsilon=1, sampler="geosample", field="mersenne")
    assert bound.field.name == "2^2203-1" and bound.space.bits == 1001 * 2203


def test_a_thousand_rows_over_all_64_bit_labels_take_less_than_40_kib() -> None:
    assert compact(epsilon=1).space.bits <= 40 * 8 * 1024


def test_a_slow_look_up_is_said_before_paying() -> None:
    assert not compact(epsilon=1).cost.slow and compact(epsilon="0.1").cost.slow
    assert "10,000 look-ups about 0.2 s" in compact(epsilon=1).cost.text


@pytest.mark.parametrize(
    ("unit", "parameters", "named"),
    [
        (Unit("row", relation="replace-one", n=10**6), {"epsilon": 1}, "1,000,001 ×"),
        (Unit("row", relation="replace-one", n=10**30), {"epsilon": 1}, "×"),
        (PUBLIC, {"epsilon": "1/100000"}, "1,001 ×"),
        (PUBLIC, {"epsilon": "1/10", "field": "paper"}, "1,001 ×"),
        (PUBLIC, {"epsilon": "1/1000000000", "sampler": "fastsample"}, "1,001 ×"),
        (Unit("row"), {"epsilon": 1}, "no cap"),
    ],
)
def test_what_would_not_fit_is_refused_when_it_is_bound_with_its_size(
    unit: Unit, parameters: dict[str, Any], named: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        compact(unit, **parameters)
    assert named in caught.value.value


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": 1, "base": "exp"},
        {"epsilon": 1, "sampler": "numpy"},
        {"epsilon": 1, "field": "real"},
        {"epsilon": 1, "gamma": "2/7"},
        {"epsilon": 1, "cap": 0},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        dv.Compact(**wrong)


def test_parameters_are_texts_that_make_the_same_mechanism_again() -> None:
    for made in (
        dv.Compact("1/3"),
        dv.Compact(1, base="paper", sampler="fastsample", field="mersenne", gamma="1/1000", cap=99),
    ):
        assert dv.Compact.from_parameters(made.parameters()) == made
        assert eval(made.python, {"dv": dv}) == made
    with pytest.raises(ParameterError):
        dv.Compact.from_parameters({"epsilon": "1", "clamp": "true"})


def test_keys_that_nobody_declared_have_no_numbers() -> None:
    with pytest.raises(ParameterError):
        compact(domain=dv.Domain.keys(column="key"), epsilon=1)


# ---------------------------------------------------------------- error

ERRORS = {
    "geosample": compact(Unit("row", relation="replace-one", n=9), dv.Domain.integers(0, 4, column="x"), epsilon=1),
    "a wide range": compact(Unit("row"), dv.Domain.integers(0, 30, column="x"), epsilon=2, cap=14),
    "fastsample": compact(
        Unit("row", relation="replace-one", n=12), dv.Domain.integers(0, 5, column="x"), epsilon=3,
        sampler="fastsample", gamma="1/64",
    ),
    "much junk": compact(
        Unit("row", relation="replace-one", n=10), dv.Domain.integers(0, 5, column="x"), epsilon=3,
        sampler="fastsample", gamma="1/4",
    ),
}  # fmt: skip
BETAS = [Fraction(1, 2), Fraction(1, 10), Fraction(1, 20), Fraction(1, 100), Fraction(1, 1000)]


def exact_law(bound: CompactBound, count: int) -> dict[int, Fraction]:
    """The law of one bin, from what the paper says the noise is."""
    return empty_law(bound.empty) if count == 0 else noisy_law(bound.design.part, count)


@cache
def empty_law(empty: EmptyBin) -> dict[int, Fraction]:
    return {value: empty.chance(value) for value in range(empty.sampler.n + 1)}


@cache
def noisy_law(part: FiniteLaw, count: int) -> dict[int, Fraction]:
    share, law = Fraction(part.p - part.q, part.p + part.q), dict.fromkeys(range(part.n + 1), Fraction(0))
    far = part.t if part.kind == "fastsample" else 4000
    inner = {z: share * Fraction(part.q, part.p) ** abs(z) for z in range(-min(far, 60), min(far, 60) + 1)}
    rest = 1 - sum(inner.values())
    if part.kind == "fastsample":
        assert far <= 60
        inner[0] += rest
    else:
        inner[61], inner[-61] = rest / 2, rest / 2
    for z, chance in inner.items():
        law[min(max(count + z, 0), part.n)] += chance
    if part.kind == "fastsample":
        law = {v: (1 - Fraction(1, part.g)) * chance + Fraction(1, part.g * (part.n + 1)) for v, chance in law.items()}
    return law


def tail(bound: CompactBound, count: int, a: int) -> Fraction:
    return sum((chance for value, chance in exact_law(bound, count).items() if abs(value - count) > a), Fraction(0))


errors = pytest.mark.parametrize("bound", ERRORS.values(), ids=ERRORS.keys())


@errors
@pytest.mark.parametrize("beta", BETAS, ids=str)
def test_the_error_of_one_bin_is_the_least_that_holds(bound: CompactBound, beta: Fraction) -> None:
    stated = bound.error.one_bin(beta)
    assert stated is not None and stated.how == "exact"
    a, counts = int(stated.value), range(bound.n + 1)
    assert all(tail(bound, count, a) <= beta for count in counts)
    assert a == 0 or any(tail(bound, count, a - 1) > beta for count in counts)
    for count in counts:
        given = bound.error.one_bin(beta, count=count)
        assert given is not None
        own = int(given.value)
        assert tail(bound, count, own) <= beta and (own == 0 or tail(bound, count, own - 1) > beta)


@errors
@pytest.mark.parametrize("beta", BETAS, ids=str)
def test_the_error_of_all_bins_is_a_union_bound_that_holds_for_every_vector(
    bound: CompactBound, beta: Fraction
) -> None:
    bins, n = bound.question.bins, bound.n
    for number in (2, bins):
        stated = bound.error.look_ups(number, beta) if number == 2 else bound.error.all_bins(beta)
        assert stated is not None and stated.how == "bound" and "union bound" in stated.rule
        a = int(stated.value)
        worst = Fraction(0)
        for most in range(min(number, n) + 1):
            for counts in itertools.combinations_with_replacement(range(1, n + 1), min(most, 3)):
                if sum(counts) <= n:
                    sums = sum(tail(bound, count, a) for count in counts) + (number - len(counts)) * tail(bound, 0, a)
                    worst = max(worst, sums)
        assert worst <= beta
        assert a <= n


@errors
def test_means_and_chances_are_those_of_the_law(bound: CompactBound) -> None:
    for count in (0, 1, bound.n):
        law = exact_law(bound, count)
        bias, size = bound.error.bias(count), bound.error.expected(count)
        assert bias is not None and size is not None
        mean = sum((chance * (value - count) for value, chance in law.items()), Fraction(0))
        spread = sum((chance * abs(value - count) for value, chance in law.items()), Fraction(0))
        for stated, truth in ((bias, mean), (size, spread)):
            off = Fraction(0) if stated.off is None else stated.off
            assert abs(stated.value - truth) <= off <= abs(truth) / 100 and (stated.how == "exact") == (off == 0)
        assert bound.error.chance_shown(count) == pytest.approx(float(1 - law[0]), rel=1e-9)


# ---------------------------------------------------------------- draws


def statistic(counts: dict[int, int]) -> SparseCounts:
    labels = sorted(counts)
    kind: Any = np.uint64 if not labels or labels[-1] < 2**64 else object
    return SparseCounts(np.array(labels, dtype=kind), np.array([counts[x] for x in labels], dtype=np.int64))


TINY = compact(
    Unit("row", relation="replace-one", n=2), dv.Domain.integers(0, 2, column="x"), epsilon=5, sampler="geosample"
)
"""Three bins of two rows: with n + 1 coefficients all three are independent, so the joint law is a product."""


def joint(bound: CompactBound, counts: Counts) -> dict[Counts, float]:
    step_price = [exact_law(bound, count) for count in counts]
    return {
        values: float(np.prod([float(part[value]) for part, value in zip(step_price, values, strict=True)]))
        for values in itertools.product(range(bound.n + 1), repeat=len(counts))
    }


def misfit(seen: Counter[Counts], law: dict[Counts, float]) -> float:
    """Chi-square p-value; cells with under 10 expected are pooled."""
    total = sum(seen.values())
    cells = [(seen[answer], chance * total) for answer, chance in law.items()]
    large = [cell for cell in cells if cell[1] >= 10]
    rest = [cell for cell in cells if cell[1] < 10]
    if rest:
        large.append((sum(cell[0] for cell in rest), sum(cell[1] for cell in rest)))
    return float(stats.chi2.sf(sum((o - e) ** 2 / e for o, e in large if e > 0), len(large) - 1))


@pytest.mark.parametrize("mode", ["exact", "strict"])
@pytest.mark.parametrize("counts", [(0, 0, 0), (1, 0, 1), (0, 2, 0)], ids=str)
def test_draws_follow_the_joint_law_and_not_that_of_a_neighbour(mode: Any, counts: Counts) -> None:
    """Power: at epsilon 5 a moved row changes the law by so much that 4,000 draws reject it with p below 1e-30."""
    bits = TeachingBits(31)
    given = {place: count for place, count in enumerate(counts) if count}
    seen = Counter(tuple(TINY.draw(statistic(given), bits, mode=mode).many([0, 1, 2]).tolist()) for _ in range(4000))
    assert misfit(seen, joint(TINY, counts)) > FALSE_ALARM
    for other in TINY_VECTORS:
        assert other == counts or misfit(seen, joint(TINY, other)) < 1e-30


TINY_VECTORS = [(0, 0, 0), (1, 0, 1), (0, 2, 0), (1, 0, 0), (0, 1, 0)]


def test_labels_of_any_size_and_counts_beyond_the_cap_are_taken_in_silence(recwarn: pytest.WarningsRecorder) -> None:
    many = dict.fromkeys(range(0, 6000, 3), 10**9)
    wide = compact(Unit("row"), dv.Domain.integers(0, 2**80, column="x"), epsilon=1, cap=30)
    for bound, data in (
        (compact(Unit("row"), epsilon=1, cap=30), {}),
        (compact(Unit("row"), epsilon=1, cap=30), many),
        (compact(Unit("row"), epsilon=1, cap=30), {2**64 - 1: 2**62, 0: 2**62}),
        (wide, {2**79: 5, 2**80: 3}),
        (compact(Unit("row"), dv.Domain.integers(0, 1, column="x"), epsilon=1, cap=30), {0: 5, 1: 10**12}),
    ):
        seen: list[tuple[int, int]] = []
        answer = bound.draw(statistic(data), SystemBits(), mode="exact", tick=lambda *at, seen=seen: seen.append(at))
        assert len(answer.coefficients) == bound.n + 1
        assert seen == [(step, bound.cost.steps) for step in range(1, levels(bound.n + 1) + 2)]
        assert (answer.many([0, 1]) <= bound.n).all()
    assert not recwarn.list


def test_a_large_count_is_found_again_and_the_others_stay_small() -> None:
    """At epsilon 5 and p/q > 11 a count of 500 is off by more than 40 with a chance below 1e-40."""
    bound = compact(epsilon=5, sampler="geosample")
    answer = bound.draw(statistic({7: 500, 2**64 - 1: 400}), TeachingBits(4), mode="exact")
    values = answer.many([7, 2**64 - 1, *range(100, 200)])
    assert abs(values[0] - 500) <= 40 and abs(values[1] - 400) <= 40 and values[2:].max() <= 40
    assert answer.at(7) == values[0]


def test_strict_mode_is_the_pure_functions_on_uniform_integers() -> None:
    bound = compact(Unit("row"), epsilon=2, cap=5)
    part, bits = bound.design.sampler, TeachingBits(8)
    counts = [2, 3, 0, 0, 0, 0]
    us = [uniform(part.size, bits) for _ in counts]
    if part.kind == "geosample":
        noisy = [geosample(c, u, n=5, p=part.p, q=part.q) for c, u in zip(counts, us, strict=True)]
    else:
        assert part.g is not None and part.t is not None
        noisy = [fastsample(c, u, n=5, p=part.p, q=part.q, g=part.g, t=part.t) for c, u in zip(counts, us, strict=True)]
    elements = [bound.empty.element(value if place < 2 else None, bits) for place, value in enumerate(noisy)]
    by_hand = polynomial(bound.field, with_padding([4, 9], 6, bound.field.order), elements)
    assert bound.draw(statistic({4: 2, 9: 3}), TeachingBits(8), mode="strict").coefficients == by_hand


def test_cancelling_ends_the_build() -> None:
    class Stop(Exception):
        pass

    def tick(done: int, total: int) -> None:
        if done == 4:
            raise Stop

    with pytest.raises(Stop):
        compact(epsilon=1).draw(statistic({3: 4}), SystemBits(), mode="exact", tick=tick)


# ---------------------------------------------------------------- saving


@pytest.fixture(scope="module")
def answer() -> CompactTable:
    return compact(Unit("row"), epsilon=1, cap=40).draw(statistic({3: 4, 2**63: 9}), TeachingBits(2), mode="exact")


def test_an_answer_is_read_back_as_it_was_and_takes_the_space_it_says(answer: CompactTable) -> None:
    data = json.loads(json.dumps(answer.to_json()))
    again = CompactTable.from_json(data)
    assert again == answer and again.coefficients == answer.coefficients
    assert (again.many(range(50)) == answer.many(range(50))).all()
    bits = compact(Unit("row"), epsilon=1, cap=40).space.bits
    assert len(base64.b64decode(data["packed"])) == -(-bits // 8)


def test_leading_coefficients_that_are_0_are_kept(answer: CompactTable) -> None:
    for coefficients in ((0,) * 41, (5,) + (0,) * 40, (0,) * 40 + (1,)):
        made = CompactTable(answer.field, answer.empty, coefficients)
        assert CompactTable.from_json(made.to_json()).coefficients == coefficients


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("packed", lambda old: old[:-4]),
        ("packed", lambda old: old[:-4] + "////"),
        ("packed", lambda old: old + "AAAA"),
        ("packed", lambda old: ""),
        ("packed", lambda old: "*" + old[1:]),
        ("packed", lambda old: base64.b64encode(b"\xff" * len(base64.b64decode(old))).decode()),
        ("packed", lambda old: 7),
        ("n", lambda old: str(int(old) + 1)),
        ("n", lambda old: "0" + old),
        ("n", lambda old: "0"),
        ("n", lambda old: "9" * 25),
        ("n", lambda old: int(old)),
        ("p", lambda old: "1"),
        ("q", lambda old: "-1"),
        ("q", lambda old: "9" * 300),
        ("t", lambda old: "1000000000000"),
        ("g", lambda old: "1" if old != "0" else "7"),
        ("sampler", lambda old: "laplace"),
        ("field", lambda old: "2^67-1"),
        ("field", lambda old: "2^61-1"),
        ("field", lambda old: "GF(2^1458)"),
        ("more", lambda old: "1"),
    ],
)
def test_an_altered_answer_is_refused(answer: CompactTable, name: str, value: Callable[[Any], Any]) -> None:
    data = answer.to_json()
    data[name] = value(data.get(name))
    with pytest.raises(ReleaseFormat):
        CompactTable.from_json(data)
    del data[name]
    if name != "more":
        with pytest.raises(ReleaseFormat):
            CompactTable.from_json(data)


def test_a_number_outside_the_field_is_no_bin(answer: CompactTable) -> None:
    for index in (-1, answer.field.order):
        with pytest.raises(ParameterError):
            answer.at(index)


@pytest.fixture
def session(tmp_path: Path) -> dv.Session:
    rows = pd.DataFrame({"key": [str(x) for x in [7] * 300 + [2**64 - 1] * 200 + [2**65, -1]]})
    return dv.Session(
        rows, unit=dv.Unit("row"), budget=dv.Budget(epsilon="20"), ledger=tmp_path / "keys.ledger",
        dataset="keys", schema={"key": "number"},
    )  # fmt: skip


def test_a_release_answers_labels_and_is_saved_loaded_and_refused(session: dv.Session, tmp_path: Path) -> None:
    release = session.release(KEYS, dv.Compact(epsilon=6, cap=600, sampler="geosample"))
    assert abs(release[7] - 300) <= 60 and abs(release[2**64 - 1] - 200) <= 60 and release[12345] <= 60
    assert release.many([7, 8]).tolist() == [release[7], release[8]]
    with pytest.raises(dv.DpvizError):
        release[2**64]
    with pytest.raises(ReleaseFormat):
        release.to_frame()
    path = release.save(tmp_path / "keys.json")
    again = dv.load(path)
    assert again == release and again[7] == release[7]
    content = path.read_bytes()
    for broken in (content[:-100], content.replace(b'"packed":"', b'"packed":"A', 1), b"{}"):
        path.write_bytes(broken)
        with pytest.raises(ReleaseFormat):
            dv.load(path)


def test_an_answer_of_another_field_or_sampler_is_not_taken_for_this_release(session: dv.Session) -> None:
    bound = compact(Unit("row"), epsilon=1, cap=40)
    other = compact(Unit("row"), epsilon=2, cap=40).draw(statistic({}), TeachingBits(1), mode="exact")
    own = bound.draw(statistic({}), TeachingBits(1), mode="exact")
    assert bound.accepts(own) and not bound.accepts(other)
    assert not bound.accepts(CompactTable(own.field, own.empty, own.coefficients[:-1]))


def test_a_cancelled_build_keeps_its_charge_and_shows_nothing(session: dv.Session) -> None:
    running = session.release_async(
        KEYS, dv.Compact(epsilon=1, cap=600), watch=lambda handle: handle.cancel() if handle.progress.done > 4 else None
    )
    with pytest.raises(ReleaseCancelled):
        running.result()
    assert session.remaining.epsilon < 20
