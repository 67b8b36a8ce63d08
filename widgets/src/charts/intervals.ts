/** A released value with its two bars, cut where the domain ends: exact for words, approximate for marks. */

import { add, compare, exactly, format, subtract, type Fraction } from "../exact";
import type { Counted } from "../counted";

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

export function clampOf(result: Pick<Counted, "clamp">): Clamp {
    const { low, high } = result.clamp;
    return { low: low === null ? null : exactly(low), high: high === null ? null : exactly(high) };
}

export function interval(value: Fraction, bar: Fraction, clamp: Clamp): Interval {
    const [low, high] = [subtract(value, bar), add(value, bar)];
    const lowCut = clamp.low !== null && compare(low, clamp.low) < 0;
    const highCut = clamp.high !== null && compare(high, clamp.high) > 0;
    return { low: lowCut ? clamp.low! : low, high: highCut ? clamp.high! : high, lowCut, highCut };
}

export const ends = ({ low, high }: Interval): { low: string; high: string } => ({
    low: format(low),
    high: format(high),
});
