"""Metadata in Croissant: a record set is a table, and its fields are columns of one file.

Croissant names no privacy unit, so its declaration has none until a person writes it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Final

from dpviz.boundary import protect_module
from dpviz.curator.foreign import Metadata, listed, mapping, one_of, remaining, text_of
from dpviz.curator.notation import Node
from dpviz.errors import SchemaError
from dpviz.names import as_name

PREFIX: Final = re.compile(r"https?://(?:schema\.org|mlcommons\.org/croissant)/|(?:sc|cr):")
"""The ways to write that a name is of schema.org or of Croissant."""

KINDS: Final = (
    {"Integer": "number", "Float": "number", "Number": "number", "Text": "text", "URL": "text", "Date": "date",
     "DateTime": "date", "Boolean": ""}
    | {f"{sign}Int{bits}": "number" for sign in ("", "U") for bits in (8, 16, 32, 64)}
    | {f"Float{bits}": "number" for bits in (16, 32, 64)}
)  # fmt: skip
FIELD: Final = ("@type", "@id", "name", "description", "dataType", "source", "references", "equivalentProperty")
SET: Final = ("@type", "@id", "name", "description", "field", "key", "dataType", "data", "examples")
FILE: Final = (
    "@type", "@id", "name", "description", "contentUrl", "contentSize", "encodingFormat", "sha256", "md5",
)  # fmt: skip


def is_croissant(tree: dict[str, Node]) -> bool:
    """Whether this is metadata in Croissant."""
    return "recordSet" in tree or "cr:recordSet" in tree


def of_croissant(given: dict[str, Node], name: str | None, without: Collection[str]) -> Metadata:
    """One record set as a declaration."""
    tree = _short(given)
    made = Metadata(text_of(tree.get("name"), "name"), without)
    sets = {_name(one): one for one in map(_table, listed(tree.get("recordSet")))}
    records = {one: part for one, part in sets.items() if "Enumeration" not in _types(part)}
    chosen = records[one_of(records, name, "record set")]
    for one in remaining(chosen, SET):
        made.refuse("recordSet.", one, "is not known here")
    if "data" in chosen:
        made.refuse("recordSet.", "data", "holds rows")
    files = {_id(one): one for one in map(_table, listed(tree.get("distribution")))}
    used = {place for one in listed(chosen.get("field")) if (place := _field(made, _table(one), sets))}
    if len(used) != 1:
        rule = "the fields of a record set must be columns of one file"
        raise SchemaError.of(", ".join(sorted(map(as_name, used))) or "none", rule, "name a record set of one file")
    _file(made, files.get(next(iter(used)), {}), next(iter(used)))
    return made


def _file(made: Metadata, found: dict[str, Node], place: str) -> None:
    for one in remaining(found, FILE):
        made.refuse("distribution.", one, "is not known here")
    address = text_of(found.get("contentUrl", place), "contentUrl")
    if "://" in address:
        made.notes.append("distribution.contentUrl: an address; put the file beside this declaration")
        address = PurePosixPath(text_of(found.get("name", place), "the name of the file")).name
    made.file = address
    for one in ("sha256", "md5"):
        if one in found:
            made.notes.append(f"distribution.{one}: the file is not compared with it")


def _field(made: Metadata, parts: dict[str, Node], sets: dict[str, dict[str, Node]]) -> str:
    """Declare a field under the name that its column has in the file; returns the file."""
    source = _table(parts.get("source", {}))
    extract = _table(source.get("extract", {}))
    name = _name(parts)
    column = extract.get("column", name)
    where = f"{name}."
    for one in remaining(parts, FIELD):
        made.refuse(where, one, "is not known here")
    for one in (*remaining(source, ("fileObject", "extract")), *remaining(extract, ("column",))):
        made.refuse(f"{where}source.", one, "changes values after they are read")
    known = [kind for kind in _types(parts) if kind in KINDS]
    if not known:
        made.refuse(where, "dataType", f"is none of {', '.join(KINDS)}")
        return ""
    column = text_of(column, f"{where}source.extract.column")
    kind = KINDS[known[0]]
    made.columns[column] = {"kind": kind} if kind else {}
    if not kind:
        made.notes.append(f"{where}dataType: Boolean, which the stored type says")
    if "references" in parts:
        labels = _labels(_table(parts["references"]), sets)
        if labels:
            made.bins(column, "categories", labels=labels)
        else:
            made.refuse(where, "references", "names labels that do not stand in the metadata themselves")
    return _id(_table(source.get("fileObject", {})))


def _labels(reference: dict[str, Node], sets: dict[str, dict[str, Node]]) -> list[str]:
    """The labels of an enumeration whose records stand in the metadata."""
    wanted = _id(_table(reference.get("field", reference)))
    for found in sets.values():
        for one in map(_table, listed(found.get("field"))):
            if _id(one) == wanted and "data" in found:
                rows = [_table(row) for row in listed(found["data"])]
                labels = [row.get(wanted, row.get(_name(one))) for row in rows]
                return [label for label in labels if isinstance(label, str)] if None not in labels else []
    return []


def _types(parts: dict[str, Node]) -> list[str]:
    """The types of a field or of a record set, without the prefix of their vocabulary."""
    return [PREFIX.sub("", one) for one in listed(parts.get("dataType")) if isinstance(one, str)]


def _short(tree: dict[str, Node]) -> dict[str, Node]:
    """The same names without the prefix of their vocabulary."""
    return {PREFIX.sub("", name): part for name, part in tree.items()}


def _table(tree: Node) -> dict[str, Node]:
    """A table; a text stands for the id of one."""
    return {"@id": tree} if isinstance(tree, str) else _short(mapping(tree, "a part of Croissant"))


def _id(parts: dict[str, Node]) -> str:
    found = parts.get("@id", parts.get("name", ""))
    return found if isinstance(found, str) else ""


def _name(parts: dict[str, Node]) -> str:
    """The name; of `passengers/age` the part after the record set."""
    return text_of(parts.get("name", parts.get("@id")), "name").rpartition("/")[2]


protect_module(vars())
