"""Fits of trees equal rational normal equations; variances of ranges equal the exact inverse, for every range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from dpviz.errors import ParameterError
from dpviz.fitting.irregular import Irregular
from dpviz.fitting.tree import Design, Node, Shape, TreeFit, Weighted, squares
from tests.fitting.reference import LeastSquares

DESIGNS = [
    *(Design(Shape(k, n)) for k, n in ((2, 1), (2, 2), (2, 7), (2, 16), (3, 3), (3, 8), (4, 5), (5, 6))),
    *(Design(Shape(k, n), exact_root=True) for k, n in ((2, 1), (2, 6), (3, 9), (5, 4))),
    *(Design(Shape(k, n, pinned=True)) for k, n in ((2, 1), (2, 5), (2, 11), (3, 7), (3, 10), (4, 6), (5, 7))),
    *(Design(Shape(k, n, pinned=True), exact_root=True) for k, n in ((2, 9), (3, 4), (3, 11))),
    Design(Shape(2, 8), (1, 3, 2, 5)),
    Design(Shape(3, 9), (2, 0, 1)),
    Design(Shape(2, 8), (4, 1, 0, 0)),
    Design(Shape(2, 7, pinned=True), (1, 3, 0, 5)),
    Design(Shape(2, 7, pinned=True), (3, 1, 2, 1), exact_root=True),
]


def spans(design: Design) -> list[tuple[int, int]]:
    """The leaves below each node, in the order of the array of all nodes."""
    shape = design.shape
    return [
        shape.span(Node(height, index))
        for height in range(shape.height, 0, -1)
        for index in range(shape.widths[height - 1])
    ]


@cache
def reference(design: Design) -> LeastSquares:
    shape = design.shape
    rows = [[int(first <= leaf <= last) for leaf in range(shape.reach)] for first, last in spans(design)]
    variances: list[Fraction | None] = []
    for height in range(shape.height, 0, -1):
        precision = design.precisions[height - 1]
        variances += [Fraction(1, precision) if precision else None] * shape.widths[height - 1]
    if design.exact_root:
        variances[0] = Fraction(0)
    return LeastSquares(rows, variances)


def noisy_values(design: Design) -> np.ndarray:
    return np.random.default_rng(5).integers(-9, 30, design.shape.nodes)


def ranges(design: Design) -> Iterator[tuple[int, int, list[int]]]:
    n = design.shape.n
    for low in range(n):
        for high in range(low, n):
            yield low, high, [int(low <= leaf <= high) for leaf in range(n)]


def weight_of(groups: tuple[Weighted, ...], design: Design) -> list[Fraction]:
    """The weight of each node in the order of the array of all nodes."""
    found = [Fraction(0)] * design.shape.nodes
    for height, first, stop, weight in groups:
        for index in range(first, stop):
            place = design.shape.starts[height - 1] + index
            assert found[place] == 0 and weight != 0, "no node stands twice, none of weight 0 stands at all"
            found[place] = weight
    return found


def check_variances(variance: Callable[[Design, int, int], Fraction]) -> None:
    for design in DESIGNS:
        for low, high, query in ranges(design):
            assert variance(design, low, high) == reference(design).variance(query), (design, low, high)


def test_the_variance_of_every_range_is_that_of_the_exact_inverse() -> None:
    check_variances(lambda design, low, high: design.variance([(low, high, 1)]))


def test_many_variances_at_once_are_those_of_single_ranges() -> None:
    for design in DESIGNS:
        every = [(low, high) for low, high, _ in ranges(design)]
        lows, highs = np.array(every).T
        single = [design.variance([(low, high, 1)]) for low, high in every]
        assert design.variances(lows, highs) == single
        assert design.standard_errors(lows, highs) == pytest.approx([float(one) ** 0.5 for one in single], rel=1e-15)


def test_a_variance_without_the_root_is_rejected_and_so_are_precisions_turned_around() -> None:
    def no_root(design: Design, low: int, high: int) -> Fraction:
        plain = Design(design.shape, design.precisions, exact_root=True)
        return plain.variance([(low, high, 1)])

    def turned(design: Design, low: int, high: int) -> Fraction:
        return Design(design.shape, design.precisions[::-1], design.exact_root).variance([(low, high, 1)])

    for twin in (no_root, turned):
        with pytest.raises((AssertionError, ParameterError)):
            check_variances(twin)


def test_the_variance_of_any_linear_query_is_that_of_the_exact_inverse() -> None:
    chance = np.random.default_rng(3)
    for design in DESIGNS:
        for _ in range(3):
            query = [Fraction(int(a), int(b)) for a, b in chance.integers(1, 6, (design.shape.n, 2)) - [3, 0]]
            assert design.query_variance(query) == reference(design).variance(query)
            pieces = [(at, at, weight) for at, weight in enumerate(query)][::-1]
            assert design.variance(pieces) == reference(design).variance(query)


def check_fit(range_of: Callable[[TreeFit, int, int], Fraction]) -> None:
    for design in DESIGNS:
        noisy = noisy_values(design)
        fitted = reference(design).fit(noisy.tolist())
        for fit in (TreeFit(design, noisy), TreeFit(design, noisy.astype(object) * 2**70)):
            factor = 1 if noisy is fit.noisy else 2**70
            for low, high, _ in ranges(design):
                assert range_of(fit, low, high) == factor * sum(fitted[low : high + 1]), (design, low, high)


def test_every_range_of_the_fit_is_that_of_rational_normal_equations() -> None:
    check_fit(lambda fit, low, high: fit.range(low, high))


def test_noisy_subtrees_and_a_fit_that_forgets_the_way_down_are_rejected() -> None:
    def half_fitted(fit: TreeFit, low: int, high: int) -> Fraction:
        nodes = fit.design.shape.cover(low, high)
        return sum((Fraction(int(fit._z(h, i, i + 1))) for h, i in nodes), Fraction(0))

    for twin in (lambda fit, low, high: Fraction(fit.subtrees(low, high)), half_fitted):
        with pytest.raises(AssertionError):
            check_fit(twin)


def test_nodes_leaves_and_floats_are_those_of_the_fit() -> None:
    for design in DESIGNS:
        noisy = noisy_values(design) * 10**7
        fit, fitted = TreeFit(design, noisy), reference(design).fit(noisy.tolist())
        assert fit.leaves() == fitted[: design.shape.n]
        floats = fit.floats()
        for (height, index), (first, last) in zip(every_node(design.shape), spans(design), strict=True):
            exact = sum(fitted[first : last + 1])
            assert fit.node(Node(height, index)) == exact
            assert abs(Fraction(float(floats.levels[height - 1][index])) - exact) <= Fraction(floats.error)
        largest = max(map(abs, noisy.tolist()))
        assert floats.error <= 1e-13 * largest, "the bound is worth something"
        every = [(low, high) for low, high, _ in ranges(design)]
        values, error = floats.ranges(*np.array(every).T)
        for (low, high), value in zip(every, values.tolist(), strict=True):
            assert abs(Fraction(value) - fit.range(low, high)) <= Fraction(error)


def test_floats_of_numbers_beyond_64_bits_hold_their_bound_too() -> None:
    for design in DESIGNS:
        for noisy in (noisy_values(design).astype(object) * (10**25 + 1), noisy_values(design) * (2**58 - 1)):
            floats, leaves = TreeFit(design, noisy).floats(), TreeFit(design, noisy).leaves()
            for value, exact in zip(floats.leaves.tolist(), leaves, strict=True):
                assert abs(Fraction(value) - exact) <= Fraction(floats.error)
            assert leaves == reference(design).fit(noisy.tolist())[: design.shape.n]


def every_node(shape: Shape) -> list[Node]:
    return [Node(h, index) for h in range(shape.height, 0, -1) for index in range(shape.widths[h - 1])]


def test_node_weights_give_the_fitted_value_and_its_variance() -> None:
    for design in DESIGNS:
        noisy = noisy_values(design)
        fit = TreeFit(design, noisy)
        for low, high, _ in ranges(design):
            groups = design.weights([(low, high, 1)])
            weights = weight_of(groups, design)
            assert sum(w * h for w, h in zip(weights, noisy.tolist(), strict=True)) == fit.range(low, high)
            sums = design.by_height([(low, high, 1)])
            noise = [one / p for one, p in zip(sums, design.precisions, strict=True) if p]
            assert sum(noise) == design.variance([(low, high, 1)])
            assert all(one == 0 for one, p in zip(sums, design.precisions, strict=True) if not p)


def test_a_range_of_a_large_tree_has_few_runs_of_weights() -> None:
    design = Design(Shape(2, 2**15))
    groups = design.weights([(12345, 23456, 1)])
    assert len(groups) < 600
    assert sum(count * one for count, one in zip([1] * 16, design.by_height([(12345, 23456, 1)]), strict=True)) == (
        design.variance([(12345, 23456, 1)])
    )


def fewest(shape: Shape) -> dict[tuple[int, int], int]:
    """The least number of nodes that make up each range, by dynamic programming over the end."""
    nodes = {shape.span(node) for node in every_node(shape)}
    least: dict[tuple[int, int], int] = {}
    for low in range(shape.reach):
        best = {low - 1: 0}
        for high in range(low, shape.reach):
            best[high] = 1 + min(best[cut] for cut in best if (cut + 1, high) in nodes)
            least[low, high] = best[high]
    return least


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize(("k", "n"), [(2, 1), (2, 13), (2, 16), (3, 9), (3, 14), (4, 17), (5, 26)])
def test_a_cover_is_the_range_in_as_few_nodes_as_can_be(k: int, n: int, pinned: bool) -> None:
    shape = Shape(k, n, pinned)
    least = fewest(shape)
    every = [(low, high) for low in range(n) for high in range(low, n)]
    counts = shape.cover_counts(*np.array(every).T)
    noisy = np.arange(shape.nodes) ** 2
    fit, variances = TreeFit(Design(shape), noisy), Design(shape).subtree_variances(*np.array(every).T)
    for (low, high), row, variance in zip(every, counts, variances, strict=True):
        cover = shape.cover(low, high)
        parts = [shape.span(node) for node in cover]
        assert parts[0][0] == low and parts[-1][1] == high
        assert all(a[1] + 1 == b[0] for a, b in pairwise(parts))
        assert len(cover) == least[low, high] == row.sum() == variance
        assert fit.subtrees(low, high) == sum(int(shape.level(noisy, h)[i]) for h, i in cover)
    if not pinned and n == k ** (shape.height - 1):
        most = max(1, (k - 1) * (shape.height - 1), 2 * (k - 1) * (shape.height - 1) - k)
        assert counts.sum(axis=1).max() == most, "the spec's formula"


def test_totals_are_sums_below_nodes() -> None:
    for design in DESIGNS:
        counts = np.arange(1, design.shape.n + 1)
        totals = design.shape.totals(counts)
        padded = [*counts.tolist(), *[0] * design.shape.leaves]
        assert totals.tolist() == [sum(padded[first : last + 1]) for first, last in spans(design)]
        fit = TreeFit(design, totals)
        assert fit.leaves() == counts.tolist(), "without noise nothing changes"


def test_the_example_of_the_paper_and_the_closed_forms_of_the_spec() -> None:
    fit = TreeFit(Design(Shape(2, 4)), np.array([13, 3, 11, 4, 1, 12, 1]))
    assert [fit.node(node) for node in every_node(Shape(2, 4))] == [14, 3, 11, 3, 0, 11, 0]
    sixteen = Design(Shape(2, 2**15)).node_variances()
    assert float(sixteen[0]) == pytest.approx(0.606695, abs=5e-7)
    assert float(sixteen[-1]) == pytest.approx(0.5, abs=1e-4)
    all_but_ends = Design(Shape(2, 2**15)).variance([(1, 2**15 - 2, 1)])
    assert float(28 / all_but_ends) == pytest.approx(16.34, abs=5e-3)
    wide = Design(Shape(16, 16**4)).variance([(1, 16**4 - 2, 1)])
    most = 2 * 4 * 15 - 16
    assert float(most / wide) == pytest.approx(36.89, abs=5e-3)
    for k, n in ((2, 8), (3, 9), (5, 25)):
        design = Design(Shape(k, n))
        single = [design.variance([(0, k**at - 1, 1)]) for at in range(design.shape.height)]
        assert list(design.node_variances()) == single


def test_means_over_ranges_are_those_of_single_ranges() -> None:
    for design in DESIGNS:
        every = [(low, high) for low, high, _ in ranges(design)]
        if design.shape.pinned:
            with pytest.raises(ParameterError):
                design.mean_variance()
            continue
        single = {pair: design.variance([(*pair, 1)]) for pair in every}
        assert design.mean_variance() == sum(single.values()) / len(every)
        for length in range(1, design.shape.n + 1):
            some = [pair for pair in every if pair[1] - pair[0] + 1 == length]
            assert design.mean_variance(length) == sum(single[pair] for pair in some) / len(some)
            if all(design.precisions):
                plain = design.subtree_variances(*np.array(some).T)
                assert design.mean_subtree_variance(length) == sum(plain) / len(some)


@pytest.mark.parametrize(
    ("length", "plain", "subtrees", "fitted"),
    [(2, 4, 768, 400), (1024, 2048, 5120, 1185), (4096, 8192, 6144, 1354), (16384, 32768, 7168, 1534)],
)
def test_mean_errors_of_a_tree_of_height_16_are_those_of_the_spec(
    length: int, plain: int, subtrees: int, fitted: int
) -> None:
    design = Design(Shape(2, 2**15))
    noise = 2 * design.shape.height**2
    assert 2 * length == plain
    assert float(noise * design.mean_subtree_variance(length)) == pytest.approx(subtrees, rel=2e-3)
    assert float(noise * design.mean_variance(length)) == pytest.approx(fitted, rel=1e-2)


def test_padding_that_is_pinned_is_never_worse() -> None:
    for k, n in ((2, 5), (2, 11), (3, 7), (4, 6)):
        asked, pinned = Design(Shape(k, n)), Design(Shape(k, n, pinned=True))
        for low, high, _ in ranges(asked):
            assert pinned.variance([(low, high, 1)]) <= asked.variance([(low, high, 1)])


def test_a_million_leaves_have_exact_variances() -> None:
    design = Design(Shape(2, 2**20))
    chance = np.random.default_rng(2)
    ends = np.sort(chance.integers(0, 2**20, (50, 2)), axis=1)
    many = design.variances(ends[:, 0], ends[:, 1])
    assert many == [design.variance([(low, high, 1)]) for low, high in ends.tolist()]


def test_squares_of_the_largest_tree_do_not_overflow() -> None:
    last = 2**31 - 1
    for size in (1, 2**15, 2**30, 2**31):
        lows, highs = np.array([0, 1, 5]), np.array([last, last - 1, last])
        exact = []
        for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
            edges = (low // size, high // size)
            left, right = (edges[0] + 1) * size - low, high + 1 - edges[1] * size
            one = (high + 1 - low) ** 2
            exact.append(one if edges[0] == edges[1] else left**2 + right**2 + (edges[1] - edges[0] - 1) * size**2)
        assert squares(lows, highs, size).tolist() == exact


def random_tree(seed: int) -> tuple[Irregular, LeastSquares, list[Fraction]]:
    """A tree with uneven families; some inner nodes are not asked, and of those on a path at most one is exact."""
    chance = np.random.default_rng(seed)
    parents = [-1]
    for parent in range(int(chance.integers(1, 5))):
        if parent < len(parents):
            parents += [parent] * int(chance.integers(1, 6))
    children = [[i for i, p in enumerate(parents) if p == node] for node in range(len(parents))]
    variances: list[Fraction | int | None] = []
    for node, parent in enumerate(parents):
        above = parent
        exact_above = False
        while above != -1:
            exact_above = exact_above or variances[above] == 0
            above = parents[above]
        kind = chance.integers(0, 6)
        if kind == 0 and not exact_above:
            variances.append(0)
        elif kind == 1 and children[node]:
            variances.append(None)
        else:
            variances.append(Fraction(int(chance.integers(1, 7)), int(chance.integers(1, 4))))
    leaves = [node for node, below in enumerate(children) if not below]

    def under(leaf: int, node: int) -> bool:
        while leaf != -1 and leaf != node:
            leaf = parents[leaf]
        return leaf == node

    rows = [[int(under(leaf, node)) for leaf in leaves] for node in range(len(parents))]
    noisy = [Fraction(int(one), 2) for one in chance.integers(-20, 90, len(parents))]
    return Irregular(tuple(parents), tuple(variances)), LeastSquares(rows, variances), noisy


def check_irregular(fit: Callable[[Irregular, list[Fraction]], list[Fraction]]) -> None:
    for seed in range(40):
        tree, exact, noisy = random_tree(seed)
        fitted = exact.fit(noisy)
        assert fit(tree, noisy) == [sum(a * b for a, b in zip(row, fitted, strict=True)) for row in exact.rows]


def test_irregular_trees_with_missing_and_exact_nodes_equal_rational_normal_equations() -> None:
    check_irregular(lambda tree, noisy: tree.fit(noisy))


def test_equal_shares_of_a_gap_are_rejected() -> None:
    def even(tree: Irregular, noisy: list[Fraction]) -> list[Fraction]:
        return Irregular(tree.parents, tuple(v if not v else 1 for v in tree.variances)).fit(noisy)

    with pytest.raises(AssertionError):
        check_irregular(even)


def test_variances_and_weights_of_irregular_trees_are_exact() -> None:
    chance = np.random.default_rng(11)
    for seed in range(40):
        tree, exact, noisy = random_tree(seed)
        assert tree.node_variances() == [exact.variance(row) for row in exact.rows]
        query = chance.integers(-3, 4, len(tree.leaves)).tolist()
        assert tree.variance(query) == exact.variance(query)
        weights = tree.weights(query)
        value = sum(a * b for a, b in zip(query, exact.fit(noisy), strict=True))
        assert sum(a * b for a, b in zip(weights, noisy, strict=True)) == value


def test_a_design_is_the_same_tree_as_an_irregular_one() -> None:
    for design in DESIGNS:
        tree, noisy = Irregular.of(design), noisy_values(design)
        assert tree.fit(noisy.tolist())[design.shape.starts[0] :] == reference(design).fit(noisy.tolist())


def test_exact_nodes_that_contradict_each_other_are_refused() -> None:
    tree = Irregular((-1, 0, 0), (0, 0, 0))
    assert tree.fit([5, 2, 3]) == [5, 2, 3]
    with pytest.raises(ParameterError, match="agree"):
        tree.fit([6, 2, 3])


@pytest.mark.parametrize(
    "call",
    [
        lambda: Shape(1, 4),
        lambda: Shape(2, 0),
        lambda: Shape(2, 2**31 + 1),
        lambda: Shape(2.5, 4),  # type: ignore[arg-type]
        lambda: Shape(2, 4).cover(2, 1),
        lambda: Shape(2, 4).cover(0, 4),
        lambda: Shape(2, 3).cover(0, 3),
        lambda: Shape(2, 4).cover_counts(np.array([0, -1]), np.array([1, 1])),
        lambda: Shape(2, 4).cover_counts(np.array([0.0]), np.array([1.0])),
        lambda: Shape(2, 4).span(Node(2, 2)),
        lambda: Shape(2, 4).totals(np.arange(5)),
        lambda: Design(Shape(2, 4), (1, 1)),
        lambda: Design(Shape(2, 4), (0, 1, 1)),
        lambda: Design(Shape(2, 4), (1, -1, 1)),
        lambda: Design(Shape(2, 4)).variance([(0, 2, 1), (2, 3, 1)]),
        lambda: Design(Shape(2, 4)).query_variance([1, 2]),
        lambda: Design(Shape(2, 4)).mean_variance(5),
        lambda: Design(Shape(2, 4), (1, 0, 1)).mean_subtree_variance(1),
        lambda: Design(Shape(2, 4), (1, 0, 1)).subtree_variances(np.array([0]), np.array([1])),
        lambda: TreeFit(Design(Shape(2, 4)), np.arange(6)),
        lambda: TreeFit(Design(Shape(2, 4)), np.arange(7) / 2),
        lambda: TreeFit(Design(Shape(2, 4)), np.full(7, np.nan)),
        lambda: Irregular((-1, 0), (1, None)),
        lambda: Irregular((-1, 1), (1, 1)),
        lambda: Irregular((0,), (1,)),
        lambda: Irregular((-1,), (Fraction(-1),)),
        lambda: Irregular((-1, 0), (1, 1)).fit([1]),
        lambda: Irregular((-1, 0), (1, 1)).fit([1, float("nan")]),  # type: ignore[list-item]
    ],
)
def test_what_fits_no_tree_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ParameterError):
        call()
