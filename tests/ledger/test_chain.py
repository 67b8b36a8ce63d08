"""A row says the same bytes for the same things for ever, and its hash covers all of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.errors import LedgerCorrupt, ParameterError
from dpviz.session.ledger.chain import Row, State, canonical

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_canonical_json_is_ascii_and_reads_back_to_itself(value: object) -> None:
    text = canonical(value)
    assert text.isascii()
    assert json.loads(text) == value
    assert canonical(json.loads(text)) == text


@given(st.dictionaries(st.text(), plain, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_canonical_json_does_not_depend_on_the_order_of_keys(value: dict[str, object], order: object) -> None:
    names = list(value)
    order.shuffle(names)  # type: ignore[attr-defined]
    assert canonical({name: value[name] for name in names}) == canonical(value)


def test_the_bytes_of_canonical_json_are_fixed() -> None:
    assert canonical({"b": (1, None), "a": "é\x00\u2028"}) == '{"a":"\\u00e9\\u0000\\u2028","b":[1,null]}'


@pytest.mark.parametrize("value", [0.5, 2**53, {1: "x"}, b"bytes", {"x"}, object()])
def test_what_json_would_blur_is_refused(value: object) -> None:
    with pytest.raises(ParameterError) as refused:
        canonical({"inside": [value]})
    assert refused.value.rule


STATE = State({"spent": "1"}, charges=1, terms=1)
FIELDS = {
    "seq": 2,
    "kind": "charge",
    "body": '{"at":"2000-01-01T00:00:00Z","state":{"account":{"spent":"1"},"charges":1,"terms":1}}',
    "previous": "0" * 64,
    "hash": "98d6a6081db65d59b8d50b5b8a25e6a1459634f349417aff4e82157a6830163f",
}


def test_a_row_written_by_the_first_version_is_read() -> None:
    assert Row.read(FIELDS.values()).state == STATE


@pytest.mark.parametrize(
    "change",
    [
        {"seq": 3},
        {"kind": "raise"},
        {"body": FIELDS["body"].replace("1", "2", 1)},
        {"previous": "1" + "0" * 63},
        {"hash": "0" * 64},
        {"kind": "gift"},
        {"seq": "2"},
        {"body": None},
        {"body": b"bytes"},
    ],
)
def test_a_row_with_any_field_changed_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(LedgerCorrupt, match="does not match its hash"):
        Row.read((FIELDS | change).values())


def test_a_row_follows_the_one_before() -> None:
    first = Row.after(None, "charter", STATE)
    second = Row.after(first, "charge", STATE, number=1)
    assert (first.seq, first.previous) == (1, "0" * 64)
    assert (second.seq, second.previous) == (2, first.hash)
    assert second.content["number"] == 1
