"""Blind samplers: the chance of a label rests on its count and on the counts of counts, over all small data sets."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import pytest

from dpviz.errors import ParameterError
from dpviz.noise.bits import Bits, TeachingBits
from dpviz.sampling.poisson import shuffled
from dpviz.sampling.symmetry import frequency_counts, symmetrised
from tests.sampling.every import law

LABELS, N = 3, 3


def first_or_two(records: Sequence[int], bits: Bits) -> int:
    """A sampler that is not blind at all: label 2 half of the time, else the first record, or any where it is 0."""
    if bits.below(2):
        return 2
    return records[0] or bits.below(LABELS)


def blind(chances: dict[tuple[int, ...], dict[int, Fraction]]) -> bool:
    """Whether the chance of a label is a function of its count and of the frequency counts."""
    seen: dict[tuple[int, tuple[int, ...]], Fraction] = {}
    for records, own in chances.items():
        for label in range(LABELS):
            known = records.count(label), tuple(frequency_counts(records, LABELS))
            if seen.setdefault(known, own.get(label, Fraction(0))) != own.get(label, Fraction(0)):
                return False
    return True


def test_a_symmetrised_sampler_knows_counts_alone_and_without_the_shuffle_it_knows_the_order() -> None:
    every = list(itertools.product(range(LABELS), repeat=N))

    def only_renamed(records: Sequence[int], bits: Bits) -> int:
        names = shuffled(range(LABELS), bits)
        return names.index(first_or_two([names[record] for record in records], bits))

    assert blind(
        {records: law(lambda bits, r=records: symmetrised(r, LABELS, first_or_two, bits)) for records in every}
    )
    assert not blind({records: law(lambda bits, r=records: only_renamed(r, bits)) for records in every})
    assert not blind({records: law(lambda bits, r=records: first_or_two(r, bits)) for records in every})


def test_frequency_counts_add_up_to_the_labels_and_the_records() -> None:
    for records in itertools.product(range(4), repeat=3):
        counts = frequency_counts(records, 4)
        assert sum(counts) == 4 and sum(times * many for times, many in enumerate(counts)) == 3


def test_a_symmetrised_sampler_costs_no_more() -> None:
    """The worst ratio over all neighbours, of "the first record by randomised response" and of its blind twin."""

    def response(records: Sequence[int], bits: Bits) -> int:
        return records[0] if bits.below(2) else bits.below(LABELS)

    def worst(laws: dict[tuple[int, ...], dict[int, Fraction]]) -> Fraction:
        return max(
            own[label] / laws[(*records[:place], other, *records[place + 1 :])][label]
            for records, own in laws.items()
            for place in range(2)
            for other in range(LABELS)
            for label in own
        )

    every = list(itertools.product(range(LABELS), repeat=2))
    plain = worst({records: law(lambda bits, r=records: response(r, bits)) for records in every})
    made = worst({records: law(lambda bits, r=records: symmetrised(r, LABELS, response, bits)) for records in every})
    assert plain == 4 and Fraction(1) < made <= plain


def test_records_that_are_no_labels_are_refused_without_being_named() -> None:
    with pytest.raises(ParameterError, match="one of the labels") as refusal:
        symmetrised([0, 718], 3, first_or_two, TeachingBits(1))
    assert "718" not in str(refusal.value)
