/** The sheets of the explorers of sparse releases, as types and as checks. */

import { decode, version } from "./protocol";
import { exact, flag, list, maybe, oneOf, shape, table, text, whole, wrong, type Read } from "./readers";
import { at, checked, number, pointsOf, readAxis } from "./sheet_parts";

const how = oneOf("exact", "bound", "simulated");
const readCurve = shape({ how, values: maybe(list(number)) });

/** One mechanism: its colour and sign, its error by true value in three ways, the bits that it stores for each non-zero entry, what a read touches. */
const readTraded = shape({
    name: text,
    label: text,
    series: oneOf("1", "2", "3", "4", "5", "6", "7", "8", "9"),
    read: text,
    /** The sliders that move it, as they are called. */
    moved_by: text,
    needs_delta: flag,
    bits: number,
    /** Values above it are cut off. */
    cap: maybe(whole),
    errors: shape({ mean: readCurve, one: readCurve, all: readCurve }),
    off: number,
});

const readTradeoffPoint = shape({
    at,
    xs: list(number),
    thresholds: shape({ alone: number, before: number, stability: number }),
    flip: exact,
    rows: list(readTraded),
});

const readTradeoffShape = shape({
    version,
    k: whole,
    /** The public number of rows, where a mechanism needs one. */
    n: maybe(whole),
    value_bits: whole,
    psi: exact,
    runs: whole,
    start: whole,
    /** The mechanisms that are told in the sentence about the probe, and the one of which s/k is traced. */
    told: list(text),
    traced: text,
    axes: list(readAxis),
    now: readTradeoffPoint,
    fans: table(list(maybe(readTradeoffPoint))),
});

const readDraw = shape({ hash: list(list(number)), random: list(list(number)) });
const readAnatomyPoint = shape({ at });

const readAnatomyShape = shape({
    version,
    badge: text,
    keys: list(text),
    most: shape({ columns: whole, bits: whole }),
    start: shape({ columns: whole, bits: whole, values: list(whole), estimator: text, figure: flag }),
    figure: shape({ values: list(whole), flipped: list(whole), bits: list(whole) }),
    estimators: list(text),
    axes: list(readAxis),
    now: readAnatomyPoint,
    fans: table(list(maybe(readAnatomyPoint))),
    seeds: table(readDraw),
});

export type Traded = Read<typeof readTraded>;
export type TradeoffPoint = Read<typeof readTradeoffPoint>;
export type TradeoffSheet = Read<typeof readTradeoffShape>;
export type AnatomyPoint = Read<typeof readAnatomyPoint>;
export type AnatomySheet = Read<typeof readAnatomyShape>;

export const readTradeoff = (value: unknown): TradeoffSheet => {
    const sheet = checked<TradeoffPoint, TradeoffSheet>(readTradeoffShape(decode(value), "sheet"));
    for (const { xs, rows } of pointsOf(sheet)) {
        if (xs.length < 2 || xs.some((x, i) => x < 0 || (i > 0 && x <= xs[i - 1]!))) wrong("sheet.xs", "ascending");
        if (new Set(rows.map(({ name }) => name)).size !== rows.length) wrong("sheet.rows", "of different mechanisms");
        for (const { bits, errors } of rows) {
            if (bits <= 0) wrong("sheet.rows.bits", "above 0");
            for (const { values } of Object.values(errors)) if (values !== null && values.length !== xs.length) wrong("sheet.errors", "one for each value");
        }
    }
    return sheet;
};

export const readAnatomy = (value: unknown): AnatomySheet => {
    const sheet = checked<AnatomyPoint, AnatomySheet>(readAnatomyShape(decode(value), "sheet"));
    const [columns, bits] = [Number(sheet.most.columns), Number(sheet.most.bits)];
    const seeds = sheet.axes.find(({ name }) => name === "seed")?.grid ?? wrong("sheet.axes", "in possession of seed");
    for (const seed of seeds) {
        const { hash, random } = sheet.seeds.get(seed) ?? wrong("sheet.seeds", "of every seed");
        if (hash.length !== sheet.keys.length || hash.some((row) => row.length !== columns)) wrong("sheet.seeds.hash", "one for each key and column");
        if (random.length !== columns || random.some((row) => row.length !== bits)) wrong("sheet.seeds.random", "one for each bit");
    }
    if (sheet.start.values.length !== sheet.keys.length) wrong("sheet.start", "a value for each key");
    return sheet;
};
