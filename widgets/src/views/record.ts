/** A drawn record: each column with its label, and further records where those are free. */

import { listOf, texts } from "../protocol/columns";
import { h } from "../dom/dom";
import { furtherField } from "../answers/further";
import type { Result } from "../protocol/protocol";
import { flag, maybe, shape, text, wrong, type Read } from "../protocol/readers";
import type { ResultView } from "../answers/result_view";
import { dataTable, NUMBERS } from "../dom/table";

/** The columns that are drawn; the table has all. */
const MOST = 60;

/** `once`: why no further record may be drawn from this one. */
const readRecord = shape({ columns: texts, labels: texts, sentence: text, remark: text, more: flag, once: maybe(text) });

type Drawn = Result & Omit<Read<typeof readRecord>, "columns" | "labels"> & { names: string[]; shown: string[] };

export const recordView: ResultView<Drawn> = {
    kind: "record",
    read(result) {
        const { columns, labels, ...said } = readRecord(result.content, "result");
        const [names, shown] = [listOf(columns), listOf(labels)];
        if (names.length !== shown.length || names.length === 0) wrong("result.labels", "a label for each column");
        return { ...result, ...said, names, shown };
    },
    create(result, around) {
        const { title, names, shown, sentence, remark, more, once } = result;
        const rows = names.slice(0, MOST).flatMap((name, i) => [h("dt", {}, name), h("dd", {}, shown[i]!)]);
        const rest = names.length > MOST ? h("p", { class: "dp-quiet" }, `${names.length - MOST} more columns are in the table.`) : null;
        const further = more ? furtherField(result, around) : null;
        const why = once === null || once === "" ? "" : ` Why: ${once}.`;
        const element = h(
            "div",
            {},
            h("div", { role: "group", "aria-label": title }, h("dl", { class: "dp-record" }, ...rows), rest),
            further === null ? h("p", { class: "dp-hint dp-once" }, `${remark}${why}`) : further.element,
        );
        const heed = (): void => further?.heed();
        return {
            element,
            levels: false,
            plain: false,
            draw: heed,
            heed,
            finding: () => sentence,
            key: () => [],
        };
    },
    table: ({ names, shown }) =>
        dataTable(NUMBERS, [{ name: "column" }, { name: "label" }], names.length, (i) => [names[i]!, shown[i]!]),
    narrow: () => true,
};
