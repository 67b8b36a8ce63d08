/** The parts that charts share: margins, ticks, labels that keep out of each other's way. */

import { s } from "../dom/dom";
import { MINUS } from "../wording/words";

export interface Box {
    left: number;
    right: number;
    top: number;
    bottom: number;
}

/** Mean advance of a figure at 11 px in the interface font; generous, so that boxes err on the wide side. */
const ADVANCE = 6.3;

export const textWidth = (text: string): number => text.length * ADVANCE;

/** Of words in bold. */
const boldWidth = (text: string): number => 1.14 * textWidth(text);

export const px = (value: number): string => value.toFixed(1).replace(/\.0$/, "");

/** A tick's number: thousands with commas, a true minus sign, no float dust. */
export function tickText(value: number): string {
    const text =
        Math.abs(value) >= 1
            ? Number(value.toPrecision(12)).toLocaleString("en-US")
            : String(Number(value.toPrecision(3)));
    return text.replace("-", MINUS);
}

/** The least of 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten that is at least `value`. */
export function niceCeiling(value: number): number {
    if (!(value > 0)) return 1;
    const power = 10 ** Math.floor(Math.log10(value));
    const step = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((k) => k * power >= value * (1 - 1e-9)) ?? 10;
    return step * power;
}

export function svg(width: number, height: number, title: string, ...children: (Node | null)[]): SVGSVGElement {
    return s(
        "svg",
        { class: "dp-chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title },
        s("title", {}, title),
        ...children,
    );
}

export function label(
    x: number,
    y: number,
    text: string,
    anchor: "start" | "middle" | "end" = "start",
    kind = "",
): SVGTextElement {
    return s("text", { x: px(x), y: px(y), "text-anchor": anchor, class: `dp-label ${kind}`.trim() }, text);
}

export const line = (x1: number, y1: number, x2: number, y2: number, kind: string): SVGLineElement =>
    s("line", { x1: px(x1), y1: px(y1), x2: px(x2), y2: px(y2), class: kind });

/** Room for the widest label left of a plot, and no less than `least`. */
export const roomFor = (values: readonly number[], least: number): number => Math.max(least, ...values.map((value) => textWidth(tickText(value)) + 10));

export interface Ticks {
    at: (value: number) => number;
    values: readonly number[];
    text?: (value: number) => string;
}

/** Labels left of the plot, with a faint line across it at each. */
export function leftAxis(box: Box, { at, values, text = tickText }: Ticks): SVGGElement {
    return s(
        "g",
        {},
        ...values.flatMap((value) => {
            const y = at(value);
            return [
                line(box.left, y, box.right, y, "dp-grid"),
                label(box.left - 6, y + 4, text(value), "end", "dp-tick"),
            ];
        }),
    );
}

/** Every chart leaves at least so much room right of its plot. */
const BESIDE = 4;

/** The middle of words that would like to be at `x` and stay in a picture with a plot that ends at `right`. */
const kept = (x: number, half: number, right: number): number => Math.max(half + 1, Math.min(x, right + BESIDE - half));

/** The line under the plot, short strokes below it, labels that stay in the picture and leave out any they would touch. */
export function bottomAxis(box: Box, { at, values, text = tickText }: Ticks, name: string): SVGGElement {
    const axis = s("g", {}, line(box.left, box.bottom, box.right, box.bottom, "dp-axis"));
    let free = -Infinity;
    for (const value of values) {
        const [x, words] = [at(value), text(value)];
        axis.append(line(x, box.bottom, x, box.bottom + 5, "dp-axis"));
        const half = textWidth(words) / 2;
        const middle = kept(x, half, box.right);
        if (middle - half < free) continue;
        axis.append(label(middle, box.bottom + 17, words, "middle", "dp-tick"));
        free = middle + half + 6;
    }
    if (name) {
        const most = Math.floor((box.right + BESIDE) / ADVANCE);
        const words = name.length > most ? `${name.slice(0, most - 1)}…` : name;
        axis.append(label(kept((box.left + box.right) / 2, textWidth(words) / 2, box.right), box.bottom + 32, words, "middle", "dp-tick"));
    }
    return axis;
}

export interface Spot {
    x: number;
    y: number;
    anchor: "start" | "end";
}

type Point = readonly [x: number, y: number];

/** A label that is further from what it names has a line that leads there. */
const LEADS = 12;
/** A line that leads further would not be followed. */
const TOO_FAR = 44;

/** Places labels one by one, each at its first spot that touches no earlier one and stays inside the chart. */
export class Labels {
    readonly #taken: Box[] = [];
    #forbidden: readonly Box[] = [];
    readonly #within: Box;

    constructor(within: Box) {
        this.#within = within;
    }

    static box(spot: Spot, text: string, kind = ""): Box {
        const width = kind === "dp-strong" ? boldWidth(text) : textWidth(text);
        const left = spot.anchor === "start" ? spot.x : spot.x - width;
        return { left: left - 2, right: left + width + 2, top: spot.y - 10, bottom: spot.y + 3 };
    }

    take(box: Box): void {
        this.#taken.push(box);
    }

    /** Place something that would be taken for another's if it stood in these boxes. */
    apart<T>(boxes: readonly Box[], place: () => T): T {
        this.#forbidden = boxes;
        const placed = place();
        this.#forbidden = [];
        return placed;
    }

    /** No label touches the line through these points. */
    takeLine(points: readonly Point[]): void {
        points.slice(1).forEach(([a, b], i) => {
            const [from, level] = points[i]!;
            const pieces = Math.max(1, Math.ceil(Math.max(Math.abs(a - from), Math.abs(b - level)) / 8));
            for (let k = 0; k < pieces; k += 1) {
                const [one, two] = [k / pieces, (k + 1) / pieces];
                const [x1, x2] = [from + one * (a - from), from + two * (a - from)];
                const [y1, y2] = [level + one * (b - level), level + two * (b - level)];
                this.take({ left: Math.min(x1, x2), right: Math.max(x1, x2), top: Math.min(y1, y2) - 2, bottom: Math.max(y1, y2) + 2 });
            }
        });
    }

    /** No label touches a mark here. */
    takeMark(x: number, y: number, radius: number): void {
        this.take({ left: x - radius, right: x + radius, top: y - radius, bottom: y + radius });
    }

    /** Whether nothing is in this box, and it lies inside the chart from left to right. */
    free(box: Box): boolean {
        return (
            box.left >= this.#within.left &&
            box.right <= this.#within.right &&
            [...this.#taken, ...this.#forbidden].every(
                (other) => box.right < other.left || box.left > other.right || box.bottom < other.top || box.top > other.bottom,
            )
        );
    }

    place(text: string, kind: string, spots: readonly Spot[], must = false): SVGTextElement | null {
        const spot = spots.find((one) => this.free(Labels.box(one, text, kind))) ?? (must ? spots[0] : undefined);
        return spot === undefined ? null : this.#put(text, kind, spot);
    }

    /** At the first of these spots that is free and lies in this part of the chart; else as near to these points as there
     * is room in it, where a thin line `leads` to them. */
    beside(text: string, kind: string, part: Box, spots: readonly Spot[], points: readonly Point[], leads = true): SVGElement[] {
        const inside = (box: Box): boolean => box.top >= part.top - 13 && box.bottom <= part.bottom && box.left >= part.left - 2 && this.free(box);
        const spot = spots.find((one) => inside(Labels.box(one, text, kind)));
        if (spot !== undefined) return [this.#put(text, kind, spot)];
        let best: { spot: Spot; from: Point; to: Point; far: number } | null = null;
        const most = leads ? TOO_FAR : Infinity;
        for (let y = part.top + 8; y <= part.bottom - 3; y += 4)
            for (let x = part.left; x <= this.#within.right; x += 6) {
                const one: Spot = { x, y, anchor: "start" };
                const box = Labels.box(one, text, kind);
                if (!inside(box)) continue;
                for (const to of points) {
                    const from: Point = [Math.max(box.left, Math.min(box.right, to[0])), Math.max(box.top, Math.min(box.bottom, to[1]))];
                    const far = Math.hypot(from[0] - to[0], from[1] - to[1]);
                    if (far < (best?.far ?? most) && (!leads || this.#clear(from, to, far))) best = { spot: one, from, to, far };
                }
            }
        if (best === null) return [];
        const named = this.#put(text, kind, best.spot);
        return !leads || best.far <= LEADS ? [named] : [line(...best.from, ...best.to, "dp-leader"), named];
    }

    /** Whether nothing lies between, but for what is named, at its end. */
    #clear(from: Point, to: Point, far: number): boolean {
        for (let gone = 0; gone < far - 5; gone += 2) {
            const [x, y] = [from[0] + (gone / far) * (to[0] - from[0]), from[1] + (gone / far) * (to[1] - from[1])];
            if (this.#taken.some(({ left, right, top, bottom }) => x > left && x < right && y > top && y < bottom)) return false;
        }
        return true;
    }

    #put(text: string, kind: string, spot: Spot): SVGTextElement {
        this.take(Labels.box(spot, text, kind));
        return label(spot.x, spot.y, text, spot.anchor, kind);
    }
}
