/** The distance of chances from the true shares, one row for each label, on both sides of a line at 0. */

import { scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { bottomAxis, label, line, niceCeiling, px, svg, type Box, textWidth, tickText } from "./frame";
import { SHAPES } from "./lines";

export interface BiasRow {
    name: string;
    /** One for each way: its series, and how far it is off. */
    values: readonly { series: number; off: number; chosen: boolean }[];
}

const [ROW, TOP, BOTTOM] = [40, 8, 38];

export function biasChart(width: number, title: string, rows: readonly BiasRow[], axis: string): SVGSVGElement {
    const most = niceCeiling(Math.max(1e-6, ...rows.flatMap(({ values }) => values.map(({ off }) => Math.abs(off)))));
    const left = Math.max(...rows.map(({ name }) => textWidth(name))) + 12;
    const box: Box = { left, right: width - 14, top: TOP, bottom: TOP + rows.length * ROW };
    const x = scaleLinear().domain([-most, most]).range([box.left, box.right]);
    const chart = svg(width, box.bottom + BOTTOM, title, bottomAxis(box, { at: x, values: x.ticks(4), text: (value) => (value > 0 ? `+${tickText(value)}` : tickText(value)) }, axis));
    chart.append(line(x(0), box.top, x(0), box.bottom, "dp-axis"));
    rows.forEach(({ name, values }, i) => {
        const middle = TOP + (i + 0.5) * ROW;
        chart.append(label(box.left - 8, middle + 4, name, "end", "dp-tick"));
        values.forEach(({ series, off, chosen }, k) => {
            const y = middle + (k - (values.length - 1) / 2) * 14;
            chart.append(
                s("g", { class: `dp-line dp-series-${series}` }, line(x(0), y, x(off), y, "dp-curve dp-thin dp-exact")),
                s("path", { d: SHAPES[series - 1]!, class: `dp-spot dp-series-${series}`, "data-best": chosen, transform: `translate(${px(x(off))} ${px(y)})` }),
            );
        });
    });
    return chart;
}
