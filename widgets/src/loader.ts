/**
 * What every widget carries: where its program is, and how to run it.
 *
 * The program is a model of its own, one in a kernel for all widgets that need it, so that a page is sent it once and a
 * saved notebook holds it once. On a page it is run once: whoever brings the same text gets the same module.
 */

import type { Model, Program } from "./host";

interface Manager {
    get_model(id: string): Promise<{ get(name: string): unknown }>;
}

/** The programs and styles of this page, by their whole text. */
const PLACE = Symbol.for("dpviz.programs.1");
const REFERENCE = "IPY_MODEL_";

interface Loaded {
    programs: Map<string, Promise<{ default: Program }>>;
    styles: Map<string, HTMLStyleElement>;
}

function loaded(): Loaded {
    const page = globalThis as unknown as { [PLACE]?: Loaded };
    return (page[PLACE] ??= { programs: new Map(), styles: new Map() });
}

function style(css: string): void {
    const { styles } = loaded();
    const element = styles.get(css) ?? document.createElement("style");
    if (element.isConnected) return;
    element.textContent = css;
    document.head.append(element);
    styles.set(css, element);
}

function run(code: string): Promise<{ default: Program }> {
    const { programs } = loaded();
    const known = programs.get(code);
    if (known !== undefined) return known;
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const module = (import(url) as Promise<{ default: Program }>).finally(() => URL.revokeObjectURL(url));
    programs.set(code, module);
    module.catch(() => programs.delete(code));
    return module;
}

/** The program that the kernel named for this view; null where it is not on the page. */
async function programOf(model: Model): Promise<Program | null> {
    try {
        const manager = model.widget_manager as Manager;
        const program = await manager.get_model(String(model.get("program")).slice(REFERENCE.length));
        style(String(program.get("css")));
        return (await run(String(program.get("code")))).default;
    } catch (error) {
        console.warn("dpviz: the program of this view could not be run", error);
        return null;
    }
}

async function render(context: { model: Model; el: HTMLElement }): Promise<() => void> {
    const program = await programOf(context.model);
    if (program !== null) return program.render(context);
    context.el.textContent = "dpviz: the program of this view is not on this page. Run its cell again to draw it.";
    return () => undefined;
}

export default { render };
