"""Mechanisms, one file each, and the registry that names them. A file is loaded when its mechanism is first used.

A mechanism says which statistic it needs (`Kind.DENSE` or `Kind.SPARSE`), which shape of answer it gives, which law an
answer is drawn from, and which measures of its error head the plan. The shape says how the answer is stored, read, put
into words and drawn. Frames, charts, tables, reports and pages work on that protocol;
`tests/architecture/test_rooms.py` finds code that knows a shape by name. `offers.json` is what pages list of each
mechanism, so that a list loads none.

Counts. `count_noise.py` is the noise on one count: its parameters, price and sampler. Dense, Stability, PureSparse and
Compact are built on it. Dense and Tree also draw discrete Gaussian noise: `gaussian.py` is its price, and
`Unit.l2_squared` and `tree.TreeSpread.squares` bound how far one unit moves counts in L2. The deterministic cores of
the papers are pure functions of uniform integers: `noise/finite.py`, `noise/sparse_strict.py`, `noise/empty_bin.py`,
`noise/field.py`. `Domain.keys` declares no bins, so only mechanisms that never show an empty bin answer it.

Sparse vectors. Threshold, ALP and ThresholdALP answer counts and sums in whole steps; `moves.py` bounds how far one
unit moves them. KeySelection answers names (`model/answers/key_set.py`), by the coins of `noise/key_selection.py`; the
law is `laws/key_selection.py`, the share of one key `privacy/key_selection.py`. A sketch (`model/answers/sketch.py`) is
drawn by `noise/alp.py` and `noise/flips.py`; `laws/alp.py` has the law of an estimate and the exact price of a moved
value, `fitting/unary.py` the estimators, `laws/alp_readers.py` the errors of the other estimators. `log_sketch` and
`signed_sketch` are sketches that are read otherwise (`laws/log_encoding.py` is the table of logarithms). `cuts.py` is
the noise and threshold of values that are shown, `look_ups.py` the parameters of look-ups, `model/laws/behind.py` the
effect of a threshold on an error. MaxProjection and ThresholdMaxProjection answer buckets (`model/answers/buckets.py`,
`noise/max_projection.py`), KeyCount one number.

Records. SampleCategory, SampleBounded, SampleProduct and RandomisedRecord draw a record (`model/answers/records.py`,
`model/laws/records.py`) from counts, from sums of columns, or from bits in a random order. `noise/category.py`,
`product.py`, `response.py` and `gaussian.py` draw; `laws/category.py`, `bounded.py`, `product.py` and `gaussian.py` are
the laws. `records.py` refuses samplers where the number of records is private.

Lists. TopK and its relatives need `Top(rows)` and answer `Ranked` or `Chosen`. `ranked.py` holds the one table of the
symbols that compete with the bottom symbol. `noise/race.py` draws all noise at once, `noise/peeling.py` symbol by
symbol; the law is the same. `laws/top_k.py` enumerates it exactly; `laws/race.py` integrates it for pictures.

Partitions. `groups.py` answers a question about each part (`Question.by`): another mechanism for every part, bound
once, with a share of the price (`privacy/parallel.py`). Each part is counted as a question of its own
(`Question.part`), one after the other (`Bound.count_statistic`, `GroupedCounts`). `bounding.kept_parts` and
`ibis_source._in_part` decide which parts a user keeps, by the digest of the partition, over all rows and before any
filter. Two ways are bound elsewhere: `one_domain.py` asks once about the product of parts and bins and cuts up the
answer and its law (`Answer.cut_up`, `StoredLaw.cut_up`); `opened_parts.py` is a plan for a `PayWhatYouGet`, which no
release takes (`Bound.subsession_calls`). A third, `exact_parts.py`, derives and solves the exact composition of the
parts that one unit counts in. `parts.py` is the same for questions one after the other: a sub-session with a
balance for each part. `fixed_list.py` is a sub-session of a fixed list, charged at its exact composition
(`privacy/loss_distribution.py`, `Bound.dominating_pair`).
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from dpviz.boundary import as_given, protect_module, single_arguments
from dpviz.errors import ParameterError
from dpviz.lazy import without_collector
from dpviz.model.offers import Offer, by_choice, offer, written
from dpviz.names import absent, meant

if TYPE_CHECKING:
    from fractions import Fraction

    from dpviz.mechanisms.catalogue import *  # noqa: F403
    from dpviz.mechanisms.fixed_list import FixedList as FixedList
    from dpviz.mechanisms.parts import Parts as Parts
    from dpviz.mechanisms.pay_what_you_get import PayWhatYouGet as PayWhatYouGet
    from dpviz.model.mechanism import Mechanism
    from dpviz.model.opening import ListOpening, Opening
    from dpviz.model.question import Question
    from dpviz.model.ways import Way, Ways
    from dpviz.privacy.unit import Unit

CATALOGUE: Final = Path(__file__).with_name("catalogue.pyi")
"""The registry: a line for each mechanism, which a type checker reads as an import."""

_LINE: Final = re.compile(r"^from dpviz\.mechanisms\.(\w+) import (\w+) as \2$", re.MULTILINE)


def in_catalogue(text: str) -> dict[str, str]:
    """The names and files in the lines of a registry."""
    return {name: file for file, name in _LINE.findall(text)}


_RELEASED: Final = in_catalogue(CATALOGUE.read_text(encoding="utf-8"))
"""Every mechanism of dpviz and its file, in the order in which widgets offer them."""

_OPENED: Final = {"PayWhatYouGet": "pay_what_you_get", "Parts": "parts", "FixedList": "fixed_list"}
"""Kinds of sub-sessions and their files, by the names that ledgers keep them under."""

_OF_PARTS: Final = {"Groups": "groups"}
"""The mechanism that answers a question about each part of the data with one of the others, and its file."""

_FILES: Final = {**_RELEASED, **_OPENED}

RECORD: Final = Path(__file__).with_name("offers.json")
"""The description of each mechanism in the lists of pages. `python -m tests.mechanisms.declared` writes it from the
classes."""

T = TypeVar("T")
MechanismClass = TypeVar("MechanismClass", bound="type[Mechanism]")


class Registry(Mapping[str, type[T]]):
    """Classes by name: those of dpviz, each loaded when it is first used, then those that were registered."""

    def __init__(self, files: Mapping[str, str], record: Path | None = None) -> None:
        """`record` is what is written down of the offers of these files."""
        self._files = files
        self._record = record
        self._written: dict[str, Offer] | None = None
        self._registered: dict[str, type[T]] = {}

    def __getitem__(self, name: str) -> type[T]:
        if name in self._registered:
            return self._registered[name]
        kind: type[T] = _loaded(name, self._files[name])
        return kind

    def __contains__(self, name: object) -> bool:
        return name in self._files or name in self._registered

    def __iter__(self) -> Iterator[str]:
        return iter([*self._files, *self._registered])

    def __len__(self) -> int:
        return len(self._files) + len(self._registered)

    def offers(self) -> dict[str, Offer]:
        """The description of each on a page, which loads none that is on record."""
        if self._written is None:
            record, files = ({}, ()) if self._record is None else (written(self._record), self._files)
            self._written = {name: record[name] if name in record else _offer(self[name]) for name in files}
        return self._written | {name: _offer(kind) for name, kind in self._registered.items()}

    def by_choice(self) -> Iterator[type[T]]:
        """In the order in which they offer themselves, each loaded when its turn comes: those that do, by their
        `first_choice`, then all others."""
        return (self[name] for name in by_choice(self.offers()))

    def has_class(self, kind: type) -> bool:
        """Whether this class is one of them. It loads none: a class that somebody has is loaded."""
        own = ((name, sys.modules.get(f"dpviz.mechanisms.{file}")) for name, file in self._files.items())
        loaded = [vars(module).get(name) for name, module in own if module is not None]
        return any(kind is one for one in [*loaded, *self._registered.values()])

    def _add(self, name: str, kind: type[T]) -> None:
        """See `register`, which checks what comes here."""
        self._registered[name] = kind

    def _remove(self, name: str) -> None:
        """See `unregister`."""
        if name not in self._registered:
            raise ParameterError.of(
                name,
                "only a mechanism that was registered can be taken out",
                "name one that was given to mechanisms.register",
            )
        del self._registered[name]


REGISTRY: Final[Registry[Mechanism]] = Registry(_RELEASED, RECORD)
"""Every mechanism a user can name, in the order in which widgets offer them."""

OPENINGS: Final[Registry[Opening]] = Registry(_OPENED)
"""Every kind of sub-session that `session.open` takes."""

OF_PARTS: Final[Registry[Mechanism]] = Registry(_OF_PARTS)
"""The mechanism that a release about each part of the data is kept under; nobody names it."""


def _offer(kind: type) -> Offer:
    return offer(cast("type[Mechanism]", kind))


def _loaded(name: str, file: str) -> Any:
    with without_collector():
        return getattr(importlib.import_module(f"dpviz.mechanisms.{file}"), name)


@single_arguments
def register(kind: MechanismClass) -> MechanismClass:
    """Offer a mechanism of your own wherever mechanisms are named: in sessions, saved releases, plans and pages.

    A class built on `dpviz.model.parameters.Parameters`, with a `bind`, whose name no other mechanism has. It is given
    back, so this may stand above the class as a decorator. A saved release of it can be loaded where it is registered.
    """
    from dpviz.model.parameters import Parameters

    if not isinstance(kind, type) or not issubclass(kind, Parameters):
        raise ParameterError.of(
            as_given(kind),
            "a mechanism is a class built on dpviz.model.parameters.Parameters",
            "declare its parameters, and give it `bind`",
        )
    if missing := [part for part in ("name", "about", "delta_text", "bind") if not hasattr(kind, part)]:
        raise ParameterError.of(
            kind.__name__,
            f"a mechanism has {', '.join(missing)}",
            "add what is missing, as dpviz/mechanisms/dense.py has it",
        )
    if not kind.name.isidentifier() or kind.name in {**_FILES, **_OF_PARTS} or kind.name in REGISTRY:
        raise ParameterError.of(
            kind.name, "the name of a mechanism is a Python name that no other mechanism has", "give it another name"
        )
    REGISTRY._add(kind.name, kind)
    return kind


@single_arguments
def unregister(name: str) -> None:
    """Take a mechanism that was registered out again."""
    REGISTRY._remove(name)


def opening(name: str, parameters: dict[str, str]) -> Opening:
    """The parameters of a sub-session of that name, from these exact texts."""
    if name not in OPENINGS:
        raise ParameterError.of(name, f"a sub-session is one of {', '.join(OPENINGS)}", "upgrade dpviz")
    return OPENINGS[name].from_parameters(parameters)


def list_opening(lines: object, delta: object) -> ListOpening:
    """A sub-session of a fixed list of questions with their mechanisms, at this delta."""
    made: ListOpening = OPENINGS["FixedList"](lines, delta)  # type: ignore[call-arg, assignment]
    return made


def mechanism(name: str, parameters: dict[str, str]) -> Mechanism:
    """The mechanism of that name with these exact texts as parameters."""
    return named(name).from_parameters(parameters)


def ways(inner: Mechanism, question: Question, unit: Unit, delta: Fraction | None = None) -> Ways:
    """The ways to answer a question about each part of the data with this mechanism, all for its price; where a delta
    is given, one of them adds it."""
    found: Ways = importlib.import_module(f"dpviz.mechanisms.{_OF_PARTS['Groups']}").ways(inner, question, unit, delta)
    return found


def in_way(inner: Mechanism, way: Way) -> Mechanism:
    """This mechanism for each part of the data, its price shared out in one way."""
    made: Mechanism = OF_PARTS["Groups"](inner, way)  # type: ignore[call-arg]
    return made


def named(name: str) -> type[Mechanism]:
    """The class of the mechanism of that name."""
    if name in OF_PARTS:
        return OF_PARTS[name]
    if name not in REGISTRY:
        rule = f"a mechanism is one of {', '.join(REGISTRY)}"
        raise ParameterError.of(name, rule, meant(name, REGISTRY, "register it, or upgrade dpviz"))
    return REGISTRY[name]


NAMES: Final = tuple(_FILES)
"""The names that a user finds here and as `dv.Dense` and so on."""

__all__ = sorted(
    [*NAMES, "NAMES", "OPENINGS", "REGISTRY", "list_opening", "mechanism", "named", "opening", "register", "unregister"]
)

if not TYPE_CHECKING:  # a checker knows what is imported above, and that there is nothing else

    def __getattr__(name: str) -> Any:
        if name in _FILES:
            globals()[name] = _loaded(name, _FILES[name])
            return globals()[name]
        raise absent(__name__, name, lambda: __all__)


protect_module(vars())
