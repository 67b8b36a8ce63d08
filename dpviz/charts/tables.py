"""A release as an HTML table, for a notebook's cell and for a report without JavaScript. Every text is escaped."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

from dpviz.boundary import kind_of, plain_arguments
from dpviz.charts.picture import heading, promise
from dpviz.charts.words import capital, escape, known, often, spread, sure
from dpviz.errors import Forbidden
from dpviz.exact import Number, probability
from dpviz.kinds import is_a
from dpviz.model.answers.reading import Among, BinGrid
from dpviz.model.answers.values import listed
from dpviz.model.error import ErrorValue
from dpviz.model.limited import WITHIN
from dpviz.model.release import Release

SHORT = 12
"""How many rows a notebook shows; `to_frame` has all."""


@plain_arguments
def of_release(release: Release) -> str:
    """Return the table that a notebook shows for a release in a cell's last line.

    Parameters
    ----------
    release : Release
        A release or a teaching draw.

    Returns
    -------
    str
        HTML, escaped.

    Raises
    ------
    Forbidden
        If it is no release.
    """
    if not is_a(release, Release):
        raise Forbidden.of(f"a {kind_of(release)}", "a table is written of a Release", "write session.releases[1]")
    return table(release, most=SHORT)


def table(release: Release, *, beta: Number = "0.05", most: int | None = None) -> str:
    """Title, guarantee, and for each row its value with both its intervals; the first `most` rows where that is given.

    The class keeps notebooks from reading two dollar signs in a label as a formula.
    """
    level = probability(beta, "beta", zero=False)
    head = f"<p><strong>{escape(heading(release))}</strong><br>{escape(capital(promise(release)))}.</p>"
    remarks = (
        release.sentence,
        *release.sureness(level),
        errors_sentence(release, level),
        release.answer.remark(release.reading),
    )
    about = f"<p>{escape(' '.join(filter(None, remarks)))}</p>"
    answer = release.answer
    if (grid := answer.side_by_side(release.reading)) is not None:
        rows = _grid(grid, most)
    else:
        rows = _rows(release, level, most) if answer.has_rows else ""
    return f"<div class='mathjax_ignore tex2jax_ignore'>{head}{about}{rows}</div>"


def _grid(grid: BinGrid, most: int | None) -> str:
    """The answers about all parts side by side."""
    heads = "".join(f"<th scope='col'>{escape(name)}</th>" for name in grid.heads)
    lines = [
        f"<tr><th scope='row'>{escape(name)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
        for name, *cells in grid.rows[slice(most)]
    ]
    if most is not None and (more := len(grid.rows) - most) > 0:
        lines.append(f"<tr><td colspan='{len(grid.heads)}'>… {more:,} more rows, in to_frame()</td></tr>")
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def errors_sentence(release: Release, beta: Fraction) -> str:
    """`95 in 100: any one bin ±30 (exact), all 42 at once ±67 (exact).`; nothing where there are no values."""
    if release.answer.parts is not None:
        return errors_sentence(next(iter(release.groups.values())), beta)
    axis, answer = release.axis, release.answer
    if not answer.has_values:
        return ""
    one, every = answer.bars(release.reading, beta)
    limited = f", for what is {WITHIN}" if release.reading.limited.cuts else ""
    if one is None:
        return f"{capital(axis.one)} lies within its interval {often(beta)} times{limited}."
    errors = f"{often(beta)}{limited}: {axis.one} {spread(one)} ({known(one)})"
    return f"{errors}." if every is None else f"{errors}, {axis.every} {spread(every)} ({known(every)})."


def _rows(release: Release, beta: Fraction, most: int | None) -> str:
    """The rows of a table under their names, and what comes after the last."""
    axis, reading, some = release.axis, release.reading, slice(most)
    columns = release.answer.lines(reading)
    names, cells = list(columns), [[_cell(cell) for cell in column[some]] for column in columns.values()]
    if release.valued:
        limited, half = reading.limited, _half(release.answer.bars(reading, beta)[0])
        names.append(("released" if release.teaching is None else "drawn") + ", counted" * limited.cuts)
        cells.append([sure(value, half) for value in listed(release.answer.read(reading, some))])
        for among, name in (("one", axis.alone), ("all", axis.among)):
            half = _half(release.answer.bars(reading, beta)[among == "all"])
            intervals = release.answer.intervals(reading, beta, cast(Among, among), some)
            if intervals is None:
                continue
            pairs = [(name, intervals.asked(limited))]
            pairs += [(f"{name}, {WITHIN}", intervals)] if limited.cuts else []
            for head, ends in pairs:
                names.append(head)
                cells.append([interval_text(*both, half) for both in zip(ends.low, ends.high, strict=True)])
    label, told = list(columns).index(axis.noun), (axis.domain or release.question.domain).told
    lines = []
    for row in zip(*cells, strict=True):
        line = [f"<td>{escape(cell)}</td>" for cell in row]
        line[label] = f"<th scope='row'>{escape(told(row[label]))}</th>"
        lines.append(f"<tr>{''.join(line)}</tr>")
    if most is not None and (more := len(axis.labels) - most) > 0:
        lines.append(f"<tr><td colspan='{len(names)}'>… {more:,} more rows, in to_frame()</td></tr>")
    if last := release.answer.last_row(reading):
        line = [f"<td>{escape(cell)}</td>" for cell in last[:-1]]
        span = len(names) - len(line)
        lines.append(f"<tr>{''.join(line)}<td colspan='{span}'>{escape(last[-1])}</td></tr>")
    heads = "".join(f"<th scope='col'>{escape(name)}</th>" for name in names)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _cell(cell: object) -> str:
    return cell if isinstance(cell, str) else f"{cell:,}"


def _half(bar: ErrorValue | None) -> Fraction | None:
    return None if bar is None else Fraction(bar.value)


def interval_text(low: int | Fraction | None, high: int | Fraction | None, half: Fraction | None = None) -> str:
    """`6,263 to 6,323`; an open end is said."""
    if low is None:
        return "anything" if high is None else f"at most {sure(high, half, 1)}"
    if high is None:
        return f"at least {sure(low, half, -1)}"
    return f"{sure(low, half, -1)} to {sure(high, half, 1)}"
