/**
 * The loader that every widget carries: where its program is, and how to run it.
 *
 * The program is a model of its own, one in a kernel for all widgets that need it, so that a page is sent it once and a
 * saved notebook holds it once. On a page it is run once: whoever brings the same text gets the same module. The values that a widget shows stand on a board, which is such a model, too.
 *
 * The drawing follows these models. A script on the page can rewrite them, and the kernel then says what they are, one
 * after the other: a view that was drawn in between is drawn again.
 */

import { Opened, type Source } from "../page/board";
import { run, style, withoutStyle } from "../page/bundles";
import type { Model, Program } from "../page/host";
import { unpacked } from "../protocol/packed";

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
const NAMES = ["change:program", "change:board"];
const CHANGES = "change:code change:css";
const MISSING = "dpviz: the program of this view is not on this page. Run its cell again to draw it.";

/** The model that is named. */
async function heldBy(model: Model, reference: unknown): Promise<Held> {
    const manager = model.widget_manager as Manager;
    return manager.get_model(String(reference).slice(REFERENCE.length));
}

/** Run the module of this model. */
async function moduleOf(held: Held): Promise<unknown> {
    const [css, code] = await Promise.all([unpacked(held.get("css")), unpacked(held.get("code"))]);
    style(String(css));
    return run(String(code));
}

async function render({ model, el }: { model: Model; el: HTMLElement }): Promise<() => void> {
    const watched = new Map<Held, () => void>();
    let latest = 0;
    let leave: () => void = () => undefined;
    let opened: Opened | null = null;

    /** Follow the content of this model, now and whenever it changes. */
    async function bring(reference: unknown): Promise<unknown> {
        const held = await heldBy(model, reference);
        if (!watched.has(held)) {
            const changed = (): void => {
                const before = held.previous?.("css");
                if (before !== undefined && before !== held.get("css")) void unpacked(before).then((css) => withoutStyle(String(css)));
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
        let shown: Opened | null = null;
        try {
            program = (await bring(model.get("program"))) as Program;
            shown = await new Opened(model, (await heldBy(model, model.get("board"))) as Source).ready();
        } catch (error) {
            console.warn("dpviz: the program of this view could not be run", error);
        }
        if (mine !== latest) return shown?.close();
        leave();
        opened?.close();
        opened = shown;
        el.replaceChildren();
        const left: unknown = shown === null ? undefined : program?.render({ model: shown, el, bring });
        leave = typeof left === "function" ? (left as () => void) : () => undefined; // a rewritten program says nothing
        if (program === null || shown === null) el.textContent = MISSING;
    }

    const renamed = (): void => void draw();
    for (const event of NAMES) model.on(event, renamed);
    await draw();
    return () => {
        latest = NaN; // no draw is the latest any more
        for (const event of NAMES) model.off(event, renamed);
        for (const [held, changed] of watched) held.off(CHANGES, changed);
        leave();
        opened?.close();
    };
}

export default { render };
