/**
 * What every widget carries: where its program is, and how to run it.
 *
 * The program is a model of its own, one in a kernel for all widgets that need it, so that a page is sent it once and a
 * saved notebook holds it once. On a page it is run once: whoever brings the same text gets the same module.
 *
 * What is drawn follows these models. A script on the page can rewrite them, and the kernel then says what they are, one
 * after the other: a view that was drawn in between is drawn again.
 */

import { run, style, withoutStyle } from "./bundles";
import type { Model, Program } from "./host";

/** A model that holds a program: its text and its style. */
interface Held {
    get(name: string): unknown;
    previous?(name: string): unknown;
    on(name: string, heard: () => void): void;
    off(name: string, heard: () => void): void;
}

interface Manager {
    get_model(id: string): Promise<Held>;
}

const REFERENCE = "IPY_MODEL_";
const CHANGES = "change:code change:css";
const MISSING = "dpviz: the program of this view is not on this page. Run its cell again to draw it.";

/** The model that is named. */
async function heldBy(model: Model, reference: unknown): Promise<Held> {
    const manager = model.widget_manager as Manager;
    return manager.get_model(String(reference).slice(REFERENCE.length));
}

/** Run the module of this model. */
async function moduleOf(held: Held): Promise<unknown> {
    style(String(held.get("css")));
    return run(String(held.get("code")));
}

async function render({ model, el }: { model: Model; el: HTMLElement }): Promise<() => void> {
    const watched = new Map<Held, () => void>();
    let latest = 0;
    let leave: () => void = () => undefined;

    /** What this model holds, now and whenever it changes. */
    async function bring(reference: unknown): Promise<unknown> {
        const held = await heldBy(model, reference);
        if (!watched.has(held)) {
            const changed = (): void => {
                const before = held.previous?.("css");
                if (before !== undefined && before !== held.get("css")) withoutStyle(String(before));
                void draw();
            };
            watched.set(held, changed);
            held.on(CHANGES, changed);
        }
        return moduleOf(held);
    }

    async function draw(): Promise<void> {
        const mine = ++latest;
        let program: Program | null = null;
        try {
            program = (await bring(model.get("program"))) as Program;
        } catch (error) {
            console.warn("dpviz: the program of this view could not be run", error);
        }
        if (mine !== latest) return;
        leave();
        el.replaceChildren();
        const left: unknown = program?.render({ model, el, bring });
        leave = typeof left === "function" ? (left as () => void) : () => undefined; // a rewritten program says nothing
        if (program === null) el.textContent = MISSING;
    }

    const renamed = (): void => void draw();
    model.on("change:program", renamed);
    await draw();
    return () => {
        latest = NaN; // no draw is the latest any more
        model.off("change:program", renamed);
        for (const [held, changed] of watched) held.off(CHANGES, changed);
        leave();
    };
}

export default { render };
