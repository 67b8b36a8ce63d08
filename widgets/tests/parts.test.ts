/** Several columns and parts: chosen in the row, every way to share the price out beside each other, one of them picked. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Host, render, settle, sheet, state, type Shown } from "./host";

let shown: Shown;

const COLUMNS = [
    { name: "visits", kind: "number" },
    { name: "health", kind: "text" },
    { name: "month", kind: "number" },
    { name: "ward", kind: "text" },
];
const BINS = {
    visits: { id: "9f3c", column: "visits", text: "0, 1, …, 40, over 40", size: "42 bins" },
    health: { id: "77aa", column: "health", text: "good, bad", size: "2 bins" },
    halves: { id: "88bb", column: "month", text: "1 to below 7, 7 to below 13", size: "2 bins" },
    month: { id: "99cc", column: "month", text: "1, 2, …, 12", size: "12 bins" },
};
const MECHANISMS = ["Dense", "Stability"].map((name) => ({ name, title: name, about: "" }));
const MONTHS = { ...BINS.month, size: "12", most: "2", each: "month" };

/** The plan on show, of these columns and parts. */
function planned(factors: object[] = [BINS.visits], more: Record<string, unknown> = {}): any {
    const found = sheet() as any;
    Object.assign(found.question, { factors, ...more });
    if (factors.length > 1) Object.assign(found.question, { id: "cafe", column: "visits × health" });
    found.mechanisms = MECHANISMS;
    return found;
}

/** The same, for each month: ± 15 in the one way, twice as much in the other, and a third that is refused. */
function grouped(way = "parallel"): any {
    const found = planned([BINS.visits], { id: "beef", plain: "9f3c", by: MONTHS });
    const [measure] = found.measures;
    found.way = way;
    found.ways = [
        { name: "parallel", label: "parallel parts", refused: "", rule: "McSherry 2009", measure },
        { name: "sequence", label: "one after the other", refused: "", rule: "basic composition", measure },
        { name: "new", label: "another way", refused: "only lists add up so, got <b>Dense</b>; take another way" },
    ];
    for (const point of [found.now, ...found.fans.epsilon]) {
        const bars = Object.entries(point.errors).map(([beta, errors]: [string, any]) => [beta, errors.one]);
        const twice = bars.map(([beta, bar]) => [beta, { ...bar, value: String(2 * Number(bar.value)) }]);
        const price = { epsilon: point.price.epsilon, delta: "0" };
        point.ways = { parallel: { price, errors: Object.fromEntries(bars) }, sequence: { price, errors: Object.fromEntries(twice) } };
    }
    return found;
}

const known = (row = false): any => ({ ...state(), columns: COLUMNS, bins: Object.values(BINS), unit: { ...state().unit, row } });

function open(traits: Record<string, unknown> = {}): void {
    shown?.close();
    shown = render(new Host("workbench", { sheet: planned(), state: known(), ...traits }));
    shown.host.answers["plan"] = () => ({ error: { kind: "ParameterError", message: "refused" } });
}

const question = (): HTMLElement => shown.el.querySelector<HTMLElement>(".dp-question")!;
const visible = (one: HTMLElement): boolean => one.closest("[hidden]") === null;

/** The controls with this name that are on show. */
function named<E extends HTMLElement = HTMLSelectElement>(name: string): E[] {
    const labels = [...question().querySelectorAll("label")].filter((one) => one.textContent === name && visible(one));
    return labels.map((one) => question().querySelector<E>(`[id="${one.htmlFor}"]`)!);
}

const options = (control: HTMLSelectElement): string[] => [...control.options].map(({ text }) => text);

function pick(control: HTMLSelectElement, text: string): void {
    control.selectedIndex = options(control).indexOf(text);
    expect(control.selectedIndex).toBeGreaterThanOrEqual(0);
    control.dispatchEvent(new Event("change"));
}

const last = (): any => shown.host.of("plan").at(-1)?.args;
const radios = (): HTMLInputElement[] => [...shown.el.querySelectorAll<HTMLInputElement>(".dp-ways input")];
const lines = (): string[] => [...shown.el.querySelectorAll<HTMLElement>(".dp-way")].map((one) => [...one.children].map((part) => part.textContent).join("|"));
const press = (words: string): void => [...question().querySelectorAll("button")].find((one) => one.textContent === words && visible(one))!.click();

function box(name: string): HTMLInputElement {
    return named<HTMLInputElement>(name)[0]!;
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown.close();
    vi.useRealTimers();
});

test("a column is set beside the first in bins that are known, and the page sends the product as its parts", async () => {
    open();
    const [beside] = named("× column");
    expect(options(beside!)).toEqual(["none", "health", "month", "ward"]);
    expect([named("for each").length, named("× column").length]).toEqual([1, 1]);
    shown.host.answers["plan"] = () => ({ sheet: planned([BINS.visits, BINS.health]) });
    pick(beside!, "health");
    await settle();
    expect(last().question).toEqual({ kind: "product", of: { id: "9f3c" }, factors: [{ id: "9f3c" }, { id: "77aa" }] });
    const [first, second] = named("× column");
    expect([first!.value, second!.value, options(second!)]).toEqual(["health", "", ["none", "month", "ward"]]);
    expect(options(named("by column")[0]!)).toEqual(["visits", "month", "ward"]);
    expect(options(named("health: public bins")[0]!)).toEqual(["good, bad", "Declare bins…"]);
    pick(second!, "month");
    await settle();
    expect(last().question.factors).toEqual([{ id: "9f3c" }, { id: "77aa" }, { id: "88bb" }]);
    pick(first!, "none");
    await settle();
    expect(last().question).toEqual({ kind: "product", of: { id: "cafe" }, factors: [{ id: "9f3c" }] });
    pick(named("by column")[0]!, "month");
    await settle();
    expect(last().question.factors).toEqual([{ id: "88bb" }, { id: "77aa" }]);
});

test("a column without known bins is declared in its place, and the focus comes back to it", async () => {
    open();
    document.body.append(shown.el);
    pick(named("× column")[0]!, "ward");
    await settle();
    expect([shown.host.of("plan").length, named("ward: public bins")[0]!.value]).toEqual([0, "\u0000declare"]);
    box("Labels, separated by commas").value = "A, B";
    shown.host.answers["plan"] = () => ({ error: { kind: "DomainError", message: "ward: these labels are the same" } });
    press("Use these bins");
    await settle();
    const declared = { column: "ward", kind: "categories", labels: ["A", "B"], other: true, missing: false };
    expect(last().question).toEqual({ kind: "product", of: { id: "9f3c" }, factors: [{ id: "9f3c" }, declared] });
    expect(question().querySelector(".dp-declare [role=alert]")!.textContent).toBe("these labels are the same");
    box("Labels, separated by commas").focus();
    shown.host.answers["plan"] = () => ({ sheet: planned([BINS.visits, { id: "dd", column: "ward", text: "A, B", size: "3 bins" }]) });
    press("Use these bins");
    await settle();
    expect(document.activeElement).toBe(named("× column")[0]);
    expect([named("× column")[0]!.value, named("Labels, separated by commas").length]).toEqual(["ward", 0]);
});

test("parts are chosen and limited; of rows nobody is asked in how many one counts", async () => {
    open();
    shown.host.answers["plan"] = () => ({ sheet: grouped() });
    pick(named("for each")[0]!, "month");
    await settle();
    expect(last().question).toEqual({ kind: "each", of: { id: "9f3c" }, by: { id: "88bb" }, most: "" });
    expect(question().textContent).toContain("42 bins in each of 12 parts.");
    const limit = box("One person-year counts in at most … parts");
    expect([limit.value, limit.placeholder]).toEqual(["2", "all"]);
    shown.host.answers["plan"] = () => ({ error: { kind: "ParameterError", message: "a whole number from 1 on, got many" } });
    limit.value = "many";
    limit.dispatchEvent(new Event("change"));
    await settle();
    expect(last().question).toEqual({ kind: "each", of: { id: "9f3c" }, by: { id: "99cc" }, most: "many" });
    expect([limit.getAttribute("aria-invalid"), limit.value]).toEqual(["true", "many"]);
    expect(shown.el.querySelector<HTMLElement>(`[id="${limit.getAttribute("aria-describedby")}"]`)!.textContent).toContain("whole number");
    limit.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    expect([limit.value, limit.getAttribute("aria-invalid")]).toEqual(["2", null]);
    pick(named("× column")[0]!, "health");
    await settle();
    const whole = { kind: "product", of: { id: "9f3c" }, factors: [{ id: "9f3c" }, { id: "77aa" }] };
    expect(last().question).toEqual({ kind: "each", of: whole, by: { id: "99cc" }, most: "2" });
    pick(named("month: public bins")[0]!, BINS.halves.text);
    await settle();
    expect(last().question).toEqual({ kind: "each", of: { id: "9f3c" }, by: { id: "88bb" }, most: "2" });
    pick(named("for each")[0]!, "none");
    await settle();
    expect(last().question).toEqual({ id: "9f3c" });
    open({ sheet: grouped(), state: known(true) });
    expect(named("One person-year counts in at most … parts")).toEqual([]);
});

test("bins that only parts or products have are offered for a question by itself, too", async () => {
    open();
    pick(named("by column")[0]!, "month");
    await settle();
    expect(last().question).toEqual({ kind: "product", of: { id: "9f3c" }, factors: [{ id: "88bb" }] });
    open({ sheet: planned([BINS.halves], { id: "0123", column: "month" }) });
    const [bins] = named("Bins (public, not taken from the data)");
    expect(options(bins!)).toEqual(["1 to below 7, 7 to below 13", "1, 2, …, 12", "0, 1, …, 40, over 40", "Declare bins…"]);
    pick(bins!, "1, 2, …, 12");
    await settle();
    expect(last().question).toEqual({ kind: "product", of: { id: "0123" }, factors: [{ id: "99cc" }] });
});

test("a mechanism that cannot answer parts is refused at its select, and the plan stays", async () => {
    open({ sheet: grouped() });
    shown.host.answers["plan"] = () => ({ error: { kind: "ParameterError", message: "Stability answers no parts" } });
    const mechanism = shown.el.querySelector<HTMLSelectElement>(".dp-mechanism select")!;
    pick(mechanism, "Stability");
    await settle();
    expect([mechanism.value, mechanism.getAttribute("aria-invalid")]).toEqual(["Dense", "true"]);
    expect(shown.el.querySelector(".dp-mechanism [role=alert]")!.textContent).toBe("⚠ Stability answers no parts");
    expect(question().querySelector<HTMLElement>(":scope > [role=alert]")!.hidden).toBe(true);
});

test("every way stands beside the others with its error, the best is named, and a refused one says why", () => {
    open({ sheet: grouped() });
    expect(lines()).toEqual([
        "parallel parts|±15|errs least · exact",
        "one after the other|±30|exact",
        "another way||only lists add up so, got <b>Dense</b>; take another way",
    ]);
    expect(radios().map(({ value, checked }) => [value, checked])).toEqual([["parallel", true], ["sequence", false]]);
    expect(shown.el.querySelector(".dp-ways")!.getAttribute("role")).toBe("radiogroup");
    const slider = shown.el.querySelector<HTMLInputElement>("input[type=range]")!;
    slider.value = String(Number(slider.value) + 2);
    slider.dispatchEvent(new Event("input"));
    expect(lines()[0]).not.toContain("±15");
    expect(shown.host.of("plan")).toEqual([]); // every point has every way
});

test("a way that leaves something out, or that is no release, is set beside the others as what it is", () => {
    const found = grouped();
    const [measure] = found.measures;
    const origin = { ...measure, origin: "above the 9th count of all parts" };
    found.ways.push(
        { name: "product", label: "one product domain", refused: "", rule: "", measure: origin, leaves_out: "3 bins of all parts" },
        { name: "sub", label: "a sub-session", refused: "", rule: "", measure, opened: "session.open(…)" },
    );
    for (const point of [found.now, ...found.fans.epsilon]) {
        point.ways.product = { ...point.ways.parallel, errors: Object.fromEntries(found.betas.map((beta: string) => [beta, { value: "1", kind: "exact", rule: "" }])) };
        point.ways.sub = point.ways.sequence;
    }
    open({ sheet: found });
    expect(lines().filter((line) => !line.includes("refused"))).toEqual([
        "parallel parts|±15|errs least of one release that leaves nothing out · exact",
        "one after the other|±30|exact",
        expect.stringContaining("another way"),
        "one product domain|any one bin ±1 above the 9th count of all parts|exact · 3 bins of all parts",
        "a sub-session|±30|exact · no release: session.open(…)",
    ]);
    expect(radios().map(({ value }) => value)).toEqual(["parallel", "sequence", "product"]);
});

test("a way that is picked is planned, stays while ε moves, and is what the order says", async () => {
    open({ sheet: grouped() });
    shown.host.answers["plan"] = ({ way }) => ({ sheet: grouped(String(way ?? "parallel")) });
    const before = radios();
    before[1]!.checked = true;
    before[1]!.dispatchEvent(new Event("change"));
    await settle();
    expect([last().way, last().question]).toEqual(["sequence", { id: "beef" }]);
    expect(radios()).toEqual(before); // the same buttons, so that the focus stays
    expect(radios()[1]!.checked).toBe(true);
    await vi.advanceTimersByTimeAsync(1000);
    expect(shown.el.querySelector("[aria-live]")!.textContent).toContain("one after the other: any one bin within");
    const exact = shown.el.querySelector<HTMLInputElement>(".dp-epsilon input[type=text]")!;
    exact.value = "0.21";
    exact.dispatchEvent(new Event("change"));
    await vi.advanceTimersByTimeAsync(500);
    expect([last().way, last().parameters.epsilon]).toEqual(["sequence", "0.21"]);
    pick(shown.el.querySelector<HTMLSelectElement>(".dp-mechanism select")!, "Stability");
    await settle();
    expect("way" in last()).toBe(false); // with another mechanism another way may be the best
    open({ sheet: grouped("sequence") });
    await vi.advanceTimersByTimeAsync(1000);
    shown.button("Release").click();
    await settle();
    const [order] = shown.host.of("release");
    expect([order!.args["way"], order!.args["question"]]).toEqual(["sequence", { id: "beef" }]);
});

test("a sheet whose way it does not tell of is not believed", () => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    for (const spoil of [
        (one: any): void => void (one.way = "new"),
        (one: any): void => void (one.way = "none"),
        (one: any): void => void delete one.now.ways.parallel,
        (one: any): void => void (one.fans.epsilon[3].ways = null),
    ]) {
        const bad = grouped();
        spoil(bad);
        open({ sheet: bad });
        expect(shown.el.querySelectorAll(".dp-way").length).toBe(0);
    }
    vi.restoreAllMocks();
});

test("without a kernel the ways are read and none can be picked; a drawn record has neither columns beside nor parts", () => {
    const host = new Host("workbench", { sheet: grouped(), state: known() });
    host.widget_manager.kernel = null;
    shown?.close();
    shown = render(host);
    expect(radios().every(({ disabled }) => disabled)).toBe(true);
    expect(lines()[0]).toContain("±15");
    const record = planned();
    delete record.question.factors;
    record.question.asks = "records";
    open({ sheet: record });
    expect([named("× column").length, named("for each").length]).toEqual([0, 0]);
});
