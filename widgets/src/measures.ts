/**
 * The two errors a plan is about. Where every bin has a value: how far off any one is, and all at once. Where the answer
 * names items: how far above the next count an item has to lie to be listed, and how far the listed ones may lie below
 * the last rank.
 */

import type { Bar, Point, Sheet } from "./protocol";
import { allTip, often, oneTip, ordinal, shown, spread } from "./words";

export type Which = "one" | "all" | "listed" | "rank";

export const isList = (sheet: Sheet): boolean => (sheet.places ?? "") !== "";

export function measures(sheet: Sheet): readonly [Which, Which] {
    if (!isList(sheet)) return ["one", "all"];
    const errors = sheet.now.errors.get(sheet.beta)!;
    const known = (["listed", "rank", "one", "all"] as const).filter((which) => errors[which] !== null);
    return [known[0] ?? "listed", known[1] ?? "rank"];
}

export const barOf = (point: Point, beta: string, which: Which): Bar | null => point.errors.get(beta)![which];

/** The first count past the rows that are read: its place is public, its value is not. */
export function nextCount(sheet: Sheet): string {
    const rows = sheet.mechanism.parameters.get("kbar") ?? sheet.places ?? "";
    return /^\d{1,15}$/.test(rows) ? `the ${ordinal(BigInt(rows) + 1n)} count` : "the next count";
}

const lastCount = (sheet: Sheet): string => `the ${ordinal(BigInt(sheet.places || "1"))} count`;

export function nameOf(sheet: Sheet | null, which: Which): string {
    const list = sheet !== null && isList(sheet);
    switch (which) {
        case "one":
            return list ? "Value of any one item" : "Any one bin";
        case "all":
            if (list) return "All values at once";
            return `All ${sheet === null || sheet.question.bins === "" ? "bins" : shown(sheet.question.bins)} at once`;
        case "listed":
            return "To be listed";
        case "rank":
            return "Listed at worst";
    }
}

/** The sign before a read-out: above the next count, below the last rank, or either way. */
export const signOf = (which: Which, bar: Bar | null): string =>
    which === "listed" ? "+" : which === "rank" ? "\u2212" : bar?.kind === "bound" ? "≤ " : "±";

/** An error with its sign, as it stands in words. */
export const said = (which: Which, bar: Bar): string =>
    which === "listed" || which === "rank" ? `${signOf(which, bar)}${shown(bar.value)}` : spread(bar);

/** What a read-out is measured from; nothing where it is either way of the truth. */
export const from = (sheet: Sheet, which: Which): string =>
    which === "listed" ? `above ${nextCount(sheet)}` : which === "rank" ? `below ${lastCount(sheet)}` : "";

export function tipOf(sheet: Sheet, which: Which, beta: string, bar: Bar): string {
    const times = often(beta).replace(" in ", " times in ");
    switch (which) {
        case "one":
            return oneTip(beta, bar);
        case "all":
            return allTip(beta, bar, sheet.question.bins);
        case "listed":
            return `An item ${shown(bar.value)} above ${nextCount(sheet)} comes before ⊥ at least ${times}.`;
        case "rank":
            return `At least ${times} no listed item lies more than ${shown(bar.value)} below ${lastCount(sheet)}.`;
    }
}

/** Both errors in one phrase, for the sentence that is spoken and for the empty result. */
export function phrase(sheet: Sheet, point: Point, beta: string): string {
    const parts = measures(sheet).map((which) => {
        const bar = barOf(point, beta, which);
        if (bar === null) return null;
        const value = shown(bar.value);
        switch (which) {
            case "one":
                return `${isList(sheet) ? "the value of any one item" : "any one bin"} within ${value}`;
            case "all":
                return `all ${isList(sheet) ? "values" : shown(sheet.question.bins)} within ${value}`;
            case "listed":
                return `an item ${value} above ${nextCount(sheet)} is listed`;
            case "rank":
                return `none listed is more than ${value} below ${lastCount(sheet)}`;
        }
    });
    return parts.filter((part) => part !== null).join(", ");
}
