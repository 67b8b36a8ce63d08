"""The HTML table of a release, and the words that charts and tables share."""

from __future__ import annotations

from fractions import Fraction
from html.parser import HTMLParser

import pytest

import dpviz as dv
from dpviz.charts.tables import of_release, table
from dpviz.charts.words import often, shown, wrapped
from tests.charts.made import FEW_HIGH, HOSTILE, VISITS, released


class Reader(HTMLParser):
    """The cells of a table, row by row, and every tag met."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: set[str] = set()
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def test_the_table_has_the_numbers_of_the_frame() -> None:
    release = released(VISITS, FEW_HIGH)
    head, *body = Reader(table(release)).rows
    assert head == ["bin", "released", "this bin alone", "among all 42"]
    frame = release.to_frame()
    assert len(body) == 42
    for cells, row in zip(body, frame.itertuples(), strict=True):
        assert cells == [
            row.bin,
            shown(row.value),
            f"{shown(row.low)} to {shown(row.high)}",
            f"{shown(row.low_all)} to {shown(row.high_all)}",
        ]


def test_a_notebook_shows_the_first_rows_and_says_how_many_there_are_more() -> None:
    content = of_release(released(VISITS, FEW_HIGH))
    assert len(Reader(content).rows) == 1 + 12 + 1
    assert "30 more rows" in content
    assert "0.1-differential privacy for adding or removing one person-year." in content


def test_a_hostile_label_stays_text() -> None:
    domain = dv.Domain.categories([HOSTILE, "'\"&"], column=HOSTILE)
    found = Reader(table(released(domain, [20, 13])))
    assert found.tags <= {"div", "p", "strong", "br", "table", "thead", "tbody", "tr", "th", "td"}
    assert [row[0] for row in found.rows[1:]] == [HOSTILE, "'\"&"]


def test_a_teaching_draw_is_marked_and_not_called_a_release() -> None:
    content = table(released(VISITS, FEW_HIGH, teaching=7))
    assert "Not private · teaching, seed 7" in content
    assert "protects nobody" in content
    assert "release" not in content.lower()
    assert "differential privacy" not in content


@pytest.mark.parametrize(
    ("beta", "said"),
    [("1/20", "95 in 100"), ("1/1000", "999 in 1,000"), ("1/3", "with chance 2/3"), ("0.0005", "9,995 in 10,000")],
)
def test_beta_in_words(beta: str, said: str) -> None:
    assert often(Fraction(beta)) == said


def test_long_words_are_cut_to_their_lines() -> None:
    lines = wrapped("word " * 500, 300, 12, most=3)
    assert len(lines) == 3
    assert lines[-1].endswith("…")
    assert all(len(line) * 0.52 * 12 <= 300 for line in lines)
