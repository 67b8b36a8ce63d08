/**
 * The columns of an answer, row by row: lists of texts in its JSON, or bytes beside it where they are long.
 *
 * Whole numbers come as int64 and are told digit for digit; positions for a picture are floats. Bytes are read where
 * they lie, the little end first, whatever the machine and wherever their buffer begins.
 */

import { approximate, compare, exactly, type Fraction } from "../numbers/exact";
import { exact, list, maybe, oneOf, shape, text, whole, wrong, type Read, type Reader } from "./readers";

/** The most rows that a page takes. */
const MOST_ROWS = 2_000_000;

export interface Texts {
    readonly length: number;
    /** The text of a row. */
    at(row: number): string;
}

export interface Numbers extends Texts {
    /** For the place of a mark on the screen, and for nothing else. */
    near(row: number): number;
    /** The first row with the largest value. */
    top(): number;
    /** How many values are larger. */
    above(bound: Fraction): number;
}

/** As an array, for what is short. */
export const listOf = (texts: Texts): string[] => Array.from({ length: texts.length }, (_, row) => texts.at(row));

/** The row of this text, or -1; a number may be typed as it is read, with commas and a true minus sign. */
export function rowOf(texts: Texts, wanted: string): number {
    for (let row = 0; row < texts.length; row += 1) if (texts.at(row) === wanted) return row;
    const plain = wanted.replace(/(\d),(?=\d{3}(?!\d))/g, "$1").replace(/\u2212(?=\d)/g, "-");
    return plain === wanted ? -1 : rowOf(texts, plain);
}

// --- in the JSON ---------------------------------------------------------------------------------------------------

class Listed implements Texts {
    readonly length: number;
    readonly rows: readonly string[];

    constructor(rows: readonly string[]) {
        [this.rows, this.length] = [rows, rows.length];
    }

    at(row: number): string {
        return this.rows[row]!;
    }

    toJSON(): readonly string[] {
        return this.rows;
    }
}

class Counts extends Listed implements Numbers {
    readonly #exact: Fraction[];

    constructor(rows: readonly string[]) {
        super(rows);
        this.#exact = rows.map(exactly);
    }

    near(row: number): number {
        return approximate(this.#exact[row]!);
    }

    top(): number {
        let top = 0;
        this.#exact.forEach((value, row) => {
            if (compare(value, this.#exact[top]!) > 0) top = row;
        });
        return top;
    }

    above(bound: Fraction): number {
        return this.#exact.filter((value) => compare(value, bound) > 0).length;
    }
}

// --- beside it -----------------------------------------------------------------------------------------------------

abstract class Bytes implements Texts {
    readonly length: number;

    constructor(length: number) {
        this.length = length;
    }

    abstract at(row: number): string;

    toJSON(): string[] {
        return listOf(this);
    }
}

/** Numbers of eight bytes each. */
abstract class Words extends Bytes {
    protected readonly data: DataView;

    constructor(data: DataView) {
        super(data.byteLength / 8);
        this.data = data;
    }
}

class Whole extends Words implements Numbers {
    at(row: number): string {
        return this.data.getBigInt64(8 * row, true).toString();
    }

    near(row: number): number {
        return this.data.getInt32(8 * row + 4, true) * 2 ** 32 + this.data.getUint32(8 * row, true);
    }

    top(): number {
        let [top, most] = [0, -(2n ** 63n)];
        for (let row = 0; row < this.length; row += 1) {
            const value = this.data.getBigInt64(8 * row, true);
            if (value > most) [top, most] = [row, value];
        }
        return top;
    }

    above({ n, d }: Fraction): number {
        const floor = n / d - (n < 0n && n % d !== 0n ? 1n : 0n);
        let count = 0;
        for (let row = 0; row < this.length; row += 1) if (this.data.getBigInt64(8 * row, true) > floor) count += 1;
        return count;
    }
}

class Floats extends Words implements Numbers {
    at(row: number): string {
        return String(this.near(row));
    }

    near(row: number): number {
        return this.data.getFloat64(8 * row, true);
    }

    top(): number {
        let top = 0;
        for (let row = 1; row < this.length; row += 1) if (this.near(row) > this.near(top)) top = row;
        return top;
    }

    above(bound: Fraction): number {
        const least = approximate(bound);
        let count = 0;
        for (let row = 0; row < this.length; row += 1) if (this.near(row) > least) count += 1;
        return count;
    }
}

/** A stretch of rows that are whole numbers, each one more than the one before. */
interface Run {
    from: number;
    to: number;
    first: bigint;
    /** How many rows of runs come before it. */
    before: number;
}

/** Texts: where each ends in the UTF-8 that follows, then that; runs of numbers are not written out. */
class Written extends Bytes {
    readonly #data: DataView;
    readonly #runs: readonly Run[];
    readonly #written: number;
    readonly #decoder = new TextDecoder();

    constructor(data: DataView, length: number, runs: readonly Run[], written: number) {
        super(length);
        [this.#data, this.#runs, this.#written] = [data, runs, written];
    }

    at(row: number): string {
        let [low, high] = [0, this.#runs.length];
        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.#runs[middle]!.from <= row) low = middle + 1;
            else high = middle;
        }
        const run = this.#runs[low - 1];
        if (run === undefined) return this.#text(row);
        if (row < run.to) return (run.first + BigInt(row - run.from)).toString();
        return this.#text(row - run.before - (run.to - run.from));
    }

    #text(place: number): string {
        const { buffer, byteOffset } = this.#data;
        const start = place === 0 ? 0 : this.#data.getUint32(4 * (place - 1), true);
        const end = this.#data.getUint32(4 * place, true);
        return this.#decoder.decode(new Uint8Array(buffer, byteOffset + 4 * this.#written + start, end - start));
    }
}

// --- reading them --------------------------------------------------------------------------------------------------

export const texts: Reader<Texts> = (value, where) =>
    value instanceof Bytes ? value : new Listed(list(text)(value, where));

export const numbers: Reader<Numbers> = (value, where) =>
    value instanceof Whole || value instanceof Floats ? value : new Counts(list(exact)(value instanceof Written ? listOf(value) : value, where));

const readColumn = shape({
    name: text,
    type: oneOf("int64", "float64", "text", "same"),
    rows: whole,
    /** Another column with the same rows. */
    as: maybe(text),
    runs: maybe(list(shape({ at: whole, first: exact, rows: whole }))),
});

const readBuffers = shape({
    id: text,
    columns: list(readColumn),
    /** As they came with a message, or from a trait. */
    parts: maybe(list((value, where) => (value instanceof DataView ? value : wrong(where, "bytes")))),
    /** As they stand in a file. */
    base64: maybe(list((value, where) => (typeof value === "string" ? fromBase64(value, where) : wrong(where, "bytes")))),
});

type Column = Read<typeof readColumn>;

const readSome = shape({ id: text, parts: list((value) => value) });
export type Parts = Read<typeof readSome>;

/** The bytes of the columns of a result, and which result it is; null where the result has none. */
export const readParts: Reader<Parts | null> = (value, where) =>
    typeof value === "object" && value !== null && Object.keys(value).length === 0 ? null : readSome(value, where);

/** Lay bytes beside the JSON that names them. */
export function beside(content: unknown, parts: readonly unknown[], id?: string): unknown {
    if (typeof content !== "object" || content === null || !("buffers" in content)) return content;
    const { buffers } = content;
    if (typeof buffers !== "object" || buffers === null) return content;
    if (id !== undefined && (buffers as { id?: unknown }).id !== id) return content;
    return { ...content, buffers: { ...buffers, parts } };
}

/** A result with its columns under their names, whether they came in its JSON or beside it. */
export function withColumns(content: Record<string, unknown>): Record<string, unknown> {
    if (content["buffers"] === undefined || content["buffers"] === null) return content;
    const { columns, parts, base64 } = readBuffers(content["buffers"], "result.buffers");
    const held = parts ?? base64 ?? wrong("result.buffers", "beside the result that names it");
    const { buffers: _, ...rest } = content;
    const known: Record<string, unknown> = {};
    let next = 0;
    for (const column of columns) {
        const where = `result.${column.name}`;
        if (Object.hasOwn(rest, column.name)) wrong(where, "in one place");
        const same = column.type === "same" && column.as !== null && Object.hasOwn(known, column.as);
        known[column.name] = same ? known[column.as!] : columnOf(column, held[next++], where);
    }
    return { ...rest, ...known };
}

function columnOf(column: Column, data: DataView | undefined, where: string): Bytes {
    const rows = Number(column.rows);
    if (data === undefined || !(rows <= MOST_ROWS)) wrong(where, "a column of bytes");
    if (column.type === "text") return written(column, rows, data, where);
    if (column.type === "same" || data.byteLength !== 8 * rows) wrong(where, "as many bytes as it has rows");
    return column.type === "int64" ? new Whole(data) : new Floats(data);
}

function written(column: Column, rows: number, data: DataView, where: string): Written {
    const runs: Run[] = [];
    let [end, before] = [0, 0];
    for (const run of column.runs ?? []) {
        const [from, count, first] = [Number(run.at), Number(run.rows), exactly(run.first)];
        if (from < end || from + count > rows || first.d !== 1n) wrong(where, "a column with runs in order");
        runs.push({ from, to: from + count, first: first.n, before });
        [end, before] = [from + count, before + count];
    }
    const count = rows - before;
    const size = data.byteLength - 4 * count;
    let last = 0;
    for (let place = 0; place < count && size >= 0; place += 1) {
        const next = data.getUint32(4 * place, true);
        if (next < last) wrong(where, "a column of texts in order");
        last = next;
    }
    if (last !== size) wrong(where, "as many bytes as its texts have");
    return new Written(data, rows, runs, count);
}

export function fromBase64(encoded: string, where: string): DataView {
    let plain: string;
    try {
        plain = atob(encoded);
    } catch {
        wrong(where, "base64");
    }
    const bytes = new Uint8Array(plain.length);
    for (let i = 0; i < plain.length; i += 1) bytes[i] = plain.charCodeAt(i);
    return new DataView(bytes.buffer);
}

/** A message's columns, laid beside the result in its body. */
export function besideMessage(body: Record<string, unknown>, parts: readonly unknown[]): Record<string, unknown> {
    if (parts.length === 0 || !Object.hasOwn(body, "result")) return body;
    return { ...body, result: beside(body["result"], parts) };
}

