"""A saved release in which anything was changed is refused in our words, or read as what it then says."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DpvizError, ParameterError
from dpviz.model.question import canonical
from dpviz.model.release import Release, with_checksum
from dpviz.session.saved import from_bytes

BINS = dv.Domain.integers(0, 3, column="x")
ITEMS = dv.Domain.keys(column="x")
MECHANISMS: dict[str, tuple[Any, Any]] = {
    "Dense": (BINS, dv.Dense("1/2")),
    "unclamped Dense": (BINS, dv.Dense("1/2", clamp=False)),
    "finite Dense": (BINS, dv.Dense("1/2", base="tight")),
    "Sorted": (BINS, dv.Sorted("1/2")),
    "Queries": (BINS, dv.Queries("1/2", {"all": None, "two": [1, 2]})),
    "PureSparse": (dv.Domain.integers(0, 999, column="x"), dv.PureSparse("1/2")),
    "Compact": (BINS, dv.Compact("1/2")),
    "Tree": (BINS, dv.Tree("1/2", branching=2, levels="2,1,1", root="public")),
    "Stability": (BINS, dv.Stability("1/2", delta="1e-6")),
    "whole Stability": (BINS, dv.Stability("1/2", delta="1e-6", variant="paper")),
    "TopK": (ITEMS, dv.TopK(k=2, epsilon=2, delta="1e-6")),
    "TopKSet": (ITEMS, dv.TopKSet(k=2, epsilon=2, delta="1e-6")),
    "TopKLaplace": (ITEMS, dv.TopKLaplace(k=2, epsilon=2, delta="1e-6")),
    "ExponentialTopK": (BINS, dv.ExponentialTopK(k=2, epsilon=2)),
    "PayWhatYouGet": (ITEMS, dv.PayWhatYouGet(symbols=12, questions=4, epsilon=2, delta="1e-6")),
}
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 1.5, 10**30, "", "0", "1", "-1", "2", "3", "1/2", "1/0", "2/4", "1e9", "1e-400",
    "nan", "∞", "9" * 3_000, "1/" + "9" * 3_000, "9" * 5_000, "pure", "exact", "ranked", "table", [], ["1"], {},
    {"name": "dense"},
]  # fmt: skip


def drawn(folder: Path, name: str) -> Release:
    question, mechanism = MECHANISMS[name]
    listed = question is ITEMS
    column: list[Any] = [*["Aachen"] * 300, *["Bonn"] * 200, "Celle"] if listed else [*[0] * 40, *[2] * 60]
    data = pd.DataFrame({"x": column, "person": range(len(column))})
    unit = dv.Unit("person", max_bins=2) if listed else dv.Unit(relation="replace-one", n=len(column))
    session = dv.Session(data, unit, dv.Budget(100, "1e-3"), folder / "test.ledger")
    if name == "PayWhatYouGet":
        return session.open(mechanism).ask(question, k=2, kbar=3)
    return session.release(question, mechanism)


def places(body: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every part of a JSON value, branches and leaves."""
    for key in body if isinstance(body, dict) else range(len(body)) if isinstance(body, list) else ():
        yield (*way, key)
        yield from places(body[key], (*way, key))


def changed(body: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The body with one to three parts deleted, doubled, exchanged or replaced."""
    new = copy.deepcopy(body)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        ways = list(places(new))
        *way, last = chance.choice(ways)
        holder = new
        for key in way:
            holder = holder[key]
        act = chance.randrange(5)
        if act == 0:
            del holder[last]
        elif act == 1 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        elif act == 2:
            *other, end = chance.choice(ways)
            found: Any = new
            try:
                for key in other:
                    found = found[key]
                holder[last] = copy.deepcopy(found[end])
            except (KeyError, IndexError, TypeError):
                pass
        else:
            holder[last] = copy.deepcopy(chance.choice(VALUES))
    return new


def read(release: Release) -> list[object]:
    """Everything that a person looks at."""
    table = release.valued and release.answer.has_rows
    return [
        repr(release), release.title, release.promise, release.used, release.error.shown(BETA), release._repr_html_(),
        *((release.to_frame(), release.to_csv()) if table or release.listing is not None else ()),
    ]  # fmt: skip


BETA = Fraction(1, 20)


@pytest.mark.parametrize("name", MECHANISMS)
def test_whatever_is_changed_it_is_refused_in_our_words_or_read(name: str, tmp_path: Path) -> None:
    body = json.loads(drawn(tmp_path, name).to_bytes())["release"]
    assert body["version"] == 2 and read(from_bytes(with_checksum(body)))
    digest = sha256(canonical(body)).hexdigest()
    assert (
        with_checksum(body) == canonical({"release": body, "sha256": digest}) == from_bytes(with_checksum(body)).written
    )
    chance = random.Random(f"5 {name}")
    refused = 0
    for _ in range(300):
        content = with_checksum(changed(body, chance))
        try:
            release = from_bytes(content)
        except DpvizError as refusal:
            assert len(str(refusal)) < 700
            refused += 1
            continue
        assert release.to_bytes() == content
        try:
            read(release)
        except DpvizError:
            refused += 1
    assert 100 < refused < 300, "some changes are refused, and some make another release"


FLAT = "1/" + "9" * 3_000


@pytest.mark.parametrize(
    ("name", "part", "field"),
    [("PureSparse", "decay", "exp"), ("Stability", "noise", "exponent"), ("whole Stability", "noise", "exponent")],
)
def test_errors_of_noise_flatter_than_any_that_can_be_drawn_are_refused(
    name: str, part: str, field: str, tmp_path: Path
) -> None:
    """They have thousands of digits, and a law is enclosed to forty: too many candidates to look at."""
    body = json.loads(drawn(tmp_path, name).to_bytes())["release"]
    assert body["law"][part][field] == "1/4"
    body["law"][part][field] = FLAT
    release = from_bytes(with_checksum(body))
    with pytest.raises(ParameterError, match=r"at least 2\^-64"):
        release.error.shown(BETA)
