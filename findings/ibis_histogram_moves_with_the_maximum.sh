#!/usr/bin/env bash
# One would guess: with binwidth and base given, Ibis' column.histogram is floor((x - base) / binwidth), whatever
#   the other rows are.
# What happens: the bin of the largest value is lowered by one where it falls on an edge: 10 lies in bin 1 of width
#   5, and in bin 2 as soon as the table has a row of 12. Edges such as 0.3 / 0.1 are divided in binary, too, so 0.3
#   lies in bin 2.
# Why it matters: one row decides in which bin other rows are counted: noise that is calibrated to one row moving
#   one count covers too little.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check 'ibis-framework[duckdb]==12.0.0' duckdb==2.0.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb, ibis

connection = ibis.duckdb.connect()
connection.raw_sql("create table t as select unnest([0, 5, 10]) as x")
bins = lambda: dict(connection.table("t").mutate(b=lambda t: t.x.histogram(binwidth=5, base=0)).execute().itertuples(index=False))
before = bins()
connection.raw_sql("insert into t values (12)")
after = bins()
print("ibis", ibis.__version__, "duckdb", duckdb.__version__, "before", before, "after a row of 12", after)
assert before[10] == 1 and after[10] == 2
PY
echo "as described"
