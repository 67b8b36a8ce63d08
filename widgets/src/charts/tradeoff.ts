/** Errors of several mechanisms by true value, and the same errors against the space that they take: one probe in both. */

import { scaleLinear, scaleLog } from "d3-scale";
import { s } from "../dom/dom";
import { bottomAxis, label, Labels, leftAxis, line, px, svg, textWidth, tickText, type Box } from "./frame";

/** Circle, triangle, diamond, square, plus, cross, triangle on its tip, pentagon, hourglass: by the number of a series. */
export const SIGNS = [
    "M-4.5 0A4.5 4.5 0 1 1 4.5 0A4.5 4.5 0 1 1 -4.5 0Z",
    "M0 -5.5L5 4H-5Z",
    "M0 -5.8L5.2 0L0 5.8L-5.2 0Z",
    "M-4.2 -4.2H4.2V4.2H-4.2Z",
    "M-1.6 -5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5V-1.6H-1.6Z",
    "M-5 -3.2L-3.2 -5L0 -1.8L3.2 -5L5 -3.2L1.8 0L5 3.2L3.2 5L0 1.8L-3.2 5L-5 3.2L-1.8 0Z",
    "M0 5.5L5 -4H-5Z",
    "M0 -5.3L5 -1.6L3.1 4.3H-3.1L-5 -1.6Z",
    "M-4.6 -5H4.6L1 0L4.6 5H-4.6L-1 0Z",
];

export interface Curve {
    name: string;
    /** From 1 on: a colour and a sign. */
    series: number;
    values: readonly number[] | null;
    how: string;
    /** The error at the probe. */
    at: number | null;
    /** Bits stored for each non-zero entry, and what is said of a read. */
    bits: number;
    read: string;
    best: boolean;
}

/** The least and the greatest error that has a place of its own; the axis between them is logarithmic. */
export interface Reach {
    low: number;
    top: number;
}

export interface Curves {
    title: string;
    xs: readonly number[];
    probe: number;
    reach: Reach;
    curves: readonly Curve[];
}

export interface Frontier {
    title: string;
    /** The words for the corner below the frontier. */
    empty: string;
    reach: Reach;
    curves: readonly Curve[];
    /** Who stands on the frontier, from left to right. */
    best: readonly Curve[];
    /** The effect of one setting on space and error of a series. */
    trail: { series: number; points: readonly (readonly [bits: number, error: number])[] } | null;
}

const AXIS = 38;
const [ABOVE, ROOM] = [30, 16];
const LINE = 14;

const lowest = ({ low }: Reach): string => `≤ ${tickText(low)}`;

const boxOf = (width: number, height: number, reach: Reach): Box => ({ left: Math.max(40, textWidth(lowest(reach)) + 8), right: width - ROOM, top: ABOVE, bottom: height - AXIS });

/** Which of the true values lies under this place of the picture. */
export function valueAt(width: number, height: number, reach: Reach, xs: readonly number[], at: number): number {
    const box = boxOf(width, height, reach);
    const wanted = scaleLinear().domain([box.left, box.right]).range([xs[0]!, xs.at(-1)!]).clamp(true)(at);
    return xs.reduce((best, x) => (Math.abs(x - wanted) < Math.abs(best - wanted) ? x : best), xs[0]!);
}

/** Errors by their logarithm; what is smaller than the least one lies on the bottom line. */
function errorScale(box: Box, { low, top }: Reach): (error: number) => number {
    return scaleLog().domain([low, top]).range([box.bottom, box.top]).clamp(true);
}

/** 1, 2, 5, 10, …, or powers of ten where there is less room; the first one stands for all that is smaller. */
function errorAxis(box: Box, reach: Reach): SVGGElement {
    const [{ low, top }, at] = [reach, errorScale(box, reach)];
    const digits = Math.log10(top / low) * 3 * 20 > box.bottom - box.top ? [1] : [1, 2, 5];
    const values = powers(low, top, Infinity, digits);
    return leftAxis(box, { at, values: values[0] === low ? values : [low, ...values], text: (value) => (value === low ? lowest(reach) : tickText(value)) });
}

export function curvesChart(width: number, height: number, { title, xs, probe, reach, curves }: Curves): SVGSVGElement {
    const box = boxOf(width, height, reach);
    const x = scaleLinear().domain([xs[0]!, xs.at(-1)!]).range([box.left, box.right]);
    const [y, { top }] = [errorScale(box, reach), reach];
    const labels = new Labels({ ...box, left: box.left + 2, right: width - 2 });
    const chart = svg(
        width,
        height,
        title,
        errorAxis(box, reach),
        bottomAxis(box, { at: x, values: x.ticks(Math.max(2, Math.floor(width / 80))) }, "true value x of an entry"),
    );
    const drawn = curves.map((curve) => {
        const points = curve.values === null ? [] : within(curve.values.map((value, i) => [xs[i]!, value] as const), top).map((part) => part.map(([a, b]) => [x(a), y(b)] as const));
        return { curve, points };
    });
    for (const { points } of drawn) for (const part of points) labels.takeLine(part);
    labels.take({ left: x(probe) - 4, right: x(probe) + 4, top: box.top, bottom: box.bottom });
    for (const { curve, points } of drawn) {
        const d = points.map((part) => `M${part.map(([a, b]) => `${px(a)} ${px(b)}`).join("L")}`).join("");
        chart.append(s("g", { class: `dp-line dp-series-${curve.series}` }, s("path", { d, class: `dp-curve dp-medium dp-${curve.how}` })));
        for (const part of points) {
            const end = part.at(-1)!;
            if (end[1] <= box.top + 0.5 && end[0] < box.right - 2) chart.append(s("path", { d: "M0 -6L4.5 1H-4.5Z", class: `dp-shape dp-series-${curve.series}`, transform: `translate(${px(end[0])} ${px(box.top - 1)})` }));
        }
    }
    const pill = `x = ${probe.toLocaleString("en-US")}`;
    const half = textWidth(pill) / 2 + 7;
    const middle = Math.max(half + 1, Math.min(width - half - 1, x(probe)));
    chart.append(
        line(x(probe), 20, x(probe), box.bottom, "dp-probe"),
        s("rect", { x: px(middle - half), y: 1, width: px(2 * half), height: 20, rx: 10, class: "dp-probe-pill" }),
        label(middle, 15, pill, "middle", "dp-on-brand"),
    );
    for (const { at, series, best } of curves) if (at !== null && at <= top) chart.append(spot(x(probe), y(at), series, best));
    for (const { curve, points } of drawn) {
        const name = beside(curve, points, labels, box);
        if (name !== null) chart.append(name);
    }
    return chart;
}

/** The parts of a curve that are at most `top`, each ended where it crosses. */
function within(points: readonly (readonly [number, number])[], top: number): (readonly [number, number])[][] {
    const parts: (readonly [number, number])[][] = [];
    let part: (readonly [number, number])[] = [];
    points.forEach(([a, b], i) => {
        const before = points[i - 1];
        if (before !== undefined && before[1] > top !== b > top) {
            const share = (top - before[1]) / (b - before[1]);
            part.push([before[0] + share * (a - before[0]), top]);
        }
        if (b <= top) part.push([a, b]);
        else if (part.length > 0) {
            parts.push(part);
            part = [];
        }
    });
    return part.length > 1 ? [...parts, part] : parts;
}

/** The name of a curve beside a part of it: beside its steepest fall or its end, else wherever there is room. */
function beside({ name, series }: Curve, parts: readonly (readonly (readonly [number, number])[])[], labels: Labels, box: Box): SVGTextElement | null {
    const points = parts.flat();
    if (points.length === 0) return null;
    const peak = points.reduce((best, point) => (point[1] < best[1] ? point : best));
    const spots: { x: number; y: number; anchor: "start" | "end" }[] = peak[1] < box.bottom - 40 ? [{ x: peak[0] + 12, y: peak[1] + 24, anchor: "start" }] : [];
    const order = [0.55, 0.7, 0.4, 0.85, 0.25, 0.95, 0.12, 0.62, 0.48, 0.78, 0.33, 0.9, 0.18, 0.05];
    for (const gap of [0, 8, 18])
        for (const share of order) {
            const [at, level] = points[Math.round(share * (points.length - 1))]!;
            for (const up of [-6 - gap, 15 + gap]) {
                spots.push({ x: at, y: level + up, anchor: "start" });
                spots.push({ x: at, y: level + up, anchor: "end" });
            }
        }
    const fits = spots.filter(({ y }) => y > box.top + 8 && y < box.bottom - 3);
    return labels.place(name, `dp-name dp-series-${series}`, fits);
}

const spot = (x: number, y: number, series: number, best: boolean): SVGPathElement =>
    s("path", { d: SIGNS[series - 1]!, class: `dp-spot dp-series-${series}`, "data-best": best, transform: `translate(${px(x)} ${px(y)}) scale(1.15)` });

export function frontierChart(width: number, height: number, { title, empty, reach, curves, best, trail }: Frontier): SVGSVGElement {
    const box = boxOf(width, height, reach);
    const sizes = [...curves.map(({ bits }) => bits), ...(trail?.points ?? []).map(([bits]) => bits)];
    const [least, most] = [Math.min(...sizes) / 2, Math.max(...sizes) * 2];
    const x = scaleLog().domain([least, most]).range([box.left, box.right]);
    const [y, { top }] = [errorScale(box, reach), reach];
    const labels = new Labels({ ...box, top: box.top, left: box.left + 2, right: width - 2 });
    const chart = svg(
        width,
        height,
        title,
        errorAxis(box, reach),
        bottomAxis(box, { at: x, values: powers(least, most, Math.max(2, Math.floor(width / 90))), text: bitsText }, "bits stored per non-zero entry (log)"),
    );
    const placed = curves.filter(({ at }) => at !== null).map((curve) => ({ curve, at: [x(curve.bits), y(curve.at!)] as const, over: curve.at! > top }));
    const steps = best.filter(({ at }) => at !== null && at <= top);
    if (steps.length > 0) {
        const first = steps[0]!;
        const d = steps.map((one, i) => (i === 0 ? `M${px(x(first.bits))} ${px(box.top)}V${px(y(first.at!))}` : `H${px(x(one.bits))}V${px(y(one.at!))}`)).join("");
        const edge = `${d}H${px(box.right)}`;
        chart.append(s("path", { d: `${edge}V${px(box.bottom)}H${px(box.left)}V${px(box.top)}Z`, class: "dp-out-of-reach" }), s("path", { d: edge, class: "dp-best-line" }));
        let [level, from] = [box.top, x(first.bits)];
        for (const one of [...steps, null]) {
            const to = one === null ? box.right : x(one.bits);
            labels.take({ left: from, right: to, top: level - 3, bottom: level + 3 });
            if (one !== null) labels.take({ left: to - 3, right: to + 3, top: level, bottom: y(one.at!) });
            [level, from] = [one === null ? level : y(one.at!), to];
        }
    }
    if (trail !== null) {
        const points = within(trail.points, top).flat().map(([bits, error]) => [x(bits), y(error)] as const);
        labels.takeLine(points);
        chart.append(
            s(
                "g",
                { class: `dp-series-${trail.series}` },
                s("path", { d: points.length > 1 ? `M${points.map(([a, b]) => `${px(a)} ${px(b)}`).join("L")}` : "", class: "dp-trail" }),
                ...points.map(([a, b]) => s("circle", { cx: px(a), cy: px(b), r: 2, class: "dp-trail-dot" })),
            ),
        );
    }
    const corner = labels.place(empty, "dp-tick", [
        { x: box.left + 6, y: box.bottom - 8, anchor: "start" },
        { x: box.left + 6, y: box.bottom - 22, anchor: "start" },
    ]);
    if (steps.length > 0 && corner !== null) chart.append(corner);
    for (const { at } of placed) labels.take({ left: at[0] - 8, right: at[0] + 8, top: at[1] - 8, bottom: at[1] + 8 });
    for (const { curve, at, over } of placed) {
        if (over) chart.append(s("path", { d: "M0 -6L4.5 1H-4.5Z", class: `dp-shape dp-series-${curve.series}`, transform: `translate(${px(at[0])} ${px(box.top - 10)})` }));
        chart.append(spot(at[0], at[1], curve.series, curve.best));
        chart.append(...told(curve, at, labels, box));
    }
    return chart;
}

/** A name and, under it, what a read touches; or the name alone; or nothing, where there is no room. */
function told({ name, series, read }: Curve, [x, y]: readonly [number, number], labels: Labels, within: Box): SVGTextElement[] {
    const kind = `dp-name dp-series-${series}`;
    for (const lines of [[name, read], [name]])
        for (const away of [13, 20, 30])
            for (const [dx, dy, anchor] of [
                [away, -2, "start"],
                [away, 12, "start"],
                [-away, -2, "end"],
                [-away, 12, "end"],
                [-4, 18 + away, "start"],
                [4, 18 + away, "end"],
                [-4, -8 - away, "start"],
                [4, -8 - away, "end"],
                [away - 4, -26, "start"],
                [4 - away, -26, "end"],
                [away - 4, 36, "start"],
                [4 - away, 36, "end"],
                [away - 4, -40, "start"],
                [4 - away, -40, "end"],
            ] as const) {
                const wide = Math.max(...lines.map(textWidth));
                const block = { x: x + dx, y: y + dy, anchor };
                const room = anchor === "start" ? { left: x + dx, right: x + dx + wide } : { left: x + dx - wide, right: x + dx };
                const box = { left: room.left - 2, right: room.right + 2, top: y + dy - 11, bottom: y + dy + 3 + (lines.length - 1) * LINE };
                if (box.top < within.top || box.bottom > within.bottom || !labels.free(box)) continue;
                labels.take(box);
                return lines.map((text, i) => label(block.x, block.y + i * LINE, text, anchor, i === 0 ? kind : "dp-tick"));
            }
    return [];
}

/** These digits times powers of ten, from the least to the most, of about so many powers. */
function powers(least: number, most: number, wanted: number, digits: readonly number[] = [1]): number[] {
    const [first, last] = [Math.floor(Math.log10(least)), Math.floor(Math.log10(most))];
    const every = Math.max(1, Math.ceil((last - first + 1) / wanted));
    const found = Array.from({ length: Math.floor((last - first) / every) + 1 }, (_, i) => digits.map((digit) => Number(`${digit}e${first + i * every}`)));
    return found.flat().filter((value) => value >= least && value <= most);
}

/** 314, 5.6 M, 369 P: a number of bits, in three figures. */
export function bitsText(bits: number): string {
    if (bits < 10_000) return Math.round(bits).toLocaleString("en-US");
    const power = Math.min(6, Math.floor(Math.log10(Number(bits.toPrecision(3))) / 3));
    return `${Number((bits / 1000 ** power).toPrecision(3))} ${["", "k", "M", "G", "T", "P", "E"][power]}`;
}
