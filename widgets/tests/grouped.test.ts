/** Answers about disjoint parts: side by side, a column for each part, with one error for all values. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bring } from "../src/result_view";
import { groupedView } from "../src/views/grouped";
import { Host, render, result, type Shown } from "./host";

bring(groupedView);

let shown: Shown;

const grouped = (more: Record<string, unknown> = {}): any => {
    const { labels: _, short_labels: __, values: ___, ...head } = result() as any;
    return {
        ...head,
        kind: "grouped",
        heads: ["bin", "January", "<b>February</b>"],
        rows: [
            ["a", "12", "-3"],
            ["b", "", "7"],
        ],
        figures: true,
        sentence: "One answer for each month; release.groups has them one by one.",
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

test("each part is a column, as text and not as a page's code", () => {
    const el = open(grouped());
    const heads = [...el.querySelectorAll("thead th")].map((one) => one.textContent);
    const cells = [...el.querySelectorAll("tbody td")].map((one) => one.textContent);
    expect([heads, cells]).toEqual([
        ["bin", "January", "<b>February</b>"],
        ["a", "12", "-3", "b", "", "7"],
    ]);
    expect(el.querySelectorAll("td.dp-figures").length).toBe(4);
});

test("values have one error, at the level that is chosen, and lists have none", () => {
    expect(open(grouped()).textContent).toMatch(/Any one value is within ±\S+ of the true count, 95 in 100/);
    const select = (): HTMLElement => shown.el.querySelector<HTMLElement>("select[aria-label='How often the bars hold']")!;
    expect(select().hidden).toBe(false);
    shown.close();
    const lists = open(grouped({ figures: false, bars: {} }));
    expect(lists.textContent).not.toContain("Any one value");
    expect(select().hidden).toBe(true);
    expect(lists.querySelectorAll("td.dp-figures").length).toBe(0);
});

test.each([
    ["a cell too few", { rows: [["a", "1"]] }],
    ["a number as a cell", { rows: [["a", 1, 2]] }],
    ["no sentence", { sentence: null }],
])("what is malformed is not drawn: %s", (_, wrong) => {
    const el = open(grouped(wrong));
    expect([el.querySelector(".dp-table"), vi.mocked(console.warn).mock.calls.length]).toEqual([null, 1]);
});
