/** Where an answer is ordered: paid for in a session, drawn in a lesson. */

import type { Component } from "./component";
import { h, show } from "./dom";
import { lessonPane } from "./lesson_pane";
import { releasePane } from "./release_pane";
import type { SessionStore } from "./session_store";

/** `beside`: the field of ε stands beside it, and tells by itself that it holds too much. */
export function orderPane(store: SessionStore, beside = false): Component {
    const [release, lesson] = [releasePane(store, beside), lessonPane(store)];
    const element = h("div", { class: "dp-order" }, release.element, lesson.element);

    function draw(): void {
        const teaching = store.state?.teaching != null;
        show(release.element, !teaching);
        show(lesson.element, teaching);
        (teaching ? lesson : release).draw();
    }

    return { element, draw };
}
