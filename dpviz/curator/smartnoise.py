"""Metadata of SmartNoise SQL and of Lomas, which share the options of a table and of a column.

Both protect an individual under add-remove: a row (`row_privacy`), or the rows of a `private_id`, of which `max_ids` at
most count. That is a limit on all records of a user. Where `sample_max_ids` is false, no user has more by declaration:
a fact here, and the limit holds all the same.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from dpviz.boundary import protect_module
from dpviz.curator.foreign import Metadata, flag, listed, mapping, number, one_of, remaining, text_of
from dpviz.curator.notation import Node, read_tree
from dpviz.errors import SchemaError, short
from dpviz.names import as_name

TABLE: Final = (
    "max_ids", "row_privacy", "rows", "sample_max_ids", "censor_dims", "clamp_counts", "clamp_columns", "use_dpsu",
)  # fmt: skip
SAME: Final = {
    "censor_dims": (True, "shows keys of which few people are"),
    "clamp_counts": (False, "makes negative counts 0, which are shown as drawn here"),
    "clamp_columns": (True, "adds values beyond the bounds up as they are"),
    "use_dpsu": (False, "takes a union of keys that there is no mechanism for here"),
}
"""Options of a table, the value that says the same here, and the meaning of the other one."""
COLUMN: Final = (
    "name", "type", "private_id", "lower", "upper", "nullable", "categories", "cardinality", "precision",
)  # fmt: skip
CANNOT: Final = {
    "nullable_proportion": "says how many values are missing",
    "missing_value": "puts a value in place of a missing one",
    "sensitivity": "sets a sensitivity by hand, which bounds decide here",
    "max_partition_length": "bounds the rows of a part, which no guarantee rests on here",
    "max_influenced_partitions": "limits users by column, and a unit limits them in all columns alike",
    "max_partition_contributions": "limits users by column, and a unit limits them in all columns alike",
    "max_num_partitions": "bounds the number of keys, which no guarantee rests on here",
}
KINDS: Final = {"int": "number", "float": "number", "string": "text", "datetime": "date", "date": "date", "boolean": ""}
DEEPEST: Final = 3
"""Tables of SmartNoise lie in a schema, and schemas in a database."""


def is_lomas_collection(tree: dict[str, Node]) -> bool:
    """Whether this lists data sets of Lomas."""
    return isinstance(tree.get("datasets"), list)


def of_collection(tree: dict[str, Node], folder: Path, name: str | None, without: Collection[str]) -> Metadata:
    """One data set of a list of Lomas, with the metadata that it names."""
    sets = {text_of(mapping(one, "a data set").get("dataset_name"), "dataset_name"): mapping(one, "a data set")
            for one in listed(tree["datasets"])}  # fmt: skip
    chosen = one_of(sets, name, "data set")
    found = sets[chosen]
    access = mapping(found.get("dataset_access", found), "dataset_access")
    beside = mapping(found.get("metadata_access", found.get("metadata", {})), "metadata_access")
    place = text_of(beside.get("path", beside.get("metadata_path")), "the path of the metadata")
    near = [folder / place, folder / Path(place).name, folder / "metadata" / Path(place).name]
    read = next((path for path in near if path.is_file()), near[0])
    made = of_table(mapping(read_tree(read), "metadata"), chosen, without)
    kind, path = access.get("database_type"), access.get("path", access.get("dataset_path"))
    if kind != "PATH_DB" or not isinstance(path, str) or "://" in path:
        field = "dataset_access" if "dataset_access" in found else "database_type"
        made.refuse("", field, "is no file of this machine")
    else:
        made.file = path
    return made


def of_smartnoise(tree: dict[str, Node], name: str | None, without: Collection[str]) -> Metadata:
    """One table of metadata of SmartNoise."""
    found = dict(_tables(tree, (), 0))
    if not found:
        rule = "metadata must have a table with columns that have a type"
        raise SchemaError.of("none", rule, "give metadata of SmartNoise, Lomas or Croissant")
    chosen = one_of(found, name, "table")
    table = found[chosen]
    columns: dict[str, Node] = {one: part for one, part in table.items() if isinstance(part, dict)}
    options: dict[str, Node] = {one: part for one, part in table.items() if one not in columns}
    return of_table({**options, "columns": columns}, chosen.rpartition(".")[2], without)


def _tables(tree: dict[str, Node], path: tuple[str, ...], deep: int) -> list[tuple[str, dict[str, Node]]]:
    """All tables below, by their names with the schema."""
    if any(isinstance(part, dict) and isinstance(part.get("type"), str) for part in tree.values()):
        return [(".".join(name for name in path if name), tree)]
    if deep == DEEPEST:
        return []
    inner = [(name, part) for name, part in tree.items() if isinstance(part, dict)]
    return [found for name, part in inner for found in _tables(part, (*path, name), deep + 1)]


def of_table(tree: dict[str, Node], dataset: str, without: Collection[str]) -> Metadata:
    """The options of a table, and its columns below `columns`."""
    made = Metadata(dataset, without)
    options = made.kept("", {name: value for name, value in tree.items() if name != "columns"})
    columns = mapping(tree.get("columns", {}), "columns")
    for name, (same, why) in SAME.items():
        if name in options and flag(options[name], name) is not same:
            made.refuse("", name, why)
    for name in remaining(options, TABLE):
        made.refuse("", name, "is not known here")
    if "rows" in options:
        made.notes.append("rows: nothing here rests on the number of rows")
    users = []
    for name, given in columns.items():
        parts = made.kept(f"columns.{name}.", mapping(given, f"column {as_name(name)}"))
        if "private_id" in parts and flag(parts["private_id"], "private_id"):
            users.append(name)
        _column(made, name, parts, is_user=name in users)
    _unit(made, options, users)
    return made


def _unit(made: Metadata, options: dict[str, Node], users: list[str]) -> None:
    by_row = "row_privacy" in options and flag(options["row_privacy"], "row_privacy")
    most = number(options.get("max_ids", "1"), "max_ids")
    if most.denominator != 1 or most < 1:
        raise SchemaError.of("another number", "max_ids must be a whole number above 0", "write max_ids: 1")
    if by_row and most > 1:
        made.refuse("", "max_ids", "counts rows of a user, and row_privacy protects single rows")
    if by_row and users:
        made.refuse(f"columns.{users[0]}.", "private_id", "names a user, and row_privacy protects single rows")
    if len(users) > 1:
        made.refuse(f"columns.{users[1]}.", "private_id", "names a second user")
    if by_row:
        made.unit = {"of": "row"}
    elif users:
        limit = int(most)
        made.unit = {"of": users[0], "max_bins": limit, "max_per_bin": limit, "max_records": limit}
        if "sample_max_ids" in options and not flag(options["sample_max_ids"], "sample_max_ids"):
            made.unit["most_records"] = limit


def _column(made: Metadata, name: str, parts: dict[str, Node], *, is_user: bool) -> None:
    where = f"columns.{name}."
    for one in remaining(parts, COLUMN):
        made.refuse(where, one, CANNOT.get(one, "is not known here"))
    if parts.get("name", name) != name:
        made.refuse(where, "name", "is another name")
    type_ = text_of(parts.get("type"), f"{where}type")
    if type_ == "unknown":
        made.notes.append(f"{where}type: unknown, so nothing is declared of the column")
        return
    if type_ not in KINDS:
        rule = f"{where}type must be one of {', '.join(KINDS)}, unknown"
        raise SchemaError.of(short(type_), rule, "write one of these")
    kind = KINDS[type_]
    made.columns[name] = {"kind": kind} if kind else {}
    if "precision" in parts:
        made.notes.append(f"{where}precision: the stored type says it")
    if not kind:
        made.notes.append(f"{where}type: boolean, which the stored type says")
    nullable = "nullable" in parts and flag(parts["nullable"], f"{where}nullable")
    if "nullable" in parts and not nullable:
        made.refuse(where, "nullable", "promises that no value is missing, which nothing rests on here")
    bounds = [one for one in ("lower", "upper") if one in parts]
    if is_user and (bounds or "categories" in parts):
        made.notes.append(f"{where}: values of a user column have no bins")
    elif "categories" in parts:
        labels = [text_of(one, f"{where}categories") for one in listed(parts["categories"])]
        if "cardinality" in parts and number(parts["cardinality"], f"{where}cardinality") != len(labels):
            made.refuse(where, "cardinality", "is not the number of categories")
        for one in bounds:
            made.refuse(where, one, "bounds values that categories list")
        made.bins(name, "categories", labels=labels, **({"missing": True} if nullable else {}))
    elif "cardinality" in parts:
        made.refuse(where, "cardinality", "counts keys that are not listed")
    elif len(bounds) == 1:
        made.refuse(where, bounds[0], "bounds one side alone")
    elif bounds and kind == "number":
        low, high = (number(parts[one], f"{where}{one}") for one in ("lower", "upper"))
        made.number_bins(name, low, high, type_ == "int", nullable)
    elif bounds and kind == "date":
        first, last = (_day(parts[one], f"{where}{one}") for one in ("lower", "upper"))
        end = (last + timedelta(days=1)).isoformat()
        flags = {"underflow": True, "overflow": True, **({"missing": True} if nullable else {})}
        made.bins(name, "times", start=first.isoformat(), end=end, by="day", **flags)
    else:
        for one in bounds:
            made.refuse(where, one, "bounds values that are no numbers and no dates")


def _day(tree: Node, what: str) -> date:
    try:
        return date.fromisoformat(text_of(tree, what)[:10])
    except ValueError:
        pass
    raise SchemaError.of("another text", f"{what} must be a date", "write it as YYYY-MM-DD")


protect_module(vars())
