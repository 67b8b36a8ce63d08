/** What every widget on the page stands in: styles' root, keyboard's edge, and the one place that speaks. */

import type { Component } from "./component";
import { h, setText, show } from "./dom";

/** What a component stands on: a store, or the sheet of an explorer. */
export interface PageStore {
    readonly problem: string | null;
    readonly sentence: string;
    subscribe(listener: () => void): () => void;
}

/** Mount a component of a store into an element; returns how to take it away again. */
export function mount(store: PageStore, component: Component, into: HTMLElement): () => void {
    const problem = h("p", { class: "dp-notice dp-error", role: "alert", hidden: true });
    const body = h("div", { class: "dp-body" }, component.element);
    const voice = h("div", { class: "dp-offscreen", "aria-live": "polite" });
    const root = h("div", { class: "dpviz", lang: "en" }, problem, body, voice);
    // The notebook's own commands live on plain keys; one pressed in here is meant for here. Saving and the like pass.
    root.addEventListener("keydown", (event) => {
        if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
    });

    function draw(): void {
        setText(problem, store.problem ?? "");
        show(problem, store.problem !== null);
        show(body, store.problem === null);
        if (store.problem !== null) return;
        component.draw();
        if (speaks(store, root)) setText(voice, store.sentence);
    }

    into.replaceChildren(root);
    const roots = mounted.get(store) ?? new Set();
    mounted.set(store, roots.add(root));
    draw();
    const unsubscribe = store.subscribe(draw);
    return () => {
        unsubscribe();
        component.close?.();
        roots.delete(root);
        root.remove();
    };
}

/** What stands on each store. */
const mounted = new WeakMap<PageStore, Set<HTMLElement>>();

/** Of several widgets of one store only the first on the page speaks, so that a sentence is heard once. */
const speaks = (store: PageStore, root: HTMLElement): boolean =>
    [...mounted.get(store)!].find(({ isConnected }) => isConnected) === root || !root.isConnected;
