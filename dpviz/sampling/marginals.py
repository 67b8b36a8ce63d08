"""Shares estimated from private samples: why a sampler cannot do with far fewer people than an estimator.

For lessons and for simulation on public data.
Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithms 9 and 10, Lemmas 6.7 and 6.8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import log_bounds, probability, whole
from dpviz.noise.bits import Bits
from dpviz.noise.order import uniform_below
from dpviz.sampling.reduction import ProductSampler

Estimator = Callable[[NDArray[np.uint8], Bits], list[Fraction]]


def parts_for(alpha: Fraction, beta: Fraction, gamma: Fraction) -> int:
    """How many samples are averaged so that, but for a chance of gamma, fewer than a share beta of all columns is off
    by more than 2 alpha, alpha from the sampler and alpha from the average: ceil(ln(2 / (beta gamma)) / (2 alpha**2)).

    >>> parts_for(Fraction(1, 10), Fraction(1, 10), Fraction(1, 10))
    265
    """
    for name, value in (("alpha", alpha), ("beta", beta), ("gamma", gamma)):
        probability(value, name, zero=False)
    return math.ceil(log_bounds(2 / (beta * gamma))[1] / (2 * alpha**2))


def averaged(rows: NDArray[np.uint8], parts: int, sampler: ProductSampler, bits: Bits) -> list[Fraction]:
    """The share of ones of each column, from one sample of each of so many equal parts of the rows. Algorithm 9.

    rows  bits, not packed, of shape (parts n, d), in an order that does not depend on their values

    Price: that of one run of the sampler, for a record is in one part only. Raises ParameterError where the rows cannot
    be cut into equal parts.

    >>> from dpviz.noise.bits import TeachingBits
    >>> first = lambda rows, bits: rows[0].tolist()
    >>> averaged(np.array([[1, 0], [0, 0], [1, 1], [0, 1]], dtype=np.uint8), 2, first, TeachingBits(1))
    [Fraction(1, 1), Fraction(1, 2)]
    """
    if not len(rows) or len(rows) % whole(parts, "parts"):
        raise ParameterError.of(
            f"{len(rows):,} rows",
            f"{parts:,} parts need as many rows each, and at least one",
            "give more rows, or fewer parts",
        )
    drawn = [sampler(part, bits) for part in np.split(rows, parts)]
    return [Fraction(int(total), parts) for total in np.sum(drawn, axis=0)]


def turned(rows: NDArray[np.uint8], bits: Bits) -> NDArray[np.uint8]:
    """Every bit turned round with the chance 1/3: a share of p becomes (p + 1) / 3, which lies between 1/3 and 2/3.

    >>> from dpviz.noise.bits import TeachingBits
    >>> turned(np.zeros((2, 6), dtype=np.uint8), TeachingBits(1)).tolist()
    [[0, 0, 0, 1, 0, 0], [0, 0, 0, 1, 0, 1]]
    """
    turns: NDArray[np.uint8] = (uniform_below(3, rows.size, bits) == 0).astype(np.uint8).reshape(rows.shape)
    return rows ^ turns


def unbounded(rows: NDArray[np.uint8], estimator: Estimator, bits: Bits) -> list[Fraction]:
    """The shares of columns of any biases, by an estimator for biases between 1/3 and 2/3. Algorithm 10.

    Bits are turned round with the chance 1/3, and an estimate q becomes 3q - 1, which may lie below 0 or above 1;
    clipping it is post-processing. Three times as far off as the estimator; its price stays.

    >>> from dpviz.noise.bits import TeachingBits
    >>> mean = lambda rows, bits: [Fraction(int(total), len(rows)) for total in rows.sum(axis=0)]
    >>> [float(one) for one in unbounded(np.tile(np.array([0, 1], dtype=np.uint8), (1500, 1)), mean, TeachingBits(1))]
    [0.026, 1.0]
    """
    return [3 * share - 1 for share in estimator(turned(rows, bits), bits)]
