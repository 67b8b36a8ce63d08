/** A drawn record: each column with its label, and whether further records are free. */

import { listOf, texts } from "../columns";
import { h } from "../dom";
import type { Result } from "../protocol";
import { flag, shape, text, wrong, type Read } from "../readers";
import type { ResultView } from "../result_view";
import { dataTable, NUMBERS } from "../table";

/** So many columns are drawn; the table has all. */
const MOST = 60;

const readRecord = shape({ columns: texts, labels: texts, sentence: text, remark: text, more: flag });

type Drawn = Result & Omit<Read<typeof readRecord>, "columns" | "labels"> & { names: string[]; shown: string[] };

export const recordView: ResultView<Drawn> = {
    kind: "record",
    read(result) {
        const { columns, labels, ...said } = readRecord(result.content, "result");
        const [names, shown] = [listOf(columns), listOf(labels)];
        if (names.length !== shown.length || names.length === 0) wrong("result.labels", "a label for each column");
        return { ...result, ...said, names, shown };
    },
    create({ title, names, shown, sentence, remark }) {
        const rows = names.slice(0, MOST).flatMap((name, i) => [h("dt", {}, name), h("dd", {}, shown[i]!)]);
        const more = names.length > MOST ? h("p", { class: "dp-quiet" }, `${names.length - MOST} more columns are in the table.`) : null;
        const element = h("div", { role: "group", "aria-label": title }, h("dl", { class: "dp-record" }, ...rows), more);
        return {
            element,
            levels: false,
            plain: false,
            draw: () => undefined,
            finding: () => sentence,
            key: () => [h("p", {}, remark)],
        };
    },
    table: ({ names, shown }) =>
        dataTable(NUMBERS, [{ name: "column" }, { name: "label" }], names.length, (i) => [names[i]!, shown[i]!]),
    narrow: () => true,
};
