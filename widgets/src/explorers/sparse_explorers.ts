/** The explorers of sparse releases by name. */

import { alpAnatomy } from "./alp_anatomy";
import { explorerOf, type Explorers } from "./explorers_of";
import { readAnatomy, readTradeoff } from "../protocol/sparse_sheets";
import { tradeoffExplorer } from "./tradeoff_explorer";

export const SPARSE: Explorers = {
    "alp-anatomy": explorerOf(readAnatomy, alpAnatomy),
    "tradeoff-explorer": explorerOf(readTradeoff, tradeoffExplorer),
};
