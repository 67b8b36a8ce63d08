"""A page for each mechanism: a call to copy with its plan and its answer, and the statements of its docstring."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from dpviz.mechanisms import OPENINGS, REGISTRY
from tools.docstrings import sections
from tools.site.cells import ROOT

VISITS = """\
import dpviz as dv

session = dv.Session(dv.datasets.doctor_visits(), unit=dv.Unit("row", noun="person-year"),
                     budget=dv.Budget(epsilon="4", delta="1e-5"), ledger="visits.ledger")
"""
FLIGHTS = """\
import dpviz as dv

session = dv.Session(dv.datasets.flights(), unit=dv.Unit("{unit}", {more}),
                     budget=dv.Budget(epsilon="4", delta="1e-5"), ledger="flights.ledger")
"""
BY_FLIGHT = FLIGHTS.format(unit="row", more='noun="flight"')
BY_AIRCRAFT = FLIGHTS.format(unit="aircraft", more="max_bins=5")
REPLACED = """\
import dpviz as dv

visits = dv.datasets.doctor_visits()
session = dv.Session(visits, unit=dv.Unit("row", relation="replace-one", n=len(visits), noun="person-year"),
                     budget=dv.Budget(epsilon="4", delta="1e-5"), ledger="records.ledger")
"""
BINS = 'question = dv.Domain.integers(0, 40, column="visits", overflow=True)\n'
MINUTES = 'question = dv.Domain.integers(0, 525_599, column="scheduled_minute")\n'
DAYS = 'question = dv.Domain.intervals([day * 1440 for day in range(366)], column="scheduled_minute")\n'
HEALTH = """\
question = dv.Domain.product(
    dv.Domain.integers(0, 12, column="visits", overflow=True),
    dv.Domain.integers(0, 1, column="physical_limitation"),
    dv.Domain.categories(["excellent", "good", "fair", "poor"], column="self_rated_health"),
)
"""


class Recipe(NamedTuple):
    """A mechanism at work.

    asks    the code that opens a session and states the question
    call    the mechanism as it is called
    after   the code that shows the answer
    avoid   when another mechanism is better
    """

    asks: str
    call: str
    after: str
    avoid: str


CHART = "release.chart()"

RECIPES = {
    "Dense": Recipe(
        VISITS + BINS,
        'dv.Dense(epsilon="1/2")',
        CHART,
        "Above about 10,000 bins, most of what it shows is noise on empty bins: take a sparse mechanism. For sums over "
        "long ranges of bins, the noises of all bins add up: take `dv.Tree`.",
    ),
    "Stability": Recipe(
        BY_FLIGHT + 'question = dv.Domain.keys(column="destination")\n',
        'dv.Stability(epsilon="1/2", delta="1e-6")',
        CHART,
        "Where no δ may be spent. Where small counts matter: a bin below the threshold is not shown.",
    ),
    "PureSparse": Recipe(
        BY_FLIGHT + MINUTES,
        'dv.PureSparse(epsilon="1", cap=100)',
        "release.to_frame().head()",
        "Where δ may be spent and small bins matter: the threshold of `dv.Stability` does not grow with the domain.",
    ),
    "Compact": Recipe(
        BY_FLIGHT + MINUTES,
        'dv.Compact(epsilon="1", cap=100)',
        "release.many([1800, 3240, 63_720])",
        "Where bins below about 10,000 are declared: `dv.Dense` has smaller errors and shows all of them at once.",
    ),
    "Tree": Recipe(
        BY_FLIGHT + DAYS,
        'dv.Tree(epsilon="1")',
        "release.range(0, 30)",
        "For single bins, or fewer than some hundred of them: `dv.Dense` errs less there.",
    ),
    "TopK": Recipe(
        BY_AIRCRAFT + 'question = "destination"\n',
        'dv.TopK(k=10, kbar=50, epsilon="1", delta="1e-6")',
        CHART,
        "Where a count beside each item is needed: take `dv.TopKLaplace`, or `dv.Stability`.",
    ),
    "TopKLaplace": Recipe(
        BY_FLIGHT + 'question = "destination"\n',
        'dv.TopKLaplace(k=10, kbar=50, epsilon="1", delta="1e-6")',
        CHART,
        "Where one unit touches many items: its price grows with their number, and that of `dv.TopK` does not.",
    ),
    "TopKSet": Recipe(
        BY_FLIGHT + 'question = "destination"\n',
        'dv.TopKSet(k=10, epsilon="1", delta="1e-6")',
        CHART,
        "Where the order of the items matters: take `dv.TopK`.",
    ),
    "ExponentialTopK": Recipe(
        VISITS + 'question = dv.Domain.integers(0, 40, column="visits", overflow=True)\n',
        'dv.ExponentialTopK(k=5, epsilon="1")',
        CHART,
        "Where the items cannot be declared, or where a list should end when nothing more stands out: take `dv.TopK`.",
    ),
    "Sorted": Recipe(
        BY_FLIGHT + MINUTES,
        'dv.Sorted(epsilon="1/2")',
        CHART,
        "Where it matters which bin has a count: the answer has no labels.",
    ),
    "Queries": Recipe(
        VISITS + BINS,
        'dv.Queries(epsilon="1", queries={"all": None, "none": [0], "up to six": [*range(7)]})',
        CHART,
        "For more than 200 sums, or for sums that nobody named beforehand: take `dv.Tree`.",
    ),
    "Marginals": Recipe(
        VISITS + HEALTH,
        'dv.Marginals(epsilon="1")',
        'release.chart(columns=["self_rated_health", "visits"])',
        "For one table of two columns alone: `dv.Dense` on their product spends all of ε on it.",
    ),
    "Threshold": Recipe(
        BY_FLIGHT + 'question = "aircraft"\n',
        'dv.Threshold(epsilon="1", delta="1e-6")',
        'release["N14228"]',
        "Where small values matter: all below the threshold read 0. Take `dv.ALP` or `dv.ThresholdALP`.",
    ),
    "ALP": Recipe(
        BY_FLIGHT + 'question = "aircraft"\n',
        'dv.ALP(epsilon="1", keys=4000, cap=600)',
        'release["N14228"]',
        "Where values above the cap matter: they read as the cap. Take `dv.ThresholdALP`.",
    ),
    "ThresholdALP": Recipe(
        BY_FLIGHT + 'question = "aircraft"\n',
        'dv.ThresholdALP(epsilon="1", keys=4000, delta="1e-6")',
        'release["N14228"], release["N619AA"]',
        "For a few thousand declared bins: `dv.Dense` errs less.",
    ),
    "MaxProjection": Recipe(
        BY_FLIGHT + 'question = "aircraft"\n',
        'dv.MaxProjection(epsilon="1", keys=4000)',
        'release["N14228"]',
        "Where a value that is too high now and then is worse than a slower look-up: take `dv.ALP`.",
    ),
    "ThresholdMaxProjection": Recipe(
        BY_FLIGHT + 'question = "aircraft"\n',
        'dv.ThresholdMaxProjection(epsilon="1", keys=4000, delta="1e-6")',
        'release["N14228"]',
        "Where a value that is too high now and then is worse than a slower look-up: take `dv.ThresholdALP`.",
    ),
    "KeySelection": Recipe(
        BY_FLIGHT + 'question = "destination"\n',
        'dv.KeySelection(epsilon="1/2", delta="1e-6")',
        "release.items[:3]",
        "Where counts are wanted, too, or one unit is in three values or more: take `dv.Stability`, which shows counts "
        'from nearly the same size on, or from a smaller one with `base="gaussian"`.',
    ),
    "KeyCount": Recipe(
        BY_FLIGHT + 'question = "aircraft"\n',
        'dv.KeyCount(epsilon="1/10")',
        "release",
        "Where the number of keys is public already.",
    ),
    "SampleCategory": Recipe(
        REPLACED + 'question = dv.Question.records([dv.Domain.integers(0, 9, column="visits")])\n',
        'dv.SampleCategory(epsilon="1")',
        "release.draw(5)",
        "Where shares are wanted: release the histogram. For many columns of bits: take `dv.SampleProduct`.",
    ),
    "SampleBounded": Recipe(
        REPLACED + 'question = dv.Question.records([dv.Domain.integers(0, 1, column="physical_limitation")])\n',
        'dv.SampleBounded(epsilon="1")',
        "release.record",
        "Where a column may be rare or common. Where many records are wanted: each costs again.",
    ),
    "SampleProduct": Recipe(
        REPLACED + 'question = dv.Question.records([dv.Domain.integers(0, 1, column="physical_limitation")])\n',
        'dv.SampleProduct(epsilon="1", delta="1e-6")',
        "release.draw(5)",
        "Where columns depend on each other: the drawn record treats them as independent. Take `dv.SampleCategory`.",
    ),
    "RandomisedRecord": Recipe(
        REPLACED + 'question = dv.Question.records([dv.Domain.integers(0, 9, column="visits")])\n',
        'dv.RandomisedRecord(epsilon="1")',
        "release.record",
        "Where accuracy matters: it is the baseline that the other samplers are compared with.",
    ),
}
"""How each mechanism is called on public data. A mechanism without a recipe fails the build."""

OPENED = {
    "PayWhatYouGet": BY_AIRCRAFT
    + """
sub = session.open(dv.PayWhatYouGet(symbols=50, questions=20, epsilon="1", delta="1e-6"))   # paid once
sub.ask("destination", k=10)
""",
    "Parts": BY_FLIGHT
    + """
months = dv.Domain.intervals([month * 43_800 for month in range(13)], column="scheduled_minute")
sub = session.open(dv.Parts(months, epsilon="3", delta="1e-5"))                             # paid once
sub.ask("destination", dv.TopK(10, 50, epsilon="1", delta="1e-6"), part="0 to below 43800")
""",
    "FixedList": BY_FLIGHT
    + """
times = dv.Domain.intervals([month * 43_800 for month in range(13)], column="scheduled_minute")
lines = [(dv.Question(times, {"destination": key}), dv.Dense("1/10")) for key in ("ATL", "LAX", "ORD", "MIA", "BOS")]
lines += [(times, dv.Dense(f"{parts}/1000")) for parts in range(70, 100)]
batch = session.batch(lines, delta="1e-7")                                                    # paid once
batch.ask(*lines[0])
""",
}
"""How each kind of sub-session is opened and asked."""

LESSONS = {
    "10_finite_computers": ("Dense", "Stability", "KeySelection", "PureSparse", "Compact"),
    "20_consistency": ("Tree", "Sorted", "Queries", "Marginals"),
    "30_alp": ("Threshold", "ALP", "ThresholdALP", "MaxProjection", "ThresholdMaxProjection", "KeyCount"),
    "40_top_k": ("TopK", "TopKLaplace", "TopKSet", "ExponentialTopK", "PayWhatYouGet"),
    "50_sampling": ("SampleCategory", "SampleBounded", "SampleProduct", "RandomisedRecord"),
    "60_groups": ("Parts",),
}
"""The mechanisms that each lesson teaches."""


def pages() -> Iterator[tuple[str, str]]:
    """The files of the section, each with its text."""
    yield "index.md", _index()
    for name, kind in REGISTRY.items():
        yield f"{name}.md", _page(name, kind, _recipe(RECIPES[name]))
    for name, opened in OPENINGS.items():
        yield f"{name}.md", _page(name, opened, f"```python\n{OPENED[name]}```\n")


def _index() -> str:
    names = [*REGISTRY, *OPENINGS]
    offers = REGISTRY.offers()
    rows = [f"| [`{name}`]({name}.ipynb) | {offers[name].about} |" for name in REGISTRY]
    rows += [f"| [`{name}`]({name}.ipynb) | {summary(kind)} |" for name, kind in OPENINGS.items()]
    listed = "\n".join(names)
    return (
        "# Mechanisms\n\nEach page has a call to copy with its plan and its answer, the price with its proof, the "
        "error, and limits. To choose one, see [Which mechanism?](../which.md)\n\n| mechanism | answers |\n|---|---|\n"
        + "\n".join(rows)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    )


def _recipe(recipe: Recipe) -> str:
    shown = [
        f"```python\n{recipe.asks}\nsession.plan(question, {recipe.call})          # free\n```\n",
        f"```python\nrelease = session.release(question, {recipe.call})   # paid, once\n{recipe.after}\n```\n",
        f"## When not to use it\n\n{recipe.avoid}\n",
    ]
    return "\n".join(shown)


def summary(kind: type) -> str:
    return sections(kind.__doc__ or "")[""].partition("\n")[0]


def _page(name: str, kind: Any, recipe: str) -> str:
    told = sections(kind.__doc__ or "")
    about = f"{kind.about}\n\n" if isinstance(getattr(kind, "about", None), str) else ""
    parts = [f"# {name}\n\n<!-- run -->\n\n{about}{_markdown(told[''])}\n", f"## Use it\n\n{recipe}"]
    if "Notes" in told:
        parts.append(f"## Price and error\n\n{_markdown(told['Notes'])}\n")
    if delta := getattr(kind, "delta_text", ""):
        parts.append(f"## δ\n\n{delta}\n")
    if "References" in told:
        parts.append(f"## Paper and errata\n\n{_markdown(told['References'])}\n")
    parts.append(f"All parameters: [`{name}`](../reference/{name}.rst).{_lesson(name)}\n")
    return "\n".join(parts)


def _lesson(name: str) -> str:
    for file, taught in LESSONS.items():
        if name in taught and (ROOT / "notebooks" / f"{file}.ipynb").is_file():
            return f" The lesson: [{file}](../lessons/{file}.ipynb)."
    return ""


def _markdown(text: str) -> str:
    """The text of a docstring without the marks of reStructuredText."""
    text = re.sub(r"^\.\. \[(\d+)\] ", r"\1. ", text.strip(), flags=re.MULTILINE)
    text = re.sub(r"^ +", "   ", text, flags=re.MULTILINE)
    text = re.sub(r"\s*\[\d+\]_", "", text)
    text = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text)
    return "".join(
        part if number % 2 else re.sub(r"(?<=\w)([*_])(?=[\w*])|(?<![*\w])\*(?![*\w])", r"\\\g<0>", part)
        for number, part in enumerate(re.split(r"(``.*?``)", text, flags=re.DOTALL))
    )
