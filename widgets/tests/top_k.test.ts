import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { anatomyChart, type Anatomy } from "../src/charts/anatomy";
import { inclusionChart } from "../src/charts/inclusion";
import { lengthsChart } from "../src/charts/lengths";
import { linesChart } from "../src/charts/lines";
import { Explorer } from "../src/explorers/explorer";
import { Malformed } from "../src/protocol/readers";
import { readComposition, readTopK } from "../src/protocol/sheets";
import { enter, Host, press, render, settle, type Shown } from "./host";

type At = Record<string, string>;
const LABELS = ["ATL", "STL", "MIA", "DEN", "ORD"];
const COUNTS = ["650", "600", "520", "500", "70"];
const GRIDS: Record<string, string[]> = {
    k: ["1", "2"],
    kbar: ["2", "4"],
    epsilon: ["0.05", "0.1"],
    delta: ["0.00000001", "0.000001"],
    max_bins: ["5", "none"],
    method: ["gumbel", "laplace"],
};
const START: At = { k: "2", kbar: "4", epsilon: "0.05", delta: "0.00000001", max_bins: "5", method: "gumbel" };

function topKPoint(at: At, open = true): Record<string, unknown> {
    const quick = at["epsilon"] === "0.1";
    const refused = at["method"] === "laplace" && at["max_bins"] === "none";
    return {
        at: open ? at : Object.fromEntries(Object.entries(at).filter(([name]) => name !== "method")),
        above: quick ? "201.4" : "401.7",
        low: quick ? "172" : "342.8",
        high: quick ? "230.9" : "460.6",
        gap: "1 + ln(5/δ)/ε",
        alpha: "179",
        prices: [
            { name: "safe", label: "safe, default", epsilon: quick ? "0.2" : "0.1", delta: "0.00000051" },
            { name: "zcdp", label: "zCDP", epsilon: "0.1", delta: "0.00000051" },
        ],
        method: { name: at["method"], about: "made so", price: refused ? null : { epsilon: "0.1", delta: "0" }, refused: refused ? "needs a limit" : "" },
        distance: [{ name: "at most 5", above: ["401.7", "401.7"] }],
        open: open
            ? {
                  next: "70",
                  first: "0",
                  chance: [0.9999, 0.96, 0.5, 0.3, 0],
                  simulated: [1, 0.95, 0.52, 0.31, 0],
                  draws: DRAWN,
                  lengths: quick ? [0, 0.1, 0.9] : [0.01, 0.2, 0.79],
                  items: quick ? "1.9" : "1.78",
                  charge: "1.99",
                  trade: [
                      { name: "at most 5", threshold: ["921.7", "471.7"], items: ["0.1", "1.78"] },
                      { name: "no limit", threshold: ["930", "480"], items: ["0.1", "1.7"] },
                  ],
                  pick: { low: "3", middle: "4", high: "4" },
                  least: "4",
              }
            : null,
    };
}

/** Seven lists where the first two swapped, three with another item, two that ended early, and the rest in order. */
const DRAWN = "102".repeat(7) + "021".repeat(2) + "*01" + "0.." + "..." + "012".repeat(28);

function sheetAt(at: At, grids: Record<string, string[]>, point: (at: At) => unknown): Record<string, unknown> {
    return {
        version: 1,
        axes: Object.entries(grids).map(([name, grid]) => ({ name, label: `Axis ${name}`, hint: "", grid, values: grid })),
        now: point(at),
        fans: Object.fromEntries(Object.entries(grids).map(([name, grid]) => [name, grid.map((value) => point({ ...at, [name]: value }))])),
    };
}

const topK = (at: At = START): any => ({
    ...sheetAt(at, GRIDS, topKPoint),
    subject: { item: "destination", items: "destinations", noun: "aircraft", nouns: "aircraft", sentence: "Which?", protects: "For adding or removing one aircraft", delta_prime: "0.0000005" },
    badge: "public data · not a release",
    runs: "1000",
    kbar: ["2", "4"],
    tables: { 5: { labels: [...LABELS], counts: [...COUNTS] }, none: { labels: [...LABELS], counts: [...COUNTS] } },
    released: null,
});

const closed = (more: Record<string, unknown> = {}): any => {
    const { method: _, ...grids } = GRIDS;
    return {
        ...topK(),
        ...sheetAt(START, grids, (at) => topKPoint(at, false)),
        badge: "",
        tables: {},
        released: {
            title: "Top 4 dests, aircraft, released with ε = 0.5",
            items: ["ATL", "<b>STL</b>"],
            values: null,
            ended: true,
            k: "4",
            paid: { epsilon: "0.5", delta: "0.000001" },
            guarantee: "(0.5, 0.000001)-differential privacy for adding or removing one aircraft",
            teaching: null,
            ...more,
        },
    };
};

const STEPS = { epsilon: ["0.1", "0.2"], delta: ["0.000001", "0.01"], k: ["1", "10", "100"] };
const RULES = ["sum", "dp", "optimal", "bounded", "zcdp"];

function compositionPoint(at: At): Record<string, unknown> {
    const step = Number(at["epsilon"]);
    return {
        at,
        rules: RULES.map((name, i) => ({ name, epsilon: [String(step), String(10 * step - i * 0.01), String((100 * step) / (i + 1))] })),
        laplace: ["1", "9", "28"],
        equal: [1, 9.4, 28.6],
    };
}

const composition = (at: At = { epsilon: "0.1", delta: "0.000001", k: "10" }): any => {
    const sheet = sheetAt(at, STEPS, compositionPoint) as any;
    delete sheet.fans.k;
    return {
        ...sheet,
        rules: RULES.map((name) => ({ name, label: `Rule ${name}`, about: "private" })),
        figure: { delta: "0.000001", k: [1, 10, 100], curves: [{ epsilon: "0.1", bounded: [1, 1.2, 1.5], zcdp: [1, 1.3, 1.7] }] },
    };
};

let shown: Shown;

function open(component: string, sheet: unknown): Shown {
    shown?.close();
    const host = new Host(component, { sheet });
    host.answers["status"] = () => ({});
    shown = render(host);
    return shown;
}

const slider = (name: string): HTMLInputElement => {
    const label = [...shown.el.querySelectorAll("label")].find((node) => node.textContent === `Axis ${name}`)!;
    return shown.el.querySelector<HTMLInputElement>(`#${label.htmlFor}`)!;
};
const titles = (): string[] => [...shown.el.querySelectorAll("svg title")].map((node) => node.textContent ?? "");
const visible = (node: Element): boolean => node.closest("[hidden]") === null;

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown?.close();
    vi.useRealTimers();
});

test("the panels show the threshold, the chances, what k̄ buys, lengths and prices, and each names its finding", () => {
    open("top-k-explorer", topK());
    expect(shown.el.querySelector("h3")!.textContent).toBe("Top 2 of an unknown list");
    expect(titles()).toEqual([
        "The threshold is 472; 1.78 of 2 items are expected; the list costs at most ε 0.1, δ\u00a00.00000051.",
        "On a list of up to 2, 2 items are listed at least 95 times in 100, and 3 at least half the time",
        "Reading 4 rows puts the threshold at 472; it is lowest at k̄ = 4",
        "Reading 4 rows, 1.78 of 2 items are expected",
        "The likeliest length is 2 items, with chance 79 %; 1.78 are expected",
    ]);
    expect(shown.text()).toContain("public data · not a release");
    expect(shown.text()).toContain("Do not choose k̄ by looking at private counts: that look would be a release nobody paid for.");
    expect(shown.text()).toContain("bar: calculated · ○ share of 1,000 simulated lists");
    expect([...shown.el.querySelectorAll(".dp-prices tbody tr")].map((row) => row.textContent)).toEqual([
        "safe, default0.10.00000051",
        "zCDP0.10.00000051",
    ]);
    expect([...shown.el.querySelectorAll(".dp-sums div")].map((row) => row.textContent)).toContain("⊥ counts as1 symbol");
});

test("sliders redraw at once from their fans, and the method of the list is one of them", async () => {
    open("top-k-explorer", topK());
    await settle();
    press(slider("epsilon"), "End");
    expect(titles()[0]).toContain("The threshold is 272; 1.9 of 2 items are expected; the list costs at most ε 0.2");
    expect(shown.host.of("move")).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(shown.host.of("move").map((asked) => asked.args)).toEqual([{ place: { ...START, epsilon: "0.1" } }]);
});

test("a method that is not proved here says so and draws no chances", async () => {
    open("top-k-explorer", topK({ ...START, max_bins: "none" }));
    const select = shown.el.querySelector<HTMLSelectElement>(".dp-method select")!;
    select.value = "laplace";
    select.dispatchEvent(new Event("change", { bubbles: true }));
    expect(shown.text()).toContain("Not available here: needs a limit.");
    expect([...shown.el.querySelectorAll("svg")].filter(visible).map((chart) => chart.getAttribute("aria-label"))).not.toContain(titles()[1]);
    await settle();
});

test("the table under the panels holds every number that they draw", () => {
    open("top-k-explorer", topK());
    const details = shown.el.querySelector<HTMLDetailsElement>("details")!;
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    const cells = [...details.querySelectorAll("tbody tr")].map((row) => row.textContent);
    expect(cells[0]).toBe("1ATL6500.99991.0000");
    expect(cells).toContain("44721.784801.7");
    expect(cells.slice(-3)).toEqual(["00.0100", "10.2000", "20.7900"]);
});

test("of a release the panels stay closed; the list, what was paid and public distances are shown", () => {
    open("top-k-explorer", closed());
    expect(shown.text()).toContain("On private data this panel stays closed");
    expect([...shown.el.querySelectorAll(".dp-released-list li")].map((item) => item.textContent)).toEqual(["ATL", "<b>STL</b>", "⊥", ""]);
    expect(shown.el.querySelector(".dp-released-list b")).toBeNull();
    expect(shown.text()).toContain("paid ε 0.5, δ\u00a00.000001");
    expect(shown.text()).toContain("An item 402 above it beats ⊥ half the time: 1 + ln(5/δ)/ε, the price of an unknown domain.");
    expect(shown.text()).toContain("At least 95 times in 100 no listed item lies more than 179 below the count at rank 2.");
    expect([...shown.el.querySelectorAll("svg")].filter(visible)).toHaveLength(1);
    expect([...shown.el.querySelectorAll("h4")].filter(visible).map((node) => node.textContent)).not.toContain("Who gets on the list");
    press(slider("epsilon"), "End");
    expect(shown.text()).toContain("An item 202 above it beats ⊥ half the time");
});

test("a teaching draw is violet and says so", () => {
    open("top-k-explorer", closed({ teaching: "7", ended: false }));
    expect(shown.el.querySelector(".dp-released")!.hasAttribute("data-teaching")).toBe(true);
    expect(shown.text()).toContain("Not private · teaching, seed 7");
    expect(shown.text()).not.toContain("paid ε");
});

test.each([
    ["a chance above 1", (sheet: any) => (sheet.now.open.chance[0] = 1.1)],
    ["fewer simulated shares than chances", (sheet: any) => sheet.now.open.simulated.pop()],
    ["a curve of another length", (sheet: any) => sheet.now.open.trade[0].items.pop()],
    ["a limit without a ranking", (sheet: any) => delete sheet.tables.none],
    ["chances of items beyond the last", (sheet: any) => (sheet.now.open.first = "1")],
    ["more chances than labels", (sheet: any) => sheet.tables["5"].labels.pop()],
    ["a number where a text belongs", (sheet: any) => (sheet.now.above = 401.7)],
    ["a fan with a point too few", (sheet: any) => sheet.fans.k.pop()],
])("a malformed top-k sheet is not believed: %s", (_, spoil) => {
    const sheet = topK();
    expect(() => readTopK(JSON.stringify(sheet))).not.toThrow();
    spoil(sheet);
    expect(() => readTopK(JSON.stringify(sheet))).toThrow(Malformed);
});

const ANATOMY: Anatomy = {
    title: "A finding",
    counts: [900, 40, 30, 20],
    labels: ["a name that is far too long", "b", "c", "d"],
    kbar: 3,
    named: 2,
    next: 20,
    low: 60,
    threshold: 80,
    high: 100,
    words: { low: ["60: low"], threshold: ["threshold 80", "half"], high: ["100: high"], above: ["+60", "the price"], next: ["next", "20"] },
    axis: "rank",
};

test("counts far above the threshold are cut and marked, and names are shortened", () => {
    const chart = anatomyChart(860, 330, ANATOMY);
    expect(chart.querySelectorAll(".dp-public-over")).toHaveLength(1);
    expect([...chart.querySelectorAll(".dp-bare")].map((node) => node.textContent)).toEqual(["a name that…", "b"]);
    expect(chart.textContent).toContain("threshold 80");
    expect(anatomyChart(860, 330, { ...ANATOMY, counts: [120, 40, 30, 20] }).querySelector(".dp-public-over")).toBeNull();
    expect(anatomyChart(320, 330, ANATOMY).textContent).not.toContain("threshold 80");
});

test("words beside the lines never overlap, however close the lines are", () => {
    const chart = anatomyChart(860, 330, { ...ANATOMY, low: 79, high: 81, next: 78 });
    const beside = [...chart.querySelectorAll("text")].filter((node) => Number(node.getAttribute("x")) > 700);
    const ys = beside.map((node) => Number(node.getAttribute("y"))).sort((a, b) => a - b);
    expect(ys).toHaveLength(6);
    ys.slice(1).forEach((y, i) => expect(y - ys[i]!).toBeGreaterThanOrEqual(14));
});

test("five chances are written at most, and every item has a bar and a dot", () => {
    const chance = [1, 0.9, 0.7, 0.25, 0.1, 0.03, 0.001, 0];
    const chart = inclusionChart(300, { title: "t", labels: chance.map((_, i) => `i${i}`), chance, simulated: chance, text: (value) => `${value}` });
    expect(chart.querySelectorAll("rect")).toHaveLength(8);
    expect(chart.querySelectorAll("circle")).toHaveLength(8);
    expect([...chart.querySelectorAll("text")].map((node) => node.textContent)).toEqual(expect.arrayContaining(["1", "0.7", "0.25", "0.03"]));
});

test("lengths are outlined columns from 0 to k, the likeliest always written", () => {
    const chart = lengthsChart(240, 160, { title: "t", chance: [0.01, 0.2, 0.79], axis: "items", text: (value) => `${100 * value}` });
    expect(chart.querySelectorAll(".dp-length")).toHaveLength(3);
    expect(chart.textContent).toContain("79");
});

test("names at the ends of curves are pushed apart", () => {
    const series = [1, 1.01, 1.02].map((end, i) => ({ name: `rule ${i}`, xs: [1, 2], ys: [1, end], kind: "dp-medium", colour: i + 1 }));
    const chart = linesChart(400, 200, { title: "t", x: { low: 1, high: 2, log: false, name: "" }, y: { low: 0, high: 10, log: false, name: "" }, series, margin: 60 });
    const ys = [...chart.querySelectorAll(".dp-name")].map((node) => Number(node.getAttribute("y")));
    expect(ys).toHaveLength(3);
    expect(Math.min(...ys.slice(1).map((y, i) => y - ys[i]!))).toBeGreaterThanOrEqual(14);
});

test("the composition explorer lists the rules cheapest first and follows k without the kernel", async () => {
    open("composition-explorer", composition());
    const rows = (): string[] => [...shown.el.querySelectorAll("tbody tr")].map((row) => row.textContent ?? "");
    expect(shown.text()).toContain("10 steps of ε 0.1 at δ′ 0.000001: Rule zcdp is cheapest at ε 0.96; the sum is 1.");
    expect(rows()[0]).toBe("Rule zcdp0.96private");
    press(slider("k"), "End");
    expect(rows()[0]).toBe("Rule zcdp2private");
    expect(shown.text()).toContain("100 steps of ε 0.1");
    press(slider("k"), "Home");
    expect(shown.text()).toContain("1 step of ε 0.1 at δ′ 0.000001: no rule is better than the sum, ε 0.1.");
    press(slider("epsilon"), "End");
    expect(rows()[0]).toBe("Rule sum0.2private");
    expect(titles()).toContain("For a list of 1, Laplace noise costs no more than Gumbel noise where a unit touches at most 1 bin, and more beyond");
    await settle();
});

test("without a kernel a sheet that was saved still moves, one slider at a time", () => {
    const store = new Explorer(readTopK);
    store.take("sheet", JSON.stringify(topK()));
    store.moveTo("epsilon", 1);
    expect([store.point!.above, store.fault]).toEqual(["201.4", null]);
    store.moveTo("k", 0);
    expect([store.position.get("epsilon"), store.position.get("k")]).toEqual(["0.05", "1"]);
    expect(store.fault).toContain("one slider moves at a time");
});

test("a typed k off the slider is asked of the kernel; its refusal stands at its box, which keeps it until it is mended", async () => {
    open("top-k-explorer", topK());
    await settle();
    shown.host.answers["move"] = () => ({
        error: { kind: "ParameterError", message: "k must be a whole number from 1 to 200, got 999", value: "999", rule: "", next_step: "", fix: {} },
    });
    const box = shown.el.querySelector<HTMLInputElement>("input[aria-label='Axis k, exact']")!;
    const mistype = async (): Promise<void> => {
        enter(box, "999");
        await vi.advanceTimersByTimeAsync(200);
        await settle();
    };
    const told = (): string[] => [...shown.el.querySelectorAll<HTMLElement>("[role=alert]")].filter((alert) => !alert.hidden).map((alert) => alert.textContent!);
    await mistype();
    expect(told()).toEqual(["⚠ k must be a whole number from 1 to 200, got 999"]);
    const by = box.getAttribute("aria-describedby")!.split(" ").map((id) => document.getElementById(id)!.textContent);
    expect([box.value, box.getAttribute("aria-invalid"), by.at(-1)]).toEqual(["999", "true", told()[0]]);
    expect(titles()[0]).toContain("of 2 items are expected"); // the point is as it was
    enter(box, "2");
    expect([told(), box.value, box.hasAttribute("aria-invalid")]).toEqual([[], "2", false]);
    await mistype();
    expect(press(box, "Escape").defaultPrevented).toBe(false);
    expect([told(), box.value, box.hasAttribute("aria-invalid")]).toEqual([[], "2", false]);
    await mistype();
    press(slider("k"), "Home"); // it is moved on
    expect([told(), box.value, box.hasAttribute("aria-invalid")]).toEqual([[], "1", false]);
});

test("a decimal comma is no comma between thousands: it is not read as another number", async () => {
    open("top-k-explorer", topK());
    await settle();
    shown.host.answers["move"] = () => ({ error: { kind: "ExactnessError", message: "no number", value: "", rule: "", next_step: "", fix: {} } });
    const box = shown.el.querySelector<HTMLInputElement>("input[aria-label='Axis epsilon, exact']")!;
    for (const [typed, sent] of [["0,5", "0,5"], ["1,234.5", "1234.5"], ["1,23", "1,23"]]) {
        enter(box, typed!);
        await vi.advanceTimersByTimeAsync(200);
        await settle();
        expect([(shown.host.of("move").at(-1)!.args["place"] as At)["epsilon"], box.value]).toEqual([sent, typed]);
    }
});

test("sliders name their ends and the powers of ten between, and a page of a slider is one of these", () => {
    const grids = { ...GRIDS, k: ["1", "3", "10", "30", "100", "200", "500", "1000"], kbar: ["1000"] };
    const sheet = { ...topK(), ...sheetAt({ ...START, kbar: "1000" }, grids, topKPoint), kbar: ["2", "4"] };
    open("top-k-explorer", sheet);
    const scale = (name: string): string[] => [...slider(name).parentElement!.querySelectorAll(".dp-scale span")].map((tick) => tick.textContent!);
    expect(scale("k")).toEqual(["1", "10", "100", "1,000"]);
    expect(scale("epsilon")).toEqual(["0.05", "0.1"]);
    press(slider("k"), "Home");
    for (const at of ["10", "100", "1,000", "1,000"]) {
        press(slider("k"), "PageUp");
        expect(slider("k").getAttribute("aria-valuetext")).toBe(at);
    }
    press(slider("k"), "PageDown");
    expect(slider("k").getAttribute("aria-valuetext")).toBe("100");
    // With one place to stand it is no slider.
    expect(visible(slider("k"))).toBe(true);
    expect(visible(slider("kbar"))).toBe(false);
});

test("a malformed composition sheet is not believed", () => {
    for (const spoil of [(sheet: any) => sheet.now.rules.pop() && sheet.now.laplace.pop(), (sheet: any) => sheet.figure.curves[0].zcdp.pop(), (sheet: any) => sheet.now.rules.reverse()]) {
        const sheet = composition();
        expect(() => readComposition(JSON.stringify(sheet))).not.toThrow();
        spoil(sheet);
        expect(() => readComposition(JSON.stringify(sheet))).toThrow(Malformed);
    }
});

test("the first places of forty draws are played, and how often the order changed is counted in words", () => {
    expect(DRAWN).toHaveLength(120);
    vi.useFakeTimers();
    vi.stubGlobal("matchMedia", () => ({ matches: false }));
    try {
        shown = open("top-k-explorer", topK());
        const figure = shown.el.querySelector(".dp-hypothetical")!;
        const cells = (): string[] => [...figure.querySelectorAll(".dp-on-stage li")].map((cell) => cell.textContent!);
        expect(figure.querySelector(".dp-finding")!.textContent).toBe(
            "The first two swapped in 7 of 40 draws and kept their order in 28; in 3 another item took one of their places; in 2 the list ended before its second place.",
        );
        expect(figure.textContent).toContain("public truth, new noise each time; violet: not at its true place");
        expect(cells()).toEqual([LABELS[1], LABELS[0], LABELS[2]]);
        expect([...figure.querySelectorAll(".dp-on-stage li")].map((cell) => cell.getAttribute("data-moved"))).toEqual(["true", "true", null]);
        vi.advanceTimersByTime(500 * 10);
        expect(figure.textContent).toContain("draw 11 of 40");
        expect(cells()).toEqual([LABELS[0], "⊥", ""]);
        const button = figure.querySelector("button")!;
        expect(button.textContent).toBe("Pause");
        button.click();
        vi.advanceTimersByTime(5000);
        expect(figure.textContent).toContain("draw 11 of 40");
        button.click();
        vi.advanceTimersByTime(500);
        expect(figure.textContent).toContain("draw 12 of 40");
        shown.close();
        expect(vi.getTimerCount()).toBe(0);
    } finally {
        vi.useRealTimers();
        vi.unstubAllGlobals();
    }
});

test("where nothing may move, twelve outcomes stand side by side and no clock runs", () => {
    vi.useFakeTimers();
    vi.stubGlobal("matchMedia", () => ({ matches: true }));
    try {
        shown = open("top-k-explorer", topK());
        expect(shown.el.querySelectorAll(".dp-outcomes ol")).toHaveLength(12);
        const before = shown.el.querySelector(".dp-on-stage")!.textContent;
        vi.advanceTimersByTime(5000);
        expect(shown.el.querySelector(".dp-on-stage")!.textContent).toBe(before);
    } finally {
        vi.useRealTimers();
        vi.unstubAllGlobals();
    }
});

test("draws that are no whole number of lists, or name no rank, are not believed", () => {
    for (const draws of [DRAWN.slice(1), DRAWN.replace("1", "<")]) {
        const sheet = topK();
        sheet.now.open.draws = draws;
        expect(() => readTopK(sheet)).toThrow("draws");
    }
});
