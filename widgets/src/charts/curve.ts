/** The two errors that head a plan, against epsilon, with the probe between: each as heavy as its measure says. */

import { scaleLog } from "d3-scale";
import { s } from "../dom";
import type { Bar } from "../protocol";
import { MINUS } from "../words";
import { Labels, leftAxis, bottomAxis, line, px, svg, textWidth, tickText } from "./frame";
import { path } from "./path";

export interface CurvePoint {
    epsilon: number;
    first: number;
    second: number;
}

/** How a curve is drawn, what it says at the probe (nothing where there is no error), its names, the longest first. */
export interface CurveOf {
    kind: Bar["kind"];
    weight: "thick" | "medium" | "thin";
    text: string;
    names: readonly string[];
}

export interface CurveData {
    title: string;
    points: readonly CurvePoint[];
    now: CurvePoint | null;
    first: CurveOf;
    second: CurveOf;
    /** An earlier release of the same question: filled, because it was paid. */
    released: (CurvePoint & { number: string }) | null;
}

export function curveChart(width: number, height: number, data: CurveData): SVGSVGElement {
    const box = { left: 44, right: width - 8, top: 14, bottom: height - 38 };
    const errors = data.points.flatMap(({ first, second }) => [first, second]).filter((value) => value > 0);
    const low = 10 ** Math.floor(Math.log10(Math.min(...errors, 1)));
    const high = 10 ** Math.ceil(Math.log10(Math.max(...errors, 10)) - 1e-9);
    const epsilons = data.points.map(({ epsilon }) => epsilon);
    const x = scaleLog()
        .domain([Math.min(...epsilons), Math.max(...epsilons)])
        .range([box.left, box.right]);
    const y = scaleLog().domain([low, high]).range([box.bottom, box.top]).clamp(true);
    const decades = Array.from({ length: Math.round(Math.log10(high / low)) + 1 }, (_, i) =>
        Number((low * 10 ** i).toPrecision(3)),
    );
    const chart = svg(
        width,
        height,
        data.title,
        leftAxis(box, { at: y, values: decades, text: decadeText }),
        bottomAxis(
            box,
            { at: x, values: oneTwoFive(Math.min(...epsilons), Math.max(...epsilons)).filter(isDecade) },
            "ε (log)",
        ),
    );
    const drawn = (which: "first" | "second"): string =>
        path(data.points.map((p) => (p[which] > 0 ? [x(p.epsilon), y(p[which])] : null)));
    chart.append(
        s("path", { d: drawn("second"), class: `dp-curve dp-${data.second.weight} dp-${data.second.kind}` }),
        s("path", { d: drawn("first"), class: `dp-curve dp-${data.first.weight} dp-${data.first.kind}` }),
    );
    const labels = new Labels({ ...box, left: box.left + 2, right: width });
    if (data.released !== null) {
        const { epsilon, first, second } = data.released;
        for (const value of [first, second]) {
            if (value > 0) chart.append(dot(x(epsilon), y(value), "dp-paid-dot"));
            labels.take({ left: x(epsilon) - 6, right: x(epsilon) + 6, top: y(value) - 6, bottom: y(value) + 6 });
        }
    }
    if (data.now !== null) {
        const [at, first, second] = [x(data.now.epsilon), y(data.now.first), y(data.now.second)];
        chart.append(line(at, box.top, at, box.bottom, "dp-probe"));
        labels.take({ left: at - 5, right: at + 5, top: box.top, bottom: box.bottom });
        for (const [value, place] of [
            [data.now.second, second],
            [data.now.first, first],
        ] as const) {
            if (value > 0) chart.append(dot(at, place, "dp-plan-dot"));
        }
        const apart = data.now.second > 0 ? Math.max(0, 13 - Math.abs(first - second)) / 2 : 0;
        const least = data.now.second > data.now.first || data.now.second <= 0 ? "first" : "second";
        const spots = (place: number): { x: number; y: number; anchor: "start" | "end" }[] => [
            { x: at + 8, y: place, anchor: "start" },
            { x: at + 8, y: place - 6, anchor: "start" },
            { x: at - 8, y: place + 14, anchor: "end" },
            { x: at - 8, y: place + 20, anchor: "end" },
        ];
        const reached = (which: "first" | "second", from: number, to: number): number[] =>
            data.points.filter((p) => p[which] > 0 && x(p.epsilon) >= from && x(p.epsilon) <= to).map((p) => y(p[which]));
        const flip = at > box.right - 46;
        // The greater has its number above its curve, the less below.
        const side = (which: "first" | "second"): { x: number; y: number; anchor: "start" | "end" }[] => {
            const place = which === "first" ? first : second;
            const wide = textWidth(data[which].text) + 12;
            const upper = which !== least || data.now!.second <= 0;
            const over = Math.min(place - 5, ...reached(which, at - wide, at)) - 5;
            const under = Math.max(place, ...reached(which, at, at + wide)) + 13;
            const low = { x: at - 8, y: Math.min(place + 14, box.bottom - 4), anchor: "end" } as const;
            if (flip) return upper && over > 10 ? [{ x: at - 8, y: over, anchor: "end" }] : [low, ...spots(place).slice(2)];
            if (upper) return spots(place - 3 - apart);
            return under < place + 24 ? [{ x: at + 8, y: under, anchor: "start" }] : spots(place + 2 + apart);
        };
        if (data.now.second > 0)
            append(chart, labels.place(data.second.text, "dp-strong", side("second"), true));
        if (data.now.first > 0)
            append(chart, labels.place(data.first.text, "dp-strong", side("first"), true));
    }
    if (data.released !== null) {
        const { epsilon, first, number } = data.released;
        const at = x(epsilon);
        append(
            chart,
            labels.place(`release ${number}`, "dp-release", [
                { x: at - 5, y: y(first) + 17, anchor: "end" },
                { x: at - 2, y: y(first) + 26, anchor: "end" },
                { x: at - 2, y: y(first) + 26, anchor: "start" },
            ]),
        );
    }
    const start = data.points[0];
    const upper = start !== undefined && start.first > start.second ? "first" : "second";
    const shares = { up: [0.08, 0.02, 0.3, 0.45, 0.55], down: [0.42, 0.36, 0.5, 0.6, 0.7, 0.8] };
    const above = (which: "first" | "second") => along(which, -5, "start", shares.up);
    const below = (which: "first" | "second") => along(which, 14, "end", shares.down);
    const along = (which: "first" | "second", dy: number, anchor: "start" | "end", where: number[]) =>
        where.map((share) => {
            const point = data.points[Math.round(share * (data.points.length - 1))]!;
            return { x: x(point.epsilon) + (anchor === "start" ? 4 : -4), y: y(point[which]) + dy, anchor };
        });
    for (const text of data.second.text === "" ? [] : data.second.names) {
        if (append(chart, labels.place(text, "dp-tick", upper === "second" ? above("second") : below("second"))))
            break;
    }
    for (const text of data.first.text === "" ? [] : data.first.names) {
        if (append(chart, labels.place(text, "dp-tick", upper === "first" ? above("first") : below("first"))))
            break;
    }
    return chart;
}

const dot = (x: number, y: number, kind: string): SVGCircleElement =>
    s("circle", { cx: px(x), cy: px(y), r: 4, class: kind });

function append(chart: SVGSVGElement, node: Node | null): boolean {
    if (node !== null) chart.append(node);
    return node !== null;
}

/** A decade that would take more than six places beside the axis is written as a power. */
const decadeText = (value: number): string => (value < 1e-4 ? value.toExponential(0).replace("-", MINUS) : tickText(value));

const isDecade = (value: number): boolean => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9;

/** 1-2-5 ticks between two positive numbers. */
export function oneTwoFive(low: number, high: number): number[] {
    const ticks: number[] = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
        for (const k of [1, 2, 5]) {
            const value = Number((k * 10 ** power).toPrecision(3));
            if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push(value);
        }
    }
    return ticks;
}
