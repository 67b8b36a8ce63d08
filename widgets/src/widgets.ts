/** The widgets' entry: one module for all components, told apart by the trait `component`. */

import { budgetMeter } from "./budget_meter";
import type { Component } from "./component";
import { EXPLORERS } from "./explorers";
import type { Channel, HostStatus } from "./kernel";
import { mechanismPicker } from "./mechanism_picker";
import { planPane } from "./plan_pane";
import { releasePane } from "./release_pane";
import { resultChart, resultOf } from "./result_chart";
import { mount } from "./root";
import { leave, sit, type Desk } from "./store";
import { payWhatYouGetTape } from "./tape";
import { TapeDesk } from "./tape_store";
import type { ViewStore } from "./view_store";
import { workbench } from "./workbench";

/** As much of the host's model as is used here. */
export interface Model {
    get(name: string): unknown;
    on(name: string, heard: (...args: never[]) => void): void;
    off(name: string, heard: (...args: never[]) => void): void;
    send(content: unknown): void;
    widget_manager?: unknown;
}

const COMPONENTS: Record<string, (desk: Desk) => Component> = {
    workbench: workbench,
    "mechanism-picker": mechanismPicker,
    "plan-pane": (desk) => planPane(desk),
    "release-pane": releasePane,
    "budget-meter": budgetMeter,
    "result-chart": (desk) => resultChart(resultOf(desk)),
};

/** Explorers have one sheet and no session, a tape has one sub-session; each stands on its own. */
const ALONE: Record<string, () => { desk: ViewStore; component: Component }> = {
    ...EXPLORERS,
    "pay-what-you-get-tape": () => {
        const desk = new TapeDesk();
        return { desk, component: payWhatYouGetTape(desk) };
    },
};

const TRAITS = ["sheet", "state", "result", "pulse"] as const;

/** What JupyterLab's manager says of its kernel; other hosts may not say. */
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

/** The component and what it stands on: a store of its own, or the desk that it shares. */
function standing(name: string, id: string): { desk: ViewStore; component: Component; leave: () => void } | null {
    const alone = Object.hasOwn(ALONE, name) ? ALONE[name]!() : null;
    if (alone !== null) return { ...alone, leave: () => alone.desk.close() };
    const make = Object.hasOwn(COMPONENTS, name) ? COMPONENTS[name]! : null;
    if (make === null) return null;
    const desk = sit(id);
    return { desk, component: make(desk), leave: () => leave(id) };
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    const name = String(model.get("component"));
    const id = String(model.get("desk"));
    const found = standing(name, id);
    if (found === null) {
        el.textContent = "dpviz: this page does not know the component it was asked to draw.";
        return () => undefined;
    }
    const { desk, component, leave: leaveDesk } = found;
    const channel: Channel = {
        send: (content) => model.send(content),
        status: () => hostStatus(model),
    };
    const hear = (content: unknown): void => desk.kernel.receive(content);
    const changes = TRAITS.map((trait) => [`change:${trait}`, () => desk.take(trait, model.get(trait))] as const);
    const live = (): void => desk.probe();
    for (const trait of TRAITS) desk.take(trait, model.get(trait));
    for (const [event, heard] of changes) model.on(event, heard);
    model.on("msg:custom", hear);
    model.on("comm_live_update", live);
    const unmount = mount(desk, component, el);
    desk.attach(channel);
    return () => {
        for (const [event, heard] of changes) model.off(event, heard);
        model.off("msg:custom", hear);
        model.off("comm_live_update", live);
        unmount();
        desk.detach(channel);
        leaveDesk();
    };
}

export default { render };
