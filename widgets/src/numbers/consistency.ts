/**
 * The consistent values nearest to noisy counts: two passes over a tree, or pooling of sorted counts.
 *
 * Post-processing of numbers that are on the page already, in exact fractions, digit for digit what `dpviz.fitting`
 * gives (`fixtures/consistency.json` holds both to the same answers). Hay, Rastogi, Miklau, Suciu 2010.
 */

import { add, compare, equal, fraction, product, subtract, times, ZERO, type Fraction } from "./exact";

/** A complete tree over some counts; leaves beyond the last count are padding, asked and fitted like any other. */
export interface Tree {
    /** How many children a node has. */
    k: number;
    /** How many counts there are. */
    n: number;
    /** Nodes on the way from a leaf to the root: one record changes so many of the counts by 1. */
    height: number;
    nodes: number;
    /** Leaves, padding included. */
    leaves: number;
    /** Where each depth begins, the root's first: nodes stand root first, then depth by depth. */
    starts: readonly number[];
}

export function treeOf(k: number, n: number): Tree {
    const starts = [0];
    let [leaves, nodes] = [1, 1];
    for (; leaves < n; leaves *= k) {
        starts.push(nodes);
        nodes += leaves * k;
    }
    return { k, n, height: starts.length, nodes, leaves, starts };
}

/** How deep a node lies; the root at 0. */
export const depthOf = (tree: Tree, node: number): number => tree.starts.findLastIndex((start) => start <= node);

export const childrenOf = (tree: Tree, node: number): number[] =>
    tree.k * node + 1 < tree.nodes ? Array.from({ length: tree.k }, (_, i) => tree.k * node + 1 + i) : [];

/** The first and last leaf below a node, from 0. */
export function spanOf(tree: Tree, node: number): [number, number] {
    const depth = depthOf(tree, node);
    const size = tree.leaves / tree.k ** depth;
    const first = (node - tree.starts[depth]!) * size;
    return [first, first + size - 1];
}

/** The sums below all nodes. */
export function totals(tree: Tree, counts: readonly bigint[]): bigint[] {
    const sums = new Array<bigint>(tree.nodes).fill(0n);
    const first = tree.nodes - tree.leaves;
    counts.forEach((count, i) => (sums[first + i] = count));
    for (let node = first - 1; node >= 0; node -= 1) sums[node] = childrenOf(tree, node).reduce((sum, child) => sum + sums[child]!, 0n);
    return sums;
}

const total = (values: readonly Fraction[]): Fraction => values.reduce(add, ZERO);

/**
 * The consistent values nearest to the noisy ones (Theorem 3): upward the best estimate z of each node from what lies
 * at it and below it, downward an equal share of the gap between a node and the sum of its children.
 */
export function fitTree(tree: Tree, noisy: readonly Fraction[]): Fraction[] {
    const z = [...noisy];
    const k = BigInt(tree.k);
    for (let depth = tree.height - 2; depth >= 0; depth -= 1) {
        const size = k ** BigInt(tree.height - depth);
        const own = fraction(size - size / k, size - 1n);
        const below = fraction(size / k - 1n, size - 1n);
        for (let node = tree.starts[depth]!; node < tree.starts[depth + 1]!; node += 1) {
            const sum = total(childrenOf(tree, node).map((child) => z[child]!));
            z[node] = add(product(own, noisy[node]!), product(below, sum));
        }
    }
    const fitted = [...z];
    for (let node = 0; node < tree.nodes - tree.leaves; node += 1) {
        const children = childrenOf(tree, node);
        const gap = subtract(fitted[node]!, total(children.map((child) => z[child]!)));
        for (const child of children) fitted[child] = add(z[child]!, product(gap, fraction(1n, k)));
    }
    return fitted;
}

/** Neighbouring positions of a sorted list with one fitted value, their mean. */
export interface Block {
    start: number;
    length: number;
    value: Fraction;
}

/** The ascending list nearest to noisy values (Theorem 1): the last two blocks become one while they do not rise. */
export function pool(noisy: readonly Fraction[]): Block[] {
    const stack: { start: number; length: number; sum: Fraction }[] = [];
    noisy.forEach((value, start) => {
        let block = { start, length: 1, sum: value };
        for (let last = stack.at(-1); last !== undefined; last = stack.at(-1)) {
            if (compare(times(last.sum, BigInt(block.length)), times(block.sum, BigInt(last.length))) < 0) break;
            block = { start: last.start, length: last.length + block.length, sum: add(last.sum, block.sum) };
            stack.pop();
        }
        stack.push(block);
    });
    return stack.map(({ start, length, sum }) => ({ start, length, value: product(sum, fraction(1n, BigInt(length))) }));
}

export const pooled = (blocks: readonly Block[]): Fraction[] => blocks.flatMap(({ length, value }) => Array.from({ length }, () => value));

/** Inner nodes that are not the sum of their children, with that sum. */
export const brokenSums = (tree: Tree, values: readonly Fraction[]): { node: number; sum: Fraction }[] =>
    Array.from({ length: tree.nodes - tree.leaves }, (_, node) => ({ node, sum: total(childrenOf(tree, node).map((child) => values[child]!)) })).filter(
        ({ node, sum }) => !equal(sum, values[node]!),
    );

/** Positions whose value is less than the one before. */
export const falls = (values: readonly Fraction[]): number[] =>
    values.flatMap((value, i) => (i > 0 && compare(value, values[i - 1]!) < 0 ? [i] : []));

/** The sum of squared differences: the squared error of made-up counts that everybody knows. */
export const squaredError = (values: readonly Fraction[], truth: readonly Fraction[]): Fraction =>
    total(values.map((value, i) => { const gap = subtract(value, truth[i]!); return product(gap, gap); }));
