#!/usr/bin/env bash
# One would guess: what a SPSS file says of its columns, its codes for "no answer" among it, is in the metadata that
#   pyreadstat returns, however the values are read.
# What happens: missing_ranges is empty unless the file is read with user_missing=True. By default the codes become
#   missing, and nothing tells that there were any, or which.
# Why it matters: refusals and empty cells become one; who writes the frame to a new file loses the codes for good.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check pyreadstat==1.3.7 pandas==3.1.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import pandas as pd, pyreadstat

frame = pd.DataFrame({"age": [34.0, 999.0, None]})
pyreadstat.write_sav(frame, "stays.sav", missing_ranges={"age": [999]})
found = {}
for kept in (False, True):
    values, about = pyreadstat.read_sav("stays.sav", user_missing=kept)
    found[kept] = ([str(value) for value in values["age"]], about.missing_ranges)
_, about = pyreadstat.read_sav("stays.sav", metadataonly=True)
found["metadata only"] = about.missing_ranges
print("pyreadstat", pyreadstat.__version__, "pandas", pd.__version__, found)
assert found[False] == (["34.0", "nan", "nan"], {}) and found["metadata only"] == {}
assert found[True] == (["34.0", "999.0", "nan"], {"age": [{"lo": 999.0, "hi": 999.0}]})
PY
echo "as described"
