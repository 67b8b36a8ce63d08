/**
 * The store of a sub-session view: what a sub-session has left, what came so far, and the next question on its way.
 *
 * The kernel wrote the sub-session view and decides what may be asked; the page compares whole numbers to say what the button would
 * use, sends that with the question, and the kernel refuses where it knows better.
 */

import { hand } from "../dom/hand";
import { SUPERSEDED, type Heed } from "../protocol/kernel";
import { decode, readBar, readMeasure, readOrders, readRefusal, readResult, readRunning, version, type Outcome, type Refusal, type Result, type Running } from "../protocol/protocol";
import { exact, flag, list, Malformed, maybe, oneOf, shape, table, text, whole, type Read } from "../protocol/readers";
import { said } from "../wording/measures";
import { freshKey, PurchaseStore } from "./purchase_store";
import { capital, often, shown, ungrouped } from "../wording/words";

const readSubSessionShape = shape({
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

export type SubSession = Read<typeof readSubSessionShape>;
export type Row = SubSession["rows"][number];

export const readSubSession = (value: unknown): SubSession => readSubSessionShape(decode(value), "state");

/** The text of the button when it was pressed: the kernel refuses what no longer holds. */
interface Question extends Record<string, unknown> {
    readonly question: string;
    readonly k: string;
    readonly kbar: string;
    readonly most: string;
    readonly left: string;
    readonly key: string | null;
}

const DEBOUNCE = 150;
const MOST = 1_000_000n;
const RANGE = `a whole number from 1 to ${shown(String(MOST))}`;

const readPlan = shape({ beta: exact, measures: list(readMeasure), errors: table(readBar) });

/** "An item 449 above the 51st count is listed, 95 in 100."; nothing of a reply that makes no sense. */
function errorsOf(body: unknown): string {
    try {
        const { beta, measures, errors } = readPlan(body, "body");
        const phrase = said(measures, errors, beta);
        return phrase === "" ? "" : `${capital(phrase)}, ${often(beta)}.`;
    } catch (error) {
        if (!(error instanceof Malformed)) throw error;
        return "";
    }
}

export class SubSessionStore extends PurchaseStore<SubSession, Question, null> {
    protected override readonly lost = "No answer came to this question. The sub-session says whether it was asked.";

    /** The question that would be asked next: by its id, and both numbers as typed. */
    chosen = "";
    k = "10";
    kbar = "50";
    /** Statements about the errors of the question as typed, in a sentence; empty until the kernel said so. */
    errors = "";
    /** The row that came last from here wants the focus. */
    wantsFocus = false;
    /** The answer that is looked at by itself, and whether its title wants the focus. */
    result: Result | null = null;
    wantsResult = false;
    /** Why an answer could not be looked at. */
    lookFault: { number: string; error: Refusal } | null = null;

    /** Whether the question on its way was asked here. */
    get mine(): boolean {
        return this.purchase.kind === "running" && this.purchase.running.token === this.state?.running?.token;
    }

    protected override buttonText(): string {
        return `${this.chosen} ${this.k} ${this.kbar} ${this.state?.symbols.left}`;
    }

    // --- what the kernel writes ----------------------------------------------------------------------------------

    protected override read(trait: string, value: unknown): void {
        if (trait === "pulse") this.beat(value);
        else if (trait === "state") this.adopt(value);
    }

    protected override readState(value: unknown): SubSession {
        return readSubSession(value);
    }

    override probe(): void {
        void this.kernel.probe().then((reply) => {
            if (reply?.ok && this.errors === "") this.#plan();
            this.onStatus(reply);
        });
    }

    protected override onNews(news: Heed): void {
        super.onNews(news);
        this.tell();
    }

    protected override onState(before: SubSession | null, subSession: SubSession): void {
        if (before !== null && this.purchase.kind === "idle") {
            const last = subSession.rows.at(-1);
            const was = before.rows.find((row) => row.number === last?.number);
            if (last !== undefined && was?.status !== last.status)
                this.say(`${told(last)} ${subSession.symbols.left} of ${subSession.symbols.total} symbols left.`);
        }
        if (!subSession.offers.some(({ id }) => id === this.chosen)) {
            this.chosen = this.#fresh(subSession) ?? subSession.offers[0]?.id ?? "";
            this.#plan();
        }
    }

    /** A sub-session view of an earlier version tells no outcomes: what ran is over, with this fault or none. */
    protected override outcomeIn(subSession: SubSession, { token, number }: Running): Outcome | null {
        if (subSession.outcomes !== null) return null;
        return { token, re: "", event: subSession.fault === null ? "released" : "failed", number, error: subSession.fault };
    }

    protected override isCharged(number: string | null): boolean {
        return number !== "";
    }

    protected override onPurchase(): void {
        const { purchase } = this;
        if (purchase.kind !== "ended") return;
        if (purchase.how === "released") this.step({ is: "shown" });
        else if (purchase.error === null) this.step({ is: "dismissed" });
        const row = this.state?.rows.at(-1);
        if (purchase.how !== "refused" && row !== undefined) this.#came(row);
    }

    /** The first question on offer that was not asked yet. */
    #fresh(subSession: SubSession): string | null {
        return subSession.offers.find(({ id }) => !subSession.rows.some((row) => row.id === id))?.id ?? null;
    }

    #came(row: Row): void {
        this.wantsFocus = this.waited;
        this.chosen = this.#fresh(this.state!) ?? this.chosen;
        this.#plan();
        this.say(`${told(row)} ${this.state!.symbols.left} of ${this.state!.symbols.total} symbols left.`, 0);
    }

    // --- what the reader chooses ---------------------------------------------------------------------------------

    override get locked(): boolean {
        return super.locked || this.state?.running != null;
    }

    choose(id: string): void {
        this.#change(() => (this.chosen = id));
    }

    type(part: "k" | "kbar", text: string): void {
        this.#change(() => (this[part] = ungrouped(text)));
    }

    #change(act: () => void): void {
        if (this.locked) return;
        act();
        this.step({ is: "dismissed" });
        this.lookFault = null;
        this.#plan();
        if (this.fault === null) this.say(`Would use at most ${this.most} of ${this.state?.symbols.left} symbols left.`);
        this.tell();
    }

    /** Ask for the errors of the question: free, and blind to the data. The latest question wins. */
    #plan(): void {
        this.errors = "";
        this.drop("plan");
        if (this.fault !== null || this.chosen === "" || this.kernel.health === "gone") return;
        this.later("plan", DEBOUNCE, () => {
            const question = { question: this.chosen, k: this.k, kbar: this.kbar };
            void this.latest("plan", "plan", question).then((reply) => {
                if (reply === null) return;
                // of two pages that plan at the same time, one is told that the other came first
                if (!reply.ok && reply.error.kind === SUPERSEDED) return this.#plan();
                this.errors = reply.ok ? errorsOf(reply.body) : "";
                this.tell();
            });
        });
    }

    /** The fault in the numbers as typed, or null. Whether they fit is the kernel's to say. */
    get fault(): { part: "k" | "kbar"; text: string } | null {
        const [k, kbar] = [number(this.k), number(this.kbar)];
        if (k === null) return { part: "k", text: `How many to ask for must be ${RANGE}, got ${this.k || "nothing"}. Type one like 10.` };
        if (kbar === null) return { part: "kbar", text: `k̄ must be ${RANGE}, got ${this.kbar || "nothing"}. Type one like 50.` };
        if (kbar < k) return { part: "kbar", text: `k̄ must be at least how many you ask for, ${shown(String(k))}, got ${shown(String(kbar))}. Type ${shown(String(k))} or more.` };
        return null;
    }

    /** How many symbols the question would use at most. */
    get most(): string {
        return String(number(this.k) ?? 0n);
    }

    /** An earlier row that asked exactly this: asking again draws anew, and uses symbols again. */
    get twin(): Row | null {
        const { chosen, k, kbar } = this;
        return this.state?.rows.findLast((row) => row.id === chosen && row.k === k && row.kbar === kbar) ?? null;
    }

    // --- asking --------------------------------------------------------------------------------------------------

    override press(): void {
        const { state } = this;
        if (state === null || this.locked || this.resting || this.fault !== null || this.chosen === "") return;
        if (this.kernel.health === "gone") return;
        this.lookFault = null;
        void this.order({
            question: this.chosen,
            k: this.k,
            kbar: this.kbar,
            most: this.most,
            left: state.symbols.left,
            key: this.twin === null ? null : freshKey(),
        });
    }

    protected override stands({ question, k, kbar }: Question): boolean {
        return question === this.chosen && k === this.k && kbar === this.kbar;
    }

    protected override argumentsOf(question: Question): Record<string, unknown> {
        return question;
    }

    protected override onReply(id: string, body: Record<string, unknown>): void {
        const running = { token: String(body["token"]), number: "", done: "0", of: "1", text: "", re: id, waiting: null };
        this.step({ is: "running", running });
        this.adopt(body["state"]);
        if (this.unwritten) this.say("Waiting for the ledger. Nothing is used yet.", 0);
        else if (this.mine && this.purchase.kind === "running")
            this.say(`Asking. ${symbolsText(this.purchase.order.most)} ${this.purchase.order.most === "1" ? "is" : "are"} reserved.`, 0);
    }

    /** The question was sent, and its charge waits: for whoever holds the ledger, or for its server. */
    get unwritten(): boolean {
        return this.mine && this.state?.running?.number === "";
    }

    override withdraw(): void {
        const token = this.state?.running?.token;
        if (this.unwritten && token !== undefined) this.cancel(token);
        else super.withdraw();
    }

    override retry(): void {
        if (this.lookFault !== null) void this.show(this.lookFault.number);
        else super.retry();
    }

    /** Look at one answer by itself: free. */
    async show(number: string): Promise<void> {
        const before = hand();
        const reply = await this.latest("show", "show", { number });
        if (reply === null) return;
        this.guard(() => {
            this.lookFault = reply.ok ? null : { number, error: reply.error };
            if (reply.ok) [this.result, this.wantsResult] = [readResult(reply.body["result"]), hand() === before];
        });
        this.tell();
    }

    /** The Python call that does exactly what the button would do. */
    get python(): string {
        const call = this.state?.offers.find(({ id }) => id === this.chosen)?.python ?? "";
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

/** "1 symbol", "5 symbols". */
export const symbolsText = (count: string): string => `${shown(count)} ${count === "1" ? "symbol" : "symbols"}`;
export const stay = (count: string): string => (count === "1" ? "stays" : "stay");

/** Describe a row in one or two sentences. */
export function told(row: Row): string {
    const cost = `it cost ${symbolsText(row.used)}`;
    const name = `Question ${row.number}`;
    switch (row.status) {
        case "pending":
            return `${name} is on its way; ${symbolsText(row.most)} ${row.most === "1" ? "is" : "are"} reserved.`;
        case "elsewhere":
            return `${name} is asked by another kernel; ${symbolsText(row.most)} ${row.most === "1" ? "is" : "are"} reserved.`;
        case "lost":
            return `${name} never reported back: its ${symbolsText(row.used)} ${row.used === "1" ? "counts" : "count"} as used. Asking again would cost again.`;
        case "cancelled":
            return `${name} was cancelled: its ${symbolsText(row.used)} ${stay(row.used)} used and no answer was shown.`;
        case "failed":
            return `${name} failed after its symbols were reserved: ${row.used} ${stay(row.used)} used and no answer was shown.`;
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
            `${name} ended early: after ${row.items.length} of ${shown(row.k)} no further ${row.items_are} stood out enough (⊥); ` +
            `${cost}.`
        );
    return `${name}: ${row.k === "1" ? "the one place was" : `all ${shown(row.k)} places were`} filled; ${cost}.`;
}
