/** The program of the explorers. */

import { EXPLORERS } from "./explorers";
import { programOf } from "./explorers_of";

export default programOf(EXPLORERS);
