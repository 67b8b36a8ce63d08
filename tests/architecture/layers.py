"""The layers of dpviz, and a reader of imports that says where one points up.

Lowest first. A module may import from its own part and from the parts of lower layers; parts that share a layer do not
see each other. The facade `dpviz/__init__.py` sees everything and is imported by nothing inside.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

LAYERS = (
    {"kinds", "threads", "lazy", "memory"},
    {"traces"},
    {"errors"},
    {"names", "wanted"},
    {"exact", "files"},
    {"boundary"},
    {"noise", "laws", "datasets"},
    {"fitting", "sampling"},
    {"privacy"},
    {"model"},
    {"mechanisms"},
    {"planning"},
    {"engines"},
    {"session"},
    {"charts"},
    {"widgets"},
    {"reports", "exercises", "curator"},
    {"cli"},
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}

IMPORTERS = {"import_module", "resolve_name", "__import__"}

UPWARD = {
    ("dpviz.model.release", "dpviz.charts"),
    ("dpviz.model.closing", "dpviz.charts"),
    ("dpviz.model.combination", "dpviz.charts"),
    ("dpviz.model.derived", "dpviz.charts"),
    ("dpviz.model.marginals", "dpviz.charts"),
    ("dpviz.session.plan", "dpviz.charts"),
}
"""The upward calls there are, by name and on use: what `chart()` of a release, a plan, a combined answer, a
closed one or a derived value returns is drawn above."""


def part(module: str) -> str:
    """`noise` for `dpviz.noise.bits`; empty for `dpviz` itself."""
    return module.partition(".")[2].partition(".")[0]


def violations(root: Path) -> list[str]:
    """Each import under root (the folder of the package) that points up, as `file:line: what is wrong`."""
    found = []
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root.parent)
        module = ".".join(place.with_suffix("").parts).removesuffix(".__init__")
        if module == root.name:
            continue
        if part(module) not in LEVEL:
            found.append(f"{place}: {part(module)} has no layer; give it one in tests/architecture/layers.py")
            continue
        for line, target in imports(ast.parse(path.read_text())):
            if problem := judge(module, target):
                found.append(f"{place}:{line}: {problem}")
    return found


def judge(module: str, target: str) -> str | None:
    """What is wrong with this import, if anything."""
    if target.startswith("."):
        return "a relative import; name the module in full"
    if target.split(".")[0] != "dpviz" or (module, target) in UPWARD:
        return None
    own, other = part(module), part(target)
    if not other:
        return "imports the facade, which imports everything"
    if other not in LEVEL:
        return f"imports dpviz.{other}, which has no layer"
    if own == other or LEVEL[other] < LEVEL[own]:
        return None
    if LEVEL[own] == LEVEL[other]:
        return f"{own} and {other} do not import each other"
    return f"{own} imports up, from {other}"


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every import in a module, at any depth, with its line: statements, and calls that import by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            if source == "dpviz":
                yield from ((node.lineno, imported_from_facade(alias.name)) for alias in node.names)
            else:
                yield node.lineno, source
        elif isinstance(node, ast.Call) and called(node) in IMPORTERS:
            name = node.args[0] if node.args else None
            yield node.lineno, by_name(name) or "dpviz"


def by_name(name: ast.expr | None) -> str:
    """The module that a call imports, as far as its name is written down: f"dpviz.noise.{kind}" is of dpviz.noise."""
    match name:
        case ast.Constant(value=str(text)):
            return text.partition(":")[0]
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return text.rpartition(".")[0]
    return ""


def imported_from_facade(name: str) -> str:
    """`from dpviz import exact` imports a part; `from dpviz import Session` imports the facade."""
    return f"dpviz.{name}" if name in LEVEL else "dpviz"


def called(call: ast.Call) -> str | None:
    """The last name of what is called."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return None
