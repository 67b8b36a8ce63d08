import { afterEach, beforeEach, expect, test, vi } from "vitest";
import answers from "../fixtures/consistency.json";
import { boxesChart } from "../src/charts/boxes";
import { isotonicChart, type Isotonic } from "../src/charts/isotonic";
import { brokenSums, falls, fitTree, pool, pooled, spanOf, squaredError, totals, treeOf } from "../src/numbers/consistency";
import { exactly, format, fraction } from "../src/numbers/exact";
import { Malformed } from "../src/protocol/readers";
import { readConsistency } from "../src/protocol/sheets";
import { enter, Host, press, render, settle, type Shown } from "./host";

const NODES = 40;
const SEEDS = ["1", "2"];
const at = (epsilon: string): Record<string, string> => ({ epsilon, seed: "1" });

/** Every noise of seed 1 is 1, of seed 2 is −2; at epsilon 10 none. */
function point(epsilon: string): any {
    const noise = (seed: string): string[] => new Array<string>(NODES).fill(epsilon === "10" ? "0" : seed === "1" ? "1" : "-2");
    const sensitivities = ["1", "2", "3", "4", "5"];
    return {
        at: at(epsilon),
        within: Object.fromEntries(sensitivities.map((one) => [one, String(3 * Number(one))])),
        noise: Object.fromEntries(sensitivities.map((one) => [one, Object.fromEntries(SEEDS.map((seed) => [seed, noise(seed)]))])),
    };
}

const sheet = (start: Record<string, string> = {}): any => ({
    version: 1,
    badge: "made-up data · not a release",
    most: "16",
    largest: "1000000000",
    branchings: ["2", "3", "4"],
    start: { preset: "figure", structure: "tree", branching: "2", ...start },
    presets: [
        { name: "figure", label: "Figure 2 of the paper", counts: ["2", "0", "10", "2"], printed: { tree: ["13", "3", "11", "4", "1", "12", "1"], sorted: ["1", "2", "0", "11"] } },
        { name: "odd", label: "five bins", counts: ["8", "3", "7", "1", "4"], printed: null },
    ],
    axes: [
        { name: "epsilon", label: "Axis epsilon", hint: "", grid: ["1", "10"], values: ["1", "10"] },
        { name: "seed", label: "Seed", hint: "", grid: SEEDS, values: SEEDS },
    ],
    now: point("1"),
    fans: { epsilon: [point("1"), point("10")] },
});

let shown: Shown;

function open(given: unknown = sheet()): Shown {
    shown?.close();
    const host = new Host("consistency-playground", { sheet: given as string });
    host.answers["status"] = () => ({});
    shown = render(host);
    return shown;
}

const rows = (): string[][] =>
    [...shown.el.querySelectorAll(".dp-consistency tbody tr")].map((row) => [...row.children].map((cell) => [...cell.querySelectorAll("input")].map(({ value }) => value).join() || cell.textContent!));
const fitted = (): string[] => rows().map((row) => row[3]!);
const choose = (label: string, value: string): void => {
    const id = [...shown.el.querySelectorAll("label")].find((node) => node.textContent === label)!.htmlFor;
    const select = shown.el.querySelector<HTMLSelectElement>(`#${id}`)!;
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
};
const counts = (): HTMLInputElement => shown.el.querySelector<HTMLInputElement>("input.dp-exact-text:not(.dp-axis-box, .dp-cell-box)")!;
const cell = (name: string): HTMLInputElement => shown.el.querySelector<HTMLInputElement>(`input[aria-label="${name}"]`)!;
const title = (): string => shown.el.querySelector("svg title")!.textContent!;

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown?.close();
    vi.useRealTimers();
});

test("the two passes give the kernel's answers, digit for digit", () => {
    expect(answers.trees.length).toBeGreaterThan(20);
    for (const { k, n, noisy, fitted: wanted } of answers.trees) {
        const tree = treeOf(k, n);
        const fit = fitTree(tree, noisy.map(exactly));
        expect(fit.map(format)).toEqual(wanted);
        expect(brokenSums(tree, fit)).toEqual([]);
    }
});

test("pooling gives the kernel's blocks, digit for digit", () => {
    for (const { noisy, blocks } of answers.lists) {
        const found = pool(noisy.map(exactly));
        expect(found.map(({ start, length, value }) => [String(start), String(length), format(value)])).toEqual(blocks);
        expect(falls(pooled(found))).toEqual([]);
    }
});

test("a tree over five counts is padded to eight, and its sums are those of its leaves", () => {
    const tree = treeOf(2, 5);
    expect([tree.height, tree.nodes, tree.leaves]).toEqual([4, 15, 8]);
    expect(totals(tree, [8n, 3n, 7n, 1n, 4n])).toEqual([23n, 19n, 4n, 11n, 8n, 4n, 0n, 8n, 3n, 7n, 1n, 4n, 0n, 0n, 0n]);
    expect([0, 1, 2, 6, 11].map((node) => spanOf(tree, node))).toEqual([[0, 7], [0, 3], [4, 7], [6, 7], [4, 4]]);
    expect(squaredError([fraction(1n, 2n), fraction(3n)], [fraction(0n), fraction(1n)])).toEqual(fraction(17n, 4n));
});

test("Figure 2 stands there as printed, and what does not agree is marked in words", () => {
    open();
    expect(rows().map((row) => row.slice(1))).toEqual([
        ["14", "13", "14"],
        ["2", "3", "3"],
        ["12", "11", "11"],
        ["2", "4", "3"],
        ["0", "1", "0"],
        ["10", "12", "11"],
        ["2", "1", "0"],
    ]);
    expect(shown.text()).toContain("Noisy: 3 of 3 sums do not hold. Fitted: every sum holds exactly.");
    expect([...shown.el.querySelectorAll(".dp-broken li")].map((item) => item.textContent)).toEqual(["✕ all: 13 ≠ 3 + 11 = 14", "✕ counts 1 to 2: 3 ≠ 4 + 1 = 5", "✕ counts 3 to 4: 11 ≠ 12 + 1 = 13"]);
    expect(shown.el.querySelectorAll(".dp-tree-broken, tr[data-broken]")).toHaveLength(6);
    expect(shown.text()).toContain("so the sensitivity is 3.");
    expect(shown.text()).toContain("as printed in the paper");
    expect(shown.text()).toContain("made-up data · not a release");
    expect(title()).toBe("Noisy: 3 of 3 sums do not hold. Fitted: every sum holds exactly. Squared error 13 noisy, 8 fitted.");
    choose("What is asked", "sorted");
    expect(fitted()).toEqual(["1", "1", "1", "11"]);
    expect(shown.text()).toContain("0 stands after 2, at ranks 2 and 3");
    expect(shown.text()).toContain("so the sensitivity is 1.");
});

test("an edited count moves its sums, the noise stays, and the fit follows without the kernel", async () => {
    open();
    enter(cell("count 1, true"), "5");
    expect(rows().map((row) => row[1])).toEqual(["17", "5", "12", "5", "0", "10", "2"]);
    expect(rows().map((row) => row[2])).toEqual(["16", "6", "11", "7", "1", "12", "1"]);
    expect(fitted().slice(0, 3)).toEqual(["17", "6", "11"]);
    expect(counts().value).toBe("5, 0, 10, 2");
    expect(shown.el.querySelector("select")!.selectedOptions[0]!.textContent).toBe("counts edited here");
    enter(counts(), "1 2 3");
    expect(rows()).toHaveLength(7);
    expect(shown.text()).toContain("padded to 4");
    expect(rows().at(-1)![0]).toBe("padding 4");
    await settle();
    expect(shown.host.of("move")).toEqual([]);
});

test("a noisy value that is typed is fitted as it stands, and an exact fraction is shown as one", () => {
    open();
    enter(cell("all, noisy"), "20");
    expect(fitted()[0]).toBe("18");
    enter(cell("count 4, noisy"), "2");
    expect(fitted()[0]).toBe("127/7 ≈ 18.14");
    enter(cell("count 4, noisy"), "\u22127");
    expect(rows()[6]![2]).toBe("\u22127");
    expect(shown.text()).toContain("11 ≠ 12 + (\u22127) = 5");
});

test.each([
    ["-1", "A count is a whole number from 0 to 1,000,000,000, got -1."],
    ["1, two", "got two."],
    ["", "Type from 1 to 16 counts, got none."],
    [new Array(17).fill("1").join(), "Type from 1 to 16 counts, got 17."],
    ["1000000001", "got 1000000001."],
])("what is no list of counts is said, and the last good one stays: %s", (text, said) => {
    open();
    const before = rows();
    enter(counts(), text);
    expect(shown.el.querySelector(".dp-fault:not([hidden])")!.textContent).toContain(said);
    expect(counts().getAttribute("aria-invalid")).toBe("true");
    expect(rows()).toEqual(before);
    press(counts(), "Escape");
    expect([counts().value, counts().getAttribute("aria-invalid")]).toEqual(["2, 0, 10, 2", null]);
});

test.each([
    ["count 1, true", "\u22123", "Count 1, true, must be a whole number from 0 to 1,000,000,000, got \u22123."],
    ["count 1, true", "so-so", "got so-so."],
    ["all, noisy", "1/2", "All, noisy, must be a whole number of at most 15 digits, got 1/2."],
    ["all, noisy", "", "got nothing."],
])("what is no number for a cell stays in it and is told under its row, once, until it is mended or taken back: %s %j", (name, text, said) => {
    open();
    const before = cell(name).value;
    const told = (): HTMLElement[] => [...shown.el.querySelectorAll<HTMLElement>(".dp-consistency [role=alert]")];
    enter(cell(name), text);
    expect(told().map((one) => one.textContent!.includes(said))).toEqual([true]);
    expect([cell(name).value, cell(name).getAttribute("aria-invalid"), cell(name).getAttribute("aria-describedby")]).toEqual([text, "true", told()[0]!.id]);
    expect(told()[0]!.closest("tr")!.previousElementSibling).toBe(cell(name).closest("tr"));
    press(cell(name), "Escape");
    expect([told(), cell(name).value, cell(name).hasAttribute("aria-invalid"), cell(name).hasAttribute("aria-describedby")]).toEqual([[], before, false, false]);
    enter(cell(name), text);
    enter(cell(name), "7");
    expect([told(), cell(name).value, cell(name).hasAttribute("aria-invalid")]).toEqual([[], "7", false]);
});

test("the button draws new noise: first that of the seed, then of the next, and without a kernel the first again", async () => {
    const host = open().host;
    host.widget_manager = { kernel: null };
    host.disconnect();
    await settle();
    const draw = (): void => shown.button("New noise").click();
    draw();
    expect(rows().map((row) => row[2])).toEqual(["15", "3", "13", "3", "1", "11", "3"]);
    expect(shown.text()).toContain("seed 1, so not private; 95 in 100 lie within ±9");
    draw();
    expect(rows()[0]![2]).toBe("12");
    expect(shown.text()).toContain("seed 2");
    draw();
    expect(rows()[0]![2]).toBe("15");
});

test("with a kernel the button asks for seeds beyond those that were sent", async () => {
    open();
    await settle();
    const draw = (): void => shown.button("New noise").click();
    draw();
    draw();
    draw();
    await vi.advanceTimersByTimeAsync(200);
    expect(shown.host.of("move").at(-1)!.args).toEqual({ place: { epsilon: "1", seed: "3" } });
});

test("epsilon moves the noise at once, from its fan", () => {
    open(sheet({ preset: "odd" }));
    const slider = shown.el.querySelector<HTMLInputElement>('input[type="range"]')!;
    expect(rows()[0]!.slice(1, 3)).toEqual(["23", "24"]);
    press(slider, "End");
    expect(rows()[0]!.slice(1)).toEqual(["23", "23", "23"]);
    expect(shown.text()).toContain("Noisy: all 7 sums hold already. Fitted: the same values.");
});

test("one count has nothing to contradict it", () => {
    open();
    enter(counts(), "7");
    expect(shown.text()).toContain("One count is all there is");
    choose("What is asked", "sorted");
    expect(shown.text()).toContain("One count has no order to break.");
});

test("a tree of three children is drawn to its own sensitivity, with the noise of a seed", () => {
    open(sheet({ preset: "odd", branching: "3" }));
    expect(rows()).toHaveLength(13);
    expect(shown.el.querySelectorAll(".dp-tree-padding")).toHaveLength(5);
    open(sheet({ branching: "3" }));
    expect(shown.text()).toContain("seed 1");
    expect(rows()).toHaveLength(13);
});

test.each([
    ["noise for fewer nodes", (given: any) => given.now.noise["3"]["1"].splice(13)],
    ["a seed without noise", (given: any) => delete given.fans.epsilon[1].noise["1"]["2"]],
    ["a sensitivity without noise", (given: any) => delete given.now.noise["5"]],
    ["a sensitivity without a quantile", (given: any) => delete given.now.within["2"]],
    ["a preset of too many counts", (given: any) => (given.presets[1].counts = new Array(17).fill("1"))],
    ["a negative count", (given: any) => (given.presets[1].counts[0] = "-1")],
    ["a start that is no preset", (given: any) => (given.start.preset = "none")],
    ["a branching that cannot be chosen", (given: any) => (given.start.branching = "5")],
])("a malformed consistency sheet is not believed: %s", (_, spoil) => {
    const given = sheet();
    expect(() => readConsistency(JSON.stringify(given))).not.toThrow();
    spoil(given);
    expect(() => readConsistency(JSON.stringify(given))).toThrow(Malformed);
});

test("a box writes the longest form that fits, and a narrow one only marks that it is broken", () => {
    const boxes = [{ depth: 0, first: 0, last: 1, noisy: "13", fitted: ["100/7", "≈ 14.29", "≈ 14"], sum: "14", padding: false }];
    const text = (width: number): string[] => [...boxesChart(width, { title: "t", boxes, depths: 1, leaves: 2, names: ["1", "2"] }).querySelectorAll(".dp-bare")].map((node) => node.textContent!);
    expect(text(300)).toEqual(["✕ 13 ≠ 14", "100/7"]);
    expect(text(36)).toEqual(["✕ 13", "≈ 14"]);
    expect(text(20)).toEqual(["✕"]);
});

test("many positions are drawn as one mark for each stretch, few as dots with their blocks' ends", () => {
    const steps = [{ start: 0, length: 4, value: 2 }];
    const few: Isotonic = { title: "t", size: 4, truth: steps, noisy: [[1, 1], [4, 4], [0, 0], [3, 3]], every: 1, fitted: steps, bands: [], falls: [2], axis: "rank" };
    const chart = isotonicChart(400, 200, few);
    expect([".dp-noisy-dot", ".dp-fall", ".dp-fitted-end"].map((one) => chart.querySelectorAll(one).length)).toEqual([4, 1, 2]);
    const many: Isotonic = { ...few, size: 1000, noisy: Array.from({ length: 100 }, (_, i) => [i, i + 5] as const), every: 10, bands: [{ kind: "dp-thin", low: steps, high: steps }] };
    const wide = isotonicChart(400, 200, many);
    expect([".dp-noisy-column", ".dp-noisy-dot", ".dp-band", ".dp-band-step"].map((one) => wide.querySelectorAll(one).length)).toEqual([100, 0, 1, 1]);
});

test("counts that are being typed stay while something is drawn, and are written out once they are taken", () => {
    open();
    const box = shown.el.querySelector<HTMLInputElement>("input.dp-exact-text")!;
    expect(box.value).toBe("2, 0, 10, 2");
    box.focus();
    box.value = "8 3";
    shown.button("New noise").click();
    expect(box.value).toBe("8 3");
    box.dispatchEvent(new Event("change"));
    expect(box.value).toBe("8, 3");
});
