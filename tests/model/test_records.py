"""A drawn record: stored whole, read in words, and drawn from again only where what it was drawn from was released."""

from __future__ import annotations

import io
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpviz.errors import DpvizError, ParameterError, ReleaseFormat
from dpviz.model.answers import Answer, Packed, ProductRecord, Reading, Record, WeightedRecord, from_json
from dpviz.model.answers.records import place_of, record_at
from dpviz.model.domain import Domain
from dpviz.model.error import ErrorModel
from dpviz.model.question import Question
from dpviz.noise.bits import SystemBits, TeachingBits
from dpviz.noise.category import pick, picks
from dpviz.privacy.unit import Unit

KIND = Domain.categories(["x", "y", "z"], column="kind")
SEEN = Domain.integers(0, 1, column="seen")
SICK = Domain.categories(["no", "yes"], column="sick")
BOTH, TWO_BITS = Question.records([KIND, SEEN]), Question.records([SEEN, SICK])
WEIGHTS = np.array([0, 5, 0, 1, 2, 0], dtype=np.int64)

PLAIN = Record((2, 1))
WEIGHTED = WeightedRecord((0, 1), WEIGHTS)
PRODUCT = ProductRecord((1, 0), np.array([8, 3], dtype=np.int64), 8)
ANSWERS: list[tuple[Answer, Question]] = [(PLAIN, BOTH), (WEIGHTED, BOTH), (PRODUCT, TWO_BITS)]


def read(question: Question, number: int | None = 3) -> Reading:
    return Reading(question, Unit(), ErrorModel(), number=number)


def test_a_record_is_its_place_among_all_records() -> None:
    domain = KIND * SEEN * SICK
    assert [place_of(record_at(place, domain), domain) for place in range(12)] == list(range(12))
    assert domain.label(place_of((2, 0, 1), domain)) == "z · 0 · yes"


@pytest.mark.parametrize(("answer", "question"), ANSWERS)
def test_a_stored_record_is_read_back_the_same_and_fits_its_question(answer: Answer, question: Question) -> None:
    again = from_json(answer.to_json())
    assert again == answer and again.to_json() == answer.to_json()
    assert type(answer).unpack(answer.pack()) == answer
    assert answer.fits(question, None) and not answer.fits(question, 3)
    assert not answer.fits(Question.of(question.domain), None)
    assert not answer.fits(Question.records([SICK]), None)


def test_a_record_reads_as_its_labels() -> None:
    reading = read(BOTH)
    assert PLAIN.labels_of(reading) == {"kind": "z", "seen": "1"}
    assert PLAIN.rows(reading) == {"column": ["kind", "seen"], "label": ["z", "1"]}
    assert list(PLAIN.axis(reading).labels) == ["kind", "seen"]
    assert "paid for anew" in PLAIN.remark(reading) and "not independent" in WEIGHTED.remark(reading)
    view = WEIGHTED.view(reading, [Fraction(1, 20)])
    assert (view.kind, view.header["labels"], view.header["more"]) == ("record", ["x", "1"], True)
    for ask in (lambda: PLAIN.read(reading), lambda: PLAIN.point(reading, "x"), lambda: PLAIN.all_points(reading)):
        with pytest.raises(ReleaseFormat, match="no values to look up"):
            ask()


def test_further_records_have_the_law_of_the_weights_and_say_what_they_share() -> None:
    drawn = WEIGHTED.draws(read(BOTH), 8000, TeachingBits(5))
    found = Counter(drawn.records)
    assert set(found) == {("x", "1"), ("y", "1"), ("z", "0")}  # no label without a weight
    for label, weight in {("x", "1"): 5, ("y", "1"): 1, ("z", "0"): 2}.items():
        assert abs(found[label] - 1000 * weight) < 300  # fixed bits; 6.7 standard deviations of chance
    assert "entry 3" in drawn.note and "not independent" in drawn.note and repr(drawn) == f"<{drawn.note}>"
    frame = drawn.to_frame()
    assert list(frame.columns) == ["kind", "seen"] and len(frame) == 8000 and frame.attrs["note"] == drawn.note
    content = drawn.to_csv()
    assert content is not None and content.startswith(f"# {drawn.note}\n")
    assert pd.read_csv(io.StringIO(content), comment="#", dtype=str).equals(pd.DataFrame(frame))


def test_further_records_of_bits_have_the_chances_that_were_released() -> None:
    drawn = PRODUCT.draws(read(TWO_BITS, None), 8000, TeachingBits(5))
    found = Counter(drawn.records)
    assert {seen for seen, _ in found} == {"1"}  # its chance is 8 of 8
    assert abs(found["1", "yes"] - 3000) < 300
    assert "one teaching draw" in drawn.note


def test_without_any_weight_every_label_is_as_likely() -> None:
    nothing = WeightedRecord((1, 1), np.zeros(6, dtype=np.int64))
    assert nothing.fits(BOTH, None)
    assert len(Counter(nothing.draws(read(BOTH), 600, TeachingBits(1)).records)) == 6


def test_many_picks_are_single_picks_one_after_the_other() -> None:
    class Given(TeachingBits):
        """Numbers that are taken as they are."""

        def __init__(self, numbers: list[int]) -> None:
            super().__init__(0)
            self.numbers = numbers

        def take(self, count: int) -> bytes:
            taken, self.numbers = self.numbers[: count // 8], self.numbers[count // 8 :]
            return b"".join(number.to_bytes(8, "little") for number in taken)

        def below(self, bound: int) -> int:
            return self.numbers.pop(0) >> (64 - (bound - 1).bit_length())

    numbers = [place << 61 for place in range(8)]
    assert picks(WEIGHTS, 8, Given(list(numbers))).tolist() == [pick(WEIGHTS, Given([one])) for one in numbers]
    assert picks(WEIGHTS, 8, Given(list(numbers))).tolist() == [1] * 5 + [3] + [4] * 2


def test_only_a_record_that_keeps_what_it_was_drawn_from_gives_more() -> None:
    assert (PLAIN.has_further_draws, WEIGHTED.has_further_draws, PRODUCT.has_further_draws) == (False, True, True)
    for count in (0, -1, 10**9, "x"):
        with pytest.raises(ParameterError, match="count"):
            WEIGHTED.draws(read(BOTH), count, SystemBits())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "header", "arrays"),
    [
        (Record, {"record": ["1"], "more": "x"}, {}),
        (Record, {"record": []}, {}),
        (Record, {"record": ["01"]}, {}),
        (Record, {"record": ["-1"]}, {}),
        (Record, {"record": [1]}, {}),
        (Record, {"record": "1"}, {}),
        (Record, {"record": ["1"]}, {"weights": WEIGHTS}),
        (WeightedRecord, {"record": ["1"]}, {}),
        (WeightedRecord, {"record": ["1"]}, {"weights": -WEIGHTS}),
        (WeightedRecord, {"record": ["1"]}, {"weights": WEIGHTS.astype("<f8")}),
        (WeightedRecord, {"record": ["1"]}, {"weights": WEIGHTS[:0]}),
        (WeightedRecord, {"record": ["1"]}, {"weights": np.array([2**62, 2**62])}),
        (WeightedRecord, {"record": ["1"]}, {"weights": WEIGHTS, "more": WEIGHTS}),
        (ProductRecord, {"record": ["1"]}, {"chances": WEIGHTS}),
        (ProductRecord, {"record": ["1"], "grid": "4"}, {"chances": WEIGHTS}),
        (ProductRecord, {"record": ["1"], "grid": "0"}, {"chances": WEIGHTS * 0}),
        (ProductRecord, {"record": ["1"], "grid": "08"}, {"chances": WEIGHTS}),
        (ProductRecord, {"record": ["1"], "grid": str(2**63)}, {"chances": WEIGHTS}),
        (ProductRecord, {"record": ["1"], "grid": 8}, {"chances": WEIGHTS}),
    ],
)
def test_what_no_record_was_stored_as_is_refused(kind: Any, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    with pytest.raises(DpvizError):
        kind.unpack(Packed(header, arrays))


def test_an_answer_that_cannot_have_been_drawn_does_not_fit() -> None:
    assert not Record((3, 0)).fits(BOTH, None) and not Record((0,)).fits(BOTH, None)
    assert not WeightedRecord((0, 0), WEIGHTS).fits(BOTH, None)  # its label has no weight, and others have
    assert not WeightedRecord((0, 1), WEIGHTS[:5]).fits(BOTH, None)
    assert not ProductRecord((0, 0), PRODUCT.chances, 8).fits(TWO_BITS, None)  # the first is 1 for sure
    assert not ProductRecord((0, 1), np.array([1, 1]), 8).fits(BOTH, None)
