/** One bin of an answer that is not drawn bin by bin: named by the reader, read by the kernel, free. */

import { h, newId, setAttribute, setText, show } from "./dom";
import { timed } from "./perf";
import { exact, list, Malformed, maybe, shape, text, type Reply, type Result } from "./protocol";
import { often, shown } from "./words";

const readValues = shape({
    values: list(shape({ point: list(text), value: exact, low: maybe(exact), high: maybe(exact) })),
});

/** Asks the kernel for points of a stored answer. */
export type ReadPoints = (args: { number: string; points: string[][]; beta: string }) => Promise<Reply>;

export interface ReadField {
    element: HTMLElement;
    draw(result: Result | null, beta: string): void;
}

/** Without `read` there is no kernel that keeps the answer, and no field. */
export function readField(read: ReadPoints | undefined): ReadField {
    const faultId = newId();
    const fields = h("div", { class: "dp-read-fields" });
    const answer = h("p", { class: "dp-read-answer", role: "status" });
    const fault = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
    const element = h(
        "form",
        {
            class: "dp-read",
            "aria-label": "Read one bin",
            hidden: true,
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
    let result: Result | null = null;
    let beta = "";
    let columns = "";
    let sent = 0; // only the last question is answered on the page

    const inputs = (): HTMLInputElement[] => [...fields.querySelectorAll("input")];

    function say(words: string, refused = false): void {
        setText(answer, refused ? "" : words);
        setText(fault, refused ? words : "");
        show(fault, refused);
        for (const input of inputs()) setAttribute(input, "aria-invalid", refused ? "true" : null);
    }

    async function send(): Promise<void> {
        if (read === undefined || result === null || result.number === null) return;
        sent += 1;
        const [mine, level] = [sent, beta];
        say("Asking the kernel…");
        const reply = await read({
            number: result.number,
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

    function draw(now: Result | null, level: string): void {
        const wanted = read !== undefined && now !== null && now.number !== null && now.lookup === true;
        show(element, wanted);
        if (now !== result || level !== beta) {
            sent += 1;
            say("");
        }
        [result, beta] = [now, level];
        if (!wanted) return;
        const names = now.columns ?? [now.axis];
        if (columns === JSON.stringify(names)) return;
        columns = JSON.stringify(names);
        fields.replaceChildren(
            ...names.map((name) => {
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
