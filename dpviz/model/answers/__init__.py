"""The shapes an answer can take: one file each, all of the protocol in `base.py`. All are public."""

from dpviz.model.answers.base import (
    SHAPES,
    Answer,
    Axis,
    Intervals,
    Listing,
    Packed,
    Reading,
    View,
    from_json,
    register,
    unregister,
)
from dpviz.model.answers.between import Between
from dpviz.model.answers.chosen import Chosen
from dpviz.model.answers.compact import CompactTable
from dpviz.model.answers.queries import QueryAnswers
from dpviz.model.answers.ranges import Ranges
from dpviz.model.answers.ranked import Ranked
from dpviz.model.answers.ranks import Ranks
from dpviz.model.answers.sketch import Sketch
from dpviz.model.answers.sparse import SparseTable
from dpviz.model.answers.table import Table

__all__ = [
    "SHAPES",
    "Answer",
    "Axis",
    "Between",
    "Chosen",
    "CompactTable",
    "Intervals",
    "Listing",
    "Packed",
    "QueryAnswers",
    "Ranges",
    "Ranked",
    "Ranks",
    "Reading",
    "Sketch",
    "SparseTable",
    "Table",
    "View",
    "from_json",
    "register",
    "unregister",
]
