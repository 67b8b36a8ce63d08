import { afterEach, expect, test } from "vitest";
import { readResult } from "../src/protocol/protocol";
import { bring } from "../src/answers/result_view";
import { ranksView } from "../src/views/ranks";
import { Host, render, result, type Shown } from "./host";

bring(ranksView);

const NOISY = ["40", "12", "14", "3", "-2"];
const STARTS = ["0", "1", "3"];
const SUMS = ["40", "26", "1"];

const ranks = (more: Record<string, unknown> = {}): any => {
    const { labels: _, short_labels: __, bars: ___, ...head } = result() as any;
    const levels = Object.fromEntries(
        head.betas.flatMap((beta: string) => [
            [`one_low ${beta}`, ["36", "10", "9", "0", "0"]],
            [`one_high ${beta}`, ["44", "16", "16", "6", "2"]],
            [`all_low ${beta}`, ["30", "8", "8", "0", "0"]],
            [`all_high ${beta}`, ["50", "18", "18", "9", "9"]],
        ]),
    );
    return {
        ...head,
        kind: "ranks",
        title: "Visits, sorted, released with ε = 0.5",
        values: [],
        ranks: "5",
        bins: "5",
        noisy: NOISY,
        starts: STARTS,
        sums: SUMS,
        sentence: "The counts of all 5 bins, sorted: rank 1 is the largest.",
        remark: "A rank says nothing about which bin has the count.",
        bands: Object.fromEntries(head.betas.map((beta: string) => [beta, { one_crossed: false, all_crossed: beta === "0.1", supremum: { value: "9", kind: "exact", rule: "r" } }])),
        ...levels,
        ...more,
    };
};

let shown: Shown;

function open(given: unknown): Shown {
    shown?.close();
    shown = render(new Host("result-chart", { result: given as string }));
    return shown;
}

afterEach(() => shown?.close());

test("sorted counts are drawn as fitted steps with both bands, and no true count is there", () => {
    const { el } = open(ranks());
    expect(el.querySelector(".dp-ranks svg title")!.textContent).toBe(
        "Visits, sorted, released with ε = 0.5. The counts of all 5 bins, sorted: rank 1 is the largest. Fitted: 3 blocks of equal values among 5 ranks.",
    );
    expect([".dp-noisy-dot", ".dp-band", ".dp-public, .dp-public-top"].map((one) => el.querySelectorAll(one).length)).toEqual([5, 2, 0]);
    expect(el.textContent).toContain("Without a look at the answer: all ranks within ±9 of the fit (exact).");
    expect(el.textContent).toContain("A rank says nothing about which bin has the count.");
    expect(el.textContent).not.toContain("empty somewhere");
});

test("a reader may choose how often the bands hold, and a band that is empty somewhere is said to be", () => {
    const { el } = open(ranks());
    const select = [...el.querySelectorAll("select")].find((one) => [...one.options].some(({ value }) => value === "0.1"))!;
    select.value = "0.1";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    expect(el.textContent).toContain("⚠ The outer band is empty somewhere");
});

test("the table has each rank with its exact fitted value, what was drawn, and both intervals", () => {
    const { el, button } = open(ranks());
    button("Table").click();
    const rows = [...el.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));
    expect(rows[0]).toEqual(["1", "40", "40", "36 to 44", "30 to 50"]);
    expect(rows[2]).toEqual(["3", "13", "14", "9 to 16", "8 to 18"]);
    expect(rows[4]).toEqual(["5", "0.5", "\u22122", "0 to 2", "0 to 9"]);
});

test.each([
    ["a rank without a noisy count", { noisy: NOISY.slice(1) }],
    ["blocks that begin later", { starts: ["1", "2", "3"] }],
    ["blocks that do not ascend", { starts: ["0", "3", "1"] }],
    ["a block without a sum", { sums: ["40", "26"] }],
    ["an end too few", { "all_low 0.05": ["1"] }],
])("what is malformed is told in words and not drawn: %s", (_, more) => {
    const { el } = open(ranks(more));
    expect(el.querySelector(".dp-ranks svg")).toBeNull();
});

test("the file that a page writes has each mean of a block as the kernel writes it: a decimal where it has a finite one", () => {
    const given = ranks({ starts: ["0", "3"], sums: ["40", "1"] });
    const file = ranksView.csv!(ranksView.read(readResult(given)), given.beta);
    const lines = Array.from({ length: file.rows }, (_, rank) => file.line(rank).split(",").slice(0, 2));
    expect(lines).toEqual([["1", "40/3"], ["2", "40/3"], ["3", "40/3"], ["4", "0.5"], ["5", "0.5"]]);
});
