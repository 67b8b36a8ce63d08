"""Further records for a page, from an answer that allows free ones: drawn from what is stored, with the system's bits.

They are post-processing of one release, so they cost nothing and depend on each other. The records drawn last stay on
show, also where the page is opened anew.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat

if TYPE_CHECKING:
    from dpviz.model.answers import Draws
    from dpviz.model.release import Release

VERSION: Final = 1

MOST: Final = 100
"""The most records that are drawn for a page at a time, and that stay on show."""

MOST_CELLS: Final = 20_000
"""The most labels that a page takes at a time."""

REMEMBERED: Final = 8
"""Of so many releases a page is shown again what was drawn."""

IN_PYTHON: Final = "draw in Python: release.draw(n)"

Body = dict[str, Any]


def further(release: Release, count: int) -> Draws:
    """Draw further records from this release, free.

    Raises ReleaseFormat for an answer that is no record or that no other may be drawn from, in the words of its law,
    and where a page would be sent too much; then nothing is drawn.
    """
    cells = count * len(release.question.domain.columns)
    if not release.terms.law.once and (count > MOST or cells > MOST_CELLS):
        rule = f"a page is sent {MOST:,} records and {MOST_CELLS:,} labels at a time, at most"
        raise ReleaseFormat.of(f"{count:,} records of {cells:,} labels", rule, IN_PYTHON)
    return release.draw(count)


class Drawn:
    """The records that pages drew from each of the last few releases, the latest last."""

    def __init__(self) -> None:
        self._of: OrderedDict[int | None, tuple[Release, Body]] = OrderedDict()

    def add(self, release: Release, draws: Draws) -> Body:
        """Keep these draws beside the earlier ones of the same release, as far as a page lists them."""
        before = self.of(release)
        records = [list(record) for record in draws]
        total = len(records) + (0 if before is None else int(before["drawn"]))
        if before is not None:
            listed = min(MOST, MOST_CELLS // len(draws.columns))
            records = [*before["records"], *records][-listed:]
        body = {
            "version": VERSION,
            "number": None if release.number is None else str(release.number),
            "key": release.key,
            "columns": list(draws.columns),
            "records": records,
            "drawn": str(total),
            "of": draws.of,
            "randomness": draws.randomness,
        }
        self._of[release.number] = release, body
        self._of.move_to_end(release.number)
        while len(self._of) > REMEMBERED:
            self._of.popitem(last=False)
        return body

    def of(self, release: Release | None) -> Body | None:
        """The records drawn from this release; a teaching draw has no number, and is itself and no other."""
        known = None if release is None else self._of.get(release.number)
        if known is None or (known[0].number is None and known[0] is not release):
            return None
        return known[1]


protect_module(vars())
