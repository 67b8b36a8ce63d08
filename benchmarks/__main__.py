"""Run the benchmarks, or those named, and write their part of RESULTS.md; 1 where a line does not hold."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import sys
from pathlib import Path
from types import ModuleType

from benchmarks.measured import Measured

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
HEAD = """# Measured

Ratios travel between machines, absolute numbers do not. Made by `make bench`, which is `python -m benchmarks`.
The last run was `{command}`.
"""
PARTS = (
    "numpy",
    "gmpy2",
    "scipy",
    "pandas",
    "sqlalchemy",
    "altair",
    "anywidget",
    "ibis-framework",
    "duckdb",
    "pyspark",
    "psycopg",
)


def names() -> list[str]:
    """Every file that defines `table`."""
    return sorted(path.stem for path in HERE.glob("*.py") if re.search(r"^def table\(", path.read_text(), re.MULTILINE))


def section(module: ModuleType, lines: list[Measured]) -> str:
    """The module's own words, then its lines."""
    verdicts = ["" if not line.allowed else "yes" if line.holds else "**no**" for line in lines]
    rows = [
        f"| {line.what} | {line.found} | {line.allowed} | {verdict} |"
        for line, verdict in zip(lines, verdicts, strict=True)
    ]
    title, about = module.__name__.rpartition(".")[2], (module.__doc__ or "").strip()
    head = ["| what | measured | allowed | holds |", "|---|---|---|---|"]
    return "\n".join([f"## {title}", "", about, "", *head, *rows, ""])


def versions() -> str:
    ours = {part: importlib.metadata.version(part) for part in PARTS}
    theirs = sys.modules["benchmarks.peers"].versions() if "benchmarks.peers" in sys.modules else {}
    return ", ".join(
        f"{name} {version}" for name, version in {"Python": platform.python_version(), **theirs, **ours}.items()
    )


def processor() -> str:
    about = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", about.read_text()) if about.exists() else None
    return f"{found[1] if found else platform.machine()}, {os.cpu_count()} cores"


def write(sections: dict[str, str], command: str) -> None:
    """Replace the sections that were run, keep the others."""
    old = RESULTS.read_text() if RESULTS.exists() else ""
    kept = dict(re.findall(r"^(?=## (.*)$)((?:.|\n)*?)(?=^## |\Z)", old, re.MULTILINE))
    every = {name: text.strip() + "\n" for name, text in (kept | sections).items()}
    head = HEAD.format(command=command)
    place = f"On {processor()}. {versions()}.\n"
    RESULTS.write_text("\n".join([head, place, *(every[name] for name in sorted(every))]))


def main(wanted: list[str]) -> int:
    if unknown := set(wanted) - set(names()):
        print(f"no benchmark named {', '.join(sorted(unknown))}; there are {', '.join(names())}")
        return 2
    sections, fine = {}, True
    for name in wanted or names():
        module = importlib.import_module(f"benchmarks.{name}")
        lines = module.table()
        sections[name] = section(module, lines)
        fine &= all(line.holds for line in lines)
        for line in lines:
            print(f"{'ok' if line.holds else 'NO':<3} {line.what:<72} {line.found:>12}   {line.allowed}", flush=True)
    write(sections, " ".join(["python -m benchmarks", *wanted]))
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
