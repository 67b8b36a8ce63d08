/** The program of the explorers of private sampling. */

import { programOf } from "../explorers/explorers_of";
import { SAMPLING } from "../explorers/sampling_explorers";

export default programOf(SAMPLING);
