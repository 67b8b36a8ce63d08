#!/usr/bin/env bash
# One would guess: a valid time in milliseconds in a Parquet file can be read, and a query that reads another column
#   does not fail at it, nor one that reads nothing.
# What happens: DuckDB turns milliseconds into microseconds, and fails where one is too far off (the year 3,170,843).
#   Planning alone fails, too, without a row read: the statistics of the file are turned likewise.
# Why it matters: one row decides whether a table can be opened or counted, and the failure tells that it is there.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1 pyarrow==26.0.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

def outcome(value, query):
    pq.write_table(pa.table({"t": pa.array([value], pa.timestamp("ms")), "n": [1]}), "x.parquet")
    try:
        duckdb.connect().execute(query).fetchall()
        return "answers"
    except duckdb.ConversionException:
        return "fails"

queries = ("SELECT n FROM 'x.parquet'", "SELECT t FROM 'x.parquet'", "EXPLAIN SELECT * FROM 'x.parquet'")
found = {value: [outcome(value, query) for query in queries] for value in (0, 10**17)}
print("duckdb", duckdb.__version__, found, pq.read_table("x.parquet").num_rows, "row read by pyarrow", pa.__version__)
assert found == {0: ["answers"] * 3, 10**17: ["answers", "fails", "fails"]}
PY
echo "as described"
