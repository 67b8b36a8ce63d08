/** Contribution limits on the page: the answers that Python renders in `tests/statements.py`, with the same two rules. */

import { afterEach, expect, test, vi } from "vitest";
import answers from "../fixtures/limited.json";
import { bring } from "../src/answers/result_view";
import { histogramView } from "../src/views/histogram";
import { rankedView } from "../src/views/ranked";
import { ranksView } from "../src/views/ranks";
import { tableOf } from "../src/answers/saving";
import { readResult } from "../src/protocol/protocol";
import { Host, press, render, settle, type Shown } from "./host";

bring(histogramView, rankedView, ranksView);

const LIMIT = /Each aircraft counts in at most 3 of 12 months/;
const TRUTH = /\b(the truth|true (count|value|number)s?)\b/i;
const LIMITED = /counts in at most|left out, so|counted within the limits/;
const KINDS = ["result", "list", "ranks"] as const;

let shown: Shown;
afterEach(() => {
    shown?.close();
    vi.useRealTimers();
});

/** All words of an answer on the page: on show, in tips, for a screen reader, and in its table. */
function words(unit: "cut" | "uncut", kind: (typeof KINDS)[number]): string {
    shown = render(new Host("result-chart", { result: answers[unit][kind] }));
    shown.button("Table").click();
    const told = [...shown.el.querySelectorAll("*")].flatMap((one) => [one.getAttribute("title"), one.getAttribute("aria-label"), one.getAttribute("aria-valuetext")]);
    return [shown.el.textContent, ...told].join(" ").replace(/\s+/g, " ");
}

test.each(KINDS)("of a question that a limit cuts, a %s says so and speaks of no truth", (kind) => {
    const told = words("cut", kind);
    expect(told).toMatch(LIMIT);
    expect(told).toMatch(/counted within the limits/);
    expect(told).not.toMatch(TRUTH);
    expect(shown.el.querySelectorAll(".dp-open-end").length).toBe(kind === "ranks" ? 0 : kind === "list" ? answers.cut.list.values.length : 1);
});

test.each(KINDS)("where nothing is cut, a %s speaks of no limit, and has no arrow", (kind) => {
    expect(words("uncut", kind)).not.toMatch(LIMITED);
    expect(shown.el.querySelector(".dp-open-end")).toBeNull();
});

test("a table has the end that holds for what was asked beside both for what was counted", () => {
    words("cut", "result");
    const row = [...shown.el.querySelectorAll("tbody tr")][0]!;
    expect([...row.querySelectorAll("td")].map((cell) => cell.textContent)).toEqual(
        expect.arrayContaining([expect.stringMatching(/^at least \d+; \d+ to \d+ counted within the limits$/)]),
    );
});

test("an answer that came without the words is caught", () => {
    const { limits: _, guarantee, ...rest } = answers.cut.result as any;
    shown = render(new Host("result-chart", { result: { ...rest, guarantee: guarantee.split(". ")[0] } }));
    expect(shown.el.textContent).not.toMatch(LIMIT);
    expect(shown.el.textContent).not.toMatch(LIMITED);
});

test.each(["cut", "uncut"] as const)("the columns that a page without a kernel saves are those of Python: %s", async (unit) => {
    const result = readResult(answers[unit].result)!;
    const body = histogramView.read({ ...result, csv: "" });
    const page = histogramView.csv!(body, "0.05");
    const [head, ...rows] = answers[unit].result.csv.trimEnd().split("\n").filter((line) => !line.startsWith("#"));
    expect(page.head.trimEnd().split("\n").at(-1)).toBe(head);
    expect(rows.map((_, i) => page.line(i))).toEqual(rows);
    expect(LIMIT.test(page.head)).toBe(unit === "cut");
    expect(tableOf(result, null, null)).not.toBeNull();
});

/** What the page says of two bars that are picked. */
async function asked(unit: "cut" | "uncut", what: "sum" | "pair"): Promise<string> {
    vi.useFakeTimers();
    const host = new Host("workbench", { result: answers[unit].result });
    host.answers["ask"] = () => answers[unit].asked[what] as any;
    shown = render(host);
    const way = shown.el.querySelector<HTMLSelectElement>("select[aria-label='What to ask']")!;
    way.value = what === "sum" ? "stretch" : "pair";
    way.dispatchEvent(new Event("change", { bubbles: true }));
    const boxes = [...shown.el.querySelectorAll<HTMLInputElement>(".dp-ask input[type=text]")];
    boxes.forEach((box, i) => (box.value = String(i + 1)));
    press(boxes[1]!, "Enter");
    await vi.advanceTimersByTimeAsync(160);
    await settle();
    return shown.el.querySelector(".dp-ask-answer")!.textContent!;
}

test("a sum that limits cut has a lower end, counts aircraft-months and says what is left out", async () => {
    const told = await asked("cut", "sum");
    expect(told).toMatch(/aircraft-months/);
    expect(told).toMatch(/at least \d+; between \d+ and \d+ counted within the limits/);
    expect(told).toMatch(LIMIT);
    expect(told).not.toMatch(TRUTH);
});

test("a comparison that limits cut says that it is about what was counted", async () => {
    const told = await asked("cut", "pair");
    expect(told).toMatch(/Among what is counted within the limits: .*This says nothing of the rows that were left out\. p/);
    expect(told).toMatch(/no end is known; between/);
    expect(told).not.toMatch(TRUTH);
});

test.each(["sum", "pair"] as const)("a %s of which nothing is cut speaks of no limit", async (what) => {
    expect(await asked("uncut", what)).not.toMatch(LIMITED);
});
