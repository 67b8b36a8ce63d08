"""Every exercise of every lesson, with its right answer and with the wrong ones: the answers are laws, not draws.

Run are the imports of a notebook and its exercises, nothing else: an exercise stands by itself.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from dpviz.exercises import FIRST, Exercise
from tests.architecture.tree import ROOT

FOLDER = ROOT / "notebooks"
NO_LESSONS = ("00_start", "index")
LESSONS = [path for path in sorted(FOLDER.glob("*.ipynb")) if path.stem not in NO_LESSONS]
FEWEST = 5
LINK = re.compile(r"\]\((\w+\.ipynb)\)")
RANDOM = {"random", "default_rng", "TeachingBits", "SystemBits", "teaching", "draw", "release", "Session"}
"""What an exercise does not call: its answer would hang on a draw."""

ANSWERS = {
    "05_first_class": ["b", 73, "b", 2.1, 80, "b", "1/4", "b", 1],
    "10_finite_computers": ["5/4", 12, 52_428.8, 28, "b", "1/2"],
    "20_consistency": [44, 512, "15/8", 2, "b", "b", 1],
    "30_alp": [0.6931, 3, 2, 37, 39, 93, "a"],
    "40_top_k": [8, 402, "b", 2.15, 10, "b", 0],
    "50_sampling": ["3/64", 0.5, "51/50", "2601/2500", 3, 0.5],
    "60_groups": [3, "3/2", "b", 1, 48.5, "1/45"],
    "70_limits": [9, "b", 4222, 2430, 12, 1],
}
"""The right answers as somebody types them who found them with a pencil, a table of the lesson, or the paper."""

AIMED_AT = {
    "more accurate must give away more": "better accuracy means weaker privacy of everything",
    "it holds 95 times in 100": "a bar holds for the bin that caught my eye",
    "ε is too small to work": "a small ε is broken",
    "three different questions": "prices do not add up",
    'key="again"': "repeating a question is free, and so is asking afresh",
}
"""What the first class must ask about, and the misconception that it aims at."""


def cells(path: Path) -> list[Any]:
    return list(nbformat.read(path, as_version=4).cells)


def links(path: Path) -> set[str]:
    """The notebooks that a notebook links to."""
    return {name for cell in cells(path) if cell.cell_type == "markdown" for name in LINK.findall(cell.source)}


def is_exercise(cell: Any) -> bool:
    return "exercise" in cell.metadata.get("tags", [])


def imports(sources: list[str]) -> str:
    """The imports of all cells, wherever they stand."""
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    return "\n".join(ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))


def called(source: str) -> set[str]:
    """The last name of everything that a cell names."""
    nodes = list(ast.walk(ast.parse(source)))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return attributes | {node.id for node in nodes if isinstance(node, ast.Name)}


def exercises(path: Path) -> dict[str, Exercise]:
    """The exercises of a notebook by their names, from its imports and its exercises alone."""
    code = [cell for cell in cells(path) if cell.cell_type == "code"]
    space: dict[str, Any] = {}
    exec(imports([cell.source for cell in code]), space)  # our own notebooks
    for cell in code:
        if is_exercise(cell):
            exec(cell.source, space)
    return {name: thing for name, thing in space.items() if isinstance(thing, Exercise)}


@pytest.fixture(scope="module", params=LESSONS, ids=lambda path: path.stem)
def lesson(request: pytest.FixtureRequest) -> tuple[Path, dict[str, Exercise]]:
    return request.param, exercises(request.param)


def test_there_are_lessons() -> None:
    assert {"05_first_class", "50_sampling"} <= {path.stem for path in LESSONS}
    assert len(LESSONS) >= 6


def test_a_lesson_has_five_exercises_or_more_each_followed_by_a_place_for_the_prediction(
    lesson: tuple[Path, dict[str, Exercise]],
) -> None:
    path, found = lesson
    assert list(found) == [f"exercise_{number}" for number in range(1, len(found) + 1)] and len(found) >= FEWEST
    every = cells(path)
    places = [place for place, cell in enumerate(every) if is_exercise(cell)]
    assert len(places) == len(found)
    for place, name in zip(places, found, strict=True):
        assert every[place].source.splitlines()[-1] == name, "the question is shown"
        assert every[place].metadata["jupyter"]["source_hidden"], "and the answer is folded away"
        assert every[place + 1].source == f"{name}(...)"


def test_every_exercise_says_something_of_its_own_for_the_right_answer_and_for_two_wrong_ones(
    lesson: tuple[Path, dict[str, Exercise]],
) -> None:
    for name, exercise in lesson[1].items():
        right = exercise(exercise.right)
        assert right.right and right.says == exercise.why, name
        wrong = [exercise(answer) for answer in exercise.wrong]
        assert len(wrong) >= 2 and all(verdict.right is False for verdict in wrong), name
        said = [verdict.says for verdict in (right, *wrong)]
        assert len(set(said)) == len(said) and min(map(len, said)) >= 20, name
        assert exercise(...).says == FIRST, name


def test_the_answers_are_those_that_somebody_wrote_down(lesson: tuple[Path, dict[str, Exercise]]) -> None:
    path, found = lesson
    for exercise, answer in zip(found.values(), ANSWERS[path.stem], strict=True):
        assert exercise(answer).right, exercise


def test_no_answer_hangs_on_a_draw(lesson: tuple[Path, dict[str, Exercise]]) -> None:
    for cell in cells(lesson[0]):
        if is_exercise(cell):
            assert called(cell.source) & RANDOM == set(), cell.id


def test_no_question_gives_its_answer_away(lesson: tuple[Path, dict[str, Exercise]]) -> None:
    for name, exercise in lesson[1].items():
        shown = repr(exercise) + exercise._repr_html_()
        assert not [text for text in (exercise.why, *exercise.wrong.values()) if text in shown], name


@pytest.mark.parametrize(("words", "misconception"), AIMED_AT.items(), ids=lambda text: text)
def test_the_first_class_aims_at_what_people_get_wrong(words: str, misconception: str) -> None:
    asked = "\n".join(map(repr, exercises(FOLDER / "05_first_class.ipynb").values()))
    assert words in asked, misconception


def test_every_notebook_is_on_the_map_and_links_lead_to_notebooks() -> None:
    every = {path.name for path in FOLDER.glob("*.ipynb")}
    assert links(FOLDER / "index.ipynb") == every - {"index.ipynb"}
    for name in every:
        assert links(FOLDER / name) <= every, name


@pytest.mark.parametrize("path", [FOLDER / "00_start.ipynb", *LESSONS], ids=lambda path: path.stem)
def test_a_lesson_leads_to_the_map_and_to_another_lesson_from_its_top_and_from_its_end(path: Path) -> None:
    for place in (0, -1):
        there = set(LINK.findall(cells(path)[place].source))
        assert "index.ipynb" in there and (len(there) > 1 or path == LESSONS[-1]), place


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_cell_that_computes_has_words_before_it(path: Path) -> None:
    told = False
    for cell in cells(path):
        if cell.cell_type == "markdown":
            told = bool([line for line in cell.source.splitlines() if line.strip() and not line.startswith("#")])
        elif not (is_exercise(cell) or cell.source.endswith("(...)") or "assert " in cell.source):
            assert told, cell.id
            told = False


def test_an_answer_from_a_draw_and_an_exercise_without_a_folded_answer_would_be_found() -> None:
    assert called("lesson.draw(bins, dv.Dense(1), times=20)") & RANDOM == {"draw"}
    assert called("np.random.default_rng(1)") & RANDOM == {"random", "default_rng"}
    assert imports(["import math\nx = 1", "def f():\n    from fractions import Fraction"]).split("\n") == [
        "import math",
        "from fractions import Fraction",
    ]
    bare = nbformat.v4.new_code_cell("exercise_1")
    assert not is_exercise(bare) and is_exercise(nbformat.v4.new_code_cell("x", metadata={"tags": ["exercise"]}))
