"""MaxProjection: the largest value of each bucket of one public hash function, with noise on every bucket."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from dpviz.boundary import protect_module
from dpviz.errors import ParameterError
from dpviz.exact import Decay, ceil_to, text
from dpviz.laws import max_projection
from dpviz.mechanisms.cuts import cut_through
from dpviz.mechanisms.look_ups import Capped, Room
from dpviz.mechanisms.moves import Moves
from dpviz.model.answers import Answer, Buckets
from dpviz.model.answers.buckets import MOST_BITS, MOST_VALUE, Places
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.goals import Goal
from dpviz.model.laws.buckets import BucketsLaw
from dpviz.model.laws.threshold import Cut
from dpviz.model.mechanism import Bound, Cost, Mechanism, Mode, Space
from dpviz.model.parameters import Exact, parameter
from dpviz.model.question import Question
from dpviz.model.source import Tick
from dpviz.model.statistic import SparseCounts, Statistic, StatisticKind
from dpviz.model.words import shown
from dpviz.noise.alp import SEED_BYTES, Columns, coded
from dpviz.noise.bits import Bits
from dpviz.noise.geometric import check_scale
from dpviz.noise.max_projection import cell_type, largest, noisy
from dpviz.privacy.guarantee import Guarantee
from dpviz.privacy.unit import Unit

NUMBERS_A_SECOND = 1 << 22
"""Buckets that are drawn and stored, on a slow processor."""

BUCKETS: Final[Any] = parameter(reads=Room(), default=Fraction(100), label="Buckets for each of them, at least")


class MaxProjection(Capped):
    """Hash every key into one of s buckets, and release the largest value of each bucket, with noise.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit.
    cap : str, int, float or Fraction, default 1000
        The largest value that can be read: public. Larger ones are cut to it, in silence.
    keys : int, default 1000
        About how many bins are not empty, k: public, and never from the data. More cost accuracy, not privacy.
    room : str, int, float or Fraction, default 100
        Buckets for each of them, above 2. There are the next power of 2 of them, s.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    A look-up reads one number. Of values of both signs a bucket holds the largest above 0 and the least below 0, added
    up, which is the value of a key that is alone in it.

    **Privacy.** Pure DP with noise of exp(-epsilon |z| / l1) on every bucket, for any data and any hash function: in L1
    the buckets move by no more than the values [1]_.

    **Error.** A bound for any one value: but for a chance of k/s another key that is not empty lies in the same bucket,
    and the rest is the noise of one bucket. The bound on how far the truth lies above the value read rests on the noise
    alone: where a level is below k/s, an interval begins at 0.

    **Reading.** Free, any number of times: `release[key]`, `release.many(keys)`.

    References
    ----------
    .. [1] Aumüller, Lebeda, Pagh 2022, Algorithm 11, Lemmas 8.1 and 8.2; values of both signs are ours.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> keys = Question.of(Domain.integers(0, 2**32 - 1, column="key"))
    >>> bound = MaxProjection(epsilon=1, keys=1000, cap=100).bind(keys, Unit())
    >>> bound.space.text, bound.price.sentence
    ('131,072 × 8', '1-differential privacy for adding or removing one row')
    >>> bound.error.one_bin(Fraction(1, 20)).value, bound.error.above(1, Fraction(1, 20)).value
    (Fraction(3, 1), Fraction(2, 1))
    """

    name: ClassVar[str] = "MaxProjection"
    about: ClassVar[str] = "Answers any key of a huge domain by reading one number. Counts or sums. No δ."
    serves: ClassVar[tuple[Goal, ...]] = ("look-ups",)
    delta_text: ClassVar[str] = "MaxProjection is pure: no δ."

    room: Exact = BUCKETS

    def bind(self, question: Question, unit: Unit) -> BucketsBound:
        """Fix the noise and the number of buckets.

        Parameters
        ----------
        question : Question
            Keys whose values are hashed into buckets.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        BucketsBound
            Price, draw and error law of `MaxProjection` for this question and unit.

        Raises
        ------
        ParameterError
            If `MaxProjection` cannot answer the question for this unit. Only public facts are looked at.
        """
        moves, cap = self.begun(question, unit)
        if cap > MOST_VALUE:
            raise ParameterError.of(text(self.largest), f"a cap is at most {MOST_VALUE:,} steps", "give a smaller cap")
        places = places_for(self.keys, self.room, cap, signed=question.aggregate.signed)
        price = self.guarantee(unit, self.total, "Aumüller, Lebeda, Pagh 2022, Lemma 8.1")
        return BucketsBound(self, question, unit, places, exponent_for(self.total, moves), price, None)


def exponent_for(epsilon: Fraction, moves: Moves) -> Fraction:
    """The noise of a bucket at this price. Refuses noise that is too wide to be drawn."""
    exponent = epsilon / moves.l1
    check_scale(Decay.exp(exponent))
    return exponent


def places_for(keys: int, room: Fraction, cap: int, *, signed: bool) -> Places:
    """As many buckets as the keys need, of as few bits as the cap needs."""
    width = max(3, math.ceil(keys * room - 1).bit_length())
    each = 8 * np.dtype(cell_type(-cap if signed else 0, cap)).itemsize
    if each << width > MOST_BITS:
        raise ParameterError.of(
            f"2^{width} buckets of {each} bits",
            f"all buckets together have at most {MOST_BITS:,} bits",
            "use fewer keys, less room or a smaller cap",
        )
    return Places(width, keys, cap, signed)


@dataclass(frozen=True)
class BucketsBound(Bound):
    """A mechanism that answers buckets, bound to a question and a unit; alone, or behind a threshold."""

    mechanism: Mechanism
    question: Question
    unit: Unit
    places: Places
    exponent: Fraction
    paid: Guarantee
    cut: Cut | None

    needs: ClassVar[StatisticKind] = StatisticKind.SPARSE
    shape: ClassVar[type[Answer]] = Buckets

    @property
    def price(self) -> Guarantee:
        return self.paid

    @cached_property
    def space(self) -> Space:
        size = f"{self.places.size:,} × {self.places.bits // self.places.size}"
        return Space(bits=self.places.bits, text=size if self.cut is None else f"{size}, and what is kept")

    @cached_property
    def cost(self) -> Cost:
        size = self.places.size
        return Cost(steps=size, text=f"{size:,} draws; a look-up reads one number", seconds=size / NUMBERS_A_SECOND)

    @cached_property
    def law(self) -> BucketsLaw:
        places, aggregate = self.places, self.question.aggregate
        bins = self.question.bins if self.question.domain.declared else None
        return BucketsLaw(
            self.exponent, places.width, places.keys, places.cap, places.signed, aggregate.step, bins, self.cut
        )

    @property
    def error(self) -> ErrorModel:
        return self.law.error

    @property
    def verb(self) -> str:
        kept, step = "", self.question.aggregate.step
        if self.cut is not None:
            kept = f"Keeps values whose noisy value reaches {shown(self.cut.least * step)}. "
        which = "the others" if kept else "the values"
        return f"{kept}Throws {which} into {self.places.size:,} buckets and adds noise to the largest of each."

    @property
    def notes(self) -> list[tuple[str, dict[str, Any]]]:
        """The paper's bound on the mean error of a bucket."""
        step, load = self.question.aggregate.step, self.places.collisions
        law = max_projection.BucketError(Decay.exp(self.exponent), load, load * self.places.cap)
        value = ceil_to(law.mean_bound() * step, Fraction(1, 1000))
        rule = f"Aumüller, Lebeda, Pagh 2022, Lemma 8.2, where {self.places.keys:,} values are as large as the cap"
        return [("The paper's bound on the mean error", ErrorValue(value, "bound", rule).to_json())]

    def draw(self, statistic: Statistic, bits: Bits, *, mode: Mode, tick: Tick | None = None) -> Buckets:
        """Draw the buckets. How many bins are occupied is private: ticks count buckets."""
        assert isinstance(statistic, SparseCounts)
        labels, values = statistic.take()
        bins = self.question.bins if self.question.domain.declared else None
        kept_labels, kept = labels[:0], values[:0]
        if self.cut is not None:
            kept_labels, kept = cut_through(self.cut, labels, values, bins, bits)
            open_ = ~np.isin(labels, kept_labels)
            labels, values = labels[open_], values[open_]
        places, seed = self.places, bits.take(SEED_BYTES)
        keys = coded(labels, seed, numbered=bins is not None and bins <= 2**64)
        where = Columns(seed, 1, places.width).places(0, keys)
        found = largest(where, values, places.size, places.low, places.cap)
        drawn = noisy(found, places.low, places.cap, Decay.exp(self.exponent), bits, tick)
        return Buckets(places, seed, drawn, tuple(kept_labels.tolist()), kept)


protect_module(vars())
