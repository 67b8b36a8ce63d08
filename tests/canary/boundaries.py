"""Every public call there is: found by walking from `dpviz.__all__` and from the objects that its calls give.

A call is a function, a class, a method, an operator, or a property that can be set. Objects are reached through public
attributes, at any depth. Only what dpviz itself defines counts, and of that not the pure mathematics of `dpviz.noise`
and `dpviz.laws`, which takes what the library hands it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pandas as pd

import dpviz as dv
from dpviz.boundary import OPERATORS, Hidden
from dpviz.kinds import bases, is_ours
from dpviz.session.session import Session

BINS = dv.Domain.integers(0, 3, column="x")
PLACES = dv.Domain.categories(["a", "b", "c", "d"], column="place")
PAY_WHAT_YOU_GET = dv.PayWhatYouGet(symbols=20, questions=10, epsilon="1", delta="1e-7")


@dataclass(frozen=True)
class Call:
    """One public call, and how to make the object that it is called on."""

    name: str
    call: Callable[..., Any]
    raw: Any
    """The function that has the boundary."""

    @property
    def parameters(self) -> list[inspect.Parameter]:
        try:
            return list(inspect.signature(self.call).parameters.values())
        except (TypeError, ValueError):
            return []


def objects(folder: Path) -> dict[str, Any]:
    """One object of each kind that a person gets, on a real session with a ledger."""
    session = Session(_frame(), dv.Unit(), dv.Budget(1000, "1e-3"), folder / "doors.ledger")
    plan, sub = session.plan(BINS, dv.Dense(1)), session.open(PAY_WHAT_YOU_GET)
    teaching = dv.teaching(_frame(), 7)
    mechanisms = {
        "stability": dv.Stability(1, "1e-6"), "sparse": dv.PureSparse(1, cap=100), "compact": dv.Compact(1, cap=100),
        "top": dv.TopK(2, 3, 1), "laplace": dv.TopKLaplace(2, 3, 1), "set": dv.TopKSet(2, 1),
        "exponential": dv.ExponentialTopK(2, 1), "tree": dv.Tree(1, branching=2), "sorted": dv.Sorted(1),
        "queries": dv.Queries(1),
    }  # fmt: skip
    found: dict[str, Any] = {
        "session": session, "plan": plan, "sub": sub, "teaching": teaching, "remaining": session.remaining,
        "releases": session.releases, "release": session.release(BINS, dv.Dense(1)), "ledger": session.ledger,
        "opening": session.plan_open(PAY_WHAT_YOU_GET), "asking": sub.plan("place", 2), "unit": dv.Unit(),
        "budget": dv.Budget(1),
        "dense": dv.Dense(1, base="tight", cap=50), "tape parameters": PAY_WHAT_YOU_GET, "integers": BINS,
        "categories": PLACES,
        "intervals": dv.Domain.intervals([0, 1, 2], column="y"), "keys": dv.Domain.keys(column="place"),
        "product": BINS * PLACES, "question": dv.Question.of(BINS, {"x": dv.Between(0, 1)}),
        "table": teaching.table(BINS), "top table": teaching.top(PLACES), "draw": teaching.draw(BINS, dv.Dense(1)),
        "entry": session.ledger.entries()[0], "running": session.release_async(BINS, dv.Dense("1/2")),
        "workbench": dv.Workbench(session, BINS), "explorer": dv.TopKExplorer("power"),
        "composition": dv.CompositionExplorer(), "playground": dv.ConsistencyPlayground(),
        "anatomy": dv.AlpAnatomy(), "tradeoff": dv.TradeoffExplorer(),
        "sampling": dv.SamplingExplorer(), "trace of bits": dv.ProductSamplerTrace(n=1000, columns=80),
        "ranges": dv.RangeExplorer("flat"), "isotonic": dv.IsotonicExplorer("equal", n=20),
        "sampler": dv.SamplerExplorer(), "tape": dv.PayWhatYouGetTape(sub),
        "comparison": dv.MechanismComparison(None, BINS), "chart": plan.chart(), "between": dv.Between(0, 1),
        "exercise": dv.exercise("How many?", right=1, why="yes", wrong={2: "more", 0: "fewer"}),
        "draws": teaching.draw(BINS, dv.Dense(1), times=2),
        "verification": session.ledger.verify(), "error": _refused(session), **mechanisms,
    }  # fmt: skip
    found["running"].result()
    other = session.release(BINS, dv.Dense("1/3"))
    found |= {
        "derived": found["release"].compare(0, 1), "derived table": found["release"].sum([[0], [1]]),
        "combined": dv.combine(found["release"], other), "after": plan.after(found["release"]),
    }  # fmt: skip
    many = dv.Domain.integers(0, 999, column="x")
    for name, mechanism in mechanisms.items():
        asked = many if name in ("sparse", "compact", "stability", "tree") else PLACES
        answered = session.release(asked, mechanism)
        found |= {
            f"{name} release": answered,
            f"{name} terms": answered.terms,
            f"{name} bound": session.plan(asked, mechanism).bound,
            f"{name} answer": answered.answer,
        }
    return found


def _frame() -> pd.DataFrame:
    rows = range(400)
    return pd.DataFrame(
        {"x": [i % 4 for i in rows], "y": [i % 3 for i in rows], "place": ["abcd"[i % 4] for i in rows]}
    )


def _refused(session: Session) -> Exception:
    try:
        session.release(BINS, dv.Dense(1000), key="too much")
    except dv.DpvizError as error:
        return error
    raise AssertionError


def reached(roots: dict[str, Any]) -> dict[type, tuple[str, Any]]:
    """One object of each class of ours that public attributes lead to, with the path to it."""
    queue, found = list(roots.items()), dict[type, tuple[str, Any]]()
    while queue:
        name, thing = queue.pop(0)
        if isinstance(thing, dict):
            queue += [(f"{name}[{key!r}]", value) for key, value in list(thing.items())[:1]]
        if isinstance(thing, tuple | list):
            queue += [(f"{name}[0]", value) for value in thing[:1]]
        kind = next((base for base in bases(type(thing)) if is_ours(base)), None)  # a component makes itself a class
        if kind is None or kind in found or isinstance(thing, type | Hidden):
            continue
        found[kind] = name, thing
        for attribute in sorted({*dir(kind), *getattr(thing, "__dict__", {})}):
            if attribute.startswith("_"):
                continue
            try:
                value = getattr(thing, attribute)
            except Exception:  # a property that refuses on this object
                continue
            if not callable(value) or is_ours(type(value)):
                queue.append((f"{name}.{attribute}", value))
    return found


def calls(roots: dict[str, Any]) -> list[Call]:
    """Every public call that takes something, for each object that it is reached on."""
    return [
        call
        for call in _calls(roots)
        if call.parameters and not _mathematics(call.raw) and not call.name.endswith("running.start")
    ]


def _mathematics(call: Any) -> bool:
    return str(call.__module__).startswith(("dpviz.noise.", "dpviz.laws.", "altair.", "enum"))


def _calls(roots: dict[str, Any]) -> Iterator[Call]:
    seen = set()
    for module in (dv, dv.charts, dv.datasets, dv.sources):
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type):
                seen.add(thing)
                yield from _of_class(name, thing, None)
            elif not isinstance(thing, ModuleType):
                yield Call(f"{module.__name__}.{name}", thing, thing)
    for kind, (name, thing) in reached(roots).items():
        if kind not in seen:
            yield from _of_class(name, kind, None)
        yield from _of_class(name, kind, thing)


def _of_class(name: str, kind: type, thing: Any) -> Iterator[Call]:
    if thing is None:
        raw = next((vars(base)["__init__"] for base in bases(kind) if "__init__" in vars(base)), None)
        if isinstance(raw, FunctionType):
            yield Call(f"{kind.__name__}()", kind, raw)
        names = [n for n in dir(kind) if not n.startswith("_")]
        for attribute in names:
            home, member = _defined(kind, attribute)
            if home is not None and isinstance(member, staticmethod | classmethod):
                yield Call(f"{kind.__name__}.{attribute}", getattr(kind, attribute), member.__func__)
        return
    for attribute in dir(kind):
        if attribute.startswith("_") and (attribute not in OPERATORS or attribute == "__init__"):
            continue
        home, member = _defined(kind, attribute)
        if home is None:
            continue
        if isinstance(member, FunctionType):
            yield Call(f"{name}.{attribute}", getattr(thing, attribute), member)
        elif isinstance(member, property) and member.fset is not None:
            yield Call(f"{name}.{attribute} =", _setter(thing, attribute), member.fset)


def _setter(thing: Any, name: str) -> Callable[[Any], None]:
    return lambda value: setattr(thing, name, value)


def _defined(kind: type, name: str) -> tuple[type | None, Any]:
    """Where an attribute is defined, if that is in dpviz, and what it is there."""
    for base in bases(kind):
        if name in vars(base):
            return (base if is_ours(base) else None), vars(base)[name]
    return None, None
