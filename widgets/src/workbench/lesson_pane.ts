/** Drawing in a lesson: once, or twenty times. Nothing is charged and nothing is kept, so nothing here has a price. */

import type { Component } from "../dom/component";
import { copy, h, newId, setAttribute, setText, show } from "../dom/dom";
import { isCounted } from "../stores/lesson_draws";
import { isList } from "../wording/measures";
import { undeclared } from "./panel";
import type { SessionStore } from "../stores/session_store";
import { capital } from "../wording/words";

export function lessonPane(store: SessionStore): Component {
    const titleId = newId();
    const title = h("h3", { id: titleId });
    const text = h("p", {});
    const fault = h("div", { class: "dp-notice dp-error", role: "alert", hidden: true });
    const note = h("p", { class: "dp-note" });
    const verb = (label: string, times: string): HTMLButtonElement =>
        h("button", { type: "button", class: "dp-pay", onclick: () => draws(times) }, label);
    const [once, many] = [verb("Draw once", "1"), verb("Draw 20", "20")];
    const copied = h("button", { type: "button", class: "dp-button dp-copy", onclick: () => void copyPython() }, COPY);
    const code = h("textarea", { class: "dp-code", readonly: true, rows: 5, "aria-label": "The same in Python", hidden: true });
    const element = h(
        "section",
        { class: "dp-release dp-lesson", "data-teaching": "true", "aria-labelledby": titleId },
        h("div", { class: "dp-release-head" }, title, h("span", {}, "no ledger")),
        h("div", { class: "dp-release-body" }, text, fault, h("div", { class: "dp-actions" }, once, many), note),
        h("div", { class: "dp-release-foot" }, copied, code),
    );

    function draws(times: string): void {
        const plan = store.drawable;
        if (plan !== null && store.lessons.asked === "" && store.kernel.health !== "gone") void store.lessons.draw(plan, times, store.beta);
    }

    /** The call that does what "Draw 20" does, with its frame of misses; where nothing is counted, what draws once. */
    function python(): string {
        const call = store.python.trim();
        const { lesson } = store.lessons;
        if (store.sheet === null || isList(store.sheet) || (lesson !== null && !isCounted(lesson))) return call;
        return call === "" ? "" : `${call.replace(/,?\s*\)$/, ",\n    times=20,\n)")}.misses()`;
    }

    async function copyPython(): Promise<void> {
        const done = await copy(python());
        setText(copied, done ? "Copied" : COPY);
        code.value = python();
        show(code, !done);
        if (!done) code.select();
        setTimeout(() => setText(copied, COPY), 1500);
    }

    function draw(): void {
        const { point, lessons } = store;
        const gone = store.kernel.health === "gone";
        setText(title, `Not private · teaching, seed ${store.state?.teaching?.seed ?? ""}`);
        setText(text, point?.verb ?? "");
        const off = gone || lessons.asked !== "" || store.drawable === null;
        for (const button of [once, many]) {
            setAttribute(button, "aria-disabled", off ? "true" : null);
            button.classList.toggle("dp-off", off);
        }
        setText(fault, lessons.fault === null ? "" : `${capital(lessons.fault)}.`);
        show(fault, lessons.fault !== null);
        setText(note, noteOf(store, gone));
        if (!lessons.wantsFocus) return;
        lessons.wantsFocus = false;
        once.focus();
    }

    return { element, draw };
}

const COPY = "Copy as Python";

function noteOf(store: SessionStore, gone: boolean): string {
    if (gone) return "Drawing needs a kernel. Restart it and run the cell that begins the lesson.";
    if (store.lessons.asked !== "") return store.lessons.asked === "1" ? "Drawing…" : `Drawing ${store.lessons.asked} times…`;
    if (store.fault !== null) return `Correct ε first. ${store.fault}`;
    if (store.declaring !== "" || store.suggested) return undeclared(store);
    if (store.drawable === null) return "Waiting for the kernel to plan this.";
    return "The data are public and the noise is seeded: the same seed gives the same draws, one after the other.";
}
