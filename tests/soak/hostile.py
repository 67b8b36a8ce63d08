"""What a hostile page sends: valid messages, mutated ones, replays, forged prices and traits; seeded."""

from __future__ import annotations

import copy
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Data = Any


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"a": found}
    return found


JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 7, 2**70, 1e308, float("nan"), float("inf"), "", " ", "x" * 5_000, "9" * 400, "1/0",
    "1e9999", "NaN", "-0", "0.5", "1/3", "٣", "\ud800", "\u202e", "<b>", "__proto__", "__class__", "constructor",
    "release", [], {}, [[]], ["a"] * 3_000, nested(60), {"id": "x"}, {"epsilon": "1"}, ["\ud800"], {"\ud800": "1"},
)  # fmt: skip
ASKS = ("plan", "release", "cancel", "status", "show", "read", "ask", "after", "table", "draw", "move")


@dataclass
class Target:
    """One view as a page knows it: its models, and the valid messages that its page may send."""

    name: str
    models: Sequence[str]
    keys: Sequence[str]
    valid: Callable[[random.Random], dict[str, Any]]
    weight: float = 1
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Every order that was sent, well-formed or not."""


class HostilePage:
    """Sends what it likes to some views."""

    def __init__(self, seed: int, targets: Sequence[Target]) -> None:
        self.random = random.Random(seed)
        self.targets = targets
        self.tokens = ["0" * 32]
        self._old: list[tuple[str, Data]] = []
        self._ids = ["twice"]

    def next(self) -> tuple[Target, str, Data, str | None]:
        """A view, one of its models, a message for it, and the id of the ask in it, where it has one."""
        rng = self.random
        target = rng.choices(self.targets, [one.weight for one in self.targets])[0]
        model, data = target.models[0], self._data(target)
        if rng.random() < 0.1:
            model, data = rng.choice(target.models), self._update(target)
        elif rng.random() < 0.1 and self._old:
            model, data = rng.choice(self._old)
            target = next(one for one in self.targets if model in one.models)
        else:
            self._old = [*self._old[-300:], (model, data)]
        content = data.get("content") if isinstance(data, dict) else None
        asked = content.get("id") if isinstance(content, dict) else None
        if isinstance(content, dict) and content.get("ask") == "release" and isinstance(content.get("args"), dict):
            target.asked.append(content["args"])
        return target, model, data, asked if isinstance(asked, str) and 0 < len(asked) <= 64 else None

    def _update(self, target: Target) -> Data:
        names = self.random.choices([*target.keys, "comm", "__class__"], k=self.random.randint(1, 4))
        return {"method": "update", "state": {name: self.random.choice(JUNK) for name in names}, "buffer_paths": []}

    def _data(self, target: Target) -> Data:
        rng = self.random
        content: Any = {"v": 1, "id": self._id(), **target.valid(rng)}
        if content["ask"] == "cancel":
            content["args"] = {"token": rng.choice(self.tokens)}
        content = copy.deepcopy(content)
        chance = rng.random()
        if chance < 0.45:
            for _ in range(rng.randint(1, 3)):
                content = self._mutated(content)
        elif chance < 0.5:
            content["ask"] = rng.choice([*ASKS, "eval", "__init__", "answer", "_on_release"])
        data: Any = {"method": "custom", "content": content}
        if rng.random() < 0.03:
            data = rng.choice([self._mutated(data), rng.choice(JUNK), {"method": "request_state"}, {"method": "eval"}])
        return data

    def _id(self) -> str:
        if self.random.random() < 0.05:
            return self.random.choice(self._ids)
        self._ids = [*self._ids[-50:], uuid.UUID(int=self.random.getrandbits(128)).hex]
        return self._ids[-1]

    def _mutated(self, thing: Any) -> Any:
        """The same thing with one part of it replaced, left out, added or made a little different."""
        rng = self.random
        if isinstance(thing, dict) and thing and rng.random() < 0.85:
            name = rng.choice(list(thing))
            how = rng.random()
            if how < 0.08:
                return {key: part for key, part in thing.items() if key != name}
            if how < 0.16:
                return {**thing, rng.choice(["extra", "retry", "mode", "where", "id", "kind"]): rng.choice(JUNK)}
            return {**thing, name: self._mutated(thing[name])}
        if isinstance(thing, str) and thing and rng.random() < 0.4:
            at = rng.randrange(len(thing))
            return thing[:at] + rng.choice("0159.-/e \u00b2é") + thing[at + rng.randint(0, 1) :]
        return rng.choice(JUNK)
