#!/usr/bin/env bash
# One would guess: a pandas column of durations is written to Parquet as a duration or as a whole number.
# What happens: fastparquet writes timedelta64 as TIME, a time of day: a stay of 25 hours is read by pyarrow as
#   01:00 and one of -1 hour as 23:00. DuckDB refuses the file's values, pandas with pyarrow cannot convert them.
# Why it matters: lengths of stay above a day fall in a wrong bin, silently, in one reader of three.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check fastparquet==2026.9.0 pandas==3.1.1 pyarrow==26.0.1 duckdb==2.0.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb, fastparquet, pandas as pd, pyarrow.parquet as pq

fastparquet.write("stays.parquet", pd.DataFrame({"stay": pd.to_timedelta([1, 25, -1], unit="h")}))
column = pq.read_table("stays.parquet").column("stay")
print("fastparquet", fastparquet.__version__, "type", column.type, "read by pyarrow", [str(value) for value in column.to_pylist()])
try:
    told = duckdb.sql("from 'stays.parquet'").fetchall()
except duckdb.Error as error:
    told = str(error)
print("duckdb", duckdb.__version__, told)
assert str(column.type) == "time64[us]" and [value.hour for value in column.to_pylist()] == [1, 1, 23] and "within a day" in told
PY
echo "as described"
