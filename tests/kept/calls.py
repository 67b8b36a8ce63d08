"""What was asked of the kept ledgers: the calls that a person wrote then, and writes today."""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal, Inexact, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd

import dpviz as dv
from dpviz.errors import ReleaseFormat
from dpviz.session.session import Session
from dpviz.session.sub_session import SubSession

BETAS = ("0.1", "0.05", "0.01", "0.37")
"""Those of the page, and one that no page offers."""

UNITS = {
    "people": dv.Unit("person", noun="person", max_bins=3, max_per_bin=2),
    "visits": dv.Unit("row", relation="replace-one", noun="visit", n=400),
}
"""One ledger each: users of a column who may be added or removed, and rows that may be replaced."""

BUDGETS = {"people": dv.Budget("40", "1e-3"), "visits": dv.Budget("20", "1e-4")}
RAISED = {"people": dv.Budget("60", "2e-3"), "visits": dv.Budget("30", "1e-4")}
"""What the data's owner allowed first, and later."""

SUB_SESSIONS = {
    "people": [dv.PayWhatYouGet(symbols=20, questions=6, epsilon="2", delta="1e-5")],
    "visits": [dv.PayWhatYouGet(symbols=9, questions=2, epsilon_per_item="1/4", delta="1e-6", accounting="zcdp")],
}

LATER = {
    "people": [dv.Parts(dv.Partition(dv.Domain.integers(1, 12, column="month"), max_parts=2), epsilon="1/200")],
    "visits": [],
}
"""Further sub-sessions of the two newest folders."""


def sub_sessions(folder: str, name: str) -> list[Any]:
    return [*SUB_SESSIONS[name], *(LATER[name] if folder in [*KEPT][-3:] else [])]


AGES = dv.Domain.intervals([0, 18, "40.5", 65, 100], column="age", overflow=True, missing=True)
MONTHS = dv.Domain.integers(1, 12, column="month")
CITIES = dv.Domain.categories(["Aarhus", "Ærø", "Odense", "</script>"], column="city", other=True)
WIDE = dv.Domain.integers(0, 2**40, column="amount", underflow=True)


@dataclass(frozen=True)
class Call:
    """One release, or one question of the sub-session `sub`, and the name under which what it showed is kept."""

    name: str
    ledger: str
    question: Any
    mechanism: Any = None
    where: Mapping[str, object] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    sub: int | None = None

    def __call__(self, session: Session, opened: list[SubSession]) -> dv.Release:
        if self.sub is not None:
            return opened[self.sub].ask(self.question, where=self.where, **self.options)
        return session.release(self.question, self.mechanism, where=self.where, **self.options)


CALLS = [
    Call("dense", "people", MONTHS, dv.Dense("1/2")),
    Call("dense again", "people", MONTHS, dv.Dense("1/2"), options={"key": "another ☃"}),
    Call("dense strict", "people", CITIES, dv.Dense("1/3", base="tight", cap=900), options={"mode": "strict"}),
    Call("dense open", "people", CITIES, dv.Dense("1/3", clamp=False), {"month": dv.Between(2, 9), "age": ["7", "30"]}),
    Call("dense product", "people", AGES * CITIES, dv.Dense("0.7")),
    Call("stability", "people", dv.Domain.keys(column="city"), dv.Stability("1", "1e-6")),
    Call("stability wide", "people", WIDE, dv.Stability("1/2", "1e-6", variant="paper")),
    Call("pure sparse", "people", WIDE, dv.PureSparse("1", cap=50)),
    Call(
        "pure sparse strict",
        "people",
        dv.Domain.integers(0, 4000, column="amount"),
        dv.PureSparse("1", base="tight", cap=900, beta1="1/1000"),
        options={"mode": "strict"},
    ),
    Call("compact", "people", WIDE, dv.Compact("1", cap=40)),
    Call("top", "people", "city", dv.TopK(k=3, kbar=6, epsilon="2")),
    Call("top strict rule", "people", "city", dv.TopK(k=3, kbar=6, epsilon="2", domain_rule="strict", ties="unknown")),
    Call("top paper rule", "people", CITIES, dv.TopK(k=2, kbar=5, epsilon="2", domain_rule="paper")),
    Call("top private", "people", "city", dv.TopK(k=2, kbar="private", epsilon="2", largest=6)),
    Call(
        "top per item",
        "people",
        "city",
        dv.TopK(k=3, kbar=6, epsilon_per_item="1/5", delta="1e-6", delta_prime="1e-7", accounting="paper"),
    ),
    Call("top zcdp", "people", AGES * MONTHS, dv.TopK(k=3, kbar=6, epsilon="2", accounting="zcdp")),
    Call("top laplace", "people", "city", dv.TopKLaplace(k=3, kbar=6, epsilon="3")),
    Call("top set", "people", "city", dv.TopKSet(k=3, epsilon="3")),
    Call("top exponential", "people", CITIES, dv.ExponentialTopK(k=2, epsilon="2")),
    Call("asked", "people", "city", options={"k": 3, "kbar": 6}, sub=0),
    Call("asked again", "people", "city", options={"k": 3, "kbar": 6, "key": "again"}, sub=0),
    Call("asked private", "people", MONTHS, options={"k": 2, "kbar": "private", "largest": 9}, sub=0),
    Call("asked few", "people", "city", where={"month": 3}, options={"k": 5}, sub=0),
    Call("rows dense", "visits", AGES, dv.Dense(Fraction(1, 3))),
    Call("rows strict", "visits", MONTHS, dv.Dense("1", base="paper", sampler="geosample"), options={"mode": "strict"}),
    Call("rows stability", "visits", "city", dv.Stability("1", "1e-6", base="tight", cap=900)),
    Call("rows compact", "visits", WIDE, dv.Compact("2")),
    Call("rows top", "visits", CITIES, dv.TopK(k=2, kbar=4, epsilon="1")),
    Call("rows exponential", "visits", MONTHS * CITIES, dv.ExponentialTopK(k=2, epsilon="2", delta="1e-6")),
    Call("rows asked", "visits", "city", options={"k": 4, "kbar": 8}, sub=0),
]

CONSISTENT = [
    Call("tree", "people", MONTHS, dv.Tree("1")),
    Call(
        "tree weighted", "people", MONTHS, dv.Tree("1/2", branching=3, padding="pinned", levels="1,2,1,3"), {"month": 3}
    ),
    Call("tree of ages", "people", AGES, dv.Tree("2", branching=2)),
    Call("sorted", "people", CITIES, dv.Sorted("1/2")),
    Call("queries", "people", MONTHS, dv.Queries("1", {"all": None, "winter ☃": [12, 1, 2], "May": [5]})),
    Call("rows tree", "visits", MONTHS, dv.Tree("1/3", branching=2, root="public")),
    Call("rows sorted", "visits", MONTHS, dv.Sorted("1", 4)),
    Call("rows queries", "visits", CITIES, dv.Queries("1/2")),
]
"""What came later: trees, sorted counts and lists of queries, with the laws that their releases store."""

SPARSE = [
    Call("threshold", "people", "city", dv.Threshold("3/4", "1e-6")),
    Call("threshold pure", "people", WIDE, dv.Threshold("1/4")),
    Call("alp", "people", WIDE, dv.ALP("3/4", cap=30, keys=40)),
    Call("alp histogram", "people", "city", dv.ALP("3/2", cap=20, keys=6, encoding="histogram")),
    Call("threshold alp", "people", "city", dv.ThresholdALP("1", keys=6, delta="1e-6", adaptive=True)),
    Call(
        "threshold alp of sums",
        "people",
        dv.Question.sum("amount", by="city", low=-500, high=2000, step=100),
        dv.ThresholdALP("2", keys=6, delta="1e-6", room=3),
    ),
    Call("rows alp", "visits", WIDE, dv.ALP("1/2", cap=10, keys=40, alpha=6)),
    Call("rows threshold alp", "visits", WIDE, dv.ThresholdALP("1", keys=40)),
]
"""What came later still: thresholds and sketches, of counts and of a sum."""

BUCKETS = [
    Call("max projection", "people", WIDE, dv.MaxProjection("1/4", cap=30, keys=40)),
    Call("threshold max projection", "people", "city", dv.ThresholdMaxProjection("1/4", keys=6, delta="1e-6")),
    Call("key count", "people", "city", dv.KeyCount("1/8", "1/100")),
    Call("rows max projection", "visits", "city", dv.MaxProjection("1/8", cap="12", keys=6, room=9)),
    Call("rows threshold max projection", "visits", WIDE, dv.ThresholdMaxProjection("1/8", keys=40)),
    Call("rows key count", "visits", WIDE, dv.KeyCount("1/8")),
    Call("rows alp of logarithms", "visits", WIDE, dv.ALP("1/2", cap=10_000, keys=40, encoding="log")),
    Call(
        "rows alp of both signs",
        "visits",
        dv.Question.sum("amount", by="city", low=-500, high=2000, step=100),
        dv.ALP("1/2", cap=9000, keys=6, encoding="signed"),
    ),
    Call("rows alp modulo a prime", "visits", "city", dv.ALP("1/4", cap=20, keys=6, hashing="carter-wegman")),
]
"""What came last: noisy buckets, how many of them are needed, and sketches that are read or hashed otherwise."""

ENCODED = [
    Call(
        "rows threshold alp of logarithms",
        "visits",
        WIDE,
        dv.ThresholdALP("1/2", keys=40, split="1/10", encoding="log", adaptive=True),
    ),
    Call(
        "rows threshold alp of both signs",
        "visits",
        dv.Question.sum("amount", by="city", low=-500, high=2000, step=100),
        dv.ThresholdALP("1/2", keys=6, delta="1e-6", encoding="signed"),
    ),
]
"""What came after: sketches of logarithms, and of both signs, behind a threshold."""

GRADES = dv.Domain.categories(["Aarhus", "Odense", "Ærø"], column="city")
BIT = dv.Domain.integers(0, 1, column="amount")
RECORDS = [
    Call(
        "record",
        "people",
        dv.Question.records([GRADES, MONTHS], otherwise={"city": "Odense"}),
        dv.SampleCategory("1/8"),
    ),
    Call("rows record", "visits", dv.Question.records([GRADES]), dv.SampleCategory("1/4", projection="euclid")),
    Call("rows record alone", "visits", dv.Question.records([WIDE]), dv.SampleCategory("1/4", draws="one")),
    Call(
        "rows bits",
        "visits",
        dv.Question.records([BIT, dv.Domain.integers(6, 7, column="month")]),
        dv.SampleBounded("1/8"),
    ),
    Call("rows told record", "visits", dv.Question.records([GRADES]), dv.RandomisedRecord("1/8")),
]
"""Drawn records: with the weights they came from, alone, of bits, and told at random."""

MEANS = [
    Call(
        "rows bits by means",
        "visits",
        dv.Question.records([BIT, dv.Domain.integers(6, 7, column="month")]),
        dv.SampleProduct("1/8", "1e-9"),
    )
]
"""A drawn record of bits, with the noisy means it came from."""

GAUSSIAN = [
    Call("dense gaussian", "people", MONTHS, dv.Dense("1/25", base="gaussian", delta="1e-9")),
    Call("tree gaussian", "people", AGES, dv.Tree("1/25", branching=2, base="gaussian", delta="1e-9")),
    Call("rows dense gaussian", "visits", MONTHS, dv.Dense("1/20", base="gaussian", delta="1e-9", clamp=False)),
]
"""Counts and a tree with discrete Gaussian noise."""

SEASONS = {"cold": {"month": [12, 1, 2]}, "warm": {"month": dv.Between(3, 11)}}
TABLES = [
    Call("marginals", "people", MONTHS * CITIES, dv.Marginals("1/99", ways=1, weights={(): 2, ("city", "month"): 1})),
    Call("marginals gaussian", "people", AGES * MONTHS, dv.Marginals("1/99", base="gaussian", delta="1e-9")),
    Call("one for each city", "people", MONTHS, dv.Dense("1/99"), options={"by": dv.Partition(CITIES, max_parts=2)}),
    Call("asked of a part", "people", CITIES, options={"mechanism": dv.Dense("1/300"), "part": "3"}, sub=1),
    Call("rows marginals", "visits", MONTHS * CITIES, dv.Marginals("1/99", ways=1, total="public")),
    Call("rows one for each season", "visits", "city", dv.TopK(k=2, kbar=4, epsilon="1/99"), options={"by": SEASONS}),
]
"""Tables that agree, and an answer for each part."""

NAMES = [Call("rows names of cities", "visits", "city", dv.KeySelection("1/9", "1e-9"))]
"""Names of unknown keys without their counts."""

KEPT = {
    "0.1.0-2026-11-22": CALLS,
    "0.1.0-2026-11-22-consistency": sorted([*CALLS, *CONSISTENT], key=lambda call: [*UNITS].index(call.ledger)),
    "0.1.0-2026-11-22-sparse": sorted([*CALLS, *CONSISTENT, *SPARSE], key=lambda call: [*UNITS].index(call.ledger)),
    "0.1.0-2026-11-23-buckets": sorted(
        [*CALLS, *CONSISTENT, *SPARSE, *BUCKETS], key=lambda call: [*UNITS].index(call.ledger)
    ),
    "0.1.0-2026-11-23-encodings": sorted(
        [*CALLS, *CONSISTENT, *SPARSE, *BUCKETS, *ENCODED], key=lambda call: [*UNITS].index(call.ledger)
    ),
    "0.1.0-2026-11-23-records": sorted(
        [*CALLS, *CONSISTENT, *SPARSE, *BUCKETS, *RECORDS], key=lambda call: [*UNITS].index(call.ledger)
    ),
    "0.1.0-2026-11-23-records-means": sorted(
        [*CALLS, *CONSISTENT, *SPARSE, *BUCKETS, *RECORDS, *MEANS], key=lambda call: [*UNITS].index(call.ledger)
    ),
    "0.1.0-2026-11-23-zcdp": sorted(
        [*CALLS, *CONSISTENT, *SPARSE, *BUCKETS, *RECORDS, *MEANS, *GAUSSIAN],
        key=lambda call: [*UNITS].index(call.ledger),
    ),
    "0.1.0-2026-11-23-zipped": sorted(
        [*CALLS, *CONSISTENT, *SPARSE, *BUCKETS, *RECORDS, *MEANS, *GAUSSIAN],
        key=lambda call: [*UNITS].index(call.ledger),
    ),
    "0.1.0-2026-11-27-tables": sorted(
        [*CALLS, *CONSISTENT, *SPARSE, *BUCKETS, *RECORDS, *MEANS, *GAUSSIAN, *TABLES],
        key=lambda call: [*UNITS].index(call.ledger),
    ),
    "0.1.0-2026-11-28-exact": sorted(
        [*CALLS, *CONSISTENT, *SPARSE, *BUCKETS, *RECORDS, *MEANS, *GAUSSIAN, *TABLES],
        key=lambda call: [*UNITS].index(call.ledger),
    ),
    "0.1.0-2026-11-29-names": sorted(
        [*CALLS, *CONSISTENT, *SPARSE, *BUCKETS, *RECORDS, *MEANS, *GAUSSIAN, *TABLES, *NAMES],
        key=lambda call: [*UNITS].index(call.ledger),
    ),
}
"""What each folder holds; the last of them is written by today's version."""

SAID_TODAY = ("0.1.0-2026-11-23-zipped", "0.1.0-2026-11-27-tables", "0.1.0-2026-11-28-exact")
"""What these show of lists is in the words of today."""

WITH_LIMITS = ("0.1.0-2026-11-29-names",)
"""These show the limits of a unit beside each number, and ends that they leave open."""

TAUGHT = {
    "teaching dense": (MONTHS * CITIES, dv.Dense("1")),
    "teaching top": ("city", dv.TopK(k=3, kbar=6, epsilon="2")),
}


def frame(path: Path) -> pd.DataFrame:
    """The data, as it was read then."""
    return pd.read_csv(path, dtype={"person": str, "city": str, "month": int, "amount": int})


SINGLE = (0, 5, 2**40)
"""What is looked up in an answer without rows."""


def shown(release: dv.Release) -> dict[str, Any]:
    """Everything that a release tells a person."""
    if release.answer.parts is not None:
        heads = {"title": release.title, "promise": release.promise, "sentence": release.sentence}
        return {**heads, "parts": {name: shown(part) for name, part in release.groups.items()}}
    bars: dict[str, list[str | None]] = {}
    if release.valued or release.max_items is None:
        for beta in BETAS:
            try:
                bars[beta] = [None if bar is None else str(bar.value) for bar in release.bars(beta)]
            except ReleaseFormat:  # bins that are not equally sure have a bar each, which the rows below show
                bars[beta] = []
    rows = release.valued or release.max_items is not None
    if release.question.aggregate.kind == "records":
        told = {"record": release.record, "remark": release.answer.remark(release.reading), "csv": release.to_csv()}
        return {"title": release.title, "promise": release.promise, "sentence": release.sentence, **told}
    return {
        "number": release.number,
        "use": release.use,
        "teaching": release.teaching,
        "mode": release.mode,
        "price": release.price_text,
        "promise": release.promise,
        "rule": release.guarantee.rule,
        "exact": release.guarantee.exact,
        "title": release.title,
        "sentence": release.sentence,
        "question": release.question.text,
        "labels": release.labels if rows else [],
        "values": [plain(value) for value in release.values] if release.valued else [],
        "single": {label: plain(release[label]) for label in SINGLE} if not rows else {},
        "bars": bars,
        "csv": {beta: release.to_csv(beta=beta) for beta in BETAS} if rows else {},
    }


def people(words: str) -> str:
    """Several of them are people since 2026-11-23."""
    return words.replace("persons", "people").replace("Persons", "People")


def reworded(told: dict[str, Any]) -> dict[str, Any]:
    """What a release showed when it was kept, in the words of today where they were changed; its numbers as they were.

    Since 2026-11-23 a count is titled by what is counted (`Visits by month`), and so is a record; numbers in
    sentences have a true minus sign and commas. Since 2026-11-28 a fraction with a finite decimal is written as that
    decimal in a table: the same number; and a text of no characters is written in quotes.
    """
    title = told["title"].replace(" in each bin:", " in each bin,")
    title = re.sub(r"^([^,]+), one (record of \w+)", lambda old: f"One {old[2]}: {old[1].lower()}", title)
    title = re.sub(
        r"^([^,]+), (persons|visits)(?: in each bin)?(?=,)", lambda old: f"{old[2].title()} by {old[1].lower()}", title
    )
    changed: dict[str, Any] = {name: people(told[name]) for name in ("sentence", "promise") if name in told}
    changed["title"] = people(title)
    if "question" in told:
        changed["question"] = told["question"].replace("from -500 to 2000 in", "from −500 to 2,000 in")
    if "csv" in told:  # a lesson's draw says that it is not private, in a table as everywhere
        tables = json.dumps(told["csv"]).replace("# not a release: seeded", "# not private: seeded")
        written = json.loads(tables)
        changed["csv"] = decimals(written) if isinstance(written, str) else {b: decimals(t) for b, t in written.items()}
    return told | changed


def ranges_are_bins(told: dict[str, Any]) -> dict[str, Any]:
    """The same, since ranges of a column are counted as bins and no longer as its values."""
    limits = " of 6 {}s, with at most 2 rows in each {}"
    text = json.dumps(told).replace(limits.format("age", "age"), limits.format("bin", "bin"))
    changed: dict[str, Any] = json.loads(text)
    return changed


def decimals(table: str) -> str:
    """A table as CSV whose fractions are decimals where these are finite: `81/2` is 40.5, and `1/3` stays.

    A column that a table of counts does not have holds the text of no characters there, which is in quotes now.
    """

    def decimal(found: re.Match[str]) -> str:
        try:  # a quotient that is not exact is no finite decimal
            with localcontext(Context(prec=200, traps=[Inexact])):
                return f"{Decimal(found[1]) / Decimal(found[2]):f}"
        except Inexact:
            return found[0]

    lines = table.splitlines(keepends=True)
    if any(line.startswith("table,") for line in lines):
        lines = [line if line.startswith("#") else re.sub(r"(?<=,)(?=,)", '""', line) for line in lines]
    return "".join(
        line if line.startswith("#") else re.sub(r"(?<=,)(-?\d+)/(\d+)(?=[,\n])", decimal, line) for line in lines
    )


def read(release: dv.Release) -> dict[str, Any]:
    """What every estimator reads from a release that has several, and how a sum by it is known."""
    answer, found = release.answer, {}
    for reader in answer.readers:
        points = None if answer.has_rows else [answer.point(release.reading, label) for label in SINGLE]
        values = list(answer.read(release.reading, points, reader=reader))
        if all(isinstance(value, Fraction | numbers.Integral) for value in values):  # others are floats, enclosed
            found[reader] = [plain(value) for value in values]
    return found


def plain(value: Any) -> int | str:
    """A whole number as it is, a fraction as a text."""
    return str(value) if isinstance(value, Fraction) else int(value)


def left(session: Session) -> dict[str, str]:
    """What is left of a budget, part by part."""
    return {part: str(amount) for part, amount in session.remaining.parts.items()}
