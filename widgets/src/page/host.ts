/** The host that every program of the page has: a `render` that puts a component on its store and joins both to the host's model. */

import type { Component } from "../dom/component";
import type { Channel, HostStatus } from "../protocol/kernel";
import { mount } from "./root";
import type { ViewStore } from "../stores/view_store";

/** As much of the host's model as is used here. */
export interface Model {
    get(name: string): unknown;
    on(name: string, heard: (...args: never[]) => void): void;
    off(name: string, heard: (...args: never[]) => void): void;
    send(content: unknown): void;
    widget_manager?: unknown;
}

/** A component and the store it shows. */
export interface Mounted {
    store: ViewStore;
    component: Component;
    leave(): void;
}

/** Runs the module that a model of this page holds, and says its default export. */
export type Bring = (reference: string) => Promise<unknown>;

export interface Program {
    render(context: { model: Model; el: HTMLElement; bring?: Bring }): () => void;
}

const TRAITS = ["sheet", "state", "buffers", "drawn", "result", "lesson", "pulse"] as const;

/** The report of JupyterLab's manager on its kernel; other hosts may not say. */
function hostStatus(model: Model): HostStatus {
    const manager = model.widget_manager;
    if (typeof manager !== "object" || manager === null || !("kernel" in manager)) return "unknown";
    const kernel = manager.kernel as { status?: string; connectionStatus?: string } | null;
    if (kernel === null || kernel.connectionStatus === "disconnected") return "dead";
    switch (kernel.status) {
        case "idle":
            return "idle";
        case "busy":
        case "starting":
            return "busy";
        case "dead":
        case "terminating":
        case "restarting":
        case "autorestarting":
            return "dead";
        default:
            return "unknown";
    }
}

/** Which models hold the views of kinds that no program brings along, by kind. */
function viewsOf(model: Model): Partial<Record<string, string>> {
    const views = model.get("views");
    if (typeof views !== "object" || views === null) return {};
    return Object.fromEntries(Object.entries(views).filter(([, reference]) => typeof reference === "string"));
}

/** A program that draws these components; each is told the id of the store that it may share with others. */
export function program(components: Record<string, (id: string) => Mounted>): Program {
    return {
        render({ model, el, bring }) {
            const name = String(model.get("component"));
            if (!Object.hasOwn(components, name)) {
                el.textContent = "dpviz: this page does not know the component it was asked to draw.";
                return () => undefined;
            }
            return join(model, el, bring, components[name]!(String(model.get("desk"))));
        },
    };
}

function join(model: Model, el: HTMLElement, bring: Bring | undefined, { store, component, leave }: Mounted): () => void {
    const channel: Channel = {
        send: (content) => model.send(content),
        status: () => hostStatus(model),
    };
    const hear = (content: unknown, parts?: unknown): void =>
        store.kernel.receive(content, Array.isArray(parts) ? parts : []);
    const changes = TRAITS.map((trait) => [`change:${trait}`, () => store.take(trait, model.get(trait))] as const);
    const live = (): void => store.probe();
    const forget = store.views.ask((kind) => {
        const reference = viewsOf(model)[kind];
        return reference === undefined || bring === undefined ? null : bring(reference);
    });
    let offered = viewsOf(model);
    const renew = (): void => {
        const before = offered;
        offered = viewsOf(model);
        const kinds = new Set([...Object.keys(before), ...Object.keys(offered)]);
        store.views.renew([...kinds].filter((kind) => before[kind] !== offered[kind]));
    };
    for (const trait of TRAITS) store.take(trait, model.get(trait));
    for (const [event, heard] of changes) model.on(event, heard);
    model.on("change:views", renew);
    model.on("msg:custom", hear);
    model.on("comm_live_update", live);
    const unmount = mount(store, component, el);
    store.attach(channel);
    return () => {
        for (const [event, heard] of changes) model.off(event, heard);
        model.off("change:views", renew);
        model.off("msg:custom", hear);
        model.off("comm_live_update", live);
        unmount();
        forget();
        store.detach(channel);
        leave();
    };
}
