/** The readings of a few bins in one draw, beside their counts: public or made-up ones only, violet and hatched. */

import { scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { powers } from "../wording/powers";
import { shown } from "../wording/words";
import { label, line, niceCeiling, px, svg, textWidth, tickText } from "./frame";
import { hatch } from "./hatch";

export interface ReadsData {
    title: string;
    /** Empty where no words fit. */
    names: readonly string[];
    counts: readonly number[];
    reads: readonly (number | null)[];
    moved: readonly boolean[];
    axis: ReadsAxis;
    /** Room for the longest of all readings. */
    room: number;
}

/** One scale for all pictures that stand side by side, whatever the noise: what lies beyond is marked at its end. */
export interface ReadsAxis {
    low: number;
    high: number;
}

const PITCH = 20;
const SMALL = 8;
const NAME = 13;

/** The axis of these counts; with room below 0 where some bin may read less. */
export function readsAxis(counts: readonly number[], negative: boolean): ReadsAxis {
    const high = niceCeiling(1.4 * Math.max(...counts));
    return { low: negative ? -high / 5 : 0, high };
}

export const readText = (value: number | null): string => (value === null ? "not shown" : Math.abs(value) < 1e15 ? shown(String(value)) : powers(value));

export function readsChart(width: number, data: ReadsData): SVGSVGElement {
    const { counts, reads, moved, axis } = data;
    const wordy = data.names.length > 0;
    const pitch = wordy ? PITCH : SMALL;
    const names = data.names.map((name) => (name.length > NAME ? `${name.slice(0, NAME - 1)}…` : name));
    const left = wordy ? Math.max(24, ...names.map((name) => 1.15 * textWidth(name))) + 12 : 4;
    const box = { left, right: Math.max(left + 20, width - (wordy ? data.room + 14 : 4)), top: 2, bottom: 2 + counts.length * pitch };
    const x = scaleLinear().domain([axis.low, axis.high]).range([box.left, box.right]).clamp(true);
    const middle = (row: number): number => box.top + (row + 0.5) * pitch;
    const thick = pitch / 2;
    const { id, node } = hatch(wordy ? 6 : 4);
    return svg(
        width,
        box.bottom + (wordy ? 18 : 2),
        data.title,
        node,
        ...(wordy
            ? [0, axis.high].flatMap((value) => [
                  line(x(value), box.top, x(value), box.bottom, "dp-grid"),
                  label(x(value), box.bottom + 14, tickText(value), "middle", "dp-tick"),
              ])
            : [line(x(0), box.top, x(0), box.bottom, "dp-grid")]),
        ...counts.flatMap((count, row) => {
            const value = reads[row]!;
            const bar = s("rect", { x: px(x(0)), y: px(middle(row) - thick / 2), width: px(x(count) - x(0)), height: thick, fill: `url(#${id})`, class: "dp-truth" });
            const words = wordy ? [label(box.left - 12, middle(row) + 4, names[row]!, "end"), label(width - 2, middle(row) + 4, readText(value), "end", moved[row] ? "dp-out-of-order" : "")] : [];
            return [bar, ...words, value === null ? null : mark(x(value), middle(row), wordy ? 4 : 2.4, value > axis.high ? 1 : value < axis.low ? -1 : 0, moved[row]!)];
        }),
    );
}

/** A circle, or a point towards what lies beyond the axis; filled where it is out of order. */
function mark(x: number, y: number, size: number, beyond: number, moved: boolean): SVGElement {
    const kind = moved ? "dp-plan-dot dp-moved-dot" : "dp-plan-dot";
    if (beyond === 0) return s("circle", { cx: px(x), cy: px(y), r: size, class: kind });
    return s("path", { d: `M${px(x)} ${px(y - size)}L${px(x + beyond * 1.5 * size)} ${px(y)}L${px(x)} ${px(y + size)}Z`, class: kind });
}
