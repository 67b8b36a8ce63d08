#!/usr/bin/env bash
# One would guess: a column of TRUE and FALSE in a sheet is read as True and False, whether or not a cell is empty.
# What happens: with every cell filled pandas reads True and False (bool); with one empty cell it reads 1.0 and 0.0
#   (float64). In CSV the same column with a gap keeps True and False (object).
# Why it matters: counting the labels "True" and "False" gives nothing, and whether it does depends on one row.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check openpyxl==3.1.5 pandas==3.1.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import openpyxl, pandas as pd

found = {}
for name, cells in {"filled": [True, False, True], "gap": [True, False, None]}.items():
    book = openpyxl.Workbook()
    for place, row in enumerate(("paid", *cells)):
        book.active.append(["id" if place == 0 else place, row])
    book.save("paid.xlsx")
    column = pd.read_excel("paid.xlsx")
    found[name] = (str(column["paid"].dtype), [str(value) for value in column["paid"]])
with open("paid.csv", "w") as file:
    file.write("id,paid\n1,True\n2,False\n3,\n")
column = pd.read_csv("paid.csv")["paid"]
found["csv with a gap"] = (str(column.dtype), [str(value) for value in column])
print("pandas", pd.__version__, "openpyxl", openpyxl.__version__, found)
assert found["filled"] == ("bool", ["True", "False", "True"])
assert found["gap"][0] == "float64" and found["gap"][1][:2] == ["1.0", "0.0"]
assert found["csv with a gap"] == ("object", ["True", "False", "nan"])
PY
echo "as described"
