"""What the parameters of every mechanism say, as lines of text: what each reads, refuses, shows and reads back.

`python -m tests.mechanisms.declared` writes the record that `test_declared.py` compares with: in full what is short,
and of thousands of combinations a digest and a few examples. It also writes what pages list of each mechanism, and the
first numbers of a mechanism that `recorded.json` does not have; those of others stay as they are.
"""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import dpviz as dv
from dpviz.errors import DpvizError
from dpviz.mechanisms import RECORD as OFFERS
from dpviz.mechanisms import REGISTRY
from dpviz.mechanisms.pay_what_you_get import Asking
from dpviz.model.offers import offer
from tests.mechanisms.samples import CHANCES, NUMBERS, listed

RECORD = Path(__file__).with_name("declared.json")
ROUNDS = 400
EXAMPLES = 6

PARTS = ["1/1000", "0.001", Fraction(1, 2**30), 0.5]
COUNTS = [1, 3, "50", 10**6, np.int64(7), 2.0]
ITEMS = [1, 2, "3", 10, np.int64(7), 5.0]
ROWS = [10, "20", 50, 1000]
LAWS, SAMPLERS = ["exp", "tight", "paper"], ["auto", "geosample", "fastsample"]
PAY_WHAT_YOU_GET = dv.PayWhatYouGet(20, 5, epsilon=1)

_GOOD: dict[str, dict[str, list[Any]]] = {
    "Dense": {
        "epsilon": NUMBERS, "base": [*LAWS, "gaussian"], "sampler": SAMPLERS, "gamma": [None, *PARTS],
        "cap": [None, *COUNTS], "clamp": [True, False], "delta": [None, *CHANCES],
    },
    "Stability": {
        "epsilon": NUMBERS, "delta": CHANCES, "base": [*LAWS, "gaussian"], "sampler": SAMPLERS,
        "gamma": [None, *PARTS], "cap": [None, *COUNTS], "variant": ["repaired", "paper"],
    },
    "PureSparse": {"epsilon": NUMBERS, "base": LAWS, "cap": [None, *COUNTS], "beta1": [None, *PARTS]},
    "Compact": {
        "epsilon": NUMBERS, "base": ["tight", "paper"], "sampler": SAMPLERS,
        "field": ["auto", "mersenne", "proth", "paper"], "gamma": [None, *PARTS], "cap": [None, *COUNTS],
    },
    "Tree": {
        "epsilon": NUMBERS, "branching": ["auto", 2, "16", 3.0, np.int64(7), 10**6], "padding": ["free", "pinned"],
        "levels": [None, "1", "1,1,2", "3, 0,1", "1000,0,0,1"], "root": ["asked", "public"],
        "base": ["exp", "gaussian"], "delta": [None, *CHANCES],
    },
    "TopK": {
        "k": ITEMS, "kbar": [*ROWS, "private"], "epsilon": [None, *NUMBERS], "delta": CHANCES,
        "epsilon_per_item": [None, *NUMBERS], "delta_prime": [None, 0, *CHANCES],
        "domain_rule": ["positive", "strict", "paper"], "ties": ["label", "unknown"],
        "accounting": ["safe", "paper", "zcdp"], "largest": [None, 10, "30", 10_000],
    },
    "TopKLaplace": {
        "k": ITEMS, "kbar": ROWS, "epsilon": NUMBERS, "delta": CHANCES, "domain_rule": ["positive", "paper"],
    },
    "TopKSet": {"k": ITEMS, "epsilon": NUMBERS, "delta": CHANCES},
    "ExponentialTopK": {"k": ITEMS, "epsilon": NUMBERS, "delta": [0, *CHANCES]},
    "Sorted": {"epsilon": NUMBERS, "largest": [None, 10, "30", 10_000], "base": LAWS},
    "Queries": {"epsilon": NUMBERS, "queries": [None, {"all": None}, {"x": [1, "2"], "y": range(3)}, [("a", (True,))]]},
    "Marginals": {
        "epsilon": NUMBERS, "ways": [1, 2, "3", 8, np.int64(2)],
        "weights": [None, {("a", "b"): 2}, {"a": 1, (): "3"}, [(("a", "c"), 0)], {}], "total": ["fitted", "public"],
        "base": ["exp", "gaussian"], "delta": [None, *CHANCES],
    },
    "Threshold": {"epsilon": NUMBERS, "delta": [None, *CHANCES], "base": ["exp", "gaussian"]},
    "ALP": {
        "epsilon": NUMBERS, "cap": [*ITEMS, "0.5", 10**6], "keys": COUNTS, "alpha": [3, "38/13", 0.5, 100],
        "room": [10, "2.1", 1000], "accounting": ["auto", "count-exact", "l1-real"],
        "encoding": ["unary", "histogram", "log", "signed"], "hashing": ["multiply-shift", "carter-wegman"],
    },
    "ThresholdALP": {
        "epsilon": NUMBERS, "keys": COUNTS, "delta": [None, *CHANCES], "split": ["1/2", "0.1", Fraction(9, 10)],
        "alpha": [3, "38/13"], "room": [10, "2.1"], "accounting": ["auto", "l1-real"], "adaptive": [True, False],
        "hashing": ["multiply-shift", "carter-wegman"], "encoding": ["unary", "histogram", "log", "signed"],
    },
    "MaxProjection": {
        "epsilon": NUMBERS, "cap": [*ITEMS, "0.5", 10**6], "keys": COUNTS, "room": [100, "2.1", 1000],
    },
    "ThresholdMaxProjection": {
        "epsilon": NUMBERS, "keys": COUNTS, "delta": [None, *CHANCES], "split": ["1/2", "0.1", Fraction(9, 10)],
        "room": [100, "2.1"],
    },
    "SampleCategory": {"epsilon": NUMBERS, "projection": ["normalise", "euclid"], "draws": ["many", "one"]},
    "SampleBounded": {
        "epsilon": NUMBERS, "level": ["1/4", "0.1", Fraction(9, 20)], "accounting": ["exact", "paper"],
        "delta": [0, *CHANCES],
    },
    "SampleProduct": {
        "epsilon": NUMBERS, "delta": CHANCES, "noise": ["repaired", "paper", "tight"], "alpha": ["1/10", 0.02],
        "flips": [True, False], "rows": [None, *COUNTS],
    },
    "RandomisedRecord": {"epsilon": NUMBERS},
    "PayWhatYouGet": {
        "symbols": ITEMS, "questions": ROWS, "epsilon": [None, *NUMBERS], "delta": CHANCES,
        "epsilon_per_item": [None, *NUMBERS], "delta_prime": [None, 0, *CHANCES],
        "accounting": ["safe", "paper", "zcdp"], "domain_rule": ["positive", "strict", "paper"],
        "ties": ["label", "unknown"],
    },
    "Asking": {"of": [PAY_WHAT_YOU_GET], "k": ITEMS, "kbar": [*ROWS, "private"], "largest": [None, 10, "30"]},
}  # fmt: skip
GOOD = listed(_GOOD, lambda samples: dict(samples.values), "_GOOD of tests/mechanisms/declared.py", also=["Asking"])
"""What a person may type in each place. Together some of it does not fit, which is on record as refused."""

_STARTS: dict[str, list[dict[str, Any]]] = {
    "Dense": [
        {"epsilon": 1},
        {"epsilon": "1/3", "base": "tight", "sampler": "fastsample", "gamma": "1/8", "cap": 9},
        {"epsilon": "1/3", "base": "gaussian", "delta": "1e-9", "clamp": False},
    ],
    "Stability": [
        {"epsilon": 1, "delta": "1e-6"},
        {"epsilon": "1/3", "delta": "1e-9", "base": "paper", "gamma": "1/8", "cap": 9},
    ],
    "PureSparse": [{"epsilon": 1}, {"epsilon": "1/3", "base": "tight", "cap": 9, "beta1": "1/8"}],
    "Compact": [{"epsilon": 1}, {"epsilon": "1/3", "sampler": "fastsample", "gamma": "1/8", "cap": 9}],
    "Tree": [
        {"epsilon": 1},
        {"epsilon": "1/3", "branching": 2, "padding": "pinned", "levels": "1,1,2", "root": "public"},
        {"epsilon": "1/3", "base": "gaussian", "delta": "1e-9"},
    ],
    "TopK": [
        {"epsilon": 1},
        {"epsilon": "1/3", "k": 3, "kbar": "private", "largest": 9},
        {"epsilon_per_item": "0.1", "delta_prime": "1e-7"},
    ],
    "TopKLaplace": [{"epsilon": 1}, {"epsilon": "1/3", "k": 3, "kbar": 9, "delta": "1e-9", "domain_rule": "paper"}],
    "TopKSet": [{"epsilon": 1}],
    "ExponentialTopK": [{"epsilon": 1}, {"epsilon": "1/3", "delta": "1e-9"}],
    "Sorted": [{"epsilon": 1}, {"epsilon": "1/3", "largest": 9}],
    "Queries": [{"epsilon": 1}, {"epsilon": "1/3", "queries": {"all": None, "a": ["A"]}}],
    "Marginals": [
        {"epsilon": 1},
        {"epsilon": "1/3", "ways": 3, "weights": {("a", "b"): 2}, "base": "gaussian", "delta": "1e-9"},
        {"epsilon": "1/3", "weights": {(): 2}, "total": "public"},
    ],
    "Threshold": [{"epsilon": 1}, {"epsilon": "1/3", "delta": "1e-9"}],
    "ALP": [
        {"epsilon": 1, "cap": 9, "keys": 5},
        {"epsilon": "1/3", "cap": "2.5", "keys": 5, "alpha": 6, "room": 4, "accounting": "l1-real"},
        {"epsilon": "1/2", "cap": 10**6, "keys": 5, "encoding": "log"},
    ],
    "ThresholdALP": [{"epsilon": 1, "keys": 5}, {"epsilon": "1/3", "keys": 5, "delta": "1e-9", "adaptive": True}],
    "MaxProjection": [{"epsilon": 1, "cap": 9, "keys": 5}, {"epsilon": "1/3", "cap": "2.5", "keys": 5, "room": 4}],
    "ThresholdMaxProjection": [{"epsilon": 1, "keys": 5}, {"epsilon": "1/3", "keys": 5, "delta": "1e-9", "room": 4}],
    "SampleCategory": [{"epsilon": 1}, {"epsilon": "1/3", "projection": "euclid", "draws": "one"}],
    "SampleBounded": [{"epsilon": 1}, {"epsilon": "1/3", "level": "1/10"}, {"epsilon": 2, "accounting": "paper"}],
    "SampleProduct": [{"epsilon": 1, "delta": "1e-6"}, {"epsilon": "1/3", "delta": "1e-9", "noise": "tight"}],
    "RandomisedRecord": [{"epsilon": 1}],
    "PayWhatYouGet": [{"epsilon": 1}, {"epsilon_per_item": "0.1", "delta_prime": "1e-7"}],
    "Asking": [{"of": PAY_WHAT_YOU_GET}, {"of": PAY_WHAT_YOU_GET, "k": 3, "kbar": "private", "largest": 9}],
}
STARTS = listed(
    _STARTS,
    lambda samples: [dict(start) for start in samples.starts],
    "_STARTS of tests/mechanisms/declared.py",
    also=["Asking"],
)
"""Parameters that are right, of which one at a time is then made wrong."""


class Odd:
    """Something that nobody types. It says what it must not."""

    def __repr__(self) -> str:
        return "canary"

    def __eq__(self, other: object) -> bool:
        raise AssertionError("asked whether it is the same")

    __hash__ = None  # type: ignore[assignment]


WRONG: list[Any] = [
    None, "", "abc", "1/0", "nan", 0, -1, 1, 2.5, "7/2", 1001, 10**30, float("inf"), True, "1e-199", "EXP",
    [1], {"a": 1}, np.array([3]), np.float64("nan"), Odd(), b"exp", "private", "strict",
]  # fmt: skip

TEXTS = ["", "0", "-1", "1.5", "abc", "true", "True", "1e99", "private"]


def of(name: str) -> Any:
    return Asking if name == Asking.__name__ else getattr(dv, name)


def digest(lines: list[str]) -> dict[str, Any]:
    """A record of many lines: how many, a digest of all, and some of them in full."""
    joined = sha256("\n".join(lines).encode()).hexdigest()
    return {"lines": len(lines), "sha256": joined, "some": lines[:: max(1, len(lines) // EXAMPLES)][:EXAMPLES]}


@lru_cache(maxsize=1)
def record() -> dict[str, Any]:
    return {
        name: {
            "signature": str(signature(name)),
            "choices": choices(name),
            "made": digest(list(made(name))),
            "refused": digest(list(refused(name))),
            "texts": digest(list(texts(name))),
            "unknown": said(lambda name=name: of(name).from_parameters({"epsilon": "1", "colour": "red"})),
        }
        for name in GOOD
    }


def signature(name: str) -> list[str]:
    """Names, kinds and defaults of the constructor, in order."""
    places = inspect.signature(of(name)).parameters.values()
    return [f"{place.name} {place.kind.name} {place.default!r}" for place in places]


def choices(name: str) -> list[Any]:
    """What a page offers. A sub-session is opened by its own pane."""
    if name == "PayWhatYouGet":
        return []
    return [[choice.name, choice.label, [list(one) for one in choice.options]] for choice in of(name).choices()]


def combinations(name: str) -> Iterator[dict[str, Any]]:
    chance = random.Random(name)
    for _ in range(ROUNDS):
        chosen = dict(chance.choice(STARTS[name]))
        for place in chance.sample(sorted(GOOD[name]), chance.randint(0, min(3, len(GOOD[name])))):
            chosen[place] = chance.choice(GOOD[name][place])
        yield chosen


def made(name: str) -> Iterator[str]:
    """What a combination says of itself, or that it is refused."""
    for chosen in combinations(name):
        try:
            thing = of(name)(**chosen)
        except DpvizError as error:
            yield f"{typed(chosen)} -> {type(error).__name__}"
            continue
        again = of(name).from_parameters(thing.parameters())
        assert again == thing and hash(again) == hash(thing) and repr(again) == repr(thing)
        kinds = [type(getattr(thing, one.name)).__name__ for one in fields(thing)]
        dearer = said(lambda thing=thing: thing.with_epsilon(Fraction(2, 3)).parameters()) if name in NAMED else ""
        yield f"{typed(chosen)} -> {json.dumps(thing.parameters())} {kinds} {thing.python} {thing!r} {dearer}"


NAMED = [name for name in GOOD if name != "PayWhatYouGet"]


def refused(name: str) -> Iterator[str]:
    """What comes of one value that is likely wrong, among others that are right."""
    for start in STARTS[name]:
        for place in GOOD[name]:
            if place == "of":
                continue
            for number, wrong in enumerate(WRONG):
                given = {**start, place: wrong}
                yield f"{typed(start)}, {place} = wrong {number}: {said(lambda given=given: of(name)(**given))}"
    yield said(lambda: of(name)(colour="red", **STARTS[name][0]))
    yield said(lambda: of(name)(*range(20)))


def texts(name: str) -> Iterator[str]:
    """What comes of a text in the place of another, as a page or a file may have it."""
    start = of(name)(**STARTS[name][-1]).parameters()
    for place in start:
        for text in TEXTS:
            given = {**start, place: text}
            outcome = said(lambda given=given: of(name).from_parameters(given).parameters())
            yield f"{place} = {text!r}: {outcome}"
    yield said(lambda: of(name).from_parameters({}))


def said(call: Any) -> str:
    """The result of a call, or its refusal."""
    try:
        return str(call())
    except Exception as error:
        assert "canary" not in str(error)
        return f"{type(error).__name__}: {error}"


def typed(given: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!s}" for name, value in given.items() if name != "of")


def offers() -> dict[str, Any]:
    """What a page lists of each mechanism, by the classes themselves."""
    return {name: offer(kind)._asdict() for name, kind in REGISTRY.items()}


if __name__ == "__main__":
    from tests.mechanisms.test_recorded import record_new

    OFFERS.write_text(json.dumps(offers(), indent=1, ensure_ascii=False) + "\n")
    RECORD.write_text(json.dumps(record(), indent=1, ensure_ascii=False) + "\n")
    record_new()
