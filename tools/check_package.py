"""Build the wheel and the sdist and look inside: `python -m tools.check_package [FOLDER]` (dist/ by `make build`).

The wheel holds the package with its page, its data and its types, and nothing else; the sdist builds the same wheel;
what the wheel installs can be imported.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_BEHIND = {"__pycache__"}


def build(source: Path, target: Path, kind: str) -> Path:
    """The one file that hatchling builds in a new folder; its own output is shown only when it fails."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    (built,) = target.iterdir()
    return built


def package() -> set[str]:
    """The files of the package in the tree."""
    paths = (ROOT / "dpviz").rglob("*")
    return {str(path.relative_to(ROOT)) for path in paths if path.is_file() and not LEFT_BEHIND & set(path.parts)}


def contents(wheel: Path) -> dict[str, bytes]:
    """List the files that a wheel installs, its own records apart."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        wheel, sdist = (build(ROOT, Path(scratch) / kind, kind) for kind in ("wheel", "sdist"))
        installed = contents(wheel)
        if set(installed) != package():
            raise SystemExit(f"the wheel and the tree differ: {sorted(set(installed) ^ package())}")

        shutil.unpack_archive(sdist, scratch)
        again = build(Path(scratch) / sdist.name.removesuffix(".tar.gz"), Path(scratch) / "again", "wheel")
        if contents(again) != installed:
            raise SystemExit("the sdist builds another wheel than the tree")

        place = Path(scratch) / "site"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
        look = "import sys; sys.path.insert(0, sys.argv[1]); import dpviz; print(dpviz.__file__)"
        seen = subprocess.run(
            [sys.executable, "-I", "-c", look, str(place)], capture_output=True, text=True, check=True
        )
        if not seen.stdout.startswith(str(place)):
            raise SystemExit(f"another dpviz was imported: {seen.stdout}")

        for file in (wheel, sdist):
            print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB")
            if len(sys.argv) > 1:
                Path(sys.argv[1]).mkdir(exist_ok=True)
                shutil.copy(file, sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
