"""The line of a quantile on a page: its stops are what Python says, its band holds for all quantiles at once."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.picture import is_lined, picture
from dpviz.errors import ReleaseFormat
from dpviz.model.cumulative import ShareBand
from dpviz.model.release import Release
from dpviz.session.session import Session
from dpviz.widgets import quantile_lines
from dpviz.widgets.quantile_lines import MOST_DRAWN, STOPS
from dpviz.widgets.session_model import SessionModel
from tests.reports import pages

VALUES = [0] * 60 + [1] * 300 + [2] * 24 + [3] * 36 + [9] * 30
BINS = dv.Domain.integers(0, 3, column="x", overflow=True)
FRAME = pd.DataFrame({"x": VALUES})


def drawn(mechanism: Any, domain: dv.Domain = BINS, **unit: Any) -> Release:
    release = dv.teaching(FRAME, 3, dv.Unit(**unit)).draw(domain, mechanism)
    assert isinstance(release, Release)
    return release


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(FRAME, dv.Unit("row", noun="visit"), dv.Budget(60, "1e-3"), tmp_path / "line.ledger")


def ask(session: Session, **args: str) -> dict[str, Any]:
    message = {"v": 1, "id": "1", "ask": "quantiles", "args": {"number": "1", "beta": "0.05"} | args}
    reply = SessionModel(session, [BINS]).answer(message)
    assert reply is not None
    return reply


# ---------------------------------------------------------------- what comes


@pytest.mark.parametrize("mechanism", [dv.Dense("1/2"), dv.Dense("1/4", clamp=False), dv.Tree(1)])
@pytest.mark.parametrize("beta", ["0.1", "0.05", "0.01"])
def test_each_stop_is_the_quantile_that_python_reads(session: Session, mechanism: Any, beta: str) -> None:
    release = session.release(BINS, mechanism)
    left = session.remaining.epsilon
    reply = ask(session, beta=beta)
    assert reply["ok"], reply
    labels = release.axis.labels
    for stop in reply["body"]["stops"]:
        found = release.quantile(stop["q"], beta=beta)
        assert labels[int(stop["at"])] == found.label
        assert (labels[int(stop["low"])], labels[int(stop["high"])]) == (found.low_label, found.high_label)
        assert int(stop["low_all"]) <= int(stop["low"]) and int(stop["high"]) <= int(stop["high_all"])
    assert [Fraction(stop["q"]) for stop in reply["body"]["stops"]] == list(STOPS)
    assert session.remaining.epsilon == left and len(session.releases) == 1, "looking is free"


def test_the_curve_is_that_of_python_rounded_outward() -> None:
    release = drawn(dv.Dense("1/2", clamp=False))
    curve = quantile_lines.answer(release, Fraction(1, 20))["curve"]
    shares = list(release.cumulative())
    assert [release.axis.labels[int(place)] for place in curve["places"]] == [
        share.what.removeprefix("x: up to ") for share in shares
    ]
    for low, high, share in zip(curve["low"], curve["high"], shares, strict=True):
        assert share.low is not None and share.high is not None
        assert low <= float(share.low) <= low + 2e-4 and high - 2e-4 <= float(share.high) <= high


def test_missing_values_are_in_no_quantile() -> None:
    domain = dv.Domain.integers(0, 3, column="x", underflow=True, overflow=True, missing=True)
    body = quantile_lines.answer(drawn(dv.Dense(4), domain), Fraction(1, 20))
    last = int(body["curve"]["places"][-1])
    assert drawn(dv.Dense(4), domain).axis.labels[last] == "over 3"
    assert all(int(stop["high_all"]) <= last for stop in body["stops"])


def test_a_long_curve_has_some_places() -> None:
    rows = pd.DataFrame({"x": np.random.default_rng(1).integers(0, 3000, 20_000)})
    release = dv.teaching(rows, 3).draw(dv.Domain.integers(0, 2999, column="x"), dv.Dense(1, clamp=False))
    assert isinstance(release, Release)
    body = quantile_lines.answer(release, Fraction(1, 20))
    places = [int(place) for place in body["curve"]["places"]]
    assert len(places) == MOST_DRAWN + 1 and places == sorted(set(places)) and places[-1] == 2999
    assert len(json.dumps(body)) < 40_000


# ---------------------------------------------------------------- all quantiles at once


def quantiles(counts: tuple[int, ...], q: Fraction) -> list[int]:
    """Each bin with at most the share q below it and at least q up to it, by the definition."""
    total = sum(counts)
    return [x for x in range(len(counts)) if sum(counts[:x]) <= q * total <= sum(counts[: x + 1])]


def test_every_quantile_lies_in_its_ends_wherever_the_shares_lie_in_the_band() -> None:
    """By enumeration: all counts of four bins, bands of several widths, all places or some, and ties."""
    near = 0
    for counts in product(range(4), repeat=4):
        total = sum(counts)
        if not total:
            continue
        truth = [Fraction(sum(counts[: x + 1]), total) for x in range(3)]
        for places in ([0, 1, 2], [1], [0, 2]):
            for slack in (Fraction(0), Fraction(1, 10), Fraction(1, 3)):
                low, high = ([min(max(truth[x] + by, 0), 1) for x in places] for by in (-slack, slack))
                band = ShareBand(places, [truth[x] for x in places], low, high, "")
                for q in (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)):
                    first, last = band.quantile_ends(q, 3)
                    found = quantiles(counts, q)
                    assert first <= min(found) and max(found) <= last
                    near += [first, last] == [min(found), max(found)]
    assert near > 1000, "ends that are met say that none could be closer"


def test_ends_without_ties_miss_quantiles() -> None:
    """A near-wrong twin: a place whose share is q itself may be one of two quantiles."""
    counts, half = (1, 1, 0, 2), Fraction(1, 2)
    assert quantiles(counts, half) == [1, 2, 3]
    shares = [Fraction(1, 4), half, half]
    first, last = ShareBand([0, 1, 2], shares, shares, shares, "").quantile_ends(half, 3)
    assert (first, last) == (1, 3)
    strict = next(place for place, share in enumerate(shares) if share >= half)
    assert strict < last, "the first place that reaches q is not the last quantile"


# ---------------------------------------------------------------- which answers have one


def test_only_counts_of_ordered_bins_that_no_limit_cuts_have_a_line() -> None:
    assert picture(drawn(dv.Dense(1)))["lined"] is True
    for release in (
        drawn(dv.Sorted(1)),
        drawn(dv.Stability(1, "1e-6")),
        drawn(dv.Compact(1, cap=500)),
        drawn(dv.Dense(1), dv.Domain.categories([0, 1], column="x")),
        drawn(dv.Dense(1), dv.Domain.integers(1, 1, column="x")),
    ):
        assert not is_lined(release) and "lined" not in picture(release)
        with pytest.raises(ReleaseFormat, match="2 to 20,000 bins in an order"):
            quantile_lines.answer(release, Fraction(1, 20))
    people = FRAME.assign(user=[f"u{place % 90}" for place in range(len(FRAME))])
    cut, whole = (
        dv.teaching(people, 3, dv.Unit("user", max_bins=most)).draw(BINS, dv.Dense(1)) for most in (2, BINS.size)
    )
    assert isinstance(cut, Release) and isinstance(whole, Release)
    assert not is_lined(cut) and is_lined(whole)


def test_a_page_is_refused_in_words(session: Session) -> None:
    session.release(dv.Domain.categories([0, 1, 2], column="x"), dv.Dense(1))
    for args in ({}, {"beta": "0.3"}, {"number": "7"}):
        reply = ask(session, **args)
        assert not reply["ok"] and reply["error"]["message"]
    assert ask(session, more="1")["error"]["kind"] == "Forbidden"


def test_a_report_carries_the_line_at_its_level(session: Session, tmp_path: Path) -> None:
    release = session.release(BINS, dv.Dense(1))
    dv.report([release], tmp_path / "visits.html")
    (result,) = pages.data(tmp_path / "visits.html")["releases"]
    assert result["quantiles"] == quantile_lines.answer(release, Fraction(1, 20))
    many = pd.DataFrame({"x": np.arange(2000) % 501})
    wide = Session(many, dv.Unit(), dv.Budget(3), tmp_path / "wide.ledger")
    dv.report([wide.release(dv.Domain.integers(0, 500, column="x"), dv.Dense(1))], tmp_path / "wide.html")
    (result,) = pages.data(tmp_path / "wide.html")["releases"]
    assert result["lined"] and "quantiles" not in result
