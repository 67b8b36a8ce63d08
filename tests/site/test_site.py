"""The documentation names every public call, mechanism, widget and finding; a fault in a page is found by its name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpviz import widgets
from dpviz.mechanisms import OPENINGS, REGISTRY
from tests.architecture.test_promises import TEST, missing
from tests.architecture.tree import ROOT
from tools import address, public
from tools.site import cells, check, command, findings, mechanisms, pages, reference
from tools.suites import SUITES


def test_every_public_name_is_in_the_reference_once() -> None:
    listed = [name for group in reference.groups() for name in group.names]
    assert sorted(listed) == sorted(name for name, _ in public.names())


def test_every_name_has_a_page_of_its_own_also_without_regard_to_capital_letters() -> None:
    files = [name for name, _ in reference.pages()]
    assert len({name.lower() for name in files}) == len(files) > len(dict(public.names()))


def test_a_class_is_described_with_its_own_calls() -> None:
    text = dict(reference.pages())["Session.rst"]
    assert all(f".. automethod:: {name}\n" in text for name in ("plan", "release", "open", "raise_budget"))
    assert ".. autoproperty:: remaining\n" in text


def test_every_mechanism_has_a_recipe_and_a_page() -> None:
    for place, named, known in (("RECIPES", mechanisms.RECIPES, REGISTRY), ("OPENED", mechanisms.OPENED, OPENINGS)):
        assert set(known) - set(named) == set(), f"write these into {place} of tools/site/mechanisms.py"
        assert set(named) - set(known) == set(), f"the registry has these no more: delete them in {place}"
    assert {name for name, _ in mechanisms.pages()} == {f"{name}.md" for name in (*REGISTRY, *OPENINGS, "index")}


def test_every_hazard_is_answered_by_tests_that_exist_or_is_said_not_to_be() -> None:
    text = (ROOT / "docs/explanation/hazards.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if re.match(r"\| \d", line)]
    assert len(rows) == 26 and len({row[1] for row in rows}) == len(rows)
    assert missing(text) == []
    states = set()
    for _, hazard, state, *shown in rows:
        states.add(re.split("[:;]| for ", state)[0].strip())
        assert state.startswith("not answered") or TEST.search(" ".join(shown)), hazard
    assert states == {"answered", "shown", "not answered"}


def test_the_decision_page_leads_to_every_mechanism() -> None:
    text = (ROOT / "docs/which.md").read_text()
    assert [name for name in (*REGISTRY, "PayWhatYouGet") if f"](mechanisms/{name}.md)" not in text] == []


def test_the_gallery_names_every_widget_that_stands_alone() -> None:
    text = (ROOT / "docs/gallery.md").read_text()
    assert [name for name in widgets.__all__ if name != "SessionModel" and f"dv.{name}" not in text] == []


def test_every_finding_is_listed_with_its_three_parts_and_its_packages() -> None:
    scripts = sorted((ROOT / "findings").glob("*.sh"))
    page = findings.page(ROOT / "findings")
    assert len(scripts) > 30
    assert page.count("\n## ") == page.count("**What happens:**") == len(scripts)
    assert [script.name for script in scripts if f"findings/{script.name}" not in page] == []


def test_a_finding_that_lacks_a_part_is_named(tmp_path: Path) -> None:
    (tmp_path / "odd.sh").write_text("#!/usr/bin/env bash\n# One would guess: a.\n# What happens: b.\n")
    with pytest.raises(ValueError, match=r"odd\.sh"):
        findings.page(tmp_path)


def test_the_command_line_is_shown_with_every_command() -> None:
    assert all(f"## `dpviz ledger {name}`" in command.page() for name in ("show", "verify", "registry", "backup"))


def test_a_cell_that_fails_is_named_with_its_page_and_one_that_runs_gives_its_outputs(tmp_path: Path) -> None:
    with pytest.raises(cells.CellFailed, match=r"(?s)a/page.*1 / 0.*ZeroDivisionError"):
        cells.outputs("a/page", ["x = 1", "1 / 0"], tmp_path)
    code = ["print('said')\n_ = open('kept.html', 'w').write('<p>')", "3 + 4"]
    ran = cells.outputs("a/page", code, tmp_path, files=["kept.html"])
    assert ran is not None and ran.files == {"kept.html": "<p>"}
    assert ran.outputs[0][0]["text"] == "said\n" and ran.outputs[1][0]["data"]["text/plain"] == "7"
    assert cells.outputs("a/page", ["5 + 5"], tmp_path, run=False) is None


def test_links_lead_to_pages_of_the_site_and_a_dead_one_is_named() -> None:
    known = pages.sources()
    text = "[a](files.md) [b](../notebooks/00_start.ipynb#A-Budget?) [c](../tools/suites.py)\n```\n[d](gone.md)\n```\n"
    moved = pages.linked(text, "docs/teams.md", "teams.md", known)
    assert moved.startswith("[a](files.md) [b](lessons/00_start.ipynb#a-budget) ") and "[d](gone.md)" in moved
    with pytest.raises(pages.DeadLink, match=r"docs/teams\.md: gone\.md"):
        pages.linked("[d](gone.md)", "docs/teams.md", "teams.md", known)


def test_calls_in_a_sentence_lead_to_the_reference_and_those_in_code_do_not() -> None:
    text = pages.called("Take `dv.Dense(epsilon=1)` or `dv.nothing`.\n```\n`dv.Dense`\n```\n", "")
    assert "[`dv.Dense(epsilon=1)`](reference/Dense.rst)" in text
    assert "`dv.nothing`." in text and "```\n`dv.Dense`\n```" in text


def test_a_dead_link_a_missing_anchor_and_a_foreign_host_are_found(tmp_path: Path) -> None:
    (tmp_path / "there.html").write_text('<h1 id="top">x</h1><a href="index.html">x</a>')
    assert check.faults(tmp_path) == ["there.html: index.html is not there"]
    (tmp_path / "index.html").write_text(
        '<a href="there.html#top">x</a><a href="there.html#gone">x</a><a href="https://example.org">x</a>'
        '<script src="https://cdn.example.org/a.js"></script><img src="gone.png">'
    )
    assert check.faults(tmp_path) == [
        "index.html: fetches https://cdn.example.org/a.js",
        "index.html: there.html#gone has no such anchor",
        "index.html: gone.png is not there",
    ]


def test_the_site_is_built_by_a_suite_and_published_at_the_address_of_the_repository() -> None:
    assert SUITES["docs"] == [("python", "-m", "tools.site", "test-output/docs", "--quick")]
    assert address.site("https://github.com/somebody/dp-viz") == "https://somebody.github.io/dp-viz/"
    assert address.site("") == ""
    workflow = (ROOT / ".github/workflows/docs.yml").read_text()
    assert "make docs" in workflow and "build/docs/html" in workflow and "github.com" not in workflow
