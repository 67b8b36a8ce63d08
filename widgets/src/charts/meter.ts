/** The budget as one bar: spent filled and numbered, pending hatched, this plan dashed, what is left empty. */

import { scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { add, approximate, compare, equal, exactly, leftAfter, ZERO } from "../numbers/exact";
import type { Entry, Purse } from "../protocol/protocol";
import { label, line, px, svg, textWidth, tickText } from "./frame";

export interface MeterData {
    purse: Purse;
    entries: readonly Entry[];
    /** The price of the plan on show, or null where nothing is planned. */
    plan: string | null;
    /** The amount spent before the last payment and how long ago, while it still slides in. */
    paid: { before: string; ago: number } | null;
}

const PENDING = new Set<Entry["status"]>(["pending", "elsewhere", "lost"]);

export const isPending = (entry: Entry): boolean => PENDING.has(entry.status);

/** Spent, pending and left make the total, exactly; a bar that does not add up is not drawn. */
export function addsUp({ total, spent, pending, left }: Purse): boolean {
    return equal(add(add(exactly(spent), exactly(pending)), exactly(left)), exactly(total));
}

let patterns = 0;

export function meterChart(width: number, { purse, entries, plan, paid }: MeterData): SVGSVGElement {
    const [total, spent, pending] = [exactly(purse.total), exactly(purse.spent), exactly(purse.pending)];
    const taken = add(spent, pending);
    const x = scaleLinear()
        .domain([0, approximate(total) || 1])
        .range([0.5, width - 0.5]);
    const [top, height] = [1, 20];
    patterns += 1;
    const hatch = `dp-hatch-${patterns}`;
    const rect = (from: number, to: number, kind: string, fill?: string): SVGRectElement =>
        s("rect", {
            x: px(from),
            y: top,
            width: px(Math.max(0, to - from)),
            height,
            class: kind,
            ...(fill ? { fill } : {}),
        });
    const after = plan === null ? null : leftAfter(purse.left, plan);
    const chart = svg(
        width,
        height + 22,
        `Spent ${purse.spent}, pending ${purse.pending}, left ${purse.left} of ${purse.total}` +
            (plan === null
                ? ""
                : after === null
                  ? `; this plan costs ${plan}, more than is left`
                  : `; this plan costs ${plan}`),
        s(
            "defs",
            {},
            s(
                "pattern",
                { id: hatch, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
                line(0, 0, 0, 5, "dp-hatch"),
            ),
        ),
        rect(x(0), x(approximate(total)), "dp-meter-left"),
        rect(x(0), x(approximate(paid === null ? spent : exactly(paid.before))), "dp-meter-spent"),
        ...(paid === null
            ? []
            : [
                  sliding(
                      rect(x(approximate(exactly(paid.before))), x(approximate(spent)), "dp-meter-spent dp-meter-paid"),
                      paid.ago,
                  ),
              ]),
        rect(x(approximate(spent)), x(approximate(taken)), "dp-meter-pending", `url(#${hatch})`),
    );
    chart.append(...numbers(purse, entries, x, top, height));
    if (plan !== null && compare(exactly(plan), ZERO) > 0) {
        const from = x(approximate(taken)) + 1.5;
        const to = Math.max(from + 2, Math.min(width - 1.5, x(approximate(add(taken, exactly(plan))))));
        chart.append(rect(from, to, `dp-meter-plan${after === null ? " dp-over-budget" : ""}`));
        const words = [`plan ${plan}`, plan].find((text) => textWidth(text) + 6 < to - from);
        if (words !== undefined) chart.append(label((from + to) / 2, top + 14, words, "middle"));
        const rest = `${after} would be left`;
        if (after !== null && textWidth(rest) + 12 < width - to)
            chart.append(label((to + width) / 2, top + 14, rest, "middle", "dp-tick"));
    }
    const ticks = x.ticks(width < 420 ? 4 : 5).filter((tick) => tick < approximate(total) * 0.93);
    for (const tick of [...ticks, approximate(total)]) {
        const end = tick === 0 ? "start" : tick === approximate(total) ? "end" : "middle";
        chart.append(
            line(x(tick), top + height, x(tick), top + height + 4, "dp-axis"),
            label(
                x(tick),
                top + height + 16,
                tick === approximate(total) ? purse.total : tickText(tick),
                end,
                "dp-tick",
            ),
        );
    }
    return chart;
}

/** A payment slides from dashed to ink once; drawn anew meanwhile, it goes on from where it was. */
function sliding(segment: SVGRectElement, ago: number): SVGRectElement {
    segment.style.animationDelay = `${-ago}ms`;
    return segment;
}

/** Gaps between the paid entries and their numbers, where the entries account for all that is spent. */
function numbers(
    purse: Purse,
    entries: readonly Entry[],
    x: (value: number) => number,
    top: number,
    height: number,
): Node[] {
    const paid = entries.filter((entry) => !isPending(entry));
    const sum = paid.reduce((before, entry) => add(before, exactly(entry.price.epsilon)), ZERO);
    if (!equal(sum, exactly(purse.spent))) return [];
    const nodes: Node[] = [];
    let from = ZERO;
    paid.forEach((entry, i) => {
        const to = add(from, exactly(entry.price.epsilon));
        const [a, b] = [x(approximate(from)), x(approximate(to))];
        if (i < paid.length - 1 && b - a > 3) nodes.push(line(b, top, b, top + height, "dp-meter-gap"));
        if (b - a > textWidth(entry.number) + 8)
            nodes.push(label((a + b) / 2, top + 14, entry.number, "middle", "dp-on-ink"));
        from = to;
    });
    return nodes;
}
