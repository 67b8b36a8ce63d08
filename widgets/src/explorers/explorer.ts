/**
 * The store of an explorer: one sheet of public things, and the point of it that is on show.
 *
 * Every slider that has a fan moves at once, with a busy kernel or none; then the kernel is asked for the sheet through
 * the new point, so that the next slider moves at once as well. A point of a fan may still be to come: the kernel works
 * it out meanwhile, or at once where a slider is moved there.
 */

import { setAttribute } from "../dom/dom";
import { SUPERSEDED } from "../protocol/kernel";
import type { Axis, Point, Sheet } from "../protocol/sheets";
import { ViewStore } from "../stores/view_store";
import { ungrouped } from "../wording/words";

const DEBOUNCE = 150;

type PointOf<S> = S extends Sheet<infer P> ? P : never;

export class Explorer<S extends Sheet<Point>> extends ViewStore {
    sheet: S | null = null;
    point: PointOf<S> | null = null;
    /** Where the sliders stand: of the point on show, but where the kernel was asked for more. */
    position: ReadonlyMap<string, string> = new Map();
    /** Whether `point` is the one at `position`. */
    settled = true;
    /** Why a move did not happen. */
    fault: string | null = null;
    /** The text typed into the box of an axis and refused, and why: told at that box, which keeps it. */
    mistyped: { name: string; typed: string; words: string } | null = null;

    readonly #readSheet: (value: unknown) => S;
    /** The axis that was moved last. */
    #last: string | null = null;
    /** The text typed for it; null where it was moved. */
    #typed: string | null = null;
    /** The reader has moved on from the sheet, and the kernel has not followed: no sheet moves the sliders. */
    #ahead = false;
    /** `fault` says what cannot be had without a kernel: it does not hold once one is heard. */
    #stranded = false;

    constructor(read: (value: unknown) => S) {
        super();
        this.#readSheet = read;
    }

    /** A kernel that is gone will not answer: what waits for it goes where it can without. */
    protected override onHealth(): void {
        if (this.kernel.health === "gone") {
            if (this.sheet !== null && !this.settled) this.#alone(this.position, this.#last);
        } else {
            if (this.#stranded) this.#say(null);
            if (this.#ahead && !this.waits("move")) this.#moveSoon(); // where it was moved meanwhile
        }
        this.tell();
    }

    protected override onStatus(): void {
        this.tell();
    }

    protected override read(trait: string, value: unknown): void {
        if (trait === "sheet") this.#use(this.#readSheet(value));
    }

    #use(sheet: S): void {
        const first = this.sheet === null;
        this.sheet = sheet;
        if (!first) this.kernel.alive(); // nobody else writes one
        if (first || !this.#ahead) this.#adopt(sheet.now as PointOf<S>);
        else this.#resolve(this.position);
    }

    /** Whether every point of the sheet is there, or some are still to come. */
    get whole(): boolean {
        return this.sheet !== null && [...this.sheet.fans.values()].every((fan) => !fan.includes(null));
    }

    /** Why a move did not happen; `stranded` where only for want of a kernel. */
    #say(fault: string | null, stranded = false): void {
        [this.fault, this.#stranded] = [fault, stranded];
    }

    #moveSoon(): void {
        this.later("move", DEBOUNCE, () => void this.#move());
    }

    axis(name: string): Axis | null {
        return this.sheet?.axes.find((axis) => axis.name === name) ?? null;
    }

    /** Where a slider stands on its grid. */
    tick(name: string): number {
        return Math.max(0, this.axis(name)?.grid.indexOf(this.position.get(name) ?? "") ?? 0);
    }

    moveTo(name: string, tick: number): void {
        const grid = this.axis(name)?.grid ?? [];
        const value = grid[Math.max(0, Math.min(grid.length - 1, tick))];
        if (value !== undefined) this.set(name, value);
    }

    /** Take what was typed into the box of an axis. */
    type(name: string, typed: string): void {
        const value = ungrouped(typed);
        if (this.position.get(name) === value) this.forgive(name);
        else this.set(name, value, typed);
    }

    /** The text typed into the box of an axis is taken back. */
    forgive(name: string): void {
        if (this.mistyped?.name !== name) return;
        this.mistyped = null;
        this.tell();
    }

    /** Take a value of an axis, on its grid or not; the kernel says what is wrong with one it cannot stand on. */
    set(name: string, value: string, typed: string | null = null): void {
        if (this.sheet === null || this.position.get(name) === value) return;
        this.#say(null);
        [this.mistyped, this.#typed] = [null, typed];
        this.#last = name;
        this.#ahead = true;
        this.drop("move");
        this.#resolve(new Map([...this.position, [name, value]]));
        if (this.kernel.health !== "gone") this.#moveSoon();
        this.tell();
    }

    /** Show the point at a place where the sheet holds it: on one fan, at grid values of the axes without one. */
    #resolve(position: ReadonlyMap<string, string>): void {
        const sheet = this.sheet!;
        const off = sheet.axes.filter(({ name, grid }) => !sheet.fans.has(name) && !grid.includes(position.get(name)!));
        const moved = sheet.axes.filter(({ name }) => sheet.fans.has(name) && position.get(name) !== sheet.now.at.get(name));
        const found = moved.length === 0 ? sheet.now : moved.length === 1 ? this.#onFan(moved[0]!, position) : undefined;
        this.position = position;
        this.settled = found !== undefined && off.length === 0;
        if (found !== undefined && off.length === 0) this.#adopt(found as PointOf<S>);
        else if (this.kernel.health === "gone") this.#alone(position, this.#last);
    }

    #onFan({ name, grid }: Axis, position: ReadonlyMap<string, string>): Point | undefined {
        return this.sheet!.fans.get(name)![grid.indexOf(position.get(name)!)] ?? undefined;
    }

    /** Without a kernel one slider moves at a time: the others go back to where the sheet was made. */
    #alone(position: ReadonlyMap<string, string>, last: string | null): void {
        const axis = last === null ? null : this.axis(last);
        const fanned = axis !== null && this.sheet!.fans.has(axis.name);
        const point = fanned ? this.#onFan(axis, position) : undefined;
        this.#say(
            point === undefined
                ? "No kernel can compute this; the page shows the nearest place that it was sent."
                : "No kernel: one slider moves at a time, and the others went back to where this page was computed.",
            true,
        );
        this.#adopt((point ?? (fanned ? this.#nearest(axis, position) : this.sheet!.now)) as PointOf<S>);
    }

    /** The point of this axis that was sent and is nearest to where it should stand. */
    #nearest({ name, grid }: Axis, position: ReadonlyMap<string, string>): Point {
        const wanted = grid.indexOf(position.get(name)!);
        const sent = this.sheet!.fans.get(name)!.flatMap((point, place) => (point === null ? [] : [{ point, away: Math.abs(place - wanted) }]));
        return wanted < 0 || sent.length === 0 ? this.sheet!.now : sent.reduce((best, one) => (one.away < best.away ? one : best)).point;
    }

    #adopt(point: PointOf<S>): void {
        const free = this.sheet!.axes.filter(({ name, grid }) => !this.sheet!.fans.has(name) && grid.includes(this.position.get(name) ?? ""));
        this.point = point;
        this.settled = true;
        this.position = new Map([...point.at, ...free.map(({ name }) => [name, this.position.get(name)!] as const)]);
    }

    async #move(): Promise<void> {
        const reply = await this.latest("move", "move", { place: Object.fromEntries(this.position) });
        if (reply === null) return; // somebody moved on, and the next ask is about to be sent
        this.#ahead = false;
        if (reply.ok) {
            // the sheet came before this reply, as every page that shows it gets it
            if (this.sheet !== null) this.#adopt(this.sheet.now as PointOf<S>);
        } else if (reply.error.kind === SUPERSEDED) {
            this.#adopt(this.sheet!.now as PointOf<S>); // moved on another page: stand where that one does
        } else {
            if (this.#last === null || this.#typed === null) this.#say(reply.error.message);
            else this.mistyped = { name: this.#last, typed: this.#typed, words: reply.error.message };
            if (this.point !== null) this.#adopt(this.point);
        }
        this.tell();
    }
}

/** Tell on the element how its explorer stands: what is on show is stale, and its sheet is there in part. */
export function standing(element: HTMLElement, store: Explorer<Sheet<Point>>): void {
    setAttribute(element, "data-stale", store.settled ? null : "true");
    setAttribute(element, "data-part", store.whole ? null : "true");
}
