/** The sheets of the explorers, as types and as checks: nothing that comes in is believed before it is read here. */

import {
    decode,
    exact,
    list,
    maybe,
    oneOf,
    readBar,
    shape,
    share,
    table,
    text,
    version,
    whole,
    wrong,
    type Read,
    type Reader,
} from "./protocol";

const flag: Reader<boolean> = (value, where) => (typeof value === "boolean" ? value : wrong(where, "true or false"));

const number: Reader<number> = (value, where) =>
    typeof value === "number" && Number.isFinite(value) ? value : wrong(where, "a number");

const readAxis = shape({ name: text, label: text, hint: text, grid: list(text), values: list(text) });

export type Axis = Read<typeof readAxis>;

export interface Point {
    readonly at: ReadonlyMap<string, string>;
}

/** One fan per slider through the current point; an axis without a fan is chosen within a point. */
export interface Sheet<P extends Point> {
    readonly axes: readonly Axis[];
    readonly now: P;
    readonly fans: ReadonlyMap<string, readonly P[]>;
}

const at = table(text);

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
    fans: table(list(readSamplerPoint)),
    staircase: shape({ epsilon: list(number), paper: list(number), tight: list(number) }),
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
    one: maybe(readBar),
    all: maybe(readBar),
    curve: maybe(shape({ values: list(exact), kind: oneOf("exact", "bound", "simulated") })),
    floor: maybe(shape({ one: exact, all: text, rule: text })),
    chance: maybe(list(share)),
});

const readComparisonPoint = shape({ at, rows: list(readRow) });

const readComparisonShape = shape({
    version,
    question: shape({ column: text, nouns: text, size: text, bins_text: text, sentence: text }),
    unit: shape({ text: text }),
    axes: list(readAxis),
    now: readComparisonPoint,
    fans: table(list(readComparisonPoint)),
});

export type SamplerPoint = Read<typeof readSamplerPoint>;
export type SamplerSheet = Read<typeof readSamplerShape>;
export type ComparisonPoint = Read<typeof readComparisonPoint>;
export type ComparisonSheet = Read<typeof readComparisonShape>;
export type Row = ComparisonPoint["rows"][number];

/** Each fan has one point per grid value of its axis, at that value. */
function checked<P extends Point, S extends Sheet<P>>(sheet: S): S {
    for (const axis of sheet.axes) {
        if (axis.grid.length === 0 || axis.grid.length !== axis.values.length) wrong(`sheet.axes.${axis.name}`, "a grid");
        if (!sheet.now.at.has(axis.name)) wrong("sheet.now.at", `in possession of ${axis.name}`);
    }
    for (const [name, points] of sheet.fans) {
        const axis = sheet.axes.find((one) => one.name === name) ?? wrong("sheet.fans", "of its axes");
        if (points.length !== axis.grid.length) wrong(`sheet.fans.${name}`, "one point per grid value");
        points.forEach((point, i) => {
            if (point.at.get(name) !== axis.grid[i]) wrong(`sheet.fans.${name}[${i}]`, "the point of its grid value");
        });
    }
    return sheet;
}

export const readSampler = (value: unknown): SamplerSheet =>
    checked<SamplerPoint, SamplerSheet>(readSamplerShape(decode(value), "sheet"));

export const readComparison = (value: unknown): ComparisonSheet =>
    checked<ComparisonPoint, ComparisonSheet>(readComparisonShape(decode(value), "sheet"));
