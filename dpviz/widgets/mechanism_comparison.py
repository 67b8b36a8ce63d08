"""Several mechanisms for one question at the same price: errors, what is shown, what is stored. Free; sees no data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import ClassVar, cast

from dpviz.boundary import as_given, kind_of, plain_arguments, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Number, positive
from dpviz.mechanisms import REGISTRY, mechanism
from dpviz.model.mechanism import Mechanism
from dpviz.model.public import PublicTable, PublicTop
from dpviz.model.question import Question
from dpviz.planning.comparison_sheet import MOST, ComparisonSheet
from dpviz.planning.draws import Truth
from dpviz.privacy.unit import Unit
from dpviz.session.custody import Custody
from dpviz.session.plan import TEACHING_TOP
from dpviz.widgets.explorer import Explorer

OPENING = Fraction(1, 2)


class MechanismComparison(Explorer):
    """Compare several mechanisms for one question, in one unit, at one epsilon. Free; sees no data.

    Parameters
    ----------
    session : Session, Teaching or None
        A session, for its unit and budget; None for neither.
    question : Domain or Question
        The question. Its data are not looked at.
    mechanisms : list of str or Mechanism, optional
        Names or mechanisms. By default those of the first five that dpviz knows that answer the question: one that
        needs a `cap` is named with it, as in ``[dv.Dense(epsilon=1), dv.PureSparse(epsilon=1, cap=1000)]``. All get the
        common epsilon.
    unit : Unit, optional
        The privacy unit, where there is no session.
    where : dict, optional
        A filter: column name to a value, a list of values, or a `dv.Between`.
    epsilon : str, int, float or Fraction, optional
        The first position of the slider.
    count : int, optional
        The true count that is probed at first.
    counts : list of int, PublicTable or PublicTop, optional
        The counts of hypothetical draws that the page plays, in which their order may change: two to five made-up
        counts, or public ones, of which the largest are taken; made up by default.

    Raises
    ------
    Forbidden
        If the counts are neither made up nor declared public. The error does not show them.
    ParameterError
        If an argument is outside its range, or a mechanism does not answer the question.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> MechanismComparison(None, Domain.integers(0, 999, column="minute"), mechanisms=["Dense", "Stability"])
    MechanismComparison()
    """

    name: ClassVar[str] = "mechanism-comparison"
    title: ClassVar[str] = "Which mechanism?"

    @plain_arguments
    def __init__(
        self,
        session: Custody | None,
        question: object,
        mechanisms: Iterable[str | Mechanism] | None = None,
        *,
        unit: Unit | None = None,
        where: Mapping[str, object] | None = None,
        epsilon: Number | None = None,
        count: int | None = None,
        counts: Sequence[int] | PublicTable | PublicTop | None = None,
    ) -> None:
        if session is not None and not isinstance(session, Custody):
            raise ParameterError.of(
                as_given(session),
                "a comparison takes a session, or None",
                "write dv.MechanismComparison(None, bins)",
            )
        if session is not None and unit is not None:
            raise ParameterError.of(unit, "the session says who is protected", "leave unit out")
        remaining = None if session is None else session.known()[0]
        top = TEACHING_TOP if remaining is None else remaining.total.epsilon
        start = min(OPENING, top) if epsilon is None else positive(epsilon, "epsilon")
        declared = session.charter.unit if session is not None else unit or Unit()
        asks, protects = Question.of(question, where).resolved(declared)
        asked = _answering(asks, protects, start) if mechanisms is None else list(mechanisms)
        bins = asks.bins if asks.domain.declared else None
        super().__init__(
            ComparisonSheet(
                asks,
                protects,
                tuple(_made(one, place).with_epsilon(start) for place, one in enumerate(asked, 1)),
                epsilon=start,
                top=max(top, start) if session is None else top,
                count=count,
                truth=None if counts is None else Truth.of(counts, bins, protects.n),
            )
        )


def _answering(question: Question, unit: Unit, epsilon: Fraction) -> list[str | Mechanism]:
    """The first mechanisms with a value per bin, without those that refuse the question; all where each does."""
    known = [name for name, kind in REGISTRY.items() if not kind.names_items and not kind.draws_records][:MOST]
    answering: list[str | Mechanism] = []
    for name in known:
        with suppress(ParameterError):
            _made(name, 1).with_epsilon(epsilon).bind(question, unit)
            answering.append(name)
    return answering or [*known]


def _made(asked: object, place: int) -> Mechanism:
    named = isinstance(asked, str) and asked in REGISTRY
    made = mechanism(asked, {"epsilon": str(OPENING)}) if isinstance(asked, str) and named else asked
    if not REGISTRY.has_class(type(made)):
        value = f"another name at place {place}" if isinstance(asked, str) else kind_of(asked)
        raise ParameterError.of(
            value, f"a mechanism is one of {', '.join(REGISTRY)}", 'write a name of these, or dv.Dense(epsilon="1/2")'
        )
    made = cast(Mechanism, made)
    if made.names_items or made.draws_records:
        raise ParameterError.of(
            made.name, "a comparison is of mechanisms with a value per bin", "compare others by their own plans"
        )
    return made


protect_module(vars())
