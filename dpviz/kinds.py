"""The true type of a thing: its type and the classes below that, and not what it says of itself.

`isinstance` asks an object for its `__class__`, and a metaclass for its bases; both may lie. The functions here ask
neither, and run no line of anybody's code.
"""

from __future__ import annotations

import sys
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any, Final

PATHS: Final = (PosixPath, WindowsPath, PurePosixPath, PureWindowsPath)

_MRO: Any = vars(type)["__mro__"]
_DICT: Any = vars(type)["__dict__"]
_NAME: Any = vars(type)["__name__"]


def bases(kind: type) -> tuple[type, ...]:
    """A type and the classes that it is made of."""
    found: tuple[type, ...] = _MRO.__get__(kind)
    return found


def is_a(thing: object, *kinds: type) -> bool:
    """Whether a thing is really of one of these kinds, or of a subclass."""
    for base in bases(type(thing)):
        for kind in kinds:
            if base is kind:
                return True
    return False


def name_of(kind: type) -> str:
    name: str = _NAME.__get__(kind)
    return name


def is_ours(kind: type) -> bool:
    """Whether a class is one that a module of dpviz defines. One that only says so is not."""
    module, name = _DICT.__get__(kind).get("__module__"), name_of(kind)
    if type(module) is not str or not module.startswith("dpviz."):
        return False
    return vars(sys.modules.get(module, sys)).get(name) is kind
