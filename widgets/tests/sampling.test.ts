import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { above, below, powers } from "../src/wording/powers";
import { Malformed } from "../src/protocol/readers";
import { readSampling } from "../src/protocol/sampling_sheets";
import { Host, press, render, settle, type Shown } from "./host";

const ALPHAS = [0.001, 0.05, 0.3];
const BIASES = [0, 0.1, 0.5, 1];
const [DRAWS, SHARES, BITS] = [[1, 10, 100], [0.25, 0.5, 1], [1, 50, 500]];
const GRIDS: Record<string, string[]> = {
    family: ["categories", "product"], size: ["20", "100"], epsilon: ["0.5", "1"], n: ["50", "500"], alpha: ALPHAS.map(String), p: BIASES.map(String), m: ["1", "2", "10", "100"], q: SHARES.map(String),
    crowd: ["400", "2000"], seed: ["1", "2"],
};
const START: Record<string, string> = { family: "categories", size: "20", epsilon: "1", n: "50", alpha: "0.05", p: "0.5", m: "10", q: "0.25", crowd: "2000", seed: "1" };
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
        projections: {
            shares: [0.6, 0.4, 0], scaled: [0.59, 0.392, 0.018], moved: [0.591, 0.392, 0.017], how: at["epsilon"] === "0.5" ? "numerical" : "exact",
            draws: [
                { noisy: [29, 21, 9], scaled: [0.492, 0.356, 0.153], moved: [0.52, 0.36, 0.12], closest: [[0.58, 0.42, 0], [0.4, 0.42, 0.18], [0.58, 0.24, 0.18]] },
                { noisy: [31, 14, -3], scaled: [0.689, 0.311, 0], moved: [0.67, 0.33, 0], closest: [[0.72, 0.28, 0], [0.62, 0.38, 0], [0.62, 0.28, 0.1]] },
            ],
        },
    };
}

/** Three labels, the second of which is special. */
const run = (row: number[], label: number): any => ({
    people: [80, 300, 20], looked: [8, 31, 1], chances: [1e-5, 0.9999, 1e-7], special: 1, label, rows: 180, hits: ["10", "00", "11"], bits: ["10", "00", "01"], hit: [60, 18], ones: [31, 11], shares: [0.172, -0.041], row,
});
const walked = (): any => ({
    names: ["A", "B", "C"], special: 1, truth: [0.2, 0.8, 0], a: "0.2", epsilon: "2", delta: "0.000001",
    runs: [[run([1, 1], 2), { people: [30, 99, 0], looked: [1, 2, 0], chances: [0.2, 0.7, 0.1], special: null, label: 2, rows: 0, hits: [], bits: [], hit: [], ones: [], shares: [], row: [] }], [run([0, 0], 1), run([1, 0], 0)]],
    off: [{ missed: 8.23e-17, bits: 0.3468, map: 0.029, label: 0.3178, law: [0.3, 0.5, 0.2] }, { missed: 8.23e-17, bits: 0.0357, map: 0.029, label: 0.03367, law: [0.21, 0.77, 0.02] }],
});

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
    counts: { records: 30, bins: 3, runs: 300, fixed: { dots: [[10, 10, 200], [12, 8, 100]], measured: -0.486, off: 0.085, exact: -0.5 }, free: { dots: [[9, 14, 300]], measured: -0.004, off: 0.113, exact: 0 } },
    walk: walked(),
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
const finding = (): string => shown.el.querySelector(".dp-verdict")!.textContent!;
const step = (): string => shown.el.querySelector(".dp-step-sentence")!.textContent!;
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
    expect(titles()[1]).toBe("Distance at a true share of 0.5: way draw 0; way best 0; way learn 0.056");
    expect(titles()[2]).toBe("10 records cost: way category ε 1; way response ε 10; way chunks ε 0.8");
    move("Axis p", 0);
    move("Axis m", 3);
    expect(titles()[1]).toBe("Distance at a true share of 0: way draw 0.018; way best 0.0035; way learn 0");
    expect(titles()[2]).toContain("100 records cost: way category ε 1; way response ε 100; way chunks not possible");
    move("Axis n", 1);
    expect(titles()[1]).not.toContain("way best");
    expect(shown.text()).toContain("the best draw only up to 120 records");
});

test("a bit without noise: inside the class the error vanishes, outside it stays", () => {
    open();
    look("bit");
    expect(finding()).toBe("One bit from 50 records, without noise, costs ε 0.076962. With a true share of 0.5 the bit is off by nothing at all; whatever the share between 1/3 and 2/3, by no more than 0.03.");
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

test("counts of a fixed and of a Poisson number of records are scattered side by side, with runs and error", () => {
    open();
    look("part");
    const told = titles().at(-1)!;
    expect(told).toBe("With 30 records, a bin that has many leaves fewer for another: their correlation is −0.49 ± 0.085, exactly −0.5. With a Poisson number of mean 30 they are independent: −0.004 ± 0.11, exactly 0.");
    expect([...shown.el.querySelectorAll("circle.dp-cloud")].filter(visible).map((dot) => dot.getAttribute("r"))).toEqual(["19.8", "14", "24.2"]);
    expect(shown.text()).toContain("simulated in 300 runs");
});

test("noisy shares are made chances in two ways, and one of them is picked", () => {
    open();
    const badge = shown.el.querySelector(".dp-violet")!;
    expect(visible(badge)).toBe(false);
    look("shares");
    expect([visible(badge), badge.textContent]).toEqual([true, "made-up data · not a release"]);
    expect(finding()).toBe("With this noise the shares are 0.58, 0.42, 0.18 and add up to 1.18. Divided, they are 0.492, 0.356, 0.153. Over all noise the label that nobody has is drawn with chance 0.018 if divided and 0.017 if moved.");
    expect(titles()).toEqual([finding(), "Over all noise: A divided −0.01, nearest −0.009; B divided −0.008, nearest −0.008; C: nobody divided +0.018, nearest +0.017"]);
    expect(shown.el.querySelectorAll(".dp-closest").length).toBe(1);
    const chosen = (): string[] => [...shown.el.querySelectorAll('.dp-spot[data-best]')].filter(visible).map((spot) => spot.getAttribute("class")!);
    expect(new Set(chosen())).toEqual(new Set(["dp-spot dp-series-3"]));
    look("moved");
    expect(finding()).toContain("Moved to the nearest chances, they are 0.52, 0.36, 0.12.");
    expect(new Set(chosen())).toEqual(new Set(["dp-spot dp-series-1"]));
    move("Axis seed", 1);
    expect(finding()).toContain("With this noise the shares are 0.62, 0.28, −0.06 and add up to 0.84.");
    expect(shown.host.of("move")).toEqual([]);
    move("Axis epsilon", 0);
    expect(finding()).toContain("with chance ≈ 0.018 if divided");
    expect(shown.text()).toContain("computed to within 0.001");
});

test("a label is drawn by bits step by step, by keyboard, and the bars say how far off each step is", () => {
    open();
    look("walk");
    expect(step()).toBe("400 people came, a Poisson number with mean 2,000. Most have label B; A has the rest, and nobody has C. Which labels these are is not known.");
    expect(finding()).toBe("With 2,000 people on average the label that is drawn is off by 0.0337: the bits by 0.0357, and turning them into a label by 0.029.");
    const group = shown.el.querySelector('[role="group"]')!;
    const count = (kind: string): number => shown.el.querySelectorAll(`.${kind}`).length;
    press(group, "ArrowRight");
    expect(step()).toContain("40 people were put aside by coins.");
    expect(count("dp-walk-ring")).toBe(1);
    press(group, "ArrowRight");
    expect([count("dp-walk-cell-hit"), count("dp-walk-cell-kept")]).toEqual([3, 0]);
    press(group, "ArrowRight");
    expect([count("dp-walk-cell-hit"), count("dp-walk-cell-kept"), count("dp-walk-cell-lost")]).toEqual([0, 2, 1]);
    press(group, "End");
    expect(step()).toBe("No bit is 1, which stands for the special label: B is drawn.");
    expect(titles()[0]).toBe(step());
    move("Axis seed", 1);
    expect(step()).toBe("One of the labels with a 1 is chosen, each with the same chance: A is drawn.");
    press(group, "ArrowLeft");
    expect(step()).toBe("It draws one row of bits with these chances: 1 for A, 0 for all others.");
    move("Axis crowd", 0);
    expect(step()).toBe("Only 3 people were put aside, too few to find the special label among: C, the last label, is given.");
    expect(shown.el.querySelectorAll(".dp-bars [class~=dp-bar-row]").length).toBe(4);
    expect([...shown.el.querySelectorAll(".dp-bars")].filter(visible)[0]!.getAttribute("aria-label")).toBe("Total variation distance: special label missed ≤ 8.3 × 10⁻¹⁷; bits 0.347; bits to label 0.029; label, in all 0.318");
    move("Axis seed", 0);
    press(group, "End");
    expect(step()).toContain("C is drawn, a label that nobody has.");
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
    expect(cells(2, 0)).toEqual(["always 30", "−0.486", "0.085", "−0.5"]);
    look("shares");
    expect(cells(0, 2)).toEqual(["C: nobody", "0", "9", "0.153", "0.12", "0.018", "0.017"]);
    look("walk");
    expect(cells(0, 0)).toEqual(["A", "0.2", "80", "8", "1 × 10⁻⁵", "60", "31", "0.172", "0", "0.21"]);
    expect(cells(0, 1)).toEqual(["B, drawn", "0.8", "300", "31", "0.9999", "—", "—", "—", "—", "0.77"]);
    expect(cells(1, 3)).toEqual(["label, in all", "0.0337"]);
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
        (one) => one.now.projections.draws.pop(),
        (one) => one.now.projections.draws[0].closest[0].pop(),
        (one) => one.fans.n[0].projections.scaled.push(0),
        (one) => one.counts.free.dots[0].pop(),
        (one) => one.walk.runs.pop(),
        (one) => one.walk.runs[0].pop(),
        (one) => one.walk.off[0].law.pop(),
        (one) => (one.walk.runs[0][0].hits[0] = "12"),
        (one) => one.walk.runs[0][0].bits.pop(),
        (one) => one.walk.runs[0][0].row.push(1),
        (one) => (one.walk.runs[0][0].label = 3),
        (one) => (one.walk.special = -1),
        (one) => one.axes.pop(),
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
