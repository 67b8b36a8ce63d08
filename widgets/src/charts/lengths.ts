/** The exact law of a whole number from 0 on: outlined columns, for it is a plan. */

import { scaleBand, scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { bottomAxis, label, px, svg, textWidth } from "./frame";

export interface Lengths {
    title: string;
    chance: readonly number[];
    axis: string;
    text: (chance: number) => string;
}

/** Less likely lengths are not written. */
const TOLD = 0.03;

export function lengthsChart(width: number, height: number, { title, chance, axis, text }: Lengths): SVGSVGElement {
    const box = { left: 4, right: width - 4, top: 20, bottom: height - 38 };
    const x = scaleBand<number>()
        .domain(chance.map((_, i) => i))
        .range([box.left, box.right])
        .paddingInner(0.25);
    const y = scaleLinear()
        .domain([0, Math.max(...chance)])
        .range([box.bottom, box.top]);
    const most = chance.indexOf(Math.max(...chance));
    const room = (words: string): boolean => textWidth(words) <= x.step() + 2;
    const inside = (at: number, words: string): number => Math.max(textWidth(words) / 2, Math.min(at, width - textWidth(words) / 2));
    const every = [1, 2, 5, 10, 20, 50].find((step) => step * x.step() >= 26) ?? 100;
    return svg(
        width,
        height,
        title,
        bottomAxis(box, { at: (value) => x(value)! + x.bandwidth() / 2, values: chance.map((_, i) => i).filter((i) => i % every === 0) }, axis),
        ...chance.flatMap((share, i) => {
            const [left, words] = [x(i)!, text(share)];
            return [
                s("path", { d: `M${px(left)} ${px(box.bottom)}V${px(y(share))}H${px(left + x.bandwidth())}V${px(box.bottom)}`, class: "dp-length" }),
                i === most || (share >= TOLD && room(words)) ? label(inside(left + x.bandwidth() / 2, words), y(share) - 5, words, "middle") : null,
            ];
        }),
    );
}
