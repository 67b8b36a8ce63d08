"""The small parts that keep data out of messages and frames, each by itself and without a browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.boundary import Hidden, single, single_arguments
from dpviz.engines import as_source
from dpviz.engines.pandas_source import PandasSource
from dpviz.errors import DpvizError, Forbidden, ParameterError, ReleaseFormat, short
from dpviz.model.question import Question
from dpviz.model.statistic import StatisticKind
from tests.canary.mistakes import dissected, entered
from tests.session.sources import KnownCounts

SECRET = "Quetzalwren"
COLUMN = pd.Series([SECRET] * 3)
BINS = dv.Domain.categories(["a"], column="c", other=True)


def refused(call: Callable[[], object]) -> BaseException:
    """The error that a call ends in, with at least one frame of dpviz to look into."""
    try:
        call()
    except Exception as error:
        assert entered(error.__traceback__)
        return error
    raise AssertionError("nothing was refused")


@pytest.mark.parametrize("given", [COLUMN, COLUMN.to_frame(), COLUMN.to_numpy(), COLUMN.tolist(), {SECRET: 1}])
@pytest.mark.parametrize(
    "call",
    [
        lambda given: dv.Dense(epsilon=given),
        lambda given: dv.Dense(epsilon=1, base=given),
        lambda given: dv.Budget(epsilon=1, delta=given),
        lambda given: dv.Unit(given),
        lambda given: dv.Unit("user", relation=given),
        lambda given: dv.Unit("user", max_bins=given),
        lambda given: dv.PayWhatYouGet(symbols=given, epsilon=1),
        lambda given: dv.PayWhatYouGet(epsilon_per_item=given),
        lambda given: dv.PayWhatYouGet(epsilon=1, ties=given),
        lambda given: dv.load(given),
        lambda given: dv.Session(COLUMN.to_frame("c"), given, dv.Budget(epsilon=1), "never.ledger"),
        lambda given: dv.Session(COLUMN.to_frame("c"), dv.Unit(), given, "never.ledger"),
    ],
)
def test_data_given_as_a_parameter_is_in_no_message_and_in_no_frame(
    call: Callable[[object], object], given: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    error = refused(lambda: call(given))
    assert isinstance(error, DpvizError)
    assert SECRET not in dissected(error)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [COLUMN, COLUMN.tolist(), {"c": COLUMN.tolist()}, COLUMN.to_frame(SECRET)[[]]])
def test_data_that_cannot_be_used_are_in_no_message_and_in_no_frame(data: object, tmp_path: Path) -> None:
    error = refused(lambda: dv.Session(data, dv.Unit(), dv.Budget(epsilon=1), tmp_path / "never.ledger"))
    assert isinstance(error, DpvizError)
    assert SECRET not in dissected(error)


def test_a_call_that_is_not_marked_would_show_its_column() -> None:
    def careless(epsilon: object) -> None:
        raise ParameterError.of(epsilon, "epsilon must be a number", "write 1")

    def marked(epsilon: object) -> None:
        raise ParameterError.of(epsilon, "epsilon must be a number", "write 1")

    for call, seen in ((careless, True), (single_arguments(marked), False)):
        with pytest.raises(ParameterError) as refused:
            call(COLUMN)
        values = [repr(entry.frame.f_locals.get("epsilon")) for entry in refused.traceback[1:]]
        assert any(SECRET in value for value in values) is seen
        assert SECRET not in str(refused.value)


@pytest.mark.parametrize("value", ["1/2", 0.5, 2, None, dv.Unit(), Path("a")])
def test_one_value_stays_itself(value: object) -> None:
    assert single(value) is value


@pytest.mark.parametrize(("value", "kind"), [(np.float64(0.5), float), (np.float32(0.5), float), (np.int64(2), int)])
def test_a_number_of_numpy_becomes_one_of_python(value: object, kind: type) -> None:
    assert single(value) == value and type(single(value)) is kind


@pytest.mark.parametrize("value", [COLUMN, [1], (1, 2), {"a": 1}, np.array([1]), np.str_("a")])
def test_many_values_are_hidden(value: object) -> None:
    assert isinstance(single(value), Hidden)


def test_numbers_of_numpy_are_still_an_epsilon() -> None:
    assert dv.Dense(epsilon=np.linspace(0.1, 0.5, 3)[2]) == dv.Dense(epsilon="1/2")


@pytest.mark.parametrize(
    ("value", "said"),
    [(COLUMN, "Series"), ([SECRET], "list"), ({1: SECRET}.values(), "dict_values"), (b"x", "bytes"), (None, "None"),
     (0.5, "0.5"), ("two\nlines", "two lines"),
     (Hidden(COLUMN), "<private Series>"), (dv.Dense(1), 'Dense(epsilon="1")')],
)  # fmt: skip
def test_a_message_names_the_type_of_what_nobody_types(value: object, said: str) -> None:
    assert short(value) == said


@dataclass
class Loud(KnownCounts):
    """Somebody's own source, as one would write it: its repr is its data."""

    secret: str

    def __post_init__(self) -> None:
        super().__init__([3, 1])


def test_a_source_with_a_loud_repr_is_kept_behind_a_silent_one(tmp_path: Path) -> None:
    assert SECRET in repr(Loud(SECRET))
    session = dv.Session(Loud(SECRET), dv.Unit(), dv.Budget(epsilon=1), tmp_path / "loud.ledger")
    assert repr(as_source(Loud(SECRET))) == "<private data: known counts, 2 columns>"
    assert SECRET not in repr(vars(session))
    assert (
        len(session.release(dv.Domain.categories(["a"], column="x", other=True), dv.Dense(epsilon="1/2")).values) == 2
    )
    with pytest.raises(Forbidden):
        as_source(Loud(SECRET)).__reduce__()


def test_what_a_private_object_holds_is_not_told_by_its_state() -> None:
    source = PandasSource(COLUMN.to_frame("c"), name="data")
    for private in (Hidden(COLUMN), source, source.count(Question.of(BINS), dv.Unit(), StatisticKind.DENSE)):
        with pytest.raises(Forbidden):
            private.__getstate__()


def test_a_file_that_is_no_release_is_in_no_frame_of_its_refusal(tmp_path: Path) -> None:
    path = tmp_path / "people.json"
    path.write_text(f'[{{"user": "{SECRET}"}}]')
    error = refused(lambda: dv.load(path))
    assert isinstance(error, ReleaseFormat)
    assert error.__cause__ is None and error.__context__ is None
    assert SECRET not in dissected(error)
