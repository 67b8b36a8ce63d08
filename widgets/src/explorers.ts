/** The explorers by name: each stands on a sheet of its own, in a notebook and in a report. */

import type { Component } from "./component";
import { compositionExplorer } from "./composition_explorer";
import { Explorer } from "./explorer";
import { mechanismComparison } from "./mechanism_comparison";
import { samplerExplorer } from "./sampler_explorer";
import { readComparison, readComposition, readSampler, readTopK, type Point, type Sheet } from "./sheets";
import { topKExplorer } from "./top_k_explorer";
import type { ViewStore } from "./view_store";

/** How each component comes to stand on a store of its own. */
export type Explorers = Record<string, () => { desk: ViewStore; component: Component }>;

function standing<S extends Sheet<Point>>(read: (value: unknown) => S, component: (desk: Explorer<S>) => Component): () => { desk: Explorer<S>; component: Component } {
    return () => {
        const desk = new Explorer(read);
        return { desk, component: component(desk) };
    };
}

export const EXPLORERS: Explorers = {
    "sampler-explorer": standing(readSampler, samplerExplorer),
    "mechanism-comparison": standing(readComparison, mechanismComparison),
    "top-k-explorer": standing(readTopK, topKExplorer),
    "composition-explorer": standing(readComposition, compositionExplorer),
};
