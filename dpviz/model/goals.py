"""The things that an answer can tell a reader, by which mechanisms are compared."""

from __future__ import annotations

from typing import Final, Literal, get_args

from dpviz.boundary import protect_module

Goal = Literal["bins", "ranges", "top", "look-ups", "distinct", "sample"]
"""A value for each bin or key; the sums of ranges; the largest items; the value of any label by look-up; about how many
bins are not empty; or records."""

GOALS: Final[tuple[Goal, ...]] = get_args(Goal)

protect_module(vars())
