"""A ledger names the entries that an earlier dpviz charged too little, with what they cost, and keeps them as they are.

tests/ledger/old/make_underpriced.py wrote the ledgers, with the code that charged too little.
"""

from __future__ import annotations

import base64
import itertools
import json
import zlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpviz as dv
from dpviz import cli
from dpviz.mechanisms import OF_PARTS, REGISTRY
from dpviz.mechanisms.groups import Groups
from dpviz.privacy.conversion import to_approx
from dpviz.privacy.loss import ZCDP
from dpviz.session import arithmetic
from dpviz.session.ledger import Ledger
from dpviz.session.undercharged import Undercharged, undercharged

FIXTURES = Path(__file__).parent / "old"
CHARGED = {"epsilon": "1", "delta": "0.0000001"}
OF_USERS = {"1,3,0": (76, 58), "1,10,1": (804, 608)}
"""What one user of three bins of four moves such a tree, squared, and what was charged for."""


def kept(tmp_path: Path, name: str) -> Path:
    path = tmp_path / f"{name}.ledger"
    path.write_bytes(zlib.decompress(base64.b64decode((FIXTURES / f"{name}.ledger.txt").read_text())))
    return path


def farthest(levels: str) -> int:
    """The squares, from the definition: any two users with a record in up to three of four bins."""
    leaf, pair, root = (int(weight) ** 2 for weight in levels.split(","))
    users = [one for one in itertools.product((0, 1), repeat=4) if sum(one) <= 3]
    moves = [[x - y for x, y in zip(one, other, strict=True)] for one in users for other in users]
    return max(
        leaf * sum(move**2 for move in moved)
        + pair * ((moved[0] + moved[1]) ** 2 + (moved[2] + moved[3]) ** 2)
        + root * sum(moved) ** 2
        for moved in moves
    )


def true_price(told: Undercharged, levels: str) -> None:
    """The noise of the answer in the ledger, held against the squares that were enumerated."""
    true, stated = OF_USERS[levels]
    assert farthest(levels) == true
    rho, paid = Fraction(told.costs["rho"]), Fraction(told.charged["rho"])
    assert 0 <= rho - paid * true / stated < Fraction(2, 10**12)
    assert Fraction(told.costs["epsilon"]) == to_approx(ZCDP(rho), Fraction(told.costs["delta"])).epsilon > 1


def test_entries_that_were_charged_too_little_are_named_with_their_true_price(tmp_path: Path) -> None:
    ledger = Ledger.read(kept(tmp_path, "underpriced.basic"), check=arithmetic.known)
    before = ledger.head()
    one, parts = undercharged(ledger)
    assert (one.number, one.use, one.mechanism, one.revision) == (1, 0, "Tree", 1)
    assert (parts.number, parts.use, parts.mechanism, parts.revision) == (2, 0, "Groups", 2)
    for found, levels in ((one, "1,3,0"), (parts, "1,10,1")):
        assert {name: found.charged[name] for name in CHARGED} == CHARGED
        true_price(found, levels)
    assert ledger.head() == before and ledger.verify().statuses == {"done": 4}


def test_under_zcdp_the_true_rho_is_named(tmp_path: Path) -> None:
    (found,) = undercharged(Ledger.read(kept(tmp_path, "underpriced.zcdp"), check=arithmetic.known))
    true_price(found, "1,3,0")
    assert Fraction(found.costs["rho"]) > Fraction(found.charged["rho"])


@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_names_them_and_says_that_the_ledger_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    path = kept(tmp_path, "underpriced.basic")
    content = path.read_bytes()
    assert cli.main(["ledger", "verify", str(path), *(["--json"] if as_json else [])]) == cli.DONE
    said = capsys.readouterr().out
    if as_json:
        told = json.loads(said)["undercharged"]
        assert [(one["entry"], one["use"], one["costs"]["epsilon"]) for one in told] == [
            (1, None, "1.147196"),
            (2, None, "1.152389"),
        ]
    else:
        assert "holds" in said and "charged too little" in said
        assert "entry 1 (Tree, revision 1) was charged ε 1, δ 0.0000001, ρ 0.015047247901 and costs ε 1.147196" in said
    assert path.read_bytes() == content


def test_the_same_questions_to_this_dpviz_are_charged_enough(tmp_path: Path) -> None:
    """The twin: new answers of the same mechanisms are not named, and have the noise that their price promises."""
    rows = pd.DataFrame({"user": [f"u{i % 20}" for i in range(60)], "x": [i % 4 for i in range(60)]})
    unit = dv.Unit("user", relation="replace-one", max_bins=3)
    session = dv.Session(rows, unit=unit, budget=dv.Budget(10, "1e-5"), ledger=tmp_path / "new.ledger")
    tree: Any = dv.Tree(1, branching=2, levels="1,3,0", base="gaussian", delta="1e-7")
    release = session.release(dv.Question.of(dv.Domain.integers(0, 3, column="x")), tree)
    assert undercharged(session.ledger) == ()
    rho = release.terms.price.zcdp_steps
    true = Fraction(farthest("1,3,0")) / (2 * release.terms.law.amount)
    assert isinstance(rho, ZCDP) and true <= rho.rho < true + Fraction(1, 10**12)


def test_every_statement_is_about_revisions_before_the_one_in_force() -> None:
    kinds: list[Any] = [registry[name] for registry in (REGISTRY, OF_PARTS) for name in registry]
    said = {kind.name: [one.before for one in kind.repriced] for kind in kinds}
    tree = dv.Tree(1, base="gaussian", delta="1e-6")
    newest = {"Tree": tree.revision, "Groups": Groups(tree, "parallel").revision}
    assert all(1 < before <= newest[name] for name, found in said.items() for before in found)
    assert {name for name, found in said.items() if found} >= {"Tree", "Groups"}
