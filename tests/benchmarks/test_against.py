"""Two versions take turns at the same work."""

from __future__ import annotations

import re

import pytest

from benchmarks import against


@pytest.mark.parametrize("name", ["releases again", "growth filtered 100"])
def test_a_version_beside_itself_does_the_same_work(name: str) -> None:
    line = against.compared((against.ROOT, against.ROOT), name, 2)
    assert re.fullmatch(rf"\| {name}( \| [\d.]+ ms \| [\d.]+ ms \| [\d.]+){{2}} \|", line)


def test_a_version_that_fails_is_named() -> None:
    with pytest.raises(RuntimeError, match="ended before it answered"):
        against.compared((against.ROOT, against.ROOT), "releases nothing", 1)


def test_every_kind_of_work_is_listed() -> None:
    assert {name.partition(" ")[0] for name in against.WORKS} == set(against.MADE)
