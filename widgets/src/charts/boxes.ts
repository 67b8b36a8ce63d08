/** A small tree as rows of boxes, the root on top: in each a noisy value and, under it, the fitted one. */

import { s } from "../dom/dom";
import { label, line, px, svg, textWidth } from "./frame";

export interface TreeBox {
    /** The depth, the root's 0, and the leaves that it covers, from 0. */
    depth: number;
    first: number;
    last: number;
    noisy: string;
    /** In several forms, of which the first that fits is written. */
    fitted: readonly string[];
    /** The sum of the noisy values below it, where that is another number. */
    sum: string | null;
    /** It covers nothing but padding. */
    padding: boolean;
}

export interface Boxes {
    title: string;
    boxes: readonly TreeBox[];
    depths: number;
    leaves: number;
    /** The name of each leaf. */
    names: readonly string[];
}

const ROW = 48;
const GAP = 3;
const TOP = 4;
const FOOT = 20;

let hatches = 0;

export const boxesHeight = (depths: number): number => TOP + depths * ROW + FOOT;

export function boxesChart(width: number, { title, boxes, depths, leaves, names }: Boxes): SVGSVGElement {
    const height = boxesHeight(depths);
    const x = (leaf: number): number => (width * leaf) / leaves;
    hatches += 1;
    const hatch = `dp-boxes-${hatches}`;
    const chart = svg(
        width,
        height,
        title,
        s("defs", {}, s("pattern", { id: hatch, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, line(0, 0, 0, 7, "dp-hatch-line"))),
    );
    for (const box of boxes) {
        const [left, right, top] = [x(box.first) + GAP / 2, x(box.last + 1) - GAP / 2, TOP + box.depth * ROW];
        const [middle, room] = [(left + right) / 2, right - left - 4];
        const kind = `dp-tree-box${box.padding ? " dp-tree-padding" : ""}${box.sum === null ? "" : " dp-tree-broken"}`;
        chart.append(
            s("rect", { x: px(left), y: top, width: px(right - left), height: ROW - GAP, class: kind }),
            s("rect", { x: px(left + 1), y: top + ROW - GAP - 5, width: px(Math.max(0, right - left - 2)), height: 4, fill: `url(#${hatch})`, class: "dp-public" }),
        );
        const broken = box.sum === null ? [] : [`✕ ${box.noisy} ≠ ${box.sum}`, `✕ ${box.noisy}`, "✕"];
        const noisy = [...broken, box.noisy].find((text) => textWidth(text) <= room);
        if (noisy !== undefined) chart.append(label(middle, top + 16, noisy, "middle", box.sum === null ? "dp-bare" : "dp-bare dp-wrong"));
        const fitted = box.fitted.find((text) => textWidth(text) <= room);
        if (fitted !== undefined) chart.append(label(middle, top + 33, fitted, "middle", "dp-bare dp-fitted"));
    }
    names.forEach((name, leaf) => {
        if (textWidth(name) > x(1) - 2) return;
        chart.append(label(x(leaf + 0.5), height - 5, name, "middle", "dp-tick"));
    });
    return chart;
}
