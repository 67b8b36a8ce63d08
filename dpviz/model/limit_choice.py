"""Which limit on the bins of a user errs least, by a profile that was released, or one that somebody makes up.

A limit of c bins saves noise and leaves rows out: with N_j users in j of K bins it loses the sum of (j - c)+ N_j pairs
in all, and N_{>c} users of one bin at most. All limits are tried, for the errors of noise are not convex in c: the
first limit after which the error grows need not be the best. The choice follows from public facts and released numbers,
so it costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from dpviz.boundary import as_given, one_word, protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, whole
from dpviz.model.aggregate import UnitProfile, noun_of_bins
from dpviz.model.answers import Reading
from dpviz.model.asking import Subject
from dpviz.model.between import between
from dpviz.model.closing import HALF, check_about, check_classes
from dpviz.model.either import reach_of
from dpviz.model.linear import LinearError, Query
from dpviz.model.mechanism import Bound
from dpviz.model.sum_errors import SumError
from dpviz.model.words import few
from dpviz.privacy.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

    from dpviz.model.release import Release

Objective: TypeAlias = Literal["absolute", "squared"]
"""The error that is to be least: that of all bins together, or the mean square of one, losses spread evenly."""

OBJECTIVES: Final = ("absolute", "squared")

MOST_LIMITS: Final = 1000
"""The most limits that are tried."""

FOLDED_NORMAL: Final = math.sqrt(2 / math.pi)
"""The mean size of a normal error, in standard deviations."""


@dataclass(frozen=True)
class LimitError:
    """The error of counts under one limit.

    Parameters
    ----------
    limit : int
        The most bins in which one user counts.
    noise : float
        The part of the error that noise makes: the mean sizes of all bins added up, or the variance of one.
    lost : float
        The part that rows make which are left out, by the profile.
    over : float
        The users over the limit, by the profile.
    pays_below : float
        With fewer users over the limit than this, the stated interval of one bin is shorter than without a limit. By a
        made-up profile it is the most that can be, as the noise of a real one comes on top.
    total : float
        Both parts together, by the objective.
    """

    limit: int
    noise: float
    lost: float
    over: float
    pays_below: float
    total: float


@dataclass(frozen=True)
class SuggestedLimit:
    """Hold the limit that errs least, and the error of every other one.

    Parameters
    ----------
    limit : int
        The limit.
    objective : {"absolute", "squared"}
        The error that is least there.
    errors : tuple of LimitError
        One for each limit, from 1 to the number of bins.
    noun, nouns, bins : str
        The nouns of a user, of several, and of the bins.

    Raises
    ------
    UnknownArgument
        If a part is left out.

    Notes
    -----
    `plan.suggest_limit` makes it.
    """

    limit: int
    objective: Objective
    errors: tuple[LimitError, ...]
    noun: str
    nouns: str
    bins: str

    @property
    def limits(self) -> Limits:
        """The limit, as `session.release` takes it."""
        return Limits(max_bins=self.limit)

    @property
    def sentence(self) -> str:
        """The limit, its error beside that without a limit, and where no limit can gain anything."""
        best, uncut = self.errors[self.limit - 1], self.errors[-1]
        if best is uncut:
            said = f"No limit errs less than none: {self._error(best)}."
        else:
            most = f"At most {best.limit:,} of {uncut.limit:,} {self.bins} of each {self.noun}"
            said = f"{most} err least: {self._error(best)}, {few(Fraction(uncut.total))} without a limit."
        gains = max(self.errors, key=lambda one: one.pays_below)
        if gains.pays_below <= 0:
            return f"{said} No limit shortens the stated interval of a bin, however few {self.nouns} are over it."
        fewer = f"fewer than {few(Fraction(gains.pays_below))} {self.nouns} are over a limit of {gains.limit:,}"
        return f"{said} A limit shortens the stated interval of a bin only where {fewer}, or fewer yet over others."

    def _error(self, one: LimitError) -> str:
        what = "errors of all bins add up to" if self.objective == "absolute" else "the mean square of an error is"
        return f"{what} about {few(Fraction(one.total))}"

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each limit.

        Returns
        -------
        DataFrame
            Columns: limit, noise, lost, total, over and pays_below, as in `LimitError`.
        """
        import pandas as pd

        names = ("limit", "noise", "lost", "total", "over", "pays_below")
        return pd.DataFrame({name: [getattr(one, name) for one in self.errors] for name in names})

    def __repr__(self) -> str:
        return f"<SuggestedLimit {self.limit}: {self.sentence}>"


def suggested_limit(
    bound: Bound, profile: Release | Sequence[int], objective: Objective, beta: Fraction
) -> SuggestedLimit:
    """Return the limit that errs least for a bound mechanism, by a profile.

    Parameters
    ----------
    bound : Bound
        The mechanism of the counts, bound to their question.
    profile : Release or list of int
        A released profile of all classes, or made-up numbers of users in 1, 2, … bins.
    objective : {"absolute", "squared"}
        The error that is to be least.
    beta : Fraction
        How often a stated interval may miss.

    Returns
    -------
    SuggestedLimit
        The limit.

    Raises
    ------
    ParameterError
        If the question counts no users in declared bins, there are too many bins, the profile is about other bins, or a
        number is no whole number.
    """
    one_word(objective, "objective", OBJECTIVES, 'write objective="absolute"')
    _check_users(bound)
    domain, unit, size = bound.question.domain, bound.unit, bound.question.domain.size
    users, released = _users(bound, profile)
    errors = [_noise_of(bound, limit) for limit in range(1, size + 1)]
    uncut = _width(errors[-1], released, size, size, beta)
    found = []
    for limit, error in enumerate(errors, 1):
        left_out = float(sum((j - limit) * users[j - 1] for j in range(limit + 1, size + 1)))
        noise, lost = size * _mean_size(error), left_out
        if objective == "squared":
            noise, lost = _variance(error), math.copysign(left_out**2 / size**2, left_out)
        gain = uncut - _width(error, released, limit, size, beta) if limit < size else 0.0
        found.append(LimitError(limit, noise, lost, float(sum(users[limit:])), gain, noise + lost))
    best = min(reversed(found), key=lambda one: one.total)
    return SuggestedLimit(best.limit, objective, tuple(found), unit.noun, unit.nouns, noun_of_bins(domain))


def _check_users(bound: Bound) -> None:
    """Refuse what is no count of users, each once in a declared bin."""
    question, unit = bound.question, bound.unit
    plain = question.aggregate.counts and question.by is None and question.aggregate.profiled is None
    single = not unit.is_row and unit.max_per_bin == 1 and unit.max_records is None
    if not (plain and single and question.domain.declared and question.domain.size <= MOST_LIMITS):
        raise ParameterError.of(
            question.text,
            f"limits are compared for counts of users, each once in one of at most {MOST_LIMITS:,} declared bins",
            "plan counts of declared bins of a user column, with max_per_bin=1 and no max_records",
        )


def _users(bound: Bound, profile: Release | Sequence[int]) -> tuple[Sequence[Fraction], Subject | None]:
    """The numbers of users in 1, 2, … bins, and the released profile that says them."""
    size = bound.question.domain.size
    if isinstance(profile, list):
        if len(profile) != size:
            raise ParameterError.of(
                f"{len(profile):,} numbers",
                f"a made-up profile has one for each of {size:,}",
                "give users in 1, 2, … bins",
            )
        return [Fraction(whole(users, "users", least=0)) for users in profile], None
    from dpviz.model.release import Release

    if not isinstance(profile, Release):
        raise ParameterError.of(
            as_given(profile), "a profile is a release, or a list of numbers", "give what session.release returns"
        )
    subject = profile.asking
    asked = subject.reading.question
    check_about(bound.question, bound.unit, asked, subject.reading.unit)
    check_classes(subject.answer)
    kept = asked.aggregate
    if asked.domain.size != size or not isinstance(kept, UnitProfile) or kept.over is not None:
        raise ParameterError.of(
            asked.text,
            "limits are compared by a profile of all numbers of bins",
            "release dv.Question.contribution_profile without most= and over=",
        )
    classes = (Query.of((range(at, at + 1), 1)) for at in range(size))
    return [between(subject.value(one, "")).middle for one in classes], subject


def _noise_of(bound: Bound, limit: int) -> LinearError:
    """The error of the first bin under a limit."""
    question, unit = bound.question, bound.unit.limited(Limits(max_bins=limit))
    law = bound.mechanism.bind(question, unit).law
    return law.linear(Query.of((range(1), 1)), None, Reading(question, unit, law.error, law.clamp))


def _mean_size(error: LinearError) -> float:
    """The mean size of an error, from the noise as it is drawn: of geometric noise as it is, of other noise about."""
    terms = error.noise.noises.terms if isinstance(error, SumError) else ()
    if len(terms) == 1 and terms[0].count == terms[0].weight == 1 and isinstance(terms[0].noise, Decay):
        ratio = float(terms[0].noise.bounds()[1])
        return 2 * ratio / (1 - ratio**2)
    return FOLDED_NORMAL * math.sqrt(_variance(error))


def _variance(error: LinearError) -> float:
    """The variance of an error, from the noise as it is drawn."""
    return float(error.noise.variance()[1]) if isinstance(error, SumError) else error.about_deviation**2


def _width(error: LinearError, profile: Subject | None, limit: int, size: int, beta: Fraction) -> float:
    """The length of the stated interval of one bin, beside the users over the limit that it includes.

    With a released profile it is closed by that, at the levels of counts that follow a profile; else the noise of the
    counts alone is taken, so nothing can be shorter.
    """
    side = beta * HALF
    low = reach_of(error, side, 0)
    high = reach_of(error, side * HALF if profile is not None and limit < size else side, 1)
    lost: Fraction | None = Fraction(0)
    if profile is not None and limit < size:
        over = profile.error(Query.of((range(limit, size), 1)), "")
        lost = reach_of(over, side * HALF / (size - 1), 1)
    return math.inf if None in (low, high, lost) else float(sum(filter(None, (low, high, lost))))


protect_module(vars())
