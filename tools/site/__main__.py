"""Build the site and check it."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.site.check import faults
from tools.site.pages import ROOT, lay_out

PLACE = ROOT / "build" / "docs"


def build(place: Path, *, lessons: bool = True) -> int:
    """Build the site in a folder; returns the number of faults.

    Parameters
    ----------
    place : Path
        Holds the pages in `source`, the site in `html`, and in `cache` what cells gave, for the next time.
    lessons : bool, default True
        Whether cells of lessons are run. Otherwise a lesson that was not run before is shown without outputs.

    Returns
    -------
    int
        The number of snippets that failed, warnings of Sphinx, and dead links.
    """
    source, html = place / "source", place / "html"
    begun = time.monotonic()
    shutil.rmtree(source, ignore_errors=True)
    failed = lay_out(source, place / "cache", lessons=lessons)
    if failed:
        print("\n".join(failed))
        return len(failed)
    print(f"pages laid out and snippets run in {time.monotonic() - begun:.0f} s", flush=True)
    shutil.rmtree(html, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "--fresh-env"]
    done = subprocess.run([*command, "-d", place / "doctrees", "-b", "html", source, html], cwd=ROOT, check=False)
    if done.returncode != 0:
        return 1
    dead = faults(html)
    print("\n".join(dead) if dead else f"{sum(1 for _ in html.rglob('*.html'))} pages, every link leads somewhere")
    print(f"{html / 'index.html'}, {time.monotonic() - begun:.0f} s")
    return len(dead)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("place", nargs="?", type=Path, default=PLACE, help="the folder to build in")
    parser.add_argument("--quick", action="store_true", help="run no lesson; outputs of an earlier run are shown")
    options = parser.parse_args(arguments)
    return min(build(options.place.resolve(), lessons=not options.quick), 100)


if __name__ == "__main__":
    sys.exit(main())
