import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { headline, phrase, signed, signOf, tipOf } from "../src/wording/measures";
import { readSheet } from "../src/protocol/protocol";
import { Malformed, Newer } from "../src/protocol/readers";
import { kindOf } from "../src/wording/words";
import { enter, Host, render, sheet, type Shown } from "./host";

let shown: Shown | null = null;

/** A sheet of a mechanism that nobody here has heard of: three measures with names and words of its own. */
function foreign(): any {
    const plan = sheet() as any;
    const words = { phrase: "a shape of {value}", tip: "{times} a shape of {value}, {often}.", sign: "", origin: "", missing: "" };
    plan.measures = [
        { name: "area", label: "Area of a shape", short: "area", ...words, weight: "medium", pictured: false },
        { name: "reach", label: "Reach", short: "reach", ...words, sign: "+", origin: "beyond the rim", phrase: "{value} beyond the rim", weight: "thin", pictured: false },
        { name: "void", label: "A void", short: "void", ...words, missing: "nobody has measured it", weight: "", pictured: false },
    ];
    for (const [i, point] of [plan.now, ...plan.fans.epsilon].entries()) {
        const errors = {
            area: { value: String(1000 - i), kind: "numerical", off: "0.01", rule: "an integral" },
            reach: { value: String(3000 - i), kind: "bound", rule: "a union bound" },
        };
        point.errors = Object.fromEntries(plan.betas.map((beta: string) => [beta, errors]));
        point.dots = point.chance = point.bias = null;
        point.more = [];
    }
    return plan;
}

function open(plan: any): Shown {
    shown?.close();
    shown = render(new Host("workbench", { sheet: plan, result: null }));
    return shown;
}

const stats = (el: Element, part: string): (string | null)[] =>
    [".dp-stat-first", ".dp-stat-second"].map((place) => el.querySelector(`${place} ${part}`)!.textContent);

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown?.close();
    shown = null;
    vi.useRealTimers();
});

test("the page shows whatever measures the kernel lists, in their words", async () => {
    const { el } = open(foreign());
    await vi.advanceTimersByTimeAsync(450);
    const plan = el.querySelector(".dp-plan")!;
    expect(stats(plan, ".dp-stat-name")).toEqual(["Area of a shape", "Reach"]);
    expect(stats(plan, ".dp-origin")).toEqual(["", "beyond the rim"]);
    expect([...plan.querySelectorAll<HTMLInputElement>(".dp-stat input")].map(({ value }) => value)).toEqual(["1,000", "3,000"]);
    expect(plan.querySelector(".dp-stat-first")!.textContent).toContain(" · calculated");
    const chart = plan.querySelector("svg[role=img]")!;
    expect(chart.getAttribute("aria-label")).toBe("At ε 0.2 a shape of 1,000, 3,000 beyond the rim");
    expect(chart.querySelector("path.dp-curve.dp-medium.dp-numerical")).not.toBeNull();
    expect(chart.querySelector("path.dp-curve.dp-thin.dp-bound")).not.toBeNull();
    expect(plan.textContent).not.toMatch(/any one bin|at once|NaN|undefined/i);
});

test("how each is known, and why one is not, stands under the plan", async () => {
    const { el } = open(foreign());
    const how = el.querySelector<HTMLDetailsElement>(".dp-how")!;
    how.open = true;
    how.dispatchEvent(new Event("toggle"));
    await vi.advanceTimersByTimeAsync(450);
    expect([...how.querySelectorAll("li")].map((line) => line.textContent)).toEqual([
        "Area of a shape ±≈1,000: calculated to within 0.01, an integral.",
        "Reach +3,000 beyond the rim: a union bound.",
        "A void: nobody has measured it.",
    ]);
});

test("an error of any measure can be typed, and ε follows", async () => {
    const page = open(foreign());
    const fans = readSheet(foreign()).fans.epsilon;
    const wanted = fans[7]!;
    enter(page.el.querySelector<HTMLInputElement>(".dp-stat-second input")!, wanted.errors.get("0.05")!.get("reach")!.value);
    await vi.advanceTimersByTimeAsync(700);
    expect(page.el.querySelector<HTMLInputElement>(".dp-epsilon-box")!.value).toBe(wanted.epsilon);
    enter(page.el.querySelector<HTMLInputElement>(".dp-stat-first input")!, "1");
    await vi.advanceTimersByTimeAsync(700);
    expect(page.el.querySelector(".dp-stat-first .dp-fault")!.textContent).toMatch(/it is ±≈\d+\. Ask for at least that\.$/);
    expect(page.el.querySelector(".dp-stat-second .dp-fault")!.textContent).toBe("");
});

test("a mechanism with one measure has one read-out", async () => {
    const plan = foreign();
    plan.measures.length = 1;
    const { el } = open(plan);
    await vi.advanceTimersByTimeAsync(450);
    expect(el.querySelector<HTMLElement>(".dp-stat-first")!.hidden).toBe(false);
    expect(el.querySelector<HTMLElement>(".dp-stat-second")!.hidden).toBe(true);
    expect(el.querySelector(".dp-plan svg[role=img]")!.outerHTML).not.toMatch(/NaN|undefined/);
});

test("slow is said before it is paid, and only where it is true", async () => {
    const plan = sheet() as any;
    for (const point of plan.fans.epsilon) point.cost = { text: "20,000,000 draws", slow: true };
    const page = open(plan);
    await vi.advanceTimersByTimeAsync(450);
    const warning = page.el.querySelector<HTMLElement>(".dp-plan [role=note]")!;
    expect([warning.hidden, warning.textContent]).toEqual([true, ""]);
    const slider = page.el.querySelector<HTMLInputElement>(".dp-track input")!;
    slider.value = String(Number(slider.value) + 1);
    slider.dispatchEvent(new Event("input"));
    await vi.advanceTimersByTimeAsync(700);
    expect([warning.hidden, warning.textContent]).toEqual([false, "⚠ This would be slow: 20,000,000 draws."]);
    expect(page.el.querySelector("[aria-live]")!.textContent).toMatch(/This would be slow: 20,000,000 draws\.$/);
});

test("texts of a measure take their numbers, and nothing else is replaced", () => {
    const read = readSheet(foreign());
    const [area, reach] = headline(read);
    const bar = read.now.errors.get("0.05")!.get("area")!;
    expect(tipOf(area!, "0.05", bar)).toBe("95 times in 100 a shape of 1,000, 95 in 100.");
    expect(tipOf({ ...area!, tip: "{constructor} {value}" }, "0.05", bar)).toBe("{constructor} 1,000");
    expect([signOf(area!, bar), signOf(reach!, bar), signed(reach!, bar)]).toEqual(["±≈", "+", "+1,000"]);
    expect(phrase(read, read.now, "0.05")).toBe("a shape of 1,000, 3,000 beyond the rim");
    expect(kindOf({ ...bar, off: null })).toBe("calculated");
});

test.each([
    ["lists no measures", { measures: undefined }, Malformed],
    ["has a measure without words", { measures: [{ name: "one" }] }, Malformed],
    ["has a curve of an unknown weight", { measures: [{ ...sheet().measures[0]!, weight: "bold" }] }, Malformed],
    ["is of a later version", { version: 3 }, Newer],
])("a sheet that %s is not drawn", (_, change, refused) => {
    expect(() => readSheet({ ...sheet(), ...change })).toThrow(refused);
});

test("a statement that holds for sure has no chance beside it, and no level to choose", async () => {
    const plan = foreign();
    plan.measures = plan.measures.slice(0, 2);
    plan.measures[0].certain = true;
    const { el } = open(plan);
    await vi.advanceTimersByTimeAsync(450);
    const [first, second] = [".dp-stat-first", ".dp-stat-second"].map((place) => el.querySelector(place)!);
    const visible = (stat: Element): string =>
        [...stat.querySelectorAll(".dp-note")].map((note) => [...note.children].map((part) => ((part as HTMLElement).hidden ? "" : part.textContent)).join("")).join("");
    expect(first!.querySelector("select")!.hidden).toBe(true);
    expect(visible(first!)).toBe("for sure · calculated");
    expect(second!.querySelector("select")!.hidden).toBe(false);
    expect(visible(second!)).toContain("95 in 100");
    shown!.close();
    delete plan.measures[0].certain;
    open(plan);
    expect(shown!.el.querySelector<HTMLElement>(".dp-stat-first select")!.hidden).toBe(false);
});
