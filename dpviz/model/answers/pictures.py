"""Parts of the pictures that a page draws of several shapes: error bars, axes and the columns of a map."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from dpviz.boundary import protect_module
from dpviz.exact import text
from dpviz.model.answers.base import Answer
from dpviz.model.answers.reading import Reading, View
from dpviz.model.domain import Domain
from dpviz.model.question import Question


def bars_json(answer: Answer, reading: Reading, betas: Sequence[Fraction]) -> dict[str, Any]:
    """The half-widths at every level a person may choose, as the page takes them."""
    bars = {}
    for beta in betas:
        one, every = answer.bars(reading, beta)
        if one is None:
            answer._refuse("this answer has no error bar per bin", "read release.to_frame()")
        bars[text(beta)] = {"one": one.to_json(), "all": None if every is None else every.to_json()}
    return bars


INNER: Final = (Fraction(1, 5), Fraction(1, 2))
"""Beside 95 in 100 a strip shows how far one value is off 80 and 50 times in 100."""


def strips_json(answer: Answer, reading: Reading) -> list[str]:
    """The half-widths of one point, 80 and 50 times in 100: one number each, for they are the same in every row."""
    alone = [answer.bars(reading, beta)[0] for beta in INNER]
    return [text(one.value) for one in alone if one is not None]


def look_ups_view(answer: Answer, reading: Reading, betas: Sequence[Fraction]) -> View:
    """The picture of an answer without rows, which the page asks for one bin after the other."""
    domain = reading.question.domain
    header = {
        "axis": columns_of(reading.question),
        "columns": list(domain.columns),
        **scale_of(domain),
        "bins": str(domain.size) if domain.declared else None,
        "size": domain.size_text,
        "sparse": False,
        "lookup": True,
        "labels": [],
        "short_labels": [],
        "list": None,
        "bars": bars_json(answer, reading, betas),
    }
    return View("large", header | ({"readers": list(answer.readers)} if answer.readers else {}))


def scale_of(domain: Domain) -> dict[str, Any]:
    """Whether its labels are numbers or names, for a page that groups the digits of numbers; of each of its columns."""
    several = [axis.kind for axis in domain.factors] if len(domain.factors) > 1 else []
    return {"scale": domain.kind, **({"scales": several} if several else {})}


MAPPED: Final = 2_500
"""A page draws two columns as a map of so many cells at most."""


def factors_of(domain: Domain) -> dict[str, Any]:
    """The two columns of a product that a page draws as a map, with the names of their bins; nothing of any other."""
    factors = domain.factors
    if len(factors) != 2 or domain.size > MAPPED:
        return {}
    return {"factors": [factor_of(one) for one in factors]}


def factor_of(domain: Domain) -> dict[str, Any]:
    """One column of a product, for a page: its name, those of its bins, and whether they are numbers."""
    labels = [domain.label(at) for at in range(domain.size)]
    return {"name": domain.columns[0], "labels": labels, "scale": domain.kind}


def columns_of(question: Question) -> str:
    """The subject of the question, for an axis: `visits`, `month and weekday`."""
    return question.domain.columns_text


protect_module(vars())
