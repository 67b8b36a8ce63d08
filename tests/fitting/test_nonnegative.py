"""What is done about negative counts does what it says: signs exact, families the nearest ones, sums consistent."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpviz.fitting.nonnegative import topdown_simplex, topdown_whole, zero_subtrees
from dpviz.fitting.tree import Design, Node, Shape, TreeFit

DESIGNS = [
    *(Design(Shape(k, n)) for k, n in ((2, 1), (2, 8), (2, 13), (3, 9), (4, 7))),
    *(Design(Shape(k, n, pinned=True)) for k, n in ((2, 5), (2, 13), (3, 11), (4, 7))),
    Design(Shape(2, 8), (1, 0, 3, 2)),
    Design(Shape(3, 7, pinned=True), (2, 1, 3), exact_root=True),
]


def fits(spread: int) -> list[TreeFit]:
    """Sparse trees with noise: many nodes are below 0."""
    chance = np.random.default_rng(spread)
    found = []
    for design in DESIGNS:
        for _ in range(6):
            counts = chance.integers(0, 12, design.shape.n) * (chance.random(design.shape.n) < 0.3)
            noisy = design.shape.totals(counts) + chance.integers(-spread, spread + 1, design.shape.nodes)
            if design.exact_root:
                noisy[0] = counts.sum()
            found.append(TreeFit(design, noisy))
    return found


FITS = fits(1) + fits(9)


def chain(shape: Shape, leaf: int) -> list[Node]:
    return [Node(height, leaf // shape.k ** (height - 1)) for height in range(1, shape.height + 1)]


def check_zeroed(kept: Callable[[TreeFit], tuple[Any, ...]]) -> None:
    for fit in FITS:
        shape, levels = fit.design.shape, kept(fit)
        for leaf in range(shape.n):
            above = chain(shape, leaf)
            for place, node in enumerate(above):
                positive = all(fit.node(one) > 0 for one in above[place:])
                assert bool(levels[node.height - 1][node.place]) == positive


def test_a_node_stays_where_it_and_all_above_it_are_positive() -> None:
    check_zeroed(lambda fit: zero_subtrees(fit).kept)


def test_keeping_zeros_or_zeroing_children_only_is_rejected() -> None:
    def own_sign(fit: TreeFit) -> tuple[Any, ...]:
        return tuple(level > 0 for level in fit.floats().levels)

    def zero_kept(fit: TreeFit) -> tuple[Any, ...]:
        found = [np.ones(1, dtype=bool)]
        for level in fit.floats().levels[::-1]:
            found.append(np.repeat(found[-1], fit.design.shape.k)[: len(level)] & (level >= -1e-9))
        return tuple(found[:0:-1])

    for twin in (own_sign, zero_kept):
        with pytest.raises(AssertionError):
            check_zeroed(twin)


def test_both_ways_to_answer_a_range_of_a_zeroed_tree_are_as_they_say() -> None:
    for fit in FITS:
        shape, zeroed = fit.design.shape, zero_subtrees(fit)
        value = {
            node: fit.node(node) if zeroed.kept[node.height - 1][node.place] else Fraction(0) for node in nodes(shape)
        }
        leaves = [int(value[Node(1, leaf)] + Fraction(1, 2)) for leaf in range(shape.n)]
        assert zeroed.whole_leaves.tolist() == leaves
        for low in range(shape.n):
            for high in range(low, shape.n):
                assert zeroed.leaf_sum(low, high) == sum(leaves[low : high + 1])
                assert zeroed.subtrees(low, high) == sum(value[node] for node in shape.cover(low, high))


def nodes(shape: Shape) -> list[Node]:
    return [Node(height, at) for height in range(1, shape.height + 1) for at in range(shape.widths[height - 1])]


def families(fit: TreeFit) -> list[tuple[Node, list[Node], list[Fraction], list[Fraction]]]:
    """Every inner node, its children, their estimates z from below and the variances of these."""
    shape, design = fit.design.shape, fit.design
    found = []
    for height, index in nodes(shape):
        if height > 1:
            first, last = index * shape.k, min((index + 1) * shape.k, shape.widths[height - 2])
            children = [Node(height - 1, child) for child in range(first, last)]
            z = [Fraction(*map(int, fit._z(h, i, i + 1).as_integer_ratio())) for h, i in children]
            spreads = [Fraction(*map(int, design._spread(h, i).as_integer_ratio())) for h, i in children]
            found.append((Node(height, index), children, z, spreads))
    return found


def distance(parts: Any, z: list[Fraction], spreads: list[Fraction]) -> Fraction:
    return sum(((part - one) ** 2 / spread for part, one, spread in zip(parts, z, spreads, strict=True)), Fraction(0))


def splits(total: int, parts: int) -> list[tuple[int, ...]]:
    return [one for one in product(range(total + 1), repeat=parts) if sum(one) == total]


def check_whole(levels_of: Callable[[TreeFit], tuple[Any, ...]]) -> None:
    for fit in FITS:
        levels = levels_of(fit)
        top = fit.node(Node(fit.design.shape.height, 0))
        root = int(levels[-1][0])
        assert root >= 0 and (abs(root - top) <= Fraction(1, 2) or (root == 0 and top < 0))
        for parent, children, z, spreads in families(fit):
            total = int(levels[parent.height - 1][parent.place])
            parts = tuple(int(levels[height - 1][index]) for height, index in children)
            assert sum(parts) == total and min(parts) >= 0
            if (total + 1) ** len(parts) <= 3_000:
                best = min(distance(one, z, spreads) for one in splits(total, len(parts)))
                assert distance(parts, z, spreads) == best
            ties = [at for at, part in enumerate(parts) if part]
            if len(set(z)) == 1 and len(set(spreads)) == 1 and ties:
                assert list(parts) == sorted(parts, reverse=True), "equal estimates: more to the left"


def test_whole_families_are_the_nearest_that_add_up() -> None:
    check_whole(lambda fit: topdown_whole(fit).levels)
    check_whole(lambda fit: topdown_whole(TreeFit(fit.design, fit.noisy.astype(object))).levels)


def test_clipping_and_rounding_each_part_by_itself_is_rejected() -> None:
    def clipped(fit: TreeFit) -> tuple[Any, ...]:
        return tuple(np.maximum(np.round(level), 0) for level in fit.floats().levels)

    def one_unit_moved(fit: TreeFit) -> tuple[Any, ...]:
        """Moves one unit within the first family that has one to move."""
        levels = [level.copy() for level in topdown_whole(fit).levels]
        for height in range(fit.design.shape.height - 1, 0, -1):
            level = levels[height - 1]
            if len(level) > 1 and level[0]:
                level[0], level[1] = level[0] - 1, level[1] + 1
                break
        return tuple(levels)

    for twin in (clipped, one_unit_moved):
        with pytest.raises(AssertionError):
            check_whole(twin)


def test_ranges_of_whole_trees_are_sums_of_their_leaves() -> None:
    for fit in FITS:
        tree = topdown_whole(fit)
        n, leaves = fit.design.shape.n, tree.leaves.tolist()
        every = [(low, high) for low in range(n) for high in range(low, n)]
        assert tree.ranges(*np.array(every).T).tolist() == [sum(leaves[low : high + 1]) for low, high in every]
        assert [tree.range(low, high) for low, high in every] == [sum(leaves[low : high + 1]) for low, high in every]


def nearest(z: list[Fraction], spreads: list[Fraction], total: Fraction) -> list[Fraction]:
    """By trying every set of parts that are above 0: those satisfy the conditions of the optimum in one way only."""
    candidates = []
    for positive in product([False, True], repeat=len(z)):
        if not any(positive):
            continue
        rest = (sum(one for one, p in zip(z, positive, strict=True) if p) - total) / sum(
            s for s, p in zip(spreads, positive, strict=True) if p
        )
        parts = [one - rest * s if p else Fraction(0) for one, s, p in zip(z, spreads, positive, strict=True)]
        if min(parts) >= 0:
            candidates.append(parts)
    return min(candidates, key=lambda parts: distance(parts, z, spreads))


def test_the_real_fit_is_within_its_error_of_the_exact_one() -> None:
    for fit in FITS:
        floats, height = topdown_simplex(fit), fit.design.shape.height
        exact = {Node(height, 0): max(Fraction(0), fit.node(Node(height, 0)))}
        for parent, children, z, spreads in reversed(families(fit)):
            parts = nearest(z, spreads, exact[parent])
            exact.update(zip(children, parts, strict=True))
        for (at, index), value in exact.items():
            assert abs(Fraction(float(floats.levels[at - 1][index])) - value) <= Fraction(floats.error)
        assert floats.error < 1e-10
        plain = {node: fit.node(node) for node in nodes(fit.design.shape)}
        if min(plain.values()) >= 0:
            assert exact == plain, "nothing to do where nothing is negative"


def test_numbers_beyond_64_bits_split_as_exactly() -> None:
    for fit in fits(3):
        large = TreeFit(fit.design, fit.noisy.astype(object) * 10**20)
        tree = topdown_whole(large)
        for parent, children, _, _ in families(large):
            parts = [tree.levels[height - 1][index] for height, index in children]
            assert sum(parts) == tree.levels[parent.height - 1][parent.place] and min(parts) >= 0
