"""Odd parameters, questions, filters and units at random: each is paid and read back, or refused and free."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import dpviz as dv
from tests.session.test_read_back import (
    DELTAS,
    DOMAINS,
    EPSILONS,
    MAKERS,
    UNITS,
    WHERES,
    digest,
    opened,
    read_anew,
    tried,
)
from tests.soak.amounts import record, rounds


def test_whatever_is_typed_is_paid_and_read_back_or_refused_and_free(tmp_path: Path) -> None:
    count, chance = rounds(800), random.Random(28)
    sessions = {name: opened(tmp_path / f"{name}.ledger", name) for name in UNITS}
    paid: dict[str, dict[str, str]] = {name: {} for name in UNITS}
    refused = 0
    for turn in range(count):
        unit, domain, name = chance.choice(list(UNITS)), chance.choice(list(DOMAINS)), chance.choice(list(MAKERS))
        epsilon, delta = chance.choice(EPSILONS), chance.choice(DELTAS)
        if name == "Compact" and unit == "replace":
            continue  # its calibration takes minutes here
        where = chance.choice(WHERES)
        if sessions[unit].remaining.delta < Fraction(delta):
            delta = "1e-30"
        release = tried(
            sessions[unit],
            DOMAINS[domain](),
            lambda n=name, e=epsilon, d=delta: MAKERS[n](e, d),  # type: ignore[misc]
            tmp_path,
            key=f"{turn}",
            where=where,
        )
        if release is None:
            refused += 1
            continue
        paid[unit][str(release.number)] = digest(release)
        if turn % 10 == 0:
            dv.report([release], tmp_path / "one.html")
    for unit, expected in paid.items():
        if expected:
            assert read_anew(tmp_path / f"{unit}.ledger", unit) == {"shown": max(expected, key=int), "read": expected}
            assert len(sessions[unit].ledger.entries()) == len(expected)
    total = sum(map(len, paid.values()))
    assert total >= count // 8, "too little was accepted to have tested anything"
    record("Odd parameters, read back", f"{count:,} typed: {total:,} paid and read back, {refused:,} refused and free")
