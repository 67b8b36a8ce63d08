/** Picking rows of a chart with the mouse: dragging over some adds them up, a click ticks one to compare. */

import type { Asker } from "./asking";
import { h, show } from "../dom/dom";
import { timed } from "../dom/perf";

/** A rectangle on the chart, in pixels from its upper left corner. */
export interface Place {
    left: number;
    top: number;
    width: number;
    height: number;
}

/** A chart whose rows are picked. */
export interface Pickable {
    /** The row under the pointer, or null. */
    rowAt(x: number, y: number): number | null;
    /** Where rows from one to another lie. */
    place(from: number, to: number): Place;
}

export interface Picker {
    /** The chart with what is picked marked on it. */
    readonly element: HTMLElement;
    /** Another drawing of the chart. */
    draw(chart: Element, where: Pickable): void;
    /** Mark what is picked now. */
    mark(): void;
}

/**
 * asking  what is told of a pick; null: nobody answers, so that nothing is picked
 * drags   whether rows that lie side by side are added up by dragging over them
 */
export function picker(asking: () => Asker | null, drags: boolean): Picker {
    const plot = h("div", { class: "dp-plot" });
    const brushes = [0, 1].map(() => h("div", { class: "dp-brush", hidden: true }));
    const cover = h("div", { class: "dp-cover" });
    const element = h("div", { class: "dp-stage" }, plot, ...brushes, cover);
    let chart: Pickable | null = null;
    let from: number | null = null;
    let moved = false;

    function under(event: PointerEvent): number | null {
        const box = cover.getBoundingClientRect();
        return chart?.rowAt(event.clientX - box.left, event.clientY - box.top) ?? null;
    }

    cover.addEventListener("pointerdown", (event) => {
        moved = false;
        from = event.button === 0 && asking() !== null ? under(event) : null;
        if (from !== null) cover.setPointerCapture?.(event.pointerId);
    });
    cover.addEventListener("pointermove", (event) => {
        const over = from === null || !drags ? null : under(event);
        if (from === null || over === null || (!moved && over === from)) return;
        moved = true;
        timed(event, () => asking()?.brush(from!, over));
    });
    cover.addEventListener("pointerup", (event) => {
        const over = under(event);
        if (from !== null && !moved && over === from) timed(event, () => asking()?.tick(over));
        from = null;
    });
    cover.addEventListener("pointercancel", () => (from = null));

    function mark(): void {
        cover.classList.toggle("dp-brushable", asking() !== null);
        const picked = asking()?.picked ?? null;
        const rows = picked?.rows ?? null;
        const spans = rows === null ? [] : picked!.what === "pair" ? [...new Set(rows)].map((row): [number, number] => [row, row]) : [rows];
        brushes.forEach((brush, i) => {
            const span = spans[i];
            show(brush, chart !== null && span !== undefined);
            if (chart === null || span === undefined) return;
            const { left, top, width, height } = chart.place(span[0], span[1]);
            Object.assign(brush.style, { left: `${left}px`, top: `${top}px`, width: `${Math.max(2, width)}px`, height: `${height}px` });
        });
    }

    return {
        element,
        draw(drawn, where) {
            chart = where;
            plot.replaceChildren(drawn);
            mark();
        },
        mark,
    };
}
