"""What a person, or a class of his own, gives for a number or a text: read once, by the base type, or refused."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import gmpy2
import numpy as np
import pytest

import dpviz as dv
from dpviz.errors import DpvizError
from dpviz.exact import MOST_BITS, plain, rational
from dpviz.session.session import Session
from tests.patience import patience
from tests.session.sources import KnownCounts

BINS = dv.Domain.integers(0, 3, column="x")


class LyingFraction(Fraction):
    """One half by its price, 700 by its noise."""

    numerator = property(lambda self: 700)  # type: ignore[assignment]
    denominator = property(lambda self: 1)  # type: ignore[assignment]
    __float__ = __abs__ = __truediv__ = __rtruediv__ = __mul__ = __rmul__ = lambda self, *_: Fraction(700)  # type: ignore[assignment]
    __eq__ = lambda self, other: True  # type: ignore[assignment]  # noqa: E731
    __hash__ = Fraction.__hash__


class LyingInt(int):
    __index__ = __int__ = __trunc__ = lambda self: 10**6  # type: ignore[assignment]
    __eq__ = __le__ = __ge__ = lambda self, other: True  # type: ignore[assignment]
    __hash__ = int.__hash__


class LyingText(str):
    __str__ = strip = lambda self, *_: "700"  # type: ignore[assignment]
    __eq__ = lambda self, other: True  # type: ignore[assignment]  # noqa: E731
    __hash__ = str.__hash__


class LyingFloat(float):
    __float__ = __repr__ = lambda self: 700.0  # type: ignore[assignment,return-value]


class LyingDecimal(Decimal):
    as_tuple = as_integer_ratio = lambda self: (700, 1)  # type: ignore[assignment]


class LyingArrayNumber(np.float64):
    __str__ = __repr__ = lambda self: "700"  # type: ignore[assignment]


HALVES = [LyingFraction(1, 2), LyingText("1/2"), LyingFloat(0.5), LyingDecimal("0.5"), LyingArrayNumber(0.5)]


@pytest.mark.parametrize("half", HALVES, ids=lambda half: type(half).__name__)
def test_what_is_drawn_is_what_is_paid_whatever_a_class_of_numbers_says_of_itself(tmp_path: Path, half: Any) -> None:
    session = Session(KnownCounts([4, 0, 9, 1]), dv.Unit(), dv.Budget(10), tmp_path / "test.ledger")
    plan = session.plan(BINS, dv.Dense(half))
    assert (plan.bound.mechanism.epsilon, type(plan.bound.mechanism.epsilon)) == (Fraction(1, 2), Fraction)
    assert plan.bound.law.noise.decay.exponent == Fraction(1, 2) and plan.price.epsilon == Fraction(1, 2)
    session.release(BINS, dv.Dense(half))
    assert session.remaining.epsilon == Fraction(19, 2)
    assert session.release(BINS, dv.Dense("0.5")).number == 1


@pytest.mark.parametrize("half", HALVES, ids=lambda half: type(half).__name__)
def test_a_budget_and_an_edge_are_what_their_base_types_hold(half: Any) -> None:
    assert dv.Budget(half).epsilon == Fraction(1, 2) and type(dv.Budget(half).epsilon) is Fraction
    if not isinstance(half, np.generic):  # a limit from an array is refused: it may come from the data
        assert dv.Between(low=half).low == Fraction(1, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: dv.Unit("row", "replace-one", n=n).n,
        lambda n: dv.Dense(1, cap=n).cap,
        lambda n: dv.Compact(1, cap=n).cap,
        lambda n: dv.TopK(n, n, 1).k,
        lambda n: dv.TopKSet(n, 1).k,
        lambda n: dv.TopKLaplace(n, n, 1).kbar,
        lambda n: dv.PayWhatYouGet(symbols=n, epsilon=1).symbols,
        lambda n: dv.Unit("person", max_bins=n).max_bins,
        lambda n: dv.Unit("person", max_per_bin=n).max_per_bin,
        lambda n: dv.Domain.integers(n, 9, column="x").low,
    ],
)
def test_a_whole_number_of_a_lying_class_is_what_int_holds(make: Any) -> None:
    for three in (LyingInt(3), LyingFraction(3), gmpy2.mpz(3), Fraction(3)):
        assert type(make(three)) is int and make(three) == 3


def test_texts_of_a_lying_class_are_kept_as_plain_text(tmp_path: Path) -> None:
    unit = dv.Unit(LyingText("person"), LyingText("add-remove"), LyingText("people"))  # type: ignore[arg-type]
    assert {type(text) for text in (unit.of, unit.relation, unit.noun)} == {str} and unit.of == "person"
    domain = dv.Domain.categories([LyingText("a"), LyingText("b")], column=LyingText("x"))
    assert domain.values == ("a", "b") and {type(text) for text in (*domain.values, domain.column)} == {str}
    session = Session(KnownCounts([4, 0, 9, 1]), dv.Unit(), dv.Budget(10), tmp_path / "test.ledger")
    assert session.release(BINS, dv.Dense(1), key=LyingText("again")).number == 1
    assert session.release(BINS, dv.Dense(1), key="again").number == 1


class Turning(Fraction):
    """Another number each time that it is looked at."""

    looks = 0

    @property
    def numerator(self) -> int:  # type: ignore[override]
        Turning.looks += 1
        return Turning.looks


def test_a_number_that_changes_is_asked_nothing() -> None:
    assert dv.Dense(Turning(1, 2)).epsilon == Fraction(1, 2) and Turning.looks == 0


def test_a_plain_fraction_with_something_else_in_its_slots_is_refused() -> None:
    broken = Fraction(1, 2)
    broken._numerator = 0.25  # type: ignore[attr-defined]
    empty = object.__new__(Fraction)
    reversed_ = Fraction(1, 2)
    reversed_._denominator = 0  # type: ignore[attr-defined]
    for number in (broken, empty, reversed_):
        with pytest.raises(DpvizError):
            dv.Dense(number)


LONG = [
    Decimal("1e999999999"), Decimal("-1e-999999999"), Decimal("1e10000"), "1e999999999", "1e-99999",
    Fraction(10**400_000 + 1, 10**400_000), 10**400_000, gmpy2.mpz(10) ** 400_000, gmpy2.mpq(1, 3) ** 400_000,
    Decimal("0." + "1" * 1_000), "1" * 10**6,
]  # fmt: skip


@pytest.mark.parametrize("make", [dv.Dense, dv.Budget, lambda n: dv.Dense(1, cap=n), lambda n: dv.Between(n)])
def test_a_number_that_nobody_types_is_refused_at_once(make: Any) -> None:
    began = time.monotonic()
    for number in LONG:
        with pytest.raises(DpvizError):
            make(number)
    assert time.monotonic() - began < patience()  # the first of them alone would fill the memory


TYPED_BY_NOBODY = [
    "1_000",
    "1_0/2",
    "\uff11",
    "\u0661",
    "1\n",
    "\t1",
    "\u20031",
    "\u00a01",
    "1 /\t2",
    "1e1_0",
    "0x10",
    "1.",
    ".",
]


@pytest.mark.parametrize("text", [text for text in TYPED_BY_NOBODY if text != "1."])
def test_a_text_that_only_a_parser_takes_for_a_number_is_none(text: str) -> None:
    with pytest.raises(DpvizError):
        rational(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [(" 0.5 ", Fraction(1, 2)), ("1 / 2", Fraction(1, 2)), ("\u22122", Fraction(-2)), (".5", Fraction(1, 2))],
)
def test_what_a_person_types_is_still_a_number(text: str, number: Fraction) -> None:
    assert rational(text) == number


def test_nothing_longer_than_the_limit_is_read_and_what_is_just_below_is() -> None:
    assert rational(2**MOST_BITS - 1) == 2**MOST_BITS - 1
    with pytest.raises(DpvizError):
        rational(2**MOST_BITS)
    assert plain(Fraction(1, 2**MOST_BITS)) is None


class Registered:
    """Says that it is a rational number."""

    numerator, denominator = 1, 2
    __class__ = Fraction  # type: ignore[assignment]


def test_an_object_that_only_says_that_it_is_a_number_or_a_unit_is_refused(tmp_path: Path) -> None:
    class Budget:
        __class__ = dv.Budget  # type: ignore[assignment]
        epsilon, delta = Fraction(1), Fraction(0)

    class Narrow(dv.Unit):
        def l1(self, bins: int | None = None) -> int:
            return 0

    with pytest.raises(DpvizError):
        dv.Dense(Registered())
    for unit, budget in ((dv.Unit(), Budget()), (Narrow(), dv.Budget(1))):
        with pytest.raises(DpvizError):
            Session(KnownCounts([1]), unit, budget, tmp_path / "never.ledger")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
