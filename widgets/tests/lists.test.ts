import { afterEach, beforeEach, expect, test, vi } from "vitest";
import listJson from "../fixtures/list.json";
import sheetJson from "../fixtures/list-sheet.json";
import { cellList, unused, valuedList } from "../src/charts/ranked";
import { headline, phrase } from "../src/wording/measures";
import { readResult, readSheet } from "../src/protocol/protocol";
import { Malformed } from "../src/protocol/readers";
import { ordinal } from "../src/wording/words";
import { enter, Host, render, result as histogramJson, settle, sheet, state, type Shown } from "./host";

let shown: Shown | null = null;

const list = (): any => structuredClone(listJson);
const planned = (): any => structuredClone(sheetJson);

function ended(items: number): any {
    const answer = list();
    answer.labels = answer.short_labels = answer.labels.slice(0, items);
    answer.list = { places: "10", ordered: true, ended: items < 10, sentence: "No more: ⊥." };
    return answer;
}

function open(component: string, traits: Record<string, unknown>): Shown {
    shown?.close();
    shown = render(new Host(component, traits));
    return shown;
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown?.close();
    shown = null;
    vi.useRealTimers();
});

const cells = (el: Element, kind: string): number => el.querySelectorAll(`.dp-listed .dp-cell${kind}`).length;

test.each([
    [10, 10, 0, 0],
    [7, 7, 1, 2],
    [0, 0, 1, 9],
])("of ten places %i items are filled, ⊥ is outlined once and the rest dashed", (came, filled, bottom, dashed) => {
    const { el } = open("result-chart", { result: ended(came) });
    expect(cells(el, ":not(.dp-bottom, .dp-unused)")).toBe(filled);
    expect(cells(el, ".dp-bottom")).toBe(bottom);
    expect(cells(el, ".dp-unused")).toBe(dashed);
    expect(el.querySelector(".dp-finding")!.textContent).toBe("No more: ⊥.");
    expect(el.textContent).not.toMatch(/undefined|NaN|this bin alone|any one bin/);
});

test("of many names the first are drawn, and the table has all of them", () => {
    const answer = list();
    answer.labels = answer.short_labels = Array.from({ length: 1234 }, (_, i) => `w${1000 + i}`);
    answer.values = [];
    answer.list = { places: "1234", ordered: false, ended: false, sentence: "1,234 bins named." };
    answer.bars = {};
    const { el } = open("result-chart", { result: answer });
    expect(cells(el, ":not(.dp-bottom, .dp-unused)")).toBe(1000);
    expect(el.textContent).toContain("And 234 more: the table has all of them.");
});

test("a screen reader hears the items in order and the end, and no empty place", () => {
    const { el } = open("result-chart", { result: ended(2) });
    const read = [...el.querySelectorAll(".dp-listed li:not([aria-hidden])")];
    expect(read.map((item) => item.textContent)).toEqual(["1ATL", "2STL", "⊥"]);
    expect(read[2]!.querySelector("[role=img]")!.getAttribute("aria-label")).toBe("no more");
    expect(el.querySelector(".dp-listed ol")!.getAttribute("aria-label")).toContain("top 10 by aircraft");
});

test("a set is no ordered list, and shows no ranks", () => {
    const answer = ended(3);
    answer.list = { places: "10", ordered: false, ended: false, sentence: "3 items stood out enough." };
    const { el } = open("result-chart", { result: answer });
    expect(el.querySelector(".dp-listed ol")).toBeNull();
    expect(el.querySelectorAll(".dp-listed .dp-cell")).toHaveLength(10);
    expect(el.querySelectorAll(".dp-listed .dp-rank")).toHaveLength(0); // and every place stands on one line
});

test("counts have a switch between bars and strips, which leads with bars and works by keyboard", () => {
    const page = open("result-chart", { result: { ...histogramJson(), strips: ["16", "7"] } });
    const group = page.el.querySelector("fieldset.dp-looks")!;
    expect(group.getAttribute("role")).toBe("radiogroup");
    expect(group.getAttribute("aria-label")).toBe("How sure each value is, drawn as");
    const [bars, strips] = [...group.querySelectorAll<HTMLInputElement>("input[type=radio]")];
    expect([bars!.checked, strips!.checked, bars!.name === strips!.name]).toEqual([true, false, true]);
    expect(page.el.querySelector(".dp-strip")).toBeNull();
    strips!.click();
    expect(page.el.querySelectorAll("path.dp-strip")).not.toHaveLength(0);
    expect(page.text()).toMatch(/dark to pale holds for any one bin: ±7, 50 in 100; ±16, 80 in 100; ±\d+, 95 in 100/);
    expect(page.text()).toMatch(/outline ±\d+, holds for all 42 bins at once, 95 in 100/);
    bars!.click();
    expect(page.el.querySelector(".dp-strip")).toBeNull();
});

test("a page of an earlier version, which has no strips, has no switch", () => {
    const page = open("result-chart", { result: histogramJson() });
    expect(page.el.querySelector<HTMLElement>(".dp-looks")!.hidden).toBe(true);
});

test("the table of a list has ranks, and ⊥ in its place", () => {
    const page = open("result-chart", { result: ended(2) });
    page.button("Table").click();
    const rows = [...page.el.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));
    expect(rows).toEqual([
        ["1", "ATL"],
        ["2", "STL"],
        ["3", "⊥ (no more)"],
    ]);
    expect([...page.el.querySelectorAll("thead th")].map((head) => head.textContent)).toEqual(["rank", "destination"]);
});

test("a list says how far down it reaches, at the level that is chosen, and what its full places mean", () => {
    const page = open("result-chart", { result: list() });
    const said = (): string[] => [...page.el.querySelectorAll(".dp-sure")].map(({ textContent }) => textContent!);
    expect(said()).toEqual(list().list.sure["0.05"]);
    expect(said()[1]).toContain("They do not say that they are the ten largest.");
    const level = page.el.querySelector<HTMLSelectElement>(".dp-tools select")!;
    level.value = "0.01";
    level.dispatchEvent(new Event("change"));
    expect(said()).toEqual(list().list.sure["0.01"]);
    expect(said()[0]).not.toBe(list().list.sure["0.05"][0]);
});

function withValues(): any {
    const answer = ended(2);
    answer.values = ["640", "12"];
    answer.clamp = { low: "0", high: null };
    const one = { value: "15", kind: "exact", rule: "" };
    answer.bars = Object.fromEntries(answer.betas.map((beta: string) => [beta, { one, all: { ...one, value: "34", kind: "bound" } }]));
    return answer;
}

test("values stand beside their items with both bars, cut at 0, and say that they lie too high", () => {
    const page = open("result-chart", { result: withValues() });
    const chart = page.el.querySelector(".dp-listed svg")!;
    expect(chart.querySelectorAll(".dp-value")).toHaveLength(2);
    expect(chart.querySelectorAll("line.dp-one")).toHaveLength(2);
    expect(page.text()).toContain("±15, holds for any one item, 95 in 100 (exact)");
    expect(page.text()).toContain("≤ 34, holds for all at once (proved bound)");
    expect(page.text()).toContain("too high on average");
    page.button("Table").click();
    expect(page.el.querySelectorAll("tbody tr")[1]!.textContent).toBe("2STL120 to 270 to 46");
    expect(chart.outerHTML).not.toMatch(/NaN|undefined/);
});

test("a narrow valued list stays inside its width, however long a name is", () => {
    const values = [{ value: 5, text: "5", one: [0, 9] as const, all: null }];
    const chart = valuedList(240, { items: ["x".repeat(200)], maxItems: 2, ended: true, ordered: true }, values, "title");
    for (const box of chart.querySelectorAll("rect")) {
        expect(Number(box.getAttribute("x")) + Number(box.getAttribute("width"))).toBeLessThanOrEqual(240);
    }
    expect(chart.textContent).toContain("…");
});

test("an item that does not fit is written short, and whole in its title", () => {
    const [long, brief] = ["month 2024-01-01 to 2024-01-31, dest ATL", "2024-01, ATL"];
    const cells = { items: [long, "ORD"], short: [brief, "O"], maxItems: 2, ended: false, ordered: true };
    const found = [...cellList(cells, "").querySelectorAll(".dp-cell")];
    expect(found.map((cell) => [cell.textContent, cell.getAttribute("title")])).toEqual([[brief, long], ["ORD", "ORD"]]);
    const values = [5, 4].map((value) => ({ value, text: String(value), one: [0, 9] as const, all: null }));
    const words = (width: number) => [...valuedList(width, cells, values, "").querySelectorAll(".dp-on-ink")].map((cell) => cell.textContent);
    expect(words(400)).toEqual([brief + long, "ORD"]);
    expect(words(1600)).toEqual([long, "ORD"]);
});

test("a hostile item is text and nothing else", () => {
    const evil = "</script><img src=x onerror=alert(1)>";
    const found = cellList({ items: [evil], maxItems: 1, ended: false, ordered: true }, evil);
    expect(found.querySelector("img")).toBeNull();
    expect(found.textContent).toContain(evil);
    expect(unused({ items: [evil], maxItems: 1, ended: false, ordered: true })).toBe(0);
});

test.each([
    ["says nothing of the list", { list: null }],
    ["is a histogram with a list", { kind: "histogram", values: [] }],
    ["has a value too many", { values: ["1"] }],
    ["has places that are no number", { list: { places: "ten", ordered: true, ended: false, sentence: "" } }],
])("a list that %s is not drawn", (_, change) => {
    expect(() => readResult({ ...list(), ...change })).toThrow(Malformed);
});

// --- the plan of a list --------------------------------------------------------------------------------------------

test("the plan of a list says what it takes to be listed and what the last rank is worth", async () => {
    const page = open("workbench", { sheet: planned(), result: list() });
    await vi.advanceTimersByTimeAsync(450);
    const plan = page.el.querySelector(".dp-plan")!;
    const read = readSheet(planned());
    const errors = read.now.errors.get("0.05")!;
    expect(headline(read).map(({ label }) => label)).toEqual(["To be listed", "Listed at worst"]);
    const inputs = [...plan.querySelectorAll<HTMLInputElement>(".dp-stat input")].map((input) => input.value);
    expect(inputs).toEqual([errors.get("listed")!.value, errors.get("rank")!.value]);
    expect(plan.textContent).toContain("above the 51st count");
    expect(plan.textContent).toContain("below the 10th count");
    expect(plan.textContent).toContain("51 rows");
    expect(plan.textContent).not.toMatch(/any one bin|at once|NaN|undefined/i);
    expect(plan.querySelectorAll("svg[role=img]")).toHaveLength(1);
    expect(plan.querySelector("svg[role=img]")!.getAttribute("aria-label")).toBe(`At ε 1 ${phrase(read, read.now, "0.05")}`);
});

test("an error that is typed chooses the least ε that lists as much", async () => {
    const page = open("workbench", { sheet: planned(), result: list() });
    const wanted = 400;
    const input = page.el.querySelector<HTMLInputElement>(".dp-stat-first input")!;
    enter(input, String(wanted));
    await vi.advanceTimersByTimeAsync(700);
    const fans = readSheet(planned()).fans.epsilon;
    const first = fans.find((point) => Number(point.errors.get("0.05")!.get("listed")!.value) <= wanted)!;
    expect(page.el.querySelector<HTMLInputElement>(".dp-epsilon-box")!.value).toBe(first.epsilon);
    expect(page.el.querySelector("[aria-live]")!.textContent).toMatch(
        new RegExp(`^ε ${first.epsilon}: an item \\d+ above the 51st count comes before ⊥, none listed is more than`),
    );
});

test("how many items are listed is asked at once, what only experts change is folded, and a changed k̄ is planned", async () => {
    const sheet: any = planned();
    sheet.mechanism.choices.find(({ name }: any) => name === "k").open = true;
    const page = open("workbench", { sheet, result: list() });
    const more = page.el.querySelector<HTMLDetailsElement>(".dp-mechanism .dp-more")!;
    expect([more.open, more.querySelector("summary")!.textContent]).toEqual([false, "Rows, rules and accounting"]);
    expect([...page.el.querySelectorAll(".dp-plain-choices label")].map((label) => label.textContent)).toEqual(["k, items at most"]);
    const named = [...page.el.querySelectorAll("label, .dp-field-name")].filter((name) => name.textContent === "δ");
    expect(named).toHaveLength(1);
    const delta = page.el.querySelector<HTMLInputElement>(".dp-delta input")!;
    expect([delta.value, delta.labels![0]]).toEqual(["0.000001", named[0]]);
    more.open = true;
    const box = [...more.querySelectorAll("label")].find((label) => label.textContent!.startsWith("k̄"))!;
    enter(page.el.querySelector<HTMLInputElement>(`#${box.getAttribute("for")}`)!, "20");
    await settle();
    const sent = page.host.of("plan").at(-1)!.args as any;
    expect(sent.mechanism).toBe("TopK");
    expect(sent.parameters).toMatchObject({ k: "10", kbar: "20", epsilon: "1" });
});

test("keys without a list are on offer for a column of texts, and the first mechanism that can answer is taken", async () => {
    const column = state().columns.find(({ kind }) => kind === "text")!.name;
    const declared = sheet();
    Object.assign(declared.question, { column, id: "7e47", bins: "3" });
    declared.mechanisms = ["Dense", "TopK"].map((name) => ({ name, title: name, about: "" }));
    const page = open("workbench", { sheet: declared });
    const tried: string[] = [];
    page.host.answers["plan"] = ({ mechanism }) => {
        tried.push(String(mechanism));
        return tried.length < 2 ? { error: { kind: "DomainError", message: "this question needs declared bins" } } : { sheet: planned() };
    };
    const bins = page.el.querySelector<HTMLSelectElement>(".dp-bins select")!;
    const option = [...bins.options].find(({ text }) => text.startsWith("No list"))!;
    bins.value = option.value;
    bins.dispatchEvent(new Event("change"));
    await settle();
    await settle();
    const sent = page.host.of("plan").at(-1)!.args as any;
    expect(sent.question).toEqual({ kind: "keys", column });
    expect(tried).toEqual(["Dense", "TopK"]);
});

test("a column whose question has no declared bins is answered by the first mechanism that can", async () => {
    const known = state();
    const declared = sheet();
    const other = known.columns.find(({ name }) => name !== declared.question.column)!.name;
    known.questions = [{ ...known.questions[0]!, id: "5ea1", column: other, bins: "" }];
    declared.mechanisms = ["Dense", "TopK"].map((name) => ({ name, title: name, about: "" }));
    const page = open("workbench", { sheet: declared, state: known });
    const tried: string[] = [];
    page.host.answers["plan"] = ({ mechanism }) => {
        tried.push(String(mechanism));
        return mechanism === "Dense" ? { error: { kind: "DomainError", message: "this question needs declared bins" } } : { sheet: planned() };
    };
    const column = page.el.querySelector<HTMLSelectElement>(".dp-column select")!;
    column.value = other;
    column.dispatchEvent(new Event("change"));
    await settle();
    await settle();
    expect(tried).toEqual(["Dense", "TopK"]);
    expect((page.host.of("plan").at(-1)!.args as any).question).toEqual({ id: "5ea1" });
    expect(page.el.querySelector(".dp-question .dp-fault")!.textContent).toBe("");
});

test.each([
    [1n, "1st"],
    [2n, "2nd"],
    [3n, "3rd"],
    [4n, "4th"],
    [11n, "11th"],
    [12n, "12th"],
    [21n, "21st"],
    [51n, "51st"],
    [111n, "111th"],
    [5001n, "5,001st"],
])("%s is written %s", (place, words) => expect(ordinal(place)).toBe(words));
