"""Mechanisms, one file each, and the registry that names them. A file is loaded when its mechanism is first used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dpviz.errors import ParameterError
from dpviz.hidden import guard, kind_of, singly

if TYPE_CHECKING:
    from dpviz.mechanisms.compact import Compact as Compact
    from dpviz.mechanisms.dense import Dense as Dense
    from dpviz.mechanisms.exponential_top_k import ExponentialTopK as ExponentialTopK
    from dpviz.mechanisms.pay_what_you_get import PayWhatYouGet as PayWhatYouGet
    from dpviz.mechanisms.pure_sparse import PureSparse as PureSparse
    from dpviz.mechanisms.stability import Stability as Stability
    from dpviz.mechanisms.top_k import TopK as TopK
    from dpviz.mechanisms.top_k_laplace import TopKLaplace as TopKLaplace
    from dpviz.mechanisms.top_k_set import TopKSet as TopKSet
    from dpviz.model.mechanism import Mechanism

_RELEASED: Final = {
    "Dense": "dense",
    "Stability": "stability",
    "PureSparse": "pure_sparse",
    "Compact": "compact",
    "TopK": "top_k",
    "TopKLaplace": "top_k_laplace",
    "TopKSet": "top_k_set",
    "ExponentialTopK": "exponential_top_k",
}
"""Every mechanism of dpviz and its file, in the order in which widgets offer them."""

_OPENED: Final = {"PayWhatYouGet": "pay_what_you_get"}
"""What opens a sub-session, and cannot be released by itself."""

_FILES: Final = {**_RELEASED, **_OPENED}

Kind = TypeVar("Kind", bound="type[Mechanism]")


class Registry(Mapping[str, "type[Mechanism]"]):
    """Every mechanism a user can name: those of dpviz, then those that were registered."""

    def __init__(self) -> None:
        self._registered: dict[str, type[Mechanism]] = {}

    def __getitem__(self, name: str) -> type[Mechanism]:
        if name in self._registered:
            return self._registered[name]
        kind: type[Mechanism] = _loaded(name, _RELEASED[name])
        return kind

    def __contains__(self, name: object) -> bool:
        return name in _RELEASED or name in self._registered

    def __iter__(self) -> Iterator[str]:
        return iter([*_RELEASED, *self._registered])

    def __len__(self) -> int:
        return len(_RELEASED) + len(self._registered)

    def add(self, kind: Kind) -> Kind:
        """See `register`."""
        from dpviz.model.parameters import Parameters

        if not isinstance(kind, type) or not issubclass(kind, Parameters):
            raise ParameterError.of(
                kind_of(kind),
                "a mechanism is a class built on dpviz.model.parameters.Parameters",
                "declare its parameters, and give it `bind`",
            )
        if missing := [part for part in ("name", "about", "delta_text", "bind") if not hasattr(kind, part)]:
            raise ParameterError.of(kind.__name__, f"a mechanism has {', '.join(missing)}", "dense.py shows how")
        if not kind.name.isidentifier() or kind.name in self or kind.name in _FILES:
            raise ParameterError.of(
                kind.name, "the name of a mechanism is a Python name that no other mechanism has", "give it another"
            )
        self._registered[kind.name] = kind
        return kind

    def remove(self, name: str) -> None:
        """See `unregister`."""
        if name not in self._registered:
            raise ParameterError.of(name, "only a mechanism that was registered can be taken out")
        del self._registered[name]


REGISTRY: Final = Registry()


def _loaded(name: str, file: str) -> Any:
    return getattr(importlib.import_module(f"dpviz.mechanisms.{file}"), name)


@singly
def register(kind: Kind) -> Kind:
    """Offer a mechanism of your own wherever mechanisms are named: in sessions, saved releases, plans and pages.

    A class built on `dpviz.model.parameters.Parameters`, with a `bind`, whose name no other mechanism has. It is given
    back, so this may stand above the class as a decorator. A saved release of it can be loaded where it is registered.
    """
    return REGISTRY.add(kind)


@singly
def unregister(name: str) -> None:
    """Take a mechanism that was registered out again."""
    REGISTRY.remove(name)


def mechanism(name: str, parameters: dict[str, str]) -> Mechanism:
    """The mechanism of that name with these exact texts as parameters."""
    if name not in REGISTRY:
        raise ParameterError.of(name, f"a mechanism is one of {', '.join(REGISTRY)}")
    return REGISTRY[name].from_parameters(parameters)


NAMES: Final = tuple(_FILES)
"""What a user finds here by name, and as `dv.Dense` and so on."""

__all__ = sorted([*NAMES, "NAMES", "REGISTRY", "mechanism", "register", "unregister"])

if not TYPE_CHECKING:  # a checker knows what is imported above, and that there is nothing else

    def __getattr__(name: str) -> Any:
        if name in _FILES:
            globals()[name] = _loaded(name, _FILES[name])
            return globals()[name]
        raise AttributeError(f"module 'dpviz.mechanisms' has no attribute {name!r}")


guard(vars())
