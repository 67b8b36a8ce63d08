"""A release as an HTML table, for a notebook's cell and for a report without JavaScript. Every text is escaped."""

from __future__ import annotations

from fractions import Fraction

from dpviz.charts.picture import heading, promise
from dpviz.charts.words import capital, escape, known, often, shown, spread
from dpviz.exact import Number, probability
from dpviz.hidden import publicly
from dpviz.model.answer import Ranked, SparseTable, Table
from dpviz.model.release import Release

SHORT = 12
"""How many rows a notebook shows; `to_frame` has all."""

BARS = ("any one item", "all at once")
BIASED = "Values of items that were chosen by them lie too high on average."


@publicly
def of_release(release: Release) -> str:
    """What a notebook shows for a release in a cell's last line."""
    return table(release, most=SHORT)


def table(release: Release, *, beta: Number = "0.05", most: int | None = None) -> str:
    """Title, guarantee, and per bin the value with both its intervals; the first `most` rows where that is given.

    The class keeps notebooks from reading two dollar signs in a label as a formula.
    """
    level = probability(beta, "beta", zero=False)
    if release.places is not None:
        return _list(release, level, most)
    one, every = release.bars(level)
    if not isinstance(release.answer, Table | SparseTable):
        return (
            f"<p><strong>{escape(heading(release))}</strong><br>{escape(capital(promise(release)))}.</p>"
            f"<p>{release.question.domain.size_text}, answered one by one: release[label]. "
            f"{often(level)}: any one bin {spread(one)} ({escape(known(one))}).</p>"
        )
    sparse, values = isinstance(release.answer, SparseTable), release.values
    first = values if most is None else values[:most]
    names_of = release.labels if sparse else [release.question.domain.label(index) for index in range(len(first))]
    bars = [one.value] if every is None else [one.value, every.value]
    rows = []
    for label, value in zip(names_of, first, strict=False):
        ends = [release.interval(value, bar) for bar in bars]
        cells = [shown(value), *(f"{shown(low)} to {shown(high)}" for low, high in ends)]
        row = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f"<tr><th scope='row'>{escape(label)}</th>{row}</tr>")
    if len(first) < len(values):
        rows.append(f"<tr><td colspan='4'>… {len(values) - len(first):,} more rows, in to_frame()</td></tr>")
    verb = "released" if release.teaching is None else "drawn"
    every_bin = release.question.domain.size_text.removesuffix(" bins") if sparse else f"{len(values):,}"
    among = [] if every is None else [f"among all {every_bin}"]
    said = "" if every is None else f", all {every_bin} at once {spread(every)} ({escape(known(every))})"
    unseen = " A bin that is not shown reads 0." if sparse else ""
    names = ("bin", verb, "this bin alone", *among)
    heads = "".join(f"<th scope='col'>{name}</th>" for name in names)
    return (
        "<div class='mathjax_ignore tex2jax_ignore'>"
        f"<p><strong>{escape(heading(release))}</strong><br>{escape(capital(promise(release)))}.</p>"
        f"<p>{often(level)}: any one bin {spread(one)} ({escape(known(one))}){said}.{unseen}</p>"
        f"<table><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _list(release: Release, beta: Fraction, most: int | None) -> str:
    """A list with its ranks, or a set: what came, ⊥ in its place, and what the ending means."""
    ordered, items = isinstance(release.answer, Ranked), release.items
    bars = [bar for bar in release.bars(beta) if bar is not None] if release.valued else []
    verb = "released" if release.teaching is None else "drawn"
    names = ["rank"] * ordered + ["item"] + [verb, "this item alone", "among all"][: 1 + len(bars)] * bool(bars)
    heads = "".join(f"<th scope='col'>{name}</th>" for name in names)
    rows = []
    for place, item in enumerate(items[:most]):
        cells = [f"{place + 1:,}"] * ordered + [escape(item)]
        if bars:
            value = release.values[place]
            ends = (release.interval(value, bar.value) for bar in bars)
            cells += [shown(value), *(f"{shown(low)} to {shown(high)}" for low, high in ends)]
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    if most is not None and len(items) > most:
        rows.append(f"<tr><td colspan='{len(names)}'>… {len(items) - most:,} more rows, in to_frame()</td></tr>")
    if ordered and release.ended:
        rows.append(f"<tr><td>{len(items) + 1:,}</td><td colspan='{len(names) - 1}'>⊥ (no more)</td></tr>")
    errors = "; ".join(f"{name} {spread(bar)} ({escape(known(bar))})" for name, bar in zip(BARS, bars, strict=False))
    said = f" {often(beta)}: {errors}. {BIASED}" if bars else ""
    return (
        "<div class='mathjax_ignore tex2jax_ignore'>"
        f"<p><strong>{escape(heading(release))}</strong><br>{escape(capital(promise(release)))}.</p>"
        f"<p>{escape(release.sentence)}{said}</p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
