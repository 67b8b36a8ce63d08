/** The root that every widget on the page stands in: styles' root, keyboard's edge, and the one place that speaks. */

import type { Component } from "../dom/component";
import { h, setText, show } from "../dom/dom";

/** The store that a component stands on: a store, or the sheet of an explorer. */
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
        if (event.key === "Escape") fold(event.target as HTMLElement);
    });
    const release = holdFocus(root);
    heedPresses(root);

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
        release();
        component.close?.();
        roots.delete(root);
        root.remove();
    };
}

/**
 * A press counts where it began, and for what the button meant then (`data-means`): a button that comes under the pointer,
 * the finger or the key meanwhile, or that means something else by now, takes no click of it.
 */
function heedPresses(root: HTMLElement): void {
    const buttonOf = (event: Event): HTMLElement | null => (event.target as Element).closest("button");
    let begun: { button: HTMLElement | null; means: string | undefined; by: "key" | "pointer" } | null = null;
    const begin = (event: Event, by: "key" | "pointer"): void => {
        const button = buttonOf(event);
        begun = { button, means: button?.dataset["means"], by };
    };
    root.addEventListener("pointerdown", (event) => begin(event, "pointer"), true);
    root.addEventListener(
        "keydown",
        (event) => {
            if (event.repeat) return;
            if ((event.key === "Enter" || event.key === " ") && buttonOf(event) !== null) begin(event, "key");
            else begun = null;
        },
        true,
    );
    root.addEventListener(
        "click",
        (event) => {
            const [from, button] = [begun, buttonOf(event)];
            begun = null;
            const means = button?.dataset["means"];
            const by = event.detail === 0 ? "key" : "pointer"; // a press by neither, as of a screen reader, begins and ends at once
            if (means === undefined || from?.by !== by || (from.button === button && from.means === means)) return;
            event.preventDefault();
            event.stopImmediatePropagation();
        },
        true,
    );
}

/** Escape closes what was opened around the place where it is pressed. */
function fold(at: HTMLElement): void {
    if (at.getAttribute("aria-expanded") === "true") return at.click();
    const around = at.closest("details");
    if (around === null || !around.open) return;
    around.open = false;
    around.querySelector("summary")?.focus();
}

const FOCUSABLE = "button, input, select, textarea, summary, a[href], [tabindex]:not([tabindex='-1'])";

const isUsable = (element: HTMLElement): boolean =>
    element.isConnected &&
    !element.matches(":disabled") &&
    element.closest("[hidden]") === null &&
    (element.localName === "summary" || element.closest("details:not([open])") === null);

const nameOf = (element: HTMLElement): string => `${element.localName} ${element.getAttribute("aria-label") ?? element.textContent ?? ""}`;

/** Where what has the focus is taken away, folded or switched off, the focus goes to what took its place, or stands next to it. */
function holdFocus(root: HTMLElement): () => void {
    let held: { element: HTMLElement; name: string; around: HTMLElement[] } | null = null;

    function rescue(): void {
        if (held === null || isUsable(held.element)) return;
        const { element, name, around } = held;
        const now = document.activeElement;
        held = null;
        if (now !== null && now !== document.body && now !== element) return;
        for (const place of around.filter((one) => one.isConnected && one.closest("[hidden]") === null)) {
            const near = [...place.querySelectorAll<HTMLElement>(FOCUSABLE)].filter(isUsable);
            const next = near.find((one) => nameOf(one) === name) ?? near.find((one) => one.dataset["safe"] !== undefined) ?? near[0];
            if (next !== undefined) return next.focus();
        }
    }

    root.addEventListener("focusin", ({ target }) => {
        const element = target as HTMLElement;
        const around: HTMLElement[] = [];
        for (let up = element.parentElement; up !== null && root.contains(up); up = up.parentElement) around.push(up);
        held = { element, name: nameOf(element), around };
    });
    root.addEventListener("focusout", ({ relatedTarget }) => {
        if (relatedTarget !== null) return void (held = null);
        setTimeout(() => {
            if (held !== null && isUsable(held.element) && document.activeElement !== held.element) held = null; // it was left
        });
    });
    const observer = new MutationObserver(rescue);
    observer.observe(root, { subtree: true, childList: true, attributes: true, attributeFilter: ["hidden", "disabled", "open"] });
    return () => observer.disconnect();
}

/** The components on each store. */
const mounted = new WeakMap<PageStore, Set<HTMLElement>>();

/** Of several widgets of one store only the first on the page speaks, so that a sentence is heard once. */
const speaks = (store: PageStore, root: HTMLElement): boolean =>
    [...mounted.get(store)!].find(({ isConnected }) => isConnected) === root || !root.isConnected;
