/**
 * The small fields behind "Declare bins…" and "Declare columns…". They check form only; the kernel judges the
 * declaration. Nothing here is read from data: who declares names columns and labels from public knowledge.
 */

import { h, newId, setAttribute, setOptions, setText, show } from "../dom/dom";
import { parse } from "../numbers/exact";
import type { State } from "../protocol/protocol";
import type { SessionStore } from "../stores/session_store";

type Column = State["columns"][number];

/** The fault in the fields, and in which of them it is. */
interface Wrong {
    words: string;
    at: HTMLElement;
}

/** The fields of one column's bins: what they declare, or what is wrong. */
interface BinFields {
    kinds: HTMLElement | null;
    place: HTMLElement;
    read(): Record<string, unknown> | Wrong;
}

export interface Declaring {
    element: HTMLElement;
}

/** How long a bin of times may be. */
const LENGTHS = ["hour", "day", "week", "month", "quarter", "year"];
/** The form of a date, or of a part of one; which are in the calendar, the kernel knows. */
const DATE = /^\d{4}(-\d\d(-\d\d([ T]\d\d:\d\d)?)?)?$/;

const isWrong = (value: Record<string, unknown> | Wrong): value is Wrong => value["at"] instanceof HTMLElement;

const PUBLIC = "from public knowledge: looking at the data to choose them would be a release nobody paid for.";
const LESSON = "chosen as if the data were private: without a look at them.";
const rule = (store: SessionStore): string => (store.state?.teaching == null ? PUBLIC : LESSON);

function box(name: string, wide = false): { field: HTMLElement; input: HTMLInputElement } {
    const id = newId();
    const input = h("input", { id, type: "text", autocomplete: "off", spellcheck: "false", class: "dp-exact-text" });
    return { field: h("div", { class: `dp-field${wide ? " dp-wide" : ""}` }, h("label", { for: id }, name), input), input };
}

function tick(name: string, on: boolean): { field: HTMLElement; input: HTMLInputElement } {
    const input = h("input", { type: "checkbox", checked: on });
    return { field: h("label", { class: "dp-tick-field" }, input, name), input };
}

const parts = (input: HTMLInputElement): string[] =>
    input.value
        .split(",")
        .map((part) => part.trim())
        .filter((part) => part !== "");

/** Why an error stands beside a field, and which: the first that is wrong gets the focus. */
function fault(): { element: HTMLElement; show(wrong: Wrong | null): void } {
    const id = newId();
    const element = h("p", { id, class: "dp-fault", role: "alert", hidden: true });
    let at: HTMLElement | null = null;
    return {
        element,
        show(wrong) {
            for (const name of ["aria-invalid", "aria-describedby"]) if (at !== null) setAttribute(at, name, null);
            at = wrong?.at ?? null;
            setText(element, wrong?.words ?? "");
            show(element, wrong !== null);
            if (at === null) return;
            setAttribute(at, "aria-invalid", "true");
            setAttribute(at, "aria-describedby", id);
            at.focus();
        },
    };
}

/** Bins to begin with, by the kind of a column alone, in the words of a reader. */
const SUGGESTED = {
    number: "0 to 9 is a suggestion to begin with",
    time: "The months from 2016 to 2025 are a suggestion to begin with",
    text: "Name the labels that you expect, like north, south, or choose “No list: keys as they occur” above",
};

const suggestionFor = (column: Column): string =>
    ` ${column.kind === "time" ? SUGGESTED.time : column.kind === "number" || column.untyped === true ? SUGGESTED.number : SUGGESTED.text}; dpviz has not looked at the data.`;

/**
 * The fields of a column; `beyond` says whether what lies outside its bins gets bins of its own at first, and
 * `suggested` whether bins stand in the fields to begin with.
 */
function binFields(column: Column, beyond: boolean, suggested = false): BinFields {
    const missing = tick("a bin for missing", false);
    let fields: HTMLElement[] = [];
    let read: BinFields["read"] = () => ({});
    const integers = (): void => {
        const [low, high] = [box("From"), box("To")];
        if (suggested) [low.input.value, high.input.value] = ["0", "9"];
        const [under, over] = [tick("a bin for below", false), tick("a bin for above", beyond)];
        fields = [low.field, high.field, under.field, over.field, missing.field];
        read = () => {
            const [a, b] = [parse(low.input.value), parse(high.input.value)];
            for (const [end, at] of [[a, low.input], [b, high.input]] as const)
                if (end === null || end.d !== 1n) return { words: "From and To must be whole numbers, like 0 and 40.", at };
            if (a!.n > b!.n) return { words: `From must be at most To, got ${a!.n} and ${b!.n}. Type the smaller one in From.`, at: low.input };
            return {
                kind: "integers",
                low: String(a!.n),
                high: String(b!.n),
                underflow: under.input.checked,
                overflow: over.input.checked,
                missing: missing.input.checked,
            };
        };
    };
    const intervals = (): void => {
        const edges = box("Edges, separated by commas", true);
        const [under, over] = [tick("a bin for below", beyond), tick("a bin for above", beyond)];
        fields = [edges.field, under.field, over.field, missing.field];
        read = () => {
            const given = parts(edges.input);
            if (given.length < 2 || given.some((text) => parse(text) === null))
                return { words: "Edges must be two numbers or more, like 0, 0.5, 1.", at: edges.input };
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
        const labels = box("Labels, separated by commas", true);
        const other = tick("a bin for any other label", beyond);
        fields = [labels.field, other.field, missing.field];
        read = () => {
            const given = parts(labels.input);
            if (given.length === 0)
                return { words: "Name at least one label, from public knowledge of the column.", at: labels.input };
            return { kind: "categories", labels: given, other: other.input.checked, missing: missing.input.checked };
        };
    };
    const times = (): void => {
        const [start, end] = [box("From"), box("Up to, not including")];
        if (suggested) [start.input.value, end.input.value] = ["2016", "2026"];
        const [under, over] = [tick("a bin for earlier", beyond), tick("a bin for later", beyond)];
        const id = newId();
        const by = h("select", { id }, ...LENGTHS.map((name) => h("option", { selected: name === "month" }, name)));
        const each = h("div", { class: "dp-field dp-kind" }, h("label", { for: id }, "A bin for each"), by);
        for (const { input } of [start, end]) input.placeholder = "YYYY-MM-DD";
        fields = [start.field, end.field, each, under.field, over.field, missing.field];
        read = () => {
            for (const { input } of [start, end])
                if (!DATE.test(input.value.trim())) return { words: "Both ends must be dates, like 2012, 2012-02, 2012-02-29 or 2012-02-29 13:00.", at: input };
            return {
                kind: "times",
                start: start.input.value.trim(),
                end: end.input.value.trim(),
                by: by.value,
                underflow: under.input.checked,
                overflow: over.input.checked,
                missing: missing.input.checked,
            };
        };
    };
    const numbers: [string, () => void][] = [
        ["whole numbers", integers],
        ["intervals", intervals],
    ];
    const labels: [string, () => void] = ["labels", categories];
    const ways: [string, () => void][] = column.kind === "time" ? [["times", times]] : column.kind === "number" ? numbers : column.untyped === true ? [...numbers, labels] : [labels];
    ways[0]![1]();
    const place = h("div", { class: "dp-declare-fields" }, ...fields);
    let kinds: HTMLElement | null = null;
    if (ways.length > 1) {
        const id = newId();
        const choose = (): void => {
            ways[kind.selectedIndex]?.[1]();
            place.replaceChildren(...fields);
        };
        const kind = h("select", { id, onchange: choose }, ...ways.map(([name]) => h("option", {}, name)));
        kinds = h("div", { class: "dp-field dp-kind" }, h("label", { for: id }, "Bins of"), kind);
    }
    return { kinds, place, read: () => read() };
}

const button = (name: string, onclick: () => void): HTMLButtonElement =>
    h("button", { type: "button", class: "dp-button", onclick }, name);

/** The part of a refusal after the column's name, where it is about the label of any other cell. */
const OTHERWISE = ", any other cell";
/** A refusal of where times end, which is the second box. */
const THE_END = /^(the )?end must /;

/** A refusal of the kernel that begins with a column's name belongs to that column's fields, and is told there alone. */
function blame(store: SessionStore, column: string, bins: BinFields, wrong: ReturnType<typeof fault>, otherwise?: HTMLInputElement): boolean {
    const [own, other] = [`${column}: `, `${column}${OTHERWISE}: `];
    const told = store.planFault ?? "";
    const boxes = bins.place.querySelectorAll<HTMLInputElement>("input[type=text]");
    const input = told.startsWith(other) ? otherwise : told.startsWith(own) ? boxes[THE_END.test(told.slice(own.length)) ? 1 : 0] : null;
    if (input == null) return false;
    wrong.show({ words: told.slice((input === otherwise ? other : own).length), at: input });
    store.planFault = null;
    return true;
}

/** The row that a form belongs to. An answer that comes once another form is on show closes none and blames no field. */
export interface Row {
    shows(): boolean;
    close(): void;
    draw(): void;
}

/** A declaration as the kernel is sent it. */
type Declared = Record<string, unknown>;

/** The fields for the bins of one column, to count by; `made` says which question is asked with them, where not by them alone. */
export function declareBins(store: SessionStore, owner: Row): Declaring & { open(column: Column, made?: (bins: Declared) => Declared): void } {
    const element = h("div", { class: "dp-declare", role: "group", "aria-label": "Declare bins", hidden: true });

    function open(column: Column, made: (bins: Declared) => Declared = (bins) => bins): void {
        const wrong = fault();
        const { suggested } = store;
        const bins = binFields(column, true, suggested);
        const use = async (): Promise<void> => {
            const declaration = bins.read();
            wrong.show(isWrong(declaration) ? declaration : null);
            if (isWrong(declaration)) return;
            const question = made({ column: column.name, ...declaration });
            const planned = await store.planFitting(question, false);
            if (!bins.place.isConnected || !owner.shows()) return; // other bins, or a record, are being declared by now
            if (planned) owner.close();
            else if (blame(store, column.name, bins, wrong)) owner.draw();
        };
        element.replaceChildren(
            h(
                "p",
                { class: "dp-hint" },
                `Bins for ${column.name}, ${rule(store)}` +
                    (suggested ? suggestionFor(column) : "") +
                    (column.untyped === true
                        ? " Nobody declared whether it holds numbers or texts: bins of numbers leave out every text that is no number."
                        : ""),
            ),
            h(
                "div",
                { class: "dp-declare-fields" },
                bins.kinds,
                bins.place,
                button("Use these bins", () => void use()),
                suggested ? null : button("Keep the old ones", () => owner.close()),
            ),
            wrong.element,
        );
    }

    return { element, open };
}

/** The fields of one column of a record. */
interface Part {
    element: HTMLElement;
    column: HTMLSelectElement;
    otherwise: HTMLInputElement;
    bins: BinFields;
    wrong: ReturnType<typeof fault>;
}

/** The fields for a record: any number of columns, each with its bins, and what stands for a cell outside them. */
export function declareRecord(store: SessionStore, owner: Row): Declaring & { open(): void } {
    const list = h("div", {});
    const keep = button("Keep the old question", () => owner.close());
    const more = button("Add a column", () => add(true));
    const element = h(
        "div",
        { class: "dp-declare", role: "group", "aria-label": "Declare columns", hidden: true },
        h("p", { class: "dp-hint" }, `Columns of a record and their labels, ${rule(store)} Every row is a record: a cell outside the bins counts as the label that you name, or as the first.`),
        list,
        h("div", { class: "dp-declare-fields" }, more, button("Use these columns", () => void use()), keep),
    );
    let rows: Part[] = [];
    let opening = 0; // how often the form was opened

    const columns = (): Column[] => store.state?.columns ?? [];
    const taken = (but: Part | null): string[] => rows.filter((row) => row !== but).map((row) => row.column.value);

    /** Each column stands in a record once. */
    function offer(): void {
        for (const row of rows) {
            const others = taken(row);
            const free = columns().filter(({ name }) => !others.includes(name));
            setOptions(row.column, free.map(({ name }) => ({ value: name, label: name })), row.column.value);
        }
        more.disabled = rows.length >= columns().length;
        rows.forEach((row, i) => setAttribute(row.element, "aria-label", `Column ${i + 1}`));
    }

    function add(focus: boolean): void {
        const names = taken(null);
        const next = columns().find(({ name }) => !names.includes(name));
        if (next === undefined) return;
        const id = newId();
        const column = h("select", { id, onchange: () => choose() });
        setOptions(column, [{ value: next.name, label: next.name }], next.name);
        const otherwise = box("Any other cell counts as");
        otherwise.input.placeholder = "the first";
        const remove = button("Remove", () => {
            rows = rows.filter((one) => one !== row);
            row.element.remove();
            offer();
            more.focus();
        });
        const fields = h("div", { class: "dp-declare-fields" });
        const wrong = fault();
        const row: Part = {
            element: h("div", { class: "dp-declare-column", role: "group" }, fields, wrong.element),
            column,
            otherwise: otherwise.input,
            bins: binFields(next, false),
            wrong,
        };
        const name = h("div", { class: "dp-field dp-kind" }, h("label", { for: id }, "Column"), column);
        otherwise.field.classList.add("dp-otherwise");
        const lay = (): void => fields.replaceChildren(...[name, row.bins.kinds, row.bins.place, otherwise.field, remove].filter((part) => part !== null));
        function choose(): void {
            row.bins = binFields(columns().find((one) => one.name === column.value)!, false);
            wrong.show(null);
            lay();
            column.focus();
            offer();
        }
        lay();
        rows.push(row);
        list.append(row.element);
        offer();
        if (focus) column.focus();
    }

    async function use(): Promise<void> {
        const declared = rows.map((row) => row.bins.read());
        declared.forEach((one, i) => rows[i]!.wrong.show(isWrong(one) ? one : null));
        const [first] = declared.filter(isWrong);
        if (first !== undefined) return first.at.focus();
        if (rows.length === 0) return more.focus();
        const otherwise = rows.filter((row) => row.otherwise.value.trim() !== "").map((row) => [row.column.value, row.otherwise.value.trim()]);
        const question = {
            kind: "records",
            columns: declared.map((one, i) => ({ column: rows[i]!.column.value, ...one })),
            otherwise: Object.fromEntries(otherwise),
        };
        const mine = opening;
        const planned = await store.planFitting(question, true);
        if (mine !== opening || !owner.shows()) return; // another record, or bins, are being declared by now
        if (planned) owner.close();
        else if (rows.some((part) => blame(store, part.column.value, part.bins, part.wrong, part.otherwise))) owner.draw();
    }

    function open(): void {
        opening += 1;
        rows = [];
        list.replaceChildren();
        show(keep, !store.suggested);
        add(false);
    }

    return { element, open };
}
