"""How many records a tree of counts needs to be of use, by the paper's bound and by better ones (its Appendix E)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from dpviz.boundary import as_given, protect_module, single_arguments
from dpviz.errors import ParameterError
from dpviz.exact import Decay, Enclosure, Number, integer, log_bounds, positive, probability, root_bounds
from dpviz.fitting.noises import Term
from dpviz.fitting.sums import NoiseSum
from dpviz.fitting.tree import Shape


@single_arguments
def printed_error(height: int, epsilon: Number, failure: Number, leaves: int | None = None) -> Enclosure:
    """The printed bound on the error of a sum of noisy subtrees: 16 height**1.5 ln(2 / failure) / epsilon.

    It fails with at most this probability for one range. With a number of leaves, for all ranges at once: the failure
    of each is then failure / leaves**2. Valid, and 2.8 times too loose: see `sharper_error`.

    >>> low, high = printed_error(16, 1, "1/20")
    >>> round(float(high), 2)
    3777.41
    """
    return _error(16, height, epsilon, failure, leaves)


@single_arguments
def sharper_error(height: int, epsilon: Number, failure: Number, leaves: int | None = None) -> Enclosure:
    """The value of the concentration bound that the paper cites: 4 sqrt(2) in place of 16."""
    low, high = root_bounds(Fraction(32))
    return _error(low, height, epsilon, failure, leaves)[0], _error(high, height, epsilon, failure, leaves)[1]


@single_arguments
def records_needed(error: Number, relative: Number) -> Fraction:
    """How many records there must be for an error to be at most this part of them.

    >>> records_needed(120, "1/100")
    Fraction(12000, 1)
    """
    return positive(error, "the error") / positive(relative, "the relative error")


def _error(factor: Fraction | int, height: int, epsilon: Number, failure: Number, leaves: int | None) -> Enclosure:
    each = probability(failure, "the failure probability", zero=False)
    if leaves is not None:
        each /= integer(leaves, "the number of leaves") ** 2
    logs, root = log_bounds(2 / each), root_bounds(Fraction(integer(height, "the height") ** 3))
    rate = factor / positive(epsilon, "epsilon")
    return rate * logs[0] * root[0], rate * logs[1] * root[1]


@dataclass(frozen=True)
class Usefulness:
    """The error of a range of a binary tree where it is read from noisy subtrees, by three ways of saying it.

    height    of the tree, which is its sensitivity when one record is added or removed
    subtrees  how many of them the longest cover of a range takes
    printed   the bound of the paper, rounded up to a whole count
    sharper   what the concentration bound that the paper cites gives, rounded up
    exact     the quantile of the sum of so many noises, two-sided geometric as a release draws them
    settled   whether that is the least that holds; if not, it is a few counts too large at most
    """

    height: int
    subtrees: int
    printed: int
    sharper: int
    exact: Fraction
    settled: bool

    @single_arguments
    def records_needed(self, relative: Number) -> tuple[Fraction, Fraction, Fraction]:
        """How many records there must be for each of the three errors to be at most this part of them."""
        printed, sharper, exact = (records_needed(one, relative) for one in (self.printed, self.sharper, self.exact))
        return printed, sharper, exact


@single_arguments
def usefulness(leaves: int, epsilon: Number, failure: Number, every: bool = False) -> Usefulness:
    """The calculator of Appendix E for a domain of so many bins, with the exact quantile beside it.

    leaves   the number of bins
    epsilon  the price, when one record is added or removed
    failure  how often the error may be larger
    every    for all ranges at once: each then fails at most failure / leaves**2 of the time, which is a union bound

    Free: nothing here rests on data. Raises ParameterError for what is no number of bins, price or chance.

    >>> found = usefulness(32768, 1, "1/20")
    >>> found.height, found.subtrees, found.printed, found.sharper, str(found.exact)
    (16, 28, 3778, 1336, '236')
    """
    if type(every) is not bool:
        raise ParameterError.of(
            as_given(every), "every is True for all ranges at once, or False for one", "write every=True or every=False"
        )
    height = Shape(2, integer(leaves, "the number of bins")).height
    subtrees = max(1, height - 1, 2 * (height - 1) - 2)
    among = leaves if every else None
    bounds = [bound(height, epsilon, failure, among)[1] for bound in (printed_error, sharper_error)]
    level = probability(failure, "the failure probability", zero=False) / (leaves**2 if every else 1)
    noise = Term(Decay.exp(positive(epsilon, "epsilon") / height), 1, subtrees)
    exact = NoiseSum.of([noise]).radius(level, exactly=False)
    return Usefulness(height, subtrees, ceil(bounds[0]), ceil(bounds[1]), exact.value, exact.exact)


@single_arguments
def equi_depth_shape(leaves: int, epsilon: Number, failure: Number, relative: Number, constant: Number = 1) -> float:
    """How the number of records grows that the equi-depth method of Blum, Ligett and Roth needs: only the shape.

    constant * log n (log log n + log(1 / (u d))) / (epsilon u**3), for a relative error u and a failure probability d.
    The paper states the order and no constant, so the constant is yours, and no number that comes of it is a bound.

    >>> equi_depth_shape(1024, 1, "1/20", "1/10") > equi_depth_shape(1024, 1, "1/20", "1/5")
    True
    """
    size, part = integer(leaves, "the number of bins", least=3), positive(relative, "the relative error")
    chance = probability(failure, "the failure probability", zero=False)
    logs = math.log(math.log(size)) + math.log(1 / float(part * chance))
    scale = positive(constant, "the constant") / (positive(epsilon, "epsilon") * part**3)
    return float(scale) * math.log(size) * logs


protect_module(vars())
