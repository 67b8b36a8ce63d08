"""The protocol of an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from dpviz.boundary import protect_module
from dpviz.kinds import name_of
from dpviz.model.question import Question
from dpviz.model.statistic import Column, Need, Statistic
from dpviz.privacy.unit import Unit

Tick: TypeAlias = Callable[[int, int], None]
"""Called as tick(done, total) between pieces of work, with public sizes only. May raise to cancel."""


@dataclass(frozen=True, slots=True)
class TopRules:
    """The engine's declaration of its largest counts: whether they are exact, and how it orders equal ones.

    ties  "label": by the label alone, which no unit can move; "unknown": perhaps by something that depends on the data
    """

    exact: bool = True
    ties: Literal["label", "unknown"] = "label"


class Source:
    """Private data behind a narrow interface. `columns`, `name` and the checks are public; `count` is private."""

    __slots__ = ()

    if TYPE_CHECKING:  # declared and not defined: in a subclass any of these may be a field or a class's constant

        @property
        def name(self) -> str:
            """The declared name of the dataset."""
            ...

        @property
        def columns(self) -> tuple[Column, ...]:
            """The declared schema, in order."""
            ...

    @property
    def engine(self) -> str:
        """The public name of what counts: `pandas`, `DuckDB`, `Spark`."""
        return name_of(type(self))

    @property
    def top(self) -> TopRules:
        """The engine's declaration of its largest counts. By default nothing is known of how it orders equal ones."""
        return TopRules(ties="unknown")

    def check(self, question: Question, unit: Unit, need: Need) -> None:
        """Refuse what cannot be counted, from the schema alone: before any charge, without looking at a value."""
        raise NotImplementedError

    def probe(self) -> None:
        """A cheap look whether the engine is still there, which reads no row. Raises EngineGone where it is not.
        By default a source is taken to be there."""

    def chartered(self, kinds: Mapping[str, str]) -> Source:
        """This source with the kinds that a ledger's charter gives to columns whose kinds nobody declared. By default
        a source has its own schema."""
        return self

    def count(self, question: Question, unit: Unit, need: Need, tick: Tick | None = None) -> Statistic:
        """Count inside the unit's bounds. Runs after the charge; raises nothing that depends on a value. Sparse counts
        may be counted only while a mechanism takes them (`StreamedCounts`), which is after the charge, too."""
        raise NotImplementedError


protect_module(vars())
