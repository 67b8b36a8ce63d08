import { afterEach, beforeEach, expect, test, vi } from "vitest";
import listJson from "../fixtures/list.json";
import subSessionJson from "../fixtures/tape.json";
import { gaugeChart, questionCells } from "../src/charts/symbol_gauge";
import { Malformed, Newer } from "../src/protocol/readers";
import { readSubSession, told, type Row } from "../src/stores/sub_session_store";
import { Host, press, render, type Shown } from "./host";

let shown: Shown;
let host: Host;

const subSession = (): any => structuredClone(subSessionJson);

const came = (number: string, items: string[], k = "10", more: object = {}): any => {
    const ended = items.length < Number(k);
    const used = String(items.length + Number(ended));
    return { ...subSession().rows[0], number, id: `q${number}`, label: `Question ${number}`, k, kbar: "50", most: k, items, ended, used, ...more };
};

/** Three questions of fifty symbols: eight, three and five came. */
function three(): any {
    const rows = [
        came("1", ["ATL", "STL", "MIA", "DEN", "ORD", "BOS", "BNA"]),
        came("2", ["MIA", "ATL"]),
        came("3", ["ORD", "ATL", "MCO", "DFW", "MIA"], "5"),
    ];
    const offers = ["All year", "Thanksgiving week"].map((label, i) => ({ id: `q${i === 0 ? 1 : 9}`, label, items: "destination", python: "sub.ask(\n    k={k},\n    kbar={kbar},\n)" }));
    return { ...subSession(), rows, offers, symbols: { total: "50", left: "34" }, questions: { total: "20", left: "17" } };
}

const words = { label: "", short: "", tip: "", sign: "", origin: "", missing: "", weight: "thin", pictured: false };
const planned = (): Record<string, unknown> => ({
    most: "10",
    beta: "0.05",
    measures: [
        { ...words, name: "a", phrase: "an item {value} stands out" },
        { ...words, name: "b", phrase: "none is {value} too low" },
    ],
    errors: { a: { value: "449", kind: "exact", rule: "" }, b: { value: "27", kind: "bound", rule: "" } },
});

function open(state: any = three(), answers: Host["answers"] = {}, kernel = "idle"): Shown {
    shown?.close();
    host = new Host("pay-what-you-get-tape", { state });
    host.traits["sheet"] = host.traits["result"] = undefined;
    Object.assign(host.answers, { plan: planned }, answers);
    host.widget_manager = { kernel: { status: kernel } };
    shown = render(host);
    return shown;
}

const rested = async (): Promise<void> => void (await vi.advanceTimersByTimeAsync(450));
const button = (): HTMLButtonElement => shown.el.querySelector<HTMLButtonElement>(".dp-tape-next .dp-pay")!;
const box = (place: 0 | 1): HTMLInputElement => shown.el.querySelectorAll<HTMLInputElement>(".dp-tape-count input")[place]!;
const alert = (): HTMLElement => shown.el.querySelector<HTMLElement>(".dp-tape > .dp-notice[role=alert]")!;

async function type(place: 0 | 1, text: string): Promise<void> {
    box(place).value = text;
    box(place).dispatchEvent(new Event("input", { bubbles: true }));
    await rested();
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown.close();
    vi.useRealTimers();
});

test("the tape shows what is left, what came, and what each answer paid", async () => {
    open();
    await rested();
    expect(shown.text()).toContain("Symbols left: 34 of 50");
    expect(shown.text()).toContain("Questions left: 17 of 20");
    const rows = [...shown.el.querySelectorAll(".dp-tape-row")];
    expect(rows.map((row) => row.querySelector(".dp-tape-paid")!.textContent)).toEqual([
        "8 paidended early, 2 not used",
        "3 paidended early, 7 not used",
        "5 paidall 5 places filled",
    ]);
    expect(rows.map((row) => row.querySelectorAll(".dp-bottom").length)).toEqual([1, 1, 0]);
    expect(rows.map((row) => row.querySelectorAll(".dp-unused").length)).toEqual([2, 7, 0]);
    expect(shown.el.querySelectorAll(".dp-asked")).toHaveLength(3);
    expect(shown.el.querySelector(".dp-gauge svg")!.getAttribute("aria-label")).toBe(
        "34 of 50 symbols left; the next question uses at most 10; paying for every answer asked would have used 25",
    );
    expect(shown.text()).not.toMatch(/undefined|NaN/);
});

test("the first question on offer that was not asked is chosen, and planned for nothing", async () => {
    open();
    await rested();
    expect(shown.el.querySelector("select")!.selectedOptions[0]!.text).toBe("Thanksgiving week");
    expect(host.of("plan").at(-1)!.args).toEqual({ question: "q9", k: "10", kbar: "50" });
    expect(shown.text()).toContain("An item 449 stands out, none is 27 too low, 95 in 100.");
    expect(host.of("release")).toHaveLength(0);
});

test("a tape that offers no question says how to offer one, and its button stands for nothing", async () => {
    open({ ...three(), offers: [] });
    await rested();
    expect(button().textContent).toBe("No question on offer");
    expect(button().getAttribute("aria-disabled")).toBe("true");
    expect(shown.text()).toContain("Offer some: dv.PayWhatYouGetTape(sub, ");
    expect(shown.text()).not.toContain("uses at most");
    expect(shown.el.querySelector(".dp-gauge svg")!.getAttribute("aria-label")).not.toContain("next question");
    button().click();
    await rested();
    expect(host.of("plan")).toHaveLength(0);
    expect(host.of("release")).toHaveLength(0);
});

test("a press sends what the button said, and the new row takes the focus and is said", async () => {
    const after = three();
    after.rows.push(came("4", [], "10", { id: "q9" }));
    after.symbols.left = "33";
    open(three(), { release: () => ({ token: "t", state: after }) });
    await rested();
    expect(button().textContent).toBe("Askup to 10 of 34 left");
    button().click();
    await rested();
    expect(host.of("release").map(({ args }) => args)).toEqual([
        { question: "q9", k: "10", kbar: "50", most: "10", left: "34", key: null },
    ]);
    expect(shown.el.querySelectorAll(".dp-tape-row")).toHaveLength(4);
    const status = shown.el.querySelector(".dp-status")!;
    expect(status.textContent).toBe(
        "Question 4 returned only ⊥: no destination stood out enough. That answer is private too, and it cost 1 symbol. Asking again would cost again.",
    );
    expect(document.activeElement).toBe(status);
    expect(shown.el.querySelector("[aria-live]")!.textContent).toContain("33 of 50 symbols left");
});

test("of two widgets on one page each says its own sentence", async () => {
    open();
    const [first, second] = [shown, new Host("pay-what-you-get-tape", { state: three() })];
    second.traits["sheet"] = second.traits["result"] = undefined;
    second.answers["plan"] = planned;
    second.widget_manager = { kernel: { status: "idle" } };
    const other = render(second);
    await rested();
    const k = other.el.querySelector<HTMLInputElement>(".dp-tape-count input")!;
    k.value = "7";
    k.dispatchEvent(new Event("input", { bubbles: true }));
    await vi.advanceTimersByTimeAsync(600);
    expect(other.el.querySelector("[aria-live]")!.textContent).toBe("Would use at most 7 of 34 symbols left.");
    expect(first.el.querySelector("[aria-live]")!.textContent).toBe("");
    other.close();
});

test("asking exactly the same again sends a fresh key, and says that it uses symbols again", async () => {
    open();
    shown.el.querySelector("select")!.value = "q1";
    shown.el.querySelector("select")!.dispatchEvent(new Event("change"));
    await rested();
    expect(button().textContent).toBe("Ask againup to 10 of 34 left");
    expect(shown.text()).toContain("Question 1 asked exactly this. Asking again draws anew, and uses symbols again.");
    button().click();
    await rested();
    expect(host.of("release")[0]!.args["key"]).toMatch(/^again-[0-9a-f]{8}$/);
});

test("more than is left is sent as typed; the refusal is an alert with the next step, and the tape stays", async () => {
    const message = "This question may use 40 symbols but 34 are left; ask for at most 34 symbols. Nothing was charged.";
    open(three(), { release: () => ({ error: { kind: "BudgetExceeded", message } }) });
    await type(0, "40");
    await type(1, "60");
    expect(shown.el.querySelector(".dp-meter-plan")!.classList.contains("dp-over-budget")).toBe(true);
    button().click();
    await rested();
    expect(host.of("release")[0]!.args).toMatchObject({ k: "40", most: "40", left: "34" });
    expect(alert().hidden).toBe(false);
    expect(alert().textContent).toContain(message);
    expect(shown.el.querySelectorAll(".dp-tape-row")).toHaveLength(3);
    expect([box(0).getAttribute("aria-invalid"), box(0).getAttribute("aria-describedby")]).toEqual(["true", alert().id]);
    alert().querySelector("button")!.click();
    await rested();
    expect([box(0).value, box(0).hasAttribute("aria-invalid")]).toEqual(["34", false]);
    expect(alert().hidden).toBe(true);
});

test.each([
    [0, "0", "How many to ask for must be a whole number from 1 to 1,000,000, got 0. Type one like 10."],
    [0, "-1", "How many to ask for must be a whole number from 1 to 1,000,000, got -1. Type one like 10."],
    [0, "", "How many to ask for must be a whole number from 1 to 1,000,000, got nothing. Type one like 10."],
    [0, "1.5", "How many to ask for must be a whole number from 1 to 1,000,000, got 1.5. Type one like 10."],
    [1, "9", "k̄ must be at least how many you ask for, 10, got 9. Type 10 or more."],
    [1, "1e9", "k̄ must be a whole number from 1 to 1,000,000, got 1e9. Type one like 50."],
] as const)("a number that is none is named, and nothing can be asked: box %i, %j", async (place, text, words) => {
    open();
    await type(place, text);
    expect(shown.el.querySelector(".dp-tape > .dp-fault")!.textContent).toBe(words);
    expect(([0, 1] as const).map((i) => box(i).getAttribute("aria-invalid"))).toEqual([0, 1].map((i) => (i === place ? "true" : null)));
    expect(document.getElementById(box(place).getAttribute("aria-describedby")!)!.textContent).toBe(words);
    expect(button().getAttribute("aria-disabled")).toBe("true");
    button().click();
    await rested();
    expect(host.of("release")).toHaveLength(0);
});

test("a changed button rests for a moment, so that a press meant for the old one does nothing", async () => {
    open();
    await rested();
    box(0).value = "5";
    box(0).dispatchEvent(new Event("input", { bubbles: true }));
    button().click();
    expect(host.of("release")).toHaveLength(0);
    await rested();
    button().click();
    await rested();
    expect(host.of("release")[0]!.args["k"]).toBe("5");
});

test("neither a held key nor the notebook's shortcut asks, and keys stay inside", async () => {
    open();
    await rested();
    expect(press(button(), "Enter", { repeat: true }).defaultPrevented).toBe(true);
    expect(press(button(), "Enter", { shiftKey: true }).defaultPrevented).toBe(true);
    expect(press(button(), "Enter").defaultPrevented).toBe(false);
    const outside = vi.fn();
    document.body.addEventListener("keydown", outside);
    press(box(0), "j");
    expect(outside).not.toHaveBeenCalled();
    document.body.removeEventListener("keydown", outside);
});

test("a busy kernel has a question waiting, which can be withdrawn for nothing", async () => {
    open(three(), { status: () => undefined as never }, "busy");
    await vi.advanceTimersByTimeAsync(1500);
    button().click();
    await vi.advanceTimersByTimeAsync(50);
    expect(button().textContent).toBe("Waiting for the kernel");
    expect(box(0).disabled).toBe(true);
    shown.button("Withdraw · nothing used").click();
    await rested();
    expect(host.of("release")).toHaveLength(0);
    expect(button().textContent).toContain("Ask");
});

test("a question on its way can be cancelled, and its symbols stay used", async () => {
    const running = three();
    running.rows.push(came("4", [], "10", { id: "q9", status: "pending", ended: false, used: "10" }));
    Object.assign(running, { symbols: { total: "50", left: "24" }, running: { token: "t", number: "1", done: "0", of: "1", text: "Drawing" } });
    open(three(), { release: () => ({ token: "t", state: running }), cancel: () => ({}) });
    await rested();
    button().click();
    await rested();
    expect(shown.el.querySelectorAll(".dp-tape-row[data-status=pending] .dp-crashed")).toHaveLength(10);
    shown.button("Cancel · its symbols stay used").click();
    expect(host.of("cancel")[0]!.args).toEqual({ token: "t" });
    const ended = structuredClone(running);
    ended.rows[3].status = "cancelled";
    const message = "Cancelled. 10 symbols and 1 question of entry 1 are spent and no answer was shown.";
    Object.assign(ended, { running: null, fault: { kind: "ReleaseCancelled", message } });
    host.write("state", ended);
    await rested();
    expect(alert().textContent).toContain(message);
    expect(shown.text()).toContain("10 stays used");
    expect(shown.el.querySelector(".dp-status")!.textContent).toContain("no answer was shown");
});

test("an answer is looked at by itself for nothing, with its table and its file", async () => {
    const result = { ...structuredClone(listJson), used: "10 of 50 symbols and 1 of 20 questions of entry 1" };
    open(three(), { show: () => ({ result }) });
    await rested();
    shown.el.querySelectorAll<HTMLButtonElement>(".dp-look")[1]!.click();
    await rested();
    expect(host.of("show").map(({ args }) => args)).toEqual([{ number: "2" }]);
    const answer = shown.el.querySelector<HTMLElement>(".dp-result")!;
    expect(answer.hidden).toBe(false);
    expect(answer.querySelectorAll(".dp-listed .dp-cell:not(.dp-unused, .dp-bottom)")).toHaveLength(listJson.labels.length);
    expect(answer.querySelector(".dp-chip")!.textContent).toBe("used 10 of 50 symbols");
    expect(document.activeElement).toBe(answer.querySelector(".dp-result-title"));
});

test("a look that fails is tried again as a look, and asks no question", async () => {
    const error = { kind: "LedgerAway", message: "the ledger's server does not answer" };
    open(three(), { show: () => ({ error }) });
    await rested();
    shown.el.querySelector<HTMLButtonElement>(".dp-look")!.click();
    await rested();
    shown.button("Try again").click();
    await rested();
    expect(host.of("show").map(({ args }) => args)).toEqual([{ number: "1" }, { number: "1" }]);
    expect(host.of("release")).toEqual([]);
});

test("the Python of the next question is the one that the button would ask", async () => {
    open();
    const written = vi.fn(() => Promise.resolve());
    vi.stubGlobal("navigator", { clipboard: { writeText: written } });
    await type(0, "7");
    shown.button("Copy as Python").click();
    await rested();
    vi.unstubAllGlobals();
    expect(written).toHaveBeenCalledWith("sub.ask(\n    k=7,\n    kbar=50,\n)");
});

test("without a kernel the tape is readable and asking says what it needs", async () => {
    open(three(), {}, "dead");
    await rested();
    expect(shown.text()).toContain("no kernel · the sub-session stays readable");
    expect(shown.el.querySelectorAll(".dp-tape-row")).toHaveLength(3);
    expect(button().textContent).toBe("Asking needs a kernel");
    button().click();
    expect(host.asked.map(({ ask }) => ask)).toEqual([]);
    expect(box(0).disabled).toBe(true);
});

test.each([
    ["lost", "10 counts as usednever reported back"],
    ["elsewhere", "10 reservedanother kernel asks"],
    ["failed", "10 stays usedfailed, no answer"],
])("a question that is %s is hatched and counts", async (status, words) => {
    const state = three();
    state.rows[1] = came("2", [], "10", { status, ended: false, used: "10" });
    state.symbols.left = "27";
    open(state);
    await rested();
    const row = shown.el.querySelector(`.dp-tape-row[data-status=${status}]`)!;
    expect(row.querySelector(".dp-tape-paid")!.textContent).toBe(words);
    expect(row.querySelectorAll(".dp-crashed")).toHaveLength(10);
    expect(shown.el.querySelectorAll(".dp-gauge .dp-meter-pending")).toHaveLength(1);
});

test.each([
    [{ closed: true }, "This sub-session is closed."],
    [{ symbols: { total: "50", left: "0" } }, "No symbols are left."],
    [{ questions: { total: "20", left: "0" } }, "No questions are left."],
])("where nothing can be asked any more the page says why: %j", async (change, words) => {
    open({ ...three(), ...change });
    await rested();
    expect(shown.el.querySelector<HTMLElement>(".dp-tape-next")!.hidden).toBe(true);
    expect(shown.el.querySelector(".dp-status")!.textContent).toContain(words);
});

test("a sub-session of which nothing was asked says how it counts", async () => {
    open({ ...three(), rows: [], symbols: { total: "50", left: "50" }, questions: { total: "20", left: "20" } });
    await rested();
    expect(shown.text()).toContain("Nothing asked yet.");
    expect(shown.el.querySelector<HTMLElement>(".dp-status")!.hidden).toBe(true);
});

test("words from outside stay words", async () => {
    const evil = "</script><img src=x onerror=alert(1)>";
    const state = three();
    state.rows[0].items[0] = state.rows[0].label = state.offers[0].label = evil;
    open(state);
    await rested();
    expect(shown.el.querySelector("img")).toBeNull();
    expect(shown.text()).toContain(evil);
});

test.each([{ rows: "none" }, { symbols: { total: "50" } }, { rows: [{ number: "1" }] }, { price: { epsilon: "one", delta: "0" } }])(
    "a malformed tape is ignored and a later one is named: %j",
    async (change) => {
        expect(() => readSubSession({ ...three(), ...change })).toThrow(Malformed);
        expect(() => readSubSession({ ...three(), version: 2 })).toThrow(Newer);
        open();
        const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
        host.write("state", { ...three(), ...change });
        await rested();
        expect(warned).toHaveBeenCalled();
        warned.mockRestore();
        expect(shown.el.querySelectorAll(".dp-tape-row")).toHaveLength(3);
        host.write("state", { ...three(), version: 2 });
        await rested();
        expect(shown.el.querySelector("[role=alert]")!.textContent).toContain("was sent version 2");
    },
);

test("many questions are a bar, few are cells, and the words of the gauge never cross its mark", () => {
    expect(questionCells(500, 400).querySelector("div")!.style.width).toBe("20%");
    expect(questionCells(40, 39).querySelectorAll("span")).toHaveLength(40);
    for (const asked of [18, 22, 25, 40]) {
        const chart = gaugeChart(400, { total: 50, left: 33, segments: [{ number: "1", used: 17, hatched: false }], next: 10, asked });
        const mark = Number(chart.querySelector(".dp-every")!.getAttribute("x1"));
        const words = [...chart.querySelectorAll("text")].find((node) => node.textContent!.includes("≤"));
        if (words === undefined) continue;
        const half = (words.textContent!.length * 6.3) / 2;
        expect(Math.abs(Number(words.getAttribute("x")) - mark)).toBeGreaterThan(half);
    }
});

test("what a row says fits what came", () => {
    const row = came("7", ["ATL"], "1") as Row;
    expect(told(row)).toBe("Question 7: the one place was filled; it cost 1 symbol.");
    expect(told(came("7", ["ATL"]) as Row)).toBe(
        "Question 7 ended early: after 1 of 10 no further destination stood out enough (⊥); it cost 2 symbols.",
    );
});
