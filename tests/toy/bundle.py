"""The toy's view as a bundle, built as a stranger would: by esbuild, from one file."""

from __future__ import annotations

import subprocess
from pathlib import Path

WIDGETS = Path(__file__).resolve().parents[2] / "widgets"


def build(into: Path) -> Path:
    """The path of the bundle, in this folder."""
    bundle = into / "pairs.js"
    command = [WIDGETS / "node_modules/.bin/esbuild", Path(__file__).with_name("pairs.ts"), "--bundle", "--format=esm"]
    subprocess.run([*command, "--charset=ascii", f"--outfile={bundle}", "--log-level=error"], check=True)
    return bundle
