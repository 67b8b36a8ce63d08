"""A sampler of labels made of a sampler of bits: why products of bits take as many people as labels do.

For lessons and for simulation on public data. The class of laws: 2k + 1 labels, of which a special one has the chance
1 - a, and k of the others, a / k each; a is 60 times the accuracy asked for.
Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithms 5 to 8, Theorem 5.9. Three things are repaired: the
exponential mechanism that picks the special label needs the number of records in its exponent; the transformation of
the rest needs the mean of the part that it gets; and the product sampler gets a smaller delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpviz.errors import ParameterError
from dpviz.exact import Enclosure, ceil_to, exp_bounds, floor_to, log_bounds, positive, text, whole
from dpviz.noise.bits import Bits
from dpviz.noise.coin import flip
from dpviz.noise.race import rank
from dpviz.noise.uniform import bernoulli

ProductSampler = Callable[[NDArray[np.uint8], Bits], Sequence[int]]
"""Takes rows of bits, not packed, and gives one row."""

MOST_BIAS = Fraction(7968, 10_000)
"""Up to this bias p <= 1 - exp(-2p), so that ones can be thinned to it."""

SPECIAL_TIMES = 60
"""a over alpha, in the class of laws."""

STEP, DELTA_STEP = Fraction(1, 10**6), Fraction(1, 10**30)


def special_label(counts: Sequence[int], epsilon: Fraction, bits: Bits) -> int:
    """A label with the chance exp(epsilon count / 2) over the sum of all of these: most likely one with most records.

    Price: epsilon, for replacing one record. Algorithm 6, which prints count / n in place of the count, and so picks
    almost any label.

    >>> from dpviz.noise.bits import TeachingBits
    >>> special_label([3, 40, 2], Fraction(1), TeachingBits(1))
    1
    """
    return rank(np.array(counts, dtype=np.int64), positive(epsilon, "epsilon") / 2, 1, bits)[0]


def kept_chance(p: Fraction, precision: int) -> Enclosure:
    """p / (1 - exp(-2p)), enclosed: the chance by which a cell hit by one of Po(2p) balls stays 1, so that it is 1 with
    the chance p."""
    low, high = exp_bounds(-2 * p, precision + 8)
    return p / (1 - low), min(Fraction(1), p / (1 - high))


def rows_of_bits(
    records: Sequence[int], labels: int, rows: int, p: Fraction, special: int, bits: Bits
) -> NDArray[np.uint8]:
    """Rows of bits made of records of 2k + 1 labels: one column for each label but the special one, in their order.

    Each record of a label hits one of the rows, uniformly, and a row that was hit has a 1 with the chance
    p / (1 - exp(-2p)). With Po(2 rows) independent records of the class, p = a / k, the rows are exactly independent,
    their columns too, with the chance p for labels of chance p and 0 for those of chance 0. One record moves at most
    one row; a replaced one, two. Algorithm 7.

    Raises ParameterError for a p above 0.7968, which cannot be had so.

    >>> from dpviz.noise.bits import TeachingBits
    >>> rows_of_bits([0, 1, 1, 2, 1], 3, 4, Fraction(1, 2), 1, TeachingBits(1)).tolist()
    [[1, 1], [0, 0], [0, 0], [0, 0]]
    """
    hit = cells_hit(records, labels, rows, special, bits)
    return np.delete(thinned(hit, p, bits), special, axis=1)


def cells_hit(records: Sequence[int], labels: int, rows: int, special: int, bits: Bits) -> NDArray[np.uint8]:
    """A row of cells for each of so many rows, one cell for each label, with a 1 where a record fell: each record of a
    label but the special one falls into a uniform row. The first half of Algorithm 7.

    >>> from dpviz.noise.bits import TeachingBits
    >>> cells_hit([0, 1, 1, 2, 1], 3, 4, 1, TeachingBits(1)).tolist()
    [[1, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    """
    table = np.zeros((whole(rows, "rows"), whole(labels, "labels", least=2)), dtype=np.uint8)
    for record in records:
        if record != special:
            table[bits.below(rows), record] = 1
    return table


def thinned(cells: NDArray[np.uint8], p: Fraction, bits: Bits) -> NDArray[np.uint8]:
    """The cells, where each 1 stays with the chance p / (1 - exp(-2p)). The second half of Algorithm 7.

    Raises ParameterError for a p above 0.7968, which cannot be had so.
    """
    if not 0 < p <= MOST_BIAS:
        raise ParameterError.of(text(p), "p lies above 0 and is at most 0.7968", "give a p like 1/10")
    kept = cells.copy()
    for row, column in np.argwhere(cells).tolist():
        kept[row, column] = flip(lambda precision: kept_chance(p, precision), bits)
    return kept


def label_of_bits(row: Sequence[int], special: int, bits: Bits) -> int:
    """The special label where no bit is 1, else a uniform one of the labels whose bit is. Algorithm 8.

    >>> from dpviz.noise.bits import TeachingBits
    >>> label_of_bits([0, 0, 0, 0], 2, TeachingBits(1)), label_of_bits([0, 0, 1, 0], 2, TeachingBits(1))
    (2, 3)
    """
    ones = [place for place, bit in enumerate(row) if bit]
    if not ones:
        return special
    place = ones[bits.below(len(ones))]
    return place if place < special else place + 1


def label_distance(k: int, a: Fraction) -> Fraction:
    """Bound the distance of `label_of_bits` from the law of labels where its row has the right law: |(1 - a / k)**k -
    (1 - a)|.

    In total variation, exactly; at most a**2 / 2.

    >>> label_distance(2, Fraction(1, 10))
    Fraction(1, 400)
    """
    return abs((1 - a / whole(k, "k")) ** k - (1 - a))


@dataclass(frozen=True)
class Reduction:
    """A sampler of one of 2k + 1 labels from a Poisson number of records with mean n. Algorithm 5.

    k, alpha, n      of the class of laws, and the mean number of records
    epsilon, delta   the price of the whole, for replacing one record
    constant         the paper's "sufficiently large" C

    >>> plan = Reduction(3, Fraction(1, 200), 200_000, Fraction(1), Fraction(1, 10**6))
    >>> plan.a, plan.rows, plan.inside[0], float(plan.inside[1])
    (Fraction(3, 10), 99780, Fraction(1, 4), 4.378234991142019e-07)
    """

    k: int
    alpha: Fraction
    n: int
    epsilon: Fraction
    delta: Fraction
    constant: int = 1

    def __post_init__(self) -> None:
        whole(self.k, "k", least=2)
        whole(self.n, "n", least=2)
        whole(self.constant, "constant")
        positive(self.epsilon, "epsilon")
        if not 0 <= self.delta < 1:
            raise ParameterError.of(text(self.delta), "delta lies in [0, 1)", "give a delta like 1/1000000")
        if not 0 < self.a < 1:
            raise ParameterError.of(text(self.alpha), "alpha lies above 0 and below 1/60", "give an alpha like 1/100")
        if self.rows < 1:
            raise ParameterError.of(
                f"n={self.n:,}",
                f"the special label is looked for among about {math.ceil(self.few * 2):,} records",
                "take more records, or a larger alpha or epsilon",
            )

    @property
    def a(self) -> Fraction:
        """The chance of all labels but the special one."""
        return SPECIAL_TIMES * self.alpha

    @property
    def few(self) -> Fraction:
        """C ln k / (alpha epsilon): with fewer records for the special label, the last label is given."""
        return ceil_to(self.constant * log_bounds(Fraction(self.k))[1] / (self.alpha * self.epsilon), STEP)

    @property
    def share(self) -> Fraction:
        """The chance that a record is used to look for the special label, so that 2 rows are the mean of the others."""
        return 1 - Fraction(2 * self.rows, self.n)

    @property
    def rows(self) -> int:
        """Half the mean number of the records that are left: what the rows are made for. The paper has n / 2, with
        which bits would be too rare."""
        return math.floor((self.n - 2 * self.few) / 2)

    @property
    def inside(self) -> tuple[Fraction, Fraction]:
        """epsilon and delta of the product sampler: a replaced record moves two rows, so a quarter of epsilon, and
        delta / (1 + exp(epsilon / 4)), rounded down. The paper has delta / 2, which comes to more than delta."""
        quarter = self.epsilon / 4
        return quarter, floor_to(self.delta / (1 + exp_bounds(quarter)[1]), DELTA_STEP)

    def draw(self, records: Sequence[int], product: ProductSampler, bits: Bits) -> int:
        """One label. Half of epsilon goes to the special label, half to the product sampler, each record is in one
        part."""
        return self.walk(records, product, bits).label

    def walk(self, records: Sequence[int], product: ProductSampler, bits: Bits) -> Walk:
        """The same draw with all that it went through, for lessons: only the label may be released."""
        labels = 2 * self.k + 1
        if not all(0 <= record < labels for record in records):
            raise ParameterError.of(
                "another number", "a record must be one of the labels", f"give numbers from 0 to {labels - 1}"
            )
        share, few = self.share, self.few
        aside = [bernoulli(share, bits) for _ in records]
        left = [record for record, is_aside in zip(records, aside, strict=True) if is_aside]
        counts = np.bincount(left, minlength=labels).tolist()
        if len(left) < few:
            return Walk(counts, None, None, None, None, labels - 1)
        special = special_label(counts, self.epsilon / 2, bits)
        rest = [record for record, is_aside in zip(records, aside, strict=True) if not is_aside]
        cells = cells_hit(rest, labels, self.rows, special, bits)
        table = np.delete(thinned(cells, self.a / self.k, bits), special, axis=1)
        row = tuple(int(bit) for bit in product(table, bits))
        return Walk(counts, special, np.delete(cells, special, axis=1), table, row, label_of_bits(row, special, bits))


@dataclass(frozen=True)
class Walk:
    """The stages of one draw of a `Reduction`; None for steps that it did not come to.

    looked_at  how often each label is among the records that the special label is looked for in
    special    the label that was found
    cells      1 where a record fell, of shape (rows, 2k): without the column of the special label
    table      the bits that are left of them, of the same shape
    row        the row of bits that the product sampler drew
    label      the label that is drawn
    """

    looked_at: list[int]
    special: int | None
    cells: NDArray[np.uint8] | None
    table: NDArray[np.uint8] | None
    row: tuple[int, ...] | None
    label: int
