/** The sheets of the explorers of private sampling, as types and as checks. */

import { decode, version } from "./protocol";
import { exact, flag, list, maybe, oneOf, shape, table, text, whole, wrong, type Read } from "./readers";
import { at, checked, number, pointsOf, readAxis } from "./sheet_parts";

/** "shape": nobody knows a constant, so it is drawn with the constant 1. */
const how = oneOf("exact", "bound", "shape");
const series = oneOf("1", "2", "3", "4", "5", "6");

/** One way: its colour and sign, what is known, and one number for each value of its axis; null where there is none. */
const readWay = shape({ name: text, label: text, series, how, values: maybe(list(maybe(number))) });

/** Three labels, of which nobody has the last: noisy counts, and the chances that are made of them. */
const readProjections = shape({
    shares: list(number),
    draws: list(
        shape({
            noisy: list(number),
            scaled: list(number),
            moved: list(number),
            /** The corners of all chances that are nearest in L1. */
            closest: list(list(number)),
        }),
    ),
    /** The chance of each label over all noise. */
    scaled: list(number),
    moved: list(number),
    how: oneOf("exact", "numerical"),
});

const readSamplingPoint = shape({
    at,
    learn: list(readWay),
    crossing: maybe(number),
    hard: list(readWay),
    draws: list(readWay),
    amplified: list(number),
    projections: readProjections,
});

/** x, y and how often, in so many simulated runs; how the two go together, as measured and exactly. */
const readScatter = shape({ dots: list(list(number)), measured: number, off: number, exact: number });

/** Bits of a few rows, as texts of 0 and 1. */
const readRun = shape({
    people: list(number),
    looked: list(number),
    chances: list(number),
    /** null: too few were looked at, and what follows is empty. */
    special: maybe(number),
    label: number,
    rows: number,
    hits: list(text),
    bits: list(text),
    hit: list(number),
    ones: list(number),
    shares: list(number),
    row: list(number),
});

const readWalk = shape({
    names: list(text),
    special: number,
    truth: list(number),
    a: exact,
    epsilon: exact,
    delta: exact,
    /** By number of people and seed. */
    runs: list(list(readRun)),
    /** By number of people: how far each step is off, and the law of the label. */
    off: list(shape({ missed: number, bits: number, map: number, label: number, law: list(number) })),
});

const readSamplingShape = shape({
    version,
    delta: exact,
    axes: list(readAxis),
    now: readSamplingPoint,
    fans: table(list(maybe(readSamplingPoint))),
    alphas: list(number),
    biases: list(number),
    draws: list(number),
    shares: list(number),
    bits: list(number),
    clip: shape({
        prices: list(exact),
        paper: list(exact),
        errors: list(list(number)),
        bound: list(number),
        first: list(shape({ alpha: exact, exact: whole, paper: whole })),
    }),
    trap: list(shape({ q: exact, chances: list(exact), ratio: exact, claimed: exact })),
    few: shape({ exact: list(number), bound: list(number) }),
    counts: shape({ records: number, bins: number, runs: number, fixed: readScatter, free: readScatter }),
    /** The part that takes long, and comes after the rest. */
    walk: maybe(readWalk),
});

const readRound = shape({
    level: number,
    /** Whether its means are those that a record is drawn with; else they decide who goes on. */
    keeps: flag,
    size: number,
    sd: number,
    /** Rows with more ones than this are cut. */
    cut: number,
    threshold: maybe(number),
    places: list(number),
    means: list(number),
});

const readProductPoint = shape({
    at,
    chunk: number,
    left_over: number,
    price: exact,
    naive: number,
    rounds: list(readRound),
    flipped: list(number),
    biases: list(number),
    kept: list(number),
    record: list(number),
    off: list(shape({ level: number, columns: number, here: number, naive: number })),
});

const readProductShape = shape({
    version,
    badge: text,
    columns: number,
    /** How many rounds there are; one level more holds what no round kept. */
    levels: number,
    alpha: exact,
    theory: table(number),
    axes: list(readAxis),
    now: readProductPoint,
    fans: table(list(maybe(readProductPoint))),
    noises: shape({ columns: list(number), repaired: list(number), tight: list(number), repaired_crossing: maybe(number), tight_crossing: maybe(number) }),
});

export type ProductPoint = Read<typeof readProductPoint>;
export type ProductSheet = Read<typeof readProductShape>;
export type Way = Read<typeof readWay>;
export type Projections = Read<typeof readProjections>;
export type Counts = SamplingSheet["counts"];
export type Walk = Read<typeof readWalk>;
export type Run = Read<typeof readRun>;
export type SamplingPoint = Read<typeof readSamplingPoint>;
export type SamplingSheet = Read<typeof readSamplingShape>;

export const readSampling = (value: unknown): SamplingSheet => {
    const sheet = checked<SamplingPoint, SamplingSheet>(readSamplingShape(decode(value), "sheet"));
    const { alphas, biases, draws, shares, bits, clip } = sheet;
    const long = (name: string): number => sheet.axes.find((axis) => axis.name === name)?.grid.length ?? wrong("sheet.axes", `in possession of ${name}`);
    for (const [name, axis] of Object.entries({ alphas, biases, draws, shares, bits })) {
        if (axis.length < 2 || axis.some((x, i) => i > 0 && x <= axis[i - 1]!)) wrong(`sheet.${name}`, "ascending");
    }
    for (const point of pointsOf(sheet)) {
        for (const [ways, axis] of [[point.learn, alphas], [point.hard, biases], [point.draws, draws]] as const) {
            for (const { values } of ways) if (values !== null && values.length !== axis.length) wrong("sheet.values", "one for each value of their axis");
        }
        if (point.amplified.length !== shares.length) wrong("sheet.amplified", "one for each share");
        checkProjections(point.projections, long("seed"));
    }
    for (const { dots } of [sheet.counts.fixed, sheet.counts.free]) if (dots.some((dot) => dot.length !== 3)) wrong("sheet.counts", "two counts, and how often");
    if (sheet.walk !== null) checkWalk(sheet.walk, long("crowd"), long("seed"));
    if (clip.prices.length !== clip.paper.length || clip.prices.length === 0) wrong("sheet.clip.prices", "one for each number of records");
    if (clip.errors.length !== biases.length || clip.errors.some((row) => row.length !== bits.length) || clip.bound.length !== bits.length) wrong("sheet.clip.errors", "one for each bias and number of records");
    if (sheet.trap.length !== shares.length || sheet.trap.some(({ chances }) => chances.length !== 2)) wrong("sheet.trap", "one for each share");
    if (sheet.few.exact.length !== sheet.few.bound.length) wrong("sheet.few", "as many bounds as chances");
    return sheet;
};

function checkProjections({ shares, draws, scaled, moved }: Projections, seeds: number): void {
    const triples = [shares, scaled, moved, ...draws.flatMap((one) => [one.noisy, one.scaled, one.moved, ...one.closest])];
    if (draws.length !== seeds || triples.some((one) => one.length !== 3)) wrong("sheet.projections", "three labels for each seed");
}

function checkWalk({ names, special, truth, runs, off }: Walk, crowds: number, seeds: number): void {
    const label = (place: number): boolean => Number.isInteger(place) && place >= 0 && place < names.length;
    if (runs.length !== crowds || off.length !== crowds || runs.some((row) => row.length !== seeds)) wrong("sheet.walk.runs", "one for each number of people and seed");
    if (!label(special) || [truth, ...off.map(({ law }) => law)].some((one) => one.length !== names.length)) wrong("sheet.walk", "one chance for each label");
    for (const run of runs.flat()) {
        const columns = run.special === null ? 0 : names.length - 1;
        const rows = [...run.hits, ...run.bits];
        if (!label(run.label) || (run.special !== null && !label(run.special))) wrong("sheet.walk.label", "a label");
        if ([run.people, run.looked, run.chances].some((one) => one.length !== names.length)) wrong("sheet.walk.people", "one for each label");
        if ([run.hit, run.ones, run.shares, run.row].some((one) => one.length !== columns)) wrong("sheet.walk.row", "one for each column");
        if (run.hits.length !== run.bits.length || rows.some((row) => row.length !== columns || !/^[01]*$/.test(row))) wrong("sheet.walk.bits", "rows of bits");
    }
}

export const readProduct = (value: unknown): ProductSheet => {
    const sheet = checked<ProductPoint, ProductSheet>(readProductShape(decode(value), "sheet"));
    const { columns, levels, noises } = sheet;
    const places = (list_: readonly number[]): boolean => list_.every((place) => Number.isInteger(place) && place >= 0 && place < columns);
    if (!Number.isInteger(columns) || !Number.isInteger(levels) || levels < 0) wrong("sheet.columns", "whole numbers");
    for (const { biases, kept, record, rounds, flipped } of pointsOf(sheet)) {
        for (const each of [biases, kept, record]) if (each.length !== columns) wrong("sheet.biases", "one for each column");
        if (!places(flipped)) wrong("sheet.flipped", "columns");
        for (const one of rounds) {
            if (one.places.length !== one.size || one.means.length !== one.size || !places(one.places)) wrong("sheet.rounds", "a mean for each column of a round");
            if (one.level < 1 || one.level > levels + 1) wrong("sheet.rounds.level", "a round");
        }
    }
    for (const each of [noises.repaired, noises.tight]) if (each.length !== noises.columns.length || each.length < 2) wrong("sheet.noises", "one for each number of columns");
    return sheet;
};
