/** The advice that a plan in Python prints, with the same numbers: the errors of ranges, of sums, and a better mechanism. */

import type { Component } from "../dom/component";
import { h, setAttribute, show } from "../dom/dom";
import { Advising } from "../stores/advice";
import type { SessionStore } from "../stores/session_store";
import { capital } from "../wording/words";

export const advisingOf = (store: SessionStore): Advising => store.advising((plan, asking) => new Advising(plan, asking));

/** Lines that came keep their room until another mechanism is chosen: no button moves under a finger as ε moves. */
export function adviceLines(store: SessionStore): Component {
    const advising = advisingOf(store);
    const element = h("div", { class: "dp-told", role: "group", "aria-label": "Advice", hidden: true });
    let written = "";

    function draw(): void {
        const { now, alike } = advising;
        if (now !== null && written !== JSON.stringify(now.told)) {
            const tall = element.offsetHeight;
            element.style.minHeight = tall > 0 ? `${tall}px` : "";
            written = JSON.stringify(now.told);
            element.replaceChildren(...now.told.map(({ head, text }) => h("p", { "data-head": head }, h("strong", {}, `${capital(head)}: `), `${text}.`)));
        }
        if (!alike) {
            written = "";
            element.style.minHeight = "";
            element.replaceChildren();
        }
        show(element, alike && (element.hasChildNodes() || element.style.minHeight !== ""));
        setAttribute(element, "data-waiting", now === null ? "true" : null);
    }

    return { element, draw };
}
