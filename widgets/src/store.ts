/**
 * One store per desk: what the kernel wrote, what the reader chose, and where a release stands.
 *
 * The widgets of one desk on one page share it, so a slider in one redraws the others without the kernel. It adds and
 * compares exact numbers and chooses among points it was sent; it computes no price and no error.
 */

import { compare, equal, exactly, morePrivate, parse, times, ZERO, type Fraction } from "./exact";
import { Following, news } from "./following";
import { Kernel, LOST, SUPERSEDED, type Channel, type Heed } from "./kernel";
import { barOf, isList, phrase, signed, slowness } from "./measures";
import {
    epsilonAxis,
    isOlder,
    Malformed,
    Newer,
    readResult,
    readSheet,
    readState,
    type Bar,
    type Entry,
    type Measure,
    type Outcome,
    type Point,
    type Price,
    type Refusal,
    type Reply,
    type Result,
    type Running,
    type Sheet,
    type State,
} from "./protocol";
import { bins, EPSILON_HELP, leaves, priceText, same, shown } from "./words";

/** What was on the button when it was pressed; the kernel refuses any other price. */
export interface Order {
    readonly price: Price;
    readonly args: Record<string, unknown>;
}

export type Spend =
    | { kind: "idle" }
    | { kind: "confirm"; order: Order }
    /** Pressed, and the kernel asked whether it listens. Nothing is sent yet, so it can be withdrawn for nothing. */
    | { kind: "waiting"; order: Order }
    /** `before` is the last entry's number when the order was sent: a later one tells that it was charged. */
    | { kind: "sent"; order: Order; id: string; before: bigint }
    | { kind: "running"; running: Running; price: Price; before: bigint }
    | { kind: "cancelled"; price: Price }
    /** `sent` is false where the kernel was only asked whether the ledger answers: nothing can have been charged. */
    | { kind: "refused"; error: Refusal; sent: boolean }
    | { kind: "failed"; error: Refusal; price: Price };

/** How an order ended: as news of it, or as a later state tells it again, then without the result. */
type End = Pick<Outcome, "event" | "error"> & { number: string | null; result: Result | null };

export type Paid = Pick<Entry, "number" | "epsilon">;
export type Question = { id: string } | Record<string, unknown>;
const DEBOUNCE = 150;
const REST = 400;
const SPEAK = 500;
const SETTLE = 800;
/** An order of which nothing was heard for so long is asked after. */
const SILENCE = 2_000;
const PATIENCE = 10_000;
const REMEMBERED = 16;

export class Desk {
    readonly kernel: Kernel;
    readonly following: Following;

    sheet: Sheet | null = null;
    state: State | null = null;
    result: Result | null = null;
    /** Why this page cannot draw what it was sent. */
    problem: string | null = null;

    /** The text in the ε box, kept as typed. */
    typed = "";
    fault: string | null = null;
    /** The slider's place: the nearest grid value that is at least as private as what was typed. */
    tick = 0;
    /** The plan on show; its ε equals `typed` exactly when `settled`. */
    point: Point | null = null;
    settled = false;
    beta = "";
    seekFault: { measure: string; text: string } | null = null;

    /** A plan was asked for and has not come. */
    asking = false;
    planFault: string | null = null;

    spend: Spend = { kind: "idle" };
    /** The key of a second, independent answer; null for the question's first. */
    fresh: string | null = null;
    /** The title of the result wants the focus, after a release made here. */
    wantsFocus = false;
    sentence = "";
    /** The release that another view started and that a person is about to cancel here: its token. */
    doubt: string | null = null;
    /** The order that was taken back before the kernel named it: the id of its message. */
    withdrawn: string | null = null;

    readonly #listeners = new Set<() => void>();
    readonly #timers = new Map<string, ReturnType<typeof setTimeout>>();
    readonly #seen = new Map<string, string>();
    #grid: Fraction[] = [];
    #asked = 0;
    #touched = false;
    #button = "";
    #restUntil = 0;
    /** Ends that were heard, by token: the reply that names the token may come after them. */
    readonly #ends = new Map<string, End>();
    #heardAt = 0;
    #lookedAt = 0;
    #fetching = "";

    constructor() {
        this.kernel = new Kernel(
            () => this.#tell(),
            (heard) => this.#heed(heard),
        );
        this.following = new Following(
            () => this.#tell(),
            () => {
                if (this.kernel.health !== "gone")
                    void this.kernel.ask("status", {}).then((reply) => this.#adoptState(reply));
            },
        );
    }

    /** When what is on show was true, by the reader's clock; empty where it is true now. */
    get asof(): string {
        return this.state?.teaching != null ? "" : this.following.asof(this.kernel.health === "gone");
    }

    // --- who listens -------------------------------------------------------------------------------------------

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
    }

    close(): void {
        for (const timer of this.#timers.values()) clearTimeout(timer);
        this.#timers.clear();
        this.#listeners.clear();
        this.following.close();
    }

    probe(): void {
        void this.kernel.probe().then((reply) => this.#adoptState(reply));
    }

    #tell(): void {
        const button = this.point === null ? "" : `${priceText(this.point.price)} ${this.point.key}`;
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

    /** The price changed a moment ago: a press now may have been meant for the old one. */
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

    /** Take in a trait: `sheet`, `state` or `result`. A malformed one is ignored, a later version is named. */
    take(trait: "sheet" | "state" | "result" | "pulse", value: unknown): void {
        if (value === undefined || value === null || value === "") return;
        if (typeof value === "string") {
            if (this.#seen.get(trait) === value) return;
            this.#seen.set(trait, value);
        }
        if (trait === "pulse") {
            if (this.following.take(value)) this.kernel.alive();
            return;
        }
        this.#guard(() => {
            if (trait === "sheet") this.#useSheet(readSheet(value));
            else if (trait === "state") this.#useState(readState(value));
            else this.result = readResult(value);
        });
        this.#tell();
    }

    /** Stand on a sheet and a release that were read already, as a report does; nobody will write more. */
    furnish(sheet: Sheet, result: Result | null): void {
        this.result = result;
        this.#useSheet(sheet);
        this.#tell();
    }

    #guard(act: () => void): void {
        try {
            act();
        } catch (error) {
            if (error instanceof Newer) {
                this.problem =
                    `This page reads version ${error.known} and was sent ${error.message}. Nothing is drawn; ` +
                    "restart the kernel and reload the page, so that both are of one release.";
            } else if (error instanceof Malformed) {
                console.warn(`dpviz: ignored what this page was sent: ${error.message}`);
            } else throw error;
        }
    }

    #useSheet(sheet: Sheet): void {
        const before = this.sheet;
        this.sheet = sheet;
        this.#grid = epsilonAxis(sheet).grid.map(exactly);
        if (!sheet.betas.includes(this.beta)) this.beta = sheet.beta;
        if (before !== null && before.question.id !== sheet.question.id) this.fresh = null;
        const kept = (this.#touched && this.fault === null) || same(this.typed, sheet.now.epsilon);
        this.#resolve(kept ? this.typed : sheet.now.epsilon);
    }

    #useState(state: State): void {
        if (isOlder(state, this.state)) return;
        const before = this.state;
        const restarted = before !== null && before.kernel !== state.kernel;
        this.state = state;
        if (state.asof !== null) this.following.seen(state.asof, this.following.fault);
        if (state.running?.token !== this.doubt) this.doubt = null;
        // What ended elsewhere leaves the pay button where its Cancel was: a press now was meant for that.
        if (before?.running != null && state.running === null) this.#rest();
        if (this.spend.kind === "idle" && before !== null) {
            const sentence = news(before, state);
            if (sentence !== "") this.say(sentence);
        }
        if ((this.spend.kind !== "running" && this.spend.kind !== "sent") || restarted) return;
        if (this.spend.kind === "running" && state.running?.token === this.spend.running.token)
            this.#charged(this.spend, state.running);
        if (this.#told(state) !== null) this.#later("settle", SETTLE, () => this.#settle());
    }

    /** What a state tells of the order that is on its way: how it ended, or that it runs. */
    #told(state: State): { end: End } | { running: Running } | null {
        const { spend } = this;
        if (spend.kind !== "running" && spend.kind !== "sent") return null;
        const own = ({ token, re }: { token: string; re: string | null }): boolean =>
            spend.kind === "sent" ? re === spend.id : token === spend.running.token;
        const outcome = state.outcomes?.findLast(own);
        if (outcome !== undefined) return { end: { ...outcome, result: null } };
        if (spend.kind === "sent") return state.running !== null && own(state.running) ? { running: state.running } : null;
        const { number } = spend.running;
        const entry = state.entries.find((item) => item.number === number);
        if (state.running !== null || entry === undefined || entry.status === "pending") return null;
        const event = entry.status === "done" ? "released" : entry.status === "cancelled" ? "cancelled" : "failed";
        const error = event === "failed" ? refusal("The draw did not finish.") : null;
        return { end: { event, number, error, result: null } };
    }

    /** The news itself did not come: go by what the state tells. */
    #settle(): void {
        const told = this.state === null ? null : this.#told(this.state);
        if (told === null) return;
        if ("end" in told) this.#over(told.end);
        else if (this.spend.kind === "sent") this.#runs(this.spend, told.running);
        this.#tell();
    }

    /** The order on its way is over. */
    #over(end: End): void {
        const { spend } = this;
        if (spend.kind !== "running" && spend.kind !== "sent") return;
        if (end.event !== "released") this.spend = this.#ended(spend, end);
        else if (end.result !== null) this.#finish(end.result);
        else if (end.number !== null && this.#fetching !== end.number) void this.#fetch(end.number, true);
    }

    /** The order is drawn: follow it, and ask after it once, should it have ended meanwhile. */
    #runs({ order, before }: Extract<Spend, { kind: "sent" }>, running: Running): void {
        this.spend = { kind: "running", running, price: order.price, before };
        if (running.number !== "") this.say(`ε ${order.price.epsilon} is written to the ledger. ${running.text}.`, 0);
        else this.say("Waiting for the ledger. Nothing is charged yet.", 0);
        if (this.withdrawn === running.re) this.cancel(running.token);
        void this.#look();
        this.#follow();
    }

    /** While an order is on its way and silent, ask the kernel for its state. */
    #follow(): void {
        this.#later("watch", SILENCE, () => {
            if (this.spend.kind !== "running" && this.spend.kind !== "sent") return;
            const now = Date.now();
            const waits = this.#lookedAt > this.#heardAt && now - this.#lookedAt < PATIENCE;
            if (now - this.#heardAt >= SILENCE && !waits && this.kernel.health !== "gone") void this.#look();
            this.#follow();
        });
    }

    /** How far the release is that was started here; that it is charged is told once. */
    #charged(spend: Extract<Spend, { kind: "running" }>, running: Running): void {
        if (spend.running.number === "" && running.number !== "")
            this.say(`${priceText(spend.price)} is written to the ledger. ${running.text}.`, 0);
        this.#sayProgress(spend.running, running);
        this.spend = { ...spend, running };
    }

    async #look(): Promise<void> {
        this.#lookedAt = Date.now();
        const reply = await this.kernel.ask("status", {});
        this.#heardAt = Date.now();
        this.#adoptState(reply);
    }

    /** The reply to an order is lost: find the order in the state, by its id. */
    async #trace(sent: Spend, tries = 3): Promise<void> {
        await this.#look();
        if (this.spend !== sent) return;
        this.#settle();
        if (this.spend !== sent) return;
        if (tries > 1) this.#later("trace", SILENCE, () => void this.#trace(sent, tries - 1));
        else this.#spend({ kind: "refused", error: refusal("No answer came to this order. The history says whether it was charged."), sent: true });
    }

    #adoptState(reply: Reply | null): void {
        if (reply?.ok)
            this.#guard(() => {
                this.#useState(readState(reply.body["state"]));
                this.following.seen(this.state?.asof ?? "");
            });
        this.#tell();
    }

    #heed(heard: Heed): void {
        if (heard.kind === "progress") {
            this.#heardAt = Date.now();
            if (this.spend.kind === "running" && this.spend.running.token === heard.running.token) {
                this.#charged(this.spend, heard.running);
            } else if (this.state !== null && this.spend.kind !== "sent") {
                this.state = { ...this.state, running: heard.running };
            }
            this.#tell();
            return;
        }
        this.#heardAt = Date.now();
        const { token, number } = heard;
        const result = heard.kind === "released" ? heard.result : null;
        const end: End = { event: heard.kind, number, error: heard.kind === "released" ? null : heard.error, result };
        const first = !this.#ends.has(token); // every widget of a desk is told
        this.#ends.set(token, end);
        if (this.#ends.size > REMEMBERED) this.#ends.delete(this.#ends.keys().next().value!);
        this.#useState(heard.state);
        if (this.spend.kind === "running" && this.spend.running.token === token) this.#over(end);
        else if (first && result !== null) this.result = result;
        this.#tell();
    }

    /** How a release ended other than well: after its charge it is spent, before it nothing happened. */
    #ended(spend: Extract<Spend, { kind: "running" | "sent" }>, { event, number, error }: End): Spend {
        const price = spend.kind === "sent" ? spend.order.price : spend.price;
        const later = lastNumber(this.state) > spend.before || this.state?.teaching != null;
        const charged = number === null ? later : number !== "";
        if (!charged) {
            if (event === "cancelled") this.say("Withdrawn. Nothing was charged.", 0);
            return { kind: "refused", error: error ?? refusal("Withdrawn before anything was charged."), sent: true };
        }
        if (event === "cancelled") return { kind: "cancelled", price };
        return { kind: "failed", price, error: error ?? refusal("The draw did not finish.") };
    }

    #sayProgress(before: Running, now: Running): void {
        const part = (running: Running): number =>
            Number((200n * BigInt(running.done)) / (BigInt(running.of) || 1n)) / 2;
        if (part(before) < 50 && part(now) >= 50) this.say(`${now.text}: half done.`, 0);
    }

    // --- what the reader chooses ---------------------------------------------------------------------------------

    /** Knobs are locked to the priced values while a release is on its way. */
    get locked(): boolean {
        return ["waiting", "sent", "running"].includes(this.spend.kind);
    }

    moveTo(tick: number): void {
        const grid = this.sheet === null ? [] : epsilonAxis(this.sheet).grid;
        const text = grid[Math.max(0, Math.min(grid.length - 1, tick))];
        if (text !== undefined) this.type(text);
    }

    /** Take the text of the ε box. What is no positive number leaves the plan at the last value that made sense. */
    type(text: string): void {
        if (this.locked || this.sheet === null) return;
        this.#touched = true;
        this.seekFault = null;
        this.fresh = null;
        this.spend = { kind: "idle" };
        const value = parse(text);
        if (value === null || compare(value, ZERO) <= 0) {
            const rule = value === null ? "must be a number" : "must be positive";
            this.fault = `ε ${rule}, got ${shown(text.trim()) || "nothing"}. ${EPSILON_HELP}`;
            this.typed = text;
            this.#tell();
            return;
        }
        this.#resolve(text.trim());
        if (!this.settled && this.kernel.health !== "gone") this.#later("plan", DEBOUNCE, () => void this.plan({}));
        this.#sayPlan();
        this.#tell();
    }

    #resolve(text: string): void {
        const sheet = this.sheet!;
        const value = exactly(text);
        this.typed = text;
        this.fault = null;
        const below = morePrivate(this.#grid, value);
        this.tick = Math.max(0, below);
        const fan = sheet.fans.epsilon[below];
        if (equal(exactly(sheet.now.epsilon), value)) [this.point, this.settled] = [sheet.now, true];
        else if (fan !== undefined) [this.point, this.settled] = [fan, equal(this.#grid[below]!, value)];
        else [this.point, this.settled] = [null, false];
    }

    /** Choose the smallest grid ε whose planned error is at most the one typed. */
    seek(measure: Measure, text: string): void {
        if (this.locked || this.sheet === null) return;
        const wanted = parse(text);
        const fans = this.sheet.fans.epsilon;
        const error = (point: Point): Bar | null => barOf(point, this.beta, measure);
        if (wanted === null || compare(wanted, ZERO) < 0) {
            this.seekFault = { measure: measure.name, text: `An error must be 0 or more, got ${shown(text.trim()) || "nothing"}.` };
        } else {
            const met = (bar: Bar | null): boolean => bar !== null && compare(exactly(bar.value), wanted) <= 0;
            const tick = fans.findIndex((point) => met(error(point)));
            if (tick >= 0) return this.moveTo(tick);
            const best = fans.at(-1)!;
            const bar = error(best);
            const reached = bar === null ? "no error is promised" : `it is ${signed(measure, bar)}`;
            this.seekFault = {
                measure: measure.name,
                text: `At ε ${best.epsilon}, the end of the slider, ${reached}. Ask for at least that.`,
            };
        }
        this.#tell();
    }

    setBeta(beta: string): void {
        if (!this.sheet?.betas.includes(beta)) return;
        this.beta = beta;
        this.#sayPlan();
        this.#tell();
    }

    #sayPlan(): void {
        const [sheet, point] = [this.sheet, this.point];
        if (sheet === null || point === null) return;
        const budget = this.state?.budget ?? null;
        const cost = budget === null ? "" : `; would cost ${point.price.epsilon}, ${leaves(budget, point.price, isList(sheet))}`;
        const warning = slowness(point);
        this.say(`ε ${point.epsilon}: ${phrase(sheet, point, this.beta)}${cost}.${warning === "" ? "" : ` ${warning}`}`);
    }

    /** Ask the kernel for a plan; the latest question wins. */
    async plan(change: {
        question?: Question;
        mechanism?: string;
        parameters?: Record<string, string>;
    }): Promise<boolean> {
        const sheet = this.sheet;
        if (sheet === null || this.locked) return false;
        clearTimeout(this.#timers.get("plan"));
        this.#asked += 1;
        const mine = this.#asked;
        const mechanism = change.mechanism ?? sheet.mechanism.name;
        const { parameters } = sheet.mechanism;
        const cap = parameters.get("cap") ?? "";
        // A public cap is about the data, not about the mechanism: it stays, and some mechanisms need one to be planned.
        const kept = mechanism === sheet.mechanism.name ? Object.fromEntries(parameters) : cap === "" ? {} : { cap };
        this.asking = true;
        this.#touched = false;
        this.planFault = null;
        this.spend = { kind: "idle" };
        this.#tell();
        const reply = await this.kernel.ask("plan", {
            question: change.question ?? { id: sheet.question.id },
            mechanism,
            parameters: {
                ...kept,
                ...change.parameters,
                epsilon: this.fault === null ? this.typed : (this.point?.epsilon ?? ""),
            },
        });
        if (mine !== this.#asked) return false;
        this.asking = false;
        if (reply.ok) this.take("sheet", reply.body["sheet"]);
        else if (reply.error.kind !== SUPERSEDED) this.planFault = reply.error.message;
        this.#tell();
        return reply.ok;
    }

    /** Plan a question with the mechanism on show, or where that cannot answer it with the first on offer that can. */
    async planAny(question: Question): Promise<void> {
        const { sheet } = this;
        if (sheet === null) return;
        const others = sheet.mechanisms.map(({ name }) => name).filter((name) => name !== sheet.mechanism.name);
        for (const mechanism of [sheet.mechanism.name, ...others]) {
            const mine = this.#asked + 1;
            if ((await this.plan({ question, mechanism })) || mine !== this.#asked) return;
        }
    }

    // --- spending ------------------------------------------------------------------------------------------------

    #spend(spend: Spend): void {
        this.spend = spend;
        this.#tell();
    }

    /** The order the button stands for now, or null where there is nothing to order. */
    order(): Order | null {
        const { sheet, point } = this;
        if (sheet === null || point === null || !this.settled || this.fault !== null) return null;
        return {
            price: { epsilon: point.price.epsilon, delta: point.price.delta },
            args: {
                question: { id: sheet.question.id },
                mechanism: sheet.mechanism.name,
                parameters: { ...Object.fromEntries(sheet.mechanism.parameters), epsilon: point.epsilon },
                price: { epsilon: point.price.epsilon, delta: point.price.delta },
                key: this.fresh,
            },
        };
    }

    /** The main button: order at once up to a quarter of what is left, else ask once more on the same spot. */
    press(): void {
        const order = this.order();
        if (order === null || this.resting || this.locked || this.spend.kind === "confirm") return;
        if (this.state?.teaching == null && this.#large(order.price)) {
            this.#rest();
            this.#spend({ kind: "confirm", order });
        } else void this.#begin(order);
    }

    confirm(): void {
        if (this.spend.kind === "confirm" && !this.resting) void this.#begin(this.spend.order);
    }

    /** Go back to planning: from the second question, or from a notice. */
    keep(): void {
        if (!this.locked) this.#spend({ kind: "idle" });
    }

    #large(price: Price): boolean {
        const budget = this.state?.budget;
        if (budget == null) return false;
        const more = (cost: string, left: string): boolean => compare(times(exactly(cost), 4n), exactly(left)) > 0;
        return more(price.epsilon, budget.epsilon.left) || more(price.delta, budget.delta.left);
    }

    async #begin(order: Order): Promise<void> {
        const still = (spend: Spend): boolean => this.spend === spend;
        const waiting: Spend = { kind: "waiting", order };
        this.#spend(waiting);
        const heard = await this.kernel.ask("status", {});
        if (!still(waiting)) return;
        if (heard.ok) this.#adoptState(heard);
        else return this.#spend({ kind: "refused", error: heard.error, sent: false });
        const { id, reply: answer } = this.kernel.order("release", order.args);
        const sent = { kind: "sent", order, id, before: lastNumber(this.state) } as const;
        this.#heardAt = Date.now();
        this.#spend(sent);
        this.#follow();
        const reply = await answer;
        if (!still(sent)) return;
        if (!reply.ok) {
            if (reply.error.kind === LOST) void this.#trace(sent);
            else this.#spend({ kind: "refused", error: reply.error, sent: true });
            return;
        }
        this.#guard(() => {
            const { token, number, result, state } = reply.body;
            if (result !== undefined) {
                if (state !== undefined) this.#useState(readState(state));
                this.#finish(readResult(result));
            } else if (typeof token === "string") {
                const end = this.#ends.get(token);
                const of = this.sheet?.question.bins || "1";
                const text = `Drawing ${this.#size()}`;
                if (end !== undefined) this.#over(end);
                else this.#runs(sent, { token, number: String(number), done: "0", of, text, re: id, waiting: null });
            }
        });
        this.#tell();
    }

    /** How much an answer is about, in words. */
    #size(): string {
        const sheet = this.sheet;
        if (sheet !== null && isList(sheet)) return `at most ${shown(sheet.places!)} items`;
        return bins(sheet?.question.bins ?? "");
    }

    #finish(result: Result): void {
        this.result = result;
        this.spend = { kind: "idle" };
        this.fresh = null;
        this.wantsFocus = true;
        const left = this.state?.budget?.epsilon.left;
        const more = this.state?.budget?.rho == null ? "left" : "at most in one more answer";
        const balance = left === undefined ? "" : `, ${left} ${more}`;
        this.say(
            this.state?.teaching == null
                ? `Released, number ${result.number}, paid ${result.price.epsilon}${balance}.`
                : "Drawn, for teaching only.",
            0,
        );
    }

    /** Take back an order: one the kernel has not been sent for nothing, one it has as soon as it names it. */
    withdraw(): void {
        if (this.spend.kind === "waiting") this.#spend({ kind: "idle" });
        else if (this.spend.kind === "sent") {
            this.withdrawn = this.spend.id;
            this.#tell();
        }
    }

    /** Order the same again, now that the ledger may answer. A large price is asked about once more. */
    retry(): void {
        if (this.spend.kind !== "refused" || this.resting) return;
        this.spend = { kind: "idle" };
        this.press();
        this.#tell();
    }

    /** Whether to cancel what another view started: asked before it is done. */
    wonder(token: string | null): void {
        this.doubt = token;
        this.#tell();
    }

    cancel(token: string): void {
        this.doubt = null;
        void this.kernel.ask("cancel", { token });
    }

    show(number: string): void {
        void this.#fetch(number, false);
    }

    async #fetch(number: string, released: boolean): Promise<void> {
        if (released) this.#fetching = number;
        const reply = await this.kernel.ask("show", { number });
        this.#fetching = "";
        if (reply.ok) {
            this.#guard(() => {
                const result = readResult(reply.body["result"]);
                if (released && this.locked) this.#finish(result);
                else [this.result, this.wantsFocus] = [result, true];
            });
        } else {
            this.planFault = reply.error.message;
            if (released && this.locked) this.spend = { kind: "idle" }; // it is paid and stored; the history shows it
        }
        this.#tell();
    }

    /** Plan a second, independent answer to a question that has one: another key, paid again. */
    again(): void {
        const bytes = crypto.getRandomValues(new Uint8Array(4));
        this.fresh = `again-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
        this.#rest();
        this.#spend({ kind: "idle" });
    }

    // --- what follows from all that ------------------------------------------------------------------------------

    /** The last entry for exactly what is planned. */
    get twin(): Entry | null {
        const key = this.point?.key;
        return this.state?.entries.findLast((entry) => entry.key === key) ?? null;
    }

    /** The last finished release of the planned question; without a session, the one on show. */
    get last(): Paid | null {
        const id = this.sheet?.question.id;
        if (this.state !== null) {
            return this.state.entries.findLast((entry) => entry.question_id === id && entry.status === "done") ?? null;
        }
        const { result } = this;
        return result !== null && result.question_id === id && result.number !== null
            ? { number: result.number, epsilon: result.epsilon }
            : null;
    }

    /** The Python call that does exactly what the button would do. */
    get python(): string {
        const { sheet, point } = this;
        if (sheet === null || point === null) return "";
        const call = sheet.python.replaceAll("{epsilon}", point.epsilon);
        return this.fresh === null ? call : call.replace(/,?\s*\)$/, `,\n    key="${this.fresh}",\n)`);
    }
}

const lastNumber = (state: State | null): bigint =>
    (state?.entries ?? []).reduce((last, { number }) => (BigInt(number) > last ? BigInt(number) : last), 0n);

function refusal(message: string): Refusal {
    return { kind: "Lost", message, value: null, rule: null, next_step: null, fix: null };
}

// --- the desks of this page ----------------------------------------------------------------------------------------

interface Stand {
    desk: Desk;
    users: number;
}

/** Every widget brings its own copy of this module; the desks are shared through the page. */
const PLACE = Symbol.for("dpviz.desks.1");

function stands(): Map<string, Stand> {
    const page = globalThis as unknown as { [PLACE]?: Map<string, Stand> };
    return (page[PLACE] ??= new Map<string, Stand>());
}

export function sit(id: string): Desk {
    const stand = stands().get(id) ?? { desk: new Desk(), users: 0 };
    stand.users += 1;
    stands().set(id, stand);
    return stand.desk;
}

export function leave(id: string): void {
    const stand = stands().get(id);
    if (stand === undefined) return;
    stand.users -= 1;
    if (stand.users > 0) return;
    stand.desk.close();
    stands().delete(id);
}
