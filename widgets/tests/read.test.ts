import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { enter, Host, render, result, settle, type Shown } from "./host";

let shown: Shown;

/** The fixture, as a structure that answers one bin at a time would write it. */
function lookup(change: Record<string, unknown> = {}): any {
    return { ...result(), kind: "large", lookup: true, labels: [], short_labels: [], values: [], csv: "", bins: "1000000", columns: ["visits"], ...change };
}

const form = (): HTMLFormElement => shown.el.querySelector<HTMLFormElement>("form.dp-read")!;
const status = (): string => form().querySelector("[role=status]")!.textContent!;
const fault = (): string => form().querySelector("[role=alert]")!.textContent!;

function open(answer: unknown): void {
    shown = render(new Host("workbench", { result: answer }));
}

function submit(...texts: string[]): void {
    form().querySelectorAll("input").forEach((input, i) => enter(input, texts[i]!));
    form().requestSubmit();
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown.close();
    vi.useRealTimers();
});

test("an answer that is not read point by point has no field, however long it is", () => {
    open(lookup({ lookup: false }));
    expect(shown.text()).toContain("too many to draw here");
    expect(form()).toBeNull();
});

test("one bin is read by name, with its interval", async () => {
    open(lookup());
    shown.host.answers["read"] = () => ({ values: [{ point: ["7"], value: "1204", low: "1189", high: "1219" }] });
    expect(form().hidden).toBe(false);
    expect(form().querySelector("label")!.textContent).toBe("visits");
    submit(" 7 ");
    expect(status()).toBe("Asking the kernel…");
    await settle();
    expect(shown.host.of("read")[0]!.args).toEqual({ number: result().number, points: [[" 7 "]], beta: "0.05", reader: "" });
    expect([status(), fault()]).toEqual(["7: 1,204 (between 1,189 and 1,219, 95 in 100).", ""]);
});

test.each([
    [{ low: null, high: "9" }, "(at most 9, 95 in 100)"],
    [{ low: "0", high: null }, "(at least 0, 95 in 100)"],
    [{ low: "", high: "9" }, "(at most 9, 95 in 100)"],
    [{ low: "0", high: "" }, "(at least 0, 95 in 100)"],
    [{ low: null, high: null }, "(nothing is known of its error)"],
    [{ low: "", high: "", known: "bound", rule: "a rule" }, "(nothing is known of its error)"],
    [{ low: "", high: "", known: "", rule: "" }, "(no error is stated for this estimator)"],
])("an end of the interval may be open: %j", async (ends, words) => {
    open(lookup());
    shown.host.answers["read"] = () => ({ values: [{ point: ["7"], value: "3", ...ends }] });
    submit("7");
    await settle();
    expect(status()).toBe(`7: 3 ${words}.`);
});

test("a point outside the axis is refused in the kernel's words, and the next one is not", async () => {
    open(lookup());
    shown.host.answers["read"] = () => ({ error: { kind: "DomainError", message: "a label must be one of 0, 1, got 9" } });
    submit("9");
    await settle();
    expect([status(), fault()]).toEqual(["", "a label must be one of 0, 1, got 9"]);
    expect(form().querySelector("input")!.getAttribute("aria-invalid")).toBe("true");
    shown.host.answers["read"] = () => ({ values: [{ point: ["1"], value: "3", low: "0", high: "6" }] });
    submit("1");
    await settle();
    expect([status(), fault()]).toEqual(["1: 3 (between 0 and 6, 95 in 100).", ""]);
    expect(form().querySelector("input")!.hasAttribute("aria-invalid")).toBe(false);
});

test("a bin of two columns has a field for each", async () => {
    open(lookup({ columns: ["age", "region"] }));
    shown.host.answers["read"] = () => ({ values: [{ point: ["30", "north"], value: "3", low: "0", high: "6" }] });
    expect([...form().querySelectorAll("label")].map((label) => label.textContent)).toEqual(["age", "region"]);
    submit("30", "north");
    await settle();
    expect((shown.host.of("read")[0]!.args as any).points).toEqual([["30", "north"]]);
    expect(status()).toContain("30, north: 3");
});

test("only the last question is answered, and none of another release", async () => {
    open(lookup());
    submit("1");
    submit("2");
    const [first, second] = shown.host.of("read");
    const body = (point: string): object => ({ values: [{ point: [point], value: "3", low: "0", high: "6" }] });
    shown.host.tell({ v: 1, re: second!.id, ok: true, body: body("2") });
    await settle();
    shown.host.tell({ v: 1, re: first!.id, ok: true, body: body("1") });
    await settle();
    expect(status()).toContain("2: 3");
    submit("3");
    const third = shown.host.of("read").at(-1)!;
    shown.host.write("result", lookup({ number: "9" }));
    await vi.advanceTimersByTimeAsync(450);
    shown.host.tell({ v: 1, re: third.id, ok: true, body: body("3") });
    await settle();
    expect(status()).toBe("");
});

test("an answer that makes no sense is not shown", async () => {
    open(lookup());
    shown.host.answers["read"] = () => ({ values: [{ point: ["7"], value: "many", low: null, high: null }] });
    submit("7");
    await settle();
    expect([status(), fault()]).toEqual(["", expect.stringContaining("cannot read the kernel's answer")]);
});

test.each([
    ["a histogram", result()],
    ["a teaching draw", lookup({ number: null, teaching: { seed: "7" } })],
])("%s has no such field", (_, answer) => {
    open(answer);
    expect(form()).toBeNull();
});
