"""One hash, the largest value of each bucket, noise on every bucket: what is known of the error of one key.

The estimate of a key is the noisy value of its bucket, so it is too large where a larger key lies there, too. Over the
hash function that is on average at most the sum of all values over the number of buckets. Nothing so good is true of
its tail, for a key that meets a large one inherits its value.

Source: Aumüller, Lebeda, Pagh 2022, Algorithm 11 and Lemma 8.2; the tail is a union bound of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpviz.errors import ParameterError
from dpviz.exact import Decay, text
from dpviz.laws.geometric import TwoSidedGeometric, error_quantile


@dataclass(frozen=True)
class BucketError:
    """The error of one key: the noise of its bucket and, at most, what its neighbours add.

    decay   of the noise on a bucket
    load    how many keys there are for each bucket, at most: k / s
    total   the sum of all values for each bucket, at most: their sum over s

    >>> law = BucketError(Decay.rational(Fraction(1, 2)), Fraction(1, 100), Fraction(3))
    >>> law.mean_bound()
    Fraction(13, 3)
    >>> law.quantile_bound(Fraction(1, 20)), law.quantile_bound(Fraction(1, 100))
    (5, None)
    """

    decay: Decay
    load: Fraction
    total: Fraction

    def __post_init__(self) -> None:
        if self.load < 0 or self.total < 0:
            raise ParameterError.of(
                f"{text(self.load)} and {text(self.total)}",
                "neither load nor total is negative",
                "give 0 or more for both",
            )

    def mean_bound(self) -> Fraction:
        """The mean of |error| is at most this: what meets it, and the noise."""
        # Lemma 8.2: on average over the hash function a bucket adds at most the sum of all values over the number of
        # buckets.
        return self.total + TwoSidedGeometric(self.decay).expected_size()[1]

    def tail_bound(self, reach: int) -> Fraction:
        """The chance of an error above `reach` is at most this: some key meets it, or the noise is as large."""
        # Union bound: some key meets it with chance k / s at most, or the noise is as large.
        return min(Fraction(1), self.load + 2 * TwoSidedGeometric(self.decay).above(reach)[1])

    def quantile_bound(self, beta: Fraction) -> int | None:
        """A size that is exceeded with chance at most beta; None where meeting another key is as likely as that."""
        return None if self.load >= beta else error_quantile(self.decay, beta - self.load)
