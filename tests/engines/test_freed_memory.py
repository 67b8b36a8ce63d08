"""Batches of texts are joined without lying in memory twice, and what a long answer leaves is given back."""

from __future__ import annotations

import mmap
import subprocess
import sys

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from dpviz.engines.occupied import TextBatch
from dpviz.errors import ReleaseFailed

TEXTS = ["", "b", "ä long one that is no prefix", "b2", "Zürich", "\u0000", "中", "b11"]


def cut(texts: list[str], kind: pa.DataType, before: int, after: int) -> pa.Array:
    """These texts in the midst of a longer column, as an engine hands on a part of its own memory."""
    return pa.array(["lost"] * before + texts + ["gone"] * after, kind)[before : before + len(texts)]


@pytest.mark.parametrize("kinds", [(pa.string(),), (pa.large_string(),), (pa.string(), pa.large_string())])
def test_batches_of_all_shapes_are_joined(kinds: tuple[pa.DataType, ...]) -> None:
    batches = [
        TextBatch(cut([text] if at != 3 else [], kinds[at % len(kinds)], at, 2 * at), np.array([at][: at != 3]))
        for at, text in enumerate(TEXTS)
    ]
    batches.append(TextBatch(pa.array([], kinds[0]), np.array([], dtype=np.int64)))
    batches.append(TextBatch(cut(["c", "a", "d"], kinds[-1], 5, 0), np.array([20, 21, 22])))
    expected = {text: at for at, text in enumerate(TEXTS) if at != 3} | {"c": 20, "a": 21, "d": 22}
    labels, counts = TextBatch.in_order(list(batches))
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == expected
    assert labels.tolist() == sorted(expected)
    shown, counts = TextBatch.to_show(batches)
    assert [*shown] == sorted(expected)
    assert counts.tolist() == [expected[text] for text in sorted(expected)]
    assert not batches


def test_a_text_in_two_batches_is_refused() -> None:
    batches = [TextBatch(cut([text], pa.string(), 1, 1), np.array([1])) for text in ("a", "b", "a")]
    with pytest.raises(ReleaseFailed):
        TextBatch.to_show(batches)


FREED = """
import sys
import duckdb
from dpviz.memory import give_back

def held():
    return int(open("/proc/self/statm").read().split()[1])

connection = duckdb.connect(config={"memory_limit": "3GB", "threads": 2})
groups = connection.sql("SELECT range::TEXT AS key, count(*) FROM range(3000000) GROUP BY key").to_arrow_reader()
print(sum(len(piece) for piece in groups))
before = held()
if sys.argv[1] == "give":
    give_back()
print(before - held())
print(connection.sql("SELECT current_setting('memory_limit')").fetchall()[0][0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of its process from /proc")
def test_duckdb_gives_back_what_a_long_answer_took() -> None:
    """3,000,000 groups take over 100 MB, which DuckDB keeps. The connection's own limit stays as it was."""

    def freed(how: str) -> int:
        done = subprocess.run([sys.executable, "-c", FREED, how], check=True, capture_output=True, text=True)
        groups, pages, limit = done.stdout.split("\n")[:3]
        assert groups == "3000000"
        assert limit == "2.7 GiB"
        return int(pages) * mmap.PAGESIZE

    assert freed("keep") < 10 * 2**20
    assert freed("give") > 100 * 2**20
