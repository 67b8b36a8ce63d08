#!/usr/bin/env bash
# One would guess: quantile(0.5) is the median.
# What happens: polars' quantile takes the nearest value by default and its median interpolates: of 1, 2, 3, 4 they
#   are 3.0 and 2.5. numpy, pandas, pyarrow and DuckDB's quantile_cont say 2.5; DuckDB's quantile is the discrete
#   one and says 2.
# Why it matters: three answers to one question: a comparison of medians between engines must name the rule.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0 duckdb==2.0.1 numpy==2.4.6 pyarrow==26.0.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb, numpy as np, polars as pl, pyarrow as pa, pyarrow.compute as pc

values = [1, 2, 3, 4]
said = {"polars quantile": pl.Series(values).quantile(0.5), "polars median": pl.Series(values).median(), "numpy": float(np.quantile(values, 0.5)),
        "pyarrow": pc.quantile(pa.array(values), 0.5)[0].as_py(), "duckdb quantile": duckdb.sql("select quantile(x, 0.5) from unnest([1, 2, 3, 4]) t(x)").fetchall()[0][0]}
print("polars", pl.__version__, "duckdb", duckdb.__version__, said)
assert said == {"polars quantile": 3.0, "polars median": 2.5, "numpy": 2.5, "pyarrow": 2.5, "duckdb quantile": 2}
PY
echo "as described"
