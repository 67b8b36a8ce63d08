"""A sketch of values of both signs, each one unary number of 2m bits: from -m, all zeros, to m, all ones."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpviz.boundary import protect_module
from dpviz.errors import ReleaseFormat
from dpviz.fitting import unary
from dpviz.laws.alp import Tails
from dpviz.laws.alp_readers import signed_tails
from dpviz.model.answers.base import register
from dpviz.model.answers.sketch import READERS, Sketch, SketchPlan
from dpviz.noise.alp import Keys, read


@dataclass(frozen=True)
class SignedPlan(SketchPlan):
    """The public numbers of such a sketch: those of a sketch with two halves, of `columns` columns each."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.halves != 2:
            raise ReleaseFormat.damaged("a sketch of values of both signs has two halves", self.halves)

    def tails_of(self, reader: str = READERS[0]) -> Tails:
        """Bound the error of an estimator, in bits."""
        return signed_tails(self.flips, self.columns, reader)

    def off(self, beta: Fraction, reader: str = READERS[0]) -> Fraction:
        """By how many bits an estimate is off, at most, but for a chance of beta."""
        return Fraction(self.tails_of(reader).within(float(beta)))


@register
@dataclass(frozen=True, eq=False)
class SignedSketch(Sketch):
    """A sketch whose first m columns are one for whoever did not clear them, and whose last m are zero for whoever did
    not set them: y from 1 to m sets the first y of the last, and -y clears the last y of the first.

    The complements of the first m columns are stored, from the m-th to the first: so both halves are zero for
    whoever has no value, and a negative value sets bits in the second half of what is stored as a positive one does in
    the first. The bits are those of a sketch of two halves, told apart by how they are read: as one number.
    """

    kind: ClassVar[str] = "signed-sketch"
    numbers: ClassVar[type[SketchPlan]] = SignedPlan

    plan: SignedPlan

    def _estimates(self, keys: Keys, reader: str) -> list[Fraction]:
        """The estimates of keys, in bits: where the prefix sum over all 2m columns is largest, less m."""
        columns = read(self.packed, self._columns, keys).T
        m, flips = self.plan.columns, self.plan.flips
        rows = np.concatenate((1 - columns[: m - 1 : -1], columns[:m])).T
        if reader == "paper":
            found = unary.paper(rows)
        else:
            estimator = unary.likelihood if reader == "likelihood" else unary.posterior_median
            found = estimator(rows, float(flips.p), float(flips.raised), m)
        less = {id(one): one - m for one in found}  # equal ones are most often the same object
        return [less[id(one)] for one in found]


protect_module(vars())
