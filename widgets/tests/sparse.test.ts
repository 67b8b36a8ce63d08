import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Host, render, result, sheet, state, type Shown } from "./host";

let shown: Shown;

/** The fixtures, as a sparse mechanism over unknown keys would write them. */
function sparse(values: string[] = ["403", "190"]): Record<string, unknown> {
    const plan = sheet() as any;
    const delta = { delta: "0.000001" };
    plan.question = { ...plan.question, bins: "", size: "unknown keys" };
    for (const point of [plan.now, ...plan.fans.epsilon]) {
        Object.assign(point.price, delta);
        for (const errors of Object.values<any>(point.errors)) delete errors.all;
    }
    Object.assign(plan.measures[1], {
        label: "All bins at once",
        short: "all bins",
        phrase: "all bins within {value}",
        missing: "nothing public says how many bins are occupied, so no bar holds for all of them",
    });
    const session = state() as any;
    for (const question of session.questions) question.bins = "";
    const answer = result() as any;
    const labels = ["often", "seldom"].slice(0, values.length);
    Object.assign(answer, { sparse: true, size: "unknown keys", scale: "keys", labels, short_labels: labels, values, bins: String(values.length) });
    for (const bars of Object.values<any>(answer.bars)) bars.all = null;
    return { sheet: plan, state: session, result: answer };
}

function open(traits: Record<string, unknown>): void {
    shown?.close();
    shown = render(new Host("workbench", traits));
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown.close();
    vi.useRealTimers();
});

test("without a bar for all bins the plan says so, and the price names its delta", async () => {
    open(sparse());
    await vi.advanceTimersByTimeAsync(450);
    expect(shown.el.querySelector<HTMLInputElement>(".dp-stat-second input")!.disabled).toBe(true);
    expect(shown.el.querySelector(".dp-stat-second")!.textContent).toContain("no bound");
    expect(shown.el.querySelector(".dp-stat-second")!.textContent).not.toContain("±");
    expect(shown.el.querySelector(".dp-release .dp-pay")!.textContent).toContain(", δ\u00a00.000001");
    expect(shown.text()).toContain("Unknown keys");
    expect(shown.text()).not.toMatch(/undefined|NaN/);
});

test("the slider moves a plan without a bar for all bins, and says one error", async () => {
    open(sparse());
    const slider = shown.el.querySelector<HTMLInputElement>(".dp-track input")!;
    slider.value = String(Number(slider.value) + 1);
    slider.dispatchEvent(new Event("input"));
    await vi.advanceTimersByTimeAsync(700);
    const voice = shown.el.querySelector("[aria-live]")!.textContent ?? "";
    expect(voice).toMatch(/^ε 0\.25: any one bin within \d+; would cost/);
    expect([...shown.el.querySelectorAll("svg [d], svg [x], svg [y]")].filter((node) => /NaN/.test(node.outerHTML))).toEqual([]);
});

test("a sparse answer lists the bins that are shown and says what the others read", () => {
    open(sparse());
    const part = shown.el.querySelector(".dp-result")!;
    expect(part.textContent).toContain("no bar holds for all bins at once");
    expect(part.textContent).toContain("Read one bin at a time: no bar holds for all at once. A bin that is not shown reads 0.");
    const thin = [...part.querySelectorAll(".dp-stage .dp-all")].map((bar) => bar.getAttribute("d"));
    const thick = [...part.querySelectorAll(".dp-stage .dp-one")].map((bar) => bar.getAttribute("d"));
    expect(thick.length).toBeGreaterThan(0);
    expect(thin).toEqual(thick);
    shown.button("Table").click();
    expect([...part.querySelectorAll("th")].map((cell) => cell.textContent)).toEqual(["visits", "released", "this bin alone"]);
    expect(part.querySelectorAll("tbody tr")).toHaveLength(2);
});

test("an answer that shows no bin is told in words", () => {
    open(sparse([]));
    const part = shown.el.querySelector(".dp-result")!;
    expect(part.textContent).toContain("No bin is shown. A bin that is not shown reads 0");
    expect(part.querySelector(".dp-stage")).toBeNull();
    expect(shown.text()).not.toMatch(/Infinity|NaN/);
});

test("a declared domain keeps its bar for all bins, and counts every bin of it", () => {
    const traits = sparse() as any;
    const bar = { value: "60", kind: "exact", rule: "a rule" };
    traits.result.size = "525,600 bins";
    for (const bars of Object.values<any>(traits.result.bars)) bars.all = bar;
    open(traits);
    expect(shown.text()).toContain("±60, holds for all 525,600 bins at once");
    expect(shown.text()).toContain("all 2 shown bins are clearly above 0");
    const thin = shown.el.querySelector(".dp-stage .dp-all")!.getAttribute("d");
    expect(thin).not.toBe(shown.el.querySelector(".dp-stage .dp-one")!.getAttribute("d"));
});

test("a public cap stays when the mechanism changes, and nothing else does", () => {
    const plan = sheet() as any;
    plan.mechanism.parameters = { ...plan.mechanism.parameters, base: "tight", cap: "1000" };
    plan.mechanism.choices.push({ name: "cap", label: "Cap on a count (public)", options: [], stays: true });
    plan.mechanisms.push({ name: "PureSparse", title: "PureSparse", about: "", stays: ["cap"] }, { name: "Threshold", title: "Threshold", about: "", stays: [] });
    open({ sheet: plan });
    const picker = [...shown.el.querySelectorAll("select")].find((one) => [...one.options].some(({ value }) => value === "PureSparse"))!;
    const picked = (name: string): Record<string, string> => {
        picker.value = name;
        picker.dispatchEvent(new Event("change"));
        expect(shown.host.of("plan").at(-1)!.args).toMatchObject({ mechanism: name });
        return (shown.host.of("plan").at(-1)!.args as any).parameters;
    };
    expect(picked("PureSparse")).toEqual({ cap: "1000", epsilon: "0.2" });
    expect(picked("Threshold")).toEqual({ epsilon: "0.2" }); // it takes no cap, and would be refused with one
});

test("a plan says how far off the worst of several look-ups may be, of as many as a reader asks for", () => {
    const plan = sheet() as any;
    plan.measures.push({ ...plan.measures[1], name: "look_ups", label: "1,000 look-ups at once", missing: "", weight: "", many: "1000" });
    for (const point of [plan.now, ...plan.fans.epsilon]) for (const errors of Object.values<any>(point.errors)) errors.look_ups = { value: "57", kind: "bound", rule: "union bound over 1,000 look-ups" };
    open({ sheet: plan });
    const line = shown.el.querySelector<HTMLElement>(".dp-look-ups")!;
    expect(line.hidden).toBe(false);
    expect(line.textContent).toContain("all within ≤ 57, 95 in 100 · proved bound");
    const input = line.querySelector("input")!;
    expect(input.value).toBe("1,000");
    input.value = "20,000";
    input.dispatchEvent(new Event("change"));
    expect(shown.host.of("plan").at(-1)!.args).toMatchObject({ mechanism: plan.mechanism.name, among: "20000" });
});

test("a plan of a mechanism without look-ups has no such line, and asks for none", () => {
    open({ sheet: sheet() });
    expect(shown.el.querySelector<HTMLElement>(".dp-look-ups")!.hidden).toBe(true);
});
