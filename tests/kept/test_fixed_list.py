"""A ledger with a list, written by the first dpviz that sells lists."""

from __future__ import annotations

import gzip
from fractions import Fraction
from pathlib import Path

import pytest

from dpviz.errors import BudgetExceeded
from tests.kept.write_fixed_list import DRAWN, HERE, LINES, opened

PAID = Fraction("1.167622")


def test_a_kept_list_verifies_gives_its_answers_free_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "kept.ledger"
    path.write_bytes(gzip.decompress((HERE / "list.ledger.gz").read_bytes()))
    session = opened(path)
    assert session.ledger.verify().uses == {"done": len(DRAWN)}
    left = session.remaining
    assert left.epsilon == 4 - PAID - Fraction(1, 10) and left.delta == Fraction("0.000099")
    batch = session.batch(LINES, delta="1e-6")
    assert batch.number == 2 and batch.price.epsilon == PAID
    stored = {answer.use: answer for answer in batch.answers}
    assert [batch.ask(*LINES[line]) for line in DRAWN] == [stored[use] for use in range(1, len(DRAWN) + 1)]
    batch.ask(*LINES[7])
    with pytest.raises(BudgetExceeded):
        batch.ask(*LINES[7], key="again")
    assert session.remaining == left and len(batch.lines_left) == len(LINES) - len(DRAWN) - 1
    assert session.ledger.verify()
