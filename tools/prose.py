"""Sentences that hide their subject: those of docstrings, comments and messages that begin as `OPENINGS` do."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

OPENINGS = ("What", "Whatever", "Whoever", "So many", "So often", "That of which", "Of which", "How far")
"""First words of a sentence after which its subject is a clause. Questions, which hold a question mark, may."""

BEGINS = re.compile(rf"(?:{'|'.join(OPENINGS)}) .")
PARAGRAPH = re.compile(r"\n\s*\n|\n-{3,}\n|\n\s*(?=[-*] )")
DESCRIPTION = re.compile(r"^((?:( *)\S.*))\n(?=\2 +\S)", re.MULTILINE)
"""A line before one that is indented more: the name and type before the description of a parameter."""
FULL_STOP = re.compile(r"(?<=[.!?:;])\s+")


def sentences(text: str) -> Iterator[str]:
    """Split a text into sentences.

    Parameters
    ----------
    text : str
        Paragraphs, with lines broken anywhere.

    Returns
    -------
    iterator of str
        The sentences, each on one line.
    """
    for paragraph in PARAGRAPH.split(DESCRIPTION.sub(r"\1\n\n", text)):
        yield from FULL_STOP.split(" ".join(paragraph.split()))


def hidden(text: str) -> list[str]:
    """The sentences of a text that hide their subject."""
    return [one for one in sentences(text) if BEGINS.match(one) and "?" not in one]


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Docstrings, messages and comments of Python code, each with its first line. A block of comments is one text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    block: list[str] = []
    start = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if block and token.start[0] != last + 1:
                yield start, "\n".join(block)
                block = []
            start, last = (start if block else token.start[0]), token.start[0]
            block.append(token.string.lstrip("#: "))
    if block:
        yield start, "\n".join(block)


SCRIPT = re.compile(r"/\*\*?(.*?)\*/|((?:^[ \t]*//[^\n]*\n)+)", re.DOTALL | re.MULTILINE)


def script_texts(source: str) -> Iterator[tuple[int, str]]:
    """Comments of TypeScript, each with its first line. Lines of `//` that follow each other are one text."""
    for found in SCRIPT.finditer(source):
        text = re.sub(r"^[ \t]*(?:\*|//) ?", "", found[1] or found[2], flags=re.MULTILINE)
        yield source.count("\n", 0, found.start()) + 1, text.strip()


def openings(folder: Path) -> list[str]:
    """Find sentences that hide their subject in the Python and TypeScript files below a folder.

    Parameters
    ----------
    folder : Path
        Where to look.

    Returns
    -------
    list of str
        For each sentence the file, the line at which its text starts, and the sentence.
    """
    return [
        f"{path.relative_to(folder.parent)}:{line}: {sentence}"
        for pattern, read in (("*.py", texts), ("*.ts", script_texts))
        for path in sorted(folder.rglob(pattern))
        if "node_modules" not in path.parts
        for line, text in read(path.read_text(encoding="utf-8"))
        for sentence in hidden(text)
    ]
