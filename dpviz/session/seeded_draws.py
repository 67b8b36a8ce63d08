"""Several seeded draws of one question, held against the truth, which is public: how often an interval misses it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpviz.boundary import protect_module, single_arguments
from dpviz.errors import ReleaseFormat
from dpviz.exact import Number, counted
from dpviz.model.public import PublicTable

if TYPE_CHECKING:
    import pandas as pd

    from dpviz.model.release import Release


@dataclass(frozen=True, eq=False, repr=False)
class SeededDraws(Sequence["Release"]):
    """Hold several draws of one question with one mechanism, in the order in which the seed gave them. Not private.

    Parameters
    ----------
    draws : tuple of Release
        The draws, as `Teaching.draw` gives them one by one.
    truth : PublicTable or None
        The true counts, which are public; None where the rows of an answer are no counts of declared bins.

    Raises
    ------
    UnknownArgument
        If a part is left out.
    """

    draws: tuple[Release, ...]
    truth: PublicTable | None

    def __len__(self) -> int:
        return len(self.draws)

    def __getitem__(self, place: Any) -> Any:
        return self.draws[place]

    def __iter__(self) -> Iterator[Release]:
        return iter(self.draws)

    @single_arguments
    def misses(self, beta: Number = "0.05", bin: object = None) -> pd.DataFrame:
        """Count in how many bins the intervals of each draw miss the true count.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often an interval may miss the truth, above 0 and at most 1.
        bin : label, optional
            The label of one bin that is watched in every draw.

        Returns
        -------
        DataFrame
            One row a draw: draw (1, 2, …), bins, missed (how many bins lie outside their own interval), missed_all (how
            many lie outside the intervals that hold for all bins at once; left out where there are none). Where a bin
            is watched: picked, whether its own interval misses.

        Raises
        ------
        ReleaseFormat
            If the rows of an answer are no counts of declared bins.
        DomainError
            If there is no such bin.
        ParameterError
            If `beta` is outside its range.

        Notes
        -----
        The misses are counted, not calculated. A bin that is picked before looking is missed in at most a share beta of
        all possible draws, and so is "all bins at once", which fails where missed_all is above 0.
        """
        import pandas as pd

        from dpviz.model.release import ENDINGS

        if self.truth is None:
            raise ReleaseFormat.of(
                self.draws[0].answer.kind,
                "misses are counted where an answer has one count for each declared bin",
                "draw with dv.Dense, or compare each draw by yourself",
            )
        columns: dict[str, list[Any]] = {
            "draw": [*range(1, len(self) + 1)],
            "bins": [self.truth.domain.size] * len(self),
        }
        for among, ending in ENDINGS.items():
            found = [one.intervals(beta, among, of="counted") for one in self.draws]
            outside = [one.outside(self.truth.counts) for one in found if one is not None]
            if outside:
                columns[f"missed{ending}"] = [int(one.sum()) for one in outside]
            if among == "one" and bin is not None:
                place = self.truth.domain.index(bin)
                picked = [bool(one[place]) for one in outside]
        return pd.DataFrame(columns if bin is None else {**columns, "picked": picked})

    def __repr__(self) -> str:
        one = self.draws[0]
        return f"<{counted(len(self), 'draw')} (not private · teaching, seed {one.teaching}): {one.question.text}>"


protect_module(vars())
