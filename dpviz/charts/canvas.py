"""The parts that charts share: the check that data comes in by, and a chart that draws without a network."""

from __future__ import annotations

import base64
import io
from pathlib import PurePath
from typing import Any, NoReturn

import altair as alt

from dpviz import files
from dpviz.boundary import as_given, error_boundary, kind_of, protect_module
from dpviz.charts import still
from dpviz.charts.theme import Palette, config
from dpviz.errors import Forbidden, ParameterError
from dpviz.exact import whole

NARROWEST, WIDEST = 240, 2400

AXIS_ROOM = 52
"""Pixels left of every plot, so that panels below each other line up."""

DASHES: dict[str, list[float]] = {"exact": [], "bound": [6, 3], "numerical": [8, 2, 1.5, 2], "simulated": [1.5, 2.5]}
"""How an error is known, and how it is drawn. Line style means nothing else."""

LAB_MIME = "application/vnd.vegalite.v5+json"
LAB_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
"""The format that JupyterLab 4 draws by itself, from its own files. The name is a name: nothing is fetched."""

EMBED = {
    "renderer": "svg",
    "actions": {"export": True, "source": False, "compiled": False, "editor": False},
}


class Picture(alt.VConcatChart):
    """An Altair chart that JupyterLab draws with the Vega-Lite it ships, without a network.

    Beside it stands a picture as PNG, for programs that show a notebook and draw no Vega-Lite; without vl-convert,
    which the extra `lab` brings, they show a sentence that says so. Everything else is Altair's: `.properties(...)`,
    `.save(...)`, `.to_json()`. When a renderer was chosen with `alt.renderers.enable(...)`, that one draws.
    """

    def _repr_mimebundle_(self, *args: Any, **kwds: Any) -> Any:
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*args, **kwds)
        spec = self.to_dict()
        words = spec["description"]
        bundle: dict[str, Any] = {LAB_MIME: spec | {"$schema": LAB_SCHEMA}, "text/plain": words}
        about: dict[str, Any] = {LAB_MIME: {"embed_options": EMBED}}
        picture = still.png(spec)
        if picture is None:
            bundle["text/plain"] = f"{words}\n\nFor a picture where Vega-Lite is not drawn: {still.EXTRA}"
            return bundle, about
        width, height = still.size(picture)
        bundle["image/png"] = base64.b64encode(picture).decode("ascii")
        about["image/png"] = {"width": width, "height": height, "alt": words}
        return bundle, about

    @error_boundary
    def save(self, fp: Any, format: Any = None, *more: Any, **options: Any) -> None:
        """Altair's `save`. A file of pixels or of SVG is drawn by vl-convert; without it the extra is named that brings
        it, and JSON and HTML are written all the same. A file is written whole or not at all, as all files of dpviz."""
        kind: Any = format or (PurePath(fp).suffix.lstrip(".").lower() if isinstance(fp, str | PurePath) else "")
        if kind in still.KINDS and not still.installed():
            raise ParameterError.of(
                kind,
                "vl-convert, which draws a chart as PNG, SVG or PDF, is not installed",
                f"install it: {still.EXTRA}",
            )
        if kind not in still.FORMATS:
            raise ParameterError.of(
                as_given(kind) if kind else "no format",
                f"a chart is saved as {', '.join(still.FORMATS[:-1])} or {still.FORMATS[-1]}",
                'end the name of the file in .svg, or write format="svg"',
            )
        if not isinstance(fp, str | PurePath):
            super().save(fp, kind, *more, **options)
            return
        files.free(fp, "a chart", "visits.svg")
        drawn: Any = io.BytesIO() if kind in ("png", "pdf") else io.StringIO()
        super().save(drawn, kind, *more, **options)
        content = drawn.getvalue()
        if isinstance(content, str):
            content = content.encode(options.get("encoding", "utf-8"))
        files.write(fp, content, "a chart", "visits.svg")


def picture_of(
    parts: list[Any],
    *,
    title: list[str],
    subtitle: list[str],
    description: str,
    colours: Palette,
    head: str,
    second: str | None = None,
    left: float = AXIS_ROOM - 8,
    **more: Any,
) -> Picture:
    """The parts below each other under one title, which starts `left` of the plots.

    `head` and `second` are the colours of the title and of the lines below it.
    """
    return Picture(
        vconcat=parts,
        title=alt.TitleParams(
            text=title, subtitle=subtitle, color=head, subtitleColor=second or colours.quiet, dx=-left
        ),
        description=description,
        config=alt.Config(**config(colours)),
        **more,
    )


def upright_axis(title: str | None, **more: Any) -> alt.Axis:
    """A vertical axis whose title stands above it, unrotated, and which takes the same room in every panel."""
    return alt.Axis(
        title=title,
        titleAngle=0,
        titleAlign="left",
        titleAnchor="end",
        titleX=8 - AXIS_ROOM,
        titleY=-12,
        titleBaseline="bottom",
        ticks=False,
        domain=False,
        labelPadding=6,
        minExtent=AXIS_ROOM - 8,
        maxExtent=AXIS_ROOM - 8,
        **more,
    )


def refused(given: object, accepted: str) -> NoReturn:
    """Anything but the few public types is turned away unread: neither a value nor a repr of it is shown."""
    kind = kind_of(given)
    free = kind == "Plan" and "PlanSheet" in accepted  # a plan has a sheet, and its release would cost
    raise Forbidden.of(
        f"a {kind}",
        f"a chart is drawn from {accepted}",
        "give the sheet of the plan, plan.sheet"
        if free
        else "release it first, or declare it public with dv.PublicTable",
    )


def width_of(width: object) -> int:
    return whole(width, "width", least=NARROWEST, most=WIDEST)


protect_module(vars())
