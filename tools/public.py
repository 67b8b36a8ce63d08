"""The public calls of dpviz: names of the package, what a person gets from them, and their public members."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import isclass, isfunction
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

import dpviz

RETURNED = (
    "dpviz.model.closing:Closed",
    "dpviz.model.combination:Combined",
    "dpviz.model.derived:Derived",
    "dpviz.model.derived:DerivedTable",
    "dpviz.model.marginals:Marginal",
    "dpviz.model.quantiles:DerivedQuantile",
    "dpviz.model.quantiles:DerivedQuantiles",
    "dpviz.privacy.loss:ApproxDP",
    "dpviz.privacy.loss:PureDP",
    "dpviz.privacy.loss:RangeBounded",
    "dpviz.privacy.loss:ZCDP",
    "dpviz.session.ledger.ledger:Ledger",
    "dpviz.session.ledger.records:Entry",
    "dpviz.session.plan:Plan",
    "dpviz.session.seeded_draws:SeededDraws",
    "dpviz.session.sub_session:SubSession",
    "dpviz.session.teaching:Teaching",
)
"""Classes that nobody names and many hold: public calls return them."""


def names() -> Iterator[tuple[str, Any]]:
    """Every public class and function of dpviz by name: the package's own, its modules', its errors, and RETURNED."""
    for name in dpviz.__all__:
        thing = getattr(dpviz, name)
        if isinstance(thing, ModuleType):
            for inner in thing.__all__:
                if callable(getattr(thing, inner)):
                    yield f"{name}.{inner}", getattr(thing, inner)
        else:
            yield name, thing
    for name, thing in vars(resolve_name("dpviz.errors")).items():
        if isclass(thing) and issubclass(thing, dpviz.DpvizError) and name not in dpviz.__all__:
            yield f"errors.{name}", thing
    for name in RETURNED:
        thing = resolve_name(name)
        assert isclass(thing) or isfunction(thing), name
        yield name.partition(":")[2], thing
