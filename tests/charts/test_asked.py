"""Counts that a profile closes, as a page gets them: ends of the frame at every level, and the profile that holds."""

from __future__ import annotations

import io
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.asked import MOST_CLOSED, asked, closed_picture, ends_of, first_profile
from dpviz.charts.picture import picture
from dpviz.exact import text
from dpviz.model.closing import no_lower
from dpviz.model.error import BETAS
from tests.reports.pages import data
from tests.statements import CUT, LIMIT, MONTHS, UNCUT, lesson

PROFILE = dv.Question.contribution_profile(MONTHS)


def drawn(unit: dv.Unit = CUT) -> tuple[Any, Any]:
    school = lesson(unit)
    return school.draw(MONTHS, dv.Dense(1)), school.draw(PROFILE, dv.Dense(1, clamp=False))


def test_at_every_level_the_ends_are_those_of_the_frame() -> None:
    counts, profile = drawn()
    closed = counts.closed_by(profile)
    found = closed_picture(counts, [profile])["asked"]["ends"]
    assert list(found) == [text(beta) for beta in BETAS]
    for beta in BETAS:
        frame = closed.to_frame(beta)
        for name, ending in (("one", ""), ("all", "_all")):
            ends = found[text(beta)][name]
            assert [Fraction(end) for end in ends["low"]] == list(frame[f"low{ending}"])
            assert [Fraction(end) for end in ends["high"]] == list(frame[f"high{ending}"])


def test_an_open_end_and_ends_that_are_not_known_are_left_out() -> None:
    frame = pd.DataFrame({"low": [1, 2], "high": pd.array([9, None], dtype="Int64")})
    assert ends_of(frame, "") == {"low": ["1", "2"], "high": ["9", None]}
    assert ends_of(frame, "_all") is None


def test_no_upper_end_is_below_that_for_what_was_counted() -> None:
    assert no_lower([9, 9, None, 9], [10, 4, 3, None]) == [10, 9, None, 9]


def test_the_table_of_a_page_and_of_python_are_one_with_closed_ends_and_the_words_beside_them(tmp_path: Any) -> None:
    rows = pd.DataFrame({"aircraft": ["a", "a", "a", "a", "b"] * 9, "month": [1, 2, 3, 4, 5] * 9})
    session = dv.Session(rows, CUT, dv.Budget(epsilon="9"), tmp_path / "a.ledger")
    counts = session.release(MONTHS, dv.Dense(1))
    profile = session.release(PROFILE, dv.Dense(2, clamp=False))
    table = counts.to_csv(profile=profile) or ""
    assert closed_picture(counts, [profile])["csv"] == table != picture(counts)["csv"]
    said = [line.removeprefix("# ") for line in table.splitlines() if line.startswith("#")]
    assert said == [counts.promise, *counts.closed_by(profile).beside, "intervals fail at most 0.05 of the time"]
    assert f"The profile is release 2: {profile.promise}." in said and "open" not in " ".join(said)
    read = pd.read_csv(io.StringIO(table), comment="#", dtype={"bin": str})
    assert read.astype(object).equals(counts.to_frame(profile=profile).astype(object))
    counts.to_csv(tmp_path / "months.csv", "0.1", profile=profile)
    assert (tmp_path / "months.csv").read_text() == counts.closed_by(profile).to_csv(beta="0.1")


def test_a_table_with_a_profile_of_other_bins_is_refused_and_nothing_is_written(tmp_path: Any) -> None:
    counts, _ = drawn()
    months = dv.Domain.integers(1, 11, column="month")
    other = lesson(CUT).draw(dv.Question.contribution_profile(months), dv.Dense(1, clamp=False))
    with pytest.raises(dv.errors.ParameterError, match="those of the counts"):
        counts.to_csv(tmp_path / "months.csv", profile=other)
    assert not (tmp_path / "months.csv").exists()


def test_the_sentences_say_the_limit_the_order_and_both_prices_and_no_end_is_called_open() -> None:
    counts, profile = drawn()
    body = closed_picture(counts, [profile])
    said = " ".join(body["asked"]["remarks"])
    assert LIMIT.search(said) and "one after the other" in said and "The profile: " in said
    assert "upper ends are open" in picture(counts)["guarantee"] and "open" not in body["guarantee"]
    assert body["limits"] == picture(counts)["limits"]


def test_counts_that_nothing_cuts_and_profiles_of_other_bins_stay_as_they_are() -> None:
    counts, profile = drawn()
    whole, _ = drawn(UNCUT)
    other = lesson(CUT).draw(
        dv.Question.contribution_profile(dv.Domain.integers(1, 11, column="month")), dv.Dense(1, clamp=False)
    )
    for release, others in ((counts, []), (counts, [other]), (whole, [profile]), (profile, [profile])):
        assert closed_picture(release, others) == picture(release)


def test_a_profile_that_closes_nothing_leaves_the_ends_open_though_a_later_one_would_close_them() -> None:
    """Taking the later one would be a choice after a look at the answers."""
    school = lesson(CUT)
    counts = school.draw(MONTHS, dv.Dense(1))
    over, fits = (
        school.draw(dv.Question.contribution_profile(MONTHS, over=limit), dv.Dense(1, clamp=False)) for limit in (5, 3)
    )
    assert closed_picture(counts, [over, fits]) == picture(counts)
    assert "asked" in closed_picture(counts, [fits, over])


def test_the_profile_that_was_bought_with_the_counts_comes_first(tmp_path: Any) -> None:
    rows = pd.DataFrame({"aircraft": ["a", "a", "a", "a", "b"] * 9, "month": [1, 2, 3, 4, 5] * 9})
    session = dv.Session(rows, CUT, dv.Budget(epsilon="9"), tmp_path / "a.ledger")
    alone = session.release(PROFILE, dv.Dense(1, clamp=False))
    both = session.release(MONTHS, dv.Dense(1), over=dv.Dense(1, clamp=False))
    later = session.release(MONTHS, dv.Dense(2))
    assert first_profile(both, [alone]) == both.profile
    assert first_profile(later, [both.profile, alone]) == alone
    assert closed_picture(both)["asked"]["python"] == "session.releases[2].closed_by()"
    assert closed_picture(later, [alone])["asked"]["python"] == "session.releases[3].closed_by(session.releases[1])"
    of_another = closed_picture(later, [both.profile])["asked"]
    assert of_another["python"] == "session.releases[3].closed_by(session.releases[2].profile)"
    assert any(said.startswith("The profile is that of release 2: ") for said in of_another["remarks"])


def test_a_report_takes_the_first_profile_of_the_ledger_or_none_whichever_it_is_given(tmp_path: Any) -> None:
    """Leaving the first out of a report would choose among profiles after a look at all of them."""
    rows = pd.DataFrame({"aircraft": ["a", "a", "a", "a", "b"] * 9, "month": [1, 2, 3, 4, 5] * 9})
    session = dv.Session(rows, CUT, dv.Budget(epsilon="9"), tmp_path / "a.ledger")
    counts = session.release(MONTHS, dv.Dense(1))
    first, later = (session.release(PROFILE, dv.Dense(price, clamp=False)) for price in (1, 2))

    def asked_of(*items: Any, **more: Any) -> Any:
        return data(dv.report(list(items), tmp_path / "it.html", **more))["releases"][0].get("asked")

    want = closed_picture(counts, [first])["asked"]
    assert asked_of(counts, later, first) == asked_of(counts, first, ledger=session) == want
    assert asked_of(counts, later) is asked_of(counts, later, ledger=session) is None
    alone = dv.load(counts.save(tmp_path / "counts.json")), dv.load(first.save(tmp_path / "first.json"))
    assert asked_of(*alone) is None, "without a ledger nobody knows which was the first"
    assert asked_of(*alone, ledger=session)["python"] == want["python"]


@pytest.mark.parametrize(("bins", "closes"), [(MOST_CLOSED, True), (MOST_CLOSED + 1, False)])
def test_a_page_has_both_bars_up_to_some_number_of_bins(bins: int, closes: bool) -> None:
    domain = dv.Domain.integers(1, bins, column="month")
    rows = pd.DataFrame({"aircraft": ["a", "a", "b"], "month": [1, 2, 3]})
    school = dv.teaching(rows, 1, dv.Unit("aircraft", max_bins=1))
    profile = school.draw(dv.Question.contribution_profile(domain, over=1), dv.Dense(1, clamp=False))
    counts = school.draw(domain, dv.Dense(1))
    assert ("asked" in closed_picture(counts, [profile])) == closes
    assert len(asked(counts.closed_by(profile))["ends"]["0.05"]["one"]["low"]) == bins
