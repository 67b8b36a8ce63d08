/** A notebook's side of a widget: traits, messages, and a kernel that answers what a test tells it to. */

import sheetJson from "../fixtures/sheet.json";
import stateJson from "../fixtures/state.json";
import resultJson from "../fixtures/result.json";
import explorers from "../src/programs/explorers";
import type { Model, Program } from "../src/page/host";
import lesson from "../src/programs/lesson";
import sampling from "../src/programs/sampling";
import sparse from "../src/programs/sparse";
import subSession from "../src/programs/sub_session";
import workbench from "../src/programs/workbench";

export const sheet = (): typeof sheetJson => structuredClone(sheetJson);
export const state = (): typeof stateJson => structuredClone(stateJson);
export const result = (): typeof resultJson => structuredClone(resultJson);

export interface Asked {
    v: number;
    id: string;
    ask: string;
    args: Record<string, unknown>;
}

type Answer = (args: Record<string, unknown>) => Record<string, unknown> | undefined;

let desks = 0;

export class Host implements Model {
    readonly asked: Asked[] = [];
    readonly traits: Record<string, unknown>;
    readonly answers: Record<string, Answer> = {
        status: () => ({ state: JSON.parse(String(this.traits["state"])) as unknown }),
        advice: () => ({ key: "of another plan", told: [], goals: [], goal: "", says: "", beaten: false, rows: null }),
    };
    widget_manager: { kernel: { status: string } | null } = { kernel: { status: "idle" } };
    readonly #heard = new Map<string, ((content: unknown) => void)[]>();

    constructor(component: string, traits: Record<string, unknown> = {}) {
        desks += 1;
        this.traits = {
            component,
            desk: `test-${desks}`,
            sheet: JSON.stringify(sheet()),
            state: JSON.stringify(state()),
            result: JSON.stringify(result()),
        };
        for (const [name, value] of Object.entries(traits))
            this.traits[name] = typeof value === "string" ? value : JSON.stringify(value);
    }

    get(name: string): unknown {
        return this.traits[name];
    }

    on(name: string, heard: (...args: never[]) => void): void {
        this.#heard.set(name, [...(this.#heard.get(name) ?? []), heard as (content: unknown) => void]);
    }

    off(name: string, heard: (...args: never[]) => void): void {
        this.#heard.set(
            name,
            (this.#heard.get(name) ?? []).filter((item) => item !== heard),
        );
    }

    send(content: unknown): void {
        const asked = content as Asked;
        this.asked.push(asked);
        const body = this.answers[asked.ask]?.(asked.args);
        if (body === undefined) return;
        const reply = "error" in body ? { ok: false, error: body["error"] } : { ok: true, body };
        this.tell({ v: 1, re: asked.id, ...reply });
    }

    /** A message from the kernel side. The sheet of a move is written before its reply, and is not in it. */
    tell(content: unknown, parts: unknown[] = []): void {
        const { re, body } = (content ?? {}) as { re?: string; body?: { sheet?: unknown } };
        if (body?.sheet !== undefined && this.asked.some(({ id, ask }) => id === re && ask === "move")) {
            this.write("sheet", body.sheet);
            content = { ...(content as object), body: {} };
        }
        for (const heard of this.#heard.get("msg:custom") ?? []) (heard as (...args: unknown[]) => void)(content, parts);
    }

    /** The kernel writes a trait. */
    write(name: string, value: unknown): void {
        this.hold(name, typeof value === "string" ? value : JSON.stringify(value));
    }

    /** The kernel writes a trait that is no text. */
    hold(name: string, value: unknown): void {
        this.traits[name] = value;
        for (const heard of this.#heard.get(`change:${name}`) ?? []) heard(undefined);
    }

    /** The kernel was restarted: its comm is no longer alive. */
    disconnect(): void {
        for (const heard of this.#heard.get("comm_live_update") ?? []) heard(undefined);
    }

    of(ask: string): Asked[] {
        return this.asked.filter((item) => item.ask === ask);
    }
}

/** The program that the kernel names for a component. */
function programOf(host: Host): Program {
    const component = String(host.get("component"));
    if (component.endsWith("-tape")) return subSession;
    if (component.startsWith("sampling-") || component.startsWith("product-")) return sampling;
    if (/anatomy|tradeoff/.test(component)) return sparse;
    return /explorer|comparison|playground/.test(component) ? explorers : (JSON.parse(String(host.get("state") || "null")) as { teaching?: unknown } | null)?.teaching != null ? lesson : workbench;
}

export interface Shown {
    el: HTMLElement;
    host: Host;
    close: () => void;
    button(words: string): HTMLButtonElement;
    text(): string;
}

export function render(host: Host): Shown {
    const el = document.createElement("div");
    document.body.append(el);
    const close = programOf(host).render({ model: host, el });
    return {
        el,
        host,
        close: () => {
            close();
            el.remove();
        },
        button: (words) => {
            const found = [...el.querySelectorAll("button")].find((button) => button.textContent?.includes(words));
            if (found === undefined) throw new Error(`no button says ${words}; the page says: ${el.textContent}`);
            return found;
        },
        text: () => el.textContent ?? "",
    };
}

export function press(element: Element, key: string, more: KeyboardEventInit = {}): KeyboardEvent {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
    element.dispatchEvent(event);
    return event;
}

export function enter(input: HTMLInputElement, text: string): void {
    input.value = text;
    input.dispatchEvent(new Event("change", { bubbles: true }));
}

/** Let answers that were sent at once arrive. */
export async function settle(): Promise<void> {
    for (let i = 0; i < 20; i += 1) await Promise.resolve();
}
