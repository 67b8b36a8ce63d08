/**
 * A picture that is read mark by mark: a pointer or the arrow keys say which, a box beside it says what it shows.
 *
 * A picture wider than its place scrolls in a box of its own, and a mark that is walked to comes into view.
 */

import type { Box } from "../charts/frame";
import { h, setAttribute, show } from "../dom/dom";

/** The text of a mark, in two lines and a hint. */
export interface Told {
    value: string;
    bars: string;
    hint?: string;
}

/** The marks of a picture, by their numbers. */
export interface Walked {
    element: SVGSVGElement | HTMLElement;
    count: number;
    /** Where a mark stands. */
    box(mark: number): Box;
    /** The mark at a place, or none. */
    at(x: number, y: number): number | null;
    /** Where a key leads from a mark: to another one, or `null` where the key means nothing. */
    move(key: string, from: number): number | null;
    told(mark: number): Told;
}

export interface Stage {
    readonly element: HTMLElement;
    /** Show another picture in so much room; null leaves nothing to walk. */
    draw(walked: Walked | null, width: number): void;
    /** Walk to a mark, as if by key. */
    go(mark: number): void;
}

/** So far from the edge a mark that is walked to stands, where there is room. */
const MARGIN = 24;
const WIDEST = 336;

export const CAUGHT = "Chosen because it stood out? Read the second.";

/** The place of such a picture; `name` is what its marks are called: "Walk the cells". */
export function stageOf(name: string): Stage {
    const plot = h("div", { class: "dp-plot" });
    const outline = h("div", { class: "dp-probe-box", hidden: true });
    const cover = h("div", { class: "dp-cover" });
    const walker = h("input", { type: "range", class: "dp-walker", min: 0, max: 0, step: 1, "aria-label": name });
    const canvas = h("div", { class: "dp-canvas" }, plot, outline, cover, walker);
    const scroll = h("div", { class: "dp-scroll" }, canvas);
    const readout = h("div", { class: "dp-tip", hidden: true });
    const element = h("div", { class: "dp-stage dp-walked" }, scroll, readout);
    let walked: Walked | null = null;
    let width = 640;
    let mark: number | null = null;

    function set(next: number | null): void {
        mark = next === null || walked === null || walked.count === 0 ? null : Math.max(0, Math.min(walked.count - 1, next));
        if (mark !== null) walker.value = String(mark);
        render();
    }

    function render(): void {
        show(readout, mark !== null);
        show(outline, mark !== null);
        if (mark === null || walked === null) return;
        const { value, bars, hint = CAUGHT } = walked.told(mark);
        readout.replaceChildren(h("strong", {}, value), h("span", {}, bars), hint === "" ? "" : h("span", { class: "dp-quiet" }, hint));
        setAttribute(walker, "aria-valuetext", bars === "" ? value : `${value}; ${bars}`);
        const box = walked.box(mark);
        Object.assign(outline.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.right - box.left}px`, height: `${box.bottom - box.top}px` });
        const wide = Math.min(WIDEST, width - 16);
        const [start, end] = [box.left - scroll.scrollLeft, box.right - scroll.scrollLeft];
        const left = end + 10 + wide < width ? end + 10 : start - 10 - wide > 0 ? start - 10 - wide : Math.max(4, Math.min(width - wide - 4, start));
        const beside = left >= end || left + wide <= start;
        Object.assign(readout.style, { left: `${left}px`, top: `${beside ? box.top : box.bottom + 6}px`, width: `${wide}px` });
    }

    function intoView(): void {
        if (mark === null || walked === null) return;
        const { left, right } = walked.box(mark);
        if (left < scroll.scrollLeft + MARGIN) scroll.scrollLeft = Math.max(0, left - MARGIN);
        else if (right > scroll.scrollLeft + width - MARGIN) scroll.scrollLeft = right - width + MARGIN;
        render();
    }

    function go(next: number): void {
        set(next);
        intoView();
    }

    const focused = (): boolean => document.activeElement === walker;
    const over = (event: PointerEvent): void => {
        const rect = cover.getBoundingClientRect();
        set(walked?.at(event.clientX - rect.left, event.clientY - rect.top) ?? (focused() ? mark : null));
    };
    cover.addEventListener("pointermove", over);
    cover.addEventListener("pointerdown", over);
    cover.addEventListener("pointerleave", () => {
        if (!focused()) set(null);
    });
    scroll.addEventListener("scroll", render);
    walker.addEventListener("focus", () => go(mark ?? 0));
    walker.addEventListener("blur", () => set(null));
    walker.addEventListener("input", () => go(Number(walker.value)));
    walker.addEventListener("keydown", (event) => {
        if (event.key === "Escape") return walker.blur();
        if (event.ctrlKey || event.metaKey || event.altKey || walked === null) return;
        const next = walked.move(event.key, mark ?? 0);
        if (next === null) return;
        event.preventDefault();
        go(next);
    });

    return {
        element,
        draw(next, room) {
            [walked, width] = [next, room];
            plot.replaceChildren(...(next === null ? [] : [next.element]));
            canvas.style.width = next?.element instanceof SVGSVGElement ? `${next.element.viewBox.baseVal.width}px` : "auto";
            walker.max = String(Math.max(0, (next?.count ?? 1) - 1));
            show(walker, next !== null && next.count > 0);
            set(mark);
        },
        go,
    };
}

/** Moves in rows of so many marks: arrows in two dimensions, Home and End in the row, Page Up and Down by ten rows. */
export function inRows(columns: number, count: number): Walked["move"] {
    return (key, from) => {
        const row = Math.floor(from / columns) * columns;
        const last = Math.min(count, row + columns) - 1;
        const to: Record<string, number | undefined> = {
            ArrowRight: Math.min(last, from + 1),
            ArrowLeft: Math.max(row, from - 1),
            ArrowDown: from + columns,
            ArrowUp: from - columns,
            PageDown: from + 10 * columns,
            PageUp: from - 10 * columns,
            Home: row,
            End: last,
        };
        const next = to[key];
        if (next === undefined) return null;
        const column = from - row;
        const rows = Math.ceil(count / columns);
        return Math.max(column, Math.min(next, (rows - 1) * columns + column, count - 1));
    };
}

/** The number of the largest cell, below a map that has no room for those in its cells; and how to read the others. */
export function largestCell({ written, told }: { written: boolean; told(cell: number): Told }, values: readonly number[]): HTMLElement | null {
    if (written) return null;
    const { value, bars } = told(values.indexOf(Math.max(...values)));
    return h("p", { class: "dp-hint" }, `The largest cell is ${value}; ${bars}. Tap a cell, or walk the cells with the arrow keys, to read its number.`);
}
