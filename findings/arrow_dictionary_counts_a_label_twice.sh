#!/usr/bin/env bash
# One would guess: value_counts of an Arrow dictionary column counts each label once, also where its dictionary
#   lists a label twice (which the format allows).
# What happens: pyarrow groups by the index: value_counts and group_by give two rows for one label. polars and
#   DuckDB merge them; pandas refuses to convert.
# Why it matters: files and concatenations whose dictionaries were never unified give two counts for one label, and
#   one row per label is what noise is added to.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.1 pandas==3.1.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb, polars as pl, pyarrow as pa

column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array(["a", "b", "a"]))
column.validate(full=True)
table = pa.table({"k": column})
counts = column.value_counts().field(1).to_pylist()
grouped = table.group_by("k").aggregate([([], "count_all")])["count_all"].to_pylist()
by_duckdb = sorted(duckdb.from_arrow(table).aggregate("k, count(*)").fetchall())
print("pyarrow", pa.__version__, "value_counts", counts, "group_by", grouped, "| polars", pl.from_arrow(column).n_unique(), "labels | duckdb", by_duckdb)
assert counts == grouped == [2, 1, 1] and pl.from_arrow(column).n_unique() == 2 and by_duckdb == [("a", 3), ("b", 1)]
PY
echo "as described"
