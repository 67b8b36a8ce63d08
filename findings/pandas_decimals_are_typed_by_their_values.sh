#!/usr/bin/env bash
# One would guess: two parts of one table of Decimals, each written with DataFrame.to_parquet, are files of one table.
# What happens: the type of the column is taken from the values of the part: 1.5 and 2.25 are decimal(3, 2), 100.5 is
#   decimal(4, 1). DuckDB, polars and pyarrow's dataset fail on both together, DuckDB with the value in its message.
# Why it matters: a value decides the schema, and whether a folder can be read at all: one row with more digits ends
#   a nightly release, and its message shows the row. A schema that is given (pyarrow.schema) makes the type public.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1 duckdb==2.0.1
cd "$scratch"
mkdir parts
venv/bin/python -W ignore - <<'PY'
from decimal import Decimal

import duckdb, pandas as pd, polars as pl, pyarrow.dataset as dataset, pyarrow.parquet as parquet

for name, values in {"a": ["1.5", "2.25"], "b": ["100.5"]}.items():
    pd.DataFrame({"x": list(map(Decimal, values))}).to_parquet(f"parts/{name}.parquet")
types = [str(parquet.read_schema(f"parts/{name}.parquet").field("x").type) for name in "ab"]
said = {}
for who, read in {
    "duckdb": lambda: duckdb.sql("SELECT * FROM read_parquet('parts/*.parquet')").fetchall(),
    "polars": lambda: pl.read_parquet("parts/*.parquet"),
    "pyarrow": lambda: dataset.dataset("parts").to_table(),
}.items():
    try:
        said[who] = f"reads {read()}"
    except Exception as problem:
        said[who] = f"{type(problem).__name__}{', with the value' * ('100.5' in str(problem))}"
print("pandas", pd.__version__, types, said)
assert types == ["decimal128(3, 2)", "decimal128(4, 1)"]
assert said == {"duckdb": "ConversionException, with the value", "polars": "SchemaError", "pyarrow": "ArrowInvalid"}
PY
echo "as described"
