/** The look of error bars, beside the words that say what they hold for. */

import { s } from "../dom/dom";

/** Thick for any one bin, thin with caps for all at once. */
export const glyph = (): SVGSVGElement =>
    s(
        "svg",
        { class: "dp-glyph", width: 14, height: 34, "aria-hidden": "true" },
        s("path", { d: "M7 2V32M3 2H11M3 32H11", class: "dp-all" }),
        s("path", { d: "M7 9V25", class: "dp-one", "stroke-width": 3.4 }),
        s("circle", { cx: 7, cy: 17, r: 4, class: "dp-value" }),
    );

/** Wide for what was asked, thin for what was counted. */
export const closedGlyph = (): SVGSVGElement =>
    s(
        "svg",
        { class: "dp-glyph", width: 16, height: 34, "aria-hidden": "true" },
        s("rect", { x: 1, y: 2, width: 14, height: 30, class: "dp-asked" }),
        s("path", { d: "M1 2H15M1 32H15", class: "dp-all" }),
        s("path", { d: "M8 14V28", class: "dp-one", "stroke-width": 3.4 }),
        s("circle", { cx: 8, cy: 21, r: 2.8, class: "dp-value" }),
    );

/** The three strengths of a column of many bins. */
export const columnGlyph = (): SVGSVGElement =>
    s(
        "svg",
        { class: "dp-glyph", width: 14, height: 50, "aria-hidden": "true" },
        s("path", { d: "M7 2V48", class: "dp-column dp-column-all", "stroke-width": 8 }),
        s("path", { d: "M7 12V38", class: "dp-column dp-column-one", "stroke-width": 8 }),
        s("path", { d: "M7 20V30", class: "dp-column dp-column-value", "stroke-width": 8 }),
    );
