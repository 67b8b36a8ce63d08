/** The program of the Workbench and of its parts. */

import "../page/built_in_views";
import "../page/shared";
import { components } from "../workbench/components";
import { program } from "../page/host";
import { workbench } from "../workbench/workbench";

export default program(components((store) => workbench(store)));
