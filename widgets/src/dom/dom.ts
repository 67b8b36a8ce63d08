/** Small helpers that build elements. Text from outside only ever becomes a text node or an attribute's value. */

export type Child = Node | string | null | undefined | false;
type Value = string | number | boolean | null | undefined | ((event: never) => void);
export type Attributes = Record<string, Value>;

const SVG = "http://www.w3.org/2000/svg";

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value as EventListener);
        else if (value === true) element.setAttribute(name, "");
        else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
    }
    for (const child of children) if (child) element.append(typeof child === "string" ? tied(child) : child);
    return element;
}

export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    attributes: Attributes = {},
    ...children: Child[]
): HTMLElementTagNameMap[K] {
    return fill(document.createElement(tag), attributes, children);
}

export function s<K extends keyof SVGElementTagNameMap>(
    tag: K,
    attributes: Attributes = {},
    ...children: Child[]
): SVGElementTagNameMap[K] {
    return fill(document.createElementNS(SVG, tag) as SVGElementTagNameMap[K], attributes, children);
}

export function setText(node: Element, text: string): void {
    const words = tied(text);
    if (node.textContent !== words) node.textContent = words;
}

/** A text in which no line breaks between δ and its number. */
const tied = (text: string): string => text.replace(/δ( =)? (?=\d)/g, (match) => match.replaceAll(" ", "\u00a0"));

export function setAttribute(node: Element, name: string, value: string | null): void {
    if (value === null) node.removeAttribute(name);
    else if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

export function show(node: HTMLElement, visible: boolean): void {
    if (node.hidden === visible) node.hidden = !visible;
}

/**
 * Two boxes for the ends of a stretch. They are read when one is left or Enter is pressed; from one box to the other
 * nothing is read yet, for the two are read together. Escape puts back what stood there.
 */
export function endBoxes(ids: readonly string[], faultId: string, commit: (event: Event) => void, restore: () => void): HTMLInputElement[] {
    const boxes = ids.map((id, i) =>
        h("input", {
            id,
            type: "text",
            class: "dp-exact-text dp-end-box",
            autocomplete: "off",
            spellcheck: "false",
            "aria-describedby": faultId,
            onkeydown: (event: KeyboardEvent) => {
                if (event.key === "Enter") commit(event);
                if (event.key !== "Escape") return;
                const typed = boxes.map(({ value }) => value);
                restore();
                if (boxes.some(({ value }, i) => value !== typed[i])) event.stopPropagation(); // it took back what was typed, and closes nothing
            },
            onfocusout: (event: FocusEvent) => {
                if (event.relatedTarget !== boxes[1 - i]) commit(event);
            },
        }),
    );
    return boxes;
}

let ids = 0;

export function newId(): string {
    ids += 1;
    return `dpviz-${Math.random().toString(36).slice(2, 8)}-${ids}`;
}

/** Put the options into a select when they changed, and choose one. */
export function setOptions(
    select: HTMLSelectElement,
    options: readonly { value: string; label: string }[],
    chosen: string,
): void {
    const signature = JSON.stringify(options);
    if (select.dataset["options"] !== signature) {
        select.dataset["options"] = signature;
        select.replaceChildren(...options.map(({ value, label }) => h("option", { value }, label)));
    }
    if (select.value !== chosen) select.value = chosen;
}

/** An element hears this event when its page goes to paper, and when it is back: whatever it must do, it does at once. */
export const PAPER = "dp-paper";
export type Paper = CustomEvent<"paper" | "screen">;

/** Say the width of an element now and whenever it changes; returns how to stop. */
export function watchWidth(element: HTMLElement, tell: (width: number) => void): () => void {
    if (typeof ResizeObserver === "undefined") return () => undefined;
    let last = 0;
    const take = (now: number): void => {
        const width = Math.floor(now);
        if (width === 0 || width === last) return;
        last = width;
        tell(width);
    };
    const observer = new ResizeObserver((entries) => take(entries.at(-1)?.contentRect.width ?? 0));
    const measure = (): void => take(element.clientWidth); // an observer would speak after the page is printed
    observer.observe(element);
    element.addEventListener(PAPER, measure);
    return () => {
        observer.disconnect();
        element.removeEventListener(PAPER, measure);
    };
}

/** Copy a text; says whether it worked, so that the page can offer it for copying by hand where it did not. */
export async function copy(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        const area = h("textarea", { class: "dp-offscreen", "aria-hidden": "true", tabindex: -1 });
        area.value = text;
        document.body.append(area);
        area.select();
        const done = document.execCommand("copy");
        area.remove();
        return done;
    }
}

/** A browser reads what it saves after the click, later still where it asks for the place first. */
const TAKEN = 600_000;

export function save(name: string, type: string, text: BlobPart | readonly BlobPart[]): void {
    const url = URL.createObjectURL(new Blob([text].flat(), { type }));
    const link = h("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), TAKEN);
}
