/** The tools that a report's program lends to the views that it carries: they bring none of it along (`build.mjs`). */

import * as scale from "d3-scale";
import * as asking from "./asking";
import * as frame from "./charts/frame";
import * as columns from "./columns";
import * as dom from "./dom";
import * as exact from "./exact";
import * as perf from "./perf";
import * as protocol from "./protocol";
import * as readers from "./readers";
import * as saving from "./saving";
import * as table from "./table";
import * as words from "./words";

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
