/** The fitted bins of a tree: a histogram, on which a range that is brushed is read by each estimator. */

import { intervalText, valueText, type AskedRow } from "../answers/asking";
import { WHISKER_ROW, whiskersChart } from "../charts/whiskers";
import { counted, type Counted } from "../wording/counted";
import { h } from "../dom/dom";
import { approximate, exactly } from "../numbers/exact";
import type { OfPage, ResultView } from "../answers/result_view";
import { cell, headOf } from "../answers/saving";
import { shown } from "../wording/words";
import { drawn, numbers } from "./histogram";

/** From this width on the names stand beside their bars. */
const BESIDE = 620;
const NAMES = 300;

const TITLES: Partial<Record<string, string>> = { fitted: "fitted tree", subtrees: "subtrees", leaves: "leaves added" };

/** Every estimator's answer on one axis, so that their errors can be compared. */
function estimators(nouns: string, rows: readonly AskedRow[], width: number): Node {
    const beside = width >= BESIDE;
    const near = (text: string): number => approximate(exactly(text));
    const chart = whiskersChart(Math.max(200, beside ? width - NAMES - 16 : width), {
        title: rows.map((row) => `${row.reader}: ${valueText(row.value)}, ${intervalText(row)}`).join("; "),
        rows: rows.map((row, i) => {
            const value = near(row.value);
            const reach = row.low === null || row.high === null ? 0 : Math.max(value - near(row.low), near(row.high) - value);
            const alone = row.among.startsWith("if ");
            return { name: row.reader, value, one: alone ? reach : 0, all: reach, kinds: [`dp-${row.how}`, `dp-${row.how}`], colour: i + 1, alone };
        }),
        truth: null,
        axis: nouns,
    });
    const names = rows.map((row, i) =>
        h(
            "div",
            { class: `dp-answer dp-series-${i + 1}`, title: row.rule },
            h("strong", { class: "dp-answer-name" }, TITLES[row.reader] ?? row.reader),
            h("span", { class: "dp-hint" }, `${valueText(row.value)}, ${intervalText(row)}`),
        ),
    );
    const element = h("div", { class: `dp-tree-answers${beside ? " dp-beside" : ""}` }, h("div", {}, ...names), h("div", {}, chart));
    element.style.setProperty("--dp-answer", `${WHISKER_ROW}px`);
    return element;
}

/** Fitted values as the page has them: rounded, so that no interval is stated. */
function rounded(result: Counted): OfPage {
    const off = result.content["picture_off"];
    const note = `values are rounded and off by at most ${typeof off === "string" ? shown(off) : "0.001"}; exact ones and intervals: ${result.asked?.python || result.python}.to_csv()`;
    return {
        says: "fitted values to a thousandth, no intervals",
        head: headOf(result, null, ["bin", "value"], note),
        rows: result.values.length,
        line: (row) => `${cell(result.labels.at(row))},${result.values.at(row)}`,
    };
}

export const treeView: ResultView<Counted> = {
    kind: "tree",
    read: counted,
    table: numbers,
    csv: rounded,
    create: (result, around) => drawn(result, around, (rows, _, width) => estimators(result.nouns, rows, width)),
    narrow: () => false,
};
