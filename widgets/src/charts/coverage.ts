/**
 * Draws beside the truth, which is public: true counts hatched, drawn ones as dots, and how far each draw is off.
 *
 * Where an interval misses the true count there is a hollow ring with a cross. All draws of a lesson share one scale.
 */

import { scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import type { Lesson, Reach, Seen } from "../protocol/lesson";
import { label, leftAxis, line, niceCeiling, px, roomFor, svg, textWidth, tickText, type Box } from "./frame";
import { hatch } from "./hatch";

/** A lesson as numbers for pictures, read once for all its draws. */
export interface Drawn {
    labels: readonly string[];
    axis: string;
    nouns: string;
    /** Whether a column is one bin. */
    single: boolean;
    truth: Ends;
    draws: readonly DrawnOne[];
    /** The highest count on show, and how far from the truth the marks reach. */
    top: number;
    reach: number;
}

interface DrawnOne {
    draw: number;
    values: Ends;
    one: Ends | null;
    all: Ends | null;
    missed: ReadonlySet<number>;
    /** In how many bins of each column the interval misses, where a column holds several. */
    times: ReadonlyMap<number, number>;
    missedAll: ReadonlySet<number>;
}

interface Ends {
    low: readonly number[];
    high: readonly number[];
}

const near = (numbers: readonly (string | null)[], open: number): number[] => numbers.map((text) => (text === null ? open : Number(text)));
const endsOf = ({ low, high }: Reach): Ends => ({ low: near(low, -Infinity), high: near(high ?? low, Infinity) });

export function drawnOf(lesson: Lesson): Drawn {
    const truth = endsOf(lesson.truth!);
    const draws = lesson.shown.map((seen) => oneOf(seen, lesson));
    const single = lesson.truth!.high === null;
    let [top, reach] = [1, 1];
    for (const high of [truth.high, ...draws.map(({ values }) => values.high)]) for (const value of high) top = Math.max(top, value);
    for (const { values, one, all } of draws)
        for (const { low, high } of [values, one ?? values, all ?? values])
            low.forEach((from, i) => {
                for (const off of [from - truth.high[i]!, high[i]! - truth.low[i]!]) if (Number.isFinite(off)) reach = Math.max(reach, Math.abs(off));
            });
    return { labels: lesson.truth!.labels, axis: lesson.axis, nouns: lesson.nouns, single, truth, draws, top, reach };
}

function oneOf(seen: Seen, lesson: Lesson): DrawnOne {
    const { missed, missed_all } = lesson.draws[Number(seen.draw) - 1]!;
    return {
        draw: Number(seen.draw),
        values: endsOf(seen.values),
        one: seen.one === null ? null : endsOf(seen.one),
        all: seen.all === null ? null : endsOf(seen.all),
        missed: new Set(missed?.columns),
        times: new Map(missed?.columns.map((column, i) => [column, missed.times[i]!])),
        missedAll: new Set(missed_all?.columns),
    };
}

/** The true counts with one draw beside them, and below how far that draw is off. `draw` is null where there is none. */
export function coverageChart(width: number, data: Drawn, draw: DrawnOne | null, picked: number, title: string): SVGSVGElement {
    const count = data.labels.length;
    const y = scaleLinear().domain([0, data.top]).nice(4).range([156, 26]);
    const left = Math.max(roomFor(y.ticks(4), 36), roomFor([-data.reach], 36));
    const upper: Box = { left, right: width - 10, top: 26, bottom: 156 };
    const step = (upper.right - upper.left) / count;
    const at = (column: number): number => upper.left + (column + 0.5) * step;
    const bottom = draw === null ? upper.bottom : 330;
    const chart = svg(width, bottom + 40, title);
    const { id, node } = hatch();
    chart.append(node);
    if (picked >= 0) chart.append(s("rect", { x: px(at(picked) - Math.max(5, step / 2)), y: 22, width: px(Math.max(10, step)), height: bottom - 20, class: "dp-picked" }));
    chart.append(label(0, 14, `${data.nouns}, true${draw === null ? "" : " and drawn"}`, "start", "dp-tick"), leftAxis(upper, { at: y, values: y.ticks(4) }));
    const wide = step > 4 ? Math.min(step * 0.78, 64) : step;
    const bars = data.truth.high.map((high, i) => `M${px(at(i) - wide / 2)} ${px(y(0))}V${px(y(high))}H${px(at(i) + wide / 2)}V${px(y(0))}Z`);
    chart.append(s("path", { d: bars.join(""), class: step < 4 ? "dp-truth dp-fine" : "dp-truth", fill: `url(#${id})` }));
    if (draw !== null) {
        chart.append(dots(data, at, (column) => y(draw.values.high[column]!), step));
        const lower: Box = { ...upper, top: 196, bottom };
        if (data.single) {
            const off = scaleLinear().domain([-data.reach, data.reach]).range([lower.bottom, lower.top]);
            chart.append(label(0, 184, "drawn minus true", "start", "dp-tick"), leftAxis(lower, { at: off, values: off.ticks(5), text: signed }));
            chart.append(...errors(data, draw, at, off, step, Math.min(3.4, Math.max(1.4, step * 0.45))));
        } else {
            const most = niceCeiling(Math.max(1, ...draw.times.values()));
            const high = scaleLinear().domain([0, most]).range([lower.bottom, lower.top]);
            chart.append(label(0, 184, "bins missed, of those in one column", "start", "dp-tick"), leftAxis(lower, { at: high, values: high.ticks(4).filter(Number.isInteger) }));
            chart.append(missedBins(draw, at, high, wide));
        }
    }
    chart.append(names(data, upper.left, upper.right, step, at, bottom));
    return chart;
}

/** The same draw small, beside others: how far it is off, on the scale that all of them share. */
export function smallCoverage(width: number, height: number, data: Drawn, draw: DrawnOne, title: string): SVGSVGElement {
    const chart = svg(width, height, title);
    const step = (width - 8) / data.labels.length;
    const at = (column: number): number => 4 + (column + 0.5) * step;
    if (data.single) {
        const off = scaleLinear().domain([-data.reach, data.reach]).range([height - 4, 4]);
        chart.append(...errors(data, { ...draw, all: null }, at, off, step, Math.min(2.4, Math.max(0.8, step * 0.5))));
    } else {
        const most = Math.max(1, ...data.draws.flatMap(({ times }) => [...times.values()]));
        const high = scaleLinear().domain([0, most]).range([height - 4, 4]);
        chart.append(line(4, height - 4, width - 4, height - 4, "dp-axis"), missedBins(draw, at, high, Math.max(1.4, step)));
    }
    return chart;
}

function dots(data: Drawn, at: (column: number) => number, y: (column: number) => number, step: number): SVGElement {
    if (!data.single || step < 3)
        return s("path", { d: data.labels.map((_, i) => `${i === 0 ? "M" : "L"}${px(at(i))} ${px(y(i))}`).join(""), class: "dp-drawn-line" });
    const r = px(Math.max(1.5, Math.min(4, step * 0.3)));
    return s("g", {}, ...data.labels.map((_, i) => s("circle", { cx: px(at(i)), cy: px(y(i)), r, class: "dp-drawn" })));
}

/** The error of each bin, with both intervals: thick for itself alone, thin with caps among all. */
function errors(data: Drawn, draw: DrawnOne, at: (column: number) => number, y: (off: number) => number, step: number, thick: number): SVGElement[] {
    const cap = Math.min(4, step * 0.28);
    const clip = (off: number): number => y(Math.max(-data.reach, Math.min(data.reach, off)));
    const stroke = (ends: Ends | null, caps: boolean): string =>
        (ends?.low ?? [])
            .map((low, i) => {
                const [a, b] = [clip(low - data.truth.low[i]!), clip(ends!.high[i]! - data.truth.low[i]!)];
                const bar = `M${px(at(i))} ${px(a)}V${px(b)}`;
                if (!caps || cap < 1.2) return bar;
                const edge = (up: number): string => `M${px(at(i) - cap)} ${px(up)}H${px(at(i) + cap)}`;
                return bar + (low === 0 ? "" : edge(a)) + edge(b); // cut at 0 is no end of a bar
            })
            .join("");
    const middle = (i: number): number => y(draw.values.high[i]! - data.truth.low[i]!);
    const marks = [
        line(at(0) - step / 2, y(0), at(data.labels.length - 1) + step / 2, y(0), "dp-true-line"),
        s("path", { d: stroke(draw.all, true), class: "dp-drawn-all" }),
        s("path", { d: stroke(draw.one, false), class: "dp-drawn-one", "stroke-width": px(thick) }),
    ];
    if (step >= 5) {
        const r = px(Math.max(1.4, Math.min(3.4, step * 0.3)));
        for (const i of data.labels.keys()) marks.push(s("circle", { cx: px(at(i)), cy: px(middle(i)), r, class: "dp-drawn" }) as never);
    }
    const ring = Math.max(3.5, Math.min(7, step * 0.7));
    for (const i of draw.missed) marks.push(miss(at(i), middle(i), draw.missedAll.has(i) ? ring * 1.5 : ring) as never);
    return marks;
}

/** A hollow ring with a cross on it. */
function miss(x: number, y: number, r: number): SVGElement {
    const d = r * 0.6;
    const cross = `M${px(x - d)} ${px(y - d)}L${px(x + d)} ${px(y + d)}M${px(x - d)} ${px(y + d)}L${px(x + d)} ${px(y - d)}`;
    return s("g", { class: "dp-miss" }, s("circle", { cx: px(x), cy: px(y), r: px(r) }), s("path", { d: cross }));
}

function missedBins(draw: DrawnOne, at: (column: number) => number, y: (bins: number) => number, wide: number): SVGElement {
    const bars = [...draw.times].map(([i, bins]) => `M${px(at(i) - wide / 2)} ${px(y(0))}V${px(y(bins))}H${px(at(i) + wide / 2)}V${px(y(0))}Z`);
    return s("path", { d: bars.join(""), class: "dp-missed-bins" });
}

const signed = (value: number): string => (value > 0 ? `+${tickText(value)}` : tickText(value));
const FEW = 12;

/** The labels under the columns: of a few bins all of them, cut where they are long; of many those that fit. */
function names(data: Drawn, left: number, right: number, step: number, at: (column: number) => number, y: number): SVGElement {
    const group = s("g", {}, line(left, y, right, y, "dp-axis"));
    const most = Math.floor(step / 6.6);
    const few = data.labels.length <= FEW && most >= 3;
    let free = -Infinity;
    data.labels.forEach((name, i) => {
        const words = few && name.length > most ? `${name.slice(0, most - 1)}…` : name;
        const half = textWidth(words) / 2;
        const middle = Math.max(half + 1, Math.min(at(i), right + 8 - half));
        if (middle - half < free) return;
        group.append(label(middle, y + 16, words, "middle", "dp-tick"));
        free = middle + half + 8;
    });
    const most_ = Math.floor((right + 8) / 6.6);
    group.append(label((left + right) / 2, y + 32, data.axis.length > most_ ? `${data.axis.slice(0, most_ - 1)}…` : data.axis, "middle", "dp-tick"));
    return group;
}
