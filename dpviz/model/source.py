"""What an engine must do for a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from dpviz.model.question import Question
from dpviz.model.statistic import Column, Kind, Statistic
from dpviz.privacy.unit import Unit

Tick: TypeAlias = Callable[[int, int], None]
"""Called as tick(done, total) between pieces of work, with public sizes only. May raise to cancel."""


class Source(Protocol):
    """Private data behind a narrow door. `columns`, `name` and the checks are public; `count` is private."""

    @property
    def name(self) -> str:
        """The declared name of the dataset."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declared schema, in order."""
        ...

    def check(self, question: Question, unit: Unit, kind: Kind) -> None:
        """Refuse what cannot be counted, from the schema alone: before any charge, without looking at a value."""
        ...

    def count(self, question: Question, unit: Unit, kind: Kind, tick: Tick | None = None) -> Statistic:
        """Count inside the unit's bounds. Runs after the charge; raises nothing that depends on a value."""
        ...
