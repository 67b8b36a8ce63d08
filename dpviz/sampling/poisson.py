"""How many records a sampler looks at: a Poisson number, or a random part of those there are.

For lessons and for simulation on public data.
Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 1, Lemmas 3.1 and 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

from dpviz.errors import ParameterError
from dpviz.exact import integer, text
from dpviz.noise.bits import Bits
from dpviz.noise.uniform import bernoulli

Record = TypeVar("Record")
Drawn = TypeVar("Drawn")


def poissonised(
    records: Sequence[Record],
    n: int,
    sampler: Callable[[Sequence[Record], Bits], Drawn],
    default: Drawn,
    bits: Bits,
) -> Drawn:
    """Run a sampler of exactly n records on the first n; `default` where there are fewer.

    With Po(2n) independent records the law of the result is as far off as the sampler's, and Pr[Po(2n) < n] <=
    exp(-n / 6) more. The paper hands all records on; the first n keep the sampler's accuracy by construction.

    Price: that of the sampler, for replacing one record. Where a record may come or go, the step from n records to
    n - 1 shows, and nothing is protected.

    >>> from dpviz.noise.bits import TeachingBits
    >>> first = lambda records, bits: records[0]
    >>> poissonised("abcde", 3, first, "?", TeachingBits(1)), poissonised("ab", 3, first, "?", TeachingBits(1))
    ('a', '?')
    """
    return sampler(records[: integer(n, "n")], bits) if len(records) >= n else default


def shuffled(records: Sequence[Record], bits: Bits) -> list[Record]:
    """The records in a uniformly random order.

    >>> from dpviz.noise.bits import TeachingBits
    >>> shuffled("abcd", TeachingBits(2))
    ['d', 'a', 'b', 'c']
    """
    return fixed_part(records, len(records), bits)


def fixed_part(records: Sequence[Record], m: int, bits: Bits) -> list[Record]:
    """m of the records, each m-tuple of different places with the same chance.

    A sampler of m records that costs epsilon for replacing one of them costs ln(1 + (m / N) (exp(epsilon) - 1)) on
    this part of N records (`privacy/amplification.py`, choice="fixed"). The random order is needed: without it a
    sampler that treats its first record differently costs more.

    >>> from dpviz.noise.bits import TeachingBits
    >>> fixed_part("abcdef", 2, TeachingBits(3))
    ['b', 'd']
    """
    pool = list(records)
    integer(m, "m", least=0, most=len(pool))
    for place in range(m):
        other = place + bits.below(len(pool) - place)
        pool[place], pool[other] = pool[other], pool[place]
    return pool[:m]


def coin_part(records: Sequence[Record], share: Fraction, bits: Bits) -> list[Record]:
    """Each record with a coin of its own, in the order they stand in.

    Where one record may come or go, a sampler that costs epsilon costs ln(1 + share (exp(epsilon) - 1)) on this part
    (choice="poisson"). For replacing a record that is not so: the paper's Lemma 3.3 says it, and is wrong there.

    >>> from dpviz.noise.bits import TeachingBits
    >>> coin_part("abcdef", Fraction(1, 3), TeachingBits(4))
    ['e']
    """
    if not 0 <= share <= 1:
        raise ParameterError.of(text(share), "a share lies between 0 and 1", "give a share like 1/10")
    return [record for record in records if bernoulli(share, bits)]
