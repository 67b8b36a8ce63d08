/** Error against epsilon: one thick curve for any one bin, one thin curve for all bins at once, the probe between. */

import { scaleLog } from "d3-scale";
import { line as path } from "d3-shape";
import { s } from "../dom";
import type { Bar } from "../protocol";
import { Labels, leftAxis, bottomAxis, line, px, svg, tickText } from "./frame";

export interface CurvePoint {
    epsilon: number;
    one: number;
    all: number;
}

export interface CurveData {
    points: readonly CurvePoint[];
    kinds: { one: Bar["kind"]; all: Bar["kind"] };
    now: CurvePoint | null;
    words: { one: string; all: string; bins: string };
    /** An earlier release of the same question: filled, because it was paid. */
    released: (CurvePoint & { number: string }) | null;
}

export function curveChart(width: number, height: number, data: CurveData): SVGSVGElement {
    const box = { left: 40, right: width - 8, top: 14, bottom: height - 38 };
    const errors = data.points.flatMap(({ one, all }) => [one, all]).filter((value) => value > 0);
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
        data.now === null
            ? "Error against epsilon"
            : `At ε ${tickText(data.now.epsilon)} any one bin is within ${data.words.one}` +
                  (data.words.all === "" ? "" : `, all ${data.words.bins} at once within ${data.words.all}`),
        leftAxis(box, { at: y, values: decades }),
        bottomAxis(
            box,
            { at: x, values: oneTwoFive(Math.min(...epsilons), Math.max(...epsilons)).filter(isDecade) },
            "ε (log)",
        ),
    );
    const drawn = (which: "one" | "all"): string =>
        path<CurvePoint>()
            .defined((p) => p[which] > 0)
            .x((p) => x(p.epsilon))
            .y((p) => y(p[which]))(data.points as CurvePoint[]) ?? "";
    chart.append(
        s("path", { d: drawn("all"), class: `dp-curve dp-thin dp-${data.kinds.all}` }),
        s("path", { d: drawn("one"), class: `dp-curve dp-thick dp-${data.kinds.one}` }),
    );
    const labels = new Labels({ ...box, left: box.left + 2, right: width });
    if (data.released !== null) {
        const { epsilon, one, all } = data.released;
        for (const value of [one, all]) {
            if (value > 0) chart.append(dot(x(epsilon), y(value), "dp-paid-dot"));
            labels.take({ left: x(epsilon) - 6, right: x(epsilon) + 6, top: y(value) - 6, bottom: y(value) + 6 });
        }
    }
    if (data.now !== null) {
        const [at, one, all] = [x(data.now.epsilon), y(data.now.one), y(data.now.all)];
        chart.append(line(at, box.top, at, box.bottom, "dp-probe"));
        labels.take({ left: at - 5, right: at + 5, top: box.top, bottom: box.bottom });
        for (const [value, place] of [
            [data.now.all, all],
            [data.now.one, one],
        ] as const) {
            if (value > 0) chart.append(dot(at, place, "dp-plan-dot"));
        }
        const apart = data.now.all > 0 ? Math.max(0, 13 - (one - all)) / 2 : 0;
        const spots = (place: number): { x: number; y: number; anchor: "start" | "end" }[] => [
            { x: at + 8, y: place, anchor: "start" },
            { x: at + 8, y: place - 6, anchor: "start" },
            { x: at - 8, y: place + 14, anchor: "end" },
            { x: at - 8, y: place + 20, anchor: "end" },
        ];
        const flip = at > box.right - 46;
        const side = (place: number): { x: number; y: number; anchor: "start" | "end" }[] =>
            flip ? spots(place).slice(2) : spots(place);
        if (data.now.all > 0) append(chart, labels.place(data.words.all, "dp-strong", side(all - 3 - apart), true));
        append(chart, labels.place(data.words.one, "dp-strong", side(one + 2 + apart), true));
    }
    if (data.released !== null) {
        const { epsilon, one, number } = data.released;
        const at = x(epsilon);
        append(
            chart,
            labels.place(`release ${number}`, "dp-release", [
                { x: at - 5, y: y(one) + 17, anchor: "end" },
                { x: at - 2, y: y(one) + 26, anchor: "end" },
                { x: at - 2, y: y(one) + 26, anchor: "start" },
            ]),
        );
    }
    const along = (which: "one" | "all", dy: number, anchor: "start" | "end", shares: number[]) =>
        shares.map((share) => {
            const point = data.points[Math.round(share * (data.points.length - 1))]!;
            return { x: x(point.epsilon) + (anchor === "start" ? 4 : -4), y: y(point[which]) + dy, anchor };
        });
    const many = data.words.all === "" ? [] : [`all ${data.words.bins} at once`, `all ${data.words.bins}`];
    for (const text of many) {
        if (append(chart, labels.place(text, "dp-tick", along("all", -5, "start", [0.08, 0.02, 0.3, 0.45, 0.55]))))
            break;
    }
    for (const text of ["any one bin", "one bin"]) {
        if (append(chart, labels.place(text, "dp-tick", along("one", 14, "end", [0.42, 0.36, 0.5, 0.6, 0.7, 0.8]))))
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
