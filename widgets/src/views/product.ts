/** Counts of two columns: a map, bars beside each other, or the list of a histogram, where sums are asked. */

import type { Counted } from "../wording/counted";
import { looksOf, productOf, type Product } from "../answers/product";
import type { ResultView } from "../answers/result_view";
import { drawn, EVERY, histogramView, keyOf } from "./histogram";

export const productView: ResultView<Counted> = {
    ...histogramView,
    kind: "product",
    create(result, around) {
        const looks = looksOf(result);
        if (looks.length === 0) return histogramView.create(result, around);
        return productOf(result as Product, around, looks, () => drawn(result, around), (beta) => keyOf(result, beta, EVERY, false));
    },
};
