#!/usr/bin/env bash
# One would guess: TRY_CAST(text AS INTEGER) accepts an optional sign and digits, and is NULL for the rest.
# What happens: '1_000', '0x1F', '0b11', '1e3', '1.' and '.5' are integers too; '25e-1' is rounded to 3.
# Why it matters: a free-text column holds such texts by chance (part numbers, hashes): a count of 'rows that are
#   numbers' includes them, while Python, polars and PostgreSQL each accept another set.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check duckdb==2.0.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import duckdb

texts = ["1_000", "0x1F", "0b11", "1e3", " 12 ", "1.", ".5", "25e-1"]
read = {text: duckdb.execute("select try_cast(? as integer)", [text]).fetchone()[0] for text in texts}
print("duckdb", duckdb.__version__, read)
assert read == {"1_000": 1000, "0x1F": 31, "0b11": 3, "1e3": 1000, " 12 ": 12, "1.": 1, ".5": 1, "25e-1": 3}
PY
echo "as described"
