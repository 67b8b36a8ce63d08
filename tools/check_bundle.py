"""Check that dpviz/static is byte for byte what widgets/ builds: `python -m tools.check_bundle`.

The build runs in a copy elsewhere, so that it also shows that its bytes do not depend on where the clone lies.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its place in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(ROOT / "widgets", Path(scratch) / "widgets", symlinks=True)
        subprocess.run(["npm", "run", "--silent", "build"], cwd=Path(scratch) / "widgets", check=True)
        fresh = contents(Path(scratch) / "dpviz" / "static")
    committed = contents(ROOT / "dpviz" / "static")
    if not fresh:
        print("the build wrote nothing into dpviz/static")
        return 1
    different = sorted(name for name in fresh.keys() | committed.keys() if fresh.get(name) != committed.get(name))
    if different:
        print(f"dpviz/static is not what widgets/ builds: {', '.join(different)}; run `make front` and commit it")
        return 1
    print(f"dpviz/static is what widgets/ builds: {len(fresh)} files, {sum(map(len, fresh.values()))} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
