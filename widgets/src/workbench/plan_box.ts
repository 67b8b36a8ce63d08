/** A box for one part of a plan: it shows what is asked for, keeps what is being typed, and Escape takes that back. */

import { h, setAttribute, setText, show, type Attributes } from "../dom/dom";
import type { Change } from "../stores/plan";
import type { SessionStore } from "../stores/session_store";

export interface PlanBox {
    box: HTMLInputElement;
    fault: HTMLElement;
    /** The value that it holds, on show or asked for, where nobody types. */
    draw(value: string): void;
}

/** `was` says what stands on show, `change` what a text asks for; `told` is what tells of a fault, a paragraph or a part of one. */
export function planBox(
    store: SessionStore,
    field: string,
    attributes: Attributes & { id: string },
    was: () => string,
    change: (text: string) => Change,
    told: "p" | "span" = "p",
): PlanBox {
    const faultId = `${attributes.id}-fault`;
    let draft = false; // what arrives meanwhile must not take the words out of the reader's mouth
    const box = h("input", {
        type: "text",
        class: "dp-exact-text",
        autocomplete: "off",
        spellcheck: "false",
        "aria-describedby": faultId,
        ...attributes,
        oninput: () => void (draft = true),
        onfocusout: () => void (draft = false),
        onchange: () => {
            draft = false;
            void store.plan(change(box.value.trim()));
        },
        onkeydown: (event: KeyboardEvent) => {
            if (event.key !== "Escape" || (box.value === was() && store.faultOf(field) === null)) return;
            event.stopPropagation(); // it closes nothing: it takes back what was typed
            draft = false;
            box.value = was();
            store.forgive(field);
        },
    });
    const fault = h(told, { id: faultId, class: "dp-fault", role: "alert", hidden: true });

    function draw(value: string): void {
        if (!draft && store.faultOf(field) === null && box.value !== value) box.value = value;
        drawFault(store, field, box, fault);
    }

    return { box, fault, draw };
}

/** Why the kernel refused what a field holds, beside the field. */
export function drawFault(store: SessionStore, field: string, control: Element, fault: HTMLElement): void {
    const wrong = store.faultOf(field);
    setAttribute(control, "aria-invalid", wrong === null ? null : "true");
    setText(fault, wrong === null ? "" : `⚠ ${wrong}`);
    show(fault, wrong !== null);
}
