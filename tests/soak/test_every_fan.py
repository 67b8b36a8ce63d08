"""Plans drawn at random from all mechanisms, bases, samplers, fields, caps, domains, units and budgets."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from dpviz.errors import DpvizError
from dpviz.mechanisms import REGISTRY, Marginals
from dpviz.model.domain import Domain
from dpviz.model.mechanism import Mechanism
from dpviz.model.question import Question
from dpviz.planning.sheet import PlanSheet
from tests.mechanisms.samples import listed
from tests.mechanisms.test_recorded import QUESTIONS, RECORDS, UNITS
from tests.planning.test_fans import BUDGETS, CORNERS, DEAREST, ENDS, HARD, MOST, compared, planned
from tests.planning.test_fans import UNITS as WHO
from tests.planning.work import at_most
from tests.soak.amounts import record, rounds

TABLES = {
    f"{first} × {second} × 4 bins": Question.of(
        Domain.product(
            Domain.integers(1, first, column="a"),
            Domain.integers(1, second, column="b"),
            Domain.integers(1, 4, column="c"),
        )
    )
    for first, second in ((2, 3), (50, 40), (7, 1000))
}
"""Several columns, for what asks about the tables of some of them."""

ASKED = QUESTIONS | TABLES
CAPS = (None, 1, 3, 1000, 10**6, 2**60)
DELTAS = ("1e-100", "1e-6", "0.999")
SAMPLERS = ("auto", "geosample", "fastsample")


def drawn(name: str, chance: random.Random) -> Mechanism:
    """A mechanism with parameters at random. Raises where they do not go together."""
    base, sampler = chance.choice(("exp", "tight", "paper")), chance.choice(SAMPLERS)
    delta, cap = chance.choice(DELTAS), chance.choice(CAPS)
    rows = chance.choice((1, 50, 1000, 10**6))
    k = chance.choice((1, 10, rows))
    options: dict[str, dict[str, Any]] = {
        "Dense": chance.choice(
            (
                {"base": base, "cap": cap, "sampler": "auto" if base == "exp" else sampler},
                {"base": "gaussian", "delta": delta, "cap": cap},
            )
        ),
        "Stability": {"delta": delta, "base": base, "cap": cap, "sampler": "auto" if base == "exp" else sampler},
        "PureSparse": {"base": base, "cap": cap},
        "Compact": {
            "base": base if base == "paper" else "tight",
            "cap": cap,
            "sampler": sampler,
            "field": chance.choice(("auto", "mersenne", "proth", "paper")),
        },
        "Marginals": {
            "ways": chance.choice((1, 2, 3)),
            "weights": chance.choice((None, {("a", "b"): 7}, {("b",): 1, (): 2, ("a", "c"): 0})),
            "total": chance.choice(("fitted", "public")),
            **chance.choice(({}, {"base": "gaussian", "delta": delta})),
        },
        "Tree": {
            "branching": chance.choice(("auto", 2, 16, 1000)),
            "padding": chance.choice(("free", "pinned")),
            **chance.choice(({}, {"base": "gaussian", "delta": delta})),
        },
        "TopK": {"k": min(k, rows), "kbar": rows, "delta": delta, "accounting": chance.choice(("safe", "zcdp"))},
        "TopKLaplace": {"k": min(k, rows), "kbar": rows, "delta": delta},
        "TopKSet": {"k": k, "delta": delta},
        "ExponentialTopK": {"k": k, "delta": chance.choice((0, delta))},
        "Sorted": {"largest": k},
        "Queries": {},
        "Threshold": {"delta": chance.choice((None, delta))},
        "ALP": {
            "cap": chance.choice((1, "2.5", 1000, 10**6)),
            "keys": rows,
            "alpha": chance.choice((3, "1/2", 1000)),
            "room": chance.choice((10, "2.1")),
            "accounting": chance.choice(("auto", "l1-real")),
            "encoding": chance.choice(("unary", "histogram", "log")),
        },
        "ThresholdALP": {
            "delta": chance.choice((None, delta)),
            "keys": rows,
            "split": chance.choice(("0.5", "0.999", "0.05")),
            "encoding": chance.choice(("unary", "histogram", "log")),
        },
        "MaxProjection": {"cap": chance.choice((1, "2.5", 10**6)), "keys": rows, "room": chance.choice((100, "2.1"))},
        "ThresholdMaxProjection": {
            "delta": chance.choice((None, delta)),
            "keys": rows,
            "split": chance.choice(("0.5", "0.999")),
            "room": chance.choice((100, "2.1")),
        },
        "SampleCategory": {
            "projection": chance.choice(("normalise", "euclid")),
            "draws": chance.choice(("many", "one")),
        },
        "SampleBounded": {"level": chance.choice(("1/4", "0.001", "0.49")), "delta": delta},
        "SampleProduct": {
            "delta": chance.choice(("1e-6", "1e-30")),
            "noise": chance.choice(("repaired", "paper", "tight")),
        },
        "RandomisedRecord": {},
    }
    known = listed(options, lambda samples: samples.drawn(chance), "the options of tests/soak/test_every_fan.py")
    made: Mechanism = REGISTRY[name](**{"epsilon": 1, **known[name]})
    return made


def cases(number: int) -> Iterator[tuple[Mechanism, str, str, Fraction]]:
    chance = random.Random(20_261_122)
    for round_ in range(number):
        name = list(REGISTRY)[round_ % len(REGISTRY)]
        top = Fraction(10) ** chance.randint(-9, 3) * chance.choice((1, Fraction(1, 3), Fraction(7, 8)))
        asked = RECORDS if REGISTRY[name].draws_records else [key for key in QUESTIONS if key not in RECORDS]
        if name == Marginals.name:
            asked = TABLES
        yield drawn(name, chance), chance.choice(list(asked)), chance.choice(list(UNITS)), top


def test_every_fan_is_built_in_bounded_work() -> None:
    planned = refused = 0
    for mechanism, question, unit, top in cases(rounds(1000)):
        with at_most(MOST):
            try:
                sheet = PlanSheet(ASKED[question], UNITS[unit], mechanism.with_epsilon(top), top).to_json()
            except DpvizError:
                refused += 1
                continue
        planned += 1
        for point in sheet["fans"]["epsilon"]:
            assert Fraction(point["price"]["epsilon"]) <= Fraction(point["price"]["asked"]), (mechanism, question, unit)
    assert planned >= rounds(1000) // 4
    record("plans of random parameters under budgets from 1e-9 to 1000", f"{planned:,} built, {refused:,} refused")


def test_what_is_planned_under_the_ends_of_all_budgets_is_planned_under_those_in_between() -> None:
    """Sliders of `tests/planning/test_fans.py`, and comparisons, with what is not tried there."""
    between = [top for top in BUDGETS if top not in ENDS]
    sliders = [(case, top) for case in HARD for top in between if (case, top) not in DEAREST]
    pairs = [(unit, top) for unit in WHO for top in BUDGETS if (unit, top) not in CORNERS]
    for drawn, all_ in ((planned, sliders), (compared, pairs)):
        for case, top in random.Random(7).sample(all_, rounds(len(all_))):
            drawn(case, top)
    record("plans under budgets in the middle", f"{rounds(len(sliders))} sliders and {rounds(len(pairs))} comparisons")
