#!/usr/bin/env bash
# One would guess: a SAS transport file (.xpt) that pyreadstat writes is one that pandas reads.
# What happens: pyreadstat writes version 8 of the format unless told otherwise, and pandas, which reads version 5
#   alone, says "Header record is not an XPORT file." With file_format_version=5 it reads the file; its dates come as
#   numbers of days since 1960, where pyreadstat gives dates.
# Why it matters: the message blames a sound file, and who then takes the days for years since 1900 counts nonsense.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check pyreadstat==1.3.7 pandas==3.1.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import datetime
import pandas as pd, pyreadstat

frame = pd.DataFrame({"age": [34.0, 51.0], "admitted": [datetime.date(2020, 1, 31), datetime.date(2021, 5, 5)]})
said = {}
for version in (None, 8, 5):
    chosen = {} if version is None else {"file_format_version": version}
    pyreadstat.write_xport(frame, "stays.xpt", variable_format={"admitted": "DATE9."}, **chosen)
    dates = pyreadstat.read_xport("stays.xpt")[0]["admitted"].tolist()
    assert dates == frame["admitted"].tolist()
    try:
        said[version] = pd.read_sas("stays.xpt", format="xport", encoding="utf-8")["admitted"].tolist()
    except ValueError as error:
        said[version] = str(error)
print("pyreadstat", pyreadstat.__version__, "pandas", pd.__version__, said)
assert said == {None: "Header record is not an XPORT file.", 8: "Header record is not an XPORT file.", 5: [21945.0, 22405.0]}
PY
echo "as described"
