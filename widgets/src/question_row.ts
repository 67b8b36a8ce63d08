/** Which question: what is asked for, by which column or of which columns, in which public bins, protecting whom (fixed). */

import type { Component } from "./component";
import { declareBins, declareRecord, type Row } from "./declaring";
import { h, newId, setOptions, setText, show } from "./dom";
import type { State } from "./protocol";
import type { SessionStore } from "./session_store";
import { bins, capital } from "./words";

const DECLARE = "\u0000declare";
const KEYS = "\u0000keys";

const COUNTS = "counts";
const RECORDS = "records";

/** What may be asked for in each bin, as a reader reads it. */
const ASKS: Record<string, (nouns: string) => string> = {
    [COUNTS]: (nouns) => `counts of ${nouns}`,
    sums: (nouns) => `sums over ${nouns}`,
    [RECORDS]: () => "a drawn record",
};

type Known = State["questions"][number];

/** What a question asks for; one that nobody says it of counts. */
const asksOf = (question: Pick<Known, "asks"> | undefined): string => question?.asks ?? COUNTS;

export function questionRow(store: SessionStore): Component {
    const [askId, columnId, binsId] = [newId(), newId(), newId()];
    const ask = h("select", { id: askId, onchange: () => chooseWhat() });
    const column = h("select", { id: columnId, onchange: () => chooseColumn() });
    const chosen = h("select", { id: binsId, onchange: () => chooseBins() });
    const protects = h("output", { class: "dp-fixed" });
    const sentence = h("p", { class: "dp-hint dp-sentence" });
    const opening = h("p", { class: "dp-hint dp-opening", role: "note", hidden: true });
    const fault = h("p", { class: "dp-fault", role: "alert", hidden: true });
    const owner = (asks: string): Row => ({ shows: () => opened?.asks === asks, close: () => close(), draw: () => draw() });
    const declaration = declareBins(store, owner(COUNTS));
    const record = declareRecord(store, owner(RECORDS));
    const columnField = field("by column", column, columnId, "dp-column");
    const columnName = columnField.firstElementChild!;
    const element = h(
        "div",
        { class: "dp-question", role: "group", "aria-label": "Question", onkeydown: (event: KeyboardEvent) => escape(event) },
        h(
            "div",
            { class: "dp-fields" },
            field("Ask for", ask, askId, "dp-ask-for"),
            columnField,
            field("Bins (public, not taken from the data)", chosen, binsId, "dp-bins"),
            field("Protects", protects, null, "dp-protects"),
        ),
        declaration.element,
        record.element,
        sentence,
        opening,
        fault,
    );
    /** What is being declared, while the fields are open: for a column, or a record, whose columns are its own. */
    let opened: { asks: string; column: string } | null = null;

    /** What the row is about: the question on show, or the one that is being declared. */
    const what = (): string => opened?.asks ?? asksOf(store.sheet?.question);

    const knownOf = (asks: string): Known[] => store.state?.questions.filter((one) => asksOf(one) === asks) ?? [];

    function plan(id: string): void {
        const asks = asksOf(store.state?.questions.find((one) => one.id === id));
        close();
        void store.planAny({ id }, asks === RECORDS);
    }

    function close(): void {
        opened = null;
        draw();
    }

    /** Escape closes what is being declared, and gives the focus back to what opened it. */
    function escape(event: KeyboardEvent): void {
        if (event.key !== "Escape" || opened === null) return;
        close();
        (column.value === "" ? ask : chosen).focus();
    }

    function open(name: string): void {
        opened = { asks: COUNTS, column: name };
        const found = store.state?.columns.find((item) => item.name === name);
        if (found !== undefined) declaration.open(found);
        draw();
    }

    function openRecord(): void {
        opened = { asks: RECORDS, column: DECLARE };
        record.open();
        draw();
    }

    function chooseWhat(): void {
        const [known] = knownOf(ask.value);
        if (known !== undefined) plan(known.id);
        else if (ask.value === RECORDS) openRecord();
        else open(store.state?.columns[0]?.name ?? "");
    }

    function chooseColumn(): void {
        if (column.value === DECLARE) return openRecord();
        const known = knownOf(what()).find((question) => question.column === column.value);
        if (known === undefined) open(column.value);
        else plan(known.id);
    }

    function chooseBins(): void {
        if (chosen.value === DECLARE) {
            if (what() === RECORDS) openRecord();
            else open(column.value);
        } else if (chosen.value === KEYS) {
            const name = column.value; // closing draws the column of the plan on show
            close();
            void store.planAny({ kind: "keys", column: name });
        } else plan(chosen.value);
    }

    function draw(): void {
        const { sheet, state } = store;
        const off = store.locked || store.kernel.health === "gone";
        const question = sheet?.question;
        const name = opened?.column ?? question?.column ?? "";
        const asks = what();
        const nouns = state?.unit.nouns ?? question?.nouns ?? "—";
        const offered = new Set([COUNTS, ...(state?.questions.map(asksOf) ?? []), asks]);
        if ((state?.columns.length ?? 0) > 0) offered.add(RECORDS);
        setOptions(
            ask,
            Object.entries(ASKS).flatMap(([value, label]) => (offered.has(value) ? [{ value, label: label(nouns) }] : [])),
            asks,
        );
        const columns = asks === RECORDS ? knownOf(RECORDS).map((item) => item.column) : (state?.columns.map((item) => item.name) ?? []);
        setText(columnName, asks === RECORDS ? "of columns" : "by column");
        setOptions(
            column,
            [
                ...[...new Set([...columns, ...(name && name !== DECLARE ? [name] : [])])].map((value) => ({ value, label: value })),
                ...(asks === RECORDS ? [{ value: DECLARE, label: "Declare columns…" }] : []),
            ],
            name,
        );
        const known = knownOf(asks)
            .filter((item) => item.column === name)
            .map((item) => ({ value: item.id, label: item.bins_text }));
        if (question && question.column === name && asksOf(question) === asks && !known.some((item) => item.value === question.id)) {
            known.push({ value: question.id, label: question.bins_text });
        }
        const listed = asks !== RECORDS && columns.length > 0 && state?.columns.find((item) => item.name === name)?.kind === "text";
        const keyed = state?.questions.some((item) => item.column === name && item.bins === "") ?? false;
        setOptions(
            chosen,
            [
                ...known,
                ...(listed && !keyed && question?.bins !== "" ? [{ value: KEYS, label: "No list: keys as they occur" }] : []),
                { value: DECLARE, label: asks === RECORDS ? "Declare columns…" : "Declare bins…" },
            ],
            opened === null ? (question?.id ?? DECLARE) : DECLARE,
        );
        setText(protects, state?.unit.text ?? sheet?.unit.text ?? "—");
        for (const control of [ask, column, chosen]) control.disabled = off;
        show(declaration.element, opened?.asks === COUNTS);
        show(record.element, opened?.asks === RECORDS);
        sentence.replaceChildren(
            question === undefined ? "" : `${question.sentence} `,
            h("strong", {}, question === undefined ? "" : `${capital(bins(question.bins))}.`),
        );
        setText(opening, sheet?.opening ?? "");
        show(opening, (sheet?.opening ?? "") !== "");
        const words = store.faultOf("");
        setText(fault, words ?? "");
        show(fault, words !== null);
    }

    return { element, draw };
}

function field(name: string, control: HTMLElement, id: string | null, kind: string): HTMLElement {
    if (id !== null) return h("div", { class: `dp-field ${kind}` }, h("label", { for: id }, name), control);
    const labelId = newId();
    control.setAttribute("aria-labelledby", labelId);
    return h("div", { class: `dp-field ${kind}` }, h("span", { id: labelId, class: "dp-field-name" }, name), control);
}
