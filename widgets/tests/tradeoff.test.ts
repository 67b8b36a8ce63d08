import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bitsText, valueAt } from "../src/charts/tradeoff";
import { Malformed } from "../src/protocol/readers";
import { readTradeoff } from "../src/protocol/sparse_sheets";
import { Host, render, settle, type Shown } from "./host";

const GRIDS: Record<string, string[]> = {
    epsilon: ["0.5", "1"], d: ["100", "4294967296"], load: ["3", "16.384", "100"], alpha: ["2", "38/13"], split: ["1", "2"], threshold: ["pure", "approximate"],
    delta: ["0.000001"], look_ups: ["1", "1000"], relation: ["add", "replace"], accounting: ["paper", "exact"],
};
const START: Record<string, string> = {
    epsilon: "1", d: "4294967296", load: "16.384", alpha: "38/13", split: "1", threshold: "pure", delta: "0.000001", look_ups: "1000", relation: "add", accounting: "paper",
};
const CALLED: Record<string, string> = { both: "Threshold + ALP", stability: "Stability (δ)", alp: "ALP alone", threshold: "Threshold", max: "Threshold + max", dense: "Dense" };
const XS = [0, 15, 30, 45, 90, 135];

function row(name: string, bits: number, mean: number[], how = "exact", needs = false): any {
    const wide = (factor: number): number[] => mean.map((value) => factor * value);
    return {
        name, label: CALLED[name], series: String(Object.keys(CALLED).indexOf(name) + 1), needs_delta: needs, bits, read: "16 bits", moved_by: "ε d", cap: name === "alp" ? "90" : null, off: how === "simulated" ? 0.22 : 0,
        errors: { mean: { how, values: mean }, one: { how, values: name === "max" ? null : wide(3) }, all: { how: "bound", values: name === "max" ? null : wide(5) } },
    };
}

function point(at: Record<string, string>): any {
    const less = 2 / Number(at["epsilon"]) / 2;
    const bits = 52 + 16 * Number(at["load"]);
    return {
        at, xs: XS, flip: "0.203125", thresholds: { alone: 45, before: 90, stability: 15 },
        rows: [
            row("both", bits, [7.5, 8.2, 9.1, 9.5, 4, 2].map((value) => value * less), "exact", at["threshold"] !== "pure"),
            row("stability", 52, [0, 7, 0.9, 0.9, 0.9, 0.9], "exact", true),
            row("threshold", 52, [0, 15, 30, 23, 0.9, 0.9], "exact", at["threshold"] !== "pure"),
            row("alp", 508, [4, 5.2, 5.4, 5.5, 3, 47], "simulated"),
            row("max", 167, [7.4, 7.4, 7.4, 7.4, 3, 2], "bound"),
            row("dense", 85_900_000, XS.map(() => 0.9)),
        ],
    };
}

const sheet = (): any => ({
    version: 1, k: "1000", value_bits: "20", psi: "0.05", runs: "4000", start: "30", told: ["both", "threshold"], traced: "both",
    axes: Object.entries(GRIDS).map(([name, grid]) => ({ name, label: `Axis ${name}`, hint: "", grid, values: grid })),
    now: point(START),
    fans: Object.fromEntries(Object.entries(GRIDS).map(([name, grid]) => [name, grid.map((value) => point({ ...START, [name]: value }))])),
});

let shown: Shown;

function open(): Shown {
    shown?.close();
    const host = new Host("tradeoff-explorer", { sheet: sheet() });
    host.answers["status"] = () => ({});
    shown = render(host);
    return shown;
}

const titles = (): string[] => [...shown.el.querySelectorAll("svg.dp-chart title")].map((node) => node.textContent!);
const cells = (i: number): string[] => [...shown.el.querySelectorAll("tbody tr")[i]!.children].map((cell) => cell.textContent!.trim());
const slider = (name: string): HTMLInputElement => {
    const label = [...shown.el.querySelectorAll("label")].find((one) => one.textContent === name)!;
    return shown.el.querySelector(`[id="${label.htmlFor}"]`)!;
};
function move(name: string, tick: number): void {
    const input = slider(name);
    input.value = String(tick);
    input.dispatchEvent(new Event("input", { bubbles: true }));
}
function choose(value: string): void {
    const radio = shown.el.querySelector<HTMLInputElement>(`input[type="radio"][value="${value}"]`)!;
    radio.checked = true;
    radio.dispatchEvent(new Event("change", { bubbles: true }));
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown?.close();
    vi.useRealTimers();
});

test("one probe drives curves, frontier and table", () => {
    open();
    expect(titles()[0]).toBe("An entry of 30, expected error: Threshold + ALP 9.1; Threshold 30.0. Best for their space without δ: Threshold, ALP alone, Threshold + max, Dense.");
    expect(titles()[1]).toBe("Best for their space at x = 30: Threshold with 52 bits an entry, Threshold + max with 167 bits an entry, ALP alone with 508 bits an entry, Dense with 85.9 M bits an entry");
    expect(cells(0)).toEqual(["Threshold + ALP", "pure", "7.5", "9.1", "9.5", "±27.3", "≤ 45.5", "314", "16 bits", "ε d"]);
    expect(cells(3)).toEqual(["ALP alone, up to 90 ★", "pure", "~4.0", "~5.4", "~5.5", "±16.2", "≤ 27", "508", "16 bits", "ε d"]);
    expect(cells(4)[5]).toBe("no bound");
    move("True value x of an entry", 0);
    expect(titles()[0]).toBe("An entry of 0, expected error: Threshold + ALP 7.5; Threshold 0.0. Best for their space without δ: Threshold.");
    expect(shown.text()).toContain("x = 0");
});

test("a slider with a fan moves every picture at once, and the kernel is asked for what comes next", async () => {
    open();
    move("Axis epsilon", 0);
    expect(cells(0)[3]).toBe("18.2");
    expect(shown.el.querySelector(".dp-trail")).toBeNull(); // the other settings of s/k are not known at this place
    vi.advanceTimersByTime(200);
    await settle();
    expect(shown.host.of("move").map(({ args }) => (args["place"] as any)["epsilon"])).toEqual(["0.5"]);
});

test("where a threshold costs δ all are compared, and every series has a name, a sign and its sureness", () => {
    open();
    const select = shown.el.querySelector("select")!;
    select.value = "approximate";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    expect(titles()[0]).toContain("Best for their space: Stability (δ).");
    expect(shown.el.querySelectorAll(".dp-curve.dp-simulated").length).toBe(1);
    expect(shown.el.querySelectorAll(".dp-curve.dp-bound").length).toBe(1);
    expect(new Set([...shown.el.querySelectorAll(".dp-which path")].map((node) => node.getAttribute("d"))).size).toBe(6);
    expect(shown.text()).toContain("simulated, 4,000 runs, expected errors of ALP alone ±0.22");
});

test("the error can be that of one entry or of all look-ups, and a mechanism can be left out", () => {
    open();
    choose("all");
    expect(titles()[0]).toContain("error that holds 95 in 100 for all 1,000 look-ups together: Threshold + ALP ≤ 45.5; Threshold ≤ 150.");
    expect(shown.el.querySelectorAll(".dp-curve").length).toBe(6);
    const box = shown.el.querySelector<HTMLInputElement>('input[type="checkbox"][value="threshold"]')!;
    box.checked = false;
    box.dispatchEvent(new Event("change", { bubbles: true }));
    expect(shown.el.querySelectorAll(".dp-curve").length).toBe(5);
    expect(shown.el.querySelectorAll("tbody tr").length).toBe(6);
});

test("a method that is too large at some places comes and goes with them, and stays hidden where it was hidden", async () => {
    const without = sheet();
    without.fans.epsilon[0].rows.pop();
    shown?.close();
    const host = new Host("tradeoff-explorer", { sheet: without });
    host.answers["status"] = () => ({});
    shown = render(host);
    const boxes = (): HTMLInputElement[] => [...shown.el.querySelectorAll<HTMLInputElement>(".dp-which input")];
    expect(boxes().map(({ value }) => value)).toEqual(["both", "stability", "threshold", "alp", "max", "dense"]);
    boxes()[2]!.checked = false;
    boxes()[2]!.dispatchEvent(new Event("change", { bubbles: true }));
    move("Axis epsilon", 0);
    expect(boxes().map(({ value }) => value)).toEqual(["both", "stability", "threshold", "alp", "max"]);
    expect(boxes().map(({ checked }) => checked)).toEqual([true, true, false, true, true]);
    expect(shown.el.querySelectorAll(".dp-curve").length).toBe(4);
});

test("errors stand on a logarithmic axis from what most values are above to the greatest one", () => {
    open();
    const ticks = [...shown.el.querySelectorAll("svg.dp-chart")].map((chart) => [...chart.querySelectorAll("text[text-anchor=end].dp-tick")].map((one) => one.textContent));
    expect(ticks[0]!.slice(0, 5)).toEqual(["≤ 0.5", "1", "2", "5", "10"]);
    const heights = [...shown.el.querySelectorAll(".dp-curve.dp-exact")].map((path) => path.getAttribute("d")!);
    expect(heights.every((d) => !d.includes("NaN"))).toBe(true); // an error of 0 lies on the bottom line
    expect(shown.text()).toContain("none without δ gets here");
});

test("s/k is drawn as a trail of Threshold + ALP", () => {
    open();
    expect(shown.el.querySelectorAll(".dp-trail-dot").length).toBe(3);
});

test("bits are told in three figures, and a place in the picture is the nearest value", () => {
    expect([52, 314.1, 9999, 12_345, 85_900_000, 3.689e17, 999_999].map(bitsText)).toEqual(["52", "314", "9,999", "12.3 k", "85.9 M", "369 P", "1 M"]);
    expect([-5, 40, 300, 583, 900].map((at) => valueAt(600, 300, { low: 1, top: 100 }, [0, 10, 50, 100], at))).toEqual([0, 0, 50, 100, 100]);
});

test("a lead within the error of a simulation wins no star", () => {
    const starred = (mean: number, off: number): boolean => {
        const one = sheet();
        const larger = { ...row("max", 900, [4, 5.2, 5.4, mean, 3, 47], "simulated"), name: "signed", label: "Signed", off };
        for (const place of [one.now, ...Object.values<any[]>(one.fans).flat()]) place.rows.push(larger);
        one.start = "45";
        shown?.close();
        const host = new Host("tradeoff-explorer", { sheet: one });
        host.answers["status"] = () => ({});
        shown = render(host);
        return cells(6)[0]!.includes("★");
    };
    expect([starred(5.3, 0.22), starred(5.3, 0), starred(5, 0.22)]).toEqual([false, false, true]);
    expect(shown.text()).toContain("a lead within the error of a simulation does not count");
});

test("sheets that do not hold together are not drawn", () => {
    const wrong: ((one: any) => void)[] = [
        (one) => (one.now.xs = [0, 2, 1, 3, 4, 5]),
        (one) => one.now.rows[0].errors.mean.values.pop(),
        (one) => (one.now.rows[1].name = one.now.rows[0].name),
        (one) => (one.now.rows[2].bits = 0),
        (one) => one.fans.epsilon.pop(),
        (one) => (one.now.rows[3].series = "10"),
        (one) => (one.now.rows[1].errors.one.how = "certain"),
    ];
    for (const spoil of wrong) {
        const one = sheet();
        spoil(one);
        expect(() => readTradeoff(JSON.stringify(one))).toThrow(Malformed);
    }
});
