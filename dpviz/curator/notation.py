"""Reading YAML and JSON as trees of texts, for metadata of other tools.

Scalars stay as they are written: YAML would make False of a country named NO, and a number of a time of day. A name
that comes twice is refused, for readers differ in the one that they take; so are anchors, whose copies may be of any
size.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

from dpviz import files
from dpviz.errors import DpvizError, ParameterError
from dpviz.names import as_name

Node: TypeAlias = "str | list[Node] | dict[str, Node]"

LARGEST: Final = 1 << 22
"""The most bytes of a file."""
DEEPEST: Final = 30
NOTHING: Final = ("", "~", "null", "Null", "NULL")
"""Scalars that stand for no value; they are left out."""


def read_tree(path: object) -> Node:
    """The content of a file that ends in .yaml, .yml, .json or .jsonld. Raises ParameterError."""
    name = Path(str(path)).name
    content = files.read(path, "metadata", "metadata.yaml", ParameterError)
    if len(content) > LARGEST:
        raise ParameterError.of(name, f"metadata have at most {LARGEST:,} bytes", "leave out what is no metadata")
    is_json = name.lower().endswith((".json", ".jsonld"))
    if not is_json and not name.lower().endswith((".yaml", ".yml")):
        rule = "metadata are read from a file that ends in .yaml, .yml, .json or .jsonld"
        raise ParameterError.of(name, rule, "give the file that ends so")
    wrong: DpvizError
    try:
        text = content.decode("utf-8-sig")
        return _of_json(text) if is_json else _of_yaml(text)
    except ParameterError as refused:
        wrong = refused
    except (ValueError, RecursionError):
        kind = "JSON" if is_json else "YAML"
        wrong = ParameterError.of(as_name(name), f"this cannot be read as {kind} in UTF-8", "correct it there")
    raise wrong


def _of_json(text: str) -> Node:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                raise _twice(name)
            if value is not None:
                found[name] = value
        return found

    def as_text(value: Any, deep: int = 0) -> Node:
        if deep > DEEPEST:
            raise ValueError("deep")
        if isinstance(value, dict):
            return {name: as_text(part, deep + 1) for name, part in value.items()}
        if isinstance(value, list):
            return [as_text(part, deep + 1) for part in value]
        return str(value).lower() if isinstance(value, bool) else str(value)

    return as_text(json.loads(text, object_pairs_hook=once, parse_float=str, parse_int=str))


def _of_yaml(text: str) -> Node:
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        raise ParameterError.of(
            "PyYAML", "YAML is read by a package that is not installed here", 'pip install "dpviz[curator]"'
        ) from None
    try:
        events = list(yaml.parse(text, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "a line" if mark is None else f"line {mark.line + 1}"
        raise ParameterError.of(place, "metadata must be YAML", "correct it there") from None
    kinds = [type(event).__name__.removesuffix("Event") for event in events]
    if kinds.count("DocumentStart") != 1:
        raise ParameterError.of("another number", "metadata are one document of YAML", "keep one document")
    stream = zip(kinds, events, strict=True)
    for kind, _ in stream:
        if kind == "DocumentStart":
            break
    return _node(stream, *next(stream), deep=0)


def _node(stream: Iterator[tuple[str, Any]], kind: str, event: Any, deep: int) -> Node:
    if deep > DEEPEST:
        raise ValueError("deep")
    if kind == "Alias" or getattr(event, "anchor", None) is not None:
        rule = "metadata are read without anchors"
        raise ParameterError.of(as_name(event.anchor), rule, "write the values out where they are meant")
    if kind == "Scalar":
        return str(event.value)
    if kind == "SequenceStart":
        listed: list[Node] = []
        for kind, event in stream:
            if kind == "SequenceEnd":
                break
            listed.append(_node(stream, kind, event, deep + 1))
        return listed
    found: dict[str, Node] = {}
    seen: set[str] = set()
    for kind, event in stream:
        if kind == "MappingEnd":
            break
        name = _node(stream, kind, event, deep + 1)
        if not isinstance(name, str):
            raise ParameterError.of("a list or a table", "names in metadata are texts", "write a text")
        if name in seen:
            raise _twice(name)
        seen.add(name)
        kind, event = next(stream)
        value = _node(stream, kind, event, deep + 1)
        plain = kind == "Scalar" and event.style is None
        if not (plain and value in NOTHING):
            found[name] = value
    return found


def _twice(name: str) -> ParameterError:
    error = ParameterError.of(f"{as_name(name)} twice", "a name stands once in a table", "leave one of them out")
    assert isinstance(error, ParameterError)
    return error
