"""What knows the name of a shape, of a mechanism or of a measure: the room it lives in, and nothing else.

A test for a class, a comparison with a kind, or a `getattr` with a default, each says that a method is missing from a
protocol. To keep other names in their rooms, add a `Room` to `ROOMS`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpviz.mechanisms import NAMES, OPENINGS, REGISTRY
from dpviz.model.answers import SHAPES, Answer
from dpviz.model.error import ErrorModel
from dpviz.model.mechanism import Bound, Mechanism
from dpviz.model.release import Release
from dpviz.model.source import Source

PACKAGE = Path(__file__).resolve().parents[2] / "dpviz"


@dataclass(frozen=True)
class Room:
    """Names that may be tested for only below some folders or files of the package.

    classes  names of classes, in `isinstance`, `issubclass`, `type(x) is` and `match`
    kinds    strings that a kind is compared with
    texts    strings that anything is compared with, looked up by or listed under
    made     whether nobody else imports these classes or makes one, either
    inside   the folders or files, relative to the package, that may
    """

    what: str
    classes: frozenset[str]
    kinds: frozenset[str]
    inside: tuple[str, ...]
    texts: frozenset[str] = frozenset()
    made: bool = False


MECHANISMS = frozenset(name for name in NAMES if name in REGISTRY or name in OPENINGS)


def mechanism_classes() -> set[str]:
    """The classes of mechanisms: with parameters, of their own or shared, and bound to a question."""
    trees = [ast.parse(path.read_text()) for path in sorted((PACKAGE / "mechanisms").glob("*.py"))]
    classes = {node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}
    bases = {kind.name: {name for base in kind.bases for name in names(base)} for kind in classes}
    own: set[str] = set()
    while more := {name for name, above in bases.items() if above & {"Parameters", "Opening", *own}} - own:
        own |= more
    return own | {kind.name for kind in classes if kind.name.endswith("Bound")}


def names(kind: ast.AST) -> list[str]:
    """The names of a class, a tuple of classes or a union of them. `ibis.Table` is somebody else's."""
    match kind:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="answers" | "mechanisms" | "dv"), attr=name):
            return [name]
        case ast.Tuple(elts=parts):
            return [name for part in parts for name in names(part)]
        case ast.BinOp(left=left, right=right):
            return names(left) + names(right)
    return []


BUILT_IN = {kind: shape for kind, shape in SHAPES.items() if shape.__module__.startswith("dpviz.")}

ROOMS = [
    Room(
        "a shape of answer",
        frozenset(shape.__name__ for shape in BUILT_IN.values()),
        frozenset(BUILT_IN),
        ("model/answers",),
    ),
    Room(
        "a mechanism",
        frozenset(mechanism_classes()),
        frozenset(),
        (
            "mechanisms/",
            "__init__.py",
            "widgets/sub_session_view.py",
        ),  # the last is the view of one mechanism, and of no other
        MECHANISMS,
        made=True,
    ),
]

PROTOCOLS = (Answer, Bound, ErrorModel, Mechanism, Release, Source)
MEMBERS = frozenset(
    name
    for protocol in PROTOCOLS
    for kind in protocol.__mro__[:-1]
    for name in {*vars(kind), *vars(kind).get("__annotations__", {})}
    if not name.startswith("_")
) | {"mechanism", "question", "unit", "needs", "price", "space", "cost", "error", "verb", "name", "columns"}
"""What our own protocols have: those that are declared for a type checker alone are written out."""

ADAPTERS = ("engines/__init__.py",)
"""Where a user's own object is asked whether it has a part."""


def strangers(root: Path) -> list[str]:
    """Each place under root (the folder of the package) that tests for a name outside its room."""
    findings = []
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root).as_posix()
        nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, TESTING)]
        for room in ROOMS:
            if not place.startswith(room.inside):
                findings += [f"{place}:{line}: {name} is {room.what}" for line, name in named_in(nodes, room)]
        if place not in ADAPTERS:
            findings += [f"{place}:{line}: getattr for {name}" for line, name in asked_for(nodes)]
    return findings


TESTING = (ast.Call, ast.ImportFrom, ast.MatchClass, ast.Compare, ast.Dict, ast.Subscript, ast.MatchValue)
"""All that can test for a name, or ask for a member."""


def named_in(nodes: list[ast.AST], room: Room) -> Iterator[tuple[int, str]]:
    """Every name of the room that something in this module is tested for."""
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass" | "is_a"), args=[_, *kinds]):
                yield from ((node.lineno, name) for kind in kinds for name in names(kind) if name in room.classes)
            case ast.Call(func=made) if room.made:
                yield from ((node.lineno, name) for name in names(made) if name in room.classes)
            case ast.ImportFrom(names=imported) if room.made:
                yield from ((node.lineno, one.name) for one in imported if one.name in room.classes)
            case ast.MatchClass(cls=kind):
                yield from ((node.lineno, name) for name in names(kind) if name in room.classes)
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
                if any(isinstance(side, ast.Call) and names(side.func)[-1:] == ["type"] for side in sides):
                    yield from ((node.lineno, name) for side in sides for name in names(side) if name in room.classes)
                texts = [text for side in sides for text in constants(side)]
                known = room.texts | room.kinds if any(is_kind(side) for side in sides) else room.texts
                yield from ((node.lineno, text) for text in texts if text in known)
                owners = [side.value for side in sides if isinstance(side, ast.Attribute) and side.attr == "name"]
                yield from ((node.lineno, name) for owner in owners for name in names(owner) if name in room.classes)
            case ast.Dict(keys=keys):
                texts = [text for key in keys if key is not None for text in constants(key)]
                yield from ((node.lineno, text) for text in texts if text in room.texts)
            case ast.Subscript(slice=place):
                yield from ((node.lineno, text) for text in constants(place) if text in room.texts)
            case ast.MatchValue(value=value):
                yield from ((value.lineno, text) for text in constants(value) if text in room.texts)


def is_kind(side: ast.AST) -> bool:
    """Whether this reads a kind: `answer.kind` or `body["kind"]`."""
    match side:
        case ast.Attribute(attr="kind") | ast.Subscript(slice=ast.Constant(value="kind")):
            return True
    return False


def constants(side: ast.AST) -> list[str]:
    """The texts that something is compared with: one, or those of a tuple, a list or a set."""
    match side:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return [text for part in parts for text in constants(part)]
    return []


def asked_for(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Every member of our protocols that is looked up with a default."""
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), _]) if name in MEMBERS:
                yield node.lineno, name


def planted(folder: Path, module: str, text: str) -> list[str]:
    path = folder / "dpviz" / module
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return strangers(folder / "dpviz")


def test_no_name_is_tested_for_outside_its_room() -> None:
    assert strangers(PACKAGE) == []


def test_the_mechanisms_that_there_are_are_found() -> None:
    assert {"Dense", "TopK", "PayWhatYouGet"} <= MECHANISMS
    assert mechanism_classes() >= MECHANISMS | {"DenseBound", "TopKBound"}


def spelled(source: str) -> list[str]:
    """The mechanisms that a module of the page spells out as a text."""
    code = re.sub(r"/\*.*?\*/|(?<!:)//[^\n]*", "", source, flags=re.DOTALL)
    return [name for name in sorted(MECHANISMS) if re.search(rf"""["'`]{name}["'`]""", code)]


def test_the_page_spells_no_mechanism() -> None:
    modules = sorted((PACKAGE.parent / "widgets/src").rglob("*.ts"))
    assert len(modules) > 20
    assert {path.name: names for path in modules if (names := spelled(path.read_text()))} == {}


def test_a_mechanism_that_is_planted_in_the_page_is_found() -> None:
    assert spelled('if (sheet.mechanism.name === "Dense") draw();') == ["Dense"]
    assert spelled("const slow = new Set(['Compact', `TopK`]);") == ["Compact", "TopK"]
    assert spelled('// as "Dense" does\nconst DENSE = "Denser";') == []


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("charts/picture.py", "def draw(answer): return isinstance(answer, Table)"),
        ("charts/picture.py", "def draw(answer): return isinstance(answer, int | Ranked)"),
        ("reports.py", "def draw(answer): return isinstance(answer, (int, answers.Chosen))"),
        ("session/saved.py", "def draw(answer): return type(answer) is SparseTable"),
        ("model/release.py", "def draw(answer):\n    match answer:\n        case CompactTable(): return 1"),
        ("widgets/session_model.py", "def draw(answer): return answer.kind == 'table'"),
        ("widgets/session_model.py", "def draw(answer): return answer.kind in ('sparse', 'other')"),
        ("session/binding.py", "def bind(bound): return getattr(bound, 'max_items', None)"),
        ("session/binding.py", "def bind(bound): return getattr(bound, 'check_source', None)"),
        ("engines/sources.py", "def top(source): return getattr(source, 'top', None)"),
        ("charts/plans.py", "def draw(made): return isinstance(made, Dense)"),
        ("charts/plans.py", "def draw(made): return type(made) is dv.TopK"),
        ("session/plan.py", "def draw(bound): return isinstance(bound, StabilityBound)"),
        ("planning/sheet.py", "def draw(made): return made.name == 'Compact'"),
        ("planning/sheet.py", "def draw(made): return made.name == Compact.name"),
        ("widgets/session_model.py", "def draw(made): return made.name in ('TopK', 'mine')"),
        ("reports.py", "ABOUT = {'PureSparse': 'slow'}"),
        ("widgets/session_model.py", "def fitting(epsilon): return [Dense(epsilon)]"),
        ("widgets/session_model.py", "def fitting(epsilon): return dv.Stability(epsilon, 0)"),
        ("widgets/session_model.py", "from dpviz.mechanisms import REGISTRY, PureSparse, mechanism"),
        ("planning/sheet.py", "from dpviz.mechanisms.compact import CompactBound as Other"),
        ("reports.py", "def kind(): return REGISTRY['Stability']"),
        ("reports.py", "def draw(name):\n    match name:\n        case 'PayWhatYouGet': return 1"),
    ],
)
def test_a_planted_stranger_is_found(tmp_path: Path, module: str, text: str) -> None:
    assert len(planted(tmp_path, module, text)) == 1


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("model/answers/table.py", "def same(other): return isinstance(other, Table)"),
        ("mechanisms/dense.py", "def draw(values): return Table(values)"),
        ("mechanisms/ranked.py", "def same(other): return isinstance(other, TopKBound)"),
        ("charts/plans.py", "TITLE = 'Dense counts take 8 bytes a bin'"),
        ("charts/plans.py", "def draw(made): return made.name == 'mine'"),
        ("charts/picture.py", "def draw(thing): return isinstance(thing, Release) and getattr(thing, 'end', 0)"),
        ("engines/__init__.py", "def top(source): return getattr(source, 'top', None)"),
    ],
)
def test_what_a_room_may_do_is_no_finding(tmp_path: Path, module: str, text: str) -> None:
    assert planted(tmp_path, module, text) == []
