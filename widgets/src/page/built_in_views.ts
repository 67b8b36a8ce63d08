/** The views that programs of releases bring along; the others in `views/` are sent when an answer of their kind comes. */

import { bring } from "../answers/result_view";
import { histogramView } from "../views/histogram";
import { largeView } from "../views/large";

bring(histogramView, largeView);
