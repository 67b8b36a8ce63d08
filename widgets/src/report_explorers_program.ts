/** The program of a report of explorers alone. */

import { EXPLORERS } from "./explorers";
import { start } from "./report";

void start({ explorers: EXPLORERS });
