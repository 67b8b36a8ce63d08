"""Pages about other libraries show what their code printed, at the version that the benchmarks have."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT
from tools import beside

PAGES = beside.pages()


def test_every_library_has_a_page_that_the_index_names() -> None:
    index = (ROOT / "docs/coming_from/index.md").read_text()
    assert [path.stem for path in PAGES] == ["diffprivlib", "dp_wizard", "opendp", "pipelinedp", "smartnoise", "tumult"]
    assert [path.stem for path in PAGES if f"({path.name})" not in index or f"\n{path.stem}\n" not in index] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_code_output_and_version_are_the_recorded_ones(path: Path) -> None:
    assert beside.faults(path) == []
    assert len(beside.read(path).code) > 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("scale=2.0", "scale=4.0", "not what was recorded"),
        ("asked twice, the same answer: False", "asked twice, the same answer: True", "not what was recorded"),
        ("with opendp 0.16.0", "with opendp 0.15.0", "recorded with 0.15.0"),
        ("Recorded on", "Written on", "nothing was recorded"),
    ],
)
def test_a_page_that_was_changed_after_its_record_is_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    place = Path(shutil.copy(ROOT / "docs/coming_from/opendp.md", tmp_path))
    text = place.read_text()
    assert old in text and beside.faults(place) == []
    place.write_text(text.replace(old, new))
    assert any(said in fault and "opendp.md" in fault for fault in beside.faults(place))


# A statement about another library, and the line of its record that it rests on.
RESTS_ON = {
    "opendp": ("0.33333333333333337", "below 0 in 200 answers: True", "same answer: False", "exhausted", "\n14\n"),
    "diffprivlib": ("least value of 400 answers: 0", "on average: True", "PrivacyLeakWarning", "0.9999999999999999"),
    "pipelinedp": ("whole numbers: False", "in 20 answers: True", "after compute_budgets()", "that are there: True"),
    "smartnoise": ("fewer came: True", "same answer: False", "after 30 queries: (15", "1.49"),
    "dp_wizard": ("[2000.0]", "not released: ['(35, 36]']", "'(40, inf]'", 'invariant="keys"'),
    "tumult": ("without exceeding", "same answer: False"),
}


@pytest.mark.parametrize("name", RESTS_ON)
def test_statements_about_a_library_rest_on_lines_of_its_record(name: str) -> None:
    outputs = "\n".join(["", *beside.read(beside.FOLDER / f"{name}.md").outputs])
    assert [line for line in RESTS_ON[name] if line not in outputs] == []
