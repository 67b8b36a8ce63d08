"""How an error of ours looks in a notebook, and where the rest of it is.

IPython prints a traceback with up to seventy lines, and in Verbose mode with the variables of every frame. A refusal is
shown in three lines instead, in every mode; `dv.traceback()` shows the frames, without their variables.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from traceback import walk_tb
from types import TracebackType
from typing import Any, Final, NamedTuple

from dpviz.kinds import is_a

LONGEST_LINE: Final = 600
POINTER: Final = "dv.traceback() shows where this comes from."


class CodeLocation(NamedTuple):
    """Where a frame stood: no variables."""

    file: str
    line: int
    call: str

    def __str__(self) -> str:
        code = linecache.getline(self.file, self.line).strip()
        return f'  File "{self.file}", line {self.line}, in {self.call}' + (f"\n    {code}" if code else "")


class Rendered:
    """An exception that IPython shows in a few lines. For classes of exceptions, besides their base."""

    rule: str = ""
    next_step: str = ""

    def _render_traceback_(self) -> list[str]:
        """The text that IPython prints in place of the frames. Python itself never asks for it."""
        return ["\n".join(rendered(self))]  # one text: IPython joins several with or without line ends


def rendered(error: Any) -> list[str]:
    """The message, what it leaves out of rule and next step, and where to see more: at most three lines."""
    message = one_line(str(error))
    more = [one_line(part) for part in (error.rule, error.next_step)]
    missing = [_sentence(part) for part in more if part and part.rstrip(".").lower() not in message.lower()]
    lines = [f"{type(error).__name__}: {message}", *([" ".join(missing)] if missing else []), POINTER]
    return [line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…" for line in lines]


def one_line(text: str) -> str:
    """The text on one line, without anything that would steer the terminal it is shown on."""
    joined = " ".join(text.split())
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in joined)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "!", "?")) else ".")


# ---------------------------------------------------------------- frames


def without_frames(error: BaseException) -> BaseException:
    """The same error without its frames and without its reasons: their variables may hold data.

    Where the frames stood is kept for `traceback`, as files, lines and names of calls.
    """
    locations = (*locations_of(_TRACE.__get__(error)), *_kept(error))
    BaseException.__setattr__(error, _KEPT, locations)
    _CAUSE.__set__(error, None)
    _CONTEXT.__set__(error, None)
    _TRACE.__set__(error, None)
    return error


def locations_of(trace: TracebackType | None) -> Iterator[CodeLocation]:
    for frame, line in walk_tb(trace):
        if not str(frame.f_globals.get("__name__")).startswith("IPython."):
            yield CodeLocation(frame.f_code.co_filename, line, frame.f_code.co_qualname)


def _is_a_boundary(location: CodeLocation) -> bool:
    return location.call.endswith(".<locals>.called") and location.file.endswith("boundary.py")


def _kept(error: BaseException) -> tuple[CodeLocation, ...]:
    kept = _STATE.__get__(error).get(_KEPT, ())
    return kept if type(kept) is tuple else ()


def traceback(error: BaseException | None = None) -> None:
    """Print all frames of the last error, or of this one: files, lines and calls, and no variable of any of them.

    Parameters
    ----------
    error : BaseException, optional
        The error; by default the last one that nobody caught.

    Raises
    ------
    UnknownArgument
        If it is given other arguments.
    """
    last: Any = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None) if error is None else error
    if not is_a(last, BaseException):
        print("No error to show: nothing was refused in this session.")
        return
    locations = [
        location for location in (*locations_of(_TRACE.__get__(last)), *_kept(last)) if not _is_a_boundary(location)
    ]
    print("\n".join(["Traceback (most recent call last):", *map(str, locations)]))
    print(f"{type(last).__name__}: {one_line(str(last))}")


_KEPT: Final = "_places"
_TRACE: Any = vars(BaseException)["__traceback__"]
_CAUSE: Any = vars(BaseException)["__cause__"]
_CONTEXT: Any = vars(BaseException)["__context__"]
_STATE: Any = vars(BaseException)["__dict__"]
