/** The workbench: question, mechanism, plan, release, budget and result on one store. */

import { budgetMeter } from "./budget_meter";
import type { Component } from "./component";
import { h, setAttribute, setText } from "./dom";
import { mechanismPicker } from "./mechanism_picker";
import { planPane } from "./plan_pane";
import { releasePane } from "./release_pane";
import { resultChart, resultOf } from "./result_chart";
import type { SessionStore } from "./session_store";

export function workbench(store: SessionStore): Component {
    const about = h("span", {});
    const health = h("span", { class: "dp-health" });
    const still = h("span", { class: "dp-chip dp-free", hidden: true });
    const parts = [
        mechanismPicker(store),
        planPane(store),
        releasePane(store),
        budgetMeter(store),
        resultChart(resultOf(store)),
    ];
    const [picker, plan, release, budget, result] = parts.map((part) => part.element) as [
        HTMLElement,
        HTMLElement,
        HTMLElement,
        HTMLElement,
        HTMLElement,
    ];
    const element = h(
        "div",
        { class: "dp-workbench" },
        h(
            "header",
            { class: "dp-head" },
            h("h2", {}, "Workbench"),
            h("p", { class: "dp-quiet" }, about, health, still),
        ),
        picker,
        h("div", { class: "dp-panes" }, plan, release),
        budget,
        result,
    );

    function draw(): void {
        const { state, sheet } = store;
        about.replaceChildren(
            state?.title ?? "",
            ...(state?.ledger ? [" · ledger ", h("code", {}, state.ledger)] : []),
            ...(state?.teaching ? [` · teaching, seed ${state.teaching.seed}, no ledger`] : []),
        );
        const words = { unknown: "", ready: "● kernel ready", busy: "◐ kernel busy", gone: "○ no kernel" }[
            store.kernel.health
        ];
        setText(health, words);
        setAttribute(health, "data-health", store.kernel.health);
        const alive = {
            busy: "plan still moves",
            gone: `plan sheet of ${sheet?.made} still works`,
            ready: "",
            unknown: "",
        }[store.kernel.health];
        still.hidden = alive === "" || sheet === null;
        setText(still, alive);
        setAttribute(element, "data-teaching", state?.teaching ? "true" : null);
        for (const part of parts) part.draw();
    }

    return { element, draw, close: () => parts.forEach((part) => part.close?.()) };
}
