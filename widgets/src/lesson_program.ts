/** The same for a lesson, whose Workbench shows its draws beside the truth, too. */

import "./built_in_views";
import "./shared";
import { components } from "./components";
import { coverage } from "./coverage";
import { program } from "./host";
import { workbench } from "./workbench";

export default program(components((store) => workbench(store, coverage)));
