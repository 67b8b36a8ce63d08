/** Answers about disjoint parts: panels on one axis or rows of cells, and a table with one error for all values. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { moved } from "../src/charts/multiples";
import { bring } from "../src/answers/result_view";
import { groupedView, MOST_BARS, MOST_PANELS } from "../src/views/grouped";
import { Host, press, render, result, type Shown } from "./host";

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

test("an answer of an earlier version, which has no panels, is its table: each part is a column, as text and not as a page's code", () => {
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

// --- panels --------------------------------------------------------------------------------------------------------

const bar = (value: string, kind = "exact"): any => ({ value, kind, rule: "a law" });
const both = (one: string, all: string | null): any => ({ one: bar(one), all: all === null ? null : bar(all) });
const BARS = { "0.05": both("10", "20"), "0.01": both("15", "30"), "0.1": both("8", "16") };

/** Months, each with the same bins of ages; `rows` values in each. */
function panels(names: readonly string[], ages: readonly string[], more: Record<string, unknown> = {}): any {
    const values = names.flatMap((_, part) => ages.map((_, age) => String(100 * part + 10 * age)));
    return grouped({
        bars: BARS,
        parts: { each: "month", names, axis: "age", noun: "bin", whole: String(ages.length), rows: names.map(() => String(ages.length)), shared: true, list: null },
        scale: "integers",
        labels: ages,
        short_labels: ages,
        values,
        clamp: { low: "0", high: null },
        ...more,
    });
}

/** Keys that were found, each part with its own. */
const found = (rows: readonly string[][], values: readonly string[], more: Record<string, unknown> = {}): any =>
    panels(rows.map((_, at) => `m${at + 1}`), [], {
        parts: { each: "month", names: rows.map((_, at) => `m${at + 1}`), axis: "city", noun: "bin", whole: "unknown keys", rows: rows.map((one) => String(one.length)), shared: false, list: null },
        scale: "keys",
        labels: rows.flat(),
        short_labels: [],
        values,
        bars: { "0.05": both("10", null), "0.01": both("15", null), "0.1": both("8", null) },
        ...more,
    });

const lists = (rows: readonly string[][], ended: readonly boolean[], more: Record<string, unknown> = {}): any =>
    found(rows, [], {
        parts: { each: "month", names: rows.map((_, at) => `m${at + 1}`), axis: "city", noun: "item", whole: "", rows: rows.map((one) => String(one.length)), shared: false, list: { places: "3", ordered: true, ended } },
        bars: {},
        figures: false,
        ...more,
    });

const chart = (el: HTMLElement): SVGSVGElement => el.querySelector<SVGSVGElement>("svg.dp-chart")!;
const walker = (el: HTMLElement): HTMLInputElement => el.querySelector<HTMLInputElement>(".dp-walker")!;
const words = (el: Element): string[] => [...el.querySelectorAll("text")].map((one) => one.textContent!);
const AGES = Array.from({ length: 30 }, (_, at) => String(20 + at));

/** Every vertical stroke of a path: where it stands, and its ends. */
const strokes = (d: string): number[][] => [...d.matchAll(/M([\d.-]+) ([\d.-]+)V([\d.-]+)/g)].map(([, x, a, b]) => [Number(x), Number(a), Number(b)]);

test("all panels stand on one axis: equal values stand equally high over their feet, and bars end where intervals do", () => {
    const el = open(panels(["January", "<b>February</b>", "March"], AGES));
    const thick = [...chart(el).querySelectorAll("path.dp-one")].map((path) => strokes(path.getAttribute("d")!));
    const thin = [...chart(el).querySelectorAll("path.dp-all")].map((path) => strokes(path.getAttribute("d")!));
    expect([thick.length, thick[0]!.length]).toEqual([3, 30]);
    const feet = [...chart(el).querySelectorAll("path.dp-bar")].map((path) => Number(/M[\d.-]+ ([\d.-]+)V/.exec(path.getAttribute("d")!)![1]));
    const size = (feet[2]! - (thick[2]![29]![1]! + thick[2]![29]![2]!) / 2) / 490; // 200 + 290 in the last bin of March
    for (let part = 0; part < 3; part += 1)
        for (const age of [0, 1, 7, 29]) {
            const value = 100 * part + 10 * age;
            const ends = (reach: number): [number, number] => [feet[part]! - size * Math.max(0, value - reach), feet[part]! - size * (value + reach)];
            for (const [drawn, reach] of [[thick, 10], [thin, 20]] as const) {
                const [, low, high] = drawn[part]![age]!;
                expect(Math.abs(low! - ends(reach)[0])).toBeLessThan(0.3);
                expect(Math.abs(high! - ends(reach)[1])).toBeLessThan(0.3);
            }
        }
    expect(words(chart(el))).toEqual(expect.arrayContaining(["January", "<b>February</b>", "March", "age"]));
    expect(el.querySelectorAll("b").length).toBe(0);
});

test("the words say what both bars hold for, and what stands out", () => {
    const el = open(panels(["January", "February"], AGES));
    expect(el.textContent).toContain("thick ±10, holds for any one bin, 95 in 100 (exact)");
    expect(el.textContent).toContain("thin with caps ±20, holds for all 30 of one month at once, 95 in 100 (exact)");
    expect(el.textContent).toContain("Most person-years at February, 49: 390 released.");
});

test("arrow keys walk the bins of a panel and the same bin of others, with both intervals", () => {
    const el = open(panels(["January", "February", "March"], AGES));
    const told = (): string => walker(el).getAttribute("aria-valuetext")!;
    walker(el).focus();
    expect(told()).toBe("January, 20: 0 released; this bin alone: 0 to 10 · among all 30 of this month: 0 to 20");
    press(walker(el), "ArrowRight");
    press(walker(el), "ArrowDown");
    expect(told()).toBe("February, 21: 110 released; this bin alone: 100 to 120 · among all 30 of this month: 90 to 130");
    press(walker(el), "End");
    press(walker(el), "ArrowRight");
    expect(told()).toContain("March, 20: 200");
    press(walker(el), "ArrowDown");
    expect(told()).toContain("March, 20: 200");
    expect(el.querySelector<HTMLElement>(".dp-tip")!.hidden).toBe(false);
    press(walker(el), "Escape");
    expect(el.querySelector<HTMLElement>(".dp-tip")!.hidden).toBe(true);
});

test("keys skip what is empty, and never leave the panels", () => {
    const keys = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"] as const;
    const at = (key: string, from: number): number | null => moved(key, from, keys, [3, 0, 2], 2);
    expect([at("ArrowRight", 2), at("ArrowLeft", 4), at("ArrowLeft", 0), at("ArrowRight", 4)]).toEqual([4, 1, 0, 4]);
    expect([at("ArrowDown", 4), at("ArrowUp", 0), at("Home", 4), at("End", 0), at("PageDown", 1), at("a", 1)]).toEqual([4, 0, 3, 2, 4, null]);
});

test("twelve parts are drawn at once, on the axis of all, and the others are turned to", () => {
    const names = Array.from({ length: 30 }, (_, at) => `part ${at + 1}`);
    const el = open(panels(names, AGES));
    const shownNow = (): string[] => words(chart(el)).filter((text) => text.startsWith("part "));
    const axis = words(chart(el)).filter((text) => /^\d,\d{3}$/.test(text));
    expect(shownNow()).toEqual(names.slice(0, MOST_PANELS));
    expect(axis).toContain("3,000");
    shown.button("Later").click();
    shown.button("Later").click();
    expect(shownNow()).toEqual(names.slice(2 * MOST_PANELS));
    expect(shown.button("Later").disabled).toBe(true);
    expect(words(chart(el)).filter((text) => /^\d,\d{3}$/.test(text)).length).toBeGreaterThan(0);
    walker(el).focus();
    expect(walker(el).getAttribute("aria-valuetext")).toContain("part 25, 20: 2,400 released");
});

test("bins narrower than a mark run together into bands, and the words say so", () => {
    const many = Array.from({ length: 400 }, (_, at) => String(at));
    const el = open(panels(["January", "February"], many));
    expect([chart(el).querySelectorAll(".dp-column-value").length, chart(el).querySelectorAll(".dp-one").length]).toEqual([2, 0]);
    expect(el.textContent).toContain("middle ±10, holds for any one bin");
});

test("found keys lie beside their labels, each part with its own, and of many the first few", () => {
    const many = Array.from({ length: MOST_BARS + 5 }, (_, at) => `city ${at}`);
    const el = open(found([many, [], ["<i>x</i>"]], [...many.map((_, at) => String(900 - at)), "7"]));
    const said = words(chart(el));
    expect(said).toEqual(expect.arrayContaining(["city 0", "900", `city ${MOST_BARS - 1}`, "5 more in the table", "nothing is shown", "<i>x</i>", "7"]));
    expect(said).not.toContain(`city ${MOST_BARS}`);
    expect(chart(el).querySelectorAll("circle").length).toBe(MOST_BARS + 1);
    expect(el.textContent).toContain("no bar holds for all bins at once");
    walker(el).focus();
    press(walker(el), "ArrowRight");
    expect(walker(el).getAttribute("aria-valuetext")).toBe("m3, <i>x</i>: 7 released; this bin alone: 0 to 17");
});

test("where nothing is shown in any part, that is what is said", () => {
    const el = open(found([[], []], []));
    expect(words(chart(el)).filter((text) => text === "nothing is shown").length).toBe(2);
    expect(el.textContent).toContain("Nothing is shown in any part.");
    expect(walker(el).hidden).toBe(true);
});

test("intervals that differ from value to value are drawn as they are", () => {
    const column = (by: number): string[] => ["5", "9", "30"].map((value) => String(Number(value) + by));
    const ends = { "one_low 0.05": column(-1), "one_high 0.05": column(2), "all_low 0.05": column(-4), "all_high 0.05": column(6) };
    const el = open(found([["1", "2"], ["1"]], ["5.25", "9", "30"], { bars: {}, ...ends }));
    walker(el).focus();
    expect(walker(el).getAttribute("aria-valuetext")).toContain("m1, 1: 5.3 released; this bin alone: 4 to 7 · among all unknown keys of this month: 1 to 11");
    expect(chart(el).querySelectorAll(".dp-one").length).toBe(3);
    expect(el.querySelector<HTMLElement>("select[aria-label='How often the bars hold']")!.hidden).toBe(false);
});

test("lists are rows of cells that are walked by rank, with what ended them", () => {
    const el = open(lists([["ATL", "<b>LAX</b>"], ["BOS", "ATL", "ORD"]], [true, false]));
    expect([...el.querySelectorAll(".dp-part strong")].map((one) => one.textContent)).toEqual(["m1", "m2"]);
    expect([...el.querySelectorAll(".dp-part .dp-cell")].map((one) => one.textContent)).toEqual(["ATL", "<b>LAX</b>", "⊥", "BOS", "ATL", "ORD"]);
    expect(el.textContent).toContain("Ranks from left to right. ⊥: no more; that does not say that nothing else is there.");
    walker(el).focus();
    expect(walker(el).getAttribute("aria-valuetext")).toBe("m1, rank 1: ATL");
    press(walker(el), "End");
    expect(walker(el).getAttribute("aria-valuetext")).toContain("m1: ⊥ no more");
    press(walker(el), "ArrowDown");
    expect(walker(el).getAttribute("aria-valuetext")).toBe("m2, rank 3: ORD");
});

test("the table is there beside the panels", () => {
    const el = open(panels(["January", "<b>February</b>"], ["20", "21"]));
    shown.button("Table").click();
    expect([...el.querySelectorAll("tbody td")].map((one) => one.textContent)).toEqual(["a", "12", "-3", "b", "", "7"]);
});

test.each([
    ["a part without its number of rows", { parts: { ...panels(["a", "b"], AGES).parts, rows: ["30"] } }],
    ["a value too few", { values: ["1"] }],
    ["labels of other bins", { labels: ["1"], short_labels: ["1"] }],
    ["an interval too few", { "one_low 0.05": ["1"], "one_high 0.05": ["1"] }],
    ["a list without ends", { parts: { ...panels(["a", "b"], AGES).parts, list: { places: "3", ordered: true, ended: [] } } }],
])("panels that are malformed are not drawn: %s", (_, wrong) => {
    const el = open(panels(["a", "b"], AGES, wrong));
    expect([el.querySelector(".dp-parts"), vi.mocked(console.warn).mock.calls.length]).toEqual([null, 1]);
});

test.each([
    [["11", "12", "13", "14", "13", "12"], false],
    [["11", "12", "900", "14", "13", "850"], true],
    [["110", "120", "400", "140", "130", "380"], false],
])("a label much larger than all others is off the scale, with its number and error beside it: %s, %s", (values, off) => {
    const el = open(panels(["a", "b"], ["x", "y", "other"], { scale: "categories", values }));
    const bars = [...el.querySelectorAll("svg.dp-chart .dp-bar")].map((one) => Number(one.getAttribute("width")));
    expect(Math.max(...bars) < 5 * Math.max(bars[0]!, bars[1]!)).toBe(true);
    expect(el.querySelectorAll("svg.dp-chart .dp-over").length).toBe(off ? 2 : 0);
    expect(el.textContent!.includes("is off the scale")).toBe(off);
    for (const one of [values[2]!, values[5]!]) expect(words(el).includes(`${one} ±10`)).toBe(off);
});
