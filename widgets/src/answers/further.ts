/** Further records of an answer that allows free ones: drawn by the kernel from what is stored, and listed here. */

import { h, newId, setText, show } from "../dom/dom";
import { timed } from "../dom/perf";
import { version, type Reply, type Result } from "../protocol/protocol";
import { list, Malformed, maybe, shape, text, whole, wrong } from "../protocol/readers";
import type { Surroundings } from "./result_view";
import { dataTable } from "../dom/table";
import { quoted, shown } from "../wording/words";

const COUNTS = ["1", "10", "100"];

/** The most columns that are listed; Python has all. */
const MOST = 60;

const readDrawn = shape({ version, number: maybe(whole), key: text, columns: list(text), records: list(list(text)), drawn: whole });

type Drawn = ReturnType<typeof readDrawn>;

export interface FurtherField {
    element: HTMLElement;
    /** Whether somebody answers may have changed, or what was drawn. */
    heed(): void;
}

export function furtherField(result: Result, { further, gone }: Surroundings): FurtherField {
    const [countId, hintId] = [newId(), newId()];
    const release = result.teaching === null ? "the one release that is paid" : "this one draw";
    const count = h(
        "select",
        { id: countId, onchange: () => heed() },
        ...COUNTS.map((value) => h("option", { value }, shown(value))),
    );
    const button = h("button", {
        type: "button",
        class: "dp-button",
        "aria-describedby": hintId,
        onclick: (event: Event) => timed(event, () => void send()),
    });
    const hint = h(
        "p",
        { id: hintId, class: "dp-hint" },
        `Free: drawn when you ask, with the system's random bits, from ${release}. So they are not independent of its record or of each other: all share its noise.`,
    );
    const needs = h("p", { class: "dp-hint", hidden: true });
    const said = h("p", { class: "dp-further-said", role: "status" });
    const fault = h("p", { class: "dp-fault", role: "alert", hidden: true });
    const listed = h("div", {});
    const element = h(
        "section",
        { class: "dp-further", "aria-label": "Further records" },
        h("div", { class: "dp-further-row" }, h("div", { class: "dp-field" }, h("label", { for: countId }, "how many"), count), button),
        hint,
        needs,
        said,
        fault,
        listed,
    );
    let waiting = false;
    let drawn: unknown = null;

    async function send(): Promise<void> {
        if (waiting || further === undefined || gone?.() === true) return;
        waiting = true;
        tell("", "");
        const wanted = count.value;
        const reply: Reply = await further.draw(wanted);
        waiting = false;
        heed();
        if (!reply.ok) return tell("", reply.error.message);
        const known = latest();
        if (known === null) return tell("", "This page cannot read the kernel's answer; restart the kernel and reload the page.");
        tell(wanted === "1" ? `Drawn: ${record(known)}.` : `${shown(wanted)} further records were drawn; they head the list.`, "");
    }

    function tell(words: string, wrong: string): void {
        setText(said, words);
        setText(fault, wrong);
        show(fault, wrong !== "");
    }

    /** The records drawn last, where they were from this answer. */
    function latest(): Drawn | null {
        const value = further?.drawn() ?? null;
        if (value === null) return null;
        try {
            const known = readDrawn(value, "drawn");
            if (known.number !== result.number || known.key !== result.key) return null;
            if (known.records.length === 0 || known.records.some((one) => one.length !== known.columns.length))
                wrong("drawn.records", "a label for each column");
            return known;
        } catch (error) {
            if (!(error instanceof Malformed)) throw error;
            return null;
        }
    }

    function heed(): void {
        const alone = further === undefined || gone?.() === true;
        setText(button, count.value === "1" ? "Draw another record · free" : `Draw ${shown(count.value)} more records · free`);
        button.disabled = count.disabled = alone;
        setText(needs, further === undefined ? "Drawing needs the running notebook: no kernel answers here." : "Drawing needs a kernel. What was drawn stays here.");
        show(needs, alone);
        const value = further?.drawn() ?? null;
        if (value === drawn) return;
        drawn = value;
        const known = latest();
        listed.replaceChildren(...(known === null ? [] : listing(known, result.python)));
    }

    heed();
    return { element, heed };
}

/** The last record in words: "kind x, seen 1". */
function record({ columns, records }: Drawn): string {
    const last = records.at(-1)!;
    const parts = columns.slice(0, MOST).map((name, i) => `${name} ${quoted(last[i]!)}`);
    return parts.join(", ") + (columns.length > MOST ? ", …" : "");
}

/** The latest records first, each with how many were drawn up to it. */
function listing({ columns, records, drawn }: Drawn, python: string): Node[] {
    const names = columns.slice(0, MOST);
    const total = BigInt(drawn);
    const row = (i: number): string[] => {
        const one = records.at(-1 - i)!;
        return [shown(String(total - BigInt(i))), ...names.map((_, k) => one[k]!)];
    };
    const more = [
        total > BigInt(records.length) ? `the last ${shown(String(records.length))} of ${shown(drawn)} are listed` : "",
        columns.length > MOST ? `${columns.length - MOST} more columns are not` : "",
    ].filter((part) => part !== "");
    const where = python === "" ? "" : `In Python: ${python}.draw(n).`;
    return [
        dataTable("Further records, the latest first", [{ name: "draw", figures: true }, ...names.map((name) => ({ name }))], records.length, row),
        h("p", { class: "dp-hint" }, [more.length === 0 ? "" : `${more.join(", ")}.`.replace(/^./, (first) => first.toUpperCase()), where].filter((part) => part !== "").join(" ")),
    ];
}
