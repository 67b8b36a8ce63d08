#!/usr/bin/env bash
# One would guess: 2.5 cast to an integer gives one integer, whatever type held the 2.5.
# What happens: DuckDB rounds DOUBLE and FLOAT half to even (2.5 to 2, 0.5 to 0) and DECIMAL and texts half away
#   from zero (3 and 1). A literal 2.5 is a DECIMAL.
# Why it matters: a column read as DOUBLE from Parquet and as text from CSV is binned differently by the same cast.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb

row = duckdb.sql("select 2.5::double::int, 2.5::float::int, 2.5::decimal(3,1)::int, '2.5'::int, 2.5::int, 0.5::double::int, '0.5'::int").fetchall()[0]
print("duckdb", duckdb.__version__, dict(zip(("double", "float", "decimal", "text", "literal", "double 0.5", "text 0.5"), row)))
assert row == (2, 2, 3, 3, 3, 0, 1)
PY
echo "as described"
