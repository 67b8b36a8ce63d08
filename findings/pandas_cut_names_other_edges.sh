#!/usr/bin/env bash
# One would guess: pandas.cut with edges that are given names each bin by these edges, so a value is in the bin whose
#   interval holds it.
# What happens: the intervals are rounded to three significant digits, bounds included. With the edges 0.10004 and 0.2
#   the bin is (0.1, 0.2]; 0.10002 lies in that interval, and cut leaves it out (NaN). numpy.histogram and polars keep
#   the edges that were given.
# Why it matters: who reads a released histogram by its intervals takes the count for that of another range, and bins
#   that are declared again from these names are other bins. `precision=` widens the names; nothing makes them exact.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check pandas==3.1.1 polars==2.1.0
"$scratch/venv/bin/python" -W ignore - <<'PY'
import numpy as np, pandas as pd, polars as pl

values, edges = [0.10002, 0.15], [0.10004, 0.2]
cut = pd.cut(pd.Series(values), edges)
(name,) = cut.cat.categories
counted = np.histogram(values, edges)[0].tolist()
named = [str(label) for label in pl.Series(values).cut(edges).unique()]
print("pandas", pd.__version__, cut.tolist(), "named", name, "holds 0.10002:", values[0] in name, "| numpy", counted, "| polars", pl.__version__, named)
assert pd.isna(cut[0]) and (name.left, name.right) == (0.1, 0.2) and values[0] in name
assert counted == [1] and "0.10004" in "".join(named)
PY
echo "as described"
