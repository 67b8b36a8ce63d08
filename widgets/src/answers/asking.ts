/**
 * Questions about an answer that a reader asks by picking bars: the sum over a stretch of them, and which of two is larger.
 *
 * The kernel answers from what is stored, free; the latest question wins. Without a kernel nothing is guessed: the page
 * says where to ask.
 */

import { WITHIN } from "../wording/intervals";
import { rowOf, type Texts } from "../protocol/columns";
import { endBoxes, h, newId, setAttribute, setText, show } from "../dom/dom";
import { approximate, compare, exactly, fraction, product, subtract, ZERO, type Fraction } from "../numbers/exact";
import { timed } from "../dom/perf";
import type { Reply, Result } from "../protocol/protocol";
import { exact, flag, list, Malformed, maybe, shape, text, type Read } from "../protocol/readers";
import type { Surroundings } from "./result_view";
import { often, shown, sure } from "../wording/words";

const DEBOUNCE = 150;

/** Two bars or more: all from the first to the second, or these two. By their rows, or as they were typed. */
export interface Picked {
    what: "stretch" | "pair";
    rows: readonly [number, number] | null;
    typed: readonly [string, string] | null;
}

const readRow = shape({
    reader: text,
    what: text,
    value: exact,
    low: maybe(exact),
    high: maybe(exact),
    how: text,
    known: text,
    rule: text,
    among: text,
    bias: text,
    remarks: list(text),
    empty: flag,
    /** The things a number counts, where they are not those of one bin: aircraft-months, not aircraft. */
    nouns: maybe(text),
    /** Where limits of the unit may leave rows out: that in a sentence, and the ends for what was counted. */
    limits: maybe(text),
    counted: maybe(shape({ low: maybe(exact), high: maybe(exact) })),
    chance: maybe(shape({ value: exact, rule: text })),
});
const readAnswer = shape({ rows: list(readRow), leader: maybe(text), rests_on: text });
export type AskedRow = Read<typeof readRow>;
type Answer = Read<typeof readAnswer>;

/** The question: a paid answer, and the names of its rows as a reader sees them. */
export type AskedOf = Pick<Result, "adds_up" | "together" | "nouns" | "beta" | "number"> & { labels: Texts };

/** How a view calls its rows, and what a stretch is of. */
export interface Words {
    /** The bars that are picked: "bars". */
    rows: string;
    /** The heading over one of two bars that are compared. */
    one: string;
    /** How, in a sentence or two. */
    hint: string;
    /** How the second of two is picked. */
    second: string;
    /** A stretch is over something else than rows, which is typed. */
    apart?: boolean;
}

/** How a view shows one value by several estimators, where it has a picture of its own for that. */
export type Pictured = (rows: readonly AskedRow[], beta: string, width: number) => Node;

export interface Asker {
    readonly element: HTMLElement;
    readonly picked: Picked | null;
    /** Pick all bars from one to another. */
    brush(from: number, to: number): void;
    /** Pick a bar to compare; a second one is compared with it, and one that was picked is let go. */
    tick(row: number): void;
    /** Nothing is picked. */
    clear(): void;
    draw(beta: string, width: number): void;
    close(): void;
}

export const NO_KERNEL = "Adding up and comparing need the running notebook: no kernel answers.";

/**
 * The control beside a chart, or null for an answer whose rows do not add up.
 *
 * changed  what is picked has changed
 * tools    buttons of the chart that belong beside the ends
 */
export function asker(result: AskedOf, around: Surroundings, changed: () => void, tools: readonly Node[] = [], pictured?: Pictured, words: Words = BARS): Asker | null {
    const { ask } = around;
    if (result.adds_up !== true || ask === undefined) return null;
    const [wayId, firstId, secondId, whenId, faultId] = [newId(), newId(), newId(), newId(), newId()];
    const rows = result.labels.length;
    const way = h("select", { id: wayId, "aria-label": "What to ask", onchange: () => turn() }, h("option", { value: "stretch" }, "Add up"), h("option", { value: "pair" }, "Compare"));
    const boxes = endBoxes([firstId, secondId], faultId, (event) => timed(event, commit), restore);
    const names = [h("label", { for: firstId }, "From"), h("label", { for: secondId }, "to")];
    const when = h(
        "select",
        { id: whenId, onchange: (event: Event) => timed(event, () => send()) },
        h("option", { value: "after" }, "after looking"),
        h("option", { value: "before" }, "before looking"),
    );
    const both = h("input", { type: "checkbox", onchange: (event: Event) => timed(event, () => send()) });
    const letGo = h("button", { type: "button", class: "dp-button", onclick: () => clear() }, "Clear");
    const fault = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
    const answer = h("div", { class: "dp-ask-answer", role: "status" });
    const python = result.together?.python ?? "";
    const element = h(
        "section",
        { class: "dp-ask", "aria-label": `Add up or compare ${words.rows}` },
        h(
            "div",
            { class: "dp-ask-row" },
            way,
            h("div", { class: "dp-field" }, names[0]!, boxes[0]!),
            h("div", { class: "dp-field" }, names[1]!, boxes[1]!),
            h("div", { class: "dp-field" }, h("label", { for: whenId }, "picked"), when),
            letGo,
            ...tools,
        ),
        fault,
        answer,
        python === ""
            ? null
            : h(
                  "p",
                  { class: "dp-hint" },
                  h("label", {}, both, ` read together with release ${result.together!.number}, which answers the same question`),
                  " · in Python: ",
                  h("code", {}, python),
              ),
    );
    let picked: Picked | null = null;
    let beta = result.beta;
    let width = 640;
    let sent = 0; // only the last question is answered on the page
    let waiting: ReturnType<typeof setTimeout> | undefined;
    let pending = false;
    let alone = false; // no kernel answers
    let last: Answer | null = null;
    let written: readonly string[] = ["", ""];

    const labelAt = (row: number): string => result.labels.at(row);
    const rowNamed = (label: string): number => rowOf(result.labels, label);

    function take(next: Picked | null): void {
        picked = next;
        const ends = next?.rows?.map(labelAt) ?? next?.typed ?? ["", ""];
        boxes.forEach((box, i) => (box.value = ends[i]!));
        written = ends;
        if (next !== null) way.value = next.what;
        drawNames();
        changed();
        send();
    }

    function drawNames(): void {
        const pair = way.value === "pair";
        setText(names[0]!, pair ? words.one : "From");
        setText(names[1]!, pair ? "with" : "to");
        show(letGo, picked !== null || half !== null);
        letGo.disabled = picked === null && half === null;
    }

    /** The bar of a pair that waits for a second. */
    let half: number | null = null;

    function brush(from: number, to: number): void {
        half = null;
        take({ what: "stretch", rows: [Math.min(from, to), Math.max(from, to)], typed: null });
    }

    function tick(row: number): void {
        const now = picked?.what === "pair" && picked.rows !== null ? picked.rows : half === null ? [] : [half];
        const next = now.includes(row) ? now.filter((one) => one !== row) : [...now, row].slice(-2);
        half = next.length === 1 ? next[0]! : null;
        way.value = "pair";
        if (next.length === 2) return take({ what: "pair", rows: [next[0]!, next[1]!], typed: null });
        take(null);
        if (half !== null) {
            boxes[0]!.value = labelAt(half);
            written = [labelAt(half), ""];
        }
        drawAnswer();
    }

    function clear(): void {
        half = null;
        take(null);
        boxes[0]!.focus();
    }

    function turn(): void {
        half = null;
        take(picked === null || words.apart === true ? null : { ...picked, what: way.value as Picked["what"] });
    }

    function restore(): void {
        boxes.forEach((box, i) => (box.value = written[i]!));
    }

    /** A label as it was typed, blanks and all; without those at its ends only where that is one of the rows. */
    function meant(typed: string): string {
        const trimmed = typed.trim();
        return rowNamed(typed) < 0 && (trimmed === "" || rowNamed(trimmed) >= 0) ? trimmed : typed;
    }

    function commit(): void {
        const ends = boxes.map((box) => meant(box.value)) as [string, string];
        if (ends.includes("") || (ends[0] === written[0] && ends[1] === written[1] && picked !== null)) return;
        half = null;
        const found = ends.map(rowNamed) as [number, number];
        const drawn = rows > 0 && found.every((row) => row >= 0) && !(words.apart === true && way.value === "stretch");
        take({ what: way.value as Picked["what"], rows: drawn ? found : null, typed: ends });
    }

    function send(): void {
        clearTimeout(waiting);
        sent += 1;
        last = null;
        pending = picked !== null && !alone;
        say("");
        drawAnswer();
        if (pending) waiting = setTimeout(() => void question(), DEBOUNCE);
    }

    async function question(): Promise<void> {
        const [mine, now] = [sent, picked!];
        const by = now.rows === null ? "labels" : "rows";
        const [first, second] = (now.rows?.map(String) ?? now.typed) as [string, string];
        const reply: Reply = await ask!({
            number: result.number ?? "",
            beside: both.checked ? result.together!.number : "",
            what: now.what,
            by,
            first: [first],
            second: [second],
            picked: when.value,
            beta,
        });
        if (mine !== sent) return;
        pending = false;
        if (!reply.ok) say(reply.error.message);
        else {
            try {
                last = readAnswer(reply.body, "body");
                if (last.rows.length === 0) throw new Malformed("body.rows is empty");
            } catch (error) {
                if (!(error instanceof Malformed)) throw error;
                last = null;
                say("This page cannot read the kernel's answer; restart the kernel and reload the page.");
            }
        }
        drawAnswer();
    }

    function say(words: string): void {
        setText(fault, words);
        show(fault, words !== "");
        for (const box of boxes) setAttribute(box, "aria-invalid", words === "" ? null : "true");
    }

    function drawAnswer(): void {
        drawNames();
        if (alone && last === null) answer.replaceChildren(h("p", { class: "dp-hint" }, NO_KERNEL));
        else if (pending) answer.replaceChildren(h("p", { class: "dp-hint" }, "Asking the kernel…"));
        else if (last !== null) answer.replaceChildren(...told(result, last, beta, width, pictured));
        else if (half !== null) answer.replaceChildren(h("p", { class: "dp-hint" }, words.second));
        else answer.replaceChildren(h("p", { class: "dp-hint" }, `${rows === 0 ? HINT_TYPED : words.hint}${result.number === null ? "" : FREE}`));
    }

    /** At another level it is asked again, and so is what was picked while no kernel answered. */
    function draw(level: string, wide: number): void {
        const gone = around.gone?.() === true;
        const again = picked !== null && (level !== beta || (alone && !gone && last === null));
        const same = level === beta && wide === width && gone === alone;
        [beta, width, alone] = [level, wide, gone];
        if (again) return send();
        if (gone) pending = false; // what waits for an answer that cannot come is told so
        if (!same || answer.childElementCount === 0) drawAnswer();
    }

    return {
        element,
        get picked() {
            return picked ?? (half === null ? null : { what: "pair", rows: [half, half], typed: null });
        },
        brush,
        tick,
        clear,
        draw,
        close() {
            clearTimeout(waiting);
            sent += 1;
        },
    };
}

const BARS: Words = {
    rows: "bars",
    one: "Bin",
    hint: "Drag over bars, or hold Shift with the arrow keys, to add them up; click two, or press Enter on two, to compare them.",
    second: "Click another bar, or press Enter on it, to compare the two.",
};
const LEFT_OUT = "This says nothing of the rows that were left out.";
const FREE = " Free: they are paid already.";
const HINT_TYPED = "Name two bins and press Enter.";

// --- in words --------------------------------------------------------------------------------------------------------

function told(result: AskedOf, { rows, leader, rests_on }: Answer, beta: string, width: number, pictured?: Pictured): Node[] {
    const [first, ...more] = rows as [AskedRow, ...AskedRow[]];
    const sentences = [leader === null ? "" : verdict(first, leader), `${held(first, beta)}.`, `${sentence(first.bias)}.`, first.limits ?? "", ...first.remarks, rests_on];
    return [
        h("p", { class: "dp-ask-head" }, h("strong", {}, `${first.what}: ${rowText(first)} ${first.nouns ?? result.nouns}`), h("span", {}, intervalText(first))),
        h("p", { class: "dp-hint" }, sentences.filter((words) => words !== "").join(" ")),
        ...(more.length === 0 ? [] : [pictured?.(rows, beta, width) ?? others(rows)]),
    ];
}

/** Which is larger, as far as the interval settles it. */
function verdict({ low, counted, chance }: AskedRow, leader: string): string {
    const least = counted === null ? low : counted.low;
    const settled = least !== null && compare(exactly(least), ZERO) > 0;
    const among = counted === null ? "" : `Among what is ${WITHIN}: `;
    const words = `${among}${settled ? `${leader} is larger.` : "Which is larger is not settled."}${counted === null ? "" : ` ${LEFT_OUT}`}`;
    if (chance === null) return words;
    return `${words} p ≤ ${shown(chance.value)}: how likely so large a lead would be if ${leader} were no larger (${chance.rule}).`;
}

function held({ among, known, rule }: AskedRow, beta: string): string {
    const which = among.startsWith("for all of its kind") ? "for all of its kind at once, so also for one that caught your eye" : among;
    return `Holds ${often(beta)} times, ${which} (${known}: ${rule})`.replace(/ in (\S+) times/, " times in $1");
}

function others(rows: readonly AskedRow[]): HTMLElement {
    return h("ul", { class: "dp-ask-readers" }, ...rows.map((row) => h("li", {}, `${row.reader}: ${rowText(row)}, ${intervalText(row)}`)));
}

/** "between 388 and 425", with how that is known in its sign. */
export function intervalText({ counted, ...row }: AskedRow): string {
    const half = halfOf({ ...row, counted });
    const asked = endsText(row, half);
    return counted === null ? asked : `${asked}; ${endsText({ ...counted, how: row.how }, half)} ${WITHIN}`;
}

/** Half the width of the interval of the counted number, whose digits are told; null where an end is open. */
function halfOf({ low, high, counted }: Pick<AskedRow, "low" | "high" | "counted">): Fraction | null {
    const [least, most] = [(counted ?? { low }).low, (counted ?? { high }).high];
    return least === null || most === null ? null : product(subtract(exactly(most), exactly(least)), fraction(1n, 2n));
}

/** The value of an answer in the digits that its interval supports. */
export function rowText(row: Pick<AskedRow, "value" | "low" | "high" | "counted">): string {
    return endText(row.value, halfOf(row), 0);
}

const endText = (text: string, half: Fraction | null, side: -1 | 0 | 1): string => (half === null ? valueText(text) : sure(text, half, side));

function endsText({ low, high, how }: Pick<AskedRow, "low" | "high" | "how">, half: Fraction | null): string {
    const end = (text: string, side: -1 | 1): string => endText(text, half, side);
    const sign = how === "numerical" ? "≈ " : "";
    if (low === null) return high === null ? "no end is known" : `at most ${end(high, 1)}`;
    return high === null ? `at least ${end(low, -1)}` : `${sign}between ${end(low, -1)} and ${end(high, 1)}`;
}

/** A whole number digit for digit; any other to a tenth. */
export function valueText(value: string): string {
    if (/^-?\d+$/.test(value)) return shown(value);
    return shown(approximate(exactly(value)).toFixed(1));
}

const sentence = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
