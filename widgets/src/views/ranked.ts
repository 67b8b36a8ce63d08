/** A list or a set of items: its cells, or where it has values these with their bars. */

import { ARROWS, clampOf, ends, interval, WITHIN } from "../wording/intervals";
import { cellList, NO_MORE, valuedList, type Cells, type Valued } from "../charts/ranked";
import { listOf, numbers, texts, type Texts } from "../protocol/columns";
import { bounds, checkRows, made, valueText } from "../wording/counted";
import { h, type Child } from "../dom/dom";
import { approximate, exactly } from "../numbers/exact";
import { readBar, type Bar, type Result } from "../protocol/protocol";
import { exact, flag, list, maybe, shape, table, text, whole, type Read, type Reader } from "../protocol/readers";
import type { ResultView } from "../answers/result_view";
import { dataTable, NUMBERS } from "../dom/table";
import { kindOf, often, shown, spread } from "../wording/words";

/** A list is drawn as a whole. */
const short =
    (column: Reader<Texts>): Reader<string[]> =>
    (value, where) =>
        listOf(column(value, where));

const readList = shape({
    labels: short(texts),
    short_labels: short(texts),
    values: numbers,
    list: shape({ places: whole, ordered: flag, ended: flag, sentence: text, sure: maybe(table(list(text))) }),
    clamp: shape({ low: maybe(exact), high: maybe(exact) }),
    bars: table(shape({ one: readBar, all: maybe(readBar) })),
});

/** Of a longer set the first cells are drawn; its table has all names. */
const MOST_CELLS = 1000;

type Listed = Result & Read<typeof readList>;

export const rankedView: ResultView<Listed> = {
    kind: "ranked",
    read(result) {
        const items = { ...result, ...readList(result.content, "result") };
        if (items.values.length > 0) checkRows(items);
        return items;
    },
    create(result) {
        const element = h("div", { class: "dp-listed" });
        const valued = result.values.length > 0;
        const title = `${result.title}. ${result.list.sentence}`;
        return {
            element,
            levels: valued || result.list.sure !== null,
            plain: false,
            draw(beta, width) {
                element.replaceChildren(
                    valued
                        ? valuedList(width, cellsOf(result), valuesOf(result, beta), title, result.limits)
                        : cellList(firstOf(cellsOf(result)), title),
                    ...(valued ? [] : moreThan(result.labels.length)),
                );
            },
            finding: () => result.list.sentence,
            key: (beta) => [
                h(
                    "div",
                    {},
                    ...(valued ? listKey(result, beta) : []),
                    ...(result.list.sure?.get(beta) ?? []).map((sentence) => h("div", { class: "dp-sure" }, sentence)),
                ),
            ],
        };
    },
    table: listTable,
};

function cellsOf({ list, labels, short_labels }: Listed): Cells {
    return { items: labels, short: short_labels, maxItems: Number(list.places), ended: list.ended, ordered: list.ordered };
}

const firstOf = (cells: Cells): Cells =>
    cells.items.length > MOST_CELLS ? { ...cells, items: cells.items.slice(0, MOST_CELLS), maxItems: MOST_CELLS } : cells;

/** The number of names that have no cell. */
const moreThan = (names: number): HTMLElement[] =>
    names > MOST_CELLS ? [h("p", { class: "dp-sure" }, `And ${shown(String(names - MOST_CELLS))} more: the table has all of them.`)] : [];

function valuesOf(result: Listed, beta: string): Valued[] {
    const { one, all } = result.bars.get(beta)!;
    const clamp = clampOf(result);
    return listOf(result.values).map((value) => {
        const between = (bar: Bar): [number, number] => {
            const { low, high } = ends(interval(exactly(value), exactly(bar.value), clamp));
            return [approximate(exactly(low)), approximate(exactly(high))];
        };
        return {
            value: approximate(exactly(value)),
            text: shown(value),
            one: between(one),
            all: all === null ? null : between(all),
        };
    });
}

function listKey(result: Listed, beta: string): Child[] {
    const { one, all } = result.bars.get(beta)!;
    return [
        h("div", {}, h("strong", {}, "thick"), ` ${spread(one)}, holds for any one item, ${often(beta)} (${kindOf(one)})`),
        all && h("div", {}, h("strong", {}, "thin with caps"), ` ${spread(all)}, holds for all at once (${kindOf(all)})`),
        h("div", {}, "Values of items that were chosen by them lie too high on average."),
        result.limits && h("div", {}, `All of it for what is ${WITHIN}. ${ARROWS}`),
    ];
}

/** A list with its ranks, or a set; with values and intervals where it has them, and ⊥ in its place. */
function listTable(result: Listed, beta: string): HTMLElement {
    const { ordered, ended } = result.list!;
    const valued = result.values.length > 0;
    const many = valued && result.bars.get(beta)!.all !== null;
    const columns = [
        ...(ordered ? [{ name: "rank" }] : []),
        { name: result.axis },
        ...(valued ? [{ name: made(result), figures: true }, { name: "this item alone", figures: true }] : []),
        ...(many ? [{ name: "all at once", figures: true }] : []),
    ];
    const rows = result.labels.length + (ended ? 1 : 0);
    return dataTable(NUMBERS, columns, rows, (i) => {
        const rank = ordered ? [String(i + 1)] : [];
        if (i === result.labels.length) return [...rank, `${NO_MORE} (no more)`, ...columns.slice(rank.length + 1).map(() => "")];
        if (!valued) return [...rank, result.labels[i]!];
        const { one, all } = bounds(result, beta, i);
        return [...rank, result.labels[i]!, valueText(result, beta, i), one, ...(all === null ? [] : [all])];
    });
}

