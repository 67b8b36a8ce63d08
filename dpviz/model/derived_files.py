"""Derived values as they are read from a file that `save` of them, of tables, quantiles or combined answers wrote.

A file is shown as it is: its checksum reveals damage and is no signature. Every part is checked for its type,
and what a value says in words is made from these parts anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from hashlib import sha256
from typing import Any, Final, get_args

from dpviz.boundary import protect_module
from dpviz.errors import DpvizError, ReleaseFormat
from dpviz.exact import probability, whole
from dpviz.model.between import Enclosed
from dpviz.model.derived import FORMAT, VERSION, Among, Chance, Derived, DerivedKind, DerivedTable, Ends, Paid
from dpviz.model.domain import Domain
from dpviz.model.error import How
from dpviz.model.linear import Bias
from dpviz.model.marginals import Marginal
from dpviz.model.quantiles import DerivedQuantile, DerivedQuantiles
from dpviz.model.question import canonical

_FRACTION: Final = re.compile(r"(-?\d{1,4300})(?:/(\d{1,4300})|\.(\d{1,30}))?\Z", re.ASCII)
"""The text that `exact.text` writes: a whole number, a fraction or a finite decimal; a derived value may have many
digits."""


def opened(content: bytes) -> Mapping[str, Any]:
    """The body of a file of derived values.

    Raises ReleaseFormat where it is truncated, altered, something else, or of a newer format.
    """
    try:
        outer = json.loads(content)
        body, digest = outer["derived"], outer["sha256"]
        written = canonical(body)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise unknown() from None
    if not isinstance(body, dict) or body.get("format") != FORMAT or type(body.get("version")) is not int:
        raise unknown()
    if body["version"] > VERSION:
        rule = f"this dpviz reads files of derived values up to version {VERSION}"
        raise ReleaseFormat.of(body["version"], rule, "update dpviz")
    if sha256(written).hexdigest() != digest:
        raise ReleaseFormat.damaged(
            "a file of derived values must match its checksum", "one that was altered or damaged"
        )
    return body


def unknown() -> ReleaseFormat:
    """The refusal of what no dpviz wrote."""
    return ReleaseFormat.damaged(
        "a file of derived values must be what dpviz saved", "one that is truncated, or something else"
    )


def read(body: Mapping[str, Any]) -> Derived | DerivedTable | DerivedQuantile | DerivedQuantiles:
    """The values of a body that holds values.

    Raises ReleaseFormat where a part is not what dpviz writes.
    """
    try:
        if "quantiles" in body:
            return _quantiles(body)
        rows = tuple(_derived(row) for row in body["rows"])
        if not rows:
            raise ValueError
        if body.get("alone") is True:
            (only,) = rows
            return only
        if "columns" not in body:
            return DerivedTable(rows)
        columns = tuple(map(_text, body["columns"]))
        labels = tuple(tuple(map(_text, cell)) for cell in body["labels"])
        axes = tuple(map(Domain.from_json, body["axes"]))
        if len(labels) != len(rows) or any(len(cell) != len(columns) for cell in labels) or len(axes) != len(columns):
            raise ValueError
        return Marginal(rows, columns, labels, axes, None)
    except (ValueError, KeyError, TypeError, AttributeError, DpvizError):
        raise unknown() from None


def _derived(data: Mapping[str, Any]) -> Derived:
    value = data["value"]
    low, high = _end(data["low"]), _end(data["high"])
    bias, cut, empty = data["bias"], tuple(data["cut"]), data["empty"]
    if {type(one) for one in (*cut, empty)} != {bool} or len(cut) != 2:
        raise TypeError
    return Derived(
        kind=_one_of(data["kind"], get_args(DerivedKind)),
        what=_text(data["what"]),
        value=Enclosed(*map(_number, value)) if isinstance(value, list) else _number(value),
        low=low,
        high=high,
        how=_one_of(data["how"], get_args(How)),
        rule=_text(data["rule"]),
        off=_end(data["off"]),
        beta=probability(_number(data["beta"]), "beta", zero=False),
        among=_among(data["among"]),
        bias=Bias(_text(bias["words"]), _end(bias["low"]), _end(bias["high"])),
        paid=tuple(map(_paid, data["paid"])),
        nouns=_text(data["nouns"]),
        remarks=tuple(map(_text, data["remarks"])),
        cut=cut,
        empty=empty,
        chance=None if data["chance"] is None else _chance(data["chance"]),
        limits=_text(data.get("limits", "")),
        counted=None if "counted" not in data else _counted(data["counted"]),
    )


def _quantiles(body: Mapping[str, Any]) -> DerivedQuantile | DerivedQuantiles:
    rows = tuple(_quantile(row) for row in body["quantiles"])
    if not rows:
        raise ValueError
    if body.get("alone") is not True:
        return DerivedQuantiles(rows)
    (only,) = rows
    return only


def _quantile(data: Mapping[str, Any]) -> DerivedQuantile:
    return DerivedQuantile(
        q=probability(_number(data["q"]), "q", zero=False),
        column=_text(data["column"]),
        label=None if data["label"] is None else _text(data["label"]),
        low_label=_text(data["low_label"]),
        high_label=_text(data["high_label"]),
        low=_end(data["low"]),
        high=_end(data["high"]),
        how=_one_of(data["how"], get_args(How)),
        rule=_text(data["rule"]),
        beta=probability(_number(data["beta"]), "beta", zero=False),
        among=_among(data["among"]),
        paid=tuple(map(_paid, data["paid"])),
        nouns=_text(data["nouns"]),
        remarks=tuple(map(_text, data["remarks"])),
    )


def _counted(ends: object) -> Ends:
    if not isinstance(ends, list) or len(ends) != 2:
        raise TypeError
    return _end(ends[0]), _end(ends[1])


def _paid(data: Mapping[str, Any]) -> Paid:
    number, use, teaching = (data[name] for name in ("number", "use", "teaching"))
    for one in (number, use, teaching):
        if one is not None and type(one) is not int:
            raise TypeError
    return Paid(number, use, _text(data["price"]), _text(data["title"]), teaching, unchecked=teaching is None)


def _chance(data: Mapping[str, Any]) -> Chance:
    value = Enclosed(_number(data["low"]), _number(data["high"]))
    return Chance(value, _one_of(data["how"], get_args(How)), _text(data["rule"]))


def _among(given: object) -> Among:
    if given == "one" or given == "all":
        return given
    return whole(int(_text(given)), "among")


def _one_of(given: Any, known: tuple[Any, ...]) -> Any:
    if type(given) is not str or given not in known:
        raise ValueError
    return given


def _text(given: object) -> str:
    if type(given) is not str:
        raise TypeError
    return given


def _end(given: object) -> Fraction | None:
    return None if given is None else _number(given)


def _number(given: object) -> Fraction:
    found = _FRACTION.match(_text(given))
    if found is None:
        raise ValueError
    places = found[3] or ""
    denominator = int(found[2] or 10 ** len(places))
    if not denominator:
        raise ValueError
    return Fraction(int(found[1] + places), denominator)


protect_module(vars())
