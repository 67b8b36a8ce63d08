"""Each mechanism and sub-session with parameters from both ends of what it takes, asked anything, at random.

The cases follow from what the mechanisms declare (`Parameters._declared`), so a new mechanism is swept without a line
here; a parameter that is read in a way that nobody has named yet fails until `ODD` or `of_reader` knows values of it.
"""

from __future__ import annotations

import random
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dpviz as dv
from dpviz.errors import BudgetExceeded, DpvizError
from dpviz.mechanisms import OPENINGS, REGISTRY
from dpviz.model.mechanism import Cost
from dpviz.model.parameters import (
    Epsilon,
    ExactNumber,
    OneOf,
    Parameter,
    Parameters,
    Probability,
    Reader,
    Switch,
    WholeNumber,
)
from dpviz.model.release import Release
from dpviz.session.session import Session

EPSILONS = ("1e-9", "1e-6", "1/1000", "1/7", "1", "3", "10", "38", "100", "333.3", "1000")
CHANCES = ("1e-190", "1e-100", "1e-30", "1e-12", "1e-6", "1/7", "0.999")
ONE_OVER = ("1/2", "1/1000", "1/1048576", "1/1000000000000000000000000000000")
NUMBERS = (1, 2, 3, 10, 50, 1_000, 10**6, 2**32, 2**53, 10**18)
EXACT = ("1/1000", "1/20", "1/4", "1/3", "0.49", "1", "3", "17.5", "1000")

ODD: dict[str, tuple[Any, ...]] = {
    "Weights": ("1", "1,1,2", "3,0,1", "1000,0,0,1"),
    "TableWeights": ({(): 2}, {("x",): 3}),
    "NamedLabels": (),
    "WholeOrAuto": ("auto", 2, 3, 16, 1000, 2**20),
    "RowsOrPrivate": (1, 3, 50, 1_000, "private"),
    "Cap": (1, 50, 1_000, 10**6),
    "Steps": (1, 50, 1_000),
    "Room": (1, 2, 10, 1000),
    "Positive": ("1/1000", "1/3", 1, 50, 1000, 10**6),
    "OneOver": ONE_OVER,
    "JunkChance": ONE_OVER,
}
"""Values for the readers that are not of the general kinds, by the name of their class."""


def of_reader(reader: Reader, earlier: dict[str, Any]) -> Sequence[Any]:
    """Values from both ends of what a parameter takes."""
    odd = ODD.get(type(reader).__name__)
    if odd is not None:
        return odd
    if isinstance(reader, OneOf):
        return reader.options
    if isinstance(reader, Switch):
        return (True, False)
    if isinstance(reader, Epsilon):
        return EPSILONS
    if isinstance(reader, Probability):
        return CHANCES
    if type(reader) is ExactNumber:
        return EXACT
    if isinstance(reader, WholeNumber):
        return [number for number in NUMBERS if reader.most is None or number <= reader.most]
    raise AssertionError(f"name values of {type(reader).__name__} in tests/session/sweep.py")


def needed(one: Parameter) -> bool:
    return one.default is MISSING or (one.default is None and not one.optional)


def drawn(kind: type[Parameters], chance: random.Random) -> dict[str, Any]:
    """Arguments of a mechanism or an opening: epsilon and all that is needed, and some of the others."""
    given: dict[str, Any] = {}
    for name, one in kind._declared.items():
        own = {"DisjointParts": (PARTS[0],), "LinesReader": LISTS}.get(type(one.reads).__name__)
        values = of_reader(one.reads, given) if own is None else own
        if one.only is not None:
            wanted = given.get(one.only[0]) == one.only[1]
        elif name == "epsilon":
            wanted = needed(one) or chance.random() < 0.9
        elif one.beside == "epsilon":
            wanted = "epsilon" not in given and (name == "epsilon_per_item" or chance.random() < 0.5)
        else:
            wanted = needed(one) or chance.random() < (0.6 if name in ("cap", "delta") else 0.25)
        if wanted and values:
            given[name] = chance.choice(list(values))
    return given


# ---------------------------------------------------------------- what is asked, of what, and of whom

SIZES = (1, 2, 3, 50, 1_000, 2**16, 2**30, 2**40, 2**64)
WORDS = dv.Domain.categories(["a", "b", "é", "</script>"], column="word")
MONTHS = dv.Domain.integers(1, 4, column="month")
BIT = dv.Domain.integers(0, 1, column="bit")
PARTS: tuple[Any, ...] = (
    MONTHS,
    dv.Partition(MONTHS, max_parts=1),
    {"one": {"month": [1]}, "others": {"month": dv.Between(low=2)}},
)
LISTS: tuple[Any, ...] = (
    [(WORDS, dv.Dense(Fraction(parts, 1000))) for parts in range(70, 100)],
    [("word", dv.Stability("1/9", "1e-9")), ("word", dv.TopK(2, 3, "1/9", "1e-9")), (MONTHS, dv.Tree("1/7"))],
)
STEPS = (Fraction(1, 100), 1, 5)


def bins(chance: random.Random) -> Any:
    pick = chance.random()
    if pick < 0.55:
        return dv.Domain.integers(0, chance.choice(SIZES) - 1, column="x")
    made: list[Callable[[], Any]] = [
        lambda: WORDS,
        lambda: dv.Domain.keys(column="word"),
        lambda: dv.Domain.intervals(["0", "1e-150", "1/3", "2"], column="x"),
        lambda: dv.Domain.integers(10**190, 10**190 + 3, column="x"),
        lambda: BIT * WORDS,
        lambda: BIT * dv.Domain.keys(column="word"),
        lambda: dv.Domain.product(*(dv.Domain.integers(0, 9, column=name) for name in ("x", "bit", "month"))),
    ]
    return chance.choice(made)()


def question(kind: Any, chance: random.Random) -> Any:
    if getattr(kind, "draws_records", False):
        columns = chance.choice([[BIT], [BIT, WORDS], [dv.Domain.integers(0, 2**40, column="x")],
                                 [dv.Domain.integers(0, 1, column=name) for name in ("bit", "coin", "x")]])  # fmt: skip
        return dv.Question.records(columns)
    domain = bins(chance)
    if chance.random() < 0.15:
        return dv.Question.sum("pay", by=domain, low=chance.choice([0, 0, -5]), high=10, step=chance.choice(STEPS))
    return domain


UNITS: dict[str, dv.Unit] = {
    "row": dv.Unit("row", noun="person"),
    "replaced row": dv.Unit("row", relation="replace-one", n=50, noun="person"),
    "user": dv.Unit("p", max_bins=2, max_per_bin=3, noun="person"),
    "replaced user": dv.Unit("p", max_bins=2, relation="replace-one", noun="person"),
}


@lru_cache(maxsize=1)
def frame() -> pd.DataFrame:
    chance = np.random.default_rng(1)
    words = ["a", "b", "b", "é", "w" * 500] * 10
    return pd.DataFrame(
        {
            "x": [0, 1, 1, 2, 3, 3, 3, 3, 0, 0] * 5,
            "word": words,
            "month": [1, 2, 3, 4, 4] * 10,
            "bit": chance.integers(0, 2, 50),
            "coin": chance.integers(0, 2, 50),
            "pay": chance.integers(-300, 1000, 50) / 100,
            "p": [f"p{i % 20}" for i in range(50)],
        }
    )


def session(place: Path, unit: str) -> Session:
    budget = dv.Budget(10**6, "0.9999999")
    return Session(frame(), UNITS[unit], budget, place / f"{unit.replace(' ', '-')}.ledger", dataset="swept")


# ---------------------------------------------------------------- one case

PATIENCE = 120
"""Processor seconds after which a plan or a draw is given up. It is no measure of speed: it ends a sweep that hangs."""
LONG_PLAN, LONG_DRAW = 1.0, 2.0


class NeverCame(Exception):
    """A plan or an answer for which nobody would wait."""


@contextmanager
def given_up(seconds: float = PATIENCE) -> Iterator[None]:
    def over(*_: object) -> None:
        raise NeverCame

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@dataclass
class Swept:
    """What came of all cases: how many, and whatever broke the rule."""

    paid: int = 0
    refused: int = 0
    slow: int = 0
    longest: float = 0.0
    faults: list[str] = field(default_factory=list)
    long_plans: list[str] = field(default_factory=list)
    long_draws: list[str] = field(default_factory=list)
    answers: dict[str, dict[str, str]] = field(default_factory=dict)


def planned(swept: Swept, text: str, plan: Callable[[], Any]) -> Any:
    """The plan, shown; None where it is refused. How long it took is written down."""
    began = time.process_time()
    try:
        with given_up():
            made = plan()
            repr(made)
    except DpvizError as refused:
        made = None
        assert str(refused), text
    spent = time.process_time() - began
    swept.longest = max(swept.longest, spent)
    if spent > LONG_PLAN:
        swept.long_plans.append(f"{spent:.1f} s: {text}")
    return made


def kept(
    swept: Swept, text: str, cost: Cost | None, draw: Callable[[], Release], everywhere: Callable[[Release], None]
) -> Release | None:
    """The answer, drawn and shown everywhere; None where the budget refuses it, or the plan has called it slow."""
    if cost is not None and cost.slow:
        swept.slow += 1
        return None
    began = time.process_time()
    try:
        release = draw()
    except BudgetExceeded:
        swept.refused += 1
        return None
    spent = time.process_time() - began
    if spent > LONG_DRAW:
        swept.long_draws.append(f"{spent:.1f} s: {text}")
    everywhere(release)
    swept.paid += 1
    return release


def one(
    swept: Swept, it: Session, name: str, chance: random.Random, key: str, everywhere: Callable[[Release], None]
) -> None:
    """One case: planned means chargeable means drawn means read back and shown; refused means free and told by us."""
    kind: Any = REGISTRY[name] if name in REGISTRY else OPENINGS[name]
    given, head, text = drawn(kind, chance), it.ledger.head(), ""
    try:
        if name in OPENINGS:
            text = f"{name} {given} of {it.unit.text}"
            _opened(swept, it, kind, given, chance, text, key, everywhere)
            return
        asked = question(kind, chance)
        by = chance.choice(PARTS) if chance.random() < 0.12 else None
        text = f"{name} {given} on {getattr(asked, 'text', asked)!s:.80} by {by!s:.30} of {it.unit.text}"
        plan = planned(swept, text, lambda: it.plan(asked, kind(**given), by=by))
        if plan is None:
            swept.refused += 1
            assert it.ledger.head() == head
            return
        release = kept(
            swept, text, plan.bound.cost, lambda: it.release(asked, kind(**given), by=by, key=key), everywhere
        )
        if release is not None and it.releases[release.number].to_bytes() != release.to_bytes():
            raise AssertionError("the ledger holds another answer")
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        where = "".join(traceback.format_exception(error)[-3:])[-700:]
        swept.faults.append(f"{text}: {type(error).__name__}: {error!s:.300}\n{where}")


def _opened(
    swept: Swept, it: Session, kind: Any, given: dict[str, Any], chance: random.Random, text: str, key: str,
    everywhere: Callable[[Release], None],
) -> None:  # fmt: skip
    head = it.ledger.head()
    plan = planned(swept, text, lambda: it.plan_open(kind(**given)))
    if plan is None:
        swept.refused += 1
        assert it.ledger.head() == head
        return
    try:
        sub = it.open(kind(**given), key=key)
    except BudgetExceeded:
        swept.refused += 1
        return
    swept.paid += 1
    if kind.name == "Parts":
        inner = chance.choice([name for name in REGISTRY if not REGISTRY[name].draws_records])
        terms = {**drawn(REGISTRY[inner], chance), "epsilon": given["epsilon"]}
        question, arguments = (
            bins(chance),
            {"mechanism": (inner, terms), "part": chance.choice(sub.parameters.by.names)},
        )
        made = lambda: {**arguments, "mechanism": REGISTRY[inner](**terms)}  # noqa: E731
    elif kind.name == "FixedList":
        question, mechanism = chance.choice(given["lines"])
        made = lambda: {"mechanism": mechanism}  # noqa: E731
        arguments = repr(mechanism)
    else:
        question, arguments = chance.choice(["word", WORDS]), {"k": 1, "kbar": chance.choice([1, 2, 3, 50, "private"])}
        made = lambda: arguments  # noqa: E731
    head, text = it.ledger.head(), f"{text}, asked {question!s:.60} {arguments}"
    use = planned(swept, text, lambda: sub.plan(question, **made()))
    if use is None:
        swept.refused += 1
        assert it.ledger.head() == head
        return
    release = kept(swept, text, use.bound.cost, lambda: sub.ask(question, **made(), key=key), everywhere)
    assert release is None or it.sub_sessions[sub.number].answer(release.use).to_bytes() == release.to_bytes()
