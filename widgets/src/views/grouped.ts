/** An answer for each part of the data: all of them side by side, a row or a column for each part. */

import { h } from "../dom";
import { readBar, type Result } from "../protocol";
import { flag, list, maybe, shape, table, text, wrong, type Read } from "../readers";
import type { ResultView } from "../result_view";
import { dataTable, NUMBERS } from "../table";
import { often, spread } from "../words";

const readGrouped = shape({
    heads: list(text),
    rows: list(list(text)),
    /** Whether the cells are released values; else they are labels. */
    figures: flag,
    sentence: text,
    bars: table(shape({ one: readBar, all: maybe(readBar) })),
});

type Grouped = Result & Read<typeof readGrouped>;

export const groupedView: ResultView<Grouped> = {
    kind: "grouped",
    read(result) {
        const read = readGrouped(result.content, "result");
        if (read.rows.some((row) => row.length !== read.heads.length)) wrong("result.rows", "a cell under each name");
        return { ...result, ...read };
    },
    create(result) {
        const element = h("div", {}, h("p", { class: "dp-hint" }, result.sentence), grid(result));
        return {
            element,
            levels: result.bars.size > 0,
            plain: false,
            draw: () => undefined,
            finding: (beta) => errors(result, beta),
            key: () => [],
        };
    },
};

/** How far any one value may be off: the same in every part. */
function errors({ bars }: Grouped, beta: string): string {
    const bar = bars.get(beta);
    return bar === undefined ? "" : `Any one value is within ${spread(bar.one)} of the true count, ${often(beta)}.`;
}

function grid({ heads, rows, figures }: Grouped): HTMLElement {
    const columns = heads.map((name, at) => ({ name, figures: figures && at > 0 }));
    return dataTable(NUMBERS, columns, rows.length, (row) => [...rows[row]!]);
}
