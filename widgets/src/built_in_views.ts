/** The views that programs of releases bring along. */

import { bring } from "./result_view";
import { histogramView } from "./views/histogram";
import { largeView } from "./views/large";
import { rankedView } from "./views/ranked";
import { ranksView } from "./views/ranks";

bring(histogramView, largeView, rankedView, ranksView);
