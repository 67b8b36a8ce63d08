/** How one price is shared out among parts: every way side by side, how far off each is, and which of them errs least. */

import type { Component } from "./component";
import { h, newId, setAttribute, setText, show } from "./dom";
import { compare, exactly } from "./exact";
import { signed, words } from "./measures";
import { drawFault } from "./plan_box";
import type { Bar, Point, Sheet, Way } from "./protocol";
import type { SessionStore } from "./session_store";
import { kindOf, priceText, shown } from "./words";

/** One way on show: its button, which a report has none of, and its numbers. */
interface Row {
    way: Way;
    pick: HTMLInputElement | null;
    error: HTMLElement;
    note: HTMLElement;
    element: HTMLElement;
}

/** `still`: nobody answers, as in a report, so that no other way can be picked. */
export function waysBox(store: SessionStore, still: boolean): Component {
    const [legendId, faultId, group] = [newId(), newId(), newId()];
    const legend = h("p", { id: legendId, class: "dp-stat-name" });
    const list = h("div", { class: "dp-ways-list" });
    const fault = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
    const element = h("div", { class: "dp-ways", role: still ? "group" : "radiogroup", "aria-labelledby": legendId, "aria-describedby": faultId, hidden: true }, legend, list, fault);
    let rows: Row[] = [];
    let seen = "";

    function row(way: Way): Row {
        const error = h("span", { class: "dp-way-error" });
        const note = h("span", { class: "dp-way-note" }, way.refused);
        const pick = still || way.refused !== "" ? null : h("input", { type: "radio", name: group, value: way.name, onchange: () => void store.plan({ way: way.name }) });
        const name = h("span", { class: "dp-way-name" }, pick, way.label);
        const kind = `dp-way${way.refused === "" ? "" : " dp-way-refused"}`;
        return { way, pick, error, note, element: pick === null ? h("div", { class: kind }, name, error, note) : h("label", { class: kind }, name, error, note) };
    }

    function draw(): void {
        const { sheet, point } = store;
        const ways = sheet?.ways ?? [];
        show(element, sheet?.way != null);
        if (sheet === null || sheet.way === null) return;
        const signature = JSON.stringify(ways.map(({ name, label, refused }) => [name, label, refused]));
        if (signature !== seen) {
            seen = signature;
            rows = ways.map(row);
            list.replaceChildren(...rows.map((one) => one.element));
        }
        const { by } = sheet.question;
        const price = point === null ? "One price" : priceText(point.price);
        const [first] = sheet.measures;
        setText(legend, `${price} for all ${shown(by?.size ?? "")} parts, shared out${first === undefined ? "" : `; ${words(first)}, in each part`}:`);
        const least = leastOf(ways, point, store.beta);
        for (const one of rows) drawRow(one, sheet, point, least);
        drawFault(store, "way", element, fault);
    }

    function drawRow({ way, pick, error, note, element: line }: Row, sheet: Sheet, point: Point | null, least: string | null): void {
        const mine = way.name === store.way;
        setAttribute(line, "data-picked", mine ? "true" : null);
        if (pick !== null) {
            pick.checked = mine;
            pick.disabled = store.locked || store.kernel.health === "gone";
        }
        if (way.refused !== "") return;
        const bar = barOf(way, point, store.beta);
        const measure = ways(sheet, way.name)?.measure ?? null;
        const of = measure === null || measure.name === sheet.measures[0]?.name ? "" : `${words(measure)} `;
        setText(error, measure === null ? "" : bar === null ? `${of}no bound` : [of + signed(measure, bar), measure.origin].filter((part) => part !== "").join(" "));
        const { price } = point?.ways?.get(way.name) ?? { price: null };
        const other = price === null || point === null || priceText(price) === priceText(point.price) ? "" : `pays ${priceText(price)}`;
        const known = bar === null ? "" : kindOf(bar);
        setText(note, [way.name === least ? "errs least" : "", known, other, still && mine ? "planned here" : ""].filter((part) => part !== "").join(" · "));
        setAttribute(note, "data-least", way.name === least ? "true" : null);
    }

    return { element, draw };
}

const ways = (sheet: Sheet, name: string): Way | undefined => sheet.ways?.find((way) => way.name === name);

const barOf = (way: Way, point: Point | null, beta: string): Bar | null => point?.ways?.get(way.name)?.errors.get(beta) ?? null;

/** The way that errs least at this level, of equal ones the first; none where no error is known, or where there is one way alone. */
function leastOf(all: readonly Way[], point: Point | null, beta: string): string | null {
    const known = all.flatMap((way) => {
        const bar = barOf(way, point, beta);
        return bar === null ? [] : [{ name: way.name, error: exactly(bar.value) }];
    });
    if (known.length === 0 || all.filter(({ refused }) => refused === "").length < 2) return null;
    return known.reduce((best, one) => (compare(one.error, best.error) < 0 ? one : best)).name;
}
