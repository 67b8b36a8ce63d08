#!/usr/bin/env bash
# One would guess: rounding 0.125 and 2.675 to two places gives the same two numbers in every library.
# What happens: numpy, pandas, pyarrow and polars round half to even after multiplying: 0.12 and 2.68. DuckDB rounds
#   half away and sees the binary value: 0.13 and 2.67. Each is higher on one of the two.
# Why it matters: sums of rounded amounts differ by engine in both directions, so no correction of one sign repairs
#   them.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 pandas==3.1.1 pyarrow==26.0.1 polars==2.1.0 duckdb==2.0.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb, numpy as np, pandas as pd, polars as pl, pyarrow as pa, pyarrow.compute as pc

values = [0.125, 2.675]
said = {"numpy": np.round(values, 2).tolist(), "pandas": pd.Series(values).round(2).tolist(), "pyarrow": pc.round(pa.array(values), 2).to_pylist(), "polars": pl.Series(values).round(2).to_list(),
        "duckdb": list(duckdb.sql("select round(0.125::double, 2), round(2.675::double, 2)").fetchall()[0])}
print("polars", pl.__version__, "duckdb", duckdb.__version__, said)
assert said.pop("duckdb") == [0.13, 2.67] and all(pair == [0.12, 2.68] for pair in said.values())
PY
echo "as described"
