/** The program of a report of explorers alone. */

import { EXPLORERS } from "../explorers/explorers";
import { start } from "../report/report";
import { SAMPLING } from "../explorers/sampling_explorers";
import { SPARSE } from "../explorers/sparse_explorers";

export default (data: string): Promise<void> => start(data, { explorers: { ...EXPLORERS, ...SPARSE, ...SAMPLING } });
