"""What is paid for can be read back, shown, framed, charted and reported, or it is refused before the charge."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.charts.picture import picture
from dpviz.errors import DpvizError, ParameterError
from dpviz.mechanisms import REGISTRY
from dpviz.mechanisms.dense import Dense
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.mechanism import Mechanism
from dpviz.model.release import Release
from dpviz.session import saved
from dpviz.session.session import Session
from tests.mechanisms.samples import listed
from tests.session.sources import KnownTop

pytestmark = pytest.mark.usefixtures("no_disk_is_waited_for")

ROOT = Path(__file__).parents[2]
BINS = dv.Domain.integers(0, 3, column="x")
EPSILONS = ("1e-9", "1e-150", "1/3", "0.1", "1", "1000")
DELTAS = ("1e-6", "1e-30", "1e-190", "1e-198", "1e-300", "1/7", "0.999999")
BETAS = ("0.05", "1e-12", "1e-300", "0.99")
KEYS = (None, "k", "k" * 199 + "é", "\N{SNOWMAN}\0'\"</script>")
LARGEST = 20_000

DOMAINS: dict[str, Callable[[], Any]] = {
    "integers": lambda: BINS,
    "huge": lambda: dv.Domain.integers(-(10**18), 10**18, column="x"),
    "far": lambda: dv.Domain.integers(10**190, 10**190 + 3, column="x"),
    "edges": lambda: dv.Domain.intervals(["0", "1e-150", "1/3", "2"], column="x"),
    "labels": lambda: dv.Domain.categories(["a", "\0", "</script>", "L" * 250, "é'\""], column="word"),
    "keys": lambda: dv.Domain.keys(column="word"),
}
WHERES: tuple[Any, ...] = (
    None,
    {"x": dv.Between(low="1e-150")},
    {"word": ["a", "\0", "é" * 5000]},
    {"x": [10**30, -1, 0]},
)
UNITS = {
    "row": dv.Unit("row", noun="person"),
    "replace": dv.Unit("row", relation="replace-one", n=50, noun="person"),
    "user": dv.Unit("p", max_bins=2, max_per_bin=3, noun="person"),
}

_MAKERS: dict[str, Callable[[str, str], Mechanism]] = {
    "Dense": lambda e, d: dv.Dense(e) if d == "1e-6" else dv.Dense(e, base="gaussian", delta="1e-30"),
    "Stability": lambda e, d: dv.Stability(e, d),
    "PureSparse": lambda e, d: dv.PureSparse(e),
    "Sorted": lambda e, d: dv.Sorted(e),
    "Queries": lambda e, d: dv.Queries(e),
    "Marginals": lambda e, d: (
        dv.Marginals(e, weights={(): 2}) if d == "1e-6" else dv.Marginals(e, base="gaussian", delta="1e-30")
    ),
    "Compact": lambda e, d: dv.Compact(e),
    "Threshold": lambda e, d: dv.Threshold(e, d),
    "ALP": lambda e, d: dv.ALP(e, cap=50, keys=20),
    "ThresholdALP": lambda e, d: dv.ThresholdALP(e, 20, d),
    "MaxProjection": lambda e, d: dv.MaxProjection(e, cap=50, keys=20),
    "ThresholdMaxProjection": lambda e, d: dv.ThresholdMaxProjection(e, 20, d),
    "Tree": lambda e, d: dv.Tree(
        e, branching=2, padding="pinned", **({} if d == "1e-6" else {"base": "gaussian", "delta": "1e-30"})
    ),
    "TopK": lambda e, d: dv.TopK(2, 3, epsilon=e, delta=d),
    "TopKLaplace": lambda e, d: dv.TopKLaplace(2, 3, epsilon=e, delta=d),
    "TopKSet": lambda e, d: dv.TopKSet(2, epsilon=e, delta=d),
    "ExponentialTopK": lambda e, d: dv.ExponentialTopK(2, epsilon=e),
    "SampleCategory": lambda e, d: dv.SampleCategory(e, draws="many" if e == "1/3" else "one"),
    "SampleBounded": lambda e, d: dv.SampleBounded(
        e, accounting="paper" if d == "1e-6" else "exact", delta=d if e == "1/3" else 0
    ),
    "SampleProduct": lambda e, d: dv.SampleProduct(
        e, d if d == "1e-6" else "1e-30", noise="tight" if e == "1/3" else "repaired"
    ),
    "RandomisedRecord": lambda e, d: dv.RandomisedRecord(e),
}
MAKERS = listed(
    _MAKERS,
    lambda samples: lambda epsilon, chance: samples.at(epsilon=epsilon, delta=chance, beta=chance),
    "_MAKERS of tests/session/test_read_back.py",
)

WORDS = dv.Domain.categories(["a", "b", "é"], column="word")
RECORDS: dict[str, Callable[[], dv.Question]] = {
    "integers": lambda: dv.Question.records([BINS, WORDS], otherwise={"word": "é"}),
    "keys": lambda: dv.Question.records([dv.Domain.integers(0, 1, column="x"), *WORDS.factors][:1]),
    "huge": lambda: dv.Question.records([dv.Domain.integers(-(10**18), 10**18, column="x")]),
}
"""Records over several columns, bits, and over more labels than anybody lists."""


def frame() -> pd.DataFrame:
    words = ["a", "b", "b", "é", "w" * 500] * 10
    return pd.DataFrame({"x": [0, 1, 1, 2, 3, 3, 3, 3, 0, 0] * 5, "word": words, "p": list(map(str, range(50)))})


def opened(path: Path, unit: str = "row") -> Session:
    return Session(frame(), UNITS[unit], dv.Budget(10**6, "0.9999999"), path, dataset="odd")


def digest(release: Release) -> str:
    return sha256(release.to_bytes()).hexdigest()


def shown_everywhere(release: Release, scratch: Path, *, charted: bool = True) -> None:
    """Everything that a person does with an answer; `charted`: a chart, which takes longer than all else."""
    picture(release)
    repr(release), release._repr_html_()
    if release.terms.law.once or release.answer.has_further_draws:
        assert release.record and release.to_frame().shape[1] == 2 and release.to_csv()
        if charted:
            release.chart().to_dict()
    if release.valued or release.max_items is not None:
        for beta in BETAS:
            release.to_frame(beta)
            release.to_csv(beta=beta)
        if charted and len(release.labels) <= LARGEST:
            release.chart().to_dict()
    assert dv.load(release.save(scratch / "release.json")) == release


READER = """
import json, os, sys, warnings
from pathlib import Path
from tests.session.test_read_back import *
warnings.simplefilter("error")
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        path, unit = json.loads(line)
        it = opened(Path(path), unit)
        page = dv.Workbench(it)
        read = {number: digest(release) for number, release in it.releases.items()}
        print(json.dumps({"shown": json.loads(page.result)["number"], "read": read}), flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        print("null", flush=True)
"""


@cache
def reader() -> subprocess.Popen[str]:
    """A process that has imported what reading takes and nothing more. It ends with this one, whose pipe it reads."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", READER], cwd=ROOT, text=True, **pipes)


def read_anew(path: Path, unit: str) -> dict[str, Any]:
    """What a process that knows nothing yet reads from a ledger, and what its page shows first."""
    to, back = reader().stdin, reader().stdout
    assert to is not None and back is not None
    to.write(json.dumps([str(path), unit]) + "\n")
    to.flush()
    found: dict[str, Any] | None = json.loads(back.readline())
    assert found is not None, "reading failed; its error is among what was printed"
    return found


def tried(
    it: Session,
    question: Any,
    mechanism: Callable[[], Mechanism],
    scratch: Path,
    *,
    charted: bool = True,
    **more: Any,
) -> Release | None:
    """The release, shown everywhere; None where it was refused by a plan or the budget, with nothing charged."""
    head = it.ledger.head()
    try:
        made = mechanism()
        plan = it.plan(question, made, where=more.get("where"))
        repr(plan)
    except DpvizError as refused:
        assert str(refused) and it.ledger.head() == head
        return None
    release = it.release(question, made, **more)
    shown_everywhere(release, scratch, charted=charted)
    return release


@pytest.mark.parametrize("name", REGISTRY)
def test_what_a_plan_accepts_is_read_back_by_a_new_process_and_shown_everywhere(name: str, tmp_path: Path) -> None:
    replaced = name in ("PureSparse", "Compact", "SampleBounded", "SampleProduct", "RandomisedRecord")
    path, unit = tmp_path / "test.ledger", "replace" if replaced else "row"
    asked = RECORDS if REGISTRY[name].draws_records else DOMAINS
    it = opened(path, unit)
    paid: dict[str, str] = {}
    extremes = (("1e-9", "1e-30"), ("1/3", "1e-198"), ("1/3", "1e-6"), ("1000", "1e-300"))
    for (turn, (epsilon, delta)), (at, domain) in product(enumerate(extremes), enumerate(("integers", "keys", "huge"))):
        release = tried(
            it,
            asked[domain](),
            lambda e=epsilon, d=delta: MAKERS[name](e, d),  # type: ignore[misc]
            tmp_path,
            charted=(turn + at) % 4 in (0, 3),  # each kind of bins and each extreme; tests/soak draws a chart of all
            key=KEYS[len(paid) % len(KEYS)],
        )
        if release is not None:
            paid[str(release.number)] = digest(release)
    assert len(paid) >= (3 if name != "SampleBounded" else 2), "too little was accepted to have tested anything"
    assert len(it.ledger.entries()) == len(paid) and it.ledger.verify()
    if name != "Compact":  # its sheet of fifty epsilons takes a quarter of a minute
        dv.report([it.releases[len(paid)]], tmp_path / "one.html")
    anew = read_anew(path, unit)
    assert anew == {"shown": str(len(paid)), "read": paid}


STEEP: dict[str, tuple[str, Callable[[str], Mechanism]]] = {
    "PureSparse, tight": ("huge", lambda e: dv.PureSparse(e, base="tight", cap=20)),
    "PureSparse, tight, over few bins": ("integers", lambda e: dv.PureSparse(e, base="tight", cap=1)),
    "PureSparse, paper": ("huge", lambda e: dv.PureSparse(e, base="paper", cap=20)),
    "Compact": ("huge", lambda e: dv.Compact(e)),
    "Compact, FastSample": ("integers", lambda e: dv.Compact(e, sampler="fastsample", cap=1)),
    "Compact, paper": ("integers", lambda e: dv.Compact(e, base="paper", cap=3)),
    "Dense, tight": ("integers", lambda e: dv.Dense(e, base="tight", cap=20)),
    "Stability, tight": ("integers", lambda e: dv.Stability(e, "1e-6", base="tight", cap=20)),
}


@pytest.mark.parametrize("epsilon", ["36", "38", "1000"])
@pytest.mark.parametrize("name", STEEP)
def test_noise_that_is_nearly_always_0_is_drawn_and_read_back(name: str, epsilon: str, tmp_path: Path) -> None:
    """In floating point a ratio of the noise is nothing beside 1 from epsilon 37 on, and no number from 745 on."""
    it = opened(tmp_path / "test.ledger", "replace")
    domain, made = STEEP[name]
    release = tried(it, DOMAINS[domain](), lambda: made(epsilon), tmp_path)
    assert release is not None and it.releases[1].to_bytes() == release.to_bytes()


# ---------------------------------------------------------------- refusals before a charge

TOO_LONG: dict[str, Callable[[Session], object]] = {
    "Stability": lambda it: it.release(BINS, dv.Stability("0.1", delta="1e-198")),
    "PureSparse's beta1": lambda it: it.release(
        DOMAINS["huge"](), dv.PureSparse("0.1", base="tight", cap=100, beta1=Fraction(1, 10**300))
    ),
    "a plan": lambda it: it.plan(BINS, dv.Stability("0.1", delta="1e-198")),
    "a widget": lambda it: dv.Workbench(it, BINS, mechanism=dv.Stability("0.1", delta="1e-198")),
    "a retry": lambda it: it.release(BINS, dv.Stability("0.1", delta="1e-198"), retry=True),
}


@pytest.mark.parametrize("call", TOO_LONG)
def test_a_number_that_would_be_stored_longer_than_it_is_read_is_refused_and_free(tmp_path: Path, call: str) -> None:
    it = opened(tmp_path / "test.ledger")
    head = it.ledger.head()
    with pytest.raises(ParameterError, match="(delta|beta1) must be at least 1e-197") as caught:
        TOO_LONG[call](it)
    assert caught.value.rule and len(str(caught.value)) < 300
    assert it.ledger.head() == head and it.release(BINS, dv.Dense(1)).number == 1
    dv.Workbench(it)


@pytest.mark.parametrize(
    "failure", [OverflowError("underflow"), ZeroDivisionError(), DpvizError("none"), MemoryError()]
)
def test_an_error_that_nobody_can_calculate_is_refused_by_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fails(self: ErrorModel, beta: Fraction) -> ErrorValue:
        raise failure

    it = opened(tmp_path / "test.ledger")
    head = it.ledger.head()
    saved._reread.cache_clear()
    monkeypatch.setattr(type(Dense("1/2").bind(dv.Question.of(BINS), it.unit).error), "all_bins", fails)
    for call in (it.plan, it.release):
        with pytest.raises(
            ParameterError, match="the error of an answer must be known before it is paid for"
        ) as caught:
            call(BINS, dv.Dense("1/2"))
        assert caught.value.next_step and it.ledger.head() == head
    monkeypatch.undo()
    assert it.release(BINS, dv.Dense("1/2")).number == 1


def test_a_mechanism_that_reads_its_own_parameters_as_others_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = opened(tmp_path / "test.ledger")
    head = it.ledger.head()
    read = Dense.from_parameters
    monkeypatch.setattr(Dense, "from_parameters", lambda given: read({**given, "epsilon": "0.4"}))
    saved._reread.cache_clear()
    saved._rebound.cache_clear()
    with pytest.raises(ParameterError, match="stored and read back, and this mechanism could not be read again"):
        it.release(BINS, dv.Dense("1/2"))
    assert it.ledger.head() == head
    saved._rebound.cache_clear()


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": "1/3", "delta": "1e-197"},  # a question's delta is a fraction of it, and takes more characters
        {"epsilon": "1", "delta": "1e-198"},
        {"epsilon_per_item": "1", "delta": "1e-197", "delta_prime": "1e-190"},
    ],
)
def test_a_sub_session_is_opened_and_asked_or_refused_before_it_is_paid(
    tmp_path: Path, parameters: dict[str, Any]
) -> None:
    tallies = {"": {"Aachen": 300, "Bonn": 200}}
    source, unit = KnownTop(tallies), dv.Unit("person", max_bins=2)
    it = Session(source, unit, dv.Budget(10**5, "1e-5"), tmp_path / "test.ledger")
    head = it.ledger.head()
    try:
        sub = it.open(dv.PayWhatYouGet(symbols=12, questions=40, **parameters))
    except ParameterError as refused:
        assert str(refused) and it.ledger.head() == head
        return
    assert sub.ask("dest", k=1, kbar=1).use == 1
    again = Session(source, unit, dv.Budget(10**5, "1e-5"), tmp_path / "test.ledger")
    assert again.sub_sessions[1].answers == sub.answers


def test_a_sub_session_of_which_no_question_could_be_asked_is_not_paid(tmp_path: Path) -> None:
    it = Session(KnownTop({}), dv.Unit("person", max_bins=2), dv.Budget(10**5, "1e-5"), tmp_path / "test.ledger")
    head = it.ledger.head()
    with pytest.raises(ParameterError, match="where a question of it can be answered.*Nothing was charged"):
        it.open(dv.PayWhatYouGet(symbols=12, questions=40, epsilon="1/3", delta="1e-197"))
    assert it.ledger.head() == head


def test_reports_and_charts_of_keys_with_a_public_number_of_rows_are_drawn(tmp_path: Path) -> None:
    it = opened(tmp_path / "test.ledger", "replace")
    plan = it.plan(DOMAINS["keys"](), dv.Stability(1, "1e-6"))
    release = it.release(DOMAINS["keys"](), dv.Stability(1, "1e-6"))
    plan.chart().to_dict()
    shown_everywhere(release, tmp_path)
    assert "all that are occupied within" in dv.report([release, plan], tmp_path / "a.html").read_text()


def test_a_plan_is_checked_once_however_often_it_is_made(tmp_path: Path) -> None:
    it = opened(tmp_path / "test.ledger")
    it.plan(BINS, dv.Dense("1/2"))
    before = saved._reread.cache_info().misses
    it.plan(BINS, dv.Dense("1/2"))
    it.release(BINS, dv.Dense("1/2"))
    assert saved._reread.cache_info().misses == before
