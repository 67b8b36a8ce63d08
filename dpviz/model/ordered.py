"""Questions to the order of paid bins, free: quantiles, means, and shares of all bins up to each one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpviz.boundary import plain_arguments, protect_module
from dpviz.exact import Number
from dpviz.model.asking import Askable
from dpviz.model.derived import Among, Derived, DerivedTable

if TYPE_CHECKING:  # loaded once somebody asks for them
    from dpviz.model.quantiles import DerivedQuantile, DerivedQuantiles


class OrderedAskable(Askable):
    """Answer questions about the order of bins, too."""

    @plain_arguments
    def quantile(
        self, q: object = "1/2", *, beta: Number = "0.05", among: Among = "one", reader: str = ""
    ) -> DerivedQuantile | DerivedQuantiles:
        """Find the bin up to which a share of all counts lies, with an interval. Free.

        Parameters
        ----------
        q : str, float, Fraction or list, default "1/2"
            The share, above 0 and below 1; a list of shares for many quantiles.
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss a quantile, above 0 and below 1.
        among : {"one"} or int, default "one"
            "one": the interval holds for a quantile that was picked before looking at the answer. A number: for all of
            that many quantiles at once.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        DerivedQuantile or DerivedQuantiles
            The bin with its interval; several where a list is given.

        Raises
        ------
        DomainError
            If the bins have no order.
        ReleaseFormat
            If the values of the answer are no counts of bins.
        ParameterError
            If a limit of the unit may leave rows out, a share is outside its range, or `beta`, `among` or `reader` is.

        Notes
        -----
        The interval holds all q-quantiles with chance 1 - beta at least, ties and empty data included. It is exact for
        noise that is added to each bin alone and not clamped; of clamped counts it is a bound, which many empty bins
        make wide: ask for ``dv.Dense(..., clamp=False)`` or `dv.Tree`. Missing and malformed values are in no quantile.
        A bin below or beyond the declared ones leaves an end without a number.

        Examples
        --------
        >>> import dpviz as dv, pandas as pd
        >>> lesson = dv.teaching(pd.DataFrame({"age": [30, 31, 31, 35, 60] * 20}), seed=1)
        >>> draw = lesson.draw(dv.Domain.integers(0, 99, column="age"), dv.Dense(1, clamp=False))
        >>> [found.label for found in draw.quantile(["1/4", "1/2"])]
        ['31', '31']
        """
        from dpviz.model.inverted_quantiles import InvertedQuantiles, few_quantiles, share_of, shares_of
        from dpviz.model.quantiles import DerivedQuantiles

        asked = InvertedQuantiles(self._subject, beta, among, reader)
        if not isinstance(q, list):
            return asked.quantile(share_of(q))
        return DerivedQuantiles(tuple(asked.quantile(one) for one in shares_of(few_quantiles(q))))

    @plain_arguments
    def median(self, *, beta: Number = "0.05", among: Among = "one", reader: str = "") -> DerivedQuantile:
        """Find the bin with half of all counts up to it, with an interval. Free.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss a median, above 0 and below 1.
        among : {"one"} or int, default "one"
            "one": the interval holds for a quantile that was picked before looking at the answer. A number: for all of
            that many quantiles at once.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        DerivedQuantile
            The bin with its interval, as `quantile` returns it.

        Raises
        ------
        DomainError
            If the bins have no order.
        ReleaseFormat
            If the values of the answer are no counts of bins.
        ParameterError
            If a limit of the unit may leave rows out, or `beta`, `among` or `reader` is outside its range.

        Examples
        --------
        >>> import dpviz as dv, pandas as pd
        >>> lesson = dv.teaching(pd.DataFrame({"age": [30, 31, 31, 35, 60] * 20}), seed=1)
        >>> lesson.draw(dv.Domain.integers(0, 99, column="age"), dv.Dense(1, clamp=False)).median().interval_text
        '31 to 35'
        """
        from dpviz.model.inverted_quantiles import InvertedQuantiles
        from dpviz.model.quantiles import HALF

        return InvertedQuantiles(self._subject, beta, among, reader).quantile(HALF)

    @plain_arguments
    def cumulative(self, *, beta: Number = "0.05", reader: str = "") -> DerivedTable:
        """Find the share of all counts up to each bin, with intervals that hold for all bins at once. Free.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often any of the intervals may miss its share, above 0 and below 1.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        DerivedTable
            One share for each bin, in order. Of more than 100,000 bins, and of an answer in which errors of bins depend
            on each other, as those of a tree, 256 bins at most, evenly spread.

        Raises
        ------
        DomainError
            If the bins have no order.
        ReleaseFormat
            If the values of the answer are no counts of bins.
        ParameterError
            If a limit of the unit may leave rows out, or `beta` or `reader` is outside its range.

        Notes
        -----
        Shares never fall, and neither do the ends of the intervals. Two proved bounds are put together, each at half of
        `beta`, where noise is on each bin alone and counts are not raised to 0: Chernoff's for each bin, and Lévy's
        inequality for all. For one share that was picked before looking, `release.share` is narrower.

        Examples
        --------
        >>> import dpviz as dv, pandas as pd
        >>> lesson = dv.teaching(pd.DataFrame({"visits": [0, 0, 1, 1, 2, 5] * 200}), seed=1)
        >>> draw = lesson.draw(dv.Domain.integers(0, 5, column="visits"), dv.Dense(1, clamp=False))
        >>> [share.what for share in draw.cumulative()][:2]
        ['visits: up to 0', 'visits: up to 1']
        """
        from dpviz.model.cumulative import CumulativeShares

        return CumulativeShares(self._subject, beta, "one", reader).table()

    @plain_arguments
    def mean(self, *, beta: Number = "0.05", among: Among = "one", reader: str = "") -> Derived:
        """Find the mean of the numbers in the bins, with an interval. Free.

        Parameters
        ----------
        beta : str, float or Fraction, default "0.05"
            How often the interval may miss the mean, above 0 and below 1.
        among : {"one"} or int, default "one"
            "one": the interval holds for a mean that was picked before looking at the answer. A number: for all of that
            many such questions at once.
        reader : str, optional
            The estimator: one of `release.answer.readers`, where there are several; the first by default.

        Returns
        -------
        Derived
            The mean with its interval.

        Raises
        ------
        DomainError
            If the bins have no order, or hold no numbers.
        ReleaseFormat
            If the values of the answer are no counts of bins.
        ParameterError
            If a limit of the unit may leave rows out, or `beta`, `among` or `reader` is outside its range.

        Notes
        -----
        The interval is found by Fieller's test, with the law of the noise. Of bins that are intervals the lower end
        takes the least number of each bin and the upper end the greatest, so it holds wherever numbers lie in a bin. A
        bin beyond the declared ones leaves the upper end open, one below them the lower end.

        Examples
        --------
        >>> import dpviz as dv, pandas as pd
        >>> lesson = dv.teaching(pd.DataFrame({"visits": [0, 0, 1, 1, 2, 5] * 200}), seed=1)
        >>> lesson.draw(dv.Domain.integers(0, 5, column="visits"), dv.Dense(1, clamp=False)).mean().kind
        'mean'
        """
        from dpviz.model.means import OrderedMeans

        return OrderedMeans(self._subject, beta, among, reader).mean()


protect_module(vars())
