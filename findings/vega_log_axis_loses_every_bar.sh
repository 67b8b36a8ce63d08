#!/usr/bin/env bash
# One would guess: on a logarithmic axis a bar or error bar with an end at 0 or below is left out, and the others
#   are drawn.
# What happens: with one end at 0 (or below) in the data the domain crosses 0: every rule has the end NaN and every
#   bar has height 0, those of 10 to 200 included, without an error or a warning.
# Why it matters: intervals of small noisy counts reach 0: the whole chart goes blank because of one of them.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check altair==6.3.0 vl-convert-python==1.9.0.post1 pandas==3.1.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import re
import altair as alt, pandas as pd, vl_convert

def ends(low):
    frame = pd.DataFrame({"b": list("pqr"), "low": [low, 1, 10], "high": [8, 30, 200]})
    log = alt.Scale(type="log")
    chart = alt.Chart(frame).mark_rule().encode(x="b:N", y=alt.Y("low:Q", scale=log), y2="high:Q")
    return re.findall(r'<line aria-label="b: (.);[^>]* y2="([^"]*)"', vl_convert.vegalite_to_svg(chart.to_json()))

print("vl-convert", vl_convert.__version__, "lowest end 2:", ends(2), "lowest end 0:", ends(0))
assert all(end == "NaN" for _, end in ends(0)) and not any(end == "NaN" for _, end in ends(2))
PY
echo "as described"
