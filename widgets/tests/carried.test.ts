// What a report carries of a sketch is read by the page as Python reads it, digit for digit (`tests/reports/carried_vectors.py`).

import { beforeEach, expect, test, vi } from "vitest";
import vectors from "../fixtures/carried.json";
import { keyedDigest } from "../src/numbers/blake2b";
import { offline } from "../src/offline/carried";
import { floor, nearest } from "../src/offline/carried_keys";
import { exactly, format, typedLabel } from "../src/numbers/exact";
import { readReport } from "../src/protocol/protocol";
import { draw } from "../src/report/report";
import { RELEASES } from "../src/report/report_releases";
import { enter, result, settle } from "./host";

type Row = { point: string[]; value: string; low: string; high: string; known: string; rule: string };
/** An estimator, a level, how all are known, by which rule; and of each point its value and both ends. */
type Vector = [string, string, string, string, string[], string[], string[]];
type Case = { carried: Record<string, unknown>; points: string[][]; read: Vector[]; refused: string[][] };
const CASES = vectors.cases as unknown as Record<string, Case>;

const rowsOf = ({ points }: Case, [, , known, rule, values, lows, highs]: Vector): Row[] =>
    points.map((point, i) => ({ point, value: values[i]!, low: lows[i]!, high: highs[i]!, known, rule }));

/** What Python reads by one estimator at one level. */
function rows(name: string, reader = "paper", beta = "0.05"): Row[] {
    const found = CASES[name]!;
    return rowsOf(found, found.read.find((one) => one[0] === reader && one[1] === beta)!);
}

const bytes = (hex: string): Uint8Array => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

const reading = (content: Record<string, unknown>) => offline({ content } as never)!.read;

test.each(vectors.digests)("a keyed digest is that of RFC 7693: $digest", ({ key, content, digest }) => {
    expect(String(keyedDigest(bytes(content), bytes(key)))).toBe(digest);
    expect(String(keyedDigest(bytes(content), bytes(`ff${key.slice(2)}`)))).not.toBe(digest);
});

test.each([["5/2", 2n], ["7/2", 4n], ["-5/2", -2n], ["-7/2", -4n], ["-1/2", 0n], ["1/2", 0n], ["-8/3", -3n], ["8/3", 3n], ["4", 4n]])(
    "%s is rounded to the nearest whole number, and of two to the even one",
    (value, whole) => expect(nearest(exactly(value))).toBe(whole),
);

test.each(["7/2", "3", "-7/2", "-3", "-1/10"])("the largest whole number that is not above %s", (value) => {
    expect(floor(exactly(value))).toBe(BigInt(Math.floor(Number(value.split("/")[0]) / Number(value.split("/")[1] ?? 1))));
});

test.each(vectors.typed as [string, string | null][])("a label is read as a number as Python reads it, or refused as there: %j", (typed, read) => {
    const number = typedLabel(typed);
    expect(number === null ? null : format(number)).toBe(read);
});

test("the vectors hold numbers that are read and texts that are none", () => {
    expect(vectors.typed.filter(([, read]) => read === null).length).toBeGreaterThan(10);
    expect(vectors.typed.filter(([, read]) => read !== null).length).toBeGreaterThan(10);
});

test.each(Object.keys(CASES))("every key that is carried reads as in Python, by every estimator and at every level: %s", async (name) => {
    const { carried, read: expected, refused } = CASES[name]!;
    const read = reading({ carried });
    let compared = 0;
    for (const vector of expected) {
        const found = rowsOf(CASES[name]!, vector);
        const reply = await read({ number: "1", points: found.map(({ point }) => point), beta: vector[1], reader: vector[0] });
        expect(reply).toEqual({ ok: true, body: { values: found } });
        compared += found.length;
    }
    expect(compared).toBeGreaterThanOrEqual(9);
    const half = CASES[name]!.points[0]!.map(() => "\ud800"); // half of a pair of code units is no text, here as in Python
    for (const point of [...refused, half]) {
        const reply = await read({ number: "1", points: [point], beta: "0.05", reader: "" });
        expect(reply.ok).toBe(false);
    }
});

test("the vectors hold what is kept, open ends on both sides, and estimators with no stated error or all with one", () => {
    const all = Object.keys(CASES).flatMap((name) => CASES[name]!.read.map((vector) => ({ name, vector })));
    const some = (kind: string, holds: (vector: Vector) => boolean) =>
        all.some(({ name, vector }) => CASES[name]!.carried["kind"] === kind && holds(vector));
    for (const kind of ["sketch", "signed-sketch", "log-sketch", "buckets"]) {
        expect(some(kind, ([, , , , values]) => new Set(values).size > 2), kind).toBe(true);
        expect(some(kind, ([, , , , , , highs]) => highs.includes("")), kind).toBe(true);
    }
    for (const kind of ["sketch", "signed-sketch", "buckets"]) expect(some(kind, ([, , , , , lows]) => lows.includes("")), kind).toBe(true);
    const kept = Object.values(CASES).flatMap(({ carried }) => carried["values"] as string[]);
    expect(kept.some((value) => value.startsWith("-")) && kept.some((value) => Number(value) > 0)).toBe(true);
    expect(Object.values(CASES).some(({ carried }) => (carried["upward"] as string[] | undefined)?.length)).toBe(true);
});

test("a bit of the sketch, of a hash function or of the seed that is changed changes what is read", async () => {
    const { carried } = CASES["words"]!;
    const expected = { ok: true, body: { values: rows("words") } };
    const read = async (content: Record<string, unknown>) =>
        reading({ carried: content })({ number: "1", points: CASES["words"]!.points, beta: "0.05", reader: "paper" });
    expect(await read(carried)).toEqual(expected);
    const { functions, bits } = (carried as any).arrays;
    const swapped = { ...carried, arrays: { bits, functions: { ...functions, zlib: (CASES["kept"]!.carried as any).arrays.functions.zlib } } };
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    expect((await read(swapped)).ok).toBe(false); // twice as many columns as the bits have
    const seed = `${(carried["seed"] as string)[0] === "0" ? "1" : "0"}${(carried["seed"] as string).slice(1)}`;
    expect(await read({ ...carried, seed })).not.toEqual(expected);
    const damaged = { ...carried, arrays: { functions, bits: { ...bits, zlib: bits.zlib.slice(0, 40) } } };
    expect(await read(damaged)).toMatchObject({ ok: false, error: { message: expect.stringContaining("is damaged") } });
});

const lookup = (change: Record<string, unknown>): any => ({
    ...result(), kind: "large", lookup: true, readers: ["paper", "likelihood", "posterior-median"], labels: [], short_labels: [], values: [], csv: "",
    bins: "4294967296", columns: ["key"], axis: "key", betas: ["0.1", "0.05", "0.01"], beta: "0.05", ...change,
});

function reported(release: unknown): HTMLElement {
    const root = document.createElement("div");
    document.body.replaceChildren(root);
    const totals = { epsilon: "1", delta: "0", unit: "one row", randomness: "", chain: "" };
    const report = readReport(JSON.stringify({ version: 1, title: "t", lead: "", releases: [release], sheets: [], totals, caveats: [] }));
    draw(report, root, { releases: RELEASES });
    return root;
}

beforeEach(() => vi.restoreAllMocks());

test("the look-up field of a report reads a carried sketch by the estimator that is chosen", async () => {
    const { carried } = CASES["counts"]!;
    const form = reported(lookup({ carried, number: null })).querySelector<HTMLFormElement>("form.dp-read")!;
    expect(form.textContent).toContain("any key is read here, with no kernel and no network");
    const [input, reader] = [form.querySelector("input")!, form.querySelector("select")!];
    const status = () => form.querySelector("[role=status]")!.textContent!;
    enter(input, "3");
    form.requestSubmit();
    await vi.waitFor(() => expect(status()).toMatch(/^3: /));
    expect(status()).toBe(`3: ${rows("counts")[0]!.value} (at least ${rows("counts")[0]!.low}, 95 in 100).`);
    expect(form.textContent).toContain("Proved bound: worst case over exact values");
    reader.value = "likelihood";
    reader.dispatchEvent(new Event("change"));
    const other = rows("counts", "likelihood")[0]!;
    await vi.waitFor(() => expect(status()).toContain(`3: ${other.value} `));
    if (other.known === "") expect(status()).toContain("no error is stated for this estimator");
});

test("blanks belong to a key: they are asked for as they are typed, and shown between quotes", async () => {
    const { carried } = CASES["words"]!;
    const form = reported(lookup({ carried, number: null, columns: ["word"], axis: "word", bins: null })).querySelector<HTMLFormElement>("form.dp-read")!;
    const status = () => form.querySelector("[role=status]")!.textContent!;
    const values: string[] = [];
    for (const [typed, said] of [["7", "7"], [" 7", "“ 7”"], ["7 ", "“7 ”"], ["", "“”"], ["w 3", "w 3"]] as const) {
        enter(form.querySelector("input")!, typed);
        form.requestSubmit();
        const row = rows("words").find(({ point }) => point[0] === typed)!;
        await vi.waitFor(() => expect(status().startsWith(`${said}: `)).toBe(true));
        expect(status()).toContain(`${said}: ${row.value} (`);
        values.push(row.value);
    }
    expect(new Set(values.slice(0, 3)).size).toBeGreaterThan(1); // so that a key without its blanks would be found out
});

test("a report that carries answers for some keys reads these and says so of others", async () => {
    const { points } = CASES["counts"]!;
    const readers = { paper: { "0.05": rows("counts") } };
    const form = reported(lookup({ answers: { points, readers } })).querySelector<HTMLFormElement>("form.dp-read")!;
    expect(form.textContent).toContain(`the answers for ${points.length} keys, chosen when it was made`);
    expect([...form.querySelectorAll("datalist option")].map((one) => (one as HTMLOptionElement).value)).toEqual(points.map(([key]) => key));
    enter(form.querySelector("input")!, "17");
    form.requestSubmit();
    await settle();
    expect(form.querySelector("[role=status]")!.textContent).toContain(`17: ${rows("counts").find(({ point }) => point[0] === "17")!.value} (`);
    enter(form.querySelector("input")!, "18");
    form.requestSubmit();
    await settle();
    expect(form.querySelector("[role=alert]")!.textContent).toContain("does not carry the answer for this key");
});

test("a report that carries nothing for look-ups has no field", () => {
    expect(reported(lookup({})).querySelector("form.dp-read")).toBeNull();
});
