#!/usr/bin/env bash
# One would guess: a reader that was given epsilon 1/2 and delta 1e-6 for each query prices one query at (0.5, 1e-6),
#   and two of them at twice that.
# What happens: one query costs (0.5, 1.5e-6), two cost (1, 2.5e-6), thirty cost (15, 30.5e-6): the odometer adds half of
#   the delta once, whatever is asked, also where sums of epsilon need no delta of their own. A query without unknown
#   keys (one count of all rows, epsilon alone would do) is charged the 1.5e-6, too.
# Why it matters: a budget of (0.5, 1e-6) is overspent by the first query by its own account, and a comparison of tools
#   at "the same price" is off by a half of delta at one query and by nearly nothing at many.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check smartnoise-sql==1.0.10 opendp==0.14.2 pandas==2.3.3 \
    setuptools==65.5.0
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
from importlib.metadata import version

import pandas as pd
import snsql

rows = pd.DataFrame({"town": ["ab", "cd"] * 500, "age": range(1000)})
columns = {"town": {"type": "string"}, "age": {"type": "int", "lower": 0, "upper": 999}}
meta = {"": {"": {"people": {"row_privacy": True, **columns}}}}
reader = snsql.from_df(rows, privacy=snsql.Privacy(epsilon=0.5, delta=1e-6), metadata=meta)

print("smartnoise-sql", version("smartnoise-sql"))
for query in ("SELECT town, COUNT(*) AS n FROM people GROUP BY town", "SELECT COUNT(*) AS n FROM people"):
    epsilon, delta = map(float, reader.get_privacy_cost(query))
    print(f"{query}: epsilon {epsilon}, delta {delta:.9f}")
    assert epsilon == 0.5 and abs(delta - 1.5e-6) < 1e-9

query = "SELECT town, COUNT(*) AS n FROM people GROUP BY town"
for asked in range(1, 31):
    reader.execute(query)
    epsilon, delta = map(float, reader.odometer.spent)
    if asked in (1, 2, 30):
        print(f"spent after {asked}: epsilon {epsilon}, delta {delta:.9f}")
        assert abs(epsilon - asked / 2) < 1e-9 and abs(delta - (asked + 0.5) * 1e-6) < 1e-8
PY
echo "as described"
