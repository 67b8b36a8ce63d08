"""Parameters declared once: one line says what a parameter reads, its default, its label and its options.

A class built on `Parameters` lists its parameters as fields, in the order in which a person types them:

    class Coins(Parameters):
        name: ClassVar[str] = "Coins"

        epsilon: Exact = parameter(reads=Epsilon())
        tosses: Whole = parameter(reads=WholeNumber(most=100), default=3, label="Tosses")
        bias: Bias = parameter(reads=OneOf(Bias), default="none", label="Bias", options={"none": "fair", "up": "heads"})

Its constructor, exact texts, reading of those texts, widget choices, Python call and repr follow from these lines. The
annotation says what may be typed (`Exact` takes any number) and what is kept (a Fraction). Rules about several
parameters stand in `check_together`, before any number is read, and in `check`, when all have been read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from dataclasses import Field as DataclassField
from fractions import Fraction
from typing import Any, ClassVar, Final, Generic, Protocol, Self, TypeAlias, TypeVar, dataclass_transform, get_args

from dpviz.boundary import as_given, one_word, plain_arguments, protect_module, single_arguments
from dpviz.errors import ParameterError
from dpviz.exact import LONGEST, Number, positive, probability, text, typed, whole
from dpviz.kinds import is_a
from dpviz.model.goals import Goal
from dpviz.model.mechanism import Choice, Premise
from dpviz.model.question import Question
from dpviz.model.repricing import Repricing
from dpviz.model.words import shown
from dpviz.names import meant
from dpviz.privacy.grid import LARGEST_EPSILON
from dpviz.privacy.unit import Unit

Typed = TypeVar("Typed", contravariant=True)
Kept = TypeVar("Kept", covariant=True)


class Reads(Protocol, Generic[Typed, Kept]):
    """For type checkers: a field that takes one type in the constructor and keeps another."""

    def __get__(self, instance: object, owner: Any = None) -> Kept: ...

    def __set__(self, instance: object, value: Typed) -> None: ...


Exact: TypeAlias = Reads[Number, Fraction]
ExactOrNone: TypeAlias = Reads[Number | None, Fraction | None]

MAY_BE_LEFT_OUT: Final = ""
"""The text of a parameter that has no value."""


# ---------------------------------------------------------------- what a parameter reads


class Reader:
    """How one kind of parameter is read from what a person types, and how its value is written."""

    first: ClassVar[bool] = False
    """Whether it is read before the rules about several parameters are checked."""

    lists: ClassVar[bool] = False
    """Whether it takes lists. Elsewhere a list is hidden as a column is, and refused."""

    longest: ClassVar[int] = LONGEST
    """How many characters its text may have to be stored and read back."""

    @property
    def options(self) -> Sequence[str]:
        """The texts it takes, where these are few."""
        return ()

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Any:
        """The exact value, or a ParameterError. `earlier` are the values of the parameters declared before it."""
        raise NotImplementedError

    def from_text(self, written: str, name: str) -> Any:
        """Return the constructor's argument for a text that `text` wrote or a page sent."""
        return written

    def text(self, value: Any) -> str:
        """The exact text; part of the idempotency key."""
        return str(value)

    def python(self, value: Any) -> str:
        """The value as Python."""
        return f'"{self.text(value)}"'


@dataclass(frozen=True)
class ExactNumber(Reader):
    """A number that is kept as a Fraction."""

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Fraction:
        return typed(value, name)

    def text(self, value: Any) -> str:
        return text(value)


@dataclass(frozen=True)
class Epsilon(ExactNumber):
    """A positive number, small enough to protect somebody."""

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Fraction:
        epsilon = positive(value, name, read=typed)
        if epsilon > LARGEST_EPSILON:
            raise ParameterError.of(
                text(epsilon),
                f"{name} must be at most {LARGEST_EPSILON:,}; beyond it nothing is protected",
                "type a number like 0.1 or 1/10",
            )
        return epsilon


@dataclass(frozen=True)
class Probability(ExactNumber):
    """A number in [0, 1), or in (0, 1) where `zero` is false."""

    zero: bool = False

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Fraction:
        return probability(value, name, zero=self.zero, read=typed)


@dataclass(frozen=True)
class WholeNumber(Reader):
    """A whole number from `least` (a number, or the name of a parameter declared earlier) to `most`."""

    least: int | str = 1
    most: int | None = None

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Any:
        least = earlier[self.least] if isinstance(self.least, str) else self.least
        return whole(value, name, least=least, most=self.most)

    def python(self, value: Any) -> str:
        return str(value)


@dataclass(frozen=True)
class OneOf(Reader):
    """One of a few texts: those of a Literal type, in the order in which a refusal lists them."""

    literal: Any
    next_step: str = ""

    first: ClassVar[bool] = True

    @property
    def options(self) -> Sequence[str]:
        return get_args(self.literal)

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> str:
        return one_word(value, name, self.options, self.next_step)


@dataclass(frozen=True)
class Switch(Reader):
    """True or False; in texts, true or false."""

    @property
    def options(self) -> Sequence[str]:
        return ("true", "false")

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> bool:
        if not isinstance(value, bool):
            raise ParameterError.of(value, f"{name} must be True or False", f"write {name}=True or {name}=False")
        return value

    def from_text(self, written: str, name: str) -> bool:
        if written not in self.options:
            raise ParameterError.of(written, f"{name} must be true or false", "write the text true or the text false")
        return written == "true"

    def text(self, value: Any) -> str:
        return "true" if value else "false"

    def python(self, value: Any) -> str:
        return str(value)


# ---------------------------------------------------------------- one parameter


@dataclass(frozen=True)
class Parameter:
    """The declaration of one parameter.

    reads      how its value is read and written
    default    what the constructor takes where it is left out; MISSING: it cannot be left out
    optional   it may have no value, which is None, and an empty text
    suggested  its text where it cannot be left out, and a widget or a file does
    label      what a widget calls it; a parameter without a label is not offered
    options    the words for each text, where it takes a few only, in the order in which a widget offers them
    always     the Python call names it even at its default
    beside     the parameter in whose place it may be given: setting that one takes this one away
    in_bins    whether it counts bins or rows of the question, of which a smaller question has fewer
    stays      whether it says something public about the data, which holds for whatever other mechanism is chosen
    later      whether it came after releases had been stored: at its default it is not written down, so that what was
               stored without it has the same key
    only       another parameter, declared before, and its value: with that this one is given, and with no other. Texts
               without it get what is suggested
    plain      whether everybody chooses it: a widget shows it, and folds the others away
    premise    the facts about the data on which its error rests, with {value} and {bins} in them
    """

    reads: Reader
    default: Any = MISSING
    optional: bool = False
    suggested: str = ""
    label: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    always: bool = False
    beside: str = ""
    in_bins: bool = False
    stays: bool = False
    later: bool = False
    only: tuple[str, str] | None = None
    plain: bool = False
    premise: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if unknown := set(self.options) - set(self.reads.options):
            raise TypeError(f"no such option: {min(unknown)}")

    def read(self, value: Any, name: str, earlier: Mapping[str, Any]) -> Any:
        return None if value is None and self.optional else self.reads.read(value, name, earlier)

    def written(self, value: Any, name: str) -> bool:
        """Whether it is among the texts of its thing."""
        return not self.later or value != self.read(self.default, name, {})

    def text(self, value: Any) -> str:
        return MAY_BE_LEFT_OUT if value is None else self.reads.text(value)

    def choice(self, name: str) -> Choice:
        return Choice(name, self.label, tuple(self.options.items()), self.stays, self.only, self.plain)


def parameter(
    *,
    reads: Reader,
    default: Any = MISSING,
    optional: bool = False,
    suggested: str = "",
    label: str = "",
    options: Mapping[str, str] | None = None,
    always: bool = False,
    beside: str = "",
    in_bins: bool = False,
    stays: bool = False,
    later: bool = False,
    only: tuple[str, str] | None = None,
    plain: bool = False,
    premise: tuple[str, ...] = (),
) -> Any:
    """Declare a parameter of a class built on `Parameters`; see `Parameter`."""
    options = options or {}
    return Parameter(
        reads, default, optional, suggested, label, options, always, beside, in_bins, stays, later, only, plain, premise
    )


# ---------------------------------------------------------------- all parameters of one thing


class ParameterFacts:
    """Facts about a class of parameters that are the same for all of its objects, with their defaults."""

    name: ClassVar[str]
    revision: ClassVar[int] = 1
    repriced: ClassVar[tuple[Repricing, ...]] = ()
    """Revisions that were charged too little: `dpviz ledger verify` names their answers."""

    @property
    def revisions(self) -> tuple[str, ...]:
        """The calibrations from which a price follows, where it follows from more than the parameters: `Dense 2`."""
        return ()

    names_items: ClassVar[bool] = False
    """Whether an answer names the large items, instead of having a value for every bin."""

    draws_records: ClassVar[bool] = False
    """Whether it answers questions for records, and no others."""

    cuts: ClassVar[bool] = False
    """Whether its delta pays for a threshold of keys that are not empty: then no rho alone is its price."""

    serves: ClassVar[tuple[Goal, ...]] = ()
    """The things that an answer tells, of which the advisor compares the error with that of others."""

    worth_from: ClassVar[int] = 0
    """The length of a range in bins from which its answer may be worth more than noise on every bin; 0: it is for no
    ranges."""

    first_choice: ClassVar[int] = 0
    """How soon a widget takes it to open with, where nobody has chosen: 1 before 2. 0: not at all."""


@dataclass_transform(frozen_default=True, field_specifiers=(parameter,))
class Parameters(ParameterFacts):
    """Frozen public parameters, each declared once. A subclass is a frozen dataclass whose fields are exact.

    A field that is not declared by `parameter` is kept as it is given.
    """

    _declared: ClassVar[dict[str, Parameter]] = {}
    """The parameters in the order in which a person would type them."""

    __dataclass_fields__: ClassVar[dict[str, DataclassField[Any]]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = {name: one for name, one in vars(cls).items() if isinstance(one, Parameter)}
        for name, one in own.items():
            setattr(cls, name, field(default=one.default, metadata={"parameter": one}))
        dataclass(frozen=True, repr=False)(cls)
        cls._declared = {one.name: one.metadata["parameter"] for one in fields(cls) if "parameter" in one.metadata}
        takes_lists = any(one.reads.lists for one in cls._declared.values())
        cls.__init__ = (plain_arguments if takes_lists else single_arguments)(cls.__init__)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in self._declared}
        self._read(given, first=True)
        self._check_only(given)
        self.check_together(given)
        self._read(given, first=False)
        self.check()

    def bind_first(self, question: Question, unit: Unit) -> Any:
        """As the first revision was bound: as today, where no law of that revision is drawn otherwise now.

        Parameters
        ----------
        question : Question
            The question of a release of the first format, which holds no law.
        unit : Unit
            Its unit.

        Returns
        -------
        Bound
            The law that the release was drawn from.

        Raises
        ------
        ParameterError
            If the mechanism could not answer the question for this unit.
        """
        made: Any = self
        return made.bind(question, unit)

    def _read(self, given: Mapping[str, Any], *, first: bool) -> None:
        for name, one in self._declared.items():
            if one.reads.first == first:
                object.__setattr__(self, name, one.read(given[name], name, vars(self)))

    def _check_only(self, given: Mapping[str, Any]) -> None:
        """Refuse a parameter without the value of another that it belongs to, and that value without it."""
        for name, one in self._declared.items():
            if one.only is None:
                continue
            owner, value = one.only
            if getattr(self, owner) != value and given[name] is not None:
                raise ParameterError.of(given[name], f'{name} belongs to {owner}="{value}"', f"leave {name} out")
            if getattr(self, owner) == value and given[name] is None:
                rule = f'{owner}="{value}" needs {name}, which is part of its price'
                raise ParameterError.of(f"no {name}", rule, f'write {name}="1e-6"')

    def check_together(self, given: Mapping[str, Any]) -> None:
        """Refuse parameters that do not belong together.

        Parameters
        ----------
        given : mapping
            Parameters as they were given: texts are read by now, numbers are not.

        Raises
        ------
        ParameterError
            If two parameters contradict each other.
        """

    def check(self) -> None:
        """Refuse values that are right by themselves but not together."""

    def parameters(self) -> dict[str, str]:
        """Write the parameters as exact texts.

        Returns
        -------
        dict
            Texts by name, in the order a person would type them. They are part of the idempotency key.
        """
        values = {name: (one, getattr(self, name)) for name, one in self._declared.items()}
        return {name: one.text(value) for name, (one, value) in values.items() if one.written(value, name)}

    @classmethod
    def longest(cls, name: str) -> int:
        """Bound the length of a parameter's text.

        Parameters
        ----------
        name : str
            The name of the parameter.

        Returns
        -------
        int
            Characters.
        """
        return cls._declared[name].reads.longest if name in cls._declared else LONGEST

    @classmethod
    def from_parameters(cls, parameters: dict[str, str]) -> Self:
        """Make the mechanism from exact texts.

        Parameters
        ----------
        parameters : dict[str, str]
            Texts by name. A text that is empty or missing leaves its parameter at the default.

        Returns
        -------
        Self
            The mechanism.

        Raises
        ------
        ParameterError
            If a name is unknown or a text cannot be read.
        """
        if not is_a(parameters, dict):
            raise ParameterError.of(as_given(parameters), "parameters are a dict of texts", 'write {"epsilon": "1/2"}')
        if unknown := sorted(set(parameters) - set(cls._declared)):
            rule = f"{cls.name} takes {', '.join(cls._declared)}"
            raise ParameterError.of(unknown[0], rule, meant(unknown[0], cls._declared, "leave it out"))
        return cls(**cls._typed(parameters))

    @classmethod
    def _typed(cls, parameters: dict[str, str]) -> dict[str, Any]:
        """Return the constructor's arguments for these texts."""
        given = {
            name: cls._declared[name].reads.from_text(written, name)
            for name, written in parameters.items()
            if written != MAY_BE_LEFT_OUT and cls._asked(name, parameters) is not False
        }
        needed = {
            name: one.suggested
            for name, one in cls._declared.items()
            if one.default is MISSING or cls._asked(name, parameters)
        }
        return {**needed, **given}

    @classmethod
    def _asked(cls, name: str, parameters: dict[str, str]) -> bool | None:
        """Whether a parameter that belongs to a value of another is asked for by these texts; None: it does not."""
        only = cls._declared[name].only
        return None if only is None else parameters.get(only[0]) == only[1]

    @classmethod
    def at_price(cls, epsilon: Fraction, delta: Fraction) -> Self:
        """Make the mechanism at a price.

        Parameters
        ----------
        epsilon : Fraction
            The epsilon to pay.
        delta : Fraction
            The delta to pay, where the mechanism has one.

        Returns
        -------
        Self
            The mechanism, with defaults for everything else.

        Raises
        ------
        ParameterError
            If the price is outside its range.
        """
        priced = "delta" in cls._declared and cls._declared["delta"].only is None
        return cls(**({"epsilon": epsilon, "delta": delta} if priced else {"epsilon": epsilon}))

    @classmethod
    def fitted(cls, question: Question) -> dict[str, str]:
        """Choose the parameters that the size of a question asks for.

        Parameters
        ----------
        question : Question
            The question to answer.

        Returns
        -------
        dict
            Parameters whose defaults ask for more bins than the question has, with the bins it has.

        Raises
        ------
        ParameterError
            If the defaults of the mechanism cannot be read.
        """
        question = Question.of(question)
        if not question.domain.declared:
            return {}
        usual = cls.from_parameters({"epsilon": "1"}).parameters()
        sizes = {name: usual[name] for name, one in cls._declared.items() if one.in_bins and usual[name].isdigit()}
        return {name: str(question.bins) for name, size in sizes.items() if int(size) > question.bins}

    @classmethod
    def in_place_of(cls, name: str) -> tuple[str, ...]:
        """List the parameters that may be given in the place of another.

        Parameters
        ----------
        name : str
            The name of the other parameter.

        Returns
        -------
        tuple of str
            Their names.
        """
        return tuple(other for other, one in cls._declared.items() if one.beside == name)

    @classmethod
    def choices(cls) -> tuple[Choice, ...]:
        """List the options that a widget offers besides epsilon.

        Returns
        -------
        tuple of Choice
            One for each labelled parameter.
        """
        return tuple(one.choice(name) for name, one in cls._declared.items() if one.label)

    @property
    def python(self) -> str:
        """The call that makes this, with what is not left at its default."""
        return f"dv.{self.name}({', '.join(self._arguments())})"

    def _arguments(self) -> list[str]:
        arguments = []
        for name, one in self._declared.items():
            value = getattr(self, name)
            if value is not None and (one.always or one.default is MISSING or value != one.read(one.default, name, {})):
                arguments.append(f"{name}={one.reads.python(value)}")
        return arguments

    def premises(self, question: Question) -> tuple[Premise, ...]:
        """List the facts about the data on which the errors of an answer rest.

        Parameters
        ----------
        question : Question
            The question to answer.

        Returns
        -------
        tuple of Premise
            One for each parameter that states such a fact, and has a value.

        Raises
        ------
        ParameterError
            If a default of the mechanism cannot be read.
        """
        question, found = Question.of(question), []
        declared = question.domain.declared
        for name, one in self._declared.items():
            value = getattr(self, name)
            if not one.premise or value is None:
                continue
            fewer = declared and question.bins <= value  # whatever is said of the number of bins is known then
            facts = [fact for fact in one.premise if not (fewer and "{bins}" in fact)]
            if facts:
                words = " and ".join(facts).format(value=shown(value), bins="bins" if declared else "keys")
                usual = one.default is not MISSING and value == one.read(one.default, name, {})
                found.append(Premise(words, f"{name}={one.reads.python(value)}", usual))
        return tuple(found)

    def with_epsilon(self, epsilon: Fraction) -> Self:
        """Copy the mechanism at another epsilon.

        Parameters
        ----------
        epsilon : Fraction
            The epsilon to pay. A parameter that was given in its place returns to its default.

        Returns
        -------
        Self
            The copy.

        Raises
        ------
        ParameterError
            If epsilon is outside its range.
        """
        others = {name: self._declared[name].default for name in self.in_place_of("epsilon")}
        return replace(self, epsilon=epsilon, **others)

    def __repr__(self) -> str:
        return self.python.removeprefix("dv.")


protect_module(vars())
