/**
 * The gain of a second answer: how far off one bin is once the plan on show was paid for and combined with the last answer.
 *
 * The kernel knows. It is asked once a plan has stayed on show for a moment, so that no slider waits for it.
 */

import { LOST, SUPERSEDED, type Kernel } from "../protocol/kernel";
import { readAfter, type After, type Point, type Reply, type Sheet, type State } from "../protocol/protocol";
import { planOf, type Paid } from "./plan";

/** The gain of a second answer is asked for once the plan on show has stayed for this long. */
const STILL = 400;

/** The plan on show, and the last answer to its question. */
interface OnShow {
    readonly kernel: Kernel;
    readonly sheet: Sheet | null;
    readonly point: Point | null;
    readonly state: State | null;
    readonly settled: boolean;
    readonly fault: string | null;
    readonly last: Paid | null;
}

/** How the kernel is asked, one question at a time, and who is told. */
interface Asking {
    ask(plan: Record<string, unknown>): Promise<Reply | null>;
    /** Do this in a while, instead of what waited. */
    later(delay: number, act: () => void): void;
    guard(act: () => void): void;
    changed(): void;
}

export class SecondAnswer {
    /** Something was ordered here, and its answer has not come: that one is worth a question. */
    ordered = false;
    readonly #plan: OnShow;
    readonly #asking: Asking;
    /** The gain, as far as it is known: for which plan and which first answer, in one text. */
    #after: { pair: string; subject: string; found: After["together"] } | null = null;
    /** The pair that was asked about last, or is about to be; empty where none is. */
    #pairAsked = "";
    /** The plan that was on show when it was last seen whether to ask; null where that begins anew. */
    #heeded: string | null = null;

    constructor(plan: OnShow, asking: Asking) {
        this.#plan = plan;
        this.#asking = asking;
    }

    /** The plan on show and the answer that it would be combined with, in one text; empty where there is none of both. */
    get #pair(): string {
        const { point, last, state, settled, fault } = this.#plan;
        if (point === null || last === null || state === null || !settled || fault !== null) return "";
        return `${point.key} ${last.number}`;
    }

    /** Whether two answers combine rests on the question, the mechanism and the first answer, whatever ε is. */
    get #subject(): string {
        const { sheet, last } = this.#plan;
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
    heed(): void {
        const { point, state } = this.#plan;
        if (point === null || state === null) return;
        const pair = this.#pair;
        const elsewhere = point.key === this.#heeded && !this.ordered;
        this.#heeded = point.key;
        if (pair === this.#pairAsked || (pair !== "" && elsewhere)) return;
        if (pair !== "") this.ordered = false;
        this.#pairAsked = pair;
        this.#asking.later(STILL, () => void this.#ask(pair)); // instead of what waited
    }

    async #ask(pair: string): Promise<void> {
        const { kernel, sheet, point } = this.#plan;
        if (pair === "" || sheet === null || point === null) return;
        if (kernel.health === "gone") {
            this.#anew(); // once it is back, with whatever is told next
            return;
        }
        const subject = this.#subject;
        const reply = await this.#asking.ask(planOf(sheet, point));
        if (reply === null || pair !== this.#pairAsked) return;
        if (reply.ok) {
            this.#asking.guard(() => {
                const { key, together: found } = readAfter(reply.body, "after");
                if (key === point.key) this.#after = { pair, subject, found };
            });
        } else if (reply.error.kind === SUPERSEDED || reply.error.kind === LOST) this.#anew();
        this.#asking.changed();
    }

    #anew(): void {
        this.#pairAsked = "";
        this.#heeded = null;
    }
}
