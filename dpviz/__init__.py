"""dpviz: see what differential privacy costs and buys.

    import dpviz as dv
    visits  = dv.datasets.doctor_visits()
    session = dv.Session(visits, unit=dv.Unit("row", noun="person-year"), budget=dv.Budget(epsilon="2"),
                         ledger="visits.ledger")
    bins    = dv.Domain.integers(0, 40, column="visits", overflow=True)
    session.plan(bins, dv.Dense(epsilon="1/2"))               # free
    release = session.release(bins, dv.Dense(epsilon="1/2"))  # paid, once
    dv.Workbench(session, bins)                               # the same, by hand

Names load on first use, so that `import dpviz` costs little more than numpy and gmpy2.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpviz import charts, datasets
    from dpviz.engines import sources
    from dpviz.errors import DpvizError, ReleaseInterrupted
    from dpviz.hidden import traceback
    from dpviz.mechanisms import (
        Compact,
        Dense,
        ExponentialTopK,
        PayWhatYouGet,
        PureSparse,
        Stability,
        TopK,
        TopKLaplace,
        TopKSet,
    )
    from dpviz.model.domain import Domain
    from dpviz.model.public import PublicTable, PublicTop
    from dpviz.model.question import Between, Question
    from dpviz.model.release import Release
    from dpviz.privacy.unit import Unit
    from dpviz.reports import report
    from dpviz.session.accountant import Budget
    from dpviz.session.loading import load
    from dpviz.session.session import Session
    from dpviz.session.teaching import teaching
    from dpviz.widgets import (
        BudgetMeter,
        CompositionExplorer,
        MechanismComparison,
        MechanismPicker,
        PayWhatYouGetTape,
        PlanPane,
        ReleasePane,
        ResultChart,
        SamplerExplorer,
        TopKExplorer,
        Workbench,
    )

__version__ = "0.1.0"

_HOME = {
    "Between": "dpviz.model.question",
    "Budget": "dpviz.session.accountant",
    "BudgetMeter": "dpviz.widgets",
    "Compact": "dpviz.mechanisms",
    "CompositionExplorer": "dpviz.widgets",
    "Dense": "dpviz.mechanisms",
    "Domain": "dpviz.model.domain",
    "DpvizError": "dpviz.errors",
    "ExponentialTopK": "dpviz.mechanisms",
    "MechanismComparison": "dpviz.widgets",
    "MechanismPicker": "dpviz.widgets",
    "PayWhatYouGet": "dpviz.mechanisms",
    "PayWhatYouGetTape": "dpviz.widgets",
    "PlanPane": "dpviz.widgets",
    "PublicTable": "dpviz.model.public",
    "PublicTop": "dpviz.model.public",
    "PureSparse": "dpviz.mechanisms",
    "Question": "dpviz.model.question",
    "Release": "dpviz.model.release",
    "ReleaseInterrupted": "dpviz.errors",
    "ReleasePane": "dpviz.widgets",
    "ResultChart": "dpviz.widgets",
    "SamplerExplorer": "dpviz.widgets",
    "Session": "dpviz.session.session",
    "Stability": "dpviz.mechanisms",
    "TopK": "dpviz.mechanisms",
    "TopKExplorer": "dpviz.widgets",
    "TopKLaplace": "dpviz.mechanisms",
    "TopKSet": "dpviz.mechanisms",
    "Unit": "dpviz.privacy.unit",
    "Workbench": "dpviz.widgets",
    "load": "dpviz.session.loading",
    "report": "dpviz.reports",
    "sources": "dpviz.engines",
    "teaching": "dpviz.session.teaching",
    "traceback": "dpviz.hidden",
}
_MODULES = {"charts", "datasets"}

__all__ = [
    "Between",
    "Budget",
    "BudgetMeter",
    "Compact",
    "CompositionExplorer",
    "Dense",
    "Domain",
    "DpvizError",
    "ExponentialTopK",
    "MechanismComparison",
    "MechanismPicker",
    "PayWhatYouGet",
    "PayWhatYouGetTape",
    "PlanPane",
    "PublicTable",
    "PublicTop",
    "PureSparse",
    "Question",
    "Release",
    "ReleaseInterrupted",
    "ReleasePane",
    "ResultChart",
    "SamplerExplorer",
    "Session",
    "Stability",
    "TopK",
    "TopKExplorer",
    "TopKLaplace",
    "TopKSet",
    "Unit",
    "Workbench",
    "charts",
    "datasets",
    "load",
    "report",
    "sources",
    "teaching",
    "traceback",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"dpviz.{name}")
    if name in _HOME:
        found = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'dpviz' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_MODULES])
