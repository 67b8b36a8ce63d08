"""What an engine must do for a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from dpviz.model.question import Question
from dpviz.model.statistic import Column, Need, Statistic
from dpviz.privacy.unit import Unit

Tick: TypeAlias = Callable[[int, int], None]
"""Called as tick(done, total) between pieces of work, with public sizes only. May raise to cancel."""


@dataclass(frozen=True, slots=True)
class TopRules:
    """What an engine declares of its largest counts: whether they are exact, and how it orders equal ones.

    ties  "label": by the label alone, which no unit can move; "unknown": perhaps by something that depends on the data
    """

    exact: bool = True
    ties: Literal["label", "unknown"] = "label"


class Source(Protocol):
    """Private data behind a narrow door. `columns`, `name` and the checks are public; `count` is private."""

    @property
    def name(self) -> str:
        """The declared name of the dataset."""
        ...

    @property
    def engine(self) -> str:
        """The public name of what counts: `pandas`, `DuckDB`, `Spark`."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared schema, in order."""
        ...

    @property
    def top(self) -> TopRules:
        """What the engine declares of its largest counts."""
        ...

    def check(self, question: Question, unit: Unit, need: Need) -> None:
        """Refuse what cannot be counted, from the schema alone: before any charge, without looking at a value."""
        ...

    def probe(self) -> None:
        """A cheap look whether the engine is still there, which reads no row. Raises EngineGone where it is not."""
        ...

    def chartered(self, kinds: Mapping[str, str]) -> Source:
        """This source with the kinds that a ledger's charter gives to columns whose kinds nobody declared."""
        ...

    def count(self, question: Question, unit: Unit, need: Need, tick: Tick | None = None) -> Statistic:
        """Count inside the unit's bounds. Runs after the charge; raises nothing that depends on a value."""
        ...
