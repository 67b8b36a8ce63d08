/**
 * The words and offers of the release pane, decided in one place from the store alone.
 *
 * Every state of it has one entry here, so that the wording can be read, and tested, without a page.
 */

import { compare, equal, exactly, leftAfter, ZERO } from "../numbers/exact";
import { isList } from "../wording/measures";
import type { Entry, Price, Refusal, Running } from "../protocol/protocol";
import { refusal } from "../stores/purchase_store";
import type { Paid } from "../stores/plan";
import type { SessionStore } from "../stores/session_store";
import { capital, deltaAfter, leaves, priceText } from "../wording/words";

export type Act =
    | { do: "press" | "confirm" | "keep" | "withdraw" | "again" | "retry" | "trust" }
    | { do: "cancel" | "wonder"; token: string }
    | { do: "show"; number: string }
    | { do: "set"; epsilon: string };

export interface Button {
    /** One text, or what it does and what it costs. */
    label: string | [string, string];
    look: "pay" | "free" | "plain" | "link" | "off";
    act: Act | null;
    /** The safe answer: it takes the focus where the pane changes under it. */
    safe?: boolean;
    /** The effect, where that is more, or less, than the label says. */
    means?: string;
}

/** The effect of a press of a button. A press that began on another meaning is none (`root.ts`). */
export const meaningOf = ({ act, label, means }: Button): string => JSON.stringify([act, means ?? label]);

export interface Panel {
    kind: string;
    notice?: { tone: "error" | "warning"; strong: string; rest?: string };
    /** A sentence in parts; the ones in lists are bold. */
    text?: (string | [string])[];
    progress?: { text: string; share: number };
    beside?: string;
    buttons: Button[];
    note?: string;
    /** An earlier release of this question, free to look at. */
    stored?: Paid;
    /** The field that it is about. */
    field?: "epsilon" | "delta";
    /** The question before it is done: a dialog of this name, described by `text`. */
    asks?: string;
}

const button = (look: Button["look"], label: Button["label"], act: Act | null, safe = false): Button => ({
    look,
    label,
    act,
    ...(safe ? { safe } : {}),
});
const keep = (): Button => button("plain", "Keep planning", { do: "keep" }, true);

export function panelOf(store: SessionStore): Panel {
    return spending(store) ?? resting(store);
}

/** The states of a release that is being confirmed, is on its way, or ended other than well. */
function spending(store: SessionStore): Panel | null {
    const { purchase, state } = store;
    const left = state?.budget?.epsilon.left ?? "0";
    const beside =
        state?.budget?.rho == null
            ? ` of the ${left} that is left.`
            : `, ${leaves(state.budget, { epsilon: left, delta: "0" }, store.sheet !== null && isList(store.sheet))}.`;
    switch (purchase.kind) {
        case "confirm":
            if (store.kernel.health === "gone") return { ...gone(store), buttons: [off("Release needs a kernel"), keep()] };
            return {
                kind: "confirm",
                asks: "Confirm the payment",
                text: ["This uses ", [purchase.order.price.epsilon], beside],
                buttons: [button("pay", `Yes, pay ${priceText(purchase.order.price)}`, { do: "confirm" }), keep()],
            };
        case "waiting":
            if (store.kernel.health === "gone")
                return { ...gone(store), buttons: [off("Release needs a kernel"), withdraw()] };
            if (store.following.fault !== "")
                return {
                    kind: "waiting",
                    buttons: [off("Waiting for the ledger"), withdraw()],
                    note: store.following.fault,
                };
            return { kind: "waiting", buttons: [off("Waiting for the kernel"), withdraw()] };
        case "sent":
        case "running":
            return underway(store, purchase);
        case "ended":
            return ended(store, purchase);
        case "idle":
            if (!state?.running || store.kernel.health === "gone") return null;
            return elsewhere(store, state.running);
    }
}

/** An order that the kernel was sent. */
function underway(store: SessionStore, purchase: Extract<SessionStore["purchase"], { kind: "sent" | "running" }>): Panel {
    const { price } = purchase.order;
    if (store.kernel.health === "gone") return silent(price);
    if (purchase.kind === "running") {
        const { running: run } = purchase;
        return run.number === "" ? unwritten(run) : running(run, price);
    }
    if (purchase.withdrawn) {
        const note = "Withdrawing; the page will say what came of it.";
        return { kind: "sent", buttons: [off("Waiting for the kernel")], note };
    }
    return {
        kind: "sent",
        buttons: [off("Waiting for the kernel"), unpaid({ do: "withdraw" })],
        note: `Request sent; waiting for the kernel. ${EITHER}`,
    };
}

function ended(store: SessionStore, purchase: Extract<SessionStore["purchase"], { kind: "ended" }>): Panel {
    const spent = `${priceText(purchase.order.price)} is spent and no answer was shown.`;
    switch (purchase.how) {
        case "released": // its answer is on its way
            return underway(store, purchase.from);
        case "cancelled":
            return {
                kind: "cancelled",
                notice: {
                    tone: "warning",
                    strong: `Cancelled. ${spent}`,
                    rest: "The charge is written before the draw, so that a stop can never give a free look.",
                },
                buttons: [keep()],
            };
        case "failed":
            return {
                kind: "failed",
                notice: {
                    tone: "error",
                    strong: sentence(purchase.error?.message ?? "The draw did not finish."),
                    rest: `The draw came after the charge: ${spent}`,
                },
                buttons: [keep()],
            };
        case "refused":
            return refused(
                purchase.error ?? refusal("Withdrawn before anything was charged."),
                purchase.sent,
                store.kernel.health !== "gone",
            );
    }
}

/** A release that was started here and whose charge waits: for whoever holds the ledger, or for its server. */
function unwritten(run: Running): Panel {
    return {
        kind: "unwritten",
        buttons: [off(/approval/.test(run.waiting ?? "") ? "Waiting for approval" : "Waiting for the ledger"), unpaid({ do: "cancel", token: run.token })],
        note: `${sentence(run.waiting || "Nothing is charged yet")} ${EITHER}`,
    };
}

/** A release that another view of this session started, in a tab, in a cell: cancelling it is asked about first. */
function elsewhere(store: SessionStore, run: Running): Panel {
    const entry = store.state!.entries.find(({ number }) => number === run.number);
    const stays =
        run.number === ""
            ? "Nothing is charged yet."
            : entry === undefined || entry.status === "open"
              ? "What it was charged stays spent."
              : `${priceText(entry.price)} stays spent.`;
    const share = Math.min(1, Number(run.done) / (Number(run.of) || 1));
    const shown = { progress: { text: run.text, share } };
    if (store.doubt === run.token) {
        return {
            kind: "doubt",
            asks: "Confirm cancelling",
            ...shown,
            text: [["Cancel the release that another view started?"], ` ${stays}`],
            buttons: [
                button("plain", "Yes, cancel it", { do: "cancel", token: run.token }),
                button("plain", "Keep it running", { do: "trust" }, true),
            ],
        };
    }
    return {
        kind: "elsewhere-running",
        ...shown,
        beside: `${run.number === "" && run.waiting ? `${sentence(run.waiting)} ` : ""}Another view of this session started it.`,
        buttons: [button("plain", "Cancel…", { do: "wonder", token: run.token }, true)],
    };
}

function running(run: Running, price: Price): Panel {
    const of = Number(run.of) || 1;
    return {
        kind: "running",
        progress: { text: run.text, share: Math.min(1, Number(run.done) / of) },
        beside: `${priceText(price)} is written to the ledger.`,
        buttons: [button("plain", `Cancel · ${price.epsilon} stays spent`, { do: "cancel", token: run.token }, true)],
    };
}

/** The pane at rest: an offer, or the reason why there is none. */
function resting(store: SessionStore): Panel {
    const { sheet, state, point } = store;
    if (sheet === null || state === null) {
        return store.kernel.health === "gone" ? gone(store) : { kind: "loading", buttons: [off("Release")] };
    }
    if (store.kernel.health === "gone") return gone(store);
    if (store.declaring !== "" || store.suggested) return { kind: "declaring", buttons: [off("Release")], note: undeclared(store) };
    const twin = store.twin;
    if (twin?.status === "done" && store.fresh === null && store.settled && store.fault === null && !store.misfit)
        return already(store, twin);
    const left = state.budget?.epsilon.left;
    if (left !== undefined && equal(exactly(left), ZERO)) {
        return {
            kind: "spent",
            text: [
                ["The budget is used up."],
                state.budget!.rho === null
                    ? ` All of ε ${state.budget!.epsilon.total} is in the ledger.`
                    : ` What is left of ρ ${state.budget!.rho.total} is too little for an answer.`,
            ],
            buttons: [],
            note:
                "Ask the data owner to raise it. Every release made so far stays free to look at, to question and to report.",
            ...stored(store),
        };
    }
    if (store.fault !== null) {
        return { kind: "fault", buttons: [off("Release")], note: "Correct ε first." };
    }
    if (store.misfit) return { kind: "fault", buttons: [off("Release")], note: "Correct what is marked first." };
    if (point === null || !store.settled) {
        return { kind: "unsettled", buttons: [off("Release")], note: `The kernel has not planned ε ${store.typed} yet.` };
    }
    if (twin !== null && (twin.status === "pending" || twin.status === "elsewhere") && store.fresh === null) {
        return {
            kind: "elsewhere",
            buttons: [off("Release")],
            note:
                `Number ${twin.number}, the same question and settings, is being drawn` +
                `${twin.status === "elsewhere" ? " by another kernel" : ""}. Its answer will be free to look at here.`,
        };
    }
    return over(store) ?? offer(store, twin);
}

/** Why nothing can be ordered while a form is open: the plan on show is of the question that was left. */
export const undeclared = (store: SessionStore): string =>
    store.suggested
        ? `${store.declaring === "" ? "Nobody has declared bins yet" : `${capital(store.declaring)} being declared`}; until then the plan on show is an example, and nothing can be paid for.`
        : `${capital(store.declaring)} being declared; the plan on show is still of the question before. Use the new ones or keep the old ones to go on.`;

function offer(store: SessionStore, twin: Entry | null): Panel {
    const { state, point } = store;
    const price = point!.price;
    const budget = state!.budget;
    const now = store.asof === "" ? "now" : `as of ${store.asof}`;
    const balance =
        budget === null
            ? ""
            : budget.rho === null
              ? `${budget.epsilon.left} left ${now}, ${leftAfter(budget.epsilon.left, price.epsilon)} after` +
                `${deltaAfter(budget, price, (rest) => `; δ ${budget.delta.left} ${now}, ${rest} after`)}. `
              : `One answer may cost at most ${budget.epsilon.left} ${now}, and less afterwards. `;
    const lost = twin !== null && store.fresh === null ? lostBefore(twin) : null;
    return {
        kind: "offer",
        ...(lost === null
            ? {}
            : { notice: { tone: "warning" as const, strong: lost, rest: "This would be a new draw, paid again." } }),
        text: [`${point!.verb} Guarantee: `, [`${point!.guarantee}.`]],
        buttons: [{ ...button("pay", ["Release", `pay ${priceText(price)}`], { do: "press" }), means: store.means }],
        note: store.asking
            ? "Waiting for the kernel to plan what was chosen last."
            : `${balance}Cannot be undone.${store.fresh === null ? "" : " A second, independent answer."}`,
        ...stored(store),
    };
}

function lostBefore(twin: Entry): string {
    const was =
        twin.status === "cancelled" ? "was cancelled" : twin.status === "failed" ? "failed" : "never reported back";
    return `Number ${twin.number} asked exactly this and ${was}; its ${priceText(twin.price)} stays spent.`;
}

function stored(store: SessionStore): { stored?: Paid } {
    const last = store.last;
    return last === null || last.number === store.result?.number ? {} : { stored: last };
}

function already(store: SessionStore, twin: Entry): Panel {
    return {
        kind: "already",
        text: [[`Already released as number ${twin.number}`], ", same question, same settings."],
        buttons: [
            button("free", `Show release ${twin.number} · free`, { do: "show", number: twin.number }),
            {
                ...button(
                    "link",
                    `A second, independent answer costs ${priceText(store.point!.price)} more${store.second.combines ? "; both can be combined." : "."}`,
                    { do: "again" },
                ),
                means: priceText(store.point!.price),
            },
        ],
    };
}

/** That the plan costs more ε than is left, for the field where it was typed. */
export function tooMuch(store: SessionStore): string | null {
    const { sheet, state, point } = store;
    if (sheet === null || state === null || point === null || !store.settled) return null;
    const panel = over(store);
    return panel?.field === "epsilon" ? panel.notice!.strong : null;
}

/** The plan costs more than is left, in epsilon or in delta. */
function over(store: SessionStore): Panel | null {
    const budget = store.state?.budget;
    const price = store.point!.price;
    if (budget == null) return null;
    for (const name of ["epsilon", "delta"] as const) {
        const [cost, left] = [price[name], budget[name].left];
        if (budget.rho !== null && isList(store.sheet!)) break; // its steps cost less than its ε and δ: the kernel decides
        const alone = name === "epsilon" && budget.rho !== null;
        if (compare(exactly(cost), exactly(left)) <= 0) continue;
        const sign = name === "epsilon" ? "ε" : "δ";
        const most = name === "epsilon" ? affordable(store, left) : null;
        return {
            kind: "over",
            field: name,
            notice: {
                tone: "error",
                strong: alone
                    ? `This release costs ε = ${cost} but one answer may still cost at most ${left} (zCDP filter).`
                    : `This release costs ${sign} = ${cost} but ${left} is left; ask for at most ${left}.`,
                rest: "Nothing was charged.",
            },
            buttons: [
                ...(most === null ? [] : [button("free", `Set ε to ${most}`, { do: "set", epsilon: most })]),
                off(alone ? `Costs ${cost} · at most ${left}` : `Costs ${cost} · ${left} left`),
            ],
            ...stored(store),
        };
    }
    return null;
}

/** The most that may be asked for: all that is left where the price is what was asked, else the best of the fan. */
function affordable(store: SessionStore, left: string): string | null {
    const price = store.point!.price;
    if (equal(exactly(price.asked), exactly(price.epsilon))) return left;
    const within = store.sheet!.fans.epsilon.findLast(
        (point) => compare(exactly(point.price.epsilon), exactly(left)) <= 0,
    );
    return within?.epsilon ?? null;
}

/** Refusals of the kernel that may come after a charge: they say themselves what is spent. */
const SPEND = ["ReleaseFailed", "ReleaseCancelled", "ReleaseLost", "LedgerError", "DpvizError"];

function refused(error: Refusal, sent: boolean, heard: boolean): Panel {
    const says = sent && (/charge|spent/i.test(error.message) || SPEND.includes(error.kind));
    const fix = error.fix?.epsilon ?? null;
    const away = error.kind === "LedgerAway" && !sent;
    const again = heard && (error.kind === "LedgerAway" || (error.kind.startsWith("Ledger") && !sent));
    const rest = [
        says ? "" : "Nothing was charged.",
        away ? sentence(error.next_step ?? "Try again when it is back") : "",
    ].filter((part) => part !== "");
    return {
        kind: "refused",
        notice: {
            tone: "error",
            strong: away ? "The ledger's server does not answer." : sentence(error.message),
            ...(rest.length === 0 ? {} : { rest: rest.join(" ") }),
        },
        buttons: [
            ...(fix === null ? [] : [button("free", `Set ε to ${fix}`, { do: "set", epsilon: fix })]),
            ...(again ? [button("plain", "Try again", { do: "retry" })] : []),
            keep(),
        ],
    };
}

function gone(store: SessionStore): Panel {
    const budget = store.state?.budget ?? null;
    const [sign, purse] = budget?.rho == null ? ["", budget?.epsilon] : ["ρ ", budget.rho];
    const pending = purse === undefined || equal(exactly(purse.pending), ZERO) ? "" : ` ${sign}${purse.pending} pending,`;
    const balance =
        purse === undefined ? "" : ` The ledger remembers: ${sign}${purse.spent} spent,${pending} ${sign}${purse.left} left.`;
    return {
        kind: "gone",
        buttons: [off("Release needs a kernel")],
        note: `Restart it and run the session cell.${balance}`,
    };
}

function silent(price: Price): Panel {
    return {
        kind: "silent",
        notice: {
            tone: "warning",
            strong: "The kernel stopped answering.",
            rest:
                `Count ${priceText(price)} as spent until the ledger says otherwise: ` +
                "restart the kernel and run the session cell.",
        },
        buttons: [off("Release needs a kernel")],
    };
}

const off = (label: string): Button => button("off", label, null);
const EITHER = "If it is charged before you withdraw it, it stays spent, and this page says so.";
const unpaid = (act: Act): Button => button("plain", "Withdraw · nothing paid yet", act, true);
const withdraw = (): Button => button("plain", "Withdraw · nothing paid", { do: "withdraw" }, true);

function sentence(message: string): string {
    const text = capital(message.trim());
    return /[.?]$/.test(text) ? text : `${text}.`;
}
