"""Units, losses, conversion, composition, calibration. Knows no mechanism."""

from dpviz.privacy.calibration import largest
from dpviz.privacy.composition import compose
from dpviz.privacy.conversion import convert, group, to_approx, to_zcdp
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.loss import ZCDP, ApproxDP, Loss, PureDP, RangeBounded
from dpviz.privacy.unit import Relation, Unit

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Guarantee",
    "Loss",
    "PureDP",
    "RangeBounded",
    "Relation",
    "Unit",
    "compose",
    "convert",
    "group",
    "largest",
    "to_approx",
    "to_zcdp",
]
