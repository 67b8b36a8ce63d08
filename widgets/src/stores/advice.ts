/**
 * The advice beside the plan on show: what a plan in Python prints, and the first mechanisms for its question.
 *
 * The kernel knows. It is asked once a plan has stayed on show for a moment, and gives way to the next plan, so that no
 * slider waits for it. Other mechanisms are compared only where a better one may be known, or once a reader opens the list.
 */

import { LOST, SUPERSEDED, type Kernel } from "../protocol/kernel";
import { readAdvice, type Advice, type Point, type Reply, type Sheet, type State } from "../protocol/protocol";
import { limitOf, planOf } from "./plan";

/** A plan is asked about once it has stayed on show for this long. */
const STILL = 400;

/** The plan on show, and whether anything else on screen differs from it. */
interface OnShow {
    readonly kernel: Kernel;
    readonly sheet: Sheet | null;
    readonly point: Point | null;
    readonly state: State | null;
    readonly settled: boolean;
    readonly fault: string | null;
    readonly asking: boolean;
    readonly declaring: string;
    readonly suggested: boolean;
    readonly misfit: boolean;
}

/** How the kernel is asked, one question at a time, and who is told. */
export interface Asking {
    ask(plan: Record<string, unknown>): Promise<Reply | null>;
    /** Do this in a while, instead of what waited. */
    later(delay: number, act: () => void): void;
    guard(act: () => void): void;
    changed(): void;
}

/** An advice, and the plan that it is about. */
interface Known {
    readonly key: string;
    readonly about: string;
    readonly epsilon: string;
    readonly delta: string;
    readonly advice: Advice;
}

export class Advising {
    /** The latest advice, which may be about an ε that is not on show any more; null where none is about this question. */
    #known: Known | null = null;
    /** Why the kernel gave none. */
    fault: string | null = null;
    #goal = "";
    #listed = false;
    /** The plan, the goal and the list that were asked about last, in one text. */
    #asked = "";
    readonly #plan: OnShow;
    readonly #asking: Asking;

    constructor(plan: OnShow, asking: Asking) {
        this.#plan = plan;
        this.#asking = asking;
    }

    /** The subject of an advice, whatever ε is: the question, its limit, the mechanism and its settings. */
    get #about(): string {
        const { sheet, point } = this.#plan;
        if (sheet === null || point === null) return "";
        return JSON.stringify([sheet.question.id, limitOf(sheet), sheet.mechanism.name, [...sheet.mechanism.parameters]]);
    }

    /** Whether the plan on show is all that is on screen: nothing is typed, chosen or declared beside it. */
    get stands(): boolean {
        const { sheet, point, state, settled, fault, asking, declaring, suggested, misfit } = this.#plan;
        return sheet !== null && point !== null && state !== null && settled && fault === null && !asking && !misfit && declaring === "" && !suggested;
    }

    /** Whether mechanisms are compared for a question like this one: not for parts, of which each way has a price of its own. */
    get applies(): boolean {
        const { sheet, suggested } = this.#plan;
        return sheet !== null && sheet.way === null && !suggested;
    }

    /** The advice about exactly the plan on show; null while there is none. */
    get now(): Advice | null {
        const { point } = this.#plan;
        return this.#known !== null && this.stands && this.#known.key === point!.key && this.#known.about === this.#about ? this.#known.advice : null;
    }

    /** The latest advice about this question, with the ε and δ that it is about, while the next one is on its way. */
    get last(): Known | null {
        const { sheet, declaring } = this.#plan;
        return this.#known !== null && sheet !== null && declaring === "" && this.#known.about.startsWith(JSON.stringify([sheet.question.id]).slice(0, -1)) ? this.#known : null;
    }

    /** Whether the latest advice is about the mechanism and the settings on show, whatever its ε. */
    get alike(): boolean {
        return this.#known !== null && this.#known.about === this.#about;
    }

    /** The goal that mechanisms are compared for. */
    get goal(): string {
        return this.#goal || (this.#known?.advice.goal ?? "");
    }

    /** Compare for another goal. */
    choose(goal: string): void {
        this.#goal = goal;
        this.#listed = true;
        this.heed(0);
    }

    /** Go on comparing for this goal, whatever the usual one of the next mechanism is. */
    keep(): void {
        this.#goal = this.goal;
    }

    /** Whether the mechanisms are listed, too. */
    list(on: boolean): void {
        this.#listed = on;
        if (on && this.now?.rows === null) this.heed(0);
    }

    /** Ask about another plan once it has stayed on show for a moment. */
    heed(delay = STILL): void {
        const { kernel, sheet, point } = this.#plan;
        if (!this.applies || !this.stands || kernel.health === "gone" || kernel.health === "unknown") return;
        if (this.#goal !== "" && this.#known !== null && this.last === null) this.#goal = ""; // chosen for another question
        if (this.now?.rows != null && (this.#goal === "" || this.#goal === this.now.goal)) return; // all of it is there
        const subject = JSON.stringify([point!.key, this.#about, this.#goal, this.#listed]);
        if (subject === this.#asked) return;
        this.#asked = subject;
        this.fault = null;
        const args = { ...planOf(sheet!, point!), goal: this.#goal, rows: this.#listed };
        const about = { key: point!.key, about: this.#about, epsilon: point!.epsilon, delta: point!.price.delta };
        this.#asking.later(delay, () => void this.#ask(subject, args, about));
    }

    async #ask(subject: string, args: Record<string, unknown>, about: Omit<Known, "advice">): Promise<void> {
        if (subject !== this.#asked) return;
        if (this.#plan.kernel.health === "gone" || !this.stands) {
            this.#asked = ""; // once it is back, or stands again, with whatever is told next
            return;
        }
        const reply = await this.#asking.ask(args);
        if (reply === null || subject !== this.#asked) return;
        if (reply.ok) this.#asking.guard(() => this.#take(about, readAdvice(reply.body, "advice")));
        else if (reply.error.kind === SUPERSEDED || reply.error.kind === LOST) this.#asked = "";
        else [this.fault, this.#known] = [reply.error.message, null];
        this.#asking.changed();
    }

    /** Advice about another plan is about none. */
    #take(about: Omit<Known, "advice">, advice: Advice): void {
        if (advice.key === about.key) this.#known = { ...about, advice };
    }
}
