#!/usr/bin/env bash
# One would guess: 0.0 and -0.0 are one group, for they compare equal; two NaN are one group or none, whatever their
#   bits.
# What happens: pyarrow's value_counts, group_by and is_in tell 0.0 from -0.0 and every NaN from every other by its
#   bits. pandas columns backed by Arrow inherit it: nunique() is 2, and value_counts().to_dict() loses rows, since
#   its two keys are equal. polars and DuckDB make one group.
# Why it matters: counts by a float column depend on the library that counts them, and a user with a row of each
#   zero counts in two groups.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check pyarrow==26.0.1 pandas==3.1.1 polars==2.1.0 duckdb==2.0.1 numpy==2.4.6
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb, pandas as pd, polars as pl, pyarrow as pa, pyarrow.compute as pc
import numpy as np

zeros = [0.0, -0.0, 0.0]
column = pa.array(zeros)
frame = pl.DataFrame({"x": zeros})
arrow_groups = pc.value_counts(column).field(1).to_pylist()
backed = pd.Series(zeros, dtype="float64[pyarrow]")
print("pyarrow", pa.__version__, "groups", arrow_groups, "is_in 0.0", pc.is_in(column, value_set=pa.array([0.0])).to_pylist())
print("pandas", pd.__version__, "on Arrow: nunique", backed.nunique(), "value_counts as dict", backed.value_counts().to_dict())
print("polars", pl.__version__, frame["x"].n_unique(), "duckdb", duckdb.__version__, duckdb.sql("select x, count(*) from frame group by x").fetchall())
nans = np.array([0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000], dtype="u8").view("f8")
print("three NaN of other bits: pyarrow", len(pc.value_counts(pa.array(nans))), "polars", pl.Series(nans).n_unique())
assert arrow_groups == [2, 1] and backed.nunique() == 2 and sum(backed.value_counts().to_dict().values()) < 3
assert frame["x"].n_unique() == 1 and len(pc.value_counts(pa.array(nans))) == 3 and pl.Series(nans).n_unique() == 1
PY
echo "as described"
