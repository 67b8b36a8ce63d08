"""Mechanisms, one file each, and the registry that names them."""

from __future__ import annotations

from dpviz.errors import ParameterError
from dpviz.mechanisms.compact import Compact
from dpviz.mechanisms.dense import Dense
from dpviz.mechanisms.exponential_top_k import ExponentialTopK
from dpviz.mechanisms.pay_what_you_get import PayWhatYouGet
from dpviz.mechanisms.pure_sparse import PureSparse
from dpviz.mechanisms.stability import Stability
from dpviz.mechanisms.top_k import TopK
from dpviz.mechanisms.top_k_laplace import TopKLaplace
from dpviz.mechanisms.top_k_set import TopKSet
from dpviz.model.mechanism import Mechanism
from dpviz.model.opening import Opening

REGISTRY: dict[str, type[Mechanism]] = {
    "Dense": Dense,
    "Stability": Stability,
    "PureSparse": PureSparse,
    "Compact": Compact,
    "TopK": TopK,
    "TopKLaplace": TopKLaplace,
    "TopKSet": TopKSet,
    "ExponentialTopK": ExponentialTopK,
}
"""Every mechanism a user can name, in the order in which widgets offer them."""

NAMING = ("TopK", "TopKLaplace", "TopKSet", "ExponentialTopK")
"""Those that name the largest items. All others have a value for every bin."""


OPENINGS: dict[str, type[Opening]] = {"PayWhatYouGet": PayWhatYouGet}
"""Every kind of sub-session that `session.open` takes, by the name that ledgers keep it under."""


def opening(name: str, parameters: dict[str, str]) -> Opening:
    """The parameters of a sub-session of that name, from these exact texts."""
    if name not in OPENINGS:
        raise ParameterError.of(name, f"a sub-session is one of {', '.join(OPENINGS)}", "upgrade dpviz")
    return OPENINGS[name].from_parameters(parameters)


def mechanism(name: str, parameters: dict[str, str]) -> Mechanism:
    """The mechanism of that name with these exact texts as parameters."""
    if name not in REGISTRY:
        raise ParameterError.of(name, f"a mechanism is one of {', '.join(REGISTRY)}")
    return REGISTRY[name].from_parameters(parameters)


__all__ = [
    "NAMING",
    "OPENINGS",
    "REGISTRY",
    "Compact",
    "Dense",
    "ExponentialTopK",
    "PayWhatYouGet",
    "PureSparse",
    "Stability",
    "TopK",
    "TopKLaplace",
    "TopKSet",
    "mechanism",
    "opening",
]
