/** The limit on a plan: set in its box or by "Nothing cut", refused in words, sent with every order; and its curve. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Host, press, render, settle, sheet, type Shown } from "./host";

let shown: Shown;
beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
    shown.close();
    vi.useRealTimers();
});

const BAR = (value: string): any => ({ value, kind: "exact", rule: "noise" });
const limited = (now = "3", within: Record<string, string> | null = null): any => ({ ...sheet(), limit: { now, bins: "12", each: "month" }, ...(within === null ? {} : { within }) });
const CURVE = (over: unknown = null): any => ({
    key: "k",
    curve: ["1", "3", "12"].map((most, i) => ({ most, errors: { "0.05": BAR(String(9 * (i + 1))) } })),
    over,
});
const OVER = { number: "2", rows: [{ value: "900", low: "880", high: "920" }, { value: "700", low: "680", high: null }, { value: "0", low: "0", high: "0" }] };

function open(now = "3", over: unknown = null): Host {
    const host = new Host("workbench", { sheet: limited(now) });
    host.answers["plan"] = ({ max_bins }) => ({ sheet: limited(String(max_bins ?? "3"), max_bins === undefined ? null : { max_bins: String(max_bins) }) });
    host.answers["limit"] = () => CURVE(over);
    shown = render(host);
    return host;
}

const part = (): HTMLElement => shown.el.querySelector<HTMLElement>(".dp-limit")!;
const box = (): HTMLInputElement => part().querySelector<HTMLInputElement>("input")!;
const told = (): string => part().querySelector("[role=status]")!.textContent!;

async function unfold(): Promise<void> {
    const curve = part().querySelector("details")!;
    curve.open = true;
    curve.dispatchEvent(new Event("toggle"));
    await vi.advanceTimersByTimeAsync(500);
    await settle();
}

async function type(words: string): Promise<void> {
    box().value = words;
    press(box(), "Enter");
    box().dispatchEvent(new Event("change", { bubbles: true }));
    await settle();
}

test("a limit that is typed goes with the plan, and stays with it", async () => {
    const host = open();
    expect(box().value).toBe("3");
    expect(part().textContent).toContain("One person-year counts in at most");
    expect(part().textContent).toContain("of 12 months");
    await type("7");
    expect(host.of("plan").at(-1)!.args["max_bins"]).toBe("7");
    expect(box().value).toBe("7");
    shown.button("Nothing cut").click();
    await settle();
    expect(host.of("plan").at(-1)!.args["max_bins"]).toBe("12");
    expect(shown.button("Nothing cut").disabled).toBe(true);
});

test("without a change no limit is sent, and a refused one is told at its box", async () => {
    const host = open();
    host.answers["plan"] = () => ({ error: { kind: "ParameterError", message: "the number of bins must be whole", value: null, rule: null, next_step: null, fix: null } });
    await type("0");
    expect(part().querySelector("[role=alert]")!.textContent).toContain("must be whole");
    expect(box().getAttribute("aria-invalid")).toBe("true");
    press(box(), "Escape");
    expect(box().value).toBe("3");
    expect(part().querySelector<HTMLElement>("[role=alert]")!.hidden).toBe(true);
});

test("the curve is asked for once it is opened, without the limit, and says what a profile would tell", async () => {
    const host = open();
    expect(host.of("limit")).toHaveLength(0);
    await unfold();
    expect(host.of("limit")).toHaveLength(1);
    expect(host.of("limit")[0]!.args["max_bins"]).toBeUndefined();
    expect(told()).toContain("With at most 3: one bin ±18 of what is counted. With nothing cut: one bin ±27.");
    expect(told()).toContain("a profile of them, released");
    expect(part().querySelectorAll(".dp-limit-curve svg")).toHaveLength(1);
    expect(part().querySelector(".dp-limit-curve .dp-probe")).not.toBeNull();
    await type("12");
    await vi.advanceTimersByTimeAsync(500);
    expect(host.of("limit")).toHaveLength(1); // the same curve, whatever the limit
    expect(told()).toContain("No person-year is over this limit.");
});

test("with a profile it says how many are over the limit", async () => {
    open("3", OVER);
    await unfold();
    expect(told()).toContain("Over this limit are 700 person-years, by release 2: each may be missing in any one month.");
    expect(part().querySelectorAll(".dp-limit-curve .dp-curve")).toHaveLength(2);
});

test("a kernel that is gone, a refusal and an answer that is none are told", async () => {
    const host = open();
    host.answers["limit"] = () => ({ key: "k" });
    await unfold();
    expect(told()).toContain("cannot read the kernel's answer");
    shown.close();
    const other = new Host("workbench", { sheet: limited() });
    other.widget_manager = { kernel: { status: "dead" } };
    shown = render(other);
    other.disconnect();
    await settle();
    await unfold();
    expect(told()).toContain("The curve needs a kernel.");
    expect(box().disabled).toBe(true);
});

test("a plan about rows has no limit", () => {
    shown = render(new Host("workbench"));
    expect(part().hidden).toBe(true);
});
