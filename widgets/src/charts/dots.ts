/** Twenty equally likely errors of one bin: each dot stands for five in a hundred. */

import { scaleLinear } from "d3-scale";
import { s } from "../dom";
import { bottomAxis, label, line, niceCeiling, px, svg, tickText } from "./frame";

export interface DotsData {
    errors: readonly number[];
    /** Half the width that holds `often`. */
    within: number;
    words: { within: string; often: string };
}

const RADIUS = 4.5;

export function dotsChart(width: number, height: number, data: DotsData): SVGSVGElement {
    const box = { left: 16, right: width - 16, top: 8, bottom: height - 38 };
    const reach = niceCeiling(Math.max(1, data.within, ...data.errors.map(Math.abs)) * 1.05);
    const x = scaleLinear().domain([-reach, reach]).range([box.left, box.right]);
    const floor = box.bottom - 34;
    const stacks = new Map<number, number>();
    const cell = 2 * RADIUS + 1;
    const placed = data.errors.map((error) => {
        const column = Math.round((x(error) - x(0)) / cell);
        const height_ = stacks.get(column) ?? 0;
        stacks.set(column, height_ + 1);
        return { at: x(0) + column * cell, height: height_ };
    });
    const pitch = Math.min(cell, (floor - box.top) / Math.max(...stacks.values(), 1));
    const half = (value: number): string => `${value > 0 ? "+" : ""}${tickText(value)}`;
    const held = `${data.words.within} holds ${data.words.often.replace(" in ", " of ")}`;
    return svg(
        width,
        height,
        `Twenty equally likely errors in one bin; ${held}`,
        ...placed.map(({ at, height: up }) =>
            s("circle", {
                cx: px(at),
                cy: px(floor - pitch / 2 - up * pitch),
                r: px(Math.min(RADIUS, pitch / 2)),
                class: "dp-plan-dot",
            }),
        ),
        line(x(-data.within), floor + 6, x(data.within), floor + 6, "dp-curve dp-thick dp-exact"),
        label(x(0), floor + 22, held, "middle", "dp-tick"),
        bottomAxis(box, { at: x, values: [-reach, -reach / 2, 0, reach / 2, reach], text: half }, "error in one bin"),
    );
}
