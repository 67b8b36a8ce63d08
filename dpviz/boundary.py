"""Where private things are kept: nothing here prints them, stores them, or leaves them in a traceback.

IPython's `%xmode Verbose` prints the variables of every frame of a traceback, and somebody will hand any public call a
data frame, or a list that was a column. So every public call has a boundary: `plain_arguments` and `single_arguments`
read its arguments into plain types, once, and hide what nobody types; `error_boundary` lets them be. Errors behind a
boundary leave it without the frames in which they went wrong. A private step runs inside `withhold_errors`, which
leaves no frame and no reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial, wraps
from pathlib import Path, PurePath
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, NoneType
from typing import Any, Final, Generic, NoReturn, ParamSpec, TypeVar

import numpy as np

from dpviz import names, traces
from dpviz.errors import DpvizError, Forbidden, ParameterError, ReleaseFailed, ReleaseInterrupted, short
from dpviz.exact import Decay, plain
from dpviz.kinds import PATHS, bases, is_a, is_ours, name_of

T = TypeVar("T")
P = ParamSpec("P")
Result = TypeVar("Result")


CALLS: Final = (FunctionType, BuiltinFunctionType, MethodType, partial)
"""Types of the functions that a person hands over to be called."""

DEEPEST: Final = 40
"""Lists in lists are read so deep; what lies below is hidden."""


class Unstored:
    """Objects that stay in this process: no pickle, no copy."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise Forbidden(
            "private data is not stored, sent or copied; store a release instead: release.save(path)",
            value=name_of(type(self)),
            rule="private data stays in memory",
            next_step="store a release instead: release.save(path)",
        )

    def __getstate__(self) -> NoReturn:
        self.__reduce__()

    def __copy__(self) -> NoReturn:
        self.__reduce__()

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()


class Hidden(Unstored, Generic[T]):
    """A private thing behind `take`, whose only callers are engines. Its type is public."""

    __slots__ = ("_hidden",)

    def __init__(self, hidden: T) -> None:
        self._hidden = hidden

    @staticmethod
    def of(thing: Any) -> Hidden[Any]:
        """Hide a thing that may be hidden already."""
        return thing if type(thing) is Hidden else Hidden(thing)

    def take(self) -> T:
        return self._hidden

    @property
    def kind(self) -> str:
        return name_of(type(self._hidden))

    def __repr__(self) -> str:
        return f"<private {self.kind}>"


def shown(thing: Any) -> Any:
    """The same thing in plain types where it is what a person types, or a list or dict of that; else it is hidden."""
    return _shown(thing, {}, DEEPEST)


def _shown(thing: Any, seen: dict[int, Any], deep: int) -> Any:
    kind = type(thing)
    if kind is str or kind is int or kind is float or kind is bool or thing is None:
        return thing
    if is_a(thing, np.generic):  # NumPy's numbers come from arrays
        return Hidden(thing)
    typed = _typed(thing)
    if typed is not None:
        return typed
    if not is_a(thing, list, tuple, dict, MappingProxyType) or not deep:
        return Hidden(thing)
    if id(thing) not in seen:  # a list that holds itself is hidden there
        seen[id(thing)] = Hidden(thing)
        seen[id(thing)] = _contents(thing, seen, deep - 1)
    return seen[id(thing)]


def _contents(thing: Any, seen: dict[int, Any], deep: int) -> Any:
    """A plain list, tuple or dict of what is in one of these. Of a subclass, none of its own methods is asked."""
    if is_a(thing, list):
        return [_shown(part, seen, deep) for part in list.__iter__(thing)]
    if is_a(thing, tuple):
        return tuple(_shown(part, seen, deep) for part in tuple.__iter__(thing))
    parts = dict.items(thing) if is_a(thing, dict) else [*thing.items()]
    return {_key(key): _shown(part, seen, deep) for key, part in parts}


def _key(thing: Any) -> Any:
    """The same for a key: one value, several as columns of a table, or hidden, for lists could be no keys."""
    if is_a(thing, tuple):
        return tuple(None if part is None else single(part) for part in tuple.__iter__(thing))
    return thing if thing is None else single(thing)


def single(thing: Any) -> Any:
    """The same thing in a plain type where it is one value that a person types or computes, a number of NumPy included.

    A list is hidden as a column is.
    """
    if thing is None:
        return None
    typed = _typed(thing)
    return Hidden(thing) if typed is None else typed


def _typed(thing: Any) -> Any:
    """One value in its plain type: text, number, path, range, or a thing of ours; None where it is no such thing."""
    kind = type(thing)
    if kind is str or kind is int or kind is float or kind is bool:
        return thing
    if is_a(thing, np.character):  # texts of an array
        return None
    number = plain(thing)
    if number is not None:
        return number
    if any(kind is known for known in (complex, range, *PATHS, *CALLS)):
        return thing
    if any(is_ours(base) for base in bases(kind)):
        return thing
    if is_a(thing, type):  # a class: ours, or one that is built on ours
        return thing if any(is_ours(base) for base in bases(thing)) else None
    if is_a(thing, PurePath):
        path = PurePath.__str__(thing)
        return Path(str.__str__(path)) if is_a(path, str) else None
    return None


def kind_of(value: object) -> str:
    """The name of a value's type, for a message that must not show the value."""
    return value.kind if type(value) is Hidden else name_of(type(value))


def as_given(value: object, article: str = "") -> str:
    """The part of an argument of the wrong kind that a message shows: a text or number as it was typed; of all else the
    type."""
    if type(value) is str:
        return f'"{short(value)}"' if value.strip() else short(value)
    typed = any(type(value) is known for known in (int, bool, float, NoneType, Decimal, Fraction))
    return short(value) if typed else article + kind_of(value)


def one_word(value: object, name: str, words: Iterable[str], otherwise: str = "") -> str:
    """The value, if it is one of these words. Raises ParameterError, with what was meant or else the advice.

    otherwise  the advice; left out, to write the first of the words as the argument `name`
    """
    known = list(words)
    if isinstance(value, str) and value in known:
        return value
    quoted = [f'"{word}"' for word in known]
    rule = f"{name} must be {', '.join(quoted[:-1])} or {quoted[-1]}" if known[1:] else f"{name} must be {quoted[0]}"
    raise ParameterError.of(as_given(value), rule, names.meant(value, known, otherwise or f"write {name}={quoted[0]}"))


def plain_arguments(call: Callable[P, Result]) -> Callable[P, Result]:
    """Mark a call whose arguments are public: data given to it by mistake is hidden before anything can go wrong."""
    return _bounded(call, _all_shown, shown)


def single_arguments(call: Callable[P, Result]) -> Callable[P, Result]:
    """Mark a call whose arguments are public and single, like epsilon: a column or a list is hidden, then refused."""
    return _bounded(call, _all_single, _each_single)


def error_boundary(call: Callable[P, Result]) -> Callable[P, Result]:
    """Mark a public call that takes its arguments as they are. Like every boundary it lets no frame out."""
    return _bounded(call, None, None)


def _bounded(
    call: Callable[P, Result], reads: Callable[[Any], Any] | None, reads_named: Callable[[Any], Any] | None
) -> Callable[P, Result]:
    @wraps(call)
    def called(*given: Any, **named: Any) -> Any:
        try:
            if reads is not None and reads_named is not None:
                given, named = reads(given), reads_named(named)
            return call(*given, **named)
        except BaseException as error:
            if type(error) is TypeError and error.__traceback__ is not None and error.__traceback__.tb_next is None:
                error = names.unknown_argument(call, given, named) or error
            given, named = (), {}  # no variable of this call, which is all that is left, shows what it was given
            failure = traces.without_frames(_known(error))
        try:
            raise failure
        finally:
            del failure  # it would keep itself alive

    called.__dict__[BOUNDARY] = True
    return called


def _known(error: BaseException) -> BaseException:
    """The error, or one of ours in place of what Python or a package says of a value: its text may quote the value.

    Refusals of the call itself, like an argument that it does not have, go out as they are.
    """
    if not is_a(error, TypeError, ValueError, OverflowError, OSError) or is_a(error, DpvizError, TimeoutError):
        return error
    trace = error.__traceback__
    if is_a(error, OSError):
        reason = OSError.__dict__["strerror"].__get__(error)
        return ParameterError(
            f"the system does not allow this ({reason or 'it gives no reason'}); choose another place",
            value=str(reason or ""),
            rule="a file needs a place that can be read and written",
            next_step="choose another place",
        ).with_traceback(trace)
    if trace is None or trace.tb_next is None:
        BaseException.__setattr__(error, _OF_THE_CALL, True)
    if _OF_THE_CALL in vars(error):
        return error
    withheld = ParameterError(
        "this call cannot use what it was given; the reason is withheld because it may hold data",
        rule="what Python says of a value may quote it",
        next_step="compare what you gave with the call's docstring",
    )
    return withheld.with_traceback(trace)


_OF_THE_CALL: Final = "_of_the_call"


def number_arguments(call: Callable[P, Result]) -> Callable[P, Result]:
    """Mark a public call that takes a list of numbers: its refusals say the rule and not the number."""

    @wraps(call)
    def counted(*given: P.args, **named: P.kwargs) -> Result:
        try:
            return call(*given, **named)
        except ParameterError as error:
            refused = ParameterError.of("another one in a list", error.rule, error.next_step)
        raise refused

    return error_boundary(counted)


def dict_arguments(call: Callable[P, Result]) -> Callable[P, Result]:
    """Mark a public call that takes values by name, in a dict: anything else is hidden."""
    return _bounded(call, _all_named, lambda named: dict(zip(named, _all_named(tuple(named.values())), strict=True)))


def _all_named(given: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(thing if is_a(thing, dict) else single(thing) for thing in given)


def _all_shown(given: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(shown(thing) for thing in given)


def _all_single(given: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(single(thing) for thing in given)


def _each_single(named: dict[str, Any]) -> dict[str, Any]:
    return {name: single(thing) for name, thing in named.items()}


BOUNDARY: Final = "_dpviz_door"

_SIGNS: Final = (
    "init call getitem setitem delitem contains mul rmul add radd sub rsub truediv and or xor matmul pow eq ne lt le "
    "gt ge format reversed"
)
OPERATORS: Final = frozenset(f"__{sign}__" for sign in _SIGNS.split())
"""Methods that Python calls without their names."""


def protect_module(module: dict[str, Any]) -> None:
    """Give every public call of the classes that a module defines a boundary. Called at the end of the module."""
    for kind in [thing for thing in module.values() if isinstance(thing, type)]:
        plain_class = not issubclass(kind, Enum) and not vars(kind).get("_is_protocol", False)
        if kind.__module__ == module["__name__"] and plain_class:
            protect_class(kind)


def protect_class(kind: type) -> None:
    """Give every public call of a class a boundary: methods, class and static methods, operators, properties.

    A name that it does not have is answered with the nearest that it has.
    """
    if not issubclass(kind, BaseException):
        names.with_next_name(kind)
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and name not in OPERATORS:
            continue
        if isinstance(member, staticmethod | classmethod):
            if not has_boundary(member.__func__):
                setattr(kind, name, type(member)(BOUNDARIES.get(name, error_boundary)(member.__func__)))
        elif isinstance(member, property) and member.fset is not None:
            setattr(kind, name, property(member.fget, error_boundary(member.fset), member.fdel, member.__doc__))
        elif isinstance(member, FunctionType) and not has_boundary(member):
            setattr(kind, name, BOUNDARIES.get(name, error_boundary)(member))
    for name in _inherited(kind):
        setattr(kind, name, error_boundary(getattr(kind, name)))


def _inherited(kind: type) -> list[str]:
    """Public calls that a class has from an abstract collection of Python: `get` of a Mapping, `index` of a Sequence.

    They are asked with whatever a person hands over, and their frames would show it.
    """
    found = {}
    for base in bases(kind)[1:]:
        if base.__module__ in ("collections.abc", "_collections_abc"):
            for name, member in vars(base).items():
                public = not name.startswith("_") or name in OPERATORS
                if public and isinstance(member, FunctionType) and getattr(kind, name, None) is member:
                    found[name] = member
    return list(found)


BOUNDARIES: Final[dict[str, Callable[[Any], Any]]] = {
    "chances": number_arguments,
    "quantiles": number_arguments,
    "reads": number_arguments,
    "many": number_arguments,
    "from_parameters": dict_arguments,
}
"""Which boundary a call has that is not marked itself; any other has `error_boundary`."""


def has_boundary(call: Any) -> bool:
    return BOUNDARY in getattr(call, "__dict__", {})


def withhold_errors(step: Callable[..., Result], *public: Any) -> Result:
    """Do one private step. If it dies (no memory, an interrupt), its frames and its reasons die with it."""
    failure: BaseException
    try:
        return step(*public)
    except Exception:
        failure = ReleaseFailed(
            "the engine failed; the cause is withheld, for it may hold data",
            rule="an engine's error is never shown",
            next_step="check that there is enough memory",
        )
    except BaseException as stop:  # an interrupt stays an interrupt
        failure = type(stop)()
    raise failure


traceback = error_boundary(traces.traceback)
protect_class(Decay)  # they lie below this file
protect_class(DpvizError)
protect_class(ReleaseInterrupted)
