"""The Python side of the components. The kernel computes and decides; the page draws.

A component is imported when it is asked for: an explorer needs no session, and a teaching session no ledger.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dpviz.names import absent

if TYPE_CHECKING:
    from dpviz.widgets.alp_anatomy import AlpAnatomy
    from dpviz.widgets.budget_meter import BudgetMeter
    from dpviz.widgets.composition_explorer import CompositionExplorer
    from dpviz.widgets.consistency_playground import ConsistencyPlayground
    from dpviz.widgets.isotonic_explorer import IsotonicExplorer
    from dpviz.widgets.mechanism_comparison import MechanismComparison
    from dpviz.widgets.mechanism_picker import MechanismPicker
    from dpviz.widgets.plan_pane import PlanPane
    from dpviz.widgets.product_trace import ProductSamplerTrace
    from dpviz.widgets.range_explorer import RangeExplorer
    from dpviz.widgets.release_pane import ReleasePane
    from dpviz.widgets.result_chart import ResultChart
    from dpviz.widgets.sampler_explorer import SamplerExplorer
    from dpviz.widgets.sampling_explorer import SamplingExplorer
    from dpviz.widgets.session_model import SessionModel
    from dpviz.widgets.sub_session_view import PayWhatYouGetTape
    from dpviz.widgets.top_k_explorer import TopKExplorer
    from dpviz.widgets.tradeoff_explorer import TradeoffExplorer
    from dpviz.widgets.workbench import Workbench

_HOME: dict[str, Callable[[], ModuleType]] = {
    "AlpAnatomy": lambda: import_module("dpviz.widgets.alp_anatomy"),
    "BudgetMeter": lambda: import_module("dpviz.widgets.budget_meter"),
    "CompositionExplorer": lambda: import_module("dpviz.widgets.composition_explorer"),
    "ConsistencyPlayground": lambda: import_module("dpviz.widgets.consistency_playground"),
    "IsotonicExplorer": lambda: import_module("dpviz.widgets.isotonic_explorer"),
    "SessionModel": lambda: import_module("dpviz.widgets.session_model"),
    "MechanismComparison": lambda: import_module("dpviz.widgets.mechanism_comparison"),
    "MechanismPicker": lambda: import_module("dpviz.widgets.mechanism_picker"),
    "PayWhatYouGetTape": lambda: import_module("dpviz.widgets.sub_session_view"),
    "PlanPane": lambda: import_module("dpviz.widgets.plan_pane"),
    "ProductSamplerTrace": lambda: import_module("dpviz.widgets.product_trace"),
    "RangeExplorer": lambda: import_module("dpviz.widgets.range_explorer"),
    "ReleasePane": lambda: import_module("dpviz.widgets.release_pane"),
    "ResultChart": lambda: import_module("dpviz.widgets.result_chart"),
    "SamplerExplorer": lambda: import_module("dpviz.widgets.sampler_explorer"),
    "SamplingExplorer": lambda: import_module("dpviz.widgets.sampling_explorer"),
    "TopKExplorer": lambda: import_module("dpviz.widgets.top_k_explorer"),
    "TradeoffExplorer": lambda: import_module("dpviz.widgets.tradeoff_explorer"),
    "Workbench": lambda: import_module("dpviz.widgets.workbench"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise absent(__name__, name, lambda: _HOME)
    component = globals()[name] = getattr(_HOME[name](), name)
    return component


__all__ = [
    "AlpAnatomy",
    "BudgetMeter",
    "CompositionExplorer",
    "ConsistencyPlayground",
    "IsotonicExplorer",
    "MechanismComparison",
    "MechanismPicker",
    "PayWhatYouGetTape",
    "PlanPane",
    "ProductSamplerTrace",
    "RangeExplorer",
    "ReleasePane",
    "ResultChart",
    "SamplerExplorer",
    "SamplingExplorer",
    "SessionModel",
    "TopKExplorer",
    "TradeoffExplorer",
    "Workbench",
]
