#!/usr/bin/env bash
# One would guess: DuckDB sees the same NaN in a pandas and in a polars frame.
# What happens: a NaN of a pandas float column is NULL, one of a polars or Arrow column is NaN, which is larger than
#   every number: `x >= 5` counts it there and not here.
# Why it matters: the same query over the same values counts more rows once the frame is converted.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1 pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb, pandas as pd, polars as pl

values = [1.0, float("nan"), 7.0]
from_pandas, from_polars = pd.DataFrame({"x": values}), pl.DataFrame({"x": values})
query = "select count(*), count(x), count(*) filter (x >= 5) from "
said = {"pandas": duckdb.sql(query + "from_pandas").fetchall()[0], "polars": duckdb.sql(query + "from_polars").fetchall()[0]}
print("duckdb", duckdb.__version__, "rows, values, at least 5:", said)
assert said == {"pandas": (3, 2, 1), "polars": (3, 3, 2)}
PY
echo "as described"
