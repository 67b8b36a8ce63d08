/** A real table; when it is long, only the rows in view exist. */

import { h, PAPER, type Paper } from "./dom";
import { shown } from "../wording/words";

export interface Column {
    name: string;
    /** Figures stand to the right. */
    figures?: boolean;
}

/** The name of the table of an answer, be it released or drawn in a lesson. */
export const NUMBERS = "Numbers of this answer";
const ROW = 28;
const ALL = 200;
const BEYOND = 10;
/** The rows of a long table that are printed, as many as a report shows without JavaScript. */
const ON_PAPER = 2_000;

export function dataTable(
    caption: string,
    columns: readonly Column[],
    count: number,
    row: (i: number) => (string | Node)[],
): HTMLElement {
    const kind = (i: number): string | null => (columns[i]?.figures ? "dp-figures" : null);
    const body = h("tbody");
    const table = h(
        "table",
        { class: "dp-table", "aria-rowcount": count + 1 },
        h("caption", { class: "dp-offscreen" }, caption),
        h(
            "thead",
            {},
            h(
                "tr",
                { "aria-rowindex": 1 },
                ...columns.map((column, i) => h("th", { scope: "col", class: kind(i) }, column.name)),
            ),
        ),
        body,
    );
    const element = h("div", { class: "dp-table-box", tabindex: 0, role: "region", "aria-label": caption }, table);
    const line = (i: number): HTMLElement =>
        h("tr", { "aria-rowindex": i + 2 }, ...row(i).map((cell, k) => h("td", { class: kind(k) }, cell)));

    if (count <= ALL) {
        body.append(...Array.from({ length: count }, (_, i) => line(i)));
        return element;
    }
    const spacer = (rows: number): HTMLElement => {
        const cell = h("td", { colspan: columns.length });
        cell.style.height = `${rows * ROW}px`;
        return h("tr", { "aria-hidden": "true", class: "dp-spacer" }, cell);
    };
    let drawn = "";
    const draw = (): void => {
        const first = Math.max(0, Math.floor(element.scrollTop / ROW) - BEYOND);
        const last = Math.min(count, first + Math.ceil((element.clientHeight || 320) / ROW) + 2 * BEYOND);
        if (drawn === `${first}-${last}`) return;
        drawn = `${first}-${last}`;
        body.replaceChildren(
            spacer(first),
            ...Array.from({ length: last - first }, (_, i) => line(first + i)),
            spacer(count - last),
        );
    };
    const drawOnPaper = (): void => {
        const rows = Array.from({ length: Math.min(count, ON_PAPER) }, (_, i) => line(i));
        const more = h("tr", {}, h("td", { colspan: columns.length }, `… ${shown(String(count - ON_PAPER))} more rows, in the CSV file`));
        body.replaceChildren(...rows, ...(count > ON_PAPER ? [more] : []));
    };
    element.addEventListener("scroll", draw);
    element.addEventListener(PAPER, (event) => {
        drawn = "";
        if ((event as Paper).detail === "paper") drawOnPaper();
        else draw();
    });
    draw();
    return element;
}
