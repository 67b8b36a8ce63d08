"""Every mechanism that takes sums answers in the unit of the question, wherever its answer is read.

A sum is drawn in whole steps, and read in the unit of its column. Each mechanism is asked for sums in steps of 1/100, 1
and 5 by a teaching session with a fixed seed, so the outcome is the same every time. Its noise is small beside the
truth, so that a value, an end or a half-width in the wrong unit is off by a factor of 5 at least and is found.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz import charts
from dpviz.charts.picture import picture
from dpviz.errors import DpvizError, ParameterError, ReleaseFormat
from dpviz.mechanisms import REGISTRY
from dpviz.model.answers import KeyBound
from dpviz.model.answers.sparse import in_units
from dpviz.model.between import between
from dpviz.model.question import Question
from dpviz.model.release import Release
from dpviz.widgets.reading import read_points
from tests.mechanisms.declared import STARTS
from tests.mechanisms.samples import current, declared

KEPT = Path(__file__).parents[1] / "kept"
STEPS = ["0.01", "1", "5"]
TRUTH = {"a": 400, "b": 900}
"""The total of each key, in the unit of the column: rows of 10 each."""

FRAME = pd.DataFrame({"k": [key for key, total in TRUTH.items() for _ in range(total // 10)], "pay": 10.0})
KEYS = dv.Domain.keys(column="k")
DECLARED = dv.Domain.categories(["a", "b", "c"], column="k")
NEAR = Fraction(1, 4)
"""Values and half-widths are within this share of the truth."""

_CASES: dict[str, list[tuple[Any, dv.Domain, int]]] = {
    "Threshold": [
        (dv.Threshold(40, delta="1e-6"), KEYS, 0),
        (dv.Threshold(40), DECLARED, 0),
        (dv.Threshold(40, delta="1e-6"), KEYS, -10),
    ],
    "ALP": [
        (dv.ALP(40, cap=1_000, keys=3), KEYS, 0),
        (dv.ALP(60, cap=1_000, keys=3, encoding="log"), KEYS, 0),
        (dv.ALP(40, cap=1_000, keys=3, encoding="signed"), DECLARED, -10),
    ],
    "ThresholdALP": [(dv.ThresholdALP(80, keys=3, delta="1e-6"), KEYS, 0)],
    "MaxProjection": [(dv.MaxProjection(40, cap=1_000, keys=3), KEYS, 0)],
    "ThresholdMaxProjection": [(dv.ThresholdMaxProjection(80, keys=3, delta="1e-6"), KEYS, 0)],
}
current(_CASES, "_CASES of tests/mechanisms/test_sums_in_units.py")
CASES = {**_CASES, **{name: samples.sums for name, samples in declared().items() if samples.sums}}
"""How each mechanism that takes sums is asked for one, and the lower limit of a row; the noise is small."""


def asked(step: str, by: dv.Domain, low: int = 0) -> Question:
    return Question.sum("pay", by=by, low=low, high=10, step=step)


def takes_sums(name: str) -> bool:
    """Whether a mechanism binds to a question for sums; a refusal for another reason than that is a fault here."""
    try:
        REGISTRY[name](**STARTS[name][0]).bind(asked("1", DECLARED), dv.Unit())
    except ParameterError as error:
        assert "cannot answer what is asked here" in str(error) or "draws records" in str(error), error
        return False
    except DpvizError as error:
        pytest.fail(f"{name}: {error}")
    return True


def test_every_mechanism_that_takes_sums_has_a_case() -> None:
    assert {name for name in REGISTRY if takes_sums(name)} == set(CASES)


def all_cases() -> Iterator[Any]:
    for name, cases in CASES.items():
        for place, (mechanism, by, low) in enumerate(cases):
            for step in STEPS:
                yield pytest.param(name, mechanism, asked(step, by, low), id=f"{name} {place} in steps of {step}")


def drawn(mechanism: Any, question: Question) -> Release:
    return dv.teaching(FRAME, 7).draw(question, mechanism)


def check_value(value: Any, truth: int, where: str) -> None:
    assert abs(Fraction(str(value)) - truth) <= NEAR * truth, f"{where}: {value} for {truth}"


def check_interval(low: Any, high: Any, truth: int, where: str) -> None:
    """It holds the truth and ends within three times of it; an open end, or one at 0, says less."""
    ends = [None if end in (None, "") or end != end else Fraction(str(end)) for end in (low, high)]
    assert ends[0] is None or truth <= 3 * ends[0] <= 3 * truth or ends[0] == 0, f"{where}: from {low}"
    assert ends[1] is None or truth <= ends[1] <= 3 * truth, f"{where}: to {high}"


@pytest.mark.parametrize(("name", "mechanism", "question"), [*all_cases()])
def test_a_sum_is_read_in_the_unit_of_its_column_wherever_it_is_read(
    name: str, mechanism: Any, question: Question
) -> None:
    release = drawn(mechanism, question)
    if isinstance(release.answer, KeyBound):  # a number of bins, whatever is summed up in these
        row = release.to_frame().iloc[0]
        assert 2 <= row["value"] <= 10 and row["low"] <= row["value"] <= row["high"] <= 20
        return
    for label, truth in TRUTH.items():
        check_value(release[label], truth, "release[label]")
        check_value(release.many([label])[0], truth, "release.many")
        [told] = read_points(release, [[label]], Fraction(1, 20))
        check_value(told["value"], truth, "a page's look-up")
        check_interval(told["low"], told["high"], truth, "a page's look-up")
    summed(release)
    if not release.answer.has_rows:
        return
    frame = release.to_frame().set_index("bin")
    content = [line for line in (release.to_csv() or "").splitlines() if not line.startswith("# ")]
    table = {row["bin"]: row for row in csv.DictReader(io.StringIO("\n".join(content)))}
    page = picture(release)
    paged = dict(zip(page["labels"], page["values"], strict=True))
    bar = Fraction(page["bars"]["0.05"]["one"]["value"])
    charted = points_of(release.chart().to_dict())
    html = charts.table_of_release(release)
    for label, truth in TRUTH.items():
        row: Any
        for where, row in (("frame", frame.loc[label]), ("csv", table[label])):
            check_value(row["value"], truth, where)
            check_interval(row["low"], row["high"], truth, where)
            if "low_all" in row:
                check_interval(row["low_all"], row["high_all"], truth, where)
        check_value(paged[label], truth, "page")
        assert bar <= NEAR * truth
        check_value(charted[label], truth, "chart")
        assert Fraction(paged[label]) == Fraction(str(table[label]["value"])) == release[label]
        cells = re.search(rf"<th scope='row'>{label}</th><td>([^<]*)</td><td>([^<]*) to ([^<]*)</td>", html)
        assert cells is not None
        value, low, high = (cell.replace(",", "") for cell in cells.groups())
        check_value(value, truth, "table")
        check_interval(low, high, truth, "table")
    largest = re.search(r"the largest value ([\d.,]+) at b", json.dumps(release.chart().to_dict()))
    assert largest is not None
    check_value(largest[1].replace(",", "").rstrip("."), TRUTH["b"], "the chart's sentence")


def summed(release: Release) -> None:
    """A sum of both, its interval and its sentence; a law that says nothing of sums refuses, and reads nothing."""
    both = sum(TRUTH.values())
    try:
        found: Any = release.sum(["a", "b"])
    except ReleaseFormat as error:
        assert "nothing is proved about sums" in str(error)
        return
    check_value(between(found.value).middle, both, "sum")
    check_interval(found.low, found.high, both, "sum")
    said = re.search(r": (?:about )?([\d,.]+) pay", found.sentence)
    assert said is not None, found.sentence
    check_value(said[1].replace(",", ""), both, "sentence")


def points_of(chart: Any) -> dict[str, Any]:
    """The values that a chart holds, by bin."""
    found: dict[str, Any] = {}
    for rows in chart["datasets"].values():
        found |= {row["bin"]: row["value"] for row in rows if "bin" in row and "value" in row}
    return found


@pytest.mark.parametrize("step", STEPS)
def test_sums_about_parts_are_read_in_the_unit_of_their_column(step: str) -> None:
    """Answers about parts are made of sparse tables, too."""
    frame = pd.concat([FRAME.assign(region="north"), FRAME.assign(region="south", pay=5.0)])
    by = dv.Partition(dv.Domain.categories(["north", "south"], column="region"))
    release = dv.teaching(frame, 7).draw(asked(step, KEYS), dv.Threshold(80, delta="1e-6"), by=by)
    scale = {"north": Fraction(1), "south": Fraction(1, 2)}
    for part, share in scale.items():
        for label, truth in TRUTH.items():
            check_value(release.groups[part][label], int(truth * share), f"groups {part}")
    table = release.to_frame()
    for _, row in table.iterrows():
        check_value(row["value"], int(TRUTH[row["bin"]] * scale[row["region"]]), "frame of parts")
    view = picture(release)
    cells = {row[0]: dict(zip(view["heads"], row, strict=True)) for row in view["rows"]}
    drawn_values = [Fraction(value) for value in view["values"]]
    assert sorted(drawn_values) == sorted(Fraction(str(value)) for value in table["value"])
    for part, share in scale.items():
        for label, truth in TRUTH.items():
            check_value(cells[part][label].replace(",", ""), int(truth * share), "table of parts")


def test_two_sums_are_combined_in_the_unit_of_their_column(tmp_path: Any) -> None:
    session = dv.Session(FRAME, dv.Unit(), dv.Budget(200, "1e-3"), tmp_path / "sums.ledger")
    question = asked("0.01", DECLARED)
    # noise of scale 1000/60 steps: off by more than 100 of 400 with chance e^-600
    first, second = (session.release(question, dv.Threshold(60, delta="1e-6"), key=key) for key in "ab")
    frame = dv.combine(first, second).to_frame().set_index("bin")
    for label, truth in TRUTH.items():
        check_value(frame.loc[label]["value"], truth, "combined")


@pytest.mark.parametrize("step", ["0.01", "5"])
def test_a_stored_sum_is_read_in_its_unit_whatever_version_stored_it(tmp_path: Any, step: str) -> None:
    """Steps are stored, as before: only reading turns them into the unit of the column."""
    release = drawn(CASES["Threshold"][0][0], asked(step, KEYS))
    stored = release.to_json()["answer"]["values"]
    assert [int(value) * Fraction(step) for value in stored] == [Fraction(value) for value in release.values]
    for name in ("sums.json", "sums.dpviz"):
        again = dv.load(release.save(tmp_path / name))
        assert again == release and again.values == release.values


@pytest.mark.parametrize("ending", ["json", "dpviz"])
def test_a_file_that_was_saved_before_sums_were_read_in_their_unit_is_read_rightly(tmp_path: Any, ending: str) -> None:
    """It was written when its values were read as 40,024 and 89,972, and is saved as the same bytes again."""
    path = KEPT / f"sums_in_steps.{ending}"
    release = dv.load(path)
    assert release.values == [Fraction(40_024, 100), Fraction(89_972, 100)]
    for label, truth in TRUTH.items():
        row = release.to_frame().set_index("bin").loc[label]
        check_value(row["value"], truth, "frame")
        check_interval(row["low"], row["high"], truth, "frame")
    assert release.save(tmp_path / path.name).read_bytes() == path.read_bytes()


def test_a_sum_of_large_steps_that_fits_no_word_is_read_as_it_is() -> None:
    steps = np.array([2**61, -(2**61), 0], dtype=np.int64)
    assert in_units(steps, Fraction(5)) == [5 * 2**61, -5 * 2**61, 0]
