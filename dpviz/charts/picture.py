"""A release as a page may see it: plain texts, public through and through. Widgets and reports draw from this."""

from __future__ import annotations

from typing import Any

from dpviz.exact import text
from dpviz.model.answer import Chosen, Ranked, SparseTable, Table
from dpviz.model.release import Release
from dpviz.planning.sheet import BETAS
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable

VERSION = 1
LARGEST = 20_000
"""A release of more bins is described to the page, not drawn: kind "large", no labels and no values."""


def heading(release: Release) -> str:
    """The title, marked where it is no release."""
    marked = "" if release.teaching is None else f"Not private · teaching, seed {release.teaching}: "
    return marked + release.title


def promise(release: Release) -> str:
    """What it protects, in words."""
    if release.teaching is not None:
        return "Whoever knows the seed knows the noise: this draw protects nobody"
    return release.promise


def picture(release: Release) -> dict[str, Any]:
    """The result of widgets/PROTOCOL.md."""
    domain = release.question.domain
    sparse = isinstance(release.answer, SparseTable)
    named = isinstance(release.answer, Ranked | Chosen)
    lookup = not named and not isinstance(release.answer, Table | SparseTable)
    bins = len(release.labels) if sparse or named else domain.size
    shown = not lookup and bins <= LARGEST
    charged = payable(to_approx(release.guarantee.loss))
    low, high = release.bound.clamp
    bars = {}
    for beta in BETAS if release.valued or lookup else ():
        one, every = release.bars(beta)
        bars[text(beta)] = {"one": one.to_json(), "all": None if every is None else every.to_json()}
    return {
        "version": VERSION,
        "kind": "ranked" if named else "histogram" if shown else "large",
        "number": None if release.number is None else str(release.number),
        "key": release.key,
        "question_id": release.question.id,
        "title": heading(release),
        "plain_title": release.plain_title,
        "guarantee": promise(release),
        "odds": release.guarantee.odds if release.teaching is None else "",
        "price": {"epsilon": text(charged.epsilon), "delta": text(charged.delta)},
        "epsilon": release.bound.mechanism.parameters().get("epsilon") or text(charged.epsilon),
        "axis": domain.columns_text,
        "columns": list(domain.columns),
        "nouns": release.unit.nouns,
        "scale": domain.kind,
        "bins": str(bins),
        "size": domain.size_text,
        "sparse": sparse,
        "lookup": lookup,
        "labels": release.labels if shown else [],
        "short_labels": [] if not shown else release.labels if sparse or named else domain.short_labels,
        "values": [str(value) for value in release.values] if shown and release.valued else [],
        "list": _list(release) if named else None,
        "clamp": {"low": None if low is None else str(low), "high": None if high is None else str(high)},
        "betas": [text(beta) for beta in BETAS],
        "beta": text(BETAS[1]),
        "bars": bars,
        "mechanism": repr(release.bound.mechanism),
        "mode": release.mode,
        "randomness": release.randomness,
        "teaching": None if release.teaching is None else {"seed": str(release.teaching)},
        "used": release.used,
        "python": _python(release),
        "csv": release.to_csv() if shown else "",
    }


def _python(release: Release) -> str:
    """How to have the release in Python, free."""
    if release.use is not None:
        return f"next(answer for answer in sub.answers if answer.use == {release.use})"
    return "" if release.number is None else f"session.releases[{release.number}]"


def _list(release: Release) -> dict[str, Any]:
    """What a list or a set says beside its items: how many could come, whether ⊥ came, and that in words."""
    ordered = isinstance(release.answer, Ranked)
    return {
        "places": str(release.places),
        "ordered": ordered,
        "ended": ordered and release.ended,
        "sentence": release.sentence,
    }
