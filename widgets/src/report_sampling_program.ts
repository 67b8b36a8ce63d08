/** The program of a report of the explorers of private sampling alone. */

import { start } from "./report";
import { SAMPLING } from "./sampling_explorers";

void start({ explorers: SAMPLING });
