"""Plans: what a release would cost and how wrong it would be, from public things only."""

from dpviz.planning.grid import epsilon_grid
from dpviz.planning.sheet import PlanSheet

__all__ = ["PlanSheet", "epsilon_grid"]
