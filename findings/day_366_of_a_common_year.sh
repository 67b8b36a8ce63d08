#!/usr/bin/env bash
# One would guess: 2019-366, day 366 of a year that has 365, is refused or missing wherever "%Y-%j" is read.
# What happens: pandas reads 1 January 2020, without a word, where it was told to mark what is no date
#   (errors="coerce"); DuckDB (try_strptime) and polars give null. Day 367 is missing for all three.
# Why it matters: registers that write days of the year count a mistyped row in the next year, and only one of three
#   readers of one file does.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1 polars==2.1.0 pandas==3.1.1
"$scratch/venv/bin/python" -W ignore - <<'PY'
import duckdb, pandas as pd, polars as pl

def days(text):
    by_pandas = pd.to_datetime(pd.Series([text]), format="%Y-%j", errors="coerce")[0]
    (by_duckdb,) = duckdb.connect().execute("select try_strptime(?, '%Y-%j')", [text]).fetchone()
    by_polars = pl.Series([text]).str.to_date("%Y-%j", strict=False)[0]
    return [None if day is None or pd.isna(day) else str(day)[:10] for day in (by_pandas, by_duckdb, by_polars)]

found = {text: days(text) for text in ("2019-365", "2019-366", "2019-367", "2020-366")}
print("pandas", pd.__version__, "duckdb", duckdb.__version__, "polars", pl.__version__, found)
assert found["2019-365"] == ["2019-12-31"] * 3 and found["2020-366"] == ["2020-12-31"] * 3
assert found["2019-366"] == ["2020-01-01", None, None] and found["2019-367"] == [None] * 3
PY
echo "as described"
