import { beforeEach, expect, test } from "vitest";
import healthJson from "../fixtures/health.json";
import "../src/page/built_in_views";
import { EXPLORERS } from "../src/explorers/explorers";
import { PAPER } from "../src/dom/dom";
import { draw as drawn } from "../src/report/report";
import { RELEASES } from "../src/report/report_releases";
import { readReport, type Report } from "../src/protocol/protocol";
import { dataTable } from "../src/dom/table";
import { press, result, sheet } from "./host";

const EVIL = "</script><img src=x onerror=alert(1)>";
let root: HTMLElement;
const draw = (report: Report, into: HTMLElement): void => drawn(report, into, { releases: RELEASES, explorers: EXPLORERS });

const report = (): Record<string, unknown> => ({
    version: 1,
    title: "How often do people see a doctor?",
    lead: "One person-year.",
    releases: [result(), healthJson],
    sheets: [sheet()],
    totals: {
        epsilon: "0.6",
        delta: "0",
        unit: "row, add or remove",
        randomness: "operating system",
        chain: "verified to entry 3",
    },
    caveats: ["The person who ran the notebook saw the data."],
});

beforeEach(() => {
    root = document.createElement("main");
    document.body.replaceChildren(root);
});

test("a report shows what was paid, every release, and what is not protected", () => {
    draw(readReport(report()), root);
    const text = root.textContent ?? "";
    expect(text).toContain("2 releases, 1 plan sheet");
    expect(text).toContain("total paidε 0.6 · δ\u00a00");
    expect(text).toContain("11,018 ±6");
    expect(text).toContain("What this does not protect");
    expect([...root.querySelectorAll("h2")].map((node) => node.textContent)).toContain(
        "Visits per person-year, released with ε = 0.1",
    );
});

test("the slider is alive with no kernel, the release is not, and the paid one is marked", () => {
    draw(readReport(report()), root);
    const slider = root.querySelector<HTMLInputElement>(".dp-track input")!;
    press(slider, "Home");
    expect(root.querySelector<HTMLInputElement>(".dp-stat-first input")!.value).toBe(
        sheet().fans.epsilon[0]!.errors["0.05"].one.value,
    );
    expect(root.textContent).toContain("▼ last release of this question, 0.1");
    const button = [...root.querySelectorAll("button")].find((node) => node.textContent === "Release needs a kernel")!;
    expect(button.getAttribute("aria-disabled")).toBe("true");
});

test("what another mechanism paid, or a whole sub-session, is not marked as the last release of a sheet", () => {
    const dear = { ...result(), epsilon: "3", price: { ...result().price, epsilon: "3" } };
    for (const other of [{ ...dear, mechanism: "TopK(epsilon=3)" }, { ...dear, used: "5 of 50 symbols and 1 of 20 questions" }]) {
        draw(readReport({ ...report(), releases: [result(), other] }), root);
        expect(root.textContent).toContain("▼ last release of this question, 0.1");
        draw(readReport({ ...report(), releases: [other] }), root);
        expect(root.textContent).not.toContain("▼ last release of this question");
    }
});

test("a teaching draw is not marked as a release of a sheet, nor on paper", () => {
    const draw7 = { ...result(), number: null, teaching: { seed: "7" } };
    draw(readReport({ ...report(), releases: [draw7] }), root);
    expect(root.textContent).not.toContain("▼ last release of this question");
    expect(root.querySelector(".dp-paper-only")!.textContent).not.toContain("as released");
    draw(readReport(report()), root);
    expect(root.querySelector(".dp-paper-only")!.textContent).toContain("0.1, as released");
});

test("a long table is drawn in full on paper, as far as a person may want to print it, and rolls again afterwards", () => {
    const tell = (box: HTMLElement, detail: string): boolean => box.dispatchEvent(new CustomEvent(PAPER, { detail }));
    for (const [count, last] of [[1_999, "row 1998"], [2_500, "… 500 more rows, in the CSV file"]] as const) {
        const box = dataTable("Rows", [{ name: "row" }], count, (i) => [`row ${i}`]);
        const rows = (): HTMLTableRowElement[] => [...box.querySelectorAll("tbody")[0]!.rows];
        const before = rows().length;
        expect(before).toBeLessThan(100);
        tell(box, "paper");
        expect(rows().slice(0, 1_999).map((row) => row.textContent)).toEqual(Array.from({ length: 1_999 }, (_, i) => `row ${i}`));
        expect([rows().length, rows().at(-1)!.textContent]).toEqual([Math.min(count, 2_001), last]);
        tell(box, "screen");
        expect(rows().length).toBe(before);
    }
});

test("sheets of one column are told apart by their mechanism", () => {
    const other = sheet();
    other.mechanism.name = "Stability";
    draw(readReport({ ...report(), sheets: [sheet(), other] }), root);
    const titles = [...root.querySelectorAll(".dp-plan h2, .dp-plan h3")].map((node) => node.textContent);
    expect(titles).toEqual(["Try another ε: visits, Dense", "Try another ε: visits, Stability"]);
});

test("off-grid text without a kernel shows the nearest more private tick, by name", () => {
    draw(readReport(report()), root);
    const box = root.querySelector<HTMLInputElement>(".dp-epsilon-box")!;
    box.value = "0.13";
    press(box, "Enter");
    expect(root.textContent).toContain(
        "no kernel to plan ε 0.13: shown for ε 0.12, the nearest tick that is more private",
    );
});

test("hostile labels are text in a report, too", () => {
    const evil = {
        ...healthJson,
        title: EVIL,
        plain_title: EVIL,
        labels: [EVIL, "b", "c", "d"],
        short_labels: [EVIL, "b", "c", "d"],
    };
    draw(readReport({ ...report(), title: EVIL, lead: EVIL, caveats: [EVIL], releases: [evil] }), root);
    expect(root.textContent).toContain(EVIL);
    expect(root.querySelectorAll("img, script, [onerror]")).toHaveLength(0);
});
