/** The explorers by name: each stands on a sheet of its own, in a notebook and in a report. */

import { compositionExplorer } from "./composition_explorer";
import { consistencyPlayground } from "./consistency_playground";
import { explorerOf, type Explorers } from "./explorers_of";
import { isotonicExplorer } from "./isotonic_explorer";
import { mechanismComparison } from "./mechanism_comparison";
import { rangeExplorer } from "./range_explorer";
import { RangeStore } from "../stores/range_store";
import { samplerExplorer } from "./sampler_explorer";
import { readComparison, readComposition, readConsistency, readIsotonic, readSampler, readTopK } from "../protocol/sheets";
import { topKExplorer } from "./top_k_explorer";

export type { Explorers } from "./explorers_of";

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
