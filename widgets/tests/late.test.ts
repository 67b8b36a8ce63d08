/** What comes late, in another order, after a change of mind or after the kernel was given up: it undoes nothing of the reader's. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { save } from "../src/dom/dom";
import { Explorer } from "../src/explorers/explorer";
import { RangeStore } from "../src/stores/range_store";
import { SessionStore } from "../src/stores/session_store";
import type { Point, Sheet } from "../src/protocol/sheets";
import { SubSessionStore } from "../src/stores/sub_session_store";
import tape from "../fixtures/tape.json";
import { enter, Host, press, render, result, settle, sheet, state, type Asked, type Shown } from "./host";

let shown: Shown;

function open(component = "workbench", traits: Record<string, unknown> = {}): Shown {
    shown?.close();
    return (shown = render(new Host(component, traits)));
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
    shown?.close();
    vi.useRealTimers();
});

const pay = (): HTMLButtonElement => shown.el.querySelector<HTMLButtonElement>(".dp-release .dp-pay")!;
const note = (): string => [...shown.el.querySelectorAll(".dp-release .dp-note")].map((node) => node.textContent).join(" ");
const passes = (ms: number): unknown => vi.advanceTimersByTimeAsync(ms);
const reply = (asked: Asked, body: object): void => shown.host.tell({ v: 1, re: asked.id, ok: true, body });
const refuse = (asked: Asked, message: string, kind = "ParameterError"): void =>
    shown.host.tell({ v: 1, re: asked.id, ok: false, error: { kind, message } });
const pulse = (asof: string): object => ({ version: 1, asof, fault: "", at: asof });

/** The first half of a click: what a mouse, a finger or a key does before it is let go. */
const down = (button: Element): unknown => button.dispatchEvent(new Event("pointerdown", { bubbles: true }));
const up = (button: Element): unknown => button.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail: 1 }));

// --- a press and what changes under it -------------------------------------------------------------------------------

test("the button that pays stays the same while what stands around it is told anew, and takes the click", async () => {
    open();
    await passes(600);
    shown.host.write("pulse", pulse("2026-11-22T02:14:00.000Z"));
    await passes(500);
    const button = pay();
    const said = note();
    down(button);
    await passes(3_000); // no beat comes: "now" becomes "as of", on a page that is still
    expect(note()).not.toBe(said);
    expect(note()).toContain("as of");
    expect(pay()).toBe(button);
    up(button);
    await settle();
    expect(shown.host.of("release")).toHaveLength(1);
});

test("a button that rests, and one that rests no more, are the same", async () => {
    open();
    await passes(450);
    const slider = shown.el.querySelector<HTMLInputElement>(".dp-track input")!;
    press(slider, "ArrowLeft");
    const button = pay();
    expect(button.getAttribute("aria-disabled")).toBe("true");
    await passes(450);
    expect([pay() === button, button.getAttribute("aria-disabled")]).toEqual([true, null]);
});

test.each(["the pointer", "a key"])("a press that began on one price never pays another: %s", async (by) => {
    open();
    await passes(450);
    const button = pay();
    const words = button.textContent;
    if (by === "a key") press(button, " ");
    else down(button);
    const other = { ...sheet(), now: sheet().fans.epsilon[3]! };
    shown.host.write("sheet", other); // planned on another page
    await passes(1_000); // a slow press: the rest after the change is over
    expect(pay().textContent).not.toBe(words);
    if (by === "a key") pay().click();
    else up(pay());
    await settle();
    expect(shown.host.of("release")).toEqual([]);
    down(pay());
    up(pay());
    await settle();
    expect(shown.host.of("release")).toHaveLength(1);
});

test("the same price for another plan is another meaning", async () => {
    open();
    await passes(450);
    const button = pay();
    down(button);
    shown.host.write("sheet", { ...sheet(), now: { ...sheet().now, key: "another" } });
    await passes(1_000);
    expect([pay().textContent, pay() === button]).toEqual([button.textContent, false]);
    up(pay());
    await settle();
    expect(shown.host.of("release")).toEqual([]);
});

test("a press of a screen reader, which begins nowhere, counts, whatever was pressed before", async () => {
    open();
    await passes(450);
    press(shown.el.querySelector(".dp-epsilon-box")!, "Enter");
    down(shown.el.querySelector("h2")!);
    pay().click();
    await settle();
    expect(shown.host.of("release")).toHaveLength(1);
});

test("a withdrawal that began before the charge does not cancel what is charged by then", async () => {
    open();
    shown.host.answers["release"] = () => ({ token: "t", number: "" });
    await passes(450);
    down(pay());
    up(pay());
    await settle();
    const button = shown.button("Withdraw");
    down(button);
    shown.host.tell({ v: 1, event: "progress", body: { token: "t", number: "5", done: "1", of: "42", text: "Drawing 42 bins" } });
    up(shown.button("stays spent"));
    expect(shown.host.of("cancel")).toEqual([]);
});

test("trying again orders what was refused, and nothing else", async () => {
    open();
    await passes(450);
    shown.host.answers["release"] = () => ({ error: { kind: "LedgerAway", message: "away; nothing was charged" } });
    pay().click();
    await settle();
    expect(shown.host.of("release")).toHaveLength(1);
    shown.host.write("sheet", { ...sheet(), now: sheet().fans.epsilon[3]! });
    await passes(1_000);
    shown.button("Try again").click();
    await settle();
    expect(shown.host.of("release")).toHaveLength(1);
    expect(pay().textContent).toContain("pay ε");
});

test("a question of a sub-session that changes under a press is not asked by it", async () => {
    open("pay-what-you-get-tape", { state: tape, sheet: "", result: "" });
    await passes(600);
    const ask = shown.button("up to");
    down(ask);
    shown.host.write("state", { ...tape, symbols: { ...tape.symbols, left: String(Number(tape.symbols.left) - 1) } });
    await passes(1_000);
    up(ask);
    await settle();
    expect(shown.host.of("release")).toEqual([]);
    down(ask);
    up(ask);
    await settle();
    expect(shown.host.of("release")).toHaveLength(1);
});

// --- what a field shows and what would be paid -----------------------------------------------------------------------

const cap = (value = "", more: object = {}): ReturnType<typeof sheet> => {
    const own = sheet() as any;
    own.mechanism.choices = [{ name: "cap", label: "Cap", options: [], open: true }];
    own.mechanism.parameters = { base: "exp", cap: value };
    own.mechanisms = ["Dense", "Stability", "Compact"].map((name) => ({ name, title: name, about: "" }));
    Object.assign(own.mechanism, more);
    own.now.key = `cap ${value}`;
    return own;
};
const box = (): HTMLInputElement => shown.el.querySelector<HTMLInputElement>(".dp-plain-choices input")!;
const mechanism = (): HTMLSelectElement => shown.el.querySelector<HTMLSelectElement>(".dp-mechanism select")!;
const capOf = (asked: Asked): unknown => (asked.args["parameters"] as Record<string, string>)["cap"];
function choose(name: string): void {
    mechanism().value = name;
    mechanism().dispatchEvent(new Event("change", { bubbles: true }));
}
function type(text: string): void {
    box().value = text;
    box().dispatchEvent(new Event("input", { bubbles: true }));
}

test("Escape before a refusal comes takes back what was typed, and the refusal is told of nothing", async () => {
    open("workbench", { sheet: cap("7") });
    await settle();
    box().focus();
    type("many");
    enter(box(), "many");
    const [asked] = shown.host.of("plan");
    press(box(), "Escape");
    refuse(asked!, "cap must be a whole number");
    await settle();
    expect([box().value, box().getAttribute("aria-invalid")]).toEqual(["7", null]);
    const back = shown.host.of("plan").at(-1)!;
    expect([shown.host.of("plan").length, capOf(back)]).toEqual([2, "7"]);
    expect(pay().getAttribute("aria-disabled")).toBe("true"); // until the kernel is back there, too
    reply(back, { sheet: cap("7") });
    await passes(450);
    expect([box().value, pay().getAttribute("aria-disabled")]).toEqual(["7", null]);
});

test("Escape before a new plan comes: field, plan and button are for the same, whatever comes when", async () => {
    open("workbench", { sheet: cap("7") });
    await settle();
    box().focus();
    enter(box(), "9");
    const [asked] = shown.host.of("plan");
    press(box(), "Escape");
    expect(box().value).toBe("7");
    shown.host.write("sheet", cap("9")); // the kernel was there before it heard of the change of mind
    reply(asked!, { sheet: cap("9") });
    await passes(450);
    expect(pay().getAttribute("aria-disabled")).toBe("true");
    reply(shown.host.of("plan").at(-1)!, { sheet: cap("7") });
    await passes(450);
    expect([box().value, pay().getAttribute("aria-disabled")]).toEqual(["7", null]);
    pay().click();
    await settle();
    expect(capOf(shown.host.of("release")[0]!)).toBe("7");
});

test("a plan that comes while its field still has the focus is what the field shows", async () => {
    open("workbench", { sheet: cap("7") });
    await settle();
    box().focus();
    shown.host.write("sheet", cap("8")); // planned on another page
    expect(box().value).toBe("8");
    type("12");
    shown.host.write("sheet", cap("9"));
    expect(box().value).toBe("12"); // not yet entered: it stays what the reader types
});

test("a field that holds what was refused lets nobody pay for what stood there before", async () => {
    open("workbench", { sheet: cap("7") });
    await passes(450);
    enter(box(), "many");
    refuse(shown.host.of("plan")[0]!, "cap must be a whole number");
    await passes(450);
    expect([box().value, box().getAttribute("aria-invalid")]).toEqual(["many", "true"]);
    expect(shown.text()).toContain("Correct what is marked first.");
    pay().click();
    await settle();
    expect(shown.host.of("release")).toEqual([]);
    press(box(), "Escape");
    await passes(450);
    pay().click();
    await settle();
    expect(shown.host.of("release")).toHaveLength(1);
});

test("a second change before the first is planned changes both", async () => {
    open("workbench", { sheet: cap("7") });
    await settle();
    choose("Stability");
    expect(mechanism().value).toBe("Stability"); // the next arrow key goes on from here
    enter(shown.el.querySelector<HTMLInputElement>(".dp-epsilon-box")!, "0.2345");
    await passes(200);
    const last = shown.host.of("plan").at(-1)!;
    expect([last.args["mechanism"], (last.args["parameters"] as any).epsilon]).toEqual(["Stability", "0.2345"]);
    refuse(shown.host.of("plan")[0]!, "later", "Superseded");
    refuse(last, "Stability needs a δ");
    await settle();
    const alone = shown.host.of("plan").at(-1)!; // of two changes the last one, alone
    expect([alone.args["mechanism"], (alone.args["parameters"] as any).epsilon]).toEqual(["Dense", "0.2345"]);
    expect(mechanism().value).toBe("Dense");
});

test("a plan of before that comes while the next is asked does not put the typed ε back", async () => {
    open();
    await passes(450);
    const epsilon = shown.el.querySelector<HTMLInputElement>(".dp-epsilon-box")!;
    const off = (value: string): object => ({ ...sheet(), now: { ...sheet().now, epsilon: value, exactly: value } });
    enter(epsilon, "0.2345");
    await passes(200);
    enter(epsilon, "0.3456");
    await passes(200);
    expect(shown.host.of("plan")).toHaveLength(2);
    shown.host.write("sheet", off("0.2345"));
    expect(epsilon.value).toBe("0.3456");
    shown.host.write("sheet", off("0.3456"));
    reply(shown.host.of("plan")[1]!, { sheet: off("0.3456") });
    await passes(450);
    expect([epsilon.value, pay().getAttribute("aria-disabled")]).toEqual(["0.3456", null]);
});

test("a refusal of an ε that is chosen no more is told of none", async () => {
    open();
    await passes(450);
    const epsilon = shown.el.querySelector<HTMLInputElement>(".dp-epsilon-box")!;
    enter(epsilon, "99999");
    await passes(200);
    press(shown.el.querySelector<HTMLInputElement>(".dp-track input")!, "Home");
    refuse(shown.host.of("plan")[0]!, "ε must be at most 1,000");
    await passes(450);
    expect([epsilon.value, epsilon.getAttribute("aria-invalid"), pay().getAttribute("aria-disabled")]).toEqual(["0.01", null, null]);
});

test("a kernel that is given up under a plan leaves what is on show to be chosen from, once it is back", async () => {
    open("workbench", { sheet: cap("7") });
    await settle();
    enter(box(), "9");
    shown.host.widget_manager = { kernel: null };
    await passes(1_500);
    expect(box().value).toBe("7");
    shown.host.widget_manager = { kernel: { status: "idle" } };
    await passes(2_500);
    expect(pay().getAttribute("aria-disabled")).toBeNull();
    reply(shown.host.of("plan")[0]!, { sheet: cap("9") }); // nobody waits for it any more; the trait says what is planned
    await settle();
    expect(box().value).toBe("7");
});

test("bins that are planned close their own form, and none that was opened since", async () => {
    open();
    await settle();
    const bins = shown.el.querySelector<HTMLSelectElement>(".dp-bins select")!;
    const declare = (): void => {
        bins.value = bins.options[bins.options.length - 1]!.value;
        bins.dispatchEvent(new Event("change"));
    };
    const form = (): HTMLElement => shown.el.querySelector<HTMLElement>(".dp-declare")!;
    const fill = (...values: string[]): void =>
        [...form().querySelectorAll<HTMLInputElement>("input[type=text]")].forEach((box, i) => (box.value = values[i]!));
    declare();
    fill("0", "9");
    shown.button("Use these bins").click();
    declare();
    fill("7", "8");
    reply(shown.host.of("plan")[0]!, { sheet: sheet() });
    await settle();
    expect([form().hidden, form().querySelector<HTMLInputElement>("input[type=text]")!.value]).toEqual([false, "7"]);
    shown.button("Use these bins").click();
    reply(shown.host.of("plan").at(-1)!, { sheet: sheet() });
    await settle();
    expect(form().hidden).toBe(true);
});

test.each([
    ["planned", "Declare bins", "Declare columns"],
    ["planned", "Declare columns", "Declare bins"],
    ["refused", "Declare bins", "Declare columns"],
    ["refused", "Declare columns", "Declare bins"],
])("what is %s of one form (%s) leaves another that was opened since (%s)", async (ends, first, second) => {
    const columns = [{ name: "visits", kind: "number" }];
    const mechanisms = ["Dense", "SampleCategory"].map((name) => ({ name, title: name, about: "", records: name !== "Dense" }));
    open("workbench", { sheet: { ...sheet(), mechanisms }, state: { ...state(), columns, questions: [] } });
    await settle();
    const ask = shown.el.querySelector<HTMLSelectElement>(".dp-ask-for select")!;
    const form = (name: string): HTMLElement => shown.el.querySelector<HTMLElement>(`[aria-label='${name}']`)!;
    const declare = (name: string): void => {
        ask.value = name === "Declare bins" ? "counts" : "records";
        ask.dispatchEvent(new Event("change"));
        form(name).querySelectorAll<HTMLInputElement>("input.dp-exact-text").forEach((box, i) => (box.value = i < 2 ? String(i) : ""));
    };
    declare("Declare columns");
    declare(first);
    shown.button(first === "Declare bins" ? "Use these bins" : "Use these columns").click();
    declare(second);
    const [asked] = shown.host.of("plan");
    if (ends === "planned") reply(asked!, { sheet: sheet() });
    else refuse(asked!, "visits: these are too many");
    await settle();
    expect([form(first).hidden, form(second).hidden]).toEqual([true, false]);
    expect(shown.el.querySelector(".dp-question > .dp-fault")!.textContent).toBe(ends === "planned" ? "" : "visits: these are too many");
});

// --- the focus -------------------------------------------------------------------------------------------------------

test.each([
    ["has waited", false],
    ["has gone on", true],
])("an answer that was asked for takes the focus of a reader who %s", async (_, goesOn) => {
    open();
    await passes(450);
    const link = shown.button("chart");
    link.focus();
    link.click();
    const elsewhere = shown.el.querySelector<HTMLInputElement>(".dp-epsilon-box")!;
    if (goesOn) {
        down(elsewhere);
        elsewhere.focus();
    }
    await passes(5_000);
    reply(shown.host.of("show")[0]!, { result: { ...result(), number: "2", title: "Another" } });
    await settle();
    expect(shown.text()).toContain("Another");
    expect(document.activeElement === elsewhere).toBe(goesOn);
    expect(document.activeElement?.textContent === "Another").toBe(!goesOn);
});

test("a release that is done takes no focus of a reader who went on, and a confirmation takes it once", async () => {
    open();
    shown.host.answers["release"] = () => ({ token: "t", number: "5" });
    enter(shown.el.querySelector<HTMLInputElement>(".dp-epsilon-box")!, "0.5");
    await passes(600);
    pay().focus();
    pay().click();
    const slider = shown.el.querySelector<HTMLSelectElement>("summary")!;
    expect(document.activeElement?.textContent).toBe("Keep planning");
    slider.focus();
    await passes(600); // the button rests no more
    expect(document.activeElement).toBe(slider);
    pay().click();
    await settle();
    press(slider, "ArrowDown");
    shown.host.tell({ v: 1, event: "released", body: { token: "t", number: "5", result: { ...result(), number: "5", title: "Done" }, state: state() } });
    await settle();
    expect(shown.text()).toContain("Done");
    expect(document.activeElement).toBe(slider);
});

test("of two answers that are asked for, the one asked for last is shown, whichever comes last", async () => {
    open();
    await settle();
    const store = new SessionStore();
    const host = shown.host;
    store.attach({ send: (content) => host.send(content), status: () => "idle" });
    store.show("1");
    store.show("2");
    const asked = host.of("show");
    for (const one of [...asked].reverse())
        store.kernel.receive({ v: 1, re: one.id, ok: true, body: { result: { ...result(), number: one.args["number"] } } });
    await settle();
    expect(store.result?.number).toBe("2");
    store.close();
});

// --- stores of their own ---------------------------------------------------------------------------------------------

class Line {
    readonly asked: Asked[] = [];
    status: "idle" | "dead" = "idle";

    constructor(readonly store: Explorer<Sheet<Point>> | RangeStore | SubSessionStore) {
        store.attach({ send: (content) => this.asked.push(content as Asked), status: () => this.status });
    }

    of(ask: string): Asked[] {
        return this.asked.filter((one) => one.ask === ask);
    }

    async reply(asked: Asked, given: Record<string, unknown>): Promise<void> {
        const { sheet, ...body } = given;
        if (sheet !== undefined) this.store.take("sheet", sheet); // it is written before the reply
        this.store.kernel.receive({ v: 1, re: asked.id, ok: true, body });
        await settle();
    }
}

const GRID = ["1", "2", "3"];
const AXES = ["a", "b"].map((name) => ({ name, label: name, hint: "", grid: GRID, values: GRID }));
const through = (a: string, b: string): object => ({
    axes: AXES,
    now: { at: new Map([["a", a], ["b", b]]) },
    fans: new Map([
        ["a", GRID.map((value) => ({ at: new Map([["a", value], ["b", b]]) }))],
        ["b", GRID.map((value) => ({ at: new Map([["a", a], ["b", value]]) }))],
    ]),
});

function explorer(): [Explorer<Sheet<Point>>, Line] {
    const store = new Explorer<Sheet<Point>>((value) => value as Sheet<Point>);
    store.take("sheet", through("1", "1"));
    return [store, new Line(store)];
}
const at = (store: Explorer<Sheet<Point>>): string => [...store.position.values()].join(" ");

test("a sheet of a move before does not move a slider back that has moved on", async () => {
    const [store, line] = explorer();
    await settle();
    store.set("a", "2");
    await passes(200);
    store.set("a", "3"); // on the fan: it is there at once
    store.take("sheet", through("2", "1"));
    await line.reply(line.of("move")[0]!, { sheet: through("2", "1") });
    expect([at(store), store.settled]).toEqual(["3 1", true]);
    await passes(200);
    expect(line.of("move").at(-1)!.args).toEqual({ place: { a: "3", b: "1" } });
    await line.reply(line.of("move")[1]!, { sheet: through("3", "1") });
    store.take("sheet", through("2", "2")); // moved on another page, with nothing on its way here
    expect(at(store)).toBe("2 2");
    store.close();
});

test("a kernel that was given up and answers after all leaves no word of its absence", async () => {
    const [store, line] = explorer();
    await line.reply(line.of("status")[0]!, {});
    store.set("a", "2");
    store.set("b", "2");
    await passes(11_000);
    expect(store.kernel.health).toBe("gone");
    expect([at(store), store.fault?.includes("No kernel")]).toEqual(["1 2", true]);
    await line.reply(line.of("move")[0]!, { sheet: through("2", "2") });
    expect([at(store), store.fault, store.settled]).toEqual(["2 2", null, true]);
    store.close();
});

test("what was moved while the kernel was away is what it is asked for once it is back, and its old answer moves nothing", async () => {
    const [store, line] = explorer();
    await line.reply(line.of("status")[0]!, {});
    store.set("a", "2");
    store.set("b", "2");
    await passes(11_000);
    store.set("b", "3");
    await line.reply(line.of("move")[0]!, { sheet: through("2", "2") });
    expect(at(store)).toBe("1 3");
    await passes(200);
    expect(line.of("move").at(-1)!.args).toEqual({ place: { a: "1", b: "3" } });
    store.close();
});

const reading = (low: number, high: number): object => ({
    low: String(low), high: String(high), labels: [`m${low}`, `m${high}`], truth: null,
    rows: { fitted: { value: "1", one: bar("1"), all: bar("1"), count: "1" } }, nodes: [],
});
const bar = (value: string): object => ({ value, kind: "exact", rule: "a rule" });
const ranges = (low: number, high: number, first = 0): object => ({
    version: 1, title: "t", sentence: "s", badge: "b", paid: null, seed: null, axis: "a", nouns: "n", bins: "80", beta: "0.05",
    tree: { branching: "4", height: "1", sizes: ["1"], widths: ["80"] },
    estimators: [{ name: "fitted", label: "f", about: "a" }],
    view: { first: String(first), last: "79", width: "80", edges: [first, 80], values: [1], truth: null, one: bar("1"), all: bar("1"), together: "1", ticks: [] },
    range: reading(low, high),
    curve: { lengths: [1], places: "1", errors: { fitted: { one: [1], all: [1] } } },
    stops: ["0", "40", "80"],
    between: [reading(0, 39), reading(40, 79), reading(0, 79)],
});

function range(): [RangeStore, Line] {
    const store = new RangeStore();
    store.take("sheet", JSON.stringify(ranges(40, 59)));
    return [store, new Line(store)];
}
const brush = (store: RangeStore): [number, number] => [store.low, store.high];

test("labels that are typed right after the brush moved are not overtaken by it", async () => {
    const [store, line] = range();
    await settle();
    store.brush(41, 59);
    await passes(100);
    store.name("m7", "m9");
    await passes(200);
    expect(line.of("read").map(({ args }) => args["points"])).toEqual([[["labels", "m7", "m9"]]]);
    await line.reply(line.of("read")[0]!, { readings: [reading(7, 9)] });
    expect([brush(store), store.settled]).toEqual([[7, 9], true]);
    store.close();
});

test("a look that comes late leaves a brush that has moved where it is", async () => {
    const [store, line] = range();
    await settle();
    store.look(10, 79);
    store.brush(0, 39); // known: it is there at once
    store.take("sheet", JSON.stringify(ranges(40, 59, 10)));
    await line.reply(line.of("move")[0]!, { sheet: ranges(40, 59, 10) });
    expect([brush(store), store.settled, store.sheet!.view.first]).toEqual([[0, 39], true, "10"]);
    store.brush(5, 6);
    await passes(200);
    await line.reply(line.of("read")[0]!, { readings: [reading(5, 6)] });
    store.take("sheet", JSON.stringify(ranges(40, 59, 20))); // what holds for all in view is another number now
    await passes(200);
    expect([brush(store), line.of("read").at(-1)!.args["points"]]).toEqual([[5, 6], [["bins", "5", "6"]]]);
    store.close();
});

test("of two looks the last one asked for is on show, whichever answer is last", async () => {
    const [store, line] = range();
    await settle();
    store.look(10, 79);
    store.look(20, 79);
    const [one, two] = line.of("move");
    await line.reply(two!, { sheet: ranges(40, 59, 20) });
    await line.reply(one!, {});
    expect(store.sheet!.view.first).toBe("20");
    store.take("sheet", JSON.stringify(ranges(3, 5, 30))); // looked at on another page: this one goes along
    expect(brush(store)).toEqual([3, 5]);
    store.close();
});

test("a brush that was snapped for want of a kernel says so only while there is none", async () => {
    const [store, line] = range();
    await line.reply(line.of("status")[0]!, {});
    store.brush(41, 59);
    await passes(11_500);
    expect([store.gone, store.remark?.includes("No kernel")]).toEqual([true, true]);
    await line.reply(line.of("read")[0]!, { readings: [reading(41, 59)] });
    expect([store.gone, store.remark, store.fault, brush(store)]).toEqual([false, null, null, [40, 79]]);
    store.close();
});

test("nothing is asked and nothing is drawn once nobody looks any more", async () => {
    const [store, line] = range();
    await settle();
    let told = 0;
    store.look(10, 79);
    store.brush(41, 59);
    store.subscribe(() => (told += 1));
    store.close();
    await passes(1_000);
    await line.reply(line.of("move")[0]!, {});
    expect([line.of("read"), store.sheet!.view.first, told]).toEqual([[], "0", 0]);
    store.brush(42, 59);
    await passes(1_000);
    expect(line.of("read")).toEqual([]);
});

test("a file is there for as long as a browser may want to read it", async () => {
    const revoked = vi.fn();
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => undefined);
    vi.stubGlobal("URL", Object.assign(Object.create(URL), { createObjectURL: () => "blob:x", revokeObjectURL: revoked }));
    save("a.csv", "text/csv", "a");
    await passes(120_000); // somebody is still asked where to put it
    expect(revoked).not.toHaveBeenCalled();
    await passes(3_600_000);
    expect(revoked).toHaveBeenCalledExactlyOnceWith("blob:x");
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
});
