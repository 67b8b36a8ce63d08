#!/usr/bin/env bash
# One would guess: the survival function of a named discrete distribution is accurate far out, as that of
#   `scipy.stats.laplace` is.
# What happens: `scipy.stats.dlaplace(1).sf(k)` is computed as 1 - cdf(k): 0.1 % off at k = 30, 78 % off at 36,
#   exactly 0 from about 38 on; `isf(1e-20)` is infinite. `cdf(-k)` is accurate.
# Why it matters: discrete Laplace noise with a threshold has delta = sf(threshold): the least threshold for delta =
#   1e-16 or less comes out too low or infinite. Ask for cdf(-k - 1) instead.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check scipy==1.17.1 numpy==2.4.6
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import math
import scipy
from scipy import stats

noise = stats.dlaplace(1)
print("scipy", scipy.__version__)
for k in (30, 36, 38, 50):
    print(f"k = {k}: sf {noise.sf(k):.6g}, exact {math.exp(-k - 1) / (1 + math.exp(-1)):.6g}, cdf(-k - 1) {noise.cdf(-k - 1):.6g}")
print("isf(1e-20)", noise.isf(1e-20))
exact = lambda k: math.exp(-k - 1) / (1 + math.exp(-1))
assert noise.sf(36) > 1.7 * exact(36) and noise.sf(38) == 0 and noise.isf(1e-20) == math.inf
assert math.isclose(noise.cdf(-39), exact(38), rel_tol=1e-12)
PY
echo "as described"
