"""A release as a page may see it: plain texts, public through and through. Widgets and reports draw from this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dpviz.charts import columns
from dpviz.errors import DpvizError
from dpviz.exact import text
from dpviz.model.answers import View
from dpviz.model.error import BETAS
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.grid import payable

if TYPE_CHECKING:
    from dpviz.model.release import Release

VERSION = 1

MOST_LINED: Final = 20_000
"""The most bins of an answer on which a page draws the line of a quantile."""


def heading(release: Release) -> str:
    """The title, marked where it is no release."""
    marked = "" if release.teaching is None else f"Not private · teaching, seed {release.teaching}: "
    return marked + release.title


def promise(release: Release, *, closed: bool = False) -> str:
    """The guarantee in words, which rows the limits of the unit may leave out, and whether a ledger is known to have
    made the release; of a release that a profile closes, its limits are said elsewhere."""
    limits = "" if closed else release.limits.removesuffix(".")
    return ". ".join(filter(None, [release.protection, limits, release.doubt]))


def picture(release: Release) -> dict[str, Any]:
    """The result of widgets/PROTOCOL.md: the view of the answer, and what every release says whatever its view is.

    Its long columns are bytes, in `buffers`: `columns.apart` and `columns.written` say how they leave the kernel.
    """
    view = release.answer.view(release.reading, BETAS)
    rows = len(release.axis.labels) if release.answer.has_rows else 0
    charged = payable(to_approx(release.guarantee.loss))
    low, high = release.terms.clamp
    return {
        "axis": release.axis.name,
        "columns": list(release.question.domain.columns),
        **_columns(view),
        "version": VERSION,
        "kind": view.kind,
        "number": None if release.number is None else str(release.number),
        "key": release.key,
        "question_id": release.question.id,
        "title": heading(release),
        "plain_title": release.plain_title,
        "guarantee": promise(release),
        "proof": release.guarantee.rule if release.teaching is None else "",
        "odds": release.guarantee.odds if release.teaching is None else "",
        "price": {"epsilon": text(charged.epsilon), "delta": text(charged.delta)},
        "epsilon": release.terms.mechanism.parameters.get("epsilon") or text(charged.epsilon),
        "nouns": release.question.nouns(release.unit),
        **({} if (limits := release.reading.limited.to_json()) is None else {"limits": limits}),
        **({"lined": True} if is_lined(release) else {}),
        "adds_up": release.answer.adds_rows or release.answer.adds_bins,
        "clamp": {"low": None if low is None else str(low), "high": None if high is None else str(high)},
        "betas": [text(beta) for beta in BETAS],
        "beta": text(BETAS[1]),
        "mechanism": repr(release.terms.mechanism),
        "mode": release.mode,
        "randomness": release.randomness,
        "teaching": None if release.teaching is None else {"seed": str(release.teaching)},
        "used": release.used,
        **({"once": release.terms.law.once} if release.terms.law.once else {}),
        "python": call_of(release),
        "table_rows": str(rows),
        "csv": release.to_csv() if release.answer.has_rows and rows <= columns.IN_JSON else "",
    }


def is_lined(release: Release) -> bool:
    """Whether the rows of an answer are all its bins, in an order, whose quantiles are known and drawn on a page."""
    answer, domain = release.answer, release.question.domain
    if not answer.has_rows or not release.terms.reuse or release.axis.domain != domain:
        return False  # rows that are those of all declared bins, whatever the values are
    if not domain.declared or domain.size > MOST_LINED:
        return False
    from dpviz.model.in_order import InOrder

    try:
        return len(InOrder(release.asking, BETAS[1], "one", "").bins) > 1
    except DpvizError:
        return False


def _columns(view: View) -> dict[str, Any]:
    """The picture that a view draws: short columns as texts, for whole numbers may be larger than a page can count;
    long ones as bytes."""
    rows: dict[str, Any] = {"values": [], **view.header, **view.arrays}
    long = {name: value for name, value in rows.items() if columns.is_long(value)}
    short = {name: value for name, value in rows.items() if name not in long}
    texts = {name: [str(value) for value in short[name].tolist()] for name in view.arrays if name in short}
    return {**short, **texts, **({"buffers": columns.beside(long)} if long else {})}


def call_of(release: Release) -> str:
    """How to have the release in Python, free."""
    if release.use is not None:
        return f"next(answer for answer in sub.answers if answer.use == {release.use})"
    return "" if release.number is None else f"session.releases[{release.number}]"
