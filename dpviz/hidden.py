"""Where private things are kept: nothing here prints them, stores them, or leaves them in a traceback.

IPython's `%xmode Verbose` prints the variables of every frame of a traceback. So whatever may be refused is refused in
a frame whose variables are public or `Hidden`; a private step runs inside `quietly`, which leaves no frame behind; and
a call that takes public arguments is marked `publicly`, for somebody will hand it a data frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from pathlib import PurePath
from typing import Any, Final, Generic, NoReturn, ParamSpec, TypeVar

import gmpy2
import numpy as np

from dpviz.errors import Forbidden, ReleaseFailed

T = TypeVar("T")
P = ParamSpec("P")
Result = TypeVar("Result")

TYPED: Final = (
    str, int, float, complex, range, type, Decimal, Fraction, type(gmpy2.mpz()), type(gmpy2.mpq()), PurePath
)  # fmt: skip
"""What a person types. It may be shown in a message and in a traceback."""


class Unstored:
    """What stays in this process: no pickle, no copy."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise Forbidden("private data is not stored, sent or copied", rule="private data stays in memory")

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
        return thing if isinstance(thing, Hidden) else Hidden(thing)

    def take(self) -> T:
        return self._hidden

    @property
    def kind(self) -> str:
        return type(self._hidden).__name__

    def __repr__(self) -> str:
        return f"<private {self.kind}>"


def shown(thing: Any) -> Any:
    """The same thing where it is what a person types, or a list or dict of that; whatever else it is, hidden."""
    kind = type(thing)
    ours = any(base.__module__.startswith("dpviz.") for base in kind.__mro__)
    typed = isinstance(thing, TYPED) and not isinstance(thing, np.generic)  # NumPy's numbers come from arrays
    if thing is None or ours or typed or callable(thing):
        return thing
    if kind in (list, tuple):
        return kind(shown(part) for part in thing)
    if isinstance(thing, Mapping):
        return {shown(key): shown(part) for key, part in thing.items()}
    return Hidden(thing)


def single(thing: Any) -> Any:
    """The same thing where it is one value that a person types or computes; a list is hidden as a column is."""
    computed = isinstance(thing, np.number | np.bool_)
    return thing if computed or shown(thing) is thing else Hidden(thing)


def kind_of(value: object) -> str:
    """The name of a value's type, for a message that must not show the value."""
    return value.kind if isinstance(value, Hidden) else type(value).__name__


def publicly(call: Callable[P, Result]) -> Callable[P, Result]:
    """Mark a call whose arguments are public: data given to it by mistake is hidden before anything can go wrong."""

    @wraps(call)
    def called(*given: P.args, **named: P.kwargs) -> Result:
        given, named = shown(given), shown(named)  # from here on no variable of this call shows data
        return call(*given, **named)

    return called


def singly(call: Callable[P, Result]) -> Callable[P, Result]:
    """Mark a call whose arguments are public and single, like epsilon: a column or a list is hidden, then refused."""

    @wraps(call)
    def called(*given: P.args, **named: P.kwargs) -> Result:
        given = tuple(single(thing) for thing in given)  # type: ignore[assignment]
        named = {name: single(thing) for name, thing in named.items()}  # type: ignore[assignment]
        return call(*given, **named)

    return called


def quietly(step: Callable[..., Result], *public: Any) -> Result:
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
