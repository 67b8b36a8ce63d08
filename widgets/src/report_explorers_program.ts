/** The program of a report of explorers alone. */

import { EXPLORERS } from "./explorers";
import { start } from "./report";
import { SAMPLING } from "./sampling_explorers";
import { SPARSE } from "./sparse_explorers";

void start({ explorers: { ...EXPLORERS, ...SPARSE, ...SAMPLING } });
