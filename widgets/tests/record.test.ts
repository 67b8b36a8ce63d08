/** A drawn record: its labels by column, what further records cost, and no level to choose. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bring } from "../src/result_view";
import { recordView } from "../src/views/record";
import { Host, render, result, type Shown } from "./host";

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
    expect(el.querySelector(".dp-key")!.textContent).toContain("Further records are free");
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
