import { afterEach, beforeEach, expect, test, vi } from "vitest";
import subSessionJson from "../fixtures/tape.json";
import { news, raised } from "../src/stores/following";
import { readState } from "../src/protocol/protocol";
import { clock } from "../src/wording/words";
import { Host, press, render, settle, state, type Shown } from "./host";

let shown: Shown;
let host: Host;

const pulse = (asof = "2026-11-22T02:14:00.000Z", fault = ""): unknown => ({ version: 1, asof, fault, at: asof });
const at = clock;

function open(component: string, traits: Record<string, unknown> = {}): Shown {
    shown?.close();
    host = new Host(component, traits);
    return (shown = render(host));
}

/** The kernel beats for so long, four times in three seconds. */
async function beating(ms: number): Promise<void> {
    for (let gone = 0; gone < ms; gone += 750) {
        host.write("pulse", pulse(new Date(Date.UTC(2026, 10, 22, 2, 14, 0, gone)).toISOString()));
        await vi.advanceTimersByTimeAsync(Math.min(750, ms - gone));
    }
}

const meter = (): HTMLElement => shown.el.querySelector<HTMLElement>(".dp-budget")!;
const voice = (): string => shown.el.querySelector("[aria-live]")?.textContent ?? "";
const chip = (): string => shown.el.querySelector<HTMLElement>(".dp-asof:not([hidden])")?.textContent ?? "";
const labels = (): string[] => [...shown.el.querySelectorAll(".dp-release-body button")].map((it) => it.textContent!);

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown.close();
    vi.useRealTimers();
});

// --- as of ---------------------------------------------------------------------------------------------------------

test("while the kernel beats the meter is the ledger's word, and nobody is asked but once a minute", async () => {
    open("budget-meter");
    await beating(59_000);
    expect([chip(), host.of("status").length]).toEqual(["", 1]);
    await beating(50_000);
    expect([chip(), host.of("status").length]).toEqual(["", 2]);
});

test("two seconds after the last beat the meter says as of when, and is silent again after the next", async () => {
    open("budget-meter");
    await beating(3_000);
    await vi.advanceTimersByTimeAsync(2_500);
    expect(chip()).toBe(`as of ${at("2026-11-22T02:14:02.250Z")}`);
    host.write("pulse", pulse("2026-11-22T02:20:00.000Z"));
    expect(chip()).toBe("");
});

test("a saved page with no kernel says as of its save, and asks nothing", async () => {
    host = new Host("budget-meter", { pulse: pulse() });
    host.widget_manager = { kernel: null };
    shown = render(host);
    await vi.advanceTimersByTimeAsync(300_000);
    expect(chip()).toBe(`as of ${at("2026-11-22T02:14:00Z")}`);
    expect(host.of("status")).toHaveLength(0);
});

test("a page saved before pulses were known says nothing of when", async () => {
    host = new Host("budget-meter");
    host.widget_manager = { kernel: null };
    shown = render(host);
    await vi.advanceTimersByTimeAsync(11_000);
    expect([chip(), meter().hidden]).toEqual(["", false]);
});

test("a page saved without a pulse takes the time from its state", async () => {
    host = new Host("budget-meter", { state: { ...state(), asof: "2026-11-22T02:14:00Z" } });
    host.widget_manager = { kernel: null };
    shown = render(host);
    expect(chip()).toBe(`as of ${at("2026-11-22T02:14:00Z")}`);
});

test("a page out of sight lets its kernel rest, and asks at once when it is seen again", async () => {
    open("budget-meter");
    await beating(1_000);
    const sight = vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
    await beating(180_000);
    expect(host.of("status")).toHaveLength(1);
    sight.mockRestore();
    document.dispatchEvent(new Event("visibilitychange"));
    expect(host.of("status")).toHaveLength(2);
});

test("a malformed pulse, or one of a later version, is no sign of life", async () => {
    open("budget-meter");
    await beating(1_000);
    for (const value of ["no json", { version: 2, asof: "9999" }, { version: 1, asof: 7 }]) host.write("pulse", value);
    await vi.advanceTimersByTimeAsync(2_500);
    expect(chip()).not.toBe("");
});

test("what is left is said as of when, where the page does not know better", async () => {
    open("workbench");
    await beating(1_000);
    expect(shown.text()).toContain("1.1 left now, 0.9 after.");
    await vi.advanceTimersByTimeAsync(2_500);
    expect(shown.text()).toContain(`1.1 left as of ${at("2026-11-22T02:14:00.750Z")}, 0.9 after.`);
});

test("a kernel that beats and does not answer is busy, not gone", async () => {
    open("workbench");
    host.widget_manager = { kernel: { status: "unknown" } };
    await beating(1_000);
    delete host.answers["status"];
    shown.button("pay ε").click();
    await beating(20_000);
    expect(labels()).toEqual(["Waiting for the kernel", "Withdraw · nothing paid"]);
    await vi.advanceTimersByTimeAsync(12_000);
    expect(labels()[0]).toBe("Release needs a kernel");
});

// --- what others do ------------------------------------------------------------------------------------------------

const charged = (): any => {
    const next: any = state();
    Object.assign(next.budget.epsilon, { spent: "0.85", pending: "0.25", left: "0.9" });
    next.entries.push({ ...next.entries[3], number: "5", status: "elsewhere", price: { epsilon: "0.2", delta: "0" }, person: "Ada" });
    return next;
};

test("a charge of another kernel moves the meter and is said once", async () => {
    open("workbench");
    await beating(1_000);
    host.write("state", charged());
    expect(meter().textContent).toContain("pending 0.25");
    await beating(1_500);
    expect(voice()).toBe("Release 5 by Ada: ε 0.2 was charged. 0.9 left.");
    host.write("state", { ...charged(), asof: "2026-11-22T03:00:00Z" });
    await beating(1_500);
    expect(voice()).toBe("Release 5 by Ada: ε 0.2 was charged. 0.9 left.");
});

test("a draw of another kernel goes from pending to done, and its answer is then free to look at", async () => {
    open("workbench");
    await beating(1_000);
    host.write("state", charged());
    expect(meter().textContent).toContain("pending · another kernel");
    const done = charged();
    done.entries.forEach((entry: any) => (entry.status = "done"));
    Object.assign(done.budget.epsilon, { spent: "1.1", pending: "0" });
    host.write("state", done);
    expect(meter().textContent).not.toContain("pending · another kernel");
    expect(shown.el.querySelector("[aria-label='chart of release 5']")).not.toBeNull();
});

test("many changes at once are counted, not read out", () => {
    const [before, after]: any[] = [state(), state()];
    for (let i = 5; i < 10; i += 1) after.entries.push({ ...after.entries[0], number: String(i) });
    expect(news(readState(before), readState(after))).toBe("The ledger has 5 changes. 1.1 left.");
    expect(news(readState(before), readState(before))).toBe("");
    expect(news(readState(before), readState({ ...after, kernel: "k2" }))).toBe("");
});

test("whoever reads the history by keyboard stays where they were when it is drawn anew", async () => {
    open("workbench");
    await beating(1_000);
    const link = shown.el.querySelector<HTMLElement>("[aria-label='chart of release 2']")!;
    link.focus();
    host.write("state", charged());
    expect(document.activeElement?.getAttribute("aria-label")).toBe("chart of release 2");
    expect(document.activeElement).not.toBe(link);
});

// --- who and why ---------------------------------------------------------------------------------------------------

const raise = { at: "2026-11-22T02:14:00Z", budget: "ε 3", person: "Ada", reason: "second survey wave" };

test.each([
    [raise, "Ada raised the budget to ε 3: second survey wave"],
    [{ ...raise, reason: "" }, "Ada raised the budget to ε 3"],
    [{ ...raise, person: "", budget: "ε 3, δ 0.001" }, "The budget was raised to ε 3, δ 0.001: second survey wave"],
])("a raise says who, to what and why", (given, words) => {
    expect(raised(readState({ ...state(), raises: [given] }).raises![0]!)).toBe(words);
});

test("raises stand under the history, and one that others make is said", async () => {
    open("workbench");
    await beating(1_000);
    const next: any = { ...state(), raises: [raise] };
    Object.assign(next.budget.epsilon, { total: "3", left: "2.1" });
    host.write("state", next);
    const list = shown.el.querySelector("[aria-label='Raises of the budget']")!;
    expect(list.textContent).toBe(`Ada raised the budget to ε 3: second survey wave · ${at(raise.at)}`);
    await beating(1_500);
    expect(voice()).toBe("Ada raised the budget to ε 3: second survey wave. 2.1 left.");
});

test("who charged stands in a column where several did, and beside the number where one did", async () => {
    const shared: any = state();
    shared.entries.forEach((entry: any, i: number) => (entry.person = i === 1 ? "Ada" : "Bob"));
    open("budget-meter", { state: shared });
    const heads = (): string[] => [...shown.el.querySelectorAll("th")].map((it) => it.textContent!);
    expect(heads()).toContain("by");
    expect([...shown.el.querySelectorAll("tbody tr")].map((row) => row.children[6]!.textContent)).toEqual(["Bob", "Ada", "Bob", "Bob"]);
    shared.entries.forEach((entry: any) => (entry.person = "Ada"));
    open("budget-meter", { state: shared });
    expect(heads()).not.toContain("by");
    expect(shown.el.querySelector("tbody td span")!.getAttribute("title")).toBe("charged by Ada");
    expect(shown.el.querySelector("caption")!.textContent).toBe("History of the budget, all by Ada");
});

test("a hostile name or reason is text", () => {
    const evil = "<img src=x onerror=alert(1)>";
    const shared: any = { ...state(), raises: [{ ...raise, person: evil, reason: evil }] };
    shared.entries.forEach((entry: any, i: number) => (entry.person = i === 1 ? evil : "Bob"));
    open("budget-meter", { state: shared });
    expect(shown.el.querySelector("img")).toBeNull();
    expect(shown.text()).toContain(evil);
});

// --- a new ledger --------------------------------------------------------------------------------------------------

const NEW = "New ledger started: nothing spent so far.";

test("a new ledger says that it is new until the first charge", () => {
    const fresh: any = { ...state(), new: true, entries: [] };
    fresh.budget.epsilon = { total: "2", spent: "0", pending: "0", left: "2" };
    open("workbench", { state: fresh });
    expect(meter().textContent).toContain(NEW);
    host.write("state", { ...charged(), new: true });
    expect(shown.text()).not.toContain(NEW);
});

test("an old ledger with nothing spent is not called new", () => {
    open("workbench", { state: { ...state(), entries: [] } });
    expect(shown.text()).not.toContain(NEW);
});

// --- a ledger that is away -----------------------------------------------------------------------------------------

const AWAY = { kind: "LedgerAway", message: "the server of the ledger team cannot be reached; try again", next_step: "see that it runs, and try again" };

test("a press while the server is away says so, charges nothing, and can be tried again", async () => {
    open("workbench");
    await beating(1_000);
    host.answers["status"] = () => ({ error: AWAY });
    shown.button("pay ε").click();
    await settle();
    const alert = shown.el.querySelector(".dp-release [role=alert]")!;
    expect(alert.textContent).toBe("The ledger's server does not answer. Nothing was charged. See that it runs, and try again.");
    expect(labels()).toEqual(["Try again", "Keep planning"]);
    expect(host.of("release")).toHaveLength(0);
    host.answers["status"] = () => ({ state: state() });
    await vi.advanceTimersByTimeAsync(450);
    shown.button("Try again").click();
    await settle();
    expect(host.of("release")).toHaveLength(1);
});

test("while it waits for the ledger the order can be withdrawn, and is not sent when the ledger is back", async () => {
    open("workbench");
    await beating(1_000);
    delete host.answers["status"];
    shown.button("pay ε").click();
    host.write("pulse", pulse("2026-11-22T02:14:01.000Z", "The ledger does not answer yet."));
    expect(labels()).toEqual(["Waiting for the ledger", "Withdraw · nothing paid"]);
    expect(chip()).not.toBe("");
    const [, asked] = host.of("status");
    shown.button("Withdraw").click();
    host.tell({ v: 1, re: asked!.id, ok: true, body: { state: state() } });
    await settle();
    expect(host.of("release")).toHaveLength(0);
    expect(labels()[0]).toContain("pay ε 0.2");
});

const waits = { token: "t", number: "", done: "0", of: "42", text: "Drawing 42 bins", waiting: "Waiting for the ledger: held by bob since 02:13" };

async function unwritten(): Promise<void> {
    open("workbench");
    await beating(1_000);
    host.answers["release"] = () => ({ token: "t", number: "" });
    shown.button("pay ε").click();
    await settle();
}

test("an order whose charge waits can be withdrawn, and the page says which it was", async () => {
    await unwritten();
    expect(labels()).toEqual(["Waiting for the ledger", "Withdraw · nothing paid yet"]);
    expect(shown.text()).not.toContain("is written to the ledger");
    host.tell({ v: 1, event: "progress", body: waits });
    expect(shown.text()).toContain("Waiting for the ledger: held by bob since 02:13.");
    shown.button("Withdraw").click();
    expect(host.of("cancel").map(({ args }) => args)).toEqual([{ token: "t" }]);
    // Another kernel charged meanwhile: that is not this order.
    host.tell({ v: 1, event: "cancelled", body: { token: "t", number: "", state: charged() } });
    expect(shown.text()).toContain("Withdrawn before anything was charged.");
    expect(shown.text()).not.toContain("stays spent");
    expect(shown.text()).not.toContain("is spent and no answer");
});

test("an order that was charged before it was withdrawn says what stays spent", async () => {
    await unwritten();
    shown.button("Withdraw").click();
    host.tell({ v: 1, event: "cancelled", body: { token: "t", number: "5", state: state() } });
    expect(shown.text()).toContain("Cancelled. ε 0.2 is spent and no answer was shown.");
});

test("from the moment that it is charged the page says so, by event or by state", async () => {
    await unwritten();
    host.tell({ v: 1, event: "progress", body: { ...waits, number: "5", waiting: "" } });
    expect(labels()).toEqual(["Cancel · 0.2 stays spent"]);
    await unwritten();
    const next: any = charged();
    host.write("state", { ...next, running: { ...waits, number: "5", waiting: "" } });
    expect(labels()).toEqual(["Cancel · 0.2 stays spent"]);
});

test("an order withdrawn before the kernel named it is cancelled as soon as it has a name", async () => {
    open("workbench");
    await beating(1_000);
    shown.button("pay ε").click();
    await settle();
    expect(labels()).toEqual(["Waiting for the kernel", "Withdraw · nothing paid yet"]);
    shown.button("Withdraw").click();
    expect(host.of("cancel")).toHaveLength(0);
    host.tell({ v: 1, re: host.of("release")[0]!.id, ok: true, body: { token: "t", number: "" } });
    await settle();
    expect(host.of("cancel").map(({ args }) => args)).toEqual([{ token: "t" }]);
});

test.each([
    ["ReleaseFailed", "The engine failed after the charge: ε 0.2 is spent and no answer was shown.", false],
    ["LedgerError", "the connection was lost, and whether the last write is recorded is not known; count it as spent", false],
    ["SessionBusy", "a release is running", true],
])("a refusal of kind %s never claims that nothing was charged unless nothing was", async (kind, message, nothing) => {
    open("workbench");
    await beating(1_000);
    host.answers["release"] = () => ({ error: { kind, message } });
    shown.button("pay ε").click();
    await settle();
    expect(shown.el.querySelector(".dp-release [role=alert]")!.textContent!.includes("Nothing was charged.")).toBe(nothing);
});

test("the meter says that the ledger does not answer, when it did last, and the plan stays alive", async () => {
    open("workbench");
    await beating(1_000);
    host.write("pulse", pulse("2026-11-22T02:14:00.750Z", "The ledger's server does not answer."));
    expect(meter().textContent).toContain(`The ledger's server does not answer. This is what it said at ${at("2026-11-22T02:14:00.750Z")}.`);
    const slider = shown.el.querySelector<HTMLInputElement>("input[type=range]")!;
    const before = shown.el.querySelector(".dp-plan")!.textContent;
    press(slider, "ArrowRight");
    expect(shown.el.querySelector(".dp-plan")!.textContent).not.toBe(before);
});

// --- what another view started -------------------------------------------------------------------------------------

const other = { token: "o", number: "4", done: "10", of: "42", text: "Drawing 42 bins" };

test("a view that did not start a release asks before it cancels it, on the safe answer", async () => {
    open("workbench", { state: { ...state(), running: other } });
    await beating(1_000);
    expect(labels()).toEqual(["Cancel…"]);
    const cancel = shown.button("Cancel…");
    cancel.focus();
    cancel.click();
    expect(host.of("cancel")).toHaveLength(0);
    expect(shown.text()).toContain("Cancel the release that another view started? ε 0.05 stays spent.");
    expect(document.activeElement!.textContent).toBe("Keep it running");
    const described = document.activeElement!.getAttribute("aria-describedby")!;
    expect(document.getElementById(described)!.textContent).toContain("another view started");
    press(document.activeElement!, "Escape");
    expect(labels()).toEqual(["Cancel…"]);
    shown.button("Cancel…").click();
    shown.button("Yes, cancel it").click();
    expect(host.of("cancel").map(({ args }) => args)).toEqual([{ token: "o" }]);
});

test("the view that started a release cancels it at once", async () => {
    open("workbench");
    await beating(1_000);
    host.answers["release"] = () => ({ token: "t", number: "5" });
    shown.button("pay ε").click();
    await settle();
    shown.button("Cancel").click();
    expect(host.of("cancel").map(({ args }) => args)).toEqual([{ token: "t" }]);
});

test("when what another view started ends, a press meant for its Cancel does not pay", async () => {
    open("workbench", { state: { ...state(), running: other } });
    await beating(1_000);
    shown.button("Cancel…").click();
    host.write("state", state());
    shown.button("pay ε").click();
    await settle();
    expect(host.of("release")).toHaveLength(0);
    await beating(1_500);
    shown.button("pay ε").click();
    await settle();
    expect(host.of("release")).toHaveLength(1);
});

test("what another view started and nothing was charged for says so when it is asked about", async () => {
    open("workbench", { state: { ...state(), running: { ...other, number: "" } } });
    await beating(1_000);
    shown.button("Cancel…").click();
    expect(shown.text()).toContain("Cancel the release that another view started? Nothing is charged yet.");
});

// --- the sub-session view ------------------------------------------------------------------------------------------------------

const subSession = (more: object = {}): any => ({ ...structuredClone(subSessionJson), ...more });

function openSubSession(given: any): void {
    shown?.close();
    host = new Host("pay-what-you-get-tape", { state: given });
    host.traits["sheet"] = host.traits["result"] = undefined;
    Object.assign(host.answers, { plan: () => ({ most: "10", listed: "449" }) });
    shown = render(host);
}

const pending = (): any => ({
    ...subSession().rows[0],
    number: String(subSession().rows.length + 1),
    status: "pending",
    items: [],
    ended: false,
    used: subSession().rows[0].most,
});

test("a tape says as of when, and what keeps it", async () => {
    openSubSession(subSession());
    await beating(3_000);
    expect(chip()).toBe("");
    host.write("pulse", pulse("2026-11-22T02:14:03.000Z", "The ledger's server does not answer."));
    expect(chip()).toBe(`as of ${at("2026-11-22T02:14:03Z")} · The ledger's server does not answer`);
});

test("a tape asks before it cancels what another view asked", async () => {
    openSubSession(subSession({ rows: [...subSession().rows, pending()], running: { ...other, number: "3" } }));
    await beating(1_000);
    shown.button("Cancel…").click();
    expect(host.of("cancel")).toHaveLength(0);
    expect(shown.text()).toContain(`Cancel the question that another view asked? Its ${pending().used} symbols stay used.`);
    expect(document.activeElement!.textContent).toBe("Keep it running");
    shown.button("Yes, cancel it").click();
    expect(host.of("cancel").map(({ args }) => args)).toEqual([{ token: "o" }]);
});

test("a tape whose ledger is away says that nothing was charged, and asks again on demand", async () => {
    openSubSession(subSession());
    await beating(1_500);
    host.answers["status"] = () => ({ error: AWAY });
    shown.button("Ask").click();
    await settle();
    const alert = shown.el.querySelector(".dp-tape > .dp-notice[role=alert]")!;
    expect(alert.textContent).toBe("The ledger's server does not answer. Nothing was charged. Try again");
    expect(host.of("release")).toHaveLength(0);
    host.answers["status"] = () => ({ state: subSession() });
    await beating(1_500);
    shown.button("Try again").click();
    await settle();
    expect(host.of("release")).toHaveLength(1);
});

test("a question whose reservation waits can be withdrawn", async () => {
    openSubSession(subSession());
    await beating(1_500);
    host.answers["release"] = () => ({ token: "t", state: subSession({ running: { ...waits, token: "t" } }) });
    shown.button("Ask").click();
    await settle();
    expect(shown.button("Waiting for the ledger")).toBeTruthy();
    shown.button("Withdraw · nothing used yet").click();
    expect(host.of("cancel").map(({ args }) => args)).toEqual([{ token: "t" }]);
});

test("a question of another kernel is said when its answer comes", async () => {
    openSubSession(subSession({ rows: [...subSession().rows, { ...pending(), status: "elsewhere" }] }));
    await beating(1_000);
    const done = { ...pending(), status: "done", items: ["ATL"], ended: true, used: "2" };
    host.write("state", subSession({ rows: [...subSession().rows, done] }));
    await beating(1_500);
    expect(voice()).toContain(`Question ${done.number} ended early`);
});

// --- how prices are proved -----------------------------------------------------------------------------------------

test("the history says by which rule each price is proved, each rule once", () => {
    const entries = ["1", "2", "3", "5", "6"].map((number, i) => ({ ...(state() as any).entries[0], number, proof: i === 3 ? "a second rule" : "a first rule" }));
    open("workbench", { state: { ...state(), entries } });
    const proofs = (): HTMLDetailsElement => [...meter().querySelectorAll("details")].find((it) => it.textContent!.startsWith("How each price"))!;
    expect([...proofs().querySelectorAll("li")].map((it) => it.textContent)).toEqual(["1 to 3, 6: a first rule.", "5: a second rule."]);
    proofs().open = true;
    host.write("state", { ...charged(), entries: [...entries, { ...entries[0], number: "7" }] });
    expect([proofs().open, proofs().querySelector("li")!.textContent]).toEqual([true, "1 to 3, 6, 7: a first rule."]);
});

test("a kernel that does not tell rules leaves the line out", () => {
    open("workbench", { state: state() });
    const told = [...meter().querySelectorAll("details")].filter((it) => it.textContent!.startsWith("How each price"));
    expect(told.every((it) => it.hidden)).toBe(true);
});
