/** The workbench: question, mechanism, plan, release, budget and result on one store. */

import { adviceBox } from "./advice_box";
import { adviceLines } from "./advice_lines";
import { budgetMeter } from "./budget_meter";
import type { Component } from "../dom/component";
import { h, newId, setAttribute, setText, show } from "../dom/dom";
import { isCounted } from "../stores/lesson_draws";
import { mechanismPicker } from "./mechanism_picker";
import { limitBox } from "./limit_box";
import { planPane } from "./plan_pane";
import { orderPane } from "./order_pane";
import { resultChart, resultOf } from "./result_chart";
import type { SessionStore } from "../stores/session_store";

/** `coverage`: what a lesson shows of its draws beside the truth; a session has no such thing. */
export function workbench(store: SessionStore, coverage: (store: SessionStore) => Component = nothing): Component {
    const about = h("span", {});
    const health = h("span", { class: "dp-health" });
    const still = h("span", { class: "dp-chip dp-free", hidden: true });
    const parts = [
        mechanismPicker(store),
        planPane(store, undefined, null, limitBox(store), adviceLines(store)),
        orderPane(store, true),
        budgetMeter(store),
        resultChart(resultOf(store)),
        coverage(store),
        adviceBox(store),
    ];
    const [picker, plan, release, budget, result, truth, advice] = parts.map((part) => part.element) as [
        HTMLElement,
        HTMLElement,
        HTMLElement,
        HTMLElement,
        HTMLElement,
        HTMLElement,
        HTMLElement,
    ];
    const resultId = newId();
    result.id = resultId;
    const alone = h("button", { type: "button", class: "dp-button dp-alone", "aria-controls": resultId, onclick: () => { open = !open; draw(); } }, "The last draw by itself");
    let open = false;
    const element = h(
        "div",
        { class: "dp-workbench" },
        h(
            "div",
            { class: "dp-head" },
            h("h2", {}, "Workbench"),
            h("p", { class: "dp-quiet" }, about, health, still),
        ),
        picker,
        h("div", { class: "dp-panes" }, plan, release),
        advice,
        budget,
        truth,
        alone,
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
        const beside = state?.teaching != null && isCounted(store.lessons.lesson);
        show(alone, beside);
        setAttribute(alone, "aria-expanded", String(open));
        show(result, !beside || open);
        for (const part of parts) part.draw();
    }

    return { element, draw, close: () => parts.forEach((part) => part.close?.()) };
}

const nothing = (): Component => ({ element: h("div", { hidden: true }), draw: () => undefined });
