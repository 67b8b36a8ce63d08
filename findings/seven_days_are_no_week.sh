#!/usr/bin/env bash
# One would guess: bins of seven days begin on the same day as bins of a week, in every library, whatever the rows are.
# What happens: in polars and pyarrow seven days begin on Thursdays (1970 began on one) and a week on Mondays. DuckDB
#   begins both on Mondays, and bins of 30 days at 3 January 2000. pandas floors seven days to Thursdays, and
#   resample("7D") begins at the first row's day: without that row all other bins begin on another day.
# Why it matters: weekly counts of one table do not compare between libraries; and where the first row decides where
#   bins begin, one person moves every bin, which no noise on counts covers.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check pandas==3.1.1 polars==2.1.0 pyarrow==26.0.1 duckdb==2.0.1
"$scratch/venv/bin/python" -W ignore - <<'PY'
import datetime

import duckdb, pandas as pd, polars as pl, pyarrow as pa
import pyarrow.compute as pc

times = [datetime.datetime(2026, 1, day, 10) for day in (7, 13, 14)]
name = lambda at: pd.Timestamp(at).day_name()
by_polars = [name(pl.Series(times[:1]).dt.truncate(every)[0]) for every in ("7d", "1w")]
by_arrow = [name(pc.floor_temporal(pa.array(times[:1]), many, unit)[0].as_py()) for many, unit in ((7, "day"), (1, "week"))]
query = "SELECT " + ", ".join(f"time_bucket(INTERVAL '{length}', TIMESTAMP '2026-01-07 10:00')" for length in ("7 days", "1 week", "30 days"))
seven, week, thirty = duckdb.sql(query).fetchall()[0]
rows = pd.Series(1, index=pd.DatetimeIndex(times))
floored = name(rows.index.floor("7D")[0])
all_rows, without = ([name(at) for at in part.resample("7D").sum().index] for part in (rows, rows.iloc[1:]))
print("polars", by_polars, "| pyarrow", by_arrow, "| duckdb", name(seven), name(week), thirty.date(), "| pandas floor", floored, "resample", all_rows, "without the first row", without)
assert by_polars == by_arrow == ["Thursday", "Monday"] and name(seven) == name(week) == "Monday"
assert (thirty - datetime.datetime(2000, 1, 3)).days % 30 == 0 and floored == "Thursday"
assert all_rows == ["Wednesday", "Wednesday"] and without == ["Tuesday"]
PY
echo "as described"
