"""Every public mistake around private data, shown as IPython's Verbose mode shows it. Run by test_silence.py.

Prints JSON: for each mistake the error and the text of its traceback, from our first frame on; for each private object
everything that it can be made to say. The data holds canaries, which must not be in there.
"""

from __future__ import annotations

import copy
import inspect
import json
import logging
import pickle
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
import pandas as pd
from IPython.core.ultratb import VerboseTB
from IPython.lib.pretty import pretty

from dpviz.engines import as_source, bounding, pandas_source, reading
from dpviz.engines.pandas_source import PandasSource
from dpviz.errors import ReleaseCancelled
from dpviz.model.domain import Domain
from dpviz.model.question import Between, Question
from dpviz.model.statistic import Need, StatisticKind, Top
from dpviz.privacy.unit import Unit
from tests.frames import is_ours

FRAME = pd.DataFrame(
    {
        "label": pd.Categorical(["CANARY-LABEL", "CANARY-LABEL", None]),
        "text": ["CANARY-TEXT", "CANARY-TEXT", "CANARY-2"],
        "number": [7_654_321, 7_654_321, 1],
        "mixed": pd.Series(["CANARY-MIXED", 7_654_321, None], dtype=object),
        "user": ["CANARY-USER"] * 3,
        "when": pd.to_datetime(["1976-05-04"] * 3),
    },
    index=["CANARY-INDEX"] * 3,
)
ROW, USER = Unit("row"), Unit("user", max_bins=1)
NUMBERS = Domain.integers(0, 9, column="number", overflow=True)
ASKED = Question.of(NUMBERS, {"text": "nobody"})
KEYED = Question.of(Domain.keys(column="text"))
SUMMED = Question.sum("number", by="text", low=0, high=9, step=1)


def source(**schema: str) -> PandasSource:
    return PandasSource(FRAME, name="data", schema=schema)


def stopping(step: int) -> Callable[[int, int], None]:
    def tick(done: int, of: int) -> None:
        if done == step:
            raise ReleaseCancelled("cancelled")

    return tick


def dying(
    part: Any, name: str, error: type[BaseException], need: Need = StatisticKind.DENSE, asked: Question | None = None
) -> Callable[[], object]:
    """A count in which a private step dies with a message full of data."""

    def step(*private: Any, **named: Any) -> Any:
        raise error(repr(private) + "CANARY 7654321")

    def count() -> object:
        kept = getattr(part, name)
        setattr(part, name, step)
        try:
            plain = Question.of(NUMBERS) if need is StatisticKind.DENSE else KEYED
            return source().count(plain if asked is None else asked, USER, need)
        finally:
            setattr(part, name, kept)

    return count


def counted() -> Any:
    return source().count(Question.of(NUMBERS), ROW, StatisticKind.DENSE)


def counted_keys() -> Any:
    return source().count(KEYED, USER, StatisticKind.SPARSE)


def summed() -> Any:
    return source().count(SUMMED, USER, StatisticKind.SPARSE)


def sum_of(column: str, need: Need = StatisticKind.SPARSE) -> Callable[[], object]:
    question = Question.sum(column, by="user", low=0, high=9, step=1)
    return lambda: source().count(question, ROW, need)


def counted_top() -> Any:
    return source().count(KEYED, USER, Top(2))


def check(domain: Domain, unit: Unit = ROW, kind: Need = StatisticKind.DENSE, **where: object) -> Callable[[], object]:
    question = Question.of(domain, where)
    return lambda: (source().check if kind is StatisticKind.TOP else source().count)(question, unit, kind)


MISTAKES: dict[str, Callable[[], object]] = {
    "a series as data": lambda: as_source(FRAME["text"]),
    "a list as data": lambda: as_source(FRAME["text"].tolist()),
    "a dict as data": lambda: as_source({"text": FRAME["text"].tolist()}),
    "a frame as name": lambda: as_source(FRAME, name=FRAME),
    "a frame as schema": lambda: as_source(FRAME, schema=FRAME),
    "a frame inside a schema": lambda: as_source(FRAME, schema={"text": FRAME}),
    "a source with a frame as schema": lambda: as_source(source(), schema=FRAME),
    "an unknown column declared": lambda: source(nothing="number"),
    "an unknown kind declared": lambda: source(text="integer"),
    "a time declared": lambda: source(when="number"),
    "columns of one name": lambda: as_source(pd.concat([FRAME, FRAME], axis=1)),
    "columns named by values": lambda: as_source(FRAME.pivot_table(index="text", columns="number", aggfunc="size")),
    "columns named by pairs": lambda: as_source(FRAME.set_axis(pd.MultiIndex.from_product([["a"], range(6)]), axis=1)),
    "no columns": lambda: as_source(FRAME[[]]),
    "a column that is not there": check(Domain.integers(0, 9, column="age")),
    "numbers asked of text": check(Domain.integers(0, 9, column="text")),
    "numbers asked of categories": check(Domain.intervals([0, 9], column="label")),
    "text asked of numbers": check(Domain.categories(["a"], column="number")),
    "times": check(Domain.categories(["a"], column="when")),
    "a filter that is not there": check(NUMBERS, age=1),
    "a range of text": check(NUMBERS, text=Between(0)),
    "a user that is not there": check(NUMBERS, Unit("patient")),
    "another statistic": check(NUMBERS, kind=StatisticKind.TOP),
    "none of the largest counts": check(NUMBERS, kind=Top(0)),
    "too many bins": check(Domain.integers(0, 2**40, column="number")),
    "a cancel at once": lambda: source().count(ASKED, USER, StatisticKind.DENSE, stopping(0)),
    "a cancel before counting": lambda: source().count(ASKED, USER, StatisticKind.DENSE, stopping(3)),
    "a cancel at the end": lambda: source().count(ASKED, USER, StatisticKind.DENSE, stopping(4)),
    "reading dies": dying(pandas_source, "read", RuntimeError),
    "counting dies": dying(pandas_source, "count_users", MemoryError),
    "digesting keys dies": dying(bounding, "digests", MemoryError, StatisticKind.SPARSE),
    "choosing the largest counts dies": dying(pandas_source, "largest", MemoryError, Top(2)),
    "counting keys dies": dying(pandas_source, "count_users", RuntimeError, StatisticKind.SPARSE),
    "counting is interrupted": dying(pandas_source, "count_users", KeyboardInterrupt),
    "a sum of a column that is not there": sum_of("age"),
    "a sum of text": sum_of("text"),
    "a sum of mixed values": sum_of("mixed"),
    "a sum of times": sum_of("when"),
    "the largest sums": sum_of("number", Top(2)),
    "rounding dies": dying(pandas_source, "steps_of", RuntimeError, StatisticKind.SPARSE, SUMMED),
    "summing up dies": dying(pandas_source, "sum_users", MemoryError, StatisticKind.SPARSE, SUMMED),
    "choosing rows dies": dying(bounding, "_ranked", MemoryError, StatisticKind.SPARSE, SUMMED),
    "an end of a sum from a series": lambda: Question.sum("number", by="text", low=0, high=FRAME["number"], step=1),
    "an end of a sum from the largest value": lambda: Question.sum(
        "number", by="text", low=0, high=FRAME["number"].max(), step=1
    ),
    "a series summed up": lambda: Question.sum(FRAME["number"], by="text", low=0, high=1, step=1),
    "bins of a sum from a series": lambda: Question.sum("number", by=FRAME["text"], low=0, high=1, step=1),
    "a statistic of sums pickled": lambda: pickle.dumps(summed()),
    "a source pickled": lambda: pickle.dumps(source()),
    "a source copied": lambda: copy.copy(source()),
    "a source copied deeply": lambda: copy.deepcopy(source()),
    "what a source holds, pickled": lambda: pickle.dumps(source()._cells),
    "a reading pickled": lambda: pickle.dumps(reading.read(FRAME["number"].to_numpy(), "number")),
    "a statistic pickled": lambda: pickle.dumps(counted()),
    "a statistic of keys pickled": lambda: pickle.dumps(counted_keys()),
    "a statistic of keys copied": lambda: copy.copy(counted_keys()),
    "a statistic of the largest counts pickled": lambda: pickle.dumps(counted_top()),
    "a statistic copied": lambda: copy.deepcopy(counted()),
    "bins from unique values": lambda: Domain.categories(FRAME["text"].unique(), column="text"),
    "bins from a series": lambda: Domain.categories(FRAME["text"], column="text"),
    "bins from an index": lambda: Domain.categories(FRAME.index, column="text"),
    "bins from a set": lambda: Domain.categories(set(FRAME["text"]), column="text"),
    "bins from pandas categories": lambda: Domain.categories(FRAME["label"].array, column="label"),
    "bins from a list of arrays": lambda: Domain.categories([FRAME["text"].to_numpy()], column="text"),
    "bins from numbers of an array": lambda: Domain.categories(list(FRAME["number"].array), column="number"),
    "edges from an array": lambda: Domain.intervals(np.unique(FRAME["number"]), column="number"),
    "an end from a series": lambda: Domain.integers(0, FRAME["number"], column="number"),
    "an end from the largest value": lambda: Domain.integers(0, FRAME["number"].max(), column="number"),
    "a series as a column": lambda: Domain.integers(0, 9, column=FRAME["number"]),
    "a series as a flag": lambda: Domain.integers(0, 9, column="number", overflow=FRAME["number"]),
    "a frame in a product": lambda: Domain.product(NUMBERS, FRAME),
    "a frame as a domain": lambda: Domain.from_json(FRAME),
    "a frame as a question": lambda: Question.of(FRAME),
    "a frame as a filter": lambda: Question.of(NUMBERS, FRAME),
    "a series in a filter": lambda: Question.of(NUMBERS, {"text": FRAME["text"]}),
    "a series as a limit": lambda: Between(FRAME["number"]),
    "a series looked up": lambda: NUMBERS.index(FRAME["number"]),
}

HELD: dict[str, Callable[[], object]] = {
    "source": source,
    "source after a count": lambda: (made := source(), made.count(ASKED, USER, StatisticKind.DENSE))[0],
    "statistic": counted,
    "statistic of keys": counted_keys,
    "statistic of sums": summed,
    "source after a sum": lambda: (made := source(), made.count(SUMMED, USER, StatisticKind.SPARSE))[0],
    "statistic of the largest counts": counted_top,
    "source after a count of keys": lambda: (made := source(), made.count(KEYED, USER, StatisticKind.SPARSE))[0],
    "what a source holds": lambda: source()._cells,
    "numbers": lambda: reading.read(FRAME["number"].to_numpy(), "number"),
    "texts": lambda: reading.read(FRAME["text"].array, "text"),
    "users": lambda: reading.read(FRAME["user"].array, "text").users,
    "bounding": lambda: bounding.Users(np.array([7_654_321]), ("CANARY-USER",)),
}


def leak(private: Any) -> object:
    """What a careless frame of ours would show: a control that must be seen."""
    raise ValueError(f"{len(private)} rows")


def ours(trace: TracebackType) -> bool:
    return is_ours(trace.tb_frame) or trace.tb_frame.f_code is leak.__code__


def verbose(error: BaseException) -> str:
    """The traceback as `%xmode Verbose` prints it, without the frames of whoever made the mistake."""
    trace = error.__traceback__
    while trace and not ours(trace):
        trace = trace.tb_next
    assert trace, "no frame of ours"
    return VerboseTB(include_vars=True, theme_name="nocolor").text(type(error), error, trace, context=9)


def made(mistake: Callable[[], object]) -> dict[str, str]:
    try:
        mistake()
    except BaseException as error:
        hidden = [error.__cause__, None if error.__suppress_context__ else error.__context__]
        return {"error": type(error).__name__, "message": str(error), "text": verbose(error), "chain": repr(hidden)}
    return {"error": "", "message": "", "text": "", "chain": ""}


def said(private: object) -> str:
    """Everything that an object says of itself; of a source, which a person holds, every attribute too."""
    texts = [repr(private), str(private), f"{private}", pretty(private), repr([private])]
    if isinstance(private, PandasSource):
        texts += [repr(value) for _, value in inspect.getmembers(private)]
    return "\n".join(texts)


def main() -> None:
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    report = {
        "mistakes": {name: made(mistake) for name, mistake in MISTAKES.items()},
        "held": {name: said(hold()) for name, hold in HELD.items()},
        "leak": made(lambda: leak(FRAME)),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
