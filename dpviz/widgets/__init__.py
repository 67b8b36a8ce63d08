"""The Python side of the components. The kernel computes and decides; the page draws.

A component is imported when it is asked for: an explorer needs no session, and a teaching session no ledger.

Messages are described in `widgets/PROTOCOL.md`. A plan sheet (`planning/sheet.py`) carries prices, errors and pictures
for every value of the slider, as texts, so the page redraws by itself. `view.py` is what every widget is: only the
kernel writes its traits; it carries a loader and names its program, one model in a kernel for all views that need it.
`model.py` stands behind views that share what they show, which stands on one board, sent and saved once; `packing.py`
deflates long texts. A kind of answer is drawn by the view registered for it, which may come as a bundle of its own
(`views.py`).

`dispatcher.py` takes every message of a page: named requests, checked in `messages.py`. Plans are computed on a thread
of their own, and the latest wins: it cancels the one before it (`wanted.py`). Everything else, and all that is sent,
goes through one `writer.py`, so a reply that names a token comes before any news of it. `session_model.py` and
`sub_session_view.py` answer. Questions of several columns, and by parts, are made of bins that are known or declared
(`offered.py`). `watching.py` follows a ledger while somebody looks: one thread looks at its head, another writes the
`pulse` and, where the ledger moved, has the writer show it.

`asking.py` passes further questions about a paid answer on, `quantile_lines.py` sends its quantiles, `combining.py`
says what a second answer would gain and what each limit saves, `saving.py` gives a long table in pieces, `drawing.py`
draws further records, `lesson.py` shows public true counts beside a lesson's draws, and `carrying.py` is what a report
carries of an answer to look-ups (`Answer.offline_look_ups`), so that its page answers by itself.
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
