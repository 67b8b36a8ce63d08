"""Who mistypes a name is told the next one; who gives what belongs to nobody is told no more than the public names."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz
from dpviz.errors import DpvizError, MissingName, SchemaError, UnknownArgument
from dpviz.names import nearest, unknown_argument
from dpviz.session.session import Session

dv: Any = dpviz
"""What people type, as it comes: a checker would see the mistakes."""

FRAME = pd.DataFrame({"visits": [1, 2, 3], "health": ["good", "poor", "good"]})
BINS = dv.Domain.integers(0, 5, column="visits")
HEALTH = dv.Domain.categories(["good", "poor"], column="health")


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(FRAME, dpviz.Unit(), dpviz.Budget("9"), tmp_path / "names.ledger")


MISTYPED: list[tuple[Callable[[Any], Any], str, str]] = [
    (lambda s: dv.Sesion, "dpviz has no Sesion", "Session"),
    (lambda s: dv.dense, "dpviz has no dense", "Dense"),
    (lambda s: dv.session(FRAME), "dv.session is a part of dpviz and no call", "dv.Session"),
    (lambda s: dv.datasets.doctor_visit, "dpviz.datasets has no doctor_visit", "doctor_visits"),
    (lambda s: dv.charts.histogarm, "dpviz.charts has no histogarm", "histogram"),
    (lambda s: s.remaning, "Session has no remaning", "remaining"),
    (lambda s: s.plan(BINS, dv.Dense("1/2")).eror, "Plan has no eror", "error"),
    (lambda s: s.release(BINS, dv.Dense("1/2")).to_fram, "Release has no to_fram", "to_frame"),
    (lambda s: dv.Domain.integrs, "Domain has no integrs", "integers"),
    (lambda s: dv.Question.record, "Question has no record", "records"),
    (lambda s: dv.Dense(epsilom="1"), "Dense takes no epsilom", "epsilon"),
    (lambda s: dv.Session(FRAME, bugdet=dv.Budget("1")), "Session takes no bugdet", "budget"),
    (lambda s: s.plan(BINS, dv.Dense("1/2"), were={}), "Session.plan takes no were", "where"),
    (lambda s: dv.Dense("1", base="exq"), 'base must be "exp", "paper", "tight" or "gaussian", got "exq"', "exp"),
    (lambda s: s.plan("helth", dv.Stability("1", "1e-6")), "that data has, got helth", "health"),
    (lambda s: s.plan(BINS, dv.Dense("1"), where={"vists": dv.Between(0, 1)}), "got vists", "visits"),
    (lambda s: s.release(HEALTH, dv.Dense("1/2"))["god"], "must be one of good, poor, got god", "good"),
    (lambda s: dv.Session(FRAME, dv.Unit("helth"), dv.Budget("1"), "x.ledger"), "got helth", "health"),
]


@pytest.mark.parametrize(("wrong", "rule", "right"), MISTYPED, ids=[right for _, _, right in MISTYPED])
def test_a_mistyped_name_is_answered_with_the_next(
    session: Any, wrong: Callable[[Any], Any], rule: str, right: str
) -> None:
    with pytest.raises(DpvizError) as refused:
        wrong(session)
    assert rule in str(refused.value)
    assert refused.value.next_step == f"did you mean {right}?"
    assert str(refused.value).endswith(f"; did you mean {right}?")
    assert session.remaining.epsilon >= 8  # what was mistyped cost nothing


def test_where_no_name_is_near_it_is_said_what_there_is(session: Any) -> None:
    with pytest.raises(MissingName, match=r"^Session has no quux; help\(Session\) tells what it has$"):
        session.quux  # noqa: B018
    with pytest.raises(UnknownArgument, match="Dense takes no quux; it takes epsilon, base, sampler,"):
        dv.Dense(quux=1)
    with pytest.raises(SchemaError, match="got quux; its columns are visits, health"):
        session.plan("quux", dv.Stability("1", "1e-6"))


def test_too_many_arguments_too_few_and_one_given_twice_are_told_by_name() -> None:
    with pytest.raises(UnknownArgument, match="at most 7 values without a name, not 8; name them: epsilon=,"):
        dv.Dense(1, 2, 3, 4, 5, 6, 7, 8)
    with pytest.raises(UnknownArgument, match=r"Dense needs epsilon; add epsilon=…"):
        dv.Dense()
    with pytest.raises(UnknownArgument, match="Dense was given epsilon twice; give it by its name only"):
        dv.Dense("1", epsilon="1")
    with pytest.raises(UnknownArgument, match="Session needs budget and ledger; add budget=…, ledger=…"):
        dv.Session(FRAME, dv.Unit())


def test_they_are_still_the_errors_that_python_raises(session: Any) -> None:
    assert not hasattr(session, "remaning") and getattr(session, "remaning", 7) == 7
    with pytest.raises(AttributeError) as refused:
        session.remaning  # noqa: B018
    assert refused.value.name == "remaning"
    with pytest.raises(TypeError):
        dv.Dense(epsilom="1")


def test_what_is_no_name_is_not_repeated() -> None:
    secret = "Quetzalwren, 41, poor"
    wrongs: list[Callable[[], Any]] = [lambda: getattr(dv, secret), lambda: dv.Dense("1", **{secret: 1})]
    for wrong in wrongs:
        with pytest.raises(DpvizError) as refused:
            wrong()
        assert "Quetzal" not in str(refused.value) + refused.value.value + refused.value.rule


def test_an_error_of_a_property_stays_its_own() -> None:
    from dpviz.boundary import protect_class

    class Odd:
        @property
        def broken(self) -> int:
            return self.inner.nothing  # type: ignore[attr-defined,no-any-return]

        inner = object()

    protect_class(Odd)
    with pytest.raises(AttributeError, match="'object' object has no attribute 'nothing'"):
        Odd().broken  # noqa: B018
    with pytest.raises(MissingName, match="Odd has no brokn; did you mean broken"):
        Odd().brokn  # type: ignore[attr-defined]  # noqa: B018


def test_a_thing_without_an_inside_is_copied_and_pickled_as_before() -> None:
    assert copy.copy(BINS) == BINS == copy.deepcopy(BINS) == pickle.loads(pickle.dumps(BINS))


def test_nothing_is_near_to_a_sign_or_among_too_many() -> None:
    assert nearest("x", ["xs"]) is None  # one sign is near to everything
    assert nearest(7, ["7"]) is None
    assert nearest("visits", ["visits"]) is None  # that is the name itself
    assert nearest("label 12", (f"label {n}" for n in range(10_001))) is None


def test_a_call_whose_arguments_fit_is_not_blamed() -> None:
    def call(self: object, a: int, *more: int, b: int = 0, **rest: int) -> None: ...

    assert unknown_argument(call, (object(), 1, 2, 3), {"b": 1, "c": 2}) is None
    assert unknown_argument(len, ([],), {}) is None
    assert str(unknown_argument(call, (object(),), {})).endswith("needs a; add a=…")


def test_every_public_name_is_found_and_none_suggests_itself() -> None:
    for name in dv.__all__:
        assert inspect.getattr_static(dv, name, None) is not None or getattr(dv, name) is not None
        with pytest.raises(MissingName, match=rf"did you mean {name}\?$"):
            getattr(dv, name + "_")


@pytest.mark.parametrize("name", ["quantile", "median"])
def test_a_name_that_is_only_a_little_alike_is_not_suggested(name: str) -> None:
    assert nearest(name, ["plain_title", "reading", "share", "values", "labels"]) is None
