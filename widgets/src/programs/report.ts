/** The program of a report of releases and plans. */

import { start } from "../report/report";
import { RELEASES } from "../report/report_releases";

export default (data: string): Promise<void> => start(data, { releases: RELEASES });
