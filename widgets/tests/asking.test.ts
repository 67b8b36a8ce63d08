/** Bars that a reader picks are added up or compared by the kernel: by mouse, by keyboard, by name; the latest wins. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { NO_KERNEL, valueText } from "../src/answers/asking";
import { bring } from "../src/answers/result_view";
import { queriesView } from "../src/views/queries";
import { ranksView } from "../src/views/ranks";
import { treeView } from "../src/views/tree";
import { reach, spread } from "../src/wording/words";
import { Host, press, render, result, settle, sheet, type Shown } from "./host";

bring(treeView, ranksView, queriesView);

let shown: Shown;

const askable = (more: Record<string, unknown> = {}): any => ({ ...result(), adds_up: true, ...more });

const ROW = {
    reader: "",
    what: "visits: 2 to 9",
    value: "407",
    low: "388",
    high: "425",
    how: "bound",
    known: "proved bound",
    rule: "the law of a sum",
    among: "for all of its kind at once",
    bias: "biased: raised to 0",
    remarks: [],
    empty: false,
    chance: null,
};
const body = (row: Record<string, unknown> = {}, more: Record<string, unknown> = {}): any => ({
    rows: [{ ...ROW, ...row }],
    rests_on: "Rests on entry 3 (ε = 0.1); costs nothing more.",
    ...more,
});

const part = (): HTMLElement => shown.el.querySelector<HTMLElement>(".dp-ask")!;
const answer = (): string => part().querySelector("[role=status]")!.textContent!;
const fault = (): string => part().querySelector("[role=alert]")!.textContent!;
const boxes = (): HTMLInputElement[] => [...part().querySelectorAll<HTMLInputElement>("input[type=text]")];
const choice = (i: number): HTMLSelectElement => part().querySelectorAll<HTMLSelectElement>("select")[i]!;
const walker = (): HTMLInputElement => shown.el.querySelector<HTMLInputElement>(".dp-walker")!;
const cover = (): HTMLElement => shown.el.querySelector<HTMLElement>(".dp-cover")!;
const brushes = (): HTMLElement[] => [...shown.el.querySelectorAll<HTMLElement>(".dp-brush")].filter((one) => !one.hidden);
const asked = (): any[] => shown.host.of("ask").map(({ args }) => args);

function open(answered: unknown = askable(), traits: Record<string, unknown> = {}): void {
    shown?.close();
    shown = render(new Host("workbench", { result: answered as string, ...traits }));
}

/** Jump over the pause in which more moves may come, and let the answer arrive. */
async function waited(): Promise<void> {
    await vi.advanceTimersByTimeAsync(160);
    await settle();
}

function pick(select: HTMLSelectElement, value: string): void {
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
}

function type(...texts: string[]): void {
    boxes().forEach((box, i) => (box.value = texts[i]!));
    press(boxes()[1]!, "Enter");
}

/** A pointer over the middle of a bar: jsdom lays nothing out, so the chart's own geometry says where that is. */
function point(kind: string, bin: number): void {
    const axis = [...shown.el.querySelectorAll(".dp-stage svg .dp-axis")].map((line) => ["x1", "x2"].map((end) => Number(line.getAttribute(end))));
    const [left, right] = axis.find(([from, to]) => to! - from! > 100)!;
    const x = left! + ((bin + 0.5) / 42) * (right! - left!);
    cover().dispatchEvent(new MouseEvent(kind, { bubbles: true, button: 0, clientX: x, clientY: 60 }));
}

function click(bin: number): void {
    point("pointerdown", bin);
    point("pointerup", bin);
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown.close();
    vi.useRealTimers();
});

test("an answer whose rows do not add up, or of an older kernel, has no such control", () => {
    open(result());
    expect(part()).toBeNull();
    open(askable({ adds_up: false }));
    expect(part()).toBeNull();
});

test("a drag over bars asks for their sum once, by their rows, and says what the kernel says", async () => {
    open();
    shown.host.answers["ask"] = () => body();
    expect(answer()).toContain("Drag over bars");
    point("pointerdown", 2);
    for (let bin = 3; bin <= 9; bin += 1) point("pointermove", bin);
    point("pointerup", 9);
    expect([boxes().map((box) => box.value), brushes().length, asked().length]).toEqual([["2", "9"], 1, 0]);
    expect(answer()).toBe("Asking the kernel…");
    await waited();
    expect(asked()).toEqual([
        { number: "3", beside: "", what: "stretch", by: "rows", first: ["2"], second: ["9"], picked: "after", beta: "0.05" },
    ]);
    expect(answer()).toBe(
        "visits: 2 to 9: 407 person-yearsbetween 388 and 425Holds 95 times in 100, for all of its kind at once, so also for one that caught your eye " +
            "(proved bound: the law of a sum). Biased: raised to 0. Rests on entry 3 (ε = 0.1); costs nothing more.",
    );
});

test("a drag to the left is the same stretch", async () => {
    open();
    shown.host.answers["ask"] = () => body();
    point("pointerdown", 9);
    point("pointermove", 2);
    point("pointerup", 2);
    await waited();
    expect([asked()[0].first, asked()[0].second]).toEqual([["2"], ["9"]]);
});

test("Shift with arrows brushes from where it began, and an arrow alone walks on without brushing", async () => {
    open();
    shown.host.answers["ask"] = () => body();
    walker().focus();
    press(walker(), "ArrowRight");
    for (const _ of "abc") press(walker(), "ArrowRight", { shiftKey: true });
    expect(boxes().map((box) => box.value)).toEqual(["1", "4"]);
    await waited();
    expect(asked().length).toBe(1);
    press(walker(), "ArrowRight");
    await waited();
    expect(asked().length).toBe(1);
    for (const _ of "ab") press(walker(), "ArrowLeft", { shiftKey: true });
    await waited();
    expect([asked()[1].first, asked()[1].second]).toEqual([["3"], ["5"]]);
    press(walker(), "Escape");
    expect([brushes().length, boxes().map((box) => box.value)]).toEqual([0, ["", ""]]);
});

test("two bars that are clicked are compared, and which is larger is said as far as it is settled", async () => {
    open();
    shown.host.answers["ask"] = () => body({ what: "visits: 2, less 5", low: "12", chance: { value: "0.000622", rule: "the largest gap" } }, { leader: "2" });
    click(5);
    expect([answer(), brushes().length]).toEqual(["Click another bar, or press Enter on it, to compare the two.", 1]);
    click(2);
    expect(brushes().length).toBe(2);
    await waited();
    expect(asked()).toMatchObject([{ what: "pair", by: "rows", first: ["5"], second: ["2"] }]);
    expect(answer()).toContain("2 is larger. p ≤ 0.000622: how likely so large a lead would be if 2 were no larger (the largest gap).");
    shown.host.answers["ask"] = () => body({ low: "-3", chance: { value: "0.4", rule: "r" } }, { leader: "2" });
    pick(choice(1), "before");
    await waited();
    expect([asked()[1].picked, answer().includes("Which is larger is not settled. p ≤ 0.4")]).toEqual(["before", true]);
    click(2); // let go again: one is left
    expect([brushes().length, answer()]).toEqual([1, "Click another bar, or press Enter on it, to compare the two."]);
    click(5);
    expect([brushes().length, answer().startsWith("Drag over bars")]).toEqual([0, true]);
});

test("two bars are ticked by keyboard", async () => {
    open();
    shown.host.answers["ask"] = () => body({}, { leader: "1" });
    walker().focus();
    press(walker(), "ArrowRight");
    press(walker(), "Enter");
    press(walker(), "ArrowRight");
    press(walker(), " ");
    await waited();
    expect(asked()).toMatchObject([{ what: "pair", first: ["1"], second: ["2"] }]);
});

test("bins are named in boxes; one that is not drawn is left to the kernel to find", async () => {
    open();
    shown.host.answers["ask"] = () => body();
    type("3", "over 40");
    await waited();
    type("3", " 77 ");
    await waited();
    expect(asked().map(({ by, first, second }) => [by, first, second])).toEqual([
        ["rows", ["3"], ["41"]],
        ["labels", ["3"], [" 77 "]], // as it was typed: a key may have blanks at its ends
    ]);
    expect(brushes().length).toBe(0);
    press(boxes()[0]!, "Enter"); // nothing new is asked
    await waited();
    expect(asked().length).toBe(2);
    pick(choice(0), "pair");
    await waited();
    expect(asked()[2]).toMatchObject({ what: "pair", by: "labels" });
});

test("a label with blanks at its ends is asked for as it was typed, unless only without them it is a row", async () => {
    const labels = [...result().labels];
    labels[5] = " five ";
    open(askable({ labels }));
    shown.host.answers["ask"] = () => body();
    type(" five ", " 7 ");
    await waited();
    expect(asked().at(-1)).toMatchObject({ by: "rows", first: ["5"], second: ["7"] });
    expect(boxes().map((box) => box.value)).toEqual([" five ", "7"]);
    type("five", " other");
    await waited();
    expect(asked().at(-1)).toMatchObject({ by: "labels", first: ["five"], second: [" other"] });
    const before = asked().length;
    type("  ", "3");
    await waited();
    expect(asked().length).toBe(before);
});

test("a refusal is told in the kernel's words at the boxes, and the next answer takes it away", async () => {
    open();
    shown.host.answers["ask"] = () => ({ error: { kind: "DomainError", message: "a range begins with its lower end" } });
    type("9", "2");
    await waited();
    expect([fault(), boxes()[0]!.getAttribute("aria-invalid")]).toEqual(["a range begins with its lower end", "true"]);
    shown.host.answers["ask"] = () => body();
    type("2", "9");
    await waited();
    expect([fault(), boxes()[0]!.hasAttribute("aria-invalid"), answer().startsWith("visits: 2 to 9: 407")]).toEqual(["", false, true]);
});

test("only the latest question is answered, and none about another release", async () => {
    open();
    type("1", "2");
    await waited();
    type("1", "3");
    await waited();
    const [first, second] = shown.host.of("ask");
    shown.host.tell({ v: 1, re: second!.id, ok: true, body: body({ what: "second" }) });
    await settle();
    shown.host.tell({ v: 1, re: first!.id, ok: true, body: body({ what: "first" }) });
    await settle();
    expect(answer().startsWith("second: 407")).toBe(true);
    type("1", "4");
    await waited();
    const third = shown.host.of("ask").at(-1)!;
    shown.host.write("result", askable({ number: "9" }));
    shown.host.tell({ v: 1, re: third.id, ok: true, body: body({ what: "third" }) });
    await settle();
    expect(answer()).toContain("Drag over bars");
});

test("the level of the chart is that of the interval", async () => {
    open();
    shown.host.answers["ask"] = () => body();
    type("1", "2");
    await waited();
    const level = [...shown.el.querySelectorAll<HTMLSelectElement>(".dp-result-tools select")].find((one) => one.getAttribute("aria-label") === "How often the bars hold")!;
    pick(level, "0.01");
    await waited();
    expect(asked().map(({ beta }) => beta)).toEqual(["0.05", "0.01"]);
    expect(answer()).toContain("Holds 99 times in 100");
});

test("without a kernel it says what it needs, and asks again when one is back", async () => {
    open();
    shown.host.answers["ask"] = () => body();
    shown.host.widget_manager = { kernel: null };
    await vi.advanceTimersByTimeAsync(1_100);
    expect(answer()).toBe(NO_KERNEL);
    type("1", "2");
    await waited();
    expect([answer(), asked().length, brushes().length]).toEqual([NO_KERNEL, 0, 1]);
    shown.host.widget_manager = { kernel: { status: "idle" } };
    await vi.advanceTimersByTimeAsync(1_100);
    await waited();
    await waited();
    expect([asked().length, answer().startsWith("visits: 2 to 9")]).toEqual([1, true]);
});

test("a kernel that goes while a question waits leaves no page that waits for ever", async () => {
    open();
    type("1", "2");
    await waited();
    expect(answer()).toBe("Asking the kernel…");
    shown.host.widget_manager = { kernel: null };
    await vi.advanceTimersByTimeAsync(1_100);
    expect(answer()).toBe(NO_KERNEL);
});

test("two answers to one question are read together where the kernel says that they combine", async () => {
    open(askable({ together: { number: "2", python: "dv.combine(session.releases[2], session.releases[3])" } }));
    shown.host.answers["ask"] = () => body();
    expect(part().textContent).toContain("read together with release 2, which answers the same question");
    expect(part().querySelector("code")!.textContent).toBe("dv.combine(session.releases[2], session.releases[3])");
    type("1", "2");
    await waited();
    part().querySelector<HTMLInputElement>("input[type=checkbox]")!.click();
    await waited();
    expect(asked().map(({ beside }) => beside)).toEqual(["", "2"]);
});

test.each([
    [{ low: null }, "at most 425"],
    [{ high: null }, "at least 388"],
    [{ low: null, high: null }, "no end is known"],
    [{ how: "numerical" }, "≈ between 388 and 425"],
    [{ value: "-7/3", low: "-20", high: "15" }, "visits: 2 to 9: −2 person-yearsbetween −20 and 15"],
])("an interval is told as it is known: %j", async (row, words) => {
    open();
    shown.host.answers["ask"] = () => body(row);
    type("1", "2");
    await waited();
    expect(answer()).toContain(words);
});

test.each([[{ value: "many" }], [{ low: 3 }], [{ remarks: "none" }]])("an answer that makes no sense is not shown: %j", async (row) => {
    open();
    shown.host.answers["ask"] = () => body(row);
    type("1", "2");
    await waited();
    expect([answer().includes("visits: 2 to 9"), fault().includes("cannot read the kernel's answer")]).toEqual([false, true]);
});

test("what a kernel says is text and nothing else", async () => {
    open();
    const evil = "<img src=x onerror=alert(1)>";
    shown.host.answers["ask"] = () => body({ what: evil, among: evil, bias: evil, remarks: [evil] });
    type("1", "2");
    await waited();
    expect([part().querySelector("img"), answer().split(evil).length - 1 >= 2]).toEqual([null, true]);
});

test("of a long answer a stretch that is brushed can be looked at alone, and all of it again", async () => {
    const count = 200;
    const labels = Array.from({ length: count }, (_, i) => String(i));
    open(askable({ labels, short_labels: labels, values: labels, bins: String(count) }));
    shown.host.answers["ask"] = () => body();
    expect(shown.el.querySelector<HTMLElement>(".dp-zoom")).toBeNull();
    expect(shown.button("Look closer").hidden).toBe(true);
    type("50", "80");
    await waited();
    shown.button("Look closer").click();
    expect([walker().min, walker().max, shown.button("All bins").hidden]).toEqual(["50", "80", false]);
    shown.button("All bins").click();
    expect([walker().min, walker().max, shown.button("All bins").hidden, asked().length]).toEqual(["0", "199", true, 1]);
});

test("an answer that is not drawn is asked by labels", async () => {
    open(askable({ kind: "large", labels: [], short_labels: [], values: [], csv: "", bins: "1000000" }));
    shown.host.answers["ask"] = () => body();
    expect(answer()).toBe("Name two bins and press Enter. Free: they are paid already.");
    type("3", "900");
    await waited();
    expect(asked()).toMatchObject([{ by: "labels", first: ["3"], second: ["900"] }]);
    expect(answer().startsWith("visits: 2 to 9: 407")).toBe(true);
});

test("a draw in teaching is asked without a number", async () => {
    open(askable({ number: null, teaching: { seed: "7" } }));
    shown.host.answers["ask"] = () => body();
    type("3", "9");
    await waited();
    expect(asked()[0].number).toBe("");
});

test("a tree answers a range by each estimator, on one axis", async () => {
    open(askable({ kind: "tree" }));
    const row = (reader: string, value: string, low: string, high: string): object => ({ ...ROW, reader, value, low, high });
    shown.host.answers["ask"] = () => ({ rows: [row("fitted", "63509/152", "402", "433"), row("subtrees", "413", "389", "437"), row("leaves", "413", "380", "446")], rests_on: "r" });
    type("2", "9");
    await waited();
    const names = [...shown.el.querySelectorAll(".dp-tree-answers .dp-answer-name")].map((one) => one.textContent);
    expect(names).toEqual(["fitted tree", "subtrees", "leaves added"]);
    expect(shown.el.querySelectorAll(".dp-tree-answers .dp-whisker").length).toBe(3);
    expect(shown.el.querySelector(".dp-tree-answers svg title")!.textContent).toBe("fitted: 418, between 402 and 433; subtrees: 413, between 389 and 437; leaves: 413, between 380 and 446");
});

test.each([
    ["12345678901234567890", "12,345,678,901,234,567,890"],
    ["-1/3", "−0.3"],
    ["0.25", "0.3"],
])("%s is shown as %s", (value, words) => expect(valueText(value)).toBe(words));

test.each([
    ["330/59", "5.6"],
    ["10001/3", "3,334"],
    ["1/300", "0.00334"],
    ["11.5", "11.5"],
    ["6293", "6,293"],
])("an error of %s is read as %s: what has no finite decimal is rounded up", (value, words) => {
    expect(reach(value)).toBe(words);
    expect(spread({ value, kind: "bound" })).toBe(`≤ ${words}`);
});

test("before a second answer is paid for, the plan says what both together would be off by", async () => {
    const bar = (value: string): object => ({ value, kind: "bound", rule: "r" });
    const errors = { "0.05": { both: bar("235/59"), now: { ...bar("5"), kind: "exact" } } };
    const line = (): HTMLElement => shown.el.querySelector<HTMLElement>(".dp-after")!;
    const slider = (): HTMLInputElement => shown.el.querySelector<HTMLInputElement>(".dp-track input")!;
    open();
    expect(line().hidden).toBe(true);
    shown.host.answers["after"] = () => ({ key: sheet().now.key, together: { number: "3", errors } });
    await vi.advanceTimersByTimeAsync(450);
    expect(line().textContent).toBe("After this, together with release 3: any one bin ≤ 3.99 where both agree; now ±5.");
    press(slider(), "Home"); // of this ε nothing was said: the line stays, so that nothing below it jumps, and is empty
    expect([line().textContent, line().hidden]).toEqual(["\u00a0", false]);
    await vi.advanceTimersByTimeAsync(450); // the answer is about another plan
    expect(line().textContent).toBe("\u00a0");
    open(); // no word of what would be off by no less
    const worse = { "0.05": { both: bar("6"), now: { ...bar("5"), kind: "exact" } } };
    shown.host.answers["after"] = () => ({ key: sheet().now.key, together: { number: "3", errors: worse } });
    await vi.advanceTimersByTimeAsync(450);
    expect(line().textContent!.trim()).toBe("");
    open();
    shown.host.answers["after"] = () => ({ key: sheet().now.key, together: null });
    await vi.advanceTimersByTimeAsync(450);
    expect(line().hidden).toBe(true);
});

// --- rows that are no bins -------------------------------------------------------------------------------------------

const { labels: _, short_labels: __, bars: ___, ...head } = result() as any;
const sorted = (): any => ({
    ...head, kind: "ranks", adds_up: true, values: [], ranks: "4", bins: "4", noisy: ["40", "12", "14", "3"], starts: ["0", "1", "3"], sums: ["40", "26", "3"],
    sentence: "The counts of all 4 bins, sorted.", remark: "A rank is no bin.", bands: {},
});
const listed = (): any => ({
    ...head, kind: "queries", adds_up: true, values: [], labels: ["all", "passed", "F"], noisy: ["101", "88", "-2"], fitted: ["98", "83", "15"], about: ["A to F", "A to D", "F"],
    constraints: [], remark: "", intervals: {}, how: {},
});

/** A pointer at a place of the chart, in pixels. */
const at = (kind: string, clientX: number, clientY: number): void => void cover().dispatchEvent(new MouseEvent(kind, { bubbles: true, button: 0, clientX, clientY }));

test("ranks are brushed and named by their numbers, from 1", async () => {
    open(sorted());
    shown.host.answers["ask"] = () => body({ what: "visits: rank 1 to rank 2" });
    expect([part().getAttribute("aria-label"), answer().startsWith("Drag over ranks")]).toEqual(["Add up or compare ranks", true]);
    at("pointerdown", 120, 60);
    at("pointermove", 630, 60);
    at("pointerup", 630, 60);
    expect(boxes().map((box) => box.value)).toEqual(["1", "4"]);
    expect(parseFloat(brushes()[0]!.style.width)).toBeGreaterThan(500);
    type("1", "2");
    await waited();
    expect(asked()).toMatchObject([{ what: "stretch", by: "rows", first: ["0"], second: ["1"] }]);
    expect(answer()).toContain("visits: rank 1 to rank 2: 407 person-years");
    at("pointerdown", 120, 60);
    at("pointerup", 120, 60);
    expect(answer()).toBe("Click another rank, or name it, to compare the two.");
});

test("two queries that are clicked are compared by their rows, and bins to add up are typed", async () => {
    open(listed());
    shown.host.answers["ask"] = () => body({ what: "grade: all, less F" }, { leader: "all" });
    for (const y of [20, 120]) {
        at("pointerdown", 300, y);
        at("pointermove", 300, y + 3);
        at("pointerup", 300, y + 3);
    }
    await waited();
    expect([boxes().map((box) => box.value), brushes().map(({ style }) => style.top)]).toEqual([["all", "F"], ["8px", "96px"]]);
    expect(asked()).toMatchObject([{ what: "pair", by: "rows", first: ["0"], second: ["2"] }]);
    pick(choice(0), "stretch");
    expect([boxes().map((box) => box.value), brushes().length]).toEqual([["", ""], 0]);
    type("A", "F"); // "F" is also what a query is called, and here it is a bin
    await waited();
    expect(asked()[1]).toMatchObject({ what: "stretch", by: "labels", first: ["A"], second: ["F"] });
});

/** A tree over 2,000 bins, of which 100 stretches of 20 bins are drawn. */
function long(more: Record<string, unknown> = {}): any {
    const bins = Array.from({ length: 2000 }, (_, i) => String(i));
    const bar = (value: string): unknown => ({ value, kind: "numerical", rule: "r", off: "0.5" });
    const both = (wide: string): unknown => Object.fromEntries(["0.1", "0.05", "0.01"].map((beta) => [beta, { one: bar("9"), all: bar(wide) }]));
    const sums = Array.from({ length: 100 }, (_, i) => i * 20);
    const stretches = {
        size: "20",
        axis: "visits, 20 bins to a bar",
        scale: "intervals",
        labels: sums.map((first) => `${first} to ${first + 19}`),
        short_labels: sums.map((first) => `${first}–${first + 20}`),
        values: sums.map((_, i) => String(100 + (i === 40 ? 500 : i))),
        bars: both("21"),
        whole: "15400",
        whole_bars: Object.fromEntries(["0.1", "0.05", "0.01"].map((beta) => [beta, bar("33")])),
        ...more,
    };
    return askable({ kind: "tree", labels: bins, short_labels: bins, values: bins.map(() => "7"), strips: null, stretches });
}

test("a long tree is drawn as sums, told as a whole, and its bins are drawn where there is room for each", async () => {
    open(long());
    expect(shown.el.textContent).toContain("15,400 person-years released in all, ±≈33. Most in 800 to 819: 600, ±≈21 with all 100 sums at once.");
    expect(shown.el.querySelector("svg .dp-column")).toBeNull();
    expect(shown.el.querySelector(".dp-stage svg")!.textContent).toContain("visits, 20 bins to a bar");
    shown.host.answers["ask"] = () => body();
    walker().focus();
    press(walker(), "ArrowRight");
    expect(walker().getAttribute("aria-valuetext")).toBe("20 to 39: 101 released; this sum alone: 92 to 110 · among all 100: 80 to 122");
    press(walker(), "Enter");
    await waited();
    expect([asked()[0].what, asked()[0].first, asked()[0].second]).toEqual(["stretch", ["20"], ["39"]]);
    press(walker(), "ArrowRight", { shiftKey: true });
    await waited();
    expect([asked()[1].first, asked()[1].second]).toEqual([["20"], ["59"]]);
    shown.button("Look closer").click();
    await settle();
    expect(shown.el.querySelector(".dp-stage svg")!.textContent).not.toContain("bins to a bar");
    press(walker(), "ArrowRight");
    expect(walker().getAttribute("aria-valuetext")).toContain("this bin alone");
});

test.each([
    ["a sum too few", { values: ["1"], labels: ["0 to 1999"], short_labels: ["0–2000"] }],
    ["a label too few", { labels: ["0 to 19"] }],
    ["no bar of the whole", { whole_bars: {} }],
])("sums that are malformed are not drawn: %s", (_, wrong) => {
    vi.spyOn(console, "warn").mockImplementation(() => undefined);
    open(long(wrong));
    expect(shown.el.querySelector(".dp-stage")).toBeNull();
});
