/** A list as cells: items filled, ⊥ outlined, places that were not used dashed. */

import { arrow } from "./histogram";
import { scaleLinear } from "d3-scale";
import { h, s, type Child } from "../dom/dom";
import { label, line, px, svg, textWidth, tickText } from "./frame";

export interface Cells {
    items: readonly string[];
    /** The same where there is little room. */
    short?: readonly string[];
    /** How many items could come. */
    maxItems: number;
    /** The bottom symbol came after the last item. */
    ended: boolean;
    /** A set's order says nothing, so its cells have no rank. */
    ordered: boolean;
}

export const NO_MORE = "⊥";
/** The room in a cell, in px: its width in lists.css without padding and border. */
const CELL_TEXT = 138;
const NO_MORE_WORDS = "no more";

/** How many places stayed empty; the bottom symbol takes one. */
export const unused = ({ items, maxItems, ended }: Cells): number => Math.max(0, maxItems - items.length - (ended ? 1 : 0));

/** The cells as a list of the page. Empty places are said once, in words, by whoever shows the list. */
export function cellList(cells: Cells, name: string, ranks = true): HTMLElement {
    const ranked = ranks && cells.ordered;
    const rank = (place: number | string): Child => (ranked ? h("span", { class: "dp-rank" }, String(place)) : null);
    return h(
        cells.ordered ? "ol" : "ul",
        { class: "dp-cells", "aria-label": name },
        ...cells.items.map((item, i) =>
            h("li", { class: "dp-place" }, rank(i + 1), h("span", { class: "dp-cell", title: item }, named(cells, i, CELL_TEXT))),
        ),
        cells.ended &&
            h(
                "li",
                { class: "dp-place" },
                rank(""),
                h("span", { class: "dp-cell dp-bottom", role: "img", "aria-label": NO_MORE_WORDS, title: NO_MORE_WORDS }, NO_MORE),
            ),
        ...Array.from({ length: unused(cells) }, () =>
            h(
                "li",
                { class: "dp-place", "aria-hidden": "true" },
                rank(""),
                h("span", { class: "dp-cell dp-unused" }),
            ),
        ),
    );
}

export interface Valued {
    value: number;
    /** The value in words, as it was released. */
    text: string;
    one: readonly [number, number];
    all: readonly [number, number] | null;
}

const ROW = 36;
const TOP = 24;
const CELL = 24;

/** The same with a released value for each item: a dot with both its bars on one axis from 0, beside its cell. */
export function valuedList(width: number, cells: Cells, values: readonly Valued[], title: string, limits: { low: boolean; high: boolean } | null = null): SVGSVGElement {
    const names = [...cells.items.map((_, i) => named(cells, i, 0.3 * width - 16)), NO_MORE];
    const wide = Math.min(Math.max(48, ...names.map((name) => textWidth(name) + 16)), Math.max(72, width * 0.3));
    const rows = cells.items.length + (cells.ended ? 1 : 0) + unused(cells);
    const height = TOP + rows * ROW;
    const most = Math.max(1, ...values.map(({ all, one }) => (all ?? one)[1]));
    const room = Math.max(0, ...values.map(({ text }) => textWidth(text))) / 2 + 6;
    const x = scaleLinear()
        .domain([0, most])
        .range([24 + wide + 16, Math.max(24 + wide + 40, width - room)])
        .clamp(true);
    const chart = svg(width, height, title);
    let free = -Infinity;
    for (const tick of values.length === 0 ? [] : x.ticks(Math.max(2, Math.floor(width / 110)))) {
        const [at, words] = [x(tick), tickText(tick)];
        chart.append(line(at, TOP - 6, at, height, "dp-grid"));
        if (at - textWidth(words) / 2 < free) continue;
        chart.append(label(at, 11, words, "middle", "dp-tick"));
        free = at + textWidth(words) / 2 + 8;
    }
    for (let i = 0; i < rows; i += 1) {
        const [middle, item] = [TOP + i * ROW + ROW / 2, cells.items[i]];
        const kind = item !== undefined ? "dp-cell-item" : i === cells.items.length && cells.ended ? "dp-cell-bottom" : "dp-cell-unused";
        if (item !== undefined && cells.ordered) chart.append(label(16, middle + 4, String(i + 1), "end", "dp-tick"));
        chart.append(
            s("rect", { x: 24, y: px(middle - CELL / 2), width: px(wide), height: CELL, rx: 2, class: `dp-cell-box ${kind}` }),
        );
        const words = item === undefined ? (kind === "dp-cell-bottom" ? NO_MORE : "") : fitted(names[i]!, wide - 12);
        const written = label(24 + wide / 2, middle + 4, words, "middle", item === undefined ? "dp-strong" : "dp-on-ink");
        if (item !== undefined && words !== item) written.append(s("title", {}, item));
        if (words !== "") chart.append(written);
        const value = values[i];
        if (value !== undefined) chart.append(...marks(value, x, middle, limits ?? { low: true, high: true }));
    }
    return chart;
}

function marks({ value, text, one, all }: Valued, x: (count: number) => number, y: number, stands: { low: boolean; high: boolean }): SVGElement[] {
    const bars: SVGElement[] = [];
    if (all !== null) {
        bars.push(line(x(all[0]), y, x(all[1]), y, "dp-all"));
        if (stands.low) bars.push(line(x(all[0]), y - 4, x(all[0]), y + 4, "dp-all"));
        if (stands.high) bars.push(line(x(all[1]), y - 4, x(all[1]), y + 4, "dp-all"));
    }
    const [low, high] = all ?? one;
    const open = (stands.low ? "" : arrow(x(low), y, -1, 0)) + (stands.high ? "" : arrow(x(high), y, 1, 0));
    if (open !== "") bars.push(s("path", { d: open, class: "dp-over dp-open-end" }));
    const thick = line(x(one[0]), y, x(one[1]), y, "dp-one");
    thick.setAttribute("stroke-width", "3.4");
    return [
        ...bars,
        thick,
        s("circle", { cx: px(x(value)), cy: px(y), r: 4, class: "dp-value" }),
        label(x(value), y - 8, text, "middle", "dp-strong"),
    ];
}

/** An item in full where it fits, else its short name. */
function named({ items, short }: Cells, i: number, width: number): string {
    const item = items[i]!;
    return textWidth(item) <= width ? item : (short?.[i] ?? item);
}

function fitted(text: string, width: number): string {
    if (textWidth(text) <= width) return text;
    const most = Math.max(1, Math.floor(width / textWidth("n")) - 1);
    return `${text.slice(0, most)}…`;
}
