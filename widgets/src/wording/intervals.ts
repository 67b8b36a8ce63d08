/** A released value with its two bars, cut where the domain ends: exact for words, approximate for marks. */

import { add, compare, exactly, format, subtract, type Fraction } from "../numbers/exact";

export interface Clamp {
    low: Fraction | null;
    high: Fraction | null;
}

export interface Interval {
    low: Fraction;
    high: Fraction;
    /** The interval ends at the domain's edge, not at the bar's: no cap is drawn there. */
    lowCut: boolean;
    highCut: boolean;
}

/** The ends of the domain, as an answer writes them. */
export function clampOf({ clamp: { low, high } }: { clamp: { low: string | null; high: string | null } }): Clamp {
    return { low: low === null ? null : exactly(low), high: high === null ? null : exactly(high) };
}

export function interval(value: Fraction, bar: Fraction, clamp: Clamp): Interval {
    const [low, high] = [subtract(value, bar), add(value, bar)];
    const lowCut = clamp.low !== null && compare(low, clamp.low) < 0;
    const highCut = clamp.high !== null && compare(high, clamp.high) > 0;
    return { low: lowCut ? clamp.low! : low, high: highCut ? clamp.high! : high, lowCut, highCut };
}

/** Stands beside an interval that holds for what was counted, and not for all that was asked. */
export const WITHIN = "counted within the limits";

/** Under a picture with such intervals. */
export const ARROWS = "An arrow marks an end that is open for what was asked.";

type Limits = { low: boolean; high: boolean } | null | undefined;

/** An interval of a counted number in words; where a limit may leave rows out, first the ends that hold for what was asked. */
export function within(low: string, high: string, limits: Limits): string {
    const counted = `${low} to ${high}`;
    if (limits === null || limits === undefined) return counted;
    const asked = limits.low ? `at least ${low}` : limits.high ? `at most ${high}` : "open at both ends";
    return `${asked}; ${counted} ${WITHIN}`;
}

/** An end for what was asked of each row; null where one is open. */
export interface AskedEnds {
    low: readonly (string | null)[];
    high: readonly (string | null)[];
}

/** The interval of a row for what was asked, in words. */
export function askedText(asked: AskedEnds, row: number, told: (end: string, side: -1 | 1) => string): string {
    const [least, most] = [asked.low[row] ?? null, asked.high[row] ?? null];
    if (least === null) return most === null ? "any number" : `at most ${told(most, 1)}`;
    return most === null ? `at least ${told(least, -1)}` : `${told(least, -1)} to ${told(most, 1)}`;
}

/** An interval for what was asked, by a profile, beside that of the counted number. */
export const closed = (low: string, high: string, asked: AskedEnds, row: number, told: (end: string, side: -1 | 1) => string): string =>
    `${askedText(asked, row, told)} asked for; ${low} to ${high} ${WITHIN}`;

/** The columns of a file that hold the ends of intervals, as `to_csv` calls them. */
export function endColumns(limits: Limits, ending: string): string[] {
    const open = limits ?? { low: true, high: true };
    const counted = [...(open.low ? [] : [`low${ending}_counted`]), ...(open.high ? [] : [`high${ending}_counted`])];
    return [`low${ending}`, `high${ending}`, ...counted];
}

/** The cells under them; an open end is empty. */
export function endCells(limits: Limits, low: string, high: string): string[] {
    const open = limits ?? { low: true, high: true };
    return [open.low ? low : "", open.high ? high : "", ...(open.low ? [] : [low]), ...(open.high ? [] : [high])];
}

export const ends = ({ low, high }: Interval): { low: string; high: string } => ({
    low: format(low),
    high: format(high),
});
