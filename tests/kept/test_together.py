"""A ledger with counts and profiles in one entry, written by the first dpviz that sells them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import dpviz as dv
from tests.kept.calls import MONTHS
from tests.kept.write_together import CALLS, HERE, opened, shown


def test_kept_counts_and_profiles_verify_and_are_found_free(tmp_path: Path) -> None:
    path = tmp_path / "kept.ledger"
    path.write_bytes(gzip.decompress((HERE / "together.ledger.gz").read_bytes()))
    session = opened(path)
    left = session.remaining
    assert session.ledger.verify().charges == len(CALLS)
    found = [session.release(MONTHS, counts, over=over) for counts, over in CALLS]
    assert [release.number for release in found] == [1, 2, 3] and session.remaining == left
    assert [shown(release) for release in found] == json.loads((HERE / "shown.json").read_text(encoding="utf-8"))
    for name, release in (("first.json", found[0]), ("second.dpviz", found[1])):
        read = dv.load(HERE / name, ledger=session)
        assert read == release and read.profile == release.profile
    again = session.release(MONTHS, *CALLS[0][:1], over=CALLS[0][1], key="again")
    assert again.number == 4 and session.ledger.verify()
