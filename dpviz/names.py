"""The next name: what somebody meant who mistyped one. Compared with public names only.

A name that is asked for (an attribute, a parameter, a column, a label) is shown only where it looks like one.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

from dpviz.errors import MissingName, UnknownArgument, short
from dpviz.kinds import bases, name_of

NEAR: Final = 0.65
"""Two names are near if twice their common signs are this share of all their signs (difflib's ratio)."""

MOST: Final = 10_000
"""Among more names than this nothing is looked for: it would take longer than looking it up."""

LONGEST_NAME: Final = 60

LOOK_ALIKE: Final = str.maketrans(
    "АВЕКМНОРСТУХаеорсухіјѕΑΒΕΖΗΙΚΜΝΟΡΤΥΧοινρ", "ABEKMHOPCTYXaeopcyxijsABEZHIKMNOPTYXoivp"
)
"""Letters of other scripts that nobody tells from Latin ones."""


def as_name(name: object) -> str:
    """A name as a message shows it: as it is, or as Python writes it where its blanks or signs would not be seen.

    >>> as_name("visits"), as_name(" b"), as_name("a\\nb"), as_name("a  b")
    ('visits', '" b"', '"a\\\\nb"', '"a \\\\x20b"')
    """
    if type(name) is not str:
        return short(name)
    if name and name == " ".join(name.split()) and name.isprintable():
        return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
    cut = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
    signs = [
        sign if sign.isprintable() else ascii(sign)[1:-1] for sign in cut.replace("\\", "\\\\").replace('"', '\\"')
    ]
    told = "".join(r"\x20" if at and sign == " " == signs[at - 1] else sign for at, sign in enumerate(signs))
    return f'"{told}"'


def _skeleton(name: str) -> str:
    """The look of a name: without case, surrounding blanks, invisible signs and the script of its letters."""
    plain = unicodedata.normalize("NFKC", name.translate(LOOK_ALIKE))
    seen = "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")
    return " ".join(seen.casefold().split())


def nearest(name: object, among: Iterable[str]) -> str | None:
    """The name among these that is nearest to a mistyped one, capital letters aside; None where none is near.

    >>> nearest("remaning", ["remaining", "running"]), nearest("session", ["Session"]), nearest("x", ["visits"])
    ('remaining', 'Session', None)
    """
    if type(name) is not str or not 0 < len(name) <= LONGEST_NAME:
        return None
    from difflib import get_close_matches

    known: dict[str, str] = {}
    seen, alike = _skeleton(name), None
    for one in among:
        known.setdefault(one.casefold(), one)
        if len(known) > MOST:
            return None
        if alike is None and one != name and len(one) <= LONGEST_NAME and _skeleton(one) == seen:
            alike = one
    if alike is not None:
        return alike
    if len(name) == 1:
        return None
    close = get_close_matches(name.casefold(), known, n=1, cutoff=NEAR)
    return known[close[0]] if close and known[close[0]] != name else None


def meant(name: object, among: Iterable[str], otherwise: str) -> str:
    """`did you mean visits?`, and else the advice.

    >>> meant("vists", ["visits", "health"], "its columns are visits, health")
    'did you mean visits?'
    """
    near = nearest(name, among)
    if near is None:
        return otherwise
    shown = as_name(near)
    if type(name) is str and _letters(name) != _letters(near) and _skeleton(name) == _skeleton(near):
        return f"did you mean {near!a}, in other letters that look alike?"
    return f"did you mean {shown}?"


def _letters(name: str) -> str:
    """A name without its case and its blanks."""
    return "".join(name.casefold().split())


def missing(owner: str, name: str, among: Iterable[str], otherwise: str = "") -> MissingName:
    """The error for an attribute that there is not. `owner` is what a user calls the thing that was asked for it.

    >>> str(missing("dpviz", "Sesion", ["Session", "Unit"]))
    'dpviz has no Sesion; did you mean Session?'
    """
    public = [one for one in among if not one.startswith("_")]
    advice = meant(name, public, otherwise or f"help({owner}) tells what it has")
    shown = _shown(name)
    error = MissingName(
        f"{owner} has no {shown}; {advice}", value=shown, rule=f"{owner} has no {shown}", next_step=advice
    )
    error.name = name  # as in every AttributeError
    return error


def absent(module: str, name: str, among: Callable[[], Iterable[str]]) -> AttributeError:
    """The error for a name that a module does not have, to raise from its `__getattr__`.

    Python asks so, too, before it imports a part of a package, and for names of its own: it is not told what it meant.
    """
    if name.startswith("_") or find_spec(f"{module}.{name}") is not None:
        return AttributeError(f"{module} has no {name}", name=name)
    return missing(module, name, among())


def with_next_name(kind: type) -> None:
    """Give a class an answer to names that it has not: the nearest that it has."""
    if "__getattr__" not in {name for base in bases(kind) for name in vars(base)}:
        kind.__getattr__ = _missing_attribute  # type: ignore[attr-defined]


def _missing_attribute(self: object, name: str) -> Any:
    kind = type(self)
    if any(name in vars(base) for base in bases(kind)):
        return object.__getattribute__(self, name)  # what it says of itself is its own error
    if name.startswith("_"):  # what Python, IPython and pandas ask of everything
        raise AttributeError(f"{name_of(kind)} has no {name}")
    raise missing(name_of(kind), name, object.__dir__(self))


class NamedClass(type):
    """The type of a class that is asked for many things by name: `dv.Domain.integers`."""

    def __getattr__(cls, name: str) -> Any:
        made = "__dataclass_params__" not in vars(cls) or "__match_args__" in vars(cls)
        if name.startswith("_") or not made:  # `dataclass` asks for each field while it makes the class
            raise AttributeError(f"{name_of(cls)} has no {name}")
        raise missing(name_of(cls), name, type.__dir__(cls))


class NamedModule(ModuleType):
    """A module of which somebody may mean a class: `dv.session(...)`."""

    def __call__(self, *given: object, **named: object) -> object:
        name = self.__name__.rpartition(".")[2]
        rule = f"dv.{name} is a part of dpviz and no call"
        raise UnknownArgument(
            f"{rule}; did you mean dv.{name.capitalize()}?",
            value=f"dv.{name}",
            rule=rule,
            next_step=f"did you mean dv.{name.capitalize()}?",
        )


def name_class_of(module: str) -> None:
    """Let a call of this module name the class that was meant."""
    sys.modules[module].__class__ = NamedModule


def unknown_argument(call: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]) -> TypeError | None:
    """The fault in the arguments of a call, in our words; None where nothing is that can be told.

    Only names are looked at. `given` counts as so many.
    """
    from inspect import Parameter, signature

    try:
        parameters = list(signature(call).parameters.values())
    except (TypeError, ValueError):
        return None
    bound = bool(parameters) and parameters[0].name in ("self", "cls")
    own = parameters[1:] if bound else parameters
    positional = [one for one in own if one.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    by_name = [one.name for one in own if one.kind in (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    count = len(given) - bound
    who = call.__qualname__.removesuffix(".__init__")
    takes = f"it takes {', '.join(by_name)}" if by_name else "it takes nothing"
    if not any(one.kind is Parameter.VAR_KEYWORD for one in own):
        for name in named:
            if name not in by_name:
                shown = _shown(name)
                return _refused(shown, f"{who} takes no {shown}", meant(name, by_name, takes))
    if count > len(positional) and not any(one.kind is Parameter.VAR_POSITIONAL for one in own):
        most = "one value" if len(positional) == 1 else f"{len(positional)} values"
        rule = f"{who} takes {f'at most {most}' if positional else 'no value'} without a name, not {count}"
        return _refused(
            str(count), rule, "name them: " + ", ".join(f"{name}=" for name in by_name) if by_name else "leave them out"
        )
    for one in positional[:count]:
        if one.name in named and one.kind is Parameter.POSITIONAL_OR_KEYWORD:
            return _refused(one.name, f"{who} was given {one.name} twice", "give it by its name only")
    needed = [one.name for one in (*positional[max(count, 0) :], *(p for p in own if p.kind is Parameter.KEYWORD_ONLY))
              if one.default is Parameter.empty and one.name not in named]  # fmt: skip
    if needed:
        rule = f"{who} needs {' and '.join(needed)}"
        return _refused(", ".join(needed), rule, "add " + ", ".join(f"{name}=…" for name in needed))
    return None


def _refused(value: str, rule: str, next_step: str) -> UnknownArgument:
    return UnknownArgument(f"{rule}; {next_step}", value=value, rule=rule, next_step=next_step)


def _shown(name: object) -> str:
    return name if type(name) is str and name.isidentifier() and len(name) <= LONGEST_NAME else "such name"
