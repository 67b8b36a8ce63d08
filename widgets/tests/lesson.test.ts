/** A lesson on the page: draws beside the truth, which is public, what they miss in words, and how a reader walks through them. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readLesson } from "../src/protocol/lesson";
import { Host, render, result, settle, sheet, state, type Shown } from "./host";

let shown: Shown;

const missed = (...columns: number[]): Record<string, unknown> => ({ bins: String(columns.length), columns, times: columns.map(() => 1) });
const draw = (number: number): Record<string, unknown> => ({
    draw: String(number),
    values: { low: ["41", "19", "3"] },
    one: { low: ["35", "13", "0"], high: ["47", "25", "9"] },
    all: { low: ["30", "8", "0"], high: ["52", "30", null] },
});

/** Three draws of three bins: the second misses bin 1, the third bins 1 and 2, one of them also among all. */
const lesson = (): Record<string, unknown> => ({
    version: 1,
    seed: "7",
    key: "abc",
    title: "Visits, drawn with ε = 0.5",
    axis: "visits",
    nouns: "rows",
    beta: "0.05",
    betas: ["0.1", "0.05", "0.01"],
    drawn: "3",
    truth: { bins: "3", labels: ["0", "1", "2"], low: ["40", "20", "4"] },
    draws: [
        { missed: missed(), missed_all: missed() },
        { missed: missed(1), missed_all: missed() },
        { missed: missed(1, 2), missed_all: missed(2) },
    ],
    shown: [1, 2, 3].map(draw),
});

function open(traits: Record<string, unknown> = {}): Host {
    shown?.close();
    const host = new Host("workbench", {
        state: { ...state(), teaching: { seed: "7" }, budget: null, entries: [], ledger: "" },
        result: { ...result(), number: null, teaching: { seed: "7" }, title: "drawn" },
        lesson: lesson(),
        ...traits,
    });
    host.answers["lesson"] = () => ({ lesson: lesson() });
    host.answers["forget"] = () => ({ lesson: null });
    shown = render(host);
    return host;
}

const section = (): HTMLElement => shown.el.querySelector<HTMLElement>(".dp-coverage")!;
const counters = (): string[] => [...section().querySelectorAll(".dp-counters p")].map((line) => line.textContent!);
const slider = (): HTMLInputElement => section().querySelector<HTMLInputElement>("input[type=range]")!;
const rings = (): number[] => [...section().querySelectorAll(".dp-twenty figure")].map((panel) => panel.querySelectorAll(".dp-miss").length);

beforeEach(() => {
    vi.useFakeTimers();
    open();
});

afterEach(() => {
    shown.close();
    vi.useRealTimers();
});

test("what a draw misses is counted in words, for any one bin and for all at once, and ringed", () => {
    expect(counters().slice(0, 2)).toEqual(["any one bin: 1 of 3 held in this draw", "all at once: 2 of 3 draws"]);
    expect(rings()).toEqual([0, 1, 2]);
    expect(section().querySelector(".dp-truth")!.getAttribute("fill")).toMatch(/^url\(#dp-truth-/);
});

test("going back, the draws are counted so far", () => {
    slider().value = "2";
    slider().dispatchEvent(new Event("input"));
    expect(counters().slice(0, 2)).toEqual(["any one bin: 2 of 3 held in this draw", "all at once: 2 of 2 draws so far"]);
});

test("a bin that is picked before looking is watched in every draw", () => {
    const pick = section().querySelector<HTMLSelectElement>(".dp-counters select")!;
    expect([...pick.options].map(({ textContent }) => textContent)).toEqual(["none yet", "0", "1", "2"]);
    pick.value = "1";
    pick.dispatchEvent(new Event("change"));
    expect(counters()[2]).toContain("held in 1 of 3 draws");
    const table = section().querySelector("details")!;
    table.open = true;
    table.dispatchEvent(new Event("toggle"));
    const rows = [...table.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));
    expect(rows).toEqual([
        ["1", "3", "0", "0", "held"],
        ["2", "3", "1", "0", "missed"],
        ["3", "3", "2", "1", "missed"],
    ]);
});

test("draws are played at two a second, paused by the same button, and stop at the last", async () => {
    shown.button("Play, two a second").click();
    expect(slider().value).toBe("1");
    await vi.advanceTimersByTimeAsync(500);
    expect(slider().value).toBe("2");
    shown.button("Pause").click();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(slider().value).toBe("2");
    shown.button("Play, two a second").click();
    await vi.advanceTimersByTimeAsync(3_000);
    expect([slider().value, shown.button("Play, two a second").hidden]).toEqual(["3", false]);
});

test("where motion is unwelcome nothing plays, and the small multiples stay", () => {
    vi.stubGlobal("matchMedia", (query: string) => ({ matches: query.includes("reduce") }));
    open();
    expect(shown.button("Play, two a second").hidden).toBe(true);
    expect(rings()).toEqual([0, 1, 2]);
    vi.unstubAllGlobals();
});

test("a press draws as many as its button says, once, from the plan on show", async () => {
    const host = open();
    delete host.answers["lesson"];
    shown.button("Draw 20").click();
    shown.button("Draw 20").click();
    shown.button("Draw once").click();
    expect(host.of("lesson")).toHaveLength(1);
    const { times, beta, question, mechanism } = host.of("lesson")[0]!.args;
    expect([times, beta, question, mechanism]).toEqual(["20", "0.05", { id: sheet().question.id }, "Dense"]);
    expect(shown.text()).toContain("Drawing 20 times…");
    expect(host.of("release")).toHaveLength(0);
});

test("counting again from zero leaves the focus on the button that draws", async () => {
    const again = shown.button("Count again from zero");
    again.focus();
    again.click();
    await settle();
    expect(section().hidden).toBe(true);
    expect(document.activeElement?.textContent).toBe("Draw once");
});

test("a refusal is told where one draws, and the draws stay", async () => {
    const host = open();
    host.answers["lesson"] = () => ({ error: { kind: "SessionBusy", message: "this teaching session is drawing already" } });
    shown.button("Draw once").click();
    await settle();
    expect(shown.el.querySelector(".dp-lesson [role=alert]")!.textContent).toBe("This teaching session is drawing already.");
    expect(counters()[1]).toBe("all at once: 2 of 3 draws");
});

test("an answer without a count for each bin stands beside the truth and nothing is counted", () => {
    open({ lesson: { ...lesson(), draws: [], shown: [] } });
    expect(section().textContent).toContain("Misses are counted where an answer has one count for each declared bin.");
    expect(section().querySelector<HTMLElement>(".dp-counters")!.hidden).toBe(true);
    expect(section().querySelectorAll(".dp-truth")).toHaveLength(1);
    open({ lesson: { ...lesson(), truth: null, draws: [], shown: [] } });
    expect(section().textContent).toContain("There are no true counts to show beside this answer.");
});

test("a session with a ledger shows nothing of a lesson, whatever its page is sent", () => {
    open({ state: state() });
    expect(section()).toBeNull();
    expect(shown.el.querySelector(".dp-lesson")).toBeNull();
    expect(shown.button("Release").closest("[hidden]")).toBe(null);
});

test.each([
    ["fewer counts than bins", { truth: { bins: "3", labels: ["0", "1", "2"], low: ["40", "20"] } }],
    ["a count that is none", { truth: { bins: "3", labels: ["0", "1", "2"], low: ["40", "20", "<b>"] } }],
    ["a column that is none", { draws: [{ missed: { bins: "1", columns: [-1], times: [1] }, missed_all: null }] }],
])("%s is no lesson", (_, change) => {
    expect(() => readLesson({ ...lesson(), ...change })).toThrow();
    expect(readLesson(lesson())?.drawn).toBe("3");
});

test("a plan with a δ, of which no odds are known, speaks of no price", () => {
    const planned = sheet();
    for (const point of [planned.now, ...planned.fans.epsilon]) point.odds = "";
    open({ sheet: planned });
    expect(shown.text()).toContain("no bound where there is a δ");
    expect(shown.text()).not.toContain("δ is paid");
});
