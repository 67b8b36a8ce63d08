/** One bin of an answer that is not drawn bin by bin: named by the reader, read by the kernel, free. */

import { h, newId, setAttribute, setText, show } from "./dom";
import { timed } from "./perf";
import { type ReadPoints, type Result } from "./protocol";
import { exact, list, Malformed, maybe, shape, text } from "./readers";
import { often, shown } from "./words";

const readValues = shape({
    values: list(shape({ point: list(text), value: exact, low: maybe(exact), high: maybe(exact) })),
});

export interface ReadField {
    element: HTMLElement;
    draw(beta: string): void;
}

/** A field for an answer that a kernel keeps; without one there is nobody to ask, and no field. */
export function readField(result: Result, read: ReadPoints | undefined): ReadField | null {
    const { number } = result;
    if (read === undefined || number === null) return null;
    const faultId = newId();
    const fields = h("div", { class: "dp-read-fields" });
    const answer = h("p", { class: "dp-read-answer", role: "status" });
    const fault = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
    const element = h(
        "form",
        {
            class: "dp-read",
            "aria-label": "Read one bin",
            onsubmit: (event: Event) => {
                event.preventDefault();
                timed(event, () => void send());
            },
        },
        h("p", {}, h("strong", {}, "Read one bin"), h("span", { class: "dp-quiet" }, " — free: it is paid already")),
        h("div", { class: "dp-read-row" }, fields, h("button", { type: "submit", class: "dp-button" }, "Read")),
        answer,
        fault,
    );
    let beta = "";
    let sent = 0; // only the last question is answered on the page

    const inputs = (): HTMLInputElement[] => [...fields.querySelectorAll("input")];

    function say(words: string, refused = false): void {
        setText(answer, refused ? "" : words);
        setText(fault, refused ? words : "");
        show(fault, refused);
        for (const input of inputs()) setAttribute(input, "aria-invalid", refused ? "true" : null);
    }

    async function send(): Promise<void> {
        sent += 1;
        const [mine, level] = [sent, beta];
        say("Asking the kernel…");
        const reply = await read!({
            number: number!,
            points: [inputs().map((input) => input.value.trim())],
            beta: level,
        });
        if (mine !== sent) return;
        if (!reply.ok) return say(reply.error.message, true);
        try {
            say(sentence(readValues(reply.body, "body"), level));
        } catch (error) {
            if (!(error instanceof Malformed)) throw error;
            say("This page cannot read the kernel's answer; restart the kernel and reload the page.", true);
        }
    }

    fields.replaceChildren(
        ...(result.columns ?? [result.axis]).map((name) => {
            const id = newId();
            const input = h("input", {
                id,
                type: "text",
                class: "dp-exact-text",
                autocomplete: "off",
                spellcheck: "false",
                "aria-describedby": faultId,
            });
            return h("div", { class: "dp-field" }, h("label", { for: id }, name), input);
        }),
    );

    function draw(level: string): void {
        if (level === beta) return;
        beta = level;
        sent += 1;
        say("");
    }

    return { element, draw };
}

/** "3: 1,204 (between 1,189 and 1,219, 95 in 100)." */
function sentence({ values }: ReturnType<typeof readValues>, beta: string): string {
    const parts = values.map(({ point, value, low, high }) => {
        const ends = [low, high].filter((end) => end !== null).map(shown);
        const side = low === null ? "at most" : high === null ? "at least" : "between";
        const within = ends.length === 0 ? "nothing is known of its error" : `${side} ${ends.join(" and ")}, ${often(beta)}`;
        return `${point.join(", ")}: ${shown(value)} (${within})`;
    });
    return `${parts.join("; ")}.`;
}
