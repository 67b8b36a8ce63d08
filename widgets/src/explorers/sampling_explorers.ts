/** The explorers of private sampling by name. */

import { explorerOf, type Explorers } from "./explorers_of";
import { productTrace } from "./product_trace";
import { samplingExplorer } from "./sampling_explorer";
import { readProduct, readSampling } from "../protocol/sampling_sheets";

export const SAMPLING: Explorers = {
    "product-sampler-trace": explorerOf(readProduct, productTrace),
    "sampling-explorer": explorerOf(readSampling, samplingExplorer),
};
