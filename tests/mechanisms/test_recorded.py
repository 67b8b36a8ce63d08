"""What parameters say today is what they said when people released with them: prices, laws, thresholds and errors.

`recorded.json` was written by the code of 22 November 2026, before plans for any budget were bounded in work. It holds
parameters drawn at random from small and large epsilons, caps, domains and units, those that were refused included. A
ledger names the parameters of a release and nothing that follows from them; so what follows may never change. Four
labels were put right since: an error of a count that a public n does not allow is a bound, and was called exact. Two
records told of units that come or go were refused then. How far a listed item may lie below its rank was bounded by a
sum over draws; it is the worst case over all counts now, which is never more. What Marginals say was recorded when they
were made. The errors and laws of Gaussian noise, and of SampleProduct, are those of their second calibration (revisions
2 and 3): their prices in epsilon and delta have not moved, and answers that were drawn before name their own law.
"""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpviz as dv
from dpviz.errors import ParameterError
from dpviz.exact import text
from dpviz.mechanisms import REGISTRY
from dpviz.model.identity import release_key
from dpviz.model.mechanism import Bound
from dpviz.model.statistic import Top
from dpviz.privacy import Unit
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable

RECORD = Path(__file__).parent / "recorded.json"
RECORDED = json.loads(RECORD.read_text())
ENOUGH = 25
"""The number of cases of each mechanism, without those that are refused."""

EPSILONS = ("0.001", "0.1", "1/7", "0.5", "1", "2", "5", "40")
BETAS = (Fraction(1, 10), Fraction(1, 20), Fraction(1, 100))
COUNTS = (0, 1, 2, 5, 10, 20, 40)

QUESTIONS = {
    "1": dv.Question.of(dv.Domain.integers(0, 0, column="a")),
    "2": dv.Question.of(dv.Domain.integers(0, 1, column="a")),
    "42": dv.Question.of(dv.Domain.integers(0, 40, column="a", overflow=True)),
    "10^4": dv.Question.of(dv.Domain.integers(1, 10**4, column="a")),
    "2^32": dv.Question.of(dv.Domain.integers(0, 2**32 - 1, column="a")),
    "2^64": dv.Question.of(dv.Domain.integers(0, 2**64 - 1, column="a")),
    "keys": dv.Question.of(dv.Domain.keys(column="a")),
}
RECORDS = {
    "records 2": dv.Question.records([dv.Domain.integers(0, 1, column="a")]),
    "records 42": dv.Question.records([dv.Domain.integers(0, 40, column="a", overflow=True)]),
    "records 2^5": dv.Question.records([dv.Domain.integers(0, 1, column=name) for name in "abcde"]),
    "records 2^64": dv.Question.records([dv.Domain.integers(0, 2**64 - 1, column="a")]),
}
TABLES = {
    "2 × 3 × 4": dv.Question.of(
        dv.Domain.product(*[dv.Domain.integers(1, size, column=name) for name, size in (("a", 2), ("b", 3), ("c", 4))])
    ),
    "7 × 100": dv.Question.of(
        dv.Domain.product(*[dv.Domain.integers(1, size, column=name) for name, size in (("a", 7), ("b", 100))])
    ),
}
QUESTIONS |= RECORDS
UNITS = {
    "row": Unit("row"),
    "swap1": Unit("row", relation="replace-one", n=1),
    "swap1000": Unit("row", relation="replace-one", n=1000),
    "swap1e6": Unit("row", relation="replace-one", n=10**6),
    "swap1e12": Unit("row", relation="replace-one", n=10**12),
    "user": Unit("u", max_bins=5, max_per_bin=3),
    "userswap": Unit("u", relation="replace-one", max_bins=5, max_per_bin=3),
    "usernone": Unit("u", max_bins=None),
    "userbig": Unit("u", max_bins=10**6, max_per_bin=10**3),
}


def said(case: dict[str, Any]) -> dict[str, Any] | str:
    """What the parameters of a case say now, in the form of the record."""
    mechanism = REGISTRY[case["mechanism"]].from_parameters(case["parameters"])
    try:
        bound = mechanism.bind((QUESTIONS | TABLES)[case["question"]], UNITS[case["unit"]])
    except ParameterError:
        return "refused"
    price, charged = bound.price, payable(to_approx(bound.price.loss))
    dots = bound.error.quantiles([Fraction(2 * index + 1, 40) for index in range(4)])
    bias, chances = bound.error.bias(0), [bound.error.chance_shown(count) for count in COUNTS]
    return {
        "price": [text(charged.epsilon), text(charged.delta), price.exact or text(charged.epsilon)],
        "key": release_key(bound.question, bound.unit, mechanism, bound.modes()[0])[:16],
        "bits": str(bound.space.bits),
        **({"rows": str(bound.needs.rows + 1)} if isinstance(bound.needs, Top) else {}),
        "errors": {text(beta): errors(bound, beta) for beta in BETAS},
        "more": [note["value"] for _label, note in bound.notes],
        "dots": None if dots is None else [str(dot) for dot in dots],
        "bias": None if bias is None else text(bias.value),
        **({} if None in chances else {"chance": [round(chance, 4) for chance in chances if chance is not None]}),
        "law": law(bound),
    }


def errors(bound: Bound, beta: Fraction) -> dict[str, list[str]]:
    error, most = bound.error, bound.max_items
    values = {
        "one": error.one_bin(beta),
        "all": error.all_bins(beta),
        "edge": error.one_bin(beta, count=0) if most is None else None,
        "listed": None if most is None else error.listed(beta),
        "rank": None if most is None else error.rank(most, beta),
        "variation": error.total_variation(),
    }
    return {name: [text(value.value), value.how] for name, value in values.items() if value is not None}


def law(bound: Any) -> dict[str, Any]:
    """The numbers that a draw is made from."""
    numbers: dict[str, Any] = {
        name: str(getattr(bound, name)) for name in ("threshold", "offset", "cut") if hasattr(bound, name)
    }
    if hasattr(bound, "step_price"):
        numbers["parts"] = [
            text(bound.step_price.step),
            text(bound.step_price.delta),
            text(bound.step_price.delta_prime),
        ]
    if hasattr(bound, "design"):
        design, part = bound.design, bound.design.part
        numbers["design"] = [part.kind, *map(str, (part.p, part.q, part.g, part.t)), design.kind, str(design.least)]
        if design.least.bit_length() < 200:
            numbers["field"] = bound.field.name
    elif getattr(getattr(bound, "noise", None), "finite", None):
        part = bound.noise.finite
        numbers["finite"] = [part.kind, *map(str, (part.n, part.p, part.q, part.g, part.t))]
    return numbers


def record_new() -> None:
    """Add the numbers of each mechanism that has none on record; what is on record stays."""
    known = {case["mechanism"] for case in RECORDED}
    cases = [case for name in REGISTRY if name not in known for case in new_cases(name)]
    written = [json.dumps(case, separators=(",", ":"), ensure_ascii=False) for case in cases]
    RECORD.write_text(",\n".join([RECORD.read_text().removesuffix("\n]\n"), *written]) + "\n]\n")


def new_cases(name: str) -> list[dict[str, Any]]:
    """Random parameters, questions and units, until ENOUGH of them are answered."""
    from tests.mechanisms.declared import STARTS

    chance, cases, answered = random.Random(name), [], 0
    for _ in range(40 * ENOUGH):
        try:
            made = REGISTRY[name](**{**chance.choice(STARTS[name]), "epsilon": chance.choice(EPSILONS)})
        except ParameterError:
            continue
        asked, unit = chance.choice(list(QUESTIONS | TABLES)), chance.choice(list(UNITS))
        case = {"mechanism": name, "parameters": made.parameters(), "question": asked, "unit": unit}
        cases.append({**case, "says": said(case)})
        answered += cases[-1]["says"] != "refused"
        if answered == ENOUGH:
            return cases
    raise AssertionError(f"{name} answers {answered} of {len(cases)} random questions, and {ENOUGH} are recorded")


@pytest.mark.parametrize("name", REGISTRY)
def test_parameters_mean_what_they_meant(name: str) -> None:
    cases = [case for case in RECORDED if case["mechanism"] == name]
    assert cases, f"{name} has no numbers on record: `python -m tests.mechanisms.declared` writes them"
    assert len([case for case in cases if case["says"] != "refused"]) >= ENOUGH
    for case in cases:
        assert said(case) == case["says"], (case["parameters"], case["question"], case["unit"])
