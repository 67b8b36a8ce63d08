"""One HTML file with releases and plans: no network, no kernel, no data, and the sliders still move."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from dpviz import files
from dpviz.boundary import as_given, kind_of, plain_arguments
from dpviz.charts import columns, tables
from dpviz.charts.asked import closed_picture, first_number
from dpviz.charts.picture import call_of
from dpviz.charts.words import capital, escape, often, reach
from dpviz.errors import DpvizError, Forbidden, LedgerCorrupt, LedgerError, ParameterError, UnitError
from dpviz.exact import counted, odds_text, text
from dpviz.mechanisms import REGISTRY, mechanism
from dpviz.model.combination import Combined
from dpviz.model.derived import Derived, DerivedTable
from dpviz.model.error import BETAS
from dpviz.model.measures import headline
from dpviz.model.question import canonical
from dpviz.model.release import Release
from dpviz.model.terms import SESSION, UNCHECKED, Recipe
from dpviz.model.words import DRAWN, RELEASED
from dpviz.planning.sheet import PlanSheet
from dpviz.privacy import ApproxDP, Guarantee, Unit, compose, to_approx
from dpviz.privacy.grid import payable
from dpviz.privacy.unit import plural_of
from dpviz.session import accountant, arithmetic, holding
from dpviz.session.ledger import Entry, Ledger
from dpviz.session.plan import Plan
from dpviz.session.releases import Releases
from dpviz.session.saved import from_bytes
from dpviz.session.session import Session
from dpviz.widgets import carrying, quantile_lines, views

if TYPE_CHECKING:
    from dpviz.widgets.explorer import Explorer

VERSION = 1
TOP = Fraction(2)
"""Where a slider ends for a release above whose epsilon there is room."""

LONGEST = 2_000
"""How many rows a table has where JavaScript is off."""

POLICY = "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data:"
STATIC = Path(__file__).parent / "static"

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
html {{ color-scheme: light dark; background: light-dark(#fff, #222120); color: light-dark(#1b1b1b, #ececec); }}
.plain {{ max-width: 920px; margin: 0 auto; padding: 16px; font: 13px/18px system-ui, sans-serif; }}
.plain table {{ margin: 0 0 24px; border-collapse: collapse; font-variant-numeric: tabular-nums; }}
.plain th {{ text-align: left; }} .plain td {{ text-align: right; }} .plain :is(th, td) {{ padding: 0 12px 0 0; }}
</style>
</head>
<body>
<main id="dpviz-report">
<noscript><div class="plain">{plain}</div></noscript>
</main>
<script type="{packed}" id="dpviz-style">{style}</script>
<script type="{packed}" id="dpviz-data">{data}</script>
<script type="{packed}" id="dpviz-program">{program}</script>
<script>
const unpacked = (id) => {{
    const characters = atob(document.getElementById(id).textContent);
    const bytes = new Uint8Array(characters.length);
    for (let i = 0; i < bytes.length; i += 1) bytes[i] = characters.charCodeAt(i);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}};
(async () => {{
    const [style, data, program] = await Promise.all(["dpviz-style", "dpviz-data", "dpviz-program"].map(unpacked));
    document.head.append(Object.assign(document.createElement("style"), {{ textContent: style }}));
    const {{ default: start }} = await import(URL.createObjectURL(new Blob([program], {{ type: "text/javascript" }})));
    await start(data);
}})().catch((error) => {{
    console.error(error);
    document.getElementById("dpviz-report").textContent =
        "This browser could not draw the report (" + error.message +
        "). Open it in a newer browser, or turn JavaScript off: then it shows the tables.";
}});
</script>
</body>
</html>
"""
PACKED = "application/zlib;base64"
"""The type of what the page unpacks itself: a browser leaves a script of a type that it does not know alone."""


@plain_arguments
def report(
    items: Sequence[Release | Combined | Derived | DerivedTable | Plan | PlanSheet | Explorer] | Mapping[int, Release],
    path: str | Path,
    *,
    title: str = "",
    lead: str = "",
    ledger: Ledger | Session | str | Path | None = None,
    people: bool = False,
    keys: Sequence[object] | None = None,
) -> Path:
    """Write releases and plans into one HTML file that works from a disk, with no network and no kernel.

    Parameters
    ----------
    items : list or Releases
        Releases (teaching draws are marked as such), plans and plan sheets, all about one privacy unit;
        `session.releases` for all of a session; explorers, whose sliders move through their sheets; and values derived
        from releases that are in the list, too, which the report states in words. Two combined answers bring both of
        their releases.
    path : str or Path
        The file to write, such as "visits.html".
    title : str, optional
        The heading. By default it names what the report shows.
    lead : str, optional
        A text below the heading.
    ledger : Session, Ledger, str or Path, optional
        The session or ledger that paid: its chain is verified, and every release must be in it as given. By default,
        the ledger of the session that the releases come from, for as long as that is there.
    people : bool, default False
        Whether to name who asked for the releases, and who raised the budget and why: as declared in the ledger, which
        must be known.
    keys : list, optional
        The keys that the report answers, of a release that answers look-ups (a sketch, a compact table). By default, a
        sketch of at most 16 MiB is carried whole, and answers for any key. A look-up is free: it is paid already.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    ParameterError
        If there are no items, an argument is outside its range, the file cannot be written, or its name promises
        another format.
    Forbidden
        If an item is of another kind, such as a table of data.
    UnitError
        If the items are about several privacy units.
    LedgerError
        If the ledger did not make a release as given, or its chain is broken.

    Notes
    -----
    Each release brings the plan sheet of its question, so a reader can move epsilon and see what else it would have
    cost. The head adds up the cost of all releases to one unit, says what they are about and, where the ledger is
    known, on which days they were released. Only the public parts of a release, a plan and a ledger go in.

    Examples
    --------
    >>> import dpviz as dv, pandas as pd, tempfile
    >>> lesson = dv.teaching(pd.DataFrame({"x": [0, 0, 1]}), seed=1)
    >>> draw = lesson.draw(dv.Domain.integers(0, 1, column="x"), dv.Dense(40))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(dv.report([draw], f"{folder}/x.html").name)
    x.html
    """
    _place(path)
    items, derived = _told(items)
    releases, sheets, explorers = _sorted(items)
    told = [*(one.sentence for one in derived[0]), *_sentences(derived[1], releases)]
    for name, said in (("title", title), ("lead", lead)):
        if not isinstance(said, str):
            raise ParameterError.of(as_given(said), f"{name} must be text", "write it in quotes, or leave it out")
    unit = _one_unit([*(release.unit for release in releases), *(sheet.unit for sheet in sheets)])
    paid = [release for release in releases if release.teaching is None]
    unread = items.prices_unread if isinstance(items, Releases) else {}
    prices = [*(_charged(release) for release in _payments(paid)), *(_stated(price, unit) for price in unread.values())]
    total = compose(prices) if paid else None
    lesson = bool(releases) and not prices  # draws alone: nothing in it was released or paid for
    verified = _Verified.own(paid) if ledger is None else _Verified.of(ledger, paid)
    if not isinstance(people, bool) or (people and verified is None):
        raise ParameterError.of(
            as_given(people),
            "people must be True or False, and their names stand in a ledger",
            "pass ledger=session, too",
        )
    heading = title or _heading(releases, sheets, explorers)
    asked = carrying.checked(keys)
    results = [
        columns.written(closed_picture(release, _profiles(release, releases, verified)))
        | carrying.carried(release, asked)
        | quantile_lines.carried(release, BETAS[1])
        | {"script": _script(release)}
        for release in releases
    ]
    bundles = _bundles(results)
    data = {
        "version": VERSION,
        "title": heading,
        "lead": " ".join(filter(None, [lead, *told, _protection(total, unit), _origin(paid, verified)])),
        "releases": results,
        "lesson": lesson,
        "sheets": [sheet.to_json() for sheet in sheets],
        "explorers": [{"component": explorer.name, "sheet": explorer.shown} for explorer in explorers],
        "totals": _totals(releases, total, unit, verified),
        "facts": _facts(releases, total, verified),
        "caveats": [
            *_caveats(releases, unit, verified),
            *map(_left_out, unread),
            *(_people(verified) if people and verified is not None else []),
        ],
        **({"views": bundles} if bundles else {}),
    }
    page = PAGE.format(
        policy=POLICY,
        title=escape(heading),
        packed=PACKED,
        plain=_plain(data, releases, sheets, explorers),
        style=_packed(_static("report.css")),
        data=_packed(json.dumps(data, separators=(",", ":"))),
        program=_packed(_static(_program(releases, sheets, explorers))),
    )
    return _written(page, path)


# ---------------------------------------------------------------- what goes in


def _told(items: Any) -> tuple[Any, tuple[list[Combined], list[Derived]]]:
    """The items without what is told in words, which are combined answers, whose releases take their place, and derived
    values."""
    if isinstance(items, Combined | Derived | DerivedTable):
        items = [items]
    if not isinstance(items, list | tuple):
        return items, ([], [])
    kept: list[Any] = []
    both: list[Combined] = []
    rows: list[Derived] = []
    for item in items:
        if isinstance(item, Combined):
            both.append(item)
            kept += [item.first, item.second]
        elif isinstance(item, Derived | DerivedTable):
            rows += [item] if isinstance(item, Derived) else item
        else:
            kept.append(item)
    return items if len(kept) == len(items) and not both else kept, (both, rows)


def _sentences(rows: list[Derived], releases: list[Release]) -> list[str]:
    """The derived value, in words. Each release that it rests on is shown, so its price is in the total."""
    shown_here = [release.paid for release in releases]
    for row in rows:
        if any(one not in shown_here for one in row.paid):
            raise ParameterError.of(
                "a derived value",
                "a report shows every release that a derived value rests on, with its price",
                "put these releases into the list, too",
            )
    return [f"{row.sentence} {row.rests_on}" for row in rows]


def _sorted(items: object) -> tuple[list[Release], list[PlanSheet], list[Explorer]]:
    """The releases, each once, one sheet per slider (the plans given, then those that the releases bring along), and
    the explorers."""
    if isinstance(items, Release | Plan | PlanSheet):
        items = [items]
    if isinstance(items, Mapping):
        items = list(items.values())
    if not isinstance(items, list | tuple):
        if not _explores(items):
            raise _unwanted(items)
        items = [items]
    releases: list[Release] = []
    sheets: dict[bytes, PlanSheet] = {}
    explorers: list[Explorer] = []
    for item in items:
        if isinstance(item, Release):
            if item not in releases:
                releases.append(item)
        elif isinstance(item, Plan | PlanSheet):
            sheet = item.sheet if isinstance(item, Plan) else item
            sheets.setdefault(_slider(sheet), sheet)
        elif _explores(item):
            explorers.append(cast("Explorer", item))
        else:
            raise _unwanted(item)
    if not releases and not sheets and not explorers:
        raise ParameterError.of("no items", "a report shows at least one release or plan", "pass session.releases[1]")
    for release in releases:
        recipe = release.terms.mechanism
        if release.use is None and recipe.name in REGISTRY and recipe.parameters.get("epsilon"):
            sheet = _sheet(release)
            sheets.setdefault(_slider(sheet), sheet)
    return releases, list(sheets.values()), explorers


def _profiles(release: Release, releases: list[Release], verified: _Verified | None) -> list[Release]:
    """The profile in a report that closes counts: the first one of their bins in the ledger, and no other. Ends by one
    of several that was picked after a look would miss more often."""
    given = [other for other in releases if (other.profile or other).question.aggregate.profiled is not None]
    if release.teaching is not None:  # of made-up data, with the truth beside it
        return [other.profile or other for other in given]
    if verified is None or not given or not release.terms.limited.cuts:
        return []
    number = first_number(verified.entered, release)
    return [other.profile or other for other in given if other.number == number][:1]


def _explores(item: object) -> bool:
    """Whether this is an explorer. The widgets are loaded only where something is neither a release nor a plan."""
    from dpviz.widgets.explorer import Explorer

    return isinstance(item, Explorer)


def _unwanted(item: object) -> Forbidden:
    error = Forbidden.of(
        f"a {kind_of(item)}",
        "a report is made of a list of releases, what was derived from them, plans, plan sheets and explorers",
        "release it first",
    )
    assert isinstance(error, Forbidden)
    return error


def _sheet(release: Release) -> PlanSheet:
    """The slider of what a release could have cost, by the mechanism of that name as it is today."""
    recipe = release.terms.mechanism
    made, asked = mechanism(recipe.name, dict(recipe.parameters)), Fraction(recipe.parameters["epsilon"])
    verbs = RELEASED if release.teaching is None else DRAWN
    return PlanSheet(release.question, release.unit, made, top=max(TOP, asked), verbs=verbs)


def _slider(sheet: PlanSheet) -> bytes:
    """Names question, unit, mechanism and way but for epsilon: one slider each."""
    fixed = {name: value for name, value in sheet.mechanism.parameters().items() if name != "epsilon"}
    named = [sheet.question.to_json(), sheet.unit.to_json(), sheet.mechanism.name, fixed]
    return canonical(named if sheet.way is None else [*named, sheet.way])


def _one_unit(units: list[Unit]) -> Unit | None:
    """The unit of all that is released or planned; None where only explorers are shown."""
    for unit in units[1:]:
        if unit.protects != units[0].protects:
            raise UnitError.of(
                unit.text,
                f"a report speaks of one privacy unit, and it began with {units[0].text}",
                "write one report for each unit",
            )
    return units[0] if units else None


def _payments(paid: list[Release]) -> list[Release]:
    """One release for each payment: the answers of one sub-session were paid together, when it was opened, and so were
    counts and the profile that was bought with them."""
    shared = {(release.dataset, release.number): release for release in paid if release.use is not None}
    alone = [release for release in paid if release.use is None]
    with_profile = {(release.number, release.key) for release in alone if release.bought is not None}
    second = [one.entry_price is not None and (one.number, one.key) in with_profile for one in alone]
    return [*(one for one, again in zip(alone, second, strict=True) if not again), *shared.values()]


def _each(paid: list[Release]) -> list[Release]:
    """Every entry and every use once, in order."""
    once = {(release.number or 0, release.use or 0): release for release in paid}
    return [once[place] for place in sorted(once)]


def _charged(release: Release) -> Guarantee:
    """The charge in the ledger for a release."""
    price = release.guarantee
    return Guarantee(payable(to_approx(price.loss)), price.unit, price.rule)


def _stated(price: Mapping[str, str], unit: Unit | None) -> Guarantee:
    """The charge in the ledger for a release that cannot be read, as its entry says it."""
    assert unit is not None
    return Guarantee(ApproxDP(Fraction(price["epsilon"]), Fraction(price["delta"])), unit, "as the ledger says")


def _left_out(number: int) -> str:
    return (
        f"Release {number} is not shown, for this dpviz cannot read it. It was paid for, and its price is in the total."
    )


class _Verified:
    """A ledger whose chain holds and which holds every release of the report, exactly as given."""

    def __init__(self, ledger: Ledger, paid: list[Release]) -> None:
        self.entries = ledger.verify(check=arithmetic.known).charges
        self.ledger = ledger
        self.shown = len(_payments(paid))
        self.name = ledger.name
        self.spent = accountant.spent_text(ledger.account)
        self.raises = ledger.raises()
        self.days: list[str] = []  # on which anything of the report was released
        self.people: dict[str, list[str]] = {}  # who asked -> for what
        for release in _each(paid):
            assert release.number is not None
            found = ledger.entry(release.number) if release.use is None else ledger.use(release.number, release.use)
            self.days = sorted({*self.days, found.opened[:10]})
            if found.person:
                self.people.setdefault(found.person, []).append(found.name)

    @cached_property
    def entered(self) -> list[Entry]:
        """All entries of the ledger, read where a profile is looked for."""
        return self.ledger.entries()

    @classmethod
    def own(cls, paid: list[Release]) -> _Verified | None:
        """The ledger that all of these were read from, where its session is still there; a damaged one is refused."""
        known = {id(release.kept_in): release.kept_in for release in paid}
        ledger = known.popitem()[1] if len(known) == 1 else None
        if not isinstance(ledger, Ledger):
            return None
        try:
            ledger.head()
            return cls.of(ledger, paid)
        except LedgerCorrupt:
            raise
        except LedgerError:  # its server is away: the report says that nothing was checked
            return None

    @classmethod
    def of(cls, given: object, paid: list[Release]) -> _Verified:
        if isinstance(given, str | Path):
            ledger = Ledger.read(given, check=arithmetic.known, holds=holding.holds)
        elif isinstance(given, Ledger | Session):
            ledger = given.ledger if isinstance(given, Session) else given
        else:
            raise ParameterError.of(
                kind_of(given), "ledger must be a session, a ledger or a ledger's file", "pass ledger=session"
            )
        for release in paid:
            if not _holds(ledger, release):
                raise ParameterError.of(
                    f"release {release.number}",
                    "every release of a report must be in the ledger that is given, as it is given",
                    "pass the ledger that paid for it, or leave ledger out",
                )
        return cls(ledger, paid)


def _holds(ledger: Ledger, release: Release) -> bool:
    """Whether the ledger has exactly this release: as an entry's answer, or as one use of an open entry."""
    if release.number is None:
        return False
    try:
        if release.entry_price is not None:
            profile = from_bytes(ledger.answer(release.number)).profile
            return profile is not None and profile.to_bytes() == release.to_bytes()
        if release.use is None:
            return ledger.answer(release.number) == release.to_bytes()
        return ledger.use_answer(release.number, release.use) == release.to_bytes()
    except LedgerCorrupt:
        raise
    except DpvizError:
        return False


def _program(releases: list[Release], sheets: list[PlanSheet], explorers: list[Explorer]) -> str:
    """The file of the program that draws what the report holds, and nothing else."""
    if not explorers:
        return "report.js"
    if releases or sheets:
        return "report-all.js"
    programs = {explorer.program_name for explorer in explorers}
    return f"report-{programs.pop()}.js" if len(programs) == 1 else "report-explorers.js"


def _bundles(results: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The programs that draw the kinds of answers that the report shows, each once, and nothing else."""
    kinds = dict.fromkeys(result["kind"] for result in results)
    own = {kind: views.Bundle(kind, _static(f"view-{kind}.js"), "") for kind in kinds if kind in views.own_kinds()}
    bundles = [own.get(kind) or views.registered(kind) for kind in kinds]
    return [bundle.to_json() for bundle in bundles if bundle is not None]


# ---------------------------------------------------------------- words


def _heading(releases: list[Release], sheets: list[PlanSheet], explorers: list[Explorer]) -> str:
    if not releases and not sheets:
        return " and ".join(dict.fromkeys(explorer.title for explorer in explorers))
    titles = {release.plain_title for release in releases} or {sheet.bound.title for sheet in sheets}
    return (
        titles.pop()
        if len(titles) == 1
        else f"{len(titles)} questions about {' and '.join(_columns(releases, sheets))}"
    )


def _columns(releases: list[Release], sheets: list[PlanSheet]) -> list[str]:
    asked = [*(release.question for release in releases), *(sheet.question for sheet in sheets)]
    return list(dict.fromkeys(column for question in asked for column in question.domain.columns))


def _protection(total: Guarantee | None, unit: Unit | None) -> str:
    """Who is protected by all of it together, and how well."""
    if total is None or unit is None:
        return ""
    change = unit.sentence.replace(f"one {unit.noun}", "any single one")
    who = f"Everything released below protects one {unit.noun}: {change}"
    if total.odds:
        return f"{who} changes the odds of this whole report by at most ×{total.odds}."
    loss = to_approx(total.loss)
    return (
        f"{who} multiplies the chance of anything that this whole report may say by at most {odds_text(loss.epsilon)}, "
        f"and adds at most {text(loss.delta)} to it."
    )


def _origin(paid: list[Release], verified: _Verified | None) -> str:
    """Whether it is known that a ledger paid for what is shown."""
    if not paid:
        return ""
    if verified is not None:
        return f"Origin checked: ledger {verified.name} holds every release of this report, as shown."
    loose = sum(release.origin == UNCHECKED for release in paid)
    if loose:
        which = "this release was" if len(paid) == 1 else f"{loose} of {len(paid)} releases were"
        return f"Origin unchecked: {which} loaded from a file, and no ledger confirms it."
    checked = dict.fromkeys("the session that shows it" if one.origin == SESSION else one.origin for one in paid)
    return f"Origin checked: every release comes from {' or '.join(checked)}."


def _totals(
    releases: list[Release], total: Guarantee | None, unit: Unit | None, verified: _Verified | None
) -> dict[str, str]:
    loss = None if total is None else to_approx(total.loss)
    chain = "not checked" if verified is None else f"verified to entry {verified.entries:,}"
    return {
        "epsilon": "0" if loss is None else text(loss.epsilon),
        "delta": "0" if loss is None else text(loss.delta),
        "unit": "" if unit is None else unit.text if _limits_agree(releases) else unit.change,
        "randomness": " and ".join(dict.fromkeys(release.randomness for release in releases)) or "none drawn",
        "chain": chain if total is not None else "",
    }


def _facts(releases: list[Release], total: Guarantee | None, verified: _Verified | None) -> list[dict[str, str]]:
    """The facts that a reader asks of a document, each under its name. The days are those on which the ledger was
    charged."""
    days = [] if verified is None else verified.days
    said = {
        "guarantee": "" if total is None else total.sentence,
        "proof": _proofs(releases),
        "data": " and ".join(dict.fromkeys(release.dataset for release in releases)),
        "released": "" if not days else " to ".join(dict.fromkeys((days[0], days[-1]))) + " (UTC)",
        "written by": _program_name(),
    }
    return [{"name": name, "value": value} for name, value in said.items() if value]


MOST_PROOFS: Final = 3
"""Proofs in full; more are counted."""


def _proofs(releases: list[Release]) -> str:
    """The rules that priced the releases, each once."""
    rules = list(dict.fromkeys(release.guarantee.rule for release in releases if release.teaching is None))
    more = [f"{counted(len(rules) - MOST_PROOFS, 'rule')} more"] if len(rules) > MOST_PROOFS else []
    return "; ".join([*rules[:MOST_PROOFS], *more])


def _program_name() -> str:
    """`dpviz 0.1.0`; nothing where it runs from a folder and was never installed."""
    try:
        return f"dpviz {metadata.version('dpviz')}"
    except metadata.PackageNotFoundError:
        return ""


LONGEST_CALL = 4_000
"""A question that takes more characters to write is read from the release instead."""


def _script(release: Release) -> str:
    """How to have the answer again in Python, and how to plan another one: nothing in it is paid for."""
    recipe, lines = release.terms.mechanism, ["import dpviz as dv", ""]
    seen, where = call_of(release), release.question.python_where
    if release.use is None and recipe.name in REGISTRY:
        question, made = release.question.python, _call(recipe)
        if made and len(question) + len(where) <= LONGEST_CALL:
            call = ", ".join(filter(None, ["question", "mechanism", where]))
            lines += [f"question = {question}", f"mechanism = {made}"]
            if release.teaching is None:
                lines.append(f"plan = session.plan({call})  # free: what it costs, and how far off it may be")
            else:
                lines.append(f"drawn = lesson.draw({call})  # teaching, seed {release.teaching}: not private")
    if seen:
        lines.append(f"release = {seen}  # paid for already, so reading it again is free")
    name = "release" if release.teaching is None else "drawn"
    return "\n".join([*lines, f"{name}.to_frame()" if release.answer.has_rows else name, ""])


def _call(recipe: Recipe) -> str:
    """The call that makes a mechanism; nothing where the parameters are those of another dpviz."""
    try:
        return mechanism(recipe.name, dict(recipe.parameters)).python
    except DpvizError:
        return ""


def _limited(releases: list[Release]) -> list[Release]:
    """The answers that limits apply to: all but profiles, which count each unit in its class, before any limit."""
    return [release for release in releases if release.question.aggregate.profiled is None]


def _limits_agree(releases: list[Release]) -> bool:
    """Whether all answers were counted within the same limits."""
    return len({release.unit.limits for release in _limited(releases)}) < 2


def _counted_of(unit: Unit, releases: list[Release]) -> str:
    """The part of one unit that counts, in one sentence; a sentence for each set of limits where there are several."""
    units = dict.fromkeys(release.unit for release in _limited(releases)) or [unit]
    said = [f"{_bins(one)} counted, and {one.max_per_bin:,} in each{_records(one)}" for one in units]
    return f"Per {unit.noun} {' in some answers, and '.join(said)}{' in others' * (len(said) > 1)}."


def _bins(unit: Unit) -> str:
    return "any number of bins" if unit.max_bins is None else f"at most {unit.max_bins:,} bins"


def _records(unit: Unit) -> str:
    return "" if unit.max_records is None else f", and {plural_of(unit.max_records, 'record')} in all"


def _caveats(releases: list[Release], unit: Unit | None, verified: _Verified | None) -> list[str]:
    """The limits of the protection."""
    said: list[str] = []
    if unit is None:
        return said
    if any(release.teaching is None for release in releases):
        said += [
            "The person who ran the notebook could see the data.",
            f"Facts that hold with or without any one {unit.noun} are learned as intended.",
            f"If several {unit.nouns} belong to one person, each is protected by itself, but all together less well."
            if unit.is_row
            else _counted_of(unit, releases),
            "How long a release took is not hidden from anybody who watched the machine.",
        ]
    if unit.n is not None:
        said.append(f"The number of {unit.nouns}, {unit.n:,}, is public.")
    if verified is not None:
        entries = "entry" if verified.entries == 1 else "entries"
        those = "it" if verified.entries == verified.shown == 1 else f"{verified.shown:,} of them"
        said.append(
            f"The ledger has charged {verified.spent} for {verified.entries:,} {entries}; this report shows {those}."
        )
    if any(release.teaching is not None for release in releases):
        said.append("A draw marked “Not private · teaching” has a known seed and protects nobody.")
    return said


def _people(verified: _Verified) -> list[str]:
    """Who asked, and who raised the budget and why."""
    asked = [f"{person} ({', '.join(names)})" for person, names in verified.people.items()]
    said = [f"Asked for by {' and '.join(asked)}, as the ledger has it: a name is declared, and nobody proves it."]
    for one in verified.raises:
        by, why = (f" by {one.person}" if one.person else ""), (f": {one.reason}" if one.reason else "")
        said.append(f"The budget was raised to {one.text}{by} on {one.at[:10]}{why}.")
    return said if asked else said[1:]


def _plain(data: dict[str, Any], releases: list[Release], sheets: list[PlanSheet], explorers: list[Explorer]) -> str:
    """The report without JavaScript: words and tables."""
    totals = data["totals"]
    paid = f"Total paid: ε {totals['epsilon']}, δ {totals['delta']} per unit ({totals['unit']}). "
    paid = "" if data["lesson"] else paid
    bits = f"Random bits: {totals['randomness']}."
    chain = f" Ledger chain: {totals['chain']}." if totals["chain"] else ""
    facts = " ".join(f"{capital(fact['name'])}: {fact['value']}." for fact in data["facts"])
    return "\n".join(
        [
            f"<h1>{escape(data['title'])}</h1>",
            f"<p>{escape(data['lead'])}</p>",
            f"<p>{escape(paid + bits + chain)}</p>" if releases or sheets else "",
            f"<p>{escape(facts)}</p>",
            *(tables.table(release, most=LONGEST) for release in releases),
            *(f"<p>{escape(_planned(sheet))}</p>" for sheet in sheets),
            *(f"<p>{escape(explorer.title)}: its sliders need JavaScript.</p>" for explorer in explorers),
            "<h2>What this does not protect</h2>" if data["caveats"] else "",
            *(f"<p>{escape(caveat)}</p>" for caveat in data["caveats"]),
        ]
    )


def _planned(sheet: PlanSheet) -> str:
    bound = sheet.bound
    said = f"Plan, free: {bound.title}, {bound.mechanism!r}: {bound.price.sentence}."
    known = [(measure, measure.at(sheet.beta)) for measure in headline(bound.measures)]
    told = [measure.phrased(reach(error.value)) for measure, error in known if error is not None]
    said = " ".join(filter(None, (said, bound.limits)))
    return f"{said} {often(sheet.beta)}: {', '.join(told)}." if told else said


# ---------------------------------------------------------------- the file


def _static(name: str) -> str:
    """A file of the page's program or style, built from widgets/."""
    try:
        content = (STATIC / name).read_text(encoding="utf-8")
    except OSError:
        raise DpvizError(
            f"dpviz/static/{name} is missing, so a report cannot be drawn; run `make front`",
            value=name,
            rule="a report carries the page's program",
            next_step="run `make front`",
        ) from None
    return content


def _packed(content: str) -> str:
    """A text as the page unpacks it. Base64 ends no element, whatever the text says."""
    return base64.b64encode(zlib.compress(content.encode(), 9)).decode("ascii")


def _place(path: object) -> None:
    """Refuse a path where no report can be, before the report is put together."""
    files.of_format(path, "a report", "visits.html", files.HTML)


def _written(page: str, path: str | Path) -> Path:
    """Write the page beside its place and move it there, so that no reader ever meets half a file."""
    return files.write(path, page.encode("utf-8", "xmlcharrefreplace"), "a report", "visits.html")
