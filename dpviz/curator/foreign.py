"""Metadata of other tools as a declaration: SmartNoise's and Lomas' YAML, and Croissant's JSON.

Fields that say the same here are kept. Fields that change an answer or a guarantee there, and have no counterpart here,
are refused by name, all in one error; `without` leaves them out knowingly. Fields that say nothing that a source does
not say by itself are named at the top of the declaration. A budget is in none of them, and the lines to fill in stand
in the written declaration as remarks: until then it is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from dpviz.boundary import protect_module
from dpviz.curator.notation import Node
from dpviz.errors import ParameterError, SchemaError, short
from dpviz.exact import rational, text
from dpviz.model.domain import Domain
from dpviz.names import as_name, meant

BARE: Final = re.compile(r"[A-Za-z0-9_-]+\Z")
MOST_INTEGERS: Final = 1_000
"""The most whole numbers that get a bin each; of more, both ends are the edges of one interval."""


@dataclass
class Metadata:
    """The parts of a declaration that metadata of another tool give.

    file     the path of the data; empty where they name none
    unit     the fields of the privacy unit; empty where they name none
    columns  by name the fields of each column
    notes    fields that are left aside, in words
    refused  fields that cannot be kept
    without  fields that a person leaves out: by name wherever they stand, or by their places
    """

    dataset: str
    without: Collection[str] = ()
    file: str = ""
    unit: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)

    def kept(self, where: str, given: Mapping[str, Node]) -> dict[str, Node]:
        """The fields that a person does not leave out."""
        left = [name for name in given if self._is_out(where, name)]
        self.notes += [f"{where}{name}: left out" for name in left]
        return {name: value for name, value in given.items() if name not in left}

    def _is_out(self, where: str, name: str) -> bool:
        return name in self.without or f"{where}{name}" in self.without

    def refuse(self, where: str, name: str, why: str) -> None:
        """Note a field that cannot be kept, unless it is left out knowingly."""
        if self._is_out(where, name):
            self.notes.append(f"{where}{name}: left out")
        else:
            self.refused.append((f"{where}{name}", why))

    def check(self) -> None:
        """Raise SchemaError where a field was refused."""
        if not self.refused:
            return
        names = list(dict.fromkeys(place for place, _ in self.refused))
        told = "; ".join(f"{place}, which {why}" for place, why in self.refused[:8])
        more = f"; {len(self.refused) - 8} more" if len(self.refused) > 8 else ""
        raise SchemaError(
            f"this cannot be kept: {told}{more}; leave it out there, or import with --without {','.join(names)}",
            value=short(", ".join(place for place, _ in self.refused), 300),
            rule="fields that have no counterpart in a declaration are refused by name",
            next_step=f"leave it out there, or import with --without {','.join(names)}",
        )

    def bins(self, column: str, kind: str, **parts: Any) -> None:
        """Declare the bins of a column. Raises DomainError where there are no such bins."""
        Domain.from_json({"kind": kind, "column": column, **parts})
        self.columns[column]["bins"] = {"kind": kind, **parts}

    def number_bins(self, column: str, low: Fraction, high: Fraction, whole: bool, missing: bool) -> None:
        """Bins of numbers between two bounds, with those beyond in bins of their own."""
        flags = {"underflow": True, "overflow": True, **({"missing": True} if missing else {})}
        if whole and low.denominator == high.denominator == 1 and high - low < MOST_INTEGERS:
            self.bins(column, "integers", low=text(low), high=text(high), **flags)
        else:
            self.bins(column, "intervals", edges=[text(low), text(high)], **flags)

    @property
    def toml(self) -> str:
        """The declaration, with remarks where a person decides."""
        lines = [f"# {remark(note)}" for note in self.notes] + ([""] if self.notes else [])
        lines += [f"dataset = {quoted(self.dataset)}", f"ledger = {quoted(f'{_stem(self.dataset)}.ledger')}", ""]
        lines += ["[source]", f"file = {quoted(self.file)}" if self.file else '# file = "data.parquet"', ""]
        lines += ["[unit]"]
        lines += [f"{name} = {written(value)}" for name, value in self.unit.items()]
        lines += [] if self.unit else ['# of = "row", or the column that names the user']
        lines += ["", "[budget]", '# epsilon = "…": the most that all releases together may cost one unit', ""]
        lines += ["[listen]", f"socket = {quoted(f'{_stem(self.dataset)}.sock')}", ""]
        for name, parts in self.columns.items():
            if parts:
                told = [f"{part} = {written(value)}" for part, value in parts.items()]
                lines += [f"[columns.{key(name)}]", *told, ""]
        return "\n".join(lines)


# ---------------------------------------------------------------- reading the parts of a tree


def mapping(tree: Node, what: str) -> dict[str, Node]:
    """A table, or a refusal."""
    if not isinstance(tree, dict):
        shown = "a list" if isinstance(tree, list) else short(tree)
        raise SchemaError.of(shown, f"{what} must be a table", "write names and values in it")
    return tree


def listed(tree: Node | None) -> list[Node]:
    """A list; one value is a list of one."""
    return [] if tree is None else tree if isinstance(tree, list) else [tree]


def text_of(tree: Node | None, what: str) -> str:
    """A text, or a refusal."""
    if not isinstance(tree, str) or not tree:
        raise SchemaError.of("another value" if tree else "nothing", f"{what} must be a text", "write one")
    return tree


def flag(tree: Node, what: str) -> bool:
    """True or false, in the words of YAML and JSON."""
    if isinstance(tree, str) and tree.lower() in ("true", "yes", "on"):
        return True
    if isinstance(tree, str) and tree.lower() in ("false", "no", "off"):
        return False
    shown = short(tree) if isinstance(tree, str) else "a table"
    raise SchemaError.of(shown, f"{what} must be true or false", "write one of these")


def number(tree: Node, what: str) -> Fraction:
    """An exact number. YAML allows _ between digits."""
    if not isinstance(tree, str):
        raise SchemaError.of("a list or a table", f"{what} must be a number", "write one")
    return rational(tree.replace("_", ""), what)


def one_of(found: Mapping[str, Any], name: str | None, what: str) -> str:
    """The one that was named, or the only one. Raises ParameterError."""
    if name is None and len(found) == 1:
        return next(iter(found))
    if name is None:
        rule = f"a declaration is of one {what}, and there are {len(found)}"
        raise ParameterError.of(short(", ".join(map(as_name, found)), 200) or "none", rule, "name one: --table NAME")
    if name not in found:
        rule = f"the metadata must have the {what} that is named"
        raise ParameterError.of(as_name(name), rule, meant(name, found, "name one that they have"))
    return name


# ---------------------------------------------------------------- writing TOML


def quoted(value: str) -> str:
    """A text as TOML writes it, with every sign that cannot be seen by its number."""
    return "".join(
        sign if sign.isprintable() else f"\\U{ord(sign):08X}" for sign in json.dumps(value, ensure_ascii=False)
    )


def key(name: str) -> str:
    """A name as TOML writes it."""
    return name if BARE.match(name) else quoted(name)


def written(value: Any) -> str:
    """A value as TOML writes it: a text, a flag, a whole number, or a list or table of these."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key(name)} = {written(part)}' for name, part in value.items())} }}"
    return quoted(value)


def remark(note: str) -> str:
    """A note on one line."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in note).split())


def _stem(name: str) -> str:
    return "-".join(re.findall(r"[A-Za-z0-9]+", name)) or "data"


def path_of(place: str, folder: Path) -> str:
    """A path that metadata name, from the folder of their file."""
    return str(folder / place) if not Path(place).is_absolute() and str(folder) != "." else place


def remaining(given: Iterable[str], known: Collection[str]) -> list[str]:
    """The names that are not among the known ones."""
    return [name for name in given if name not in known]


protect_module(vars())
