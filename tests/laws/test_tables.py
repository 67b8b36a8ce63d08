"""The printed bounds, and how they stand to the exact quantiles."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpviz.errors import ParameterError
from dpviz.exact import Decay, log_bounds
from dpviz.laws.finite import FastSampleLaw, geosample_law
from dpviz.laws.geometric import error_quantile, simultaneous_quantile
from dpviz.laws.tables import basic, ceil_log, theorem

BETA = Fraction(1, 20)


def test_the_bounds_as_printed() -> None:
    """ceil of 4 ln 20 = 11.98, 9 ln 20 = 26.96, 9 ln 40 = 33.2; and with 42 bins 26.9, 60.6, 66.8."""
    columns = ("geometric", "geosample", "fastsample")
    assert [basic(Fraction(1, 2), BETA, column=column) for column in columns] == [12, 27, 34]
    assert [basic(Fraction(1, 2), BETA, bins=42, column=column) for column in columns] == [27, 61, 67]


def test_a_ceiling_of_a_logarithm_is_decided_where_floats_are_off_by_one() -> None:
    """factor * ln(ratio) a hair above and below a whole number, by less than a float can tell."""
    log2 = log_bounds(Fraction(2), 400)[0]
    for whole in (1, 7, 1000):
        hair = Fraction(1, 10**60)
        assert ceil_log(whole / log2 - hair, Fraction(2)) == whole
        assert ceil_log(whole / log2 + hair, Fraction(2)) == whole + 1
        assert float(whole / log2 - hair) == float(whole / log2 + hair)


def test_a_theorem_bound_at_a_tie_is_exact() -> None:
    assert theorem(Fraction(2), Fraction(1, 8)) == 3
    assert theorem(Fraction(2), Fraction(1, 8) - Fraction(1, 10**200)) == 4
    assert theorem(Fraction(2), Fraction(1, 4), bins=2) == 3
    assert theorem(Fraction(2), Fraction(1, 8) + Fraction(1, 100), gamma=Fraction(1, 100)) == 3


@pytest.mark.parametrize("e", [1, 2, 10, 50])
def test_table_bound_theorem_bound_and_exact_quantile_come_in_this_order(e: int) -> None:
    k = (2 * e - 1).bit_length()
    p, q = 2**k + 1, 2**k
    exact = geosample_law(10**6, p, q).error_quantile(5 * 10**5, BETA)
    assert exact == error_quantile(Decay.rational(Fraction(q, p)), BETA)
    assert exact <= theorem(Fraction(p, q), BETA) <= basic(Fraction(1, e), BETA, column="geosample")
    every = simultaneous_quantile(Decay.rational(Fraction(q, p)), BETA, 42)
    assert every <= theorem(Fraction(p, q), BETA, bins=42) <= basic(Fraction(1, e), BETA, bins=42, column="geosample")
    gamma = BETA / 84
    fast = FastSampleLaw(10**6, p, q, int(1 / gamma), 60 * q).worst_quantile_of(42, BETA)
    assert fast <= theorem(Fraction(p, q), BETA, bins=42, gamma=gamma)
    assert theorem(Fraction(p, q), BETA, bins=42, gamma=gamma) <= basic(
        Fraction(1, e), BETA, bins=42, column="fastsample"
    )


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: basic(Fraction(0), BETA), "0"),
        (lambda: basic(Fraction(1), Fraction(0)), "0"),
        (lambda: basic(Fraction(1), BETA, bins=0), "0"),
        (lambda: basic(Fraction(1), BETA, column="laplace"), "laplace"),  # type: ignore[arg-type]
        (lambda: theorem(Fraction(1), BETA), "1"),
        (lambda: theorem(Fraction(2), BETA, gamma=BETA), "0.05"),
    ],
)
def test_a_parameter_outside_its_range_is_refused_with_its_value(call: object, value: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.value == value
