/** Curves over one axis with one probe: what the explorers draw. */

import { scaleLinear, scaleLog } from "d3-scale";
import { s } from "../dom/dom";
import { bottomAxis, label, Labels, leftAxis, line, px, svg, type Box, type Spot, textWidth, tickText } from "./frame";
import { path } from "./path";

/** Circle, triangle, diamond, square, plus, cross: a series has a shape, so that it is told apart without its colour. */
export const SHAPES = [
    "M-3.5 0A3.5 3.5 0 1 1 3.5 0A3.5 3.5 0 1 1 -3.5 0Z",
    "M0 -4.5L4.2 3.2H-4.2Z",
    "M0 -4.8L4.2 0L0 4.8L-4.2 0Z",
    "M-3.2 -3.2H3.2V3.2H-3.2Z",
    "M-4 -1.2H-1.2V-4H1.2V-1.2H4V1.2H1.2V4H-1.2V1.2H-4Z",
    "M-4 -2.4L-2.4 -4L0 -1.6L2.4 -4L4 -2.4L1.6 0L4 2.4L2.4 4L0 1.6L-2.4 4L-4 2.4L-1.6 0Z",
];

export interface Series {
    name: string;
    xs: readonly number[];
    ys: readonly number[];
    /** Classes of the curve: its width and what is known of it. */
    kind: string;
    /** From 1 on: a colour and a shape. */
    colour?: number;
    step?: boolean;
}

export interface Scale {
    low: number;
    high: number;
    log: boolean;
    name: string;
    text?: (value: number) => string;
}

export interface Lines {
    title: string;
    x: Scale;
    y: Scale;
    series: readonly Series[];
    /** Where the reader looks, and what stands there. */
    probe?: { at: number; dots: readonly number[] } | null;
    /** A line that means something by itself, such as a crossover. */
    mark?: { at: number; name: string } | null;
    /** Room right of the plot, where each series is named at its end; without it names find room inside. */
    margin?: number;
    /** A flat shade between two curves, under all else. */
    area?: { xs: readonly number[]; low: readonly number[]; high: readonly number[] } | null;
    /** Words that stand in the plot, at these values of both axes. */
    notes?: readonly { x: number; y: number; text: string }[];
}

type At = (value: number) => number;

export function linesChart(width: number, height: number, data: Lines): SVGSVGElement {
    const box: Box = { left: 48, right: width - (data.margin ?? 18), top: 14, bottom: height - 38 };
    const [, levels] = scaled(data.y, [box.bottom, box.top], Math.max(2, Math.floor(height / 45)));
    box.left = Math.max(box.left, ...levels.map((level) => textWidth((data.y.text ?? tickText)(level)) + 10));
    const [x, xTicks] = scaled(data.x, [box.left, box.right], Math.max(2, Math.floor(width / 70)));
    const [y, yTicks] = scaled(data.y, [box.bottom, box.top], Math.max(2, Math.floor(height / 45)));
    const chart = svg(
        width,
        height,
        data.title,
        leftAxis(box, { at: y, values: yTicks, ...(data.y.text ? { text: data.y.text } : {}) }),
        bottomAxis(box, { at: x, values: xTicks, ...(data.x.text ? { text: data.x.text } : {}) }, data.x.name),
    );
    const labels = new Labels({ ...box, left: box.left + 2, right: width });
    if (data.area) {
        const { xs, low, high } = data.area;
        const way = [...xs.map((at, i) => `${px(x(at))} ${px(y(low[i]!))}`), ...xs.map((at, i) => `${px(x(at))} ${px(y(high[i]!))}`).reverse()];
        if (xs.length > 1) chart.append(s("path", { d: `M${way.join("L")}Z`, class: "dp-shade" }));
    }
    const drawn = data.series.map((series) => ({ series, points: pointsOf(series, x, y, data) }));
    for (const { series, points } of drawn) {
        chart.append(curve(series, points));
        for (const part of parts(points, series.step ?? false)) labels.takeLine(part);
        for (const at of marksOf(series, points)) labels.takeMark(...at, 4);
    }
    if (data.probe) {
        const at = x(data.probe.at);
        chart.append(line(at, box.top, at, box.bottom, "dp-probe"));
        labels.take({ left: at - 3, right: at + 3, top: box.top, bottom: box.bottom });
        for (const value of data.probe.dots) {
            chart.append(s("circle", { cx: px(at), cy: px(y(value)), r: 4, class: "dp-plan-dot" }));
            labels.takeMark(at, y(value), 5);
        }
    }
    if (data.mark && data.mark.at >= data.x.low && data.mark.at <= data.x.high) {
        const at = x(data.mark.at);
        chart.append(line(at, box.top, at, box.bottom, "dp-crossover"));
        labels.takeLine([[at, box.top], [at, box.bottom]]);
        if (data.mark.name !== "") {
            const levels = [box.bottom - 6, box.top + 10, ...Array.from({ length: 12 }, (_, i) => box.bottom - 6 - ((i + 1) * (box.bottom - box.top)) / 14)];
            const spots = levels.flatMap((level): Spot[] => [{ x: at + 5, y: level, anchor: "start" }, { x: at - 5, y: level, anchor: "end" }]);
            chart.append(...labels.beside(data.mark.name, "dp-tick", box, spots, [[at, (box.top + box.bottom) / 2]]));
        }
    }
    for (const note of data.notes ?? []) {
        const [at, level] = [x(note.x), y(note.y)];
        const spots: Spot[] = [{ x: at, y: level, anchor: "start" }, { x: box.right - 4, y: level, anchor: "end" }];
        chart.append(...labels.beside(note.text, "dp-tick", { ...box, right: box.right + 4 }, spots, [[at, level]], false));
    }
    if (data.margin === undefined) for (const { series, points } of drawn) chart.append(...nameOf(series, points, labels, box));
    else chart.append(...endNames(data.series, box, y, data));
    return chart;
}

function scaled({ low, high, log }: Scale, range: [number, number], ticks: number): [At, number[]] {
    if (!log) {
        const scale = scaleLinear().domain([low, high]).range(range).clamp(true);
        return [scale, scale.ticks(ticks)];
    }
    const scale = scaleLog().domain([low, high]).range(range).clamp(true);
    const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
    const every = Math.max(1, Math.ceil((last - first + 1) / (ticks + 1)));
    const values: number[] = [];
    for (let power = first; power <= last; power += every) values.push(Number((10 ** power).toPrecision(3)));
    return [scale, values];
}

const drawable = (value: number, log: boolean): boolean => Number.isFinite(value) && (!log || value > 0);

type Point = readonly [number, number];

/** Where the values of a series stand; nothing where one cannot be drawn. */
function pointsOf({ xs, ys }: Series, x: At, y: At, data: Lines): (Point | null)[] {
    const seen = (i: number): boolean => drawable(ys[i]!, data.y.log) && drawable(xs[i]!, data.x.log);
    return xs.map((value, i) => (seen(i) ? [x(value), y(ys[i]!)] : null));
}

/** The stretches that are drawn, as they are drawn. */
function parts(points: readonly (Point | null)[], step: boolean): Point[][] {
    const found: Point[][] = [];
    points.forEach((point, i) => {
        const before = points[i - 1] ?? null;
        if (point === null) return;
        if (before === null) found.push([point]);
        else {
            const middle = (before[0] + point[0]) / 2;
            found.at(-1)!.push(...(step ? ([[middle, before[1]], [middle, point[1]]] as const) : []), point);
        }
    });
    return found;
}

/** Where the shape of a series is drawn on its curve. */
function marksOf({ colour, xs }: Series, points: readonly (Point | null)[]): Point[] {
    if (colour === undefined) return [];
    const every = Math.max(1, Math.ceil(xs.length / 8));
    return points.filter((point, i): point is Point => point !== null && (i + 2 * colour) % every === 0);
}

function curve(series: Series, points: readonly (Point | null)[]): SVGGElement {
    const colour = series.colour ? ` dp-series-${series.colour}` : "";
    const group = s("g", { class: `dp-line${colour}` }, s("path", { d: path(points, series.step ?? false), class: `dp-curve ${series.kind}` }));
    for (const [at, level] of marksOf(series, points)) group.append(s("path", { d: SHAPES[series.colour! - 1]!, class: "dp-shape", transform: `translate(${px(at)} ${px(level)})` }));
    return group;
}

const BETWEEN = 14;

/** The names of the series beyond their last values, pushed apart where these are close. */
function endNames(series: readonly Series[], box: Box, y: At, data: Lines): SVGTextElement[] {
    const ends = series
        .flatMap((one) => {
            const value = one.ys.at(-1);
            return one.name === "" || value === undefined || !drawable(value, data.y.log) ? [] : [{ one, at: y(value) }];
        })
        .sort((a, b) => a.at - b.at);
    ends.forEach((end, i) => (end.at = Math.max(end.at, i === 0 ? box.top : ends[i - 1]!.at + BETWEEN)));
    const over = Math.max(0, (ends.at(-1)?.at ?? 0) - box.bottom);
    return ends.map(({ one, at }) => label(box.right + 6, at - over + 4, one.name, "start", one.colour ? `dp-name dp-series-${one.colour}` : "dp-tick"));
}

/** The name of a series, beside a part of its curve; where there is no room, a line leads to it. */
function nameOf(series: Series, points: readonly (Point | null)[], labels: Labels, box: Box): SVGElement[] {
    const seen = points.filter((point) => point !== null);
    if (series.name === "" || seen.length === 0) return [];
    const shares = [0.98, 0.8, 0.6, 0.4, 0.2, 0.03, 0.9, 0.7, 0.5, 0.3, 0.1];
    const spots = shares.flatMap((share): Spot[] => {
        const [at, level] = along(seen, share);
        const anchor = share > 0.5 ? "end" : "start";
        return [-6, 15].map((dy) => ({ x: at, y: level + dy, anchor }));
    });
    const colour = series.colour ? `dp-name dp-series-${series.colour}` : "dp-tick";
    return labels.beside(series.name, colour, box, spots, Array.from({ length: 25 }, (_, i) => along(seen, i / 24)));
}

/** A point on a line through these, by the share of the way from left to right. */
function along(points: readonly Point[], share: number): Point {
    const at = points[0]![0] + share * (points.at(-1)![0] - points[0]![0]);
    const next = points.findIndex((point) => point[0] >= at);
    if (next <= 0) return points[Math.max(0, next)]!;
    const [[a, b], [c, d]] = [points[next - 1]!, points[next]!];
    return [at, c === a ? d : b + ((at - a) / (c - a)) * (d - b)];
}
