"""Questions to paid answers, with whatever a person or a program may pass: an answer that holds, or a refusal of ours.

The first half draws small cases at random and enumerates the whole law of each, so that an interval that misses too
often is found wherever it hides. The second passes odd arguments to every shape of answer.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError
from dpviz.exact import Decay
from dpviz.model.answers import Ranges, Ranks, SparseTable
from dpviz.model.derived import Derived
from tests.model.whole_laws import ALL, clamped, joint, noise, release_of, table

CASES = 10
"""So many cases of each kind: mechanism, truth, question, beta and among all come from a case's number."""

Outcome = tuple[tuple[Any, ...], int]
Drawn = tuple[Callable[[tuple[Any, ...]], Any], Iterator[Outcome], tuple[int, ...]]


def question(size: int) -> dv.Question:
    return dv.Question.of(dv.Domain.integers(0, size - 1, column="x"))


def dense(chance: random.Random) -> Drawn:
    """Counts as they are, raised to 0, or kept below a public top as well."""
    rate = Fraction(chance.choice(["3/2", "2"]))
    low, top = chance.choice([(None, None), (0, None), (0, 3)])
    more = {"clamp": False} if low is None else {"cap": 3} if top else {}
    bound = dv.Dense(rate, **more).bind(question(2), dv.Unit())
    truth = tuple(chance.randrange(4) for _ in range(2))
    law = joint([clamped(count, noise(Decay.exp(rate), 5), low, top) for count in truth])
    return lambda values: table(bound, values), law, truth


def tree(chance: random.Random) -> Drawn:
    rate, truth = Fraction(2), tuple(chance.randrange(6) for _ in range(2))
    bound = dv.Tree(2 * rate, branching=2).bind(question(2), dv.Unit())
    nodes = (sum(truth), *truth)
    law = joint([clamped(count, noise(Decay.exp(rate), 3), None, None) for count in nodes])
    design = bound.law.design
    return lambda values: release_of(bound, Ranges(design, np.array(values, dtype=np.int64), None)), law, truth


def ranks(chance: random.Random) -> Drawn:
    """Rank 1 is the larger of two counts; labels 0 and 1 of a question stand for ranks 1 and 2."""
    rate = Fraction(chance.choice(["3/2", "2"]))
    bound = dv.Sorted(rate).bind(question(2), dv.Unit())
    truth = tuple(sorted((chance.randrange(5) for _ in range(2)), reverse=True))
    law = joint([clamped(count, noise(Decay.exp(rate), 5), None, None) for count in truth])
    return lambda values: release_of(bound, Ranks(np.array(values, dtype=np.int64))), law, truth


def stability(chance: random.Random) -> Drawn:
    bound = dv.Stability(1, "1/20").bind(question(2), dv.Unit(max_bins=1))
    threshold = bound.threshold
    truth = tuple(chance.choice([0, 1, threshold - 1, threshold, threshold + 2]) for _ in range(2))

    def one(count: int) -> dict[int, int]:
        return {0: ALL} if count == 0 else clamped(count, noise(Decay.exp(Fraction(1)), 7), None, None)

    def answer(values: tuple[Any, ...]) -> Any:
        shown = [(place, value) for place, value in enumerate(values) if value > threshold]
        return release_of(
            bound,
            SparseTable(tuple(place for place, _ in shown), np.array([value for _, value in shown], dtype=np.int64)),
        )

    return answer, joint([one(count) for count in truth]), truth


KINDS: dict[str, Callable[[random.Random], Drawn]] = {"dense": dense, "tree": tree, "ranks": ranks, "sparse": stability}


def asked(chance: random.Random, kind: str, truth: tuple[int, ...]) -> tuple[Callable[[Any], Any], Fraction | None]:
    """A random question, and its true answer; None where a share of nothing has none."""
    places = range(len(truth))
    shift = 1 if kind == "ranks" else 0
    some = sorted(chance.sample(places, chance.randint(1, len(truth))))
    other = sorted(chance.sample(places, chance.randint(1, len(truth))))
    beta = Fraction(chance.choice(["1/100", "1/20", "1/5", "1/2", "9/10"]))
    among = chance.choice(["one", "one", "one", 2, "all"])
    how: dict[str, Any] = {"beta": beta, "among": among}
    labels, others = [place + shift for place in some], [place + shift for place in other]
    match chance.choice(["sum", "range", "difference", "share", "compare"]):
        case "difference" | "compare" if some != other and len(some) == len(other) == 1:
            return lambda it: it.difference(labels, others, **how), Fraction(truth[some[0]] - truth[other[0]])
        case "range":
            low, high = min(labels), max(labels)
            return lambda it: it.range(low, high, **how), Fraction(sum(truth[low - shift : high - shift + 1]))
        case "share" if len(some) < len(truth):
            whole = sum(truth)
            part = sum(truth[place] for place in some)
            return lambda it: it.share(labels, **how), Fraction(part, whole) if whole else None
        case _:
            return lambda it: it.sum(labels, **how), Fraction(sum(truth[place] for place in some))


Miss = Callable[[Fraction, Derived], bool]


def missing(kind: str, misses: Miss) -> Iterator[tuple[int, Fraction, Fraction]]:
    """For each random case of a kind its number, how often its answer misses the truth, and how often it may."""
    for seed in range(CASES):
        chance = random.Random(f"{kind} {seed}")
        answer, law, truth = KINDS[kind](chance)
        ask, wanted = asked(chance, kind, truth)
        if wanted is None:
            continue
        missed, beta = 0, Fraction(0)
        for values, weight in law:
            found = ask(answer(values))
            assert isinstance(found, Derived)
            beta = found.beta
            missed += weight * misses(wanted, found)
        yield seed, Fraction(missed, ALL), beta


def outside(wanted: Fraction, found: Derived) -> bool:
    low, high = found.interval
    return not ((low is None or low <= wanted) and (high is None or wanted <= high))


def outside_of_half(wanted: Fraction, found: Derived) -> bool:
    """The same of an interval around the same middle, half as long."""
    low, high = found.interval
    return low is not None and high is not None and abs(2 * wanted - low - high) * 2 > high - low


@pytest.mark.parametrize("kind", KINDS)
def test_an_interval_of_a_random_question_misses_no_oftener_than_it_says(kind: str) -> None:
    """Noise beyond what is enumerated is taken to hold: a lie there would go unseen, and no truth is called a lie."""
    told = 0
    for seed, missed, beta in missing(kind, outside):
        told += missed > 0
        assert missed <= beta, seed
    assert told, "no interval ever missed: nothing was tested"


@pytest.mark.parametrize("kind", ["dense", "ranks"])
def test_intervals_cut_to_half_their_length_are_found_out(kind: str) -> None:
    assert sum(missed > beta for _, missed, beta in missing(kind, outside_of_half)) >= 2


# ---------------------------------------------------------------- odd arguments


FRAME = pd.DataFrame({"x": [0] * 30 + [1] * 12 + [3] * 7 + [6] * 2, "c": ["a"] * 40 + ["b"] * 11})
NUMBERS = dv.Domain.integers(0, 7, column="x")
NAMES = dv.Domain.categories(["a", "b", "", "é <b>"], column="c", other=True)
EDGES = dv.Domain.intervals([0, 1, "2.5", 8], column="x")
HUGE = dv.Domain.integers(0, 2**64 - 1, column="x")
ROWS = dv.Unit(relation="replace-one", n=51)


def drawn(domain: Any, mechanism: Any, unit: dv.Unit | None = None, seed: int = 3) -> Any:
    return dv.teaching(FRAME, seed=seed, unit=unit).draw(domain, mechanism)


ANSWERS: dict[str, Callable[[], Any]] = {
    "dense": lambda: drawn(NUMBERS, dv.Dense(1)),
    "dense, open": lambda: drawn(EDGES, dv.Dense(1, clamp=False)),
    "dense, product": lambda: drawn(NUMBERS * NAMES, dv.Dense(1)),
    "finite": lambda: drawn(NUMBERS, dv.Dense(1, base="tight", sampler="fastsample"), ROWS),
    "tree": lambda: drawn(NUMBERS, dv.Tree(2, branching=2)),
    "tree, pinned": lambda: drawn(EDGES, dv.Tree(2, branching=2, padding="pinned", root="public"), ROWS),
    "ranks": lambda: drawn(NAMES, dv.Sorted(1)),
    "queries": lambda: drawn(NAMES, dv.Queries(1, {"all": None, "two": ["a", "b"]})),
    "stability": lambda: drawn(NUMBERS, dv.Stability(1, "1e-2")),
    "keys": lambda: drawn(dv.Domain.keys(column="c"), dv.Stability(1, "1e-2")),
    "pure": lambda: drawn(HUGE, dv.PureSparse(1), ROWS),
    "compact": lambda: drawn(HUGE, dv.Compact(1), ROWS),
    "list": lambda: drawn(NAMES, dv.TopKLaplace(k=2, kbar=3, epsilon=1, delta="1e-2")),
    "set": lambda: drawn(NAMES, dv.TopKSet(k=2, epsilon=1, delta="1e-2")),
    "both": lambda: dv.combine(drawn(NUMBERS, dv.Dense(2, clamp=False)), drawn(NUMBERS, dv.Dense(1), seed=4)),
    "both, shown": lambda: dv.combine(*(drawn(NUMBERS, dv.Stability(1, "1e-2"), seed=seed) for seed in (5, 6))),
}

LABELS: list[Any] = [
    None, [], [0], [0, 0], [1, 0], "a", ["a", "b"], "", "zzz", (0, 1), (0, "a"), [(0, "a"), (1, "b")], range(8),
    range(7, -1, -1), range(0, 8, 2), range(0), range(10**12), range(0, 10**12, 2), range(-5, 10**25), np.int64(1),
    [np.int64(1), np.int32(2)], np.array([1, 2]), float("nan"), [float("nan")], float("inf"), 1.0, 1.5, "1", True,
    Fraction(1, 2), 10**30, -1, {"n": [0]}, {}, {1: [0]}, [[0], [1]], [[0], []], [[0, 1], [1, 2]], [None], [[None]],
    [[0], 1], object(), b"a", {0, 1}, pd.NA, FRAME.x, FRAME,
]  # fmt: skip
BETAS: list[Any] = [0, 1, "1e-9", "1e-30", "0.999", -1, float("nan"), "x", None, np.float64(0.05), True, 10**400]
AMONG: list[Any] = [2, 10**18, 10**400, 0, -1, True, 1.5, np.int64(3), "two", None, [], float("nan"), np.array([1, 2])]


def refused_or_shown(ask: Callable[[], Any]) -> bool:
    """Whether it is answered: then every form of it can be written. Anything but a refusal of ours fails."""
    try:
        found = ask()
    except DpvizError as refusal:
        assert str(refusal) and "Traceback" not in str(refusal)
        return False
    assert repr(found) and found.to_json() is not None and "<table>" in found._repr_html_() and len(found.to_frame())
    for row in [found] if isinstance(found, Derived) else found:
        assert row.low is None or row.high is None or row.low <= row.high
    return True


@pytest.mark.parametrize("shape", ANSWERS)
def test_odd_arguments_get_an_answer_or_a_refusal_of_ours_and_cost_nothing(shape: str) -> None:
    it = ANSWERS[shape]()
    asks: list[Callable[[], Any]] = []
    for labels in LABELS:
        asks += [
            lambda labels=labels: it.sum(labels),  # type: ignore[misc]
            lambda labels=labels: it.range(labels, 3),  # type: ignore[misc]
            lambda labels=labels: it.difference(labels, [2]),  # type: ignore[misc]
            lambda labels=labels: it.share([0], labels),  # type: ignore[misc]
            lambda labels=labels: it.compare(labels, "a"),  # type: ignore[misc]
        ]
    answered = sum(map(refused_or_shown, asks))
    good = next((label for label in (1, "a", (1, "a")) if refused_or_shown(lambda label=label: it.sum([label]))), 1)  # type: ignore[misc]
    for name, values in (("beta", BETAS), ("among", AMONG)):
        for value, call in itertools.product(values, ("sum", "compare", "share")):
            given = ([good],) if call == "sum" else ([good], None)
            how = {name: value}
            answered += refused_or_shown(lambda call=call, given=given, how=how: getattr(it, call)(*given, **how))  # type: ignore[misc]
    assert answered >= 2 or shape == "set", "nothing was answered: the arguments do not reach this shape"
