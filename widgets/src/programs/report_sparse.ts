/** The program of a report of the explorers of sparse releases alone. */

import { start } from "../report/report";
import { SPARSE } from "../explorers/sparse_explorers";

export default (data: string): Promise<void> => start(data, { explorers: SPARSE });
