/**
 * One store per session model: what the kernel wrote, what the reader chose, and where a release stands.
 *
 * The widgets of one store on one page share it, so a slider in one redraws the others without the kernel. It adds and
 * compares exact numbers and chooses among points it was sent; it computes no price and no error.
 */

import { beside, readParts, type Parts } from "../protocol/columns";
import { compare, equal, exactly, morePrivate, parse, times, ZERO, type Fraction } from "../numbers/exact";
import { news } from "./following";
import { hand } from "../dom/hand";
import { LOST, SUPERSEDED, type Heed } from "../protocol/kernel";
import { Lessons } from "./lesson_draws";
import { barOf, isList, phrase, signed, slowness } from "../wording/measures";
import {
    decode,
    epsilonAxis,
    readAfter,
    readResult,
    readSheet,
    readState,
    type After,
    type Bar,
    type Entry,
    type Measure,
    type Outcome,
    type Point,
    type Price,
    type Reply,
    type Result,
    type Running,
    type Sheet,
    type State,
} from "../protocol/protocol";
import { stage, type End, type Purchase } from "./purchase";
import { freshKey, PurchaseStore } from "./purchase_store";
import { bins, EPSILON_HELP, leaves, priceText, same, shown } from "../wording/words";

/** The text of the button when it was pressed; the kernel refuses any other price. */
export interface Order {
    readonly price: Price;
    readonly args: Record<string, unknown>;
}

export type Paid = Pick<Entry, "number" | "epsilon">;
export type Question = { id: string } | Record<string, unknown>;
const DEBOUNCE = 150;
/** The gain of a second answer is asked for once the plan on show has stayed for this long: no slider waits for it. */
const STILL = 400;
/** The news of a release brings the answer: it is waited for so long before the answer is asked for. */
const SETTLE = 800;
const REMEMBERED = 16;

export class SessionStore extends PurchaseStore<State, Order, Result> {
    protected override readonly settleAfter = SETTLE;
    protected override readonly lost = "No answer came to this order. The history says whether it was charged.";

    sheet: Sheet | null = null;
    result: Result | null = null;
    /** The records drawn last besides an answer, as they came: the view of that answer reads it. */
    drawn: unknown = null;
    /** Whether this is about public data in a report, where no state says so. */
    ofLesson = false;
    /** Draws on public data, held against the truth: in a teaching session, and nowhere else. */
    readonly lessons = new Lessons({
        kernel: this.kernel,
        take: (trait, value) => this.take(trait, value),
        say: (sentence, delay) => this.say(sentence, delay),
        changed: () => this.tell(),
    });

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

    /** The gain of a second answer, as far as it is known: for which plan and which first answer, in one text. */
    #after: { pair: string; subject: string; found: After["together"] } | null = null;
    /** The pair that was asked about last, or is about to be; empty where none is. */
    #pairAsked = "";
    /** The plan that was on show when it was last seen whether to ask; null where that begins anew. */
    #heeded: string | null = null;
    /** Something was ordered here, and its answer has not come. */
    #ordered = false;

    /** The declarations that are open, by their forms: the plan on show is of another question. */
    readonly #declared = new Map<object, string>();

    planFault: string | null = null;
    /** The field that was changed where a plan was refused: a parameter, `mechanism`, `way`, `epsilon`, `among`; empty where it was the question. */
    planFaultAt = "";

    /** The key of a second, independent answer; null for the question's first. */
    fresh: string | null = null;
    /** The title of the result wants the focus, after a release made here. */
    wantsFocus = false;

    #parts: Parts | null = null;
    #grid: Fraction[] = [];
    /** The choices since the plan on show was made and asked for: the fields show it. Null where nothing is asked. */
    #wanted: Wanted | null = null;
    #touched = false;
    /** The tokens of the last orders that ended: every widget of a store is told, and one of them counts. */
    readonly #told = new Set<string>();
    /** The last entry's number when the order was sent: a later one tells that it was charged. */
    #before = 0n;

    protected override buttonText(): string {
        return this.point === null ? "" : `${priceText(this.point.price)} ${this.point.key}`;
    }

    override get asof(): string {
        return this.state?.teaching != null ? "" : super.asof;
    }

    protected override tell(): void {
        this.#heedAfter();
        super.tell();
    }

    // --- what the kernel writes ----------------------------------------------------------------------------------

    protected override read(trait: string, value: unknown): void {
        switch (trait) {
            case "pulse":
                return this.beat(value);
            case "sheet":
                return this.#useSheet(readSheet(value));
            case "state":
                return this.adopt(value);
            case "buffers":
                this.#parts = readParts(value, "buffers");
                return;
            case "lesson":
                return this.lessons.read(value);
            case "drawn":
                this.drawn = decode(value);
                return;
            case "result":
                this.result = readResult(this.#whole(value));
        }
    }

    /** The result with the columns that came beside it. */
    #whole(value: unknown): unknown {
        return this.#parts === null ? value : beside(decode(value), this.#parts.parts, this.#parts.id);
    }

    /** Stand on a sheet and a release that were read already, as a report does; nobody will write more. */
    load(sheet: Sheet, result: Result | null): void {
        this.result = result;
        this.#useSheet(sheet);
        this.tell();
    }

    #useSheet(sheet: Sheet): void {
        const before = this.sheet;
        this.sheet = sheet;
        this.#grid = epsilonAxis(sheet).grid.map(exactly);
        if (!sheet.betas.includes(this.beta)) this.beta = sheet.beta;
        if (before !== null && before.question.id !== sheet.question.id) this.fresh = null;
        const kept = ((this.#touched || this.asking) && this.fault === null) || same(this.typed, sheet.now.epsilon);
        this.#resolve(kept ? this.typed : sheet.now.epsilon);
    }

    protected override readState(value: unknown): State {
        return readState(value);
    }

    protected override onState(before: State | null, state: State): void {
        if (state.asof !== null) this.following.seen(state.asof, this.following.fault);
        if (this.purchase.kind !== "idle" || before === null) return;
        const sentence = news(before, state);
        if (sentence !== "") this.say(sentence);
    }

    protected override onNews(heard: Heed): void {
        super.onNews(heard);
        if (heard.kind !== "progress") {
            const { token, number, kind: how } = heard;
            const answer = how === "released" ? heard.result : null;
            const first = !this.#told.has(token);
            this.#told.add(token);
            if (this.#told.size > REMEMBERED) this.#told.delete(this.#told.values().next().value!);
            this.adopt(heard.state);
            const error = how === "released" ? null : heard.error;
            const { purchase } = this;
            this.step({ is: "ended", token, re: null, how, number, charged: this.isCharged(number), error, answer });
            const mine = purchase !== this.purchase && purchase.kind !== "sent";
            if (!mine && first && answer !== null) this.result = answer;
        }
        this.tell();
    }

    /** A kernel that is gone will not plan: what is chosen is what is on show. */
    protected override onHealth(): void {
        if (this.kernel.health === "gone") {
            this.drop("planned");
            this.#wanted = null;
        }
        super.onHealth();
    }

    protected override outcomeIn(state: State, { token, number }: Running): Outcome | null {
        const entry = state.entries.find((item) => item.number === number);
        if (entry === undefined || entry.status === "pending") return null;
        const event = entry.status === "done" ? "released" : entry.status === "cancelled" ? "cancelled" : "failed";
        return { token, re: "", event, number, error: null };
    }

    protected override isCharged(number: string | null): boolean {
        if (number !== null) return number !== "";
        return lastNumber(this.state) > this.#before;
    }

    protected override onPurchase(before: Purchase<Order, Result>): void {
        const { purchase } = this;
        switch (stage(purchase)) {
            case "sent":
                if (before.kind === "waiting") this.#before = lastNumber(this.state);
                return;
            case "running":
                return this.#ran(before);
            case "refused":
                if (purchase.kind === "ended" && purchase.how === "refused" && purchase.cancelled)
                    this.say("Withdrawn. Nothing was charged.", 0);
                return;
            case "released":
                if (purchase.kind === "ended" && purchase.how === "released") this.#released(purchase.end, before);
        }
    }

    /** The progress of the release that was started here; that it is charged is told once. */
    #ran(before: Purchase<Order, Result>): void {
        if (this.purchase.kind !== "running") return;
        const { running, order } = this.purchase;
        const written = running.number !== "";
        if (before.kind !== "running") {
            if (written) this.say(`ε ${order.price.epsilon} is written to the ledger. ${running.text}.`, 0);
            else this.say("Waiting for the ledger. Nothing is charged yet.", 0);
            void this.look(); // it may have ended meanwhile
            return;
        }
        if (before.running.number === "" && written)
            this.say(`${priceText(order.price)} is written to the ledger. ${running.text}.`, 0);
        if (part(before.running) < 50 && part(running) >= 50) this.say(`${running.text}: half done.`, 0);
    }

    /** It is released: show the answer, or ask for it once. */
    #released({ answer, number, token }: End<Result>, before: Purchase<Order, Result>): void {
        if (answer !== null) this.#finish(answer);
        else if (number !== null && before.kind !== "ended") void this.#fetch(number, token);
    }

    // --- what the reader chooses ---------------------------------------------------------------------------------

    moveTo(tick: number): void {
        const grid = this.sheet === null ? [] : epsilonAxis(this.sheet).grid;
        const text = grid[Math.max(0, Math.min(grid.length - 1, tick))];
        if (text !== undefined) this.type(text);
    }

    /** Take the text of the ε box. A text that is no positive number leaves the plan at the last value that made sense. */
    type(text: string): void {
        if (this.locked || this.sheet === null) return;
        this.#touched = true;
        this.seekFault = null;
        if (this.planFaultAt === "epsilon") this.planFault = null;
        this.fresh = null;
        this.step({ is: "dismissed" });
        const value = parse(text);
        if (value === null || compare(value, ZERO) <= 0) {
            const rule = value === null ? "must be a number" : "must be positive";
            this.fault = `ε ${rule}, got ${shown(text.trim()) || "nothing"}. ${EPSILON_HELP}`;
            this.typed = text;
            this.tell();
            return;
        }
        this.#resolve(text.trim());
        if (!this.settled && this.kernel.health !== "gone") this.later("plan", DEBOUNCE, () => void this.plan({}));
        this.#sayPlan();
        this.tell();
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
            this.seekFault = { measure: measure.name, text: `An error must be 0 or more, got ${shown(text.trim()) || "nothing"}. Type a number like 15.` };
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
        this.tell();
    }

    /** The error that was typed is taken back: the plan on show is the one that was asked for. */
    unseek(): void {
        this.seekFault = null;
        this.tell();
    }

    setBeta(beta: string): void {
        if (!this.sheet?.betas.includes(beta)) return;
        this.beta = beta;
        this.#sayPlan();
        this.tell();
    }

    /** Say the plan on show, by what was typed; one that was asked for is said when it comes. */
    #sayPlan(): void {
        const [sheet, point] = [this.sheet, this.point];
        if (sheet === null || point === null) return;
        const gone = this.kernel.health === "gone";
        if (!this.settled && !gone) return this.say(`Asking the kernel for ε ${this.typed}.`);
        const budget = this.state?.budget ?? null;
        const cost = budget === null ? "" : `; would cost ${point.price.epsilon}, ${leaves(budget, point.price, isList(sheet))}`;
        const warning = slowness(point);
        const typed = this.settled ? this.typed : `${this.typed} needs a kernel; at ε ${point.epsilon}`;
        const way = sheet.ways?.find(({ name }) => name === sheet.way);
        this.say(`ε ${typed}${way === undefined ? "" : `, ${way.label}`}: ${phrase(sheet, point, this.beta)}${cost}.${warning === "" ? "" : ` ${warning}`}`);
    }

    /** A plan was asked for and has not come. */
    get asking(): boolean {
        return this.#wanted !== null;
    }

    /** The mechanism that was chosen last, and the value of one of its parameters: on show, or asked for. */
    get mechanism(): string {
        return this.#wanted?.mechanism ?? this.sheet?.mechanism.name ?? "";
    }

    chosenOf(parameter: string): string {
        return (this.#wanted ?? { parameters: Object.fromEntries(this.sheet?.mechanism.parameters ?? []) }).parameters[parameter] ?? "";
    }

    /** The question that was chosen last and is asked for; null where none is but the one on show. */
    get wanted(): Question | null {
        return this.#wanted?.question ?? null;
    }

    /** How the price is shared out among parts: the way that was chosen last, or the one on show; empty where there are no parts. */
    get way(): string {
        return this.#wanted?.way || this.sheet?.way || "";
    }

    /** Of how many look-ups at once the plan tells the error, or was asked to; empty where it tells of none. */
    get among(): string {
        return this.#wanted?.among ?? amongOf(this.sheet);
    }

    /** Ask the kernel for a plan; the latest question wins. */
    async plan(change: Change): Promise<boolean> {
        return (await this.#plan(change)) === true;
    }

    /** As `plan`; null where another was asked for before this one came. */
    async #plan(change: Change): Promise<boolean | null> {
        const sheet = this.sheet;
        if (sheet === null || this.locked) return null;
        this.drop("plan");
        const [merged, typed] = [this.#wanted !== null, this.typed];
        const before: Wanted = this.#wanted ?? {
            question: { id: sheet.question.id },
            mechanism: sheet.mechanism.name,
            parameters: Object.fromEntries(sheet.mechanism.parameters),
            among: amongOf(sheet),
            way: sheet.way ?? "",
        };
        const mechanism = change.mechanism ?? before.mechanism;
        const other = mechanism !== before.mechanism;
        const parameters = { ...(other ? this.#staying(sheet, mechanism, before.parameters) : before.parameters), ...change.parameters };
        const anew = other || change.question !== undefined; // of another question or mechanism another way may be the best
        const { question, among, way } = { ...before, ...(other ? { among: "" } : {}), ...(anew ? { way: "" } : {}), ...change };
        this.#wanted = { question, mechanism, parameters, among, way };
        this.#touched = false;
        this.planFault = null;
        this.planFaultAt = this.#changed(change);
        this.step({ is: "dismissed" });
        const asked = this.latest("planned", "plan", {
            ...(among === "" ? {} : { among }),
            ...(way === "" ? {} : { way }),
            question,
            mechanism,
            parameters: { ...parameters, epsilon: this.fault === null ? this.typed : (this.point?.epsilon ?? "") },
        });
        this.tell();
        const reply = await asked;
        if (reply === null) return null;
        this.#wanted = null;
        // Of several changes any may be at fault: the last one is asked for alone, and told of by itself.
        if (!reply.ok && merged && reply.error.kind !== SUPERSEDED) return this.#plan(change);
        if (reply.ok) {
            this.take("sheet", reply.body["sheet"]);
            this.#sayPlan();
        } else if (reply.error.kind !== SUPERSEDED && (this.planFaultAt !== "epsilon" || typed === this.typed)) {
            this.planFault = reply.error.message; // not of an ε that is chosen no more
        }
        this.tell();
        return reply.ok;
    }

    /** A public fact about the data, such as a cap, stays with a mechanism that takes it, too; some need it. */
    #staying(sheet: Sheet, mechanism: string, parameters: Record<string, string>): Record<string, string> {
        const takes = sheet.mechanisms.find(({ name }) => name === mechanism)?.stays ?? [];
        const stays = sheet.mechanism.choices.filter(({ name, stays }) => stays === true && takes.includes(name) && (parameters[name] ?? "") !== "");
        return Object.fromEntries(stays.map(({ name }) => [name, parameters[name]!]));
    }

    #changed({ question, mechanism, parameters, among, way, at }: Change): string {
        if (at !== undefined) return at;
        if (question !== undefined) return "";
        if (mechanism !== undefined) return "mechanism";
        if (way !== undefined) return "way";
        return Object.keys(parameters ?? {})[0] ?? (among === undefined ? "epsilon" : "among");
    }

    /** Take back what was typed into this field: forget why it was refused, and where that is still asked for, ask for what it was. */
    forgive(field: string): void {
        if (this.planFaultAt === field) this.planFault = null;
        const { sheet } = this;
        const was = sheet?.mechanism.parameters.get(field) ?? "";
        if (sheet === null || this.#wanted === null) return this.tell();
        if (field === "among" && this.#wanted.among !== amongOf(sheet)) void this.plan({ among: amongOf(sheet) });
        else if (field !== "among" && this.chosenOf(field) !== was) void this.plan({ parameters: { [field]: was } });
        else this.tell();
    }

    /** Whether a parameter's field holds what was refused: the plan on show is for what stood there before. */
    get misfit(): boolean {
        return this.planFault !== null && !["", "mechanism", "way", "epsilon", "among"].includes(this.planFaultAt);
    }

    /** Why a plan was refused, for the field that was changed. */
    faultOf(field: string): string | null {
        return this.planFaultAt === field ? this.planFault : null;
    }

    /**
     * Plan a question with the mechanism on show, or where that cannot answer it with the first on offer that can.
     * Where none can, why the first of them cannot is told.
     *
     * records  whether it asks for records, which some mechanisms draw, and no other answers
     */
    async planAny(question: Question, records = false): Promise<boolean> {
        const { sheet } = this;
        if (sheet === null) return false;
        const others = sheet.mechanisms.filter(({ name }) => name !== sheet.mechanism.name);
        const on = sheet.mechanisms.find(({ name }) => name === sheet.mechanism.name) ?? { name: sheet.mechanism.name, records: null };
        const fitting = [on, ...others].filter((one) => (one.records === true) === records);
        let fault: string | null = null;
        for (const { name } of fitting) {
            const planned = await this.#plan({ question, mechanism: name });
            if (planned !== false) return planned === true;
            fault ??= this.planFault;
        }
        this.planFault = fault;
        this.tell();
        return false;
    }

    /** Plan a declared question with the mechanism on show; with another one only where that never answers such. */
    planFitting(question: Question, records: boolean): Promise<boolean> {
        const { sheet } = this;
        const on = sheet?.mechanisms.find(({ name }) => name === sheet.mechanism.name);
        return records || on?.records === true ? this.planAny(question, records) : this.plan({ question });
    }

    /** The words for the declaration that is open; empty where none is. */
    get declaring(): string {
        return [...this.#declared.values()].at(-1) ?? "";
    }

    /** Whether the plan on show is of bins that nobody declared. */
    get suggested(): boolean {
        return this.sheet?.suggested === true;
    }

    /** A form was opened to declare this, or closed (null). The plan on show is not what the form says: it cannot be bought. */
    declares(form: object, what: string | null): void {
        if ((this.#declared.get(form) ?? null) === what) return;
        if (what === null) this.#declared.delete(form);
        else this.#declared.set(form, what);
        this.step({ is: "dismissed" });
        this.tell();
    }

    // --- spending ------------------------------------------------------------------------------------------------

    /** While a plan is on its way the one on show is not what was chosen last: nobody may pay for it by mistake. */
    override get resting(): boolean {
        return super.resting || this.asking;
    }

    /** The order the button stands for now, or null where there is nothing to order. */
    get offer(): Order | null {
        const { sheet, point } = this;
        if (sheet === null || point === null || !this.settled || this.fault !== null || this.misfit || this.declaring !== "" || this.suggested) return null;
        return {
            price: { epsilon: point.price.epsilon, delta: point.price.delta },
            args: {
                ...planOf(sheet, point),
                price: { epsilon: point.price.epsilon, delta: point.price.delta },
                key: this.fresh,
            },
        };
    }

    /** The meaning of the button now, in a text: which plan, at what price, under which key. Empty where for nothing. */
    get means(): string {
        return this.offer === null ? "" : `${this.buttonText()} ${this.fresh ?? ""}`;
    }

    protected override stands(order: Order): boolean {
        return JSON.stringify(order) === JSON.stringify(this.offer);
    }

    /** Whether nothing here is private, released or paid for. */
    get teaching(): boolean {
        return this.ofLesson || this.state?.teaching != null;
    }

    /** The draws that a lesson would make now, or null where there is nothing to draw. */
    get drawable(): Record<string, unknown> | null {
        const { sheet, point } = this;
        return this.offer === null || this.asking || this.state?.teaching == null ? null : planOf(sheet!, point!);
    }

    // --- a second answer -----------------------------------------------------------------------------------------

    /** The plan on show and the answer that it would be combined with, in one text; empty where there is none of both. */
    get #pair(): string {
        const { point, last } = this;
        if (point === null || last === null || this.state === null || !this.settled || this.fault !== null) return "";
        return `${point.key} ${last.number}`;
    }

    /** Whether two answers combine rests on the question, the mechanism and the first answer, whatever ε is. */
    get #subject(): string {
        const { sheet, last } = this;
        return sheet === null || last === null ? "" : [sheet.question.id, sheet.mechanism.name, last.number].join(" ");
    }

    /** The error of one bin once the plan on show was paid for and combined; null where nobody has said it. */
    get together(): After["together"] {
        return this.#after !== null && this.#after.pair === this.#pair ? this.#after.found : null;
    }

    /** Whether the kernel has said that an answer of this kind combines with the last one. */
    get combines(): boolean {
        return this.#after !== null && this.#after.found !== null && this.#after.subject === this.#subject;
    }

    /**
     * Ask about another pair once it has stayed on show for a moment. An answer that somebody else paid for is no reason
     * to ask: whoever only follows keeps no kernel busy.
     */
    #heedAfter(): void {
        const { point, state } = this;
        if (point === null || state === null) return;
        const pair = this.#pair;
        const elsewhere = point.key === this.#heeded && !this.#ordered;
        this.#heeded = point.key;
        if (pair === this.#pairAsked || (pair !== "" && elsewhere)) return;
        if (pair !== "") this.#ordered = false;
        this.#pairAsked = pair;
        this.drop("after");
        if (pair !== "") this.later("after", STILL, () => void this.#askAfter(pair));
    }

    async #askAfter(pair: string): Promise<void> {
        const { sheet, point } = this;
        if (sheet === null || point === null) return;
        if (this.kernel.health === "gone") {
            this.#anew(); // once it is back, with whatever is told next
            return;
        }
        const subject = this.#subject;
        const reply = await this.latest("after", "after", planOf(sheet, point));
        if (reply === null || pair !== this.#pairAsked) return;
        if (reply.ok) {
            this.guard(() => {
                const { key, together: found } = readAfter(reply.body, "after");
                if (key === point.key) this.#after = { pair, subject, found };
            });
        } else if (reply.error.kind === SUPERSEDED || reply.error.kind === LOST) this.#anew();
        this.tell();
    }

    #anew(): void {
        this.#pairAsked = "";
        this.#heeded = null;
    }

    // --- ordering ------------------------------------------------------------------------------------------------

    /** The main button: order at once up to a quarter of what is left, else ask once more on the same spot. */
    override press(): void {
        this.#ordered = true;
        const { offer } = this;
        if (offer === null || this.resting || this.locked || this.purchase.kind === "confirm") return;
        void this.order(offer, this.#large(offer.price));
    }

    #large(price: Price): boolean {
        const budget = this.state?.budget;
        if (budget == null) return false;
        const more = (cost: string, left: string): boolean => compare(times(exactly(cost), 4n), exactly(left)) > 0;
        return more(price.epsilon, budget.epsilon.left) || more(price.delta, budget.delta.left);
    }

    protected override argumentsOf(order: Order): Record<string, unknown> {
        return order.args;
    }

    protected override onReply(id: string, body: Record<string, unknown>): void {
        const { token, number, result, state } = body;
        if (result !== undefined) {
            if (state !== undefined) this.adopt(state);
            const answer = readResult(result);
            const end = { token: "", re: id, charged: true, number: answer.number, error: null, answer };
            this.step({ is: "ended", how: "released", ...end });
        } else if (typeof token === "string") {
            const of = this.sheet?.question.bins || "1";
            const text = `Drawing ${this.#size()}`;
            this.step({
                is: "running",
                running: { token, number: String(number), done: "0", of, text, re: id, waiting: null },
            });
        }
    }

    /** How much an answer is about, in words. */
    #size(): string {
        const sheet = this.sheet;
        if (sheet !== null && isList(sheet)) return `at most ${shown(sheet.places!)} items`;
        return bins(sheet?.question.bins ?? "");
    }

    #finish(result: Result): void {
        this.result = result;
        this.step({ is: "shown" });
        this.fresh = null;
        this.wantsFocus = this.waited;
        const left = this.state?.budget?.epsilon.left;
        const more = this.state?.budget?.rho == null ? "left" : "at most in one more answer";
        const balance = left === undefined ? "" : `, ${left} ${more}`;
        this.say(`Released, number ${result.number}, paid ${result.price.epsilon}${balance}.`, 0);
    }

    /** Draw further records from the answer on show, free. */
    async draw(count: string): Promise<Reply> {
        const reply = await this.kernel.ask("draw", { number: this.result?.number ?? "", count });
        if (reply.ok) this.take("drawn", reply.body["drawn"]);
        return reply;
    }

    show(number: string): void {
        void this.#fetch(number, null, hand());
    }

    /** Ask for a stored answer; `token` where it is the one that was ordered here. */
    async #fetch(number: string, token: string | null, before = -1): Promise<void> {
        const reply = await (token === null ? this.latest("show", "show", { number }) : this.kernel.ask("show", { number }));
        if (reply === null) return;
        const { purchase } = this;
        if (reply.ok) {
            this.guard(() => {
                const answer = readResult(reply.body["result"]);
                if (token !== null)
                    this.step({ is: "ended", token, re: null, how: "released", charged: true, number, error: null, answer });
                if (this.purchase === purchase) [this.result, this.wantsFocus] = [answer, hand() === before];
            });
        } else {
            [this.planFault, this.planFaultAt] = [reply.error.message, ""];
            if (token !== null) this.step({ is: "shown" }); // it is paid and stored; the history shows it
        }
        this.tell();
    }

    /** Plan a second, independent answer to a question that has one: another key, paid again. */
    again(): void {
        this.fresh = freshKey();
        this.rest();
        this.keep();
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

/** The reader's changes to a plan. */
export interface Change {
    question?: Question;
    mechanism?: string;
    parameters?: Record<string, string>;
    /** Of how many look-ups at once the plan tells the error. */
    among?: string;
    /** How the price is shared out among parts; empty for the way that errs least. */
    way?: string;
    /** The field that it was typed in, where that is none of these. */
    at?: string;
}

/** A plan that is asked for: what stood there, and all that was changed since. */
type Wanted = Required<Omit<Change, "at">>;

/** Of how many look-ups at once a plan tells the error; empty where it tells of none. */
export const amongOf = (sheet: Sheet | null): string => sheet?.measures.find((one) => one.many !== null)?.many ?? "";

/** The part of a plan that the kernel is sent. */
const planOf = (sheet: Sheet, point: Point): Record<string, unknown> => ({
    question: { id: sheet.question.id },
    mechanism: sheet.mechanism.name,
    parameters: { ...Object.fromEntries(sheet.mechanism.parameters), epsilon: point.epsilon },
    ...(sheet.way === null ? {} : { way: sheet.way }),
});

const lastNumber = (state: State | null): bigint =>
    (state?.entries ?? []).reduce((last, { number }) => (BigInt(number) > last ? BigInt(number) : last), 0n);

/** The progress of a draw, in percent, to half of one. */
const part = ({ done, of }: Running): number => Number((200n * BigInt(done)) / (BigInt(of) || 1n)) / 2;

// --- the stores of this page ---------------------------------------------------------------------------------------

interface Shared {
    store: SessionStore;
    users: number;
}

/** Every widget brings its own copy of this module; the stores are shared through the page. */
const SHARED = Symbol.for("dpviz.desks.1");

function sharedStores(): Map<string, Shared> {
    const page = globalThis as unknown as { [SHARED]?: Map<string, Shared> };
    return (page[SHARED] ??= new Map<string, Shared>());
}

export function acquire(id: string): SessionStore {
    const shared = sharedStores().get(id) ?? { store: new SessionStore(), users: 0 };
    shared.users += 1;
    sharedStores().set(id, shared);
    return shared.store;
}

export function leave(id: string): void {
    const shared = sharedStores().get(id);
    if (shared === undefined) return;
    shared.users -= 1;
    if (shared.users > 0) return;
    shared.store.close();
    sharedStores().delete(id);
}
