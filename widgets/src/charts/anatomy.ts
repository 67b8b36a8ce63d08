/** Sorted counts against the noisy threshold: public or made-up data only, violet and hatched. */

import { scaleLinear, type ScaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { bottomAxis, label, leftAxis, line, niceCeiling, px, svg, textWidth } from "./frame";

export interface Anatomy {
    title: string;
    /** Counts in rank order, of which `kbar` may be listed. */
    counts: readonly number[];
    labels: readonly string[];
    kbar: number;
    /** How many of the first ranks are named. */
    named: number;
    next: number;
    /** The counts at which an item beats the bottom symbol 5, 50 and 95 times in 100. */
    low: number;
    threshold: number;
    high: number;
    /** The names beside the lines where there is room for them. */
    words: Readonly<Record<"low" | "threshold" | "high" | "above" | "next", readonly string[]>>;
    axis: string;
}

/** From this width on the lines are named beside them; below it the page says the same under the chart. */
export const BESIDE = 620;
const MARGIN = 176;
const LINE = 15;
/** Counts more than so many times the upper line are cut, and marked, so that the lines can be told apart. */
const CUT = 3;
const LEAN = 72;
const LEANS = (LEAN * Math.PI) / 180;
/** The distance of leaning names from each other, across. */
const LEANING = 14;
const UP = "M0 -6L4 0H-4Z";
const LONGEST = 12;

let hatches = 0;

export function anatomyChart(width: number, height: number, data: Anatomy): SVGSVGElement {
    const beside = width >= BESIDE;
    const { counts, kbar, next, threshold } = data;
    const last = kbar + 1;
    const top = niceCeiling(Math.max(1, data.high, Math.min(counts[0] ?? 0, CUT * data.high)) * 1.02);
    const box = { left: 48, right: width - (beside ? MARGIN : 26), top: (counts[0] ?? 0) > top ? 58 : 30, bottom: height - 38 };
    const x = scaleLinear().domain([0.5, last + 0.5]).range([box.left, box.right]);
    const y = scaleLinear().domain([0, top]).range([box.bottom, box.top]).clamp(true);
    const pitch = x(1) - x(0);
    const shown = counts.slice(0, kbar);
    hatches += 1;
    const hatch = `dp-public-${hatches}`;
    const chart = svg(
        width,
        height,
        data.title,
        s(
            "defs",
            {},
            s(
                "pattern",
                { id: hatch, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
                line(0, 0, 0, 7, "dp-hatch-line"),
            ),
        ),
        leftAxis(box, { at: y, values: y.ticks(Math.max(2, Math.floor(height / 60))) }),
        s("rect", { x: px(box.left), y: px(y(data.high)), width: px(box.right - box.left), height: px(y(data.low) - y(data.high)), class: "dp-band" }),
        s("path", { d: area(shown, x, y), class: "dp-public", fill: `url(#${hatch})` }),
        s("path", { d: tops(shown, x, y, pitch), class: "dp-public-top" }),
        bottomAxis(box, { at: x, values: ranks(last, Math.max(2, Math.floor((box.right - box.left) / 60))) }, data.axis),
        line(box.left, y(data.high), box.right, y(data.high), "dp-band-edge"),
        line(box.left, y(data.low), box.right, y(data.low), "dp-band-edge"),
        line(box.left, y(threshold), box.right, y(threshold), "dp-threshold"),
        s("path", { d: `M${px(x(last - 0.4))} ${px(box.bottom)}V${px(y(next))}H${px(x(last + 0.4))}V${px(box.bottom)}`, class: "dp-next" }),
        line(x(last), y(next), x(last), y(threshold), "dp-arrow"),
        ...shown.flatMap((count, i) => (count > top ? [s("path", { d: UP, class: "dp-public-over", transform: `translate(${px(x(i + 1))} ${px(box.top - 3)})` })] : [])),
        ...bottomSign(box.right, y(threshold)),
    );
    const price = priceOf(data, x, y, box.left);
    chart.append(...names(data, x, y, pitch, price), ...price);
    if (beside) chart.append(...besideLines(data, box.right + 34, y, box.bottom));
    return chart;
}

const area = (counts: readonly number[], x: (rank: number) => number, y: (count: number) => number): string =>
    counts.length === 0 ? "" : `M${px(x(0.5))} ${px(y(0))}${counts.map((count, i) => `V${px(y(count))}H${px(x(i + 1.5))}`).join("")}V${px(y(0))}Z`;

/** The top of each column; where columns are thinner than a few pixels, one line over all of them. */
function tops(counts: readonly number[], x: (rank: number) => number, y: (count: number) => number, pitch: number): string {
    if (pitch < 4) return counts.map((count, i) => `${i === 0 ? "M" : "L"}${px(x(i + 0.5))} ${px(y(count))}H${px(x(i + 1.5))}`).join("");
    return counts.map((count, i) => `M${px(x(i + 0.58))} ${px(y(count))}H${px(x(i + 1.42))}`).join("");
}

function ranks(last: number, most: number): number[] {
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].find((one) => last / one <= most) ?? 5000;
    return [1, ...Array.from({ length: Math.floor(last / step) }, (_, i) => (i + 1) * step).filter((rank) => rank > 1)];
}

/** The first items by name, leaning, where their columns leave room. */
function names({ counts, labels, named }: Anatomy, x: (rank: number) => number, y: ScaleLinear<number, number>, pitch: number, others: readonly SVGTextElement[]): SVGTextElement[] {
    if (pitch < 11) return [];
    const every = Math.ceil(LEANING / (pitch * Math.sin(LEANS)));
    return counts.slice(0, named).flatMap((count, i) => {
        if (i % every !== 0) return [];
        const [at, up] = [x(i + 1) + 3, y(count) - (y(count) <= y.range()[1]! ? 12 : 5)];
        const text = labels[i]!.length > LONGEST ? `${labels[i]!.slice(0, LONGEST - 1)}…` : labels[i]!;
        const [right, over] = [at + textWidth(text) * Math.cos(LEANS) + 4, up - textWidth(text) * Math.sin(LEANS) - 8];
        if (others.some((other) => inTheWay(other, at - 12, right, over, up + 4))) return [];
        const found = label(at, up, text, "start", "dp-bare");
        found.setAttribute("transform", `rotate(-${LEAN} ${px(at)} ${px(up)})`);
        return [found];
    });
}

/** Whether words that end somewhere reach into this box. */
function inTheWay(words: SVGTextElement, left: number, right: number, top: number, bottom: number): boolean {
    const [end, level] = [Number(words.getAttribute("x")), Number(words.getAttribute("y"))];
    return end > left && end - textWidth(words.textContent!) < right && level > top && level - 11 < bottom;
}

/** The bottom symbol, at the end of its line. */
function bottomSign(x: number, y: number): SVGElement[] {
    return [
        s("rect", { x: px(x), y: px(y - 12), width: 24, height: 24, rx: 3, class: "dp-bottom-sign" }),
        label(x + 12, y + 4, "⊥", "middle", "dp-on-ink"),
    ];
}

/** The reason why the threshold lies above the next count: beside its arrow where no column is in the way, else above the band. */
function priceOf({ words, counts, kbar, next, threshold, high }: Anatomy, x: ScaleLinear<number, number>, y: ScaleLinear<number, number>, left: number): SVGTextElement[] {
    const end = x(kbar + 1) - 8;
    const begin = end - Math.max(...words.above.map(textWidth));
    if (begin < left) return [];
    const middle = (y(next) + y(threshold)) / 2;
    const tallest = counts[Math.max(0, Math.floor(x.invert(begin)) - 1)] ?? 0;
    const free = y(next) - y(threshold) > 3 * LINE && y(tallest) > middle + LINE + 4;
    const first = free ? middle - 2 : y(high) - LINE - 8;
    return words.above.map((text, i) => label(end, first + i * LINE, text, "end", i === 0 ? "" : "dp-tick"));
}

/** The words beside the lines, pushed apart where the lines are close. */
function besideLines(data: Anatomy, x: number, y: (count: number) => number, floor: number): SVGElement[] {
    const { words } = data;
    const blocks = [
        { at: y(data.high), lines: words.high, strong: false },
        { at: y(data.threshold), lines: words.threshold, strong: true },
        { at: y(data.low), lines: words.low, strong: false },
        { at: y(data.next), lines: words.next, strong: false },
    ];
    const height = (block: { lines: readonly string[] }): number => block.lines.length * LINE + 3;
    const tall = blocks.map(height);
    const starts = blocks.map((block, i) => block.at - tall[i]! / 2);
    for (let i = 1; i < starts.length; i += 1) starts[i] = Math.max(starts[i]!, starts[i - 1]! + tall[i - 1]!);
    starts[3] = Math.min(starts[3]!, floor - tall[3]! + LINE);
    for (let i = starts.length - 2; i >= 0; i -= 1) starts[i] = Math.min(starts[i]!, starts[i + 1]! - tall[i]!);
    return blocks.flatMap((block, i) =>
        block.lines.map((text, k) => label(x, starts[i]! + 12 + k * LINE, text, "start", block.strong && k === 0 ? "dp-strong" : k > 0 || !block.strong ? "dp-tick" : "")),
    );
}
