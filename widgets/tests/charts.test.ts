import { expect, test } from "vitest";
import digits from "../fixtures/digits.json";
import labels from "../fixtures/labels.json";
import longJson from "../fixtures/long.json";
import healthJson from "../fixtures/health.json";
import { histogram, Marks } from "../src/charts/histogram";
import { listOf } from "../src/protocol/columns";
import { clampOf, ends, interval } from "../src/wording/intervals";
import { addsUp, meterChart } from "../src/charts/meter";
import { dotsChart } from "../src/charts/dots";
import { Labels, niceCeiling, textWidth, tickText } from "../src/charts/frame";
import { curveChart, oneTwoFive } from "../src/charts/curve";
import { exactly } from "../src/numbers/exact";
import { readResult, readState } from "../src/protocol/protocol";
import { counted, findingOf, readOf } from "../src/wording/counted";
import { labelText, often, shown, sure } from "../src/wording/words";
import { result, state } from "./host";

const countsOf = (value: unknown): ReturnType<typeof counted> => counted(readResult(value));

const at = { width: 800, from: 0, to: 41, title: "t" };

/** Caps and stems of a path made of M x y V y, each cap M x y H x. */
const caps = (path: string): number => (path.match(/H/g) ?? []).length;

test("an interval is cut at the clamp, exactly, and only where it passes it", () => {
    const clamp = clampOf(countsOf(result()));
    expect(ends(interval(exactly("39"), exactly("67"), clamp))).toEqual({ low: "0", high: "106" });
    expect(interval(exactly("39"), exactly("67"), clamp)).toMatchObject({ lowCut: true, highCut: false });
    expect(interval(exactly("67"), exactly("67"), clamp).lowCut).toBe(false);
    expect(interval(exactly("5"), exactly("2"), { low: null, high: exactly("6.5") })).toMatchObject({
        highCut: true,
        high: exactly("6.5"),
    });
});

test("numbers of bins read as the kernel writes them", () => {
    for (const [name, read] of Object.entries<string>(labels)) {
        expect(labelText({ scale: "integers" }, name)).toBe(read);
        expect(labelText({ scale: "intervals" }, name)).toBe(read);
        expect(labelText({ scale: "categories" }, name)).toBe(name);
    }
});

test("a number has the digits that its interval supports, as the kernel writes them", () => {
    for (const [text, half, side, told] of digits as [string, string | null, -1 | 0 | 1, string][]) expect([text, half, side, sure(text, half, side)]).toEqual([text, half, side, told]);
});

test("numbers of a product have commas from 10,000 on, and names stay as they are", () => {
    const both = { scale: "product", scales: ["integers", "categories"] };
    expect(labelText(both, "100000 · 100000")).toBe("100,000 · 100000");
    expect(labelText(both, "100000 · a · b")).toBe("100000 · a · b"); // where a name holds the sign, nobody knows which part is which
    expect(labelText({ scale: "product" }, "100000 · x")).toBe("100000 · x");
});

test("of one value nothing is said of all at once", () => {
    const read = countsOf({ ...result(), labels: ["0"], short_labels: ["0"], values: ["6293"] });
    expect(readOf(read, "0.05", 0).bars).not.toContain("among all");
    expect(findingOf(read, "0.05")).toBe("0 visits: 6,293 released, clearly above 0.");
});

test("no cap is drawn at a cut", () => {
    const two = { ...result(), labels: ["a", "b"], short_labels: ["0", "1"], values: ["10", "1000"] };
    const drawn = (values: string[]): number => {
        const read = countsOf({
            ...two,
            values,
            bars: {
                ...two.bars,
                "0.05": {
                    one: { value: "50", kind: "exact", rule: "" },
                    all: { value: "100", kind: "exact", rule: "" },
                },
            },
        });
        const chart = histogram(read, "0.05", new Marks(read, "0.05"), { ...at, to: 1 });
        return caps(chart.element.querySelector(".dp-all")!.getAttribute("d")!);
    };
    expect(drawn(["500", "1000"])).toBe(4);
    expect(drawn(["10", "1000"])).toBe(3);
});

const striped = (change: object = {}): ReturnType<typeof counted> => countsOf({ ...result(), strips: ["16", "7"], ...change });

test("strips are three flat boxes around each value and one outline, in place of bars with caps", () => {
    const values = ["500", "700", "-20"];
    const names = { labels: ["0", "1", "2"], short_labels: ["0", "1", "2"], values, clamp: { low: null, high: null } };
    const read = striped(names);
    const chart = histogram(read, "0.05", new Marks(read, "0.05", read.strips!), { ...at, to: 2 }).element;
    expect(chart.querySelectorAll(".dp-bar, .dp-one, .dp-all, .dp-value")).toHaveLength(0);
    const tops = (kind: string): number[] =>
        [...chart.querySelector(kind)!.getAttribute("d")!.matchAll(/M\S+ (\S+)V(\S+)H/g)].map(([, low, high]) => Number(low) - Number(high));
    const tall = [".dp-strip-0", ".dp-strip-1", ".dp-strip-2"].map((kind) => tops(kind)[0]!);
    const wide = Number(read.bars.get("0.05")!.one.value);
    expect(tall[1]! / tall[0]!).toBeCloseTo(16 / wide, 1);
    expect(tall[2]! / tall[0]!).toBeCloseTo(7 / wide, 1);
    expect(tops(".dp-strip-0")).toHaveLength(3);
    const around = chart.querySelector(".dp-around")!.getAttribute("d")!;
    expect(around.match(/h/g)).toHaveLength(6); // top and bottom of each, for none is clipped
    expect(chart.outerHTML).not.toMatch(/NaN|undefined/);
});

test("the outline is dashed where it is a bound, and open at a public limit", () => {
    const one = { value: "30", kind: "exact", rule: "" };
    const bars = { "0.1": { one, all: one }, "0.05": { one, all: { ...one, value: "90", kind: "bound" } }, "0.01": { one, all: one } };
    const names = { labels: ["0", "1"], short_labels: ["0", "1"], values: ["500", "40"], bars };
    const read = striped(names);
    const around = histogram(read, "0.05", new Marks(read, "0.05", read.strips!), { ...at, to: 1 }).element.querySelector(".dp-around")!;
    expect(around.getAttribute("class")).toBe("dp-around dp-at-most");
    expect(around.getAttribute("d")!.match(/h/g)).toHaveLength(3);
});

test("names that lie on their side have strips as well, and a level without a joint bar has no outline", () => {
    const one = { value: "30", kind: "exact", rule: "" };
    const bars = Object.fromEntries(["0.1", "0.05", "0.01"].map((beta) => [beta, { one, all: null }]));
    const names = { scale: "categories", labels: ["a", "b"], short_labels: ["a", "b"], values: ["500", "400"], bars };
    const read = striped(names);
    const chart = histogram(read, "0.05", new Marks(read, "0.05", read.strips!), { ...at, to: 1 }).element;
    expect(chart.querySelectorAll("rect.dp-strip")).toHaveLength(6);
    expect(chart.querySelectorAll(".dp-around, .dp-bar")).toHaveLength(0);
});

test("up to twelve bins each have their value beside them", () => {
    const some = Array.from({ length: 12 }, (_, i) => String(i));
    const values = some.map((_, i) => String(1000 + 150 * ((i * 5) % 12)));
    const read = countsOf({ ...result(), labels: some, short_labels: some, values });
    const chart = histogram(read, "0.05", new Marks(read, "0.05"), { ...at, to: 11 }).element;
    for (const value of values) expect(chart.textContent).toContain(shown(value));
});

test("bars too short for the full axis get a second panel, cut where they can be read", () => {
    const read = countsOf(result());
    const chart = histogram(read, "0.05", new Marks(read, "0.05"), at);
    expect(chart.element.querySelectorAll(".dp-cut")).toHaveLength(1);
    expect(chart.element.querySelectorAll(".dp-value").length).toBe(
        listOf(read.values).filter((value) => Number(value) <= 150).length,
    );
    const above = (chart.element.querySelector(".dp-over")!.getAttribute("d")!.match(/M/g) ?? []).length;
    expect(above).toBe(listOf(read.values).filter((value) => Number(value) > 150).length);
});

test("bars that can be read on the full axis need no second panel", () => {
    const read = countsOf({ ...result(), values: result().values.map((_, i) => String(i * 10)) });
    const chart = histogram(read, "0.05", new Marks(read, "0.05"), at);
    expect([chart.element.querySelector(".dp-cut"), chart.tooShort]).toEqual([null, false]);
});

test("2,000 bins are one mark per pixel column, and single bins when zoomed", () => {
    const read = countsOf(longJson);
    const marks = new Marks(read, "0.05");
    const wide = histogram(read, "0.05", marks, { ...at, to: 1999 });
    expect(wide.columns).toBe(true);
    expect(wide.element.querySelectorAll("*").length).toBeLessThan(80);
    const strokes = (wide.element.querySelector(".dp-column-value")!.getAttribute("d")!.match(/M/g) ?? []).length;
    expect(strokes).toBeGreaterThan(600);
    expect(strokes).toBeLessThanOrEqual(800);
    expect(histogram(read, "0.05", marks, { ...at, from: 700, to: 760 }).columns).toBe(false);
});

test("the bin under the pointer is the one whose probe is drawn there", () => {
    const read = countsOf(result());
    const chart = histogram(read, "0.05", new Marks(read, "0.05"), at);
    for (const bin of [0, 17, 41]) {
        const probe = chart.probe(bin);
        expect(chart.binAt((probe.left + probe.right) / 2, (probe.top + probe.bottom) / 2)).toBe(bin);
    }
    expect(chart.binAt(2, 100)).toBeNull();
});

test("a few categories lie on their side, each with its value in words", () => {
    const read = countsOf(healthJson);
    const chart = histogram(read, "0.05", new Marks(read, "0.05"), { ...at, to: 3 });
    expect(chart.element.textContent).toContain("11,018 ±6");
    expect(chart.tooShort).toBe(true);
});

test("the meter adds up exactly or is not drawn", () => {
    expect(addsUp({ total: "2", spent: "0.85", pending: "0.05", left: "1.1" })).toBe(true);
    expect(addsUp({ total: "1", spent: "2/3", pending: "0", left: "1/3" })).toBe(true);
    expect(addsUp({ total: "2", spent: "0.85", pending: "0.05", left: "1.1000000000000000001" })).toBe(false);
});

test("the meter's segments are as wide as their prices, numbered, pending hatched, the plan dashed", () => {
    const { budget, entries } = readState(state());
    const chart = meterChart(801, { purse: budget!.epsilon, entries, plan: "0.2", paid: null });
    const width = (kind: string): number => Number(chart.querySelector(`.${kind}`)!.getAttribute("width"));
    expect(width("dp-meter-spent")).toBeCloseTo(0.85 * 400, 0);
    expect(width("dp-meter-pending")).toBeCloseTo(0.05 * 400, 0);
    expect(width("dp-meter-plan")).toBeCloseTo(0.2 * 400, -1);
    expect(chart.querySelector(".dp-meter-pending")!.getAttribute("fill")).toMatch(/^url/);
    expect([...chart.querySelectorAll(".dp-on-ink")].map((node) => node.textContent)).toEqual(["1", "2", "3"]);
    expect(chart.textContent).toContain("0.9 would be left");
});

test("a plan that does not fit is not said to leave anything", () => {
    const { budget, entries } = readState(state());
    const chart = meterChart(801, { purse: budget!.epsilon, entries, plan: "1.5", paid: null });
    expect(chart.textContent).not.toContain("would be left");
    expect(chart.querySelector(".dp-over-budget")).not.toBeNull();
});

test("the read-out gives the value and both intervals, cut at the domain's edge", () => {
    const read = countsOf(result());
    expect(readOf(read, "0.05", 38)).toEqual({
        value: "38 visits: 39 released",
        bars: "this bin alone: 9 to 69 · among all 42: 0 to 106",
    });
});

test("the finding counts the bins that stand apart when all are looked at", () => {
    const read = countsOf(result());
    const apart = listOf(read.values).filter((value) => Number(value) > 67).length;
    expect(findingOf(read, "0.05")).toBe(
        "Most person-years at 0: 6,293 released. " +
            `Looking at all bins at once, ${apart} of 42 are clearly above 0.`,
    );
});

test("labels never overlap", () => {
    const labels = new Labels({ left: 0, right: 200, top: 0, bottom: 100 });
    expect(labels.place("one", "", [{ x: 10, y: 50, anchor: "start" }])).not.toBeNull();
    expect(labels.place("two", "", [{ x: 15, y: 52, anchor: "start" }])).toBeNull();
    expect(
        labels.place("two", "", [
            { x: 15, y: 52, anchor: "start" },
            { x: 15, y: 80, anchor: "start" },
        ]),
    ).not.toBeNull();
});

test("numbers read as people write them", () => {
    expect([shown("-1234567"), shown("1234.5"), shown("1/3")]).toEqual(["−1,234,567", "1,234.5", "1/3"]);
    expect([often("0.05"), often("0.001"), often("0.125")]).toEqual(["95 in 100", "999 in 1,000", "875 in 1,000"]);
    expect([tickText(-0.30000000000000004), tickText(12000)]).toEqual(["−0.3", "12,000"]);
    expect([niceCeiling(147), niceCeiling(150), niceCeiling(0.07)]).toEqual([150, 150, 0.08]);
    expect(oneTwoFive(0.01, 0.2)).toEqual([0.01, 0.02, 0.05, 0.1, 0.2]);
});

test.each([
    ["left", 0, 0],
    ["middle", 3, 0],
    ["right", 6, 0],
    ["right, one error above and one below alike", 6, 1],
])("at the %s of a plan the greater error stands above its curve and the less below", (_where, at, list) => {
    const points = [0.02, 0.05, 0.1, 0.5, 1, 2, 5].map((epsilon) => {
        const [more, less] = [160 / epsilon, 80 / epsilon];
        return { epsilon, first: list ? more : less, second: list ? less : more };
    });
    const chart = curveChart(540, 180, {
        title: "t",
        points,
        now: points[at]!,
        first: { kind: "exact", weight: list ? "medium" : "thick", text: list ? "more" : "less", names: [] },
        second: { kind: "exact", weight: list ? "medium" : "thin", text: list ? "less" : "more", names: [] },
        released: null,
    });
    const dots = [...chart.querySelectorAll("circle")].map((dot) => Number(dot.getAttribute("cy")));
    const line = (text: string): number =>
        Number([...chart.querySelectorAll("text")].find((node) => node.textContent === text)!.getAttribute("y"));
    expect(line("more")).toBeLessThan(Math.min(...dots));
    expect(line("less") - 9).toBeGreaterThan(Math.max(...dots));
});

const errorsOf = (parts: Record<number, number>): number[] =>
    Object.entries(parts).flatMap(([error, times]) => Array.from({ length: times }, () => Number(error))).sort((a, b) => a - b);

const held = { within: "±32", often: "95 in 100" };

/** The dots of a picture: where each stands, and how wide it is. */
const dotsOf = (chart: SVGSVGElement): { x: number; y: number; r: number; nothing: boolean }[] =>
    [...chart.querySelectorAll("circle")].map((dot) => ({
        x: Number(dot.getAttribute("cx")),
        y: Number(dot.getAttribute("cy")),
        r: Number(dot.getAttribute("r")),
        nothing: dot.classList.contains("dp-nothing"),
    }));

test("fifty dots stand in the picture, on whole counts, and none lies on another", () => {
    const steep = errorsOf({ "-1": 3, 0: 44, 1: 3 });
    const wide = Array.from({ length: 50 }, (_, i) => Math.round(400_000 * Math.sinh((i - 24.5) / 10)));
    for (const errors of [steep, wide, errorsOf({ 0: 50 })]) {
        for (const width of [140, 176, 300, 520]) {
            const dots = dotsOf(dotsChart(width, 186, { errors, of: "any one bin", within: 5, words: held, cut: null }));
            expect(dots).toHaveLength(50);
            for (const { x, y, r } of dots) {
                expect(Math.min(x - r, width - x - r, 148 - y - r)).toBeGreaterThanOrEqual(0);
                expect(y - r).toBeGreaterThan(26);
            }
            const least = Math.min(...dots.flatMap((a, i) => dots.slice(i + 1).map((b) => Math.hypot(a.x - b.x, a.y - b.y) - 2 * a.r)));
            expect(least).toBeGreaterThan(-0.3);
        }
    }
});

test("the ticks below the dots are whole counts, also where no error is above 1", () => {
    for (const errors of [errorsOf({ 0: 50 }), errorsOf({ "-1": 5, 0: 40, 1: 5 }), errorsOf({ "-7": 1, 0: 48, 7: 1 })]) {
        const chart = dotsChart(240, 186, { errors, of: "any one bin", within: 1, words: held, cut: null });
        const ticks = [...chart.querySelectorAll("text")].map((one) => one.textContent!).filter((text) => /^[+−]?[\d.,]+$/.test(text));
        expect(ticks.length).toBeGreaterThanOrEqual(3);
        expect(ticks.every((text) => /^([+−]\d+|0)$/.test(text))).toBe(true);
    }
});

test("bins that are not shown are one labelled stack, apart from the rest, and its words touch no dot", () => {
    const errors = errorsOf({ "-27": 31, 1: 8, 2: 4, 3: 3, 4: 1, 5: 1, 6: 1, 8: 1 });
    for (const width of [140, 176, 240, 520]) {
        const chart = dotsChart(width, 186, { errors, of: "any one bin", within: 32, words: held, cut: 27 });
        const dots = dotsOf(chart);
        const [nothing, others] = [dots.filter((dot) => dot.nothing), dots.filter((dot) => !dot.nothing)];
        expect([nothing.length, others.length]).toEqual([31, 19]);
        expect(Math.max(...nothing.map(({ x, r }) => x + r))).toBeLessThan(Math.min(...others.map(({ x, r }) => x - r)));
        const words = [...chart.querySelectorAll<SVGTextElement>("text.dp-strong")];
        expect(words.map((text) => text.textContent).join(" ")).toBe("shows nothing, 31 of 50");
        for (const text of words) {
            const [left, y] = [Number(text.getAttribute("x")), Number(text.getAttribute("y"))];
            const right = left + textWidth(text.textContent!);
            expect(right).toBeLessThanOrEqual(width);
            expect(y).toBeGreaterThan(26);
            for (const dot of dots) expect(dot.x + dot.r < left || dot.x - dot.r > right || dot.y - dot.r > y + 2).toBe(true);
        }
        expect(chart.querySelector("title")!.textContent).toBe(
            "50 equally likely errors of a bin of true count 27, which shows nothing in 31 of 50; ±32 holds 95 of 100",
        );
        expect(chart.textContent).toContain("true count 27");
    }
});

test("the name of a curve does not stand at the number of the other one", () => {
    const epsilons = Array.from({ length: 61 }, (_, i) => 10 ** (-2 + (i * 2.3) / 60));
    const point = (epsilon: number) => ({ epsilon, first: Math.ceil(3 / epsilon), second: Math.ceil(6.7 / epsilon) });
    const wrong: string[] = [];
    let seen = 0;
    for (const width of [170, 185, 200, 215, 230, 245])
        for (const epsilon of epsilons.filter((_, i) => i % 3 === 0)) {
            const now = point(epsilon);
            const chart = curveChart(width, 186, {
                title: "At one epsilon",
                points: epsilons.map(point),
                now,
                first: { kind: "exact", weight: "thick", text: `±${now.first}`, names: ["any one bin", "one bin"] },
                second: { kind: "exact", weight: "thin", text: `±${now.second}`, names: ["all 42 at once", "all 42"] },
                released: { ...point(0.1), number: "3" },
            });
            const boxes = [...chart.querySelectorAll("text")].map((text) => {
                const [x, y, words] = [Number(text.getAttribute("x")), Number(text.getAttribute("y")), text.textContent];
                const strong = text.classList.contains("dp-strong");
                const wide = words.length * 6.3 * (strong ? 1.14 : 1);
                const left = text.getAttribute("text-anchor") === "end" ? x - wide : x;
                return { words, left, right: left + wide, top: y - 10, bottom: y + 3 };
            });
            const of = (words: string) => boxes.filter((box) => box.words.includes(words));
            for (const [name, number] of [["one bin", `±${now.second}`], ["all 42", `±${now.first}`]] as const)
                for (const a of of(name))
                    for (const b of of(number).filter((box) => box.words === number)) {
                        seen += 1;
                        const apart = Math.max(a.left - b.right, b.left - a.right, a.top - b.bottom, b.top - a.bottom);
                        if (apart < 8) wrong.push(`${name} at ${number}, ${width} px wide`);
                    }
        }
    expect(seen).toBeGreaterThan(80);
    expect(wrong).toEqual([]);
});
