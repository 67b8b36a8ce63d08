/** Small multiples: a panel for each part, all on one axis; upright over the bins of an axis, or lying beside labels. */

import { scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { binAxis, drawPanel, hatchBars, lyingMark, type Mark, type Named } from "./histogram";
import { label, leftAxis, line, px, svg, textWidth, tickText, type Box } from "./frame";

export interface Panel {
    name: string;
    marks: readonly Mark[];
    /** Of lying bars their labels and values, in words. */
    labels: readonly string[];
    texts: readonly string[];
    /** The element below the last one, such as how many more there are; or nothing. */
    rest: string;
}

export interface Multiples {
    panels: readonly Panel[];
    /** The bins of all panels, where they stand upright; null where bars lie. */
    axis: Named | null;
    /** The values that the shared axis must hold, on show or not. */
    low: number;
    high: number;
    nouns: string;
    title: string;
    teaching: boolean;
}

/** The panels, whose marks are numbered one panel after the other. */
export interface DrawnPanels {
    element: SVGSVGElement;
    count: number;
    /** Too many bins for a mark each: they run together into bands. */
    banded: boolean;
    /** The panel of a mark, and its place in it. */
    place(mark: number): [panel: number, at: number];
    box(mark: number): Box;
    at(x: number, y: number): number | null;
    move(key: string, from: number): number | null;
}

/** A panel is no narrower than this, where there is room for two; between two lies a gap. */
const [LEAST, GAP] = [196, 26];
const [HEAD, TALL, FOOT, NAME] = [22, 104, 24, 18];
const ROW = 22;
/** Longer labels of lying bars make panels no wider; a bar has room of its own beside them. */
const [NAMES, BAR] = [150, 90];
/** Narrower bins run together into bands. */
const SINGLE = 4;
/** A wide font's figures take more room than the mean. */
const ROOMY = 1.12;

export function multiples(what: Multiples, width: number): DrawnPanels {
    const drawn = what.axis === null ? lying(what, width) : upright(what, what.axis, width);
    if (what.teaching) hatchBars(drawn.element);
    return drawn;
}

const across = (room: number, panels: number, least = LEAST): number => Math.max(1, Math.min(panels, Math.floor((room + GAP) / (least + GAP))));

const cut = (name: string, room: number): string => {
    if (ROOMY * textWidth(name) <= room) return name;
    const most = Math.max(1, Math.floor(room / ROOMY / textWidth("0")) - 1);
    return `${name.slice(0, most)}…`;
};

const head = (name: string, left: number, top: number, room: number): SVGElement => label(left, top - 8, cut(name, room), "start", "dp-strong");

// --- upright ---------------------------------------------------------------------------------------------------

function upright({ panels, low, high, nouns, title }: Multiples, named: Named, width: number): DrawnPanels {
    const size = named.short_labels.length;
    const y = scaleLinear().domain([low, high]).nice(4);
    const [least, most] = y.domain() as [number, number];
    const ticks = y.ticks(3);
    const left = Math.max(32, ...ticks.map((value) => textWidth(tickText(value)) + 10));
    const columns = across(width - left - 4, panels.length);
    const each = (width - left - 4 - GAP * (columns - 1)) / columns;
    const step = each / size;
    const banded = step < SINGLE;
    const rows = Math.ceil(panels.length / columns);
    const deep = HEAD + TALL + FOOT;
    const boxOf = (panel: number): Box => {
        const [x, top] = [left + (panel % columns) * (each + GAP), NAME + Math.floor(panel / columns) * deep + HEAD];
        return { left: x, right: x + each, top, bottom: top + TALL };
    };
    const chart = svg(width, NAME + rows * deep + NAME, title, label(0, 12, nouns, "start", "dp-tick"));
    panels.forEach(({ name, marks }, panel) => {
        const box = boxOf(panel);
        const at = y.copy().range([box.bottom, box.top]);
        const first = panel % columns === 0;
        chart.append(head(name, box.left, box.top, each), leftAxis(box, { at, values: ticks, text: (value) => (first ? tickText(value) : "") }));
        const place = (bin: number): number => box.left + (bin + 0.5) * step;
        const frame = { box, low: least, high: most };
        chart.append(...(banded ? bands(marks, box, at) : drawPanel(frame, marks, place, 0, step, { bars: true, intervals: true })));
        if (least < 0) chart.append(line(box.left, at(0), box.right, at(0), "dp-axis"));
        chart.append(binAxis({ ...named, axis: panel + columns >= panels.length ? named.axis : "" }, 0, size - 1, place, box));
    });
    const count = panels.length * size;
    return {
        element: chart,
        count,
        banded,
        place: (mark) => [Math.floor(mark / size), mark % size],
        box(mark) {
            const { left: x, top, bottom } = boxOf(Math.floor(mark / size));
            const middle = x + ((mark % size) + 0.5) * step;
            return { left: middle - Math.max(3, step / 2), right: middle + Math.max(3, step / 2), top: top - 2, bottom };
        },
        at(x, up) {
            for (let panel = 0; panel < panels.length; panel += 1) {
                const box = boxOf(panel);
                if (x < box.left || x > box.right || up < box.top - HEAD || up > box.bottom) continue;
                return panel * size + Math.min(size - 1, Math.floor((x - box.left) / step));
            }
            return null;
        },
        move: (key, from) => moved(key, from, ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"], panels.map(() => size), columns),
    };
}

/** One stretch for each pixel column: the band of any one bin over that of all, and the values as a line. */
function bands(marks: readonly Mark[], box: Box, y: (value: number) => number): Node[] {
    const many = Math.max(1, Math.min(marks.length, Math.floor(box.right - box.left)));
    const wide = (box.right - box.left) / many;
    const paths = { all: "", one: "", value: "" };
    for (let column = 0; column < many; column += 1) {
        const some = marks.slice(Math.floor((column * marks.length) / many), Math.max(Math.floor(((column + 1) * marks.length) / many), Math.floor((column * marks.length) / many) + 1));
        const stroke = (lows: number[], highs: number[]): string => {
            const [a, b] = [y(Math.min(...lows)), y(Math.max(...highs))];
            const more = a - b < 1 ? 0.5 : 0;
            return `M${px(box.left + (column + 0.5) * wide)} ${px(a + more)}V${px(b - more)}`;
        };
        paths.all += stroke(some.map(({ all }) => all.low), some.map(({ all }) => all.high));
        paths.one += stroke(some.map(({ one }) => one.low), some.map(({ one }) => one.high));
        paths.value += stroke(some.map(({ value }) => value), some.map(({ value }) => value));
    }
    return Object.entries(paths).map(([kind, d]) => s("path", { d, class: `dp-column dp-column-${kind}`, "stroke-width": (wide + 0.05).toFixed(2) }));
}

// --- lying -----------------------------------------------------------------------------------------------------

function lying({ panels, low, high, nouns, title }: Multiples, width: number): DrawnPanels {
    const widest = (words: readonly string[]): number => Math.max(0, ...words.map((one) => ROOMY * textWidth(one)));
    const [labels, texts] = [widest(panels.flatMap((panel) => panel.labels)) + 8, widest(panels.flatMap((panel) => panel.texts)) + 10];
    const columns = across(width, panels.length, Math.max(LEAST, Math.min(NAMES, labels) + texts + BAR));
    const each = (width - GAP * (columns - 1)) / columns;
    const names = Math.min(each * 0.45, labels);
    const room = each - names - texts;
    const x = scaleLinear().domain([low, high]).range([0, Math.max(20, room)]).clamp(true);
    const ticks = x.ticks(Math.max(2, Math.floor(room / 56)));
    const rows = panels.map(({ marks, rest }) => Math.max(1, marks.length + (rest === "" ? 0 : 1)));
    const lines = Array.from({ length: Math.ceil(panels.length / columns) }, (_, row) => Math.max(...rows.slice(row * columns, (row + 1) * columns)));
    const tops: number[] = [HEAD];
    for (const many of lines) tops.push(tops.at(-1)! + many * ROW + FOOT + HEAD);
    const boxOf = (panel: number): Box => {
        const [row, left] = [Math.floor(panel / columns), (panel % columns) * (each + GAP)];
        return { left, right: left + each, top: tops[row]!, bottom: tops[row]! + lines[row]! * ROW };
    };
    const chart = svg(width, tops.at(-1)! - HEAD + 6, title);
    panels.forEach((panel, at) => {
        const box = boxOf(at);
        const zero = box.left + names;
        const along = (value: number): number => zero + x(value);
        chart.append(head(panel.name, box.left, box.top, each));
        let free = -Infinity;
        for (const tick of ticks) {
            const half = textWidth(tickText(tick)) / 2;
            chart.append(line(along(tick), box.top, along(tick), box.bottom, tick === 0 ? "dp-axis" : "dp-grid"));
            if (along(tick) - half < free) continue;
            chart.append(label(along(tick), box.bottom + 14, tickText(tick), "middle", "dp-tick"));
            free = along(tick) + half + 6;
        }
        if (at % columns === 0 && ROOMY * textWidth(nouns) + 12 <= names) chart.append(label(box.left, box.bottom + 14, nouns, "start", "dp-tick"));
        panel.marks.forEach((mark, row) => {
            const middle = box.top + (row + 0.5) * ROW;
            const inner = { box: { ...box, left: zero, right: along(high) }, low, high };
            chart.append(label(box.left, middle + 4, cut(panel.labels[row]!, names - 8)), ...lyingMark(mark, along, inner, middle, { bars: true, intervals: true }));
            const end = Math.max(along(mark.value) + (mark.value > high ? 8 : 4), along(mark.all.high), along(0));
            chart.append(label(end + 5, middle + 4, panel.texts[row]!));
        });
        const rest = panel.marks.length === 0 && panel.rest === "" ? "nothing is shown" : panel.rest;
        if (rest !== "") chart.append(label(box.left, box.top + (panel.marks.length + 0.5) * ROW + 4, rest, "start", "dp-tick"));
    });
    const sizes = panels.map(({ marks }) => marks.length);
    const starts = startsOf(sizes);
    const place = (mark: number): [number, number] => {
        const panel = starts.findLastIndex((start, at) => start <= mark && sizes[at]! > 0);
        return [panel, mark - starts[panel]!];
    };
    return {
        element: chart,
        count: sizes.reduce((sum, size) => sum + size, 0),
        banded: false,
        place,
        box(mark) {
            const [panel, row] = place(mark);
            const { left, right, top } = boxOf(panel);
            return { left: left - 2, right: right + 2, top: top + row * ROW, bottom: top + (row + 1) * ROW };
        },
        at(over, up) {
            for (let panel = 0; panel < panels.length; panel += 1) {
                const { left, right, top } = boxOf(panel);
                const row = Math.floor((up - top) / ROW);
                if (over >= left && over <= right && row >= 0 && row < sizes[panel]!) return starts[panel]! + row;
            }
            return null;
        },
        move: (key, from) => moved(key, from, ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"], sizes, columns),
    };
}

// --- walking ---------------------------------------------------------------------------------------------------

const startsOf = (sizes: readonly number[]): number[] => sizes.map((_, at) => sizes.slice(0, at).reduce((sum, size) => sum + size, 0));

/**
 * Where a key leads from one of the marks of panels of these sizes: back or on in a panel and past its ends, or to the
 * same place in the panel before or after; a page is a row of panels.
 *
 * keys  back, on, the panel before, the panel after
 */
export function moved(key: string, from: number, keys: readonly [string, string, string, string], sizes: readonly number[], columns: number): number | null {
    const starts = startsOf(sizes);
    const count = sizes.reduce((sum, size) => sum + size, 0);
    const panel = starts.findLastIndex((start, at) => start <= from && sizes[at]! > 0);
    const beside = (by: number): number => {
        const way = Math.sign(by);
        let to = panel + by;
        while (to >= 0 && to < sizes.length && sizes[to] === 0) to += way;
        if (to < 0 || to >= sizes.length) return from;
        return starts[to]! + Math.min(from - starts[panel]!, sizes[to]! - 1);
    };
    const [back, on, before, after] = keys;
    switch (key) {
        case back:
            return Math.max(0, from - 1);
        case on:
            return Math.min(count - 1, from + 1);
        case before:
            return beside(-1);
        case after:
            return beside(1);
        case "PageUp":
            return beside(-columns);
        case "PageDown":
            return beside(columns);
        case "Home":
            return starts[panel]!;
        case "End":
            return starts[panel]! + sizes[panel]! - 1;
        default:
            return null;
    }
}
