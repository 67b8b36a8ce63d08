"""A hostile page: only refusals of ours come back, and only what was asked is charged, at the price that was shown."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpviz as dv
from dpviz import errors
from dpviz.exact import typed
from dpviz.model.public import PublicTable
from dpviz.widgets.dispatcher import MOST_WAITING, Superseded
from tests.patience import patience, until
from tests.session.sources import KnownCounts, KnownTop
from tests.soak.amounts import record, rounds
from tests.soak.hostile import HostilePage, Target
from tests.soak.kernels import RealKernel
from tests.widgets.pages import Message, Wire, content

FAMILY = {
    name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.DpvizError)
} | {Superseded.__name__}  # fmt: skip
BATCH = 50
assert BATCH < MOST_WAITING
DECLARED = {"underflow": False, "overflow": True, "missing": False}


def session(path: Path, name: str) -> dv.Session:
    source = KnownCounts([40, 50, 60, 70])
    return dv.Session(source, dv.Unit(noun="person"), dv.Budget(60), path / f"{name}.ledger")  # type: ignore[arg-type]


def sub_session(path: Path) -> Any:
    source = KnownTop({"": {"ATL": 7919, "STL": 6841, "BOS": 5}})
    opened = dv.Session(source, dv.Unit("person"), dv.Budget("2", "1e-5"), path / "f.ledger")  # type: ignore[arg-type]
    return opened.open(dv.PayWhatYouGet(symbols=900, questions=400, epsilon="1", delta="1e-6"))


def session_asks(question: str) -> Callable[[random.Random], dict[str, Any]]:
    """Asks of the page of a session model, with prices that are right for Dense."""

    def valid(rng: random.Random) -> dict[str, Any]:
        epsilon = str(Fraction(rng.randint(1, 40), 100))
        asked: Any = {"id": question}
        if rng.random() < 0.3:
            asked = {"kind": "integers", "column": "x", "low": "0", "high": "3", **DECLARED}
        if rng.random() < 0.1:
            column = {"kind": "integers", "column": "x", "low": "0", "high": "3", **DECLARED}
            asked = {"kind": "records", "columns": [column], "otherwise": rng.choice([{}, {"x": "2"}, {"y": "2"}])}
        if rng.random() < 0.1:
            asked = {"kind": "categories", "column": "x", "labels": ["a", "b", "c"], "other": True, "missing": False}
        plan = {"question": asked, "mechanism": "Dense", "parameters": {"epsilon": epsilon}}
        if rng.random() < 0.15:
            plan["mechanism"] = rng.choice(
                ["Stability", "PureSparse", "TopK", "Compact", "SampleCategory", "PayWhatYouGet", "Laplace"]
            )
        ask = rng.choice(
            ["plan", "plan", "after", "release", "release", "cancel", "status", "show", "read", "ask", "table", "draw"]
        )
        return {"ask": ask, "args": {
            "plan": plan,
            "after": plan,
            "release": {**plan, "price": {"epsilon": rng.choice([epsilon, epsilon, epsilon, "0.01"]), "delta": "0"},
                        "key": rng.choice([None, None, f"again-{rng.randrange(30)}"])},
            "cancel": {}, "status": {}, "show": {"number": str(rng.randint(1, 30))},
            "read": {"number": str(rng.randint(1, 30)), "points": [[str(rng.randint(0, 5))]], "beta": "0.05",
                     "reader": rng.choice(["", "", "likelihood"])},
            "draw": {"number": str(rng.randint(0, 30) or ""), "count": rng.choice(["1", "10", "100", "101", "-1", ""])},
            "table": {"number": str(rng.randint(1, 30)), "start": rng.choice(["0", "0", "40", "-1", "9999999"])},
            "ask": {"number": str(rng.randint(0, 30) or ""), "beside": rng.choice(["", "", "1"]),
                    "what": rng.choice(["stretch", "pair"]), "by": rng.choice(["rows", "labels"]),
                    "first": [str(rng.randint(-1, 4))], "second": [str(rng.randint(0, 5))],
                    "picked": rng.choice(["before", "after"]), "beta": rng.choice(["0.05", "0.05", "0.01", "0.3"])},
        }[ask]}  # fmt: skip

    return valid


def sub_session_asks(question: str, left: Callable[[], str]) -> Callable[[random.Random], dict[str, Any]]:
    def valid(rng: random.Random) -> dict[str, Any]:
        k = rng.randint(1, 4)
        plan = {"question": question, "k": str(k), "kbar": str(k + rng.randint(0, 5))}
        ask = rng.choice(["plan", "release", "release", "cancel", "status", "show"])
        return {"ask": ask, "args": {
            "plan": plan,
            "release": {**plan, "most": str(k), "left": left(),
                        "key": rng.choice([None, f"again-{rng.randrange(300)}"])},
            "cancel": {}, "status": {}, "show": {"number": str(rng.randint(1, 30))},
        }[ask]}  # fmt: skip

    return valid


def moves(place: dict[str, str]) -> Callable[[random.Random], dict[str, Any]]:
    def valid(rng: random.Random) -> dict[str, Any]:
        if rng.random() < 0.2:
            return {"ask": "status", "args": {}}
        return {"ask": "move", "args": {"place": {**place, rng.choice(list(place)): str(rng.randint(1, 50))}}}

    return valid


def ranges(rng: random.Random) -> dict[str, Any]:
    """Asks of the page of a range explorer over twenty bins, some of them outside."""
    low, high = str(rng.randint(-1, 20)), str(rng.randint(0, 21))
    place = {"first": "0", "last": "19", "low": low, "high": high}
    ask = rng.choice(["status", "move", "read", "read"])
    points = [[rng.choice(["bins", "labels"]), low, high]]
    return {"ask": ask, "args": {"status": {}, "move": {"place": place}, "read": {"points": points}}[ask]}


def target(view: Any, valid: Callable[[random.Random], dict[str, Any]], weight: float = 1) -> Target:
    models = (view, view.layout, view.board)
    return Target(
        view.name, [model.model_id for model in models], [key for model in models for key in model.keys], valid, weight
    )


def brief(message: Message) -> Message:
    """Of a message what the test looks at: sheets are long, and there are very many."""
    said = content(message)
    body = said.get("body") or {}
    result, error = body.get("result") or {}, said.get("error") or body.get("error") or {}
    short = {name: said[name] for name in ("re", "ok", "event") if name in said}
    short |= {"token": body.get("token"), "number": body.get("number") or result.get("number")}
    short |= {"kind": error.get("kind"), "error": error.get("message")}
    return {"method": message.get("method"), "content": short}


def test_only_refusals_of_ours_come_back_and_only_what_was_asked_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    wire = Wire(monkeypatch, brief)
    opened = session(tmp_path, "a")
    bench = dv.Workbench(opened, dv.Domain.integers(0, 3, column="x"))
    question = json.loads(bench.sheet)["question"]["id"]
    pane = dv.ReleasePane(bench)
    sub = sub_session(tmp_path)
    view = dv.PayWhatYouGetTape(sub, {"All year": dv.Domain.keys(column="dest")})
    offer = json.loads(view.state)["offers"][0]["id"]
    explorers = [dv.SamplerExplorer(), dv.CompositionExplorer(), dv.TopKExplorer("power")]
    explorers += [dv.ConsistencyPlayground(), dv.IsotonicExplorer("equal", n=20), dv.AlpAnatomy()]
    explorers += [dv.SamplingExplorer(), dv.ProductSamplerTrace(n=1000, columns=80)]
    twenty = PublicTable(dv.Domain.integers(0, 19, column="x"), np.arange(20))
    ranging = dv.RangeExplorer(twenty, branching=2)
    comparison = dv.MechanismComparison(opened, dv.Domain.integers(0, 3, column="x"), ["Dense", "Stability"])
    views = [bench, pane, view, *explorers, ranging, comparison]
    fixed = {view: {name: getattr(view, name) for name in view.keys} for view in views}
    layouts = {view: view.layout.get_state() for view in views}
    targets = [target(bench, session_asks(question)), target(pane, session_asks(question))]
    targets += [target(view, sub_session_asks(offer, lambda: str(sub.symbols_left)))]
    for view in [*explorers, comparison]:  # their sheets take long, and nothing can be charged there
        targets += [target(view, moves(dict(json.loads(view.sheet)["now"]["at"])), 0.02)]
    targets += [target(ranging, ranges, 0.02)]
    page = HostilePage(83, targets)
    models = {model.model_id: model for view in views for model in (view, view.layout, view.board)}
    said: Counter[str] = Counter()
    seen, whole = 0, rounds(100_000)
    for done in range(0, whole, BATCH):
        expected: set[str] = set()
        for _ in range(min(BATCH, whole - done)):
            _, model, data, asked = page.next()
            wire.send(models[model], data)
            if asked is not None and model in {view.model_id for view in views} and data.get("method") == "custom":
                expected.add(asked)
        deadline = time.monotonic() + patience()
        while expected:
            fresh = wire.sent[seen:]
            seen += len(fresh)
            for _, message in fresh:
                one = content(message)
                expected.discard(str(one.get("re")))
                said["ok" if one.get("ok") else str(one.get("kind") or one.get("event") or "trait")] += 1
                assert one.get("kind") is None or one["kind"] in FAMILY - {"DpvizError"}, one
                if one.get("token"):
                    page.tokens = [*page.tokens[-5:], one["token"]]
            assert time.monotonic() < deadline, f"no answer to {expected}"
            if expected:
                time.sleep(0.002)
    for view in views:
        assert wire.answer(view, "status")["ok"]
        assert {name: getattr(view, name) for name in fixed[view]} == fixed[view]
        assert view.layout.get_state() == layouts[view]
    until(lambda: opened.running is None and sub.running is None)
    assert wire.answer(bench, "status")["ok"] and wire.answer(view, "status")["ok"]
    orders = [args for one in targets[:2] for args in one.asked]
    for entry in opened.ledger.entries():
        price = {name: Fraction(entry.body["price"][name]) for name in ("epsilon", "delta")}
        assert any(matches(args, entry.body["mechanism"]["name"], price) for args in orders), entry.number
    spent = sum((Fraction(entry.body["price"]["epsilon"]) for entry in opened.ledger.entries()), Fraction(0))
    assert opened.remaining.epsilon == 60 - spent and opened.ledger.entries()
    told = {content(message).get("number") for _, message in wire.sent} - {None, ""}
    assert {str(entry.number) for entry in opened.ledger.entries()} <= told
    asked_of_sub_session = [(args.get("k"), args.get("kbar"), args.get("most")) for args in targets[2].asked]
    assert sub.transcript
    for row in sub.transcript:
        assert (str(row.k), str(row.kbar), str(row.k)) in asked_of_sub_session
    assert opened.ledger.verify() and capfd.readouterr().err == ""
    assert said["ok"] > whole // 20 and said["Forbidden"] > whole // 20
    answers = ", ".join(f"{number:,} {name}" for name, number in said.most_common(8))
    record(
        f"{whole:,} messages of a hostile page, in process",
        f"{len(opened.ledger.entries())} entries and {len(sub.transcript)} questions charged, each as asked; {answers}",
    )


def matches(args: dict[str, Any], name: str, price: dict[str, Fraction]) -> bool:
    """Whether an order named this mechanism and said this price."""
    try:
        said = {part: typed(value, part) for part, value in args["price"].items()}
    except (errors.DpvizError, AttributeError, KeyError, TypeError):
        return False
    return said == price and args.get("mechanism") == name


SETUP = """
import json, logging
import dpviz as dv
from dpviz.model.statistic import Column, DenseCounts
import numpy as np

class Known:
    name, columns = "known counts", (Column("x", "number"),)
    def check(self, question, unit, need): return None
    def count(self, question, unit, need, tick=None): return DenseCounts(np.array([40, 50, 60, 70], dtype=np.int64))

session = dv.Session(Known(), dv.Unit(noun="person"), dv.Budget(60), "k.ledger")
bench = dv.Workbench(session, dv.Domain.integers(0, 3, column="x"))
kept = {name: getattr(bench, name) for name in bench.keys}
models = [bench, bench.layout, bench.board]
print(json.dumps([
    [model.model_id for model in models], json.loads(bench.sheet)["question"]["id"],
    [key for model in models for key in model.keys],
]))
"""
LEDGER = """
bodies = [entry.body for entry in session.ledger.entries()]
print(json.dumps([
    [[body["mechanism"]["name"], body["price"]["epsilon"], body["price"]["delta"]] for body in bodies],
    all(getattr(bench, name) == value for name, value in kept.items()), str(session.remaining.epsilon),
]))"""


@pytest.mark.parametrize("subshell", [True, False], ids=["beside the cells", "between the cells"])
def test_a_real_kernel_answers_cells_while_a_page_floods_it(subshell: bool, tmp_path: Path) -> None:
    with RealKernel.start(tmp_path) as kernel:
        models, question, keys = json.loads(kernel.run(SETUP))
        model = models[0]
        kernel.words.clear()
        if subshell:
            kernel.open_subshell()
        waits = [kernel.seconds()]
        plans, last = rounds(5_000), ""
        for i in range(plans):
            parameters = {"epsilon": f"{i + 1}/{plans}"}
            last = kernel.ask(model, "plan", question={"id": question}, mechanism="Dense", parameters=parameters)
            if i % 50 == 0:
                waits.append(kernel.seconds())
        assert kernel.answer(model, last)["body"]["sheet"]["now"]["exactly"] == "1"
        waits.append(kernel.seconds())
        page = HostilePage(47, [Target("workbench", models, keys, session_asks(question))])
        hostile = rounds(20_000)
        for i in range(hostile):
            _, to, data, _ = page.next()
            try:
                json.dumps(data, allow_nan=False).encode()
                data = json.loads(json.dumps(data, ensure_ascii=False).encode())  # a page cannot send half a pair
            except (ValueError, UnicodeEncodeError):
                continue
            kernel.send(to, data)
            if i % 50 == 0:
                waits.append(kernel.seconds())
        until(lambda: kernel.answer(model, kernel.ask(model, "status"))["ok"])  # refused while a hundred others wait
        waits.append(kernel.seconds())
        entries, same, left = json.loads(kernel.run(LEDGER))
        assert same and Fraction(left) == 60 - sum(Fraction(epsilon) for _, epsilon, _ in entries)
        for name, epsilon, delta in entries:
            price = {"epsilon": Fraction(epsilon), "delta": Fraction(delta)}
            assert any(matches(args, name, price) for args in page.targets[0].asked)
        kinds = {comm["data"]["content"].get("error", {}).get("kind") for comm in kernel.comms
                 if comm["data"].get("method") == "custom"}  # fmt: skip
        assert kinds - {None} <= FAMILY - {"DpvizError"} and entries
        assert kernel.words == [], "a message made the kernel print a trace"
    # twenty times what is promised, and more where others want the processors
    assert max(waits) < patience() / 3, "a cell waited for the page"
    way, half = "beside" if subshell else "between", sorted(waits)[len(waits) // 2]
    record(
        f"{plans:,} plans and {hostile:,} hostile messages to a real kernel, {way} the cells",
        f"`1+1` answered {len(waits):,} times, half within {half:.2f} s, all within {max(waits):.2f} s",
    )
