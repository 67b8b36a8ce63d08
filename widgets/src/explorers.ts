/** The explorers by name: each stands on a sheet of its own, in a notebook and in a report. */

import type { Component } from "./component";
import { compositionExplorer } from "./composition_explorer";
import { consistencyPlayground } from "./consistency_playground";
import { Explorer } from "./explorer";
import { isotonicExplorer } from "./isotonic_explorer";
import { mechanismComparison } from "./mechanism_comparison";
import { rangeExplorer } from "./range_explorer";
import { RangeStore } from "./range_store";
import { samplerExplorer } from "./sampler_explorer";
import { readComparison, readComposition, readConsistency, readIsotonic, readSampler, readTopK, type Point, type Sheet } from "./sheets";
import { topKExplorer } from "./top_k_explorer";
import type { ViewStore } from "./view_store";

/** How each component comes to stand on a store of its own. */
export type Explorers = Record<string, () => { store: ViewStore; component: Component }>;

function explorerOf<S extends Sheet<Point>>(read: (value: unknown) => S, component: (store: Explorer<S>) => Component): () => { store: Explorer<S>; component: Component } {
    return () => {
        const store = new Explorer(read);
        return { store, component: component(store) };
    };
}

export const EXPLORERS: Explorers = {
    "isotonic-explorer": explorerOf(readIsotonic, isotonicExplorer),
    "range-explorer": () => {
        const store = new RangeStore();
        return { store, component: rangeExplorer(store) };
    },
    "sampler-explorer": explorerOf(readSampler, samplerExplorer),
    "mechanism-comparison": explorerOf(readComparison, mechanismComparison),
    "top-k-explorer": explorerOf(readTopK, topKExplorer),
    "composition-explorer": explorerOf(readComposition, compositionExplorer),
    "consistency-playground": explorerOf(readConsistency, consistencyPlayground),
};
