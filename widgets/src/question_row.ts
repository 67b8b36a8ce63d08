/** Which question: what is counted (fixed), by which column, in which public bins, protecting whom (fixed). */

import type { Component } from "./component";
import { h, newId, setOptions, setText, show } from "./dom";
import { parse } from "./exact";
import type { State } from "./protocol";
import type { SessionStore } from "./session_store";
import { bins } from "./words";

const DECLARE = "\u0000declare";
const KEYS = "\u0000keys";

type Column = State["columns"][number];

export function questionRow(store: SessionStore): Component {
    const [columnId, binsId] = [newId(), newId()];
    const count = h("output", { class: "dp-fixed" });
    const column = h("select", { id: columnId, onchange: () => chooseColumn() });
    const chosen = h("select", { id: binsId, onchange: () => chooseBins() });
    const protects = h("output", { class: "dp-fixed" });
    const sentence = h("p", { class: "dp-hint dp-sentence" });
    const fault = h("p", { class: "dp-fault", role: "alert", hidden: true });
    const declaration = declare(store, () => close());
    const element = h(
        "div",
        { class: "dp-question", role: "group", "aria-label": "Question" },
        h(
            "div",
            { class: "dp-fields" },
            field("Count", count, null, "dp-count"),
            field("by column", column, columnId, "dp-column"),
            field("Bins (public, not taken from the data)", chosen, binsId, "dp-bins"),
            field("Protects", protects, null, "dp-protects"),
        ),
        declaration.element,
        sentence,
        fault,
    );
    /** The column being declared for, while the fields are open. */
    let opened: string | null = null;

    function ask(id: string): void {
        close();
        void store.planAny({ id });
    }

    function close(): void {
        opened = null;
        draw();
    }

    function open(name: string): void {
        opened = name;
        const found = store.state?.columns.find((item) => item.name === name);
        if (found !== undefined) declaration.open(found);
        draw();
    }

    function chooseColumn(): void {
        const known = store.state?.questions.find((question) => question.column === column.value);
        if (known === undefined) open(column.value);
        else ask(known.id);
    }

    function chooseBins(): void {
        if (chosen.value === DECLARE) open(column.value);
        else if (chosen.value === KEYS) {
            const name = column.value; // closing draws the column of the plan on show
            close();
            void store.planAny({ kind: "keys", column: name });
        } else ask(chosen.value);
    }

    function draw(): void {
        const { sheet, state } = store;
        const off = store.locked || store.kernel.health === "gone";
        const question = sheet?.question;
        const name = opened ?? question?.column ?? "";
        const columns = state?.columns.map((item) => item.name) ?? [];
        setText(count, state?.unit.nouns ?? question?.nouns ?? "—");
        setOptions(
            column,
            [...new Set([...columns, ...(name ? [name] : [])])].map((value) => ({ value, label: value })),
            name,
        );
        const known =
            state?.questions
                .filter((item) => item.column === name)
                .map((item) => ({ value: item.id, label: item.bins_text })) ?? [];
        if (question && question.column === name && !known.some((item) => item.value === question.id)) {
            known.push({ value: question.id, label: question.bins_text });
        }
        const listed = columns.length > 0 && state?.columns.find((item) => item.name === name)?.kind === "text";
        const keyed = state?.questions.some((item) => item.column === name && item.bins === "") ?? false;
        setOptions(
            chosen,
            [
                ...known,
                ...(listed && !keyed && question?.bins !== "" ? [{ value: KEYS, label: "No list: keys as they occur" }] : []),
                { value: DECLARE, label: "Declare bins…" },
            ],
            opened === null ? (question?.id ?? DECLARE) : DECLARE,
        );
        setText(protects, state?.unit.text ?? sheet?.unit.text ?? "—");
        column.disabled = off;
        chosen.disabled = off;
        show(declaration.element, opened !== null);
        sentence.replaceChildren(
            question === undefined ? "" : `${question.sentence} `,
            h("strong", {}, question === undefined ? "" : `${bins(question.bins)}.`),
        );
        setText(fault, store.planFault ?? "");
        show(fault, store.planFault !== null);
    }

    return { element, draw };
}

function field(name: string, control: HTMLElement, id: string | null, kind: string): HTMLElement {
    if (id !== null) return h("div", { class: `dp-field ${kind}` }, h("label", { for: id }, name), control);
    const labelId = newId();
    control.setAttribute("aria-labelledby", labelId);
    return h("div", { class: `dp-field ${kind}` }, h("span", { id: labelId, class: "dp-field-name" }, name), control);
}

/** The small fields behind "Declare bins…". They check form only; the kernel judges the declaration. */
function declare(store: SessionStore, done: () => void): { element: HTMLElement; open(column: Column): void } {
    const element = h("div", { class: "dp-declare", role: "group", "aria-label": "Declare bins", hidden: true });

    function box(name: string, value = "", wide = false): { field: HTMLElement; input: HTMLInputElement } {
        const id = newId();
        const input = h("input", {
            id,
            type: "text",
            value,
            autocomplete: "off",
            spellcheck: "false",
            class: "dp-exact-text",
        });
        return {
            field: h("div", { class: `dp-field${wide ? " dp-wide" : ""}` }, h("label", { for: id }, name), input),
            input,
        };
    }

    function tick(name: string, on: boolean): { field: HTMLElement; input: HTMLInputElement } {
        const input = h("input", { type: "checkbox", checked: on });
        return { field: h("label", { class: "dp-tick-field" }, input, name), input };
    }

    function open(column: Column): void {
        const fault = h("p", { class: "dp-fault", role: "alert", hidden: true });
        const missing = tick("a bin for missing", false);
        const others: HTMLElement[] = [];
        let fields: HTMLElement[] = [];
        let read: () => Record<string, unknown> | string = () => "";
        const texts = (input: HTMLInputElement): string[] =>
            input.value
                .split(",")
                .map((part) => part.trim())
                .filter((part) => part !== "");
        const integers = (): void => {
            const [low, high] = [box("From"), box("To")];
            const [under, over] = [tick("a bin for below", false), tick("a bin for above", true)];
            fields = [low.field, high.field, under.field, over.field, missing.field];
            read = () => {
                const [a, b] = [parse(low.input.value), parse(high.input.value)];
                if (a === null || b === null || a.d !== 1n || b.d !== 1n)
                    return "From and To must be whole numbers, like 0 and 40.";
                if (a.n > b.n) return `From must be at most To, got ${a.n} and ${b.n}.`;
                return {
                    kind: "integers",
                    low: String(a.n),
                    high: String(b.n),
                    underflow: under.input.checked,
                    overflow: over.input.checked,
                    missing: missing.input.checked,
                };
            };
        };
        const intervals = (): void => {
            const edges = box("Edges, separated by commas", "", true);
            const [under, over] = [tick("a bin for below", true), tick("a bin for above", true)];
            fields = [edges.field, under.field, over.field, missing.field];
            read = () => {
                const given = texts(edges.input);
                if (given.length < 2 || given.some((text) => parse(text) === null))
                    return "Edges must be two numbers or more, like 0, 0.5, 1.";
                return {
                    kind: "intervals",
                    edges: given,
                    underflow: under.input.checked,
                    overflow: over.input.checked,
                    missing: missing.input.checked,
                };
            };
        };
        const categories = (): void => {
            const labels = box("Labels, separated by commas", "", true);
            const other = tick("a bin for any other label", true);
            fields = [labels.field, other.field, missing.field];
            read = () => {
                const given = texts(labels.input);
                if (given.length === 0) return "Name at least one label, from public knowledge of the column.";
                return {
                    kind: "categories",
                    labels: given,
                    other: other.input.checked,
                    missing: missing.input.checked,
                };
            };
        };
        const numbers: [string, () => void][] = [
            ["whole numbers", integers],
            ["intervals", intervals],
        ];
        const labels: [string, () => void] = ["labels", categories];
        const ways = column.kind === "number" ? numbers : column.untyped === true ? [...numbers, labels] : [labels];
        if (ways.length > 1) {
            const id = newId();
            const kind = h("select", { id, onchange: () => choose() }, ...ways.map(([name]) => h("option", {}, name)));
            const choose = (): void => {
                ways[kind.selectedIndex]?.[1]();
                place.replaceChildren(...fields);
            };
            others.push(h("div", { class: "dp-field dp-kind" }, h("label", { for: id }, "Bins of"), kind));
        }
        ways[0]?.[1]();
        const place = h("div", { class: "dp-declare-fields" }, ...fields);
        const use = async (): Promise<void> => {
            const declaration = read();
            const wrong = typeof declaration === "string" ? declaration : null;
            setText(fault, wrong ?? "");
            show(fault, wrong !== null);
            if (
                typeof declaration !== "string" &&
                (await store.plan({ question: { column: column.name, ...declaration } }))
            )
                done();
        };
        element.replaceChildren(
            h(
                "p",
                { class: "dp-hint" },
                `Bins for ${column.name}, from public knowledge: looking at the data to choose them would be ` +
                    "a release nobody paid for." +
                    (column.untyped === true
                        ? " Nobody declared whether it holds numbers or texts: bins of numbers leave out every text that is no number."
                        : ""),
            ),
            h(
                "div",
                { class: "dp-declare-fields" },
                ...others,
                place,
                h("button", { type: "button", class: "dp-button", onclick: () => void use() }, "Use these bins"),
                h("button", { type: "button", class: "dp-button", onclick: done }, "Keep the old ones"),
            ),
            fault,
        );
    }

    return { element, open };
}
