/**
 * The store of the range explorer: what is in view, the range that is brushed, and what was read of it.
 *
 * The brush moves at once; then the kernel reads the range. Without a kernel it rests on the stops that the sheet
 * carries, and says so.
 */

import { SUPERSEDED } from "../protocol/kernel";
import { readRange, readReadings, type RangeReading, type RangeSheet } from "../protocol/sheets";
import { ViewStore } from "./view_store";

const DEBOUNCE = 150;

export const SNAPPED = "No kernel: the brush rests on the positions that this file carries.";
const UNREAD = "No kernel to find a label or another view; drag the brush, or use its sliders.";

export class RangeStore extends ViewStore {
    sheet: RangeSheet | null = null;
    /** The bins that are brushed, both included. */
    low = 0;
    high = 0;
    /** The last range that was read; it is that of the brush where `settled`. */
    reading: RangeReading | null = null;
    settled = true;
    fault: string | null = null;
    /** Whether it is about the ends that were typed, which stay in their boxes. */
    mistyped = false;
    /** The words on the last range where that is no fault. */
    remark: string | null = null;

    readonly #known = new Map<string, RangeReading>();
    /** `fault` or `remark` says what cannot be had without a kernel: nothing of it holds once one is heard. */
    #alone = false;

    get last(): number {
        return Number(this.sheet?.bins ?? 1) - 1;
    }

    get gone(): boolean {
        return this.kernel.health === "gone";
    }

    protected override onHealth(): void {
        if (this.sheet !== null && !this.settled && this.gone) this.#rest();
        if (!this.gone && this.#alone) this.#say(null);
        this.tell();
    }

    protected override onStatus(): void {
        this.tell();
    }

    protected override read(trait: string, value: unknown): void {
        if (trait === "sheet") this.#use(readRange(value));
    }

    /** The words on the last range; `alone` where only for want of a kernel. */
    #say(fault: string | null, remark: string | null = null, alone = false): void {
        [this.fault, this.remark, this.#alone, this.mistyped] = [fault, remark, alone, false];
    }

    /** A sheet takes the brush along only where it stands on the range of the sheet before: else the reader has moved it. */
    #use(sheet: RangeSheet): void {
        const before = this.sheet?.range;
        const follows = before === undefined || (this.settled && Number(before.low) === this.low && Number(before.high) === this.high);
        this.sheet = sheet;
        this.#known.clear();
        for (const reading of [...sheet.between, sheet.range]) this.#known.set(`${reading.low}-${reading.high}`, reading);
        if (follows) this.#show(sheet.range);
        else if (this.settled) this.brush(this.low, this.high); // how far off it may be rests on what is in view
    }

    #show(reading: RangeReading): void {
        [this.low, this.high] = [Number(reading.low), Number(reading.high)];
        [this.reading, this.settled] = [reading, true];
    }

    /** Take a range by its bins. Ends that are exchanged are put in order, and ends outside are moved in. */
    brush(one: number, other: number): void {
        if (this.sheet === null) return;
        const within = (bin: number): number => Math.max(0, Math.min(this.last, Math.round(bin)));
        [this.low, this.high] = [within(Math.min(one, other)), within(Math.max(one, other))];
        this.#say(null);
        const known = this.#known.get(`${this.low}-${this.high}`);
        this.drop("read");
        if (known !== undefined) this.#show(known);
        else if (this.gone) this.#rest();
        else {
            this.settled = false;
            this.later("read", DEBOUNCE, () => void this.#read(["bins", String(this.low), String(this.high)]));
        }
        this.tell();
    }

    /** Take a range by the labels of its ends, as they were typed. */
    name(low: string, high: string): void {
        if (this.sheet === null) return;
        this.#say(null);
        if (this.gone) {
            const found = [...this.#known.values()].find(({ labels }) => labels[0] === low && labels[1] === high);
            if (found === undefined) this.#say(UNREAD, null, true);
            else this.brush(Number(found.low), Number(found.high));
        } else void this.#read(["labels", low, high]);
        this.tell();
    }

    /** The typed text is taken back. */
    forgive(): void {
        if (!this.mistyped) return;
        this.#say(null);
        this.tell();
    }

    /** Look at other bins, both ends included. */
    look(first: number, last: number): void {
        if (this.sheet === null) return;
        if (this.gone) {
            this.#say(UNREAD, null, true);
            this.tell();
        } else void this.#move({ first: String(first), last: String(last), low: String(this.low), high: String(this.high) });
    }

    /** The stops before and after a position, for a step without a kernel. */
    beside(at: number): [number, number] {
        const stops = this.sheet!.stops.map(Number);
        return [stops.findLast((stop) => stop < at) ?? stops[0]!, stops.find((stop) => stop > at) ?? stops.at(-1)!];
    }

    /** Without a kernel: the nearest range between stops. */
    #rest(): void {
        this.drop("read");
        const stops = this.sheet!.stops.map(Number);
        const nearest = (at: number): number => stops.reduce((best, stop, i) => (Math.abs(stop - at) < Math.abs(stops[best]! - at) ? i : best), 0);
        let [from, to] = [nearest(this.low), nearest(this.high + 1)];
        if (from === to) [from, to] = to + 1 < stops.length ? [from, to + 1] : [from - 1, to];
        const found = this.#known.get(`${stops[from]}-${stops[to]! - 1}`);
        if (found !== undefined) this.#show(found);
        else if (this.reading !== null) this.#show(this.reading);
        this.#say(null, SNAPPED, true);
    }

    async #read(point: string[]): Promise<void> {
        this.settled = false;
        const asked = this.latest("read", "read", { points: [point] });
        this.tell();
        const reply = await asked;
        if (reply === null) return;
        if (reply.ok) {
            this.guard(() => {
                const [reading] = readReadings(reply.body["readings"], this.sheet!);
                if (reading === undefined) return;
                this.#known.set(`${reading.low}-${reading.high}`, reading);
                this.#show(reading);
            });
        } else if (this.gone) this.#rest();
        else {
            if (reply.error.kind !== SUPERSEDED) [this.fault, this.mistyped] = [reply.error.message, point[0] === "labels"];
            if (this.reading !== null) this.#show(this.reading);
        }
        this.tell();
    }

    async #move(place: Record<string, string>): Promise<void> {
        if (!this.mistyped) this.fault = null;
        const reply = await this.latest("move", "move", { place });
        if (reply === null) return;
        if (!reply.ok && reply.error.kind !== SUPERSEDED) this.#say(reply.error.message); // else the sheet came before
        this.tell();
    }
}
