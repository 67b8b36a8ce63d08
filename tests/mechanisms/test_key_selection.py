"""KeySelection: chances against their recursion, price over all neighbours, draws and what is stated of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import gmpy2
import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import ParameterError, ReleaseFormat, UnitError
from dpviz.exact import Enclosure, exp_bounds
from dpviz.laws.key_selection import SelectionChances
from dpviz.mechanisms import key_selection
from dpviz.mechanisms.key_selection import KeySelectionBound
from dpviz.model.answers import KeySet
from dpviz.model.laws.key_selection import KeySelectionLaw
from dpviz.model.question import Question
from dpviz.model.statistic import SparseCounts
from dpviz.noise.bits import TeachingBits
from dpviz.noise.key_selection import NamingChances, NamingCoins
from dpviz.privacy import Unit
from dpviz.privacy.key_selection import share_of_a_key
from tests.mechanisms import contract
from tests.mechanisms.contract import Case, Law
from tests.mechanisms.samples import CHANCES, NUMBERS, Samples
from tests.mechanisms.streams import streamed

if TYPE_CHECKING:
    from tests.model.test_sureness import Case as SureCase
    from tests.prices.searchers import Held

KEYS = Question.of(dv.Domain.keys(column="word"))
ROW = Unit("row")
UNITS = {
    "row": (ROW, 2, "1", "1/10"),
    "row, a large delta": (ROW, 2, "1/2", "3/5"),
    "user": (Unit("u", max_bins=2), 2, "2", "1/5"),
    "user of two of three": (Unit("u", max_bins=2), 3, "3", "1/3"),
    "user of one record": (Unit("u", max_bins=2, max_records=1), 2, "1", "1/10"),
    "user replaced": (Unit("u", relation="replace-one", max_bins=1), 2, "2", "1/5"),
    "users of two bins replaced": (Unit("u", relation="replace-one", max_bins=2), 3, "6", "1/2"),
    "row replaced": (Unit("row", relation="replace-one", n=9), 2, "2", "1/5"),
}
"""A unit, how many bins there are, epsilon and delta."""

DIGITS = 600


def chances(epsilon: Fraction, delta: Fraction) -> list[Enclosure]:
    """The recursion as it is printed, up to the first chance of 1, each rounded outwards to so many binary places."""
    found, one = [(Fraction(0), Fraction(0))], 1 << DIGITS
    grown, shrunk = exp_bounds(epsilon, 2 * DIGITS), exp_bounds(-epsilon, 2 * DIGITS)
    while found[-1][0] < 1:
        low, high = found[-1]
        first = grown[0] * low + delta, grown[1] * high + delta
        left = 1 - high - delta, 1 - low - delta
        second = [
            1 - left[1] * shrunk[1 if left[1] > 0 else 0],
            1 - left[0] * shrunk[0 if left[0] > 0 else 1],
        ]
        low, high = (min(first[side], second[side], Fraction(1)) for side in (0, 1))
        found.append((Fraction(int(low * one), one), Fraction(-int(-high * one // 1), one)))
    return found


@cache
def shared(unit: Unit, bins: int, epsilon: str, delta: str) -> tuple[Fraction, Fraction]:
    """The price of one bin from the definition: as many bins as any unit moves, enumerated."""
    most = max(sum(map(abs, move)) for move in contract.moves(unit, bins))
    low, high = Fraction(0), Fraction(1)
    for _ in range(200):
        middle = (low + high) / 2
        fits = 1 - (1 - middle) ** most <= Fraction(delta)
        low, high = (middle, high) if fits else (low, middle)
    return Fraction(epsilon) / most, low


def coin(chance: Sequence[Enclosure]) -> Callable[[int], Law]:
    def law(count: int) -> Law:
        low, high = chance[min(count, len(chance) - 1)]
        return {0: (1 - high, 1 - low), 1: (low, high)}

    return law


def bound_of(name: str) -> KeySelectionBound:
    unit, bins, epsilon, delta = UNITS[name]
    return dv.KeySelection(epsilon, delta).bind(Question.of(dv.Domain.integers(0, bins - 1, column="x")), unit)


def case(name: str, law: Callable[[int], Law] | None = None, most: int | None = None) -> Case:
    """Each bin as 1 where it is named. Counts run to the first that is always named, and one more."""
    unit, bins, epsilon, delta = UNITS[name]
    bound, own = bound_of(name), chances(*shared(unit, bins, epsilon, delta))
    return Case(
        name, bound, len(own) if most is None else most, law or coin(own), drawn=lambda answer: named(answer, bins)
    )


def named(answer: Any, bins: int) -> np.ndarray:
    found = np.zeros(bins, dtype=np.int64)
    found[list(answer.items)] = 1
    return found


def neighbours(chance: random.Random) -> Iterator[Held]:
    """The worst of many pairs: each bin that one unit moves has few other users, many, or nearly enough."""
    from tests.prices.contributions import Limits, contributions, pairs
    from tests.prices.searchers import Held, told

    bins = chance.randint(1, 4)
    limits = Limits(False, chance.random() < 0.5, chance.choice((None, 1, 2, 3)), 1, chance.choice((None, None, 1, 2)))
    made = dv.KeySelection(chance.choice(("1/2", "1", "2", "5")), chance.choice(("1e-6", "1e-2", "1/4", "3/5")))
    keys = limits.bins is not None and chance.random() < 0.5 and limits.bins >= bins
    domain = dv.Domain.keys(column="x") if keys else dv.Domain.integers(1, bins, column="x")
    bound: Any = made.bind(Question.of(domain), limits.unit())
    assert len(contributions(limits, bins)) <= 16
    # The price is attained to the last digit, which floats lose where odds are large and delta is small.
    law, true = [exactly(low) for low, _ in chances(bound.law.epsilon, bound.law.delta)], 0.0
    law += [exactly(1), exactly(1)]
    tops = [*range(3), *range(len(law) - 5, len(law) - 1), *(chance.randrange(len(law) - 1) for _ in range(6))]
    odds = exactly(exp_bounds(made.epsilon, DIGITS)[1])
    before, after = pairs(limits, bins)
    for one, other in zip(before.tolist(), after.tolist(), strict=True):
        for _ in range(12):
            others = [max(0, chance.choice(tops)) for _ in range(bins)]
            first, second = (
                [law[min(there + more, len(law) - 1)] for there, more in zip(others, own, strict=True)]
                for own in (one, other)
            )
            true = max(true, excess(first, second, odds))
    yield Held(told(made, limits, bins), "delta", float(made.delta), true)


def exactly(number: int | Fraction) -> Any:
    """A number to 256 binary digits."""
    return gmpy2.mpfr(gmpy2.mpq(number), 256)


def excess(first: Sequence[Any], second: Sequence[Any], odds: Any) -> float:
    """By how much the chances of some answers exceed the odds times those of a neighbour, in all."""
    with gmpy2.context(precision=256):
        one, other = [exactly(1)], [exactly(1)]
        for p, q in zip(first, second, strict=True):
            one = [chance * here for chance in one for here in (p, 1 - p)]
            other = [chance * here for chance in other for here in (q, 1 - q)]
        return float(sum(max(exactly(0), a - odds * b) for a, b in zip(one, other, strict=True)))


def selection(epsilon: str, delta: str) -> Callable[[], SureCase]:
    """How often a bin of some count is not named, from the recursion."""

    def made() -> SureCase:
        from tests.model.test_sureness import Case as SureCase

        known = chances(Fraction(epsilon), Fraction(delta))

        def missed(a: int | Fraction) -> Enclosure:
            low, high = known[min(int(a), len(known) - 1)]
            return 1 - high, 1 - low

        return SureCase(KeySelectionLaw(Fraction(epsilon), Fraction(delta), 3, None), {"named": missed})

    return made


SAMPLES = Samples(
    values={"epsilon": NUMBERS, "delta": CHANCES},
    starts=[{"epsilon": 1, "delta": "1e-6"}, {"epsilon": "1/3", "delta": "1e-9"}],
    planned=(dv.KeySelection(1, "1e-9"), KEYS, Unit("u", max_bins=10**6)),
    searcher=(neighbours, 4),
    keys=True,
    per_bin=False,
    laws={
        "key selection": selection("1", "1/1000"),
        "key selection, half of delta": selection("1/3", "1/2"),
        "key selection, hardly any": selection("1/10", "1e-9"),
    },
)

# ---------------------------------------------------------------- chances


@pytest.mark.parametrize("epsilon", ["1/20", "1/10", "1/2", "1", "3", "40"])
@pytest.mark.parametrize("delta", ["1e-30", "1e-9", "1e-6", "1/10", "1/3", "49/100", "1/2", "51/100", "999/1000"])
def test_both_solved_forms_are_the_recursion(epsilon: str, delta: str) -> None:
    """The law's, and that of the coins, at the first counts, around the turn and at the last."""
    price = Fraction(epsilon), Fraction(delta)
    law, coins, known = SelectionChances(*price), NamingChances(*price), chances(*price)
    assert law.sure == len(known) - 1 and law.named(len(known) - 2)[1] < 1
    for count in {*range(9), *range(law.turn - 2, law.turn + 3), *range(law.sure - 3, law.sure + 3)}:
        low, high = known[max(0, min(count, law.sure))]
        for found in (law.named(count, 300), coins.of(count, 300)):
            assert found[0] <= high and low <= found[1], count
            assert found[1] - found[0] < Fraction(1, 2**280) and Fraction(0) <= found[0] <= found[1] <= 1
    for chance in (*(price[1] * share for share in (Fraction(1, 2), 1)), Fraction(1, 2), Fraction(19, 20)):
        least = law.least(chance)
        assert known[least][1] >= chance and known[least - 1][0] < chance


@pytest.mark.parametrize("epsilon", ["1e-27", "1e-9", "1/1000"])
@pytest.mark.parametrize("delta", ["1e-208", "1e-12", "1/3"])
def test_both_solved_forms_agree_where_the_recursion_is_too_long(epsilon: str, delta: str) -> None:
    price = Fraction(epsilon), Fraction(delta)
    law, coins = SelectionChances(*price), NamingChances(*price)
    for count in (1, 2, law.turn, law.turn + 1, law.sure // 2, law.sure - 1, law.sure):
        found, other = law.named(count), coins.of(count, 128)
        assert found[0] <= other[1] and other[0] <= found[1]
        assert max(found[1] - found[0], other[1] - other[0]) < Fraction(1, 2**100)
    assert law.named(law.least(Fraction(1, 2)))[1] >= Fraction(1, 2) > law.named(law.least(Fraction(1, 2)) - 1)[0]


def test_no_rule_names_a_key_more_often() -> None:
    """Each chance is as high as some neighbour's allows: of any larger one the pair would cost more than delta."""
    epsilon, delta = Fraction(1), Fraction(1, 100)
    odds, known = exp_bounds(epsilon, 256), chances(Fraction(1), Fraction(1, 100))
    for (below, _), (here, _) in itertools.pairwise(known):
        raised = min(Fraction(1), here + Fraction(1, 10**6))
        assert here == 1 or max(raised - odds[1] * below, 1 - below - odds[1] * (1 - raised)) > delta


def test_the_specified_values() -> None:
    """`pi_14` = .6999 at (1, 1e-6), and certain from 28."""
    law = SelectionChances(Fraction(1), Fraction(1, 10**6))
    assert round(law.chance(14), 4) == 0.6999 and law.sure == 28


# ---------------------------------------------------------------- price


@pytest.mark.parametrize("name", [name for name in UNITS if "replaced" not in name])
def test_the_worst_divergence_over_all_neighbours_is_the_price(name: str) -> None:
    """Where a unit comes or goes, a database without it attains the price: all of its bins are new."""
    unit, bins, epsilon, delta = UNITS[name]
    each, most = shared(unit, bins, epsilon, delta)[1], max(sum(map(abs, move)) for move in contract.moves(unit, bins))
    own = 1 - (1 - each) ** most
    assert Fraction(delta) - own < Fraction(1, 10**50)
    contract.check_delta(case(name), exact_odds=exp_bounds(Fraction(epsilon), 256), exact_delta=(own, Fraction(delta)))


@pytest.mark.parametrize("name", [name for name in UNITS if "replaced" in name])
def test_no_neighbour_of_a_replaced_unit_costs_more_than_the_price(name: str) -> None:
    epsilon, delta = UNITS[name][2:]
    low, high = contract.worst_delta(case(name), exp_bounds(Fraction(epsilon), 256))
    assert Fraction(delta) / 3 < low <= high <= Fraction(delta)


def prices(name: str, law: Callable[[int], Law], most: int) -> Fraction:
    return contract.worst_delta(case(name, law, most), exp_bounds(Fraction(UNITS[name][2]), 256))[0]


@pytest.mark.parametrize("places", [8, 40, 100])
def test_chances_that_are_rounded_to_the_nearest_cost_more(places: int) -> None:
    """Near-wrong: by less than 2^-100 more, which the enumeration tells."""
    one, costlier = 2**places, []
    for delta in (Fraction(1, number) for number in (5, 7, 9, 11, 13)):
        known = chances(Fraction(1), delta)
        nearest = [(Fraction(round(low * one), one),) * 2 for low, _ in known]
        assert prices("row", coin(known), len(known)) <= delta
        costlier.append(prices("row", coin(nearest), len(known)) > delta)
    assert any(costlier)


def test_a_price_of_single_keys_that_forgets_some_is_too_low() -> None:
    """Near-wrong: half of the bins that a replaced unit moves, and delta undivided."""
    for name in ("user replaced", "users of two bins replaced"):
        unit, bins, epsilon, delta = UNITS[name]
        each, share = shared(unit, bins, epsilon, delta)
        for wrong in ((2 * each, share), (each, Fraction(delta))):
            known = chances(*wrong)
            assert prices(name, coin(known), len(known)) > Fraction(delta)


def test_a_rule_for_units_is_too_cheap_for_records() -> None:
    """Near-wrong: of two records in a bin each alone is paid for."""
    known = chances(Fraction(1), Fraction(1, 10))
    worst = max(
        float(high - exp_bounds(Fraction(1), 64)[0] * low)
        for (low, _), (_, high) in zip(known, known[2:], strict=False)
    )
    assert worst > 0.1
    with pytest.raises(ParameterError, match="by limits= of the question"):
        dv.KeySelection(1, "1/10").bind(KEYS, Unit("u", max_bins=1, max_per_bin=2))


def test_a_share_that_forgets_the_keys_of_a_unit_is_found_by_the_seeded_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.prices.searchers import search
    from tests.soak.test_neighbours import SEEDED

    assert not search(SEEDED[:400], ("KeySelection",)).too_low
    monkeypatch.setattr(key_selection, "share_of_a_key", lambda epsilon, delta, keys: (epsilon, delta))
    assert search(SEEDED, ("KeySelection",), stop=True).too_low


@pytest.mark.parametrize("keys", [1, 2, 10, 10**6, 10**18])
@pytest.mark.parametrize("delta", ["1e-190", "1e-6", "1/2", "999/1000"])
def test_the_delta_of_one_key_is_the_largest_of_its_digits(keys: int, delta: str) -> None:
    """By Bernoulli's inequality where a power would be too long: (1 - d)^k is at least 1 - k d, and at most 1 / (1 + k
    d)."""
    epsilon, each = share_of_a_key(Fraction(1), Fraction(delta), keys)
    assert epsilon * keys == 1
    finer = each * (1 + Fraction(1, 2**62))
    if keys <= 10:
        assert (1 - each) ** keys >= 1 - Fraction(delta) and (keys == 1 or (1 - finer) ** keys < 1 - Fraction(delta))
    assert Fraction(delta) / keys <= each * (1 + Fraction(1, 2**62))
    assert 1 - 1 / (1 + keys * each) <= Fraction(delta)


def test_a_budget_in_zcdp_books_the_coins_of_all_bins() -> None:
    """Twenty bins of 1/20 cost far less than one of 1: 20 e tanh(e / 2)."""
    steps: Any = dv.KeySelection(1, "1e-6").bind(KEYS, Unit("u", max_bins=20)).price.zcdp_steps
    assert steps.delta == Fraction(1, 10**6)
    assert 20 * 0.05 * np.tanh(0.025) <= float(steps.rho) < 1.0001 * 20 * 0.05 * np.tanh(0.025)


# ---------------------------------------------------------------- draws


def test_draws_have_the_stated_law_and_a_near_wrong_one_is_rejected() -> None:
    """False alarm 1e-9 at most, seed fixed."""
    held = case("row")
    known = chances(Fraction(1), Fraction(1, 10))
    twin = case("row", coin([known[0], *((low * 9 / 10, high * 9 / 10) for low, high in known[1:])]))
    for counts in ((0, 1), (2, 3)):
        rows = contract.drawn(held, counts, 9000, "exact", seed=5)
        assert contract.check_drawn(held, counts, rows) > contract.FALSE_ALARM
        assert (counts == (0, 1)) or contract.check_drawn(twin, counts, rows) < contract.FALSE_ALARM


class Given:
    """Bits that were written down."""

    def __init__(self, *words: int) -> None:
        self.left = b"".join(word.to_bytes(8, "little") for word in words)

    def take(self, number: int) -> bytes:
        taken, self.left = self.left[:number], self.left[number:]
        assert len(taken) == number
        return taken


@pytest.mark.parametrize("count", [1, 2, 7, 13, 14, 20, 27])
def test_a_coin_is_certain_where_its_bits_are_and_asks_for_more_where_they_are_not(count: int) -> None:
    """The uniform number decides by its first bits apart from the chance; at its own bits the next ones decide."""
    price = Fraction(1), Fraction(1, 10**6)
    chance = sum(chances(*price)[count]) / 2
    first, rest = divmod(int(chance * 2**128), 2**64)
    for words, expected in (
        ((0,), True),
        ((first - 1,), True),
        ((first + 1,), False),
        ((2**64 - 1,), False),
        ((first, rest - 1), True),
        ((first, rest + 1), False),
    ):
        bits: Any = Given(*words)
        assert NamingCoins(NamingChances(*price)).name(np.array([count]), bits).tolist() == [expected], words
        assert bits.left == b""


def test_an_empty_bin_is_never_named_and_a_large_one_always() -> None:
    """Whatever the bits, and counts as large as there are."""
    counts = np.array([0, 28, 29, 2**62], dtype=np.int64)
    for word in (0, 2**64 - 1):
        bits: Any = Given(*[word] * len(counts))
        assert NamingCoins(NamingChances(Fraction(1), Fraction(1, 10**6))).name(counts, bits).tolist() == [
            False,
            True,
            True,
            True,
        ]
    rare, bits = NamingChances(Fraction(1, 10**27), Fraction(1, 10**100)), Given(1, 2**64 - 1)
    assert NamingCoins(rare).name(counts[2:], bits).tolist() == [False, False]


def test_batches_in_any_order_give_names_in_one_order() -> None:
    bound = dv.KeySelection(1, "1e-6").bind(KEYS, ROW)
    answer = bound.draw(streamed({"b": 99, "a": 40, "d": 50, "c": 1}), TeachingBits(3), mode="exact")
    assert answer == KeySet(("a", "b", "d"))
    nothing = SparseCounts(np.array([], dtype=object), np.array([], dtype=np.int64))
    assert bound.draw(nothing, TeachingBits(3), mode="exact") == KeySet(())


# ---------------------------------------------------------------- what is stated


@pytest.mark.parametrize("keys", [1, 10, 1000])
def test_the_measures_are_those_of_the_chances(keys: int) -> None:
    bound = dv.KeySelection(1, "1e-6").bind(KEYS, Unit("u", max_bins=keys))
    values = {measure.name: measure.at(Fraction(1, 20)) for measure in bound.measures}
    found = {name: int(value.value) for name, value in values.items() if value is not None}
    named = bound.law.chances.named
    for name, chance in (("named", Fraction(19, 20)), ("half", Fraction(1, 2)), ("always", Fraction(1))):
        assert named(found[name])[1] >= chance > named(found[name] - 1)[0]


@pytest.mark.parametrize("epsilon", ["1/10", "1/2", "1", "3"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "1e-5"])
def test_a_key_is_named_no_later_than_its_count_is_shown(epsilon: str, delta: str) -> None:
    """For a unit of one key: the rule is the best that there is, and truncated noise at most one count behind."""
    half = dv.KeySelection(epsilon, delta).bind(KEYS, Unit("u", max_bins=1)).law.chances.least(Fraction(1, 2))
    least = dv.Stability(epsilon, delta).bind(KEYS, Unit("u", max_bins=1)).threshold + 1
    assert half <= least <= half + 1


def test_the_plan_says_which_mechanism_shows_counts_and_from_where(tmp_path: Any) -> None:
    frame = pd.DataFrame({"u": range(3), "word": list("aab")})
    unit = dv.Unit("u", max_bins=10, noun="user")
    session = dv.Session(frame, unit=unit, budget=dv.Budget("3", "1e-5"), ledger=str(tmp_path / "a.ledger"))
    text = repr(session.plan("word", dv.KeySelection(1, "1e-6")))
    assert "named        from 155 users in a bin, 95 in 100 (exact)" in text
    assert "mostly named from 132 users in a bin (exact)" in text
    assert "with counts  from 133 with geometric noise and from 71 with Gaussian noise" in text
    assert 'Stability(base="gaussian") names more' in text


def test_a_release_names_bins_and_nothing_else(tmp_path: Any) -> None:
    frame = pd.DataFrame({"u": range(300), "word": ["often"] * 200 + ["and"] * 99 + ["once"]})
    session = dv.Session(
        frame, unit=dv.Unit("u", noun="user"), budget=dv.Budget("3", "1e-5"), ledger=str(tmp_path / "a.ledger")
    )
    release = session.release("word", dv.KeySelection(1, "1e-6"))
    assert set(release.items) - {"once"} == {"and", "often"}
    assert list(release.to_frame().columns) == ["bin"]
    assert "28 always" in release.sureness()[0]
    assert release.sentence.startswith(f"{len(release.items)} bins named")
    for refused in (lambda: release["often"], lambda: release.sum(["often"]), lambda: release.values):
        with pytest.raises(ReleaseFormat):
            refused()
    release.save(str(tmp_path / "names.json"))
    assert dv.load(str(tmp_path / "names.json")).answer == release.answer


def test_many_names_are_stored_as_a_column() -> None:
    few, many = KeySet(("a", "b")), KeySet(tuple(sorted(f"w{at}" for at in range(5000))))
    numbers = KeySet(tuple(range(0, 9000, 3)))
    for answer in (few, many, numbers):
        assert KeySet.from_json(answer.to_json()) == answer == KeySet.unpack(answer.pack())
    assert "arrays" in many.to_json() and "arrays" not in few.to_json()
    for wrong in (("b", "a"), ("a", "a")):
        with pytest.raises(ReleaseFormat):
            KeySet.unpack(KeySet(wrong).pack())


def test_what_cannot_be_named_is_refused_before_anything_is_paid() -> None:
    with pytest.raises(UnitError, match="max_bins"):
        dv.KeySelection(1, "1e-6").bind(KEYS, Unit("u", max_bins=None))
    with pytest.raises(ParameterError, match="counts"):
        dv.KeySelection(1, "1e-6").bind(Question.sum("x", by="k", low=0, high=2, step=1), ROW)
    with pytest.raises(ParameterError, match="more often than not"):
        dv.KeySelection("1e-9", "1e-190").bind(KEYS, Unit("row", relation="replace-one", n=10**9))
    for parameters, wrong in (({"delta": 0}, "delta"), ({"delta": 1}, "delta"), ({"epsilon": 0}, "epsilon")):
        with pytest.raises(ParameterError, match=wrong):
            dv.KeySelection(**{"epsilon": 1, "delta": "1e-6", **parameters})  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product(("1e-9", "1000"), ("1e-190", "0.999"))))
@pytest.mark.parametrize("keys", [1, 10**9])
def test_both_ends_of_all_parameters_bind_or_are_refused(relation: Any, epsilon: str, delta: str, keys: int) -> None:
    unit = Unit("u", relation=relation, max_bins=keys)
    try:
        bound = dv.KeySelection(epsilon, delta).bind(KEYS, unit)
    except ParameterError as refusal:
        assert "more often than not" in str(refusal)
        return
    sides = 2 if relation == "replace-one" else 1
    assert bound.moved == sides * keys and bound.law.epsilon * bound.moved == Fraction(epsilon)
    assert bound.law.chances.least(Fraction(1, 2)) <= bound.law.chances.sure


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1/1000", "1e-6"), ("1", "1e-6"), ("40", "1/3"), ("300", "1e-6"), ("1000", "0.49")]
)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_chances_keep_their_width_at_any_epsilon(epsilon: str, delta: str, count: int) -> None:
    """At epsilon 300 the chance of a key of one record was enclosed by all of itself, and its coin drew 430 bits."""
    coins = NamingChances(Fraction(epsilon), Fraction(delta))
    low, high = coins.at_places(count, 64)
    assert 0 <= high - low <= 2
    least, most = coins.of(count, 200)
    assert most - least <= Fraction(1, 2**200)
