"""The top k of an unknown list, live: on public or made-up data in full, of a private release what is public of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dpviz.boundary import as_given, plain_arguments, protect_module
from dpviz.errors import Forbidden, ParameterError
from dpviz.exact import Number, rational
from dpviz.model.public import PublicTable, PublicTop
from dpviz.model.release import Release
from dpviz.planning.top_k_sheet import FAMILIES, LIMITS, Released, TopKSheet, made_up
from dpviz.privacy import to_approx
from dpviz.privacy.grid import payable
from dpviz.privacy.unit import Unit
from dpviz.widgets.explorer import Explorer

Ranking = PublicTable | PublicTop


class TopKExplorer(Explorer):
    """Explore a top-k list: threshold, inclusion, the gain of kbar, length and price, with a slider for each choice.

    Parameters
    ----------
    table : PublicTable, PublicTop, dict, Release or str
        The public ranking: a table or a ranking; one for each limit on the bins of a unit, as
        ``dv.teaching(...).top(question)`` gives them; or made-up counts, "flat", "power" or "step". Or a release of a
        ranked list: its true counts stay unseen, so the page shows beside the list only facts that hold for all counts.
    unit : Unit, optional
        The privacy unit; its max_bins gives way to the slider. By default a user, or the unit of the release.
    k : int, default 10
        The most items that come.
    kbar : int, default 50
        How many of the largest items compete.
    epsilon_per_item : str, int, float or Fraction, default "0.05"
        The epsilon of one answer, for adding or removing a unit.
    delta : str, int, float or Fraction, default "1e-8"
        The delta of one question, for the bottom symbol.
    max_bins : int or None, default 5
        How many bins one unit may touch at first; None for no limit.
    delta_prime : str, int, float or Fraction, default "5e-7"
        The delta that composing the answers adds; with 0 their prices add up.

    Raises
    ------
    Forbidden
        If the table is not declared public. The error does not show it.
    ParameterError
        If an argument is outside its range.

    Notes
    -----
    Nothing is released and nothing is charged.

    Examples
    --------
    >>> TopKExplorer("power", k=10, kbar=50)
    TopKExplorer()
    """

    name: ClassVar[str] = "top-k-explorer"
    title: ClassVar[str] = "Top k of an unknown list"

    @plain_arguments
    def __init__(
        self,
        table: Ranking | Mapping[int | None, Ranking] | Release | str,
        unit: Unit | None = None,
        k: int = 10,
        kbar: int = 50,
        epsilon_per_item: Number = "0.05",
        delta: Number = "1e-8",
        max_bins: int | None = 5,
        *,
        delta_prime: Number = "5e-7",
    ) -> None:
        chosen: dict[str, Any] = {
            "k": k,
            "kbar": kbar,
            "epsilon": rational(epsilon_per_item, "epsilon_per_item"),
            "delta": rational(delta, "delta"),
            "delta_prime": rational(delta_prime, "delta_prime"),
        }
        if unit is not None and not isinstance(unit, Unit):
            raise ParameterError.of(as_given(unit), "unit must be a Unit", 'write dv.Unit("user", max_bins=...)')
        if isinstance(table, Release):
            super().__init__(_of_release(table, unit, chosen))
            return
        tables = _rankings(table)
        own = unit or Unit("user")
        if own.is_row:
            tables = {1: next(iter(tables.values()))}
        first = next(iter(tables.values()))
        limit = max_bins if max_bins in tables or not own.is_row else 1
        super().__init__(TopKSheet(tables, own, max_bins=limit, column=first.column, **chosen))


def _rankings(table: object) -> dict[int | None, PublicTop]:
    """A public ranking for each limit that can be looked at; of one ranking, the same for all."""
    if isinstance(table, str):
        return dict.fromkeys(LIMITS, made_up(table))
    if isinstance(table, Mapping):
        if not table or any(limit is not None and not _is_limit(limit) for limit in table):
            raise ParameterError.of(
                "these limits", "rankings are given by max_bins, a whole number or None", "use dv.teaching(...).top"
            )
        return {limit: _ranking(one) for limit, one in table.items()}
    return dict.fromkeys(LIMITS, _ranking(table))


def _is_limit(limit: object) -> bool:
    return isinstance(limit, int) and not isinstance(limit, bool) and limit >= 1


def _ranking(table: object) -> PublicTop:
    if isinstance(table, PublicTop):
        return table
    if isinstance(table, PublicTable):
        return PublicTop.of(table)
    error = Forbidden.of(
        as_given(table, "a "),
        f"the explorer takes a public table, made-up counts ({', '.join(FAMILIES)}) or a released list",
        "declare public data with dv.teaching(...).top(question), or release first",
    )
    assert isinstance(error, Forbidden)
    raise error


def _of_release(release: Release, unit: Unit | None, chosen: dict[str, Any]) -> TopKSheet:
    """The public part of a released list: the list, its price, and the sliders where it was made."""
    answer, listing = release.answer, release.listing
    if listing is None or not listing.ordered:
        raise ParameterError.of(
            f"a {answer.kind} answer", "the explorer takes a release of a ranked list", "use dv.ResultChart"
        )
    if unit is not None and unit != release.unit:
        raise ParameterError.of(unit.text, "the release says who is protected", "leave unit out")
    domain = release.question.domain
    said, parts = release.terms.mechanism.parameters, release.terms.item_price
    if parts is not None:
        chosen |= {"epsilon": parts.step, "delta_prime": parts.delta_prime, "delta": parts.delta or chosen["delta"]}
    k = int(said["k"])
    kbar = said.get("kbar", "")
    asked = listing.drawn_from or (int(kbar) if kbar.isdigit() else max(k, chosen["kbar"]))
    paid = payable(to_approx(release.guarantee.loss))
    released = Released(
        title=release.title,
        items=tuple(listing.items),
        values=listing.values,
        ended=listing.ended,
        k=listing.most or k,
        epsilon=paid.epsilon,
        delta=paid.delta,
        guarantee=release.guarantee.sentence,
        teaching=release.teaching,
    )
    return TopKSheet(
        {},
        release.unit,
        max_bins=release.unit.max_bins,
        column=domain.columns_text,
        released=released,
        **{**chosen, "k": k, "kbar": asked},
    )


protect_module(vars())
