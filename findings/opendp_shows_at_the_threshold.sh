#!/usr/bin/env bash
# One would guess: a threshold of 3 hides the key of one user with the chance that its price says: at scale 1 it states a
#   delta of 0.0364 for a user in one key, once.
# What happens: a key of one record is kept in a tenth of all draws, e times as often. The stated delta is the chance of
#   noise of 3 or more, which is that of a value above the threshold; values at the threshold are shown, too, for which
#   noise of 2 is enough. At scale 0.01, where there is no noise, a count of 3 is shown at the threshold 3.
# Why it matters: the delta of whole-number noise behind a threshold is e^(1 / scale) times the stated one, and thresholds
#   of two libraries "at the same price" are one apart: the one that states it rightly looks worse.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check opendp==0.16.0
cd "$scratch"
venv/bin/python - <<'PY'
import math
from importlib.metadata import version

import opendp.prelude as dp

dp.enable_features("contrib")
space = dp.map_domain(dp.atom_domain(T=dp.String), dp.atom_domain(T=dp.i64)), dp.l01inf_distance(
    dp.absolute_distance(T=dp.i64)
)
print("opendp", version("opendp"))
sure = dp.m.make_laplace_threshold(*space, scale=0.01, threshold=3)({"two": 2, "three": 3, "four": 4})
print("without noise, at the threshold 3:", sorted(sure))
assert sorted(sure) == ["four", "three"]

noisy = dp.m.make_laplace_threshold(*space, scale=1.0, threshold=3)
stated, draws = noisy.map((1, 1, 1))[1], 20_000
kept = sum(len(noisy({"one": 1})) for _ in range(draws)) / draws
tails = [math.exp(-least) / (1 + math.exp(-1)) for least in (2, 3)]
print(f"stated delta {stated:.4f}, kept {kept:.4f} of {draws:,}; noise of 2 or more {tails[0]:.4f}, of 3 {tails[1]:.4f}")
assert abs(stated - tails[1]) < 1e-9
assert abs(kept - tails[0]) < 0.02  # about nine standard deviations
PY
