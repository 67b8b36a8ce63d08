"""The table of a stored answer as CSV, for a page that saves it: in pieces, for a long one is many megabytes. Free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dpviz.boundary import protect_module
from dpviz.errors import Forbidden, ReleaseFormat
from dpviz.exact import whole
from dpviz.model.answers.reading import LARGEST_VIEW

if TYPE_CHECKING:
    from dpviz.model.release import Release

PIECE: Final = 2_000_000
"""The most characters in one message."""

Body = dict[str, Any]


class Saving:
    """Gives a page the text of `release.to_csv()` piece by piece. The table that is being saved is at hand, and of the
    one that was saved its last piece, should it be asked for again. Another one is written anew: it is the same text
    each time."""

    def __init__(self) -> None:
        self._at_hand: tuple[Release, str] | None = None
        self._given: tuple[Release, int, Body] | None = None

    def piece(self, release: Release, start: str) -> Body:
        """The text from a character on: `text`, `next` (where to go on; empty after the last), `size` of the whole.

        Raises ReleaseFormat for an answer that has no rows or more than a page takes, Forbidden for a place that is
        not in the text.
        """
        at = whole(start, "a place", least=0)
        if self._given is not None and self._given[0] is release and self._given[1] == at:
            return {**self._given[2]}
        text = self._text(release)
        if at >= len(text):
            raise Forbidden.sent("a table is asked for from a place in it", f"{at:,} of {len(text):,}")
        end = min(len(text), at + PIECE)
        last = end == len(text)
        body = {"text": text[at:end], "next": "" if last else str(end), "size": str(len(text))}
        self._at_hand, self._given = (None, (release, at, body)) if last else ((release, text), None)
        return body

    def _text(self, release: Release) -> str:
        if self._at_hand is not None and self._at_hand[0] is release:
            return self._at_hand[1]
        if not release.answer.has_rows:
            raise ReleaseFormat.of(release.answer.kind, "this answer has no rows to list", "read single bins")
        rows = len(release.axis.labels)
        if rows > LARGEST_VIEW:
            rule = f"a page saves {LARGEST_VIEW:,} rows at most"
            raise ReleaseFormat.of(f"{rows:,} rows", rule, "write release.to_csv(path) in Python")
        return (release.to_csv() or "").encode("utf-8", "backslashreplace").decode("utf-8")


protect_module(vars())
