"""What is derived from a paid answer holds as often as it says: intervals and p-values against whole laws.

Each law is enumerated for every true vector of a small set. Where an interval is called exact, one that is a count
narrower misses too often; and the interval that forgets the clamp misses too often, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpviz as dv
from dpviz.errors import DomainError, ParameterError, ReleaseFormat
from dpviz.exact import Decay
from dpviz.fitting.noises import Term
from dpviz.fitting.sums import NoiseSum
from dpviz.model.answers import Chosen, Ranked, SparseTable, Table
from dpviz.model.derived import Derived, DerivedTable
from dpviz.model.mechanism import Bound
from dpviz.model.release import Release
from tests.model.whole_laws import Law, bins, clamped, fast, joint, misses, noise, release_of, table
from tests.toy.pairs import PairMeans, Pairs

BETA = Fraction(1, 10)
EXP = Decay.exp(Fraction(1))
ADD, REPLACE = dv.Unit(), dv.Unit(relation="replace-one", n=4)


def bound(mechanism: Any, size: int, unit: dv.Unit = ADD) -> Bound:
    made: Bound = mechanism.bind(bins(size), unit)
    return made


OPEN = bound(dv.Dense(1, clamp=False), 2)
FLOOR = bound(dv.Dense(1), 2)
TOP = bound(dv.Dense(1, cap=3), 2)
N = bound(dv.Dense(2), 2, REPLACE)
"""At replace-one a unit moves two counts, so the rate is 1 again."""
GEO = bound(dv.Dense("0.7", base="tight", sampler="geosample", cap=4), 2)
FAST = bound(dv.Dense("0.7", base="tight", sampler="fastsample", cap=4, gamma="1/1000"), 2)


def one_count(made: Bound, count: int) -> Law:
    """The law of one released count, from its definition."""
    if made is FAST:
        finite = made.law.noise.finite  # type: ignore[attr-defined]
        return fast(count, finite.n, finite.t, finite.g, Decay.rational(Fraction(finite.q, finite.p)))
    if made is GEO:
        finite = made.law.noise.finite  # type: ignore[attr-defined]
        return clamped(count, noise(Decay.rational(Fraction(finite.q, finite.p))), 0, 4)
    low, high = {id(OPEN): (None, None), id(FLOOR): (0, None), id(TOP): (0, 3), id(N): (0, 4)}[id(made)]
    return clamped(count, noise(EXP, 14), low, high)


QUESTIONS: dict[str, tuple[Callable[[Release], Derived], Callable[[Sequence[int]], int]]] = {
    "sum": (lambda release: release.sum([0, 1], beta=BETA), sum),  # type: ignore[dict-item,return-value]
    "one": (lambda release: release.sum([1], beta=BETA), lambda truth: truth[1]),  # type: ignore[return-value]
    "range": (lambda release: release.range(0, 1, beta=BETA), sum),  # type: ignore[dict-item,return-value]
    "difference": (
        lambda release: release.difference(0, 1, beta=BETA),  # type: ignore[return-value]
        lambda truth: truth[0] - truth[1],
    ),
}
KINDS = {"open": OPEN, "floor": FLOOR, "top": TOP, "public n": N, "GeoSample": GEO, "FastSample": FAST}


def truths(made: Bound) -> Iterator[tuple[int, int]]:
    """Every true vector of a small set, as far as what is public allows."""
    most = 3 if made is TOP else 4
    for truth in itertools.product(range(most + 1), repeat=2):
        if made is not N or sum(truth) <= 4:
            yield truth


@cache
def answered(kind: str, question: str, values: tuple[int, ...]) -> Derived:
    return QUESTIONS[question][0](table(KINDS[kind], values))


@pytest.mark.parametrize("question", list(QUESTIONS))
@pytest.mark.parametrize("kind", list(KINDS))
def test_an_interval_misses_no_oftener_than_it_says_for_any_truth(kind: str, question: str) -> None:
    made = KINDS[kind]
    for truth in truths(made):
        law = joint([one_count(made, count) for count in truth])
        missed = misses(law, lambda values: answered(kind, question, values).interval, QUESTIONS[question][1](truth))
        assert missed <= BETA, truth
    shown = answered(kind, question, (2, 1))
    assert shown.how == ("exact" if kind == "open" else "bound")
    assert (shown.bias.words == "unbiased") == (kind == "open")


@pytest.mark.parametrize("question", list(QUESTIONS))
def test_an_exact_interval_that_is_a_count_narrower_misses_too_often(question: str) -> None:
    truth = (60, 30)  # far from 0, so that nothing is cut
    law = [({60 + a: x for a, x in noise(EXP, 14).items()}), ({30 + b: x for b, x in noise(EXP, 14).items()})]

    def narrower(values: tuple[int, ...]) -> tuple[Any, Any]:
        low, high = answered("open", question, values).interval
        assert low is not None and high is not None
        return low + 1, high - 1

    right = QUESTIONS[question][1](truth)
    assert misses(joint(law), lambda values: answered("open", question, values).interval, right) <= BETA
    assert misses(joint(law), narrower, right) > BETA


@pytest.mark.parametrize("kind", ["floor", "top", "public n", "GeoSample", "FastSample"])
def test_the_interval_that_forgets_the_clamp_misses_too_often(kind: str) -> None:
    """The near-wrong twin: the sum ± the quantile of the sum of the noises, cut at 0. Of thirty empty bins it misses
    more than twice as often as it says; ours does not."""
    many = 30
    mechanism, unit = {
        "floor": (dv.Dense(1), ADD),
        "top": (dv.Dense(1, cap=30), ADD),
        "public n": (dv.Dense(2), dv.Unit(relation="replace-one", n=30)),
        "GeoSample": (dv.Dense("0.7", base="tight", sampler="geosample", cap=30), ADD),
        "FastSample": (dv.Dense("0.7", base="tight", sampler="fastsample", cap=30, gamma="1/10000"), ADD),
    }[kind]
    made = bound(mechanism, many, unit)
    decay = made.law.noise.decay  # type: ignore[attr-defined]
    one = clamped(0, noise(decay), 0, 30)
    law: dict[int, int] = {0: 1 << 100}
    for _ in range(many):
        law = convolved(law, one)
    reach = NoiseSum.of([Term(decay, 1, many)]).radius(BETA).value
    naive = misses(iter(law.items()), lambda total: (max(0, total - reach), total + reach), 0)
    assert naive > 2 * BETA

    def ours(total: int) -> Any:
        shown = table(made, [total, *[0] * (many - 1)]).sum(beta=BETA)
        assert isinstance(shown, Derived)
        return shown.interval

    likely = ((total, chance) for total, chance in law.items() if chance > 1 << 80)
    assert misses(likely, ours, 0) <= BETA


def convolved(first: dict[int, int], second: dict[int, int]) -> dict[int, int]:
    """The law of a sum of two independent counts."""
    found: dict[int, int] = {}
    for (a, p), (b, q) in itertools.product(first.items(), second.items()):
        found[a + b] = found.get(a + b, 0) + (p * q >> 100)
    return found


def test_forty_empty_bins_are_two_hundred_too_many_and_the_naive_interval_holds_in_about_a_third() -> None:
    """The example of the documentation, from the exact law of the sum."""
    made = bound(dv.Dense("0.1"), 40)
    shown = table(made, [5] * 40).sum()
    assert isinstance(shown, Derived)
    assert shown.bias.low is not None and shown.bias.high is not None
    assert -Fraction(1, 10**9) < shown.bias.low <= 0 and 199 < shown.bias.high < 201
    decay = made.law.noise.decay  # type: ignore[attr-defined]
    reach = NoiseSum.of([Term(decay, 1, 40)]).radius(Fraction(1, 20)).value
    naive = 1 - NoiseSum.of([Term(decay, 1, 40, positive=True)]).above(reach)[0]
    assert Fraction(30, 100) < naive < Fraction(40, 100)
    over = NoiseSum.of([Term(decay, 1, 40, positive=True)]).upper(Fraction(1, 40)).value
    assert (
        shown.low == max(0, 200 - over)
        and shown.high == 200 + NoiseSum.of([Term(decay, 1, 40)]).upper(Fraction(1, 40)).value
    )


def test_a_public_top_that_nothing_reached_costs_a_sixteenth_of_the_level() -> None:
    """Of forty counts far below a public n, the upper end is that of Z and not that of Z-, which lies 200 higher."""
    made = bound(dv.Dense("0.1", cap=10_000), 40)
    one, beta = Term(made.law.noise.decay, 1, 40), Fraction(1, 20)  # type: ignore[attr-defined]
    shown = table(made, [500] * 40).sum(beta=beta)
    assert isinstance(shown, Derived)
    assert shown.high == 20_000 + NoiseSum.of([one]).upper(beta / 2 * Fraction(15, 16)).value
    reached = table(made, [500] * 39 + [10_000]).sum(beta=beta)
    assert isinstance(reached, Derived) and reached.high is not None
    assert reached.high == 29_500 + NoiseSum.of([replace(one, positive=True)]).upper(beta / 32).value


# ---------------------------------------------------------------- many questions at once


@pytest.mark.parametrize("kind", ["open", "floor"])
def test_all_ranges_hold_at_once_and_so_do_all_differences_and_all_sums(kind: str) -> None:
    made = bound(dv.Dense(2, clamp=kind != "open"), 3)
    low = None if kind == "open" else 0
    beta = Fraction(1, 4)
    for truth in [(0, 0, 0), (1, 0, 2)]:
        law = joint([clamped(count, noise(Decay.exp(Fraction(2)), 4), low, None) for count in truth])
        missed = dict.fromkeys(("ranges", "pairs", "sums"), Fraction(1))
        for values, chance in law:
            if chance < (1 << 70):
                continue
            release, part = table(made, values), Fraction(chance, 1 << 100)
            pairs = itertools.combinations(range(3), 2)
            held = {
                "ranges": all(
                    inside(release.range(a, b, beta=beta, among="all"), sum(truth[a : b + 1]))
                    for a in range(3)
                    for b in range(a, 3)
                ),
                "pairs": all(
                    inside(release.difference(a, b, beta=beta, among="all"), truth[a] - truth[b]) for a, b in pairs
                ),
                "sums": all(
                    inside(release.sum(list(some), beta=beta, among="all"), sum(truth[at] for at in some))
                    for size in (1, 2, 3)
                    for some in itertools.combinations(range(3), size)
                ),
            }
            for name, all_hold in held.items():
                missed[name] -= part if all_hold else 0
        assert all(part <= beta for part in missed.values()), missed


def inside(derived: Derived | DerivedTable, truth: int) -> bool:
    assert isinstance(derived, Derived)
    return (derived.low is None or derived.low <= truth) and (derived.high is None or truth <= derived.high)


def test_differences_of_all_pairs_are_exact_where_nothing_is_clamped() -> None:
    """With three bins the largest gap is enumerated; one count less would miss too often."""
    made, beta = bound(dv.Dense(1, clamp=False), 3), Fraction(1, 4)
    shown = table(made, [60, 30, 30]).difference(0, 1, beta=beta, among="all")
    assert isinstance(shown, Derived) and shown.how == "exact" and shown.high is not None
    reach = shown.high - 30

    def beyond(gap: Fraction) -> Fraction:
        chances = joint([noise(EXP, 11)] * 3)
        return sum(
            (Fraction(part, 1 << 100) for values, part in chances if max(values) - min(values) > gap), Fraction(0)
        )

    assert beyond(reach) <= beta < beyond(reach - 1)


def test_a_number_of_questions_shares_beta_and_is_a_bound() -> None:
    release = table(bound(dv.Dense(1, clamp=False), 2), [60, 30])
    ten, alone = release.sum([0, 1], among=10), release.sum([0, 1], beta="0.005")
    assert isinstance(ten, Derived) and isinstance(alone, Derived)
    assert ten.interval == alone.interval and (ten.how, alone.how) == ("bound", "exact")
    assert "10" in ten.rule and ten.among_text == "for all of 10 such questions at once"


# ---------------------------------------------------------------- shares


@pytest.mark.parametrize(("kind", "how"), [("open", "numerical"), ("floor", "bound")])
def test_a_share_misses_no_oftener_than_it_says(kind: str, how: str) -> None:
    made = bound(dv.Dense(2, clamp=kind != "open"), 2)
    law, beta = noise(Decay.exp(Fraction(2)), 5), Fraction(1, 5)
    found: dict[tuple[int, ...], Derived] = {}
    for truth in [(3, 7), (8, 8), (0, 9)]:
        missed = Fraction(1)
        for values, chance in joint([clamped(count, law, None if kind == "open" else 0, None) for count in truth]):
            if values not in found:
                shown = table(made, values).share([0], beta=beta)
                assert isinstance(shown, Derived)
                found[values] = shown
            shown = found[values]
            assert shown.low is not None and shown.high is not None
            if shown.low <= Fraction(truth[0], sum(truth)) <= shown.high:
                missed -= Fraction(chance, 1 << 100)
        assert missed <= beta, truth
    assert found[8, 8].how == how and found[8, 8].bias.words.startswith("biased: it is a ratio")


def test_a_whole_that_may_be_empty_leaves_any_share_possible() -> None:
    for clamp in (True, False):
        shown = table(bound(dv.Dense(1, clamp=clamp), 2), [1, 1]).share([0])
        assert isinstance(shown, Derived) and shown.interval == (0, 1)
        assert "any share is possible" in shown.sentence


def test_a_share_is_written_in_as_many_digits_as_its_interval_needs() -> None:
    shown = table(bound(dv.Dense(1), 2), [10**7, 3 * 10**9]).share([0])
    assert isinstance(shown, Derived) and shown.low is not None and shown.high is not None
    assert shown.value_text == "about 0.00332226"
    assert shown.low < Fraction("0.0033223") < shown.high


def test_a_share_below_zero_says_that_nothing_is_left() -> None:
    shown = table(bound(dv.Dense(1, clamp=False), 2), [-40, 90]).share([0])
    assert isinstance(shown, Derived) and "No share from 0 to 1" in shown.sentence


# ---------------------------------------------------------------- comparisons


@pytest.mark.parametrize("kind", ["open", "floor", "top", "GeoSample", "FastSample"])
def test_a_p_value_is_below_any_level_no_oftener_than_that(kind: str) -> None:
    made = KINDS[kind]
    for truth in [(0, 0), (1, 1), (3, 3), (0, 1), (1, 3)]:
        chances: dict[Fraction, Fraction] = {}
        for values, part in joint([one_count(made, count) for count in truth]):
            chance = compared(kind, values)
            chances[chance] = chances.get(chance, Fraction(0)) + Fraction(part, 1 << 100)
        total = Fraction(0)
        for level in sorted(chances):
            total += chances[level]
            assert total <= level + Fraction(1, 10**9), (truth, float(level))


@cache
def compared(kind: str, values: tuple[int, ...]) -> Fraction:
    shown = table(KINDS[kind], values).compare(0, 1)
    assert isinstance(shown, Derived) and shown.chance is not None
    return shown.chance.value.high


def test_a_p_value_of_unclamped_counts_is_exact() -> None:
    for values in [(5, 5), (7, 4), (4, 7)]:
        law = noise(EXP, 40)
        chance = sum(
            (
                Fraction(p * q, 1 << 200)
                for a, p in law.items()
                for b, q in law.items()
                if a - b >= values[0] - values[1]
            ),
            Fraction(0),
        )
        shown = table(OPEN, values).compare(0, 1)
        assert isinstance(shown, Derived) and shown.chance is not None and shown.chance.how == "exact"
        assert shown.chance.value.low - Fraction(1, 10**10) <= chance <= shown.chance.value.high + Fraction(1, 10**10)


def test_the_largest_gap_among_all_bins_has_its_own_chance() -> None:
    made, law = bound(dv.Dense(1), 3), noise(EXP, 13)
    shown = table(made, [9, 4, 4]).compare(0, 1, among="all")
    assert isinstance(shown, Derived) and shown.chance is not None
    gap = joint([law] * 3)
    chance = sum((Fraction(part, 1 << 100) for values, part in gap if max(values) - min(values) >= 5), Fraction(0))
    assert abs(shown.chance.value.high - chance) < Fraction(1, 10**4)
    one, ten = (table(made, [9, 4, 4]).compare(0, 1, among=among).chance for among in ("one", 10))  # type: ignore[union-attr]
    assert one is not None and ten is not None
    assert ten.value.high == 10 * one.value.high and ten.value.high > shown.chance.value.high > one.value.high
    least = table(made, [4, 4, 4]).compare(0, 1, among=10)
    assert isinstance(least, Derived) and least.chance is not None and least.chance.value.high == 1


# ---------------------------------------------------------------- answers that do not show every bin


def sparse(made: Bound, shown: dict[int, int]) -> Release:
    labels = tuple(sorted(shown))
    return release_of(made, SparseTable(labels, np.array([shown[label] for label in labels], dtype=np.int64)))


def test_a_sum_over_what_stability_shows_and_hides_misses_no_oftener_than_it_says() -> None:
    made = bound(dv.Stability(1, "1/20"), 2)
    threshold = made.law.threshold  # type: ignore[attr-defined]
    found: dict[tuple[int, ...], Derived] = {}
    for truth in itertools.product((0, 1, threshold, threshold + 2), repeat=2):
        laws = [clamped(count, noise(EXP, 20), 0, None) if count else {0: 1 << 100} for count in truth]
        for sign in (1, -1):
            missed = Fraction(1)
            for noisy, chance in joint(laws):
                shown = {at: value for at, value in enumerate(noisy) if value > threshold}
                values = (*(shown.get(at, -1) for at in (0, 1)), sign)
                if values not in found:
                    release = sparse(made, shown)
                    asked = release.sum([0, 1], beta=BETA) if sign > 0 else release.difference(0, 1, beta=BETA)
                    assert isinstance(asked, Derived)
                    found[values] = asked
                missed -= Fraction(chance, 1 << 100) if inside(found[values], truth[0] + sign * truth[1]) else 0
            assert missed <= BETA, (truth, sign)
    hidden = sparse(made, {}).sum([0, 1], beta=BETA)
    assert isinstance(hidden, Derived) and hidden.high is not None and hidden.low == 0
    assert hidden.high >= 2 * threshold and hidden.how == "bound"


def test_what_stability_hides_is_not_forgotten() -> None:
    """The near-wrong twin reads a bin that is not shown as 0 with the noise of any other."""
    threshold = bound(dv.Stability(1, "1/20"), 2).law.threshold  # type: ignore[attr-defined]
    law = joint([clamped(threshold, noise(EXP, 20), 0, None)] * 2)
    reach = NoiseSum.of([Term(EXP, 1, 2, positive=True)]).upper(BETA / 2).value

    def naive(values: tuple[int, ...]) -> tuple[Any, Any]:
        total = sum(value for value in values if value > threshold)
        return total - reach, total + reach

    assert misses(law, naive, 2 * threshold) > BETA


def test_a_sum_of_keys_that_nobody_can_count_stays_open_and_says_why() -> None:
    keys = dv.Question.of(dv.Domain.keys(column="k"))
    labels, values = ("a", "b"), np.array([70, 90], dtype=np.int64)
    unknown = release_of(dv.Stability(1, "1e-6").bind(keys, ADD), SparseTable(labels, values))
    every = unknown.sum()
    assert isinstance(every, Derived) and every.value == 160 and every.interval == (0, None)
    assert "Nothing public bounds how many bins are occupied" in every.sentence
    named = unknown.sum(["a", "b", "z"])
    assert isinstance(named, Derived) and named.high is not None and named.low is not None and named.low > 130
    public = release_of(
        dv.Stability(1, "1e-6").bind(keys, dv.Unit(relation="replace-one", n=200)), SparseTable(labels, values)
    ).sum()
    assert isinstance(public, Derived) and public.high == 200


def test_a_sum_over_what_pure_sparse_shows_misses_no_oftener_than_it_says() -> None:
    made = dv.PureSparse(2, cap=1).bind(bins(3), ADD)
    law = noise(Decay.exp(Fraction(2)), 9)
    found: dict[tuple[int, ...], Derived] = {}
    for truth in [(0, 0, 0), (1, 0, 0), (0, 0, 1)]:
        missed = Fraction(1)
        for noisy, chance in joint([clamped(count, law, 0, 1) for count in truth]):
            cut = sorted(noisy, reverse=True)[1]
            shown = {at: value for at, value in enumerate(noisy) if value > cut}
            values = tuple(shown.get(at, -1) for at in range(3))
            if values not in found:
                asked = sparse(made, shown).sum([0, 1], beta=BETA)
                assert isinstance(asked, Derived)
                found[values] = asked
            missed -= Fraction(chance, 1 << 100) if inside(found[values], truth[0] + truth[1]) else 0
        assert missed <= BETA, truth


def test_listed_items_are_added_up_at_the_simultaneous_level_and_others_are_refused() -> None:
    domain = dv.Domain.categories(["a", "b", "c", "d"], column="k")
    made = dv.TopKLaplace(2, 3, 1).bind(dv.Question.of(domain), ADD)
    release = release_of(made, Ranked((1, 0), False, (90, 80)))
    asked = release.sum(["a", "b"])
    bar = made.law.error.all_bins(Fraction(1, 20))
    assert isinstance(asked, Derived) and bar is not None
    assert asked.interval == (170 - 2 * bar.value, 170 + 2 * bar.value) and asked.how == "bound"
    assert "too high on average" in asked.bias.words
    with pytest.raises(ReleaseFormat, match="not listed"):
        release.sum(["a", "c"])
    with pytest.raises(ReleaseFormat, match="no ranges"):
        release.range("a", "b")


def test_lists_and_sets_without_values_have_nothing_to_add_up() -> None:
    domain = dv.Question.of(dv.Domain.categories(["a", "b", "c", "d"], column="k"))
    ranked = release_of(dv.TopK(2, 3, 1).bind(domain, ADD), Ranked((1, 0), False))
    chosen = release_of(dv.TopKSet(2, 1).bind(domain, ADD), Chosen((0, 1)))
    for release in (ranked, chosen):
        for ask in (lambda one: one.sum(["a"]), lambda one: one.sum(), lambda one: one.compare("a", "b")):
            with pytest.raises(ReleaseFormat, match="no values to add up"):
                ask(release)


def test_a_compact_answer_is_added_up_by_a_union_bound() -> None:
    taught = dv.teaching(pd.DataFrame({"x": [1] * 60 + [2] * 30}), 3)
    release = taught.draw(dv.Domain.integers(0, 999, column="x"), dv.Compact(1, cap=100))
    asked = release.range(1, 2)
    bar = release.error.look_ups(2, Fraction(1, 20))
    assert isinstance(asked, Derived) and bar is not None and asked.how == "bound"
    assert asked.value == release[1] + release[2]  # type: ignore[operator]
    assert asked.interval == (max(0, asked.value - 2 * bar.value), min(100, asked.value + 2 * bar.value))  # type: ignore[operator]
    with pytest.raises(ReleaseFormat, match="one by one"):
        taught.draw(dv.Domain.integers(0, 999_999, column="x"), dv.Compact(1, cap=10)).range(0, 500_000)


# ---------------------------------------------------------------- what it says, and what it refuses


def shown_release() -> Release:
    return table(bound(dv.Dense(1, clamp=False), 5), [4, 9, -30, 12, 30])


def test_an_interval_is_cut_at_what_is_public_and_says_when_nothing_is_left() -> None:
    low = table(bound(dv.Dense(1, clamp=False), 2), [2, 9]).sum([0])
    assert isinstance(low, Derived) and low.low == 0 and low.cut == (True, False) and not low.empty
    none = shown_release().sum([2])
    assert isinstance(none, Derived) and none.empty and none.high is not None and none.high < 0
    assert "No count that is possible lies within the error bar" in none.sentence
    capped = table(N, [4, 4]).sum([0, 1])
    assert isinstance(capped, Derived) and capped.high == 4


def test_many_questions_are_asked_at_once() -> None:
    release = shown_release()
    many = release.sum([[0, 1], [3]])
    assert isinstance(many, DerivedTable) and [row.value for row in many] == [13, 12]
    named = release.sum({"few": [0, 1], "many": [3, 4]})
    assert isinstance(named, DerivedTable)
    frame = named.to_frame()
    assert frame["what"].tolist() == ["few", "many"] and list(frame.columns) == ["what", "value", "low", "high", "how"]
    ranges = release.range([0, 1], [1, 4])
    assert isinstance(ranges, DerivedTable) and [row.value for row in ranges] == [13, 21]
    each = release.compare([[0], [1]], 3)
    assert isinstance(each, DerivedTable) and [row.value for row in each] == [-8, -3]
    assert "chance" in each.to_frame().columns and len(each[:1]) == 1
    assert "<table>" in each._repr_html_() and each.to_json()[0]["kind"] == "comparison"
    every = release.share([[0], [4]], [0, 3, 4])
    assert isinstance(every, DerivedTable) and len(every) == 2


def test_it_says_what_it_rests_on_and_that_it_is_free() -> None:
    release = replace(shown_release(), number=3, origin="session")
    asked = release.range(0, 1)
    assert isinstance(asked, Derived)
    assert repr(asked).endswith("Rests on entry 3 (ε = 1); costs nothing more.>")
    assert asked.what == "x: 0 to 1" and asked.nouns == "rows"
    stored = asked.to_json()
    assert stored["value"] == "13" and stored["paid"][0]["number"] == 3 and stored["bias"]["low"] == "0"
    assert stored["among"] == "one" and stored["beta"] == "0.05" and stored["off"] is None
    drawn = replace(release, number=None, teaching=7).sum([0])
    assert isinstance(drawn, Derived) and drawn.teaching and "not private" in drawn.rests_on


def test_labels_in_a_table_are_escaped() -> None:
    domain = dv.Domain.categories(["<b>", "c"], column="k")
    asked = table(dv.Dense(1).bind(dv.Question.of(domain), ADD), [1, 2]).sum(["<b>"])
    assert isinstance(asked, Derived)
    assert "&lt;b&gt;" in asked._repr_html_() and "<b>" not in asked._repr_html_()


BAD: dict[str, tuple[Callable[[Release], Any], type[Exception], str]] = {
    "empty": (lambda release: release.sum([]), DomainError, "at least one label"),
    "unknown": (lambda release: release.sum([0, 77]), DomainError, "label 2 of 2 must be one of .*, got int"),
    "unknown alone": (lambda release: release.sum(77), DomainError, "a label must be one of .*, got 77"),
    "unknown whole": (lambda release: release.share([0], 77), DomainError, "a label must be one of .*, got 77"),
    "unknown other": (lambda release: release.difference(0, [77]), DomainError, "a label must be one of .*, got 77"),
    "unknown value": (lambda release: release.many([77]), DomainError, "a label must be one of .*, got 77"),
    "twice": (lambda release: release.sum([0, 1, 0]), DomainError, "labels 1 and 3"),
    "reversed": (lambda release: release.range(3, 1), DomainError, "must not be reversed"),
    "one of many": (lambda release: release.range([0, 99], [1, 99]), DomainError, "got another one in a list"),
    "a column": (lambda release: release.sum(pd.Series([0, 1])), DomainError, "public texts"),
    "among words": (lambda release: release.sum([0], among="some"), ParameterError, "among must be"),
    "among nothing": (lambda release: release.sum([0], among=0), ParameterError, "whole number"),
    "among true": (lambda release: release.sum([0], among=True), ParameterError, "among must be"),
    "beta": (lambda release: release.sum([0], beta=1), ParameterError, "beta"),
    "reader": (lambda release: release.sum([0], reader="fitted"), ParameterError, "reader"),
    "same": (lambda release: release.difference([0, 1], [1, 0]), DomainError, "differ in some bin"),
    "no part": (lambda release: release.share([0], [1, 2]), DomainError, "must lie in its whole"),
    "no rest": (lambda release: release.share([0, 1], [1, 0]), DomainError, "leave something"),
    "uneven": (lambda release: release.range([0, 1], [1, 2, 3]), ParameterError, "equally long"),
    "gap of sums": (lambda release: release.compare([0, 1], [2, 3], among="all"), ParameterError, "largest gap"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_what_cannot_be_asked_is_refused_in_words(case: str) -> None:
    ask, kind, words = BAD[case]
    with pytest.raises(kind, match=words):
        ask(shown_release())


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (dv.Domain.categories(["a", "b"], column="k"), "these are names"),
        (dv.Domain.integers(0, 1, column="x") * dv.Domain.categories(["a"], column="k"), "several columns"),
    ],
)
def test_a_range_of_bins_without_an_order_is_refused_and_says_why(domain: dv.Domain, words: str) -> None:
    release = table(dv.Dense(1).bind(dv.Question.of(domain), ADD), [1, 2])
    with pytest.raises(DomainError, match=words):
        release.range("a", "b")


def test_an_answer_whose_values_are_no_counts_is_refused() -> None:
    """A stranger's shape adds nothing up unless it says so: here the values are means of pairs of bins."""
    made = Pairs(epsilon=1).bind(bins(4), ADD)
    release = release_of(made, PairMeans(np.array([3, 4], dtype=np.int64), 4))
    with pytest.raises(ReleaseFormat, match="not counts that add up"):
        release.sum([0, 2])


def test_sums_and_shares_of_domains_that_nobody_could_list_take_no_time() -> None:
    """Ranges of 2**64 bins stay ranges: they are neither listed nor iterated."""
    huge = dv.Question.of(dv.Domain.integers(0, 2**64 - 1, column="x"))
    made = dv.Stability(1, "1e-6").bind(huge, dv.Unit(relation="replace-one", n=500))
    release = release_of(made, SparseTable((3, 2**63), np.array([90, 200], dtype=np.int64)))
    for asked in (release.sum(), release.range(0, 2**63), release.difference(None, [3, 2**63]), release.share([3])):
        assert isinstance(asked, Derived) and asked.how == "bound" and asked.high is not None and asked.high <= 500
    half = release.range(4, 2**64 - 1)
    assert isinstance(half, Derived) and half.value == 200
    assert release.sum(range(4, 2**64)) == replace(half, kind="sum")
    unbounded = release_of(dv.Stability(1, "1e-6").bind(huge, ADD), release.answer).sum()
    assert isinstance(unbounded, Derived) and unbounded.high is None and "how many bins" in unbounded.sentence


def test_sums_of_long_ranges_are_exact_beyond_64_bits() -> None:
    made = bound(dv.Dense(1), 4)
    release = release_of(made, Table(np.array([2**62, 2**62, 2**62, 1], dtype=np.int64)))
    asked = release.range(0, 3)
    assert isinstance(asked, Derived) and asked.value == 3 * 2**62 + 1
