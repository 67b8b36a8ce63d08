/** Counts that a profile closes, on the page: both bars, their words, their switch, and what is refused. */

import { afterEach, expect, test } from "vitest";
import answers from "../fixtures/limited.json";
import { bring } from "../src/answers/result_view";
import { histogramView } from "../src/views/histogram";
import { Malformed } from "../src/protocol/readers";
import { readResult } from "../src/protocol/protocol";
import { counted } from "../src/wording/counted";
import { Host, render, type Shown } from "./host";

bring(histogramView);

const closed = (): any => structuredClone(answers.closed);

let shown: Shown;
afterEach(() => shown?.close());

function draw(result: unknown = closed()): HTMLElement {
    shown = render(new Host("result-chart", { result }));
    return shown.el as HTMLElement;
}

function walkTo(el: HTMLElement, row: number): string {
    const walker = el.querySelector<HTMLInputElement>("input.dp-walker")!;
    walker.dispatchEvent(new Event("focus"));
    walker.value = String(row);
    walker.dispatchEvent(new Event("input", { bubbles: true }));
    return walker.getAttribute("aria-valuetext")!;
}

/** The lowest and the highest place of the wide bars. */
function wide(el: HTMLElement): number[] {
    const path = el.querySelector(".dp-plot path.dp-asked")!.getAttribute("d")!;
    return [...path.matchAll(/V([\d.]+)/g)].map((found) => Number(found[1]));
}

test("a wide bar for what was asked lies behind a thin one for what was counted, and no end is open", () => {
    const el = draw();
    expect(el.querySelectorAll(".dp-plot path.dp-asked").length).toBe(1);
    expect(el.querySelectorAll(".dp-plot path.dp-one").length).toBe(1);
    expect(el.querySelector(".dp-open-end")).toBeNull();
    expect(wide(el).length).toBe(2 * answers.closed.values.length);
    const key = el.querySelector(".dp-result-tools")!.textContent!;
    expect(key).toMatch(/thin .*holds what was counted within the limit, for any one bin/);
    expect(key).toMatch(/wide holds what you asked for, with what the limit left out, for any one bin/);
    expect(key).toMatch(/Each aircraft counts in at most 3 of 12 months\. Upper ends include aircraft over the limit/);
    expect(key).toMatch(/one after the other/);
    expect(key).not.toMatch(/arrow/i);
});

test("a reader hears both intervals of a bin, and the table lists them", () => {
    const el = draw();
    const { one, all } = answers.closed.asked.ends["0.05"];
    const told = walkTo(el, 2);
    expect(told).toContain(`this bin alone: ${one.low[2]} to ${one.high[2]} asked for; `);
    expect(told).toContain(`among all 12: ${all.low[2]} to ${all.high[2]} asked for; `);
    expect(told).toMatch(/counted within the limits/);
    [...el.querySelectorAll("button")].find((button) => button.textContent === "Table")!.click();
    const cells = [...el.querySelectorAll("tbody tr")][2]!.textContent!;
    for (const ends of [one, all]) expect(cells).toContain(`${ends.low[2]} to ${ends.high[2]}`);
    expect([...el.querySelectorAll("thead th")].map((head) => head.textContent)).toEqual(["month", "drawn", "asked for, this bin alone", "asked for, among all 12", "counted, this bin alone", "counted, among all 12"]);
});

test("a reader picks whether both bars hold for one bin or for all, and the words follow", () => {
    const el = draw();
    const before = wide(el);
    const switched = el.querySelector<HTMLFieldSetElement>("fieldset[aria-label='Both bars hold for']")!;
    expect(switched.hidden).toBe(false);
    switched.querySelectorAll("input")[1]!.click();
    expect(wide(el)).not.toEqual(before);
    expect(el.querySelector(".dp-result-tools")!.textContent).toMatch(/wide holds what you asked for, .*for all 12 bins at once/);
});

test("an end that the profile leaves open is an arrow, with words", () => {
    const result = closed();
    for (const ends of Object.values<any>(result.asked.ends)) for (const which of ["one", "all"]) ends[which].high[2] = null;
    const el = draw(result);
    expect(el.querySelector(".dp-open-end")!.getAttribute("d")!.match(/Z/g)!.length).toBe(1);
    expect(el.querySelector(".dp-result-tools")!.textContent).toMatch(/arrow the profile does not close this end/);
    expect(walkTo(el, 2)).toMatch(/this bin alone: at least \d+ asked for; /);
});

test("names that lie on their side have both bars, too, and so do columns of pixels", () => {
    const result = closed();
    const el = draw({ ...result, scale: "categories" });
    expect(el.querySelectorAll(".dp-plot rect.dp-asked").length).toBe(12);
    shown.close();
    const many = 480;
    const long = (list: readonly unknown[]): unknown[] => Array.from({ length: many }, (_, i) => list[i % list.length]);
    for (const ends of Object.values<any>(result.asked.ends)) for (const which of ["one", "all"]) for (const side of ["low", "high"]) ends[which][side] = long(ends[which][side]);
    const labels = Array.from({ length: many }, (_, i) => String(i));
    const bands = draw({ ...result, values: long(result.values), labels, short_labels: labels });
    expect(bands.querySelectorAll(".dp-plot path.dp-asked, .dp-plot path.dp-column-all").length).toBe(1);
});

test("without a profile there is neither a wide bar nor its switch", () => {
    const { asked: _, ...rest } = closed();
    const el = draw({ ...rest, guarantee: answers.cut.result.guarantee });
    expect(el.querySelector(".dp-asked")).toBeNull();
    expect(el.querySelector<HTMLFieldSetElement>("fieldset[aria-label='Both bars hold for']")!.hidden).toBe(true);
    expect(el.querySelector(".dp-open-end")).not.toBeNull();
});

test.each([
    ["a row without an end", (asked: any) => asked.ends["0.05"].one.low.pop()],
    ["a level without ends", (asked: any) => delete asked.ends["0.1"]],
    ["an end that is no number", (asked: any) => (asked.ends["0.05"].one.low[0] = "<b>")],
])("%s is refused", (_, spoil) => {
    const result = closed();
    spoil(result.asked);
    expect(() => readResult(result)).toThrow(Malformed);
    expect(readResult(closed()).asked!.remarks.length).toBeGreaterThan(1);
});

/** The table that the page writes of a result by itself. */
function table(result: unknown): string {
    const { head, rows, line } = histogramView.csv!(counted(readResult(result)), answers.closed.beta);
    return [head.trimEnd(), ...Array.from({ length: rows }, (_, row) => line(row)), ""].join("\n");
}

test.each([
    ["with a profile", answers.closed],
    ["with open ends", answers.cut.result],
    ["of which nothing is cut", answers.uncut.result],
])("the page writes the lines of Python's table, %s", (_, result) => {
    expect(table(result)).toBe(result.csv);
});

test("a table with other ends, and one that calls closed ends open, are told from Python's", () => {
    const result = closed();
    result.asked.ends["0.05"].all.high[2] = null;
    expect(table(result)).not.toBe(answers.closed.csv);
    expect(table({ ...closed(), asked: null })).not.toBe(answers.closed.csv);
    expect(table(closed())).not.toMatch(/upper ends are open/);
    expect(table({ ...closed(), asked: null })).toMatch(/upper ends are open/);
});
