/** A question for records is declared on the page: columns and labels as a person knows them, errors at the field. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Host, render, settle, sheet, state, type Shown } from "./host";

let shown: Shown;

const COLUMNS = [
    { name: "visits", kind: "number" },
    { name: "health", kind: "text" },
    { name: "note", kind: "text", untyped: true },
];
const MECHANISMS = ["Dense", "Stability", "SampleCategory", "SampleBounded"].map((name) => ({
    name,
    title: name,
    about: "",
    ...(name.startsWith("Sample") ? { records: true } : {}),
}));

/** The plan of a question for records, as the kernel sends it. */
function planned(mechanism = "SampleCategory"): any {
    const found = sheet() as any;
    Object.assign(found.question, { id: "4ec0", column: "visits × health", asks: "records", bins: "4", bins_text: "0, 1 × good, bad" });
    Object.assign(found, { mechanisms: MECHANISMS, mechanism: { ...found.mechanism, name: mechanism, title: mechanism } });
    return found;
}

const counted = (): any => ({ ...sheet(), mechanisms: MECHANISMS });
const known = (): any => ({ ...state(), columns: COLUMNS, questions: state().questions.map((one) => ({ ...one, asks: "counts" })) });

function open(traits: Record<string, unknown> = {}): void {
    shown?.close();
    shown = render(new Host("workbench", { sheet: counted(), state: known(), ...traits }));
}

const select = (name: string): HTMLSelectElement => shown.el.querySelector<HTMLSelectElement>(`.dp-question .dp-${name} select`)!;
const options = (name: string): string[] => [...select(name).options].map(({ text }) => text);
const panel = (): HTMLElement => shown.el.querySelector<HTMLElement>("[aria-label='Declare columns']")!;
const rows = (): HTMLElement[] => [...panel().querySelectorAll<HTMLElement>(".dp-declare-column")];
const plans = (): any[] => shown.host.of("plan").map(({ args }) => args);

function pick(control: HTMLSelectElement, text: string): void {
    control.selectedIndex = [...control.options].findIndex((option) => option.text === text);
    expect(control.selectedIndex).toBeGreaterThanOrEqual(0);
    control.dispatchEvent(new Event("change"));
}

/** The box of a column's row by its label. */
function box(row: number, label: string): HTMLInputElement {
    const named = [...rows()[row]!.querySelectorAll("label")].find((one) => one.textContent!.startsWith(label))!;
    return rows()[row]!.querySelector<HTMLInputElement>(`[id="${named.htmlFor}"]`)!;
}

const press = (words: string): void => [...panel().querySelectorAll("button")].find((one) => one.textContent === words)!.click();

/** Open the fields and fill in two columns. */
function two(): void {
    pick(select("ask-for"), "a drawn record");
    box(0, "From").value = "0";
    box(0, "To").value = "1";
    press("Add a column");
    box(1, "Labels").value = "good, bad";
    box(1, "Any other").value = "bad";
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown.close();
    vi.useRealTimers();
});

test("a drawn record is on offer wherever columns are, and nothing is asked before columns are declared", () => {
    open();
    expect(options("ask-for")).toEqual(["counts of person-years", "a drawn record"]);
    expect(panel().hidden).toBe(true);
    pick(select("ask-for"), "a drawn record");
    expect([panel().hidden, rows().length, plans().length]).toEqual([false, 1, 0]);
    expect(panel().textContent).toContain("from public knowledge");
    expect(options("bins")).toEqual(["Declare columns…"]);
    press("Keep the old question");
    expect([panel().hidden, select("ask-for").value, select("column").value]).toEqual([true, "counts", "visits"]);
    open({ state: { ...known(), columns: [] } });
    expect(options("ask-for")).toEqual(["counts of person-years"]);
});

test("the columns that are declared are asked for, exactly, with the first mechanism that draws records", async () => {
    open();
    shown.host.answers["plan"] = ({ mechanism }) =>
        mechanism === "SampleCategory" ? { error: { kind: "ParameterError", message: "SampleCategory: not these" } } : { sheet: planned("SampleBounded") };
    two();
    press("Use these columns");
    await settle();
    const flags = { underflow: false, overflow: false, missing: false };
    const question = {
        kind: "records",
        columns: [
            { column: "visits", kind: "integers", low: "0", high: "1", ...flags },
            { column: "health", kind: "categories", labels: ["good", "bad"], other: false, missing: false },
        ],
        otherwise: { health: "bad" },
    };
    expect(plans().map((one) => one.mechanism)).toEqual(["SampleCategory", "SampleBounded"]);
    expect(plans().map((one) => one.question)).toEqual([question, question]);
    expect([panel().hidden, select("ask-for").value, select("column").value]).toEqual([true, "records", "visits × health"]);
    expect(shown.el.querySelector(".dp-question .dp-column label")!.textContent).toBe("of columns");
});

test.each([
    ["no whole number", () => (box(0, "From").value = "half"), 0, "From", "From and To must be whole numbers"],
    ["no end", () => (box(0, "To").value = ""), 0, "To", "From and To must be whole numbers"],
    ["ends exchanged", () => (box(0, "From").value = "9"), 0, "From", "From must be at most To, got 9 and 1."],
    ["no label", () => (box(1, "Labels").value = " , "), 1, "Labels", "Name at least one label"],
])("what makes no sense is said at its field, and nothing is asked: %s", async (_, spoil, row, label, words) => {
    open();
    two();
    spoil();
    press("Use these columns");
    await settle();
    const alert = rows()[row]!.querySelector<HTMLElement>("[role=alert]")!;
    const wrong = box(row, label);
    expect([alert.hidden, plans().length, document.activeElement === wrong]).toEqual([false, 0, true]);
    expect(alert.textContent).toContain(words);
    expect([wrong.getAttribute("aria-invalid"), wrong.getAttribute("aria-describedby")]).toEqual(["true", alert.id]);
    expect(rows()[1 - row]!.querySelector<HTMLElement>("[role=alert]")!.hidden).toBe(true);
});

test("what the kernel refuses of one column stands at that column, and the fields stay open", async () => {
    open();
    shown.host.answers["plan"] = () => ({ error: { kind: "DomainError", message: "health: labels must differ, got good twice" } });
    two();
    press("Use these columns");
    await settle();
    expect(rows().map((row) => row.querySelector("[role=alert]")!.textContent)).toEqual(["", "labels must differ, got good twice"]);
    expect(box(1, "Labels").getAttribute("aria-invalid")).toBe("true");
    expect([panel().hidden, shown.el.querySelector<HTMLElement>(".dp-question > .dp-fault")!.hidden]).toEqual([false, true]);
    shown.host.answers["plan"] = () => ({ error: { kind: "ParameterError", message: "these are too many" } });
    press("Use these columns");
    await settle();
    expect(rows()[1]!.querySelector("[role=alert]")!.textContent).toBe("");
    expect(shown.el.querySelector(".dp-question > .dp-fault")!.textContent).toBe("these are too many");
});

test("a label that stands for any other cell and is none of the column's is told at its own field", async () => {
    open();
    shown.host.answers["plan"] = () => ({ error: { kind: "DomainError", message: "health, any other cell: a label must be one of good, bad, got so-so" } });
    two();
    press("Use these columns");
    await settle();
    const alert = rows()[1]!.querySelector<HTMLElement>("[role=alert]")!;
    const wrong = box(1, "Any other");
    expect([alert.textContent, wrong.getAttribute("aria-invalid"), wrong.getAttribute("aria-describedby")]).toEqual(["a label must be one of good, bad, got so-so", "true", alert.id]);
    expect([document.activeElement === wrong, box(1, "Labels").hasAttribute("aria-invalid"), rows()[0]!.querySelector<HTMLElement>("[role=alert]")!.hidden]).toEqual([true, false, true]);
    expect(shown.el.querySelector<HTMLElement>(".dp-question > .dp-fault")!.hidden).toBe(true);
});

test("what the kernel refuses of bins to count by is told at their field, once; what is no fault of theirs at the question", async () => {
    open();
    pick(select("bins"), "Declare bins…");
    const bins = shown.el.querySelector<HTMLElement>("[aria-label='Declare bins']")!;
    const field = (label: string): HTMLInputElement => bins.querySelector<HTMLInputElement>(`[id="${[...bins.querySelectorAll("label")].find((one) => one.textContent === label)!.htmlFor}"]`)!;
    const use = async (message: string): Promise<void> => {
        shown.host.answers["plan"] = () => ({ error: { kind: "DomainError", message } });
        [...bins.querySelectorAll("button")].find((one) => one.textContent === "Use these bins")!.click();
        await settle();
    };
    const told = (): (string | null)[] => [bins.querySelector("[role=alert]")!.textContent, shown.el.querySelector(".dp-question > .dp-fault")!.textContent];
    [field("From").value, field("To").value] = ["0", "99999999999"];
    await use("visits: these are too many");
    expect([told(), bins.hidden, field("From").value, field("From").getAttribute("aria-invalid"), document.activeElement === field("From")]).toEqual([["these are too many", ""], false, "0", "true", true]);
    await use("Dense: not these");
    expect([told(), field("From").hasAttribute("aria-invalid")]).toEqual([["", "Dense: not these"], false]);
});

test("each column stands in a record once, and one that was added can be taken out", () => {
    open();
    pick(select("ask-for"), "a drawn record");
    press("Add a column");
    press("Add a column");
    const chosen = (): string[] => rows().map((row) => row.querySelector("select")!.value);
    const more = [...panel().querySelectorAll("button")].find((one) => one.textContent === "Add a column")!;
    expect([chosen(), more.disabled]).toEqual([["visits", "health", "note"], true]);
    [...rows()[1]!.querySelectorAll("button")].find((one) => one.textContent === "Remove")!.click();
    expect([chosen(), more.disabled, document.activeElement === more]).toEqual([["visits", "note"], false, true]);
    expect([...rows()[0]!.querySelector("select")!.options].map(({ text }) => text)).toEqual(["visits", "health"]);
    pick(rows()[0]!.querySelector("select")!, "health");
    expect([box(0, "Labels") !== undefined, rows()[0]!.getAttribute("aria-label")]).toEqual([true, "Column 1"]);
});

test("a question for records that is known is planned by its name, and counts come back likewise", async () => {
    const records = { id: "4ec0", column: "visits × health", bins_text: "0, 1 × good, bad", bins: "4", asks: "records" };
    const alone = { id: "4ec1", column: "visits", bins_text: "0, 1", bins: "2", asks: "records" };
    open({ state: { ...known(), questions: [...known().questions, records, alone] } });
    shown.host.answers["plan"] = ({ question }: any) => ({ sheet: question.id === "4ec0" ? planned() : counted() });
    expect(options("bins")).not.toContain("0, 1"); // a record of one column is no histogram of it
    pick(select("ask-for"), "a drawn record");
    await settle();
    expect(plans().map(({ question, mechanism }) => [question, mechanism])).toEqual([[{ id: "4ec0" }, "SampleCategory"]]);
    expect(options("column")).toEqual(["visits × health", "visits", "Declare columns…"]);
    pick(select("ask-for"), "counts of person-years");
    await settle();
    expect(plans().at(-1)).toMatchObject({ question: { id: known().questions[0].id }, mechanism: "Dense" });
});

test("bins declared to count by, while a record is on show, are planned with a mechanism that counts", async () => {
    open({ sheet: planned(), state: { ...known(), questions: [] } });
    expect(select("ask-for").value).toBe("records");
    shown.host.answers["plan"] = () => ({ sheet: counted() });
    pick(select("ask-for"), "counts of person-years");
    const bins = shown.el.querySelector<HTMLElement>("[aria-label='Declare bins']")!;
    expect([bins.hidden, panel().hidden]).toEqual([false, true]);
    bins.querySelectorAll<HTMLInputElement>("input[type=text]").forEach((input, i) => (input.value = String(i)));
    shown.button("Use these bins").click();
    await settle();
    expect(plans().map(({ mechanism, question }) => [mechanism, question.kind])).toEqual([["Dense", "integers"]]);
});

test("without a kernel nothing is on offer", async () => {
    open();
    shown.host.widget_manager.kernel = { status: "dead" };
    shown.host.disconnect();
    await settle();
    expect(["ask-for", "column", "bins"].map((name) => select(name).disabled)).toEqual([true, true, true]);
});

/** The release pane. */
const pane = (): HTMLElement => shown.el.querySelector<HTMLElement>(".dp-release")!;
const live = (): boolean => [...pane().querySelectorAll("button.dp-pay")].some((one) => one.getAttribute("aria-disabled") !== "true" && !one.classList.contains("dp-off"));

test.each([
    ["the bins of this column", () => pick(select("bins"), "Declare bins…"), "Bins of visits"],
    ["another column", () => pick(select("column"), "health"), "Bins of health"],
    ["a record", () => pick(select("ask-for"), "a drawn record"), "Columns of a record"],
])("while a form is open for %s nothing can be paid for, and the pane says why", async (_, begin, what) => {
    open({ state: { ...known(), entries: [], running: null } });
    await settle();
    vi.advanceTimersByTime(1_000);
    expect(live()).toBe(true);
    begin();
    expect(live()).toBe(false);
    expect(pane().textContent).toContain("being declared");
    expect(pane().textContent).toContain(what);
    const before = shown.host.of("release").length;
    for (const button of pane().querySelectorAll<HTMLElement>(".dp-actions button")) button.click();
    expect(shown.host.of("release").length).toBe(before);
    [...shown.el.querySelectorAll("button")].find((one) => /^Keep the old/.test(one.textContent!) && one.closest("[hidden]") === null)!.click();
    vi.advanceTimersByTime(1_000);
    await settle();
    expect(live()).toBe(true);
});

test("a payment that waits for its confirmation is taken back where a form is opened", async () => {
    open({ state: { ...known(), entries: [], running: null } });
    await settle();
    vi.advanceTimersByTime(1_000);
    pane().querySelector<HTMLElement>("button.dp-pay")!.click();
    const confirmed = shown.host.of("release").length + shown.host.of("status").length;
    pick(select("bins"), "Declare bins…");
    expect(live()).toBe(false);
    expect(pane().querySelector("[role=alertdialog]")).toBeNull();
    expect(shown.host.of("release").length).toBeLessThanOrEqual(confirmed);
});

const suggested = (column: string): any => ({ ...counted(), suggested: true, question: { ...counted().question, column, factors: [{ id: "f0", column, text: "0–9", size: "10" }] } });

test.each([
    ["visits", ["0", "9"], "0 to 9 is a suggestion"],
    ["health", [""], "Name the labels that you expect"],
    ["seen", ["2016", "2026"], "The months from 2016 to 2025 are a suggestion"],
])("a page without a question opens the form for %s, with a suggestion that is marked as one, and sells nothing", async (column, values, words) => {
    const columns = [...COLUMNS, { name: "seen", kind: "time" }];
    open({ sheet: suggested(column), state: { ...known(), columns, questions: [], bins: [], entries: [], running: null } });
    await settle();
    vi.advanceTimersByTime(1_000);
    const form = shown.el.querySelector<HTMLElement>("[aria-label='Declare bins']")!;
    expect(form.hidden).toBe(false);
    expect([...form.querySelectorAll<HTMLInputElement>("input[type=text]")].map(({ value }) => value)).toEqual(values);
    expect(form.textContent).toContain(words);
    expect(form.textContent).toContain("dpviz has not looked at the data");
    expect(form.textContent).not.toContain("Keep the old ones");
    expect(live()).toBe(false);
    expect(pane().textContent).toContain(`Bins of ${column} are being declared; until then the plan on show is an example`);
    form.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    expect(form.hidden).toBe(false);
    [...form.querySelectorAll("button")].find((one) => one.textContent === "Use these bins")!.click();
    expect(plans().length).toBe(column === "health" ? 0 : 1);
});

test("bins that were suggested can be paid for once they are declared", async () => {
    open({ sheet: suggested("visits"), state: { ...known(), questions: [], bins: [], entries: [], running: null } });
    await settle();
    expect(live()).toBe(false);
    shown.host.answers["plan"] = () => ({ sheet: counted() });
    [...shown.el.querySelectorAll("button")].find((one) => one.textContent === "Use these bins")!.click();
    await settle();
    vi.advanceTimersByTime(1_000);
    await settle();
    expect(shown.el.querySelector<HTMLElement>("[aria-label='Declare bins']")!.hidden).toBe(true);
    expect(live()).toBe(true);
});
