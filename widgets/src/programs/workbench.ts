/** The program of the Workbench and of its parts. */

import "../page/built_in_views";
import * as asking from "../answers/asking";
import { lend } from "../page/shared";
import { components } from "../workbench/components";
import { program } from "../page/host";
import { workbench } from "../workbench/workbench";

lend(asking);

export default program(components((store) => workbench(store)));
