/** The program of the explorers of private sampling. */

import { programOf } from "./explorers_of";
import { SAMPLING } from "./sampling_explorers";

export default programOf(SAMPLING);
