import { afterEach, expect, test } from "vitest";
import { beside, listOf, numbers, rowOf, texts, withColumns, type Numbers } from "../src/protocol/columns";
import { exactly } from "../src/numbers/exact";
import { readMessage, readReport, readResult } from "../src/protocol/protocol";
import { Malformed } from "../src/protocol/readers";
import { Marks } from "../src/charts/histogram";
import { counted, findingOf } from "../src/wording/counted";
import { Host, render, result, sheet, state, type Shown } from "./host";

const MOST = 2n ** 63n - 1n;

/** Bytes that begin at an odd place of a larger buffer, as a host may hand them over. */
function odd(data: DataView): DataView {
    const bytes = new Uint8Array(data.byteLength + 11).fill(255);
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), 3);
    return new DataView(bytes.buffer, 3, data.byteLength);
}

function int64(...values: bigint[]): DataView {
    const data = new DataView(new ArrayBuffer(8 * values.length));
    values.forEach((value, i) => data.setBigInt64(8 * i, value, true));
    return odd(data);
}

function float64(...values: number[]): DataView {
    const data = new DataView(new ArrayBuffer(8 * values.length));
    values.forEach((value, i) => data.setFloat64(8 * i, value, true));
    return odd(data);
}

function written(...rows: string[]): DataView {
    const encoded = rows.map((row) => new TextEncoder().encode(row));
    const size = encoded.reduce((sum, { length }) => sum + length, 0);
    const data = new DataView(new ArrayBuffer(4 * rows.length + size));
    let end = 0;
    encoded.forEach((row, i) => {
        new Uint8Array(data.buffer).set(row, 4 * rows.length + end);
        end += row.length;
        data.setUint32(4 * i, end, true);
    });
    return odd(data);
}

const base64 = ({ buffer, byteOffset, byteLength }: DataView): string =>
    btoa(String.fromCharCode(...new Uint8Array(buffer, byteOffset, byteLength)));

function column(head: Record<string, unknown>, ...parts: unknown[]): unknown {
    return withColumns({ buffers: { id: "1", columns: [{ name: "it", ...head }], parts } })["it"];
}

const whole = (...values: bigint[]): Numbers =>
    numbers(column({ type: "int64", rows: String(values.length) }, int64(...values)), "it");

test("numbers of many rows that are no whole ones come as texts beside the JSON, and are told digit for digit", () => {
    const read = numbers(column({ type: "text", rows: "3" }, written("400.37", "-0.01", "5")), "it");
    expect([listOf(read), read.near(0), read.top()]).toEqual([["400.37", "-0.01", "5"], 400.37, 0]);
    expect(() => numbers(column({ type: "text", rows: "1" }, written("b")), "it")).toThrow(Malformed);
});

test("whole numbers are told digit for digit, wherever their bytes begin", () => {
    const given = [0n, -1n, 2n ** 53n + 1n, MOST, -(2n ** 63n), 7n];
    const read = whole(...given);
    expect(listOf(read)).toEqual(given.map(String));
    expect(given.map((_, i) => read.near(i))).toEqual(given.map(Number));
    expect(JSON.stringify(read)).toBe(JSON.stringify(given.map(String)));
});

test("a column without rows has none", () => {
    expect(listOf(whole())).toEqual([]);
    expect(whole().above(exactly("0"))).toBe(0);
    expect(listOf(texts(column({ type: "text", rows: "0", runs: [] }, written()), "it"))).toEqual([]);
});

test("the largest, and how many are larger, are exact", () => {
    const read = whole(MOST - 1n, -5n, MOST, MOST, 2n ** 53n, 2n ** 53n + 1n);
    expect(read.top()).toBe(2);
    expect(read.above(exactly(String(2n ** 53n)))).toBe(4);
    expect(read.above(exactly(String(MOST - 1n)))).toBe(2);
    expect([read.above(exactly("-5")), read.above(exactly("-11/2")), read.above(exactly("-9/2"))]).toEqual([5, 6, 5]);
    const listed = numbers(listOf(read), "it");
    for (const bound of ["-5", "-11/2", "1/2", "9007199254740992"])
        expect(listed.above(exactly(bound))).toBe(read.above(exactly(bound)));
    expect(listed.top()).toBe(2);
});

test("floats are positions for a picture", () => {
    const read = numbers(column({ type: "float64", rows: "3" }, float64(-0.5, 1e300, 0.1)), "it");
    expect([read.near(0), read.near(1), read.at(2), read.top(), read.above(exactly("0"))]).toEqual([-0.5, 1e300, "0.1", 1, 2]);
});

test("texts come as they were, and runs of numbers are told by their first", () => {
    const runs = [
        { at: "1", first: "-1", rows: "3" },
        { at: "5", first: "9007199254740993", rows: "2" },
    ];
    const read = texts(column({ type: "text", rows: "8", runs }, written("under ü", "\n", "")), "it");
    const rows = ["under ü", "-1", "0", "1", "\n", "9007199254740993", "9007199254740994", ""];
    expect(listOf(read)).toEqual(rows);
    expect([rowOf(read, "9007199254740994"), rowOf(read, "2")]).toEqual([6, -1]);
});

test.each<[string, Record<string, unknown>, unknown[]]>([
    ["too few bytes", { type: "int64", rows: "2" }, [int64(1n)]],
    ["no bytes", { type: "int64", rows: "1" }, []],
    ["bytes that are a text", { type: "int64", rows: "1" }, ["12345678"]],
    ["a type that is unknown", { type: "int32", rows: "2" }, [int64(1n)]],
    ["more rows than a page takes", { type: "text", rows: "2000001", runs: [{ at: "0", first: "0", rows: "2000001" }] }, [written()]],
    ["a run beyond its rows", { type: "text", rows: "2", runs: [{ at: "0", first: "0", rows: "3" }] }, [written()]],
    ["runs in no order", { type: "text", rows: "4", runs: [{ at: "2", first: "0", rows: "2" }, { at: "0", first: "0", rows: "2" }] }, [written()]],
    ["a run of fractions", { type: "text", rows: "2", runs: [{ at: "0", first: "1/2", rows: "2" }] }, [written()]],
    ["texts that end before they begin", { type: "text", rows: "2", runs: [] }, [new DataView(new Uint32Array([1, 0]).buffer)]],
    ["texts that end elsewhere", { type: "text", rows: "1", runs: [] }, [new DataView(new Uint32Array([9]).buffer)]],
    ["another column that is not there", { type: "same", rows: "1", as: "labels" }, []],
])("%s: malformed", (_, head, parts) => {
    expect(() => column(head, ...parts)).toThrow(Malformed);
});

/** The fixture as bytes: 42 bins, the first with a value that no float holds. */
function long(): { content: any; parts: DataView[] } {
    const { labels, short_labels, values, ...content } = result();
    const counts = [MOST, ...values.slice(1).map(BigInt)];
    const rows = String(counts.length);
    const columns = [
        { name: "values", type: "int64", rows },
        { name: "labels", type: "text", rows, runs: [] },
        { name: "short_labels", type: "same", rows, as: "labels" },
    ];
    return { content: { ...content, buffers: { id: "abc", columns } }, parts: [int64(...counts), written(...labels)] };
}

let shown: Shown | undefined;
afterEach(() => shown?.close());

test("bytes beside a message, in a trait and in a file are the same answer", () => {
    const { content, parts } = long();
    const read = counted(readResult(beside(content, parts)));
    expect([read.values.at(0), read.values.at(41), read.labels.at(41)]).toEqual([String(MOST), result().values[41], "over 40"]);
    expect(findingOf(read, "0.05")).toContain("9,223,372,036,854,775,807 released");
    const heard = readMessage({ v: 1, event: "released", body: { token: "t", number: "3", result: content, state: state() } }, parts);
    expect(heard?.kind === "released" && counted(heard.result).values.at(0)).toBe(String(MOST));
    const file = { ...content, buffers: { ...content.buffers, base64: parts.map(base64) } };
    const report = readReport(
        JSON.stringify({
            version: 1, title: "", lead: "", releases: [file], sheets: [sheet()], caveats: [],
            totals: { epsilon: "1", delta: "0", unit: "", randomness: "", chain: "" },
        }),
    );
    expect(listOf(counted(report.releases[0]!).values)).toEqual(listOf(read.values));
    expect(() => readResult(content)).toThrow(Malformed);
    expect(() => readResult({ ...file, buffers: { ...file.buffers, base64: ["!", "!"] } })).toThrow(Malformed);
    expect(() => readResult({ ...(beside(content, parts) as object), values: ["1"] })).toThrow(Malformed);
});

test("a view shows the answer whose bytes were written before it, and not with those of another", () => {
    const { content, parts } = long();
    const host = new Host("workbench", { result: "" });
    host.traits["buffers"] = {};
    shown = render(host);
    host.hold("buffers", { id: "other", parts });
    host.write("result", content);
    expect(shown.el.querySelector(".dp-stage svg")).toBeNull();
    host.hold("buffers", { id: "abc", parts });
    host.write("result", { ...content, title: "With its bytes" });
    shown.button("Table").click();
    expect(shown.text()).toContain("With its bytes");
    expect(shown.text()).toContain("9,223,372,036,854,775,807");
});

test("half a million marks are read where they lie", () => {
    const data = new DataView(new ArrayBuffer(8 * 525_600));
    for (let row = 0; row < 525_600; row += 1) data.setBigInt64(8 * row, BigInt((row * 7919) % 1000), true);
    const values = numbers(column({ type: "int64", rows: "525600" }, odd(data)), "it");
    const bar = { value: "30", kind: "exact" as const, rule: "", off: null, runs: null };
    const marks = new Marks({ values, clamp: { low: "0", high: null }, bars: new Map([["0.05", { one: bar, all: bar }]]) }, "0.05");
    expect(marks.length).toBe(525_600);
    expect(marks.range(0, 525_599)).toEqual([0, 999]);
    expect(marks.at(0)).toEqual({
        value: 0,
        one: { low: 0, high: 30, lowCut: true, highCut: false },
        all: { low: 0, high: 30, lowCut: true, highCut: false },
        strips: [],
        around: "dp-around",
    });
});
