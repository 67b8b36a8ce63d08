"""ThresholdMaxProjection: what is large is kept with its noise, and everything else is read from noisy buckets."""

from __future__ import annotations

from typing import ClassVar

from dpviz.boundary import protect_module
from dpviz.mechanisms.look_ups import BehindThreshold
from dpviz.mechanisms.max_projection import BUCKETS, BucketsBound, exponent_for, places_for
from dpviz.model.goals import Goal
from dpviz.model.parameters import Exact
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit


class ThresholdMaxProjection(BehindThreshold):
    """Keep values that reach a threshold, with noise, and release the largest of the others in each hash bucket.

    Parameters
    ----------
    epsilon : str, int, float or Fraction
        The price in the session's unit, of both parts together.
    keys : int, default 1000
        As for MaxProjection: public, and never from the data.
    delta : str, int, float or Fraction, optional
        As for Threshold: left out, it is pure, and the bins must be declared.
    split : str, int, float or Fraction, default "1/2"
        The share of epsilon that the threshold gets, the buckets having the rest.
    room : str, int, float or Fraction, default 100
        As for MaxProjection; the cap of a bucket is the threshold.

    Raises
    ------
    ParameterError
        If a parameter is outside its range, or two contradict each other.

    Notes
    -----
    A heavy value that meets a light one in a bucket would take its place, so heavy ones are taken out first: what is
    kept is public, and is no longer among the values that the buckets hold.

    **Privacy.** The sum of both parts, the second of which depends on what the first showed: pure DP, or (epsilon,
    delta) [1]_.

    **Error.** A bound for any one value, large or small; see MaxProjection.

    References
    ----------
    .. [1] Aumüller, Lebeda, Pagh 2022, Algorithms 6, 9 and 11, Corollary 8.3.

    Examples
    --------
    >>> from dpviz.model.domain import Domain
    >>> keys = Question.of(Domain.integers(0, 2**32 - 1, column="key"))
    >>> bound = ThresholdMaxProjection(epsilon=1, keys=1000).bind(keys, Unit())
    >>> bound.space.text, bound.cut.least
    ('131,072 × 8, and what is kept', 90)
    """

    name: ClassVar[str] = "ThresholdMaxProjection"
    about: ClassVar[str] = "Keeps large values, and answers any other key by reading one number. Counts or sums."
    serves: ClassVar[tuple[Goal, ...]] = ("look-ups",)
    delta_text: ClassVar[str] = "Without δ every bin gets noise, empty ones too; with δ unknown keys can be asked."

    room: Exact = BUCKETS

    def bind(self, question: Question, unit: Unit) -> BucketsBound:
        """Fix the threshold and the buckets.

        Parameters
        ----------
        question : Question
            Keys whose values are hashed behind a threshold.
        unit : Unit
            The unit that is protected.

        Returns
        -------
        BucketsBound
            Price, draw and error law of `ThresholdMaxProjection` for this question and unit.

        Raises
        ------
        ParameterError
            If `ThresholdMaxProjection` cannot answer the question for this unit. Only public facts are looked at.
        """
        moves, cut = self.begun(question, unit)
        places = places_for(self.keys, self.room, cut.least, signed=question.aggregate.signed)
        first_part = "Algorithm 6" if self.delta is None else "Algorithm 9, on whole steps"
        rule = f"Aumüller, Lebeda, Pagh 2022, {first_part}, then Lemma 8.1 on what is not shown"
        price = self.guarantee(unit, self.total, rule)
        return BucketsBound(self, question, unit, places, exponent_for(self.rest, moves), price, cut)


protect_module(vars())
