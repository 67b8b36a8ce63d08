/** How one price is shared out among parts: every way side by side, how far off each is, and which of them errs least. */

import type { Component } from "../dom/component";
import { h, newId, setAttribute, setText, show } from "../dom/dom";
import { compare, exactly } from "../numbers/exact";
import { signed, words } from "../wording/measures";
import { drawFault } from "./plan_box";
import type { Bar, Point, Sheet, Way } from "../protocol/protocol";
import type { SessionStore } from "../stores/session_store";
import { kindOf, priceText, shown } from "../wording/words";

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
        const pick = still || way.refused !== "" || isOpened(way) ? null : h("input", { type: "radio", name: group, value: way.name, onchange: () => void store.plan({ way: way.name }) });
        const name = h("span", { class: "dp-way-name" }, pick, way.label);
        const kind = `dp-way${way.refused === "" ? "" : " dp-way-refused"}`;
        return { way, pick, error, note, element: pick === null ? h("div", { class: kind }, name, error, note) : h("label", { class: kind }, name, error, note) };
    }

    function draw(): void {
        const { sheet, point } = store;
        const ways = sheet?.ways ?? [];
        show(element, sheet?.way != null);
        if (sheet === null || sheet.way === null) return;
        const signature = JSON.stringify(ways.map(({ name, label, refused, opened }) => [name, label, refused, opened]));
        if (signature !== seen) {
            seen = signature;
            rows = ways.map(row);
            list.replaceChildren(...rows.map((one) => one.element));
        }
        const { by } = sheet.question;
        const price = point === null ? "One price" : priceText(point.price);
        const [first] = sheet.measures;
        const what = first === undefined ? "" : `; ${words(first)}${first.origin === "" ? "" : `, ${first.origin}`}, in each part`;
        setText(legend, `${price} for all ${shown(by?.size ?? "")} parts, shared out${what}:`);
        const least = leastOf(ways, point, store.beta);
        for (const one of rows) drawRow(one, sheet, point, least);
        drawFault(store, "way", element, fault);
    }

    function drawRow({ way, pick, error, note, element: line }: Row, sheet: Sheet, point: Point | null, least: Least | null): void {
        const mine = way.name === store.way;
        setAttribute(line, "data-picked", mine ? "true" : null);
        if (pick !== null) {
            pick.checked = mine;
            pick.disabled = store.locked || store.kernel.health === "gone";
        }
        if (way.refused !== "") return;
        const bar = barOf(way, point, store.beta);
        const measure = ways(sheet, way.name)?.measure ?? null;
        const first = sheet.measures[0];
        const [of, origin] = measure === null || (measure.name === first?.name && measure.origin === first.origin) ? ["", ""] : [words(measure), measure.origin];
        setText(error, measure === null ? "" : bar === null ? `${of} no bound`.trim() : `${of} ${signed(measure, bar)} ${origin}`.trim());
        const { price } = point?.ways?.get(way.name) ?? { price: null };
        const other = price === null || point === null || priceText(price) === priceText(point.price) ? "" : `pays ${priceText(price)}`;
        const known = bar === null ? "" : kindOf(bar);
        const best = way.name === least?.name ? (least.clearly ? "errs least" : "errs least of one release that leaves nothing out") : "";
        const elsewhere = isOpened(way) ? `no release: ${way.opened!}` : "";
        setText(note, [best, known, other, way.leaves_out ?? "", elsewhere, still && mine ? "planned here" : ""].filter((part) => part !== "").join(" · "));
        setAttribute(note, "data-least", best === "" ? null : "true");
    }

    return { element, draw };
}

const ways = (sheet: Sheet, name: string): Way | undefined => sheet.ways?.find((way) => way.name === name);

const barOf = (way: Way, point: Point | null, beta: string): Bar | null => point?.ways?.get(way.name)?.errors.get(beta) ?? null;

const isOpened = (way: Way): boolean => (way.opened ?? "") !== "";

/** The way that errs least, and whether it does so among all of them. */
interface Least {
    name: string;
    clearly: boolean;
}

/**
 * The way that errs least at this level, of equal ones the first, among those that a release takes and that leave nothing
 * out; none where no error is known, or where there is one way alone.
 */
function leastOf(all: readonly Way[], point: Point | null, beta: string): Least | null {
    const known = all.flatMap((way) => {
        const bar = barOf(way, point, beta);
        return bar === null ? [] : [{ name: way.name, error: exactly(bar.value), whole: !isOpened(way) && (way.leaves_out ?? "") === "" }];
    });
    const fair = known.filter(({ whole }) => whole);
    if (fair.length === 0 || all.filter(({ refused }) => refused === "").length < 2) return null;
    const best = fair.reduce((least, one) => (compare(one.error, least.error) < 0 ? one : least));
    return { name: best.name, clearly: known.every(({ error }) => compare(best.error, error) <= 0) };
}
