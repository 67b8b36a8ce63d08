#!/usr/bin/env bash
# One would guess: a Parquet file that polars writes with a column of 128-bit whole numbers opens everywhere; DuckDB,
#   which has HUGEINT of 128 bits, reads the numbers, and pyarrow, which has no such type, leaves that column out or
#   refuses it alone.
# What happens: DuckDB reads bytes (BLOB), lowest byte first, so that they do not even sort as the numbers do. pyarrow
#   refuses the whole file, its schema and its other columns included.
# Why it matters: sums of 64-bit columns are cast to Int128 to be safe from wrapping; one such column closes the file
#   to every reader that is built on pyarrow. Cast to Decimal(38, 0) or Int64 before writing.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0 pyarrow==26.0.1 duckdb==2.0.0
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

frame = pl.DataFrame({"x": [1, 2], "big": pl.Series([1, 256], dtype=pl.Int128)})
frame.write_parquet("big.parquet")
assert pl.read_parquet("big.parquet").schema["big"] == pl.Int128

described = duckdb.sql("DESCRIBE SELECT * FROM 'big.parquet'").fetchall()
rows = duckdb.sql("SELECT x, big FROM 'big.parquet' ORDER BY big").fetchall()
print("duckdb", duckdb.__version__, [row[:2] for row in described], rows)
assert described[1][1] == "BLOB"
assert [row[0] for row in rows] == [2, 1]  # 256 comes before 1
assert rows[1][1] == (1).to_bytes(16, "little")

for read in (pq.read_schema, lambda name: pq.read_table(name, columns=["x"])):
    try:
        raise SystemExit(f"pyarrow {pa.__version__} reads {read('big.parquet')}")
    except pa.ArrowNotImplementedError as error:
        print("pyarrow", pa.__version__, "refuses the file:", error)

frame.with_columns(pl.col("big").cast(pl.Decimal(38, 0))).write_parquet("cast.parquet")
assert pq.read_table("cast.parquet").num_rows == 2
PY
echo "as described"
