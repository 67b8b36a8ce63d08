/** Sorted counts, noisy and fitted: true counts hatched, blocks that were pooled as flat steps, bands around them. */

import { scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { bottomAxis, leftAxis, line, px, roomFor, svg } from "./frame";

export interface Step {
    start: number;
    length: number;
    value: number;
}

export interface Band {
    /** Classes of its edge: how wide a line, and what is known of it. */
    kind: string;
    low: readonly Step[];
    high: readonly Step[];
}

export interface Isotonic {
    title: string;
    /** How many positions there are. */
    size: number;
    /** Of public or made-up counts; nothing else has any to show. */
    truth: readonly Step[] | null;
    /** Noisy values: the least and the greatest of each stretch of `every` positions. */
    noisy: readonly (readonly [number, number])[];
    every: number;
    fitted: readonly Step[];
    bands: readonly Band[];
    /** Positions, from 0, whose noisy value is below the one before. */
    falls: readonly number[];
    axis: string;
}

/** A drawn chart, and where its positions are. */
export interface Drawn {
    element: SVGSVGElement;
    /** The position, from 0, at this distance from the left edge; null beside the plot. */
    at(x: number): number | null;
    /** The left edge of a position; of the one after the last, the right end of the plot. */
    left(position: number): number;
    top: number;
    bottom: number;
}

/** Up to so many positions a noisy value is a dot. */
export const DOTS = 300;
const CROSS = "M-3.5 -3.5L3.5 3.5M-3.5 3.5L3.5 -3.5";

let hatches = 0;

export const isotonicChart = (width: number, height: number, data: Isotonic): SVGSVGElement => drawIsotonic(width, height, data).element;

export function drawIsotonic(width: number, height: number, data: Isotonic): Drawn {
    const { size, truth, noisy, every, fitted, bands } = data;
    const values = [...(truth ?? []), ...fitted, ...bands.flatMap(({ low, high }) => [...low, ...high])].map(({ value }) => value);
    const all = [0, ...values, ...noisy.flat()];
    const [low, high] = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
    const box = { left: 52, right: width - 10, top: 12, bottom: height - 38 };
    const y = scaleLinear().domain([low, Math.max(high, low + 1)]).nice().range([box.bottom, box.top]);
    const levels = y.ticks(Math.max(2, Math.floor(height / 60)));
    box.left = roomFor(levels, box.left);
    const x = scaleLinear().domain([0.5, size + 0.5]).range([box.left, box.right]);
    const left = (position: number): number => x(position + 0.5);
    hatches += 1;
    const hatch = `dp-isotonic-${hatches}`;
    const chart = svg(
        width,
        height,
        data.title,
        s("defs", {}, s("pattern", { id: hatch, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, line(0, 0, 0, 7, "dp-hatch-line"))),
        leftAxis(box, { at: y, values: levels }),
    );
    for (const band of bands) {
        const d = `${steps(band.high, left, y, "M")}${steps([...band.low].reverse(), left, y, "L", true)}Z`;
        chart.append(s("path", { d, class: "dp-band" }), s("path", { d: steps(band.high, left, y, "M") + steps(band.low, left, y, "M"), class: `dp-band-step ${band.kind}` }));
    }
    const base = y(0);
    if (truth !== null) chart.append(
        s("path", { d: `M${px(box.left)} ${px(base)}${steps(truth, left, y, "L")}V${px(base)}Z`, class: "dp-public", fill: `url(#${hatch})` }),
        s("path", { d: steps(truth, left, y, "M"), class: "dp-public-top" }),
    );
    noisy.forEach(([least, most], i) => {
        const at = x(Math.min(size, every * i + (every + 1) / 2));
        if (size <= DOTS) chart.append(s("circle", { cx: px(at), cy: px(y(most)), r: size <= 40 ? 3.5 : size <= 120 ? 2.5 : 1.5, class: "dp-noisy-dot" }));
        else chart.append(line(at, y(least), at, Math.min(y(most), y(least) - 1), "dp-noisy-column"));
    });
    chart.append(s("path", { d: steps(fitted, left, y, "M"), class: "dp-fitted-step" }));
    if (size <= DOTS) {
        for (const { start, length, value } of fitted) {
            if (length > 1) for (const end of [start, start + length]) chart.append(line(left(end), y(value) - 4, left(end), y(value) + 4, "dp-fitted-end"));
        }
        for (const fall of data.falls) {
            const value = noisy[fall]?.[1];
            if (value !== undefined && size <= 40) chart.append(s("path", { d: CROSS, class: "dp-fall", transform: `translate(${px(x(fall + 1))} ${px(y(value) - 11)})` }));
        }
    }
    const ticks = [...new Set([1, ...x.ticks(Math.max(2, Math.floor((box.right - box.left) / 60)))])].filter((tick) => Number.isInteger(tick) && tick >= 1 && tick <= size);
    chart.append(bottomAxis(box, { at: x, values: ticks }, data.axis));
    return {
        element: chart,
        at: (place) => (place < box.left || place > box.right ? null : Math.min(size - 1, Math.floor(x.invert(place) - 0.5))),
        left,
        top: box.top,
        bottom: box.bottom,
    };
}

/** Flat steps from left to right, or from right to left. */
function steps(all: readonly Step[], left: (position: number) => number, y: (value: number) => number, begin: "M" | "L", backward = false): string {
    return all
        .map(({ start, length, value }, i) => {
            const [from, to] = backward ? [left(start + length), left(start)] : [left(start), left(start + length)];
            return `${i === 0 ? begin : "L"}${px(from)} ${px(y(value))}H${px(to)}`;
        })
        .join("");
}
