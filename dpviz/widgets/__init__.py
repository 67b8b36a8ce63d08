"""The Python side of the components. The kernel computes and decides; the page draws."""

from dpviz.widgets.budget_meter import BudgetMeter
from dpviz.widgets.composition_explorer import CompositionExplorer
from dpviz.widgets.desk import Desk
from dpviz.widgets.mechanism_comparison import MechanismComparison
from dpviz.widgets.mechanism_picker import MechanismPicker
from dpviz.widgets.plan_pane import PlanPane
from dpviz.widgets.release_pane import ReleasePane
from dpviz.widgets.result_chart import ResultChart
from dpviz.widgets.sampler_explorer import SamplerExplorer
from dpviz.widgets.tape import PayWhatYouGetTape
from dpviz.widgets.top_k_explorer import TopKExplorer
from dpviz.widgets.workbench import Workbench

__all__ = [
    "BudgetMeter",
    "CompositionExplorer",
    "Desk",
    "MechanismComparison",
    "MechanismPicker",
    "PayWhatYouGetTape",
    "PlanPane",
    "ReleasePane",
    "ResultChart",
    "SamplerExplorer",
    "TopKExplorer",
    "Workbench",
]
