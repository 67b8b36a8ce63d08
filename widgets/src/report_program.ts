/** The program of a report of releases and plans. */

import { start } from "./report";
import { RELEASES } from "./report_releases";

void start({ releases: RELEASES });
