/** Where an answer is ordered: paid for in a session, drawn in a lesson. */

import type { Component } from "../dom/component";
import { h } from "../dom/dom";
import { lessonPane } from "./lesson_pane";
import { releasePane } from "./release_pane";
import type { SessionStore } from "../stores/session_store";

/** `beside`: the field of ε stands beside it, and tells by itself that it holds too much. */
export function orderPane(store: SessionStore, beside = false): Component {
    const [release, lesson] = [releasePane(store, beside), lessonPane(store)];
    const element = h("div", { class: "dp-order" });

    function draw(): void {
        const teaching = store.state?.teaching != null;
        const pane = teaching ? lesson : release;
        if (element.firstElementChild !== pane.element) element.replaceChildren(pane.element);
        pane.draw();
    }

    return { element, draw };
}
