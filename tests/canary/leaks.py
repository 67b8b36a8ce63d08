"""Leaks on purpose, one of each kind, made after the honest session has ended: the hunter must find each."""

from __future__ import annotations

import base64
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets
from IPython.core.getipython import get_ipython
from IPython.display import display

import dpviz as dv
from dpviz.boundary import Hidden
from tests.canary import mistakes, private


class Telltale(anywidget.AnyWidget):
    """A component that sends and mirrors what it should not."""

    _esm = "export default { render() {} }"
    mirror = traitlets.Unicode().tag(sync=True)

    def tell(self, counts: Any, label: str) -> None:
        self.mirror = json.dumps({"share": counts[0] / 2**0})
        self.send({"count": f"{counts[1]:,}", "label": label})
        self.send({"packed": base64.b64encode(b"v" + counts[2:].tobytes()).decode()})
        self.send({}, buffers=[counts.astype(np.float64).tobytes()])


class Chatty(dv.Release):
    """A release whose repr shows a truth."""

    def __repr__(self) -> str:
        return f"<Release: truly {self.dataset}>"


def careless(counts: Any) -> None:
    """A frame with private locals."""
    raise ValueError(f"{len(counts)} counts")


def leak_all(scene: mistakes.Scene) -> None:
    counts = np.array(private._read("counts.json")["counts"])
    label = private.people()["place"].iloc[3]
    telltale = Telltale()
    display(telltale)
    telltale.tell(counts, label)
    print(repr(Chatty(scene.release.terms, scene.release.answer, "exact", "none", dataset=str(counts[4]))))
    logging.getLogger("leak").debug("hex %s", label.encode("utf-16-le").hex())
    warnings.warn(f"a label like {label!a}", stacklevel=1)
    Path("leak.json").write_text(dv.charts.histogram(dv.PublicTable(mistakes.BINS, counts)).to_json())
    try:
        careless(counts)
    except ValueError as error:
        get_ipython().showtraceback()
        Path("leak.txt").write_text(repr([frame.f_locals for frame in _frames(error)]))
    Path("leak.bin").write_bytes(counts.astype(">i8").tobytes() + repr(Hidden(1)).encode())


def _frames(error: BaseException) -> list[Any]:
    trace, frames = error.__traceback__, []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return frames
