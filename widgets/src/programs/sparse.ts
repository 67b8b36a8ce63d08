/** The program of the explorers of sparse releases. */

import { programOf } from "../explorers/explorers_of";
import { SPARSE } from "../explorers/sparse_explorers";

export default programOf(SPARSE);
