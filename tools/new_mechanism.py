"""Begin a mechanism: its file, its line in the registry and its test, which says what is left to write.

`make new-mechanism NAME=Staircase` runs it.
"""

from __future__ import annotations

import argparse
import keyword
import re
from collections.abc import Sequence
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parent.parent
SKELETONS = Path(__file__).with_name("skeletons")
CATALOGUE = "dpviz/mechanisms/catalogue.pyi"

NEXT = """\
{written}

1. Write the price, the law and the draw in dpviz/mechanisms/{file}.py, and the lines marked DESCRIBE.
2. Write the oracle, its near-wrong twin and the searcher in tests/mechanisms/test_{file}.py, until
   .venv/bin/pytest tests/mechanisms/test_{file}.py passes.
3. python -m tests.mechanisms.declared writes the records of its parameters, its offer and its numbers.
4. For the documentation: a recipe in tools/site/mechanisms.py, python -m tools.site.which, a line in CHANGELOG.md.
"""


def file_of(name: str) -> str:
    """Return the name of the file of a mechanism.

    >>> file_of("Staircase"), file_of("TopKSet"), file_of("ThresholdALP")
    ('staircase', 'top_k_set', 'threshold_alp')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def refusal(name: str, root: Path = ROOT) -> str:
    """Say why a mechanism cannot have this name; empty where it can."""
    catalogue = (root / CATALOGUE).read_text(encoding="utf-8")
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
        return f"the name of a mechanism is that of a class, as Staircase, and not {name!r}: write NAME=Staircase"
    if f" as {name}\n" in catalogue:
        return f"the registry has a mechanism {name}: give another name"
    taken = [place for place in _places(name) if (root / place).exists()]
    if taken or keyword.iskeyword(file_of(name)):
        return f"{taken[0] if taken else file_of(name)} is taken: give another name"
    return ""


def _places(name: str) -> dict[str, str]:
    """The files that are written, each with its skeleton."""
    file = file_of(name)
    return {f"dpviz/mechanisms/{file}.py": "mechanism.txt", f"tests/mechanisms/test_{file}.py": "test.txt"}


def write(name: str, root: Path = ROOT) -> list[str]:
    """Write the skeletons and the line of the registry, and return the files that were touched."""
    file = file_of(name)
    for place, skeleton in _places(name).items():
        text = Template((SKELETONS / skeleton).read_text(encoding="utf-8")).substitute(name=name, file=file)
        (root / place).write_text(text, encoding="utf-8")
    with (root / CATALOGUE).open("a", encoding="utf-8") as catalogue:
        catalogue.write(f"from dpviz.mechanisms.{file} import {name} as {name}\n")
    return [*_places(name), CATALOGUE]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write the skeleton of a mechanism.")
    parser.add_argument("name", help="the name of its class, as Staircase")
    name = parser.parse_args(arguments).name
    if refused := refusal(name):
        print(refused)
        return 1
    written = "\n".join(f"wrote {place}" for place in write(name))
    print(NEXT.format(written=written, file=file_of(name)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
