/** The sheets of the explorers, as types and as checks: nothing that comes in is believed before it is read here. */

import { readDraws } from "./comparison_draws";
import { treeOf } from "../numbers/consistency";
import { decode, readBar, readHow, readMeasure, version } from "./protocol";
import { exact, list, maybe, oneOf, shape, share, table, text, whole, wrong, type Read, type Reader } from "./readers";
import { at, checked, number, pointsOf, readAxis } from "./sheet_parts";

export type { Axis, Point, Sheet } from "./sheet_parts";

const flag: Reader<boolean> = (value, where) => (typeof value === "boolean" ? value : wrong(where, "true or false"));

const readLaw = shape({ pmf: list(share), ratio: text, holds: flag, bits: text });

const readSamplerPoint = shape({
    at,
    t: shape({ value: whole, paper: whole, tight: whole }),
    promise: shape({ ratio: exact, epsilon: exact, exact: text }),
    geosample: readLaw,
    truncated: readLaw,
    fastsample: readLaw,
    sizes: shape({ n: list(whole), geosample: list(whole), fastsample: list(whole), crossover: whole }),
});

const readSamplerShape = shape({
    version,
    axes: list(readAxis),
    now: readSamplerPoint,
    fans: table(list(maybe(readSamplerPoint))),
    staircase: shape({ epsilon: list(number), paper: list(number), tight: list(number) }),
});

/** The error at worst, by the true count of a bin where that matters, and the least that is possible at this price. */
const readError = shape({
    worst: maybe(readBar),
    curve: maybe(shape({ values: list(exact), kind: readHow })),
    floor: maybe(shape({ value: exact, rule: text })),
});

const readRow = shape({
    name: text,
    about: text,
    python: text,
    refused: text,
    price: maybe(shape({ epsilon: exact, delta: exact, asked: exact })),
    guarantee: maybe(text),
    space: maybe(shape({ bits: text, text: text })),
    cost: maybe(shape({ text: text, slow: flag })),
    /** By the name of their measure; none where the mechanism is refused. */
    errors: maybe(table(readError)),
    chance: maybe(list(share)),
});

const readComparisonPoint = shape({ at, rows: list(readRow) });

const readComparisonShape = shape({
    version,
    question: shape({ column: text, nouns: text, size: text, bins_text: text, sentence: text }),
    unit: shape({ text: text }),
    measures: list(readMeasure),
    axes: list(readAxis),
    now: readComparisonPoint,
    fans: table(list(maybe(readComparisonPoint))),
    draws: maybe(readDraws),
});

/** The simulated lists that are shown. */
export const DRAWS = 40;

const readRanked = shape({ labels: list(text), counts: list(whole) });

const readPrice = shape({ epsilon: exact, delta: exact });

/** The results that a made-up or public table lets be computed; on private data there is none of it. */
const readOpen = shape({
    next: whole,
    first: whole,
    chance: list(share),
    simulated: list(share),
    draws: text,
    lengths: list(share),
    items: exact,
    charge: exact,
    trade: list(shape({ name: text, threshold: list(exact), items: list(exact) })),
    pick: maybe(shape({ low: whole, middle: whole, high: whole })),
    least: whole,
});

const readTopKPoint = shape({
    at,
    above: exact,
    low: exact,
    high: exact,
    gap: text,
    alpha: exact,
    prices: list(shape({ name: text, label: text, epsilon: exact, delta: exact })),
    method: shape({ name: text, about: text, price: maybe(readPrice), refused: text }),
    distance: list(shape({ name: text, above: list(exact) })),
    open: maybe(readOpen),
});

const readTopKShape = shape({
    version,
    subject: shape({ item: text, items: text, noun: text, nouns: text, sentence: text, protects: text, delta_prime: exact }),
    badge: text,
    runs: text,
    kbar: list(whole),
    tables: table(readRanked),
    released: maybe(
        shape({ title: text, items: list(text), values: maybe(list(exact)), ended: flag, k: whole, paid: readPrice, guarantee: text, teaching: maybe(text) }),
    ),
    axes: list(readAxis),
    now: readTopKPoint,
    fans: table(list(maybe(readTopKPoint))),
});

const readCompositionPoint = shape({
    at,
    rules: list(shape({ name: text, epsilon: list(exact) })),
    laplace: list(whole),
    equal: list(number),
});

const readCompositionShape = shape({
    version,
    axes: list(readAxis),
    rules: list(shape({ name: text, label: text, about: text })),
    now: readCompositionPoint,
    fans: table(list(maybe(readCompositionPoint))),
    figure: shape({
        delta: exact,
        k: list(number),
        curves: list(shape({ epsilon: exact, bounded: list(number), zcdp: list(number) })),
    }),
});

const readConsistencyPoint = shape({
    at,
    /** By sensitivity. */
    within: table(whole),
    /** By sensitivity and seed. */
    noise: table(table(list(exact))),
});

const readConsistencyShape = shape({
    version,
    badge: text,
    most: whole,
    largest: whole,
    branchings: list(whole),
    start: shape({ preset: text, structure: oneOf("tree", "sorted"), branching: whole }),
    presets: list(shape({ name: text, label: text, counts: list(whole), printed: maybe(shape({ tree: list(exact), sorted: list(exact) })) })),
    axes: list(readAxis),
    now: readConsistencyPoint,
    fans: table(list(maybe(readConsistencyPoint))),
});

const readReading = shape({
    low: whole,
    high: whole,
    labels: list(text),
    truth: maybe(exact),
    /** By estimator. */
    rows: table(shape({ value: exact, one: readBar, all: readBar, count: whole })),
    /** Runs of noisy nodes: height, first and last leaf, how many nodes, the weight of each. */
    nodes: list(list(number)),
});

const readRangeShape = shape({
    version,
    title: text,
    sentence: text,
    badge: maybe(text),
    paid: maybe(text),
    seed: maybe(text),
    axis: text,
    nouns: text,
    bins: whole,
    beta: exact,
    tree: shape({ branching: whole, height: whole, sizes: list(whole), widths: list(whole) }),
    estimators: list(shape({ name: text, label: text, about: text })),
    view: shape({
        first: whole,
        last: whole,
        width: whole,
        edges: list(number),
        values: list(number),
        truth: maybe(list(number)),
        one: readBar,
        all: readBar,
        together: whole,
        ticks: list(shape({ at: number, label: text })),
    }),
    range: readReading,
    curve: shape({ lengths: list(number), places: whole, errors: table(shape({ one: list(number), all: list(number) })) }),
    stops: list(whole),
    between: list(readReading),
});

/** Where a step begins, how long it is, and its value. */
const readStep: Reader<{ start: number; length: number; value: string }> = (value, where) => {
    if (!Array.isArray(value) || value.length !== 3) wrong(where, "a step");
    return { start: number(value[0], where), length: number(value[1], where), value: exact(value[2], where) };
};
const steps = list(readStep);

const readIsotonicPoint = shape({
    at,
    distinct: whole,
    truth: steps,
    noisy: list(list(number)),
    /** The noise of the same stretches. */
    noise: list(list(number)),
    every: number,
    fitted: steps,
    multiscale: shape({ low: steps, high: steps, crossed: flag }),
    one: whole,
    all: whole,
    falls: list(number),
    errors: shape({ noisy: exact, rounded: exact, fitted: exact, expected: exact, bound: exact }),
});

const readIsotonicShape = shape({
    version,
    badge: text,
    beta: exact,
    axes: list(readAxis),
    now: readIsotonicPoint,
    fans: table(list(maybe(readIsotonicPoint))),
});

export type SamplerPoint = Read<typeof readSamplerPoint>;
export type SamplerSheet = Read<typeof readSamplerShape>;
export type ComparisonPoint = Read<typeof readComparisonPoint>;
export type ComparisonSheet = Read<typeof readComparisonShape>;
export type TopKPoint = Read<typeof readTopKPoint>;
export type TopKSheet = Read<typeof readTopKShape>;
export type CompositionPoint = Read<typeof readCompositionPoint>;
export type CompositionSheet = Read<typeof readCompositionShape>;
export type ConsistencyPoint = Read<typeof readConsistencyPoint>;
export type ConsistencySheet = Read<typeof readConsistencyShape>;
export type RangeReading = Read<typeof readReading>;
export type RangeSheet = Read<typeof readRangeShape>;
export type IsotonicPoint = Read<typeof readIsotonicPoint>;
export type IsotonicSheet = Read<typeof readIsotonicShape>;
export type Row = ComparisonPoint["rows"][number];

export const readSampler = (value: unknown): SamplerSheet =>
    checked<SamplerPoint, SamplerSheet>(readSamplerShape(decode(value), "sheet"));

export const readComparison = (value: unknown): ComparisonSheet => {
    const sheet = checked<ComparisonPoint, ComparisonSheet>(readComparisonShape(decode(value), "sheet"));
    for (const rows of sheet.draws?.outcomes.values() ?? []) if (rows.length !== sheet.now.rows.length) wrong("sheet.draws", "of its mechanisms");
    return sheet;
};

export const readTopK = (value: unknown): TopKSheet => {
    const sheet = checked<TopKPoint, TopKSheet>(readTopKShape(decode(value), "sheet"));
    for (const point of pointsOf(sheet)) {
        const { open, distance } = point;
        for (const { above } of distance) sameLength("distance", above, sheet.kbar);
        if (open === null) continue;
        sameLength("simulated", open.simulated, open.chance);
        if (open.draws.length % DRAWS !== 0 || !/^[0-9a-zA-Z*.]*$/.test(open.draws)) wrong("sheet.draws", "as many places of each list");
        for (const line of open.trade) for (const values of [line.threshold, line.items]) sameLength("trade", values, sheet.kbar);
        const ranked = sheet.tables.get(point.at.get("max_bins") ?? "") ?? wrong("sheet.tables", "one of every limit");
        if (ranked.counts.length !== ranked.labels.length || Number(open.first) + open.chance.length > ranked.labels.length) wrong("sheet.tables", "as long as its labels");
    }
    return sheet;
};

export const readComposition = (value: unknown): CompositionSheet => {
    const sheet = checked<CompositionPoint, CompositionSheet>(readCompositionShape(decode(value), "sheet"));
    const counts = sheet.axes.find(({ name }) => name === "k")?.grid ?? wrong("sheet.axes", "in possession of k");
    for (const point of pointsOf(sheet)) {
        for (const values of [point.laplace, point.equal, ...point.rules.map((rule) => rule.epsilon)]) sameLength("rules", values, counts);
        if (point.rules.some(({ name }, i) => name !== sheet.rules[i]?.name)) wrong("sheet.rules", "in one order");
    }
    for (const curve of sheet.figure.curves) for (const values of [curve.bounded, curve.zcdp]) sameLength("figure", values, sheet.figure.k);
    return sheet;
};

export const readConsistency = (value: unknown): ConsistencySheet => {
    const sheet = checked<ConsistencyPoint, ConsistencySheet>(readConsistencyShape(decode(value), "sheet"));
    const seeds = sheet.axes.find(({ name }) => name === "seed")?.grid ?? wrong("sheet.axes", "in possession of seed");
    const most = Number(sheet.most);
    const trees = sheet.branchings.map((k) => treeOf(Number(k), most));
    for (const point of pointsOf(sheet)) {
        for (const { height, nodes } of trees) {
            for (const sensitivity of new Set(["1", ...Array.from({ length: height }, (_, i) => String(i + 1))])) {
                if (!point.within.has(sensitivity)) wrong("sheet.within", "for every sensitivity");
                for (const seed of seeds) if ((point.noise.get(sensitivity)?.get(seed)?.length ?? 0) < nodes) wrong("sheet.noise", "for every node");
            }
        }
    }
    for (const { counts } of sheet.presets) if (counts.length < 1 || counts.length > most) wrong("sheet.presets", "of counts that can be edited");
    if (!sheet.presets.some(({ name }) => name === sheet.start.preset) || !sheet.branchings.includes(sheet.start.branching)) wrong("sheet.start", "among what can be chosen");
    return sheet;
};

export const readIsotonic = (value: unknown): IsotonicSheet => {
    const sheet = checked<IsotonicPoint, IsotonicSheet>(readIsotonicShape(decode(value), "sheet"));
    for (const point of pointsOf(sheet)) {
        const size = Number(point.at.get("n"));
        for (const parts of [point.truth, point.fitted, point.multiscale.low, point.multiscale.high]) {
            let next = 0;
            for (const { start, length } of parts) next = start === next && length >= 1 ? start + length : NaN;
            if (next !== size) wrong("sheet.steps", "steps from the first position to the last");
        }
        for (const pairs of [point.noisy, point.noise]) {
            if (point.every < 1 || pairs.length !== Math.ceil(size / point.every) || pairs.some((pair) => pair.length !== 2)) wrong("sheet.noisy", "a pair for each stretch");
        }
    }
    return sheet;
};

/** A range lies in the domain and says the same of every estimator of its sheet. */
function checkReading(reading: RangeReading, names: readonly string[], bins: number): RangeReading {
    const [low, high] = [Number(reading.low), Number(reading.high)];
    if (!(low <= high && high < bins) || reading.labels.length !== 2) wrong("reading", "a range of this domain");
    if (names.some((name) => !reading.rows.has(name))) wrong("reading.rows", "one of every estimator");
    if (reading.nodes.some((node) => node.length !== 5)) wrong("reading.nodes", "runs of nodes");
    return reading;
}

/** Ranges as a kernel read them for this sheet. */
export const readReadings = (value: unknown, sheet: RangeSheet): RangeReading[] =>
    list(readReading)(value, "readings").map((reading) => checkReading(reading, sheet.estimators.map(({ name }) => name), Number(sheet.bins)));

export const readRange = (value: unknown): RangeSheet => {
    const sheet = readRangeShape(decode(value), "sheet");
    const { view, curve, estimators, stops, tree } = sheet;
    const [bins, names] = [Number(sheet.bins), estimators.map(({ name }) => name)];
    for (const reading of [sheet.range, ...sheet.between]) checkReading(reading, names, bins);
    if (names.length === 0 || tree.sizes.length !== Number(tree.height) || tree.widths.length !== tree.sizes.length) wrong("sheet.tree", "a tree of its height");
    if (view.edges.length !== view.values.length + 1 || (view.truth !== null && view.truth.length !== view.values.length)) wrong("sheet.view", "one value per stretch");
    if (view.edges.some((edge, i) => edge < 0 || edge > bins || (i > 0 && edge <= view.edges[i - 1]!))) wrong("sheet.view.edges", "ascending");
    for (const name of names) {
        const widths = curve.errors.get(name) ?? wrong("sheet.curve", "one of every estimator");
        for (const values of [widths.one, widths.all]) sameLength("curve", values, curve.lengths);
    }
    if (stops.length < 2 || stops.some((stop, i) => i > 0 && Number(stop) <= Number(stops[i - 1]!)) || Number(stops.at(-1)!) > bins) wrong("sheet.stops", "ascending");
    if (sheet.between.length !== (stops.length * (stops.length - 1)) / 2) wrong("sheet.between", "one range for each pair of stops");
    return sheet;
};

function sameLength(where: string, values: readonly unknown[], others: readonly unknown[]): void {
    if (values.length !== others.length) wrong(`sheet.${where}`, "one value per place");
}
