/**
 * The store of a tape: what a sub-session has left, what came so far, and the next question on its way.
 *
 * The kernel wrote the tape and decides what may be asked; the page compares whole numbers to say what the button would
 * use, sends that with the question, and the kernel refuses where it knows better.
 */

import { Following } from "./following";
import { Kernel, LOST, SUPERSEDED, type Channel, type Heed } from "./kernel";
import {
    decode,
    exact,
    flag,
    isOlder,
    list,
    Malformed,
    maybe,
    Newer,
    oneOf,
    readOrders,
    readRefusal,
    readResult,
    readRunning,
    shape,
    text,
    version,
    whole,
    type Read,
    type Refusal,
    type Reply,
    type Result,
} from "./protocol";

const readTapeShape = shape({
    version,
    kernel: text,
    entry: text,
    price: shape({ epsilon: exact, delta: exact }),
    guarantee: text,
    closed: flag,
    symbols: shape({ total: whole, left: whole }),
    questions: shape({ total: whole, left: whole }),
    offers: list(shape({ id: text, label: text, items: text, python: text })),
    rows: list(
        shape({
            number: whole,
            id: text,
            label: text,
            items_are: text,
            k: whole,
            kbar: text,
            key: text,
            status: oneOf("done", "pending", "elsewhere", "lost", "cancelled", "failed"),
            most: whole,
            used: whole,
            items: list(text),
            ended: flag,
        }),
    ),
    running: maybe(readRunning),
    fault: maybe(readRefusal),
    ...readOrders,
});

export type Tape = Read<typeof readTapeShape>;
export type Row = Tape["rows"][number];

export const readTape = (value: unknown): Tape => readTapeShape(decode(value), "state");

export type Asking =
    | { kind: "idle" }
    /** Pressed, and the kernel asked whether it listens. Nothing is sent yet, so it can be withdrawn for nothing. */
    | { kind: "waiting" }
    | { kind: "sent"; id: string }
    | { kind: "running"; token: string }
    /** `sent` is false where the kernel was only asked whether the ledger answers: nothing can have been used. */
    | { kind: "refused"; error: Refusal; sent: boolean };

const DEBOUNCE = 150;
const REST = 400;
const SPEAK = 500;
/** A question of which nothing was heard for so long is asked after. */
const SILENCE = 2_000;
const PATIENCE = 10_000;
const MOST = 1_000_000n;

export class TapeDesk {
    readonly kernel: Kernel;
    readonly following: Following;

    tape: Tape | null = null;
    problem: string | null = null;
    sentence = "";
    /** The question that another view asked and that a person is about to cancel here: its token. */
    doubt: string | null = null;
    /** The question that was taken back before the kernel named it: the id of its message. */
    withdrawn: string | null = null;

    /** The question that would be asked next: by its id, and both numbers as typed. */
    chosen = "";
    k = "10";
    kbar = "50";
    asking: Asking = { kind: "idle" };
    /** How far above the next count an item is listed, for the question as typed; empty until the kernel said so. */
    listed = "";
    /** The row that came last from here wants the focus. */
    wantsFocus = false;
    /** The answer that is looked at by itself, and whether its title wants the focus. */
    result: Result | null = null;
    wantsResult = false;

    readonly #listeners = new Set<() => void>();
    readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
    #seen: unknown = null;
    #restUntil = 0;
    #button = "";
    #planned = 0;
    #heardAt = 0;
    #lookedAt = 0;

    constructor() {
        this.kernel = new Kernel(
            () => this.#tell(),
            (heard) => this.#heed(heard),
        );
        this.following = new Following(
            () => this.#tell(),
            () => {
                if (this.kernel.health !== "gone") void this.kernel.ask("status", {}).then((reply) => this.#hear(reply));
            },
        );
    }

    /** When what is on show was true, by the reader's clock; empty where it is true now. */
    get asof(): string {
        return this.following.asof(this.kernel.health === "gone");
    }

    /** Whether the question on its way was asked here. */
    get mine(): boolean {
        return this.asking.kind === "running" && this.asking.token === this.tape?.running?.token;
    }

    #hear(reply: Reply): void {
        if (reply.ok) this.#adopt(reply.body["state"]);
        if (reply.ok) this.following.seen("");
        this.#tell();
    }

    subscribe(listener: () => void): () => void {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
    }

    attach(channel: Channel): void {
        this.kernel.attach(channel);
        this.following.attach();
        this.probe();
    }

    detach(channel: Channel): void {
        this.kernel.detach(channel);
        this.following.detach();
        for (const timer of this.#timers.values()) clearTimeout(timer);
        this.#timers.clear();
    }

    probe(): void {
        void this.kernel.probe().then((reply) => {
            if (reply?.ok && this.listed === "") this.#plan();
            if (reply !== null) this.#hear(reply);
        });
    }

    #tell(): void {
        const button = `${this.chosen} ${this.k} ${this.kbar} ${this.tape?.symbols.left}`;
        if (button !== this.#button) {
            if (this.#button !== "") this.#rest();
            this.#button = button;
        }
        for (const listener of [...this.#listeners]) listener();
    }

    #later(name: string, delay: number, act: () => void): void {
        clearTimeout(this.#timers.get(name));
        this.#timers.set(name, setTimeout(act, delay));
    }

    #rest(): void {
        this.#restUntil = Date.now() + REST;
        this.#later("rest", REST + 5, () => this.#tell());
    }

    /** What the button would use changed a moment ago: a press now may have been meant for something else. */
    get resting(): boolean {
        return Date.now() < this.#restUntil;
    }

    say(sentence: string, delay = SPEAK): void {
        this.#later("say", delay, () => {
            this.sentence = sentence;
            this.#tell();
        });
    }

    // --- what the kernel writes ----------------------------------------------------------------------------------

    take(trait: string, value: unknown): void {
        if (trait === "pulse" && value) {
            if (this.following.take(value)) this.kernel.alive();
            return;
        }
        if (trait !== "state" || value === undefined || value === null || value === "" || value === this.#seen) return;
        this.#seen = value;
        this.#adopt(value);
        this.#tell();
    }

    #adopt(value: unknown): void {
        try {
            this.#use(readTape(value));
        } catch (error) {
            if (error instanceof Newer) {
                this.problem =
                    `This page reads version 1 and was sent ${error.message}. Nothing is drawn; ` +
                    "restart the kernel and reload the page, so that both are of one release.";
            } else if (error instanceof Malformed) {
                console.warn(`dpviz: ignored what this page was sent: ${error.message}`);
            } else throw error;
        }
    }

    #use(tape: Tape): void {
        this.#heardAt = Date.now();
        if (isOlder(tape, this.tape)) return this.#settle(this.tape!);
        const before = this.tape;
        this.tape = tape;
        if (tape.running?.token !== this.doubt) this.doubt = null;
        // What ended elsewhere leaves the button where its Cancel was: a press now was meant for that.
        if (before?.running != null && tape.running === null) this.#rest();
        if (before !== null && this.asking.kind === "idle") {
            const last = tape.rows.at(-1);
            const was = before.rows.find((row) => row.number === last?.number);
            if (last !== undefined && was?.status !== last.status)
                this.say(`${told(last)} ${tape.symbols.left} of ${tape.symbols.total} symbols left.`);
        }
        if (!tape.offers.some(({ id }) => id === this.chosen)) {
            this.chosen = this.#fresh(tape) ?? tape.offers[0]?.id ?? "";
            this.#plan();
        }
        this.#settle(tape);
    }

    /** What the tape tells of the question on its way: that it runs, or what came of it. */
    #settle(tape: Tape): void {
        const { asking } = this;
        if (asking.kind !== "sent" && asking.kind !== "running") return;
        const own = ({ token, re }: { token: string; re: string | null }): boolean =>
            asking.kind === "sent" ? re === asking.id : token === asking.token;
        const outcome = tape.outcomes?.findLast(own);
        if (outcome === undefined) {
            if (asking.kind === "sent" && tape.running !== null && own(tape.running))
                this.asking = { kind: "running", token: tape.running.token };
            // a tape of an earlier version tells no outcomes
            if (asking.kind !== "running" || tape.running !== null || tape.outcomes !== null) return;
        }
        const error = outcome === undefined ? tape.fault : outcome.error;
        this.asking = error === null ? { kind: "idle" } : { kind: "refused", error, sent: true };
        const row = tape.rows.at(-1);
        if (row !== undefined) this.#came(row);
    }

    /** While a question is on its way and silent, ask the kernel for the tape. */
    #follow(): void {
        this.#later("watch", SILENCE, () => {
            if (this.asking.kind !== "running" && this.asking.kind !== "sent") return;
            const now = Date.now();
            const waits = this.#lookedAt > this.#heardAt && now - this.#lookedAt < PATIENCE;
            if (now - this.#heardAt >= SILENCE && !waits && this.kernel.health !== "gone") void this.#look();
            this.#follow();
        });
    }

    async #look(): Promise<void> {
        this.#lookedAt = Date.now();
        const reply = await this.kernel.ask("status", {});
        this.#heardAt = Date.now();
        if (reply.ok) this.#adopt(reply.body["state"]);
        this.#tell();
    }

    /** The reply to a question is lost: find the question on the tape, by the id of its message. */
    async #trace(sent: Asking, tries = 3): Promise<void> {
        await this.#look();
        if (this.asking !== sent) return;
        if (tries > 1) this.#later("trace", SILENCE, () => void this.#trace(sent, tries - 1));
        else {
            const message = "No answer came to this question. The tape says whether it was asked.";
            this.#turn({ kind: "refused", error: { kind: LOST, message, value: null, rule: null, next_step: null, fix: null }, sent: true });
        }
    }

    /** The first question on offer that was not asked yet. */
    #fresh(tape: Tape): string | null {
        return tape.offers.find(({ id }) => !tape.rows.some((row) => row.id === id))?.id ?? null;
    }

    #heed(heard: Heed): void {
        if (heard.kind !== "progress" || this.tape === null) return;
        this.tape = { ...this.tape, running: heard.running };
        this.#tell();
    }

    #came(row: Row): void {
        this.wantsFocus = true;
        this.chosen = this.#fresh(this.tape!) ?? this.chosen;
        this.#plan();
        this.say(`${told(row)} ${this.tape!.symbols.left} of ${this.tape!.symbols.total} symbols left.`, 0);
    }

    // --- what the reader chooses ---------------------------------------------------------------------------------

    get locked(): boolean {
        return ["waiting", "sent", "running"].includes(this.asking.kind) || this.tape?.running != null;
    }

    choose(id: string): void {
        this.#change(() => (this.chosen = id));
    }

    type(part: "k" | "kbar", text: string): void {
        this.#change(() => (this[part] = text.trim()));
    }

    #change(act: () => void): void {
        if (this.locked) return;
        act();
        this.asking = { kind: "idle" };
        this.#plan();
        if (this.fault === null) this.say(`Would use at most ${this.most} of ${this.tape?.symbols.left} symbols left.`);
        this.#tell();
    }

    /** Ask what it would take to be listed: free, and blind to the data. The latest question wins. */
    #plan(): void {
        this.listed = "";
        this.#planned += 1;
        const mine = this.#planned;
        if (this.fault !== null || this.chosen === "" || this.kernel.health === "gone") return;
        this.#later("plan", DEBOUNCE, () => {
            const question = { question: this.chosen, k: this.k, kbar: this.kbar };
            void this.kernel.ask("plan", question).then((reply) => {
                if (mine !== this.#planned) return;
                // of two pages that plan at the same time, one is told that the other came first
                if (!reply.ok && reply.error.kind === SUPERSEDED) return this.#plan();
                this.listed = reply.ok && typeof reply.body["listed"] === "string" ? reply.body["listed"] : "";
                this.#tell();
            });
        });
    }

    /** What is wrong with the numbers as typed, or null. Whether they fit is the kernel's to say. */
    get fault(): { part: "k" | "kbar"; text: string } | null {
        const [k, kbar] = [number(this.k), number(this.kbar)];
        if (k === null) return { part: "k", text: `k must be a whole number from 1 on, got ${this.k || "nothing"}.` };
        if (kbar === null)
            return { part: "kbar", text: `k̄ must be a whole number from 1 on, got ${this.kbar || "nothing"}.` };
        if (kbar < k) return { part: "kbar", text: `k̄ must be at least k, ${k}, got ${kbar}.` };
        return null;
    }

    /** How many symbols the question would use at most. */
    get most(): string {
        return String(number(this.k) ?? 0n);
    }

    /** An earlier row that asked exactly this: asking again draws anew, and uses symbols again. */
    get twin(): Row | null {
        const { chosen, k, kbar } = this;
        return this.tape?.rows.findLast((row) => row.id === chosen && row.k === k && row.kbar === kbar) ?? null;
    }

    // --- asking --------------------------------------------------------------------------------------------------

    #turn(asking: Asking): void {
        this.asking = asking;
        this.#tell();
    }

    press(): void {
        const { tape } = this;
        if (tape === null || this.locked || this.resting || this.fault !== null || this.chosen === "") return;
        if (this.kernel.health === "gone") return;
        void this.#begin({
            question: this.chosen,
            k: this.k,
            kbar: this.kbar,
            most: this.most,
            left: tape.symbols.left,
            key: this.twin === null ? null : freshKey(),
        });
    }

    async #begin(order: Record<string, unknown>): Promise<void> {
        const still = (asking: Asking): boolean => this.asking === asking;
        const waiting: Asking = { kind: "waiting" };
        this.#turn(waiting);
        const heard = await this.kernel.ask("status", {});
        if (!still(waiting)) return;
        if (!heard.ok) return this.#turn({ kind: "refused", error: heard.error, sent: false });
        this.#adopt(heard.body["state"]);
        const { id, reply: answer } = this.kernel.order("release", order);
        const sent: Asking = { kind: "sent", id };
        this.#heardAt = Date.now();
        this.#turn(sent);
        this.#follow();
        const reply = await answer;
        if (!reply.ok) {
            if (!still(sent)) return;
            if (reply.error.kind === LOST) return void this.#trace(sent);
            return this.#turn({ kind: "refused", error: reply.error, sent: true });
        }
        if (still(sent)) this.asking = { kind: "running", token: String(reply.body["token"]) };
        this.#adopt(reply.body["state"]);
        if (this.unwritten) this.say("Waiting for the ledger. Nothing is used yet.", 0);
        else if (this.mine) this.say(`Asking. ${order["most"]} symbols are reserved.`, 0);
        if (this.withdrawn === id && this.mine) this.cancel();
        this.#tell();
    }

    /** The question was sent, and its charge waits: for whoever holds the ledger, or for its server. */
    get unwritten(): boolean {
        return this.mine && this.tape?.running?.number === "";
    }

    /** Take back a question: one the kernel has not been sent for nothing, one it has as soon as it names it. */
    withdraw(): void {
        if (this.asking.kind === "waiting") this.#turn({ kind: "idle" });
        else if (this.asking.kind === "sent") {
            this.withdrawn = this.asking.id;
            this.#tell();
        }
        else if (this.unwritten) this.cancel();
    }

    /** Ask the same again, now that the ledger may answer. */
    retry(): void {
        if (this.asking.kind !== "refused" || this.resting) return;
        this.asking = { kind: "idle" };
        this.press();
        this.#tell();
    }

    /** Whether to cancel what another view asked: asked before it is done. */
    wonder(token: string | null): void {
        this.doubt = token;
        this.#tell();
    }

    cancel(): void {
        this.doubt = null;
        const token = this.tape?.running?.token;
        if (token !== undefined) void this.kernel.ask("cancel", { token });
    }

    /** Look at one answer by itself: free. */
    async show(number: string): Promise<void> {
        const reply = await this.kernel.ask("show", { number });
        if (reply.ok) [this.result, this.wantsResult] = [readResult(reply.body["result"]), true];
        else this.asking = { kind: "refused", error: reply.error, sent: false };
        this.#tell();
    }

    /** The Python call that does exactly what the button would do. */
    get python(): string {
        const call = this.tape?.offers.find(({ id }) => id === this.chosen)?.python ?? "";
        return call.replace("{k}", this.k).replace("{kbar}", this.kbar);
    }

    /** Ask for what is left instead. */
    mend(left: string): void {
        this.type("k", left);
    }
}

function number(typed: string): bigint | null {
    if (!/^\d{1,9}$/.test(typed)) return null;
    const value = BigInt(typed);
    return value >= 1n && value <= MOST ? value : null;
}

function freshKey(): string {
    const bytes = crypto.getRandomValues(new Uint8Array(4));
    return `again-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** What a row says, in one or two sentences. */
export function told(row: Row): string {
    const cost = `it cost ${row.used}`;
    const name = `Question ${row.number}`;
    switch (row.status) {
        case "pending":
            return `${name} is on its way; ${row.most} symbols are reserved.`;
        case "elsewhere":
            return `${name} is asked by another kernel; ${row.most} symbols are reserved.`;
        case "lost":
            return `${name} never reported back: its ${row.used} symbols count as used. Asking again would cost again.`;
        case "cancelled":
            return `${name} was cancelled: its ${row.used} symbols stay used and no answer was shown.`;
        case "failed":
            return `${name} failed after its symbols were reserved: ${row.used} stay used and no answer was shown.`;
        case "done":
            break;
    }
    if (row.items.length === 0)
        return (
            `${name} returned only ⊥: no ${row.items_are} stood out enough. That answer is private too, and ${cost}. ` +
            "Asking again would cost again."
        );
    if (row.ended)
        return (
            `${name} ended early: after ${row.items.length} of ${row.k} no further ${row.items_are} stood out enough (⊥); ` +
            `${cost}.`
        );
    return `${name}: ${row.k === "1" ? "the one asked for" : `all ${row.k}`} came; ${cost}.`;
}
