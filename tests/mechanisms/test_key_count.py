"""KeyCount: price over all neighbours of whole tables, the least shift, draws, and what it is for."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DomainError, ParameterError, ReleaseFormat, UnitError
from dpviz.exact import Enclosure, exp_bounds
from dpviz.mechanisms import key_count
from dpviz.mechanisms.key_count import KeyCountBound
from dpviz.model.answers import KeyBound
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts
from dpviz.noise.bits import TeachingBits
from dpviz.privacy import Unit
from tests.mechanisms import contract
from tests.mechanisms.contract import Case
from tests.mechanisms.samples import CHANCES, NUMBERS, Samples
from tests.mechanisms.streams import streamed
from tests.mechanisms.test_dense import exponential, geometric_oracle

if TYPE_CHECKING:
    from tests.prices.searchers import Held

FEW = Question.of(dv.Domain.integers(0, 2, column="x"))
KEYS = Question.of(dv.Domain.keys(column="word"))
UNSIGNED = Question.sum("x", by=dv.Domain.integers(0, 2, column="k"), low=0, high=2, step=1)
SIGNED = Question.sum("x", by=dv.Domain.integers(0, 2, column="k"), low=-2, high=2, step=1)
UNITS = {
    "row": Unit("row"),
    "swap": Unit("row", relation="replace-one", n=5),
    "user": Unit("u", max_bins=2, max_per_bin=1),
    "heavy": Unit("u", max_bins=1, max_per_bin=2),
    "user replaced": Unit("u", relation="replace-one", max_bins=2, max_per_bin=1),
    "user everywhere": Unit("u", max_bins=None, max_per_bin=1),
}


def neighbours(chance: random.Random) -> Iterator[Held]:
    """The largest move of the number of bins by any pair, whatever the records of others leave there."""
    from tests.prices.searchers import Held, epsilon_of, separate, sums, to_approx, told

    found = sums(chance, keys=True)
    made = dv.KeyCount(epsilon_of(chance))
    bound: Any = made.bind(found.question, found.limits.unit())
    others = range(-12, 13) if found.signed else (0, 1)

    def moved(one: int, other: int) -> float:
        return max((base + one != 0) - (base + other != 0) for base in others)

    true = float(bound.exponent) * separate(found, moved)
    yield Held(told(made, found.limits, found.bins), "L1", float(to_approx(bound.price.loss).epsilon), true)


SAMPLES = Samples(
    values={"epsilon": NUMBERS, "beta": CHANCES},
    starts=[{"epsilon": 1}, {"epsilon": "1/3", "beta": "1e-9"}],
    planned=(dv.KeyCount(1, "1e-9"), KEYS, Unit("u", max_bins=10**6, max_per_bin=10**3)),
    searcher=(neighbours, 4),
    keys=True,
    per_bin=False,
    sums=[(dv.KeyCount(40), dv.Domain.keys(column="k"), 0)],
)


def bound_of(question: Question, unit: Unit, epsilon: str = "1", beta: str = "1/10") -> KeyCountBound:
    return dv.KeyCount(epsilon, beta).bind(question, unit)


def raised(bound: KeyCountBound, shift: int) -> Case:
    """From the definition: what is drawn for so many bins, those far above 3 as one value."""
    law = geometric_oracle(exponential(bound.exponent), 1 - shift, 9)

    def of(bins: int) -> contract.Law:
        return {value + shift: chance for value, chance in law(bins).items()}

    def asked(counts: tuple[int, ...]) -> tuple[int, ...]:
        return (sum(1 for count in counts if count),)

    return Case("key count", bound, 3, of, asked, lambda answer: np.array([min(answer.keys, 9 + shift)]))  # type: ignore[attr-defined]


# ---------------------------------------------------------------- price


@pytest.mark.parametrize("name", UNITS)
def test_the_worst_ratio_over_all_neighbouring_tables_is_the_price(name: str) -> None:
    bound = bound_of(FEW, UNITS[name])
    case = raised(bound, bound.shift)
    contract.check_price(case, exact_odds=exp_bounds(bound.price.epsilon, 256))
    with pytest.raises(AssertionError, match="not the worst ratio"):
        contract.check_price(case, exact_odds=exp_bounds(bound.price.epsilon * Fraction(999, 1000), 256))


def contributions(question: Question, unit: Unit) -> list[tuple[int, ...]]:
    """All that one unit may add to three bins, in whole steps."""
    low, high = (-2, 2) if question.aggregate.signed else (0, 2)
    each = {
        sum(rows)
        for many in range(unit.max_per_bin + 1)
        for rows in itertools.product(range(low, high + 1), repeat=many)
    }
    most = 3 if unit.max_bins is None else unit.max_bins
    return [one for one in itertools.product(sorted(each), repeat=3) if sum(1 for part in one if part) <= most]


@pytest.mark.parametrize("question", [UNSIGNED, SIGNED], ids=["unsigned", "signed"])
@pytest.mark.parametrize("name", UNITS)
def test_no_unit_moves_the_number_further_than_it_pays_for_and_some_unit_as_far(name: str, question: Question) -> None:
    """Over all totals of three bins and all that one unit adds, or is replaced by. Of sums of both signs a row that is
    replaced may occupy two bins that were empty."""
    unit = UNITS[name]
    paid = 1 / bound_of(question, unit).exponent
    own = contributions(question, unit)
    least = -2 if question.aggregate.signed else 0
    worst = 0
    for base in itertools.product(range(least, 3), repeat=3):
        found = [sum(1 for there, more in zip(base, one, strict=True) if there + more) for one in own]
        alone = sum(1 for there in base if there)
        far = [max(found) - min(found)] if unit.relation == "replace-one" else [abs(one - alone) for one in found]
        worst = max(worst, *far)
    assert worst == paid
    assert (name == "swap" and question is SIGNED) == (worst == 2 and unit.is_row)


def test_a_limit_that_is_forgotten_is_found_by_the_seeded_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit may empty or occupy several bins."""
    from tests.prices.searchers import search
    from tests.soak.test_neighbours import SEEDED

    assert not search(SEEDED[:400], ("KeyCount",)).too_low
    monkeypatch.setattr(key_count, "occupied", lambda question, unit: 1)
    assert search(SEEDED, ("KeyCount",), stop=True).too_low


def test_what_has_no_bound_is_refused_before_anything_is_paid() -> None:
    with pytest.raises(UnitError, match="max_bins"):
        dv.KeyCount(1).bind(KEYS, Unit("u", max_bins=None))
    with pytest.raises(ParameterError, match="counts rows and adds up values"):
        dv.KeyCount(1).bind(Question.records([dv.Domain.integers(0, 1, column="k")]), Unit())
    for parameters, named in (({"beta": 0}, "beta"), ({"beta": 1}, "beta"), ({"epsilon": 0}, "epsilon")):
        with pytest.raises(ParameterError, match=named):
            dv.KeyCount(**{"epsilon": 1, **parameters})  # type: ignore[arg-type]


# ---------------------------------------------------------------- the shift


def too_small(bound: KeyCountBound, shift: int) -> Enclosure:
    """The chance, from the definition, that k + Z + shift is not above k: P[Z >= shift]."""
    y = exponential(bound.exponent)
    return y(shift)[0] / (1 + y(1)[1]), y(shift)[1] / (1 + y(1)[0])


@pytest.mark.parametrize("epsilon", ["1/10", "1/2", "1", "3"])
@pytest.mark.parametrize("beta", ["1/20", "1/1000", "1e-9"])
def test_the_shift_is_the_least_that_keeps_the_chance(epsilon: str, beta: str) -> None:
    bound = bound_of(KEYS, UNITS["row"], epsilon, beta)
    assert too_small(bound, bound.shift)[1] <= Fraction(beta)
    assert bound.shift == 1 or too_small(bound, bound.shift - 1)[0] > Fraction(beta)


def test_the_shift_of_continuous_noise_is_too_small() -> None:
    """ln(d/2)/epsilon, rounded, keeps 1/d for continuous noise; geometric noise passes it by up to 1.8 times."""
    worst = Fraction(0)
    for epsilon, d in itertools.product(("1/10", "1/2", "1", "2", "3", "4"), (20, 50, 100, 1000, 10**6)):
        bound = bound_of(KEYS, UNITS["row"], epsilon, f"1/{d}")
        continuous = math.ceil(math.log(d / 2) / float(Fraction(epsilon)))
        assert continuous <= bound.shift
        worst = max(worst, too_small(bound, continuous)[0] * d)
    assert Fraction(3, 2) < worst < Fraction(19, 10), "the twin misses its chance by more than half"


# ---------------------------------------------------------------- draws and use


def test_draws_have_the_stated_law() -> None:
    """False alarm 1e-9 at most, seed fixed. The twin, raised by one less, is rejected with power above 0.999."""
    bound = bound_of(FEW, UNITS["row"])
    case, twin = raised(bound, bound.shift), raised(bound, bound.shift - 1)
    for counts in ((3, 0, 1), (0, 0, 0)):
        assert contract.check_draws(case, counts, 4000, "exact", seed=5) > contract.FALSE_ALARM
    assert contract.check_draws(twin, (3, 0, 1), 4000, "exact", seed=5) < contract.FALSE_ALARM


def test_the_number_is_above_the_true_one_as_often_as_said() -> None:
    """4,000 draws at beta 1/10: between 200 and 600 too small, but for a chance below 1e-9 (Hoeffding)."""
    bound = bound_of(KEYS, UNITS["row"], "1/10", "1/10")
    statistic = SparseCounts(np.array([f"w{i:03}" for i in range(500)], dtype=object), np.ones(500, dtype=np.int64))
    bits = TeachingBits(9)
    small = sum(bound.draw(statistic, bits, mode="exact").keys <= 500 for _ in range(4000))
    assert 200 < small < 600


def test_keys_that_come_in_batches_are_counted_alike() -> None:
    """The same bits give the same number, whether all keys are in memory or none stays there."""
    bound, counts = bound_of(KEYS, UNITS["row"]), {f"w{i:03}": 1 for i in range(500)}
    whole = SparseCounts(np.array(sorted(counts), dtype=object), np.ones(500, dtype=np.int64))
    drawn = [bound.draw(held, TeachingBits(9), mode="exact").keys for held in (whole, streamed(counts, size=60))]
    fewer = bound.draw(streamed(dict.fromkeys(sorted(counts)[:-1], 1), size=60), TeachingBits(9), mode="exact").keys
    assert drawn[0] == drawn[1] == fewer + 1


def test_a_number_of_keys_that_is_paid_for_plans_a_sketch(tmp_path: Path) -> None:
    """The noise is the system's: each statement about it fails with a chance of at most 1e-10. Every word comes three
    times; what is read lies within the interval at 1e-10, and an interval that has any word's count is a wide one."""
    frame = pd.DataFrame({"word": [f"w{i}" for i in range(300)] * 3})
    session = dv.Session(frame, Unit("row"), dv.Budget(5, delta="1e-3"), tmp_path / "ledger")
    count = session.release("word", dv.KeyCount("1/2", beta="1e-10"))
    assert 300 < count.answer.keys < 400  # type: ignore[attr-defined]
    for mechanism in (
        dv.ThresholdALP(1, keys=count.answer.keys, delta="1e-6"),  # type: ignore[attr-defined]
        dv.MaxProjection(1, cap=50, keys=count.answer.keys),  # type: ignore[attr-defined]
    ):
        release = session.release("word", mechanism)
        intervals = release.answer.intervals(release.reading, Fraction(1, 10**10), "one", ["w1"])
        assert intervals is not None
        (low,), (high,) = intervals.low, intervals.high
        assert (low is None or low <= 3) and (high is None or 3 <= high) and (low, high) != (None, None)
    assert count.values == [count.answer.keys] == [count["bins that are not empty, at most"]]  # type: ignore[attr-defined]
    with pytest.raises(DomainError, match="one number"):
        count["w1"]
    place = count.save(tmp_path / "count.json")
    assert dv.load(place, ledger=session) == count
    low, high = count.to_frame(beta="1e-10")[["low", "high"]].iloc[0]
    assert low <= 300 <= high and "Fewer than" in count.sentence


def test_a_saved_number_is_one_that_may_be_drawn() -> None:
    stored = KeyBound(7).to_json()
    assert KeyBound.from_json(json.loads(json.dumps(stored))) == KeyBound(7)
    for wrong in ("0", "-3", "07", "7.0", "x", 7, None):
        with pytest.raises(ReleaseFormat):
            KeyBound.from_json({**stored, "keys": wrong})
    with pytest.raises(ReleaseFormat):
        KeyBound.from_json({**stored, "more": "1"})
