/** Released counts with the same error bar in every row: what is read of such an answer, and how it is put into words. */

import { clampOf, closed, ends, interval, within } from "./intervals";
import { numbers, texts, type Texts } from "../protocol/columns";
import { exactly } from "../numbers/exact";
import { readBar, type Result } from "../protocol/protocol";
import { exact, flag, list, maybe, oneOf, shape, table, text, whole, wrong, type Read } from "../protocol/readers";
import { labelText, shown, sure } from "./words";

const SCALE = oneOf("integers", "intervals", "times", "categories", "product", "keys");

/** One column of several: its name, and those of its bins. */
export const readFactor = shape({ name: text, labels: list(text), scale: SCALE });

const readCounts = shape({
    bins: maybe(whole),
    size: maybe(text),
    /** Of an answer that is one number: what it says, and what it counts. */
    sentence: maybe(text),
    counts: maybe(text),
    sparse: maybe(flag),
    lookup: maybe(flag),
    /** The estimators it may be read by, the default first. */
    readers: maybe(list(text)),
    scale: SCALE,
    /** The same of each column, where there are several. */
    scales: maybe(list(text)),
    /** The two columns of a product that is drawn as a map. */
    factors: maybe(list(readFactor)),
    labels: texts,
    short_labels: texts,
    values: numbers,
    list: maybe((_, where) => wrong(where, "left out where the answer is no list")),
    clamp: shape({ low: maybe(exact), high: maybe(exact) }),
    bars: table(shape({ one: readBar, all: maybe(readBar) })),
    /** The error of one bin 80 and 50 times in 100. */
    strips: maybe(list(exact)),
});

export type Counted = Result & Omit<Read<typeof readCounts>, "list">;

/** A result as counts, each with its label and all with one bar. */
export function counted(result: Result): Counted {
    const read = readCounts(result.content, "result");
    const counts = { ...result, ...read, nouns: read.counts ?? result.nouns };
    checkRows(counts);
    checkAsked(counts);
    const cells = counts.factors?.reduce((product, { labels }) => product * labels.length, 1);
    if (cells !== undefined && (counts.factors!.length !== 2 || cells !== counts.values.length)) wrong("result.factors", "two columns with a value for each cell");
    return counts;
}

type Rows = Record<"labels" | "short_labels" | "values", { readonly length: number }>;

/** Every value has its labels, and every level its bars. */
export function checkRows({ labels, short_labels, values, betas, bars }: Pick<Counted, "betas" | "bars"> & Rows): void {
    for (const part of [labels, short_labels]) {
        if (part.length !== values.length) wrong("result.labels", "one label per value");
    }
    for (const beta of betas) if (!bars.has(beta)) wrong("result.bars", `given at beta ${beta}`);
}

/** Every row has its own ends at every level, if a profile closes them. */
function checkAsked({ asked, betas, values }: Counted): void {
    for (const beta of asked === null ? [] : betas) {
        const { one, all } = asked!.ends.get(beta) ?? { one: null, all: null };
        const sides = [one?.low, one?.high, ...(all === null ? [] : [all.low, all.high])];
        if (sides.some((side) => side?.length !== values.length)) wrong("result.asked", `ends of every row at beta ${beta}`);
    }
}

const NOTHING_SHOWN = "No bin is shown. A bin that is not shown reads 0: every one may be empty, or small.";

/** How many bins the answer is about: a sparse one is about all of its domain, shown or not. */
export const among = (result: Counted): string =>
    result.sparse === true ? (result.size ?? "").replace(/ bins?$/, "") : shown(String(result.values.length));

type Barred = Pick<Counted, "bars" | "clamp"> & { values: Texts; limits: Result["limits"]; asked?: Result["asked"] };

export function bounds(result: Barred, beta: string, i: number): { one: string; all: string | null } {
    const bars = result.bars.get(beta)!;
    const clamp = clampOf(result);
    const asked = result.asked?.ends.get(beta);
    const between = (bar: string, name: "one" | "all"): string => {
        const { low, high } = ends(interval(exactly(result.values.at(i)), exactly(bar), clamp));
        const found = asked?.[name] ?? null;
        const [least, most] = [sure(low, bar, -1), sure(high, bar, 1)];
        return found === null ? within(least, most, result.limits) : closed(least, most, found, i, (end, side) => sure(end, bar, side));
    };
    return { one: between(bars.one.value, "one"), all: bars.all === null ? null : between(bars.all.value, "all") };
}

/** Whether there is one value only, so that nothing is said of all at once. */
export const alone = (result: Counted): boolean => result.sentence !== null || (result.sparse !== true && result.values.length === 1);

/** A teaching draw is never called a release. */
export const made = (result: Result): string => (result.teaching === null ? "released" : "drawn");

/** A value in the digits that its own interval supports. */
export const valueText = ({ values, bars }: Pick<Barred, "values" | "bars">, beta: string, i: number): string =>
    sure(values.at(i), bars.get(beta)!.one.value);

export function readOf(result: Counted, beta: string, i: number): { value: string; bars: string } {
    const { one, all } = bounds(result, beta, i);
    const name = result.labels.at(i);
    const which = result.scale === "integers" || result.scale === "intervals" ? `${labelText(result, name)} ${result.axis}` : labelText(result, name);
    const value = `${which}: ${valueText(result, beta, i)} ${made(result)}`;
    if (alone(result)) return { value, bars: one };
    return {
        value,
        bars: `this bin alone: ${one}` + (all === null ? "" : ` · among all ${among(result)}: ${all}`),
    };
}

/** The finding in one sentence, from released values and their bars alone. */
export function findingOf(result: Counted, beta: string): string {
    const { values } = result;
    if (result.sentence !== null) return result.sentence;
    if (values.length === 0) return result.sparse === true ? NOTHING_SHOWN : "No bins.";
    const top = values.top();
    const bar = result.bars.get(beta)!.all;
    const most = `Most ${result.nouns} at ${labelText(result, result.labels.at(top))}: ${valueText(result, beta, top)} ${made(result)}. `;
    const unseen = result.sparse === true ? " A bin that is not shown reads 0." : "";
    if (bar === null) return `${most}Read one bin at a time: no bar holds for all at once.${unseen}`;
    const apart = values.above(exactly(bar.value));
    if (alone(result)) return `${readOf(result, beta, 0).value}${apart === 1 ? ", clearly above 0" : ""}.`;
    const count = shown(String(values.length));
    const told =
        apart === values.length
            ? `all ${count} ${result.sparse === true ? "shown " : ""}bins are`
            : `${shown(String(apart))} of ${count} ${result.sparse === true ? "shown " : ""}${apart === 1 ? "is" : "are"}`;
    const asked = result.asked === null ? "" : ` Among all bins there: ${bounds(result, beta, top).all ?? ""}.`;
    return `${most}Looking at all bins at once, ${told} clearly above 0.${asked}${unseen}`;
}
