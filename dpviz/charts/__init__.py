"""Pictures of releases, plan sheets and public tables. Pure: data in, Altair chart out.

    release.chart()                                   # dv.charts.histogram(release), or dv.charts.ranked(release)
    plan.chart()                                      # the same as dv.charts.error_against_epsilon(plan.sheet)
    dv.charts.noise_law(plan.sheet, theme="dark")
    release.chart().save("visits.svg")                # png, svg or pdf; needs the extra `export`

A chart accepts a `Release`, a `PlanSheet` or a `PublicTable`, embeds what is public in it, and nothing else. In
JupyterLab it draws as a cell's last line without a network; nbconvert, MyST and mails show the picture beside it (PNG,
with the extra `lab`). Where another program is to draw it alive, choose one of Altair's renderers, and your choice is
respected: `alt.renderers.enable("jupyter", offline=True)` (0.9 MB a chart) or `alt.renderers.enable("html")` (needs a
network).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpviz.names import absent

if TYPE_CHECKING:
    from dpviz.charts.closed import of_closed
    from dpviz.charts.counts import histogram
    from dpviz.charts.derived import of_combined, of_derived
    from dpviz.charts.lists import ranked
    from dpviz.charts.maps import heat_map
    from dpviz.charts.marginals import of_marginal
    from dpviz.charts.multiples import small_multiples
    from dpviz.charts.plans import error_against_epsilon, noise_law, of_plan
    from dpviz.charts.records import record
    from dpviz.charts.registry import of_release, register
    from dpviz.charts.tables import of_release as table_of_release

__all__ = [
    "error_against_epsilon",
    "heat_map",
    "histogram",
    "noise_law",
    "of_closed",
    "of_combined",
    "of_derived",
    "of_marginal",
    "of_plan",
    "of_release",
    "ranked",
    "record",
    "register",
    "small_multiples",
    "table_of_release",
]


def __getattr__(name: str) -> Any:
    """Altair loads with the first chart: the widgets need `dpviz.charts.picture`, and never draw with Altair."""
    if name not in __all__:
        raise absent(__name__, name, lambda: __all__)
    if name == "table_of_release":
        from dpviz.charts import tables

        return tables.of_release
    from dpviz.charts import closed, counts, derived, lists, maps, marginals, multiples, plans, records, registry

    modules = (registry, counts, closed, derived, lists, maps, marginals, multiples, records, plans)
    return next(getattr(module, name) for module in modules if name in vars(module))
