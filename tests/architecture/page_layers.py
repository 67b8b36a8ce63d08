"""The layers of the page, and a reader of imports that says where one points up and where some run in a circle.

Lowest first. A module of `widgets/src` may import from its own folder and from the folders of lower layers; folders
that share a layer do not see each other. Imports of types count like all others.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

LAYERS = (
    {"numbers"},
    {"protocol"},
    {"wording"},
    {"dom"},
    {"offline"},
    {"charts"},
    {"answers"},
    {"views", "stores"},
    {"page"},
    {"explorers", "workbench"},
    {"report"},
    {"programs"},
)
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}

STYLES = "styles"
"""The folder without modules."""

IMPORT = re.compile(
    r"""(?:^|[;}])\s*(?:import|export)\b[^;"'()]*?["'](?P<static>[^"']+)["']|\bimport\s*\(\s*["'](?P<late>[^"']+)["']""",
    re.MULTILINE,
)
COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.DOTALL)


def imports(text: str) -> Iterator[str]:
    """Every module that a text imports or exports from, types included, wherever the import stands."""
    for found in IMPORT.finditer(COMMENT.sub("", text)):
        yield found["static"] or found["late"]


def modules(source: Path) -> dict[str, list[str]]:
    """The modules below a folder, by their path without suffix, with those that each imports by a relative path."""
    graph = {}
    for path in sorted(source.rglob("*.ts")):
        name = path.relative_to(source).with_suffix("").as_posix()
        near = (target for target in imports(path.read_text(encoding="utf-8")) if target.startswith("."))
        graph[name] = [posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) for target in near]
    return graph


def violations(source: Path) -> list[str]:
    """Each module without a folder that has a layer, and each import that points up, to the side or out."""
    found = []
    for name, targets in modules(source).items():
        folder = name.rpartition("/")[0]
        if folder not in LEVEL:
            found.append(f"{name} lies in no folder that has a layer; give it one in tests/architecture/page_layers.py")
            continue
        found += [f"{name}: {problem}" for target in targets if (problem := judge(folder, target))]
    return found


def judge(folder: str, target: str) -> str | None:
    """Name the fault of an import from a folder, if there is one."""
    other = target.rpartition("/")[0]
    if other not in LEVEL:
        return f"imports {target}, which has no layer"
    if other == folder or LEVEL[other] < LEVEL[folder]:
        return None
    if LEVEL[other] == LEVEL[folder]:
        return f"{folder} and {other} do not import each other"
    return f"{folder} imports up, from {other}"


def circles(graph: dict[str, list[str]]) -> list[str]:
    """One circle of imports for each module that lies on any: how it gets back to itself."""
    return [" -> ".join(way) for name in graph if (way := back(graph, name))]


def back(graph: dict[str, list[str]], name: str) -> list[str]:
    """The shortest way along imports from a module to itself; empty where there is none."""
    ways = [[name]]
    seen: set[str] = set()
    for way in ways:
        for target in graph.get(way[-1], []):
            if target == name:
                return [*way, name]
            if target not in seen:
                seen.add(target)
                ways.append([*way, target])
    return []
