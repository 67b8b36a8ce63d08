/** Columns of bits falling through the buckets of Algorithm 4: one lane for each round, noisy means on a log axis. */

import { s } from "../dom/dom";
import { label, line, px, svg, type Box } from "./frame";

export interface Lane {
    name: string;
    note: string;
    /** Means of columns by place; hollow ones go on to the next lane. */
    dots: readonly { place: number; mean: number; stays: boolean; one: boolean }[];
    /** The value that a mean must reach to stay. */
    threshold: number | null;
    /** The standard deviation of the noise. */
    sd: number | null;
    public: boolean;
}

export interface Falling {
    title: string;
    lanes: readonly Lane[];
    /** The axis ends at 2 to this power; what lies below stands at its end. */
    lowest: number;
    axis: string;
}

const [LANE, GAP, AXIS] = [46, 20, 38];
const GOLDEN = 0.618034;
const DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

export const powerOfTwo = (power: number): string => (power === 0 ? "1" : `2⁻${[...String(-power)].map((digit) => DIGITS[Number(digit)]).join("")}`);

export const fallingHeight = (lanes: number): number => lanes * (LANE + GAP) + AXIS;

export function fallingChart(width: number, { title, lanes, lowest, axis }: Falling): SVGSVGElement {
    const height = fallingHeight(lanes.length);
    const box: Box = { left: 18, right: width - 18, top: 0, bottom: height - AXIS };
    const x = (value: number): number => {
        const power = value > 0 ? Math.max(lowest, Math.min(0, Math.log2(value))) : lowest;
        return box.left + ((power - lowest) / -lowest) * (box.right - box.left);
    };
    const chart = svg(width, height, title);
    const every = width < 420 ? 4 : 2;
    for (let power = lowest; power <= 0; power += 1) {
        if (power % every !== 0) continue;
        const at = x(2 ** power);
        const words = power === lowest ? `≤ ${powerOfTwo(power)}` : powerOfTwo(power);
        chart.append(line(at, GAP, at, box.bottom, "dp-grid"), label(at, box.bottom + 17, words, power === lowest ? "start" : power === 0 ? "end" : "middle", "dp-tick"));
    }
    chart.append(label((box.left + box.right) / 2, box.bottom + 33, axis, "middle", "dp-tick"));
    lanes.forEach((lane, i) => {
        const top = i * (LANE + GAP) + GAP;
        const bottom = top + LANE;
        chart.append(line(box.left, bottom, box.right, bottom, "dp-axis"));
        chart.append(label(box.left, top - 5, lane.name, "start", "dp-strong"));
        if (lane.sd !== null && lane.sd > 0) {
            const at = x(lane.sd);
            chart.append(s("path", { d: `M${px(at)} ${px(bottom)}l-4 7h8z`, class: "dp-noise-mark" }));
        }
        if (lane.threshold !== null) chart.append(line(x(lane.threshold), top, x(lane.threshold), bottom, "dp-threshold"));
        const kind = lane.public ? "dp-made-up" : "dp-measured";
        for (const { place, mean, stays, one } of lane.dots) {
            const up = top + 4 + ((place * GOLDEN) % 1) * (LANE - 8);
            chart.append(s("circle", { cx: px(x(mean)), cy: px(up), r: one ? 4 : 2.5, class: `${kind}${stays ? "" : " dp-falls"}${one ? " dp-drawn-one" : ""}` }));
        }
        chart.append(label(box.right, top - 5, lane.note, "end", "dp-tick"));
    });
    return chart;
}
