"""The shapes an answer can take: one file each. All are public.

`capabilities.py` lists the members of the protocol, one class for each capability, and `base.py` puts them together as
`Answer`. `additive.py` has `AdditiveCounts`, for values that are counts which add up. Data types are in `reading.py`,
arithmetic in `values.py`, parts of pictures in `pictures.py`. A file is loaded when its shape is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from dpviz.model.answers.base import SHAPES, Answer, from_json, register, unpacked, unregister
from dpviz.model.answers.reading import Axis, Intervals, Listing, Operand, Packed, Reading, View
from dpviz.model.between import Enclosed
from dpviz.names import absent

if TYPE_CHECKING:
    from dpviz.model.answers.additive import AdditiveCounts as AdditiveCounts
    from dpviz.model.answers.buckets import Buckets as Buckets
    from dpviz.model.answers.chosen import Chosen as Chosen
    from dpviz.model.answers.compact import CompactTable as CompactTable
    from dpviz.model.answers.grouped import Grouped as Grouped
    from dpviz.model.answers.key_count import KeyBound as KeyBound
    from dpviz.model.answers.key_set import KeySet as KeySet
    from dpviz.model.answers.log_sketch import LogSketch as LogSketch
    from dpviz.model.answers.marginals import MarginalTables as MarginalTables
    from dpviz.model.answers.queries import QueryAnswers as QueryAnswers
    from dpviz.model.answers.ranges import Ranges as Ranges
    from dpviz.model.answers.ranked import Ranked as Ranked
    from dpviz.model.answers.ranks import Ranks as Ranks
    from dpviz.model.answers.records import Draws as Draws
    from dpviz.model.answers.records import ProductRecord as ProductRecord
    from dpviz.model.answers.records import Record as Record
    from dpviz.model.answers.records import WeightedRecord as WeightedRecord
    from dpviz.model.answers.signed_sketch import SignedSketch as SignedSketch
    from dpviz.model.answers.sketch import Sketch as Sketch
    from dpviz.model.answers.sparse import SparseTable as SparseTable
    from dpviz.model.answers.table import Table as Table

_HOME: Final = {
    "AdditiveCounts": "additive",
    "Buckets": "buckets",
    "Chosen": "chosen",
    "CompactTable": "compact",
    "Draws": "records",
    "Grouped": "grouped",
    "KeyBound": "key_count",
    "KeySet": "key_set",
    "LogSketch": "log_sketch",
    "MarginalTables": "marginals",
    "ProductRecord": "records",
    "QueryAnswers": "queries",
    "Ranges": "ranges",
    "Ranked": "ranked",
    "Ranks": "ranks",
    "Record": "records",
    "SignedSketch": "signed_sketch",
    "Sketch": "sketch",
    "SparseTable": "sparse",
    "Table": "table",
    "WeightedRecord": "records",
}

__all__ = [
    "SHAPES",
    "AdditiveCounts",
    "Answer",
    "Axis",
    "Buckets",
    "Chosen",
    "CompactTable",
    "Draws",
    "Enclosed",
    "Grouped",
    "Intervals",
    "KeyBound",
    "KeySet",
    "Listing",
    "LogSketch",
    "MarginalTables",
    "Operand",
    "Packed",
    "ProductRecord",
    "QueryAnswers",
    "Ranges",
    "Ranked",
    "Ranks",
    "Reading",
    "Record",
    "SignedSketch",
    "Sketch",
    "SparseTable",
    "Table",
    "View",
    "WeightedRecord",
    "from_json",
    "register",
    "unpacked",
    "unregister",
]

if not TYPE_CHECKING:  # a checker knows what is imported above, and that there is nothing else

    def __getattr__(name: str) -> Any:
        if name in _HOME:
            globals()[name] = getattr(importlib.import_module(f"dpviz.model.answers.{_HOME[name]}"), name)
            return globals()[name]
        raise absent(__name__, name, lambda: __all__)
