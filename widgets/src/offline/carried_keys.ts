/**
 * How the page finds a key in what a report carries: its bin, its number, what is kept of it, and its place under public
 * hashing. The same as `coded` and `Columns` in `dpviz/noise/alp.py`, digit for digit; public, as all of a release is.
 */

import { binOf, readDomain } from "./bin_of";
import { keyedDigest } from "../numbers/blake2b";
import { exactly, fraction, product, type Fraction } from "../numbers/exact";
import { readBar } from "../protocol/protocol";
import { exact, flag, list, shape, table, text, wrong } from "../protocol/readers";

/** The reading of one key. */
export interface LookedUp {
    value: string;
    low: string;
    high: string;
    known: string;
    rule: string;
}

export interface Carried {
    /** The estimators it offers, the default first; one without a name where it offers none. */
    readers: string[];
    /** The answer for a key, one text for each column; null where there is no such bin. */
    look(labels: readonly string[], beta: string, reader: string): LookedUp | null;
}

const readHeader = shape({
    numbered: flag,
    seed: text,
    step: exact,
    labels: list(text),
    values: list(exact),
    /** By estimator and by beta; an estimator whose error nobody states has none. */
    bars: table(table(readBar)),
});

export interface Found {
    /** A number of 64 bits. */
    key: bigint;
    /** The value kept for it, in the unit of the question; null where it is to be read off the structure. */
    kept: Fraction | null;
}

const UNPAIRED = /\p{Surrogate}/u;
const hexed = (seed: string): Uint8Array => Uint8Array.from(seed.match(/../g) ?? [], (pair) => parseInt(pair, 16));

export interface Keys {
    step: Fraction;
    bars: ReadonlyMap<string, ReadonlyMap<string, ReturnType<typeof readBar>>>;
    /** A key, by one text for each column; null where there is no such bin. */
    find(labels: readonly string[]): Found | null;
}

export function carriedKeys(content: Record<string, unknown>): Keys {
    const head = readHeader(content, "carried");
    const domain = readDomain(content["domain"], "carried.domain");
    if (head.labels.length !== head.values.length) wrong("carried.values", "one for each label");
    const [step, seed] = [exactly(head.step), hexed(head.seed)];
    const kept = new Map(head.labels.map((label, i) => [label, product(exactly(head.values[i]!), step)]));

    function find(labels: readonly string[]): Found | null {
        if (labels.some((label) => UNPAIRED.test(label))) return null; // half of a pair of code units is no text
        const bin = domain === null ? null : binOf(domain, labels);
        if (domain !== null && bin === null) return null;
        const point = bin === null ? labels[0]! : String(bin);
        const key = head.numbered ? bin! : keyedDigest(new TextEncoder().encode(point), seed);
        return { key, kept: kept.get(point) ?? null };
    }

    return { step, bars: head.bars, find };
}

/** P = 2^61 - 1, modulo which columns of any size are hashed. */
const PRIME = (1n << 61n) - 1n;

export interface Hashing {
    columns: number;
    /** A column has so many places; where it is no power of 2, a place is a number modulo a prime. */
    slots: number;
    prime: boolean;
}

/** Where a key lies in each column: two numbers for each function, or three modulo a prime. */
export function hashed({ columns, slots, prime }: Hashing, functions: Uint8Array | undefined): (key: bigint, column: number) => number {
    const each = prime ? 24 : 16;
    if (functions?.length !== each * columns) wrong("carried.functions", "the numbers of one function for each column");
    const view = new DataView(functions.buffer, functions.byteOffset, functions.byteLength);
    const number = (column: number, i: number): bigint => view.getBigUint64(each * column + 8 * i, true);
    if (!prime) {
        const shift = BigInt(64 - Math.log2(slots));
        return (key, column) => Number(BigInt.asUintN(64, number(column, 0) * key + number(column, 1)) >> shift);
    }
    const size = BigInt(slots);
    return (key, column) => {
        const sum = number(column, 0) * (key >> 32n) + number(column, 1) * BigInt.asUintN(32, key) + number(column, 2);
        return Number((sum % PRIME) % size);
    };
}

/** The nearest whole number, and of two the even one. */
export function nearest({ n, d }: Fraction): bigint {
    const down = floor(fraction(2n * n + d, 2n * d));
    return (2n * n + d) % (2n * d) === 0n && down % 2n !== 0n ? down - 1n : down;
}

/** The largest whole number that is not above. */
export const floor = ({ n, d }: Fraction): bigint => (n - (((n % d) + d) % d)) / d;
