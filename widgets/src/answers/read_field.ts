/** Bins of an answer that is not drawn bin by bin: named by the reader, and read by the kernel or by the page, free. */

import type { Offline } from "../offline/carried";
import { WITHIN } from "../wording/intervals";
import type { Counted } from "../wording/counted";
import { h, newId, setAttribute, setText, show } from "../dom/dom";
import { timed } from "../dom/perf";
import { type ReadPoints } from "../protocol/protocol";
import { exact, list, Malformed, maybe, shape, text } from "../protocol/readers";
import { KNOWN, often, quoted, shown } from "../wording/words";

const readValues = shape({
    values: list(
        shape({
            point: list(text),
            value: exact,
            low: maybe(end),
            high: maybe(end),
            /** How the interval is known, and by which rule; empty where nobody states an error. */
            known: maybe(text),
            rule: maybe(text),
        }),
    ),
});

/** An end of an interval; an open one is empty. */
function end(value: unknown, where: string): string | null {
    return value === "" ? null : exact(value, where);
}

export interface ReadField {
    element: HTMLElement;
    draw(beta: string): void;
    /** Whether somebody answers may have changed. */
    heed(): void;
}

interface Around {
    offline: Offline | null;
    gone: () => boolean;
}

/** The names of the estimators, and what each of them is. */
const READERS: Record<string, string> = {
    paper: "paper: mean of the highest places",
    likelihood: "likelihood: most likely values",
    "posterior-median": "posterior median",
};

/** A field for an answer that somebody answers from; where nobody ever does there is none. */
export function readField(result: Counted, read: ReadPoints | undefined, { offline, gone }: Around): ReadField | null {
    if (read === undefined) return null;
    const [faultId, readerId, keysId] = [newId(), newId(), newId()];
    const fields = h("div", { class: "dp-read-fields" });
    const answer = h("p", { class: "dp-read-answer", role: "status" });
    const known = h("p", { class: "dp-hint" });
    const fault = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
    const button = h("button", { type: "submit", class: "dp-button" }, "Read");
    const needs = h("p", { class: "dp-hint", hidden: true }, "Reading a bin needs a kernel. What was read stays here.");
    const readers = result.readers ?? [];
    const reader = h(
        "select",
        { id: readerId, onchange: (event: Event) => timed(event, () => void again()) },
        ...readers.map((name) => h("option", { value: name }, READERS[name] ?? name)),
    );
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
        h("p", {}, h("strong", {}, "Read one bin"), h("span", { class: "dp-quiet" }, result.teaching === null ? " — free: it is paid already" : " — free")),
        offline === null ? null : h("p", { class: "dp-hint" }, offline.words),
        h(
            "div",
            { class: "dp-read-row" },
            fields,
            readers.length > 1 && h("div", { class: "dp-field" }, h("label", { for: readerId }, "estimator"), reader),
            button,
        ),
        needs,
        answer,
        known,
        fault,
    );
    let beta = "";
    let sent = 0; // only the last question is answered on the page

    const inputs = (): HTMLInputElement[] => [...fields.querySelectorAll("input")];

    function say(words: string, refused = false, how = ""): void {
        setText(answer, refused ? "" : words);
        setText(known, how);
        setText(fault, refused ? words : "");
        show(fault, refused);
        for (const input of inputs()) setAttribute(input, "aria-invalid", refused ? "true" : null);
    }

    function heed(): void {
        const alone = gone();
        show(needs, alone);
        for (const part of [button, reader, ...inputs()]) part.disabled = alone;
    }

    /** Another estimator was chosen: what is asked is read by it. */
    async function again(): Promise<void> {
        if (answer.textContent !== "") await send();
    }

    async function send(): Promise<void> {
        if (gone()) return;
        sent += 1;
        const [mine, level] = [sent, beta];
        say(offline === null ? "Asking the kernel…" : "Reading…");
        const reply = await read!({
            number: result.number ?? "",
            points: [inputs().map((input) => input.value)],
            beta: level,
            reader: readers.length > 1 ? reader.value : "",
        });
        if (mine !== sent) return;
        if (!reply.ok) return say(reply.error.message, true);
        try {
            const values = readValues(reply.body, "body");
            say(sentence(values, level, result.limits), false, howKnown(values));
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
            if (suggested(offline) !== null) input.setAttribute("list", keysId);
            return h("div", { class: "dp-field" }, h("label", { for: id }, name), input);
        }),
    );
    const keys = suggested(offline);
    if (keys !== null) fields.append(h("datalist", { id: keysId }, ...keys.map((value) => h("option", { value }))));

    function draw(level: string): void {
        heed();
        if (level === beta) return;
        beta = level;
        sent += 1;
        say("");
    }

    return { element, draw, heed };
}

/** The keys that are answered, where these are only some, of one column. */
function suggested(offline: Offline | null): string[] | null {
    const points = offline?.points ?? null;
    return points === null || points.some((point) => point.length !== 1) ? null : points.map((point) => point[0]!);
}

type Values = ReturnType<typeof readValues>;

/** "3: 1,204 (between 1,189 and 1,219, 95 in 100)." */
function sentence({ values }: Values, beta: string, limits: Counted["limits"]): string {
    const parts = values.map(({ point, value, low, high, known }) => {
        const ends = [low, high].filter((end) => end !== null).map(shown);
        const side = low === null ? "at most" : high === null ? "at least" : "between";
        const nothing = known === "" ? "no error is stated for this estimator" : "nothing is known of its error";
        const within = ends.length === 0 ? nothing : `${side} ${ends.join(" and ")}, ${often(beta)}`;
        return `${point.map(quoted).join(", ")}: ${shown(value)} (${within}${asked(low, high, limits)})`;
    });
    return `${parts.join("; ")}.${limits === null ? "" : ` ${limits.sentence}`}`;
}

/** The end that holds for what was asked, too, where a limit of the unit may leave rows out. */
function asked(low: string | null, high: string | null, limits: Counted["limits"]): string {
    if (limits === null) return "";
    const end = limits.low && low !== null ? `at least ${shown(low)}` : limits.high && high !== null ? `at most ${shown(high)}` : "open at both ends";
    return `, ${WITHIN}; what was asked: ${end}`;
}

/** How the intervals are known, each way once: "Proved bound: union bound over 1,000 look-ups." */
function howKnown({ values }: Values): string {
    const said = values.flatMap(({ known, rule }) =>
        known === null || known === "" || rule === null || rule === "" ? [] : [`${KNOWN[known] ?? known}: ${rule}.`],
    );
    return [...new Set(said)].join(" ").replace(/^./, (first) => first.toUpperCase());
}
