/** A map of two columns: a stronger colour for more, hollow where 0 is not ruled out, totals at the margins. */

import { h, s } from "../dom/dom";
import { label, line, px, svg, textWidth, tickText, type Box } from "./frame";

/** Strengths of one colour, of which a reader tells each from the next. */
const STEPS = [0.1, 0.24, 0.4, 0.58, 0.82, 1];
/** The colour of numbers, so that they can be read on any strength, light or dark. */
const OVER = ["", "", "", " dp-heat-middle", " dp-heat-strong", " dp-heat-strong"];
/** So few columns have all their names, cut where they must be. */
const FEW = 8;
const [ROW, HEAD, GAP, LINE] = [26, 38, 8, 14];
/** Figures of a wide font, with ± and commas, take more room than the mean. */
const ROOMY = 1.15;
/** A cell is no narrower than this; where there is less room, the map is wider than its place, and scrolls. */
const NARROWEST = 9;
export const [MOST_ROWS, MOST_COLUMNS] = [60, 60];

export interface Cell {
    /** For its strength, and for nothing else. */
    near: number;
    text: string;
    /** Whether its interval holds 0. */
    open: boolean;
}

export interface HeatMap {
    down: { name: string; labels: readonly string[]; totals: readonly string[] };
    across: { name: string; labels: readonly string[]; totals: readonly string[] };
    /** Row by row. */
    cells: readonly Cell[];
    /** The half-width of any one cell, near enough to space strengths by. */
    error: number;
    title: string;
}

/** The least number that is not below and whose sixths are short. */
export function top(values: readonly number[]): number {
    const most = Math.max(1, ...values);
    const power = 10 ** Math.floor(Math.log10(most));
    const sixths = [1.2, 1.5, 1.8, 2.4, 3, 3.6, 4.8, 6, 7.2, 9, 12];
    return sixths.map((scale) => scale * power).find((end) => end >= most * (1 - 1e-12)) ?? 12 * power;
}

/** Exponents of the spacing of the strengths, the least first. */
const POWERS = [2, 3, 4];
/** The strengths are spaced evenly unless a larger share than this of all cells has the first. */
const MOST_PALE = 0.5;

/** The largest value that each strength stands for: evenly spaced, or closer below where most cells would look
 * alike; but never closer than `error`, which is how far any one cell may be off. */
export function endsOf(values: readonly number[], error: number): number[] {
    const most = top(values);
    const even = STEPS.map((_, step) => (most * (step + 1)) / STEPS.length);
    if (values.filter((value) => value <= even[0]!).length <= MOST_PALE * values.length) return even;
    const largest = (ends: readonly number[]): number => Math.max(...STEPS.map((_, step) => values.filter((value) => strength(value, ends) === step).length));
    const closer = POWERS.map((power) => STEPS.map((_, step) => (step === STEPS.length - 1 ? most : Number((most * ((step + 1) / STEPS.length) ** power).toPrecision(2)))));
    const apart = closer.filter((ends) => ends[0]! >= Math.max(1, error) && ends.every((end, step) => step === 0 || end > ends[step - 1]!));
    return apart.reduce((best, ends) => (largest(ends) < largest(best) ? ends : best), even);
}

export const isEven = (ends: readonly number[]): boolean => Math.abs(ends[0]! * STEPS.length - ends.at(-1)!) <= 1e-9 * ends.at(-1)!;

const strength = (value: number, ends: readonly number[]): number => {
    const found = ends.findIndex((end) => value <= end * (1 + 1e-9));
    return found < 0 ? STEPS.length - 1 : found;
};

const cut = (name: string, room: number): string => {
    if (textWidth(name) <= room) return name;
    const most = Math.max(1, Math.floor(room / textWidth("0")) - 1);
    return `${name.slice(0, most)}…`;
};

/** Totals with their errors, in a line or, where there is less room, in two; none where a total would lose its error. */
function linesOf(totals: readonly string[], room: number): string[][] {
    const fits = (lines: readonly string[][]): boolean => lines.flat().every((words) => textWidth(words) <= room);
    const broken = totals.map((total) => {
        const at = total.indexOf(" ");
        return at < 0 ? [total] : [total.slice(0, at), total.slice(at + 1)];
    });
    return [totals.map((total) => [total]), broken].find(fits) ?? [];
}

/** A map, and where its cells stand, row by row. */
export interface DrawnMap {
    element: SVGSVGElement;
    columns: number;
    /** Whether the numbers of all cells are written in them. */
    written: boolean;
    box(cell: number): Box;
    at(x: number, y: number): number | null;
}

/** The map in so much width, or wider where its cells would be too narrow; nothing where it has too many. */
export function heatMap({ down, across, cells, error, title }: HeatMap, room: number): DrawnMap | null {
    const columns = across.labels.length;
    if (columns > MOST_COLUMNS || down.labels.length > MOST_ROWS) return null;
    const names = [...down.labels, down.name, across.totals.length === 0 ? "" : "total"];
    const left = Math.min(room / 3, ROOMY * Math.max(...names.map(textWidth)) + GAP);
    const right = down.totals.length === 0 ? 2 : ROOMY * Math.max(...[...down.totals, "total"].map(textWidth)) + GAP;
    const side = Math.max(NARROWEST, (room - left - right) / columns);
    const width = left + columns * side + right;
    const ends = endsOf(cells.map(({ near }) => near), error);
    const bottom = HEAD + ROW * down.labels.length;
    const written = side >= Math.max(...cells.map(({ text }) => textWidth(text))) + 6;
    const sums = linesOf(across.totals, side - 6);
    const below = sums.length > 0;
    const chart = svg(Math.ceil(width - 1e-6), bottom + (below ? GAP + ROW + LINE * (sums[0]!.length - 1) : 2), title);
    chart.append(label(0, HEAD - 8, cut(down.name, left - GAP), "start", "dp-tick"), label(left, 12, cut(across.name, columns * side), "start", "dp-tick"));
    const every = columns <= FEW ? 1 : Array.from({ length: columns }, (_, i) => i + 1).find((step) => step === columns || Math.max(...across.labels.filter((_, i) => i % step === 0).map(textWidth)) + 6 <= step * side)!;
    across.labels.forEach((name, i) => {
        if (i % every === 0) chart.append(label(left + (i + 0.5) * side, HEAD - 8, cut(name, Math.max(side * every - 4, 20)), "middle"));
    });
    down.labels.forEach((name, i) => {
        chart.append(label(0, HEAD + (i + 0.5) * ROW + 4, cut(name, left - GAP), "start"));
        const total = down.totals[i];
        if (total !== undefined) chart.append(label(left + columns * side + GAP, HEAD + (i + 0.5) * ROW + 4, total, "start", "dp-tick"));
    });
    if (down.totals.length > 0) chart.append(label(left + columns * side + GAP, HEAD - 8, "total", "start", "dp-tick"));
    const hole = Math.min(side, ROW) * 0.3;
    cells.forEach(({ near, text, open }, at) => {
        const [x, y] = [left + (at % columns) * side, HEAD + Math.floor(at / columns) * ROW];
        const step = strength(near, ends);
        chart.append(s("rect", { x: px(x), y: px(y), width: px(side - 1), height: ROW - 1, class: "dp-heat", "fill-opacity": STEPS[step]! }));
        if (open) {
            const half = written ? Math.max(hole, textWidth(text) / 2 + 3) : hole;
            const wide = Math.min(half, side / 2 - 1);
            chart.append(s("rect", { x: px(x + side / 2 - wide), y: px(y + ROW / 2 - hole), width: px(2 * wide - 1), height: px(2 * hole - 1), class: "dp-heat-hole" }));
        }
        if (!written) return;
        chart.append(label(x + side / 2, y + ROW / 2 + 4, text, "middle", `dp-heat-value${open ? "" : OVER[step]!}`));
    });
    if (below) {
        chart.append(label(0, bottom + GAP + ROW / 2 + 4, "total", "start", "dp-tick"));
        sums.forEach((lines, i) => lines.forEach((words, at) => chart.append(label(left + (i + 0.5) * side, bottom + GAP + ROW / 2 + 4 + LINE * at, words, "middle", "dp-tick"))));
    }
    return {
        element: chart,
        columns,
        written,
        box(cell) {
            const [x, y] = [left + (cell % columns) * side, HEAD + Math.floor(cell / columns) * ROW];
            return { left: x - 1, right: x + side, top: y - 1, bottom: y + ROW };
        },
        at(x, y) {
            const [column, row] = [Math.floor((x - left) / side), Math.floor((y - HEAD) / ROW)];
            return column >= 0 && column < columns && row >= 0 && row < down.labels.length ? row * columns + column : null;
        },
    };
}

/** The error of a cell, on the scale of the colour: its half-width, and what it holds for. */
export interface Reach {
    near: number;
    text: string;
    thick: boolean;
}

/** The meaning of the strengths: six of them, each with the largest value that it stands for; below them, on the same scale
 * where the strengths are evenly spaced and else in words, how far a cell may be off. */
export function heatKey(values: readonly number[], width: number, error: number, reaches: readonly Reach[] = []): SVGSVGElement {
    const bounds = endsOf(values, error);
    const side = Math.min(86, width / STEPS.length);
    const ends = bounds.map((end) => tickText(end));
    const even = isEven(bounds);
    const long = (near: number): number => (even ? (2 * near * side * STEPS.length) / bounds.at(-1)! : 0);
    const told = reaches.filter(({ near, text }) => long(near) + textWidth(text) + 12 <= width);
    const chart = svg(
        width,
        32 + REACH * told.length,
        `Strengths of the colour: up to ${ends.join(", ")}${told.map(({ text }) => `; ${text}`).join("")}`,
        ...STEPS.flatMap((opacity, step) => [
            s("rect", { x: px(step * side), y: 0, width: px(side - 2), height: 12, class: "dp-heat", "fill-opacity": opacity }),
            label(step * side, 27, `${step === 0 ? "to " : ""}${ends[step]!}`, "start", "dp-tick"),
        ]),
    );
    told.forEach(({ near, text, thick }, at) => {
        const y = 32 + REACH * (at + 0.5);
        if (!even) return chart.append(label(0, y + 4, text, "start", "dp-tick"));
        const end = Math.max(2, long(near));
        const bar = line(0.5, y, end, y, thick ? "dp-one" : "dp-all");
        bar.setAttribute("stroke-width", thick ? "3.4" : "1");
        chart.append(bar, label(end + 8, y + 4, text, "start", "dp-tick"));
        if (!thick) for (const x of [0.5, end]) chart.append(line(x, y - 4, x, y + 4, "dp-all"));
    });
    return chart;
}

const REACH = 18;

export const hollow = (): HTMLElement => h("div", {}, h("strong", {}, "hollow"), " a cell whose own interval holds 0: whether it is empty is not settled");
