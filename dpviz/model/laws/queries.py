"""Independent noise on the answers to a list of counting queries, and how far off their fit is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, cast

from dpviz.boundary import protect_module
from dpviz.errors import DomainError, ReleaseFormat
from dpviz.exact import Decay, counted, whole
from dpviz.fitting.noises import Term
from dpviz.fitting.sums import NoiseSum
from dpviz.laws import geometric
from dpviz.model.answers import Answer, QueryAnswers, Reading
from dpviz.model.answers.queries import SETTLED, radius
from dpviz.model.error import ErrorModel, ErrorValue, How
from dpviz.model.laws.base import StoredLaw, stored
from dpviz.model.laws.count_noise import NoiseLaw
from dpviz.model.linear import CountRange, LinearError, Query
from dpviz.model.measures import Measure
from dpviz.model.question import Question
from dpviz.model.sum_errors import SumError
from dpviz.model.workload import Workload
from dpviz.privacy.unit import Unit


@stored
@dataclass(frozen=True)
class QueriesLaw(StoredLaw):
    """Independent noise of one law on the answer to each query of a list.

    asked  the list, as `Workload.text` writes it
    n      the public number of rows, where there is one
    """

    name: ClassVar[str] = "queries"

    noise: NoiseLaw
    asked: str
    n: int | None

    def __post_init__(self) -> None:
        self.workload  # noqa: B018 - a text that is no list of queries is refused
        if self.noise.finite is not None:
            raise ReleaseFormat.damaged(
                "the noise on answers to queries is never clamped, as a finite sampler's is", "clamped noise"
            )

    @property
    def workload(self) -> Workload:
        return Workload.from_text(self.asked)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        return self.workload.bins == question.bins and self.n == unit.n and max_items is None

    def accepts(self, answer: Answer) -> bool:
        return cast(QueryAnswers, answer).workload == self.workload

    @cached_property
    def error(self) -> QueriesError:
        return QueriesError(self)

    @property
    def adds_up(self) -> bool:
        return True

    def limits(self, reading: Reading) -> CountRange:
        return CountRange(0, self.n, self.n)

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """A sum of bins that follows from the answers is off by a weighted sum of their noises, whatever the truth."""
        return self.error.of(query)

    def title(self, question: Question, unit: Unit) -> str:
        many = counted(len(self.workload.names), "query").replace("querys", "queries")
        return question.title(unit, many)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        """Any one answer, all at once, and what the fit saves."""
        many = len(self.workload.names)
        return (
            Measure(
                name="query",
                label="Any one answer",
                short="one answer",
                phrase="any one answer within {value}",
                tip="Pick a query before looking: at least {times} its fitted answer is within {value} of the truth, "
                "whichever it is.",
                at=lambda beta: self.error.look_ups(1, beta),
                weight="thick",
            ),
            Measure(
                name="queries",
                label=f"All {many:,} answers at once",
                short=f"all {many:,}",
                phrase=f"all {many:,} answers within {{value}}",
                tip=f"At least {{times}} every one of the {many:,} fitted answers is within {{value}}.",
                at=lambda beta: self.error.look_ups(many, beta),
                weight="thin",
            ),
            Measure(
                name="drawn",
                label="An answer as drawn",
                short="as drawn",
                phrase="an answer as drawn within {value}",
                tip="At least {times} the noisy answer to one query is within {value}, before the others help.",
                at=self.error.drawn,
                weight="",
            ),
        )


@dataclass(frozen=True)
class QueriesError(ErrorModel):
    """The exact error of the least-squares answers: it depends on public things alone."""

    law: QueriesLaw

    @property
    def noise(self) -> Decay:
        return self.law.noise.decay

    def of(self, query: Query) -> SumError:
        """The error of a weighted sum of bins. Raises DomainError where the answers leave it open."""
        weights = self.law.workload.answered(query)
        noise = NoiseSum.of(Term(self.noise, weight) for weight in weights)
        by = "the exact law of the weighted sum of noises in the least-squares fit"
        return SumError(noise, noise, certain=True, by=by)

    def range(self, first: int, last: int, beta: Fraction) -> ErrorValue | None:
        """Bound the error of the sum of bins first..last; None where the answers leave it open."""
        try:
            found = self.of(Query.of((range(first, last + 1), 1))).over.radius(beta, exactly=False)
        except DomainError:
            return None
        how: How = "exact" if found.exact else "bound"
        return ErrorValue(Fraction(math.ceil(found.value)), how, "the law of the weighted sum of noises in the fit")

    def look_ups(self, number: int, beta: Fraction) -> ErrorValue:
        """Bound the worst error among this many fitted answers, whichever queries they are of."""
        whole(number, "number")
        value, exact = _worst(self.law.asked, self.noise, beta / number)
        how: How = "exact" if exact and number == 1 else "bound"
        rule = "the law of the weighted sum of noises in the fit, for the query where it is widest"
        return ErrorValue(value, how, rule if number == 1 else f"{rule}; union bound over {number:,}")

    def drawn(self, beta: Fraction) -> ErrorValue:
        """Bound the error of a noisy answer."""
        value = geometric.error_quantile(self.noise, beta)
        return ErrorValue(Fraction(value), "exact", "two-sided tail of the noise")


@lru_cache(maxsize=1_024)
def _worst(asked: str, decay: Decay, level: Fraction) -> tuple[Fraction, bool]:
    """The largest half-width of any fitted answer in whole counts, and whether it is the least that holds.

    Of more kinds of answers than SETTLED it is the best exponential bound on a sum of noises whose weights are w, the
    largest of any answer's, and as many as make up the largest sum of squares, v / w**2. The logarithm of the transform
    of a noise is a convex function of the square of its weight, and 0 at 0: so it is largest for given w and v where
    every weight is w.
    """
    rows = _kinds(asked)
    if len(rows) > SETTLED:
        largest = max(max(row) for row in rows)
        many = math.ceil(max(sum((one**2 for one in row), Fraction(0)) for row in rows) / largest**2)
        return NoiseSum.of([Term(decay, largest, many)]).chernoff(level / 2), False
    found = [radius(decay, row, level, exactly=False) for row in rows]
    return Fraction(max(math.ceil(one.value) for one in found)), all(one.exact for one in found)


@lru_cache(maxsize=64)
def _kinds(asked: str) -> frozenset[tuple[Fraction, ...]]:
    """The weights of fitted answers, sorted and without signs: answers with the same have the same error."""
    fitted = Workload.from_text(asked).fitted
    return frozenset(tuple(sorted(abs(one) for one in weights if one)) for weights in fitted)


protect_module(vars())
