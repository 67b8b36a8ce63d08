/** The hatch of public or made-up counts. */

import { s } from "../dom/dom";
import { line } from "./frame";

let hatches = 0;

/** A pattern, with a name of its own on the page. */
export function hatch(size = 6): { id: string; node: SVGElement } {
    hatches += 1;
    const id = `dp-truth-${hatches}`;
    const pattern = s(
        "pattern",
        { id, width: size, height: size, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        s("rect", { width: size, height: size, class: "dp-hatch-ground" }),
        line(0, 0, 0, size, "dp-hatch-line"),
    );
    return { id, node: s("defs", {}, pattern) };
}
