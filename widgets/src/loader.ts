/**
 * What every widget carries: where its program is, and how to run it.
 *
 * The program is a model of its own, one in a kernel for all widgets that need it, so that a page is sent it once and a
 * saved notebook holds it once. On a page it is run once: whoever brings the same text gets the same module.
 */

import { run, style } from "./bundles";
import type { Model, Program } from "./host";

interface Manager {
    get_model(id: string): Promise<{ get(name: string): unknown }>;
}

const REFERENCE = "IPY_MODEL_";

/** Run the module of the model that is named. */
async function bring(model: Model, reference: unknown): Promise<unknown> {
    const manager = model.widget_manager as Manager;
    const held = await manager.get_model(String(reference).slice(REFERENCE.length));
    style(String(held.get("css")));
    return run(String(held.get("code")));
}

/** The program that the kernel named for this view; null where it is not on the page. */
async function programOf(model: Model): Promise<Program | null> {
    try {
        return (await bring(model, model.get("program"))) as Program;
    } catch (error) {
        console.warn("dpviz: the program of this view could not be run", error);
        return null;
    }
}

async function render(context: { model: Model; el: HTMLElement }): Promise<() => void> {
    const program = await programOf(context.model);
    if (program !== null) return program.render({ ...context, bring: (reference) => bring(context.model, reference) });
    context.el.textContent = "dpviz: the program of this view is not on this page. Run its cell again to draw it.";
    return () => undefined;
}

export default { render };
