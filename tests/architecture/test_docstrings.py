"""Public calls have docstrings in numpydoc form: every parameter, what comes back, and what is raised."""

from __future__ import annotations

from pkgutil import resolve_name

import pytest

from dpviz import widgets
from dpviz.mechanisms import NAMES
from tools.docstrings import all_faults, faults

DONE = (
    "Between",
    "Budget",
    "Domain",
    "Limits",
    "Partition",
    "PublicTable",
    "PublicTop",
    "Release",
    "Question",
    "Session",
    "Unit",
    "charts.error_against_epsilon",
    "charts.heat_map",
    "charts.histogram",
    "charts.noise_law",
    "charts.of_closed",
    "charts.of_combined",
    "charts.of_derived",
    "charts.of_marginal",
    "charts.of_release",
    "charts.ranked",
    "charts.record",
    "charts.register",
    "charts.small_multiples",
    "charts.table_of_release",
    "combine",
    "datasets.doctor_visits",
    "datasets.flights",
    "dpviz.model.closing:Closed",
    "dpviz.model.combination:Combined",
    "dpviz.model.derived:Derived",
    "dpviz.model.derived:DerivedTable.chart",
    "dpviz.model.derived:DerivedTable.save",
    "dpviz.model.derived:DerivedTable.to_csv",
    "dpviz.model.derived:DerivedTable.to_frame",
    "dpviz.model.marginals:Marginal.chart",
    "dpviz.model.marginals:Marginal.to_frame",
    "dpviz.model.quantiles:DerivedQuantile",
    "dpviz.model.quantiles:DerivedQuantiles.to_csv",
    "dpviz.model.quantiles:DerivedQuantiles.to_frame",
    "dpviz.session.seeded_draws:SeededDraws.misses",
    "dpviz.session.plan:Plan",
    "dpviz.session.sub_session:SubSession",
    "dpviz.session.teaching:Teaching",
    "exercise",
    "load",
    "load_derived",
    "report",
    "sources.duckdb",
    "sources.ibis",
    "sources.spark",
    "teaching",
    "traceback",
)
"""The classes and functions whose docstrings have the form. A name is added here, and none is taken out."""


@pytest.mark.parametrize("name", DONE)
def test_every_public_call_says_what_it_takes_returns_and_raises(name: str) -> None:
    assert all_faults(name, resolve_name(f"dpviz:{name}" if ":" not in name else name)) == []


WIDGETS = [name for name in widgets.__all__ if name != "SessionModel"]


@pytest.mark.parametrize("name", [*NAMES, *WIDGETS])
def test_every_mechanism_and_widget_describes_its_parameters(name: str) -> None:
    assert faults(resolve_name(f"dpviz:{name}"), name) == []


class Told:
    """Hold a number.

    Parameters
    ----------
    number : int
        The number.

    Raises
    ------
    ParameterError
        If it is negative.
    """

    def __init__(self, number: int) -> None:
        self.number = number

    @property
    def double(self) -> int:
        return 2 * self.number

    def add(self, other: int, *, again: bool = False) -> int:
        """What comes out.

        Parameters
        ----------
        other, more : int
            Numbers.
        """
        return self.number + other + again

    def forget(self) -> None:
        """Forget the
        number.

        Raises
        ------
        KeyError
            Never.

        Returns
        -------
        None
        """


def test_each_fault_is_found() -> None:
    assert all_faults("Told", Told) == [
        "Told.add: the summary begins with 'What'",
        "Told.add: no parameter again",
        "Told.add: it takes no more",
        "Told.add: no section Returns",
        "Told.add: no section Raises",
        "Told.double: no docstring",
        "Told.forget: the summary is no sentence of one line",
        "Told.forget: sections Raises, Returns are unknown or out of order",
        "Told.forget: needless section Returns",
    ]
