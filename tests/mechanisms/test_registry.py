"""The registry: one line a mechanism, and mechanisms of somebody's own that are registered while a program runs."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

import dpviz as dv
from dpviz import mechanisms
from dpviz.errors import ParameterError
from dpviz.mechanisms.dense import Dense, DenseBound
from dpviz.model.parameters import OneOf, Parameters, parameter
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit
from dpviz.session.session import Session
from tests.session.sources import KnownCounts

BINS = dv.Domain.integers(0, 3, column="x")
Colour = Literal["grey", "green"]


class Toy(Dense):
    """Dense under another name, with one more parameter."""

    name: ClassVar[str] = "Toy"
    about: ClassVar[str] = "A toy."

    colour: Colour = parameter(
        reads=OneOf(Colour), default="grey", label="Colour", options={"grey": "plain", "green": "fresh"}
    )

    def bind(self, question: Question, unit: Unit) -> DenseBound:
        return super().bind(question, unit)


@pytest.fixture
def registered() -> Iterator[None]:
    mechanisms.register(Toy)
    yield
    mechanisms.unregister("Toy")


def opened(folder: Path) -> Session:
    return Session(KnownCounts([4, 0, 9, 1]), dv.Unit(), dv.Budget(10), folder / "test.ledger")


def test_a_registered_mechanism_is_planned_released_saved_and_read_back(registered: None, tmp_path: Path) -> None:
    toy, session = Toy("1/2", colour="green"), opened(tmp_path)
    assert toy.python == 'dv.Toy(epsilon="0.5", colour="green")' and eval(toy.python, {"dv": dv}) == toy
    assert session.plan(BINS, toy).price.loss.epsilon == toy.epsilon
    release = session.release(BINS, toy)
    assert session.release(BINS, Toy("0.5", colour="green")) == release
    assert session.releases[1] == release
    assert dv.load(release.save(tmp_path / "toy.json")) == release
    assert release.terms.mechanism.text == repr(toy) != repr(Toy("1/2"))


def test_the_picker_offers_a_registered_mechanism_with_its_parameters(registered: None, tmp_path: Path) -> None:
    sheet = opened(tmp_path).plan(BINS, Toy(1)).sheet.to_json()
    assert sheet["mechanisms"][-1] == {"name": "Toy", "title": "Toy", "about": "A toy.", "stays": ["cap"]}
    assert [one["name"] for one in sheet["mechanism"]["choices"]][-1] == "colour"
    bench = dv.Workbench(opened(tmp_path), BINS)
    assert "Toy" in [one["name"] for one in json.loads(bench.sheet)["mechanisms"]]


def test_a_comparison_takes_a_registered_mechanism_by_name(registered: None) -> None:
    rows = json.loads(dv.MechanismComparison(None, BINS, ["Dense", "Toy"]).sheet)["now"]["rows"]
    assert [row["name"] for row in rows] == ["Dense", "Toy"]


def test_what_is_not_registered_is_refused_everywhere(tmp_path: Path) -> None:
    for call in (
        lambda: opened(tmp_path).plan(BINS, Toy(1)),
        lambda: mechanisms.mechanism("Toy", {"epsilon": "1"}),
        lambda: mechanisms.unregister("Toy"),
        lambda: mechanisms.unregister("Dense"),
    ):
        with pytest.raises(ParameterError):
            call()  # type: ignore[no-untyped-call]
    with pytest.raises(AttributeError):
        dv.Toy  # noqa: B018
    assert "Toy" not in mechanisms.REGISTRY and "Toy" not in dir(dv)


class Nameless(Parameters):
    pass


@pytest.mark.parametrize("kind", [Dense, dv.PayWhatYouGet, Nameless, Unit, Dense(1), "Dense", None, [Toy]])
def test_what_is_no_new_mechanism_is_not_registered(kind: Any) -> None:
    before = list(mechanisms.REGISTRY)
    with pytest.raises(ParameterError):
        mechanisms.register(kind)
    assert list(mechanisms.REGISTRY) == before


def test_a_line_of_the_registry_names_the_mechanism_as_it_names_itself() -> None:
    assert {name: kind.name for name, kind in mechanisms.REGISTRY.items()} == {
        name: name for name in mechanisms.REGISTRY
    }
    assert all(mechanisms.REGISTRY[name] is getattr(dv, name) for name in mechanisms.REGISTRY)
    assert [name for name, kind in mechanisms.REGISTRY.items() if kind.names_items] == [
        "KeySelection", "TopK", "TopKLaplace", "TopKSet", "ExponentialTopK",
    ]  # fmt: skip
    assert [name for name, kind in mechanisms.REGISTRY.items() if kind.draws_records] == [
        "SampleCategory", "SampleBounded", "SampleProduct", "RandomisedRecord",
    ]  # fmt: skip


def for_checkers(module: Any) -> set[str]:
    """The names that a type checker sees imported in a module that loads them on use, those of the registry included:
    a module that imports `*` from there has them all."""
    tree = ast.parse(Path(module.__file__).read_text())
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    assert [node.module for node in imports if node.names[0].name == "*"] == ["dpviz.mechanisms.catalogue"]
    imports += [node for node in ast.parse(mechanisms.CATALOGUE.read_text()).body if isinstance(node, ast.ImportFrom)]
    return {alias.asname for node in imports for alias in node.names if alias.asname}


def test_a_checker_sees_what_a_program_finds() -> None:
    assert for_checkers(dv) == set(dv.__all__) <= set(dir(dv))
    assert for_checkers(mechanisms) == set(mechanisms.NAMES) <= set(mechanisms.__all__)


def test_each_line_of_the_registry_is_an_import_of_one_mechanism_from_its_file() -> None:
    """A line that is written otherwise would be seen by checkers and not by programs."""
    lines = [line for line in mechanisms.CATALOGUE.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == len([name for name in mechanisms.NAMES if name not in mechanisms.OPENINGS])
    for line in lines:
        [node] = ast.parse(line).body
        assert isinstance(node, ast.ImportFrom) and node.module, line
        [name] = node.names
        assert name.name == name.asname and mechanisms.REGISTRY[name.name].__module__ == node.module, line


def test_a_mechanism_is_loaded_when_it_is_first_used() -> None:
    program = (
        "import sys, dpviz as dv\n"
        "from dpviz.mechanisms import REGISTRY\n"
        "loaded = lambda: [name for name in sys.modules if name.startswith('dpviz.mechanisms.')]\n"
        "assert len(REGISTRY) > 8 and 'Compact' in REGISTRY and loaded() == []\n"
        "dv.TopKSet\n"
        "assert set(loaded()) == {'dpviz.mechanisms.top_k_set', 'dpviz.mechanisms.ranked'}, loaded()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
