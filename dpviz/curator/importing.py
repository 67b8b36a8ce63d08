"""A declaration from metadata of another tool, whichever of the known ones it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpviz.boundary import plain_arguments, protect_module
from dpviz.curator.croissant import is_croissant, of_croissant
from dpviz.curator.foreign import Metadata, mapping
from dpviz.curator.notation import read_tree
from dpviz.curator.smartnoise import is_lomas_collection, of_collection, of_smartnoise, of_table


@plain_arguments
def declaration_from(
    path: str | Path, *, table: str | None = None, without: Sequence[str] = (), data: str = ""
) -> Metadata:
    """Read metadata of SmartNoise, Lomas or Croissant.

    Parameters
    ----------
    path : str or Path
        The YAML or JSON file.
    table : str, optional
        The table, data set or record set, where there are several.
    without : list of str
        Fields to leave out: by name wherever they stand, or by place, such as "columns.age.nullable".
    data : str, optional
        The path of the data, in place of the one that the metadata name.

    Returns
    -------
    Metadata
        The parts of a declaration; `toml` is its text.

    Raises
    ------
    ParameterError
        If the file cannot be read, or holds several tables and none is named.
    SchemaError
        If a field cannot be kept, or is not what these formats allow.
    DomainError
        If bounds or categories are no bins.
    """
    tree = mapping(read_tree(path), "metadata")
    if is_croissant(tree):
        made = of_croissant(tree, table, without)
    elif is_lomas_collection(tree):
        made = of_collection(tree, Path(path).parent, table, without)
    elif isinstance(tree.get("columns"), dict):
        made = of_table(tree, Path(path).name.split(".")[0].removesuffix("_metadata"), without)
    else:
        made = of_smartnoise(tree, table, without)
    if data:
        made.file = data
    made.check()
    return made


protect_module(vars())
