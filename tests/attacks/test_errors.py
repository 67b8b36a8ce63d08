"""Error quantiles against an enumeration of every vector of counts, in plain fractions, with nothing of the library."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from fractions import Fraction
from math import prod

import pytest

import dpviz as dv
from dpviz.model.laws.count_noise import FiniteLaw
from dpviz.model.question import Question

BETAS = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 20), Fraction(1, 100)]
Law = list[Fraction]


def noise(part: FiniteLaw, far: int) -> dict[int, Fraction]:
    """The noise of one bin on -far..far, where every value is reached; the two ends carry the tails."""
    ratio = Fraction(part.q, part.p)
    found = {z: (1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in range(-far, far + 1)}
    if part.kind == "fastsample":
        found = {z: chance if abs(z) <= part.t else Fraction(0) for z, chance in found.items()}
        inner = {z: (1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in range(-part.t, part.t + 1)}
        found[0] += 1 - sum(inner.values())
        for z in range(far + 1, part.t + 1):
            found[far] += inner[z]
            found[-far] += inner[-z]
    else:
        found[far] = found[-far] = ratio**far / (1 + ratio)
    assert sum(found.values()) == 1
    return found


def laws(part: FiniteLaw) -> list[Law]:
    """For each true count the law of what is released."""
    drawn = noise(part, part.n + 1)
    share = Fraction(1, part.g) if part.kind == "fastsample" else Fraction(0)
    found = []
    for count in range(part.n + 1):
        law = [share / (part.n + 1)] * (part.n + 1)
        for z, chance in drawn.items():
            law[min(max(count + z, 0), part.n)] += (1 - share) * chance
        found.append(law)
    return found


def least(tails: list[Law], vectors: Iterable[tuple[int, ...]], beta: Fraction) -> int:
    """The least a that every vector of counts keeps to with probability at least 1 - beta."""
    kept = list(vectors)
    return next(
        a for a, tail in enumerate(tails) if all(prod(1 - tail[count] for count in v) >= 1 - beta for v in kept)
    )


@pytest.mark.parametrize("sampler", ["geosample", "fastsample"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("n", [1, 2, 5, 8, 12])
@pytest.mark.parametrize("epsilon", ["1/2", "1", "2", "5"])
def test_error_is_the_least_over_all_vectors_of_counts(sampler: str, relation: str, n: int, epsilon: str) -> None:
    gamma = {"gamma": "1/4"} if sampler == "fastsample" else {}
    replace = relation == "replace-one"
    unit = dv.Unit(relation=relation, n=n if replace else None)  # type: ignore[arg-type]
    for bins in (1, 2, 3, 4):
        cap = None if replace else n
        mechanism = dv.Dense(epsilon, base="tight", sampler=sampler, cap=cap, **gamma)  # type: ignore[arg-type]
        bound = mechanism.bind(Question.of(dv.Domain.integers(0, bins - 1, column="x")), unit)
        assert bound.law.noise.finite is not None
        released = laws(bound.law.noise.finite)
        tails = [
            [sum((law[v] for v in range(n + 1) if abs(v - c) > a), Fraction(0)) for c, law in enumerate(released)]
            for a in range(n + 1)
        ]
        vectors = [
            vector
            for vector in itertools.combinations_with_replacement(range(n + 1), bins)
            if not replace or sum(vector) <= n
        ]
        for beta in BETAS:
            every = bound.error.all_bins(beta)
            assert every is not None
            found = least(tails, vectors, beta)
            assert every.value == found if every.how == "exact" else every.value >= found
            one = bound.error.one_bin(beta)
            assert one is not None and one.value == least(tails, [(c,) for c in range(n + 1)], beta)
            for count in range(n + 1):
                given = bound.error.one_bin(beta, count=count)
                assert given is not None and given.value == least(tails, [(count,)], beta)
        odds = Fraction(bound.law.noise.finite.p, bound.law.noise.finite.q)
        for left, right in itertools.pairwise(released):
            assert all(1 / odds <= a / b <= odds for a, b in zip(left, right, strict=True))


def test_a_bound_that_no_counts_reach_is_not_called_exact() -> None:
    """Three counts of 4 need 12 rows; with 8 rows an error of 3 holds, found by enumeration above."""
    unit = dv.Unit(relation="replace-one", n=8)
    mechanism = dv.Dense(1, base="tight", sampler="fastsample", gamma="1/4")
    every = mechanism.bind(Question.of(dv.Domain.integers(0, 2, column="x")), unit).error.all_bins(Fraction(1, 2))
    assert every is not None and (every.value, every.how) == (4, "bound")
