/** Two columns as bars: those of one bin of the longer column beside each other, each with both its error bars. */

import { scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { binAxis, niceTop, type Mark, type Named } from "./histogram";
import { label, leftAxis, line, px, svg, textWidth, tickText, type Box } from "./frame";
import { SHAPES } from "./lines";

/** The most bars beside each other: a series has a colour and a shape. */
export const MOST_BESIDE = SHAPES.length;
/** Of so many bins each has its group. */
export const MOST_GROUPS = 120;
/** A bar takes no less room than this; where there is less, the picture is wider than its place, and scrolls. */
const SLOT = 8;
const WIDEST = 34;
const [TOP, TALL, FOOT] = [26, 208, 42];
/** Of so many bins each has its name. */
const MOST_NAMED = 24;
/** Longer names of bins are cut, so that more room than this helps none. */
const NAME = 110;

export interface Beside {
    /** The longer column, whose bins are the groups. */
    groups: Named;
    /** The bins of the other one. */
    series: readonly string[];
    mark(group: number, series: number): Mark;
    nouns: string;
    title: string;
    teaching: boolean;
}

export interface DrawnBars {
    element: SVGSVGElement;
    box(group: number, series: number): Box;
    at(x: number, y: number): [group: number, series: number] | null;
}

let hatches = 0;

export function groupedBars({ groups, series, mark, nouns, title, teaching }: Beside, room: number): DrawnBars {
    const [many, each] = [groups.short_labels.length, series.length];
    const marks = Array.from({ length: many }, (_, group) => series.map((_, one) => mark(group, one)));
    const all = marks.flat();
    const [low, most] = [Math.min(0, ...all.map((one) => one.all.low)), Math.max(1, ...all.map((one) => one.all.high))];
    const y = scaleLinear().domain([low, niceTop(most)]).range([TOP + TALL, TOP]);
    const ticks = y.ticks(5);
    const left = Math.max(36, ...ticks.map((value) => textWidth(tickText(value)) + 12));
    const pitch = Math.max((room - left - 10) / many, each * SLOT * 1.25, named(groups) ? widest(groups) : 0);
    const slot = Math.min(WIDEST, (0.8 * pitch) / each);
    const box: Box = { left, right: left + many * pitch, top: TOP, bottom: TOP + TALL };
    const start = (group: number): number => left + (group + 0.5) * pitch - (each * slot) / 2;
    const middle = (group: number, one: number): number => start(group) + (one + 0.5) * slot;
    const chart = svg(Math.ceil(box.right + 10), box.bottom + FOOT, title);
    chart.append(label(left - 6, 14, nouns, "start", "dp-tick"), leftAxis(box, { at: y, values: ticks }));
    const over = { d: "" };
    series.forEach((_, one) => {
        const paths = { bar: "", thin: "", thick: "" };
        const dots: Node[] = [];
        const [half, cap] = [slot * 0.42, Math.min(4, slot * 0.3)];
        marks.forEach((row, group) => {
            const [x, { value, one: own, all: every }] = [middle(group, one), row[one]!];
            paths.bar += `M${px(x - half)} ${px(y(0))}V${px(y(value))}H${px(x + half)}V${px(y(0))}Z`;
            paths.thick += `M${px(x)} ${px(y(own.low))}V${px(y(own.high))}`;
            paths.thin += `M${px(x)} ${px(y(every.low))}V${px(y(every.high))}`;
            if (!every.lowCut) paths.thin += `M${px(x - cap)} ${px(y(every.low))}h${px(2 * cap)}`;
            if (!every.highCut) paths.thin += `M${px(x - cap)} ${px(y(every.high))}h${px(2 * cap)}`;
            const scale = Math.min(1, slot / 12).toFixed(2);
            dots.push(s("path", { d: SHAPES[one]!, class: "dp-beside-dot", transform: `translate(${px(x)} ${px(y(value))}) scale(${scale})` }));
        });
        over.d += paths.bar;
        const thick = px(Math.max(1.4, Math.min(3.4, slot * 0.35)));
        chart.append(
            s(
                "g",
                { class: `dp-beside dp-series-${one + 1}` },
                s("path", { d: paths.bar, class: "dp-beside-bar" }),
                s("path", { d: paths.thin, class: "dp-beside-all" }),
                s("path", { d: paths.thick, class: "dp-beside-one", "stroke-width": thick }),
                ...dots,
            ),
        );
    });
    if (teaching) chart.append(...hatched(over.d));
    chart.append(line(box.left, y(0), box.right, y(0), "dp-axis"), binAxis(groups, 0, many - 1, (group) => left + (group + 0.5) * pitch, box));
    return {
        element: chart,
        box: (group, one) => ({ left: middle(group, one) - slot / 2, right: middle(group, one) + slot / 2, top: TOP - 2, bottom: box.bottom }),
        at(x, up) {
            if (x < box.left || x >= box.right || up < box.top || up > box.bottom) return null;
            const group = Math.floor((x - left) / pitch);
            const one = Math.floor((x - start(group)) / slot);
            return one >= 0 && one < each ? [group, one] : null;
        },
    };
}

/** Bars of a teaching draw are hatched over their colours. */
function hatched(d: string): Node[] {
    hatches += 1;
    const id = `dp-beside-${hatches}`;
    const pattern = s("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, line(0, 0, 0, 6, "dp-hatch-line"));
    return [s("defs", {}, pattern), s("path", { d, fill: `url(#${id})` })];
}

/** Bins that have names, each of which is told; numbers along an axis are told now and then. */
const named = ({ scale, short_labels }: Named): boolean => scale === "categories" && short_labels.length <= MOST_NAMED;

const widest = ({ short_labels }: Named): number =>
    Math.min(NAME, Math.max(...Array.from({ length: short_labels.length }, (_, at) => textWidth(short_labels.at(at))))) + 26;

/** The colour and the shape of each of the bins beside each other. */
export function seriesKey(names: readonly string[]): SVGSVGElement[] {
    return names.map((_, one) =>
        s(
            "svg",
            { class: `dp-glyph dp-series-${one + 1}`, width: 16, height: 14, "aria-hidden": "true" },
            s("rect", { x: 1, y: 1, width: 14, height: 12, class: "dp-beside-bar" }),
            s("path", { d: SHAPES[one]!, class: "dp-beside-dot", transform: "translate(8 7)" }),
        ),
    );
}
