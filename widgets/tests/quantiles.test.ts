/** The line of a quantile: by keyboard and mouse, at another level, with a kernel that goes, and in a report. */

import { afterEach, expect, test } from "vitest";
import { quantileLine } from "../src/answers/quantile_line";
import { counted } from "../src/wording/counted";
import { histogram, Marks } from "../src/charts/histogram";
import { readResult } from "../src/protocol/protocol";
import { Host, render, result, settle, type Shown } from "./host";

let shown: Shown | null = null;
afterEach(() => {
    shown?.close();
    shown = null;
});

const STOPS = ["0.25", "0.5", "0.75", "0.9"];
const BODY = (beta = "0.05", more: Record<string, unknown> = {}): Record<string, unknown> => ({
    beta,
    nouns: "person-years",
    stops: STOPS.map((q, i) => ({ q, at: String(2 * i), low: String(2 * i), high: String(2 * i + 1), low_all: String(Math.max(0, 2 * i - 1)), high_all: String(2 * i + 2) })),
    how: "bound",
    rule: "one sum, inverted",
    remarks: ["Nothing may be counted at all; then every bin is a quantile."],
    curve: { places: ["0", "1", "5", "41"], shares: [0.2, 0.4, 0.8, 1], low: [0.19, 0.39, 0.78, 1], high: [0.21, 0.42, 0.83, 1] },
    curve_rule: "a band",
    rests_on: "Rests on entry 3 (ε = 0.1); costs nothing more.",
    ...more,
});

const lined = (more: Record<string, unknown> = {}): any => ({ ...result(), adds_up: true, lined: true, ...more });

function open(answer: unknown = lined()): Host {
    const host = new Host("workbench", { result: answer as string });
    host.answers["quantiles"] = ({ beta }) => BODY(String(beta));
    shown = render(host);
    return host;
}

const part = (): HTMLDetailsElement => shown!.el.querySelector<HTMLDetailsElement>(".dp-quantiles")!;
const slider = (): HTMLInputElement => part().querySelector<HTMLInputElement>("input[type=range]")!;
const head = (): string => part().querySelector(".dp-ask-head")!.textContent!;
const line = (): HTMLElement => shown!.el.querySelector<HTMLElement>(".dp-quantile-line")!;

async function unfold(): Promise<void> {
    part().open = true;
    part().dispatchEvent(new Event("toggle"));
    await settle();
}

function slide(to: number): void {
    slider().value = String(to);
    slider().dispatchEvent(new Event("input", { bubbles: true }));
}

test("nothing is asked until a reader opens it, then once, and the median comes first", async () => {
    const host = open();
    expect(host.of("quantiles")).toHaveLength(0);
    expect(line().hidden).toBe(true);
    await unfold();
    expect(host.of("quantiles").map(({ args }) => args)).toEqual([{ number: "3", beta: "0.05" }]);
    expect(head()).toContain("Median of visits: 2");
    expect(head()).toContain("95 in 100: this one alone 2 to 3 · among all 1 to 4");
    expect(line().hidden).toBe(false);
    expect(slider().getAttribute("aria-valuetext")).toContain("50%, Median of visits: 2; 95 in 100");
});

test("the slider moves the line with no word to the kernel, and Median brings it back", async () => {
    const host = open();
    await unfold();
    const before = line().style.left;
    slide(3);
    expect(head()).toContain("90% quantile of visits: 6");
    expect(slider().getAttribute("aria-valuetext")).toContain("90%, 90% quantile of visits: 6");
    expect(line().style.left).not.toBe(before);
    expect(host.of("quantiles")).toHaveLength(1);
    shown!.button("Median").click();
    expect(line().style.left).toBe(before);
    slider().dispatchEvent(new KeyboardEvent("keydown", { key: "PageDown", bubbles: true }));
    expect(head()).toContain("25% quantile of visits: 0");
});

test("the line is dragged over the bars to the nearest stop", async () => {
    open();
    await unfold();
    const at = (i: number): number => {
        slide(i);
        return Number.parseFloat(line().style.left);
    };
    const [second, last] = [at(1), at(3)];
    slide(1);
    const move = (kind: string, x: number): void => void line().dispatchEvent(new MouseEvent(kind, { bubbles: true, button: 0, clientX: x, clientY: 60 }));
    move("pointermove", last);
    expect(Number.parseFloat(line().style.left)).toBe(second); // not held yet
    move("pointerdown", second);
    move("pointermove", last);
    expect(head()).toContain("90% quantile");
    move("pointerup", last);
    move("pointermove", second);
    expect(head()).toContain("90% quantile");
});

test("a kernel that goes leaves the line that is there, and says so where none is", async () => {
    const host = open();
    await unfold();
    host.widget_manager = { kernel: { status: "dead" } };
    host.disconnect();
    await settle();
    slide(2);
    expect(head()).toContain("75% quantile of visits: 4");
    shown!.close();
    const other = new Host("workbench", { result: lined() as string });
    other.widget_manager = { kernel: { status: "dead" } };
    shown = render(other);
    other.disconnect();
    await settle();
    await unfold();
    expect(part().textContent).toContain("need the running notebook");
    expect(line().hidden).toBe(true);
});

test("a refusal and an answer that is none are told in words", async () => {
    const host = open();
    host.answers["quantiles"] = () => ({ error: { kind: "ReleaseFormat", message: "no line here", value: null, rule: null, next_step: null, fix: null } });
    await unfold();
    expect(part().querySelector("[role=status]")!.textContent).toBe("no line here");
    shown!.close();
    const other = open();
    other.answers["quantiles"] = () => BODY("0.05", { stops: [{ q: "0.5", at: "4000", low: "0", high: "1", low_all: "0", high_all: "1" }] });
    await unfold();
    expect(part().querySelector("[role=status]")!.textContent).toContain("cannot read the kernel's answer");
});

test("an answer without a line, and a page with nobody to ask, show none", () => {
    open({ ...result(), adds_up: true });
    expect(part()).toBeNull();
    const read = counted(readResult(lined()));
    const around = { redraw: () => undefined, read: undefined };
    expect(quantileLine(read, around)).toBeNull();
    expect(quantileLine(counted(readResult(lined({ quantiles: { beta: "0.05" } }))), around)).toBeNull();
});

test("a report reads what it carries, and says at which level", () => {
    const read = counted(readResult(lined({ quantiles: BODY() })));
    const made = quantileLine(read, { redraw: () => undefined, read: undefined })!;
    const details = made.element as HTMLDetailsElement;
    document.body.append(details);
    const draw = (beta: string): void => {
        const view = { from: 0, to: 41 };
        made.draw(beta, 640, histogram(read, beta, new Marks(read, beta, []), { width: 640, ...view, title: "" }), view);
    };
    draw("0.05");
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    expect(details.textContent).toContain("Median of visits: 2");
    expect(details.querySelectorAll(".dp-quantile-shade")).toHaveLength(1);
    draw("0.01");
    expect(details.querySelector("[role=status]")!.textContent).toContain("This file carries quantiles 95 in 100");
    details.remove();
});
