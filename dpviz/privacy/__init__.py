"""Units, losses, conversion, composition, calibration. Knows no mechanism."""

from dpviz.privacy.calibration import largest
from dpviz.privacy.composition import compose, compose_dp, compose_range_bounded, compose_zcdp
from dpviz.privacy.conversion import convert, group, to_approx, to_zcdp
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.limits import Limits
from dpviz.privacy.loss import ZCDP, ApproxDP, Loss, PureDP, RangeBounded
from dpviz.privacy.optimal import best_optimal_dp, optimal_dp
from dpviz.privacy.unit import Relation, Unit

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Guarantee",
    "Limits",
    "Loss",
    "PureDP",
    "RangeBounded",
    "Relation",
    "Unit",
    "best_optimal_dp",
    "compose",
    "compose_dp",
    "compose_range_bounded",
    "compose_zcdp",
    "convert",
    "group",
    "largest",
    "optimal_dp",
    "to_approx",
    "to_zcdp",
]
