"""Views of answers that the page does not bring along, registered by the kind of answer that they draw.

    dpviz.widgets.views.register("ranges", "ranges.js", style="ranges.css")

The bundle is one ES module; widgets/PROTOCOL.md says what it exports and what it is given. A page is sent it when an
answer of its kind comes, and a report that shows such an answer carries it. Only Python registers: nothing that a page
sends can change what is registered, or what was sent.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from dpviz import files
from dpviz.boundary import error_boundary, kind_of, protect_module
from dpviz.errors import ParameterError, short

STATIC: Final = Path(__file__).parent.parent / "static"
LARGEST: Final = 5_000_000
"""How many bytes a bundle or a style may have."""

_KIND: Final = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Bundle:
    """The view that draws one kind of answer: the texts of a module and of its style, as they were when it was
    registered."""

    kind: str
    code: str
    css: str

    def to_json(self) -> dict[str, str]:
        return {"kind": self.kind, "code": self.code, "css": self.css}


_BUNDLES: Final[dict[str, Bundle]] = {}


@error_boundary
def register(kind: str, bundle_path: str | Path, style: str | Path | None = None) -> None:
    """Draw the answers whose `view` is of this kind with this bundle, wherever a page or a report shows one.

    kind         as the answer's `view` names it: lower-case letters, digits and dashes
    bundle_path  an ES module, all in one file; read now, so that a later change of the file changes nothing
    style        a file of CSS that is added to the page with it

    The same bundle may be registered again. Raises ParameterError where dpviz draws this kind itself, where another
    bundle does, or where a file cannot be read; then nothing is registered. `unregister` takes it back.
    """
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise ParameterError.of(
            short(kind, 40) if isinstance(kind, str) else kind_of(kind),
            "a kind of view is a name of lower-case letters, digits and dashes",
            'write for example "ranges"',
        )
    if kind in own_kinds():
        raise ParameterError.of(kind, "dpviz draws this kind of answer itself", "give your answer's view another kind")
    bundle = Bundle(kind, _text(bundle_path, "a bundle"), "" if style is None else _text(style, "a style"))
    if _BUNDLES.setdefault(kind, bundle) != bundle:
        raise ParameterError.of(
            kind, "each kind of view is drawn by one bundle", f'call unregister("{kind}") before another is registered'
        )


@error_boundary
def unregister(kind: str) -> None:
    """Forget the bundle of this kind. A bundle that a page or a report has already is not taken back."""
    if not isinstance(kind, str) or _BUNDLES.pop(kind, None) is None:
        raise ParameterError.of(
            short(kind, 40) if isinstance(kind, str) else kind_of(kind),
            "no bundle is registered for this kind of view",
            "name a kind that was given to register",
        )


def registered(kind: str) -> Bundle | None:
    """The bundle that draws this kind, where one was registered."""
    return _BUNDLES.get(kind)


def sent(kind: str) -> Bundle | None:
    """The bundle that a page is sent for answers of this kind; None where its program draws them, or nothing does."""
    if _own().get(kind) == "bundle":
        return own(kind)
    return registered(kind)


@lru_cache
def own(kind: str) -> Bundle:
    """The bundle that draws a kind of ours."""
    return Bundle(kind, (STATIC / f"view-{kind}.js").read_text(encoding="utf-8"), "")


def own_kinds() -> list[str]:
    """The kinds that dpviz draws itself: one file each in widgets/src/views."""
    return list(_own())


@lru_cache
def _own() -> dict[str, str]:
    """Our kinds, and how the view of each comes to a page: with its "program", or as a "bundle"."""
    kinds: dict[str, str] = json.loads((STATIC / "views.json").read_text(encoding="utf-8"))
    return kinds


def _text(path: object, what: str) -> str:
    content = files.read(path, what, "ranges.js", ParameterError)
    if len(content) > LARGEST:
        raise ParameterError.of(short(str(path)), f"{what} has at most {LARGEST:,} bytes", "make the file smaller")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise ParameterError.of(short(str(path)), f"{what} is written in UTF-8", "save the file as UTF-8")


protect_module(vars())
