/** One thing drawn in one of a few ways, as a reader picks. */

import { h, newId } from "./dom";
import { timed } from "./perf";

/** One of a few looks of the same thing, as radio buttons. */
export function switchOf(label: string, names: readonly string[], pick: (name: string) => void): HTMLElement {
    const name = newId();
    return h(
        "fieldset",
        { class: "dp-looks", role: "radiogroup", "aria-label": label, hidden: true },
        ...names.map((words, i) =>
            h(
                "label",
                {},
                h("input", { type: "radio", name, value: words, checked: i === 0, onchange: (event: Event) => timed(event, () => pick(words)) }),
                words,
            ),
        ),
    );
}
