#!/usr/bin/env bash
# One would guess: a CSV column of the letters T and F, such as a code of two groups, is read as text.
# What happens: DuckDB's sniffer makes it BOOLEAN; one row of another letter makes the whole column VARCHAR.
# Why it matters: the type of a column, and with it whether a filter such as code = 'T' runs, is decided by the
#   rows.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb

types = {}
for rows in ("T F", "T F X"):
    with open("codes.csv", "w") as file:
        file.write("\n".join(["code", *rows.split()]) + "\n")
    relation = duckdb.read_csv("codes.csv")
    types[rows] = (str(relation.types[0]), relation.fetchall())
print("duckdb", duckdb.__version__, types)
assert types["T F"] == ("BOOLEAN", [(True,), (False,)]) and types["T F X"][0] == "VARCHAR"
PY
echo "as described"
