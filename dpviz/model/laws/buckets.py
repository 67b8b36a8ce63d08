"""Buckets of a public hash function, alone or behind a threshold, and how far off what is read from them is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import ClassVar, Final, cast

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.exact import Decay, text, whole
from dpviz.laws.geometric import TwoSidedGeometric, short_bounds
from dpviz.laws.search import least
from dpviz.model.answers import Answer, Buckets, Reading
from dpviz.model.answers.buckets import Places
from dpviz.model.domain import bins_text
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws.base import Clamp, StoredLaw, stored
from dpviz.model.laws.look_ups import LookUpSum, if_few
from dpviz.model.laws.threshold import Cut, without_floors
from dpviz.model.linear import LinearError, Query
from dpviz.model.measures import Measure, look_ups
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit

NO_LARGER: Final = "A bucket cannot hold a larger value."
"""Why an end of a sum is open."""

REPLACED: Final = "biased: a larger value in the same bucket takes the place of a smaller one"


@stored
@dataclass(frozen=True)
class BucketsLaw(StoredLaw):
    """The public numbers of buckets, as their answer repeats them, their noise, and the threshold before them.

    exponent  noise of exp(-exponent |z|) on every bucket, in whole steps
    step      what one whole step of a value is worth
    bins      of a declared domain; None for unknown keys
    cut       noise and threshold of what is kept and not put into a bucket; None for buckets by themselves
    """

    name: ClassVar[str] = "buckets"

    exponent: Fraction
    width: int
    keys: int
    cap: int
    signed: bool
    step: Fraction
    bins: int | None
    cut: Cut | None

    def __post_init__(self) -> None:
        if self.step <= 0 or self.exponent <= 0:
            raise ReleaseFormat.damaged("a step and the exponent of a noise are positive", "another number")
        if self.cut is not None and (self.cut.least, self.cut.signed) != (self.cap, self.signed):
            raise ReleaseFormat.damaged(
                "behind a threshold the largest value of a bucket is the threshold", "another one"
            )
        self.places  # noqa: B018 - numbers that no buckets have are refused

    @cached_property
    def places(self) -> Places:
        return Places(self.width, self.keys, self.cap, self.signed)

    @cached_property
    def decay(self) -> Decay:
        return Decay.exp(self.exponent)

    @property
    def clamp(self) -> Clamp:
        return (None, None) if self.signed else (0, None)

    def belongs(self, question: Question, unit: Unit, max_items: int | None) -> bool:
        bins = question.bins if question.domain.declared else None
        aggregate = question.aggregate
        return (self.bins, self.step, self.signed) == (bins, aggregate.step, aggregate.signed)

    def accepts(self, answer: Answer) -> bool:
        """Whether these are buckets of these numbers, and what is kept reaches the threshold: nothing without one."""
        buckets = cast(Buckets, answer)
        if self.cut is None:
            return buckets.places == self.places and not len(buckets.labels)
        return buckets.places == self.places and self.cut.admits(buckets.values)

    @cached_property
    def error(self) -> ErrorModel:
        return BucketsError(self)

    def measures(self, question: Question) -> tuple[Measure, ...]:
        return (*without_floors(super().measures(question), question), look_ups(self.error))

    def linear(self, query: Query, answer: Answer | None, reading: Reading, reader: str = "") -> LinearError:
        """From the interval of each look-up."""
        if answer is None:
            return super().linear(query, answer, reading, reader)
        return LookUpSum(query, answer, reading, reader, if_few(self.keys), NO_LARGER, REPLACED)


@dataclass(frozen=True)
class BucketsError(ErrorModel):
    """The error of a look-up: a bound for every value, and for at most as many bins that are not empty as were said.

    Two things can go wrong: another key that is not empty lies in the same bucket, with a chance of k/s at most over
    the hash function, and the noise is large. Only how far the truth may lie above a value rests on the noise alone,
    for a bucket is never below the value of its key.
    """

    law: BucketsLaw

    @property
    def given(self) -> str:
        given = if_few(self.law.keys)
        if self.law.cut is not None:
            return given
        size = "no value is further from 0 than" if self.law.signed else "no value is above"
        return f"{given} and {size} {text(self.law.cap * self.law.step)}"

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        if count is None:
            return self._error(self._beyond, beta, f"worst case over exact values, {self.given}")
        rule = f"the law of a bin whose exact value is {count:,}, {self.given}"
        steps = Fraction(count) / self.law.step
        if self.law.cut is None and abs(steps) > self.law.cap:
            at_cap = self._error(partial(self._of, self.law.cap if steps > 0 else -self.law.cap), beta, rule)
            return replace(at_cap, value=at_cap.value + abs(count) - self.law.cap * self.law.step)
        if steps.denominator != 1 or (self.law.cut is not None and self.law.signed):
            return self._error(self._beyond, beta, rule)
        return self._error(partial(self._of, int(steps)), beta, rule)

    def all_bins(self, beta: Fraction) -> ErrorValue | None:
        if self.law.bins is None:
            return None
        rule = f"union bound over {bins_text(self.law.bins)}, {self.given}"
        return self._error(partial(self._any, self.law.bins), beta, rule)

    def look_ups(self, number: int, beta: Fraction) -> ErrorValue:
        rule = f"union bound over {whole(number, 'number'):,} look-ups, {self.given}"
        return self._error(partial(self._any, number), beta, rule)

    def above(self, number: int | None, beta: Fraction) -> ErrorValue | None:
        law = self.law
        many = law.bins if number is None else whole(number, "number")
        if law.signed or (many is None and law.cut is not None):
            return None
        size = law.places.size if many is None else min(many, law.places.size)
        if law.cut is None:
            rule = f"one-sided tail of the noise, union bound over {size:,} buckets, wherever other keys lie"
            return self._error(
                lambda a: size * self._missing(a), beta, rule if size > 1 else rule.replace(" 1 ", " one ")
            )
        rule = "one-sided tails of both noises, union bound, wherever other keys lie"
        if many == 1:
            return self._error(self._above, beta, rule)
        kept = cast(int, many)
        return self._error(lambda a: kept * 2 * self._kept(a) + size * self._missing(a), beta, rule)

    def _error(self, chance: partial[Fraction] | object, beta: Fraction, rule: str) -> ErrorValue:
        found = least(lambda a: chance(a) <= beta)  # type: ignore[operator]
        return ErrorValue(found * self.law.step, "bound", rule)

    def chance_shown(self, count: int) -> float | None:
        """Where another key lies in the same bucket as often as it may, and is large."""
        if self.law.step != 1 or self.law.signed:
            return None
        noise, cut = TwoSidedGeometric(self.law.decay), self.law.cut
        chance = float(self._with_others(Fraction(noise.chance_above(-min(count, self.law.cap)))))
        if cut is None or (count == 0 and not cut.certain):
            return chance
        kept = TwoSidedGeometric(cut.decay).chance_above(cut.least - count - 1)
        return kept + (1 - kept) * chance

    # ------------------------------------------------------------ chances, of being off by more than a whole steps

    @cached_property
    def _load(self) -> Fraction:
        return self.law.places.collisions

    @cached_property
    def _noises(self) -> dict[int, Fraction]:
        return {}

    @cached_property
    def _keeps(self) -> dict[int, Fraction]:
        return {}

    def _noise(self, a: int) -> Fraction:
        """P[Z > a] for the noise of a bucket, rounded up."""
        found = self._noises.get(a)
        if found is None:
            found = self._noises[a] = _above(self.law.decay, a)
        return found

    def _kept(self, a: int) -> Fraction:
        """P[Z > a] for the noise at the threshold, rounded up."""
        assert self.law.cut is not None
        found = self._keeps.get(a)
        if found is None:
            found = self._keeps[a] = _above(self.law.cut.decay, a)
        return found

    def _missing(self, a: int) -> Fraction:
        """That the truth lies above what is read from its bucket; what reaches the cap is read as "or more"."""
        return self._noise(a) if a < self.law.cap else Fraction(0)

    def _read(self, a: int) -> Fraction:
        """Maximum-likelihood value of a bucket."""
        sides = self._sides(a)
        return self._with_others(sides * self._noise(a)) if sides else Fraction(0)

    def _sides(self, a: int) -> int:
        """On how many sides a value from the least to the largest may be off: both need room on both."""
        span = self.law.cap - self.law.places.low
        return 2 if span >= 2 * a + 2 else 1 if span >= a + 1 else 0

    def _with_others(self, alone: Fraction) -> Fraction:
        """A chance for a key that is alone in its bucket, for one that may not be."""
        return self._load + (1 - self._load) * min(Fraction(1), alone)

    def _read_at(self, steps: int, a: int) -> Fraction:
        """The value read from a bucket, for one value up to the cap. Another key can only raise it, unless it is below
        0; and where there is no room to be raised, it takes nothing away."""
        up, down = steps + a < self.law.cap, steps - a > self.law.places.low
        alone = (up + down) * self._noise(a)
        return self._with_others(alone) if up or (self.law.signed and down) else min(Fraction(1), alone)

    def _beyond(self, a: int) -> Fraction:
        """Any one look-up, in the worst case over exact values."""
        if self.law.cut is None:
            return self._read(a)
        kept, read, signed = self._kept(a), self._read(a), self.law.signed
        # up to the threshold: what is shown is off upwards, or on either side where signs may differ; else it is read
        below = 2 * kept + read if signed else kept + (1 - kept) * read
        # beyond it by d: what is not shown, which takes noise below -d, falls short by d and the noise of its bucket
        short = Fraction(0)
        if a:  # the product of two geometric tails is largest for the least d or for the largest
            short = max(self._kept(1) * self._noise(a - 1), kept * self._noise(0))
        if signed:
            far = self._kept(max(1, a - 2 * self.law.cap + 1)) * self.law.places.collisions
            return min(Fraction(1), max(below, 2 * kept + short + far))
        return min(Fraction(1), max(below, 2 * kept, kept + short))

    def _of(self, steps: int, a: int) -> Fraction:
        """One look-up of one true value: of buckets by themselves up to the cap, else of any that is not negative."""
        cut = self.law.cut
        if cut is None:
            return self._read_at(steps, a)
        if steps == 0 and not cut.certain:
            return self._read_at(0, a)
        if steps <= cut.least:
            reach = cut.least - steps - 1  # shown where the noise is above this
            shown = _above(cut.decay, reach)
            hidden = 1 - short_bounds(cut.decay, reach, 128)[0] if reach >= 0 else shown
            return min(Fraction(1), min(shown, self._kept(a)) + hidden * self._read_at(steps, a))
        beyond = steps - cut.least
        if beyond > a:
            return min(Fraction(1), 2 * self._kept(a))
        return min(Fraction(1), self._kept(a) + self._kept(beyond) * self._noise(a - beyond))

    def _any(self, number: int, a: int) -> Fraction:
        """Any of so many look-ups: every key may share its bucket, but there are no more noises than buckets."""
        if number == 1 or self.law.cut is not None:
            return min(Fraction(1), number * self._beyond(a))
        sides, places = self._sides(a), self.law.places
        load = number * places.collisions if sides else Fraction(0)
        return min(Fraction(1), load + min(number, places.size) * sides * self._noise(a))

    def _above(self, a: int) -> Fraction:
        """Behind a threshold: a kept value is off by more, or the truth lies above what is read from its bucket."""
        kept, missing = self._kept(a), self._missing(a)
        return min(Fraction(1), max(kept + (1 - kept) * missing, 2 * kept, kept + self._kept(1) * missing))


@lru_cache(maxsize=4096)
def _above(decay: Decay, a: int) -> Fraction:
    """P[Z > a], rounded up; for a = -1 P[Z >= 0]."""
    if a < 0:
        return 1 / (1 + decay.bounds(128)[0])
    return short_bounds(decay, a, 128)[1]


protect_module(vars())
