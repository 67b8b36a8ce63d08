"""Every promise of the documentation stands in `docs/promises.md` beside tests that exist."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.tree import ROOT

SECTIONS = ("What it promises", "What is *not* protected")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def section(text: str, title: str) -> str:
    """What stands under a heading, up to the next."""
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def sentences(text: str) -> list[str]:
    """The sentences of a list, without marks of emphasis and the addresses of links."""
    points = re.split(r"(?m)^\* ", text)[1:]
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(point.replace("**", "").split())) for point in points]
    return [sentence for point in plain for sentence in re.split(r"(?<=\.) (?=[A-Z])", point)]


def rows(text: str) -> dict[str, str]:
    """Each sentence of a table, and what shows it."""
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: row[1] for row in cells if len(row) == 2 and row[0] != "sentence"}


def missing(shown: str) -> list[str]:
    """The tests named here that do not exist."""
    return [f"{path}::{name}" for path, name in TEST.findall(shown) if name not in names_in(path)]


def names_in(path: str) -> set[str]:
    file = ROOT / path
    if not file.is_file():
        return set()
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}


PROTECTED = (ROOT / "docs/explanation/protected.md").read_text()
PROMISES = (ROOT / "docs/promises.md").read_text()


@pytest.mark.parametrize("title", SECTIONS)
def test_the_table_holds_the_sentences_of_the_page_in_their_order(title: str) -> None:
    said = sentences(section(PROTECTED, title))
    assert len(said) >= 8
    assert said == list(rows(section(PROMISES, title)))


@pytest.mark.parametrize("title", SECTIONS)
def test_every_row_names_tests_and_all_of_them_exist(title: str) -> None:
    table = rows(section(PROMISES, title))
    assert [gone for shown in table.values() for gone in missing(shown)] == []
    bare = [sentence for sentence, shown in table.items() if not TEST.search(shown)]
    if title == "What it promises":
        assert bare == []
    assert all(table[sentence].startswith("no test: ") for sentence in bare)


def test_a_promise_without_a_row_and_a_test_that_is_gone_would_be_found() -> None:
    text = "\n## What it promises\n\n* **One.** It holds\n  always, see [this](a/b.md). A second.\n"
    assert sentences(section(text, "What it promises")) == ["One.", "It holds always, see this.", "A second."]
    assert missing("`tests/nowhere.py::test_a` · `tests/architecture/test_promises.py::test_b`") == [
        "tests/nowhere.py::test_a",
        "tests/architecture/test_promises.py::test_b",
    ]
    assert (
        missing(f"`tests/architecture/test_promises.py::{test_every_row_names_tests_and_all_of_them_exist.__name__}`")
        == []
    )
