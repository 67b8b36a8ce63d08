"""The form of docstrings: numpydoc, with every parameter, what comes back, and what is raised."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from types import FunctionType
from typing import Any

SECTIONS = ("Parameters", "Attributes", "Returns", "Raises", "See Also", "Notes", "References", "Examples")
"""The sections of numpydoc that we use, in its order."""

OPENINGS = ("What ", "Whoever ", "So many ", "That of which ", "Whatever ")
"""A summary has a subject and a verb, so it begins with none of these."""

NEVER_RAISE = (
    "PrepaidOpening.check_source",
    "PrepaidOpening.row",
    "Entry",
    "DerivedTable",
    "Heard.get_state",
    "Heard.send",
    "Ledger",
    "Marginal",
    "Mirror.set_state",
    "Parameters.in_place_of",
    "Parameters.longest",
    "Parts.step_price",
    "PayWhatYouGet.follows",
    "PayWhatYouGet.left",
    "Parts.left",
    "ReleaseInterrupted",
    "WidgetView.answer",
    "add_listener",
)
"""Calls that refuse no argument: they look at none before they are called back, take what our own calls hand them, or
answer an unchecked message by a reply."""


def sections(text: str) -> dict[str, str]:
    """The sections of a docstring by name, the summary and what follows it under ''."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}$\n?", inspect.cleandoc(text), flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def described(section: str) -> set[str]:
    """The parameters that a section describes; `*terms` and `**named` by their names."""
    heads = [line.partition(" : ")[0] for line in section.splitlines() if line[:1] not in ("", " ")]
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def faults(call: Callable[..., Any], name: str) -> list[str]:
    """The sections that the docstring of one call lacks."""
    text = call.__doc__ if isinstance(call, type) else inspect.getdoc(call)  # as Shift-Tab shows it, inherited or not
    if not text:
        return [f"{name} has no docstring"]
    told = sections(text)
    summary, _, rest = told[""].partition("\n")
    found = []
    if not summary.endswith((".", ":")) or rest.partition("\n")[0]:
        found.append(f"{name}: the summary is no sentence of one line")
    if summary.startswith(OPENINGS):
        found.append(f"{name}: the summary begins with {summary.split()[0]!r}")
    shown = [section for section in told if section]
    if shown != [section for section in SECTIONS if section in shown]:
        found.append(f"{name}: sections {', '.join(shown)} are unknown or out of order")
    signature = inspect.signature(call)
    needed = [one for one in signature.parameters if one != "self" and not one.startswith("_")]
    if isinstance(call, type) and issubclass(call, BaseException) and "__init__" not in vars(call):
        needed = []  # an error that nobody makes by hand is described where its constructor is
    if missing := set(needed) - described(told.get("Parameters", "")):
        found.append(f"{name}: no parameter {', '.join(sorted(missing))}")
    if unknown := described(told.get("Parameters", "")) - set(needed):
        found.append(f"{name}: it takes no {', '.join(sorted(unknown))}")
    returns = not isinstance(call, type) and str(signature.return_annotation) != "None"
    if returns != ("Returns" in told):
        found.append(f"{name}: {'no' if returns else 'needless'} section Returns")
    if needed and "Raises" not in told and not {call.__name__, call.__qualname__} & set(NEVER_RAISE):
        found.append(f"{name}: no section Raises")
    return found


def own(kind: type) -> Iterator[tuple[str, Any]]:
    """The public members that a class or a base of ours defines, as they are found on it."""
    for name in dir(kind):
        home = next((base for base in kind.__mro__ if name in vars(base)), object)
        if not name.startswith("_") and home.__module__.startswith(("dpviz", "tests")):
            yield name, inspect.getattr_static(kind, name)


def members(name: str, thing: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """A public class or function, and the public calls of the class, by name."""
    yield name, thing
    for member, static in own(thing) if isinstance(thing, type) else ():
        if isinstance(static, FunctionType | classmethod | staticmethod):
            yield f"{name}.{member}", getattr(thing, member)


def all_faults(name: str, thing: Any) -> list[str]:
    """The sections that docstrings of a class or function and of its members lack."""
    found = faults(thing, name)
    for member, static in own(thing) if isinstance(thing, type) else ():
        whole = f"{name}.{member}"
        if isinstance(static, property | cached_property):
            told = static.__doc__ or ""
            if not told or told.startswith(OPENINGS):
                found.append(f"{whole}: {'no docstring' if not told else f'it begins with {told.split()[0]!r}'}")
        elif isinstance(static, FunctionType | classmethod | staticmethod):
            found += faults(getattr(thing, member), whole)
    return found
