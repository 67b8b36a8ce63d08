import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { icicleChart } from "../src/charts/icicle";
import { overviewChart } from "../src/charts/overview";
import { whiskersChart, type Whisker } from "../src/charts/whiskers";
import { SNAPPED } from "../src/stores/range_store";
import { Malformed } from "../src/protocol/readers";
import { readRange } from "../src/protocol/sheets";
import { Host, press, render, settle, type Shown } from "./host";

const BINS = 80;
const STOPS = [0, 20, 40, 60, 80];
const ESTIMATORS = ["fitted", "subtrees", "bins"];
const label = (bin: number): string => `m${bin}`;

function reading(low: number, high: number): any {
    const size = high - low + 1;
    const bar = (value: number, kind = "exact"): unknown => ({ value: String(value), kind, rule: "a rule", ...(kind === "numerical" ? { off: "0.5" } : {}) });
    return {
        low: String(low),
        high: String(high),
        labels: [label(low), label(high)],
        truth: String(10 * size),
        rows: {
            fitted: { value: `${100 * size + 1}/10`, one: bar(9, "numerical"), all: bar(20, "bound"), count: "12" },
            subtrees: { value: String(10 * size + 3), one: bar(12), all: bar(30, "bound"), count: "4" },
            bins: { value: String(10 * size - 5), one: bar(2 + size), all: bar(5 + 2 * size, "bound"), count: String(size) },
        },
        nodes: [[2, low, high, 2, 0.75], [1, Math.max(0, low - 4), Math.max(0, low - 1), 4, -0.25]],
    };
}

const view = (first = 0, last = BINS - 1, width = 8): any => {
    const edges = Array.from({ length: Math.ceil((last - first + 1) / width) + 1 }, (_, i) => Math.min(last + 1, first + i * width));
    return {
        first: String(first),
        last: String(last),
        width: String(width),
        edges,
        values: edges.slice(1).map((edge) => edge / 2),
        truth: edges.slice(1).map((edge) => edge / 2 + 1),
        one: { value: "7", kind: "numerical", rule: "r", off: "0.1" },
        all: { value: "15", kind: "bound", rule: "r" },
        together: "11",
        ticks: [{ at: first, label: label(first) }, { at: first + width, label: label(first + width) }],
    };
};

const sheet = (more: Record<string, unknown> = {}): any => ({
    version: 1,
    title: "How many departures in a range of minute?",
    sentence: "80 bins.",
    badge: "public data · not a release",
    paid: null,
    seed: "1",
    axis: "minute",
    nouns: "departures",
    bins: String(BINS),
    beta: "0.05",
    tree: { branching: "4", height: "3", sizes: ["1", "4", "16"], widths: ["80", "20", "5"] },
    estimators: ESTIMATORS.map((name) => ({ name, label: name === "fitted" ? "fitted tree" : name === "bins" ? "bins added" : name, about: `about ${name}` })),
    view: view(),
    range: reading(40, 59),
    curve: {
        lengths: [1, 10, 80],
        places: "60",
        errors: { fitted: { one: [9, 10, 11], all: [20, 21, 22] }, subtrees: { one: [9, 12, 14], all: [20, 30, 33] }, bins: { one: [3, 10, 40], all: [6, 20, 80] } },
    },
    stops: STOPS.map(String),
    between: STOPS.flatMap((low, i) => STOPS.slice(i + 1).map((high) => reading(low, high - 1))),
    ...more,
});

let shown: Shown;

function open(given: unknown = sheet()): Shown {
    shown?.close();
    const host = new Host("range-explorer", { sheet: given as string });
    host.answers["status"] = () => ({});
    host.answers["read"] = ({ points }) => {
        const [how, low, high] = (points as string[][])[0]!;
        if (how === "labels" && !low!.startsWith("m")) return { error: { kind: "DomainError", message: "a label must be one of m0 to m79", value: "", rule: "", next_step: "", fix: {} } };
        const number = (text: string): number => Number(text.replace("m", ""));
        return { readings: [reading(number(low!), number(high!))] };
    };
    shown = render(host);
    return shown;
}

async function without(): Promise<void> {
    shown.host.widget_manager = { kernel: null };
    shown.host.disconnect();
    await settle();
}

const sliders = (): HTMLInputElement[] => [...shown.el.querySelectorAll<HTMLInputElement>('input[type="range"]')];
const boxes = (): HTMLInputElement[] => [...shown.el.querySelectorAll<HTMLInputElement>(".dp-end-box")];
const typed = (end: number, text: string): void => {
    boxes()[end]!.value = text;
    press(boxes()[end]!, "Enter");
};
const titles = (): string[] => [...shown.el.querySelectorAll("svg title")].map((node) => node.textContent ?? "");
const brushed = (): string[] => boxes().map(({ value }) => value);

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown?.close();
    vi.useRealTimers();
});

test("the range that came with the sheet is answered by every estimator, with both bars", () => {
    open();
    expect(titles()).toEqual([
        "Departures in stretches of 8 bins: 10 marks from m0 to m8",
        "From m40 to m59: 200.1 departures by the fitted tree, ±≈9 alone and ≤ 20 with all in view.",
        "The fitted answer uses 6 noisy counts of the tree and subtracts 4 of them",
        "A range of 20 bins: fitted tree ±9, subtrees ±12, bins added ±22",
    ]);
    expect([...shown.el.querySelectorAll(".dp-answer-values .dp-answer")].map((row) => row.textContent)).toEqual(["200.1 ±≈9≤ 20 with all in view", "203 ±12≤ 30 with all in view", "195 ±22≤ 45 with all in view"]);
    expect(shown.text()).toContain("public data · not a release");
    expect(shown.text()).toContain("violet line: the true 200");
    expect(shown.text()).toContain("Up to about 10 bins, “bins added” errs less; beyond, the fitted tree.");
    expect(brushed()).toEqual(["m40", "m59"]);
    expect(shown.el.querySelector(".dp-range")!.classList.contains("dp-plan")).toBe(true);
});

test("a brush that moves shows its bins at once and asks the kernel once it rests", async () => {
    open();
    await settle();
    const [first] = sliders();
    press(first!, "ArrowRight");
    press(first!, "ArrowRight", { shiftKey: true });
    expect(shown.text()).toContain("9 bins · asking the kernel…");
    expect(shown.el.querySelector("[data-stale]")).not.toBeNull();
    expect(first!.getAttribute("aria-valuetext")).toBe("bin 52 of 80");
    await vi.advanceTimersByTimeAsync(200);
    expect(shown.host.of("read").map(({ args }) => args)).toEqual([{ points: [["bins", "51", "59"]] }]);
    expect(brushed()).toEqual(["m51", "m59"]);
    expect(first!.getAttribute("aria-valuetext")).toBe("m51");
    expect(shown.el.querySelector("[data-stale]")).toBeNull();
    expect(titles()[1]).toContain("From m51 to m59: 90.1 departures");
    press(first!, "End");
    await vi.advanceTimersByTimeAsync(200);
    expect(brushed()).toEqual(["m59", "m59"]);
    press(sliders()[1]!, "PageUp");
    await vi.advanceTimersByTimeAsync(200);
    expect(brushed()).toEqual(["m59", "m67"]);
});

test("a late answer does not move a brush that has moved on", async () => {
    open();
    await settle();
    shown.host.answers["read"] = () => undefined;
    press(sliders()[0]!, "ArrowLeft");
    await vi.advanceTimersByTimeAsync(200);
    const [late] = shown.host.of("read");
    press(sliders()[0]!, "ArrowLeft");
    await vi.advanceTimersByTimeAsync(200);
    shown.host.tell({ v: 1, re: late!.id, ok: true, body: { readings: [reading(39, 59)] } });
    await settle();
    expect(sliders()[0]!.value).toBe("38");
    expect(shown.text()).toContain("asking the kernel…");
    shown.host.tell({ v: 1, re: shown.host.of("read")[1]!.id, ok: true, body: { readings: [reading(38, 59)] } });
    await settle();
    expect(brushed()).toEqual(["m38", "m59"]);
});

test("labels that are typed are read by the kernel, and its refusal leaves the range as it was", async () => {
    open();
    await settle();
    boxes()[0]!.value = "m77";
    boxes()[0]!.dispatchEvent(new FocusEvent("focusout", { bubbles: true, relatedTarget: boxes()[1]! }));
    expect(shown.host.of("read")).toEqual([]);
    boxes()[0]!.value = "m7";
    typed(1, "m9");
    await settle();
    expect(shown.host.of("read").at(-1)!.args).toEqual({ points: [["labels", "m7", "m9"]] });
    expect(brushed()).toEqual(["m7", "m9"]);
    boxes()[1]!.dispatchEvent(new FocusEvent("focusout", { bubbles: true }));
    expect(shown.host.of("read")).toHaveLength(1);
    boxes()[0]!.value = "m8";
    press(boxes()[0]!, "Escape");
    expect(brushed()).toEqual(["m7", "m9"]);
    typed(0, "noon");
    await settle();
    expect(shown.el.querySelector('[role="alert"]:not([hidden])')!.textContent).toBe("⚠ a label must be one of m0 to m79");
    const stale = (): boolean[] => boxes().map((box) => box.hasAttribute("aria-invalid"));
    expect([brushed(), stale()]).toEqual([["noon", "m9"], [true, true]]); // what was typed stays
    press(boxes()[0]!, "Escape");
    expect([brushed(), stale(), shown.el.querySelector('[role="alert"]:not([hidden])')]).toEqual([["m7", "m9"], [false, false], null]);
    typed(0, "noon");
    await settle();
    typed(0, "m7");
    expect([brushed(), stale(), shown.el.querySelector('[role="alert"]:not([hidden])')]).toEqual([["m7", "m9"], [false, false], null]);
});

test("without a kernel the brush rests on what the sheet carries, and says so", async () => {
    open();
    await without();
    press(sliders()[0]!, "ArrowLeft");
    expect(brushed()).toEqual(["m20", "m59"]);
    sliders()[1]!.value = "27";
    sliders()[1]!.dispatchEvent(new Event("input", { bubbles: true }));
    expect(brushed()).toEqual(["m20", "m39"]);
    expect(shown.el.querySelector('[role="status"]:not([hidden])')!.textContent).toBe(SNAPPED);
    press(sliders()[1]!, "End");
    expect(brushed()).toEqual(["m20", "m79"]);
    boxes()[0]!.value = "m40";
    typed(1, "m59");
    expect(brushed()).toEqual(["m40", "m59"]);
    typed(0, "m41");
    expect(shown.text()).toContain("No kernel to find a label or another view");
    shown.button("Look closer").click();
    expect(shown.text()).toContain("No kernel to find a label or another view");
    expect(shown.host.of("read")).toEqual([]);
});

test("a kernel that goes while the brush waits leaves it on the nearest stops", async () => {
    open();
    await settle();
    shown.host.answers["read"] = () => undefined;
    press(sliders()[0]!, "ArrowLeft");
    await without();
    expect(brushed()).toEqual(["m40", "m59"]);
    expect(shown.text()).toContain(SNAPPED);
    await vi.advanceTimersByTimeAsync(2000); // the question that was about to be asked is asked no more
    expect(shown.el.querySelector("[data-stale]")).toBeNull();
    expect(shown.host.of("read")).toEqual([]);
    expect(sliders()[0]!.getAttribute("aria-valuetext")).toBe("m40");
});

test("a closer look asks for other bins in view and keeps the brush", async () => {
    open();
    await settle();
    shown.host.answers["move"] = () => ({ sheet: sheet({ view: view(30, 69, 4), range: reading(40, 59) }) });
    shown.button("Look closer").click();
    await settle();
    expect(shown.host.of("move").map(({ args }) => args)).toEqual([{ place: { first: "30", last: "69", low: "40", high: "59" } }]);
    expect(titles()[0]).toContain("Departures in stretches of 4 bins");
    expect(brushed()).toEqual(["m40", "m59"]);
    shown.button("Whole domain").click();
    await settle();
    expect(shown.host.of("move").at(-1)!.args).toEqual({ place: { first: "0", last: "79", low: "40", high: "59" } });
});

test("a drag over the chart brushes from where it began, and an end can be taken by itself", async () => {
    open();
    await settle();
    const plot = shown.el.querySelector<HTMLElement>(".dp-brushable")!;
    const chart = plot.querySelector("svg")!;
    const width = Number(chart.getAttribute("width"));
    chart.getBoundingClientRect = () => ({ left: 0, width, top: 0, height: 200 }) as DOMRect;
    const at = (bin: number): number => 56 + ((bin + 0.5) / BINS) * (width - 68);
    const pointer = (type: string, bin: number): void => {
        const event = new MouseEvent(type, { bubbles: true, cancelable: true, clientX: at(bin), button: 0 });
        plot.dispatchEvent(event);
    };
    pointer("pointerdown", 10);
    pointer("pointermove", 30);
    expect([sliders()[0]!.value, sliders()[1]!.value]).toEqual(["10", "30"]);
    pointer("pointermove", 5);
    expect([sliders()[0]!.value, sliders()[1]!.value]).toEqual(["5", "10"]);
    pointer("pointerup", 5);
    pointer("pointermove", 70);
    expect(sliders()[1]!.value).toBe("10");
    pointer("pointerdown", 10);
    pointer("pointermove", 20);
    expect([sliders()[0]!.value, sliders()[1]!.value]).toEqual(["5", "20"]);
});

test("a brush that moves redraws no mark", async () => {
    open();
    await settle();
    const before = shown.el.querySelector(".dp-overview");
    const icicle = shown.el.querySelector(".dp-node-added");
    press(sliders()[0]!, "ArrowRight");
    expect(shown.el.querySelector(".dp-overview")).toBe(before);
    expect(shown.el.querySelector(".dp-node-added")).toBe(icicle);
    expect(shown.el.querySelector(".dp-brush")!.getAttribute("x")).not.toBeNull();
});

test("the curve shows what holds alone, or with all in view", () => {
    open();
    const select = shown.el.querySelector("select")!;
    select.value = "all";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    expect(titles().at(-1)).toBe("A range of 20 bins: fitted tree ±20, subtrees ±30, bins added ±45");
});

test("the table holds the exact value, how each error is known, and what each estimator is", () => {
    open();
    const details = shown.el.querySelector<HTMLDetailsElement>("details")!;
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    expect([...details.querySelectorAll("tbody tr")].map((row) => row.textContent)[0]).toBe("fitted tree2001/10±≈9calculated to within 0.5: a rule≤ 2012about fitted");
});

test("a release is no plan: it says what was paid, and shows no true count", () => {
    const bare = (one: any): any => ({ ...one, truth: null });
    const given = sheet({ badge: null, seed: null, paid: "paid ε 0.5", view: { ...view(), truth: null }, range: bare(reading(40, 59)) });
    open({ ...given, between: given.between.map(bare) });
    expect(shown.el.querySelector(".dp-range")!.classList.contains("dp-plan")).toBe(false);
    expect(shown.text()).toContain("paid ε 0.5");
    expect(shown.text()).not.toContain("violet line");
    expect(shown.el.querySelectorAll(".dp-public, .dp-true-line")).toHaveLength(0);
});

test.each([
    ["a range that is reversed", (given: any) => (given.range.low = "70")],
    ["a range beyond the domain", (given: any) => (given.range.high = "80")],
    ["an estimator without an answer", (given: any) => delete given.range.rows.bins],
    ["a node with a part missing", (given: any) => given.range.nodes[0].pop()],
    ["a stretch without a value", (given: any) => given.view.values.pop()],
    ["edges that do not ascend", (given: any) => (given.view.edges[2] = given.view.edges[1])],
    ["a curve of another length", (given: any) => given.curve.errors.fitted.one.pop()],
    ["stops that do not ascend", (given: any) => (given.stops[1] = "0")],
    ["a pair of stops without a range", (given: any) => given.between.pop()],
    ["a tree of another height", (given: any) => given.tree.sizes.pop()],
    ["true counts of another length", (given: any) => given.view.truth.pop()],
])("a malformed range sheet is not believed: %s", (_, spoil) => {
    const given = sheet();
    expect(() => readRange(JSON.stringify(given))).not.toThrow();
    spoil(given);
    expect(() => readRange(JSON.stringify(given))).toThrow(Malformed);
});

test("where stretches are narrower than a pixel, one mark stands for all in its column", () => {
    const edges = Array.from({ length: 2001 }, (_, i) => i);
    const values = edges.slice(1).map((i) => i % 7);
    const { element } = overviewChart(320, 170, { title: "t", edges, values, truth: null, one: 1, all: 2, ticks: [], axis: "minute" });
    const marks = element.querySelector(".dp-column-one")!.getAttribute("d")!.split("M").length - 1;
    expect(marks).toBeGreaterThan(200);
    expect(marks).toBeLessThanOrEqual(320 - 68 + 1);
});

test("an answer that is far less sure than the best is cut, without a cap where it is cut", () => {
    const row = (all: number): Whisker => ({ name: "", value: 100, one: all / 2, all, kinds: ["dp-exact", "dp-bound"], colour: 1 });
    const caps = (...rows: Whisker[]): number => whiskersChart(400, { title: "t", rows, truth: null, axis: "rows" }).querySelectorAll(".dp-whisker-cap").length;
    expect(caps(row(10), row(30))).toBe(4);
    expect(caps(row(10), row(500))).toBe(2);
    const away = whiskersChart(400, { title: "t", rows: [row(10), { ...row(500), value: 900 }], truth: null, axis: "rows" });
    expect([away.querySelectorAll("circle").length, away.querySelectorAll("path.dp-whisker-dot").length]).toEqual([1, 1]);
});

test("nodes that are subtracted are hatched, those outside the picture are left out", () => {
    const chart = icicleChart(400, { title: "t", names: ["1 bin", "16 bins"], sizes: [1, 16], nodes: [[1, 20, 23, 4, 0.5], [1, 24, 25, 2, -0.5], [2, 4000, 4015, 1, 0.2]], from: 20, to: 26, bins: 4096, ticks: [], text: String });
    expect([chart.querySelectorAll(".dp-node-added").length, chart.querySelectorAll(".dp-node-taken").length]).toEqual([1, 1]);
    expect(chart.textContent).toContain("0.5 each");
});
