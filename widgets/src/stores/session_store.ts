/**
 * One store per session model: what the kernel wrote, and where a release stands. The plan on show is in `plan_store.ts`.
 *
 * The widgets of one store on one page share it, so a slider in one redraws the others without the kernel. It adds and
 * compares exact numbers and chooses among points it was sent; it computes no price and no error.
 */

import { hand } from "../dom/hand";
import { compare, exactly, times } from "../numbers/exact";
import { beside, readParts, type Parts } from "../protocol/columns";
import type { Heed } from "../protocol/kernel";
import { decode, readResult, readSheet, readState, type Entry, type Outcome, type Price, type Reply, type Result, type Running, type Sheet, type State } from "../protocol/protocol";
import { isList } from "../wording/measures";
import { bins, priceText, shown } from "../wording/words";
import type { Advising, Asking } from "./advice";
import { news } from "./following";
import { Lessons } from "./lesson_draws";
import { planOf, type Order, type Paid } from "./plan";
import { PlanStore } from "./plan_store";
import { stage, type End, type Purchase } from "./purchase";
import { freshKey } from "./purchase_store";
import { SecondAnswer } from "./second_answer";

/** The news of a release brings the answer: it is waited for so long before the answer is asked for. */
const SETTLE = 800;
const REMEMBERED = 16;

export class SessionStore extends PlanStore {
    protected override readonly settleAfter = SETTLE;
    protected override readonly lost = "No answer came to this order. The history says whether it was charged.";

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
    /** The gain of a second, independent answer to the question on show. */
    readonly second = new SecondAnswer(this, {
        ask: (plan) => this.latest("after", "after", plan),
        later: (delay, act) => this.later("after", delay, act),
        guard: (act) => this.guard(act),
        changed: () => this.tell(),
    });
    #advising: Advising | null = null;

    /** The title of the result wants the focus, after a release made here. */
    wantsFocus = false;

    #parts: Parts | null = null;
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
        this.second.heed();
        this.#advising?.heed();
        super.tell();
    }

    /** The advice beside the plan on show, made for the first part of a page that shows any: a report carries none of it. */
    advising(make: (plan: SessionStore, asking: Asking) => Advising): Advising {
        this.#advising ??= make(this, {
            ask: (plan) => this.latest("advice", "advice", plan),
            later: (delay, act) => this.later("advice", delay, act),
            guard: (act) => this.guard(act),
            changed: () => this.tell(),
        });
        return this.#advising;
    }

    // --- what the kernel writes ----------------------------------------------------------------------------------

    protected override read(trait: string, value: unknown): void {
        switch (trait) {
            case "pulse":
                return this.beat(value);
            case "sheet":
                return this.useSheet(readSheet(value));
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
        this.useSheet(sheet);
        this.tell();
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
            else this.say(/approval/.test(running.waiting ?? "") ? "Waiting for approval. Nothing is charged yet." : "Waiting for the ledger. Nothing is charged yet.", 0);
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

    // --- ordering ------------------------------------------------------------------------------------------------

    /** The main button: order at once up to a quarter of what is left, else ask once more on the same spot. */
    override press(): void {
        this.second.ordered = true;
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

const lastNumber = (state: State | null): bigint =>
    (state?.entries ?? []).reduce((last, { number }) => (BigInt(number) > last ? BigInt(number) : last), 0n);

/** The progress of a draw, in percent, to half of one. */
const part = ({ done, of }: Running): number => Number((200n * BigInt(done)) / (BigInt(of) || 1n)) / 2;
