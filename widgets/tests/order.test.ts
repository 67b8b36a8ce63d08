/** Whatever order the messages about one purchase come in, and whichever of them is lost, the page learns how it ended. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import subSessionJson from "../fixtures/tape.json";
import { panelOf } from "../src/workbench/panel";
import { stage } from "../src/stores/purchase";
import { SessionStore } from "../src/stores/session_store";
import { SubSessionStore } from "../src/stores/sub_session_store";
import { Host, result, settle, state, type Asked } from "./host";

type Message = Record<string, unknown>;
type End = "released" | "cancelled" | "failed";
const ENDS: End[] = ["released", "cancelled", "failed"];
const ERROR = { kind: "ReleaseFailed", message: "The engine failed after the charge." };
const running = (re: string): object => ({ token: "t", number: "5", done: "1", of: "42", text: "Drawing 42 bins", re });
const outcome = (re: string, end: End): object => ({
    token: "t",
    re,
    event: end,
    number: "5",
    error: end === "released" ? null : ERROR,
});

let host: Host;
let close: () => void = () => undefined;

/** A store on a page whose kernel answers `status` with what `now` says, and keeps the order for the test to answer. */
function attach(store: SessionStore | SubSessionStore, now: () => unknown): void {
    host = new Host("workbench");
    host.answers["status"] = () => ({ state: now() });
    host.on("msg:custom", ((content: unknown) => store.kernel.receive(content)) as never);
    const channel = { send: (content: unknown) => host.send(content), status: () => "idle" as const };
    store.attach(channel);
    close = () => (store.detach(channel), store.close());
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
    close();
    vi.useRealTimers();
});

function* orders<T>(items: T[]): Generator<T[]> {
    if (items.length === 0) yield [];
    for (const [i, item] of items.entries())
        for (const rest of orders(items.filter((_, j) => j !== i))) yield [item, ...rest];
}

// --- a release -----------------------------------------------------------------------------------------------------

let sessionStore: SessionStore;
let order: Asked;
/** What the kernel would say now. */
let kernel: Record<string, unknown>;

async function ordered(): Promise<void> {
    close();
    kernel = { ...state(), serial: "1", outcomes: [], running: null };
    sessionStore = new SessionStore();
    attach(sessionStore, () => kernel);
    host.answers["show"] = ({ number }) => ({ result: { ...result(), number } });
    for (const trait of ["sheet", "state", "result"] as const) sessionStore.take(trait, host.get(trait));
    await vi.advanceTimersByTimeAsync(450);
    sessionStore.press();
    await settle();
    order = host.of("release")[0]!;
    expect(sessionStore.purchase.kind).toBe("sent");
}

/** The messages of one release, as the kernel sends them in this order. */
function told(end: End): Record<string, Message> {
    const { id } = order;
    const entry = (status: string): object => ({ ...state().entries[2]!, number: "5", status });
    const during = { ...kernel, serial: "2", entries: [...state().entries, entry("pending")], running: running(id) };
    const status = end === "released" ? "done" : end;
    const after = { ...kernel, serial: "3", entries: [...state().entries, entry(status)], outcomes: [outcome(id, end)] };
    kernel = after;
    const more = end === "released" ? { result: { ...result(), number: "5" } } : { error: ERROR };
    return {
        during: { trait: during },
        reply: { v: 1, re: id, ok: true, body: { token: "t", number: "5" } },
        progress: { v: 1, event: "progress", body: running(id) },
        after: { trait: after },
        end: { v: 1, event: end, body: { token: "t", number: "5", ...more, state: after } },
    };
}

function deliver(message: Message): void {
    if ("trait" in message) sessionStore.take("state", JSON.stringify(message["trait"]));
    else host.tell(message);
}

/** What the page says in the end, whatever came when. */
function expectEnd(end: End, why: string): void {
    const said = [sessionStore.locked, stage(sessionStore.purchase), sessionStore.result?.number];
    expect(said, why).toEqual(
        end === "released" ? [false, "idle", "5"] : [false, end, "3"],
    );
}

test.each(ENDS)("a release that was %s is known in every order of its messages", async (end) => {
    await ordered();
    const names = Object.keys(told(end));
    for (const names_ of orders(names)) {
        await ordered();
        const messages = told(end);
        for (const name of names_) {
            deliver(messages[name]!);
            await settle();
        }
        await vi.advanceTimersByTimeAsync(1_000);
        expectEnd(end, names_.join(", "));
    }
});

test.each(ENDS)("a release that was %s is known whichever of its messages are lost", async (end) => {
    await ordered();
    const names = Object.keys(told(end));
    for (let lost = 0; lost < 2 ** names.length; lost += 1) {
        await ordered();
        const messages = told(end);
        for (const [i, name] of names.entries()) {
            if ((lost >> i) & 1) continue;
            deliver(messages[name]!);
            await settle();
        }
        await vi.advanceTimersByTimeAsync(11_000);
        expectEnd(end, `lost: ${names.filter((_, i) => (lost >> i) & 1).join(", ")}`);
    }
});

test("an answer that came in the reply itself is not asked for again", async () => {
    await ordered();
    const after = { ...kernel, serial: "3", outcomes: [outcome(order.id, "released")] };
    deliver({ trait: after });
    host.tell({ v: 1, re: order.id, ok: true, body: { result: { ...result(), number: "5" }, state: after } });
    await vi.advanceTimersByTimeAsync(11_000);
    expect([sessionStore.purchase.kind, sessionStore.result?.number, host.of("show").length]).toEqual(["idle", "5", 0]);
});

test("an end before the charge is a refusal, and says that nothing was charged", async () => {
    await ordered();
    host.tell({ v: 1, re: order.id, ok: true, body: { token: "t", number: "" } });
    await settle();
    const off = { label: "Waiting for the ledger", act: null };
    const withdraw = { label: "Withdraw · nothing paid yet", act: { do: "cancel", token: "t" } };
    expect(panelOf(sessionStore)).toMatchObject({ kind: "unwritten", buttons: [off, withdraw] });
    expect(panelOf(sessionStore).beside).toBeUndefined();
    kernel = { ...kernel, serial: "2", outcomes: [{ ...outcome(order.id, "cancelled"), number: "" }] };
    host.tell({ v: 1, event: "cancelled", body: { token: "t", number: "", error: { ...ERROR, message: "withdrawn before anything was charged" }, state: kernel } });
    await settle();
    expect([panelOf(sessionStore).kind, panelOf(sessionStore).notice?.strong]).toEqual(["refused", "Withdrawn before anything was charged."]);
});

test("an answer that cannot be shown leaves the page free, with what is wrong", async () => {
    await ordered();
    host.answers["show"] = () => ({ error: { ...ERROR, message: "the ledger is away" } });
    deliver(told("released")["after"]!);
    await vi.advanceTimersByTimeAsync(11_000);
    expect([sessionStore.locked, sessionStore.planFault]).toEqual([false, "the ledger is away"]);
});

test("a silent kernel is asked once in a while, and never twice while it is busy", async () => {
    await ordered();
    host.tell({ v: 1, re: order.id, ok: true, body: { token: "t", number: "5" } });
    await settle();
    kernel = { ...kernel, serial: "2", running: running(order.id) };
    await vi.advanceTimersByTimeAsync(20_000);
    const asked = host.of("status").length;
    expect(asked).toBeGreaterThan(5);
    expect(asked).toBeLessThan(16);
    delete host.answers["status"];
    await vi.advanceTimersByTimeAsync(9_000);
    expect(host.of("status").length).toBeLessThanOrEqual(asked + 5); // whoever waits for an answer asks for a sign of life, too
});

test("a state that was read before the one on show changes nothing", async () => {
    await ordered();
    const left = (of: string): object => ({ ...state().budget, epsilon: { ...state().budget.epsilon, left: of } });
    deliver({ trait: { ...kernel, serial: "12", budget: left("0.5") } });
    deliver({ trait: { ...kernel, serial: "9", budget: left("1") } });
    expect(sessionStore.state?.budget?.epsilon.left).toBe("0.5");
    deliver({ trait: { ...kernel, kernel: "another", serial: "1", budget: left("1") } });
    expect(sessionStore.state?.budget?.epsilon.left).toBe("1");
});

// --- two widgets of one store ---------------------------------------------------------------------------------------

/** Order through a second widget of the store, which is then taken off the page before the reply came. */
async function orphaned(): Promise<void> {
    await ordered();
    sessionStore.keep();
    close();
    kernel = { ...state(), serial: "1", outcomes: [], running: null };
    sessionStore = new SessionStore();
    attach(sessionStore, () => kernel);
    host.answers["show"] = ({ number }) => ({ result: { ...result(), number } });
    for (const trait of ["sheet", "state", "result"] as const) sessionStore.take(trait, host.get(trait));
    const second = { send: (content: unknown) => host.send(content), status: () => "idle" as const };
    sessionStore.attach(second);
    await vi.advanceTimersByTimeAsync(450);
    sessionStore.press();
    await settle();
    order = host.of("release")[0]!;
    sessionStore.detach(second);
}

test("an order whose widget is taken off the page is found again by its id", async () => {
    await orphaned();
    told("released");
    await vi.advanceTimersByTimeAsync(11_000);
    expectEnd("released", "");
});

test("an order that never reached the kernel does not lock the page for good", async () => {
    await orphaned();
    await vi.advanceTimersByTimeAsync(10_000);
    expect([sessionStore.locked, panelOf(sessionStore).notice?.strong, panelOf(sessionStore).notice?.rest]).toEqual([
        false,
        "No answer came to this order. The history says whether it was charged.",
        undefined,
    ]);
});

test("ids of two pages are never the same", () => {
    const ids = [new SessionStore(), new SessionStore()].map((one) => one.kernel.order("status", {}).id);
    expect(new Set(ids).size).toBe(2);
});

// --- a question of a sub-session view ------------------------------------------------------------------------------------------

const subSession = (): any => ({ ...structuredClone(subSessionJson), serial: "1", outcomes: [], running: null, fault: null });
let store: SubSessionStore;
let subSessionNow: any;

async function asked(): Promise<void> {
    close();
    subSessionNow = subSession();
    store = new SubSessionStore();
    const channel = { send: (content: unknown) => host.send(content), status: () => "idle" as const };
    host = new Host("workbench");
    host.answers["status"] = () => ({ state: subSessionNow });
    host.answers["plan"] = () => ({ most: "10", listed: "449" });
    host.on("msg:custom", ((content: unknown) => store.kernel.receive(content)) as never);
    store.take("state", JSON.stringify(subSessionNow));
    store.attach(channel);
    close = () => (store.detach(channel), store.close());
    await vi.advanceTimersByTimeAsync(450);
    store.press();
    await settle();
    order = host.of("release")[0]!;
    expect(store.purchase.kind).toBe("sent");
}

function toldOfSubSession(end: End): Record<string, Message> {
    const { id } = order;
    const row = (status: string): any => ({ ...subSession().rows[0], number: "4", id: "q9", key: "", status });
    const during = { ...subSession(), serial: "2", rows: [...subSession().rows, row("pending")], running: running(id) };
    const after = {
        ...subSession(),
        serial: "3",
        rows: [...subSession().rows, row(end === "released" ? "done" : end)],
        outcomes: [outcome(id, end)],
        fault: end === "released" ? null : ERROR,
    };
    subSessionNow = after;
    return {
        stale: { trait: subSession() },
        during: { trait: during },
        reply: { v: 1, re: id, ok: true, body: { token: "t", number: "1", state: during } },
        after: { trait: after },
    };
}

const hand = (message: Message): void =>
    "trait" in message ? store.take("state", JSON.stringify(message["trait"])) : host.tell(message);

function expectAsked(end: End, why: string): void {
    expect([store.locked, stage(store.purchase), store.state?.rows.at(-1)?.number, store.state?.running], why).toEqual([
        false,
        end === "released" ? "idle" : end,
        "4",
        null,
    ]);
}

test.each(ENDS)("a question that was %s is known in every order of its messages, and whichever are lost", async (end) => {
    await asked();
    const names = Object.keys(toldOfSubSession(end));
    for (const sequence of orders(names)) {
        for (let lost = 0; lost < 2 ** names.length; lost += 1) {
            await asked();
            const messages = toldOfSubSession(end);
            const kept = sequence.filter((_, i) => ((lost >> i) & 1) === 0);
            for (const name of kept) {
                hand(messages[name]!);
                await settle();
            }
            await vi.advanceTimersByTimeAsync(11_000);
            expectAsked(end, kept.join(", "));
        }
    }
});
