#!/usr/bin/env bash
# One would guess: DP Wizard's generated script cuts 30 equal bins between 1990 and 2020 into 30 bins, as it does
#   between 0 and 30.
# What happens: each end is rounded to two significant digits and equal ends are merged: 1990 to 2020 has one end, 2000,
#   and so two bins. Numbers from 100 to 140 have ends ten apart, whatever number of bins was asked for.
# Why it matters: years, weights and account numbers lie far from 0 for their width. The chart has few bars and no
#   message says so; subtract a constant first, or edit the ends in the script.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check dp-wizard==0.10.0 polars==1.32.0
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
from importlib.metadata import version

import polars as pl
from dp_wizard.types import ColumnName, Product, StatisticName
from dp_wizard.utils.code_generators import AnalysisPlan, AnalysisPlanColumn
from dp_wizard.utils.code_generators.script_generator import ScriptGenerator


def ends(lower, upper, bins):
    histogram = AnalysisPlanColumn(StatisticName("Histogram"), lower, upper, bins, weight=2)
    plan = AnalysisPlan(product=Product.STATISTICS, path="rows.csv", contributions=1, contributions_entity="person",
                        epsilon=1.0, max_rows=1000, groups={}, analysis_columns={ColumnName("x"): [histogram]},
                        schema_columns={ColumnName("x"): pl.Int64()})
    names = {"__name__": "imported"}
    exec(ScriptGenerator(plan, "").make_py(), names)
    return names["x_cut_points"]


found = {(low, high, bins): ends(low, high, bins) for low, high, bins in [(0, 30, 30), (1990, 2020, 30), (100, 140, 40)]}
print("dp-wizard", version("dp-wizard"), {asked: (len(cut), cut[:2], cut[-2:]) for asked, cut in found.items()})
assert found[0, 30, 30] == [float(end) for end in range(31)]
assert found[1990, 2020, 30] == [2000.0]
assert found[100, 140, 40] == [100.0, 110.0, 120.0, 130.0, 140.0]
PY
echo "as described"
