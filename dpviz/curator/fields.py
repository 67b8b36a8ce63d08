"""Reading a TOML file field by field: each refusal names the field, and an unknown field the nearest known one.

A number with a point is kept as it is written, for a float of TOML is a binary one to other programs. Amounts that a
guarantee rests on are texts, and such a number is refused with the text to write. No refusal shows a value of a field
that may hold a secret.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeVar

from dpviz import files
from dpviz.boundary import as_given, protect_module
from dpviz.errors import DpvizError, ParameterError, SchemaError, unwritable
from dpviz.exact import typed, whole
from dpviz.names import as_name, meant

Result = TypeVar("Result")

LARGEST: Final = 1 << 20
"""The most bytes of a file: one of a thousand columns is far smaller."""

EXAMPLE: Final = "visits.toml"

PLACE: Final = re.compile(r"\(at (line \d+, column \d+|end of document)\)")
"""The end of each message of tomllib. The words before it may quote the file."""


@dataclass(frozen=True, slots=True)
class Written:
    """A number with a point, as the file has it."""

    text: str

    @property
    def plain(self) -> str:
        """The number without the signs that stand between thousands."""
        return self.text.replace("_", "")


def read_toml(path: object) -> dict[str, Any]:
    """The tables of a file. Raises ParameterError, which shows nothing that stands in it."""
    content = files.read(path, "a declaration", EXAMPLE, ParameterError)
    if len(content) > LARGEST:
        raise ParameterError.of(
            Path(str(path)).name, f"a declaration has at most {LARGEST:,} bytes", "leave out what is no declaration"
        )
    try:
        return tomllib.loads(content.decode("utf-8-sig"), parse_float=Written)
    except UnicodeDecodeError:
        place = "its encoding"
    except RecursionError:
        place = "tables in tables"
    except ValueError as error:  # of tomllib, or a whole number with more digits than Python reads
        found = PLACE.search(str(error))
        place = found[1] if found else "a number"
    name = as_name(Path(str(path)).name)
    raise ParameterError.of(f"{name}: {place}", "a declaration is written in TOML, as UTF-8", "correct it there")


class Fields:
    """One table of a declaration.

    where  the table, as it stands in the file; empty for the file itself
    given  its fields
    known  the names of all fields that it may have; None where these are anybody's names
    """

    def __init__(self, given: object, where: str, known: Sequence[str] | None) -> None:
        if not isinstance(given, dict):
            raise ParameterError.of(_kind(given), f"{where} must be a table", f"write [{where}]")
        self.where, self._given = where, given
        for name in given:
            if known is not None and name not in known:
                told = f"{where} has no such field" if where else "a declaration has no such field"
                raise ParameterError.of(as_name(name), told, meant(name, known, f"its fields are {', '.join(known)}"))

    def __contains__(self, name: str) -> bool:
        return name in self._given

    @property
    def names(self) -> list[str]:
        """The names of the fields that are given."""
        return list(self._given)

    def at(self, name: str) -> str:
        """The place of a field, for a message."""
        return f"{self.where}.{name}" if self.where else name

    def needed(self, name: str, example: str) -> Any:
        """A field that must be given."""
        if name not in self._given:
            raise ParameterError.of("nothing", f"{self.at(name)} must be given", f"write {name} = {example}")
        return self._given[name]

    def text(
        self, name: str, example: str, default: str | None = None, most: int = 100, *, secret: bool = False
    ) -> str:
        """A text of 1 to `most` characters. One that may hold a password is shown in no refusal."""
        if name not in self._given and default is not None:
            return default
        value = self.needed(name, example)
        return checked_text(value, self.at(name), example, most, secret=secret)

    def string(self, name: str) -> str:
        """A field that is any text, such as a tab, for a reader that checks it."""
        value = self.needed(name, '"…"')
        if not isinstance(value, str):
            raise ParameterError.of(_kind(value), f"{self.at(name)} must be a text", f'write {name} = "…"')
        return value

    def exact(self, name: str, example: str, default: Fraction | None = None) -> Fraction:
        """A number in quotes, or a whole one."""
        if name not in self._given and default is not None:
            return default
        value = self.needed(name, f'"{example}"')
        return typed(self.plain(name, value, example), self.at(name))

    def plain(self, name: str, value: object, example: str) -> str | int:
        """The same as it is written, for a reader of numbers."""
        if isinstance(value, Written):
            finite = value.plain.lstrip("+-")[:1].isdigit()
            rule = f"{self.at(name)} is written in quotes, for a number with a point is no exact one in TOML"
            raise ParameterError.of(value.text, rule, f'write {name} = "{value.plain if finite else example}"')
        if isinstance(value, bool) or not isinstance(value, str | int):
            rule = f"{self.at(name)} must be a number in quotes"
            raise ParameterError.of(_kind(value), rule, f'write {name} = "{example}"')
        return value

    def count(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number."""
        value = self._given.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            rule = f"{self.at(name)} must be a whole number"
            raise ParameterError.of(_kind(value), rule, f"write {name} = {default}")
        return whole(value, self.at(name), least=least, most=most)

    def flag(self, name: str) -> bool:
        """True or false; false where it is left out."""
        value = self._given.get(name, False)
        if not isinstance(value, bool):
            raise ParameterError.of(
                _kind(value), f"{self.at(name)} must be true or false", f"write {name} = true, or leave it out"
            )
        return value

    def word(self, name: str, words: Collection[str], default: str) -> str:
        """One of a few words."""
        value = self._given.get(name, default)
        if not isinstance(value, str) or value not in words:
            known = [word for word in words if word]
            rule = f"{self.at(name)} must be one of {', '.join(known)}"
            raise ParameterError.of(_kind(value), rule, meant(value, known, f'write {name} = "{known[0]}"'))
        return value

    def texts(self, name: str, example: str, *, secret: bool = False) -> tuple[str, ...]:
        """A list of texts; empty where it is left out."""
        value = self._given.get(name, [])
        if not isinstance(value, list):
            shown = "a value" if secret else _kind(value)
            raise ParameterError.of(shown, f"{self.at(name)} must be a list of texts", f"write {name} = [{example}]")
        return tuple(
            checked_text(one, f"{self.at(name)}, item {place}", example, secret=secret)
            for place, one in enumerate(value, 1)
        )

    def table(self, name: str, known: Sequence[str] | None) -> Fields:
        """A table in this one; empty where it is left out."""
        return Fields(self._given.get(name, {}), self.at(name), known)

    def tables(self, name: str, known: Sequence[str]) -> list[Fields]:
        """The tables of a list. One table by itself is a list of one."""
        value = self._given.get(name, [])
        listed = value if isinstance(value, list) else [value]
        return [
            Fields(one, f"{self.at(name)}[{place}]" if isinstance(value, list) else self.at(name), known)
            for place, one in enumerate(listed)
        ]

    def values(self) -> dict[str, Any]:
        """All fields in the types that constructors of dpviz take: numbers with a point as texts."""
        return {name: self._constructed(name, value) for name, value in self._given.items()}

    def _constructed(self, name: str, value: Any) -> Any:
        if isinstance(value, Written):
            return value.plain
        if isinstance(value, date | datetime | time):
            raise ParameterError.of(
                "a date of TOML", f"{self.at(name)} is a text", f'write {name} = "{value.isoformat()[:16]}"'
            )
        if isinstance(value, list):
            return [self._constructed(name, one) for one in value]
        return value

    def made(self, maker: Callable[..., Result], *given: Any, **named: Any) -> Result:
        """The thing that a constructor makes; its refusals name this table."""
        try:
            return maker(*given, **named)
        except DpvizError as error:
            kind = type(error) if isinstance(error, ParameterError) else SchemaError
            parts = {"value": error.value, "rule": f"{self.where}: {error.rule}", "next_step": error.next_step}
            refused = kind(f"{self.where}: {error}", **parts)
        raise refused


def checked_text(value: object, where: str, example: str, most: int = 100, *, secret: bool = False) -> str:
    """A text of 1 to `most` characters that can be written and that hides none of its signs."""
    told = isinstance(value, str) and 0 < len(value.strip()) and len(value) <= most
    if not isinstance(value, str) or not told or unwritable(value) or not value.isprintable():
        rule = f"{where} must be a text of 1 to {most} characters that can be seen"
        raise ParameterError.of("a value" if secret else _kind(value), rule, f"write {example}")
    return value


def _kind(value: object) -> str:
    """A value as a refusal shows it. Of a list or a table its kind only."""
    if isinstance(value, Written):
        return value.text
    return {dict: "a table", list: "a list", bool: str(value).lower()}.get(type(value)) or as_given(value)


protect_module(vars())
