/** The same for a lesson, whose Workbench shows its draws beside the truth, too. */

import "../page/built_in_views";
import * as asking from "../answers/asking";
import { lend } from "../page/shared";
import { components } from "../workbench/components";
import { coverage } from "../workbench/coverage";
import { program } from "../page/host";
import { workbench } from "../workbench/workbench";

lend(asking);

export default program(components((store) => workbench(store, coverage)));
