/** Every order of messages about a purchase, up to five, and what holds after each of them. */

import { expect, test } from "vitest";
import type { Refusal, Running } from "../src/protocol/protocol";
import { advance, IDLE, isOpen, stage, type Ending, type End, type Message, type Purchase } from "../src/stores/purchase";

type P = Purchase<string, string>;
type M = Message<string, string>;

const ERROR: Refusal = { kind: "X", message: "no", value: null, rule: null, next_step: null, fix: null };
const running = (token: string, re: string | null): Running => ({
    token,
    number: "5",
    done: "0",
    of: "1",
    text: "",
    re,
    waiting: null,
});
const end = (how: Ending, more: Partial<End<string>> = {}): M => ({
    is: "ended",
    token: "t",
    re: null,
    how,
    charged: true,
    number: "5",
    error: how === "released" ? null : ERROR,
    answer: null,
    ...more,
});

const MESSAGES: Record<string, M> = {
    pressed: { is: "pressed", order: "order", confirm: false },
    "pressed, large": { is: "pressed", order: "large", confirm: true },
    confirmed: { is: "confirmed" },
    dismissed: { is: "dismissed" },
    withdrawn: { is: "withdrawn" },
    unheard: { is: "unheard", error: ERROR },
    sent: { is: "sent", id: "a" },
    declined: { is: "declined", id: "a", error: ERROR },
    named: { is: "running", running: running("t", "a") },
    progress: { is: "running", running: running("t", null) },
    "released, by token": end("released", { answer: "answer" }),
    "released, by order": end("released", { re: "a" }),
    "cancelled, by token": end("cancelled"),
    "failed, by order": end("failed", { re: "a" }),
    "cancelled before its charge": end("cancelled", { re: "a", charged: false, number: "" }),
    shown: { is: "shown" },
};
/** What is about the order of another page. */
const OTHERS: M[] = [
    { is: "declined", id: "b", error: ERROR },
    { is: "running", running: running("u", "b") },
    { is: "running", running: running("u", null) },
    end("released", { token: "u", re: "b", answer: "other" }),
    end("failed", { token: "u", re: "b" }),
];
const START: P = IDLE;

function frozen<T>(value: T): T {
    if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
    return value;
}

/** Every state that up to `length` messages lead to from `from`, with one way there. */
function reach(length: number, visit: (before: P, name: string, after: P, way: string[]) => void): Map<string, P> {
    const known = new Map<string, P>([[JSON.stringify(START), START]]);
    let edge: [P, string[]][] = [[START, []]];
    for (let step = 0; step < length; step += 1) {
        const next: [P, string[]][] = [];
        for (const [before, way] of edge) {
            for (const [name, message] of Object.entries(MESSAGES)) {
                const after = frozen(advance(frozen(before), frozen(message)));
                visit(before, name, after, way);
                const key = JSON.stringify(after);
                if (known.has(key)) continue;
                known.set(key, after);
                next.push([after, [...way, name]]);
            }
        }
        edge = next;
    }
    return known;
}

/** From where to where a purchase may go at all, and by what: everything else leaves it as it is. */
const TABLE: Record<string, Record<string, string>> = {
    idle: { pressed: "waiting", "pressed, large": "confirm" },
    confirm: { confirmed: "waiting", dismissed: "idle" },
    waiting: { withdrawn: "idle", unheard: "refused", sent: "sent" },
    sent: {
        declined: "refused",
        "released, by order": "released",
        "failed, by order": "failed",
        "cancelled before its charge": "refused",
    },
    running: {
        "released, by token": "released",
        "released, by order": "released",
        "cancelled, by token": "cancelled",
        "failed, by order": "failed",
        "cancelled before its charge": "refused",
    },
    released: { shown: "idle" },
    refused: { pressed: "waiting", "pressed, large": "confirm", dismissed: "idle" },
    cancelled: { pressed: "waiting", "pressed, large": "confirm", dismissed: "idle" },
    failed: { pressed: "waiting", "pressed, large": "confirm", dismissed: "idle" },
};

test("every message in every state leads where the table says, and nothing else moves a purchase", () => {
    let moves = 0;
    const known = reach(9, (before, name, after, way) => {
        const early = before.kind === "sent" && name === "named" ? before.early[0] : undefined;
        const to = before.kind === "sent" && name === "named" ? (early?.how ?? "running") : TABLE[stage(before)]![name];
        expect(stage(after), `${[...way, name].join(", ")}`).toBe(to ?? stage(before));
        moves += Number(to !== undefined);
    });
    expect([known.size > 20, moves > 50]).toEqual([true, true]);
    expect(new Set([...known.values()].map(stage)).size).toBe(9);
});

test("in every sequence of five messages an order is sent once for each press, and only after consent", () => {
    const names = Object.keys(MESSAGES);
    let count = 0;
    const walk = (before: P, depth: number, presses: number, consents: number, sent: number): void => {
        if (depth === 0) return;
        for (const name of names) {
            const after = advance(before, MESSAGES[name]!);
            count += 1;
            const pressed = presses + Number(name.startsWith("pressed"));
            const agreed = consents + Number(after.kind === "waiting" && before.kind !== "waiting");
            const now = sent + Number(after.kind === "sent" && before.kind !== "sent");
            if (now > agreed || agreed > pressed) throw new Error(`sent ${now}, agreed ${agreed}, pressed ${pressed}`);
            if (after.kind === "waiting" && before.kind !== "waiting" && after.order === "large" && name !== "confirmed")
                throw new Error("a large price is ordered without a second question");
            if (isOpen(before) && name.startsWith("pressed") && after !== before)
                throw new Error("a second order while one is on its way");
            if (after.kind === "ended" && after.how === "refused" && !after.sent && before.kind !== "waiting" && after !== before)
                throw new Error("an order that was sent is told as one that was not");
            walk(after, depth - 1, pressed, agreed, now);
        }
    };
    walk(START, 5, 0, 0, 0);
    expect(count).toBe([1, 2, 3, 4, 5].reduce((sum, power) => sum + names.length ** power, 0));
});

test("what is told of other orders changes nothing, whatever the purchase", () => {
    for (const purchase of reach(9, () => undefined).values())
        for (const message of OTHERS) expect(advance(purchase, message)).toBe(purchase);
});

function* orders<T>(items: T[]): Generator<T[]> {
    if (items.length === 0) yield [];
    for (const [i, item] of items.entries())
        for (const rest of orders(items.filter((_, j) => j !== i))) yield [item, ...rest];
}

const after = (...messages: M[]): P => messages.reduce<P>(advance, START);
const SENT = [MESSAGES["pressed"]!, MESSAGES["sent"]!];

test.each(["released", "cancelled", "failed"] as const)("an order that was %s ends so, whatever came first or never", (how) => {
    const about = [
        MESSAGES["named"]!,
        MESSAGES["progress"]!,
        end(how, { answer: how === "released" ? "answer" : null }),
        end(how, { re: "a" }),
    ];
    for (const sequence of orders(about)) {
        for (let lost = 0; lost < 16; lost += 1) {
            const kept = sequence.filter((_, i) => ((lost >> i) & 1) === 0);
            const named = kept.includes(about[0]!);
            if (!kept.includes(about[3]!) && !(named && kept.includes(about[2]!))) continue;
            const purchase = after(...SENT, ...kept);
            expect(stage(purchase), JSON.stringify(kept)).toBe(how);
            expect(isOpen(purchase)).toBe(how === "released");
        }
    }
});

test("an answer that comes after its end was told is taken, once", () => {
    const told = after(...SENT, MESSAGES["named"]!, end("released", { re: "a" }));
    const answered = advance(told, end("released", { answer: "answer" }));
    expect(answered).toMatchObject({ how: "released", end: { answer: "answer" } });
    expect(advance(answered, end("released", { answer: "another" }))).toBe(answered);
    expect(stage(advance(answered, { is: "shown" }))).toBe("idle");
});

test("an order that is taken back before it has a name says so until it is named", () => {
    const withdrawn = after(...SENT, MESSAGES["withdrawn"]!);
    expect(withdrawn).toMatchObject({ kind: "sent", withdrawn: true });
    expect(advance(withdrawn, MESSAGES["withdrawn"]!)).toBe(withdrawn);
    expect(stage(advance(withdrawn, MESSAGES["named"]!))).toBe("running");
});

test("only so many ends without a name are kept", () => {
    const many = Array.from({ length: 40 }, (_, i) => end("failed", { token: `t${i}` }));
    const purchase = after(...SENT, ...many);
    expect(purchase.kind === "sent" && purchase.early.map(({ token }) => token)).toEqual(
        Array.from({ length: 16 }, (_, i) => `t${24 + i}`),
    );
});
