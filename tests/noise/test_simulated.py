"""Simulated lists follow the enumerated laws, and not their near-wrong twins."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpviz.laws.race import threshold
from dpviz.laws.top_k import Competition, Law, exponential, laplace_limit_domain, limit_domain
from dpviz.noise.simulated import Noise, shares

BASE = Fraction(2)
RATE = math.log(2)
DELTA = Fraction(1, 10)


def listed(law: Law, label: int) -> float:
    """The chance that a label is in the outcome."""
    return float(sum((chance for outcome, chance in law.items() if label in outcome), Fraction(0)))


SIGMAS = 6.5
"""A normal variable exceeds this with a chance below 1e-10, on each of fewer than ten shares: a false alarm below 1e-9.
A share of 8,000 lists that is off by 0.05 is found with a chance above 0.99."""


def off(found: NDArray[np.float64], exact: NDArray[np.float64], runs: int) -> NDArray[np.float64]:
    """How many standard deviations each share lies from its chance."""
    return np.abs(found - exact) / np.sqrt(np.maximum(exact * (1 - exact), 1e-4) / runs)


def test_simulated_lists_follow_the_enumerated_laws_and_not_those_without_the_gap() -> None:
    runs, histogram, k = 8_000, [4, 3, 3, 1], 2
    noise = Noise(runs, seed=11)
    domain = Competition(DELTA, 3, "positive", 1)
    counts = np.array([histogram[label] for label in domain.labels(histogram)])
    bottom = threshold(domain.next_count(histogram), 1, domain.m, float(DELTA), RATE)
    gumbel = noise.gumbel(4)
    found = shares(RATE * counts[:, None] + gumbel[1:], k, RATE * bottom + gumbel[0])
    exact = np.array([listed(limit_domain(histogram, BASE, k, domain), label) for label in range(3)])
    without = np.array(
        [
            listed(limit_domain(histogram, BASE, k, Competition(DELTA, 3, "positive", 1, gap=0)), label)
            for label in range(3)
        ]
    )
    assert off(found, exact, runs).max() < SIGMAS
    assert off(found, without, runs).max() > SIGMAS
    every = shares(RATE * np.array(histogram)[:, None] + noise.gumbel(4), k, None)
    full = np.array([listed(exponential(histogram, BASE, k), label) for label in range(4)])
    assert off(every, full, runs).max() < SIGMAS
    drawn = noise.laplace(4, RATE)
    laplace = shares(counts[:, None] + drawn[1:], 3, 4 + drawn[0])
    law = laplace_limit_domain(histogram, BASE, 3, domain, 2)
    assert off(laplace, np.array([listed(law, label) for label in range(3)]), runs).max() < SIGMAS


def test_noise_does_not_depend_on_what_was_asked_before() -> None:
    one, other = Noise(10), Noise(10)
    assert np.array_equal(one.gumbel(100)[:3], other.gumbel(3))
    assert np.array_equal(one.gumbel(100), other.gumbel(100))
