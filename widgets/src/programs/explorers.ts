/** The program of the explorers. */

import { EXPLORERS } from "../explorers/explorers";
import { programOf } from "../explorers/explorers_of";

export default programOf(EXPLORERS);
