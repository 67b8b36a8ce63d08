"""Many texts as lines of one: they read as a tuple of them would."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.model import lines
from dpviz.model.lines import Lines

TEXTS = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=9), min_size=1)


@given(TEXTS, st.integers(1, 40))
def test_lines_read_as_a_tuple_of_the_same_texts(texts: list[str], piece: int) -> None:
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(lines, "PIECE", piece)
        found = Lines.of(texts)
        assert found is not None
        assert len(found) == len(texts) and list(found) == texts
        assert found.ascending() == all(one < other for one, other in pairwise(texts))
    assert found == tuple(texts) and hash(found) == hash(tuple(texts))
    assert found[-1] == texts[-1] and found[:2] == tuple(texts[:2])
    assert list(found) == texts, "read once more, after all were made"
    assert (found == (*texts, "more")) is False


def test_a_text_with_a_line_break_and_no_text_at_all_are_no_lines() -> None:
    assert Lines.of(["a", "b\nc"]) is None
    assert Lines.of([]) is None


def test_one_text_that_is_out_of_order_between_two_pieces_is_seen() -> None:
    chance = random.Random(5)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(lines, "PIECE", 64)
        for _ in range(50):
            texts = [f"key {number:05}" for number in range(100)]
            place = chance.randrange(99)
            texts[place], texts[place + 1] = texts[place + 1], texts[place]
            found = Lines.of(texts)
            assert found is not None and not found.ascending()
