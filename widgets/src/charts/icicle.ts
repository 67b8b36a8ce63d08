/** Which noisy nodes of a tree an answer adds up: a row for each height, darkness for the weight, hatched below 0. */

import { s } from "../dom/dom";
import { bottomAxis, label, line, px, svg, textWidth } from "./frame";

export interface Icicle {
    title: string;
    /** The names of the nodes of each height, leaves first. */
    names: readonly string[];
    /** How many bins a node of each height covers, leaves first. */
    sizes: readonly number[];
    /** Runs of nodes: height, first and last bin, how many nodes, the weight of each. */
    nodes: readonly (readonly number[])[];
    /** The brushed bins, the second end not included. */
    from: number;
    to: number;
    bins: number;
    ticks: readonly { at: number; label: string }[];
    text: (weight: number) => string;
}

const ROW = 30;
const GAP = 3;
/** Nodes narrower than this are drawn as one run. */
const NARROW = 4;

let hatches = 0;

export function icicleChart(width: number, data: Icicle): SVGSVGElement {
    const { names, sizes, nodes, from, to, bins } = data;
    const depths = names.length;
    const left = Math.min(110, Math.max(...names.map(textWidth)) + 10);
    const box = { left, right: width - 8, top: 8, bottom: 8 + depths * ROW };
    const pad = Math.max(2, (to - from) * 0.25, sizes[Math.max(0, depths - 3)]! / 16);
    const [low, high] = [Math.max(0, from - pad), Math.min(Math.max(bins, to), to + pad)];
    const x = (bin: number): number => box.left + ((Math.min(high, Math.max(low, bin)) - low) / (high - low)) * (box.right - box.left);
    hatches += 1;
    const hatch = `dp-icicle-${hatches}`;
    const ticks = data.ticks.filter(({ at }) => at >= low && at <= high);
    const chart = svg(
        width,
        box.bottom + 26,
        data.title,
        s("defs", {}, s("pattern", { id: hatch, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, line(0, 0, 0, 6, "dp-negative-line"))),
    );
    names.forEach((name, depth) => {
        const y = box.top + (depths - 1 - depth) * ROW;
        chart.append(label(left - 6, y + ROW / 2 + 3, name, "end", "dp-tick"), s("rect", { x: px(box.left), y, width: px(box.right - box.left), height: ROW - GAP, class: "dp-node-row" }));
    });
    const strongest = Math.max(...nodes.map((node) => Math.abs(node[4]!)), 1e-9);
    for (const [height, first, last, count, weight] of nodes as readonly (readonly [number, number, number, number, number])[]) {
        const [a, b] = [x(first), x(last + 1)];
        if (last + 1 <= low || first >= high || b - a < 0.2) continue;
        const y = box.top + (depths - height) * ROW;
        const share = Math.max(0.08, Math.abs(weight) / strongest);
        chart.append(
            weight > 0
                ? s("rect", { x: px(a), y, width: px(b - a), height: ROW - GAP, class: "dp-node-added", "fill-opacity": share.toFixed(2) })
                : s("rect", { x: px(a), y, width: px(b - a), height: ROW - GAP, class: "dp-node-taken", fill: `url(#${hatch})`, "stroke-opacity": Math.max(0.4, share).toFixed(2), "fill-opacity": Math.max(0.3, share).toFixed(2) }),
        );
        const each = (x(low + sizes[height - 1]!) - box.left) || 0;
        if (each >= NARROW && count > 1) {
            const cuts = Array.from({ length: count - 1 }, (_, i) => first + (i + 1) * sizes[height - 1]!).filter((cut) => cut > low && cut < high);
            chart.append(s("path", { d: cuts.map((cut) => `M${px(x(cut))} ${y}v${ROW - GAP}`).join(""), class: "dp-node-cut" }));
        }
        const words = `${data.text(weight)}${count > 1 ? " each" : ""}`;
        const [start, end] = widest([a, ...[from, to].map(x).filter((end) => end > a && end < b), b]);
        if (textWidth(words) + 8 <= end - start) chart.append(label((start + end) / 2, y + ROW / 2 + 3, words, "middle", "dp-node-weight"));
    }
    for (const end of [from, to]) chart.append(line(x(end), box.top - 4, x(end), box.bottom, "dp-probe"));
    chart.append(bottomAxis({ ...box }, { at: x, values: ticks.map(({ at }) => at), text: (at) => ticks.find((tick) => tick.at === at)?.label ?? "" }, ""));
    return chart;
}

/** The widest of the pieces between these places, for words that no line may cross. */
function widest(places: readonly number[]): [number, number] {
    const pieces = places.slice(1).map((end, i): [number, number] => [places[i]!, end]);
    return pieces.reduce((best, piece) => (piece[1] - piece[0] > best[1] - best[0] ? piece : best));
}
