"""Where private things are kept: nothing here prints them, stores them, or leaves them in a traceback.

IPython's `%xmode Verbose` prints the variables of every frame of a traceback. So whatever may be refused is refused in
a frame whose variables are public or `Hidden`, and a private step runs inside `quietly`, which leaves no frame behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NoReturn, TypeVar

from dpviz.errors import Forbidden, ReleaseFailed

T = TypeVar("T")
Result = TypeVar("Result")


class Unstored:
    """What stays in this process: no pickle, no copy."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise Forbidden("private data is not stored, sent or copied", rule="private data stays in memory")

    def __copy__(self) -> NoReturn:
        self.__reduce__()

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()


class Hidden(Unstored, Generic[T]):
    """A private thing behind `take`, whose only callers are engines."""

    __slots__ = ("_hidden",)

    def __init__(self, hidden: T) -> None:
        self._hidden = hidden

    @staticmethod
    def of(thing: Any) -> Hidden[Any]:
        """Hide a thing that may be hidden already."""
        return thing if isinstance(thing, Hidden) else Hidden(thing)

    def take(self) -> T:
        return self._hidden

    def __repr__(self) -> str:
        return "<private>"


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
