/** Pairs of simulated counts, side by side on the same axes. */

import { scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { bottomAxis, label, leftAxis, px, svg, type Box } from "./frame";

export interface Cloud {
    name: string;
    /** x, y, and how often. */
    dots: readonly (readonly number[])[];
}

const [LEFT, TOP, BOTTOM, BETWEEN] = [28, 22, 38, 14];

export function scatterChart(width: number, title: string, clouds: readonly Cloud[], axis: string): SVGSVGElement {
    const side = Math.floor((width - BETWEEN * (clouds.length - 1)) / clouds.length) - LEFT - 6;
    const most = Math.max(1, ...clouds.flatMap(({ dots }) => dots.flatMap(([x, y]) => [x!, y!]))) + 1;
    const chart = svg(width, TOP + side + BOTTOM, title);
    clouds.forEach(({ name, dots }, i) => {
        const left = i * (LEFT + side + 6 + BETWEEN) + LEFT;
        const box: Box = { left, right: left + side, top: TOP, bottom: TOP + side };
        const x = scaleLinear().domain([0, most]).range([box.left, box.right]);
        const y = scaleLinear().domain([0, most]).range([box.bottom, box.top]);
        const values = x.ticks(Math.max(2, Math.floor(side / 60)));
        chart.append(leftAxis(box, { at: y, values }), bottomAxis(box, { at: x, values }, ""), label(box.left, TOP - 8, name, "start", "dp-strong"));
        chart.append(label((box.left + box.right) / 2, box.bottom + 32, axis, "middle", "dp-tick"));
        for (const [one, other, times] of dots) chart.append(s("circle", { cx: px(x(one!)), cy: px(y(other!)), r: px(1.4 * Math.sqrt(times!)), class: "dp-made-up dp-cloud" }));
    });
    return chart;
}
