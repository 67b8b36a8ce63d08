/** The two errors that head a plan, against epsilon, with the probe between: each as heavy as its measure says. */

import { scaleLog } from "d3-scale";
import { s } from "../dom/dom";
import type { Bar } from "../protocol/protocol";
import { Labels, leftAxis, bottomAxis, line, px, svg, textWidth, tickText, type Box, type Spot } from "./frame";
import { powerOfTen } from "../wording/powers";
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
    const errors = data.points.flatMap(({ first, second }) => [first, second]).filter((value) => value > 0);
    const low = 10 ** Math.floor(Math.log10(Math.min(...errors, 1)));
    const high = 10 ** Math.ceil(Math.log10(Math.max(...errors, 10)) - 1e-9);
    const box = { left: Math.max(44, textWidth(decadeText(high)) + 10, textWidth(decadeText(low)) + 10), right: width - 8, top: 14, bottom: height - 38 };
    const epsilons = data.points.map(({ epsilon }) => epsilon);
    const x = scaleLog()
        .domain([Math.min(...epsilons), Math.max(...epsilons)])
        .range([box.left, box.right]);
    const y = scaleLog().domain([low, high]).range([box.bottom, box.top]).clamp(true);
    const many = Math.round(Math.log10(high / low));
    const every = Math.max(1, Math.ceil((many * DECADE) / (box.bottom - box.top)));
    const decades = Array.from({ length: Math.floor(many / every) + 1 }, (_, i) => Number((low * 10 ** (i * every)).toPrecision(3)));
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
    const pointsOf = (which: "first" | "second"): (readonly [number, number] | null)[] =>
        data.points.map((p) => (p[which] > 0 ? [x(p.epsilon), y(p[which])] : null));
    const seen = { first: pointsOf("first").filter((point) => point !== null), second: pointsOf("second").filter((point) => point !== null) };
    chart.append(
        s("path", { d: path(pointsOf("second")), class: `dp-curve dp-${data.second.weight} dp-${data.second.kind}` }),
        s("path", { d: path(pointsOf("first")), class: `dp-curve dp-${data.first.weight} dp-${data.first.kind}` }),
    );
    const labels = new Labels({ ...box, left: box.left + 2, right: width });
    const part = { ...box, right: width };
    /** Where the number of each curve stands, and so close around it that a name would seem to be of this number. */
    const numbers: Record<"first" | "second", Box[]> = { first: [], second: [] };
    for (const which of ["first", "second"] as const) labels.takeLine(seen[which]);
    if (data.released !== null) {
        const { epsilon, first, second } = data.released;
        for (const value of [first, second].filter((one) => one > 0)) {
            chart.append(dot(x(epsilon), y(value), "dp-paid-dot"));
            labels.takeMark(x(epsilon), y(value), 6);
        }
    }
    if (data.now !== null) {
        const { epsilon, first, second } = data.now;
        const at = x(epsilon);
        chart.append(line(at, box.top, at, box.bottom, "dp-probe"));
        labels.take({ left: at - 5, right: at + 5, top: box.top, bottom: box.bottom });
        for (const value of [second, first].filter((one) => one > 0)) {
            chart.append(dot(at, y(value), "dp-plan-dot"));
            labels.takeMark(at, y(value), 5);
        }
        const upper = first > second || !(second > 0) ? "first" : "second";
        // The greater has its number above its curve, the less below.
        for (const which of ["second", "first"] as const) {
            const value = data.now[which];
            if (!(value > 0)) continue;
            const place = y(value);
            const above: Spot[] = [0, 4, 8, 12, 20, 28].flatMap((up): Spot[] => [{ x: at + 8, y: place - 2 - up, anchor: "start" }, { x: at - 8, y: place - 8 - up, anchor: "end" }]);
            const below: Spot[] = [0, 4, 8, 12, 20, 28, 36, 44].flatMap((down): Spot[] => [{ x: at - 8, y: place + 14 + down, anchor: "end" }, { x: at + 8, y: place + 14 + down, anchor: "start" }]);
            const put = labels.beside(data[which].text, "dp-strong", part, which === upper ? above : below, [[at, place]]);
            chart.append(...put);
            const [left, level, anchor] = ["x", "y", "text-anchor"].map((name) => put.at(-1)?.getAttribute(name));
            if (put.length === 0) continue;
            const { left: from, right, top, bottom } = Labels.box({ x: Number(left), y: Number(level), anchor: anchor === "end" ? "end" : "start" }, data[which].text, "dp-strong");
            numbers[which] = [{ left: from - NEAR, right: right + NEAR, top: top - NEAR, bottom: bottom + NEAR }];
        }
    }
    if (data.released !== null) {
        const { epsilon, first, second, number } = data.released;
        const at = x(epsilon);
        const dots = [first, second].filter((one) => one > 0).map((value): readonly [number, number] => [at, y(value)]);
        const spots = dots.flatMap(([, level]): Spot[] => [17, 26, -8].flatMap((dy): Spot[] => [{ x: at - 5, y: level + dy, anchor: "end" }, { x: at + 5, y: level + dy, anchor: "start" }]));
        const named = labels.beside(`release ${number}`, "dp-release", part, spots, dots);
        chart.append(...(named.length > 0 ? named : labels.beside(`#${number}`, "dp-release", part, spots, dots)));
    }
    const start = data.points[0];
    const over = start !== undefined && start.first > start.second ? "first" : "second";
    const shares = { up: [0.08, 0.02, 0.3, 0.45, 0.55], down: [0.42, 0.36, 0.5, 0.6, 0.7, 0.8] };
    for (const which of ["second", "first"] as const) {
        if (data[which].text === "" || data[which].names.length === 0 || seen[which].length === 0) continue;
        const spots = (which === over ? shares.up : shares.down).map((share): Spot => {
            const [at, level] = seen[which][Math.round(share * (seen[which].length - 1))]!;
            return which === over ? { x: at + 4, y: level - 5, anchor: "start" } : { x: at - 4, y: level + 14, anchor: "end" };
        });
        const inside = spots.filter(({ y: level }) => level > box.top && level < box.bottom - 3);
        const placed = labels.apart(numbers[which === "first" ? "second" : "first"], (): Node[] => {
            for (const text of data[which].names) {
                const named = labels.place(text, "dp-tick", inside);
                if (named !== null) return [named];
            }
            return labels.beside(data[which].names.at(-1)!, "dp-tick", part, [], seen[which]);
        });
        chart.append(...placed);
    }
    return chart;
}

const dot = (x: number, y: number, kind: string): SVGCircleElement =>
    s("circle", { cx: px(x), cy: px(y), r: 4, class: kind });

/** A name that is nearer than this to a number seems to be of that number. */
const NEAR = 12;

/** The least distance between labels of decades. */
const DECADE = 16;

/** A decade that would take more than six places beside the axis is written as a power. */
const decadeText = (value: number): string => (value < 1e-4 || value >= 1e6 ? powerOfTen(value) : tickText(value));

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
