import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { enter, Host, press, render, result, settle, sheet, state, type Shown } from "./host";

let shown: Shown;
const EVIL = "</script><img src=x onerror=alert(1)>";

function open(component = "workbench", traits: Record<string, unknown> = {}): Shown {
    shown?.close();
    shown = render(new Host(component, traits));
    return shown;
}

const slider = (): HTMLInputElement => shown.el.querySelector<HTMLInputElement>(".dp-track input")!;
const box = (): HTMLInputElement => shown.el.querySelector<HTMLInputElement>(".dp-epsilon-box")!;
const one = (): HTMLInputElement => shown.el.querySelector<HTMLInputElement>(".dp-stat-first input")!;
const pay = (): HTMLButtonElement => shown.el.querySelector<HTMLButtonElement>(".dp-release .dp-pay")!;
const rested = (): unknown => vi.advanceTimersByTimeAsync(450);

beforeEach(() => {
    vi.useFakeTimers();
    open();
});

afterEach(() => {
    shown.close();
    vi.useRealTimers();
});

test("everything is there: question, knobs, plan, release, budget, result", () => {
    for (const name of ["Workbench", "Plan", "Release", "Budget", "Visits per person-year, released with ε = 0.1"]) {
        expect([...shown.el.querySelectorAll("h2, h3")].map((node) => node.textContent)).toContain(name);
    }
    expect(shown.text()).toContain("free · sees no data");
    expect(shown.text()).toContain("paid · once · for good");
});

test("the slider redraws price, errors, balance and meter in the same turn, without the kernel", () => {
    const before = shown.host.asked.length;
    slider().value = String(Number(slider().value) + 1);
    slider().dispatchEvent(new Event("input"));
    expect(box().value).toBe("0.25");
    expect(pay().textContent).toBe("Releasepay ε 0.25");
    expect(one().value).toBe(sheet().fans.epsilon.find((point) => point.epsilon === "0.25")!.errors["0.05"].one.value);
    expect(shown.text()).toContain("leaves 0.85 of 2");
    expect(shown.text()).toContain("0.85 would be left");
    expect(shown.host.asked.length).toBe(before);
});

test("a slider in one widget moves the others on its desk", () => {
    const desk = String(shown.host.traits["desk"]);
    const other = render(new Host("release-pane", { desk }));
    slider().value = "3";
    slider().dispatchEvent(new Event("input"));
    expect(other.text()).toContain(`pay ε ${box().value}`);
    other.close();
});

test("keys: arrows step, Page goes to the next labelled tick, Home and End to the ends", () => {
    press(slider(), "ArrowRight");
    expect(box().value).toBe("0.25");
    press(slider(), "PageUp");
    expect(box().value).toBe("0.5");
    press(slider(), "PageDown");
    expect(box().value).toBe("0.2");
    press(slider(), "Home");
    expect(box().value).toBe("0.01");
    press(slider(), "ArrowLeft");
    expect(box().value).toBe("0.01");
    press(slider(), "End");
    expect(box().value).toBe("2");
});

test("no key pressed inside reaches the notebook", () => {
    const heard = vi.fn();
    document.body.addEventListener("keydown", heard);
    for (const target of [slider(), box(), pay(), shown.el.querySelector(".dp-walker")!]) press(target, "ArrowDown");
    expect(heard).not.toHaveBeenCalled();
    press(slider(), "s", { ctrlKey: true });
    document.body.removeEventListener("keydown", heard);
    expect(heard).toHaveBeenCalledOnce();
});

test("the box commits on Enter and on leaving, and Enter in it never releases", async () => {
    box().value = "0.5";
    const event = press(box(), "Enter");
    expect([event.defaultPrevented, pay().textContent]).toEqual([true, "Releasepay ε 0.5"]);
    await rested();
    press(box(), "Enter");
    await settle();
    expect(shown.host.of("release")).toHaveLength(0);
    enter(box(), "-1/2");
    expect(box().getAttribute("aria-invalid")).toBe("true");
    expect(shown.text()).toContain("ε must be positive, got −1/2. Type a number like 0.1 or 1/10.");
    expect(shown.text()).toContain("The plan below is still for ε 0.5, the last value that made sense.");
    expect(pay().getAttribute("aria-disabled")).toBe("true");
    press(box(), "Escape");
    expect([box().value, box().getAttribute("aria-invalid")]).toEqual(["0.5", null]);
});

test("an error that is typed moves epsilon; Escape brings the planned one back", () => {
    one().value = "99";
    press(one(), "Escape");
    expect(one().value).toBe("15");
    enter(one(), "30");
    expect(Number(box().value)).toBeLessThan(0.2);
    expect(Number(one().value)).toBeLessThanOrEqual(30);
});

test("what is being typed stays when something arrives from the kernel", async () => {
    for (const input of [box(), one()]) {
        input.focus();
        input.value = "0.7";
        input.dispatchEvent(new Event("input", { bubbles: true }));
        const after = state();
        Object.assign(after.budget.epsilon, { spent: "1.85", pending: "0.05", left: "0.1" });
        shown.host.write("state", after);
        await rested();
        expect(document.activeElement).toBe(input);
        expect(input.value).toBe("0.7");
    }
});

test("the button rests 400 ms after its price changed", async () => {
    await rested();
    press(slider(), "ArrowLeft");
    expect(pay().getAttribute("aria-disabled")).toBe("true");
    pay().click();
    await settle();
    expect(shown.host.of("release")).toHaveLength(0);
    await rested();
    expect(pay().getAttribute("aria-disabled")).toBeNull();
    pay().click();
    await settle();
    expect(shown.host.of("release")).toHaveLength(1);
});

test("a held key does not pay, nor does running the cell", () => {
    expect(press(pay(), "Enter", { ctrlKey: true }).defaultPrevented).toBe(true);
    expect(press(pay(), "Enter", { shiftKey: true }).defaultPrevented).toBe(true);
    expect(press(pay(), "Enter", { repeat: true }).defaultPrevented).toBe(true);
    expect(press(pay(), " ", { repeat: true }).defaultPrevented).toBe(true);
    expect(press(pay(), "Enter").defaultPrevented).toBe(false);
});

test("a large spend asks on the same spot, focus on the safe answer, Escape goes back", async () => {
    enter(box(), "0.5");
    await rested();
    pay().focus();
    pay().click();
    expect(pay().textContent).toBe("Yes, pay ε 0.5");
    expect(document.activeElement?.textContent).toBe("Keep planning");
    press(document.activeElement!, "Escape");
    expect(pay().textContent).toBe("Releasepay ε 0.5");
    expect(shown.host.of("release")).toHaveLength(0);
});

test("after a release made here the focus is on the result's title, and the sentence is spoken", async () => {
    shown.host.answers["release"] = () => ({ token: "t", number: "5" });
    await rested();
    pay().focus();
    pay().click();
    await settle();
    expect(shown.text()).toContain("ε 0.2 is written to the ledger.");
    expect(document.activeElement?.textContent).toBe("Cancel · 0.2 stays spent");
    const fresh = {
        ...result(),
        number: "5",
        title: "Visits, released with ε = 0.2",
        price: { epsilon: "0.2", delta: "0" },
    };
    shown.host.tell({ v: 1, event: "released", body: { token: "t", result: fresh, state: state() } });
    expect(document.activeElement?.textContent).toBe("Visits, released with ε = 0.2");
    await vi.advanceTimersByTimeAsync(10);
    expect(shown.el.querySelector("[aria-live]")?.textContent).toBe("Released, number 5, paid 0.2, 1.1 left.");
});

test("progress leaves the cancel button under the pointer in place", async () => {
    shown.host.answers["release"] = () => ({ token: "t", number: "5" });
    await rested();
    pay().click();
    await settle();
    const cancel = shown.button("Cancel · 0.2 stays spent");
    shown.host.tell({
        v: 1,
        event: "progress",
        body: { token: "t", number: "5", done: "10", of: "42", text: "Drawing 42 bins" },
    });
    expect(shown.el.querySelector("[role=progressbar]")?.getAttribute("aria-valuenow")).toBe("23");
    expect(shown.button("Cancel · 0.2 stays spent")).toBe(cancel);
    expect([slider().disabled, box().disabled]).toEqual([true, true]);
});

test("the live sentence matches the screen, 500 ms after the last move", async () => {
    press(slider(), "ArrowRight");
    press(slider(), "ArrowLeft");
    await vi.advanceTimersByTimeAsync(499);
    expect(shown.el.querySelector("[aria-live]")?.textContent).toBe("");
    await vi.advanceTimersByTimeAsync(2);
    expect(shown.el.querySelector("[aria-live]")?.textContent).toBe(
        "ε 0.2: any one bin within 15, all 42 within 34; would cost 0.2, leaves 0.9.",
    );
});

test("the chart is one stop: arrows walk bins, Shift walks ten, and the read-out follows", () => {
    const walker = shown.el.querySelector<HTMLInputElement>(".dp-walker")!;
    walker.focus();
    press(walker, "End");
    press(walker, "ArrowLeft", { shiftKey: true });
    press(walker, "ArrowRight");
    expect(walker.getAttribute("aria-valuetext")).toMatch(
        /^32 visits: 4 released; this bin alone: 0 to 34 · among all 42: 0 to 71$/,
    );
    expect(shown.el.querySelector<HTMLElement>(".dp-tip")!.hidden).toBe(false);
    press(walker, "Home");
    expect(shown.el.querySelector(".dp-tip")!.textContent).toContain("0 visits: 6,293 released");
});

test("the table holds every released number and is a real table", () => {
    shown.button("Table").click();
    const rows = shown.el.querySelectorAll(".dp-result tbody tr");
    expect(rows).toHaveLength(42);
    expect([...rows[38]!.children].map((cell) => cell.textContent)).toEqual(["38", "39", "9 to 69", "0 to 106"]);
    expect(shown.button("Table").getAttribute("aria-expanded")).toBe("true");
});

test("hostile labels are text, everywhere they can stand", () => {
    const evil = { ...state(), title: EVIL, ledger: EVIL };
    evil.columns[0]!.name = EVIL;
    evil.questions[0]!.bins_text = EVIL;
    evil.entries[0]!.question = EVIL;
    evil.unit.text = EVIL;
    const plan = sheet();
    plan.question.sentence = plan.mechanism.about = plan.now.verb = plan.question.noun = EVIL;
    const release = { ...result(), title: EVIL, axis: EVIL, guarantee: EVIL };
    release.labels[3] = release.short_labels[3] = EVIL;
    open("workbench", { state: evil, sheet: plan, result: release });
    shown.button("Table").click();
    expect(shown.text()).toContain(EVIL);
    expect(shown.el.querySelectorAll("img, script, [onerror]")).toHaveLength(0);
});

test("every control has a name", () => {
    for (const control of shown.el.querySelectorAll<HTMLInputElement>("input, select, button, textarea")) {
        const named = control.getAttribute("aria-label") ?? control.textContent ?? "";
        const labelled = control.labels?.[0]?.textContent ?? "";
        expect((named + labelled).trim(), control.outerHTML.slice(0, 120)).not.toBe("");
    }
});

test("a saved page: the plan moves, the release needs a kernel, nothing is asked", () => {
    shown.close();
    const host = new Host("workbench");
    host.widget_manager.kernel = null;
    shown = render(host);
    press(slider(), "ArrowRight");
    expect(box().value).toBe("0.25");
    expect(shown.text()).toContain("plan sheet of 14:02 still works");
    expect(pay().textContent).toBe("Release needs a kernel");
    pay().click();
    expect(host.asked).toEqual([]);
});

test("a restarted kernel is noticed, and the release is off", async () => {
    shown.host.widget_manager.kernel = { status: "restarting" };
    shown.host.disconnect();
    await settle();
    expect(pay().textContent).toBe("Release needs a kernel");
});

test("the kernel writes the state and the meter follows", () => {
    const after = state();
    Object.assign(after.budget.epsilon, { spent: "1.85", pending: "0.05", left: "0.1" });
    shown.host.write("state", after);
    expect(shown.text()).toContain("left 0.1 of 2");
    expect(shown.text()).toContain("This release costs ε = 0.2 but 0.1 is left; ask for at most 0.1.");
});

test("a payment slides in once, and not when the page opens", () => {
    expect(shown.el.querySelector(".dp-meter-paid")).toBeNull();
    const after = state();
    Object.assign(after.budget.epsilon, { spent: "1.05", left: "0.9" });
    shown.host.write("state", after);
    expect(shown.el.querySelectorAll(".dp-meter-paid")).toHaveLength(1);
    vi.advanceTimersByTime(400);
    press(slider(), "ArrowLeft");
    expect(shown.el.querySelector(".dp-meter-paid")).toBeNull();
});

test("figures that do not add up are said to, and not drawn", () => {
    const forged = state();
    forged.budget.epsilon.left = "9";
    shown.host.write("state", forged);
    expect(shown.text()).toContain("do not add up");
    expect(shown.el.querySelector(".dp-meter svg")).toBeNull();
});

test("forged and unknown messages change nothing on the screen", () => {
    const before = shown.el.innerHTML;
    for (const content of [
        null,
        3,
        "x",
        {},
        { v: 1, event: "released", body: {} },
        { v: 1, re: "99", ok: true, body: {} },
        { v: 9, event: "progress" },
    ]) {
        shown.host.tell(content);
    }
    expect(shown.el.innerHTML).toBe(before);
});

test("declaring bins asks for exactly what was declared, and only when it makes sense", async () => {
    const bins = shown.el.querySelector<HTMLSelectElement>(".dp-bins select");
    bins!.value = bins!.options[bins!.options.length - 1]!.value;
    bins!.dispatchEvent(new Event("change"));
    const [from, to] = [...shown.el.querySelectorAll<HTMLInputElement>(".dp-declare input[type=text]")];
    from!.value = "9";
    to!.value = "0";
    shown.button("Use these bins").click();
    expect(shown.text()).toContain("From must be at most To, got 9 and 0.");
    expect(shown.host.of("plan")).toHaveLength(0);
    to!.value = "20";
    shown.button("Use these bins").click();
    await settle();
    expect(shown.host.of("plan")[0]!.args["question"]).toEqual({
        column: "visits",
        kind: "integers",
        low: "9",
        high: "20",
        underflow: false,
        overflow: true,
        missing: false,
    });
});

/** The fields of a column whose kind is given, opened as a person opens them. */
function declaring(column: Record<string, unknown>): { kinds: HTMLSelectElement | null; boxes: () => HTMLInputElement[] } {
    const known = state();
    Object.assign(known, { columns: [...known.columns, { name: "stays", ...column }] });
    open("workbench", { state: known });
    const columns = shown.el.querySelector<HTMLSelectElement>(".dp-column select");
    columns!.value = "stays";
    columns!.dispatchEvent(new Event("change"));
    return {
        kinds: shown.el.querySelector<HTMLSelectElement>(".dp-declare .dp-kind select"),
        boxes: () => [...shown.el.querySelectorAll<HTMLInputElement>(".dp-declare input[type=text]")],
    };
}

const names = (select: HTMLSelectElement): string[] => [...select.options].map((option) => option.text);

function pick(select: HTMLSelectElement, name: string): void {
    select.selectedIndex = names(select).indexOf(name);
    select.dispatchEvent(new Event("change"));
}

test("a column whose kind nobody declared takes whole numbers, intervals, labels and keys", async () => {
    const { kinds, boxes } = declaring({ kind: "text", untyped: true });
    expect(names(kinds!)).toEqual(["whole numbers", "intervals", "labels"]);
    expect(shown.text()).toContain("Nobody declared whether it holds numbers or texts");
    const missing = false;
    const declared: [string, string[], Record<string, unknown>][] = [
        ["whole numbers", ["0", "40"], { kind: "integers", low: "0", high: "40", underflow: false, overflow: true, missing }],
        ["intervals", ["0, 0.5, 1"], { kind: "intervals", edges: ["0", "0.5", "1"], underflow: true, overflow: true, missing }],
        ["labels", ["few, many"], { kind: "categories", labels: ["few", "many"], other: true, missing }],
    ];
    shown.host.answers["plan"] = () => ({ error: { kind: "DomainError", message: "not now" } }); // the fields stay open
    for (const [name, typed, question] of declared) {
        pick(kinds!, name);
        expect(boxes()).toHaveLength(typed.length);
        typed.forEach((value, i) => (boxes()[i]!.value = value));
        shown.button("Use these bins").click();
        await settle();
        expect(shown.host.of("plan").at(-1)!.args["question"]).toEqual({ column: "stays", ...question });
    }
    const bins = shown.el.querySelector<HTMLSelectElement>(".dp-bins select")!;
    expect(names(bins)).toContain("No list: keys as they occur");
});

test("a column of dates takes stretches of time, and says at which end a date is none", async () => {
    const { kinds, boxes } = declaring({ kind: "time" });
    const each = kinds!;
    expect(names(each)).toEqual(["hour", "day", "week", "month", "quarter", "year"]);
    expect([each.value, shown.el.querySelector(`label[for="${each.id}"]`)!.textContent]).toEqual(["month", "A bin for each"]);
    const [start, end] = boxes();
    const alert = shown.el.querySelector<HTMLElement>(".dp-declare [role=alert]")!;
    const use = async (): Promise<void> => (shown.button("Use these bins").click(), await settle());
    const asked = shown.host.of("plan").length;
    for (const [from, to, wrong] of [["", "2014", start], ["2013", "1.1.2014", end], ["2013", "2014-1", end], ["2013 ", "2013-01-01T", end]] as const) {
        [start!.value, end!.value] = [from, to];
        await use();
        expect([alert.hidden, document.activeElement === wrong, wrong!.getAttribute("aria-invalid")]).toEqual([false, true, "true"]);
        expect(alert.textContent).toContain("Both ends must be dates, like 2012");
    }
    expect(shown.host.of("plan")).toHaveLength(asked);
    const question = { column: "stays", kind: "times", by: "month", underflow: true, overflow: true, missing: false };
    shown.host.answers["plan"] = () => ({ error: { kind: "DomainError", message: "stays: the end must be where a month ends, got 2013-06-15; write 2013-07-01" } });
    [start!.value, end!.value] = [" 2013", "2013-06-15 "];
    await use();
    expect(shown.host.of("plan").at(-1)!.args["question"]).toEqual({ ...question, start: "2013", end: "2013-06-15" });
    expect([alert.textContent, document.activeElement === end]).toEqual(["the end must be where a month ends, got 2013-06-15; write 2013-07-01", true]);
    shown.host.answers["plan"] = () => ({ error: { kind: "DomainError", message: "stays: start must be where an hour begins, got 2013-01-01 00:30; write its first minute" } });
    [start!.value, end!.value, each.value] = ["2013-01-01 00:30", "2013-01-02", "hour"];
    await use();
    expect(shown.host.of("plan").at(-1)!.args["question"]).toEqual({ ...question, start: "2013-01-01 00:30", end: "2013-01-02", by: "hour" });
    expect([start!.getAttribute("aria-invalid"), end!.getAttribute("aria-invalid")]).toEqual(["true", null]);
});

test("a column whose kind somebody declared takes bins of that kind alone", () => {
    for (const untyped of [{}, { untyped: false }, { untyped: null }]) {
        expect(names(declaring({ kind: "number", ...untyped }).kinds!)).toEqual(["whole numbers", "intervals"]);
        const { kinds, boxes } = declaring({ kind: "text", ...untyped });
        expect(kinds).toBeNull();
        expect(boxes()).toHaveLength(1);
        expect(shown.text()).toContain("Labels, separated by commas");
        expect(shown.text()).not.toContain("Nobody declared");
    }
});

test("a refused declaration says why and keeps the old question", async () => {
    shown.host.answers["plan"] = () => ({
        error: { kind: "DomainError", message: "labels must differ, got good twice" },
    });
    const column = shown.el.querySelector<HTMLSelectElement>(".dp-column select");
    column!.value = "self_rated_health";
    column!.dispatchEvent(new Event("change"));
    await settle();
    expect(shown.host.of("plan")[0]!.args["question"]).toEqual({ id: "77aa" });
    expect(shown.text()).toContain("labels must differ, got good twice");
    expect(shown.text()).toContain("How many person-years had 0, 1, …, 40, or over 40 visits?");
});

test("teaching has a violet frame, no ledger, no price, and draws", () => {
    open("workbench", {
        state: { ...state(), teaching: { seed: "7" }, budget: null, entries: [], ledger: "" },
        result: { ...result(), number: null, teaching: { seed: "7" }, title: "drawn" },
    });
    expect([...shown.el.querySelectorAll(".dp-release")].map((pane) => pane.className)).toEqual(["dp-release dp-lesson"]);
    expect(shown.text()).toContain("Not private · teaching, seed 7");
    expect(shown.button("Draw 20")).toBeTruthy();
    expect(shown.el.querySelector<HTMLElement>(".dp-budget")!.hidden).toBe(true);
    expect(shown.el.querySelector(".dp-bar")?.getAttribute("fill")).toMatch(/^url\(#dp-teaching/);
});

test("before anything arrives there are frames and labels, and dashes for numbers", async () => {
    shown.close();
    const host = new Host("workbench", { sheet: "", state: "", result: "" });
    delete host.answers["status"];
    host.widget_manager.kernel = { status: "busy" };
    shown = render(host);
    expect([one().value, shown.el.querySelector(".dp-readout")?.textContent]).toEqual(["—", "✎"]);
    expect(shown.el.querySelector<HTMLElement>(".dp-empty")!.hidden).toBe(true);
    await vi.advanceTimersByTimeAsync(1300);
    const asking = [...shown.el.querySelectorAll<HTMLElement>(".dp-quiet")].find(
        (node) => node.textContent === "asking the kernel…",
    );
    expect(asking?.hidden).toBe(false);
});

test("a release too long to draw is described, and the call that has it is named", () => {
    open("result-chart", {
        result: { ...result(), kind: "large", bins: "1000000", labels: [], short_labels: [], values: [], csv: "" },
    });
    expect(shown.text()).toContain(
        "1,000,000 bins, ±30 for any one bin, ±67 for all 1,000,000 at once, 95 in 100: too many to draw here.",
    );
    expect(shown.el.querySelector(".dp-large code")?.textContent).toBe("session.releases[3].to_frame()");
    expect(shown.el.querySelector(".dp-chart")).toBeNull();
});

test("a session without a release shows what the plan promises", () => {
    open("result-chart", { result: "" });
    expect(shown.text()).toContain("Nothing released yet.Planned: any one bin within 15, all 42 within 34.");
});

test("a sheet of a later version is named, not drawn", () => {
    open("plan-pane", { sheet: { version: 3 } });
    expect(shown.text()).toContain("This page reads version 2 and was sent version 3.");
    expect(shown.el.querySelector<HTMLElement>(".dp-body")!.hidden).toBe(true);
});

test("a component nobody knows is said to be unknown", () => {
    open("constructor");
    expect(shown.text()).toBe("dpviz: this page does not know the component it was asked to draw.");
});

test("under the zCDP filter the meter shows ρ and says what one answer may cost", () => {
    const rho = { total: "0.0166", spent: "0.0016", pending: "0", left: "0.015" };
    const epsilon = { total: "0.182", spent: "0.009", pending: "0", left: "0.173" };
    const changed = state();
    Object.assign(changed.budget, { rho, epsilon });
    const meter = render(new Host("budget-meter", { state: changed }));
    expect(meter.text()).toContain("ρ of the zCDP filter, exact");
    expect(meter.text()).toContain("spent 0.0016");
    expect(meter.text()).toContain("left 0.015 of 0.0166 · at most ε 0.173 in one answer");
    expect(meter.text()).toContain("ε of this alone");
    expect(meter.text()).not.toContain("would be left");
    meter.close();
});

test.each(["Enter", "Escape"])("an error that is typed wrong and taken back by %s is forgiven", (by) => {
    open("workbench");
    const box = shown.el.querySelector<HTMLInputElement>(".dp-stat-first input")!;
    const before = box.value;
    const type = (text: string, key: string): void => {
        box.value = text;
        box.dispatchEvent(new Event("input"));
        box.dispatchEvent(new KeyboardEvent("keydown", { key }));
    };
    type("so-so", "Enter");
    expect(box.getAttribute("aria-invalid")).toBe("true");
    type(before, by);
    expect(box.getAttribute("aria-invalid")).toBeNull();
    expect(box.value).toBe(before);
});
