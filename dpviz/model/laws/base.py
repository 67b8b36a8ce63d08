"""The law that an answer was drawn from, as its release stores it: named, versioned, self-contained.

A law holds exact numbers that were fixed when the release was paid for, and nothing else: its errors at any beta follow
from them, and no later calibration of a mechanism can move them. A new mechanism declares its law as one frozen
dataclass with `@stored`, wherever it likes; the fields say how they are written and read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from dpviz.boundary import protect_module
from dpviz.errors import DpvizError, ParameterError, ReleaseFormat
from dpviz.exact import Decay
from dpviz.model.answers import Answer, Reading
from dpviz.model.biases import Biases
from dpviz.model.error import ErrorModel
from dpviz.model.first_use import OnFirstUse
from dpviz.model.linear import CountRange, LinearError, Query
from dpviz.model.measures import Measure, of_bins
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit

Clamp: TypeAlias = tuple[int | None, int | None]

LONGEST = 4_000
"""A number of a law is written in at most so many digits, above or below its fraction bar."""

_WHOLE = re.compile(rf"0|-?[1-9][0-9]{{0,{LONGEST - 1}}}", re.ASCII)
_FRACTION = re.compile(rf"(0|-?[1-9][0-9]{{0,{LONGEST - 1}}})(?:/([1-9][0-9]{{0,{LONGEST - 1}}}))?", re.ASCII)


class Stored:
    """A frozen dataclass whose fields are written as exact texts and read back from them."""

    def to_json(self) -> dict[str, Any]:
        return {name: _written(getattr(self, name)) for name in _readers(type(self))}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The same from what `to_json` wrote. Anything else is refused."""
        readers = _readers(cls)
        if not isinstance(data, Mapping) or set(data) != set(readers):
            raise ReleaseFormat.damaged(
                f"this law has the parts {', '.join(readers)}", f"other parts of {cls.__name__}"
            )
        return cls(**{name: read(data[name]) for name, read in readers.items()})


class LawTerms(Stored):
    """The name, the version and the error of a law, and the answers that it can have given."""

    name: ClassVar[str]
    version: ClassVar[int] = 1

    @property
    def error(self) -> ErrorModel:
        raise NotImplementedError

    @property
    def clamp(self) -> Clamp:
        """The public limits that every released value respects; None where there is no limit on that side."""
        return None, None

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        """Whether the public numbers that the law repeats are those of the question and the unit."""
        return True

    def accepts(self, answer: Answer) -> bool:
        """Whether an answer of the promised shape can have been drawn from this law, as far as its numbers tell."""
        return True

    def measures(self, question: Question) -> tuple[Measure, ...]:
        """Statements about the error of a value before the draw, the most important first."""
        return of_bins(self.error, question)

    def title(self, question: Question, unit: Unit) -> str:
        """The subject of the answer, as a heading, where it is no list."""
        return question.title(unit)

    @property
    def once(self) -> str:
        """Why another draw would be another release, for a law of records of which that is true; else nothing."""
        return ""

    def biases(self, question: Question, unit: Unit, columns: object, counts: object) -> Biases:
        """Mean errors of all estimators, for made-up counts of some cells. By default nothing is said so.

        columns  whose table the cells are
        """
        raise ParameterError.of(
            self.name,
            "this answer is not read as tables that no count is below 0 in",
            "plan.error.bias(0) has the bias of an empty bin, where one is known",
        )

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "version": self.version, **super().to_json()}


class LawOfSums(LawTerms):
    """The errors of weighted sums of values. By default nothing is proved about them, and nothing is averaged."""

    @property
    def adds_up(self) -> bool:
        """Whether what a query's value is off by is a sum of independent noises with a law of its own, whatever was
        drawn: then two answers can be averaged with public weights, and `linear` needs no answer."""
        return False

    @property
    def trust(self) -> Fraction | None:
        """How much an answer counts beside another one, in a mean whose weights are one and the same for all sums, so
        that sums agree; None where the weights are those of each sum by itself."""
        return None

    @property
    def alike(self) -> Sequence[int] | None:
        """The first bins of the parts of the domain in each of which every bin errs alike, where `linear` needs no
        answer: (0,) where all bins do. None where it is not known so."""
        return None

    def limits(self, reading: Reading) -> CountRange:
        """Public facts about the true counts of all points. A sum may be below 0, and a public number of rows says
        nothing of how large sums are."""
        aggregate = reading.question.aggregate
        if not aggregate.counts:
            return CountRange(None if aggregate.signed else 0, self.clamp[1])
        return CountRange(0, self.clamp[1], reading.unit.n)

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """The error of `answer.weighted_sum(reading, query, reader)`, as far as it is known. By default it is not.

        answer  None before one is drawn, where the law `adds_up`
        """
        raise ReleaseFormat.of(
            self.name, "nothing is proved about sums of these values", "read single values: release.to_frame()"
        )


class LawOfParts(LawTerms):
    """The law of each answer where one is made of answers about parts, or is cut up into them. By default none is."""

    def of_part(self, unit: Unit) -> tuple[StoredLaw, Unit] | None:
        """The law of the answer about one part of the data, and the unit as that protects it, where an answer is made
        of one for each part; else None."""
        return None

    def cut_up(self, parts: int) -> StoredLaw | None:
        """The law of the answer about each of so many parts, where this one is about the product of the parts and some
        bins, and its answer is cut up; None where none has a law."""
        return None

    def accepts_parts(self, answers: Sequence[Answer]) -> bool:
        """Whether answers about all parts can have been drawn from this law of each."""
        return all(map(self.accepts, answers))


class StoredLaw(LawOfSums, LawOfParts):
    """A law by its name and version. Its statements about an answer's error follow from its fields alone.

    A law may hold other laws: a field of a certain class of them, or of `StoredLaw` for any that is registered. Each is
    stored as an object of its own, with its own name and version.
    """


_FILES: Final = {
    ("bounded record", 1): "records",
    ("buckets", 1): "buckets",
    ("category record", 1): "records",
    ("coins", 1): "ranking",
    ("compact", 1): "compact",
    ("cut product record", 1): "product",
    ("dense", 1): "dense",
    ("dense-gaussian", 1): "dense",
    ("exponential", 1): "ranking",
    ("grouped", 1): "grouped",
    ("key count", 1): "key_count",
    ("key selection", 1): "key_selection",
    ("log-sketch", 1): "log_sketch",
    ("marginals", 1): "marginals",
    ("marginals-gaussian", 1): "marginals",
    ("noisy-list", 1): "ranking",
    ("padded bounded record", 1): "records",
    ("peeling", 1): "ranking",
    ("product record", 1): "product",
    ("pseudocount record", 1): "records",
    ("pure-sparse", 1): "pure_sparse",
    ("queries", 1): "queries",
    ("response record", 1): "records",
    ("shared list", 1): "shared_list",
    ("signed-sketch", 1): "signed_sketch",
    ("sketch", 1): "sketch",
    ("sorted", 1): "sorted",
    ("stability", 1): "stability",
    ("stability-gaussian", 1): "stability",
    ("stability-truncated", 1): "stability",
    ("threshold", 1): "threshold",
    ("threshold-gaussian", 1): "threshold",
    ("threshold-truncated", 1): "threshold",
    ("tree", 1): "tree",
    ("tree-gaussian", 1): "tree",
}
"""The laws of dpviz by name and version, and their files. An older version stays for as long as a file may hold it."""

LAWS: Final = OnFirstUse[tuple[str, int], type[StoredLaw]](
    _FILES, lambda file: import_module(f"dpviz.model.laws.{file}")
)
"""Every law that can be read, by name and version; each is loaded when it is first used."""

Law = TypeVar("Law", bound=StoredLaw)


def stored(law: type[Law]) -> type[Law]:
    """Make a law known, so that what was drawn from it can be read back. A later one never takes its place."""
    declared: Any = law
    if is_dataclass(declared) and {"name", "version"} & {field.name for field in fields(declared)}:
        raise ParameterError.of(law.__name__, "name and version say which law it is", "give the field another name")
    if LAWS.setdefault((law.name, law.version), law) is not law:
        raise ParameterError.of(
            f"{law.name}, version {law.version}", "each law has a name and a version of its own", "raise its version"
        )
    return law


def unregister(law: type[StoredLaw]) -> None:
    """Forget a law that was registered: what was drawn from it can no longer be read. Not one of dpviz's own."""
    if LAWS.get((law.name, law.version)) is not law or law.__module__.startswith("dpviz."):
        raise ParameterError.of(
            f"{law.name}, version {law.version}",
            "only a law that was registered by others can be taken out",
            "give one that you registered",
        )
    del LAWS[law.name, law.version]


def law_from_json(data: object) -> StoredLaw:
    """The law that these texts name. Raises ReleaseFormat where they are no law, or one that this dpviz cannot read."""
    if not isinstance(data, Mapping):
        raise ReleaseFormat.damaged(
            "a stored law must have a name, a version and its numbers", f"a {type(data).__name__}"
        )
    name, version = data.get("name"), data.get("version")
    if not isinstance(name, str) or not isinstance(version, int) or isinstance(version, bool):
        raise ReleaseFormat.damaged("a stored law must have a name and a version", "another name or version")
    law = LAWS.get((name, version))
    if law is None:
        raise ReleaseFormat.of(f"{name}, version {version}", "this dpviz does not know that law", "update dpviz")
    try:
        return law.from_json({part: value for part, value in data.items() if part not in ("name", "version")})
    except ReleaseFormat:
        raise
    except (DpvizError, KeyError, ValueError, TypeError, ArithmeticError, RecursionError):
        failure = ReleaseFormat.damaged("the numbers of a stored law must fit together", f"{name}, version {version}")
    raise failure


# ---------------------------------------------------------------- exact texts


def _written(value: Any) -> Any:
    """A field as exact text; switches and absent fields as JSON has them."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | Fraction):
        return str(value)
    if isinstance(value, Decay):
        return {"exp": str(value.exponent)} if value.ratio is None else {"ratio": str(value.ratio)}
    written: dict[str, Any] = value.to_json()
    return written


def _whole(data: Any) -> int:
    if not isinstance(data, str) or not _WHOLE.fullmatch(data):
        raise ReleaseFormat.damaged("a law writes whole numbers as their digits", "another text")
    return int(data)


def fraction_of(data: Any) -> Fraction:
    found = _FRACTION.fullmatch(data) if isinstance(data, str) else None
    if found is None or str(number := Fraction(int(found[1]), int(found[2] or 1))) != data:
        raise ReleaseFormat.damaged("a law writes fractions in lowest terms", "another text")
    return number


def _decay(data: Any) -> Decay:
    if not isinstance(data, Mapping) or len(data) != 1 or not set(data) <= {"exp", "ratio"}:
        raise ReleaseFormat.damaged("a law writes a decay as its ratio, or as the exponent of its ratio", "other parts")
    return Decay.exp(fraction_of(data["exp"])) if "exp" in data else Decay.rational(fraction_of(data["ratio"]))


def _of_type(kind: type) -> Callable[[Any], Any]:
    def read(data: Any) -> Any:
        if type(data) is not kind:
            raise ReleaseFormat.damaged(f"a law has a {kind.__name__} here", f"a {type(data).__name__}")
        return data

    return read


def _law_of(kind: type[StoredLaw]) -> Callable[[Any], StoredLaw]:
    """A law inside a law: by its own name and version, which must be those of the declared class."""

    def read(data: Any) -> StoredLaw:
        law = law_from_json(data)
        if not isinstance(law, kind):
            raise ReleaseFormat.damaged(f"a law has a {kind.__name__} here", law.name)
        return law

    return read


def _one_of(values: tuple[Any, ...]) -> Callable[[Any], Any]:
    def read(data: Any) -> Any:
        if data not in values:
            raise ReleaseFormat.damaged(f"a law has one of {', '.join(map(str, values))} here", "another name")
        return data

    return read


_PLAIN: dict[Any, Callable[[Any], Any]] = {
    int: _whole,
    Fraction: fraction_of,
    Decay: _decay,
    bool: _of_type(bool),
    str: _of_type(str),
}


_KNOWN: dict[Any, dict[str, Callable[[Any], Any]]] = {}


def _readers(law: Any) -> dict[str, Callable[[Any], Any]]:
    """How each field of a law is read, by the type that it is declared with."""
    if law not in _KNOWN:
        hints = get_type_hints(law)
        _KNOWN[law] = {field.name: _reader(hints[field.name]) for field in fields(law)}
    return _KNOWN[law]


def _reader(hint: Any) -> Callable[[Any], Any]:
    if hint in _PLAIN:
        return _PLAIN[hint]
    if get_origin(hint) is Literal:
        return _one_of(get_args(hint))
    if isinstance(hint, UnionType) and NoneType in get_args(hint):
        (other,) = (part for part in get_args(hint) if part is not NoneType)
        read = _reader(other)
        return lambda data: None if data is None else read(data)
    if isinstance(hint, type) and issubclass(hint, StoredLaw):
        return _law_of(hint)
    if is_dataclass(hint) and isinstance(hint, type) and issubclass(hint, Stored):
        return hint.from_json
    raise TypeError(f"no stored form is known for {hint}")


protect_module(vars())
