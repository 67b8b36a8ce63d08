"""The numbers of `tools/measure_house.py` are what they say, and one that gets worse is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import measure_house, prose, public
from tools.measure_house import MEASURES, Measure, measured
from tools.suites import SUITES

CODE = '''"""What a module is for. It is short."""

# Whoever reads this
# finds it. A second sentence.
LIMIT = 3
"""So many are kept."""


class Reader(Protocol):
    length: int
    width: int = 0

    @property
    def rows(self) -> int: ...

    def read_rows(self) -> int:
        raise ValueError("the rows are gone. What is left is none; ask anew")  # no comment of its own line

    def _hidden(self) -> None: ...


class Reader(Reader):
    pass


def found() -> None:
    """Does it matter? What does it matter?"""
'''

SCRIPT = """/** What is drawn. */
// How far it goes,
// and no further.
const kept = "What a text may say"; // What stands behind code

/* A picture.
 * So many bars. */
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "dpviz").mkdir()
    (tmp_path / "dpviz/reader.py").write_text(CODE)
    (tmp_path / "widgets/src/views").mkdir(parents=True)
    (tmp_path / "widgets/src/kept.ts").write_text(SCRIPT)
    (tmp_path / "widgets/src/views/one.ts").write_text("")
    return tmp_path


def test_the_house_is_measured_in_the_suite_of_style() -> None:
    assert ("python", "-m", "tools.measure_house") in SUITES["style"]


def test_each_number_of_a_planted_house(root: Path) -> None:
    assert measure_house.one_word_functions(root) == pytest.approx(100 * 2 / 3)
    lines = [line for line in CODE.splitlines() if line]
    assert measure_house.comment_lines(root) == pytest.approx(100 * 2 / len(lines))
    assert dict(measure_house.protocol_sizes(root)) == {"Reader": 4}
    assert measure_house.largest_protocol(root) == 4
    assert measure_house.repeated_class_names(root) == ["Reader (2 times)"]
    assert measure_house.flat_files(root) == 1
    assert measure_house.words("widgets/src/kept.ts")(root) == len(SCRIPT.split())


def test_a_protocol_is_measured_by_its_parts_and_with_what_only_a_type_checker_sees(root: Path) -> None:
    parts = """
class Storage:
    if TYPE_CHECKING:

        @property
        def kind(self) -> str: ...

    def pack(self) -> int: ...

class Answer(Storage):
    def view(self) -> int: ...

class Table(Answer):
    def pack(self) -> int: ...
"""
    (root / "dpviz/parts.py").write_text(parts)
    assert dict(measure_house.protocol_sizes(root)) == {"Reader": 4, "Storage": 2, "Answer": 1}


def test_sentences_that_begin_with_a_clause_are_found_and_questions_are_none(root: Path) -> None:
    assert sorted(prose.openings(root / "dpviz")) == [
        "dpviz/reader.py:17: What is left is none;",
        "dpviz/reader.py:1: What a module is for.",
        "dpviz/reader.py:3: Whoever reads this finds it.",
        "dpviz/reader.py:6: So many are kept.",
    ]


def test_the_description_of_a_parameter_is_a_sentence_of_its_own() -> None:
    text = """Charge it.

    Parameters
    ----------
    body : mapping
        What is charged for.
    key : str
        The digest of
        What is no sentence here.
    """
    assert prose.hidden(text) == ["What is charged for."]


def test_comments_of_scripts_are_read_and_their_texts_are_not(root: Path) -> None:
    assert prose.openings(root / "widgets/src") == [
        "src/kept.ts:1: What is drawn.",
        "src/kept.ts:2: How far it goes, and no further.",
        "src/kept.ts:6: So many bars.",
    ]


def test_every_public_call_and_every_public_method_has_a_complete_docstring() -> None:
    assert measure_house.incomplete_docstrings(Path()) == []


def test_a_public_call_that_lacks_a_section_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def chart(self: object, width: int) -> int:
        """Draw it."""
        return width

    chart.__module__, chart.__qualname__ = "dpviz.planted", "Release.chart"
    things = [(name, type(name, (), {"chart": chart, "__module__": "dpviz.planted"})) for name in ("One", "Two")]
    monkeypatch.setattr(public, "names", lambda: iter(things))
    lacking = measure_house.incomplete_docstrings(Path())
    assert [one for one in lacking if "chart" in one] == ["dpviz.planted:Release.chart: no parameter width"]


def test_the_public_names_are_those_of_the_package_and_what_its_calls_return() -> None:
    names = [name for name, _ in public.names()]
    assert {"Session", "charts.histogram", "errors.BudgetExceeded", "Ledger"} <= set(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("value", "verdict"), [(4, "WORSE"), (3, ""), (2, "better")])
def test_a_number_that_got_worse_is_named(value: int, verdict: str, capsys: pytest.CaptureFixture[str]) -> None:
    fewer = Measure("faults", lambda _: [f"fault {number}" for number in range(value)], 3, 0)
    assert measured(Path(), (fewer,)) == (["faults"] if verdict == "WORSE" else [])
    printed = capsys.readouterr().out
    assert verdict in printed
    assert ("fault 0" in printed) == (verdict == "WORSE")


def test_a_share_that_should_grow_gets_worse_by_falling() -> None:
    share = Measure("comments", float, 2.5, 3, " %", more_is_better=True)
    assert share.is_worse(2.44)
    assert not share.is_worse(2.46)
    assert share.is_better(2.6)


def test_every_bound_is_on_the_far_side_of_its_target() -> None:
    assert [
        one.name for one in MEASURES if (one.bound < one.target) != one.more_is_better and one.bound != one.target
    ] == []
