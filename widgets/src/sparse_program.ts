/** The program of the explorers of sparse releases. */

import { programOf } from "./explorers_of";
import { SPARSE } from "./sparse_explorers";

export default programOf(SPARSE);
