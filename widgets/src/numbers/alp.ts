/**
 * ALP on a small table: values in unary, scattered by hashing, flipped, read off and climbed.
 *
 * The same as `dpviz/noise/alp.py` and `dpviz/fitting/unary.py`, against which it is tested; teaching data only.
 */

const SCALE = 65_536;
/** Two logarithms of likelihoods that differ by less are the same number, rounded in two ways. */
const NEAR = 1e-9;

export interface Cell {
    /** The keys that set this bit. */
    setBy: number[];
    flipped: boolean;
    /** The bit as it is stored. */
    bit: 0 | 1;
}

/** Random numbers of one seed: hash values for each key and column, and numbers for each column and bit. */
interface Draw {
    hash: readonly (readonly number[])[];
    random: readonly (readonly number[])[];
}

export interface Setting {
    values: readonly number[];
    columns: number;
    bits: number;
    /** The chance that a bit is flipped. */
    p: number;
    draw: Draw;
    /** Where the flips are given instead: by column, counted from 1, of the bits of the first key. */
    flips: readonly number[] | null;
}

/** Where a key lies in a column, both counted from 0. */
export const placeOf = ({ draw, bits }: Pick<Setting, "draw" | "bits">, key: number, column: number): number =>
    Math.floor((draw.hash[key]![column]! * bits) / SCALE);

/** The table, column by column. */
export function tableOf(setting: Setting): Cell[][] {
    const { values, columns, bits, p, draw, flips } = setting;
    return Array.from({ length: columns }, (_, column) => {
        const own = placeOf(setting, 0, column);
        return Array.from({ length: bits }, (_, place): Cell => {
            const setBy = values.flatMap((value, key) => (value > column && placeOf(setting, key, column) === place ? [key] : []));
            const flipped = flips === null ? draw.random[column]![place]! < p * SCALE : place === own && flips.includes(column + 1);
            return { setBy, flipped, bit: setBy.length > 0 !== flipped ? 1 : 0 };
        });
    });
}

/** The bits of one key, one from each column. */
export const rowOf = (setting: Setting, cells: readonly (readonly Cell[])[], key: number): Cell[] =>
    cells.map((column, i) => column[placeOf(setting, key, i)]!);

/** The prefix sums of ones less zeros, from 0 on. */
export function walkOf(bits: readonly number[]): number[] {
    const sums = [0];
    for (const bit of bits) sums.push(sums.at(-1)! + 2 * bit - 1);
    return sums;
}

/** All places where a list is largest. */
export function peaksOf(heights: readonly number[], near = 0): number[] {
    const top = Math.max(...heights);
    return heights.flatMap((height, place) => (height >= top - near ? [place] : []));
}

/**
 * The logarithm of the likelihood of each value, but for one constant. In so many columns, the first, other keys clear
 * bits instead of setting them: there it is a one that they turn into a zero.
 */
export function logarithmsOf(bits: readonly number[], p: number, raised: number, cleared = 0): number[] {
    const [one, zero] = [Math.log((1 - p) / raised), Math.log(p / (1 - raised))];
    const sums = [0];
    for (const [column, bit] of bits.entries()) {
        const [up, down] = column < cleared ? [-zero, -one] : [one, zero];
        sums.push(sums.at(-1)! + (bit === 1 ? up : down));
    }
    return sums;
}

export interface Estimate {
    /** The values that are climbed: the prefix sums, or logarithms of likelihoods. */
    heights: number[];
    peaks: number[];
    /** The estimate, as a sum of places and their number. */
    total: number;
    count: number;
}

/** Estimate the value of a row of bits by one of three estimators. With no flips only the bits themselves count. */
export function estimateOf(bits: readonly number[], estimator: string, p: number, raised: number, cleared = 0): Estimate {
    const paper = estimator === "paper" || p === 0;
    const heights = paper ? walkOf(bits) : logarithmsOf(bits, p, raised, cleared);
    const peaks = peaksOf(heights, paper ? 0 : NEAR);
    if (paper || estimator === "likelihood") return { heights, peaks, total: peaks.reduce((a, b) => a + b, 0), count: peaks.length };
    const top = Math.max(...heights);
    const chances = heights.map((height) => Math.exp(height - top));
    const all = chances.reduce((a, b) => a + b, 0);
    let reached = 0;
    const median = chances.findIndex((chance) => (reached += chance) >= all * (0.5 - NEAR));
    return { heights, peaks: [median], total: median, count: 1 };
}
