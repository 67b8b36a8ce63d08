/**
 * The errors a plan is about, as the kernel lists them: each measure comes with its words, and the first two head the
 * plan. Nothing here knows which measures there are.
 */

import type { Bar, Measure, Point, Sheet } from "./protocol";
import { often, shown, spread } from "./words";

export const isList = (sheet: Sheet): boolean => (sheet.places ?? "") !== "";

/** The measures that head a plan: two, or one where the mechanism states no more. */
export const headline = (sheet: Sheet): readonly Measure[] => sheet.measures.slice(0, 2);

export const barOf = (point: Point, beta: string, measure: Measure): Bar | null =>
    point.errors.get(beta)!.get(measure.name) ?? null;

/** The label inside a sentence. */
export const words = (measure: Measure): string => measure.label.charAt(0).toLowerCase() + measure.label.slice(1);

/** The sign before a read-out: to one side, at most, or either way. */
export const signOf = (measure: Measure, bar: Bar | null): string =>
    measure.sign !== "" ? measure.sign : bar?.kind === "bound" ? "≤ " : "±";

/** An error with its sign, as it stands in words. */
export const signed = (measure: Measure, bar: Bar): string =>
    measure.sign !== "" ? `${measure.sign}${shown(bar.value)}` : spread(bar);

/** A text of a measure with its numbers. */
function filled(template: string, beta: string, bar: Bar): string {
    const numbers: Record<string, string> = {
        value: shown(bar.value),
        often: often(beta),
        times: often(beta).replace(" in ", " times in "),
    };
    return template.replace(/\{(value|often|times)\}/g, (_, name: string) => numbers[name]!);
}

export const tipOf = (measure: Measure, beta: string, bar: Bar): string => filled(measure.tip, beta, bar);

/** The headline in one phrase, for the sentence that is spoken, for charts, and for the empty result. */
export function phrase(sheet: Sheet, point: Point, beta: string): string {
    const parts = headline(sheet).map((measure) => {
        const bar = barOf(point, beta, measure);
        return bar === null ? null : filled(measure.phrase, beta, bar);
    });
    return parts.filter((part) => part !== null).join(", ");
}

/** What a release at this point would take, where that is worth a warning before it is paid. */
export const slowness = (point: Point | null): string =>
    point === null || !point.cost.slow ? "" : `This release would be slow: ${point.cost.text}.`;
