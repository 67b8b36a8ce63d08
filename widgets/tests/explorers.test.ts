import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readsAxis, readsChart } from "../src/charts/reads";
import { orderOf, tablesOf, tallyOf } from "../src/protocol/comparison_draws";
import { Explorer } from "../src/explorers/explorer";
import { LETTERS } from "../src/numbers/letters";
import { Malformed } from "../src/protocol/readers";
import { readComparison, readSampler, type SamplerSheet } from "../src/protocol/sheets";
import { enter, Host, press, render, settle, type Shown } from "./host";

const GRIDS: Record<string, string[]> = {
    n: ["5", "6"],
    c: ["0", "1", "2"],
    epsilon: ["0.5", "1"],
    gamma: ["0.01", "0.5"],
    t: ["2", "tight"],
};
type At = Record<string, string>;
const START: At = { n: "5", c: "1", epsilon: "0.5", gamma: "0.01", t: "tight" };

function samplerPoint(at: At): Record<string, unknown> {
    const pmf = Array.from({ length: Number(at["n"]) + 1 }, (_, i) => (i === Number(at["c"]) ? 0.5 : 0.1));
    const law = { pmf, ratio: "1.25", holds: true, bits: "13" };
    const broken = at["t"] === "2";
    return {
        at,
        t: { value: broken ? "2" : "46", paper: "143", tight: "46" },
        promise: { ratio: "1.25", epsilon: "0.446288", exact: "2 ln(5/4)" },
        geosample: law,
        truncated: { ...law, ratio: "", holds: false, bits: "" },
        fastsample: { ...law, ratio: broken ? "219.24" : "1.249", holds: !broken, bits: "101" },
        sizes: { n: ["5", "50000"], geosample: ["13", "116098"], fastsample: ["101", "209"], crossover: "49" },
    };
}

function sheetAt(at: At, grids: Record<string, string[]>, point: (at: At) => unknown, fanned: string[]): Record<string, unknown> {
    return {
        version: 1,
        axes: Object.entries(grids).map(([name, grid]) => ({ name, label: `Axis ${name}`, hint: "", grid, values: grid })),
        now: point(at),
        fans: Object.fromEntries(fanned.map((name) => [name, grids[name]!.map((value) => point({ ...at, [name]: value }))])),
    };
}

const sampler = (at: At = START): Record<string, unknown> => ({
    ...sheetAt(at, GRIDS, samplerPoint, Object.keys(GRIDS)),
    staircase: { epsilon: [0.5, 1], paper: [0.45, 0.81], tight: [0.46, 0.81] },
});

const COUNTS = { epsilon: ["0.2", "0.5"], beta: ["0.1", "0.05"], c: ["0", "10", "20"] };
const HERE: At = { epsilon: "0.5", beta: "0.05", c: "10" };
const bar = (value: string): Record<string, string> => ({ value, kind: "exact", rule: "a rule" });

const measure = (name: string, short: string, weight: string): Record<string, unknown> => ({
    name, label: `Any ${short}`, short, phrase: `${short} within {value}`, tip: "", sign: "", origin: "", missing: "", weight, pictured: false,
});

/** Two measures of a name that no mechanism of ours uses: the page knows none of them. */
const MEASURES = [measure("near", "one bin", "thick"), measure("far", "all 525,600", "thin")];

const errorsOf = (one: number, far: unknown = bar("30"), floors = ["1.109", "5"]): Record<string, unknown> => ({
    near: {
        worst: bar(String(one + 2)),
        curve: { values: [one, one + 1, one + 2].map(String), kind: "exact" },
        floor: { value: floors[0], rule: "Theorem 7.1" },
    },
    far: { worst: far, curve: null, floor: { value: floors[1], rule: "Theorem 7.1" } },
});

function row(name: string, one: number, more: Record<string, unknown> = {}): Record<string, unknown> {
    return {
        name,
        about: "Noise.",
        python: "",
        refused: "",
        price: { epsilon: "0.5", delta: "0", asked: "0.5" },
        guarantee: "0.5-differential privacy",
        space: { bits: "640", text: "10 × 64" },
        cost: { text: "10 draws", slow: false },
        errors: errorsOf(one),
        chance: [0.4, 0.9, 1],
        ...more,
    };
}

const ROWS = (): Record<string, unknown>[] => [
    row("Dense", 5),
    row("Stability", 9, { price: { epsilon: "0.5", delta: "0.000001", asked: "0.5" }, errors: errorsOf(9, null) }),
    { name: "PureSparse", about: "Sparse.", python: "", refused: "needs 2 n + 1 bins" },
];

const comparison = (at: At = HERE, rows = ROWS): Record<string, unknown> => ({
    ...sheetAt(at, COUNTS, (place) => ({ at: place, rows: rows() }), ["epsilon", "beta"]),
    question: { column: "minute", nouns: "rows", size: "525,600 bins", bins_text: "0, 1, …", sentence: "How many?" },
    unit: { text: "one row, add or remove" },
    measures: MEASURES,
});

let shown: Shown;

function open(component: string, sheet: unknown): Shown {
    shown?.close();
    const host = new Host(component, { sheet });
    host.answers["status"] = () => ({});
    shown = render(host);
    return shown;
}

const slider = (name: string): HTMLInputElement => {
    const label = [...shown.el.querySelectorAll("label")].find((node) => node.textContent === `Axis ${name}`)!;
    return shown.el.querySelector<HTMLInputElement>(`#${label.htmlFor}`)!;
};
const stale = (): boolean => shown.el.querySelector(".dp-explorer")!.hasAttribute("data-stale");

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown?.close();
    vi.useRealTimers();
});

test("a truncation that is too short raises the alarm with the exact ratio, a proved one takes it down", async () => {
    open("sampler-explorer", sampler());
    const alarm = shown.el.querySelector<HTMLElement>("[role=alert].dp-notice.dp-error:not([hidden])");
    expect(alarm).toBeNull();
    press(slider("t"), "Home");
    expect(shown.text()).toContain("t = 2 is too short: one row changes the chance of a value by a factor of up to 219.24, and at most 1.25 was promised.");
    press(slider("t"), "End");
    expect(shown.text()).not.toContain("too short");
    await settle();
});

test("a slider with a fan moves at once, and the kernel is then asked for the sheet through the new point", async () => {
    open("sampler-explorer", sampler());
    await settle();
    shown.host.answers["move"] = ({ place }) => ({ sheet: sampler(place as At) });
    press(slider("n"), "ArrowRight");
    expect(slider("n").getAttribute("aria-valuetext")).toBe("6");
    expect(stale()).toBe(false);
    expect(shown.host.of("move")).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(shown.host.of("move").map((asked) => asked.args)).toEqual([{ place: { ...START, n: "6" } }]);
    press(slider("t"), "Home");
    expect(stale()).toBe(false);
    expect(shown.text()).toContain("too short");
    expect(slider("n").getAttribute("aria-valuetext")).toBe("6");
});

test("two sliders before the kernel answers: the second waits, marked, and a late answer does not undo it", async () => {
    open("sampler-explorer", sampler());
    await settle();
    press(slider("n"), "ArrowRight");
    press(slider("t"), "Home");
    expect(stale()).toBe(true);
    await vi.advanceTimersByTimeAsync(200);
    const asked = shown.host.of("move");
    expect(asked.map((one) => one.args)).toEqual([{ place: { ...START, n: "6", t: "2" } }]);
    shown.host.tell({ v: 1, re: asked[0]!.id, ok: true, body: { sheet: sampler({ ...START, n: "6", t: "2" }) } });
    await settle();
    expect(stale()).toBe(false);
    expect(shown.text()).toContain("too short");
});

test("an answer to an earlier move that comes while the next is about to be asked does not put the next one back", async () => {
    open("sampler-explorer", sampler());
    await settle();
    press(slider("n"), "ArrowRight");
    await vi.advanceTimersByTimeAsync(200);
    const [first] = shown.host.of("move");
    press(slider("t"), "Home");
    shown.host.tell({ v: 1, re: first!.id, ok: true, body: { sheet: sampler({ ...START, n: "6" }) } });
    await settle();
    expect(slider("t").getAttribute("aria-valuetext")).toContain("2");
    await vi.advanceTimersByTimeAsync(200);
    expect(shown.host.of("move").at(-1)!.args).toEqual({ place: { ...START, n: "6", t: "2" } });
});

test("a kernel that dies while a slider waits for it leaves nothing waiting", async () => {
    open("sampler-explorer", sampler());
    await settle();
    press(slider("n"), "ArrowRight");
    press(slider("t"), "Home");
    expect(stale()).toBe(true);
    shown.host.widget_manager = { kernel: null };
    await vi.advanceTimersByTimeAsync(1_500);
    expect(stale()).toBe(false);
    expect(slider("n").getAttribute("aria-valuetext")).toBe("5");
    expect(shown.text()).toContain("too short");
    expect(shown.text()).toContain("No kernel: one slider moves at a time");
});

test("without a kernel one slider moves at a time, and the page says so", () => {
    const store = new Explorer(readSampler);
    store.take("sheet", JSON.stringify(sampler()));
    store.moveTo("n", 1);
    expect([store.position.get("n"), store.fault]).toEqual(["6", null]);
    store.moveTo("t", 0);
    expect([store.position.get("n"), store.position.get("t"), store.settled]).toEqual(["5", "2", true]);
    expect(store.fault).toContain("one slider moves at a time");
});

test("without a kernel a slider stops at the nearest point that was sent, and the page says so", () => {
    const store = new Explorer(readSampler);
    const sheet = { ...sampler(), ...sheetAt(START, { ...GRIDS, n: ["5", "6", "7", "8"] }, samplerPoint, Object.keys(GRIDS)) };
    ((sheet as Record<string, unknown>)["fans"] as Record<string, unknown[]>)["n"]!.fill(null, 2);
    store.take("sheet", JSON.stringify(sheet));
    expect(store.whole).toBe(false);
    store.moveTo("n", 3);
    expect([store.position.get("n"), store.settled]).toEqual(["6", true]);
    expect(store.fault).toContain("the nearest place that it was sent");
});

test("the probe moves curves, bars, table and words together, without the kernel", async () => {
    open("mechanism-comparison", comparison());
    await settle();
    const cells = (): string[] => [...shown.el.querySelectorAll("tbody tr")].map((line) => line.textContent ?? "");
    expect(cells()).toEqual(["Dense0.50±6±7±3090 %640 bits", "Stability0.50.000001±10±11not known90 %640 bits", "PureSparse———————"]);
    press(slider("c"), "ArrowRight");
    expect(cells()[0]).toBe("Dense0.50±7±7±30> 99.9 %640 bits");
    expect(shown.text()).toContain("At ε 0.5 and a true count of 20, Dense errs least on one bin (±7); Dense errs least on all 525,600 (±30).");
    expect([...shown.el.querySelectorAll("[role=img]")].map((node) => node.getAttribute("aria-label"))).toContain(
        "Dense at a true count of 20: one bin ±7, all 525,600 ±30",
    );
    expect(shown.text()).toContain("Errors of a bin whose true count is 20; the bars run from 0 to 30");
    expect(shown.text()).toContain("Not available here: needs 2 n + 1 bins.");
    expect(shown.text()).toContain("pays δ\u00a00.000001");
});

test("lower bounds of 0 say that they say nothing", () => {
    const vacuous = (): Record<string, unknown>[] => [row("Dense", 5, { errors: errorsOf(5, bar("30"), ["0", "0"]) })];
    open("mechanism-comparison", comparison(HERE, vacuous));
    expect(shown.text()).toContain("For one bin the bound is 0 here and says nothing.");
});

test("a typed count off the axis is asked of the kernel, and its refusal is shown while the plan stays", async () => {
    open("mechanism-comparison", comparison());
    await settle();
    shown.host.answers["move"] = () => ({
        error: { kind: "ExactnessError", message: "c must be a finite number, got many", value: "many", rule: "", next_step: "", fix: {} },
    });
    const box = [...shown.el.querySelectorAll<HTMLInputElement>(".dp-axis-box")].find((node) => node.getAttribute("aria-label") === "Axis c, exact")!;
    enter(box, "many");
    await vi.advanceTimersByTimeAsync(200);
    await settle();
    expect(shown.host.of("move").map((asked) => asked.args)).toEqual([{ place: { ...HERE, c: "many" } }]);
    expect(shown.text()).toContain("c must be a finite number, got many");
    expect(shown.text()).toContain("Errors of a bin whose true count is 10");
    expect([box.value, box.getAttribute("aria-invalid")]).toEqual(["many", "true"]); // what was typed stays, as a fault
});

test.each([
    ["a fan with a point too few", (sheet: any) => sheet.fans.n.pop()],
    ["a fan in another order", (sheet: any) => sheet.fans.n.reverse()],
    ["a chance above 1", (sheet: any) => (sheet.now.geosample.pmf[0] = 1.5)],
    ["a number where a text belongs", (sheet: any) => (sheet.now.promise.ratio = 1.25)],
    ["a fan of no axis", (sheet: any) => (sheet.fans.rows = [])],
    ["a point that stands nowhere", (sheet: any) => delete sheet.now.at.n],
])("a malformed sheet is not believed: %s", (_, spoil) => {
    const sheet = sampler();
    const read = (): SamplerSheet => readSampler(JSON.stringify(sheet));
    expect(read).not.toThrow();
    spoil(sheet);
    expect(read).toThrow(Malformed);
});

test("text of the kernel stays text, and a later version is named", () => {
    const evil = "<img src=x onerror=alert(1)>";
    open("mechanism-comparison", comparison(HERE, () => [row(evil, 5)]));
    expect(shown.el.querySelector("img")).toBeNull();
    expect(shown.text()).toContain(evil);
    expect(() => readComparison({ ...comparison(), version: 2 })).toThrow("version 2");
    open("sampler-explorer", { ...sampler(), version: 2 });
    expect(shown.text()).toContain("was sent version 2. Nothing is drawn");
});

/** Fifty levels, of which a bin is at the first in the first draw, or at the last. */
const RISING = LETTERS.slice(0, 50);
const FALLING = [...RISING].reverse().join("");

/** Dense reads 10 or 9 give or take; Stability shows the smaller bin at ten levels alone. */
const drawn = (): Record<string, any> => ({
    badge: "made-up data · not a release",
    names: ["", ""],
    counts: ["10", "9"],
    luck: [RISING, FALLING],
    reads: {
        "0.2": [["0 8 " + "0".repeat(24) + "4" + "0".repeat(24), "0 7"], ["50", "50"], null],
        "0.5": [["0 10 " + "0".repeat(49), "0 9"], ["0 11 " + "0".repeat(48) + "(70)", "40 12 " + "0".repeat(9)], null],
    },
});

test("what a bin reads at each level is read from its text, or moved from the bin before it", () => {
    const [first, second, third, none] = tablesOf([50, 20, 5, 1], ["0 40 " + "1".repeat(47) + "c(300)", "0 10", "12 7", "50"]);
    expect(first!.slice(0, 3)).toEqual([40, 41, 42]);
    expect(first!.slice(-3)).toEqual([87, 99, 399]);
    expect(second).toEqual(first!.map((value) => value! - 30));
    expect(third!.slice(0, 15)).toEqual([...Array<null>(12).fill(null), 7, 8, 9]);
    expect(third!.slice(12)).toEqual(first!.slice(12).map((value) => Math.max(7, value! - 45)));
    expect(none).toEqual(Array(50).fill(null));
    for (const bad of [["0 40 111"], ["51"], ["49 1 0"], ["0 1"], ["0 4 " + "-".repeat(49)], [""]]) expect(() => tablesOf([50], bad)).toThrow(Malformed);
});

test("an order changes where a smaller count reads more; what is not shown is below all that is", () => {
    expect(orderOf([9, 5, 1], [8, 6, 2])).toEqual({ moved: [false, false, false], tied: false, hidden: 0 });
    expect(orderOf([9, 5, 1], [5, 6, 2])).toEqual({ moved: [true, true, false], tied: false, hidden: 0 });
    expect(orderOf([9, 5, 1], [null, 6, 2])).toEqual({ moved: [true, true, true], tied: false, hidden: 1 });
    expect(orderOf([9, 5, 1], [8, null, null])).toEqual({ moved: [false, false, false], tied: true, hidden: 2 });
    expect(orderOf([5, 5, 1], [2, 8, 1])).toEqual({ moved: [false, false, false], tied: false, hidden: 0 });
    expect(tallyOf([9, 1], [[8, 2], [2, 8], [2, 2], [2, null], [null, null], [null, 3]])).toEqual({ changed: 2, tied: 2, hidden: 4 });
});

test("draws play two a second and count what the sheet says; epsilon moves the draw that is on show", async () => {
    vi.stubGlobal("matchMedia", () => ({ matches: false }));
    try {
        open("mechanism-comparison", { ...comparison(), draws: drawn() });
        await settle();
        const figure = shown.el.querySelector<HTMLElement>(".dp-hypothetical")!;
        const cells = (): string[] => [...figure.querySelectorAll("tbody tr")].map((line) => line.textContent!);
        const picture = (): string => figure.querySelector(".dp-stage svg")!.getAttribute("aria-label")!;
        expect(figure.textContent).toContain("made-up data · not a release");
        expect(figure.textContent).toContain("made-up truth, new noise each time; each bin is simulated by itself, as if all others were empty. Hatched: the counts 10 and 9");
        expect(figure.textContent).toContain("Of 50 draws each, the order changed in 0 with Dense and 10 with Stability. Not shown: 40 of 100 counts with Stability.");
        expect(cells()).toEqual(["Dense0 of 500 of 500 of 100", "Stability10 of 500 of 5040 of 100"]);
        expect(figure.textContent).toContain("PureSparse does not answer this question.");
        vi.advanceTimersByTime(500 * 3);
        expect(figure.textContent).toContain("draw 4 of 50");
        expect(picture()).toBe("Dense, draw 4: 10 reads 10, 9 reads 9");
        press(slider("epsilon"), "ArrowLeft");
        expect(figure.textContent).toContain("draw 4 of 50");
        expect(picture()).toBe("Dense, draw 4: 10 reads 8, 9 reads 11");
        expect(figure.querySelectorAll(".dp-stage .dp-moved-dot")).toHaveLength(2);
        expect(cells()).toEqual(["Dense25 of 500 of 500 of 100", "Stability0 of 5050 of 50100 of 100"]);
        figure.querySelector("button")!.click();
        vi.advanceTimersByTime(5000);
        expect(figure.textContent).toContain("draw 4 of 50");
        figure.querySelector("button")!.click();
        vi.advanceTimersByTime(500 * 47);
        expect(figure.textContent).toContain("draw 1 of 50");
    } finally {
        vi.unstubAllGlobals();
    }
});

test("twelve draws of each mechanism stand still; readings beyond the axis point there; without draws there is no figure", () => {
    const sheet = { ...comparison(), draws: { ...drawn(), names: ["Amsterdam", "Berlin"], badge: "public data · not a release" } };
    open("mechanism-comparison", sheet);
    const figure = shown.el.querySelector<HTMLElement>(".dp-hypothetical")!;
    expect([...figure.querySelectorAll(".dp-multiples")].map((many) => many.querySelectorAll("svg").length)).toEqual([12, 12]);
    expect(figure.textContent).toContain("public truth, new noise each time");
    const all = { ...drawn(), reads: Object.fromEntries(Object.entries(drawn()["reads"]).map(([at, [dense, some]]: any) => [at, [dense, some, some]])) };
    open("mechanism-comparison", { ...comparison(), draws: all });
    const hints = [...shown.el.querySelectorAll<HTMLElement>(".dp-hypothetical .dp-hint")];
    expect(hints.map((hint) => [hint.textContent, hint.hidden])).toContainEqual(["", true]);
    const few = { ...drawn(), reads: Object.fromEntries(Object.entries(drawn()["reads"]).map(([at, [dense]]: any) => [at, [dense, null, null]])) };
    open("mechanism-comparison", { ...comparison(), draws: few });
    expect(shown.text()).toContain("Not drawn: Stability. What would be read of a single count there has not been worked out. PureSparse does not answer this question.");
    expect(figure.querySelector(".dp-stage svg")!.textContent).toContain("Amsterdam");
    expect(readsAxis([10, 9], false)).toEqual({ low: 0, high: 15 });
    const data = { title: "", names: ["10", "9"], counts: [10, 9], moved: [false, false], axis: readsAxis([10, 9], true), room: 40 };
    expect(readsChart(240, { ...data, reads: [15, -3] }).querySelectorAll("circle")).toHaveLength(2);
    const far = readsChart(240, { ...data, reads: [81, -4] });
    expect(far.querySelectorAll("circle")).toHaveLength(0);
    expect(far.querySelectorAll("path.dp-plan-dot")).toHaveLength(2);
    expect(far.textContent).toContain("−4");
    open("mechanism-comparison", comparison());
    expect(shown.el.querySelector<HTMLElement>(".dp-hypothetical")!.hidden).toBe(true);
});

test.each([
    ["one bin", (draws: any) => draws.counts.pop()],
    ["a level twice", (draws: any) => (draws.luck[0] = "0" + RISING.slice(0, 49))],
    ["a mechanism too few", (draws: any) => draws.reads["0.5"].pop()],
    ["a bin too few", (draws: any) => draws.reads["0.5"][0].pop()],
    ["a level too few", (draws: any) => (draws.reads["0.5"][0][0] = "0 10 00")],
    ["a count that is none", (draws: any) => (draws.counts[0] = "ten")],
])("draws of another shape are not believed: %s", (_, spoil) => {
    const draws = drawn();
    const read = (): unknown => readComparison({ ...comparison(), draws });
    expect(read).not.toThrow();
    spoil(draws);
    expect(read).toThrow(Malformed);
});
