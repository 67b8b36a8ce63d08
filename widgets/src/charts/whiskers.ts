/** A few answers to one question under each other: a dot, thick what holds alone, thin with caps what holds jointly. */

import { scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { bottomAxis, line, px, svg } from "./frame";

export interface Whisker {
    name: string;
    value: number;
    one: number;
    all: number;
    /** Classes: what is known of each. */
    kinds: readonly [one: string, all: string];
    colour: number;
    /** Whether it holds for one alone: then it has no caps. */
    alone?: boolean;
}

export interface Whiskers {
    title: string;
    rows: readonly Whisker[];
    /** The true value of public data. */
    truth: number | null;
    axis: string;
}

export const WHISKER_ROW = 44;
/** The axis reaches so many half-widths of the surest answer to both sides, at most. */
const ROOM = 4;

export function whiskersChart(width: number, { title, rows, truth, axis }: Whiskers): SVGSVGElement {
    const height = rows.length * WHISKER_ROW + 38;
    const box = { left: 10, right: width - 10, top: 0, bottom: height - 38 };
    const ends = rows.flatMap(({ value, all }) => [value - all, value + all]);
    // One answer that is far less sure must not hide how sure the others are: it is cut, without caps there.
    const [best, reach] = [rows[0]?.value ?? 0, ROOM * Math.min(...rows.map(({ all }) => all))];
    const low = Math.max(best - reach, Math.min(...ends, truth ?? Infinity));
    const high = Math.min(best + reach, Math.max(...ends, truth ?? -Infinity));
    const x = scaleLinear()
        .domain([low, Math.max(high, low + 1)])
        .nice()
        .range([box.left, box.right])
        .clamp(true);
    const [least, most] = x.domain() as [number, number];
    const ticks = x.ticks(Math.max(2, Math.floor(width / 90)));
    const chart = svg(width, height, title, ...ticks.map((tick) => line(x(tick), box.top, x(tick), box.bottom, "dp-grid")), bottomAxis(box, { at: x, values: ticks }, axis));
    if (truth !== null) chart.append(line(x(truth), box.top, x(truth), box.bottom, "dp-true-line"));
    rows.forEach(({ value, one, all, kinds, colour, alone }, i) => {
        const y = WHISKER_ROW * (i + 0.5);
        const [a, b] = [x(value - all), x(value + all)];
        chart.append(
            s(
                "g",
                { class: `dp-whisker dp-series-${colour}` },
                line(a, y, b, y, `dp-whisker-all ${kinds[1]}`),
                alone === true || value - all < least ? null : line(a, y - 6, a, y + 6, "dp-whisker-cap"),
                alone === true || value + all > most ? null : line(b, y - 6, b, y + 6, "dp-whisker-cap"),
                line(x(value - one), y, x(value + one), y, `dp-whisker-one ${kinds[0]}`),
                value < least || value > most
                    ? s("path", { d: value < least ? "M8 -5L0 0L8 5Z" : "M-8 -5L0 0L-8 5Z", transform: `translate(${px(x(value))} ${px(y)})`, class: "dp-whisker-dot" })
                    : s("circle", { cx: px(x(value)), cy: px(y), r: 5, class: "dp-whisker-dot" }),
            ),
        );
    });
    return chart;
}
