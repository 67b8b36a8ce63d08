"""The picture that a chart carries beside its Vega-Lite: the pixels that vl-convert draws, and nbconvert shows it."""

from __future__ import annotations

import base64
import json
import sys
import tomllib
import zlib
from pathlib import Path

import nbformat
import pytest
import vl_convert
from nbconvert.exporters import HTMLExporter, LatexExporter

from dpviz.charts import still
from dpviz.charts.canvas import LAB_MIME, Picture
from dpviz.charts.counts import histogram
from dpviz.errors import ParameterError
from dpviz.mechanisms.dense import Dense
from tests.charts.made import released
from tests.charts.test_counts import LEGIBLE, SMALL

ROOT = Path(__file__).parents[2]


def pixels(png: bytes) -> tuple[bytes, bytes]:
    """The head of a PNG, and its pixels."""
    chunks = list(still._chunks(png))
    return chunks[0][1], zlib.decompress(b"".join(content for name, content in chunks if name == b"IDAT"))


def test_the_picture_has_the_pixels_that_vl_convert_draws_in_fewer_bytes() -> None:
    bundle, about = histogram(LEGIBLE)._repr_mimebundle_()
    png = base64.b64decode(bundle["image/png"])
    drawn = vl_convert.vegalite_to_png(json.dumps(histogram(LEGIBLE).to_dict()), scale=still.SCALE)
    assert pixels(png) == pixels(drawn) and len(png) < len(drawn)
    width, height = int.from_bytes(drawn[16:20]), int.from_bytes(drawn[20:24])
    assert (about["image/png"]["width"], about["image/png"]["height"]) == (width // 2, height // 2)
    assert about["image/png"]["alt"] == bundle["text/plain"]
    at = 8
    for name, content in still._chunks(png):
        at += 12 + len(content)
        assert png[at - 4 : at] == zlib.crc32(name + content).to_bytes(4), name
    assert at == len(png)


def test_jupyterlab_still_gets_its_vega_lite() -> None:
    bundle, about = histogram(LEGIBLE)._repr_mimebundle_()
    assert bundle[LAB_MIME]["$schema"].endswith("/v5.json") and LAB_MIME in about


def notebook(chart: Picture) -> nbformat.NotebookNode:
    data, metadata = chart._repr_mimebundle_()
    shown = nbformat.v4.new_output("display_data", data=data, metadata=metadata)
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("chart", outputs=[shown])])


def test_nbconvert_shows_the_picture_in_a_page_and_in_a_paper() -> None:
    chart = histogram(released(SMALL, [1, 2, 3, 4], Dense("5")))
    made, png = notebook(chart), chart._repr_mimebundle_()[0]["image/png"]
    page, _ = HTMLExporter().from_notebook_node(made)
    assert f"data:image/png;base64,{png}" in page.replace("\n", "")
    paper, resources = LatexExporter().from_notebook_node(made)
    assert "includegraphics" in paper and base64.b64decode(png) in resources["outputs"].values()


def test_without_vl_convert_the_extra_is_named_and_jupyterlab_draws_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    bundle, about = histogram(LEGIBLE)._repr_mimebundle_()
    assert set(bundle) == {LAB_MIME, "text/plain"} == {*about, "text/plain"}
    assert bundle["text/plain"].endswith('pip install "dpviz[lab]"')
    page, _ = HTMLExporter().from_notebook_node(notebook(histogram(LEGIBLE)))
    assert "dpviz[lab]" in page


def test_what_is_named_is_what_draws_it() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert any(one.startswith("vl-convert-python") for one in extras["lab"])
    assert "dpviz[lab]" in still.EXTRA


def test_a_file_that_vl_convert_draws_names_the_extra_without_it_and_the_others_are_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chart = histogram(LEGIBLE)
    for kind in still.KINDS:
        chart.save(tmp_path / f"there.{kind}")
        assert (tmp_path / f"there.{kind}").stat().st_size > 1000
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    for kind in still.KINDS:
        for given, options in ((tmp_path / f"x.{kind}", {}), (str(tmp_path / "x"), {"format": kind})):
            with pytest.raises(
                ParameterError, match=r'is not installed, got .*; install it: pip install "dpviz\[lab\]"'
            ):
                chart.save(given, **options)
            assert not Path(given).exists()
    chart.save(tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text())["description"] == chart.to_dict()["description"]
    assert chart._repr_mimebundle_()[0][LAB_MIME]["$schema"].endswith("/v5.json")
