"""The description of a mechanism on a page before anybody picks it, so that a list of mechanisms loads none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpviz.model.goals import Goal

if TYPE_CHECKING:
    from dpviz.model.mechanism import Mechanism


class Offer(NamedTuple):
    """One mechanism in a list.

    about         a sentence
    stays         the parameters that stay where another value of epsilon is picked
    records       whether it draws records
    serves        the things that an answer tells
    worth_from    the length of a range from which it may be worth more than noise on every bin; 0: it is for none
    first_choice  its place among those that a page opens with; 0 for all others
    """

    about: str
    stays: tuple[str, ...]
    records: bool
    serves: tuple[Goal, ...]
    worth_from: int
    first_choice: int


def offer(kind: type[Mechanism]) -> Offer:
    """The description that a class gives of itself."""
    stays = tuple(choice.name for choice in kind.choices() if choice.stays)
    return Offer(kind.about, stays, kind.draws_records, kind.serves, kind.worth_from, kind.first_choice)


def written(record: Path) -> dict[str, Offer]:
    """The recorded descriptions of mechanisms, by their names."""
    found: dict[str, dict[str, Any]] = json.loads(record.read_text(encoding="utf-8"))
    return {
        name: Offer(**{**one, "stays": tuple(one["stays"]), "serves": tuple(one["serves"])})
        for name, one in found.items()
    }


def by_choice(offers: Mapping[str, Offer]) -> list[str]:
    """The names of these in the order in which they offer themselves, and then all others."""
    return sorted(offers, key=lambda name: offers[name].first_choice or len(offers))
