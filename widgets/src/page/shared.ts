/** The tools that a program lends to the views that come as bundles: they bring none of it along (`build.mjs`). */

import * as scale from "d3-scale";
import type * as noAsking from "../answers/no_asking";
import * as frame from "../charts/frame";
import * as columns from "../protocol/columns";
import * as dom from "../dom/dom";
import * as exact from "../numbers/exact";
import * as perf from "../dom/perf";
import * as protocol from "../protocol/protocol";
import * as readers from "../protocol/readers";
import * as saving from "../answers/saving";
import * as table from "../dom/table";
import * as words from "../wording/words";

/** Lend the tools. A notebook lends what asks its kernel; a report, which has none, what asks nobody. */
export function lend(asking: typeof noAsking): void {
    (globalThis as unknown as Record<symbol, unknown>)[Symbol.for("dpviz.shared.1")] = {
        scale: { scaleLinear: scale.scaleLinear },
        asking,
        frame,
        columns,
        dom,
        exact,
        perf,
        protocol,
        readers,
        saving,
        table,
        words,
    };
}
