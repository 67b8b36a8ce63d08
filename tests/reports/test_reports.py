"""Reports as files: what goes in, what is said, what is refused. What a browser makes of them is in tests/browser."""

from __future__ import annotations

import copy
import gc
import os
import re
import stat
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from benchmarks.page import LARGEST
from dpviz import reports
from dpviz.charts.picture import picture
from dpviz.errors import DpvizError, Forbidden, LedgerCorrupt, LedgerError, ParameterError, UnitError
from dpviz.model.public import PublicTable
from dpviz.model.release import Release
from dpviz.noise.bits import TeachingBits
from dpviz.session import runner
from tests.charts.made import HOSTILE, PERSON_YEAR
from tests.ledger.tools import respelled
from tests.reports import pages

VISITS = dv.Domain.integers(0, 3, column="visits")
HEALTH = dv.Domain.categories(["good", HOSTILE, "\u2028\u2029", "$a$"], column="health")
COUNT = 7919


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dv.Session:
    """A session whose noise a test can repeat."""
    monkeypatch.setattr(runner, "SystemBits", lambda: TeachingBits(11))
    data = pd.DataFrame({"visits": [1] * COUNT + [2] * 81, "health": ["good"] * 6000 + ["canary-7f3a"] * 2000})
    budget = dv.Budget(epsilon="2", delta="1e-6")
    return dv.Session(data, PERSON_YEAR, budget, tmp_path / "visits.ledger", dataset="visits")


@pytest.fixture
def releases(session: dv.Session) -> list[Release]:
    return [session.release(VISITS, dv.Dense("1/10")), session.release(HEALTH, dv.Dense("1/2"))]


class Page(HTMLParser):
    """The scripts of a page by id, its tags, and what it says without JavaScript."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.scripts: dict[str, str] = {}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.plain = ""
        self._in: list[str] = []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.append((tag, named))
        if tag == "script":
            self._in.append(named.get("id") or "loader")
        elif tag == "noscript":
            self._in.append("plain")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "noscript"):
            self._in.pop()

    def handle_data(self, data: str) -> None:
        if self._in and self._in[-1] == "plain":
            self.plain += data + "\n"
        elif self._in:
            self.scripts[self._in[-1]] = self.scripts.get(self._in[-1], "") + data

    @property
    def data(self) -> dict[str, Any]:
        return pages.data(self.text)


def written(tmp_path: Path, *items: Any, **options: Any) -> Page:
    path = dv.report(list(items), tmp_path / "report.html", **options)
    assert path == tmp_path / "report.html"
    return Page(path)


# ---------------------------------------------------------------- what goes in


def test_a_release_goes_in_as_its_picture_with_its_plan_sheet(releases: list[Release], tmp_path: Path) -> None:
    data = written(tmp_path, *releases).data
    lines = [item.pop("quantiles", None) for item in data["releases"]]
    assert (
        [line is not None for line in lines] == [picture(one).get("lined", False) for one in releases] == [True, False]
    )
    assert [{**item, "script": ""} for item in data["releases"]] == [picture(one) | {"script": ""} for one in releases]
    assert [sheet["question"]["id"] for sheet in data["sheets"]] == [release.question.id for release in releases]
    assert [sheet["now"]["epsilon"] for sheet in data["sheets"]] == ["0.1", "0.5"]
    assert all(len(sheet["fans"]["epsilon"]) > 20 for sheet in data["sheets"])


def test_a_plan_given_takes_the_place_of_the_releases_own_sheet(
    session: dv.Session, releases: list[Release], tmp_path: Path
) -> None:
    plan = session.plan(VISITS, dv.Dense("1/4"))
    for given in (plan, plan.sheet):
        sheets = written(tmp_path, *releases, given).data["sheets"]
        assert [sheet["now"]["epsilon"] for sheet in sheets] == ["0.25", "0.5"]


def test_all_of_a_session_can_be_given_at_once(session: dv.Session, releases: list[Release], tmp_path: Path) -> None:
    expected = written(tmp_path, *releases).data
    for items in (session.releases, {1: releases[0], 2: releases[1]}, tuple(releases)):
        assert Page(dv.report(items, tmp_path / "again.html")).data == expected
    assert Page(dv.report(releases[0], tmp_path / "one.html")).data["totals"]["epsilon"] == "0.1"  # type: ignore[arg-type]


def test_a_release_given_twice_is_shown_and_counted_once(releases: list[Release], tmp_path: Path) -> None:
    data = written(tmp_path, releases[0], releases[0]).data
    assert len(data["releases"]) == 1
    assert data["totals"]["epsilon"] == "0.1"


def test_the_head_adds_up_what_one_unit_pays(releases: list[Release], tmp_path: Path) -> None:
    data = written(tmp_path, *releases, title="Visits", lead="A real survey.").data
    assert data["totals"] == {
        "epsilon": "0.6",
        "delta": "0",
        "unit": "one person-year, add or remove",
        "randomness": "teaching, seed 11",
        "chain": "verified to entry 2",
    }
    assert data["title"] == "Visits"
    assert data["lead"] == (
        "A real survey. Everything released below protects one person-year: adding or removing any single one changes "
        "the odds of this whole report by at most ×1.83. "
        "Origin checked: ledger visits.ledger holds every release of this report, as shown."
    )


def test_neither_a_true_count_nor_a_label_of_the_data_goes_in(
    session: dv.Session, releases: list[Release], tmp_path: Path
) -> None:
    assert COUNT not in releases[0].values
    path = dv.report([*releases, session.plan(VISITS, dv.Dense("1"))], tmp_path / "report.html", ledger=session)
    content = pages.unpacked(path)
    assert content.count(str(releases[0].values[1])) > 2
    for canary in (str(COUNT), f"{COUNT:,}", "canary-7f3a"):
        assert canary not in content


# ---------------------------------------------------------------- the file


def test_the_page_may_load_nothing(releases: list[Release], tmp_path: Path) -> None:
    page = written(tmp_path, *releases)
    policies = [attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policies == [
        "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data:"
    ]
    assert not [attrs for _, attrs in page.tags if "src" in attrs or "href" in attrs]


def test_hostile_text_ends_no_element(releases: list[Release], tmp_path: Path) -> None:
    page = written(tmp_path, *releases, title=HOSTILE, lead=HOSTILE + "\u2028")
    assert [tag for tag, _ in page.tags].count("script") == 4
    assert "img" not in {tag for tag, _ in page.tags}
    assert page.data["title"] == HOSTILE
    assert page.data["releases"][1]["labels"] == ["good", HOSTILE, "\u2028\u2029", "$a$"]
    packed = [page.scripts[part] for part in ("dpviz-style", "dpviz-data", "dpviz-program")]
    assert all(re.fullmatch(r"[A-Za-z0-9+/]+=*", part) for part in packed)
    assert HOSTILE in page.plain


def test_program_and_style_are_the_built_ones(releases: list[Release], tmp_path: Path) -> None:
    parts = pages.parts(written(tmp_path, *releases).text)
    assert parts["dpviz-program"] == (reports.STATIC / "report.js").read_text(encoding="utf-8")
    assert parts["dpviz-style"] == (reports.STATIC / "report.css").read_text(encoding="utf-8")


def test_a_report_is_short_enough_to_be_mailed(tmp_path: Path) -> None:
    """The doctor visits as the README releases them: one release, and three of three kinds."""
    visits = dv.datasets.doctor_visits()
    session = dv.Session(visits, PERSON_YEAR, dv.Budget("3", "1e-5"), tmp_path / "visits.ledger")
    bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
    ranked = dv.TopKLaplace(k=3, epsilon="1/2")
    asked = [(bins, dv.Dense("1/10")), (bins, dv.Sorted("1/2")), ("self_rated_health", ranked)]
    releases = [session.release(question, mechanism) for question, mechanism in asked]
    assert len({release.answer.kind for release in releases}) == 3
    assert dv.report(releases[:1], tmp_path / "one.html", ledger=session).stat().st_size < LARGEST[0][0]
    assert dv.report(releases, tmp_path / "three.html", ledger=session).stat().st_size < LARGEST[1][0]


def test_without_javascript_the_tables_are_there(releases: list[Release], session: dv.Session, tmp_path: Path) -> None:
    page = written(tmp_path, *releases, title="Visits")
    assert "Visits per person-year, released with ε = 0.1" in page.plain
    assert "0.1-differential privacy for adding or removing one person-year." in page.plain
    for row in releases[0].to_frame().itertuples():
        assert f"{row.value:,}" in page.plain
        assert f"{row.low_all:,} to {row.high_all:,}" in page.plain
    assert "What this does not protect" in page.plain
    assert "Total paid: ε 0.6" in page.plain


def test_a_title_that_utf8_cannot_write_is_written_all_the_same(releases: list[Release], tmp_path: Path) -> None:
    assert written(tmp_path, *releases, title="\ud800 visits").data["title"] == "\ud800 visits"


# ---------------------------------------------------------------- the head, and Python


def test_the_head_says_what_a_reader_asks_of_a_document(
    session: dv.Session, releases: list[Release], tmp_path: Path
) -> None:
    page = written(tmp_path, *releases)
    days = {session.ledger.entry(number).opened[:10] for number in (1, 2)}
    facts = {fact["name"]: fact["value"] for fact in page.data["facts"]}
    assert facts == {
        "guarantee": "0.6-differential privacy for adding or removing one person-year",
        "proof": "; ".join(dict.fromkeys(one.guarantee.rule for one in releases)),
        "data": "visits",
        "released": f"{' to '.join(sorted(days))} (UTC)",
        "written by": f"dpviz {dv.__version__}",
    }
    assert f"Data: visits. Released: {facts['released']}. Written by: dpviz" in page.plain
    loaded = dv.load(releases[0].save(tmp_path / "a.json"))
    of_file = {fact["name"] for fact in written(tmp_path, loaded).data["facts"]}
    assert of_file == {"guarantee", "proof", "data", "written by"}


def test_the_head_names_each_proof_once_and_counts_those_beyond_three(tmp_path: Path) -> None:
    session = dv.Session(dv.datasets.doctor_visits(), dv.Unit(noun="person-year"), dv.Budget(9, "1e-3"), tmp_path / "l")
    bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
    made = [
        *(dv.Dense("1/10"), dv.Dense("1/5"), dv.Dense(1, base="gaussian", delta="1e-6"), dv.Tree("1/10")),
        *(dv.Sorted("1/10"), dv.Stability("1/2", "1e-6")),
    ]
    page = written(tmp_path, *(session.release(bins, one) for one in made))
    (proof,) = [fact["value"] for fact in page.data["facts"] if fact["name"] == "proof"]
    rules = list(dict.fromkeys(session.plan(bins, one).price.rule for one in made))
    assert len(rules) > 3 and proof == "; ".join([*rules[:3], f"{len(rules) - 3} rules more"])


def test_a_guarantee_with_a_delta_is_said_in_words_and_rounded_up(session: dv.Session, tmp_path: Path) -> None:
    data = written(tmp_path, session.release("health", dv.TopK(k=1, kbar=2, epsilon="1", delta="1e-6"))).data
    assert data["lead"].startswith(
        "Everything released below protects one person-year: adding or removing any single one multiplies the chance "
        "of anything that this whole report may say by at most 2.72, and adds at most 0.000001 to it."
    )


def test_the_python_of_a_release_reads_it_again_for_nothing(
    session: dv.Session, releases: list[Release], tmp_path: Path
) -> None:
    few = session.release(VISITS, dv.Dense("1/4"), where={"health": ["good"]}, key="the analyst's own")
    sub = session.open(dv.PayWhatYouGet(symbols=9, questions=2, epsilon="1/2", delta="1e-6"))
    shown, spent = [*releases, few, sub.ask("health", k=1, kbar=5)], session.remaining
    for release, item in zip(shown, written(tmp_path, *shown).data["releases"], strict=True):
        told: dict[str, Any] = {"session": session, "sub": sub}
        exec(item["script"], told)
        assert told["release"] == release
        if release.use is None:
            assert told["plan"].price == release.guarantee and told["plan"].sheet.question == release.question
    assert session.remaining == spent


def test_the_python_of_a_teaching_draw_draws_it_again(tmp_path: Path) -> None:
    frame = pd.DataFrame({"visits": [1, 2]})
    drawn = dv.teaching(frame, 7, PERSON_YEAR).draw(VISITS, dv.Dense("1/2"))
    script = written(tmp_path, drawn).data["releases"][0]["script"]
    told: dict[str, Any] = {"lesson": dv.teaching(frame, 7, PERSON_YEAR)}
    exec(script, told)
    assert told["drawn"] == drawn and "not private" in script and "session" not in script


def test_a_question_that_is_long_to_write_is_read_from_its_release(session: dv.Session, tmp_path: Path) -> None:
    many = dv.Domain.categories([f"label {i}" for i in range(2_000)], column="health")
    script = written(tmp_path, session.release(many, dv.Dense("1"))).data["releases"][0]["script"]
    assert "release = session.releases[1]" in script and "question" not in script and len(script) < 200


# ---------------------------------------------------------------- the ledger


def test_the_releases_of_a_session_are_checked_against_its_ledger_by_themselves(
    session: dv.Session, releases: list[Release], tmp_path: Path
) -> None:
    given = written(tmp_path, *releases, ledger=session).data
    for items in (releases, list(session.releases.values()), [session.release(VISITS, dv.Dense("1/10")), releases[1]]):
        assert written(tmp_path, *items).data == given
    loaded = dv.load(releases[0].save(tmp_path / "a.json"))
    for items in ([loaded], [loaded, releases[1]]):  # of a file nobody knows where it comes from
        assert written(tmp_path, *items).data["totals"]["chain"] == "not checked"
    copied = copy.copy(releases[0])
    assert copied == releases[0] and copied.kept_in is None


def test_releases_of_two_ledgers_are_checked_against_neither(
    session: dv.Session, releases: list[Release], tmp_path: Path
) -> None:
    data = pd.DataFrame({"visits": [1], "health": ["good"]})
    other = dv.Session(data, PERSON_YEAR, dv.Budget(2), tmp_path / "other.ledger", dataset="others")
    both = written(tmp_path, releases[0], other.release(VISITS, dv.Dense("1/10"), key="another")).data
    assert both["totals"]["chain"] == "not checked"


def test_a_session_that_is_gone_leaves_its_releases_readable_and_unchecked(tmp_path: Path) -> None:
    session = dv.Session(pd.DataFrame({"visits": [1]}), PERSON_YEAR, dv.Budget(2), tmp_path / "gone.ledger")
    release = session.release(VISITS, dv.Dense("1"))
    assert release.kept_in is session.ledger
    del session
    gc.collect()
    assert release.kept_in is None
    assert written(tmp_path, release).data["totals"]["chain"] == "not checked"


def test_a_damaged_ledger_of_the_session_is_refused_though_nobody_gave_it(
    session: dv.Session, releases: list[Release], tmp_path: Path
) -> None:
    session.ledger.detach()
    respelled(tmp_path / "visits.ledger", 2, "Dense", "Tense")
    with pytest.raises(LedgerCorrupt):
        dv.report(releases, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_with_a_ledger_the_chain_is_verified(session: dv.Session, releases: list[Release], tmp_path: Path) -> None:
    for ledger in (session, session.ledger, tmp_path / "visits.ledger", str(tmp_path / "visits.ledger")):
        data = written(tmp_path, releases[0], ledger=ledger).data
        assert data["totals"]["chain"] == "verified to entry 2"
        assert "The ledger has charged ε 0.6 for 2 entries; this report shows 1 of them." in data["caveats"]


def test_a_release_that_is_not_in_the_ledger_is_refused(releases: list[Release], tmp_path: Path) -> None:
    other = dv.Session(
        pd.DataFrame({"visits": [1]}), PERSON_YEAR, dv.Budget(2), tmp_path / "other.ledger", dataset="others"
    )
    other.release(VISITS, dv.Dense("1/10"))
    with pytest.raises(ParameterError, match="release 1"):
        dv.report([releases[0]], tmp_path / "report.html", ledger=other)
    assert not (tmp_path / "report.html").exists()


def test_a_ledger_that_was_tampered_with_is_refused(releases: list[Release], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.ledger"
    damaged.write_bytes(b"SQLite format 3\x00" + b"?" * 5000)
    for wrong in (damaged, tmp_path / "nowhere.ledger"):
        with pytest.raises(LedgerError):
            dv.report(releases, tmp_path / "report.html", ledger=wrong)
    with pytest.raises(ParameterError):
        dv.report(releases, tmp_path / "report.html", ledger=7)  # type: ignore[arg-type]
    assert not (tmp_path / "report.html").exists()


# ---------------------------------------------------------------- teaching, plans alone


def test_a_teaching_draw_is_marked_and_adds_nothing_to_the_total(releases: list[Release], tmp_path: Path) -> None:
    drawn = dv.teaching(pd.DataFrame({"visits": [1, 2]}), 7, PERSON_YEAR).draw(VISITS, dv.Dense("1/2"))
    data = written(tmp_path, releases[0], drawn).data
    assert data["totals"]["epsilon"] == "0.1"
    assert data["releases"][1]["title"].startswith("Not private · teaching, seed 7: ")
    assert data["releases"][1]["teaching"] == {"seed": "7"}
    assert any("protects nobody" in caveat for caveat in data["caveats"])
    alone = written(tmp_path, drawn).data
    assert alone["totals"]["epsilon"] == "0"
    assert alone["lead"] == ""


def test_plans_alone_make_a_report_that_pays_nothing(session: dv.Session, tmp_path: Path) -> None:
    page = written(tmp_path, session.plan(VISITS, dv.Dense("1/10")), session.plan(HEALTH, dv.Dense("1/10")))
    assert page.data["releases"] == []
    assert page.data["totals"]["epsilon"] == "0"
    assert page.data["totals"]["randomness"] == "none drawn"
    assert "Plan, free: Visits" in page.plain


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "items",
    [
        pd.DataFrame({"visits": [7777777]}),
        [pd.DataFrame({"visits": [7777777]})],
        [PublicTable(VISITS, np.array([1, 2, 3, 7777777]))],
        [7777777],
        "7777777",
        {"7777777": 1},
        None,
    ],
)
def test_a_report_takes_releases_and_plans_only(items: Any, tmp_path: Path) -> None:
    with pytest.raises(Forbidden) as refusal:
        dv.report(items, tmp_path / "report.html")
    assert "7777777" not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="at least one"):
        dv.report([], tmp_path / "report.html")


def test_units_are_not_mixed(releases: list[Release], tmp_path: Path) -> None:
    replaced = dv.teaching(
        pd.DataFrame({"visits": [1]}), 7, dv.Unit("row", relation="replace-one", noun="person-year", n=1)
    ).plan(VISITS, dv.Dense("1/2"))
    with pytest.raises(UnitError) as refusal:
        dv.report([releases[0], replaced], tmp_path / "report.html")
    assert "one person-year, replace" in str(refusal.value)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("options", [{"title": 7}, {"lead": b"bytes"}, {"title": None}])
def test_title_and_lead_are_text(options: Any, releases: list[Release], tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        dv.report(releases, tmp_path / "report.html", **options)


@pytest.mark.parametrize("place", ["nowhere/report.html", ".", "", "a\x00b.html", "x" * 300 + ".html"])
def test_a_place_that_cannot_be_written_is_refused(place: str, releases: list[Release], tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ParameterError) as refusal:
        dv.report(releases, f"{tmp_path}/{place}" if place else "")
    assert refusal.value.rule
    assert sorted(tmp_path.iterdir()) == before


def test_a_report_that_fails_leaves_the_one_before(
    releases: list[Release], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = dv.report(releases[:1], tmp_path / "report.html")
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ParameterError, match="No space left"):
        dv.report(releases, path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_report_can_be_read_by_who_may_read_its_folder(releases: list[Release], tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    path = dv.report(releases, tmp_path / "report.html")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_missing_program_is_named(releases: list[Release], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "STATIC", tmp_path / "static")
    with pytest.raises(DpvizError, match="make front"):
        dv.report(releases, tmp_path / "report.html")


def test_no_time_and_no_machine_is_written(releases: list[Release], tmp_path: Path) -> None:
    first = dv.report(releases, tmp_path / "a.html").read_bytes()
    assert dv.report(releases, tmp_path / "b.html").read_bytes() == first
    assert not re.search(rb"/tmp/|/home/", first)


@pytest.fixture
def lists(tmp_path: Path) -> tuple[dv.Session, list[Release]]:
    """Two answers of one sub-session, and a list that was released by itself."""
    data = pd.DataFrame({"word": ["often"] * COUNT + ["seldom"] * 6841})
    session = dv.Session(data, PERSON_YEAR, dv.Budget("4", "1e-5"), tmp_path / "words.ledger", dataset="words")
    sub = session.open(dv.PayWhatYouGet(symbols=20, questions=5, epsilon="1", delta="1e-6"))
    answers = [sub.ask("word", k=2, kbar=5), sub.ask("word", k=9, kbar=20)]
    return session, [*answers, session.release("word", dv.TopK(k=9, kbar=20, epsilon="1/2", delta="1e-6"))]


def test_the_answers_of_a_sub_session_were_paid_once(lists: tuple[dv.Session, list[Release]], tmp_path: Path) -> None:
    session, releases = lists
    whole = written(tmp_path, *releases, ledger=session)
    assert (whole.data["totals"]["epsilon"], whole.data["totals"]["delta"]) == ("1.5", "0.000002")
    assert whole.data["totals"]["chain"] == "verified to entry 2"
    assert whole.data["caveats"][-1] == (
        "The ledger has charged ε 1.5 and δ 0.000002 for 2 entries; this report shows 2 of them."
    )
    assert written(tmp_path, *releases[:2]).data["totals"]["epsilon"] == "1"
    assert written(tmp_path, releases[1]).data["totals"]["epsilon"] == "1"


def test_lists_stand_in_a_report_with_their_end_and_without_a_count(
    lists: tuple[dv.Session, list[Release]], tmp_path: Path
) -> None:
    session, releases = lists
    page = written(tmp_path, *releases, session.plan("word", dv.TopKSet(k=3, epsilon=1)), ledger=session)
    assert [item["kind"] for item in page.data["releases"]] == ["ranked"] * 3
    assert [item["labels"] for item in page.data["releases"]] == [["often", "seldom"]] * 3
    assert page.data["releases"][1]["used"] == "3 of 20 symbols and 1 of 5 questions of entry 1"
    assert "⊥ (no more)" in page.plain
    assert "The list ended after 2 of 9, because no further item stood out enough." in page.plain
    assert "for all answers of entry 1 together" in page.plain
    assert "an item 51 above the 4th count is listed" in page.plain
    content = pages.unpacked(page.text)
    for count in (COUNT, 6841):
        assert str(count) not in content and f"{count:,}" not in content


def test_an_answer_that_another_sub_session_gave_is_refused(
    lists: tuple[dv.Session, list[Release]], tmp_path: Path
) -> None:
    _, releases = lists
    data = pd.DataFrame({"word": ["often"] * COUNT})
    other = dv.Session(data, PERSON_YEAR, dv.Budget("4", "1e-5"), tmp_path / "other.ledger", dataset="words")
    other.open(dv.PayWhatYouGet(symbols=20, questions=5, epsilon="1", delta="1e-6")).ask("word", k=2, kbar=5)
    with pytest.raises(ParameterError, match="every release of a report must be in the ledger that is given"):
        dv.report(releases[:1], tmp_path / "no.html", ledger=other)
