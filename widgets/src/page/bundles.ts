/** Modules and styles that come to a page as texts: each is run, or added, once. */

/** The programs and styles of this page, by their whole text. */
const PLACE = Symbol.for("dpviz.programs.1");

interface Loaded {
    programs: Map<string, Promise<{ default: unknown }>>;
    styles: Map<string, HTMLStyleElement>;
}

function loaded(): Loaded {
    const page = globalThis as unknown as { [PLACE]?: Loaded };
    return (page[PLACE] ??= { programs: new Map(), styles: new Map() });
}

export function style(css: string): void {
    const { styles } = loaded();
    const element = styles.get(css) ?? document.createElement("style");
    if (css === "" || element.isConnected) return;
    element.textContent = css;
    document.head.append(element);
    styles.set(css, element);
}

/** Take a style off the page, whose text no program has any more. */
export function withoutStyle(css: string): void {
    const { styles } = loaded();
    styles.get(css)?.remove();
    styles.delete(css);
}

/** The default export of this module. */
export async function run(code: string): Promise<unknown> {
    const { programs } = loaded();
    const known = programs.get(code) ?? imported(code);
    programs.set(code, known);
    known.catch(() => programs.delete(code));
    return (await known).default;
}

function imported(code: string): Promise<{ default: unknown }> {
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    return (import(url) as Promise<{ default: unknown }>).finally(() => URL.revokeObjectURL(url));
}
