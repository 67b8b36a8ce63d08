"""A sampler that is blind to what labels are called and to the order of the records.

For lessons: lower bounds are proved for such samplers, and carry over to all.
Source: Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 2, Definition 3.4, Lemma 3.7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpviz.errors import ParameterError
from dpviz.exact import integer
from dpviz.noise.bits import Bits
from dpviz.sampling.poisson import shuffled


def symmetrised(records: Sequence[int], labels: int, sampler: Callable[[Sequence[int], Bits], int], bits: Bits) -> int:
    """Rename the labels 0..labels-1 at random, put the records in random order, draw a label, and give it its name
    back.

    The chance of a label then depends on nothing but its count and on how many labels have each count. The paper leaves
    the records in their order, which is not enough: "the first record" is then still told from the others.

    Price: that of the sampler; both the names and the order are drawn without looking at the records. On a class of
    laws that is closed under renaming it is as accurate as the sampler.

    >>> from dpviz.noise.bits import TeachingBits
    >>> least = lambda records, bits: min(records)
    >>> {symmetrised([2, 2, 5], 6, least, TeachingBits(seed)) for seed in range(20)}
    {2, 5}
    """
    names = shuffled(range(integer(labels, "labels")), bits)
    if not all(0 <= record < labels for record in records):
        raise ParameterError.of(
            "another number", "a record must be one of the labels", f"give numbers from 0 to {labels - 1}"
        )
    drawn = sampler(shuffled([names[record] for record in records], bits), bits)
    return names.index(drawn)


def frequency_counts(records: Sequence[int], labels: int) -> list[int]:
    """How many labels have each count, from 0 to the number of records. They add up to `labels`.

    >>> frequency_counts([2, 2, 5], 6)
    [4, 1, 1, 0]
    """
    counts = [0] * integer(labels, "labels")
    for record in records:
        counts[record] += 1
    return [counts.count(times) for times in range(len(records) + 1)]
