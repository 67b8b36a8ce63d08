"""What `lesson.draw(times=)` counts is what somebody counts by hand, from the same seed and the public data."""

from __future__ import annotations

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DomainError, ParameterError, ReleaseFormat
from dpviz.session.teaching import Teaching

PERSON_YEAR = dv.Unit("row", noun="person-year")
BINS = dv.Domain.integers(0, 40, column="visits", overflow=True)
DENSE = dv.Dense(epsilon="1/2")
TIMES, WATCHED = 20, 3


@pytest.fixture(scope="module")
def visits() -> pd.DataFrame:
    return dv.datasets.doctor_visits()


def lesson(data: pd.DataFrame, seed: int = 7) -> Teaching:
    return dv.teaching(data, seed=seed, unit=PERSON_YEAR, dataset="doctor visits")


def by_hand(data: pd.DataFrame, beta: str, seed: int = 7) -> list[tuple[int, int, int, bool]]:
    """The misses of so many single draws: counted from their frames, beside the counts that pandas gives."""
    true = [int((data.visits == number).sum()) for number in range(41)] + [int((data.visits > 40).sum())]
    teacher, rows = lesson(data, seed), []
    for turn in range(1, TIMES + 1):
        frame = teacher.draw(BINS, DENSE).to_frame(beta=beta)
        one = [not row.low <= count <= row.high for row, count in zip(frame.itertuples(), true, strict=True)]
        every = [not row.low_all <= count <= row.high_all for row, count in zip(frame.itertuples(), true, strict=True)]
        rows.append((turn, sum(one), sum(every), one[WATCHED]))
    return rows


@pytest.mark.parametrize("beta", ["1/20", "1/2", "0.9"])
def test_misses_are_those_that_somebody_counts_by_hand(visits: pd.DataFrame, beta: str) -> None:
    misses = lesson(visits).draw(BINS, DENSE, times=TIMES).misses(beta, bin=WATCHED)
    assert list(misses) == ["draw", "bins", "missed", "missed_all", "picked"]
    assert (misses.bins == 42).all()
    found = list(misses[["draw", "missed", "missed_all", "picked"]].itertuples(index=False, name=None))
    assert found == by_hand(visits, beta)


def test_the_seed_decides_what_is_counted_and_there_is_something_to_count(visits: pd.DataFrame) -> None:
    counted = [by_hand(visits, "1/2", seed) for seed in (7, 8)]
    assert counted[0] != counted[1], "another seed, other misses"
    assert (
        sum(row[1] for row in counted[0]) > 100 and any(row[2] for row in counted[0]) and any(r[3] for r in counted[0])
    )


def test_many_draws_are_the_single_ones_in_a_row(visits: pd.DataFrame) -> None:
    single, many = lesson(visits), lesson(visits).draw(BINS, DENSE, times=3)
    assert list(many) == [single.draw(BINS, DENSE) for _ in range(3)] and len(many) == 3
    assert many[1] != many[0] and many[-1] == many[2]
    assert repr(many) == "<3 draws (not private · teaching, seed 7): visits, 42 bins>"


def test_ends_that_are_open_or_fractions_are_compared_as_they_are() -> None:
    data = pd.DataFrame({"x": [0] * 50 + [1] * 20})
    bins = dv.Domain.integers(0, 3, column="x")
    teacher, again = dv.teaching(data, seed=3), dv.teaching(data, seed=3)
    misses = teacher.draw(bins, dv.Tree("1/2", branching=2), times=4).misses("1/2")
    for row in misses.itertuples():
        frame = again.draw(bins, dv.Tree("1/2", branching=2)).to_frame("1/2")
        ends = zip(frame.low, frame.high, (50, 20, 0, 0), strict=True)
        assert row.missed == sum(not low <= count <= high for low, high, count in ends)
    assert misses.missed.sum() > 0


def test_answers_without_a_count_for_each_bin_have_draws_and_no_misses(visits: pd.DataFrame) -> None:
    drawn = lesson(visits).draw(BINS, dv.Sorted("1/2"), times=2)
    assert len(drawn) == 2 and drawn[0] != drawn[1]
    with pytest.raises(ReleaseFormat, match="one count for each declared bin, got ranks; draw with dv.Dense"):
        drawn.misses()


@pytest.mark.parametrize("times", [0, -1, "twenty", 1.5, True])
def test_a_number_of_draws_is_a_whole_one_and_nothing_is_drawn_for_another(visits: pd.DataFrame, times: int) -> None:
    teacher = lesson(visits)
    with pytest.raises(ParameterError, match="times must be"):
        teacher.draw(BINS, DENSE, times=times)
    assert teacher.draw(BINS, DENSE) == lesson(visits).draw(BINS, DENSE), "the refusal took no random bits"


def test_a_bin_that_is_not_there_cannot_be_watched(visits: pd.DataFrame) -> None:
    with pytest.raises(DomainError):
        lesson(visits).draw(BINS, DENSE, times=1).misses(bin=-1)


def test_a_key_is_refused_with_the_reason(visits: pd.DataFrame) -> None:
    teacher = lesson(visits)
    with pytest.raises(ParameterError, match="no key, for nothing is paid or stored: .* the same seed") as refused:
        teacher.draw(BINS, DENSE, key="a second look")  # type: ignore[call-overload]
    assert refused.value.value == "key=a second look" and refused.value.next_step.startswith("leave key out")
    assert teacher.draw(BINS, DENSE) == lesson(visits).draw(BINS, DENSE), "the refusal took no random bits"


def test_the_repr_of_a_seeded_draw_claims_no_guarantee(visits: pd.DataFrame) -> None:
    drawn = repr(lesson(visits).draw(BINS, DENSE))
    assert drawn == "<Draw (not private · teaching, seed 7): visits, 42 bins; noise of ε = 0.5, no guarantee>"
    assert "differential privacy" not in drawn
