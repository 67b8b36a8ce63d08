"""Run the cells of a lesson as a browser's Python would: `python in_the_browser.py PACKAGE NOTEBOOK`.

It runs in an environment with Pyodide's versions of packages. Threads, processes, hard links and names of users are
taken away, as Pyodide has none of them. The result is one line of JSON.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import os
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from typing import Any, NoReturn

REFUSED = {"thread": 0, "process": 0}


def refuse(kind: str, error: Exception) -> Callable[..., NoReturn]:
    def refused(*given: object, **named: object) -> NoReturn:
        REFUSED[kind] += 1
        raise error

    return refused


def become_a_browser() -> None:
    sysconfig.get_config_vars()  # read from a file that is named after the platform
    sys.platform = "emscripten"
    threading.Thread.start = refuse("thread", RuntimeError("can't start new thread"))  # type: ignore[method-assign]
    subprocess.Popen.__init__ = refuse("process", OSError("emscripten does not support processes."))  # type: ignore[method-assign]
    del os.link
    del os.fork
    __import__("pandas")  # it looks how wide the integers of its own build are
    sys.maxsize = 2**31 - 1
    sys.modules["pwd"] = sys.modules["resource"] = None  # type: ignore[assignment]


def shown(cells: list[str]) -> list[dict[str, Any]]:
    """Run the cells, and return what a notebook would show of the last line of each."""
    from IPython.core.formatters import DisplayFormatter

    draw, names, found = DisplayFormatter().format, {"__name__": "__main__"}, []
    for cell in cells:
        tree = ast.parse(cell)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        found.append({} if value is None else draw(value)[0])
    return found


def main(package: str, notebook: str) -> None:
    with open(notebook, encoding="utf-8") as file:
        cells = [one for one in json.load(file)["cells"] if one["cell_type"] == "code" and one["id"] != "install"]
    become_a_browser()
    sys.path.insert(0, package)
    pictures = shown(["".join(one["source"]) for one in cells])
    import dpviz

    print(
        json.dumps(
            {
                "package": dpviz.__file__,
                "cells": len(cells),
                "refused": REFUSED,
                "threads": threading.active_count(),
                "versions": {one.name.lower(): one.version for one in importlib.metadata.distributions()},
                "charts": [value for one in pictures for kind, value in one.items() if "vegalite" in kind],
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
