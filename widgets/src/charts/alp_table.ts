/** A table of ALP's bits, the row of one key under it, and the climb over that row: one picture on shared columns. */

import { s } from "../dom/dom";
import type { Cell } from "../numbers/alp";
import { label, line, px, svg, tickText } from "./frame";

export interface AlpTable {
    title: string;
    cells: readonly (readonly Cell[])[];
    /** Where the key that is read lies in each column. */
    places: readonly number[];
    /** The key whose bits are read. */
    key: number;
    /** The settings in force: whose bits are written, whether they are flipped, whether the row is read, climbed and judged. */
    shows: { own: boolean; others: boolean; flips: boolean; path: boolean; walk: boolean; peaks: boolean };
    /** The row under the table, and what it is. */
    strip: { bits: readonly number[]; name: string };
    heights: readonly number[];
    peaks: readonly number[];
    estimate: number;
    truth: number;
    words: { truth: string; estimate: string };
}

const [LEFT, RIGHT, TOP] = [56, 14, 22];
const CLIMB = 150;

let hatches = 0;

export function alpTable(width: number, data: AlpTable): SVGSVGElement {
    const [columns, bits] = [data.cells.length, data.cells[0]!.length];
    const pitch = Math.min(84, (width - LEFT - RIGHT) / columns);
    const tall = bits <= 8 ? 24 : bits <= 16 ? 16 : 10;
    const [tableEnd, strip] = [TOP + bits * tall, TOP + bits * tall + 14];
    const climb = strip + 50;
    const height = climb + CLIMB + 40;
    const x = (place: number): number => LEFT + place * pitch;
    hatches += 1;
    const hatch = `dp-alp-hatch-${hatches}`;
    const chart = svg(
        width,
        height,
        data.title,
        s(
            "defs",
            {},
            s("pattern", { id: hatch, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, line(0, 0, 0, 6, "dp-hatch-line")),
        ),
        label(LEFT - 8, TOP - 8, "column", "end", "dp-tick"),
        label(LEFT - 8, TOP + (bits * tall) / 2 + 4, `${bits} bits`, "end", "dp-tick"),
    );
    const written = pitch >= 13 && tall >= 14;
    data.cells.forEach((column, i) => {
        if (pitch >= 20 || i % 2 === 0) chart.append(label(x(i + 0.5), TOP - 8, String(i + 1), "middle", "dp-tick"));
        column.forEach((cell, k) => chart.append(...cellOf(cell, x(i), TOP + k * tall, pitch, tall, data, hatch, written)));
    });
    if (data.shows.path) {
        data.places.forEach((place, i) =>
            chart.append(s("rect", { x: px(x(i) + 1), y: px(TOP + place * tall + 1), width: px(pitch - 2), height: px(tall - 2), class: "dp-alp-read" })),
        );
    }
    chart.append(label(LEFT - 8, strip + 17, data.strip.name, "end", "dp-tick"));
    data.strip.bits.forEach((bit, i) => {
        chart.append(
            s("rect", { x: px(x(i) + 1), y: px(strip), width: px(pitch - 2), height: 24, class: bit === 1 ? "dp-alp-own" : "dp-alp-empty" }),
            label(x(i + 0.5), strip + 17, String(bit), "middle", bit === 1 ? "dp-on-own" : ""),
        );
    });
    if (data.shows.walk) chart.append(...mountain(data, x, climb, columns, pitch));
    else chart.append(label(x(columns / 2), climb + CLIMB / 2, "the climb comes in step 6", "middle", "dp-tick"));
    chart.append(line(LEFT, tableEnd + 7, x(columns), tableEnd + 7, "dp-grid"));
    return chart;
}

function cellOf(cell: Cell, x: number, y: number, wide: number, tall: number, { shows, key }: AlpTable, hatch: string, written: boolean): SVGElement[] {
    const own = shows.own && cell.setBy.includes(key);
    const others = shows.others && cell.setBy.some((other) => other !== key);
    const flipped = shows.flips && cell.flipped;
    const set = own || others;
    const one = set !== flipped;
    const box = { x: px(x + 1), y: px(y + 1), width: px(wide - 2), height: px(tall - 2) };
    const parts: SVGElement[] = [s("rect", { ...box, class: !one ? "dp-alp-empty" : own && !flipped ? "dp-alp-own" : flipped ? "dp-alp-noise" : "dp-alp-empty" })];
    if (one && others && !flipped) parts.push(s("rect", { ...box, class: own ? "dp-alp-both" : "dp-alp-other", fill: own ? "none" : `url(#${hatch})` }));
    if (flipped) parts.push(s("rect", { x: px(x + 2.5), y: px(y + 2.5), width: px(wide - 5), height: px(tall - 5), class: "dp-alp-flipped" }));
    if (written) parts.push(label(x + wide / 2, y + tall / 2 + 4, one ? "1" : "0", "middle", one && own && !flipped ? "dp-on-own" : one ? "" : "dp-tick"));
    return parts;
}

/** The climb: place 0 stands left of the first column, place b right of column b. */
function mountain(data: AlpTable, x: (place: number) => number, top: number, columns: number, pitch: number): SVGElement[] {
    const { heights, peaks, shows, estimate, truth, words } = data;
    const [low, high] = [Math.min(0, ...heights), Math.max(1, ...heights)];
    const y = (height: number): number => top + 24 + ((CLIMB - 40) * (high - height)) / (high - low);
    const parts: SVGElement[] = [];
    const levels = Number.isInteger(high) && Number.isInteger(low) && high - low <= 8 ? Array.from({ length: high - low + 1 }, (_, i) => low + i) : [low, 0, high];
    for (const level of new Set(levels)) parts.push(line(LEFT, y(level), x(columns), y(level), "dp-grid"), label(LEFT - 8, y(level) + 4, tickText(Number(level.toPrecision(2))), "end", "dp-tick"));
    const every = pitch >= 20 ? 1 : 2;
    for (let place = 0; place <= columns; place += every) parts.push(label(x(place), top + CLIMB + 8, String(place), "middle", "dp-tick"));
    parts.push(label(x(columns / 2), top + CLIMB + 26, "place", "middle", "dp-tick"));
    if (shows.peaks) {
        const apart = Math.abs(x(truth) - x(estimate)) > 1;
        parts.push(line(x(truth), top + 16, x(truth), top + CLIMB - 8, "dp-alp-truth"));
        parts.push(line(x(estimate), top + 16, x(estimate), top + CLIMB - 8, "dp-alp-estimate"));
        const right = x(estimate) > x(columns / 2);
        const anchor = (left: boolean): "start" | "end" => (left ? "end" : "start");
        parts.push(label(x(estimate) + (right ? -5 : 5), top + 12, words.estimate, anchor(right), "dp-strong"));
        if (apart) parts.push(label(x(truth) + (x(truth) > x(columns / 2) ? -5 : 5), top - 2, words.truth, anchor(x(truth) > x(columns / 2)), "dp-tick"));
    }
    parts.push(s("path", { d: `M${heights.map((height, place) => `${px(x(place))} ${px(y(height))}`).join("L")}`, class: "dp-alp-walk" }));
    heights.forEach((height, place) => {
        const peak = shows.peaks && peaks.includes(place);
        parts.push(s("circle", { cx: px(x(place)), cy: px(y(height)), r: peak ? 6 : 3, class: peak ? "dp-alp-peak" : "dp-alp-step" }));
    });
    return parts;
}
