#!/usr/bin/env bash
# One would guess: a reader that is told of a thousands mark takes 1,234 for a number and refuses "1,5" or "12,34",
#   where the mark does not stand before three digits.
# What happens: pandas and DuckDB drop every mark: "1,5" is 15 and "12,34" is 1234, without a word, and DuckDB makes
#   whole numbers of the column where nothing declares it.
# Why it matters: one file with decimal commas among files with thousands marks has every value ten or a hundred times
#   too large, inside bounds that were meant to clamp it; a refusal, or a missing value, would have been seen.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check pandas==3.1.1 duckdb==2.0.1
cd "$scratch"
printf 'paid\n"1,5"\n"12,34"\n"1,234"\n' > paid.csv
venv/bin/python -W ignore - <<'PY'
import duckdb, pandas as pd

by_pandas = pd.read_csv("paid.csv", thousands=",")["paid"].tolist()
by_duckdb = duckdb.sql("SELECT paid, typeof(paid) FROM read_csv('paid.csv', thousands=',')").fetchall()
print("pandas", pd.__version__, by_pandas, "| duckdb", duckdb.__version__, by_duckdb)
assert by_pandas == [15, 1234, 1234] and by_duckdb == [(15, "BIGINT"), (1234, "BIGINT"), (1234, "BIGINT")]
PY
echo "as described"
