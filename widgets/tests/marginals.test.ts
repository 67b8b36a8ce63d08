/** Tables that agree: a map of two columns with its totals, the others as lists, and all cells in one table. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { largestCell } from "../src/answers/walk";
import { endsOf, heatMap, top, type HeatMap } from "../src/charts/heat_map";
import { bring } from "../src/answers/result_view";
import { marginalsView } from "../src/views/marginals";
import { Host, press, render, result, type Shown } from "./host";

bring(marginalsView);

let shown: Shown;

const bar = (value: string, kind = "exact"): any => ({ value, kind, rule: "a law", ...(kind === "numerical" ? { off: "0.5" } : {}) });

/** Two columns, their table and that of the first: `a` has three labels, `b` two. */
const marginals = (more: Record<string, unknown> = {}): any => {
    const { labels: _, short_labels: __, values: ___, bars: ____, ...head } = result() as any;
    const radii = { one: [bar("9"), bar("12", "numerical")], all: [bar("20", "bound"), bar("30", "bound")] };
    return {
        ...head,
        kind: "marginals",
        factors: [
            { name: "a", labels: ["1000", "2000", "3000"], scale: "integers" },
            { name: "b", labels: ["x", "<b>y</b>"], scale: "categories" },
        ],
        tables: [["0"], ["0", "1"]],
        fitted: ["2000050", "500", "-33", "2000000", "50", "600", "-100", "-1", "-32"],
        whole: ["20000", "5", "0", "20000", "0", "6", "-1", "0", "0"],
        readers: ["fitted", "nonnegative whole"],
        nonnegative: ["20001", "4", "0", "20000", "1", "4", "0", "0", "0"],
        radii: { "0.05": radii, "0.01": radii, "0.1": radii },
        margins: [
            { whole: ["20000", "5", "0"], radii: { "0.05": bar("9"), "0.01": bar("9"), "0.1": bar("9") } },
            { whole: ["20005", "-1"], radii: { "0.05": bar("11"), "0.01": bar("11"), "0.1": bar("11") } },
        ],
        sentence: "The fitted tables agree.",
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
    shown?.close();
    vi.restoreAllMocks();
});

const texts = (el: Element, which: string): (string | null)[] => [...el.querySelectorAll(which)].map((one) => one.textContent);

test("the first table of two columns is a map with its totals, names as texts and not as a page's code", () => {
    const el = open(marginals());
    const map = el.querySelector(".dp-plot > svg")!;
    expect(texts(map, ".dp-heat-value")).toEqual(["20,000", "0", "6", "\u22121", "0", "0"]);
    expect(texts(map, "text")).toEqual(expect.arrayContaining(["1000", "2000", "<b>y</b>", "20,000 ±9", "5 ±9", "0 ±9", "20,005 ±11", "\u22121"]));
    expect(el.textContent).toContain("Any one cell of a × b is within ±≈12 of the true count, 95 in 100");
    expect(el.querySelectorAll("b").length).toBe(0);
});

test("a cell is hollow where its own interval holds 0, and a larger value is never weaker", () => {
    const map = open(marginals()).querySelector(".dp-plot > svg")!;
    expect(map.querySelectorAll(".dp-heat-hole").length).toBe(5);
    const strengths = [...map.querySelectorAll(".dp-heat")].map((one) => Number(one.getAttribute("fill-opacity")));
    expect(strengths[0]).toBeGreaterThan(0.5);
    expect(strengths.slice(1).every((one) => one === 0.1)).toBe(true);
});

test("another table is picked, as a list with its error", () => {
    const el = open(marginals());
    const select = el.querySelector<HTMLSelectElement>(".dp-map-of select")!;
    expect(texts(select, "option")).toEqual(["a", "a × b"]);
    select.value = "0";
    select.dispatchEvent(new Event("change"));
    const list = el.querySelector("[aria-label='Cells of a']")!;
    expect(texts(list, "tbody td")).toEqual(["1000", "20,000.5", "±9", "2000", "5", "±9", "3000", "\u22120.3", "±9"]);
    expect(el.querySelector(".dp-plot > svg")).toBeNull();
});

test("cells are read as whole numbers from 0, with their own totals and without error bars", () => {
    const el = open(marginals());
    const select = [...el.querySelectorAll<HTMLSelectElement>(".dp-map-of select")][1]!;
    expect(texts(select, "option")).toEqual(["fitted: unbiased, with error bars", "whole numbers from 0: biased, without error bars"]);
    select.value = "nonnegative whole";
    select.dispatchEvent(new Event("change"));
    const map = el.querySelector(".dp-plot > svg")!;
    expect(texts(map, ".dp-heat-value")).toEqual(["20,000", "1", "4", "0", "0", "0"]);
    expect(texts(map, "text")).toEqual(expect.arrayContaining(["20,001", "4", "20,004", "1"]));
    expect([map.querySelectorAll(".dp-heat-hole").length, el.textContent!.includes("±")]).toEqual([0, false]);
    expect(el.textContent).toContain("No interval is stated");
    const table = el.querySelector<HTMLSelectElement>(".dp-map-of select")!;
    table.value = "0";
    table.dispatchEvent(new Event("change"));
    expect(texts(el.querySelector("[aria-label='Cells of a']")!, "tbody td")).toEqual(["1000", "20,001", "2000", "4", "3000", "0"]);
});

test("where one reader is offered there is nothing to choose", () => {
    const el = open(marginals({ readers: ["fitted"], nonnegative: [] }));
    expect(el.querySelectorAll(".dp-map-of select").length).toBe(1);
});

test("the numbers of all tables are one table", () => {
    const { table, read } = marginalsView;
    const { fitted, ...rest } = marginals();
    const element = table!(read({ ...rest, content: { ...rest, fitted } }), "0.05");
    const rows = [...element.querySelectorAll("tbody tr")].map((row) => texts(row, "td"));
    expect(rows.length).toBe(9);
    expect(rows[1]).toEqual(["a = 2000", "5", "±9", "≤ 20"]);
    expect(rows[4]).toEqual(["a = 1000 · b = <b>y</b>", "1", "±≈12", "≤ 30"]);
    expect(rows[7]).toEqual(["a = 3000 · b = x", "0", "±≈12", "≤ 30"]);
});

test("the total alone has a name of its own", () => {
    const one = { one: [bar("9")], all: [bar("9")] };
    const el = open(marginals({ tables: [[]], fitted: ["700"], whole: ["7"], readers: ["fitted"], nonnegative: [], radii: { "0.05": one, "0.01": one, "0.1": one } }));
    expect(el.textContent).toContain("The total is within ±9 of the true count");
    expect(el.querySelector(".dp-map-of")).toBeNull();
});

test.each([
    ["a cell too few", { whole: ["1"] }],
    ["a whole cell too few", { nonnegative: ["1"] }],
    ["a table of other columns", { tables: [["0"], ["0", "7"]] }],
    ["no table", { tables: [], fitted: [], whole: [], readers: [], nonnegative: [] }],
    ["a margin too few", { margins: [] }],
    ["no sentence", { sentence: 7 }],
])("what is malformed is not drawn: %s", (_, wrong) => {
    const el = open(marginals(wrong));
    expect([el.querySelector(".dp-marginals"), vi.mocked(console.warn).mock.calls.length]).toEqual([null, 1]);
});

const grid = (rows: number, columns: number): HeatMap => ({
    down: { name: "down", labels: Array.from({ length: rows }, (_, i) => `a rather long name ${i}`), totals: Array.from({ length: rows }, () => "1,234,567 ±89") },
    across: { name: "across", labels: Array.from({ length: columns }, (_, i) => `column ${i}`), totals: Array.from({ length: columns }, () => "12") },
    cells: Array.from({ length: rows * columns }, (_, i) => ({ near: i, text: String(i), open: i % 7 === 0 })),
    error: 1,
    title: "A map",
});

test.each([240, 320, 400, 480, 640, 1200])("a total stands with its error, at any width: %i", (room) => {
    for (const columns of [1, 2, 4, 6, 12]) {
        const total = "1,234 ±56";
        const map = heatMap({ ...grid(3, columns), across: { name: "across", labels: Array.from({ length: columns }, (_, i) => `c${i}`), totals: Array.from({ length: columns }, () => total) } }, room)!;
        const words = [...map.element.querySelectorAll("text")].map((one) => one.textContent!);
        const many = (text: string): number => words.filter((one) => one === text).length;
        expect(many("1,234")).toBe(many("±56"));
        expect([0, columns]).toContain(many(total) + many("1,234"));
        if (room >= 640 && columns <= 6) expect(many(total) + many("1,234")).toBe(columns);
    }
});

test("strengths are even where cells differ by them, closer below where most cells would look alike, and never closer than the error", () => {
    const even = Array.from({ length: 60 }, (_, i) => i);
    expect(endsOf(even, 1)).toEqual([10, 20, 30, 40, 50, 60]);
    const skewed = Array.from({ length: 60 }, (_, i) => Math.round(1500 * (i / 59) ** 4));
    for (const error of [1, 20]) {
        const ends = endsOf(skewed, error);
        expect(ends.every((end, i) => end > (ends[i - 1] ?? error))).toBe(true);
        expect(ends.at(-1)).toBe(1500);
        const classes = ends.map((end, i) => skewed.filter((value) => value <= end && value > (ends[i - 1] ?? -1)).length);
        expect(Math.max(...classes)).toBeLessThanOrEqual(30);
        expect(classes.reduce((sum, many) => sum + many, 0)).toBe(60);
    }
    expect(endsOf(skewed, 300)).toEqual([250, 500, 750, 1000, 1250, 1500]);
});

test("a map without room for numbers tells the largest with its error, and how to read the others", () => {
    const told = { value: "b: 7", bars: "±2" };
    const [narrow, wide] = [false, true].map((written) => largestCell({ written, told: (cell) => ({ ...told, value: `${told.value} of ${cell}` }) }, [1, 7, 3]));
    expect(narrow!.textContent).toContain("The largest cell is b: 7 of 1; ±2.");
    expect(wide).toBeNull();
});

test.each([240, 320, 640, 1200])("nothing leaves the picture at a width of %i, which is wider only where cells would be too narrow", (room) => {
    for (const [rows, columns] of [[1, 1], [3, 2], [12, 12], [60, 40], [5, 60]] as const) {
        const map = heatMap(grid(rows, columns), room)!;
        const width = map.element.viewBox.baseVal.width;
        const cells = [...map.element.querySelectorAll(".dp-heat")].map((cell) => ["x", "width"].map((name) => Number(cell.getAttribute(name))) as [number, number]);
        expect(cells.length).toBe(rows * columns);
        for (const [x, wide] of cells) {
            expect(x).toBeGreaterThanOrEqual(0);
            expect(x + wide).toBeLessThanOrEqual(width);
            expect(wide).toBeGreaterThanOrEqual(8);
        }
        if (cells[0]![1] > 8) expect(width).toBe(room);
        else expect(width).toBeGreaterThanOrEqual(room);
    }
    expect(heatMap(grid(61, 2), room)).toBeNull();
    expect(heatMap(grid(2, 61), room)).toBeNull();
});

test("the cell at a place is the one whose box is there, and the margins are none", () => {
    const map = heatMap(grid(4, 6), 640)!;
    for (let cell = 0; cell < 24; cell += 1) {
        const { left, right, top, bottom } = map.box(cell);
        expect(map.at((left + right) / 2, (top + bottom) / 2)).toBe(cell);
    }
    expect([map.at(1, 60), map.at(300, 3), map.at(639, 60)]).toEqual([null, null, null]);
});

const walker = (el: HTMLElement): HTMLInputElement => el.querySelector<HTMLInputElement>("input[aria-label='Walk the cells']")!;

test("arrow keys walk the cells of a table in two dimensions, and each is told with its error", () => {
    const el = open(marginals());
    walker(el).focus();
    const told = (): string => walker(el).getAttribute("aria-valuetext")!;
    expect(told()).toBe("a = 1000, b = x: 20,000 released, fitted; this cell alone: ±≈12, 95 in 100 · among all: ≤ 30");
    press(walker(el), "ArrowRight");
    expect(told()).toContain("a = 1000, b = <b>y</b>: 1 released");
    press(walker(el), "ArrowDown");
    expect(told()).toContain("a = 2000, b = <b>y</b>: \u22121");
    press(walker(el), "ArrowDown");
    press(walker(el), "ArrowDown");
    expect(told()).toContain("a = 3000, b = <b>y</b>");
    press(walker(el), "Home");
    expect(told()).toContain("a = 3000, b = x");
    expect(el.querySelector<HTMLElement>(".dp-tip")!.textContent).toContain("whether it is empty is not settled");
});

test("the strengths end at a number whose sixths are short", () => {
    expect([[], [1], [7], [12], [13], [3414], [99_999]].map((values) => top(values))).toEqual([1.2, 1.2, 7.2, 12, 15, 3600, 120_000]);
});
