"""Hostile names in every chart and in a report, each name alone."""

from __future__ import annotations

from pathlib import Path

from tests.model.test_hostile_names import NAMES, drawn_and_reported
from tests.soak.amounts import record, rounds


def test_each_name_goes_through_every_chart_and_a_report(tmp_path: Path) -> None:
    names = NAMES[: rounds(len(NAMES))]
    for name in names:
        drawn_and_reported(name, tmp_path)
    record("Names that a template would take for its own", f"{len(names)} drawn and reported, each alone")
