import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Malformed } from "../src/protocol/readers";
import { readIsotonic } from "../src/protocol/sheets";
import { Host, press, render, settle, type Shown } from "./host";

const GRIDS: Record<string, string[]> = { family: ["half", "equal"], n: ["4", "6"], epsilon: ["0.1", "1"], seed: ["1", "2"] };
const START: Record<string, string> = { family: "half", n: "4", epsilon: "1", seed: "1" };

function point(at: Record<string, string>): any {
    const size = Number(at["n"]);
    return {
        at,
        distinct: "2",
        truth: [[0, 2, "3"], [2, size - 2, "8"]],
        noisy: Array.from({ length: size }, (_, i) => [i === 1 ? 1 : 3 * i, i === 1 ? 1 : 3 * i]),
        noise: Array.from({ length: size }, (_, i) => [i - 2, i - 2]),
        every: 1,
        fitted: [[0, 3, "7/3"], [3, size - 3, "9.5"]],
        multiscale: { low: [[0, size, "0"]], high: [[0, 2, "6"], [2, size - 2, "20"]], crossed: at["seed"] === "2" },
        one: "3",
        all: "5",
        falls: [1],
        errors: { noisy: "40", rounded: "31", fitted: at["epsilon"] === "1" ? "11.2" : "250.1", expected: "7.4", bound: "5.6" },
    };
}

const sheet = (): any => ({
    version: 1,
    badge: "made-up data · not a release",
    beta: "0.05",
    axes: Object.entries(GRIDS).map(([name, grid]) => ({ name, label: `Axis ${name}`, hint: "", grid, values: grid })),
    now: point(START),
    fans: Object.fromEntries(Object.entries(GRIDS).map(([name, grid]) => [name, grid.map((value) => point({ ...START, [name]: value }))])),
});

let shown: Shown;

function open(given: unknown = sheet()): Shown {
    shown?.close();
    const host = new Host("isotonic-explorer", { sheet: given as string });
    host.answers["status"] = () => ({});
    shown = render(host);
    return shown;
}

const title = (): string => shown.el.querySelector("svg title")!.textContent!;
const visible = (node: Element): boolean => node.closest("[hidden]") === null;

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown?.close();
    vi.useRealTimers();
});

test("the picture has the fit, the noisy values and both bands, and says what it found", () => {
    open();
    expect(title()).toBe("4 counts are pooled into 2 blocks; squared error 11.2 fitted, 40 noisy, 31 sorted and rounded.");
    expect(["circle", ".dp-fall", ".dp-band", ".dp-sup", ".dp-fitted-step"].map((one) => shown.el.querySelectorAll(one).length)).toEqual([8, 1, 4, 2, 2]);
    expect(shown.el.querySelectorAll("svg title")[1]!.textContent).toBe("The fit is off by 5.7 at most, the noise by 2");
    expect(shown.text()).toContain("4 counts in ascending order, 2 of them distinct.");
    expect(shown.text()).toContain("paler band: ±5 around the fit; each holds everywhere at once, 95 in 100, proved");
    expect(shown.text()).toContain("≤ 5.6 expected: one harmonic number for each run of equal counts");
    expect(shown.text()).toContain("The fit is biased within a run of equal counts");
    expect(shown.text()).toContain("made-up data · not a release");
});

test("sliders, the list of counts and the button move at once from their fans", async () => {
    open();
    await settle();
    press(shown.el.querySelectorAll('input[type="range"]')[1]!, "Home");
    expect(title()).toContain("squared error 250.1 fitted");
    await vi.advanceTimersByTimeAsync(200);
    expect(shown.host.of("move").at(-1)!.args).toEqual({ place: { ...START, epsilon: "0.1" } });
});

test("a draw whose band is empty somewhere says so, and the next button begins anew", async () => {
    open();
    const host = shown.host;
    host.widget_manager = { kernel: null };
    host.disconnect();
    await settle();
    const flag = [...shown.el.querySelectorAll(".dp-warning")].find((node) => node.textContent!.includes("empty somewhere"))!;
    expect(visible(flag)).toBe(false);
    shown.button("New noise").click();
    expect(visible(flag)).toBe(true);
    expect(shown.text()).toContain("seed 2, so not private");
    shown.button("New noise").click();
    expect(shown.text()).toContain("seed 1, so not private");
    const select = shown.el.querySelector("select")!;
    select.value = "equal";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    expect(select.value).toBe("equal");
});

test("the table has each block with its exact value, and the ends of both bands", () => {
    open();
    const details = shown.el.querySelector<HTMLDetailsElement>("details")!;
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    expect([...details.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent))).toEqual([
        ["1 to 3", "7/3", "0", "20", "0", "22/3"],
        ["4", "9.5", "0", "20", "4.5", "14.5"],
    ]);
});

test.each([
    ["steps with a gap", (given: any) => (given.now.fitted[1][0] = 2)],
    ["steps that end too soon", (given: any) => given.now.truth.pop()],
    ["a noise too few", (given: any) => given.now.noise.pop()],
    ["a noisy value too few", (given: any) => given.now.noisy.pop()],
    ["a step without a value", (given: any) => given.now.multiscale.low[0].pop()],
    ["a value that is no number", (given: any) => (given.fans.seed[1].fitted[0][2] = "much")],
    ["stretches of nothing", (given: any) => (given.now.every = 0)],
])("a malformed isotonic sheet is not believed: %s", (_, spoil) => {
    const given = sheet();
    expect(() => readIsotonic(JSON.stringify(given))).not.toThrow();
    spoil(given);
    expect(() => readIsotonic(JSON.stringify(given))).toThrow(Malformed);
});
