import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { powerOfTwo } from "../src/charts/falling";
import { Malformed } from "../src/protocol/readers";
import { readProduct } from "../src/protocol/sampling_sheets";
import { Host, press, render, type Shown } from "./host";

const GRIDS: Record<string, string[]> = { preset: ["halving", "rare"], n: ["1000", "10000"], rho: ["0.1", "0.5"], noise: ["repaired", "paper"], seed: ["1", "2"] };
const START: Record<string, string> = { preset: "halving", n: "10000", rho: "0.5", noise: "repaired", seed: "1" };
const round = (level: number, keeps: boolean, places: number[], means: number[], sd: number): any => ({ level, keeps, size: places.length, sd, cut: 70, threshold: keeps ? null : 0.375 / 2 ** level, places, means });

/** Four columns in one round: 0 stays, 1 is turned round, 1 to 3 fall on. */
function point(at: Record<string, string>): any {
    return {
        at, chunk: 3333, left_over: 1, price: at["noise"] === "paper" ? "1" : at["rho"], naive: 0.0002, flipped: at["preset"] === "rare" ? [] : [1], biases: [0.5, 0.9375, 0.0625, 0.0001], kept: [1, 2, 2, 2], record: [1, 1, 0, 0],
        rounds: [round(1, false, [0, 1, 2, 3], [0.51, 0.94, 0.06, -0.01], 0.0125), round(1, true, [0], [0.49], 0.005), round(2, true, [1, 2, 3], [0.06, 0.0601, -0.002], 0.0101)],
        off: [{ level: 1, columns: 1, here: 0.001, naive: 0.0005 }, { level: 2, columns: 3, here: 0.02, naive: 0.004 }],
    };
}

const sheet = (): any => ({
    version: 1, badge: "made-up data · not a release", columns: 4, levels: 1, alpha: "0.1", theory: { "0.1": 2.6e9, "0.5": 1.1e9 },
    axes: Object.entries(GRIDS).map(([name, grid]) => ({ name, label: `Axis ${name}`, hint: "", grid, values: grid })),
    now: point(START),
    fans: Object.fromEntries(Object.entries(GRIDS).map(([name, grid]) => [name, grid.map((value) => point({ ...START, [name]: value }))])),
    noises: { columns: [64, 65_536, 2 ** 30], repaired: [1, 9.5, 0.19], tight: [1, 1.1, 0.02], repaired_crossing: 2 ** 25, tight_crossing: 131_072 },
});

let shown: Shown;

function open(): Shown {
    shown?.close();
    const host = new Host("product-sampler-trace", { sheet: sheet() });
    host.answers["status"] = () => ({});
    shown = render(host);
    return shown;
}

const finding = (): string => shown.el.querySelector(".dp-finding")!.textContent!;
const stepper = (): Element => shown.el.querySelector('[role="group"]')!;
const sums = (): string[] => [...shown.el.querySelectorAll(".dp-sums dd")].map((node) => node.textContent!);

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown?.close();
    vi.useRealTimers();
});

test("columns fall through the buckets step by step, by keyboard", () => {
    open();
    expect(finding()).toContain("10,000 people, 4 bits each. They are put into 3 chunks of 3,333 at random");
    expect(shown.el.querySelectorAll("circle.dp-made-up").length).toBe(4);
    expect(shown.el.querySelectorAll("circle.dp-measured").length).toBe(0);
    press(stepper(), "ArrowRight");
    expect(finding()).toBe("Round 1: 4 columns are measured, with noise of standard deviation 0.0125. 3 lie below 0.188 and fall on; 1 stays. 1 with a mean near 1 is turned round and falls on, too.");
    expect(shown.el.querySelectorAll("circle.dp-measured").length).toBe(4);
    expect(shown.el.querySelectorAll("circle.dp-falls").length).toBe(3);
    expect(shown.el.querySelectorAll("line.dp-threshold").length).toBe(1);
    press(stepper(), "ArrowRight");
    expect(finding()).toContain("The last one holds 3 columns with shares of about 2⁻² and less; its noise has a standard deviation of 0.0101.");
    expect(shown.el.querySelectorAll("circle.dp-falls").length).toBe(0);
    press(stepper(), "End");
    expect(finding()).toBe("A record is drawn: each bit is 1 with its noisy mean, moved into 0 to 1. It has 2 ones, where 1.5 are expected of a person.");
    expect(shown.el.querySelectorAll("circle.dp-drawn-one").length).toBe(2);
    shown.button("Previous").focus();
    press(shown.button("Previous"), "Home");
    expect(shown.button("Previous").disabled).toBe(true);
    expect(document.activeElement!.textContent).toBe("People");
    press(document.activeElement!, "ArrowRight");
    expect(finding()).toContain("Round 1");
    expect(document.activeElement!.textContent).toBe("Round 1");
    shown.button("Draw").click();
    expect(shown.el.querySelector('[aria-current="step"]')!.textContent).toBe("Draw");
});

test("the size that the proof asks for stands beside the one that was chosen, and what is charged", () => {
    open();
    expect(sums()).toEqual(["10,000", "1.1 × 10⁹", "ρ 0.5", "3,333", "1", "0.021", "0.02", "0.0045"]);
    const noise = shown.el.querySelectorAll("select")[1]!;
    noise.value = "paper";
    noise.dispatchEvent(new Event("change", { bubbles: true }));
    expect(sums()[2]).toBe("ρ 1");
    expect(shown.el.querySelectorAll("svg.dp-chart title")[1]!.textContent).toBe("The buckets have less noise than one noisy mean each from 33,554,432 columns on with the paper's cuts, from 131,072 columns on with tight ones; here d = 4");
});

test("rounds and columns have tables", () => {
    open();
    const details = shown.el.querySelector("details")!;
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    const cells = (table: number, line: number): string[] => [...details.querySelectorAll("table")[table]!.querySelectorAll("tbody tr")[line]!.children].map((cell) => cell.textContent!);
    expect(cells(0, 0)).toEqual(["round 1", "4", "0.188", "0.0125", "70", "1"]);
    expect(cells(0, 2)).toEqual(["measured again, bucket 2", "3", "—", "0.0101", "70", "3"]);
    expect(cells(1, 1)).toEqual(["2", "0.938", "2", "yes", "0.06", "1"]);
    expect(cells(1, 3)).toEqual(["4", "1 × 10⁻⁴", "2", "no", "−0.002", "0"]);
});

test("powers of two are written as such", () => {
    expect([0, -1, -14].map(powerOfTwo)).toEqual(["1", "2⁻¹", "2⁻¹⁴"]);
});

test("sheets that do not hold together are not drawn", () => {
    const wrong: ((one: any) => void)[] = [
        (one) => one.now.biases.pop(),
        (one) => one.now.kept.push(1),
        (one) => one.now.rounds[0].means.pop(),
        (one) => (one.now.rounds[0].places[0] = 4),
        (one) => (one.now.rounds[0].level = 3),
        (one) => (one.now.flipped = [-1]),
        (one) => one.noises.tight.pop(),
        (one) => one.fans.seed.pop(),
    ];
    for (const spoil of wrong) {
        const one = sheet();
        spoil(one);
        expect(() => readProduct(JSON.stringify(one)), String(spoil)).toThrow(Malformed);
    }
});
