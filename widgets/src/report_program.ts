/** The program of a report of releases and plans. */

import { start } from "./report";
import { RELEASES } from "./report_releases";

export default (data: string): Promise<void> => start(data, { releases: RELEASES });
