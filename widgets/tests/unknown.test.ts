/** An answer of a kind that this page has no view for is told in words, and never drawn as another. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readReport, readResult } from "../src/protocol/protocol";
import { Malformed } from "../src/protocol/readers";
import { draw } from "../src/report/report";
import { RELEASES } from "../src/report/report_releases";
import { Host, render, result, type Shown } from "./host";

const later = (): Record<string, unknown> => ({
    ...result(),
    kind: "ranges",
    labels: { not: "a list" },
    values: "none",
    bars: 7,
    csv: "low,high\n1,2\n",
});
let shown: Shown;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
    shown?.close();
    vi.useRealTimers();
});

test("its head is read and checked, and nothing else of it", () => {
    const read = readResult(later());
    expect([read.kind, read.title, "values" in read, "labels" in read]).toEqual(["ranges", result().title, false, false]);
    expect(() => readResult({ ...later(), price: { epsilon: "much" } })).toThrow(Malformed);
    expect(() => readResult({ ...later(), kind: 7 })).toThrow(Malformed);
    expect(() => readResult({ ...later(), kind: "histogram" })).toThrow(Malformed);
    expect(readResult(result()).kind).toBe("histogram");
});

test("the page names the kind, what was paid, and the call that has it all", () => {
    shown = render(new Host("result-chart", { result: later() }));
    const element = shown.el.querySelector<HTMLElement>(".dp-large")!;
    expect(element.hidden).toBe(false);
    expect(element.textContent).toBe(
        "This page has no view for an answer of kind ranges. It is paid for and stored." +
            "All of it, free: session.releases[3].to_frame()Save its table",
    );
    expect(shown.el.querySelector(".dp-chip")!.textContent).toContain("paid");
    expect(shown.el.querySelector(".dp-stage")).toBeNull();
    expect(shown.el.querySelector<HTMLElement>(".dp-result-tools")!.hidden).toBe(true);
});

test("a report shows it so among the others, and lists no numbers of it", () => {
    const root = document.createElement("main");
    const totals = { epsilon: "0.6", delta: "0", unit: "row", randomness: "operating system", chain: "not checked" };
    const report = { version: 1, title: "Two", lead: null, releases: [result(), later()], sheets: [], totals, caveats: [] };
    draw(readReport(report), root, { releases: RELEASES });
    expect(root.textContent).toContain("no view for an answer of kind ranges");
    expect(root.querySelectorAll(".dp-numbers")).toHaveLength(1);
});
