/** Counts of two columns: a map with its uncertainty, bars beside each other, and the list on which sums are asked. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { groupedBars, MOST_BESIDE } from "../src/charts/grouped_bars";
import { bring } from "../src/answers/result_view";
import { productView } from "../src/views/product";
import { inRows } from "../src/answers/walk";
import { Host, press, render, result, type Shown } from "./host";

bring(productView);

let shown: Shown;

const bar = (value: string): any => ({ value, kind: "exact", rule: "a law" });
const both = (one: string, all: string): any => ({ one: bar(one), all: bar(all) });

/** Sexes by years: the last column runs fastest, and each value says where it stands. */
function product(sexes: readonly string[], years: readonly string[], more: Record<string, unknown> = {}): any {
    const { strips: _, ...head } = result() as any;
    const labels = sexes.flatMap((sex) => years.map((year) => `${sex} · ${year}`));
    return {
        ...head,
        kind: "product",
        axis: "sex and year",
        scale: "product",
        scales: ["categories", "integers"],
        factors: [
            { name: "sex", labels: sexes, scale: "categories" },
            { name: "year", labels: years, scale: "integers" },
        ],
        bins: String(labels.length),
        size: `${labels.length} bins`,
        labels,
        short_labels: labels,
        values: sexes.flatMap((_, sex) => years.map((_, year) => String(100 * sex + 10 * year))),
        clamp: { low: "0", high: null },
        bars: { "0.05": both("15", "35"), "0.01": both("20", "40"), "0.1": both("10", "30") },
        adds_up: true,
        ...more,
    };
}

const SEXES = ["F", "<b>M</b>"];
const YEARS = ["1990", "1991", "1992", "1993"];

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

const texts = (el: Element, which: string): string[] => [...el.querySelectorAll(which)].map((one) => one.textContent!);
const chart = (el: HTMLElement): SVGSVGElement => el.querySelector<SVGSVGElement>(".dp-product svg.dp-chart")!;
const walker = (el: HTMLElement): HTMLInputElement => el.querySelector<HTMLInputElement>("input[aria-label='Walk the cells']")!;
const told = (el: HTMLElement): string => walker(el).getAttribute("aria-valuetext")!;
const looks = (el: HTMLElement): string[] => texts(el, ".dp-product > .dp-looks label");

function pick(el: HTMLElement, name: string): void {
    const input = el.querySelector<HTMLInputElement>(`.dp-product > .dp-looks input[value='${name}']`)!;
    input.checked = true;
    input.dispatchEvent(new Event("change", { bubbles: true }));
}

test("two columns are a map at first: the longer one down, each value in its cell, hollow where 0 is not ruled out", () => {
    const el = open(product(SEXES, YEARS));
    expect(looks(el)).toEqual(["Map", "Grouped bars", "List"]);
    expect(texts(chart(el), ".dp-heat-value")).toEqual(["0", "100", "10", "110", "20", "120", "30", "130"]);
    expect(texts(chart(el), "text")).toEqual(expect.arrayContaining(["year", "sex", "F", "<b>M</b>", "1990"]));
    expect(chart(el).querySelectorAll(".dp-heat-hole").length).toBe(2);
    expect(el.querySelectorAll("b").length).toBe(0);
    expect(texts(chart(el), "text")).not.toContain("total");
});

test("the colours have their scale, with how far a cell may be off on the same one", () => {
    const el = open(product(SEXES, YEARS));
    const scale = el.querySelector(".dp-map-key svg")!;
    expect(texts(scale, "text")).toEqual(expect.arrayContaining(["any one cell ±15", "all 8 at once ±35"]));
    const steps = [...scale.querySelectorAll("rect.dp-heat")].map((rect) => Number(rect.getAttribute("x")));
    const thick = scale.querySelector("line.dp-one")!;
    const size = (Number(thick.getAttribute("x2")) - 0) / 30; // both sides of ±15
    expect(Math.abs((steps[1]! - steps[0]!) / 25 - size)).toBeLessThan(0.05); // six steps to 150
});

test("arrow keys walk the cells in two dimensions, each told with its value and both intervals", () => {
    const el = open(product(SEXES, YEARS));
    walker(el).focus();
    expect(told(el)).toBe("sex = F, year = 1990: 0 released, ±15, 95 in 100; this cell alone: 0 to 15 · among all 8: 0 to 35");
    press(walker(el), "ArrowDown");
    press(walker(el), "ArrowRight");
    expect(told(el)).toBe("sex = <b>M</b>, year = 1991: 110 released, ±15, 95 in 100; this cell alone: 95 to 125 · among all 8: 75 to 145");
    press(walker(el), "PageDown");
    expect(told(el)).toContain("sex = <b>M</b>, year = 1993");
    press(walker(el), "Home");
    expect(told(el)).toContain("sex = F, year = 1993");
});

test("rows are left by no arrow, and keys that mean nothing are not taken", () => {
    const move = inRows(3, 12);
    expect(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"].map((key) => move(key, 4))).toEqual([3, 5, 1, 7, 3, 5, 1, 10]);
    expect([move("ArrowRight", 5), move("ArrowLeft", 3), move("ArrowUp", 1), move("ArrowDown", 11), move("x", 4)]).toEqual([5, 3, 1, 11, null]);
});

test("grouped bars stand beside each other with both bars of each, and are walked", () => {
    const el = open(product(SEXES, YEARS));
    pick(el, "Grouped bars");
    const groups = [...chart(el).querySelectorAll(".dp-beside")];
    expect(groups.map((one) => one.querySelectorAll(".dp-beside-dot").length)).toEqual([4, 4]);
    expect(texts(el, ".dp-series-key span")).toEqual(["F", "<b>M</b>"]);
    expect(el.textContent).toContain("thin with caps ±35, holds for all 8 bins at once, 95 in 100");
    walker(el).focus();
    press(walker(el), "ArrowRight");
    expect(told(el)).toContain("sex = <b>M</b>, year = 1990: 100 released");
    press(walker(el), "ArrowDown");
    expect(told(el)).toContain("sex = <b>M</b>, year = 1991: 110 released");
    press(walker(el), "End");
    expect(told(el)).toContain("sex = <b>M</b>, year = 1993: 130 released");
});

test("bars end where intervals do, and a cut end has no cap", () => {
    const ends = (value: number, reach: number): any => ({ low: Math.max(0, value - reach), high: value + reach, lowCut: value < reach, highCut: false });
    const values = [[0, 60], [30, 90]];
    const { element, box, at } = groupedBars(
        {
            groups: { axis: "year", scale: "integers", scales: null, sparse: false, short_labels: { length: 2, at: (row) => String(row) } },
            series: ["a", "b"],
            mark: (group, one) => ({ value: values[group]![one]!, one: ends(values[group]![one]!, 5), all: ends(values[group]![one]!, 10), strips: [], around: "" }),
            nouns: "people",
            title: "Bars",
            teaching: false,
        },
        400,
    );
    const strokes = (which: string): number[][][] =>
        [...element.querySelectorAll(which)].map((path) => [...path.getAttribute("d")!.matchAll(/M([\d.]+) ([\d.]+)V([\d.]+)/g)].map((found) => found.slice(1).map(Number)));
    const [thick, thin] = [strokes("path.dp-beside-one"), strokes("path.dp-beside-all")];
    const size = (thick[1]![1]![1]! - thick[1]![1]![2]!) / 10;
    expect(size).toBeGreaterThan(1);
    const foot = thick[0]![0]![1]!;
    for (const [group, row] of values.entries())
        for (const [one, value] of row.entries())
            for (const [drawn, reach] of [[thick, 5], [thin, 10]] as const) {
                const [, low, high] = drawn[one]![group]!;
                expect(Math.abs(foot - low! - size * Math.max(0, value - reach))).toBeLessThan(0.3);
                expect(Math.abs(foot - high! - size * (value + reach))).toBeLessThan(0.3);
            }
    const caps = [...element.querySelectorAll("path.dp-beside-all")].map((path) => path.getAttribute("d")!.match(/h/g)!.length);
    expect(caps).toEqual([3, 4]);
    const spot = box(1, 1);
    expect(at((spot.left + spot.right) / 2, 100)).toEqual([1, 1]);
});

test("the list is one of the choices, and is where bars are added up", () => {
    const el = open(product(SEXES, YEARS));
    expect(el.querySelector(".dp-ask")).toBeNull();
    pick(el, "List");
    expect(el.querySelector(".dp-ask")).not.toBeNull();
    expect(texts(el, "svg.dp-chart text")).toContain("F · 1990");
    pick(el, "Map");
    expect(chart(el).querySelectorAll(".dp-heat").length).toBe(8);
});

test.each([
    [7, 9, ["Map", "List"]],
    [2, 61, ["Grouped bars", "List"]],
    [MOST_BESIDE, 60, ["Map", "Grouped bars", "List"]],
    [7, 61, []],
    [1, 20, []],
])("%i by %i bins are drawn as %j", (sexes, years, choice) => {
    const el = open(product(Array.from({ length: sexes }, (_, at) => `s${at}`), Array.from({ length: years }, (_, at) => String(1900 + at))));
    expect(looks(el)).toEqual(choice);
    expect(el.querySelector("svg.dp-chart")).not.toBeNull();
});

test("an answer of an earlier version, without its columns, is the list it always was", () => {
    const el = open(product(SEXES, YEARS, { factors: null }));
    expect([el.querySelector(".dp-product"), el.querySelector(".dp-ask") === null]).toEqual([null, false]);
});

test("a teaching draw is told as one, and its bars are hatched", () => {
    const el = open(product(SEXES, YEARS, { teaching: { seed: "7" }, number: null }));
    walker(el).focus();
    expect(told(el)).toContain("0 drawn, ±15");
    pick(el, "Grouped bars");
    expect(chart(el).querySelector("path[fill^='url(#']")).not.toBeNull();
});

test.each([
    ["one column", { factors: [{ name: "sex", labels: SEXES, scale: "categories" }] }],
    ["a cell too few", { factors: [{ name: "sex", labels: ["F"], scale: "categories" }, { name: "year", labels: YEARS, scale: "integers" }] }],
    ["a scale that is none", { factors: [{ name: "sex", labels: SEXES, scale: "x" }, { name: "year", labels: YEARS, scale: "integers" }] }],
])("what is malformed is not drawn: %s", (_, wrong) => {
    const el = open(product(SEXES, YEARS, wrong));
    expect(el.querySelector(".dp-product")).toBeNull();
    expect(vi.mocked(console.warn)).toHaveBeenCalledTimes(1);
});
