/** The remaining balance of a sub-session: symbols as one bar with a segment for each question, questions as cells. */

import { scaleLinear } from "d3-scale";
import { h, s } from "../dom/dom";
import { label, line, px, svg, textWidth, tickText } from "./frame";

export interface Segment {
    number: string;
    used: number;
    /** Reserved, or lost: counts as used, and no answer came. */
    hatched: boolean;
}

export interface Gauge {
    total: number;
    left: number;
    segments: readonly Segment[];
    /** How many symbols the next question may use, or null where none can be asked. */
    next: number | null;
    /** The cost of the same questions if every answer asked for were paid. */
    asked: number;
}

const [TOP, HEIGHT] = [18, 24];
let patterns = 0;

export function gaugeChart(width: number, data: Gauge): SVGSVGElement {
    const { total, left, segments, next, asked } = data;
    const x = scaleLinear()
        .domain([0, Math.max(1, total)])
        .range([0.5, width - 0.5]);
    patterns += 1;
    const hatch = `dp-tape-hatch-${patterns}`;
    const rect = (from: number, to: number, kind: string, fill?: string): SVGRectElement =>
        s("rect", {
            x: px(from),
            y: TOP,
            width: px(Math.max(0, to - from)),
            height: HEIGHT,
            class: kind,
            ...(fill ? { fill } : {}),
        });
    const mark = asked > total - left ? Math.min(asked, total) : null;
    const chart = svg(
        width,
        TOP + HEIGHT + 20,
        `${left} of ${total} symbols left` +
            (next === null ? "" : `; the next question uses at most ${next}`) +
            (mark === null ? "" : `; paying for every answer asked would have used ${asked}`),
        s(
            "defs",
            {},
            s(
                "pattern",
                { id: hatch, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
                line(0, 0, 0, 5, "dp-hatch"),
            ),
        ),
        rect(x(0), x(total), "dp-meter-left"),
    );
    let from = 0;
    for (const { number, used, hatched } of segments) {
        const [a, b] = [x(from), x(Math.min(total, from + used))];
        chart.append(hatched ? rect(a, b, "dp-meter-pending", `url(#${hatch})`) : rect(a, b, "dp-meter-spent"));
        if (from > 0) chart.append(line(a, TOP, a, TOP + HEIGHT, "dp-meter-gap"));
        if (!hatched && b - a > textWidth(number) + 8)
            chart.append(label((a + b) / 2, TOP + 16, number, "middle", "dp-on-ink"));
        from += used;
    }
    if (next !== null && next > 0) {
        const [a, b] = [x(total - left) + 2, Math.min(width - 1.5, x(total - left + next))];
        chart.append(rect(a, Math.max(a + 2, b), `dp-meter-plan${next > left ? " dp-over-budget" : ""}`));
        // The words stand where the mark does not cross them.
        const at = mark === null ? b : x(mark);
        const [from, to] = at <= a || at >= b ? [a, b] : at - a > b - at ? [a, at] : [at, b];
        const words = [`next ≤ ${next}`, `≤ ${next}`].find((text) => textWidth(text) + 6 < to - from);
        if (words !== undefined) chart.append(label((from + to) / 2, TOP + 16, words, "middle"));
    }
    if (mark !== null) {
        const at = x(mark);
        const words = [`paying for every answer asked: ${asked}`, `if all were paid: ${asked}`].find(
            (text) => textWidth(text) + 4 < width,
        );
        chart.append(line(at, TOP - 4, at, TOP + HEIGHT + 4, "dp-every"));
        if (words !== undefined) {
            const half = textWidth(words) / 2;
            chart.append(label(Math.max(half, Math.min(width - half, at)), 11, words, "middle", "dp-every-name"));
        }
    }
    const ticks = x.ticks(width < 300 ? 3 : 5).filter((tick) => tick < total * 0.93 && Number.isInteger(tick));
    for (const tick of [...ticks, total]) {
        const end = tick === 0 ? "start" : tick === total ? "end" : "middle";
        chart.append(
            line(x(tick), TOP + HEIGHT, x(tick), TOP + HEIGHT + 4, "dp-axis"),
            label(x(tick), TOP + HEIGHT + 17, tickText(tick), end, "dp-tick"),
        );
    }
    return chart;
}

/** Up to so many questions are drawn one by one. */
const CELLS = 40;

/** A cell for each question, filled where it was asked; of many questions a bar. */
export function questionCells(total: number, left: number): HTMLElement {
    const name = `${left} of ${total} questions left`;
    const asked = total - left;
    if (total > CELLS) {
        const bar = h("div", { class: "dp-question-bar", role: "img", "aria-label": name }, h("div", {}));
        (bar.firstElementChild as HTMLElement).style.width = `${(100 * asked) / total}%`;
        return bar;
    }
    return h(
        "div",
        { class: "dp-question-cells", role: "img", "aria-label": name },
        ...Array.from({ length: total }, (_, i) => h("span", { class: i < asked ? "dp-asked" : null })),
    );
}
