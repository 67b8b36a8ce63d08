"""The price of k adaptive steps by every rule of composition, live; Figure 1; Gumbel or Laplace. No data."""

from __future__ import annotations

from typing import ClassVar

from dpviz.boundary import protect_module, single_arguments
from dpviz.exact import Number, rational
from dpviz.planning.composition_sheet import CompositionSheet
from dpviz.widgets.explorer import Explorer


class CompositionExplorer(Explorer):
    """Draw the total epsilon against the number of steps, for private steps and for range-bounded ones.

    Parameters
    ----------
    epsilon : str, int, float or Fraction, default "0.1"
        The epsilon of one step, at most 10; the unit and the relation are those of the steps.
    delta : str, int, float or Fraction, default "1e-6"
        delta', the delta that composition adds.
    k : int, default 50
        The number of steps that is probed at first, at most 1000.

    Raises
    ------
    ParameterError
        If an argument is outside its range.

    Notes
    -----
    Sliders set the epsilon of one step, delta', and the number of steps k at which the rules are listed. Beside them
    stand Figure 1 of the paper [1]_, and where Gumbel noise or Laplace noise makes the cheaper list.

    References
    ----------
    .. [1] Durfee, Rogers (2019).

    Examples
    --------
    >>> CompositionExplorer(epsilon="0.1", delta="1e-6")
    CompositionExplorer()
    """

    name: ClassVar[str] = "composition-explorer"
    title: ClassVar[str] = "What k steps cost together"

    @single_arguments
    def __init__(self, epsilon: Number = "0.1", delta: Number = "1e-6", *, k: int = 50) -> None:
        super().__init__(CompositionSheet(rational(epsilon, "epsilon"), rational(delta, "delta"), k))


protect_module(vars())
