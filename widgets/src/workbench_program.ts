/** The program of the Workbench and of its parts. */

import "./built_in_views";
import "./shared";
import { components } from "./components";
import { program } from "./host";
import { workbench } from "./workbench";

export default program(components((store) => workbench(store)));
