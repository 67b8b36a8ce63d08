/** A chart with its name, and a line under the name. */

import { h } from "./dom";

export interface Figure {
    element: HTMLElement;
    name: HTMLElement;
    note: HTMLElement;
    plot: HTMLElement;
}

export function figure(words: string): Figure {
    const [name, note, plot] = [h("h4", {}, words), h("p", { class: "dp-hint" }), h("div", { class: "dp-plot" })];
    return { element: h("figure", { class: "dp-figure" }, h("figcaption", {}, name), note, plot), name, note, plot };
}
