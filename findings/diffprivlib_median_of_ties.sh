#!/usr/bin/env bash
# One would guess: the private median of 1,000 equal values at epsilon 1 is close to that value.
# What happens: diffprivlib's median chooses an interval between neighbouring values by its length times its merit:
#   intervals between equal values have length 0, so the answer to 1,000 fives within 0 and 10 is uniform over 0 to
#   10.
# Why it matters: counts, ages and grades have ties: the error does not fall with more rows or a larger epsilon.
#   Adding a little noise to break the ties, or a histogram, answers well.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check diffprivlib==0.6.6 scikit-learn==1.6.1 numpy==2.4.6
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import diffprivlib, numpy as np
from diffprivlib import tools

fives = np.full(1000, 5.0)
medians = np.array([tools.median(fives, epsilon=1, bounds=(0, 10), random_state=seed) for seed in range(400)])
spread = np.quantile(medians, [0.05, 0.25, 0.5, 0.75, 0.95])
untied = np.array([tools.median(fives + np.linspace(-0.4, 0.4, 1000), epsilon=1, bounds=(0, 10), random_state=seed) for seed in range(400)])
print("diffprivlib", diffprivlib.__version__, "quantiles of 400 medians of fives", spread.round(2), "without ties", np.quantile(untied, [0.05, 0.95]).round(2))
assert spread[0] < 1.5 and spread[4] > 8.5 and 1 < spread[1] < 4 and 6 < spread[3] < 9 and abs(untied - 5).max() < 0.5
PY
echo "as described"
