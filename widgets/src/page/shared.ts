/** The tools that a report's program lends to the views that it carries: they bring none of it along (`build.mjs`). */

import * as scale from "d3-scale";
import * as asking from "../answers/no_asking";
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
