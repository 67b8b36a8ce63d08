#!/usr/bin/env bash
# One would guess: delta: 1e-6 in a YAML file is the number 0.000001.
# What happens: PyYAML follows YAML 1.1, where an exponent needs a decimal point: 1e-6 is the text '1e-6' and 1.0e-6
#   the number; 190:20:30 is 685230 and 0o17 a text. Readers of YAML 1.2 (ruamel.yaml) read 1e-6 as a number.
# Why it matters: deployment cards and metadata of differential privacy tools are YAML files with a delta in them:
#   one file, two types.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check pyyaml==6.0.4 ruamel.yaml==0.19.1
cd "$scratch"
venv/bin/python -W ignore - <<'PY'
import io
import ruamel.yaml, yaml

text = "{a: 1e-6, b: 1.0e-6, c: 190:20:30, d: 0o17}"
old, new = yaml.safe_load(text), dict(ruamel.yaml.YAML(typ="safe").load(io.StringIO(text)))
print("PyYAML", yaml.__version__, old, "| ruamel.yaml", ruamel.yaml.__version__, new)
assert old == {"a": "1e-6", "b": 1e-06, "c": 685230, "d": "0o17"} and new["a"] == 1e-06 and new["d"] == 15
PY
echo "as described"
