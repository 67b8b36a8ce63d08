#!/usr/bin/env bash
# One would guess: one Laplace mechanism of epsilon 1 costs epsilon 1 at delta 0 in an accountant that knows the
#   Laplace mechanism.
# What happens: dp_accounting's PLD and RDP accountants both answer infinity at delta = 0 (the PLD one says 1 -
#   2e-12 at delta = 1e-12); for one Gaussian the PLD accountant is infinite from some delta below 1e-15 on.
# Why it matters: asked for the pure part of a mixed budget, the accountant of the field's most used library says
#   that there is none.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check dp-accounting==0.6.0
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import importlib.metadata, math
import dp_accounting
from dp_accounting import pld, rdp

def cost(accountant, event, delta):
    return accountant.compose(event).get_epsilon(delta)

laplace, gaussian = dp_accounting.LaplaceDpEvent(1.0), dp_accounting.GaussianDpEvent(1.0)
said = {"pld, delta 0": cost(pld.PLDAccountant(), laplace, 0), "rdp, delta 0": cost(rdp.RdpAccountant(), laplace, 0), "pld, delta 1e-12": cost(pld.PLDAccountant(), laplace, 1e-12),
        "pld, gaussian, delta 1e-20": cost(pld.PLDAccountant(), gaussian, 1e-20)}
print("dp-accounting", importlib.metadata.version("dp-accounting"), said)
assert said["pld, delta 0"] == said["rdp, delta 0"] == said["pld, gaussian, delta 1e-20"] == math.inf and 0.99 < said["pld, delta 1e-12"] <= 1
PY
echo "as described"
