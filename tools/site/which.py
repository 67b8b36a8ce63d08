"""The page "Which mechanism?": the rules of the advisor in words, and its first choices for questions of each kind.

`python -m tools.site.which` writes the page. A test holds it against the advisor, so that no rule stands in the page
that the Workbench and `session.plan` do not follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final, NamedTuple

import dpviz as dv
from dpviz.exact import text
from dpviz.mechanisms import OPENINGS, REGISTRY
from dpviz.model.goals import GOALS, Goal
from dpviz.model.offers import by_choice
from dpviz.model.question import Question
from dpviz.planning import advice
from dpviz.planning.advice import Advice, Advised
from dpviz.privacy.unit import Unit
from tools.site.cells import ROOT
from tools.site.mechanisms import summary

PAGE: Final = ROOT / "docs" / "which.md"
EPSILON: Final = Fraction(1, 2)
DELTA: Final = Fraction(1, 10**6)

ROW: Final = Unit()
USER: Final = Unit("user", max_bins=20)


class Kind(NamedTuple):
    """A kind of question.

    title     its heading
    question  one of the kind
    unit      the unit that is protected
    """

    title: str
    question: Question
    unit: Unit


def kinds() -> list[Kind]:
    """The kinds of questions, each with one of its kind."""
    airports = dv.Domain.categories([f"airport {place}" for place in range(50)], column="airport")
    days = dv.Domain.times("2013", "2014", by="day", column="day")
    minutes = dv.Domain.integers(0, 525_599, column="minute")
    codes = dv.Domain.integers(0, 2**40 - 1, column="code")
    keys = dv.Domain.keys(column="search_term")
    flags = [dv.Domain.integers(0, 1, column=f"flag_{place}") for place in range(8)]
    asked = [
        Kind("50 categories, one row a unit", Question.of(airports), ROW),
        Kind("The 365 days of a year, one row a unit", Question.of(days), ROW),
        Kind("The 525,600 minutes of a year, one row a unit", Question.of(minutes), ROW),
        Kind("2^40 numbers, one row a unit", Question.of(codes), ROW),
        Kind("Keys that nobody can list, one row a unit", Question.of(keys), ROW),
        Kind("50 categories, users in at most 20 of them", Question.of(airports), USER),
        Kind("Keys, users in at most 20 of them", Question.of(keys), USER),
        Kind("Records of 8 bits, one row a unit", dv.Question.records(flags), ROW),
    ]
    return [Kind(title, *question.resolved(unit)) for title, question, unit in asked]


HEAD: Final = """# Which mechanism?

<!-- python -m tools.site.which writes this page -->

`session.plan(question)` chooses a mechanism and says why, free; a Workbench compares the first three for its question.
Both follow the rules of this page, which is written from them. `session.plan(question, mechanism)` states the error of
any other, and `dv.MechanismComparison(session, bins)` draws four side by side.

Answer four questions, then take the row that fits:

1. **Can you write the bins down** without a look at the data? Then they are *declared*; if nobody can list them, as
   search terms or destinations, they are *keys*.
2. **Do neighbouring bins belong together,** as ages or minutes do? Then ranges matter, and the bins are *ordered*.
3. **How many bins** are there, and in how many may one unit be?
4. **May δ be spent?** Without δ no key that only one unit has may ever show, so keys cannot be listed.
"""

TAIL: Final = """## One unit in many bins

A user with rows in many bins moves many counts, and noise grows with `max_bins` of the unit. Three ways help:

* **Gaussian noise** grows with the square root alone: {gaussian}.
  Likewise `dv.Tree`, `dv.Marginals`, `dv.Stability` and `dv.Threshold`.
  Under `dv.Budget(..., filter="zcdp")` prices add up in ρ, which is smaller still.
* **Parts**: where rows fall into disjoint parts, such as months, a question `by=` them may give all of ε to each part
  of which a user is in one; `dv.Partition(months, max_parts=6)` says in how many a user counts at most.
* **Ranked lists** (`dv.TopK`) pay for the number of symbols that come back, whatever the number of bins.
"""


def page() -> str:
    """Write the page."""
    parts = [HEAD, _rules(), "## First choices\n", _note(), *(_table(kind) for kind in kinds()), _all()]
    return "\n".join([*parts, TAIL.format(gaussian=_gaussian())])


# ---------------------------------------------------------------- the rules


def _rules() -> str:
    """The rules of the advisor, in words."""
    usual = next(iter(by_choice(REGISTRY.offers())))
    long = {name: offer.worth_from for name, offer in REGISTRY.offers().items() if offer.worth_from}
    ranges = "; ".join(f"`{name}`, from ranges of {length:,} bins on" for name, length in long.items())
    goals = "\n".join(f"   * {said}: {_goals(kind)}." for said, kind in _goal_kinds())
    held = f"{100 - int(100 * advice.NOTED)} times in 100"
    return f"""## The rules

1. An answer is read for a goal, and a question has a usual one, which stands first here:
{goals}
2. Ordered bins are read for {advice.WORDS["ranges"]} where `{usual}` errs more than {advice.BADLY} times as much
   as a mechanism that is for them ({ranges}).
3. Mechanisms are compared at the same ε by the largest of the errors that hold {held}; those that cost
   more δ than may be spent are left out.
4. The least error is first. After it come those whose error rests on a suggestion, as a cap that nobody stated; then
   those without a bound; last those where more than {advice.LEGIBLE:,} empty bins show noise alone.
5. A plan names another mechanism where its own errs more than {advice.BADLY} times as much at no higher price.
6. A mechanism that needs a public number is compared where that is given: {_capped()}.
"""


def _capped() -> str:
    """The mechanisms that are refused for want of a cap."""
    huge = next(kind for kind in kinds() if kind.title.startswith("2^40"))
    found = [advice.advise(huge.question, huge.unit, EPSILON, DELTA, goal).refused for goal in GOALS[:-1]]
    needy = dict.fromkeys(name for refused in found for name, why in refused.items() if "give cap=" in why)
    return " and ".join(f"`{name}(cap=...)`" for name in needy)


def _goal_kinds() -> Iterator[tuple[str, Kind]]:
    found = {kind.title: kind for kind in kinds()}
    names = ("50 categories", "The 525,600 minutes", "Keys that", "Records")
    said = ("declared bins", "ordered bins", "keys", "records")
    for words, name in zip(said, names, strict=True):
        yield words, next(kind for title, kind in found.items() if title.startswith(name))


def _goals(kind: Kind) -> str:
    return ", ".join(advice.WORDS[goal] for goal in advice.goals_of(kind.question))


# ---------------------------------------------------------------- the first choices


def _note() -> str:
    return (
        f"At ε = {text(EPSILON)}, without δ and with a δ of {text(DELTA)}: the first choice with its error, and the "
        "second. The usual goal is bold.\n"
    )


def _table(kind: Kind) -> str:
    usual = {delta: advice.usual_goal(kind.question, kind.unit, EPSILON, delta) for delta in (Fraction(0), DELTA)}
    lines = [f"### {kind.title}\n", "| you want | without δ | with δ |", "|---|---|---|"]
    for goal in advice.goals_of(kind.question):
        cells = [
            _cell(advice.advise(kind.question, kind.unit, EPSILON, delta, goal), goal == usual[delta])
            for delta in (Fraction(0), DELTA)
        ]
        lines.append(f"| {advice.WORDS[goal]} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _cell(found: Advice, usual: bool) -> str:
    if not found.rows:
        return "**none**" if usual else "none"
    first, *others = found.rows
    link = f"[`{first.mechanism.python}`](mechanisms/{first.name}.md)"
    told = f"{f'**{link}**' if usual else link}: {_error(first)}"
    return f"{told}; then {others[0].name}, {_error(others[0])}" if others else told


def _error(row: Advised) -> str:
    label, value = max(row.errors, key=lambda error: Fraction(-1) if error[1] is None else error[1].value)
    return f"{label} {advice.error_text(value)}"


# ---------------------------------------------------------------- all mechanisms


def _all() -> str:
    """Every mechanism under what its answer tells, with its own sentence."""
    offers = REGISTRY.offers()
    lines = ["## All mechanisms\n", "| its answer tells | mechanism | |", "|---|---|---|"]
    for goal in GOALS:
        for name, offer in offers.items():
            if offer.serves and offer.serves[0] == goal:
                also = ", ".join(_words(other) for other in offer.serves[1:])
                lines.append(f"| {_words(goal)}{f'; {also}' if also else ''} | {_link(name)} | {offer.about} |")
    lines += [f"| other things | {_link(name)} | {offer.about} |" for name, offer in offers.items() if not offer.serves]
    lines += [f"| many answers, paid once | {_link(name)} | {summary(kind)} |" for name, kind in OPENINGS.items()]
    return "\n".join([*lines, ""])


def _words(goal: Goal) -> str:
    return advice.WORDS[goal]


def _link(name: str) -> str:
    return f"[`{name}`](mechanisms/{name}.md)"


def _gaussian() -> str:
    """The errors of both noises for users in many bins."""
    question, unit = next((kind.question, kind.unit) for kind in kinds() if kind.unit == USER)
    plain, gaussian = dv.Dense(EPSILON), dv.Dense(EPSILON, base="gaussian", delta=DELTA)
    first, second = (advice.row_of(one, question, unit, "bins") for one in (plain, gaussian))
    return (
        f"for users in at most {USER.max_bins} bins `{gaussian.python}` has {_error(second)}, and "
        f"`{plain.python}` {_error(first)}"
    )


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
