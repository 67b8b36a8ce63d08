/** The program of a report of explorers alone. */

import { EXPLORERS } from "./explorers";
import { start } from "./report";
import { SAMPLING } from "./sampling_explorers";
import { SPARSE } from "./sparse_explorers";

export default (data: string): Promise<void> => start(data, { explorers: { ...EXPLORERS, ...SPARSE, ...SAMPLING } });
