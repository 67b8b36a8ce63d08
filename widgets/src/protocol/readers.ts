/**
 * Checks of what comes from outside, put together from small ones: each gives the value as a type, or throws `Malformed`.
 *
 * Fields nobody asked for are left out; a later version throws `Newer`.
 */

import { parse } from "../numbers/exact";

export class Malformed extends Error {}
/** A version that is later than this page reads. */
export class Newer extends Error {
    readonly known: number;

    constructor(sent: number, known: number) {
        super(`version ${sent}`);
        this.known = known;
    }
}

export type Reader<T> = (value: unknown, where: string) => T;
export type Read<R> = R extends Reader<infer T> ? T : never;

const LONGEST = 100_000;
const LONGEST_FILE = 100_000_000;
const MOST = 2_000_000;

export function wrong(where: string, expected: string): never {
    throw new Malformed(`${where} is not ${expected}`);
}

export const text: Reader<string> = (value, where) =>
    typeof value === "string" && value.length <= LONGEST ? value : wrong(where, "a text");

export const file: Reader<string> = (value, where) =>
    typeof value === "string" && value.length <= LONGEST_FILE ? value : wrong(where, "the text of a file");

export const exact: Reader<string> = (value, where) =>
    typeof value === "string" && parse(value) !== null ? value : wrong(where, "an exact number");

export const whole: Reader<string> = (value, where) =>
    typeof value === "string" && /^\d{1,40}$/.test(value) ? value : wrong(where, "a whole number");

export const share: Reader<number> = (value, where) =>
    typeof value === "number" && value >= 0 && value <= 1 ? value : wrong(where, "a share between 0 and 1");

export const oneOf =
    <const T extends string>(...names: T[]): Reader<T> =>
    (value, where) =>
        names.find((name) => name === value) ?? wrong(where, `one of ${names.join(", ")}`);

export const maybe =
    <T>(reader: Reader<T>): Reader<T | null> =>
    (value, where) =>
        value === undefined || value === null ? null : reader(value, where);

export const list =
    <T>(reader: Reader<T>): Reader<T[]> =>
    (value, where) =>
        Array.isArray(value) && value.length <= MOST
            ? value.map((item: unknown, i) => reader(item, `${where}[${i}]`))
            : wrong(where, "a list");

export function fields(value: unknown, where: string): Record<string, unknown> {
    if (typeof value !== "object" || value === null || Array.isArray(value)) wrong(where, "an object");
    return value as Record<string, unknown>;
}

export const table =
    <T>(reader: Reader<T>): Reader<ReadonlyMap<string, T>> =>
    (value, where) =>
        new Map(Object.entries(fields(value, where)).map(([key, item]) => [key, reader(item, `${where}.${key}`)]));

export const shape =
    <S extends Record<string, Reader<unknown>>>(readers: S): Reader<{ [K in keyof S]: Read<S[K]> }> =>
    (value, where) => {
        const given = fields(value, where);
        const own = (name: string): unknown => (Object.hasOwn(given, name) ? given[name] : undefined);
        return Object.fromEntries(
            Object.entries(readers).map(([name, reader]) => [name, reader(own(name), `${where}.${name}`)]),
        ) as { [K in keyof S]: Read<S[K]> };
    };

export const versionUpTo =
    (known: number): Reader<number> =>
    (value, where) => {
        if (typeof value !== "number") wrong(where, "a version");
        if (value > known) throw new Newer(value, known);
        return value;
    };

export const flag: Reader<boolean> = (value, where) => (typeof value === "boolean" ? value : wrong(where, "true or false"));
