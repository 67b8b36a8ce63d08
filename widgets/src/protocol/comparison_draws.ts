/** Hypothetical outcomes of mechanisms side by side: what a few made-up or public counts would read, and their order. */

import { LETTERS } from "../numbers/letters";
import { exact, list, maybe, shape, table, text, whole, wrong, type Read } from "./readers";

/** The draws that are played; in each a bin is at one of as many equally likely levels. */
export const DRAWN = 50;
const MOST = 5;

/** The reading of a bin at each level, or in each draw; null where it is not shown. */
export type Reads = readonly (number | null)[];

const readShape = shape({ badge: text, names: list(text), counts: list(whole), luck: list(text), reads: table(list(maybe(list(text)))) });

export interface Draws {
    readonly badge: string;
    readonly names: readonly string[];
    readonly counts: readonly string[];
    /** By epsilon, mechanism and draw: what the bins read. */
    readonly outcomes: ReadonlyMap<string, readonly (readonly Reads[] | null)[]>;
}

/** The draws of a sheet; every level of a bin comes once. */
export function readDraws(value: unknown, where: string): Draws {
    const { badge, names, counts, luck, reads }: Read<typeof readShape> = readShape(value, where);
    const bins = counts.length;
    if (bins < 2 || bins > MOST || names.length !== bins || luck.length !== bins) wrong(where, "of two to five bins");
    const levels = luck.map((letters) => [...letters].map((letter) => LETTERS.indexOf(letter)));
    for (const order of levels) if ([...order].sort((a, b) => a - b).join() !== [...Array(DRAWN).keys()].join()) wrong(`${where}.luck`, "every level once");
    const sizes = counts.map(Number);
    const played = (texts: readonly string[]): Reads[] => {
        if (texts.length !== bins) wrong(`${where}.reads`, "one text for each bin");
        const tables = tablesOf(sizes, texts, where);
        return Array.from({ length: DRAWN }, (_, draw) => tables.map((values, bin) => values[levels[bin]![draw]!]!));
    };
    const outcomes = new Map([...reads].map(([epsilon, rows]) => [exact(epsilon, where), rows.map((texts) => (texts === null ? null : played(texts)))] as const));
    return { badge, names, counts, outcomes };
}

/**
 * The reading of each bin at each level: at how many it is not shown, the least that is shown, and the steps from one level
 * to the next. Without steps it reads what the last bin that has them reads, moved by the difference of their counts.
 */
export function tablesOf(counts: readonly number[], texts: readonly string[], where = "draws"): Reads[] {
    let errors: readonly number[] = [];
    return texts.map((written, bin) => {
        const [, hiddenText, leastText, steps] = /^(\d{1,2})(?: (-?\d{1,30})(?: ((?:[0-9a-zA-Z]|\(\d{1,30}\))*))?)?$/.exec(written) ?? wrong(where, "a table");
        const hidden = Number(hiddenText);
        const count = counts[bin]!;
        let shown: number[] = [];
        if (leastText !== undefined) {
            const least = Number(leastText);
            if (steps === undefined) shown = errors.slice(Math.max(0, errors.length - (DRAWN - hidden))).map((error) => Math.max(least, count + error));
            else {
                shown = [least];
                for (const [step] of steps.matchAll(/\(\d+\)|./g)) shown.push(shown.at(-1)! + (step.length > 1 ? Number(step.slice(1, -1)) : LETTERS.indexOf(step)));
                errors = shown.map((value) => value - count);
            }
        }
        if (hidden + shown.length !== DRAWN) wrong(where, "a value for each level");
        return [...Array.from({ length: hidden }, () => null), ...shown];
    });
}

/** The effect of one draw on the order of counts, the largest first. A bin that is not shown is below all that are. */
export interface Order {
    /** For each bin whether a smaller count reads more, or a larger one less. */
    moved: boolean[];
    /** Whether two bins of different counts read the same, or are both not shown. */
    tied: boolean;
    hidden: number;
}

export function orderOf(counts: readonly number[], reads: Reads): Order {
    const moved = counts.map(() => false);
    let tied = false;
    const values = reads.map((value) => value ?? -Infinity);
    for (let larger = 0; larger < counts.length; larger += 1)
        for (let smaller = larger + 1; smaller < counts.length; smaller += 1) {
            if (counts[larger] === counts[smaller]) continue;
            if (values[larger]! < values[smaller]!) moved[larger] = moved[smaller] = true;
            if (values[larger] === values[smaller]) tied = true;
        }
    return { moved, tied, hidden: reads.filter((value) => value === null).length };
}

/** Counted over all draws of a mechanism. */
export interface Tally {
    changed: number;
    /** Draws without a change in which two read the same. */
    tied: number;
    hidden: number;
}

export function tallyOf(counts: readonly number[], outcomes: readonly Reads[]): Tally {
    const orders = outcomes.map((reads) => orderOf(counts, reads));
    const changed = orders.filter(({ moved }) => moved.includes(true));
    return {
        changed: changed.length,
        tied: orders.filter(({ moved, tied }) => tied && !moved.includes(true)).length,
        hidden: orders.reduce((sum, { hidden }) => sum + hidden, 0),
    };
}
