"""Which frames of a traceback are the package's own. They are known by their module: a checkout may lie anywhere."""

from __future__ import annotations

from types import FrameType


def is_ours(frame: FrameType) -> bool:
    """Whether a frame runs code of the package."""
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "dpviz"
