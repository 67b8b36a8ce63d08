/**
 * A lesson on public data: the draws that the kernel made, the true counts beside them, and what misses them.
 *
 * The kernel counts and decides; here a reader picks a draw, a bin and a level. `dpviz/widgets/lesson.py` is the other
 * side of it.
 */

import { hand } from "../dom/hand";
import { SUPERSEDED, type Kernel } from "../protocol/kernel";
import { readLesson, type Lesson, type Missed, type Seen } from "../protocol/lesson";
import { shown } from "../wording/words";

/** How a bin that was picked fares in one draw. */
export const misses = (missed: Missed | null, column: number): boolean => missed?.columns.includes(column) === true;

/** The state that a lesson stands on: the kernel, and how to tell whoever looks. */
interface Ground {
    readonly kernel: Kernel;
    take(trait: string, value: unknown): void;
    say(sentence: string, delay?: number): void;
    changed(): void;
}

export class Lessons {
    lesson: Lesson | null = null;
    /** The draw on show, counted from 1; 0 where there is none. */
    at = 0;
    /** The column that is watched in every draw; -1 where none is. */
    picked = -1;
    /** How many draws were asked for and have not come; empty where none were. */
    asked = "";
    fault: string | null = null;
    /** The draw on show is gone: the button that draws wants the focus. */
    wantsFocus = false;
    readonly #ground: Ground;

    constructor(ground: Ground) {
        this.#ground = ground;
    }

    read(value: unknown): void {
        const before = this.lesson;
        this.lesson = readLesson(value);
        const labels = this.lesson?.truth?.labels;
        if (labels?.length !== before?.truth?.labels.length || this.lesson?.key !== before?.key) this.picked = -1;
        if (this.lesson?.drawn !== before?.drawn || this.lesson?.key !== before?.key) this.at = Number(this.lesson?.drawn ?? 0);
    }

    /** The draws whose values are here, from the first to the last of them. */
    get stretch(): readonly [number, number] {
        const last = Number(this.lesson?.drawn ?? 0);
        return [last - (this.lesson?.shown.length ?? 0) + 1, last];
    }

    get seen(): Seen | null {
        return this.lesson?.shown[this.at - this.stretch[0]] ?? null;
    }

    show(draw: number): void {
        const [first, last] = this.stretch;
        this.at = Math.max(first, Math.min(last, draw));
        this.#ground.changed();
    }

    pick(column: number): void {
        this.picked = column;
        this.#ground.changed();
    }

    /** Draw so many times from the plan, and count with the draws before where they are of the same plan. */
    async draw(plan: Record<string, unknown>, times: string, beta: string): Promise<void> {
        this.asked = times;
        await this.#ask("lesson", { ...plan, times, beta: this.lesson?.beta ?? beta }, () => this.#ground.say(spoken(this), 0));
        this.asked = "";
        this.#ground.changed();
    }

    level(beta: string): Promise<void> {
        return this.#ask("misses", { beta }, () => this.#ground.say(spoken(this), 0));
    }

    forget(): Promise<void> {
        const before = hand();
        return this.#ask("forget", {}, () => {
            this.wantsFocus = hand() === before;
            this.#ground.say("The count starts again with the next draw.", 0);
        });
    }

    async #ask(name: "lesson" | "misses" | "forget", args: Record<string, unknown>, then: () => void): Promise<void> {
        this.fault = null;
        this.#ground.changed();
        const reply = await this.#ground.kernel.ask(name, args);
        if (reply.ok) {
            this.#ground.take("lesson", JSON.stringify(reply.body["lesson"]));
            then();
        } else if (reply.error.kind !== SUPERSEDED) this.fault = reply.error.message;
        this.#ground.changed();
    }
}

/** Whether its draws are held against the true counts. */
export const isCounted = (lesson: Lesson | null): lesson is Lesson & { truth: NonNullable<Lesson["truth"]> } =>
    lesson !== null && lesson.draws.length > 0 && lesson.truth !== null;

/** In words, how any one bin fares in the draw on show. */
export function anyOne({ lesson, at }: Lessons): string {
    const missed = lesson?.draws[at - 1]?.missed;
    if (missed == null) return "no interval is stated for one bin";
    const bins = BigInt(lesson!.truth!.bins);
    return `${shown(String(bins - BigInt(missed.bins)))} of ${shown(String(bins))} held in this draw`;
}

/** In words, in how many of the draws so far every bin was held at once. */
export function allAtOnce({ lesson, at }: Lessons): string {
    const draws = lesson?.draws.slice(0, at) ?? [];
    if (draws.length === 0 || draws.some(({ missed_all }) => missed_all === null)) return "no interval is stated for all bins at once";
    return ofDraws(draws.filter(({ missed_all }) => missed_all!.bins === "0").length, draws.length);
}

/** In words, in how many of the draws so far the bin that was picked was held. */
export function onePicked({ lesson, at, picked }: Lessons): string {
    const draws = lesson?.draws.slice(0, at) ?? [];
    return `held in ${ofDraws(draws.filter(({ missed }) => !misses(missed, picked)).length, draws.length)}`;
}

const ofDraws = (held: number, of: number): string => `${held} of ${of} ${of === 1 ? "draw" : "draws"}`;

/** The text read aloud about the draw on show. */
export function spoken(lessons: Lessons): string {
    if (!isCounted(lessons.lesson)) return `Drawn; the draw is shown below.`;
    return `Draw ${lessons.at}. Any one bin: ${anyOne(lessons)}. All at once: ${allAtOnce(lessons)}.`;
}
