/** Answers to a list of queries: a row each, what was drawn and what fits, with intervals, and which sums hold. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bring } from "../src/answers/result_view";
import { queriesView } from "../src/views/queries";
import { Host, render, result, type Shown } from "./host";

bring(queriesView);

let shown: Shown;

const ends = [["90", "112"], ["70", "95"], ["8", "20"]];
const queries = (more: Record<string, unknown> = {}): any => {
    const { labels: _, short_labels: __, bars: ___, values: ____, ...head } = result() as any;
    const each = (value: unknown): unknown => Object.fromEntries(head.betas.map((beta: string) => [beta, value]));
    return {
        ...head,
        kind: "queries",
        values: [],
        labels: ["all", "passed", "F"],
        noisy: ["101", "88", "-2"],
        fitted: ["293/3", "250/3", "43/3"],
        about: ["A to F", "A to D", "F"],
        constraints: [{ text: "all = passed + F", gap: "15" }],
        remark: "The fitted answers agree.",
        intervals: each({ one: ends, all: ends }),
        how: each({ one: "exact", all: "bound" }),
        ...more,
    };
};

function open(given: unknown): HTMLElement {
    shown?.close();
    shown = render(new Host("result-chart", { result: given as string }));
    return shown.el;
}

beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => undefined));
afterEach(() => {
    shown.close();
    vi.restoreAllMocks();
});

test("each query has its fitted value with an interval, what was drawn, and how both intervals are known", () => {
    const el = open(queries());
    const words = [...el.querySelectorAll(".dp-queries svg text")].map((one) => one.textContent);
    expect(words).toEqual(expect.arrayContaining(["all", "98, 90 to 112", "passed", "83, 70 to 95", "F", "14.3, 8 to 20"]));
    expect([".dp-value", ".dp-drawn", ".dp-one.dp-exact", ".dp-all.dp-bound"].map((mark) => el.querySelectorAll(`.dp-queries svg ${mark}`).length)).toEqual([3, 3, 3, 3]);
    expect(el.querySelector(".dp-key")!.textContent).toContain("any one query, 95 in 100 (exact); thin with caps all of them at once (proved bound)");
});

test("a sum that holds among the fitted answers is told, with how far what was drawn was off it", () => {
    expect(open(queries()).querySelector(".dp-constraints")!.textContent).toBe("all = passed + F: holds for the fitted answers; as drawn it was off by 15.");
    expect(open(queries({ constraints: [{ text: "a = b", gap: "0" }] })).textContent).toContain("as drawn it held, too");
    expect(open(queries({ constraints: [] })).querySelector(".dp-constraints")).toBeNull();
});

test("the table has every number exactly, and which bins each query adds up", () => {
    open(queries());
    shown.button("Table").click();
    const rows = [...shown.el.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));
    expect(rows[2]).toEqual(["F", "F", "43/3", "−2", "8 to 20", "8 to 20"]);
});

test.each([
    ["a fitted value too few", { fitted: ["1", "2"] }],
    ["a fitted value that is no number", { fitted: ["1", "2", "many"] }],
    ["an interval with one end", { intervals: { "0.1": { one: [["1"], ["2"], ["3"]], all: null }, "0.05": { one: null, all: null }, "0.01": { one: null, all: null } } }],
])("what is malformed is not drawn: %s", (_, wrong) => {
    const el = open(queries(wrong));
    expect([el.querySelector(".dp-queries"), vi.mocked(console.warn).mock.calls.length]).toEqual([null, 1]);
});
