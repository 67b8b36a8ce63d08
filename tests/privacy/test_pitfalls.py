"""Known ways to get accounting nearly right, and the tests in which each is rejected as a twin of what is right."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PITFALLS: dict[str, tuple[str, ...]] = {
    "the rho of an earlier conversion beside the variance of the exact price": (
        "privacy/test_discrete_gaussian.py::test_rho_is_that_of_the_variance_in_force_and_not_of_the_conversion",
        "prices/test_planted.py::rho_of_the_conversion",
    ),
    "the variance of continuous noise on whole numbers": (
        "privacy/test_discrete_gaussian.py::test_the_variance_of_continuous_noise_is_too_small_on_whole_numbers",
    ),
    "a variance that is rounded up after it was found": (
        "privacy/test_discrete_gaussian.py::test_wider_noise_may_cost_more_so_the_variance_that_is_drawn_is_tested",
    ),
    "one vector of the largest length, whatever its divisor": (
        "privacy/test_discrete_gaussian.py::test_delta_of_a_vector_depends_on_its_length_and_divisor_alone",
        "privacy/test_discrete_gaussian.py::test_the_lattice_matters_and_neither_end_of_the_divisors_is_the_worst",
    ),
    "both ends of a tail rounded apart": (
        "privacy/test_discrete_gaussian.py::test_rounding_both_tails_apart_is_told_from_the_definition",
    ),
    "deltas of Gaussian answers composed one by one, or those of the worst of several vectors": (
        "privacy/test_loss_distribution.py::test_deltas_of_gaussian_answers_one_by_one_are_wasteful",
        "privacy/test_loss_distribution.py::test_gaussian_noise_without_one_worst_move_has_no_pair",
    ),
    "the price of a fixed list as a filter, and an order chosen from what was spent": (
        "privacy/test_loss_distribution.py::test_the_price_of_a_list_is_no_filter",
        "privacy/test_concentrated.py::test_an_order_chosen_from_what_was_spent_would_promise_too_much",
        "session/test_reserve.py::test_the_plan_says_what_the_session_promises_and_what_the_spent_amount_is",
    ),
    "the corner in place of the solution, and losses rounded to the nearest": (
        "privacy/test_loss_distribution.py::test_corners_alone_overcharge",
        "privacy/test_loss_distribution.py::test_losses_that_are_rounded_to_the_nearest_charge_too_little",
    ),
    "m keys of a replaced unit where noise is truncated, and keys of one record": (
        "privacy/test_unknown_keys.py::"
        "test_noise_truncated_at_the_threshold_costs_the_chance_that_any_moved_key_leaves_it",
        "privacy/test_gaussian_keys.py::test_near_wrong_prices_are_told_from_the_worst_over_all_neighbours",
        "prices/test_planted.py::keys_of_one_side",
        "prices/test_planted.py::keys_of_one_record",
        "prices/test_planted.py::new_keys_or_common_ones",
    ),
    "noise that is truncated, at a threshold within its range": (
        "privacy/test_unknown_keys.py::"
        "test_noise_truncated_at_the_threshold_costs_the_chance_that_any_moved_key_leaves_it",
    ),
    "entries of earlier ledgers booked anew": (
        "kept/test_zcdp.py::test_entries_booked_anew_by_a_smaller_rule_would_look_forged",
    ),
    "the worst move of a tree at an end": (
        "prices/test_planted.py::largest_rise",
        "prices/test_planted.py::one_end_of_the_fall",
    ),
    "chances of names that are rounded to the nearest, and names by counts of records": (
        "mechanisms/test_key_selection.py::test_chances_that_are_rounded_to_the_nearest_cost_more",
        "mechanisms/test_key_selection.py::test_a_rule_for_units_is_too_cheap_for_records",
    ),
    "rho of range-bounded steps for pure answers": ("prices/test_planted.py::range_bounded_for_pure",),
}
"""The pitfalls, and their tests or planted faults."""


@pytest.mark.parametrize("pitfall", PITFALLS)
def test_each_pitfall_has_a_test_that_rejects_it(pitfall: str) -> None:
    for place in PITFALLS[pitfall]:
        file, _, name = place.partition("::")
        tree = ast.parse((ROOT / file).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, place
        planted = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert name.startswith("test_") or name in planted, f"{place} is planted nowhere"


def test_a_pitfall_whose_test_has_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PITFALLS, "none", ("prices/test_planted.py::no_such_fault",))
    with pytest.raises(AssertionError, match="no_such_fault"):
        test_each_pitfall_has_a_test_that_rejects_it("none")
