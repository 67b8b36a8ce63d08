/**
 * The store of a view that buys: a purchase, the state of the kernel that tells how it goes, and whether that is current.
 *
 * While an order is on its way and nothing is heard of it, the kernel is asked for its state, which tells of every order
 * by the id of its message: so the page learns how it ended, whichever message was lost.
 */

import { Following } from "./following";
import { hand } from "../dom/hand";
import { LOST, type Channel, type Heed } from "../protocol/kernel";
import { isOlder, type Outcome, type Refusal, type Reply, type Running } from "../protocol/protocol";
import { advance, IDLE, isOpen, type Message, type Purchase } from "./purchase";
import { ViewStore } from "./view_store";

/** A press this soon after the button changed may have been meant for what it said before. */
const REST = 400;
/** An order of which nothing was heard for so long is asked after. */
const SILENCE = 2_000;
const PATIENCE = 10_000;

/** The part of every state of a kernel that tells of its orders. */
export interface Orders {
    readonly kernel: string;
    readonly serial: string | null;
    readonly running: Running | null;
    readonly outcomes: Outcome[] | null;
}

export abstract class PurchaseStore<S extends Orders, O, A> extends ViewStore {
    readonly following: Following;

    state: S | null = null;
    purchase: Purchase<O, A> = IDLE;
    /** The order of another view that a person is about to cancel here: its token. */
    doubt: string | null = null;

    #button = "";
    #restUntil = 0;
    #heardAt = 0;
    #lookedAt = 0;
    /** The reader's choices when the order was given. */
    #hand = 0;

    constructor() {
        super();
        this.following = new Following(
            () => this.tell(),
            () => {
                if (this.kernel.health !== "gone") void this.kernel.ask("status", {}).then((reply) => this.onStatus(reply));
            },
        );
    }

    protected abstract readState(value: unknown): S;
    /** A later state than the one before was taken in. */
    protected abstract onState(before: S | null, state: S): void;
    /** The purchase went on. */
    protected abstract onPurchase(before: Purchase<O, A>): void;
    /** The effect of the button, in a text that changes with it. */
    protected abstract buttonText(): string;
    /** Whether a press would give this order again. */
    protected abstract stands(order: O): boolean;
    /** The message to the kernel with an order. */
    protected abstract argumentsOf(order: O): Record<string, unknown>;
    /** The kernel's reply to the order with this id. */
    protected abstract onReply(id: string, body: Record<string, unknown>): void;
    /** Whether an order that ended with this entry's number was charged. */
    protected abstract isCharged(number: string | null): boolean;
    /** The outcome of a running order where a state tells no outcomes. */
    protected abstract outcomeIn(state: S, running: Running): Outcome | null;
    /** Press the button. */
    abstract press(): void;

    /** How long the news of an order may take after a state that tells of it. */
    protected readonly settleAfter: number = 0;
    protected readonly lost: string = "No answer came.";

    override attach(channel: Channel): void {
        super.attach(channel);
        this.following.attach();
    }

    override detach(channel: Channel): void {
        super.detach(channel);
        this.following.detach();
    }

    override close(): void {
        super.close();
        this.following.close();
    }

    /** When what is on show was true, by the reader's clock; empty where it is true now. */
    get asof(): string {
        return this.following.asof(this.kernel.health === "gone");
    }

    /** The choices are locked to those that were ordered while an order is on its way. */
    get locked(): boolean {
        return isOpen(this.purchase);
    }

    /** The effect of the button changed a moment ago: a press now may have been meant for something else. */
    get resting(): boolean {
        return Date.now() < this.#restUntil;
    }

    /** Whether the reader has waited for what was ordered here, and done nothing else. */
    protected get waited(): boolean {
        return hand() === this.#hand;
    }

    protected rest(): void {
        this.#restUntil = Date.now() + REST;
        this.later("rest", REST + 5, () => this.tell());
    }

    protected override tell(): void {
        const button = this.buttonText();
        if (button !== this.#button) {
            if (this.#button !== "") this.rest();
            this.#button = button;
        }
        super.tell();
    }

    // --- what is heard -------------------------------------------------------------------------------------------

    /** A pulse of the kernel. */
    protected beat(value: unknown): void {
        if (this.following.take(value)) this.kernel.alive();
    }

    protected override onStatus(reply: Reply | null): void {
        if (reply?.ok)
            this.guard(() => {
                this.adopt(reply.body["state"]);
                this.following.seen("");
            });
        this.tell();
    }

    protected override onNews(news: Heed): void {
        this.#heardAt = Date.now();
        if (news.kind !== "progress" || this.state === null) return;
        if (this.purchase.kind === "running" && this.purchase.running.token === news.running.token)
            this.step({ is: "running", running: news.running });
        else if (this.purchase.kind !== "sent") this.state = { ...this.state, running: news.running };
    }

    /** Take in a state. One that was read before the one on show says nothing new. */
    protected adopt(value: unknown): void {
        const state = this.readState(value);
        this.#heardAt = Date.now();
        const before = this.state;
        if (!isOlder(state, before)) {
            this.state = state;
            if (state.running?.token !== this.doubt) this.doubt = null;
            // The end of a draw elsewhere leaves the button where its Cancel was: a press now was meant for that.
            if (before?.running != null && state.running === null) this.rest();
            this.onState(before, state);
            if (before !== null && before.kernel !== state.kernel) return;
            if (this.purchase.kind === "running" && state.running?.token === this.purchase.running.token)
                this.step({ is: "running", running: state.running });
        }
        if (this.#toldOf() === null) return;
        if (this.settleAfter === 0) this.#settle();
        else this.later("settle", this.settleAfter, () => this.#settle());
    }

    /** The state's word on the order that is on its way: how it ended, or that it runs. */
    #toldOf(): Message<O, A> | null {
        const { purchase, state } = this;
        if (state === null || (purchase.kind !== "sent" && purchase.kind !== "running")) return null;
        const own = ({ token, re }: { token: string; re: string | null }): boolean =>
            purchase.kind === "sent" ? re === purchase.id : token === purchase.running.token;
        const outcome =
            state.outcomes?.findLast(own) ??
            (purchase.kind === "running" && state.running === null ? this.outcomeIn(state, purchase.running) : null);
        if (outcome !== null) {
            const { event: how, ...end } = outcome;
            return { is: "ended", ...end, how, charged: this.isCharged(end.number), answer: null };
        }
        if (purchase.kind === "running" || state.running === null || !own(state.running)) return null;
        return { is: "running", running: state.running };
    }

    /** The news itself did not come: go by what the state tells. */
    #settle(): void {
        const told = this.#toldOf();
        if (told === null) return;
        this.step(told);
        this.tell();
    }

    /** The state of the kernel, asked for because nothing was heard. */
    protected async look(): Promise<void> {
        this.#lookedAt = Date.now();
        const reply = await this.kernel.ask("status", {});
        this.#heardAt = Date.now();
        this.onStatus(reply);
    }

    /** While an order is on its way and silent, ask the kernel for its state. */
    #follow(): void {
        this.later("watch", SILENCE, () => {
            if (this.purchase.kind !== "running" && this.purchase.kind !== "sent") return;
            const now = Date.now();
            const waits = this.#lookedAt > this.#heardAt && now - this.#lookedAt < PATIENCE;
            if (now - this.#heardAt >= SILENCE && !waits && this.kernel.health !== "gone") void this.look();
            this.#follow();
        });
    }

    /** The reply to an order is lost: find the order in the state, by its id. */
    async #trace(id: string, tries = 3): Promise<void> {
        const unknown = (): boolean => this.purchase.kind === "sent" && this.purchase.id === id;
        if (unknown()) await this.look();
        if (unknown()) this.#settle();
        if (!unknown()) return;
        if (tries > 1) this.later("trace", SILENCE, () => void this.#trace(id, tries - 1));
        else this.turn({ is: "declined", id, error: refusal(this.lost) });
    }

    // --- buying --------------------------------------------------------------------------------------------------

    /** Tell the purchase something, and do what follows from it. */
    protected step(message: Message<O, A>): void {
        const before = this.purchase;
        this.purchase = advance(before, message);
        if (this.purchase === before) return;
        if (before.kind === "sent" && this.purchase.kind === "running") {
            if (before.withdrawn) this.cancel(this.purchase.running.token);
            this.#follow();
        }
        this.onPurchase(before);
    }

    /** As `step`, and drawn. */
    protected turn(message: Message<O, A>): void {
        this.step(message);
        this.tell();
    }

    /** Order it, or ask for a confirmation first. */
    protected async order(order: O, confirm = false): Promise<void> {
        if (confirm) this.rest();
        this.#hand = hand();
        this.turn({ is: "pressed", order, confirm });
        await this.#begin();
    }

    confirm(): void {
        if (this.purchase.kind !== "confirm" || this.resting) return;
        this.#hand = hand();
        this.turn({ is: "confirmed" });
        void this.#begin();
    }

    async #begin(): Promise<void> {
        const waiting = this.purchase;
        if (waiting.kind !== "waiting") return;
        const status = await this.kernel.ask("status", {});
        if (this.purchase !== waiting) return;
        if (!status.ok) return this.turn({ is: "unheard", error: status.error });
        this.onStatus(status);
        const { id, reply: answer } = this.kernel.order("release", this.argumentsOf(waiting.order));
        this.#heardAt = Date.now();
        this.turn({ is: "sent", id });
        this.#follow();
        const reply = await answer;
        if (reply.ok) this.guard(() => this.onReply(id, reply.body));
        else if (reply.error.kind === LOST) void this.#trace(id);
        else this.step({ is: "declined", id, error: reply.error });
        this.tell();
    }

    /** Go back to planning: from the second question, or from a notice. */
    keep(): void {
        this.turn({ is: "dismissed" });
    }

    /** Take back an order: one the kernel has not been sent for nothing, one it has as soon as it names it. */
    withdraw(): void {
        this.turn({ is: "withdrawn" });
    }

    /** Order the same again, now that the ledger may answer, and nothing else. A large price is asked about once more. */
    retry(): void {
        if (this.purchase.kind !== "ended" || this.purchase.how !== "refused" || this.resting) return;
        const { order } = this.purchase;
        this.step({ is: "dismissed" });
        if (this.stands(order)) this.press();
        this.tell();
    }

    /** Whether to cancel what another view ordered: asked before it is done. */
    wonder(token: string | null): void {
        this.doubt = token;
        this.tell();
    }

    cancel(token: string): void {
        this.doubt = null;
        void this.kernel.ask("cancel", { token });
    }
}

export const refusal = (message: string): Refusal => ({
    kind: LOST,
    message,
    value: null,
    rule: null,
    next_step: null,
    fix: null,
});

/** A key that asks for another, independent answer. */
export function freshKey(): string {
    const bytes = crypto.getRandomValues(new Uint8Array(4));
    return `again-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
