/**
 * The plan on show: the point of the sheet at the ε that was typed, or at the nearest one that is no less private.
 *
 * The sheet holds a plan for each value of the slider, so moving it needs no kernel. A text between two of them is
 * planned by the kernel.
 */

import { compare, equal, exactly, morePrivate, parse, ZERO, type Fraction } from "../numbers/exact";
import { epsilonAxis, type Bar, type Measure, type Point, type Result, type Sheet, type State } from "../protocol/protocol";
import { barOf, isList, phrase, signed, slowness } from "../wording/measures";
import { EPSILON_HELP, leaves, same, shown } from "../wording/words";
import type { Change, Order } from "./plan";
import { PurchaseStore } from "./purchase_store";

const DEBOUNCE = 150;

export abstract class SheetStore extends PurchaseStore<State, Order, Result> {
    sheet: Sheet | null = null;

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

    /** The key of a second, independent answer; null for the question's first. */
    fresh: string | null = null;

    /** Whether ε was typed since a plan was asked for last. */
    protected touched = false;
    #grid: Fraction[] = [];

    /** A plan was asked for and has not come. */
    abstract get asking(): boolean;
    /** Ask the kernel for a plan; whether it came. */
    abstract plan(change: Change): Promise<boolean>;
    /** Another ε was typed. */
    protected abstract onTyped(): void;

    protected useSheet(sheet: Sheet): void {
        const before = this.sheet;
        this.sheet = sheet;
        this.#grid = epsilonAxis(sheet).grid.map(exactly);
        if (!sheet.betas.includes(this.beta)) this.beta = sheet.beta;
        if (before !== null && before.question.id !== sheet.question.id) this.fresh = null;
        const kept = ((this.touched || this.asking) && this.fault === null) || same(this.typed, sheet.now.epsilon);
        this.#resolve(kept ? this.typed : sheet.now.epsilon);
    }

    moveTo(tick: number): void {
        const grid = this.sheet === null ? [] : epsilonAxis(this.sheet).grid;
        const text = grid[Math.max(0, Math.min(grid.length - 1, tick))];
        if (text !== undefined) this.type(text);
    }

    /** Take the text of the ε box. A text that is no positive number leaves the plan at the last value that made sense. */
    type(text: string): void {
        if (this.locked || this.sheet === null) return;
        this.touched = true;
        this.seekFault = null;
        this.onTyped();
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
        this.sayPlan();
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
        this.sayPlan();
        this.tell();
    }

    /** Say the plan on show, by what was typed; one that was asked for is said when it comes. */
    protected sayPlan(): void {
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
}
