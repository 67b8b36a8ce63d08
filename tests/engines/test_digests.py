"""Digests of many texts at once, held against the standard library's."""

from __future__ import annotations

from hashlib import md5

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpviz.engines import digests as module
from dpviz.engines.digests import LANES, WIDEST, Texts, digests, hexadecimal, ranks

INT64 = np.iinfo(np.int64)
words = st.text(max_size=90) | st.text(alphabet="aé\0\ud800", max_size=3) | st.integers(0, 600).map(lambda n: "x" * n)


def expected(begin: bytes, *texts: str) -> bytes:
    return md5(begin + b"".join(text.encode("utf-8", "surrogatepass") for text in texts)).digest()


def octets(found: NDArray[np.uint32]) -> list[bytes]:
    return [row.astype("<u4").tobytes() for row in found]


@given(st.binary(max_size=20), st.lists(st.tuples(words, words), min_size=1, max_size=40))
@example(b"", [("", "")])
def test_each_digest_is_the_standard_library_s(begin: bytes, pairs: list[tuple[str, str]]) -> None:
    first, second = (Texts.of([pair[at] for pair in pairs]) for at in (0, 1))
    every = np.arange(len(pairs))
    assert octets(digests(begin, (first, every), (second, every[::-1]))) == [
        expected(begin, pairs[place][0], pairs[-1 - place][1]) for place in range(len(pairs))
    ]


def test_every_length_around_the_ends_of_blocks() -> None:
    texts = ["x" * length for length in range(WIDEST + 70)]
    heads = hexadecimal(digests(b"", (Texts.of(texts), np.arange(len(texts)))))
    assert [heads.text(place).decode() for place in range(len(heads))] == [
        md5(text.encode()).hexdigest() for text in texts
    ]
    found = digests(b"question", (heads, np.arange(len(texts))), (Texts.of(texts), np.arange(len(texts))))
    assert octets(found) == [expected(b"question", md5(text.encode()).hexdigest(), text) for text in texts]


@given(st.lists(st.integers(INT64.min, INT64.max), min_size=1))
@example([INT64.min, INT64.max, 0, -1])
def test_integers_are_written_as_python_writes_them(numbers: list[int]) -> None:
    texts = Texts.of_integers(np.array(numbers, dtype=np.int64))
    assert [texts.text(place).decode() for place in range(len(texts))] == [str(number) for number in numbers]


def test_unsigned_integers_and_more_than_one_chunk() -> None:
    numbers = np.arange(2 * LANES + 3, dtype=np.uint64) + np.uint64(2**64 - 2 * LANES - 3)
    found = digests(b"", (Texts.of_integers(numbers), np.arange(len(numbers))))
    assert octets(found) == [expected(b"", str(number)) for number in numbers.tolist()]


def test_ranks_are_in_the_order_of_the_digests() -> None:
    found = digests(b"", (Texts.of_integers(np.arange(1_000)), np.arange(1_000)))
    order = np.lexsort(ranks(found).T[::-1])
    assert order.tolist() == sorted(range(1_000), key=octets(found).__getitem__)


@pytest.mark.parametrize("constant", ["SINES", "TURNS"])
def test_one_wrong_constant_is_found(constant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    altered = getattr(module, constant).copy()
    altered.flat[-1] += 1
    monkeypatch.setattr(module, constant, altered)
    with pytest.raises(AssertionError):
        test_every_length_around_the_ends_of_blocks()
