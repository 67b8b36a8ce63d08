/**
 * Stands for d3-interpolate in what is built: d3-scale interpolates numbers here, and brings the rest along, colours and
 * dates, for nothing.
 */

export type Between = (t: number) => number;

export function interpolateNumber(low: number, high: number): Between {
    return (t) => low * (1 - t) + high * t;
}

export function interpolateRound(low: number, high: number): Between {
    const between = interpolateNumber(low, high);
    return (t) => Math.round(between(t));
}

export const interpolate = interpolateNumber;

/** Through these numbers, at equal distances; d3-scale names it, and nothing here calls it. */
export function piecewise(between: (low: number, high: number) => Between, through: readonly number[]): Between {
    const last = through.length - 2;
    const pieces = through.slice(1).map((high, at) => between(through[at]!, high));
    return (t) => {
        const at = Math.max(0, Math.min(last, Math.floor(t * (last + 1))));
        return pieces[at]!(t * (last + 1) - at);
    };
}
