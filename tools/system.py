"""The programs that the tests drive: Chromium, a PostgreSQL server, a Java runtime for Spark, R.

Run as `python -m tools.system`. Missing programs are installed by apt where that is possible; a machine that still
lacks one fails here and says what to install. It never passes by leaving tests out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The path of a Chromium, on the PATH or where Debian puts it."""
    return next(filter(None, map(_program, BROWSERS)), None)


def postgresql() -> Path | None:
    """The folder with the newest PostgreSQL server's programs (initdb, pg_ctl, postgres)."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: -int(folder.parent.name))
    found = _program("initdb")
    folders += [Path(found).resolve().parent] if found else []
    return next((folder for folder in folders if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None)


def rscript() -> str | None:
    """The path of R's `Rscript`."""
    return _program("Rscript")


def java() -> str | None:
    """The path of a Java runtime: of JAVA_HOME where it is set, else on the PATH."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else _program("java")


@dataclass(frozen=True)
class Program:
    """A program that some tests need, how it is found, and the Debian packages that bring it."""

    name: str
    needed_by: str
    find: Callable[[], object]
    packages: tuple[str, ...]


PROGRAMS = (
    Program("Chromium", "the browser tests", chromium, ("chromium", "fonts-dejavu-core")),
    Program("a PostgreSQL server", "the tests of a team's ledger", postgresql, ("postgresql",)),
    Program("a Java runtime", "the tests on Spark", java, ("default-jre-headless",)),
    Program("R", "the tests that read CSV files", rscript, ("r-base-core",)),
)


def main() -> int:
    missing = [program for program in PROGRAMS if program.find() is None]
    if missing and shutil.which("apt-get"):
        print(f"Installing by apt: {', '.join(program.name for program in missing)}", flush=True)
        try:
            install([package for program in missing for package in program.packages])
        except (OSError, subprocess.CalledProcessError) as problem:
            print(f"apt could not install them: {problem}", file=sys.stderr)
    missing = [program for program in PROGRAMS if program.find() is None]
    for program in missing:
        needs = f"{program.needed_by[:1].upper()}{program.needed_by[1:]} need {program.name}."
        print(f"{needs} On Debian or Ubuntu: apt-get install {' '.join(program.packages)}")
    return 1 if missing else 0


def install(packages: list[str]) -> None:
    """Install packages by apt, as root or with a sudo that asks for nothing."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-qq", "--yes", "--no-install-recommends", *packages]):
        subprocess.run([*sudo, "apt-get", *command], env=quiet, stdin=subprocess.DEVNULL, check=True)


def _program(name: str) -> str | None:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/bin", "/usr/bin"])
    return shutil.which(name, path=path)


if __name__ == "__main__":
    sys.exit(main())
