/**
 * An ordered domain as one mark for each stretch of bins, and a brush over it.
 *
 * The marks are drawn once for each width; a brush that moves changes three shapes and nothing else.
 */

import { scaleLinear } from "d3-scale";
import { s, setAttribute } from "../dom/dom";
import { bottomAxis, leftAxis, line, px, roomFor, svg } from "./frame";

export interface Overview {
    title: string;
    /** Where stretches begin, and where the last one ends, in bins. */
    edges: readonly number[];
    values: readonly number[];
    truth: readonly number[] | null;
    one: number;
    all: number;
    ticks: readonly { at: number; label: string }[];
    axis: string;
}

export interface Brushed {
    element: SVGSVGElement;
    /** Show the range from one bin up to another, the second not included. */
    brush(from: number, to: number): void;
    /** The bin under a place on the screen. */
    binAt(clientX: number): number;
    left: number;
    right: number;
}

const MARGIN = { left: 56, right: 12 };
const HANDLE = { width: 9, height: 26 };

let hatches = 0;

export function overviewChart(width: number, height: number, data: Overview): Brushed {
    const { edges, values, truth, one, all } = data;
    const box = { left: MARGIN.left, right: width - MARGIN.right, top: 10, bottom: height - 38 };
    const top = Math.max(1, ...values.map((value) => value + one), ...(truth ?? []));
    const least = Math.min(0, ...values.map((value) => value - one));
    const y = scaleLinear().domain([least, top]).nice().range([box.bottom, box.top]).clamp(true);
    const levels = y.ticks(Math.max(2, Math.floor(height / 60)));
    box.left = roomFor(levels, MARGIN.left);
    const [first, last] = [edges[0]!, edges.at(-1)!];
    const x = scaleLinear().domain([first, last]).range([box.left, box.right]).clamp(true);
    const columns = merged(data, x, box.right - box.left);
    hatches += 1;
    const hatch = `dp-overview-${hatches}`;
    const band = (off: number): string => columns.map(({ at, low, high }) => `M${px(at)} ${px(y(low - off))}V${px(y(high + off))}`).join("");
    const pitch = Math.max(1, (box.right - box.left) / Math.max(1, columns.length) - (columns.length > 150 ? 0 : 1));
    const marks = (off: number, kind: string): SVGPathElement => s("path", { d: band(off), class: `dp-column ${kind}`, "stroke-width": px(Math.min(6, pitch)) });
    const ticked = columns.map(({ at, low, high }) => `M${px(at)} ${px(y(high) - 1)}V${px(y(low) + 1)}`).join("");
    const shade = s("rect", { y: box.top, height: box.bottom - box.top, class: "dp-brush" });
    const ends = [line(0, box.top, 0, box.bottom, "dp-probe"), line(0, box.top, 0, box.bottom, "dp-probe")];
    const grips = ends.map(() => s("rect", { y: px((box.top + box.bottom - HANDLE.height) / 2), width: HANDLE.width, height: HANDLE.height, rx: 4, class: "dp-grip" }));
    const base = y(Math.max(0, least));
    const chart = svg(
        width,
        height,
        data.title,
        s("defs", {}, s("pattern", { id: hatch, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, line(0, 0, 0, 7, "dp-hatch-line"))),
        leftAxis(box, { at: y, values: levels }),
        ...(truth === null ? [] : [s("path", { d: `M${px(box.left)} ${px(base)}${truth.map((value, i) => `L${px(x(edges[i]!))} ${px(y(value))}H${px(x(edges[i + 1]!))}`).join("")}V${px(base)}Z`, class: "dp-public", fill: `url(#${hatch})` })]),
        shade,
        marks(all, "dp-column-all"),
        marks(one, "dp-column-one"),
        s("path", { d: ticked, class: "dp-column dp-column-value", "stroke-width": px(Math.min(6, pitch)) }),
        bottomAxis(box, { at: x, values: data.ticks.map(({ at }) => at), text: (at) => data.ticks.find((tick) => tick.at === at)?.label ?? "" }, data.axis),
        ...ends,
        ...grips,
    );
    chart.classList.add("dp-overview");
    return {
        element: chart,
        left: box.left,
        right: box.right,
        brush(from, to) {
            const [a, b] = [x(from), x(to)];
            setAttribute(shade, "x", px(a));
            setAttribute(shade, "width", px(Math.max(1, b - a)));
            [a, b].forEach((at, i) => {
                setAttribute(ends[i]!, "x1", px(at));
                setAttribute(ends[i]!, "x2", px(at));
                setAttribute(grips[i]!, "x", px(at - HANDLE.width / 2));
            });
        },
        binAt(clientX) {
            const frame = chart.getBoundingClientRect();
            const scale = frame.width > 0 ? width / frame.width : 1;
            return Math.floor(x.invert((clientX - frame.left) * scale));
        },
    };
}

interface Mark {
    at: number;
    low: number;
    high: number;
}

/** One mark for each pixel column at most: where several stretches share one, from the least to the greatest value. */
function merged({ edges, values }: Overview, x: (bin: number) => number, room: number): Mark[] {
    const marks: Mark[] = [];
    const fine = values.length > room;
    values.forEach((value, i) => {
        const at = (x(edges[i]!) + x(edges[i + 1]!)) / 2;
        const mark = marks.at(-1);
        if (fine && mark !== undefined && Math.floor(mark.at) === Math.floor(at)) {
            mark.low = Math.min(mark.low, value);
            mark.high = Math.max(mark.high, value);
        } else marks.push({ at, low: value, high: value });
    });
    return marks;
}
