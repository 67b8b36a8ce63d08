/** How likely each item is on the list: a bar for the exact chance, a dot for the share of simulated lists. */

import { scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { label, line, px, svg, textWidth } from "./frame";

export interface Inclusion {
    title: string;
    labels: readonly string[];
    chance: readonly number[];
    simulated: readonly number[];
    text: (chance: number) => string;
}

const PITCH = 18;
const LONGEST = 14;
/** A chance is written beside the first bar that falls below each of these, so that five numbers are enough. */
const TOLD = [2, 0.8, 0.3, 0.04];

export const inclusionHeight = (rows: number): number => rows * PITCH + 28;

export function inclusionChart(width: number, data: Inclusion): SVGSVGElement {
    const rows = data.labels.length;
    const names = data.labels.map((name) => (name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name));
    const box = { left: Math.min(width / 3, Math.max(...names.map(textWidth), 24) + 16), right: width - 62, top: 4, bottom: rows * PITCH + 6 };
    const x = scaleLinear().domain([0, 1]).range([box.left, box.right]);
    const middle = (row: number): number => box.top + (row + 0.5) * PITCH;
    const told = new Set(TOLD.map((below) => data.chance.findIndex((chance) => chance < below)));
    return svg(
        width,
        inclusionHeight(rows),
        data.title,
        ...[0, 0.5, 1].flatMap((share) => [
            line(x(share), box.top, x(share), box.bottom, "dp-grid"),
            label(x(share), box.bottom + 14, share === 0 ? "0" : `${100 * share} %`, "middle", "dp-tick"),
        ]),
        ...names.flatMap((name, row) => [
            label(box.left - 8, middle(row) + 4, name, "end"),
            s("rect", { x: px(box.left), y: px(middle(row) - 5), width: px(x(data.chance[row]!) - box.left), height: 10, class: "dp-public-bar" }),
            s("circle", { cx: px(x(data.simulated[row]!)), cy: px(middle(row)), r: 3.2, class: "dp-plan-dot" }),
            told.has(row) ? label(Math.max(x(data.chance[row]!), x(data.simulated[row]!)) + 8, middle(row) + 4, data.text(data.chance[row]!)) : null,
        ]),
    );
}
