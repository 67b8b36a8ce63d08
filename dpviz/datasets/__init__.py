"""Two real data sets, both facts in the public domain; README.md says where they come from."""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, Final

from dpviz.lazy import without_collector
from dpviz.names import absent

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["doctor_visits", "flights"]

NAMES: Final = ("doctor visits", "flights")
"""The names of the data sets, each by the frame that it comes in."""


def __getattr__(name: str) -> Any:
    raise absent(__name__, name, lambda: __all__)


def doctor_visits() -> pd.DataFrame:
    """Load 20,190 person-years of the RAND Health Insurance Experiment.

    Returns
    -------
    DataFrame
        One row is one person in one year: `visits` to a doctor as an outpatient (0 to 77), `physical_limitation` (0 or
        1), `chronic_index` (a decimal number) and `self_rated_health` (excellent, good, fair or poor).

    Notes
    -----
    Public domain. The data are those of the book [1]_.

    References
    ----------
    .. [1] Cameron, Trivedi (2005).

    Examples
    --------
    >>> doctor_visits().shape
    (20190, 4)
    """
    return _load("doctor_visits", NAMES[0])


def flights() -> pd.DataFrame:
    """Load 334,264 departures from New York in 2013, as recorded by the US Bureau of Transportation Statistics.

    Returns
    -------
    DataFrame
        One row is one flight: the `aircraft` (tail number, 4,043 of them), its `destination` (airport code, 104 of
        them) and the `scheduled_minute` of the year (0 to 525,599). The aircraft plays the user: one touches many
        destinations.

    Notes
    -----
    Public domain.

    Examples
    --------
    >>> flights().shape
    (334264, 3)
    """
    return _load("flights", NAMES[1])


def _load(file: str, name: str) -> pd.DataFrame:
    """A fresh frame that brings its name along for a session."""
    with without_collector():
        import pandas as pd

    with as_file(files(__package__) / f"{file}.csv.gz") as path:
        frame = pd.read_csv(path)
    frame.attrs["dpviz"] = {"dataset": name}
    return frame
