#!/usr/bin/env bash
# One would guess: if column == 0.1 holds for a row, so does column.is_in([0.1]).
# What happens: for a float32 column holding 0.1, numpy, pandas and polars say True to == 0.1 (the scalar is
#   narrowed) and False to isin/is_in (the column is widened). pyarrow says False to both; DuckDB says True to x =
#   0.1 and False to x = 0.1::double.
# Why it matters: a filter on one value and a filter on a list of that one value count different rows.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1 duckdb==2.0.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb, numpy as np, pandas as pd, polars as pl, pyarrow as pa, pyarrow.compute as pc

column = np.array([0.1], dtype="float32")
frame = pl.DataFrame({"x": column})
said = {"numpy": (bool((column == 0.1)[0]), bool(np.isin(column, [0.1])[0])), "pandas": (bool((pd.Series(column) == 0.1)[0]), bool(pd.Series(column).isin([0.1])[0])),
        "polars": ((frame["x"] == 0.1)[0], frame["x"].is_in([0.1])[0]), "pyarrow": (pc.equal(pa.array(column), 0.1)[0].as_py(), pc.is_in(pa.array(column).cast(pa.float64()), value_set=pa.array([0.1]))[0].as_py())}
print("polars", pl.__version__, "pyarrow", pa.__version__, said, "duckdb", duckdb.sql("select x = 0.1, x = 0.1::double from frame").fetchall()[0])
assert said["numpy"] == said["pandas"] == said["polars"] == (True, False) and said["pyarrow"] == (False, False)
assert duckdb.sql("select x = 0.1, x = 0.1::double from frame").fetchall()[0] == (True, False)
PY
echo "as described"
