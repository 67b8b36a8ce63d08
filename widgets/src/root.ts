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
        if (speaks(desk, root)) setText(voice, desk.sentence);
    }

    into.replaceChildren(root);
    const roots = standing.get(desk) ?? new Set();
    standing.set(desk, roots.add(root));
    draw();
    const unsubscribe = desk.subscribe(draw);
    return () => {
        unsubscribe();
        component.close?.();
        roots.delete(root);
        root.remove();
    };
}

/** What stands on each desk. */
const standing = new WeakMap<Board, Set<HTMLElement>>();

/** Of several widgets of one desk only the first on the page speaks, so that a sentence is heard once. */
const speaks = (desk: Board, root: HTMLElement): boolean =>
    [...standing.get(desk)!].find(({ isConnected }) => isConnected) === root || !root.isConnected;
