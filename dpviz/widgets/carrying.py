"""The part of an answer to look-ups that a report carries, so that its page answers for keys with no kernel and no
network.

Either all of the answer, which the page then reads by itself, or the answers for a few keys that are chosen when the
report is made. Reading is free, so a report may carry either; both are public, as all of a release is.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any, Final

from dpviz.boundary import as_given
from dpviz.errors import DomainError, DpvizError, ParameterError, ReleaseFormat
from dpviz.exact import text
from dpviz.model.domain import category_text
from dpviz.model.error import BETAS
from dpviz.model.release import Release
from dpviz.widgets.reading import read_points

MOST_BYTES: Final = 1 << 24
"""A report carries at most so many bytes of one answer (16 MiB), before they are compressed."""

MOST_KEYS: Final = 2_000
"""A report carries answers for at most so many keys."""

SPEED: Final = 6
"""How hard zlib tries: flipped bits hold nearly as much as they could, so more is not worth its time."""

Body = dict[str, Any]


def carried(release: Release, keys: Sequence[object] | None) -> Body:
    """The part of a report's result for an answer that has no rows; nothing for others.

    keys  None: the whole answer, where a page can read its shape
    """
    if release.answer.has_rows:
        return {}
    if keys is not None:
        return {"answers": _answers(release, keys)} if keys else {}
    domain = release.question.domain
    packed = release.answer.offline_look_ups(release.reading, BETAS)
    if packed is None or (not domain.declared and len(domain.factors) > 1):  # a page makes keys of one column alone
        return {}
    size = sum(array.nbytes for array in packed.arrays.values())
    if size > MOST_BYTES:
        raise ReleaseFormat.of(
            f"{size:,} bytes",
            f"a report carries at most {MOST_BYTES:,} bytes of an answer to look-ups",
            "name the keys to be answered in it: dv.report(..., keys=[...]), or none: keys=[]",
        )
    arrays = {
        name: {"type": array.dtype.str, "zlib": base64.b64encode(zlib.compress(array.tobytes(), SPEED)).decode("ascii")}
        for name, array in packed.arrays.items()
    }
    return {"carried": {**packed.header, "bytes": str(size), "arrays": arrays}}


def checked(keys: object) -> list[object] | None:
    """The keys as a list, or None where none were named."""
    if keys is None:
        return None
    if not isinstance(keys, list | tuple | range):
        raise ParameterError.of(as_given(keys), "keys is a list of labels", 'write keys=["a", "b"]')
    if len(keys) > MOST_KEYS:
        raise ParameterError.of(
            f"{len(keys):,} keys", f"a report carries answers for at most {MOST_KEYS:,} keys", "leave some out"
        )
    return list(keys)


def _answers(release: Release, keys: Sequence[object]) -> Body:
    """The answers for these keys: by estimator and by beta, one for each key."""
    points = [_texts(release, key, place) for place, key in enumerate(keys, 1)]
    found: dict[str, Body] = {}
    for reader in release.answer.readers or ("",):
        found[reader] = {text(beta): read_points(release, points, beta, reader) for beta in BETAS}
    return {"points": points, "readers": found}


def _texts(release: Release, key: object, place: int) -> list[str]:
    """A key as a page names it: one text for each column."""
    many = len(release.question.domain.columns)
    parts = key if isinstance(key, tuple) else (key,)
    try:
        if len(parts) != many:
            raise DomainError.of(
                f"{len(parts)} labels", "a key has one for each column", "give a tuple with a label for each column"
            )
        return [category_text(part) for part in parts]
    except DpvizError as error:
        raise ParameterError.of(
            f"key {place}",
            f"a key of {' and '.join(release.question.domain.columns)} is refused: {error.rule}",
            error.next_step or "leave this key out",
        ) from None
