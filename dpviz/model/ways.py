"""The ways in which one price is shared out among the parts of the data, and which of them errs least."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, Literal, TypeAlias, get_args

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.model.mechanism import Bound

Way = Literal["parallel", "sequence", "zcdp", "product", "sub-session", "exact"]
"""The price of each part: what one unit's parts may cost together; a share of all; or symbols that add up as zCDP. Or
there is one question about the product of parts and bins; or a sub-session that is asked about each. The last charges
the exact composition of the parts that one unit counts in, at a delta that is given."""

WAYS: Final[tuple[Way, ...]] = get_args(Way)

CALLED: Final[dict[Way, str]] = {
    "parallel": "parallel parts",
    "sequence": "one after the other",
    "zcdp": "zCDP over all lists",
    "product": "one product domain",
    "sub-session": "a sub-session",
    "exact": "exact composition",
}
"""The ways in words."""

Ways: TypeAlias = Mapping[Way, Bound | ParameterError]
"""Each way, bound to a question about parts, or why it cannot be taken."""

NOTED: Final = Fraction(1, 20)
"""Ways are compared by the error that fails so often at most."""


def best(found: Ways) -> tuple[Way, Bound]:
    """The way whose first measure of error is the least; of equal ones the first. One that leaves something out comes
    after all that do not, and one that no release takes after all that one takes. Raises ParameterError where none can
    be taken."""
    bound = {way: one for way, one in found.items() if isinstance(one, Bound)}
    if not bound:
        raise next(one for one in found.values() if isinstance(one, ParameterError))
    way = min(
        bound, key=lambda way: (bool(bound[way].subsession_calls), bool(bound[way].leaves_out), least(bound[way]))
    )
    return way, bound[way]


def released(bound: Bound) -> Bound:
    """The same, where it is a release. Refuses one that is opened and asked, with the calls to write."""
    if bound.subsession_calls:
        raise ParameterError.of(
            f'way="{bound.way}"',
            "a sub-session is opened and asked, and is no release",
            f"write {bound.subsession_calls}",
        )
    return bound


def least(bound: Bound) -> tuple[bool, Fraction]:
    """The first measure of its error. Where nothing is known of the error, it comes last."""
    value = bound.measures[0].at(NOTED)
    return value is None, Fraction(0) if value is None else value.value


protect_module(vars())
