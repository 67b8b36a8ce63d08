"""A ledger with parts that were charged at their exact composition, written by the first dpviz that does so."""

from __future__ import annotations

import gzip
from fractions import Fraction
from pathlib import Path

from dpviz.privacy.loss import ApproxDP
from tests.kept.write_exact_parts import CALLS, HERE, opened

PAID = [("1", "0.000001"), ("0.974029", "0.01"), ("0.5", "0.02")]
EACH = ["0.18798", "0.155853", "0.107992"]


def test_kept_parts_verify_are_found_free_and_go_on(tmp_path: Path) -> None:
    path = tmp_path / "kept.ledger"
    path.write_bytes(gzip.decompress((HERE / "parts.ledger.gz").read_bytes()))
    session = opened(path)
    assert session.ledger.verify().statuses == {"done": len(CALLS)}
    left, stored = session.remaining, list(session.releases.values())
    answers = [session.release(question, mechanism, **how) for question, mechanism, how in CALLS]
    assert answers == stored and session.remaining == left
    losses = [ApproxDP(Fraction(epsilon), Fraction(delta)) for epsilon, delta in PAID]
    assert [answer.guarantee.loss for answer in answers] == losses
    plans = [session.plan(question, mechanism, **how) for question, mechanism, how in CALLS]
    assert [plan.price.loss for plan in plans] == losses
    assert [plan.bound.each.price.epsilon for plan in plans] == [*map(Fraction, EACH)]  # type: ignore[attr-defined]
    question, mechanism, how = CALLS[0]
    assert session.release(question, mechanism, **how, key="again").number == len(CALLS) + 1
    assert session.remaining.epsilon == left.epsilon - 1 and session.ledger.verify()
