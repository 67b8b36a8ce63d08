/**
 * One purchase, from the press of a button to its end: a pure function of where it stands and what is heard of it.
 *
 * The messages about a purchase may come in any order, and any of them may be lost. So every message names the order,
 * by the id of the message that sent it or by the token that the kernel gave it, and what is about another order
 * changes nothing. The holder of a purchase compares it before and after a message to know what to do about it.
 */

import type { Refusal, Running } from "../protocol/protocol";

export type Ending = "released" | "cancelled" | "failed";

/** The end of an order, as far as it is known. */
export interface End<A> {
    token: string;
    /** The id of the message that ordered it; null where only the token is told. */
    re: string | null;
    how: Ending;
    /** Whether anything was charged. */
    charged: boolean;
    /** The number of the entry; null where nobody said it. */
    number: string | null;
    error: Refusal | null;
    /** The answer; null where it has to be asked for. */
    answer: A | null;
}

export interface Sent<O, A> {
    kind: "sent";
    order: O;
    id: string;
    /** Taken back before the kernel named it: it is to be cancelled as soon as it has a token. */
    withdrawn: boolean;
    /** Ends that were told of tokens that this page does not know yet: one of them may be this order's. */
    early: readonly End<A>[];
}

export interface Underway<O> {
    kind: "running";
    order: O;
    running: Running;
}

export type Purchase<O, A> =
    | { kind: "idle" }
    | { kind: "confirm"; order: O }
    /** Pressed, and the kernel asked whether it listens. Nothing is sent yet, so it can be withdrawn for nothing. */
    | { kind: "waiting"; order: O }
    | Sent<O, A>
    | Underway<O>
    /** Released; where the answer is null it has to be asked for. `from` is what stays on show until it is here. */
    | { kind: "ended"; how: "released"; order: O; from: Sent<O, A> | Underway<O>; end: End<A> }
    | { kind: "ended"; how: "cancelled" | "failed"; order: O; error: Refusal | null }
    /** Nothing was charged. `sent` is false where the kernel was only asked whether it listens. */
    | { kind: "ended"; how: "refused"; order: O; error: Refusal | null; cancelled: boolean; sent: boolean };

export type Message<O, A> =
    /** The button was pressed. `confirm`: ask once more on the same spot first. */
    | { is: "pressed"; order: O; confirm: boolean }
    | { is: "confirmed" }
    /** Go back to where a button can be pressed. */
    | { is: "dismissed" }
    | { is: "withdrawn" }
    /** The kernel does not listen, or says that it cannot. */
    | { is: "unheard"; error: Refusal }
    | { is: "sent"; id: string }
    | { is: "declined"; id: string; error: Refusal }
    /** It runs, by a reply to the order, or by a state. */
    | { is: "running"; running: Running }
    | ({ is: "ended" } & End<A>)
    /** The answer of a release is on show, or cannot be had: the purchase is over. */
    | { is: "shown" };

export const IDLE = { kind: "idle" } as const;

/** Where a purchase stands, in one word. */
export const stage = <O, A>(purchase: Purchase<O, A>): Exclude<Purchase<O, A>["kind"], "ended"> | Ending | "refused" =>
    purchase.kind === "ended" ? purchase.how : purchase.kind;

/** Whether an order is on its way, so that no other can be given and nothing of it be changed. */
export const isOpen = <O, A>(purchase: Purchase<O, A>): boolean =>
    ["waiting", "sent", "running", "released"].includes(stage(purchase));

/** How many ends of other tokens are kept while an order has no name. */
const REMEMBERED = 16;

/** The purchase after a message; the same object where the message changes nothing. */
export function advance<O, A>(purchase: Purchase<O, A>, message: Message<O, A>): Purchase<O, A> {
    switch (message.is) {
        case "pressed":
            if (purchase.kind === "confirm" || isOpen(purchase)) return purchase;
            return { kind: message.confirm ? "confirm" : "waiting", order: message.order };
        case "confirmed":
            return purchase.kind === "confirm" ? { kind: "waiting", order: purchase.order } : purchase;
        case "dismissed":
            return purchase.kind === "idle" || isOpen(purchase) ? purchase : IDLE;
        case "withdrawn":
            if (purchase.kind === "waiting") return IDLE;
            return purchase.kind === "sent" && !purchase.withdrawn ? { ...purchase, withdrawn: true } : purchase;
        case "unheard":
            return purchase.kind === "waiting" ? refused(purchase.order, message.error, false) : purchase;
        case "sent":
            if (purchase.kind !== "waiting") return purchase;
            return { kind: "sent", order: purchase.order, id: message.id, withdrawn: false, early: [] };
        case "declined":
            if (purchase.kind !== "sent" || purchase.id !== message.id) return purchase;
            return refused(purchase.order, message.error, true);
        case "running":
            return runs(purchase, message.running);
        case "ended":
            return ends(purchase, message);
        case "shown":
            return stage(purchase) === "released" ? IDLE : purchase;
    }
}

function runs<O, A>(purchase: Purchase<O, A>, running: Running): Purchase<O, A> {
    if (purchase.kind === "running" && purchase.running.token === running.token) return { ...purchase, running };
    if (purchase.kind !== "sent" || running.re !== purchase.id) return purchase;
    const early = purchase.early.find(({ token }) => token === running.token);
    return early === undefined ? { kind: "running", order: purchase.order, running } : over(purchase, early);
}

function ends<O, A>(purchase: Purchase<O, A>, { is: _, ...end }: Message<O, A> & { is: "ended" }): Purchase<O, A> {
    switch (purchase.kind) {
        case "running":
            return isOf(purchase.running, end) ? over(purchase, end) : purchase;
        case "sent":
            if (end.re !== null) return end.re === purchase.id ? over(purchase, end) : purchase;
            if (purchase.early.some(({ token }) => token === end.token)) return purchase;
            return { ...purchase, early: [...purchase.early, end].slice(-REMEMBERED) };
        case "ended": // only the answer may still be missing
            if (purchase.how !== "released" || purchase.end.answer !== null || end.answer === null) return purchase;
            return isOf(purchase.end, end) ? { ...purchase, end } : purchase;
        default:
            return purchase;
    }
}

/** Whether an end is told of what has this token, or was ordered by this message. */
const isOf = (order: { token: string; re: string | null }, end: { token: string; re: string | null }): boolean =>
    order.token === end.token || (order.re !== null && order.re === end.re);

/** After its charge an order that did not come is spent, before it nothing happened. */
function over<O, A>(from: Sent<O, A> | Underway<O>, end: End<A>): Purchase<O, A> {
    const { order } = from;
    if (end.how === "released") return { kind: "ended", how: "released", order, from, end };
    if (!end.charged) return refused(order, end.error, true, end.how === "cancelled");
    return { kind: "ended", how: end.how, order, error: end.error };
}

const refused = <O, A>(order: O, error: Refusal | null, sent: boolean, cancelled = false): Purchase<O, A> => ({
    kind: "ended",
    how: "refused",
    order,
    error,
    cancelled,
    sent,
});
