/** What every widget on the page stands in: styles' root, keyboard's edge, and the one place that speaks. */

import type { Component } from "./component";
import { h, setText, show } from "./dom";

/** What a component stands on: a desk, or the sheet of an explorer. */
export interface Board {
    readonly problem: string | null;
    readonly sentence: string;
    subscribe(listener: () => void): () => void;
}

/** Mount a component of a desk into an element; returns how to take it away again. */
export function mount(desk: Board, component: Component, into: HTMLElement): () => void {
    const problem = h("p", { class: "dp-notice dp-error", role: "alert", hidden: true });
    const body = h("div", { class: "dp-body" }, component.element);
    const voice = h("div", { class: "dp-offscreen", "aria-live": "polite" });
    const root = h("div", { class: "dpviz", lang: "en" }, problem, body, voice);
    // The notebook's own commands live on plain keys; one pressed in here is meant for here. Saving and the like pass.
    root.addEventListener("keydown", (event) => {
        if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
    });

    function draw(): void {
        setText(problem, desk.problem ?? "");
        show(problem, desk.problem !== null);
        show(body, desk.problem === null);
        if (desk.problem !== null) return;
        component.draw();
        if (speaks(root)) setText(voice, desk.sentence);
    }

    into.replaceChildren(root);
    draw();
    const unsubscribe = desk.subscribe(draw);
    return () => {
        unsubscribe();
        component.close?.();
        root.remove();
    };
}

/** Of several widgets on one page only the first speaks, so that a sentence is heard once. */
const speaks = (root: HTMLElement): boolean => document.querySelector(".dpviz") === root || !root.isConnected;
