/**
 * The errors a plan is about, as the kernel lists them: each measure comes with its words, and the first two head the
 * plan. Nothing here knows which measures there are.
 */

import type { Bar, Measure, Point, Sheet } from "../protocol/protocol";
import { often, plusMinus, reach, spread } from "./words";

const HEADLINE = 2;

/** As much of an error as is shown in words. */
export type Size = Pick<Bar, "value" | "kind">;

export const isList = (sheet: Sheet): boolean => (sheet.places ?? "") !== "";

/** The measures that head a plan: two, or one where the mechanism states no more. */
export const headline = (sheet: Sheet): readonly Measure[] => sheet.measures.slice(0, HEADLINE);

export const barOf = (point: Point, beta: string, measure: Measure): Bar | null =>
    point.errors.get(beta)!.get(measure.name) ?? null;

/** The label inside a sentence. */
export const words = (measure: Measure): string => measure.label.charAt(0).toLowerCase() + measure.label.slice(1);

/** The sign before a read-out: to one side, at most, or either way. */
export const signOf = (measure: Measure, bar: Bar | null): string =>
    measure.sign !== "" ? measure.sign : plusMinus(bar?.kind);

/** An error with its sign, as it stands in words. */
export const signed = (measure: Measure, bar: Size): string =>
    measure.sign !== "" ? `${measure.sign}${reach(bar.value)}` : spread(bar);

/** A text of a measure with its numbers. */
function filled(template: string, beta: string, bar: Bar): string {
    const numbers: Record<string, string> = {
        value: reach(bar.value),
        often: often(beta),
        times: often(beta).replace(" in ", " times in "),
    };
    return template.replace(/\{(value|often|times)\}/g, (_, name: string) => numbers[name]!);
}

export const tipOf = (measure: Measure, beta: string, bar: Bar): string => filled(measure.tip, beta, bar);

/** The headline in one phrase, for the sentence that is spoken, for charts, and for the empty result. */
export const phrase = (sheet: Pick<Sheet, "measures">, point: Point, beta: string): string => said(sheet.measures, point.errors.get(beta)!, beta);

/** The headline of these measures in one phrase; empty where nothing is known. */
export function said(measures: readonly Measure[], errors: ReadonlyMap<string, Bar>, beta: string): string {
    const parts = measures.slice(0, HEADLINE).map((measure) => {
        const bar = errors.get(measure.name);
        return bar === undefined ? null : filled(measure.phrase, beta, bar);
    });
    return parts.filter((part) => part !== null).join(", ");
}

/** The time and space of a release at this point, where that is worth a warning before it is paid. */
export const slowness = (point: Point | null): string =>
    point === null || !point.cost.slow ? "" : `This would be slow: ${point.cost.text}.`;
