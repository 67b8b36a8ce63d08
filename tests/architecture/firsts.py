"""What happens where any module of the package is the very first that is imported, without importing one.

A program imports one module, and which one is anybody's choice. Two modules that import names of each other work or
fail by who comes first, which tests that import everything in one order never see. Here an import is followed as Python
does it: packages before what is in them, each statement at the top of a file in its order, and a name taken from a file
that is only half read must stand there by then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Step = tuple[str, str, tuple[str, ...]]
"""An import (module, names), or a name that is there from now on ("", name)."""


def steps(source: str, module: str) -> list[Step]:
    """What reading a file does, at its top level, in order."""
    return list(_steps(ast.parse(source).body, module))


def _steps(body: list[ast.stmt], module: str) -> Iterator[Step]:
    for node in body:
        if isinstance(node, ast.Import):
            for one in node.names:
                yield "import", one.name, ()
                yield "name", one.asname or one.name.partition(".")[0], ()
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: imports are absolute"
            yield "import", node.module or "", tuple(one.name for one in node.names)
            yield from (("name", one.asname or one.name, ()) for one in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _steps(node.orelse, module)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield "name", node.name, ()
        else:
            inner = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
            inner += [handler.body for handler in getattr(node, "handlers", [])]
            for part in inner:
                yield from _steps(part, module)
            for written in ast.walk(node):
                if isinstance(written, ast.Name) and isinstance(written.ctx, ast.Store):
                    yield "name", written.id, ()


@dataclass
class First:
    """A fresh interpreter: `modules` are the steps of each file of the package, by the name of its module."""

    modules: Mapping[str, list[Step]]
    names: dict[str, set[str]] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)

    def load(self, module: str, who: str = "") -> str:
        """Import a module; what is wrong, or nothing."""
        parent = module.rpartition(".")[0]
        if parent and (wrong := self.load(parent, who)):
            return wrong
        if module not in self.modules or module in self.names:
            return ""
        held = self.names[module] = set()
        for kind, name, taken in self.modules[module]:
            if kind == "name":
                held.add(name)
            elif name in self.modules:
                wrong = self.load(name, module) or self.take(name, taken, module)
                if wrong:
                    return wrong
        self.whole.add(module)
        return ""

    def take(self, module: str, taken: tuple[str, ...], who: str) -> str:
        """Names of a module: those that stand there, or modules in it."""
        for name in taken:
            inside = f"{module}.{name}"
            if name not in self.names[module] and inside in self.modules:
                if wrong := self.load(inside, who):
                    return wrong
            elif module not in self.whole and not {name, "__getattr__"} & self.names[module]:
                return f"{who} takes {name} from {module}, which is only half read by then"
        return ""


def failures(sources: Mapping[str, str]) -> list[str]:
    """What is wrong, for each module that cannot be the first: `sources` are the files by the names of modules."""
    modules = {module: steps(source, module) for module, source in sources.items()}
    found = ((module, First(modules).load(module)) for module in sorted(modules))
    return [f"{module}, imported first: {wrong}" for module, wrong in found if wrong]
