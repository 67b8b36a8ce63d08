/** Advice beside a plan: asked for once the plan rests, shown beside no other plan, and a mechanism that is chosen from it. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Host, press, render, settle, sheet, type Shown } from "./host";

let shown: Shown;
beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
    shown.close();
    vi.useRealTimers();
});

const ROW = (mechanism: string, more: object = {}): any => ({
    mechanism,
    parameters: { cap: "" },
    about: `${mechanism} counts.`,
    settings: "",
    why: "2 times the error of Tree.",
    errors: [{ label: "any one bin", said: "±15" }],
    price: { epsilon: "0.2", delta: "0" },
    rho: "",
    here: false,
    first: false,
    ...more,
});
const keyOf = (args: any): string => [sheet().now, ...sheet().fans.epsilon].find((point) => point.epsilon === args.parameters.epsilon)!.key;
const ADVICE = (args: any, more: object = {}): any => ({
    key: keyOf(args),
    told: [{ head: "better", text: `dv.Tree at ${args.parameters.epsilon}` }],
    goals: [{ value: "bins", label: "every bin" }, { value: "top", label: "the largest items" }],
    goal: args.goal || "bins",
    says: "Tree is the first choice for every bin; on show is Dense.",
    beaten: true,
    rows: [ROW("Tree", { first: true, why: "Errs least for every bin." }), ROW("Dense", { here: true })],
    ...more,
});
const CALM = { told: [], beaten: false, says: "Dense is the first choice for every bin, and in use." };

function open(more: (args: any) => object = () => ({})): Host {
    const host = new Host("workbench");
    host.answers["advice"] = (args) => ADVICE(args, more(args));
    host.answers["plan"] = (args) => ({ sheet: { ...sheet(), mechanism: { ...sheet().mechanism, name: String(args["mechanism"]) } } });
    shown = render(host);
    return host;
}

const wait = async (ms = 450): Promise<void> => {
    await vi.advanceTimersByTimeAsync(ms);
    await settle();
};
const box = (): HTMLDetailsElement => shown.el.querySelector<HTMLDetailsElement>(".dp-advice")!;
const cards = (): string[] => [...box().querySelectorAll("li h4")].map((one) => one.textContent!);
const lines = (): HTMLElement => shown.el.querySelector<HTMLElement>(".dp-told")!;

async function slide(): Promise<void> {
    const slider = shown.el.querySelector<HTMLInputElement>(".dp-track input")!;
    slider.value = String(Number(slider.value) + 1);
    slider.dispatchEvent(new Event("input"));
    await settle();
}

test("the kernel is asked once the plan rests, and the box opens where a better way is known", async () => {
    const host = open();
    await wait(300);
    expect(host.of("advice")).toHaveLength(0);
    await wait(200);
    expect(host.of("advice")).toHaveLength(1);
    expect(lines().textContent).toBe(`Better: dv.Tree at ${sheet().now.epsilon}.`);
    expect(box().open).toBe(true);
    expect(cards()).toEqual(["Tree", "Dense"]);
    expect(box().textContent).toContain(`Each at ε ${sheet().now.epsilon}`);
    await wait(5_000);
    expect(host.of("advice")).toHaveLength(1);
});

test("while ε moves no line stands beside it, and mechanisms say at which ε they were compared", async () => {
    const host = open();
    await wait();
    const before = sheet().now.epsilon;
    await slide();
    expect(lines().dataset["waiting"]).toBe("true");
    expect(box().dataset["stale"]).toBe("true");
    expect(box().textContent).toContain(`Each at ε ${before}`);
    expect(shown.button("Use Tree").getAttribute("aria-disabled")).toBe("true");
    shown.button("Use Tree").click();
    expect(host.of("plan")).toHaveLength(0);
    await wait();
    const now = (host.of("advice").at(-1)!.args["parameters"] as any).epsilon;
    expect(now).not.toBe(before);
    expect(lines().textContent).toBe(`Better: dv.Tree at ${now}.`);
    expect(lines().dataset["waiting"]).toBeUndefined();
    expect(box().textContent).toContain(`Each at ε ${now}`);
});

test("advice about another plan is shown beside none", async () => {
    open(() => ({ key: "of another plan" }));
    await wait();
    expect(lines().textContent).toBe("");
    expect(cards()).toEqual([]);
});

test("the first choice in use leaves it folded, and its mechanisms are asked for once it is opened", async () => {
    const host = open((args) => ({ ...CALM, ...(args.rows ? {} : { rows: null }) }));
    await wait();
    expect(box().open).toBe(false);
    expect(lines().hidden).toBe(true);
    expect(host.of("advice").map(({ args }) => args["rows"])).toEqual([false]);
    box().querySelector("summary")!.click();
    box().dispatchEvent(new Event("toggle"));
    await wait(10);
    expect(host.of("advice").map(({ args }) => args["rows"])).toEqual([false, true]);
    expect(cards()).toEqual(["Tree", "Dense"]);
    await slide();
    await wait();
    expect(box().open).toBe(true); // as the reader left it
});

test("a mechanism is chosen with its parameters, for the goal it was compared for", async () => {
    const host = open();
    await wait();
    shown.button("Use Tree").click();
    await wait();
    const plan = host.of("plan").at(-1)!.args;
    expect([plan["mechanism"], (plan["parameters"] as any).cap]).toEqual(["Tree", ""]);
    expect(host.of("advice").at(-1)!.args).toMatchObject({ mechanism: "Tree", goal: "bins" });
    expect(host.of("release")).toHaveLength(0);
    const goal = box().querySelector("select")!;
    goal.value = "top";
    goal.dispatchEvent(new Event("change"));
    await wait(10);
    expect(host.of("advice").at(-1)!.args).toMatchObject({ goal: "top", rows: true });
    shown.button("In use").click();
    expect(host.of("plan")).toHaveLength(1);
});

test("while bins are declared nothing of the question before stands there", async () => {
    open();
    await wait();
    const bins = [...shown.el.querySelectorAll("select")].find((one) => [...one.options].some(({ label }) => label === "Declare bins…"))!;
    bins.value = [...bins.options].find(({ label }) => label === "Declare bins…")!.value;
    bins.dispatchEvent(new Event("change"));
    await settle();
    expect(cards()).toEqual([]);
    expect(box().textContent).toContain("the plan on show is still of the question before");
    expect(lines().dataset["waiting"]).toBe("true");
});

test("advice that a plan cut short is asked for again, and a refusal is told", async () => {
    const host = open();
    const error = (kind: string, message: string): any => ({ error: { kind, message, value: null, rule: null, next_step: null, fix: null } });
    host.answers["advice"] = () => error("Superseded", "a later request came first");
    await wait();
    await slide();
    host.answers["advice"] = (args) => ADVICE(args);
    await wait();
    expect(cards()).toEqual(["Tree", "Dense"]);
    host.answers["advice"] = () => error("ParameterError", "no such goal");
    const goal = box().querySelector("select")!;
    goal.value = "top";
    goal.dispatchEvent(new Event("change"));
    await wait();
    expect(box().textContent).toContain("no such goal");
    expect(cards()).toEqual([]);
});

test("without a kernel it says so, and nothing can be chosen", async () => {
    const host = open();
    await wait();
    host.widget_manager = { kernel: { status: "dead" } };
    host.disconnect();
    await wait(2_000);
    expect(box().textContent).toContain("Comparing needs a kernel");
    expect(shown.button("Use Tree").getAttribute("aria-disabled")).toBe("true");
    expect(box().querySelector("select")!.disabled).toBe(true);
});

test("Enter in ε chooses no mechanism", async () => {
    const host = open();
    await wait();
    press(shown.el.querySelector(".dp-epsilon input, .dp-exact-text")!, "Enter");
    expect(host.of("plan")).toHaveLength(0);
});
