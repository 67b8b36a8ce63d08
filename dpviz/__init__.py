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

from dpviz.lazy import without_collector as _without_collector

if TYPE_CHECKING:
    from dpviz import charts as charts
    from dpviz import datasets as datasets
    from dpviz.boundary import traceback as traceback
    from dpviz.curator.client import connect as connect
    from dpviz.engines import sources as sources
    from dpviz.errors import DpvizError as DpvizError
    from dpviz.errors import ReleaseInterrupted as ReleaseInterrupted
    from dpviz.exercises import exercise as exercise
    from dpviz.mechanisms import FixedList as FixedList
    from dpviz.mechanisms import Parts as Parts
    from dpviz.mechanisms import PayWhatYouGet as PayWhatYouGet
    from dpviz.mechanisms.catalogue import *  # noqa: F403
    from dpviz.model.combination import combine as combine
    from dpviz.model.domain import Domain as Domain
    from dpviz.model.partition import Partition as Partition
    from dpviz.model.public import PublicTable as PublicTable
    from dpviz.model.public import PublicTop as PublicTop
    from dpviz.model.question import Between as Between
    from dpviz.model.question import Question as Question
    from dpviz.model.release import Release as Release
    from dpviz.privacy.limits import Limits as Limits
    from dpviz.privacy.unit import Unit as Unit
    from dpviz.reports import report as report
    from dpviz.session.accountant import Budget as Budget
    from dpviz.session.loading import load as load
    from dpviz.session.loading import load_derived as load_derived
    from dpviz.session.session import Session as Session
    from dpviz.session.teaching import teaching as teaching
    from dpviz.widgets import AlpAnatomy as AlpAnatomy
    from dpviz.widgets import BudgetMeter as BudgetMeter
    from dpviz.widgets import CompositionExplorer as CompositionExplorer
    from dpviz.widgets import ConsistencyPlayground as ConsistencyPlayground
    from dpviz.widgets import IsotonicExplorer as IsotonicExplorer
    from dpviz.widgets import MechanismComparison as MechanismComparison
    from dpviz.widgets import MechanismPicker as MechanismPicker
    from dpviz.widgets import PayWhatYouGetTape as PayWhatYouGetTape
    from dpviz.widgets import PlanPane as PlanPane
    from dpviz.widgets import ProductSamplerTrace as ProductSamplerTrace
    from dpviz.widgets import RangeExplorer as RangeExplorer
    from dpviz.widgets import ReleasePane as ReleasePane
    from dpviz.widgets import ResultChart as ResultChart
    from dpviz.widgets import SamplerExplorer as SamplerExplorer
    from dpviz.widgets import SamplingExplorer as SamplingExplorer
    from dpviz.widgets import TopKExplorer as TopKExplorer
    from dpviz.widgets import TradeoffExplorer as TradeoffExplorer
    from dpviz.widgets import Workbench as Workbench

__version__ = "0.1.0"

_HOME = {
    "AlpAnatomy": "dpviz.widgets",
    "Between": "dpviz.model.question",
    "Budget": "dpviz.session.accountant",
    "BudgetMeter": "dpviz.widgets",
    "CompositionExplorer": "dpviz.widgets",
    "ConsistencyPlayground": "dpviz.widgets",
    "Domain": "dpviz.model.domain",
    "DpvizError": "dpviz.errors",
    "IsotonicExplorer": "dpviz.widgets",
    "Limits": "dpviz.privacy.limits",
    "MechanismComparison": "dpviz.widgets",
    "MechanismPicker": "dpviz.widgets",
    "Partition": "dpviz.model.partition",
    "PayWhatYouGetTape": "dpviz.widgets",
    "PlanPane": "dpviz.widgets",
    "ProductSamplerTrace": "dpviz.widgets",
    "PublicTable": "dpviz.model.public",
    "PublicTop": "dpviz.model.public",
    "Question": "dpviz.model.question",
    "RangeExplorer": "dpviz.widgets",
    "Release": "dpviz.model.release",
    "ReleaseInterrupted": "dpviz.errors",
    "ReleasePane": "dpviz.widgets",
    "ResultChart": "dpviz.widgets",
    "SamplerExplorer": "dpviz.widgets",
    "SamplingExplorer": "dpviz.widgets",
    "Session": "dpviz.session.session",
    "TopKExplorer": "dpviz.widgets",
    "TradeoffExplorer": "dpviz.widgets",
    "Unit": "dpviz.privacy.unit",
    "Workbench": "dpviz.widgets",
    "combine": "dpviz.model.combination",
    "connect": "dpviz.curator.client",
    "exercise": "dpviz.exercises",
    "load": "dpviz.session.loading",
    "load_derived": "dpviz.session.loading",
    "report": "dpviz.reports",
    "sources": "dpviz.engines",
    "teaching": "dpviz.session.teaching",
    "traceback": "dpviz.boundary",
}
_MODULES = {"charts", "datasets"}


def _mechanisms() -> Any:
    return importlib.import_module("dpviz.mechanisms")


def __getattr__(name: str) -> Any:
    with _without_collector():
        return _found(name)


def _found(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"dpviz.{name}")
    if name in _HOME:
        globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
        return globals()[name]
    if name == "__all__":
        globals()[name] = sorted([*_HOME, *_MODULES, *_mechanisms().NAMES])
        return globals()[name]
    if name[:1].isupper():  # modules have names in lower case, and are found without this
        mechanisms = _mechanisms()
        if name in mechanisms.NAMES:
            return getattr(mechanisms, name)
        if name in mechanisms.REGISTRY:  # one that was registered, which may be taken out again
            return mechanisms.REGISTRY[name]
    raise importlib.import_module("dpviz.names").absent("dpviz", name, lambda: _found("__all__"))


def __dir__() -> list[str]:
    return sorted({"__version__", *_found("__all__"), *_mechanisms().REGISTRY})
