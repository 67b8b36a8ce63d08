"""The smallest and largest parameters: an answer, or a refusal that says what is wrong and how to write it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.charts.picture import picture
from dpviz.errors import DpvizError, ParameterError
from dpviz.exact import exp_bounds, log_up
from dpviz.laws.alp import FEW_POWERS, bits_for, odds, price_up
from dpviz.mechanisms import REGISTRY
from tests.session.sweep import MONTHS, session

BINS = dv.Question.of(dv.Domain.integers(0, 3, column="x"))
BITS = dv.Question.records([dv.Domain.integers(0, 1, column=name) for name in ("x", "y")])
HUGE = dv.Question.of(dv.Domain.integers(0, 2**64 - 1, column="x"))


@pytest.mark.parametrize("epsilon", ["1e-20", "1e-39", "1e-150", "1e-197"])
@pytest.mark.parametrize("name", REGISTRY)
def test_an_epsilon_that_pays_for_nothing_is_refused_by_an_error_of_ours_or_bound(name: str, epsilon: str) -> None:
    kind: Any = REGISTRY[name]
    asked = BITS if kind.draws_records else BINS
    for unit in (dv.Unit(), dv.Unit(relation="replace-one", n=50), dv.Unit("p", max_bins=2)):
        try:
            kind.from_parameters({"epsilon": epsilon}).bind(asked, unit)
        except DpvizError as refused:
            assert refused.rule and refused.next_step, name


def test_a_delta_that_pays_for_all_of_a_drawn_record_is_no_refusal() -> None:
    bound = dv.SampleBounded("1/20", delta="1/100").bind(BITS, dv.Unit())
    assert bound.price.loss.epsilon <= Fraction(1, 20) and bound.records >= 1  # type: ignore[attr-defined, union-attr]


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda: dv.Stability(1, "1e-300"), "delta must be at least 1e-197.*got 1e-300"),
        (lambda: dv.Dense("1e400"), "epsilon must be below 1e200, got 1e400"),
        (lambda: dv.Dense("1e-400"), "epsilon must be at least 1e-197"),
        (lambda: dv.Dense("0.\u200b5"), r"got '0\.\\u200b5'; type it without the invisible character U\+200B"),
        (lambda: dv.Dense("1\u2060/3"), r"invisible character U\+2060"),
        (lambda: dv.Dense(1, cap="5\u00ad"), r"invisible character U\+00AD"),
        (lambda: dv.Domain.integers(-(10**300), 0, column="x"), "low must be above -1e200"),
        (lambda: dv.Domain.intervals([0, "1e-300", 1], column="x"), "edge 2 must be at least 1e-197"),
        (lambda: dv.Domain.intervals(["-1e-300", 1], column="x"), "edge 1 must be outside of -1e-197 to 0"),
        (lambda: dv.Stability(1, Fraction(2**300 + 1, 3**300)), "delta must be a number of at most 200 characters"),
    ],
)
def test_a_number_that_is_refused_says_what_is_wrong_with_it(call: Callable[[], object], rule: str) -> None:
    with pytest.raises(ParameterError, match=rule):
        call()


@pytest.mark.parametrize("space", ["\u00a0", "\t", "\n", "\u2009", "\u3000"])
def test_white_space_beside_a_number_is_refused_by_its_name(space: str) -> None:
    """A blank is trimmed; any other space may be part of a text that was pasted, and is not guessed at."""
    for call in (lambda: dv.Dense(f"0.5{space}"), lambda: dv.Dense(1, cap=f"{space}5")):
        with pytest.raises(ParameterError, match=rf"without the invisible character U\+{ord(space):04X}"):
            call()
    assert dv.Dense(" 0.5 ", cap=" 5 ") == dv.Dense("1/2", cap=5)


@pytest.mark.parametrize("least", ["1e-197", "2e-198", "3/1" + "0" * 197])
def test_a_number_that_can_be_written_is_taken_however_small(least: str) -> None:
    assert dv.Stability(1, least).delta == Fraction(least)


# ---------------------------------------------------------------- ALP at a small alpha and a large epsilon


def multiplied(alpha: Fraction, ratio: Fraction) -> Fraction:
    """How many bits a value may move, with every power multiplied out."""
    n = 0
    while (1 + alpha) ** (n + 1) <= ratio:
        n += 1
    return n + (ratio / (1 + alpha) ** n - 1) / alpha


@pytest.mark.parametrize("alpha", [Fraction(1000), Fraction(3), Fraction(1, 7), Fraction(1, 50), Fraction(1, 100)])
def test_bits_by_logarithms_are_those_by_powers_and_never_more(alpha: Fraction) -> None:
    many = 0
    for epsilon in (Fraction(1, 9), Fraction(1), Fraction(7, 2), Fraction(9)):
        ratio = exp_bounds(epsilon)[0]
        exact, found = multiplied(alpha, ratio), bits_for(alpha, ratio)
        assert 0 <= exact - found < Fraction(1, 2**150)
        many += exact > FEW_POWERS
        for times in (1, 3):
            step = Fraction(1, 10**12)
            assert price_up(alpha, exact, step, times) == log_up(odds(alpha, exact), step, times)
    assert many or alpha > Fraction(1, 7), "a case of many bits was tried"


def test_a_plan_of_many_bits_multiplies_no_powers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted: at alpha = 1/1000 and epsilon 100 some hundred thousand factors would be multiplied out."""
    powers: list[int] = []
    power = Fraction.__pow__

    def counted(self: Fraction, times: Any) -> Any:
        powers.append(abs(int(times)))
        return power(self, times)

    monkeypatch.setattr(Fraction, "__pow__", counted)
    for epsilon in ("10", "100", "1000"):
        for made in (dv.ALP(epsilon, cap=10, alpha="1/1000", keys=1), dv.ThresholdALP(epsilon, 1, alpha="1/1000")):
            try:
                made.bind(HUGE, dv.Unit())
            except ParameterError as refused:
                assert refused.rule and refused.next_step
    assert max(powers, default=0) <= 200 and len(powers) < 2_000


# ---------------------------------------------------------------- answers to look-ups about each part


@pytest.mark.parametrize(
    "made",
    [
        dv.ALP(3, cap=50, keys=20),
        dv.Compact(3, cap=3),
        dv.MaxProjection(3, cap=50, keys=1),
        dv.ThresholdALP(3, 20, "1e-6"),
        dv.ThresholdMaxProjection(3, 20, "1e-6"),
    ],
    ids=lambda made: made.name,
)
def test_answers_to_look_ups_about_each_part_are_shown_on_a_page_and_read_one_by_one(made: Any, tmp_path: Path) -> None:
    release = session(tmp_path, "row").release(dv.Domain.integers(0, 9, column="x"), made, by=MONTHS)
    shown = picture(release)
    assert shown["kind"] == "grouped" and "<th scope='row'>1</th>" in release._repr_html_()
    with pytest.raises(DpvizError, match=r"release\.groups\[\.\.\.\]"):
        _ = release.labels
    assert len([one[3] for one in release.groups.values()]) == MONTHS.size
