/** Shares of three labels as points of a triangle: noisy ones beside it, and what may be made of them in it. */

import { s } from "../dom/dom";
import { label, Labels, line, px, svg, textWidth } from "./frame";
import { SHAPES } from "./lines";

export interface Mark {
    name: string;
    shares: readonly number[];
    kind: "public" | "noisy" | "way";
    /** Of a way: its colour and shape, and whether it is the one that is chosen. */
    series?: number;
    chosen?: boolean;
}

export interface Simplex {
    title: string;
    /** The labels at the corners: left, right, top. */
    names: readonly string[];
    marks: readonly Mark[];
    /** The corners of an area. */
    area: readonly (readonly number[])[];
}

type Place = [number, number];

const [ASIDE, TOP, BOTTOM, MOST] = [20, 26, 28, 300];
/** Noisy shares further outside than this stand at the edge. */
const FURTHEST = 0.45;
const TALL = Math.sqrt(3) / 2;

/** Shares that do not add up to 1 stand where they would if all of them were moved alike. */
function placeOf(shares: readonly number[]): Place {
    const move = (1 - shares.reduce((sum, share) => sum + share, 0)) / 3;
    const [, right, top] = shares.map((share) => share + move) as [number, number, number];
    return [right + top / 2, top * TALL];
}

export function simplexChart(width: number, { title, names, marks, area }: Simplex): SVGSVGElement {
    const kept = ([x, y]: Place): Place => [Math.max(-FURTHEST, Math.min(1 + FURTHEST, x)), Math.max(-FURTHEST, Math.min(TALL + FURTHEST, y))];
    const places = marks.map(({ shares }) => kept(placeOf(shares)));
    const [xs, ys] = [[0, 1, ...places.map(([x]) => x)], [0, TALL, ...places.map(([, y]) => y)]];
    const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const one = Math.min((width - 2 * ASIDE) / (right - left), MOST / (high - low));
    const middle = (width - one * (right - left)) / 2;
    const height = TOP + one * (high - low) + BOTTOM;
    const at = ([x, y]: Place): Place => [middle + one * (x - left), TOP + one * (high - y)];
    const way = (points: readonly Place[]): string => `M${points.map((point) => at(point).map(px).join(" ")).join("L")}Z`;
    const corners: Place[] = [[0, 0], [1, 0], [0.5, TALL]];
    const chart = svg(width, height, title, s("path", { d: way(corners), class: "dp-simplex" }));
    if (area.length > 2) chart.append(s("path", { d: way(area.map(placeOf)), class: "dp-closest" }));
    const labels = new Labels({ left: 2, right: width - 2, top: 0, bottom: height });
    corners.forEach((corner, i) => {
        const [x, y] = at(corner);
        const words = names[i]!;
        const start = Math.max(2, Math.min(width - 2 - textWidth(words), x - textWidth(words) / 2));
        const up = i === 2 ? y - 8 : y + 18;
        labels.take({ left: start, right: start + textWidth(words), top: up - 10, bottom: up + 3 });
        chart.append(label(start, up, words, "start", "dp-tick"));
    });
    const noisy = marks.findIndex(({ kind }) => kind === "noisy");
    marks.forEach(({ kind, chosen }, i) => {
        if (kind === "way" && noisy >= 0) chart.append(line(...at(places[noisy]!), ...at(places[i]!), `dp-moved${chosen ? " dp-chosen-way" : ""}`));
    });
    const dots = marks.map((mark, i) => [mark, ...at(places[i]!)] as const);
    for (const [, x, y] of dots) labels.take({ left: x - 5, right: x + 5, top: y - 5, bottom: y + 5 });
    for (const [{ kind, series, chosen }, x, y] of dots) {
        if (kind === "way") chart.append(s("path", { d: SHAPES[series! - 1]!, class: `dp-spot dp-series-${series}`, "data-best": chosen ?? false, transform: `translate(${px(x)} ${px(y)}) scale(1.4)` }));
        else chart.append(s("circle", { cx: px(x), cy: px(y), r: kind === "public" ? 5 : 7.5, class: kind === "public" ? "dp-made-up" : "dp-noisy" }));
    }
    for (const [{ name, kind, series }, x, y] of dots) {
        const colour = kind === "way" ? `dp-name dp-series-${series}` : kind === "public" ? "dp-tick dp-public-name" : "dp-tick";
        const spots = (kind === "public" ? [14, -12, 28, 0] : [0, 14, -14, 28, -28, 42]).flatMap((dy) => [
            { x: x + 10, y: y + 4 + dy, anchor: "start" as const },
            { x: x - 10, y: y + 4 + dy, anchor: "end" as const },
        ]);
        const text = labels.place(name, colour, spots);
        if (text !== null) chart.append(text);
    }
    return chart;
}
