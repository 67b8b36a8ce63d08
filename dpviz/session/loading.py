"""`dv.load` and `dv.load_derived`: what was saved in a file, and whether a ledger confirms it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_args

from dpviz import files
from dpviz.boundary import Hidden, kind_of, single_arguments
from dpviz.errors import DpvizError, LedgerCorrupt, LedgerError, ParameterError, ReleaseFormat
from dpviz.model import derived_files
from dpviz.model.combination import Combined, Order, are_one_list, in_order
from dpviz.model.derived import Derived, DerivedTable
from dpviz.model.quantiles import DerivedQuantile, DerivedQuantiles
from dpviz.model.release import Release, checked, with_checksum
from dpviz.model.terms import UNCHECKED
from dpviz.session import arithmetic, holding
from dpviz.session.ledger import Ledger
from dpviz.session.saved import from_bytes
from dpviz.session.session import Session

DERIVED: Final = b'{"derived":'
"""How a file of derived values begins."""


@single_arguments
def load(path: str | Path, *, ledger: Ledger | Session | str | Path | None = None) -> Release:
    """Load a saved release.

    Parameters
    ----------
    path : str or Path
        The file that `release.save` wrote.
    ledger : Session, Ledger, str or Path, optional
        The session, the ledger or its place that is said to have paid. Its chain is verified, and the release must be
        in it, in every part. Without a ledger anybody may have written the file: `release.origin` is "unchecked", and
        repr and reports say so.

    Returns
    -------
    Release
        The release, the same in every part.

    Raises
    ------
    ReleaseFormat
        If the file is truncated, altered, something else or of a newer format, or the ledger stored another answer.
    LedgerError
        If the ledger made no such release, or its chain is broken.

    Examples
    --------
    >>> import dpviz as dv, pandas as pd, tempfile
    >>> lesson = dv.teaching(pd.DataFrame({"x": [0, 0, 1]}), seed=1)
    >>> draw = lesson.draw(dv.Domain.integers(0, 1, column="x"), dv.Dense(40))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(dv.load(draw.save(f"{folder}/x.json")) == draw)
    True
    """
    content = files.read(path, "a release", "visits.json", ReleaseFormat)
    if content.startswith(DERIVED):
        raise ReleaseFormat.of(
            "a file of derived values", "a file of one release is loaded here", "write dv.load_derived(path)"
        )
    return _read(content, ledger)


@single_arguments
def load_derived(
    path: str | Path, *, ledger: Ledger | Session | str | Path | None = None
) -> Derived | DerivedTable | DerivedQuantile | DerivedQuantiles | Combined:
    """Load saved derived values, a table of them, quantiles, or combined answers.

    Parameters
    ----------
    path : str or Path
        The file that `save` of a derived value, of a table of them, of quantiles or of combined answers wrote.
    ledger : Session, Ledger, str or Path, optional
        The ledger that is said to have paid for both of two combined answers: each must be in it, in every part.
        Derived values hold no answer that a ledger could confirm.

    Returns
    -------
    Derived, DerivedTable, DerivedQuantile, DerivedQuantiles or Combined
        The saved object. A marginal comes back with its cells; other marginals are asked of the release.

    Raises
    ------
    ReleaseFormat
        If the file is truncated, altered, something else or of a newer format.
    ParameterError
        If a ledger is given for derived values, or the file combines what `dpviz.combine` refuses.
    LedgerError
        If the ledger did not make one of both answers.

    Examples
    --------
    >>> import dpviz as dv, pandas as pd, tempfile
    >>> lesson = dv.teaching(pd.DataFrame({"x": [0, 0, 1]}), seed=1)
    >>> total = lesson.draw(dv.Domain.integers(0, 1, column="x"), dv.Dense(40)).sum()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(dv.load_derived(total.save(f"{folder}/total.json")) == total)
    True
    """
    content = files.read(path, "a file of derived values", "totals.json", ReleaseFormat)
    body = derived_files.opened(content)
    if "combined" not in body:
        if ledger is not None:
            raise ParameterError.of(
                "derived values and a ledger",
                "a ledger confirms releases, and this file holds none",
                "leave ledger out, or load the releases and ask them again",
            )
        return derived_files.read(body)
    both = body["combined"]
    if not isinstance(both, list) or len(both) != 2 or not all(isinstance(one, dict) for one in both):
        raise derived_files.unknown()
    first, second = (_read(with_checksum(one), ledger) for one in both)
    order = body.get("order", "assumed")
    if order not in get_args(Order) or (order == "together" and not are_one_list(first, second)):
        raise derived_files.unknown()
    return in_order(first, second, order)


def _read(content: bytes, ledger: Ledger | Session | str | Path | None) -> Release:
    """The release of this saved form, held against a ledger where one is given."""
    if ledger is None:
        return from_bytes(content, UNCHECKED)
    given = from_bytes(content, UNCHECKED).to_json()
    store = opened(ledger)
    release = from_bytes(content, f"ledger {store.name}")
    store.verify(check=arithmetic.known)
    stored = _as_given(checked(_stored(store, release)), release)
    parts = [part for part in sorted(stored.keys() | given.keys()) if stored.get(part) != given.get(part)]
    if parts:
        raise ReleaseFormat.of(
            ", ".join(parts),
            f"every part of release {release.number} must be what ledger {store.name} stored",
            "do not trust this file: read the release from the session that made it",
        )
    return release.confirmed()


def opened(ledger: object) -> Ledger:
    """The ledger meant by a session, a ledger, or its place."""
    if isinstance(ledger, Session):
        return ledger.ledger
    if isinstance(ledger, Ledger):
        return ledger
    if isinstance(ledger, str | Path):
        return Ledger.read(Hidden(ledger), check=arithmetic.known, holds=holding.holds)  # a URL may hold a password
    raise LedgerError.of(kind_of(ledger), "ledger must be a session, a ledger or its place", 'write "visits.ledger"')


def _as_given(stored: dict[str, Any], release: Release) -> dict[str, Any]:
    """The answer that the ledger stored; of an answer about all parts what it says about the one that is given, where
    one is, and of counts and a profile the profile, where that is given."""
    part = release.question.part
    if "profile" in stored and release.question.aggregate.profiled is not None:
        profile = from_bytes(with_checksum(stored)).profile
        if profile is None:
            return stored
        # the first files of a profile do not say the price of its entry
        return (profile if release.entry_price is not None else replace(profile, entry_price=None)).to_json()
    if part is None or stored["answer"].get("kind") == release.answer.kind:
        return stored
    answers = list(from_bytes(with_checksum(stored)).groups.values())
    return answers[part].to_json() if part < len(answers) else stored


def _stored(ledger: Ledger, release: Release) -> bytes:
    """The entry that the ledger keeps under the number of a release."""
    missing: Any = LedgerError.of(
        "a teaching draw" if release.number is None else f"release {release.number}",
        f"ledger {ledger.name} holds no answer of that number, so it did not make this release",
        "give the ledger that paid for it",
    )
    if release.number is None:
        raise missing
    try:
        if release.use is None:
            return ledger.answer(release.number)
        return ledger.use_answer(release.number, release.use)
    except LedgerCorrupt:
        raise
    except DpvizError:
        pass
    raise missing
