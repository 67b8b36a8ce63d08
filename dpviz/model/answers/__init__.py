"""The shapes an answer can take: one file each, all of the protocol in `base.py`. All are public."""

from dpviz.model.answers.base import (
    SHAPES,
    Answer,
    Axis,
    Intervals,
    Listing,
    Packed,
    Reading,
    Side,
    View,
    from_json,
    register,
    unpacked,
    unregister,
)
from dpviz.model.answers.buckets import Buckets
from dpviz.model.answers.chosen import Chosen
from dpviz.model.answers.compact import CompactTable
from dpviz.model.answers.key_count import KeyBound
from dpviz.model.answers.log_sketch import LogSketch
from dpviz.model.answers.queries import QueryAnswers
from dpviz.model.answers.ranges import Ranges
from dpviz.model.answers.ranked import Ranked
from dpviz.model.answers.ranks import Ranks
from dpviz.model.answers.records import Draws, ProductRecord, Record, WeightedRecord
from dpviz.model.answers.signed_sketch import SignedSketch
from dpviz.model.answers.sketch import Sketch
from dpviz.model.answers.sparse import SparseTable
from dpviz.model.answers.table import Table
from dpviz.model.between import Between

__all__ = [
    "SHAPES",
    "Answer",
    "Axis",
    "Between",
    "Buckets",
    "Chosen",
    "CompactTable",
    "Draws",
    "Intervals",
    "KeyBound",
    "Listing",
    "LogSketch",
    "Packed",
    "ProductRecord",
    "QueryAnswers",
    "Ranges",
    "Ranked",
    "Ranks",
    "Reading",
    "Record",
    "Side",
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
