#!/usr/bin/env bash
# One would guess: a count of 1 less 5 is -4.
# What happens: polars counts rows as UInt32 and keeps that type: group_by(...).len() minus the literal 5 is
#   4294967292, without an error.
# Why it matters: noise is often negative: added as a literal to a count it makes four billion rows; cast the counts
#   to Int64 first.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check polars==2.1.0
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import polars as pl

counts = pl.DataFrame({"k": ["a", "b", "b"]}).group_by("k", maintain_order=True).len()
print("polars", pl.__version__, counts.schema, counts.with_columns(noisy=pl.col("len") - 5).rows())
assert counts.with_columns(noisy=pl.col("len") - 5)["noisy"].to_list() == [4294967292, 4294967293]
assert counts.with_columns(noisy=pl.col("len").cast(pl.Int64) - 5)["noisy"].to_list() == [-4, -3]
PY
echo "as described"
