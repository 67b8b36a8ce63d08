/** The program of a report of the explorers of private sampling alone. */

import { start } from "../report/report";
import { SAMPLING } from "../explorers/sampling_explorers";

export default (data: string): Promise<void> => start(data, { explorers: SAMPLING });
