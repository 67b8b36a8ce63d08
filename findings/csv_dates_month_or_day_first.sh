#!/usr/bin/env bash
# One would guess: three readers asked to find dates in one CSV find the same dates.
# What happens: 01/02/2012 is 1 February for DuckDB's sniffer and for polars (try_parse_dates) and 2 January for
#   pandas (parse_dates).
# Why it matters: counts per month of an ambiguous file differ by the reader, with no warning from any of the three.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1 polars==2.1.0 pandas==3.1.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb, pandas as pd, polars as pl

with open("dates.csv", "w") as file:
    file.write("day\n01/02/2012\n03/04/2012\n")
months = {"duckdb": [row[0].month for row in duckdb.sql("from 'dates.csv'").fetchall()], "polars": pl.read_csv("dates.csv", try_parse_dates=True)["day"].dt.month().to_list(),
          "pandas": pd.read_csv("dates.csv", parse_dates=["day"]).day.dt.month.tolist()}
print("duckdb", duckdb.__version__, "polars", pl.__version__, "pandas", pd.__version__, months)
assert months == {"duckdb": [2, 4], "polars": [2, 4], "pandas": [1, 3]}
PY
echo "as described"
