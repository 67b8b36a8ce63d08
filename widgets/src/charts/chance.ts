/** The chance that a bin of true count c is shown above 0: drawn in steps, for counts are whole. */

import { scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { bottomAxis, Labels, leftAxis, px, svg } from "./frame";
import { path, type At } from "./path";

export interface ChanceData {
    counts: readonly number[];
    shares: readonly number[];
}

export function percent(share: number): string {
    if (share > 0.999 && share < 1) return "> 99.9 %";
    return `${Number((100 * share).toFixed(share > 0.99 && share < 1 ? 1 : 0))} %`;
}

export function chanceChart(width: number, height: number, data: ChanceData): SVGSVGElement {
    const box = { left: 44, right: width - 10, top: 14, bottom: height - 38 };
    const last = data.counts.at(-1) ?? 1;
    const x = scaleLinear()
        .domain([data.counts[0] ?? 0, last])
        .range([box.left, box.right]);
    const y = scaleLinear().domain([0, 1]).range([box.bottom, box.top]);
    const empty = data.shares[0] ?? 0;
    const sure = data.shares.findIndex((share) => share >= 0.95);
    const drawn = data.counts.map((count, i) => [x(count), y(data.shares[i]!)] as const);
    const chart = svg(
        width,
        height,
        `An empty bin is shown above 0 with chance ${percent(empty)}` +
            (sure > 0 ? `, one of true count ${data.counts[sure]} with chance ${percent(data.shares[sure]!)}` : ""),
        leftAxis(box, { at: y, values: [0, 0.5, 1], text: (value) => (value === 0 ? "0" : `${100 * value} %`) }),
        bottomAxis(
            box,
            { at: x, values: x.ticks(Math.max(2, Math.floor(width / 60))).filter(Number.isInteger) },
            "true count c of a bin",
        ),
        s("path", {
            d: path(drawn, true),
            class: "dp-curve dp-medium dp-exact",
        }),
    );
    const labels = new Labels({ ...box, right: width });
    labels.takeLine(drawn.flatMap((point, i): At[] => {
        const before = drawn[i - 1] ?? point;
        const middle = (before[0] + point[0]) / 2;
        return [[middle, before[1]], [middle, point[1]], point];
    }));
    const mark = (i: number, words: string): void => {
        const [at, up] = [x(data.counts[i]!), y(data.shares[i]!)];
        chart.append(s("circle", { cx: px(at), cy: px(up), r: 4, class: "dp-plan-dot" }));
        labels.takeMark(at, up, 4);
        // within the plot: under it stand the ticks
        const named = labels.beside(words, "", box, [
            { x: at + 9, y: up + 15, anchor: "start" },
            { x: at - 9, y: up + 15, anchor: "end" },
            { x: at + 9, y: up - 8, anchor: "start" },
        ], [[at, up]]);
        chart.append(...named);
    };
    mark(0, `empty bin: ${percent(empty)}`);
    if (sure > 0) mark(sure, `c = ${data.counts[sure]}: ${percent(data.shares[sure]!)}`);
    return chart;
}
