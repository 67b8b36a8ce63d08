/** Exact fractions: what the page adds and compares here is, digit for digit, what the kernel would. */

export interface Fraction {
    readonly n: bigint;
    /** Always positive, with no factor in common with `n`. */
    readonly d: bigint;
}

export const ZERO: Fraction = { n: 0n, d: 1n };

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;
const RATIO = /^([+-]?\d+) *\/ *(\d+)$/;
/** The longest text that the kernel writes, and that a person types. */
const LONGEST = 4000;
const LONGEST_TYPED = 200;
/** A decimal has at most so many places; a number that needs more is written as a fraction. */
const MOST_PLACES = 30;

function gcd(a: bigint, b: bigint): bigint {
    let [x, y] = [a < 0n ? -a : a, b];
    while (y !== 0n) [x, y] = [y, x % y];
    return x;
}

export function fraction(n: bigint, d: bigint = 1n): Fraction {
    if (d === 0n) throw new RangeError("a fraction needs a denominator other than 0");
    const common = gcd(n, d < 0n ? -d : d) * (d < 0n ? -1n : 1n);
    return { n: n / common, d: d / common };
}

/** Read "0.1", "1/10", ".5" or "1e-6" (also with a true minus sign); null for anything else. As `rational` in Python. */
export function parse(text: string, longest = LONGEST): Fraction | null {
    const plain = text.replace(/^ +| +$/g, "").replaceAll("\u2212", "-");
    if (plain.length > longest) return null;
    const ratio = RATIO.exec(plain);
    if (ratio) {
        const d = BigInt(ratio[2]!);
        return d === 0n ? null : fraction(BigInt(ratio[1]!.replace("+", "")), d);
    }
    const decimal = DECIMAL.exec(plain);
    if (!decimal) return null;
    const [, sign, whole = "", part = "", power = "0"] = decimal;
    if (whole + part === "") return null;
    const shift = Number(power) - part.length;
    const n = BigInt(whole + part) * (sign === "-" ? -1n : 1n);
    return shift >= 0 ? fraction(n * 10n ** BigInt(shift)) : fraction(n, 10n ** BigInt(-shift));
}

/** A number that a person typed as the label of a bin; null where Python refuses it, too: what it writes is as short. */
export function typedLabel(text: string): Fraction | null {
    const number = parse(text, LONGEST_TYPED);
    if (number === null || bitsOf(number.n) + bitsOf(number.d) > 4 * LONGEST_TYPED) return null;
    return format(number).length <= LONGEST_TYPED ? number : null;
}

const bitsOf = (whole: bigint): number => (whole < 0n ? -whole : whole).toString(2).length;

/** Read a text the kernel wrote; an unreadable one is a fault of the caller, which validates first. */
export function exactly(text: string): Fraction {
    const value = parse(text);
    if (value === null) throw new RangeError(`not an exact number: ${text.slice(0, 40)}`);
    return value;
}

/** A finite decimal where there is one of at most 30 places, else "a/b": the same text the kernel writes. */
export function format(value: Fraction): string {
    let [twos, fives, rest] = [0, 0, value.d];
    for (; rest % 2n === 0n; rest /= 2n) twos += 1;
    for (; rest % 5n === 0n; rest /= 5n) fives += 1;
    const places = Math.max(twos, fives);
    if (rest !== 1n || places > MOST_PLACES) return `${value.n}/${value.d}`;
    const scaled = (value.n * 10n ** BigInt(places)) / value.d;
    if (places === 0) return scaled.toString();
    const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(places + 1, "0");
    return `${scaled < 0n ? "-" : ""}${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

export const add = (a: Fraction, b: Fraction): Fraction => fraction(a.n * b.d + b.n * a.d, a.d * b.d);
export const subtract = (a: Fraction, b: Fraction): Fraction => fraction(a.n * b.d - b.n * a.d, a.d * b.d);
export const times = (a: Fraction, k: bigint): Fraction => fraction(a.n * k, a.d);
export const product = (a: Fraction, b: Fraction): Fraction => fraction(a.n * b.n, a.d * b.d);

export function compare(a: Fraction, b: Fraction): -1 | 0 | 1 {
    const [left, right] = [a.n * b.d, b.n * a.d];
    return left < right ? -1 : left > right ? 1 : 0;
}

export const equal = (a: Fraction, b: Fraction): boolean => a.n === b.n && a.d === b.d;
export const least = (a: Fraction, b: Fraction): Fraction => (compare(a, b) <= 0 ? a : b);

/** The remainder after a price, as text, or null where it does not reach. */
export function leftAfter(left: string, price: string): string | null {
    const rest = subtract(exactly(left), exactly(price));
    return rest.n < 0n ? null : format(rest);
}

/** For the place of a mark on the screen, and for nothing else. */
export function approximate(value: Fraction): number {
    const near = Number(value.n) / Number(value.d);
    return Number.isFinite(near) ? near : Number(value.n / value.d);
}

/**
 * The index of the greatest grid value that is at most `value`: the nearest one that is at least as private,
 * or -1 where the whole grid is less private. The grid ascends.
 */
export function morePrivate(grid: readonly Fraction[], value: Fraction): number {
    let [low, high] = [0, grid.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (compare(grid[middle]!, value) <= 0) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}
