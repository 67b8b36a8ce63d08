"""What messages may say: no number that a reader could take for a count of the data, by accident or by example."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import dpviz as dv

ROOT = Path(dv.__file__).parent

NUMBER = re.compile(r"(?<![\w.^/\-])\d[\d,_]*\d(?![\w.]*\d|\^)|(?<![\w.^/\-])[3-9](?![\w.^])")
"""A whole number of two digits or more, or one from 3 on; no part of a name, a decimal, a fraction or a power.

0, 1 and 2 stand in too many sentences to mean anything.
"""

RULES = {
    "95 in 100": "how often a bar holds",
    "1 to 200 characters": "the length of a key",
    "2^53": "the largest whole number in JSON",
    "32 to 128 hexadecimal digits": "the length of a digest",
    "at most 30 places": "the grid of amounts",
    "over 1..50": "the grid of amounts",
    "64-bit": "the width of a number",
    "decimal(38, 0)": "a type of an engine",
    "decimal(8, 6)": "a type of an engine",
    "Best below about 10,000 bins": "the size that a mechanism is for",
    ", 10,000 look-ups": "how many look-ups a time is told for",
}
"""Numbers that are rules of the package. Whatever the data are, they read the same; none is an example to be copied."""

CITED = re.compile(r"\b(Theorem|Lemma|Corollary|Algorithm|Figure|Section|Proposition)s? [\d.]+( and [\d.]+)?")
YEAR = re.compile(r"\b(19|20)\d\d\b(?=[;,:]|$)")


def spoken(source: str) -> Iterator[tuple[int, str]]:
    """The texts that code hands on, in sentences or parts of sentences: not its docstrings."""
    tree = ast.parse(source)
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.lineno, node.value


@cache
def spoken_in(path: Path) -> list[tuple[int, str]]:
    return list(spoken(path.read_text(encoding="utf-8")))


def examples(text: str) -> list[str]:
    """Numbers in a text that are neither a rule of the package nor the place of a theorem."""
    for rule in RULES:
        text = text.replace(rule, " ")
    return NUMBER.findall(YEAR.sub(" ", CITED.sub(" ", text)))


def is_message(text: str) -> bool:
    """Words with spaces between them; no markup, no statement for a database, no path of a drawing."""
    written = r"<[a-z!/]|SELECT|CREATE TABLE|PRAGMA|CAST|viewBox|datum|\{|;\s*$"
    return " " in text.strip() and not re.search(written, text)


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_message_gives_a_number_as_an_example(path: Path) -> None:
    found = [(line, text, examples(text)) for line, text in spoken_in(path) if is_message(text) and examples(text)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("write Unit(..., n=20190)", ["20190"]),
        ("type a number like 10", ["10"]),
        ("write dv.Between(18)", ["18"]),
        ("one of 7 rows", ["7"]),
        ("there are 20,190 rows", ["20,190"]),
        ("write it like 0.1 or 1/10", []),
        ("a delta like 0.000001 or 1/1000000", []),
        ("Balcer, Vadhan 2018, Theorem 5.2, at the ratio in force", []),
        ("key must be a text of 1 to 200 characters", []),
    ],
)
def test_an_example_is_told_from_a_rule_a_price_and_a_theorem(text: str, numbers: list[str]) -> None:
    assert examples(text) == numbers


def test_every_rule_is_said_somewhere() -> None:
    """A rule that nobody says any more would excuse the next example."""
    said = [text for path in ROOT.rglob("*.py") for _, text in spoken_in(path)]
    assert [rule for rule in RULES if not any(rule in text for text in said)] == []


def test_what_a_unit_asks_for_is_no_number_of_rows() -> None:
    rows = str(len(dv.datasets.doctor_visits()))
    with pytest.raises(dv.DpvizError) as refused:
        dv.Unit("row", relation="replace-one")
    assert rows not in str(refused.value) + refused.value.next_step
