/**
 * Stands for d3-format in what is built: d3-scale brings it along for `tickFormat`, which nothing here calls, since the
 * numbers of a page are written as `words.ts` writes them.
 */

function none(): never {
    throw new Error("dpviz: the labels of ticks are written by words.ts, not by d3-scale");
}

export {
    none as format,
    none as formatPrefix,
    none as formatSpecifier,
    none as precisionFixed,
    none as precisionPrefix,
    none as precisionRound,
};
