/** Views of kinds that this program does not bring along: each is a bundle, run when an answer of its kind comes. */

import { numbers, texts } from "../protocol/columns";
import { h, newId, s, setAttribute, setText } from "../dom/dom";
import { add, approximate, compare, exactly, format, fraction, subtract } from "../numbers/exact";
import { exact, flag, list, Malformed, maybe, oneOf, shape, table, text, whole } from "../protocol/readers";
import { brought, type ResultView } from "./result_view";
import { dataTable } from "../dom/table";
import { kindOf, often, shown, spread } from "../wording/words";

/** The colours of this page, light or dark, for attributes and styles. */
const THEME = {
    surface: "var(--dp-surface)",
    text: "var(--dp-text)",
    quiet: "var(--dp-quiet)",
    rule: "var(--dp-rule)",
    faint: "var(--dp-faint)",
    ink: "var(--dp-ink)",
    pencil: "var(--dp-pencil)",
    release: "var(--dp-release)",
    bar: "var(--dp-release-bar)",
    teaching: "var(--dp-violet)",
} as const;

/** The tools that a bundle draws with: it brings nothing of the page along. */
export const TOOLS = {
    dom: { h, s, setText, setAttribute, newId, dataTable },
    words: { shown, often, spread, kindOf },
    exact: { exactly, approximate, format, fraction, add, subtract, compare },
    readers: { text, exact, whole, flag, list, texts, numbers, maybe, oneOf, shape, table, Malformed },
    theme: THEME,
} as const;

export type Tools = typeof TOOLS;

/** The default export of a bundle. */
export type Guest<Body> = (tools: Tools) => ResultView<Body>;

/** Where bundles come from: the module for a kind, or null where nobody here has one. */
export type Offer = (kind: string) => Promise<unknown> | null;

/** How an answer of some kind is drawn: by a view, by one that is on its way, or by none, and why. */
export type Found = { view: ResultView } | { view: null; why: "coming" | "none" | "broken" };

export class Views {
    readonly #guests = new Map<string, Found>();
    readonly #arrivals = new Map<string, Promise<void>>();
    readonly #offers = new Set<Offer>();
    readonly #changed: () => void;

    constructor(changed: () => void) {
        this.#changed = changed;
    }

    /** Ask here for bundles; returns how to ask no more. */
    ask(offer: Offer): () => void {
        this.#offers.add(offer);
        return () => this.#offers.delete(offer);
    }

    /** The offer for these kinds has changed; the views of all others stay, with what was typed into them. */
    renew(kinds: Iterable<string>): void {
        for (const kind of kinds) this.#guests.delete(kind);
        this.#changed();
    }

    of(kind: string): Found {
        const own = brought(kind);
        if (own !== undefined) return { view: own };
        const known = this.#guests.get(kind);
        if (known !== undefined) return known;
        for (const offer of this.#offers) {
            const module = offer(kind);
            if (module !== null) return this.#await(kind, module);
        }
        return { view: null, why: "none" };
    }

    /** Wait until the view for this kind has come, where it is on offer. */
    async load(kind: string): Promise<void> {
        this.of(kind);
        await this.#arrivals.get(kind);
    }

    #await(kind: string, module: Promise<unknown>): Found {
        const coming: Found = { view: null, why: "coming" };
        this.#guests.set(kind, coming);
        this.#arrivals.set(kind, this.#arrive(kind, module, coming));
        return coming;
    }

    async #arrive(kind: string, module: Promise<unknown>, coming: Found): Promise<void> {
        let found: Found;
        try {
            found = { view: welcome(kind, await module) };
        } catch (error) {
            console.warn(`dpviz: the view of answers of kind ${kind} could not be run`, error);
            found = { view: null, why: "broken" };
        }
        if (this.#guests.get(kind) !== coming) return;
        this.#guests.set(kind, found);
        this.#changed();
    }
}

/** The view of a bundle, where it is one. */
function welcome(kind: string, guest: unknown): ResultView {
    if (typeof guest !== "function") throw new TypeError("the default export of a view's bundle must be a function");
    const view = (guest as Guest<unknown>)(TOOLS);
    if (view.kind !== kind) throw new TypeError(`this bundle draws answers of kind ${view.kind}`);
    for (const part of ["read", "create"] as const)
        if (typeof view[part] !== "function") throw new TypeError(`a view must have ${part}`);
    return view;
}
