#!/usr/bin/env bash
# One would guess: a histogram over the edges 0, 1, 2 puts a value on an edge into the bin that begins there, in
#   every library, as numpy does.
# What happens: numpy counts [0, 1) and [1, 2]; polars' Series.hist counts [0, 1] and (1, 2]; DuckDB's histogram(x,
#   [0, 1, 2]) counts up to 0, (0, 1], (1, 2] and, under the key 9223372036854775807, the rest.
# Why it matters: whole numbers lie on edges: the same call over the same column moves every count by one bin
#   between libraries.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 polars==2.1.0 duckdb==2.0.1 pandas==3.1.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb, numpy as np, pandas as pd, polars as pl

values = [0, 1, 1, 2, 2, 2]
table = pd.DataFrame({"x": [*values, 3]})
by_numpy = np.histogram(values, bins=[0, 1, 2])[0].tolist()
by_polars = pl.Series(values).hist(bins=[0, 1, 2])["count"].to_list()
by_duckdb = duckdb.from_df(table).aggregate("histogram(x, [0, 1, 2])").fetchall()[0][0]
print("numpy", np.__version__, by_numpy, "| polars", pl.__version__, by_polars, "| duckdb", duckdb.__version__, by_duckdb)
assert by_numpy == [1, 5] and by_polars == [3, 3] and by_duckdb == {0: 1, 1: 2, 2: 3, 9223372036854775807: 1}
PY
echo "as described"
