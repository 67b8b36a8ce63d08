"""How many records a tree of counts needs to be of use, by the paper's bound and by better ones (its Appendix E)."""

from __future__ import annotations

from fractions import Fraction

from dpviz.boundary import single_arguments
from dpviz.exact import Enclosure, Number, integer, log_bounds, positive, probability, root_bounds


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
    """What the concentration bound that the paper cites gives: 4 sqrt(2) in place of 16."""
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
