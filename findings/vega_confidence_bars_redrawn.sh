#!/usr/bin/env bash
# One would guess: an error bar of a chart that does not change is drawn in the same place each time.
# What happens: Vega-Lite's mark_errorbar(extent='ci') bootstraps the mean with an unseeded generator: the same
#   specification gives other bars at each rendering.
# Why it matters: a report and its reprint disagree, and a picture test of such a chart cannot hold.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check altair==6.3.0 vl-convert-python==1.9.0.post1 pandas==3.1.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import altair as alt, pandas as pd, vl_convert

frame = pd.DataFrame({"x": list("aaaabbbb"), "y": [1, 5, 2, 9, 4, 4, 7, 8]})
bars = {extent: alt.Chart(frame).mark_errorbar(extent=extent).encode(x="x:N", y="y:Q").to_json() for extent in ("ci", "stderr")}
pictures = {extent: len({vl_convert.vegalite_to_svg(spec) for _ in range(12)}) for extent, spec in bars.items()}
print("vl-convert", vl_convert.__version__, "different pictures of twelve:", pictures)
assert pictures["ci"] > 1 and pictures["stderr"] == 1
PY
echo "as described"
