/** The program of a report of releases and plans, and of explorers beside them. */

import { EXPLORERS } from "./explorers";
import { start } from "./report";
import { RELEASES } from "./report_releases";
import { SAMPLING } from "./sampling_explorers";
import { SPARSE } from "./sparse_explorers";

export default (data: string): Promise<void> => start(data, { releases: RELEASES, explorers: { ...EXPLORERS, ...SPARSE, ...SAMPLING } });
