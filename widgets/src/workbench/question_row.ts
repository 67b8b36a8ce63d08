/**
 * Which question: what is asked for, by which column or of which columns, in which public bins, of which parts by
 * themselves, protecting whom (fixed).
 */

import type { Component } from "../dom/component";
import { declareBins, declareRecord, type Row } from "./declaring";
import { h, newId, setAttribute, setOptions, setText, show } from "../dom/dom";
import { planBox } from "./plan_box";
import type { Bins, Sheet, State } from "../protocol/protocol";
import type { Change, Question } from "../stores/plan";
import type { SessionStore } from "../stores/session_store";
import { bins, capital, shown } from "../wording/words";

const DECLARE = "\u0000declare";
const KEYS = "\u0000keys";
/** No further column, and no parts. */
const NONE = "";

const COUNTS = "counts";
const RECORDS = "records";

/** The most columns that are asked by together, as the kernel has it. */
const MOST_COLUMNS = 5;

/** The field for how many parts one unit counts in. */
const MOST = "most";

/** The aggregates that may be asked for in each bin, as a reader reads them. */
const ASKS: Record<string, (nouns: string) => string> = {
    [COUNTS]: (nouns) => `counts of ${nouns}`,
    sums: (nouns) => `sums over ${nouns}`,
    [RECORDS]: () => "a drawn record",
};

type Known = State["questions"][number];

/** The bins of one column: known ones by their id, or a declaration. */
type Part = { id: string } | Record<string, unknown>;

/** A place for bins: the first column (0), those beside it (1, 2, …), or the parts. */
type Slot = number | "parts";

/** The aggregate that a question asks for; one that nobody says it of counts. */
const asksOf = (question: { asks: string | null } | undefined): string => question?.asks ?? COUNTS;

const partsOf = ({ question }: Sheet): Part[] => (question.factors ?? []).map(({ id }) => ({ id }));

/** Whether a question has more than one column, or parts: then it is made of its bins, and changed one of them at a time. */
const isMade = (sheet: Sheet | null): sheet is Sheet => sheet !== null && ((sheet.question.factors ?? []).length > 1 || sheet.question.by !== null);

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
    const beside = Array.from({ length: MOST_COLUMNS - 1 }, (_, i) => slotFields(store, "× column", (name) => chooseOf(i + 1, name), (id) => chooseBinsOf(i + 1, id)));
    const parts = slotFields(store, "for each", (name) => chooseOf("parts", name), (id) => chooseBinsOf("parts", id));
    const mostId = newId();
    const most = planBox(store, MOST, { id: mostId, inputmode: "numeric", placeholder: "all" }, () => store.sheet?.question.by?.most ?? "", (text) => limited(text));
    const mostName = h("label", { for: mostId }, "parts of one unit at most");
    const mostField = h("div", { class: "dp-field dp-most", hidden: true }, mostName, most.box, most.fault);
    const more = h("div", { class: "dp-fields-beside" }, ...beside.map(({ element }) => element), parts.element, mostField);
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
        more,
        declaration.element,
        record.element,
        sentence,
        opening,
        fault,
    );
    /** The bins being declared, while the fields are open: for a column in its place, or a record, whose columns are its own. */
    let opened: { asks: string; column: string; slot: Slot } | null = null;

    /** Nobody may pay for the plan on show while another question is being declared here. */
    const told = (): void => store.declares(element, opened === null ? null : opened.asks === RECORDS ? "columns of a record are" : `bins of ${opened.column} are`);

    /** The subject of the row: the question on show, or the one that is being declared. */
    const what = (): string => opened?.asks ?? asksOf(store.sheet?.question);

    /** The questions of one column, or of records, that can be chosen as they are. */
    const knownOf = (asks: string): Known[] => store.state?.questions.filter((one) => asksOf(one) === asks && one.each === null) ?? [];

    /** The bins that are known of a column. */
    const binsOf = (name: string): Bins[] => store.state?.bins?.filter((one) => one.column === name) ?? [];

    /** The question on show with other bins in one place; none there takes the column, or the parts, away. */
    function changed(slot: Slot, part: Part | null): Question {
        const { question } = store.sheet!;
        const { by } = question;
        const given = question.by === null ? null : { part: { id: question.by.id } as Part, most: question.by.most };
        const factors = partsOf(store.sheet!);
        if (slot !== "parts") factors.splice(slot, 1, ...(part === null ? [] : [part]));
        const each = slot !== "parts" ? given : part === null ? null : { part, most: by !== null && "id" in part && columnOf(part) === by.column ? by.most : "" };
        const plain = { id: question.plain ?? question.id };
        const whole = slot === "parts" ? plain : { kind: "product", of: plain, factors };
        return each === null ? whole : { kind: "each", of: whole, by: each.part, most: each.most };
    }

    const columnOf = (part: Part): string | undefined => store.state?.bins?.find(({ id }) => id === part["id"])?.column;

    /** The same parts, of which one unit counts in so many at most. */
    function limited(text: string): Change {
        const { question } = store.sheet!;
        return { question: { kind: "each", of: { id: question.plain ?? "" }, by: { id: question.by?.id ?? "" }, most: text.replaceAll(",", "") }, at: MOST };
    }

    /** Ask for the question with these bins in this place. Parts that the mechanism cannot answer are refused in words. */
    function put(slot: Slot, part: Part | null): void {
        const question = changed(slot, part);
        close();
        if (slot === "parts") void store.plan({ question });
        else void store.planAny(question);
    }

    function plan(id: string): void {
        const asks = asksOf(store.state?.questions.find((one) => one.id === id));
        close();
        void store.planAny({ id }, asks === RECORDS);
    }

    /** Close what is being declared; where the focus was in there, it goes back to what opened it. */
    function close(): void {
        const within = declaration.element.contains(document.activeElement);
        const slot = opened?.slot ?? 0;
        opened = null;
        draw();
        told();
        if (within) opener(slot).focus();
    }

    const opener = (slot: Slot): HTMLElement =>
        slot === "parts" ? parts.column : slot > 0 ? beside[slot - 1]!.column : column.value === "" ? ask : chosen;

    /** Escape closes what is being declared, and gives the focus back to what opened it. */
    function escape(event: KeyboardEvent): void {
        if (event.key !== "Escape" || opened === null || store.suggested) return;
        const { slot } = opened;
        close();
        opener(slot).focus();
    }

    function open(name: string, slot: Slot = 0): void {
        opened = { asks: COUNTS, column: name, slot };
        const found = store.state?.columns.find((item) => item.name === name);
        const alone = slot === 0 && !isMade(store.sheet);
        if (found !== undefined) declaration.open(found, alone ? undefined : (bins) => changed(slot, bins) as Record<string, unknown>);
        draw();
        told();
    }

    function openRecord(): void {
        opened = { asks: RECORDS, column: DECLARE, slot: 0 };
        record.open();
        draw();
        told();
    }

    function chooseWhat(): void {
        const [known] = knownOf(ask.value);
        if (known !== undefined) plan(known.id);
        else if (ask.value === RECORDS) openRecord();
        else open(store.state?.columns[0]?.name ?? "");
    }

    function chooseColumn(): void {
        if (column.value === DECLARE) return openRecord();
        if (isMade(store.sheet) && what() !== RECORDS) return chooseOf(0, column.value);
        const known = knownOf(what()).find((question) => question.column === column.value);
        if (known !== undefined) plan(known.id);
        else if (isMakeable()) chooseOf(0, column.value);
        else open(column.value);
    }

    /** A column for this place, in the bins that are known of it first; they are declared where none are. */
    function chooseOf(slot: Slot, name: string): void {
        const [known] = binsOf(name);
        if (name === NONE) put(slot, null);
        else if (known === undefined) open(name, slot);
        else put(slot, { id: known.id });
    }

    function chooseBinsOf(slot: Slot, id: string): void {
        const name = slot === "parts" ? parts.column.value : slot === 0 ? column.value : beside[slot - 1]!.column.value;
        if (id === DECLARE) open(name, slot);
        else put(slot, id === KEYS ? { kind: "keys", column: name } : { id });
    }

    function chooseBins(): void {
        if (isMade(store.sheet) && what() !== RECORDS) return chooseBinsOf(0, chosen.value);
        if (chosen.value === DECLARE) {
            if (what() === RECORDS) openRecord();
            else open(column.value);
        } else if (chosen.value === KEYS) {
            const name = column.value; // closing draws the column of the plan on show
            close();
            void store.planAny({ kind: "keys", column: name });
        } else if (knownOf(what()).some(({ id }) => id === chosen.value) || !isMakeable()) plan(chosen.value);
        else put(0, { id: chosen.value }); // bins that no question asks by alone so far
    }

    /** Whether the question on show can be asked in other bins. */
    const isMakeable = (): boolean => store.sheet?.question.factors != null && what() === asksOf(store.sheet.question);

    /** The columns beside the first, and the parts: of each the columns that are free, and the bins that are known of it. */
    function drawBeside(sheet: Sheet | null, off: boolean): void {
        const listed = sheet !== null && what() !== RECORDS && sheet.question.factors !== null && (store.state?.columns.length ?? 0) > 0 && (opened === null || opened.slot !== 0 || isMade(sheet));
        show(more, listed);
        if (sheet === null || !listed) return;
        const { by, factors } = sheet.question;
        const declared = (slot: Slot): string | null => (opened !== null && opened.asks === COUNTS && opened.slot === slot ? opened.column : null);
        const taken = [declared(0) ?? factors![0]?.column, ...beside.map((_, i) => declared(i + 1) ?? factors![i + 1]?.column), declared("parts") ?? by?.column];
        const last = Math.max(factors!.length, typeof opened?.slot === "number" ? opened.slot + 1 : 0);
        beside.forEach((one, i) => {
            show(one.element, i < last);
            one.draw(factors![i + 1] ?? null, declared(i + 1), { free: freeFor(taken, i + 1), known: binsOf, off });
        });
        parts.draw(by, declared("parts"), { free: freeFor(taken, taken.length - 1), known: binsOf, off });
        const limits = by !== null && declared("parts") === null && store.state?.unit.row === false;
        show(mostField, limits);
        setText(mostName, `One ${sheet.question.noun} counts in at most … parts`);
        const wanted = store.wanted === null ? undefined : (store.wanted as Record<string, unknown>)[MOST];
        most.draw(typeof wanted === "string" ? wanted : shown(by?.most ?? ""));
        most.box.disabled = off;
    }

    /** The columns that stand in no other place. */
    function freeFor(taken: readonly (string | undefined)[], place: number): string[] {
        const others = taken.filter((_, i) => i !== place);
        return (store.state?.columns ?? []).map(({ name }) => name).filter((name) => !others.includes(name));
    }

    /** A page without a question opens the form for its bins. */
    function begin(): boolean {
        const { sheet, state } = store;
        if (!store.suggested || opened !== null || !state?.columns.some(({ name }) => name === sheet!.question.column)) return false;
        open(sheet!.question.column);
        return true;
    }

    function draw(): void {
        if (begin()) return; // which draws
        const { sheet, state } = store;
        const off = store.locked || store.kernel.health === "gone";
        const question = sheet?.question;
        const made = isMade(sheet);
        const first = made ? question?.factors?.[0] : undefined;
        const name = (opened?.slot === 0 ? opened.column : null) ?? first?.column ?? question?.column ?? "";
        const asks = what();
        const nouns = state?.unit.nouns ?? question?.nouns ?? "—";
        const offered = new Set([COUNTS, ...(state?.questions.map(asksOf) ?? []), asks]);
        if ((state?.columns.length ?? 0) > 0) offered.add(RECORDS);
        setOptions(
            ask,
            Object.entries(ASKS).flatMap(([value, label]) => (offered.has(value) ? [{ value, label: label(nouns) }] : [])),
            asks,
        );
        const others = made && asks !== RECORDS ? [...(question!.factors ?? []).slice(1).map((one) => one.column), question!.by?.column] : [];
        const columns = asks === RECORDS ? knownOf(RECORDS).map((item) => item.column) : (state?.columns.map((item) => item.name) ?? []).filter((one) => !others.includes(one));
        setText(columnName, asks === RECORDS ? "of columns" : "by column");
        setOptions(
            column,
            [
                ...[...new Set([...columns, ...(name && name !== DECLARE ? [name] : [])])].map((value) => ({ value, label: value })),
                ...(asks === RECORDS ? [{ value: DECLARE, label: "Declare columns…" }] : []),
            ],
            name,
        );
        const asked = made ? [] : knownOf(asks).filter((item) => item.column === name);
        const bare = isMakeable() ? binsOf(name).filter(({ id }) => !asked.some((item) => item.id === id)) : [];
        const known = [...asked.map(({ id, bins_text: label }) => ({ value: id, label })), ...bare.map(({ id, text: label }) => ({ value: id, label }))];
        const onShow = first === undefined ? question : { ...question!, id: first.id, column: first.column, bins_text: first.text };
        if (onShow && onShow.column === name && asksOf(question) === asks && !known.some((item) => item.value === onShow.id)) {
            known.push({ value: onShow.id, label: onShow.bins_text });
        }
        const listed = asks !== RECORDS && columns.length > 0 && state?.columns.find((item) => item.name === name)?.kind === "text";
        const keyed = (!made && state?.questions.some((item) => item.column === name && item.bins === "")) ?? false;
        setOptions(
            chosen,
            [
                ...known,
                ...(listed && !keyed && question?.bins !== "" ? [{ value: KEYS, label: "No list: keys as they occur" }] : []),
                { value: DECLARE, label: asks === RECORDS ? "Declare columns…" : "Declare bins…" },
            ],
            opened === null || opened.slot !== 0 ? (onShow?.id ?? DECLARE) : DECLARE,
        );
        setText(protects, state?.unit.text ?? sheet?.unit.text ?? "—");
        for (const control of [ask, column, chosen]) control.disabled = off;
        drawBeside(sheet, off);
        show(declaration.element, opened?.asks === COUNTS);
        show(record.element, opened?.asks === RECORDS);
        sentence.replaceChildren(question === undefined || store.suggested ? "" : `${question.sentence} `, h("strong", {}, question === undefined ? "" : store.suggested ? "No question yet: its bins are to be declared." : `${capital(sizeOf(question))}.`));
        setText(opening, sheet?.opening ?? "");
        show(opening, (sheet?.opening ?? "") !== "");
        const words = store.faultOf("");
        setText(fault, words ?? "");
        show(fault, words !== null);
    }

    return { element, draw, close: () => store.declares(element, null) };
}

/** `6 bins`, `2 bins in each of 12 parts`. */
const sizeOf = ({ bins: count, by }: Sheet["question"]): string => bins(count) + (by === null ? "" : ` in each of ${shown(by.size)} parts`);

/** The options of a place. */
interface Choice {
    free: readonly string[];
    known: (column: string) => readonly Bins[];
    off: boolean;
}

interface SlotFields {
    element: HTMLElement;
    column: HTMLSelectElement;
    /** The choice, which column's bins are being declared for it, and its options. */
    draw(part: { id: string; column: string; text: string } | null, declared: string | null, choice: Choice): void;
}

/** A column that may be chosen besides, or none, and its bins. */
function slotFields(store: SessionStore, name: string, onColumn: (name: string) => void, onBins: (id: string) => void): SlotFields {
    const [columnId, binsId] = [newId(), newId()];
    const column = h("select", { id: columnId, onchange: () => onColumn(column.value) });
    const chosen = h("select", { id: binsId, onchange: () => onBins(chosen.value) });
    const binsName = h("label", { for: binsId }, "public bins");
    const binsField = h("div", { class: "dp-field dp-slot-bins", hidden: true }, binsName, chosen);
    const element = h("div", { class: "dp-slot" }, h("div", { class: "dp-field dp-slot-column" }, h("label", { for: columnId }, name), column), binsField);

    function draw(part: Parameters<SlotFields["draw"]>[0], declared: string | null, { free, known, off }: Choice): void {
        const held = declared ?? part?.column ?? NONE;
        const listed = [...new Set([...free, ...(held === NONE ? [] : [held])])];
        setOptions(column, [{ value: NONE, label: "none" }, ...listed.map((value) => ({ value, label: value }))], held);
        show(binsField, held !== NONE);
        setText(binsName, held === NONE ? "public bins" : `${held}: public bins`);
        const options = known(held).map(({ id, text }) => ({ value: id, label: text }));
        if (part !== null && declared === null && !options.some(({ value }) => value === part.id)) options.push({ value: part.id, label: part.text });
        const fixed = store.state?.columns.some((one) => one.name === held) !== true; // of no single column: its bins are declared in Python
        setOptions(chosen, [...options, ...(fixed ? [] : [{ value: DECLARE, label: "Declare bins…" }])], declared === null ? (part?.id ?? DECLARE) : DECLARE);
        for (const control of [column, chosen]) control.disabled = off;
        setAttribute(element, "data-held", held === NONE ? null : "true");
    }

    return { element, column, draw };
}

function field(name: string, control: HTMLElement, id: string | null, kind: string): HTMLElement {
    if (id !== null) return h("div", { class: `dp-field ${kind}` }, h("label", { for: id }, name), control);
    const labelId = newId();
    control.setAttribute("aria-labelledby", labelId);
    return h("div", { class: `dp-field ${kind}` }, h("span", { id: labelId, class: "dp-field-name" }, name), control);
}
