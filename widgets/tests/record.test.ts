/** A drawn record: its labels by column, what further records cost, how they are drawn, and no level to choose. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bring } from "../src/answers/result_view";
import { recordView } from "../src/views/record";
import { Host, render, result, settle, type Shown } from "./host";

bring(recordView);

let shown: Shown;

const record = (more: Record<string, unknown> = {}): any => {
    const { labels: _, short_labels: __, bars: ___, values: ____, ...head } = result() as any;
    return {
        ...head,
        kind: "record",
        values: [],
        columns: ["kind", "</b> seen"],
        labels: ["x", "<i>1</i>"],
        sentence: "One record, drawn at random.",
        remark: "Further records are free, with release.draw(n).",
        more: true,
        ...more,
    };
};

function open(answer: any): HTMLElement {
    shown = render(new Host("result-chart", { result: answer }));
    return shown.el;
}

beforeEach(() => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => {
    shown.close();
    vi.restoreAllMocks();
});

test("each column stands beside its label, as text and not as a page's code", () => {
    const el = open(record());
    const terms = [...el.querySelectorAll(".dp-record dt, .dp-record dd")].map((one) => one.textContent);
    expect(terms).toEqual(["kind", "x", "</b> seen", "<i>1</i>"]);
    expect(el.querySelector(".dp-finding")!.textContent).toBe("One record, drawn at random.");
    expect(el.querySelector<HTMLElement>("select[aria-label='How often the bars hold']")!.hidden).toBe(true);
});

test("of many columns some are drawn and the table has all", () => {
    const names = Array.from({ length: 70 }, (_, i) => `b${i}`);
    const el = open(record({ columns: names, labels: names.map(() => "0") }));
    expect(el.querySelectorAll(".dp-record dt").length).toBe(60);
    expect(el.textContent).toContain("10 more columns are in the table");
    shown.button("Table").click();
    expect(shown.el.querySelectorAll("tbody tr").length).toBe(70);
});

test.each([
    ["a label too few", { labels: ["x"] }],
    ["no column", { columns: [], labels: [] }],
    ["no word on further records", { more: "yes" }],
])("what is malformed is not drawn: %s", (_, wrong) => {
    const el = open(record(wrong));
    expect([el.querySelector(".dp-record"), vi.mocked(console.warn).mock.calls.length]).toEqual([null, 1]);
});

// --- further records ---------------------------------------------------------------------------------------------------

const drawn = (records: string[][], more: Record<string, unknown> = {}): any => ({
    version: 1,
    number: record().number,
    key: record().key,
    columns: ["kind", "</b> seen"],
    records,
    drawn: String(records.length),
    of: "entry 3",
    randomness: "operating system",
    ...more,
});

const section = (): HTMLElement => shown.el.querySelector<HTMLElement>(".dp-further")!;
const button = (): HTMLButtonElement => section().querySelector("button")!;
const said = (part: "status" | "alert"): string => section().querySelector(`[role=${part}]`)!.textContent!;
const cells = (): (string | null)[][] =>
    [...section().querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));

/** A kernel that draws: what was drawn before, and what is asked for. */
function draws(before: string[][] = []): any {
    let records = before;
    return ({ count }: Record<string, string>) => {
        records = [...records, ...Array.from({ length: Number(count) }, (_, i) => ["x", String(i % 2)])];
        return { drawn: drawn(records) };
    };
}

test("another record is asked for once, listed, and told aloud once", async () => {
    open(record());
    shown.host.answers["draw"] = draws();
    expect([button().textContent, button().disabled, cells()]).toEqual(["Draw another record · free", false, []]);
    button().click();
    await settle();
    expect(shown.host.of("draw").map(({ args }) => args)).toEqual([{ number: record().number, count: "1" }]);
    expect([cells(), said("status"), said("alert")]).toEqual([[["1", "x", "0"]], "Drawn: kind x, </b> seen 0.", ""]);
    expect(section().querySelectorAll("[role=status]").length).toBe(1);
    button().click();
    await settle();
    expect(cells()).toEqual([["2", "x", "0"], ["1", "x", "0"]]);
});

test("the button says that it is free, and what stands by it that records of one release depend on each other", () => {
    const el = open(record());
    const hint = el.querySelector(`#${button().getAttribute("aria-describedby")}`)!;
    expect(button().textContent).toContain("free");
    expect(hint.textContent).toMatch(/one release that is paid.*not independent of its record or of each other.*noise/);
    shown.close();
    open(record({ number: null, teaching: { seed: "7" } }));
    expect(section().textContent).not.toContain("paid");
});

test("a number of records is chosen, and the list says of how many it holds the last", async () => {
    open(record());
    shown.host.answers["draw"] = () => ({ drawn: drawn([["x", "0"], ["y", "1"]], { drawn: "1234" }) });
    const count = section().querySelector("select")!;
    count.value = "100";
    count.dispatchEvent(new Event("change"));
    expect(button().textContent).toBe("Draw 100 more records · free");
    button().click();
    button().click(); // what waits is asked once
    await settle();
    expect(shown.host.of("draw").map(({ args }) => args["count"])).toEqual(["100"]);
    expect(cells()).toEqual([["1,234", "y", "1"], ["1,233", "x", "0"]]);
    expect(section().textContent).toContain("The last 2 of 1,234 are listed. In Python: session.releases");
    expect(said("status")).toBe("100 further records were drawn; they head the list.");
});

test("what was drawn before stands there when the page opens, and silently", () => {
    shown = render(new Host("result-chart", { result: record(), drawn: drawn([["y", "1"]]) }));
    expect([cells(), said("status")]).toEqual([[["1", "y", "1"]], ""]);
    shown.host.write("drawn", drawn([["y", "1"], ["x", "0"]])); // another page drew
    expect([cells().length, said("status")]).toEqual([2, ""]);
    shown.host.write("drawn", "null");
    expect(cells()).toEqual([]);
});

test.each([
    ["of another release", { number: "99" }],
    ["of another draw", { key: "another" }],
    ["without a label for each column", { records: [["y"]] }],
    ["without a record", { records: [] }],
    ["with a number for a label", { records: [["y", 1]] }],
    ["that counts in words", { drawn: "many" }],
])("what was drawn %s is not listed", (_, wrong) => {
    shown = render(new Host("result-chart", { result: record(), drawn: drawn([["y", "1"]], wrong) }));
    expect([cells(), section() === null]).toEqual([[], false]);
});

test("without a kernel the button is off and says why, and what was drawn stays", async () => {
    open(record());
    shown.host.answers["draw"] = draws();
    button().click();
    await settle();
    shown.host.widget_manager.kernel = { status: "dead" };
    shown.host.disconnect();
    await settle();
    expect([button().disabled, section().querySelector("select")!.disabled]).toEqual([true, true]);
    const needs = [...section().querySelectorAll<HTMLElement>(".dp-hint")].find((one) => one.textContent!.includes("needs a kernel"))!;
    expect([needs.hidden, cells().length]).toEqual([false, 1]);
    button().click();
    expect(shown.host.of("draw").length).toBe(1);
});

test("a refusal is told in the kernel's words, and so is an answer that makes no sense", async () => {
    open(record());
    shown.host.answers["draw"] = () => ({ error: { kind: "ReleaseFormat", message: "a page is sent 100 records" } });
    button().click();
    await settle();
    expect([said("alert"), said("status"), cells()]).toEqual(["a page is sent 100 records", "", []]);
    shown.host.answers["draw"] = () => ({ drawn: drawn([["x"]]) });
    button().click();
    await settle();
    expect([said("alert"), cells()]).toEqual([expect.stringContaining("cannot read the kernel's answer"), []]);
    shown.host.answers["draw"] = draws();
    button().click();
    await settle();
    expect([said("alert"), cells().length]).toEqual(["", 1]);
});

test("where another record would cost there is no button, and the reason", () => {
    const once = "two draws cost twice";
    const el = open(record({ more: false, once, remark: "Another record would be another release, paid for anew." }));
    expect([section(), [...el.querySelectorAll("button")].some((one) => one.textContent!.includes("Draw"))]).toEqual([null, false]);
    expect(el.querySelector(".dp-once")!.textContent).toBe(`Another record would be another release, paid for anew. Why: ${once}.`);
});

test("a wide record lists its first columns and says how many are left out", async () => {
    const names = Array.from({ length: 70 }, (_, i) => `b${i}`);
    open(record({ columns: names, labels: names.map(() => "0") }));
    shown.host.answers["draw"] = () => ({ drawn: drawn([names.map(() => "1")], { columns: names }) });
    button().click();
    await settle();
    expect(cells()[0]!.length).toBe(61);
    expect(section().textContent).toContain("10 more columns are not.");
});
