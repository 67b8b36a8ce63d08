"""Every fan that a slider can rest on is built in bounded work, whatever budget somebody grants and types.

Work is counted in steps (`work.py`), never in seconds. A budget may be anything from 1e-9 to 1000; the parameters below
are where plans took minutes, or for ever. `tests/soak/test_every_fan.py` plans them under budgets in between, and draws
further ones at random.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import count

import pytest

import dpviz as dv
from dpviz.errors import DpvizError
from dpviz.exact import exp_bounds
from dpviz.laws.finite import FastSampleLaw
from dpviz.laws.search import least
from dpviz.mechanisms import REGISTRY, Compact
from dpviz.model.mechanism import Mechanism
from dpviz.planning.comparison_sheet import ComparisonSheet
from dpviz.planning.composition_sheet import CompositionSheet
from dpviz.planning.sampler_sheet import SamplerSheet
from dpviz.planning.sheet import PlanSheet
from dpviz.planning.top_k_sheet import LIMITS, TopKSheet, made_up
from dpviz.privacy import Unit
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.loss import ApproxDP
from tests.mechanisms.samples import declared, lacking
from tests.planning.work import TooMuchWork, at_most

MOST = 8_000_000
"""Steps of one sheet, of which a step is some 0.3 microseconds. The most that was seen is 6.1 million, where a
sheet is the first one about a table of buckets: how often two keys share one is found once."""

BUDGETS = (Fraction(1, 10**9), Fraction(1, 1000), Fraction(1), Fraction(1000))
ROW, USER = Unit("row"), Unit("u", max_bins=10**6, max_per_bin=10**3)
SWAP = Unit("row", relation="replace-one", n=10**6)
FEW = dv.Question.of(dv.Domain.integers(0, 40, column="a", overflow=True))
ONE = dv.Question.of(dv.Domain.integers(0, 0, column="a"))
HUGE = dv.Question.of(dv.Domain.integers(0, 2**64 - 1, column="a"))
MILLION = dv.Question.of(dv.Domain.integers(1, 10**6, column="a"))
KEYS = dv.Question.of(dv.Domain.keys(column="a"))
BITS = dv.Question.records([dv.Domain.integers(0, 1, column=f"b{at}") for at in range(1000)])
TABLES = dv.Question.of(dv.Domain.product(*[dv.Domain.integers(1, 200, column=f"c{at}") for at in range(4)]))
SOME_BITS = dv.Question.records([dv.Domain.integers(0, 1, column=f"b{at}") for at in range(64)])
HALF = Fraction(1, 2)


def records(labels: int) -> dv.Question:
    return dv.Question.records([dv.Domain.integers(0, labels - 1, column="a")])


def test_work_is_counted_and_stopped() -> None:
    with pytest.raises(TooMuchWork), at_most(10_000):
        for number in count(1):
            abs(number)
    with pytest.raises(TooMuchWork), at_most(1000):
        Fraction(3, 2) ** 10**6
    with at_most(10_000) as work:
        assert [abs(number) for number in range(-3, 3)] == [3, 2, 1, 0, 1, 2]
    assert 6 <= work.steps < 100


def plan(mechanism: Mechanism, question: dv.Question, unit: Unit, top: Fraction) -> list[str]:
    """The epsilons of the slider, each with a price that it pays for."""
    with at_most(MOST):
        sheet = PlanSheet(question, unit, mechanism.with_epsilon(min(top, Fraction(1))), top).to_json()
    for point in sheet["fans"]["epsilon"]:
        assert 0 < Fraction(point["price"]["epsilon"]) <= Fraction(point["price"]["asked"])
    return [point["epsilon"] for point in sheet["fans"]["epsilon"]]


# ---------------------------------------------------------------- Compact, for any epsilon


@pytest.mark.parametrize("epsilon", ["1e-9", "5", "33", "100", "1000"])
@pytest.mark.parametrize("cap", [1, 3, 1000, 10**6])
def test_compact_is_bound_or_refused_for_any_epsilon(epsilon: str, cap: int) -> None:
    with at_most(MOST):
        try:
            bound = Compact(epsilon, cap=cap).bind(HUGE, ROW)
        except DpvizError as refused:
            assert "epsilon" in str(refused) and (cap >= 1000 or epsilon == "1e-9")
            return
        asked, paid = Fraction(epsilon), to_approx(bound.price.loss).epsilon
        assert asked * Fraction(99, 100) - Fraction(1, 10) < paid <= asked


def test_a_refusal_of_compact_points_the_way_that_helps() -> None:
    with pytest.raises(DpvizError, match="use a smaller epsilon"):
        Compact(1000, cap=1000, sampler="geosample").bind(HUGE, ROW)
    with pytest.raises(DpvizError, match="use a larger epsilon"):
        Compact("1e-6", cap=10_000, sampler="geosample").bind(HUGE, ROW)


@pytest.mark.parametrize("cap", [1, 3, 10**6])
@pytest.mark.parametrize("top", ["1", "5", "100", "1000"])
def test_compacts_slider_is_planned_under_any_budget(cap: int, top: str) -> None:
    assert len(plan(Compact(1, cap=cap), FEW, ROW, Fraction(top))) >= 1


# ---------------------------------------------------------------- the others

HARD: dict[str, tuple[Mechanism, dv.Question, Unit]] = {
    "the threshold of wide rational noise": (dv.Stability(1, "1e-6", base="tight", cap=2**60), KEYS, ROW),
    "the printed threshold": (dv.Stability(1, "1e-6", base="paper", variant="paper", cap=2**60), KEYS, ROW),
    "a uniform count": (dv.Stability(1, "1e-6", base="tight", sampler="fastsample", cap=2**60), FEW, SWAP),
    "a threshold for a user of a billion rows": (dv.Stability(1, "1e-6"), KEYS, USER),
    "rational odds of a billion rows": (dv.PureSparse(1, base="tight", cap=3), HUGE, USER),
    "many bins shown": (dv.PureSparse(1, cap=10**6), HUGE, SWAP),
    "noise wider than any count": (dv.Dense(1, base="tight", cap=2**60), FEW, ROW),
    "one bin": (dv.Dense(1), ONE, USER),
    "a user of a billion rows, by Gaussian noise": (dv.Dense(1, base="gaussian", delta="1e-12"), FEW, USER),
    "a limit beyond all Gaussian noise": (dv.Dense(1, base="gaussian", delta="1e-6", cap=2**60), FEW, USER),
    "rows by Gaussian noise": (dv.Dense(1, base="gaussian", delta="1e-6"), FEW, SWAP),
    "a Gaussian tree of a million leaves": (dv.Tree(1, branching=2, base="gaussian", delta="1e-9"), MILLION, USER),
    "a tree of a million leaves": (dv.Tree(1, branching=2), MILLION, USER),
    "a million sorted counts": (dv.Sorted(1), MILLION, USER),
    "sums that overlap": (dv.Queries(1, {"all": None, "a": [1, 2], "b": [2, 3]}), FEW, USER),
    "a million rows": (dv.TopK(10**6, 10**6, epsilon=1), HUGE, SWAP),
    "a million noisy rows": (dv.TopKLaplace(1000, 10**6, epsilon=1), HUGE, ROW),
    "a million coins": (dv.TopKSet(10**6, epsilon=1), KEYS, ROW),
    "all pairs of wide columns": (dv.Marginals(1), TABLES, USER),
    "all pairs of wide columns, by Gaussian noise": (dv.Marginals(1, base="gaussian", delta="1e-9"), TABLES, SWAP),
    "a sketch": (dv.ALP(1, cap=1000, keys=1000), HUGE, USER),
    "a sketch of logarithms": (dv.ALP(1, cap=10**5, keys=100, encoding="log"), HUGE, ROW),
    "a sketch of counts": (dv.ALP(1, cap=40, keys=10, encoding="histogram"), KEYS, ROW),
    "what passes": (dv.Threshold(1), HUGE, SWAP),
    "what passes, and a sketch": (dv.ThresholdALP(1, keys=10**5, delta="1e-6"), KEYS, USER),
    "what passes, and logarithms": (dv.ThresholdALP(1, keys=10**5, split="1/10", encoding="log"), HUGE, ROW),
    "buckets": (dv.MaxProjection(1, cap=1000, keys=1000), HUGE, USER),
    "what passes, and buckets": (dv.ThresholdMaxProjection(1, keys=10**5, delta="1e-6"), KEYS, USER),
    "weights of a million labels": (dv.SampleCategory(1), records(10**6), USER),
    "the nearest chances": (dv.SampleCategory(1, projection="euclid"), records(10**6), SWAP),
    "one of 2^64 labels": (dv.SampleCategory(1, draws="one"), records(2**64), ROW),
    "a thousand bits": (dv.SampleBounded(1000), BITS, SWAP),
    "a thousand bits and a delta": (dv.SampleBounded(1000, delta="1e-6"), BITS, SWAP),
    "as many bits as are searched": (dv.SampleBounded(1000, delta="1e-150"), SOME_BITS, SWAP),
    "a thousand noisy means": (dv.SampleProduct(1, "1e-6", noise="tight"), BITS, SWAP),
    "bits of rows that come or go": (dv.SampleBounded(1000, delta="1e-150", level="0.001"), SOME_BITS, ROW),
    "means of rows that come or go": (dv.SampleProduct(1, "1e-6", noise="tight", rows=10**6), BITS, ROW),
    "a told user": (dv.RandomisedRecord(1), records(2**64), USER),
    "a told record": (dv.RandomisedRecord(1), records(2**64), SWAP),
    "all of few bins": (dv.ExponentialTopK(42, epsilon=1, delta="1e-6"), FEW, USER),
    **{f"{name} of its own test": samples.planned for name, samples in declared().items()},
}


ENDS = (BUDGETS[0], BUDGETS[-1])
DEAREST = [
    ("a limit beyond all Gaussian noise", Fraction(1, 1000)),
    ("bits of rows that come or go", Fraction(1, 1000)),
    ("what passes, and buckets", Fraction(1)),
]
"""Of the budgets in the middle, those that took the most steps. `tests/soak/test_every_fan.py` plans under all."""


def planned(case: str, top: Fraction) -> None:
    """A slider is planned in bounded work, or where it stands is refused."""
    mechanism, question, unit = HARD[case]
    try:
        epsilons = plan(mechanism, question, unit, top)
    except DpvizError:
        with pytest.raises(DpvizError):  # a public refusal of where the slider stands, and not of the fan
            mechanism.with_epsilon(min(top, Fraction(1))).bind(question, unit)
    else:
        assert 1 <= len(epsilons) <= 40


def told(given: object) -> str:
    return f"{float(given):g}" if isinstance(given, Fraction) else str(given)


@pytest.mark.parametrize(("case", "top"), [*((case, top) for case in HARD for top in ENDS), *DEAREST], ids=told)
def test_every_other_slider_is_planned_under_any_budget(case: str, top: Fraction) -> None:
    planned(case, top)


@pytest.mark.parametrize("start", [0, 7])
@pytest.mark.parametrize("near", [0, 3, 7, 8, 99, 100, 101, 5000])
def test_the_least_is_found_from_any_guess(start: int, near: int) -> None:
    for wanted in (0, 1, 6, 7, 8, 9, 98, 99, 100, 101, 4096):
        assert least(lambda a, wanted=wanted: a >= wanted, start, near) == max(start, wanted)  # type: ignore[misc]


def test_fast_samples_chance_is_enclosed_and_at_last_exact() -> None:
    law = FastSampleLaw(30, 7, 6, 100, 25)
    for counted in (0, 1, 15, 30):
        for value in range(-2, 33):
            exact = 1 - law.cdf(counted, value)
            low, high = law.above_bounds(counted, value, 128)
            assert low <= exact <= high and high - low < Fraction(1, 10**30)
            assert law.above_bounds(counted, value, 1024) == (exact, exact)


def test_group_privacy_of_a_user_is_the_sum_of_its_steps_from_above() -> None:
    for rows in (1, 2, 15, 300):
        unit = Unit("u", max_bins=rows)
        steps = dv.Stability("1/3", "1e-6").bind(KEYS, unit).steps
        exact = sum(math.exp(step / (3 * rows)) for step in range(rows))
        assert float(steps) == pytest.approx(exact, rel=1e-12)
        assert steps >= sum(exp_bounds(Fraction(step, 3 * rows), 300)[0] for step in range(rows))


def test_each_mechanism_is_among_them() -> None:
    planned = {mechanism.name for mechanism, _, _ in HARD.values()} | {Compact.name}
    assert [lacking(name, "HARD of tests/planning/test_fans.py") for name in REGISTRY if name not in planned] == []


@pytest.mark.parametrize("top", BUDGETS, ids=told)
@pytest.mark.parametrize("number", [1, 10**6])
def test_a_sub_session_is_planned_under_any_budget(number: int, top: Fraction) -> None:
    for accounting in ("safe", "paper", "zcdp"):
        with at_most(MOST):
            made = dv.PayWhatYouGet(number, number, epsilon=top, delta="1e-6", accounting=accounting)
            try:
                assert made.price(ROW).loss == ApproxDP(top, Fraction(1, 10**6)) and made.step_price(ROW).step > 0
            except DpvizError as refused:
                assert "must pay for" in str(refused) and top / number < Fraction(1, 10**8)


# ---------------------------------------------------------------- sheets that compare


UNITS = {"row": ROW, "swap": SWAP, "user": USER}


def compared(unit: str, top: Fraction) -> None:
    """Mechanisms side by side are drawn in bounded work."""
    rivals: tuple[Mechanism, ...] = (
        dv.Dense(1, base="tight", cap=10**6),
        dv.Stability(1, "1e-6", base="tight", cap=2**60),
        dv.PureSparse(1, cap=1000),
        dv.Compact(1, cap=3),
        dv.Compact(1, cap=10**6),
    )
    with at_most(20 * MOST):  # five mechanisms against some forty counts
        sheet = ComparisonSheet(HUGE, UNITS[unit], rivals, top, top).to_json()
    for points in sheet["fans"].values():
        assert all(len(point["rows"]) == len(rivals) for point in points)


CORNERS = [("row", ENDS[0]), ("swap", ENDS[1]), *(("user", top) for top in ENDS)]
"""Each unit, and each end. `tests/soak/test_every_fan.py` compares under all budgets."""


@pytest.mark.parametrize(("unit", "top"), CORNERS, ids=told)
def test_a_comparison_is_drawn_under_any_budget(unit: str, top: Fraction) -> None:
    compared(unit, top)


@pytest.mark.parametrize(("e", "g", "t"), [(1, 2, "1"), (50, 10**9, "paper"), (50, 10**9, "10000"), (1, 100, "tight")])
def test_samplers_are_drawn_at_the_ends_of_every_axis(e: int, g: int, t: str) -> None:
    with at_most(MOST):
        sheet = SamplerSheet(60, 60, e, g, t).to_json()
    assert [len(points) for points in sheet["fans"].values()] == [len(axis["grid"]) for axis in sheet["axes"]]


@pytest.mark.parametrize(("epsilon", "delta"), [("1e-9", "0.99"), ("10", "1e-190")])
def test_compositions_are_drawn_at_the_ends_of_every_axis(epsilon: str, delta: str) -> None:
    with at_most(MOST):
        sheet = CompositionSheet(Fraction(epsilon), Fraction(delta), 1000).to_json()
    assert [len(points) for points in sheet["fans"].values()] == [len(axis["grid"]) for axis in sheet["axes"][:2]]


def test_lists_of_public_counts_are_drawn_at_the_ends_of_every_axis() -> None:
    tables = dict.fromkeys(LIMITS, made_up("power"))
    with at_most(MOST):
        sheet = TopKSheet(tables, Unit("u", max_bins=5), 200, 10_000, Fraction(1, 10**9)).to_json()
    assert sheet["now"]["open"] is not None


@pytest.mark.parametrize("epsilon", ["1e-9", "1000"])
@pytest.mark.parametrize("rows", [1, 10**6])
def test_lists_of_private_counts_are_drawn_at_the_ends_of_every_axis(rows: int, epsilon: str) -> None:
    unit = Unit("u", relation="replace-one", max_bins=None)
    with at_most(MOST):
        sheet = TopKSheet({}, unit, rows, rows, Fraction(epsilon), max_bins=None).to_json()
    assert sheet["now"]["open"] is None
