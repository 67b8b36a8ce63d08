"""The law that an answer is drawn from stands by itself: exact texts, and no calibration and no mechanism behind it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dpviz.errors import DpvizError, ReleaseFormat
from dpviz.mechanisms.alp import ALP
from dpviz.mechanisms.compact import Compact
from dpviz.mechanisms.dense import Dense
from dpviz.mechanisms.exponential_top_k import ExponentialTopK
from dpviz.mechanisms.groups import Groups
from dpviz.mechanisms.marginals import Marginals
from dpviz.mechanisms.max_projection import MaxProjection
from dpviz.mechanisms.pure_sparse import PureSparse
from dpviz.mechanisms.queries import Queries
from dpviz.mechanisms.randomised_record import RandomisedRecord
from dpviz.mechanisms.sample_bounded import SampleBounded
from dpviz.mechanisms.sample_category import SampleCategory
from dpviz.mechanisms.sample_product import SampleProduct
from dpviz.mechanisms.sorted import Sorted
from dpviz.mechanisms.stability import Stability
from dpviz.mechanisms.threshold import Threshold
from dpviz.mechanisms.threshold_alp import ThresholdALP
from dpviz.mechanisms.threshold_max_projection import ThresholdMaxProjection
from dpviz.mechanisms.top_k import TopK
from dpviz.mechanisms.top_k_laplace import TopKLaplace
from dpviz.mechanisms.top_k_set import TopKSet
from dpviz.mechanisms.tree import Tree
from dpviz.model.domain import Domain
from dpviz.model.error import ErrorModel, ErrorValue
from dpviz.model.laws import LAWS, StoredLaw, law_from_json, stored, unregister
from dpviz.model.laws.grouped import GroupedLaw
from dpviz.model.mechanism import Bound, Mechanism
from dpviz.model.partition import Partition
from dpviz.model.question import Question
from dpviz.privacy.unit import Unit
from tests.mechanisms.samples import declared
from tests.model import test_sureness

ROOT = Path(__file__).parents[2]
ROWS = Unit(noun="person")
SWAPPED = Unit(relation="replace-one", n=50, noun="person")
USER = Unit("user", max_bins=2, max_per_bin=3)
BINS = Domain.integers(0, 40, column="x")
HUGE = Domain.integers(0, 2**64 - 1, column="x")
KEYS = Domain.keys(column="word")
BETAS = (Fraction(1, 10), Fraction(1, 20), Fraction(1, 10**9))

RECORDS = Question.records([Domain.integers(0, 40, column="x"), Domain.categories(["a", "b"], column="y")])
TWO_BITS = Question.records([Domain.integers(0, 1, column="x"), Domain.categories(["a", "b"], column="y")])
SIGNED = Question.sum("y", by=HUGE, low=-2, high=2, step="0.5")

COLUMNS = Domain.product(*(Domain.integers(1, size, column=name) for name, size in (("a", 2), ("b", 3), ("c", 4))))
PARTS = Partition(Domain.integers(1, 3, column="month"))
CASES: dict[str, tuple[Mechanism, Domain | Question, Unit]] = {
    "dense": (Dense("1/3"), BINS, ROWS),
    "dense, unbiased": (Dense("1/3", clamp=False), BINS, USER),
    "dense, fast": (Dense("1/2", base="tight", sampler="fastsample"), BINS, SWAPPED),
    "dense, geo": (Dense("1/2", base="paper", sampler="geosample", cap=1000), BINS, ROWS),
    "dense, Gaussian": (Dense("1/3", base="gaussian", delta="1e-6"), BINS, SWAPPED),
    "dense, Gaussian, unbiased": (Dense(1, base="gaussian", delta="1e-6", clamp=False), BINS, USER),
    "stability": (Stability("1/2", "1e-6"), KEYS, ROWS),
    "stability, fast": (Stability(2, "1e-3", base="tight", sampler="fastsample", cap=1000), BINS, ROWS),
    "stability, truncated": (Stability("1/2", "1e-6"), KEYS, USER),
    "stability, Gaussian": (Stability("1/2", "1e-6", base="gaussian"), KEYS, USER),
    "stability, Gaussian, replaced": (Stability(2, "1e-6", base="gaussian"), BINS, SWAPPED),
    "pure sparse": (PureSparse("1/2"), HUGE, SWAPPED),
    "pure sparse, strict": (PureSparse("1/2", base="tight", cap=3), Domain.integers(0, 999, column="x"), ROWS),
    "compact": (Compact(1), HUGE, SWAPPED),
    "compact, fast": (Compact(1, sampler="fastsample"), HUGE, SWAPPED),
    "threshold": (Threshold("1/2"), HUGE, ROWS),
    "threshold with delta": (Threshold("1/2", "1e-6"), KEYS, USER),
    "threshold, Gaussian": (Threshold("1/2", "1e-6", base="gaussian"), KEYS, USER),
    "sketch": (ALP(1, cap=50, keys=30), KEYS, USER),
    "sketch of columns of any size": (ALP(1, cap=50, keys=30, hashing="carter-wegman"), KEYS, USER),
    "sketch of logarithms": (ALP(1, cap=10**5, keys=30, encoding="log"), HUGE, USER),
    "sketch of both signs": (ALP(1, cap=50, keys=30, encoding="signed"), SIGNED, ROWS),
    "threshold and sketch": (ThresholdALP(1, keys=30, delta="1e-6", adaptive=True), BINS, ROWS),
    "threshold and logarithms": (ThresholdALP(4, keys=30, delta="1e-6", split="1/10", encoding="log"), KEYS, USER),
    "threshold and both signs": (ThresholdALP(1, keys=30, encoding="signed", adaptive=True), SIGNED, ROWS),
    "buckets": (MaxProjection(1, cap=50, keys=30), KEYS, USER),
    "threshold and buckets": (ThresholdMaxProjection(1, keys=30, delta="1e-6"), BINS, ROWS),
    "top k": (TopK(3, 10, epsilon=1), KEYS, USER),
    "top k, strict": (TopK(3, 10, epsilon=1, domain_rule="strict"), BINS, SWAPPED),
    "top k, private": (TopK(4, "private", epsilon=1, largest=20), KEYS, ROWS),
    "top k, all bins": (TopK(3, 41, epsilon=1, domain_rule="paper"), BINS, ROWS),
    "noisy list": (TopKLaplace(3, 10, epsilon=1), KEYS, USER),
    "coins": (TopKSet(3, epsilon=1), KEYS, USER),
    "exponential": (ExponentialTopK(3, epsilon=1), BINS, SWAPPED),
    "sorted": (Sorted("1/2"), BINS, USER),
    "sorted, the largest": (Sorted(1, largest=7), BINS, SWAPPED),
    "queries": (Queries("1/2"), Domain.categories(list("abc"), column="grade"), ROWS),
    "marginals": (Marginals("1/2", weights={("a", "b"): 3, (): 1}), COLUMNS, USER),
    "marginals, a public total": (Marginals("1/2", ways=1, total="public"), COLUMNS, SWAPPED),
    "marginals, Gaussian": (Marginals("1/2", base="gaussian", delta="1e-6"), COLUMNS, SWAPPED),
    "a label from weights": (SampleCategory("1/3"), RECORDS, SWAPPED),
    "a label alone": (SampleCategory("1/3", draws="one"), RECORDS, ROWS),
    "a label by the nearest chances": (SampleCategory("1/3", "euclid"), RECORDS, SWAPPED),
    "bits": (SampleBounded(1), TWO_BITS, SWAPPED),
    "bits by noisy means": (SampleProduct(1, "1e-6"), TWO_BITS, SWAPPED),
    "bits by noise as printed": (SampleProduct("1/3", "1e-9", noise="paper"), TWO_BITS, SWAPPED),
    "a told record": (RandomisedRecord("1/3"), RECORDS, SWAPPED),
    "bits of rows that come or go": (SampleBounded("1/3"), TWO_BITS, ROWS),
    "noisy means of rows that come or go": (SampleProduct(1, "1e-6", rows=99), TWO_BITS, ROWS),
    "a told record of rows that come or go": (RandomisedRecord("1/3"), RECORDS, ROWS),
    "one for each part": (Groups(Dense("1/3"), "sequence"), Question(BINS, by=PARTS), SWAPPED),
    "one for each disjoint part": (Groups(TopK(3, 10, epsilon=1), "parallel"), Question(KEYS, by=PARTS), ROWS),
    "one product domain": (Groups(TopK(3, 10, epsilon=1), "product"), Question(BINS, by=PARTS), USER),
    "counts of one product domain": (Groups(Dense("1/3"), "product"), Question(BINS, by=PARTS), SWAPPED),
    "tree": (Tree("1/3"), BINS, USER),
    "tree, weighted": (Tree(1, branching=4, padding="pinned", levels="1,2,0,1", root="public"), BINS, SWAPPED),
    "tree, Gaussian": (Tree("1/3", base="gaussian", delta="1e-6", levels="1,2,1", branching=7), BINS, USER),
    **{name: samples.planned for name, samples in declared().items()},
}


def bound(name: str) -> Bound:
    mechanism, domain, unit = CASES[name]
    return mechanism.bind(domain if isinstance(domain, Question) else Question.of(domain), unit)


def written(law: StoredLaw) -> str:
    return json.dumps(law.to_json(), sort_keys=True)


def errors(error: ErrorModel) -> list[Any]:
    """Everything that is asked of an error, as texts."""
    texts: list[Any] = []
    for beta in BETAS:
        asked: list[ErrorValue | None] = [error.one_bin(beta), error.all_bins(beta), error.shown(beta)]
        asked += [error.one_bin(beta, count=count) for count in (0, 1, 7)]
        asked += [error.listed(beta), error.rank(1, beta), error.rank(3, beta), error.look_ups(5, beta)]
        texts.append([None if value is None else value.to_json() for value in asked])
    means = [error.expected(0), error.bias(0), error.expected(5), error.bias(5), error.total_variation()]
    texts.append([None if value is None else value.to_json() for value in means])
    texts.append(
        [error.chance_shown(0), error.chance_shown(5), error.quantiles([Fraction(1, 4)]), error.chances([-1, 0])]
    )
    return texts


@pytest.mark.parametrize("name", CASES)
def test_a_law_is_read_back_from_its_texts_and_says_the_same_errors(name: str) -> None:
    law = bound(name).law
    again = law_from_json(json.loads(written(law)))
    assert type(again) is type(law) and again == law and written(again) == written(law)
    assert errors(again.error) == errors(bound(name).error)


def test_every_law_that_is_known_is_among_the_cases() -> None:
    laws: list[StoredLaw] = [bound(name).law for name in CASES]
    laws += [law.each for law in laws if isinstance(law, GroupedLaw)]
    drawn = {(law.name, law.version) for law in laws}
    assert drawn <= set(LAWS)
    if left := set(LAWS) - drawn:  # laws whose mechanism is gone, and whose releases are still read
        others = [test_sureness.case_of(name).law for name in test_sureness.CASES]
        found = {(law.name, law.version): law for law in others}
        assert left <= set(found), f"no case binds a mechanism to {left - set(found)}"
        assert all(law_from_json(json.loads(written(found[which]))) == found[which] for which in left)


ALONE = """
import json, sys

class NoMechanisms:
    def find_spec(self, name, path=None, target=None):
        if name == "dpviz.mechanisms" or name.startswith("dpviz.mechanisms."):
            raise ImportError(name)

import types, pathlib
root = sys.argv[1]
package = types.ModuleType("dpviz")
package.__path__ = [root + "/dpviz"]
sys.modules["dpviz"] = package  # without the facade, which imports everything
sys.meta_path.insert(0, NoMechanisms())
from fractions import Fraction
from dpviz.model.laws import law_from_json

found = {}
for name, text in json.load(sys.stdin).items():
    error = law_from_json(text).error
    values = [error.one_bin(Fraction(1, 20)), error.all_bins(Fraction(1, 20)), error.listed(Fraction(1, 20))]
    found[name] = [None if value is None else value.to_json() for value in values]
assert not [name for name in sys.modules if name.startswith("dpviz.mechanisms")]
print(json.dumps(found))
"""


def test_every_law_says_its_errors_where_no_mechanism_can_be_imported() -> None:
    laws = json.dumps({name: bound(name).law.to_json() for name in CASES})
    command = [sys.executable, "-c", ALONE, str(ROOT)]
    done = subprocess.run(command, input=laws, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    beta = Fraction(1, 20)
    expected = {}
    for name in CASES:
        error = bound(name).error
        values = [error.one_bin(beta), error.all_bins(beta), error.listed(beta)]
        expected[name] = [None if value is None else value.to_json() for value in values]
    assert json.loads(done.stdout) == expected


class Recalibrated(Dense):
    """A later Dense with the same parameters, and twice the noise."""

    def bind(self, question: Question, unit: Unit) -> Any:
        return Dense(self.epsilon / 2).bind(question, unit)


def test_a_later_calibration_does_not_move_the_errors_of_a_stored_law() -> None:
    question = Question.of(BINS)
    text = written(Dense("1/3").bind(question, ROWS).law)
    before = errors(law_from_json(json.loads(text)).error)
    later = Recalibrated("1/3").bind(question, ROWS)
    assert errors(later.error) != before, "the twin has another calibration"
    assert errors(law_from_json(json.loads(text)).error) == before


@dataclass(frozen=True)
class Flat(ErrorModel):
    law: FlatLaw

    def one_bin(self, beta: Fraction, *, count: int | None = None) -> ErrorValue:
        return ErrorValue(self.law.half / beta, "bound", "a flat law")


@dataclass(frozen=True)
class FlatLaw(StoredLaw):
    name: ClassVar[str] = "flat"

    half: Fraction

    @property
    def error(self) -> ErrorModel:
        return Flat(self)


def test_a_new_law_declares_itself_where_it_is_written() -> None:
    law = FlatLaw(Fraction(1, 3))
    with pytest.raises(ReleaseFormat, match="update dpviz"):
        law_from_json(law.to_json())
    try:
        again = law_from_json(json.loads(written(stored(FlatLaw)(Fraction(1, 3)))))
        assert again == law and again.error.one_bin(Fraction(1, 2)) == law.error.one_bin(Fraction(1, 2))
    finally:
        unregister(FlatLaw)
    with pytest.raises(ReleaseFormat, match="update dpviz"):
        law_from_json(law.to_json())


# ---------------------------------------------------------------- damage


def damaged(text: Any, chance: random.Random) -> Any:
    """The same with one part changed, left out or added."""
    changed = json.loads(json.dumps(text))
    part = changed
    while True:
        name = chance.choice([*part])
        if isinstance(part[name], dict) and chance.random() < 0.8:
            part = part[name]
            continue
        break
    other = ["", "-1", "0", "1", "2/4", "1.5", " 1", "01", "9" * 5000, "nan", None, True, 1, 1.5, [], {}, "geosample"]
    match chance.randrange(4):
        case 0:
            del part[name]
        case 1:
            part["more"] = "1"
        case _:
            part[name] = chance.choice(other)
    return changed


def attempts() -> Iterator[tuple[str, Any]]:
    chance = random.Random(7)
    for name in CASES:
        text = json.loads(written(bound(name).law))
        for _ in range(60):
            yield name, damaged(text, chance)


def test_damaged_laws_are_refused_as_no_release_or_are_whole_laws_of_other_numbers() -> None:
    refused = 0
    for name, text in attempts():
        try:
            law = law_from_json(text)
        except ReleaseFormat:
            refused += 1
            continue
        assert law.to_json() == text, f"{name}: what is read is what is written"
    assert refused > 500


@pytest.mark.parametrize("text", [None, [], "dense", {}, {"name": "dense"}, {"name": "dense", "version": "1"}])
def test_what_is_no_law_is_refused(text: Any) -> None:
    with pytest.raises(ReleaseFormat):
        law_from_json(text)


def test_a_newer_version_of_a_law_asks_for_an_update() -> None:
    text = {**bound("dense").law.to_json(), "version": 2}
    with pytest.raises(ReleaseFormat, match="update dpviz"):
        law_from_json(text)


def test_a_law_of_impossible_numbers_is_not_made() -> None:
    law: Any = bound("top k").law
    for part in ({"rate": Fraction(0)}, {"items": 11}, {"odds": Fraction(-1)}):
        with pytest.raises((ReleaseFormat, ValueError)):
            replace(law, **part)


def test_a_law_never_takes_the_place_of_another_of_its_name_and_version() -> None:
    law = next(iter(LAWS.values()))
    impostor = type("Impostor", (StoredLaw,), {"name": law.name, "version": law.version})
    with pytest.raises(DpvizError, match="raise its version"):
        stored(impostor)
    assert LAWS[law.name, law.version] is law and stored(law) is law


@pytest.mark.parametrize("law", [FlatLaw, next(iter(LAWS.values()))])
def test_only_a_law_that_others_registered_is_taken_out(law: type[StoredLaw]) -> None:
    known = dict(LAWS)
    with pytest.raises(DpvizError, match="taken out"):
        unregister(law)
    assert known == LAWS


# ---------------------------------------------------------------- laws inside laws


@dataclass(frozen=True)
class MixtureLaw(StoredLaw):
    """Drawn from one law or from another, as flat laws are."""

    name: ClassVar[str] = "mixture"

    first: FlatLaw
    other: StoredLaw | None
    share: Fraction

    @property
    def error(self) -> ErrorModel:
        return self.first.error


@pytest.fixture
def mixtures() -> Iterator[None]:
    stored(FlatLaw)
    stored(MixtureLaw)
    yield
    unregister(MixtureLaw)
    unregister(FlatLaw)


@pytest.mark.usefixtures("mixtures")
def test_laws_inside_a_law_are_stored_as_objects_of_their_own_and_read_back() -> None:
    inner = MixtureLaw(FlatLaw(Fraction(1, 3)), None, Fraction(1, 5))
    law = MixtureLaw(FlatLaw(Fraction(1, 2)), inner, Fraction(1, 7))
    text = json.loads(written(law))
    assert text == {
        "name": "mixture",
        "version": 1,
        "first": {"name": "flat", "version": 1, "half": "1/2"},
        "other": inner.to_json(),
        "share": "1/7",
    }
    assert law_from_json(text) == law
    dense = bound("dense").law
    assert law_from_json(MixtureLaw(FlatLaw(Fraction(1)), dense, Fraction(1)).to_json()).other == dense  # type: ignore[attr-defined]


@pytest.mark.usefixtures("mixtures")
def test_another_law_or_none_at_all_in_the_place_of_one_is_refused() -> None:
    text = MixtureLaw(FlatLaw(Fraction(1, 3)), None, Fraction(1)).to_json()
    later = {"name": "flat", "version": 2, "half": "1/3"}
    for other in (bound("dense").law.to_json(), {"half": "1/3"}, later, None, "flat"):
        with pytest.raises(ReleaseFormat):
            law_from_json({**text, "first": other})
    with pytest.raises(ReleaseFormat):
        law_from_json({**text, "other": {"name": "unheard", "version": 1}})
    deep: Any = None
    for _ in range(5000):
        deep = {**text, "other": deep}
    with pytest.raises(ReleaseFormat):
        law_from_json(deep)


def test_no_field_of_a_law_is_called_as_what_says_which_law_it_is() -> None:
    @dataclass(frozen=True)
    class Wrong(StoredLaw):
        version: str  # type: ignore[misc]

    Wrong.name = "wrong"
    with pytest.raises(DpvizError, match="another name"):
        stored(Wrong)
