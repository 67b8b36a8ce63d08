#!/usr/bin/env bash
# One would guess: pyarrow's sum of four times 2**62 raises, since its name for the wrapping kind of arithmetic is
#   another.
# What happens: pyarrow.compute.sum, pandas and polars answer 0; their means answer 4.6e18. pyarrow has
#   cumulative_sum_checked but no sum_checked. DuckDB sums into 128 bits.
# Why it matters: a sum of money in small units or of identifiers can be 0 beside a mean that is right.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1 pandas==3.1.1 polars==2.1.0 duckdb==2.0.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb, pandas as pd, polars as pl, pyarrow as pa, pyarrow.compute as pc

values = [2**62] * 4
column = pa.table({"x": pa.array(values)})
sums = {"pyarrow": pc.sum(column["x"]).as_py(), "pandas": int(pd.Series(values).sum()), "polars": pl.Series(values).sum(), "duckdb": duckdb.from_arrow(column).sum("x").fetchall()[0][0]}
means = {"pyarrow": pc.mean(column["x"]).as_py(), "pandas": pd.Series(values).mean(), "polars": pl.Series(values).mean()}
print("pyarrow", pa.__version__, "sums", sums, "means", means)
assert sums == {"pyarrow": 0, "pandas": 0, "polars": 0, "duckdb": 2**64} and set(means.values()) == {2.0**62} and not hasattr(pc, "sum_checked")
PY
echo "as described"
