"""How far down a released list reaches, against the enumerated law of every small list; and its words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dpviz as dv
from dpviz.laws.top_k import noisy_order
from dpviz.model.answers import Ranked, Table
from dpviz.model.laws.ranking import CoinsLaw, ExponentialLaw, NoisyListLaw, PeelingLaw, odds_of_all
from dpviz.model.question import Question
from dpviz.model.release import Release
from tests.charts.listed import AIRCRAFT, DESTINATION, listed, of_set, valued

BETAS = (Fraction(1, 3), Fraction(1, 20), Fraction(1, 100))
RATE = Fraction(1, 2)
FAR = 120
"""So far above another count, an item is passed over with a chance of e^-60."""
END = -1
TINY = 1e-12


def lists(counts: Sequence[int], k: int, bottom: float) -> dict[tuple[int, ...], float]:
    """Each list of at most k symbols with its chance: every symbol has odds exp(rate * count), ⊥ those of `bottom`."""
    found: dict[tuple[int, ...], float] = {}

    def follow(left: dict[int, float], before: tuple[int, ...], chance: float) -> None:
        if len(before) == k or before[-1:] == (END,):
            found[before] = found.get(before, 0.0) + chance
            return
        together = sum(left.values())
        for symbol, weight in left.items():
            rest = {other: odds for other, odds in left.items() if other != symbol}
            follow(rest, (*before, symbol), chance * weight / together)

    weights = {label: math.exp(float(RATE) * count) for label, count in enumerate(counts)}
    follow(weights | ({END: bottom} if bottom else {}), (), 1.0)
    return found


def chance(counts: Sequence[int], k: int, bottom: float, fails: Callable[[tuple[int, ...]], bool]) -> float:
    return sum(weight for drawn, weight in lists(counts, k, bottom).items() if fails(drawn))


def truths(rows: int, k: int, v: int) -> list[tuple[int, ...]]:
    """Counts of all sorts: near and far, equal and not, with v and v + 1 between some of them."""
    grid = (0, 1, v, v + 1, 2 * v + 2, v + FAR)
    some = list(itertools.product(sorted(set(grid), reverse=True), repeat=rows))
    return [counts for counts in some if list(counts) == sorted(counts, reverse=True)]


@cache
def worst(rows: int, k: int, v: int, place: int, *, ends: bool) -> float:
    """The largest chance over many truths that an item, or the one in `place`, lies more than v below the k-th count;
    with a bottom symbol that is as strong as a count of 0, or without one."""

    def of(counts: tuple[int, ...]) -> float:
        def fails(drawn: tuple[int, ...]) -> bool:
            asked = drawn if place == 0 else drawn[place - 1 : place]
            return any(symbol != END and counts[symbol] < counts[k - 1] - v for symbol in asked)

        return chance(counts, k, 1.0 if ends else 0.0, fails)

    return max(of(counts) for counts in truths(rows, k, v))


SHAPES = [(1, 2), (1, 4), (2, 3), (2, 4), (3, 4)]


@pytest.mark.parametrize(("k", "rows"), SHAPES)
def test_a_listed_item_lies_as_far_below_the_last_count_as_stated_and_one_less_is_not_enough(k: int, rows: int) -> None:
    """All at once, and in each place: held by every truth, and reached by one: equal counts for all at once, far larger
    ones before the place for one."""
    error = ExponentialLaw(k, rows, RATE).error
    for beta in BETAS:
        every = error.rank(k, beta)
        alone = {place: error.in_place(place, k, beta) for place in range(1, k + 1)}
        for place, stated in {0: every, **alone}.items():
            assert stated is not None and stated.how == "bound" and stated.value.denominator == 1
            value = int(stated.value)
            assert worst(rows, k, value, place, ends=False) <= beta + TINY
            if value:
                assert worst(rows, k, value - 1, place, ends=False) > beta + TINY
        assert every is not None and every.value == max(every.value, *(one.value for one in alone.values() if one))


@pytest.mark.parametrize(("k", "rows"), SHAPES)
def test_a_bottom_symbol_makes_no_listed_item_lie_lower(k: int, rows: int) -> None:
    error = PeelingLaw(k, rows, RATE, 1, Fraction(1), False, False).error
    for beta, place in itertools.product(BETAS, range(k + 1)):
        stated = error.in_place(place, k, beta) if place else error.rank(k, beta)
        assert stated is not None
        assert worst(rows, k, int(stated.value), place, ends=True) <= beta + TINY


@pytest.mark.parametrize(("k", "rows"), SHAPES)
def test_the_end_of_a_list_comes_after_every_item_that_is_so_far_above_and_one_less_is_not_enough(
    k: int, rows: int
) -> None:
    odds, gap = Fraction(40), 1
    error = PeelingLaw(k, rows, RATE, gap, odds, False, False).error
    bottom = float(odds) * math.exp(float(RATE) * gap)

    def largest(above: int) -> float:
        found = 0.0
        for counts in itertools.product((above + FAR, above + 1, above, above - 1, 0), repeat=rows):
            if list(counts) != sorted(counts, reverse=True):
                continue
            fails = lambda drawn, counts=counts: (  # noqa: E731
                END in drawn and any(count >= above and at not in drawn for at, count in enumerate(counts))
            )
            found = max(found, chance(counts, k, bottom, fails))
        return found

    for beta in BETAS:
        stated = error.left_out(beta)
        assert stated is not None and stated.how == "bound"
        assert largest(int(stated.value)) <= beta + TINY < largest(int(stated.value) - 1)


def test_the_largest_odds_that_all_draws_pass_are_proved_and_not_far_from_the_root() -> None:
    for draws, beta in itertools.product((1, 2, 10, 999, 1001, 10**6), (*BETAS, Fraction(1, 10**40))):
        odds = odds_of_all(draws, beta)
        exact = sum(float(math.log1p(float(odds) / i)) for i in range(1, min(draws, 2000) + 1))
        exact += float(odds) * (math.log(draws / 2000) if draws > 2000 else 0)
        wanted = -math.log1p(-float(beta))
        assert 0.999 * wanted <= exact <= wanted * (1 + 1e-6)


def test_a_level_below_every_float_and_one_above_all_have_odds() -> None:
    for beta in (Fraction(1, 10**400), 1 - Fraction(1, 10**30)):
        assert odds_of_all(7, beta) == beta / 7


@cache
def noisy_worst(rows: int, k: int, v: int, places: int, *, one: bool = False) -> float:
    """The largest chance over many truths that, of noisy counts, one of the first `places` items, or the one in that
    place, lies more than v below the k-th count; no threshold is near, and equal noisy counts put the lower one first.
    """
    found = 0.0
    for counts in itertools.combinations_with_replacement((0, v, v + 1, 2 * v + 2), rows):
        least = counts[rows - k] - v
        orders = noisy_order(counts, math.exp(float(RATE)))  # type: ignore[arg-type]  # doubles do, and are quick
        asked = slice(places - 1 if one else 0, places)
        found = max(
            found, sum(part for order, part in orders.items() if any(counts[at] < least for at in order[asked]))
        )
    return float(found)


NOISY = [(1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]


@pytest.mark.parametrize(("k", "rows"), NOISY)
def test_the_first_places_of_a_noisy_list_reach_as_far_down_as_stated_and_one_less_is_not_enough(
    k: int, rows: int
) -> None:
    """All at once, and the first places: held by every truth, and reached by one."""
    error = NoisyListLaw(k, rows, RATE, 1, 4).error
    for beta in BETAS[:2]:
        every = error.rank(k, beta)
        assert every is not None and every == error.in_place(k, k, beta)
        for place in range(1, k + 1):
            stated = error.in_place(place, k, beta)
            assert stated is not None and stated.how == "bound"
            value = int(stated.value)
            assert noisy_worst(rows, k, value, place) <= beta + TINY
            assert noisy_worst(rows, k, value, place, one=True) <= beta + TINY
            assert not value or noisy_worst(rows, k, value - 1, place) > beta + TINY


def test_what_holds_for_the_first_place_of_a_noisy_list_does_not_hold_for_all() -> None:
    """A near-wrong statement: the number of one place, said of all of them."""
    for k, rows in ((2, 3), (2, 4), (3, 4)):
        error, beta = NoisyListLaw(k, rows, RATE, 1, 4).error, BETAS[1]
        first, every = error.in_place(1, k, beta), error.rank(k, beta)
        assert first is not None and every is not None and first.value < every.value
        assert noisy_worst(rows, k, int(first.value), 1) <= beta + TINY < noisy_worst(rows, k, int(first.value), k)


def test_rare_failures_and_fine_noise_fall_back_on_what_holds_of_all_noise() -> None:
    beta = Fraction(1, 10**7)
    for law, level in ((NoisyListLaw(3, 9, RATE, 1, 4), beta), (NoisyListLaw(3, 9, RATE / 10**13, 1, 4), BETAS[1])):
        every, worst_ = law.error.all_bins(level), law.error.rank(3, level)
        assert every is not None and worst_ is not None and worst_.value == 2 * every.value
    near, rare = (NoisyListLaw(3, 9, RATE, 1, 4).error.rank(3, level) for level in (Fraction(1, 10**6), beta))
    assert near is not None and rare is not None and near.value < rare.value


def test_a_long_noisy_list_tells_its_places_apart_in_steps() -> None:
    error = NoisyListLaw(1000, 5000, RATE, 1, 4).error
    reach = [int(error.in_place(place, 1000, BETAS[1]).value) for place in (1, 2, 10, 11, 995, 1000)]  # type: ignore[union-attr]
    assert reach[1] == reach[2] < reach[3] and reach == sorted(reach)
    assert reach[-1] == error.rank(1000, BETAS[1]).value  # type: ignore[union-attr]


def test_a_set_names_only_the_largest() -> None:
    error = CoinsLaw(3, RATE, 1, Fraction(1, 1000)).error
    assert error.rank(3, Fraction(1, 20)) is not None and error.rank(3, Fraction(1, 20)).value == 0  # type: ignore[union-attr]
    assert error.rank(2, Fraction(1, 20)) is None


def test_a_release_and_its_plan_say_the_same() -> None:
    """The release reads the stored law, which is the plan's: the numbers of its sentences are those of the plan."""
    for mechanism in (dv.TopK(10, 50, 1), dv.TopKLaplace(10, 50, 1), dv.TopKSet(10, 1)):
        bound = mechanism.bind(Question.of(DESTINATION), AIRCRAFT)
        answer = {"TopKSet": of_set(["ATL"]).answer, "TopKLaplace": Ranked(("ATL",), True, (9,))}
        release = Release.of(bound, answer.get(mechanism.name, Ranked(("ATL",), True)), mode="exact", randomness="none")
        assert [measure.to_json() for measure in release.terms.measures] == [one.to_json() for one in bound.measures]
        said, rank = " ".join(release.sureness()), bound.error.rank(10, Fraction(1, 20))
        assert rank is not None
        assert rank.value == 0 or f"more than {rank.value} below the 10th largest counted number" in said
        missing = bound.error.left_out(Fraction(1, 20))
        assert (
            missing is not None and f"{missing.value} or more above the {'11th' if rank.value == 0 else '51st'}" in said
        )
        assert missing.value >= bound.error.listed(Fraction(1, 20)).value  # type: ignore[union-attr]


def test_the_words_of_a_full_list() -> None:
    release = listed([f"D{place}" for place in range(10)], ended=False)
    assert release.sentence == "All ten places were filled."
    reach, end = release.sureness()
    frame = release.to_frame()
    assert reach == (
        f"At least 95 times in 100 no listed item lies more than {frame.below_all[0]} below the 10th largest counted "
        f"number; one that stands in a place picked before looking, no more than {frame.below.max()} below it."
    )
    assert end == "Filled places say that ten items came before ⊥. They do not say that they are the ten largest."
    assert frame.below.is_monotonic_increasing and frame.below.max() < frame.below_all.min() == frame.below_all.max()


def test_the_words_of_a_list_that_ended() -> None:
    release = listed(["ATL", "STL"], ended=True)
    reach, end = release.sureness("0.01")
    assert reach.startswith("At least 99 times in 100 no listed item lies more than ")
    missing = release.error.left_out(Fraction(1, 100))
    assert missing is not None and end == (
        f"⊥ does not say that nothing else is there: at least 99 times in 100 it comes only after every item that lies "
        f"{missing.value} or more above the 51st count."
    )


def test_the_words_of_a_set_and_of_a_list_that_cannot_end() -> None:
    reach, end = of_set(["ATL"]).sureness()
    assert reach == "Only the 10 largest counts compete, so no item that is named lies below the 10th."
    assert end.endswith("is named. One that is not named may still be among the largest.")
    bins = Question.of(dv.Domain.integers(0, 40, column="visits"))
    bound = dv.ExponentialTopK(3, "1").bind(bins, dv.Unit())
    release = Release.of(bound, Ranked((3, 1, 2), False), mode="exact", randomness="none")
    assert release.sureness()[1] == (
        "The list always names three items: that all places are filled says nothing about the counts."
    )


def test_values_keep_their_intervals_and_say_how_far_down_the_list_reaches() -> None:
    release = valued(["ATL", "STL"], [640, 612])
    frame = release.to_frame()
    assert frame.columns.tolist()[-5:] == ["low_all", "high_all", "high_all_counted", "below", "below_all"]
    assert frame.below.iloc[0] < frame.below.iloc[1] < frame.below_all.min() == frame.below_all.max()
    assert release.sureness()[0] == (
        f"At least 95 times in 100 no listed item lies more than {frame.below_all[0]} below the 10th largest counted "
        f"number; the one in first place, no more than {frame.below[0]} below it."
    )


def test_the_file_carries_the_sentences_and_the_level_that_was_asked_for() -> None:
    release = listed([f"D{place}" for place in range(10)], ended=False)
    for beta in ("0.05", "0.01"):
        written = release.to_csv(beta=beta)
        assert written is not None
        for sentence in release.sureness(beta):
            assert f"# {sentence}\n" in written


def test_a_list_that_was_saved_says_it_again(tmp_path: Path) -> None:
    release = listed(["ATL", "STL"], ended=True)
    assert dv.load(release.save(tmp_path / "list.json")).sureness() == release.sureness()


def test_counts_per_bin_say_it_in_their_intervals() -> None:
    question = Question.of(dv.Domain.integers(0, 3, column="visits"))
    bound = dv.Dense(1).bind(question, dv.Unit())
    release = Release.of(bound, Table(np.array([1, 2, 3, 4])), mode="exact", randomness="none")
    assert release.sureness() == () and "below" not in release.to_frame()


def test_noise_beside_the_threshold_leaves_out_no_item_that_is_so_far_above() -> None:
    law = NoisyListLaw(3, 5, RATE, 1, 4)
    for beta in BETAS:
        one, every = law.error.listed(beta / 3), law.error.left_out(beta)
        assert one is not None and every is not None and every.value == one.value
