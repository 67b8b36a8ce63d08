import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { panelOf } from "../src/workbench/panel";
import type { HostStatus } from "../src/protocol/kernel";
import { SessionStore } from "../src/stores/session_store";
import { acquire, leave } from "../src/stores/shared_stores";
import { Host, render, result, settle, sheet, state } from "./host";

let host: Host;
let store: SessionStore;

function open(traits: Record<string, unknown> = {}): void {
    const [own, acquired] = [new Host("workbench", traits), new SessionStore()];
    [host, store] = [own, acquired];
    for (const trait of ["sheet", "state", "result"] as const) store.take(trait, host.get(trait));
    own.on("msg:custom", ((content: unknown) => acquired.kernel.receive(content)) as never);
    acquired.attach({
        send: (content) => own.send(content),
        status: () => (own.widget_manager.kernel?.status ?? "dead") as HostStatus,
    });
}

beforeEach(() => {
    vi.useFakeTimers();
    open();
});

afterEach(() => {
    store.close();
    vi.useRealTimers();
});

/** Past the rest after a change of price. */
const rested = (): unknown => vi.advanceTimersByTimeAsync(450);

// --- what is paid for ------------------------------------------------------------------------------------------------

test("nothing is paid while the plan of what was chosen last is on its way", async () => {
    store.moveTo(3);
    await rested();
    const asked = store.plan({ question: { kind: "integers", column: "visits", low: "0", high: "9" } as never });
    expect(panelOf(store).note).toBe("Waiting for the kernel to plan what was chosen last.");
    store.press();
    await rested();
    store.press();
    expect(host.of("release")).toEqual([]);
    const [plan] = host.of("plan");
    host.tell({ v: 1, re: plan!.id, ok: false, error: { kind: "ParameterError", message: "no" } });
    await asked;
    expect(panelOf(store).note).not.toContain("Waiting");
    store.press();
    await settle();
    expect(host.of("release")).toHaveLength(1);
});

// --- a second answer -----------------------------------------------------------------------------------------------

const BAR = { kind: "bound", rule: "r" };
const KNOWN = (both: string, number = "3"): object => ({
    number,
    errors: { "0.05": { both: { ...BAR, value: both }, now: { ...BAR, kind: "exact", value: "5" } } },
});
const keyOf = (epsilon: string): string => {
    const { now, fans } = sheet();
    return [now, ...fans.epsilon].find((point) => point.epsilon === epsilon)!.key;
};
const answered = (args: Record<string, unknown>): Record<string, unknown> => {
    const { epsilon } = args["parameters"] as { epsilon: string };
    return { key: keyOf(epsilon), together: KNOWN(epsilon) };
};
const said = (): string | undefined => store.second.together?.errors.get("0.05")?.both?.value;
const asks = (): string[] => host.of("after").map(({ args }) => (args["parameters"] as { epsilon: string }).epsilon);

test("what a second answer would gain is asked for once the slider is still, and never while it moves", async () => {
    host.answers["after"] = answered;
    for (let i = 0; i < 30; i += 1) {
        store.moveTo(i % 2 === 0 ? 3 : 4);
        await vi.advanceTimersByTimeAsync(50);
    }
    expect(asks()).toEqual([]);
    const { epsilon } = store.point!;
    await vi.advanceTimersByTimeAsync(400);
    await settle();
    expect([asks(), said()]).toEqual([[epsilon], epsilon]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(asks()).toEqual([epsilon]);
});

test("what was said of one value is never shown beside another", async () => {
    host.answers["after"] = answered;
    store.moveTo(3);
    await rested();
    expect(said()).toBe(store.point!.epsilon);
    store.moveTo(4);
    expect([said(), store.second.combines]).toEqual([undefined, true]);
    store.type("0.1301"); // which the kernel has yet to plan
    await rested();
    expect(said()).toBe(undefined);
    store.type("nothing");
    await rested();
    expect(said()).toBe(undefined);
});

test("an answer that comes late is dropped, and so is one about another plan", async () => {
    store.moveTo(3);
    await rested();
    const late = host.of("after")[0]!;
    store.moveTo(4);
    host.tell({ v: 1, re: late.id, ok: true, body: answered(late.args) });
    await settle();
    expect([said(), store.second.combines]).toEqual([undefined, false]);
    await rested();
    const [, other] = host.of("after");
    host.tell({ v: 1, re: other!.id, ok: true, body: { ...answered(other!.args), key: "of another plan" } });
    await settle();
    expect(said()).toBe(undefined);
});

test("somebody else's answer is no reason to ask; the next move is, and so is a request that another page overtook", async () => {
    host.answers["after"] = answered;
    store.moveTo(3);
    await rested();
    expect(asks()).toHaveLength(1);
    const more = state();
    more.entries.push({ ...more.entries.findLast((entry) => entry.status === "done" && entry.question_id === sheet().question.id)!, number: "9" });
    store.take("state", JSON.stringify(more));
    await rested();
    expect([asks().length, said()]).toEqual([1, undefined]);
    store.moveTo(4);
    host.answers["after"] = () => ({ error: { kind: "Superseded", message: "later" } });
    await rested();
    host.answers["after"] = answered;
    await rested();
    expect([asks().length, said()]).toEqual([3, store.point!.epsilon]);
});

test("where the question has no answer, or no kernel is there, nothing is asked", async () => {
    const none = state();
    none.entries = none.entries.filter((entry) => entry.question_id !== sheet().question.id);
    store.close();
    open({ state: none });
    await rested();
    expect(asks()).toEqual([]);
    store.close();
    open();
    host.widget_manager.kernel = null;
    store.probe();
    await rested();
    store.moveTo(5);
    await rested();
    expect(asks()).toEqual([]);
});

// --- choosing ------------------------------------------------------------------------------------------------------

test("the store opens at the kernel's point, with its text as typed", () => {
    expect([store.typed, store.point?.epsilon, store.settled]).toEqual(["0.2", "0.2", true]);
});

test("the slider moves from grid value to grid value and asks nobody", () => {
    store.moveTo(store.tick + 1);
    expect([store.typed, store.point?.price.epsilon, store.settled]).toEqual(["0.25", "0.25", true]);
    vi.advanceTimersByTime(1000);
    expect(host.of("plan")).toHaveLength(0);
});

test("off-grid text keeps its letters, stands on the more private tick, and asks the kernel once", async () => {
    store.type("0.13");
    store.type("0.1301");
    expect([store.typed, store.point?.epsilon, store.settled]).toEqual(["0.1301", "0.12", false]);
    await vi.advanceTimersByTimeAsync(149);
    expect(host.of("plan")).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(2);
    expect(host.of("plan")).toHaveLength(1);
    expect((host.of("plan")[0]!.args["parameters"] as Record<string, string>)["epsilon"]).toBe("0.1301");
    const planned = sheet();
    Object.assign(planned.now, {
        epsilon: "0.1301",
        price: { ...planned.now.price, epsilon: "0.1301", asked: "0.1301" },
    });
    host.tell({ v: 1, re: host.of("plan")[0]!.id, ok: true, body: { sheet: planned } });
    await settle();
    expect([store.typed, store.point?.price.epsilon, store.settled]).toEqual(["0.1301", "0.1301", true]);
});

test("the same number in other letters is on the grid, and keeps its letters", () => {
    store.type("2/10");
    expect([store.typed, store.settled, store.point?.epsilon]).toEqual(["2/10", true, "0.2"]);
});

test("below the whole grid there is no plan to show, rather than one that is less private", () => {
    store.type("0.0001");
    expect([store.point, store.settled, store.tick]).toEqual([null, false, 0]);
});

test("a reply that comes after the next question is dropped", async () => {
    store.type("0.13");
    await vi.advanceTimersByTimeAsync(200);
    store.type("0.17");
    await vi.advanceTimersByTimeAsync(200);
    const [first, second] = host.of("plan");
    const stale = sheet();
    stale.now.epsilon = "0.13";
    host.tell({ v: 1, re: first!.id, ok: true, body: { sheet: stale } });
    await settle();
    expect(store.sheet?.now.epsilon).toBe("0.2");
    const fresh = sheet();
    fresh.now.epsilon = "0.17";
    host.tell({ v: 1, re: second!.id, ok: true, body: { sheet: fresh } });
    await settle();
    expect([store.sheet?.now.epsilon, store.point?.epsilon]).toEqual(["0.17", "0.17"]);
});

test("a sheet that arrives while the reader moves the slider does not move it back", () => {
    store.moveTo(3);
    const typed = store.typed;
    const fresh = sheet();
    fresh.made = "14:03";
    store.take("sheet", JSON.stringify(fresh));
    expect([store.sheet?.made, store.typed]).toEqual(["14:03", typed]);
});

test.each([
    ["-1/2", "ε must be positive, got −1/2. Type a number like 0.1 or 1/10."],
    ["0", "ε must be positive, got 0. Type a number like 0.1 or 1/10."],
    ["inf", "ε must be a number, got inf. Type a number like 0.1 or 1/10."],
    ["", "ε must be a number, got nothing. Type a number like 0.1 or 1/10."],
])("epsilon %j is refused with value, rule and next step, and the plan stays", (text, sentence) => {
    store.type(text);
    expect([store.fault, store.point?.epsilon, store.offer]).toEqual([sentence, "0.2", null]);
    vi.advanceTimersByTime(1000);
    expect(host.of("plan")).toHaveLength(0);
});

test("an error that is typed chooses the smallest grid epsilon that meets it", () => {
    const wanted = 20;
    store.seek(store.sheet!.measures[0]!, String(wanted));
    const fans = store.sheet!.fans.epsilon;
    const met = fans.filter((point) => Number(point.errors.get("0.05")!.get("one")!.value) <= wanted);
    expect(store.point?.epsilon).toBe(met[0]!.epsilon);
    expect(Number(fans[store.tick - 1]!.errors.get("0.05")!.get("one")!.value)).toBeGreaterThan(wanted);
});

test("an error no tick can meet says what the last tick reaches", () => {
    store.seek(store.sheet!.measures[1]!, "0");
    expect(store.seekFault?.text).toMatch(/^At ε 2, the end of the slider, it is ±\d+\. Ask for at least that\.$/);
    expect(store.point?.epsilon).toBe("0.2");
});

// --- spending ------------------------------------------------------------------------------------------------------

test("one press up to a quarter of what is left; above, it asks once more", async () => {
    const short = state();
    Object.assign(short.budget.epsilon, { total: "2", spent: "1.15", pending: "0.05", left: "0.8" });
    open({ state: short });
    await rested();
    store.press();
    expect(store.purchase.kind).toBe("waiting");

    Object.assign(short.budget.epsilon, { spent: "1.150000001", left: "0.799999999" });
    open({ state: short });
    await rested();
    store.press();
    expect(store.purchase.kind).toBe("confirm");
    expect(panelOf(store).text).toEqual(["This uses ", ["0.2"], " of the 0.799999999 that is left."]);
    expect(host.of("release")).toHaveLength(0);
    store.confirm();
    expect(store.purchase.kind).toBe("confirm");
    await rested();
    store.confirm();
    expect(store.purchase.kind).not.toBe("confirm");
});

test("the order carries exactly what the button said, and no key", async () => {
    store.moveTo(3);
    await rested();
    store.press();
    await settle();
    const { args } = host.of("release")[0]!;
    expect(args["price"]).toEqual({ epsilon: store.point!.price.epsilon, delta: "0" });
    expect((args["parameters"] as Record<string, string>)["epsilon"]).toBe(store.point!.epsilon);
    expect([args["key"], args["question"]]).toEqual([null, { id: "9f3c" }]);
});

test("a press within 400 ms of a change of price does nothing", async () => {
    store.moveTo(5);
    await vi.advanceTimersByTimeAsync(390);
    store.press();
    expect(store.purchase.kind).toBe("idle");
    await vi.advanceTimersByTimeAsync(20);
    store.press();
    expect(store.purchase.kind).not.toBe("idle");
});

test("nothing is sent before the kernel says that it listens, so withdrawing pays nothing", async () => {
    delete host.answers["status"];
    await rested();
    store.press();
    await vi.advanceTimersByTimeAsync(1500);
    expect(panelOf(store).buttons.map((button) => button.label)).toEqual([
        "Waiting for the kernel",
        "Withdraw · nothing paid",
    ]);
    store.withdraw();
    host.tell({ v: 1, re: host.of("status").at(-1)!.id, ok: true, body: { state: state() } });
    await settle();
    expect([store.purchase.kind, host.of("release")]).toEqual(["idle", []]);
});

const started = async (): Promise<void> => {
    host.answers["release"] = () => ({ token: "t", number: "5" });
    await rested();
    store.press();
    await settle();
};

test("while a release runs the knobs keep the priced values", async () => {
    await started();
    expect([store.purchase.kind, store.locked]).toEqual(["running", true]);
    store.moveTo(0);
    store.type("1");
    expect(store.typed).toBe("0.2");
});

test("progress, then the result: it is shown, spoken, and wants the focus", async () => {
    await started();
    host.tell({
        v: 1,
        event: "progress",
        body: { token: "t", number: "5", done: "21", of: "42", text: "Drawing 42 bins" },
    });
    expect(panelOf(store).progress).toEqual({ text: "Drawing 42 bins", share: 0.5 });
    const after = state();
    Object.assign(after.budget.epsilon, { spent: "1.05", left: "0.9" });
    host.tell({
        v: 1,
        event: "released",
        body: { token: "t", result: { ...result(), number: "5", price: { epsilon: "0.2", delta: "0" } }, state: after },
    });
    await vi.advanceTimersByTimeAsync(10);
    expect([store.result?.number, store.purchase.kind, store.wantsFocus]).toEqual(["5", "idle", true]);
    expect(store.sentence).toBe("Released, number 5, paid 0.2, 0.9 left.");
});

test("progress and an end of a release nobody started here change nothing", async () => {
    await started();
    host.tell({
        v: 1,
        event: "progress",
        body: { token: "forged", number: "5", done: "42", of: "42", text: "Drawing 42 bins" },
    });
    host.tell({ v: 1, event: "cancelled", body: { token: "forged", state: state() } });
    expect(panelOf(store).progress?.share).toBe(0);
});

/** The session once entry 5 was charged and ended without an answer. */
function ended(status: string): ReturnType<typeof state> {
    const after = state();
    after.entries.push({ ...after.entries[2]!, number: "5", status });
    return after;
}

test("a cancelled release says what stays spent", async () => {
    await started();
    store.cancel("t");
    expect(host.of("cancel")[0]!.args).toEqual({ token: "t" });
    host.tell({ v: 1, event: "cancelled", body: { token: "t", state: ended("cancelled") } });
    expect(panelOf(store).notice?.strong).toBe("Cancelled. ε 0.2 is spent and no answer was shown.");
});

test("a release that fails after its charge says that it is spent, before it that nothing was charged", async () => {
    const error = { kind: "EngineError", message: "the engine stopped" };
    await started();
    host.tell({ v: 1, event: "failed", body: { token: "t", error, state: ended("failed") } });
    expect(panelOf(store).notice).toMatchObject({
        strong: "The engine stopped.",
        rest: "The draw came after the charge: ε 0.2 is spent and no answer was shown.",
    });
    store.keep();
    host.answers["status"] = () => ({ state: state() });
    await started();
    host.tell({ v: 1, event: "failed", body: { token: "t", error, state: state() } });
    expect(panelOf(store).notice).toMatchObject({ strong: "The engine stopped.", rest: "Nothing was charged." });
});

test("a refusal is shown with what would mend it, and nothing was charged", async () => {
    host.answers["release"] = () => ({
        error: {
            kind: "BudgetExceeded",
            message: "this release costs epsilon = 1/5 but 1/10 is left; ask for at most 1/10",
            fix: { epsilon: "0.1" },
        },
    });
    await rested();
    store.press();
    await settle();
    const panel = panelOf(store);
    expect([panel.kind, panel.notice?.rest, panel.buttons[0]?.label]).toEqual([
        "refused",
        "Nothing was charged.",
        "Set ε to 0.1",
    ]);
});

test("an answer that was already paid for arrives at once", async () => {
    host.answers["release"] = () => ({ result: result(), state: state() });
    await rested();
    store.press();
    await settle();
    expect([store.result?.number, store.purchase.kind]).toEqual(["3", "idle"]);
});

test("an end that was missed is fetched, once the state says that the draw is over", async () => {
    await started();
    host.answers["show"] = () => ({ result: { ...result(), number: "5" } });
    const over = state();
    over.entries.push({ ...over.entries[2]!, number: "5", status: "done" });
    store.take("state", JSON.stringify(over));
    await vi.advanceTimersByTimeAsync(900);
    expect([host.of("show")[0]?.args, store.result?.number, store.purchase.kind]).toEqual([{ number: "5" }, "5", "idle"]);
});

test("a second, independent answer has a key of its own, in the order and in the Python", async () => {
    store.type("0.1");
    expect(panelOf(store).kind).toBe("already");
    store.again();
    await rested();
    expect(panelOf(store).kind).toBe("offer");
    expect(store.python).toContain(`key="${store.fresh}"`);
    store.press();
    await settle();
    expect(host.of("release")[0]!.args["key"]).toBe(store.fresh);
    expect(store.fresh).toMatch(/^again-[0-9a-f]{8}$/);
});

// --- is anybody there ----------------------------------------------------------------------------------------------

test("an answer that is overdue is a busy kernel, and a late one a ready kernel", async () => {
    open();
    host.widget_manager.kernel = { status: "busy" };
    delete host.answers["status"];
    store.probe();
    await vi.advanceTimersByTimeAsync(1300);
    expect(store.kernel.health).toBe("busy");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(store.kernel.health).toBe("busy");
    host.tell({ v: 1, re: host.of("status").at(-1)!.id, ok: true, body: { state: state() } });
    expect(store.kernel.health).toBe("ready");
});

test("no kernel at all is known at once; one that never answers, after a while", async () => {
    host.widget_manager.kernel = null;
    store.probe();
    expect(store.kernel.health).toBe("gone");

    open();
    delete host.answers["status"];
    store.probe();
    await vi.advanceTimersByTimeAsync(11_000);
    expect(store.kernel.health).toBe("gone");
});

test("a kernel that dies while nobody asks it anything is noticed, and so is its return", async () => {
    open();
    await vi.advanceTimersByTimeAsync(1500);
    expect(store.kernel.health).toBe("ready");
    host.widget_manager.kernel = null;
    await vi.advanceTimersByTimeAsync(1500);
    expect(store.kernel.health).toBe("gone");
    host.widget_manager.kernel = { status: "idle" };
    await vi.advanceTimersByTimeAsync(1500);
    expect(store.kernel.health).toBe("ready");
});

test("a kernel that was restarted does not know this page, and says so by refusing to send", async () => {
    open();
    await vi.advanceTimersByTimeAsync(1500);
    host.widget_manager.kernel = { status: "dead" };
    await vi.advanceTimersByTimeAsync(1500);
    host.widget_manager.kernel = { status: "idle" };
    host.send = () => {
        throw new Error("Cannot send");
    };
    await vi.advanceTimersByTimeAsync(13_000);
    expect(store.kernel.health).toBe("gone");
});

test("a kernel that dies under a release leaves no doubt unspoken", async () => {
    await started();
    host.widget_manager.kernel = null;
    store.probe();
    expect([panelOf(store).kind, panelOf(store).notice?.strong]).toEqual(["silent", "The kernel stopped answering."]);
});

test("with no kernel the plan still moves and the release says why not", () => {
    host.widget_manager.kernel = null;
    store.probe();
    store.moveTo(3);
    expect(store.point?.epsilon).toBe(store.sheet!.fans.epsilon[3]!.epsilon);
    const panel = panelOf(store);
    expect([panel.buttons[0], panel.note]).toEqual([
        { look: "off", label: "Release needs a kernel", act: null },
        "Restart it and run the session cell. The ledger remembers: 0.85 spent, 0.05 pending, 1.1 left.",
    ]);
});

// --- the page ------------------------------------------------------------------------------------------------------

test("widgets of one desk share one store, which goes when the last one goes", () => {
    const [first, second, other] = [acquire("a"), acquire("a"), acquire("b")];
    expect(first).toBe(second);
    expect(other).not.toBe(first);
    leave("a");
    expect(acquire("a")).toBe(first);
    leave("a");
    leave("a");
    expect(acquire("a")).not.toBe(first);
    leave("a");
    leave("b");
});

test("a broken trait is ignored and the last good one stays; a later version is named", () => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    store.take("sheet", "{broken");
    store.take("state", { version: 1 });
    expect([store.sheet?.question.id, store.state?.title, store.problem]).toEqual(["9f3c", "doctor visits", null]);
    store.take("sheet", { version: 3 });
    expect(store.problem).toContain("version 3");
});

test("a kernel that takes long is asked whether it is there, and one that says so is not gone", async () => {
    open();
    delete host.answers["plan"];
    void store.kernel.ask("plan", {});
    await vi.advanceTimersByTimeAsync(60_000);
    expect(store.kernel.health).toBe("busy");
    const asked = host.of("status").length;
    expect(asked).toBeGreaterThan(5);
    expect(asked).toBeLessThan(30);
    delete host.answers["status"]; // now it says nothing any more
    await vi.advanceTimersByTimeAsync(15_000);
    expect(store.kernel.health).toBe("gone");
    expect(host.of("status").length).toBeLessThan(asked + 9);
});

test("a page that was sent no columns warns of nothing, and of columns that are none it does", () => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    for (const [buffers, times] of [[{}, 0], [{ parts: [] }, 1]] as const) {
        warned.mockClear();
        const page = new Host("workbench");
        page.traits["buffers"] = buffers; // which is no text
        render(page).close();
        expect(warned).toHaveBeenCalledTimes(times);
    }
    warned.mockRestore();
});
