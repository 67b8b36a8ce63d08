"""Every error that a person can cause, caused in IPython with private data at hand, and what objects say of themselves.

Runs in the kernel of the recorded session. What it learns it writes into files of the notebook's folder, where the test
looks for canaries.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import json
import logging
import pickle
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import Any

from IPython.core.getipython import get_ipython
from IPython.lib.pretty import pretty
from sqlalchemy import event
from sqlalchemy.pool import Pool

import dpviz as dv
from dpviz.boundary import Hidden
from dpviz.engines.pandas_source import PandasSource
from dpviz.model.statistic import StatisticKind
from dpviz.privacy.conversion import convert
from dpviz.session.ledger import Ledger
from dpviz.session.running import Running
from tests.canary import private
from tests.frames import is_ours

BINS = dv.Domain.integers(0, 8, column="x", overflow=True)
PLACES = dv.Domain.categories(["north", "south"], column="place", other=True)
ROW, USER = dv.Unit("row"), dv.Unit("user", noun="person", max_bins=2)
BUDGET = dv.Budget(epsilon="100", delta="1e-6")
PAY_WHAT_YOU_GET = dv.PayWhatYouGet(symbols=20, questions=10, epsilon="1", delta="1e-7")


class Scene:
    """Sessions to make mistakes in: `it` on a source with known true counts, `frame` on a data frame."""

    def __init__(self) -> None:
        self.source = private.Counts()
        self.it = dv.Session(self.source, ROW, BUDGET, "scene.ledger")
        self.frame = dv.Session(private.people(), USER, BUDGET, "frame.ledger")
        self.release = self.it.release(BINS, dv.Dense(epsilon="1/2"))
        self.plan = self.frame.plan(PLACES, dv.Dense(epsilon="1/2"))
        self.paid = self.frame.release(PLACES, dv.Dense(epsilon="1/2"))
        self.sub, self.known = self.frame.open(PAY_WHAT_YOU_GET), self.it.open(PAY_WHAT_YOU_GET)
        self.bench = dv.Workbench(self.it, BINS)

    def session(self, data: Callable[[], object], **changed: Callable[[], Any]) -> object:
        """A new session. What it is made of comes as calls, so that this frame holds no data."""
        usual = {"unit": lambda: ROW, "budget": lambda: BUDGET, "ledger": lambda: "another.ledger"}
        return dv.Session(data(), **{name: make() for name, make in (usual | changed).items()})

    def acting(self, act: Callable[..., None], key: str) -> object:
        """Release while the source does something else."""
        self.source.act = act
        return self.it.release(BINS, dv.Dense(epsilon="1/4"), key=key)

    def asking(self, act: Callable[..., None], key: str) -> object:
        """Ask while the source does something else."""
        self.source.act = act
        return self.known.ask("place", k=2, key=key)

    def cancelled(self) -> object:
        self.source.act = private.dawdle
        running = self.it.release_async(BINS, dv.Dense(epsilon="1/4"), key="cancelled")
        running.cancel()
        return running.result()

    def busy(self) -> object:
        self.source.act = private.dawdle
        running = self.it.release_async(BINS, dv.Dense(epsilon="1/4"), key="busy")
        try:
            return self.it.release(BINS, dv.Dense(epsilon="1/8"))
        finally:
            running.cancel()
            running._future.exception()

    def watched(self) -> object:
        """A watcher that dies while the source counts ends the release."""
        return self.it.release_async(BINS, dv.Dense(epsilon="1/4"), key="watched", watch=_die_at_work).result()

    def damaged(self, name: str, statement: str) -> object:
        ledger = Path(name)
        self.session(private.Counts, ledger=lambda: ledger)
        with contextlib.closing(sqlite3.connect(ledger)) as connection, connection:
            connection.execute(statement)
        return self.session(private.Counts, ledger=lambda: ledger)

    def full(self) -> object:
        with _full_disk():
            return self.session(people, ledger=lambda: "full.ledger")

    def stored(self, change: Callable[[bytes], bytes]) -> object:
        path = Path("changed.json")
        path.write_bytes(change(self.release.to_bytes()))
        return dv.load(path)


def _die_at_work(running: Running) -> None:
    if not running.done:
        raise ValueError(running.progress.text)


@contextmanager
def _full_disk() -> Iterator[None]:
    def limit(connection: Any, _: object) -> None:
        connection.execute("PRAGMA max_page_count=3")

    event.listen(Pool, "connect", limit)
    try:
        yield
    finally:
        event.remove(Pool, "connect", limit)


PRIVATE = private.FOLDER / "people.json"
people, column = private.people, lambda name="note": private.people()[name]
dense = dv.Dense(epsilon="1/2")


def _patient() -> dv.Unit:
    return dv.Unit("patient")


def _user() -> dv.Unit:
    return USER


def _at(place: str | Path) -> Callable[[], str | Path]:
    return lambda: place


MISTAKES: dict[str, tuple[str, Callable[[Scene], object]]] = {
    # what a person types
    "epsilon zero": ("ParameterError", lambda s: dv.Dense(epsilon=0)),
    "epsilon negative": ("ParameterError", lambda s: dv.Dense(epsilon="-1/2")),
    "epsilon not a number": ("ExactnessError", lambda s: dv.Dense(epsilon=float("nan"))),
    "epsilon infinite": ("ExactnessError", lambda s: dv.Dense(epsilon=float("inf"))),
    "a mistyped name of a parameter": ("UnknownArgument", lambda s: dv.Dense(epsilom=column("visits"))),  # type: ignore[call-arg]
    "a mistyped name of a part": ("MissingName", lambda s: s.frame.remaning),  # type: ignore[attr-defined]
    "epsilon a word": ("ExactnessError", lambda s: dv.Dense(epsilon="half")),
    "delta two": ("ParameterError", lambda s: dv.Budget(epsilon=1, delta=2)),
    "beta two": ("ParameterError", lambda s: s.release.bars(2)),
    "an unknown base": ("ParameterError", lambda s: dv.Dense(epsilon=1, base="natural")),
    "an unknown mode": ("ParameterError", lambda s: s.it.release(BINS, dense, mode="quick")),
    "strict without a rational base": ("ParameterError", lambda s: s.it.release(BINS, dense, mode="strict")),
    "an empty key": ("ParameterError", lambda s: s.it.release(BINS, dense, key="")),
    "a column alone": ("DomainError", lambda s: s.it.plan("x", dense)),
    "a row that touches two bins": ("UnitError", lambda s: dv.Unit("row", max_bins=2)),
    "a reversed domain": ("DomainError", lambda s: dv.Domain.integers(9, 0, column="x")),
    "a bin that is not there": ("NoSuchBin", lambda s: BINS.label(10**6)),
    "a release that is not there": ("ParameterError", lambda s: s.it.releases[99]),
    "a lower budget": ("ParameterError", lambda s: s.it.raise_budget(dv.Budget(epsilon=1))),
    "another relation": ("ConversionError", lambda s: convert(s.release.guarantee, dv.Unit("user"))),
    # columns
    "a column that is not there": ("SchemaError", lambda s: s.frame.plan(BINS, dense)),
    "numbers asked of text": ("SchemaError", lambda s: s.frame.release(_integers("note"), dense)),
    "text asked of numbers": ("SchemaError", lambda s: s.frame.release(_labels("visits"), dense)),
    "a filter that is not there": ("SchemaError", lambda s: s.frame.release(PLACES, dense, where={"age": 1})),
    "a user that is not there": ("UnitError", lambda s: s.session(people, unit=_patient)),
    # data where a parameter belongs
    "a column as epsilon": ("ExactnessError", lambda s: dv.Dense(epsilon=column("visits"))),
    "an array as epsilon": ("ExactnessError", lambda s: dv.Dense(epsilon=column().to_numpy())),
    "a list of data as epsilon": ("ExactnessError", lambda s: dv.Dense(epsilon=column().tolist())),
    "a column as base": ("ParameterError", lambda s: dv.Dense(epsilon=1, base=column())),
    "a frame as sampler": ("ParameterError", lambda s: dv.Dense(epsilon=1, sampler=people())),
    "a column as cap": ("ExactnessError", lambda s: dv.Dense(epsilon=1, cap=column())),
    "a column as gamma": ("ExactnessError", lambda s: dv.Dense(epsilon=1, base="tight", gamma=column())),
    "a column as clamp": ("ParameterError", lambda s: dv.Dense(epsilon=1, clamp=column())),
    "a column as a budget": ("ExactnessError", lambda s: dv.Budget(epsilon=column("visits"))),
    "a column as delta": ("ExactnessError", lambda s: dv.Budget(epsilon=1, delta=column("visits"))),
    "a column as a unit": ("UnitError", lambda s: dv.Unit(column("user"))),
    "a column as a noun": ("UnitError", lambda s: dv.Unit("user", noun=column("user"))),
    "a frame as relation": ("UnitError", lambda s: dv.Unit("user", relation=people())),
    "a column as most bins": ("ExactnessError", lambda s: dv.Unit("user", max_bins=column("visits"))),
    "a column as n": ("ExactnessError", lambda s: dv.Unit("row", "replace-one", n=column("visits"))),
    "bins from unique values": ("DomainError", lambda s: dv.Domain.categories(column().unique(), column="note")),
    "an end from a column": ("DomainError", lambda s: dv.Domain.integers(0, column("visits").max(), column="visits")),
    "edges from a column": ("DomainError", lambda s: dv.Domain.intervals(column("weight"), column="weight")),
    "a limit from a column": ("DomainError", lambda s: dv.Between(column("visits"))),
    # data where a question, a mechanism or an option belongs
    "a plan of a frame": ("ParameterError", lambda s: s.it.plan(people(), dense)),
    "a plan by a frame": ("ParameterError", lambda s: s.it.plan(BINS, people())),
    "a plan filtered by a frame": ("ParameterError", lambda s: s.it.plan(BINS, dense, where=people())),
    "a plan filtered by a column": ("DomainError", lambda s: s.it.plan(BINS, dense, where={"place": column()})),
    "a release of a column": ("ParameterError", lambda s: s.it.release(column(), dense)),
    "a release by a column": ("ParameterError", lambda s: s.it.release(BINS, column())),
    "a column as mode": ("ParameterError", lambda s: s.it.release(BINS, dense, mode=column())),
    "a column as key": ("ParameterError", lambda s: s.it.release(BINS, dense, key=column())),
    "a budget raised to a column": ("ParameterError", lambda s: s.it.raise_budget(column())),
    "a release numbered by a column": ("ParameterError", lambda s: s.it.releases[column()]),
    "a column as beta": ("ExactnessError", lambda s: s.release.bars(column("weight"))),
    "a column as a frame's beta": ("ExactnessError", lambda s: s.release.to_frame(column("weight"))),
    "a column as a file's beta": ("ExactnessError", lambda s: s.release.to_csv(beta=column("weight"))),
    "a column as a plan's beta": ("ExactnessError", lambda s: s.plan.one_bin(column("weight"))),
    # data where a part of a sub-session belongs
    "a column as symbols": ("ExactnessError", lambda s: dv.PayWhatYouGet(symbols=column("visits"), epsilon=1)),
    "a column as questions": ("ExactnessError", lambda s: dv.PayWhatYouGet(questions=column("visits"), epsilon=1)),
    "a column as a symbol's epsilon": ("ExactnessError", lambda s: dv.PayWhatYouGet(epsilon_per_item=column("weight"))),
    "a column as delta prime": (
        "ExactnessError", lambda s: dv.PayWhatYouGet(epsilon_per_item=1, delta_prime=column("weight"))
    ),
    "a frame as accounting": ("ParameterError", lambda s: dv.PayWhatYouGet(epsilon=1, accounting=people())),
    "a column as domain rule": ("ParameterError", lambda s: dv.PayWhatYouGet(epsilon=1, domain_rule=column())),
    "a sub-session opened by a frame": ("ParameterError", lambda s: s.frame.open(people())),
    "a sub-session planned by a column": ("ParameterError", lambda s: s.frame.plan_open(column())),
    "a sub-session keyed by a column": ("ParameterError", lambda s: s.frame.open(PAY_WHAT_YOU_GET, key=column())),
    "a frame asked": ("ParameterError", lambda s: s.sub.ask(people())),
    "a column asked": ("ParameterError", lambda s: s.sub.ask(column())),
    "a column as k": ("ExactnessError", lambda s: s.sub.ask("place", k=column("visits"))),
    "a column as kbar": ("ExactnessError", lambda s: s.sub.ask("place", k=2, kbar=column("visits"))),
    "a column as largest": ("ExactnessError", lambda s: s.sub.plan("place", k=2, kbar="private", largest=column())),
    "a frame as an ask's filter": ("ParameterError", lambda s: s.sub.ask("place", where=people())),
    "a column as an ask's key": ("ParameterError", lambda s: s.sub.ask("place", k=2, key=column())),
    "more symbols than are left": ("BudgetExceeded", lambda s: s.sub.ask("place", k=21)),
    "an engine that dies when asked": ("ReleaseFailed", lambda s: s.asking(private.die, "died")),
    "an engine that dies harder when asked": ("ReleaseFailed", lambda s: s.asking(private.die_hard, "died hard")),
    "an ask that was lost": ("ReleaseLost", lambda s: s.known.ask("place", k=2, key="died")),
    "a pickled sub-session": ("LedgerError", lambda s: pickle.dumps(s.sub)),
    # sessions
    "a column as a session's data": ("ParameterError", lambda s: s.session(column)),
    "a list as a session's data": ("ParameterError", lambda s: s.session(lambda: column().tolist())),
    "a dict as a session's data": ("ParameterError", lambda s: s.session(lambda: people().to_dict("list"))),
    "a frame as a session's unit": ("UnitError", lambda s: s.session(people, unit=people)),
    "a column as a session's budget": ("ParameterError", lambda s: s.session(people, budget=column)),
    "a frame as a session's ledger": ("LedgerError", lambda s: s.session(people, ledger=people)),
    "a column as a session's schema": ("SchemaError", lambda s: s.session(people, schema=column)),
    "a column as a data set's name": ("ParameterError", lambda s: s.session(people, dataset=column)),
    "data and unit exchanged": ("ParameterError", lambda s: dv.Session(ROW, people(), BUDGET, "another.ledger")),
    "a pickled session": ("LedgerError", lambda s: pickle.dumps(s.frame)),
    "a copied session": ("LedgerError", lambda s: copy.deepcopy(s.frame)),
    "a pickled source": ("Forbidden", lambda s: pickle.dumps(PandasSource(people(), name="data"))),
    "a copied statistic": (
        "Forbidden",
        lambda s: copy.copy(PandasSource(people(), name="it").count(dv.Question.of(PLACES), USER, StatisticKind.DENSE)),
    ),
    # ledgers
    "another unit's ledger": ("CharterMismatch", lambda s: s.session(people, unit=_user, ledger=_at("scene.ledger"))),
    "another data's ledger": ("CharterMismatch", lambda s: s.session(private.Loud.made, ledger=_at("frame.ledger"))),
    "the private file as ledger": ("LedgerFormat", lambda s: s.session(people, ledger=_at(PRIVATE))),
    "a ledger of a newer kind": ("LedgerCorrupt", lambda s: s.damaged("empty.ledger", "DELETE FROM chain")),
    "a ledger that was edited": ("LedgerCorrupt", lambda s: s.damaged("edited.ledger", "UPDATE chain SET body = 1")),
    "a full disk": ("LedgerFull", lambda s: s.full()),
    "a ledger opened for reading": ("LedgerReadOnly", lambda s: Ledger.read("scene.ledger").raise_budget({}, dict)),
    # releases that do not end well
    "a price above the budget": ("BudgetExceeded", lambda s: s.it.release(BINS, dv.Dense(epsilon="1000"))),
    "an engine that dies": ("ReleaseFailed", lambda s: s.acting(private.die, "died")),
    "an engine that dies harder": ("ReleaseFailed", lambda s: s.acting(private.die_hard, "died hard")),
    "an engine of a loud source that dies": ("ReleaseFailed", lambda s: _loud(s, private.die)),
    "an engine that is gone": ("EngineGone", lambda s: _gone()),
    "a ledger's server that is not there": (
        "LedgerAway",
        lambda s: s.session(people, ledger=lambda: "postgresql://keeper:secret@127.0.0.1:1/postgres"),
    ),
    "a release that was lost": ("ReleaseLost", lambda s: s.it.release(BINS, dv.Dense(epsilon="1/4"), key="died")),
    "a release that is cancelled": ("ReleaseCancelled", lambda s: s.cancelled()),
    "two releases at once": ("SessionBusy", lambda s: s.busy()),
    "a loud source by a wrong unit": ("UnitError", lambda s: s.session(private.Loud.made, unit=_patient)),
    "a loud source asked too much": ("BudgetExceeded", lambda s: _loud(s, None, epsilon="1000")),
    "a loud source asked by a column": ("DomainError", lambda s: _loud(s, None, question="x")),
    # what is made of releases
    "a release cut short": ("ReleaseFormat", lambda s: s.stored(lambda text: text[:-9])),
    "a release that was altered": ("ReleaseFormat", lambda s: s.stored(lambda text: text.replace(b"exact", b"strict"))),
    "the private file as a release": ("ReleaseFormat", lambda s: dv.load(PRIVATE)),
    "a frame as a release's file": ("ReleaseFormat", lambda s: dv.load(people())),
    "a release saved into a frame": ("ParameterError", lambda s: s.release.save(people())),
    "a chart of a frame": ("Forbidden", lambda s: dv.charts.histogram(people())),
    "a chart of a list that is a column": ("Forbidden", lambda s: dv.charts.ranked(column())),
    "a chart of a session": ("Forbidden", lambda s: dv.charts.histogram(s.frame)),
    "a chart of a column's errors": ("Forbidden", lambda s: dv.charts.error_against_epsilon(column())),
    "a chart of a column's noise": ("Forbidden", lambda s: dv.charts.noise_law(column())),
    "a chart in a column's bars": ("ParameterError", lambda s: s.release.chart(bars=column())),
    "a chart in a column's theme": ("ParameterError", lambda s: s.release.chart(theme=column())),
    "a report of a frame": ("Forbidden", lambda s: dv.report(people(), "no.html")),
    "a report of a column": ("Forbidden", lambda s: dv.report([column()], "no.html")),
    "a report into a frame": ("ParameterError", lambda s: dv.report([s.release], people())),
    "a report titled by a column": ("ParameterError", lambda s: dv.report([s.release], "no.html", title=column())),
    "a report verified by a frame": ("ParameterError", lambda s: dv.report([s.release], "no.html", ledger=people())),
    "a report of two units": ("UnitError", lambda s: dv.report([s.release, s.paid], "no.html")),
    "a workbench on a frame": ("ParameterError", lambda s: dv.Workbench(people())),
    "a workbench that asks a column": ("ParameterError", lambda s: dv.Workbench(s.it, column())),
    "a tape on a frame": ("ParameterError", lambda s: dv.PayWhatYouGetTape(people())),
    "a tape that asks a column": ("ParameterError", lambda s: dv.PayWhatYouGetTape(s.sub, {"a": column()})),
    "an explorer of a frame": ("Forbidden", lambda s: dv.TopKExplorer(people())),
    "an explorer of a column": ("Forbidden", lambda s: dv.TopKExplorer({5: column()})),
    "sorted counts of a column": ("Forbidden", lambda s: dv.IsotonicExplorer(column())),
    "sorted counts of a frame": ("Forbidden", lambda s: dv.IsotonicExplorer(people())),
    "ranges of a column": ("Forbidden", lambda s: dv.RangeExplorer(column())),
    "ranges of a frame": ("Forbidden", lambda s: dv.RangeExplorer(people())),
    "the anatomy of a column": ("Forbidden", lambda s: dv.AlpAnatomy(column())),
    "the anatomy of a frame": ("Forbidden", lambda s: dv.AlpAnatomy(people())),
    "a column as the epsilon of a trade-off": ("ExactnessError", lambda s: dv.TradeoffExplorer(column())),
    "a column as the preset of a trace": ("ParameterError", lambda s: dv.ProductSamplerTrace(column())),
    "a column as the share of a sampling explorer": ("ExactnessError", lambda s: dv.SamplingExplorer(p=column())),
    "a playground of a column": ("Forbidden", lambda s: dv.ConsistencyPlayground(column())),
    "a playground of a frame": ("Forbidden", lambda s: dv.ConsistencyPlayground(people())),
    "a column as the epsilon of steps": ("ExactnessError", lambda s: dv.CompositionExplorer(column())),
    "a tape that asks a frame": ("ParameterError", lambda s: dv.PayWhatYouGetTape(s.sub, people())),
    "a workbench with a column's mechanism": ("ParameterError", lambda s: dv.Workbench(s.it, BINS, mechanism=column())),
}  # fmt: skip


def _integers(column: str) -> dv.Domain:
    return dv.Domain.integers(0, 9, column=column)


def _labels(column: str) -> dv.Domain:
    return dv.Domain.categories(["a"], column=column)


class Gone(PandasSource):
    """Data whose engine fails when it is asked whether it is there, and says what it holds."""

    def probe(self) -> None:
        private.die(lambda *_: None)


def _gone() -> object:
    session = dv.Session(Gone(people(), name="data"), ROW, BUDGET, "gone.ledger")
    texts = next(one.name for one in session.columns if one.kind == "text")
    return session.release(dv.Domain.categories(["a"], column=texts, other=True), dv.Dense(epsilon="1/2"))


def _loud(scene: Scene, act: Any, epsilon: str = "1/4", question: object = BINS) -> object:
    source = private.Loud.made()
    source.act = act
    session = dv.Session(source, ROW, BUDGET, "loud.ledger")
    del source  # our own frame is not to show it
    return session.release(question, dv.Dense(epsilon=epsilon), key=str(act))


# ---------------------------------------------------------------- making them


def make_all(scene: Scene) -> None:
    """Make every mistake, show it as IPython does, and write down what its frames hold."""
    made = {}
    with Path("frames.txt").open("a") as held:
        for name, (_, mistake) in MISTAKES.items():
            try:
                mistake(scene)
            except BaseException as error:
                get_ipython().showtraceback()
                logging.getLogger("session").exception(name)
                made[name] = type(error).__name__
                held.write(f"\n== {name}\n{dissected(error)}")
    Path("mistakes.json").write_text(json.dumps(made))


def dissected(error: BaseException) -> str:
    """What a person finds who walks the frames of an error, as %debug does, from where dpviz was entered."""
    told = [repr(error), repr(vars(error))]
    for one in (error, error.__cause__, error.__context__):
        for frame in [] if one is None else entered(one.__traceback__):
            told.append(f"-- {frame.f_code.co_qualname}")
            told += [f"{name} = {shown(value)}" for name, value in frame.f_locals.items()]
    return "\n".join(told)


def shown(value: object) -> str:
    """The repr, or why there is none: an object that is half made may have none."""
    try:
        return repr(value)
    except Exception as error:
        return repr(error)


def entered(trace: TracebackType | None) -> list[FrameType]:
    """The frames of dpviz, and those below the first of them but for the frames of this test."""
    frames = [frame for frame, _ in walk_tb(trace)]
    ours = [is_ours(frame) for frame in frames]
    first = ours.index(True) if True in ours else len(frames)
    return [frame for frame in frames[first:] if not str(frame.f_globals.get("__name__")).startswith("tests.canary")]


# ---------------------------------------------------------------- what objects say


def tell_all(scene: Scene) -> None:
    """Write down everything that public objects say of themselves."""
    running = scene.it.release_async(BINS, dense)
    running.result()
    ledger = scene.frame.ledger
    public = [
        scene.it, scene.frame, scene.frame.columns, scene.frame.remaining, scene.frame.releases, scene.frame.budget,
        scene.sub, scene.sub.plan("place"), scene.frame.plan_open(PAY_WHAT_YOU_GET), PAY_WHAT_YOU_GET,
        *scene.known.transcript,
        ledger, *ledger.entries(), scene.plan, scene.plan.sheet, scene.plan.error, scene.plan.price, scene.plan.bound,
        scene.paid, scene.release, scene.release.answer, scene.bench, scene.bench.session_model, running,
        running.progress,
        PandasSource(people(), name="data"), PLACES, BINS, dense, USER, BUDGET, dv.Question.of(PLACES),
        PandasSource(people(), name="data").count(dv.Question.of(PLACES), USER, StatisticKind.DENSE), Hidden(people()),
    ]  # fmt: skip
    with Path("said.bin").open("wb") as told:
        for thing in public:
            told.write(f"\n== {type(thing).__name__}\n".encode())
            told.writelines(part + b"\n" for part in said(thing))


def said(thing: Any) -> Iterator[bytes]:
    """Texts, attributes, stored and copied forms; what refuses to be stored or copied says so, and that is kept too."""
    ways: list[Callable[[Any], object]] = [
        repr, str, pretty, "{}".format, dir, pickle.dumps, pickle._dumps, copy.copy, copy.deepcopy, hash,
        lambda thing: [repr(value) for _, value in inspect.getmembers(thing)] if not _private(thing) else "",
        lambda thing: thing.__getstate__(), lambda thing: thing.get_state(), lambda thing: thing._repr_mimebundle_(),
        lambda thing: thing.to_json(), lambda thing: thing.mirrors(),
        lambda thing: get_ipython().display_formatter.format(thing),
    ]  # fmt: skip
    yield "\n".join(_within(thing, 4)).encode("utf-8", "surrogatepass")
    for way in ways:
        try:
            found = way(thing)
        except Exception as refused:
            found = repr(refused)
        yield found if isinstance(found, bytes) else repr(found).encode("utf-8", "surrogatepass")


def _private(thing: object) -> bool:
    """A private object says nothing by itself; its owner may still take what it holds."""
    return isinstance(thing, Hidden) or type(thing).__name__ == "DenseCounts"


def _within(thing: Any, depth: int) -> Iterator[str]:
    """The variables of an object, and of the objects of ours among them."""
    for name, value in getattr(thing, "__dict__", {}).items():
        yield f"{name} = {value!r}"
        if depth and type(value).__module__.startswith("dpviz"):
            yield from _within(value, depth - 1)


def look_around() -> None:
    """What IPython prints about the user's variables and the last error."""
    shell = get_ipython()
    for magic, line in (("whos", ""), ("pinfo", "scene.frame"), ("pinfo2", "scene.bench"), ("tb", "")):
        shell.run_line_magic(magic, line)
    print(dissected(sys.last_value))
