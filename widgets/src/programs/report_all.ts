/** The program of a report of releases and plans, and of explorers beside them. */

import { EXPLORERS } from "../explorers/explorers";
import { start } from "../report/report";
import { RELEASES } from "../report/report_releases";
import { SAMPLING } from "../explorers/sampling_explorers";
import { SPARSE } from "../explorers/sparse_explorers";

export default (data: string): Promise<void> => start(data, { releases: RELEASES, explorers: { ...EXPLORERS, ...SPARSE, ...SAMPLING } });
