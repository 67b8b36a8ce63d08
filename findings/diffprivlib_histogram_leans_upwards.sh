#!/usr/bin/env bash
# One would guess: a noisy count of an empty bin is 0 on average.
# What happens: diffprivlib's histogram truncates each noisy count at 0: at epsilon 0.1 an empty bin shows 5 rows on
#   average, so 90 empty bins show some 450 rows that are not there.
# Why it matters: totals, means and shares made from such a histogram are biased, the more the more empty bins there
#   are; no option turns it off.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check diffprivlib==0.6.6 scikit-learn==1.6.1 numpy==2.4.6
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import diffprivlib, numpy as np
from diffprivlib import tools

rows = np.full(100, 0.5)
draws = np.array([tools.histogram(rows, epsilon=0.1, bins=100, range=(0, 100), random_state=seed)[0] for seed in range(100)])
print("diffprivlib", diffprivlib.__version__, "mean of an empty bin", round(draws[:, 1:].mean(), 2), "mean total", round(draws.sum(1).mean()), "of 100 rows")
assert draws.min() == 0 and 4 < draws[:, 1:].mean() < 6 and 480 < draws.sum(1).mean() < 720
PY
echo "as described"
