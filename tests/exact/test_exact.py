"""Numbers are read as they print, compared rigorously, and rounded against the analyst."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz import exact
from dpviz.errors import DpvizError, ExactnessError, ParameterError

rationals = st.fractions(min_value=Fraction(1, 1000), max_value=50, max_denominator=1000)


@pytest.mark.parametrize(
    "typed",
    [
        "0.1",
        ".1",
        "1/10",
        " 1 / 10 ",
        "1e-1",
        "+0.1",
        0.1,
        np.float64(0.1),
        np.float32(0.1),
        Decimal("0.1"),
        gmpy2.mpq(1, 10),
    ],
)
def test_a_tenth_is_a_tenth_however_it_is_typed(typed: object) -> None:
    assert exact.rational(typed) == Fraction(1, 10)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "abc",
        "1/0",
        "nan",
        "inf",
        "0x10",
        "1__0/",
        "1/2/3",
        "1e99999",
        float("nan"),
        float("inf"),
        None,
        True,
        [1],
        1j,
        "١",
    ],
)
def test_what_is_no_number_is_refused_with_the_rule_and_the_next_step(typed: object) -> None:
    with pytest.raises(ExactnessError) as caught:
        exact.rational(typed, "epsilon")
    kind = "number" if typed is True else "finite number"
    assert f"epsilon must be a {kind}" in str(caught.value) and caught.value.next_step


@pytest.mark.parametrize("typed", ["1" * 300, "0." + "1" * 300, "1/" + "3" * 250, pytest.param(10**90_000, id="int")])
def test_more_digits_than_anybody_types_are_refused_as_that(typed: object) -> None:
    with pytest.raises(ExactnessError, match="epsilon must be a number of at most 200 characters") as caught:
        exact.rational(typed, "epsilon")  # type: ignore[arg-type]
    assert caught.value.next_step == "write fewer digits"
    with pytest.raises(ExactnessError, match="epsilon must be a finite number"):
        exact.rational("x" * 300, "epsilon")


def test_a_minus_sign_from_a_typesetter_is_a_minus_sign() -> None:
    with pytest.raises(ParameterError, match="epsilon must be positive, got -0.5"):
        exact.positive("\u22121/2", "epsilon")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_means_the_decimal_it_prints_as(value: float) -> None:
    assert exact.rational(value) == Fraction(Decimal(repr(value)))


@given(st.fractions())
def test_text_is_exact_and_reads_back(number: Fraction) -> None:
    assert exact.rational(exact.text(number)) == number


@given(st.fractions())
def test_up_and_down_are_the_nearest_floats_on_their_side(number: Fraction) -> None:
    above, below = exact.up(number), exact.down(number)
    assert Fraction(below) <= number <= Fraction(above)
    assert above == below or math.nextafter(below, math.inf) == above


@given(rationals)
def test_enclosures_contain_and_narrow(x: Fraction) -> None:
    for bounds in (exact.exp_bounds, exact.log_bounds):
        wide, narrow = bounds(x, 64), bounds(x, 256)
        assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]
        assert narrow[1] - narrow[0] <= (wide[1] - wide[0]) or narrow[0] == narrow[1]
    assert math.isclose(float(exact.exp_bounds(x)[0]), math.exp(x), rel_tol=1e-12)


@pytest.mark.parametrize("exponent", [70, 300, 100_000])
def test_a_logarithm_next_to_that_of_0_is_enclosed_narrowly(exponent: int) -> None:
    """At 64 places its argument would round to -1."""
    low, high = exact.log1p_bounds(Fraction(1, 2**exponent) - 1, 64)
    two = exact.log_bounds(Fraction(2), 256)
    assert low <= -exponent * two[1] <= -exponent * two[0] <= high
    assert high - low <= abs(low) / 2**60


@given(rationals, rationals)
def test_log_at_most_agrees_with_high_precision(ratio: Fraction, bound: Fraction) -> None:
    with gmpy2.context(precision=400):
        reference = gmpy2.log(gmpy2.mpfr(gmpy2.mpq(ratio.numerator, ratio.denominator)))
        expected = 2 * reference <= gmpy2.mpfr(gmpy2.mpq(bound.numerator, bound.denominator))
    assert exact.log_at_most(ratio, bound, times=2) == expected


def test_log_at_most_decides_where_floats_cannot() -> None:
    """A bound that differs from ln 2 in its sixtieth digit only."""
    with gmpy2.context(precision=400):
        digits = str(gmpy2.log(gmpy2.mpfr(2)))[:62]
    below = Fraction(digits)
    assert not exact.log_at_most(Fraction(2), below)
    assert exact.log_at_most(Fraction(2), below + Fraction(1, 10**60))
    assert float(below) == math.log(2)


@given(rationals.filter(lambda ratio: ratio > 1), st.integers(1, 5))
def test_log_up_never_rounds_down(ratio: Fraction, times: int) -> None:
    step = Fraction(1, 10**6)
    up = exact.log_up(ratio, step, times)
    assert exact.log_at_most(ratio, up, times) and not exact.log_at_most(ratio, up - step, times)


def test_odds_in_words_round_up() -> None:
    assert exact.odds_text(Fraction(1, 5)) == "1.23"  # e^0.2 = 1.2214…
    assert exact.odds_text(Fraction(1, 10)) == "1.11"
    assert exact.odds_text(Fraction(100)) == "e^100"


def test_every_refusal_is_of_one_family() -> None:
    for mistake in (
        lambda: exact.rational("x"),
        lambda: exact.positive(0, "epsilon"),
        lambda: exact.probability(1, "delta"),
        lambda: exact.whole("1.5", "n"),
        lambda: exact.Decay.rational(Fraction(1)),
        lambda: exact.Decay.exp(Fraction(0)),
    ):
        with pytest.raises(DpvizError):
            mistake()


@given(st.fractions(min_value=Fraction(1, 10**20), max_value=30))
def test_roots_and_hyperbolic_tangents_are_enclosed_narrowly(x: Fraction) -> None:
    low, high = exact.root_bounds(x)
    assert low**2 <= x <= high**2 and high - low <= high / 2**120
    for bounds, inverse in ((exact.tanh_bounds, "atanh"), (exact.log1p_bounds, "expm1")):
        low, high = bounds(x)
        assert low <= high <= low * (1 + Fraction(1, 2**120))
        with gmpy2.context(precision=600):
            back = [getattr(gmpy2, inverse)(gmpy2.mpfr(gmpy2.mpq(*end.as_integer_ratio()))) for end in (low, high)]
            assert back[0] <= gmpy2.mpq(x.numerator, x.denominator) <= back[1]
