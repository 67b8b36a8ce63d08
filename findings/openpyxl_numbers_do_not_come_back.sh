#!/usr/bin/env bash
# One would guess: a number written to a workbook and read again is the same number.
# What happens: openpyxl writes floats with 16 significant digits, so 0.1 + 0.2 comes back as 0.3, and
#   12345678901234567890 as 1.234567890123457e+19.
# Why it matters: a value that lies beyond an edge in the frame lies on it in the file, and long identifiers are
#   merged.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check openpyxl==3.1.5
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import openpyxl

book = openpyxl.Workbook()
book.active.append([0.1 + 0.2, 12345678901234567890])
book.save("numbers.xlsx")
back = [cell.value for cell in openpyxl.load_workbook("numbers.xlsx").active[1]]
print("openpyxl", openpyxl.__version__, "written", [0.1 + 0.2, 12345678901234567890], "read", back)
assert back[0] == 0.3 != 0.1 + 0.2 and back[1] == 1.234567890123457e19 != 12345678901234567890
PY
echo "as described"
