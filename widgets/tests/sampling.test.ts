import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { above, below, powers } from "../src/powers";
import { Malformed } from "../src/readers";
import { readSampling } from "../src/sampling_sheets";
import { Host, render, settle, type Shown } from "./host";

const ALPHAS = [0.001, 0.05, 0.3];
const BIASES = [0, 0.1, 0.5, 1];
const [DRAWS, SHARES, BITS] = [[1, 10, 100], [0.25, 0.5, 1], [1, 50, 500]];
const GRIDS: Record<string, string[]> = {
    family: ["categories", "product"], size: ["20", "100"], epsilon: ["0.5", "1"], n: ["50", "500"], alpha: ALPHAS.map(String), p: BIASES.map(String), m: ["1", "2", "10", "100"], q: SHARES.map(String),
};
const START: Record<string, string> = { family: "categories", size: "20", epsilon: "1", n: "50", alpha: "0.05", p: "0.5", m: "10", q: "0.25" };
const way = (name: string, series: string, values: (number | null)[] | null, how = "exact"): any => ({ name, label: `way ${name}`, series, how, values });

function point(at: Record<string, string>): any {
    const one = 1 / Number(at["epsilon"]);
    const bits = at["family"] === "product";
    return {
        at, crossing: bits ? null : 0.11875,
        learn: [
            way("draw", "3", bits ? [6e17, 5e15, 3e14] : [40_000 * one, 800 * one, 134 * one], "bound"),
            way("learn", "6", [4_750_000, 1900, 53], "bound"),
            way("private", "2", [4_829_669, 3307, 248], bits ? "shape" : "bound"),
            way("floor", "5", [163, 4, null], "bound"),
        ],
        hard: [way("draw", "3", [0.018, 0.001, 0, 0.018]), way("best", "5", at["n"] === "500" ? null : [0.0035, 0.003, 0, 0.0035]), way("learn", "6", [0, 0.03, 0.056, 0])],
        draws: [way("category", "3", [1, 1, 1]), way("response", "4", [1, 10, 100]), way("chunks", "5", [0.08, 0.8, null])],
        amplified: [0.3597 / one, 0.62 / one, 1 / one],
    };
}

const sheet = (): any => ({
    version: 1, delta: "0.000001", alphas: ALPHAS, biases: BIASES, draws: DRAWS, shares: SHARES, bits: BITS,
    axes: Object.entries(GRIDS).map(([name, grid]) => ({ name, label: `Axis ${name}`, hint: "", grid, values: grid })),
    now: point(START),
    fans: Object.fromEntries(["family", "size", "epsilon", "n"].map((name) => [name, GRIDS[name]!.map((value) => point({ ...START, [name]: value }))])),
    clip: {
        prices: Array.from({ length: 500 }, (_, i) => String(Math.ceil(1e6 * Math.log(1 + 4 / (i + 1))) / 1e6)), paper: Array.from({ length: 500 }, (_, i) => `4/${i + 1}`),
        errors: [[0.25, 0.25, 0.25], [0.2, 0.15, 0.15], [0, 0, 0], [0.25, 0.25, 0.25]], bound: [2.9, 0.03, 5.8e-6], first: [{ alpha: "1/10", exact: "1", paper: "295" }],
    },
    trap: [{ q: "0.25", chances: ["0.0625", "0.1875"], ratio: "3", claimed: "1.5" }, { q: "0.5", chances: ["0.125", "0.375"], ratio: "3", claimed: "2" }, { q: "1", chances: ["0.25", "0.75"], ratio: "3", claimed: "3" }],
    few: { exact: Array.from({ length: 100 }, (_, i) => 10 ** -(0.5 + i / 8)), bound: Array.from({ length: 100 }, (_, i) => Math.exp(-(i + 1) / 6)) },
});

let shown: Shown;

function open(): Shown {
    shown?.close();
    const host = new Host("sampling-explorer", { sheet: sheet() });
    host.answers["status"] = () => ({});
    shown = render(host);
    return shown;
}

const visible = (node: Element): boolean => node.closest("[hidden]") === null;
const titles = (): string[] => [...shown.el.querySelectorAll("svg.dp-chart title")].filter(visible).map((node) => node.textContent!);
const finding = (): string => shown.el.querySelector(".dp-finding")!.textContent!;
const slider = (name: string): HTMLInputElement => {
    const label = [...shown.el.querySelectorAll("label")].find((one) => one.textContent === name)!;
    return shown.el.querySelector(`[id="${label.htmlFor}"]`)!;
};
function move(name: string, tick: number): void {
    const input = slider(name);
    input.value = String(tick);
    input.dispatchEvent(new Event("input", { bubbles: true }));
}
function look(view: string): void {
    const radio = shown.el.querySelector<HTMLInputElement>(`input[type="radio"][value="${view}"]`)!;
    radio.checked = true;
    radio.dispatchEvent(new Event("change", { bubbles: true }));
}
function choose(value: string): void {
    const select = shown.el.querySelector("select")!;
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown?.close();
    vi.useRealTimers();
});

test("it says at which distance drawing wins, and from where on learning does", () => {
    open();
    expect(finding()).toBe("At α = 0.05 drawing wins: 800 records are enough for one private draw; learning the distribution takes 1,900 without privacy, 3,307 with it. Above α = 0.119 learning without privacy needs fewer.");
    expect(titles()[0]).toBe(finding());
    expect([...shown.el.querySelectorAll(".dp-readout")].map((node) => node.textContent)).toEqual(["≤ 800", "≤ 1,900", "≤ 3,307"]);
    expect(shown.el.querySelectorAll(".dp-shade").length).toBe(1);
    move("Axis alpha", 2);
    expect(finding()).toContain("At α = 0.3 learning wins: 53 records are enough to learn the distribution without privacy, 248 with it; one private draw is proved to need no more than 134. Below α = 0.119 drawing needs fewer.");
});

test("a slider with a fan moves every picture at once, and the kernel is asked for what comes next", async () => {
    open();
    move("Axis epsilon", 0);
    expect(finding()).toContain("1,600 records are enough for one private draw");
    vi.advanceTimersByTime(200);
    await settle();
    expect(shown.host.of("move").map(({ args }) => (args["place"] as any)["epsilon"])).toEqual(["0.5"]);
});

test("where only a shape is known it is drawn and written otherwise, and nothing is claimed of it", () => {
    open();
    expect(shown.el.querySelector(".dp-shape-only:not(.dp-thin)")).toBeNull();
    choose("product");
    expect(finding()).toContain("learning wins: 1,900 records are enough to learn the distribution without privacy; one private draw is proved to need no more than 5 × 10¹⁵. The proved size of this draw is above it at every α");
    expect(shown.el.querySelectorAll(".dp-learn .dp-shape-only").length).toBe(1);
    expect([...shown.el.querySelectorAll(".dp-readout")].map((node) => node.textContent)).toContain("~ 3,307");
    expect(shown.text()).toContain("only the shape is known");
});

test("hard cases and prices of many draws follow their own sliders", () => {
    open();
    expect(titles()[1]).toBe("At a true share of 0.5 a distance of: way draw 0; way best 0; way learn 0.056");
    expect(titles()[2]).toBe("10 records cost: way category ε 1; way response ε 10; way chunks ε 0.8");
    move("Axis p", 0);
    move("Axis m", 3);
    expect(titles()[1]).toBe("At a true share of 0 a distance of: way draw 0.018; way best 0.0035; way learn 0");
    expect(titles()[2]).toContain("100 records cost: way category ε 1; way response ε 100; way chunks not possible");
    move("Axis n", 1);
    expect(titles()[1]).not.toContain("way best");
    expect(shown.text()).toContain("the best draw only up to 120 records");
});

test("a bit without noise: inside the class the error vanishes, outside it stays", () => {
    open();
    look("bit");
    expect(finding()).toBe("50 records, one bit, no noise: ε 0.076962. With a true share of 0.5 the bit is off by nothing at all; whatever the share between 1/3 and 2/3, by no more than 0.03.");
    move("Axis p", 1);
    expect(finding()).toContain("A true share of 0.1 lies outside 1/3 to 2/3: the bit is off by 0.15, and with 500 records still by 0.15. More records do not help.");
    expect(titles().length).toBe(3);
    expect(shown.el.querySelector(".dp-measures")!.querySelectorAll("input:checked").length).toBe(1);
});

test("the trap of subsampling is a switch that shows the counter-example", () => {
    open();
    look("part");
    expect(finding()).toBe("A sampler of ε 1 that looks at a share of 0.25 of the records, chosen uniformly and in random order, costs ε 0.3597.");
    expect(shown.el.querySelector(".dp-bars")).toBeNull();
    const box = shown.el.querySelector<HTMLInputElement>('input[type="checkbox"]')!;
    box.checked = true;
    box.dispatchEvent(new Event("change", { bubbles: true }));
    expect(finding()).toContain("the odds still move by 3, where the formula says 1.5");
    expect(shown.el.querySelector(".dp-bars")!.getAttribute("aria-label")).toContain("0.0625 where the record is 0 and 0.1875 where it is 1: 3 times as often. The formula allows 1.5 times.");
});

test("every view has a table with the numbers of its pictures", () => {
    open();
    const details = shown.el.querySelector("details")!;
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    const names = (): string[] => [...details.querySelectorAll("caption")].map((node) => node.textContent!);
    const cells = (table: number, line: number): string[] => [...details.querySelectorAll("table")[table]!.querySelectorAll("tbody tr")[line]!.children].map((cell) => cell.textContent!);
    expect(names()).toEqual(["Records by distance", "Distance by true share", "Privacy loss of m draws"]);
    expect(cells(0, 0)).toEqual(["0.001", "≤ 40,000", "≤ 4,750,000", "≤ 4,829,669", "≥ 163"]);
    look("bit");
    expect(names()).toEqual(["A bit without noise"]);
    look("part");
    expect(cells(0, 0)).toEqual(["0.25", "0.3597", "×3", "×1.5"]);
});

test("a bound is rounded to its own side, and a number that is short stays", () => {
    const values = [0, 0.05, 800, 1.23441, 0.99999, 8.34e-7, 1e-6, 2.91e9, 9.96e-8];
    expect(values.map(powers)).toEqual(["0", "0.05", "800", "1.234", "1", "8.3 × 10⁻⁷", "1 × 10⁻⁶", "2.9 × 10⁹", "10 × 10⁻⁸"]);
    expect(values.map(above)).toEqual(["0", "0.05", "800", "1.235", "1", "8.4 × 10⁻⁷", "1 × 10⁻⁶", "3 × 10⁹", "1 × 10⁻⁷"]);
    expect(values.map(below)).toEqual(["0", "0.05", "800", "1.234", "0.9999", "8.3 × 10⁻⁷", "1 × 10⁻⁶", "2.9 × 10⁹", "9.9 × 10⁻⁸"]);
});

test("sheets that do not hold together are not drawn", () => {
    const wrong: ((one: any) => void)[] = [
        (one) => (one.alphas = [0.3, 0.05, 0.001]),
        (one) => one.now.learn[0].values.pop(),
        (one) => one.now.amplified.pop(),
        (one) => one.clip.errors.pop(),
        (one) => one.clip.prices.pop(),
        (one) => one.trap.pop(),
        (one) => (one.now.hard[0].how = "certain"),
        (one) => (one.now.hard[0].series = "7"),
        (one) => one.fans.epsilon.pop(),
        (one) => (one.version = 2),
    ];
    for (const spoil of wrong) {
        const one = sheet();
        spoil(one);
        expect(() => readSampling(JSON.stringify(one)), String(spoil)).toThrow();
    }
    expect(() => readSampling("[]")).toThrow(Malformed);
});
