"""Objects that lie, raise, change and never end, in every place of a real session with a ledger.

An object's own exception may come through where its own code runs, and nothing of ours runs it: the door reads numbers,
texts, lists and dicts by the slots of their base types. So what is asserted is stricter: only errors of our family, or
Python's refusal of an argument that a call does not have.
"""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError
from dpviz.mechanisms import REGISTRY, mechanism
from dpviz.mechanisms.count_noise import BoundNoise
from dpviz.mechanisms.pay_what_you_get import PayWhatYouGet
from dpviz.model.question import Question
from dpviz.model.release import Release
from dpviz.model.terms import Terms
from dpviz.session.session import Session
from tests.soak.amounts import record, rounds

BINS = dv.Domain.integers(0, 3, column="x")
PLACES = dv.Domain.categories(["a", "b", "c"], column="place")
PAY_WHAT_YOU_GET = dv.PayWhatYouGet(symbols=5_000, questions=2_000, epsilon="1", delta="1e-9")


class Own(BaseException):
    """What a hostile object raises."""


METHODS = (
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__len__", "__iter__", "__next__",
    "__index__", "__int__", "__float__", "__str__", "__repr__", "__bool__", "__contains__", "__getitem__", "__fspath__",
    "__format__", "__add__", "__mul__", "__rmul__", "__truediv__", "__neg__", "__abs__", "__trunc__", "__floor__",
    "__round__", "__pow__", "__divmod__", "__copy__", "__deepcopy__", "__reduce__", "__call__", "__sizeof__",
    "__enter__", "__exit__", "items", "keys", "values", "get", "numerator", "denominator", "as_tuple", "is_finite",
    "strip", "encode", "split", "bit_length", "__array__", "name", "columns", "check", "count",
)  # fmt: skip
BASES: tuple[type, ...] = (
    object,
    int,
    float,
    str,
    Fraction,
    Decimal,
    list,
    tuple,
    dict,
    np.float64,
    np.int64,
    Exception,
)
ANSWERS: tuple[Any, ...] = (
    True,
    False,
    0,
    1,
    -1,
    700,
    2**70,
    0.5,
    math.nan,
    "700",
    "",
    "\ud800",
    None,
    (700, 1),
    [700],
)
SEEDS: dict[type, tuple[Any, ...]] = {
    int: (3, 0, -1, 10**30), float: (0.5, math.nan, -0.0), str: ("1/2", "x", "row", "exact"), Fraction: (1, 2),
    Decimal: ("0.5",), list: ([1, 2],), tuple: ((1, 2),), dict: ({"x": 1},), np.float64: (0.5,), np.int64: (2,),
}  # fmt: skip
CLAIMS: tuple[type, ...] = (dv.Unit, dv.Budget, dv.Dense, dv.Domain, dv.Question, Fraction, int, str, dict, list, type)


def hostile(chance: random.Random) -> Any:
    """An object of a class made up for it: some base, some methods that lie, raise, or never end."""
    base = chance.choice(BASES)
    members: dict[str, Any] = {}
    for name in chance.sample(METHODS, chance.randint(1, 12)):
        members[name] = _method(chance)
    if chance.random() < 0.3:
        claim = chance.choice(CLAIMS)
        members["__class__"] = property(lambda self: claim)
    if chance.random() < 0.2:
        members["__getattribute__"] = _method(chance)
    if chance.random() < 0.1:
        members["__module__"] = "dpviz.privacy.unit"
    kind = type(chance.choice(["Unit", "Hostile", "Hidden"]), (base,), members)
    seed = SEEDS.get(base, ())
    try:
        return kind(*(seed if base is Fraction else seed and (chance.choice(seed),)))
    except BaseException:  # it cannot even be made
        return object.__new__(kind) if base is object else kind


def _method(chance: random.Random) -> Callable[..., Any]:
    way = chance.random()
    if way < 0.4:
        answer = chance.choice(ANSWERS)
        return lambda *_, **__: answer
    if way < 0.7:
        return _raises
    if way < 0.85:
        turns = iter(range(1, 10**9))
        return lambda *_, **__: next(turns)
    return lambda *_, **__: iter(int, 1)  # never ends


def _raises(*_: Any, **__: Any) -> Any:
    raise Own("canary 718281828")


def odd(chance: random.Random) -> Any:
    """A value of a plain kind that nobody means."""
    ring: list[Any] = [1]
    ring.append(ring)
    loop: dict[Any, Any] = {"x": 1}
    loop["x"] = loop
    shared: list[Any] = [1]
    for _ in range(60):
        shared = [shared, shared]  # 2^60 leaves
    return chance.choice(
        [
            10**5_000, -(10**100_000), 2**63, 2**64, math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, 1j, True,
            False, Decimal("1e999999999"), Decimal("sNaN"), Decimal("-0"), Fraction(1, 10**9_000),
            Fraction(10**30 + 1, 10**30), "\ud800", "\u202eabc", "a\0b", "", " ", "x" * 10**6, "1e999999999", "\uff11",
            "__class__", "'; DROP TABLE", "x", np.float32(0.5), np.float64("nan"), np.int8(-1), np.uint64(2**63),
            np.bool_(True), np.str_("x"), np.array(1), np.datetime64("2020-01-01"), np.array([1, 2]), pd.Series([1]),
            pd.DataFrame({"x": [1]}), pd.NA, pd.NaT, ring, loop, shared, [], (), {}, set(), b"x", bytearray(b"x"),
            memoryview(b"x"), range(10**18), iter([]), (one for one in [1]), len, print, lambda *_: 700, object(), type,
            dv.Dense, dv, NotImplemented, Ellipsis, Own("718281828"), None, [None], {"x": None}, {None: 1},
            {"x": [1, math.nan]}, ["a"] * 1_000,
        ]
    )  # fmt: skip


CONSTRUCTORS: dict[str, tuple[Callable[..., Any], dict[str, Any], tuple[str, ...]]] = {
    "Dense": (dv.Dense, {"epsilon": "0.01"}, ("epsilon", "base", "sampler", "gamma", "cap", "clamp")),
    "Dense, tight": (
        dv.Dense, {"epsilon": "0.01", "base": "tight", "cap": 9}, ("epsilon", "sampler", "gamma", "cap", "clamp")
    ),
    "Stability": (dv.Stability, {"epsilon": "0.01", "delta": "1e-9"}, ("epsilon", "delta", "base", "cap", "variant")),
    "PureSparse": (dv.PureSparse, {"epsilon": "0.01", "cap": 1}, ("epsilon", "base", "cap", "beta1")),
    "Compact": (dv.Compact, {"epsilon": "0.01", "cap": 9}, ("epsilon", "base", "field", "gamma", "cap")),
    "TopK": (
        dv.TopK, {"k": 1, "kbar": 2, "epsilon": "0.01", "delta": "1e-9"},
        ("k", "kbar", "epsilon", "delta", "epsilon_per_item", "delta_prime", "domain_rule", "ties", "accounting"),
    ),
    "TopKLaplace": (dv.TopKLaplace, {"k": 1, "kbar": 2, "epsilon": "0.01", "delta": "1e-9"}, ("k", "kbar", "epsilon")),
    "TopKSet": (dv.TopKSet, {"k": 1, "epsilon": "0.01", "delta": "1e-9"}, ("k", "epsilon", "delta")),
    "ExponentialTopK": (dv.ExponentialTopK, {"k": 1, "epsilon": "0.01"}, ("k", "epsilon", "delta")),
}  # fmt: skip
PARTS: dict[str, tuple[Callable[..., Any], dict[str, Any], tuple[str, ...]]] = {
    "Unit": (dv.Unit, {}, ("of", "relation", "noun", "max_bins", "max_per_bin", "n")),
    "Budget": (dv.Budget, {"epsilon": 1}, ("epsilon", "delta", "filter")),
    "PayWhatYouGet": (PayWhatYouGet, {"epsilon": 1}, ("symbols", "questions", "epsilon", "delta", "ties")),
    "integers": (dv.Domain.integers, {"low": 0, "high": 3, "column": "x"}, ("low", "high", "column", "overflow")),
    "intervals": (dv.Domain.intervals, {"edges": [0, 1], "column": "x"}, ("edges", "column", "missing")),
    "categories": (dv.Domain.categories, {"labels": ["a"], "column": "x"}, ("labels", "column", "other")),
    "product": (
        lambda first, second: dv.Domain.product(first, second),
        {"first": BINS, "second": PLACES},
        ("first", "second"),
    ),
    "from_json": (dv.Domain.from_json, {}, ("data",)),
    "Between": (dv.Between, {}, ("low", "high")),
    "Question": (dv.Question.of, {"asked": BINS}, ("asked", "where")),
    "Question, as it is": (dv.Question, {"domain": BINS}, ("domain", "where")),
    "load": (dv.load, {"path": "nobody.json"}, ("path", "ledger")),
    "teaching": (dv.teaching, {"data": pd.DataFrame({"x": [1]}), "seed": 1}, ("data", "seed", "unit", "dataset")),
}  # fmt: skip


class Scene:
    """A session, and a tally of what it should have cost."""

    def __init__(self, folder: Path) -> None:
        frame = pd.DataFrame({"x": [i % 4 for i in range(400)], "place": ["abc"[i % 3] for i in range(400)]})
        self.session = Session(frame, dv.Unit(), dv.Budget(10**6, "0.5"), folder / "hostile.ledger")
        self.sub = self.session.open(PAY_WHAT_YOU_GET)
        self.paid = {self.sub.number: self.sub.price}
        self.refusals: Counter[str] = Counter()
        self.budgets = {Fraction(10**6)}

    def attempt(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """What a call returns, or None where it refuses in our words. Anything else fails the test."""
        before = self.session.ledger.entries(last=1)[0].number
        try:
            return call(*given, **named)
        except DpvizError as error:
            assert "718281828" not in str(error)
            self.refusals[type(error).__name__] += 1
        after = self.session.ledger.entries(last=1)[0].number
        assert after == before, "a refusal charged something"
        return None

    def note(self, release: Release | None, plan: Any) -> None:
        """A release that came: it costs what its plan said, and was drawn from the law of that price."""
        if release is None:
            return
        assert release.number is not None and plan is not None
        assert release.guarantee == plan.price
        stored = self.session.ledger.entry(release.number).body
        again = mechanism(stored["mechanism"]["name"], stored["mechanism"]["parameters"])
        bound = again.bind(Question.from_json(stored["question"]), self.session.unit)
        assert bound.price == release.guarantee and Terms.of(bound) == release.terms
        for name, value in bound.mechanism.parameters().items():
            assert type(value) is str and json.dumps(name + value)
        noise = getattr(bound, "noise", None)
        if isinstance(noise, BoundNoise) and noise.finite is None:
            assert noise.law.exponent is not None
            assert noise.law.exponent * noise.l1 == bound.price.loss.epsilon
        self.paid[release.number] = release.guarantee


def one_round(scene: Scene, chance: random.Random, number: int) -> None:
    thing = hostile(chance) if chance.random() < 0.7 else odd(chance)
    session, asked = scene.session, chance.choice([BINS, PLACES])
    target = chance.random()
    if target < 0.35:
        make, usual, names = PARTS[chance.choice(sorted(PARTS))]
        made = scene.attempt(make, **{**usual, chance.choice(names): thing})
        if isinstance(made, dv.Domain | dv.Question):
            scene.attempt(session.plan, made, dv.Dense("0.01"))
        return
    if target < 0.7:
        make, usual, names = CONSTRUCTORS[chance.choice(sorted(CONSTRUCTORS))]
        made = scene.attempt(make, **{**usual, chance.choice(names): thing})
        if made is not None and type(made) in REGISTRY.values():
            plan = scene.attempt(session.plan, asked, made)
            if plan is not None and plan.price.loss.epsilon <= 20 and chance.random() < 0.5:
                scene.note(scene.attempt(session.release, asked, made, key=f"{number}"), plan)
        return
    if target < 0.9:
        place = chance.choice(["question", "mechanism", "where", "mode", "key", "retry", "watch"])
        given: dict[str, Any] = {"question": asked, "mechanism": dv.Dense("0.01"), "key": f"{number}", place: thing}
        plan = session.plan(asked, dv.Dense("0.01"))
        call = session.release if place != "watch" else lambda **more: session.release_async(**more).result()
        if place in ("question", "where"):
            plan = scene.attempt(session.plan, given["question"], given["mechanism"], where=given.get("where"))
        released = scene.attempt(call, **given)
        if released is not None and released.number not in scene.paid:
            scene.note(released, plan)
        return
    if target < 0.95:
        scene.attempt(session.raise_budget, thing)
        return
    place = chance.choice(["question", "k", "kbar", "where", "largest", "key", "retry", "open"])
    if place == "open":
        opened = scene.attempt(session.open, chance.choice([thing, PAY_WHAT_YOU_GET]), key=thing)
        if opened is not None:
            scene.paid[opened.number] = opened.price
        return
    scene.attempt(scene.sub.ask, **{"question": "place", "k": 1, "kbar": 2, "key": f"{number}", place: thing})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("part", range(4))
def test_a_hostile_object_gets_a_refusal_of_ours_and_costs_nothing(tmp_path: Path, part: int) -> None:
    scene, chance = Scene(tmp_path), random.Random(f"hostile objects {part}")
    whole = rounds(10_000) // 4
    for number in range(whole):
        one_round(scene, chance, number)
    entries = scene.session.ledger.entries()
    assert {entry.number for entry in entries} == set(scene.paid)
    spent = sum((Fraction(price.loss.epsilon) for price in scene.paid.values()), Fraction(0))
    total = scene.session.budget.epsilon - scene.session.remaining.epsilon
    charged = sum((Fraction(entry.body["price"]["epsilon"]) for entry in entries), Fraction(0))
    assert total == charged and 0 <= charged - spent <= len(entries) * Fraction(1, 10**12)
    assert scene.session.ledger.verify().charges == len(entries)
    assert len(entries) > whole // 50 and sum(scene.refusals.values()) > whole // 4
    assert scene.session.release(BINS, dv.Dense("0.01"), key="the session still works").number is not None
    record(
        "hostile objects",
        f"part {part}: {whole:,} objects, {sum(scene.refusals.values()):,} refused, {len(entries):,} charges",
    )
