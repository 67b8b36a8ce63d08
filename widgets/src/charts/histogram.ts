/**
 * Released values with both their bars.
 *
 * Up to 500 bins each bin has its marks; above, one mark per pixel column. Where the bars would be too short to read
 * on the full axis, a second panel below is cut where they can be read; it is cut by released values and planned
 * error only. A few categories lie on their side.
 */

import { scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { approximate, exactly } from "../numbers/exact";
import { listOf, type Numbers } from "../protocol/columns";
import type { Counted } from "../wording/counted";
import { labelText, shown, spread } from "../wording/words";
import {
    bottomAxis,
    Labels,
    label,
    leftAxis,
    line,
    niceCeiling,
    px,
    svg,
    textWidth,
    tickText,
    type Box,
} from "./frame";

export interface Histogram {
    element: SVGSVGElement;
    /** The bin under a place in the chart, or null outside the plot. */
    binAt(x: number, y: number): number | null;
    /** Where the probe stands for a bin. */
    probe(bin: number): Box;
    /** Marks too short to see: the words must say so. */
    tooShort: boolean;
    columns: boolean;
    /** Whether bins lie under each other. */
    sideways: boolean;
}

export interface Mark {
    value: number;
    one: Ends;
    all: Ends;
    /** Whether `all` is a wide bar for what was asked, and `one` a thin one for what was counted. */
    wide?: boolean;
    /** As strips: what holds more and more rarely for one bin, the widest first; empty where there are bars. */
    strips: Ends[];
    /** How the outline is drawn that holds for all bins at once; empty where nothing does. */
    around: string;
}

export interface Ends {
    low: number;
    high: number;
    lowCut: boolean;
    highCut: boolean;
    /** Whether the end is open for what was asked, so that an arrow stands in the place of a cap. */
    lowOpen?: boolean | undefined;
    highOpen?: boolean | undefined;
}

export const MOST_SINGLE = 500;
export const MOST_SIDEWAYS = 24;
const LEGIBLE = 3;
const MOST_LABELS = 5;
/** Of so many bins each has its value beside it, where there is room. */
const FEW = 12;
/** Of so many each has it, be it 0 or less. */
const VERY_FEW = 8;
/** Of more names than this the widest is looked for among some. */
const MOST_MEASURED = 20_000;

/** The marks of all rows at one level; each is made when it is asked for, for there may be half a million. */
export class Marks {
    readonly length: number;
    readonly #values: Numbers;
    readonly #one: number;
    readonly #all: number | null;
    readonly #clamp: { low: number; high: number };
    readonly #strips: number[];
    readonly #around: string;
    readonly #open: { low: boolean; high: boolean };
    readonly #asked: { low: (number | null)[]; high: (number | null)[] } | null;

    /** `which`: whether both bars of what a profile closes hold for any one bin, or for all at once. */
    constructor(
        { bars, clamp, values, limits, asked }: Pick<Counted, "bars" | "clamp" | "values"> & Partial<Pick<Counted, "limits" | "asked">>,
        beta: string,
        inner: readonly string[] = [],
        which: Which = "one",
    ) {
        const near = (text: string): number => approximate(exactly(text));
        const ends = asked?.ends.get(beta)?.[which] ?? null;
        const [low, high] = [ends?.low, ends?.high].map((side) => (side ?? []).map((end) => (end === null ? null : near(end))));
        this.#asked = ends === null ? null : { low: low!, high: high! };
        const both = bars.get(beta)!;
        const { one, all } = ends === null ? both : { one: both[which] ?? both.one, all: null };
        const closed = ends !== null;
        this.#open = { low: !closed && limits?.low === false, high: !closed && limits?.high === false };
        this.#around = all === null ? "" : all.kind === "bound" ? "dp-around dp-at-most" : "dp-around";
        this.#strips = inner.length === 0 ? [] : [one.value, ...inner].map(near);
        [this.#values, this.length] = [values, values.length];
        [this.#one, this.#all] = [near(one.value), all === null ? null : near(all.value)];
        this.#clamp = {
            low: clamp.low === null ? -Infinity : near(clamp.low),
            high: clamp.high === null ? Infinity : near(clamp.high),
        };
    }

    value(row: number): number {
        return this.#values.near(row);
    }

    at(row: number): Mark {
        const value = this.value(row);
        const strips = this.#strips.map((reach) => this.#ends(value, reach));
        if (this.#asked !== null) return { value, one: this.one(value), all: this.#wide(row), wide: true, strips, around: "" };
        return { value, one: this.one(value), all: this.all(value), strips, around: this.#around };
    }

    one(value: number): Ends {
        return this.#ends(value, this.#one);
    }

    /** Where nothing holds for all bins at once, there is no thin bar: it hides behind the thick one, without caps. */
    all(value: number): Ends {
        return this.#all === null ? { ...this.one(value), lowCut: true, highCut: true } : this.#ends(value, this.#all);
    }

    /** The lowest and the highest end of a stretch, and the lowest and the highest of the bars inside. */
    span(from: number, to: number): { one: [number, number]; all: [number, number] } {
        const [least, greatest] = this.range(from, to);
        const one: [number, number] = [this.one(least).low, this.one(greatest).high];
        if (this.#asked === null) return { one, all: [this.all(least).low, this.all(greatest).high] };
        const all: [number, number] = [Infinity, -Infinity];
        for (let row = from; row <= to; row += 1) {
            const { low, high } = this.#wide(row);
            [all[0], all[1]] = [Math.min(all[0], low), Math.max(all[1], high)];
        }
        return { one, all };
    }

    /** The usual distances from a value to the ends of both its bars, for the layout. */
    get reaches(): [number, number] {
        if (this.#asked === null) return [this.#one, this.#all ?? this.#one];
        const halves = Array.from({ length: this.length }, (_, row) => this.#wide(row)).map(({ low, high }) => (high - low) / 2);
        const usual = halves.sort((a, b) => a - b)[Math.floor(halves.length / 2)] ?? this.#one;
        return [Math.max(this.#one, usual), usual];
    }

    some(from: number, to: number): Mark[] {
        return Array.from({ length: to - from + 1 }, (_, i) => this.at(from + i));
    }

    /** Least and greatest value of a stretch, both ends inside. */
    range(from: number, to: number): [number, number] {
        let [least, greatest] = [Infinity, -Infinity];
        for (let row = from; row <= to; row += 1) {
            const value = this.#values.near(row);
            if (value < least) least = value;
            if (value > greatest) greatest = value;
        }
        return [least, greatest];
    }

    /** The bar for what was asked; at an end that the profile leaves open, that for what was counted, and an arrow. */
    #wide(row: number): Ends {
        const [low, high] = [this.#asked!.low[row] ?? null, this.#asked!.high[row] ?? null];
        const counted = this.one(this.value(row));
        return { low: low ?? counted.low, high: high ?? counted.high, lowCut: low === null, highCut: high === null, lowOpen: low === null || undefined, highOpen: high === null || undefined };
    }

    #ends(value: number, bar: number): Ends {
        const { low, high } = this.#clamp;
        const [lowCut, highCut] = [value - bar < low, value + bar > high];
        const [lowOpen, highOpen] = [this.#open.low || undefined, this.#open.high || undefined];
        return { low: lowCut ? low : value - bar, high: highCut ? high : value + bar, lowCut: lowCut || this.#open.low, highCut: highCut || this.#open.high, lowOpen, highOpen };
    }
}

/** Whether bars hold for any one bin that was picked before looking, or for all at once. */
export type Which = "one" | "all";

export interface View {
    width: number;
    from: number;
    to: number;
    title: string;
}

export function histogram(result: Counted, beta: string, marks: Marks, view: View): Histogram {
    const sideways =
        ["categories", "product", "keys"].includes(scaleOf(result)) && result.values.length <= MOST_SIDEWAYS;
    const made = sideways ? lying(result, beta, marks, view) : standing(result, marks, view);
    if (result.teaching !== null) hatchBars(made.element);
    return made;
}

/** Bins that are shown out of many stand beside each other like names, whatever they are called. */
const scaleOf = ({ sparse, scale }: Pick<Counted, "sparse" | "scale">): Counted["scale"] => (sparse === true ? "keys" : scale);

let hatches = 0;

/** Bars of a teaching draw are hatched, so that they differ from a release with colour switched off, too. */
export function hatchBars(chart: SVGSVGElement): void {
    hatches += 1;
    const id = `dp-teaching-${hatches}`;
    chart.prepend(
        s(
            "defs",
            {},
            s(
                "pattern",
                { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
                s("rect", { width: 6, height: 6, class: "dp-hatch-ground" }),
                line(0, 0, 0, 6, "dp-hatch-line"),
            ),
        ),
    );
    for (const bar of chart.querySelectorAll(".dp-bar")) bar.setAttribute("fill", `url(#${id})`);
}

// --- upright ---------------------------------------------------------------------------------------------------

export interface Panel {
    box: Box;
    low: number;
    high: number;
}

function standing(result: Counted, marks: Marks, view: View): Histogram {
    const { width, from, to } = view;
    const [one, all] = marks.reaches;
    const count = to - from + 1;
    const [least, greatest] = marks.range(from, to);
    const [under, most] = marks.span(from, to).all;
    const narrow = width < 420;
    const tall = narrow ? 150 : 176;
    const [lowest, highest] = [Math.min(0, least), Math.max(1, greatest)];
    const legible = (one * tall) / (highest - lowest) >= LEGIBLE;
    const cut = legible ? null : cutFor(marks, from, to, one, all);
    const full: Panel = {
        box: { left: 0, right: width - 10, top: 26, bottom: 26 + tall },
        low: legible ? Math.min(lowest, under) : lowest,
        high: niceTop(highest),
    };
    if (legible) {
        full.high = Math.max(niceTop(most), (most * tall - full.low * LABEL_HEIGHT) / (tall - LABEL_HEIGHT));
    }
    const ticks = scaleLinear().domain([full.low, full.high]).ticks(4);
    full.box.left = Math.max(36, ...ticks.map((value) => textWidth(tickText(value)) + 12));
    const below: Panel | null =
        cut === null
            ? null
            : {
                  box: { ...full.box, top: full.box.bottom + 32, bottom: full.box.bottom + 32 + (narrow ? 150 : 152) },
                  low: Math.max(-cut, Math.min(0, under)),
                  high: cut,
              };
    const bottom = below ?? full;
    const step = (full.box.right - full.box.left) / count;
    const columns = count > MOST_SINGLE || step < 1.2;
    const seen = columns ? [] : marks.some(from, to);
    const at = (bin: number): number => full.box.left + (bin - from + 0.5) * step;
    const chart = svg(width, bottom.box.bottom + 42, view.title);

    const y = scaleLinear().domain([full.low, full.high]).range([full.box.bottom, full.box.top]);
    chart.append(label(full.box.left - 6, 14, result.nouns, "start", "dp-tick"));
    chart.append(leftAxis(full.box, { at: y, values: ticks }));
    const draw = (panel: Panel, bars: boolean, intervals: boolean): Node[] =>
        columns
            ? drawColumns(panel, marks, from, to, intervals)
            : drawPanel(panel, seen, at, from, step, { bars, intervals });
    chart.append(...draw(full, true, legible));
    if (!columns) {
        const labels = new Labels({ ...full.box, left: full.box.left - 5, right: width, top: 0 });
        labels.take({ left: full.box.left - 6, right: full.box.left + textWidth(result.nouns), top: 4, bottom: 17 });
        const beside = legible && seen[0]!.wide === true;
        const wide = beside ? 2 * askedHalf(step) : legible && seen[0]!.strips.length > 0 ? stripWidth(step) + 2 : barWidth(step);
        seen.forEach((mark, i) =>
            labels.take({
                left: at(from + i) - wide / 2,
                right: at(from + i) + wide / 2,
                top: y(legible ? mark.all.high : mark.value) - 2,
                bottom: full.box.bottom,
            }),
        );
        if (below !== null) cutLabel(chart, labels, full, y(below.high), narrow);
        labelled(seen).forEach((i) => {
            const [x, up, words] = [at(from + i), y(seen[i]!.value), shown(result.values.at(from + i))];
            const text = labels.place(words, "", [
                ...(beside ? [] : [{ x: x - textWidth(words) / 2, y: (legible ? y(seen[i]!.all.high) : up) - 6, anchor: "start" as const }]),
                { x: x + wide / 2 + 4, y: up + 5, anchor: "start" },
                { x: x - wide / 2 - 4, y: up + 5, anchor: "end" },
            ]);
            if (text !== null) chart.append(text);
        });
    } else if (below !== null) cutLabel(chart, new Labels({ ...full.box, top: 0 }), full, y(below.high), narrow);
    if (below !== null) {
        const lower = scaleLinear().domain([below.low, below.high]).range([below.box.bottom, below.box.top]);
        chart.append(leftAxis(below.box, { at: lower, values: lower.ticks(4) }));
        chart.append(...draw(below, false, true));
    }
    chart.append(binAxis(result, from, to, at, bottom.box));

    return {
        element: chart,
        columns,
        sideways: false,
        tooShort: !legible && cut === null,
        binAt: (x, up) => {
            if (x < full.box.left || x > full.box.right || up < full.box.top || up > bottom.box.bottom) return null;
            return Math.min(to, from + Math.floor((x - full.box.left) / step));
        },
        probe: (bin) => ({
            left: at(bin) - Math.max(3, step / 2),
            right: at(bin) + Math.max(3, step / 2),
            top: bottom.box.top - 2,
            bottom: bottom.box.bottom,
        }),
    };
}

/** The pixels between the highest interval and the value of its bar. */
const LABEL_HEIGHT = 18;

export function niceTop(value: number): number {
    return scaleLinear().domain([0, value]).nice(20).domain()[1] ?? value;
}

/** Where to cut the second panel: low enough that any one bin's bar can be read, high enough to hold half the bins. */
function cutFor(marks: Marks, from: number, to: number, one: number, all: number): number | null {
    const sorted = Float64Array.from({ length: to - from + 1 }, (_, i) => Math.abs(marks.value(from + i))).sort();
    const half = sorted.length / 2;
    const middle = ((sorted[Math.ceil(half - 1)] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2;
    for (let cut = niceCeiling(2.2 * all); cut <= 30 * one; cut = niceCeiling(cut * 1.2)) {
        if (middle <= cut) return cut;
    }
    return null;
}

function cutLabel(chart: SVGSVGElement, labels: Labels, full: Panel, up: number, narrow: boolean): void {
    if (full.box.bottom - up < 1.5) return;
    chart.append(line(full.box.left, up, full.box.right, up, "dp-cut"));
    const words = narrow ? "below: drawn again ↓" : "below this line, drawn again underneath ↓";
    const spots = [0, 0.25, 0.5].map((share) => ({
        x: full.box.right - share * (full.box.right - full.box.left),
        y: up - 7,
        anchor: "end" as const,
    }));
    const text = labels.place(words, "dp-tick", spots);
    if (text !== null) chart.append(text);
}

/** Half of the width of a bar for what was asked. */
const askedHalf = (step: number): number => Math.max(1, Math.min(7, step * 0.25));
const stripWidth = (step: number): number => Math.max(1.5, Math.min(14, step * 0.6));
const barWidth = (step: number): number => (step > 4 ? Math.min(step * 0.78, 64) : step);

export function drawPanel(
    panel: Panel,
    seen: readonly Mark[],
    at: (bin: number) => number,
    from: number,
    step: number,
    want: { bars: boolean; intervals: boolean },
): Node[] {
    const { box, low, high } = panel;
    const y = scaleLinear().domain([low, high]).range([box.bottom, box.top]).clamp(true);
    const inside = (value: number): boolean => value >= low && value <= high;
    const wide = barWidth(step);
    const cap = Math.min(4, wide * 0.35);
    const paths = { bar: "", tick: "", asked: "", thin: "", thick: "", over: "", around: "", open: "" };
    const strips = ["", "", ""];
    const dots: Node[] = [];
    seen.forEach((mark, i) => {
        const x = at(from + i);
        const striped = mark.strips.length > 0 && want.intervals;
        if (want.bars && !striped) {
            const [zero, up] = [y(0), y(mark.value)];
            paths.bar += `M${px(x - wide / 2)} ${px(zero)}V${px(up)}H${px(x + wide / 2)}V${px(zero)}Z`;
            if (!want.intervals) paths.tick += `M${px(x - wide / 2)} ${px(up)}H${px(x + wide / 2)}`;
        }
        if (!want.intervals) return;
        if (striped) {
            const half = stripWidth(step) / 2;
            const rect = (ends: Ends, by: number): string => {
                const [bottom, top] = [y(ends.low), y(ends.high)];
                if (bottom === top && !inside(ends.low) && !inside(ends.high)) return "";
                return `M${px(x - by)} ${px(bottom)}V${px(top)}H${px(x + by)}V${px(bottom)}Z`;
            };
            mark.strips.forEach((ends, k) => (strips[k] += rect(ends, half)));
            if (mark.around !== "") paths.around += outline(x, half + 1, mark.all, y, inside);
            if (inside(mark.value)) paths.tick += `M${px(x - half)} ${px(y(mark.value))}h${px(2 * half)}`;
        } else {
            const half = askedHalf(step);
            if (mark.wide === true) [paths.asked, paths.thin] = [paths.asked + block(x, half, mark.all, y, inside), paths.thin + caps(x, half, mark.all, y, inside)];
            else paths.thin += whisker(x, mark.all, y, inside, cap);
            paths.thick += whisker(x, mark.one, y, inside, 0);
        }
        if (mark.all.highOpen === true) paths.open += arrow(x, y(mark.all.high), 0, -1);
        if (mark.all.lowOpen === true) paths.open += arrow(x, y(mark.all.low), 0, 1);
        if (mark.value > high) paths.over += triangle(x, box.top, -7);
        else if (mark.value < low) paths.over += triangle(x, box.bottom, 7);
        else if (!striped) {
            dots.push(
                s("circle", {
                    cx: px(x),
                    cy: px(y(mark.value)),
                    r: px(Math.max(1.2, Math.min(mark.wide === true ? 2.8 : 4, step * 0.42))),
                    class: "dp-value",
                }),
            );
        }
    });
    const thick = Math.max(1.4, Math.min(3.4, step * 0.45));
    return [
        paths.bar && s("path", { d: paths.bar, class: "dp-bar" }),
        ...strips.map((d, k) => d && s("path", { d, class: `dp-strip dp-strip-${k}` })),
        paths.around && s("path", { d: paths.around, class: seen[0]!.around }),
        paths.tick && s("path", { d: paths.tick, class: "dp-bar-tick" }),
        paths.asked && s("path", { d: paths.asked, class: "dp-asked" }),
        paths.thin && s("path", { d: paths.thin, class: "dp-all" }),
        paths.thick && s("path", { d: paths.thick, class: "dp-one", "stroke-width": px(thick) }),
        ...dots,
        paths.over && s("path", { d: paths.over, class: "dp-over" }),
        paths.open && s("path", { d: paths.open, class: "dp-over dp-open-end" }),
    ].filter((node): node is Exclude<typeof node, ""> => node !== "");
}

/** Points to a value beyond the panel's edge. */
const triangle = (x: number, edge: number, reach: number): string =>
    `M${px(x - 4)} ${px(edge)}L${px(x)} ${px(edge + reach)}L${px(x + 4)} ${px(edge)}Z`;

/** The head of an arrow at an end that is open for what was asked, which points right (1) or left, down (1) or up. */
export function arrow(x: number, y: number, right: number, down: number): string {
    const [back, half] = [6, 3.5];
    const base = (side: number): string => `${px(x - back * right + (down === 0 ? 0 : side * half))} ${px(y - back * down + (right === 0 ? 0 : side * half))}`;
    return `M${px(x)} ${px(y)}L${base(-1)}L${base(1)}Z`;
}

/** One interval, clipped to the panel; a cap only where the bar itself ends inside it. */
function whisker(
    x: number,
    ends: Ends,
    y: (value: number) => number,
    inside: (value: number) => boolean,
    cap: number,
): string {
    const [low, high] = [y(ends.low), y(ends.high)];
    if (low === high && !inside(ends.low) && !inside(ends.high)) return "";
    const stroke = (up: number): string => (cap > 0 ? `M${px(x - cap)} ${px(up)}H${px(x + cap)}` : "");
    return (
        `M${px(x)} ${px(low)}V${px(high)}` +
        (inside(ends.low) && !ends.lowCut ? stroke(low) : "") +
        (inside(ends.high) && !ends.highCut ? stroke(high) : "")
    );
}

/** A wide bar, clipped to the panel. */
function block(x: number, half: number, ends: Ends, y: (value: number) => number, inside: (value: number) => boolean): string {
    const [low, high] = [y(ends.low), y(ends.high)];
    if (low === high && !inside(ends.low) && !inside(ends.high)) return "";
    return `M${px(x - half)} ${px(low)}V${px(high)}H${px(x + half)}V${px(low)}Z`;
}

/** The caps of a wide bar, where its ends are inside. */
function caps(x: number, half: number, ends: Ends, y: (value: number) => number, inside: (value: number) => boolean): string {
    const across = (end: number, cut: boolean): string => (inside(end) && !cut ? `M${px(x - half)} ${px(y(end))}h${px(2 * half)}` : "");
    return across(ends.low, ends.lowCut) + across(ends.high, ends.highCut);
}

/** A box around an interval, open where it is clipped or cut. */
function outline(x: number, half: number, ends: Ends, y: (value: number) => number, inside: (value: number) => boolean): string {
    const [low, high] = [y(ends.low), y(ends.high)];
    if (low === high && !inside(ends.low) && !inside(ends.high)) return "";
    const across = (up: number): string => `M${px(x - half)} ${px(up)}h${px(2 * half)}`;
    return (
        `M${px(x - half)} ${px(low)}V${px(high)}M${px(x + half)} ${px(low)}V${px(high)}` +
        (inside(ends.low) && !ends.lowCut ? across(low) : "") +
        (inside(ends.high) && !ends.highCut ? across(high) : "")
    );
}

/** One mark per pixel column: least to greatest value, then the band of any one bin, then the band of all bins. */
function drawColumns({ box, low, high }: Panel, marks: Marks, from: number, to: number, intervals: boolean): Node[] {
    const y = scaleLinear().domain([low, high]).range([box.bottom, box.top]).clamp(true);
    const size = to - from + 1;
    const count = Math.max(1, Math.min(size, Math.floor(box.right - box.left)));
    const wide = (box.right - box.left) / count;
    const paths = { all: "", one: "", values: "" };
    for (let column = 0; column < count; column += 1) {
        const start = Math.floor((column * size) / count);
        const end = Math.max(start + 1, Math.floor(((column + 1) * size) / count));
        const [least, greatest] = marks.range(from + start, from + end - 1);
        const x = px(box.left + (column + 0.5) * wide);
        const stroke = (low: number, high: number): string => {
            const [a, b] = [y(low), y(high)];
            return `M${x} ${px(a + (a - b < 1 ? 0.5 : 0))}V${px(b - (a - b < 1 ? 0.5 : 0))}`;
        };
        paths.values += stroke(least, greatest);
        if (!intervals) continue;
        const { one, all } = marks.span(from + start, from + end - 1);
        paths.one += stroke(...one);
        paths.all += stroke(...all);
    }
    const drawn = (d: string, kind: string): Node[] =>
        d === "" ? [] : [s("path", { d, class: `dp-column ${kind}`, "stroke-width": (wide + 0.05).toFixed(2) })];
    return [
        ...drawn(paths.all, "dp-column-all"),
        ...drawn(paths.one, "dp-column-one"),
        ...drawn(paths.values, "dp-column-value"),
    ];
}

/** The bins whose values are written: the largest; of a few bins all, of more none that is 0 or less. */
function labelled(marks: readonly Mark[]): number[] {
    return marks
        .map((mark, i) => [mark.value, i] as const)
        .filter(([value]) => value > 0 || marks.length <= VERY_FEW)
        .sort((a, b) => b[0] - a[0])
        .slice(0, marks.length <= FEW ? FEW : MOST_LABELS)
        .map(([, i]) => i);
}

/** Bins with names, and what all of them are called. */
export type Named = Pick<Counted, "scale" | "scales" | "sparse" | "short_labels" | "axis">;

/** Names of bins under the plot: what lies outside the range first, then every so many, none touching. Intervals are
 * named at their edges. */
export function binAxis(result: Named, from: number, to: number, at: (bin: number) => number, box: Box): SVGGElement {
    const [scale, names] = [scaleOf(result), result.short_labels];
    const edged = scale === "intervals";
    const inside = (bin: number): boolean => (edged ? names.at(bin).includes(EN_DASH) : scale !== "integers" || /^-?\d+$/.test(names.at(bin)));
    let [first, last] = [from, to];
    while (first < last && !inside(first)) first += 1;
    while (last > first && !inside(last)) last -= 1;
    const outside = [...stretch(from, first - 1), ...stretch(last + 1, to)];
    const start = edged ? first - 0.5 : first;
    const nameOf = (bin: number): string => cut(labelText(result, names.at(bin)), MOST_LETTERS);
    const named = (place: number): string => {
        if (!edged) return nameOf(first + place);
        const [low = "", high = ""] = names.at(Math.min(last, first + place)).split(EN_DASH);
        return cut(labelText(result, first + place > last ? high : low), MOST_LETTERS);
    };
    const many = last - first + (edged ? 2 : 1);
    const step = to > from ? at(from + 1) - at(from) : box.right - box.left;
    let widest = 0;
    for (let place = 0; place < many; place += Math.max(1, Math.floor(many / MOST_MEASURED))) widest = Math.max(widest, textWidth(named(place)));
    const every = stride((widest + 24) / step);
    const lowest = scale === "integers" ? Number(names.at(first)) : 0;
    const offset = Number.isInteger(lowest) ? ((-lowest % every) + every) % every : 0;
    const group = s("g", {}, line(box.left, box.bottom, box.right, box.bottom, "dp-axis"));
    const taken: [number, number][] = [];
    const put = (place: number, words: string): void => {
        const [x, half] = [at(place), textWidth(words) / 2];
        const middle = Math.min(x, box.right + 10 - half);
        if (taken.some(([left, right]) => middle - half < right + 4 && middle + half > left - 4)) return;
        taken.push([middle - half, middle + half]);
        group.append(line(x, box.bottom, x, box.bottom + 5, "dp-axis"), label(middle, box.bottom + 17, words, "middle", "dp-tick"));
    };
    for (const bin of outside) put(bin, nameOf(bin));
    for (let place = offset; place < many; place += every) put(start + place, named(place));
    group.append(label((box.left + box.right) / 2, box.bottom + 34, result.axis, "middle", "dp-tick"));
    return group;
}

const EN_DASH = "\u2013";
/** A longer name of a bin is cut. */
const MOST_LETTERS = 16;

const stretch = (from: number, to: number): number[] => Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
const cut = (name: string, most: number): string => (name.length <= most ? name : `${name.slice(0, Math.max(1, most - 1))}…`);

function stride(atLeast: number): number {
    for (let power = 1; ; power *= 10) {
        const found = [1, 2, 5].find((k) => k * power >= atLeast);
        if (found !== undefined) return found * power;
    }
}

// --- lying -----------------------------------------------------------------------------------------------------

const ROW = 28;
/** Between two panels that lie under each other. */
const APART = 64;

function lying(result: Counted, beta: string, all: Marks, view: View): Histogram {
    const { width } = view;
    const marks = all.some(0, all.length - 1);
    const bars = result.bars.get(beta)!;
    const [one, every] = all.reaches;
    const names = listOf(result.short_labels).map((name) => cut(labelText(result, name), Math.floor((width * 0.34) / 6.3)));
    const named = new Set(labelled(marks));
    const values = listOf(result.values).map(shown);
    const off = values.map((value) => `${value} ${spread(bars.one)}`);
    const room = (words: readonly string[]): number => ROOMY * Math.max(0, ...words.filter((_, i) => named.has(i)).map(textWidth)) + 12;
    const box: Box = { left: ROOMY * Math.max(...names.map(textWidth)) + 12, right: width - room(off), top: 8, bottom: 8 + ROW * marks.length };
    const [lowest, highest] = [Math.min(0, ...marks.map(({ value }) => value)), Math.max(1, ...marks.map(({ value }) => value))];
    const legible = (one * (box.right - box.left)) / (highest - lowest) >= LEGIBLE;
    const limit = legible ? null : cutFor(all, 0, marks.length - 1, one, every);
    const under = Math.min(...marks.map((mark) => mark.all.low));
    const full: Panel = legible
        ? { box: { ...box, right: width - room(values) }, low: Math.min(lowest, under), high: Math.max(1, ...marks.map((mark) => mark.all.high)) }
        : { box, low: lowest, high: highest };
    const below: Panel | null =
        limit === null
            ? null
            : { box: { ...box, right: width - 14, top: box.bottom + APART, bottom: 2 * box.bottom + APART - box.top }, low: Math.max(-limit, Math.min(0, under)), high: limit };
    const bottom = below ?? full;
    const chart = svg(width, bottom.box.bottom + 42, view.title);
    const draw = (panel: Panel, bars: boolean, intervals: boolean): ((value: number) => number) => {
        const x = scaleLinear().domain([panel.low, panel.high]).range([panel.box.left, panel.box.right]).clamp(true);
        const ticks = x.ticks(Math.max(2, Math.floor((panel.box.right - panel.box.left) / 80)));
        for (const tick of ticks) chart.append(line(x(tick), panel.box.top, x(tick), panel.box.bottom, "dp-grid"));
        chart.append(bottomAxis(panel.box, { at: x, values: ticks }, result.nouns));
        marks.forEach((mark, i) => {
            const middle = panel.box.top + (i + 0.5) * ROW;
            chart.append(label(panel.box.left - 8, middle + 4, names[i]!, "end"), ...lyingMark(mark, x, panel, middle, { bars, intervals }));
        });
        return x;
    };
    const x = draw(full, true, legible);
    for (const i of named) {
        const { value, all } = marks[i]!;
        const reach = Math.max(x(0), x(value), legible ? x(all.high) : 0);
        chart.append(label(reach + 8, full.box.top + (i + 0.5) * ROW + 4, (legible ? values : off)[i]!));
    }
    if (below !== null) {
        if (x(below.high) - x(0) >= 1.5) chart.append(line(x(below.high), full.box.top, x(below.high), full.box.bottom, "dp-cut"));
        const told = `The same bins up to ${tickText(below.high)}`;
        const long = `${told}, where the error bars can be read`;
        chart.append(label(2, below.box.top - 10, ROOMY * textWidth(long) < width ? long : told, "start", "dp-tick"));
        draw(below, false, true);
    }
    return {
        element: chart,
        columns: false,
        sideways: true,
        tooShort: !legible && below === null,
        binAt: (_, y) => {
            const found = [full, ...(below === null ? [] : [below])].find(({ box }) => y >= box.top && y <= box.bottom);
            return found === undefined ? null : Math.min(marks.length - 1, Math.floor((y - found.box.top) / ROW));
        },
        probe: (bin) => ({
            left: 2,
            right: width - 2,
            top: box.top + bin * ROW + 1,
            bottom: box.top + (bin + 1) * ROW - 1,
        }),
    };
}

/** Figures of a wide font, with ± and commas, take more room than the mean. */
const ROOMY = 1.15;

/** One bin that lies: its bar, or how sure its value is, or an arrow where it is beyond the panel's edge. */
export function lyingMark(mark: Mark, x: (value: number) => number, { box, low, high }: Panel, middle: number, want: { bars: boolean; intervals: boolean }): Node[] {
    const [zero, end] = [x(0), x(mark.value)];
    const inside = (value: number): boolean => value >= low && value <= high;
    const striped = want.intervals && mark.strips.length > 0;
    const found: Node[] = [];
    if (want.bars && !striped) {
        found.push(s("rect", { x: px(Math.min(zero, end)), y: px(middle - 6), width: px(Math.abs(end - zero)), height: 12, class: "dp-bar" }));
    }
    if (!want.intervals) return [...found, line(end, middle - 9, end, middle + 9, "dp-bar-tick dp-upright")];
    const seen = ({ low, high }: Ends): boolean => x(low) < x(high) || inside(low);
    const upright = (ends: Ends, cap: number): string =>
        (!ends.lowCut && inside(ends.low) ? `M${px(x(ends.low))} ${px(middle - cap)}v${2 * cap}` : "") +
        (!ends.highCut && inside(ends.high) ? `M${px(x(ends.high))} ${px(middle - cap)}v${2 * cap}` : "");
    const across = (ends: Ends, cap: number): string => `M${px(x(ends.low))} ${px(middle)}H${px(x(ends.high))}${cap > 0 ? upright(ends, cap) : ""}`;
    const strip = (ends: Ends, by: number, kind: string): Node =>
        s("rect", { x: px(x(ends.low)), y: px(middle - by), width: px(x(ends.high) - x(ends.low)), height: 2 * by, class: kind });
    if (striped) {
        mark.strips.forEach((ends, k) => seen(ends) && found.push(strip(ends, 7, `dp-strip dp-strip-${k}`)));
        if (mark.around !== "" && seen(mark.all)) found.push(strip(mark.all, 8, mark.around));
    } else {
        if (seen(mark.all) && mark.wide === true) found.push(strip(mark.all, 6, "dp-asked"), s("path", { d: upright(mark.all, 6), class: "dp-all" }));
        else if (seen(mark.all)) found.push(s("path", { d: across(mark.all, 4), class: "dp-all" }));
        if (seen(mark.one)) found.push(s("path", { d: across(mark.one, 0), class: "dp-one", "stroke-width": 3.4 }));
    }
    const open = (mark.all.highOpen === true ? arrow(x(mark.all.high), middle, 1, 0) : "") + (mark.all.lowOpen === true ? arrow(x(mark.all.low), middle, -1, 0) : "");
    if (open !== "") found.push(s("path", { d: open, class: "dp-over dp-open-end" }));
    if (!inside(mark.value)) {
        const [edge, reach] = mark.value > high ? [box.right, 7] : [box.left, -7];
        found.push(s("path", { d: `M${px(edge)} ${px(middle - 4)}L${px(edge + reach)} ${px(middle)}L${px(edge)} ${px(middle + 4)}Z`, class: "dp-over" }));
    } else if (striped) found.push(line(end, middle - 7, end, middle + 7, "dp-bar-tick dp-upright"));
    else found.push(s("circle", { cx: px(end), cy: px(middle), r: mark.wide === true ? 2.8 : 4, class: "dp-value" }));
    return found;
}
