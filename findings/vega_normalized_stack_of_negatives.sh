#!/usr/bin/env bash
# One would guess: a normalized stack of 10, -3 and 5 is refused, or shows -3 below the axis.
# What happens: Vega-Lite's stack='normalize' divides by the sum of the absolute values: -3 is drawn as a share of
#   17 %, above the axis like any other, and its tooltip and label say 17 %.
# Why it matters: noisy counts are often negative; a chart of shares then shows the most negative category as a
#   large one.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check altair==6.3.0 vl-convert-python==1.9.0.post1 pandas==3.1.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import re
import altair as alt, pandas as pd, vl_convert

frame = pd.DataFrame({"x": ["a"] * 3, "k": list("pqr"), "y": [10, -3, 5]})
chart = alt.Chart(frame).mark_bar().encode(x="x:N", y=alt.Y("y:Q", stack="normalize"), color="k:N")
labels = re.findall(r'aria-label="x: a; y: ([^;]*); k: (.)"', vl_convert.vegalite_to_svg(chart.to_json()))
print("vl-convert", vl_convert.__version__, labels)
assert labels == [("56%", "p"), ("17%", "q"), ("28%", "r")]
PY
echo "as described"
