/** Learn the distribution, or draw one record from it? The needs of each, the errors of each, and the price of many draws. */

import { axisSlider } from "./axis_slider";
import { linesChart, SHAPES, type Series } from "../charts/lines";
import { scatterChart } from "../charts/scatter";
import { niceCeiling } from "../charts/frame";
import { bitsText } from "../charts/tradeoff";
import type { Component } from "../dom/component";
import { h, newId, s, setAttribute, setOptions, setText, show, watchWidth } from "../dom/dom";
import { approximate, exactly } from "../numbers/exact";
import { standing, type Explorer } from "./explorer";
import { figure } from "../dom/figure";
import { timed } from "../dom/perf";
import { above, below, figures as number, powers, raised } from "../wording/powers";
import { sharesPane } from "./sampling_shares";
import type { Counts, SamplingPoint, SamplingSheet, Way } from "../protocol/sampling_sheets";
import { walkPane } from "./sampling_walk";
import { dataTable } from "../dom/table";
import { shown } from "../wording/words";

type View = "learn" | "bit" | "part" | "shares" | "walk";

const VIEWS: readonly [View, string][] = [
    ["learn", "Learn or draw"],
    ["bit", "A bit without noise"],
    ["part", "Part of the records"],
    ["shares", "Noisy shares"],
    ["walk", "Labels by bits"],
];
const SLIDERS: Record<View, readonly string[]> = {
    learn: ["size", "epsilon", "alpha", "n", "p", "m"],
    bit: ["n", "p"],
    part: ["epsilon", "q"],
    shares: ["epsilon", "n", "seed"],
    walk: ["crowd", "seed"],
};
/** Below these widths panels stand under each other, and names stand under a picture instead of beside its curves. */
const [WIDE, NAMED] = [640, 460];
const [TALL, SMALL] = [360, 190];
const LEAST = 1e-17;

export function samplingExplorer(store: Explorer<SamplingSheet>): Component {
    const [titleId, familyId, groupName] = [newId(), newId(), newId()];
    let view: View = "learn";
    let trapped = false;
    const subject = h("p", { class: "dp-quiet" });
    const family = h("select", { id: familyId, onchange: (event: Event) => timed(event, () => store.set("family", family.value)) });
    const familyName = h("label", { for: familyId });
    const chosen = h("div", { class: "dp-field" }, familyName, family);
    const sliders = Object.fromEntries(["size", "epsilon", "alpha", "n", "p", "m", "q", "crowd", "seed"].map((name) => [name, axisSlider(store, name, true)]));
    const badge = h("span", { class: "dp-chip dp-violet", hidden: true }, "made-up data · not a release");
    const note = h("p", { class: "dp-fault", role: "alert", hidden: true });
    const views = h(
        "fieldset",
        { class: "dp-measures" },
        h("legend", {}, "Look at"),
        ...VIEWS.map(([name, words]) =>
            h(
                "label",
                {},
                h("input", {
                    type: "radio",
                    name: groupName,
                    value: name,
                    checked: name === view,
                    onchange: (event: Event) =>
                        timed(event, () => {
                            view = name;
                            draw();
                        }),
                }),
                words,
            ),
        ),
    );
    const finding = h("p", { class: "dp-finding dp-verdict" });
    const [need, hard, cost] = [figure("How many records does each need?"), figure("Hard cases swap places"), figure("What m records cost")];
    const [clip, price, stays] = [figure("The chance of a one"), figure("What the bit costs"), figure("How far off the bit is")];
    const [part, trap, few] = [figure("What a part of the records saves"), figure("When it saves nothing"), figure("When too few records come")];
    const scatter = figure("A fixed or a Poisson number of records");
    const [shares, walk] = [sharesPane(() => turn()), walkPane(() => turn())];
    const stats = h("div", { class: "dp-stats" });
    const firsts = h("div", {});
    stays.element.append(firsts);
    const box = h("input", {
        type: "checkbox",
        onchange: (event: Event) =>
            timed(event, () => {
                trapped = box.checked;
                draw();
            }),
    });
    trap.note.before(h("label", { class: "dp-tick-box" }, box, "Keep each record by a coin of its own, and replace one"));
    cost.element.classList.add("dp-whole");
    const axes = h("div", { class: "dp-axes dp-five" }, chosen, ...Object.values(sliders).map((one) => one.element));
    const [ofTwo, ofMany] = [h("div", { class: "dp-axes dp-five" }), h("div", { class: "dp-axes dp-five" })];
    hard.plot.before(ofTwo);
    cost.plot.before(ofMany);
    const panes: Record<View, HTMLElement> = {
        learn: h("div", { class: "dp-pair dp-learn" }, h("div", {}, need.element, stats), hard.element, cost.element),
        bit: h("div", { class: "dp-pair dp-three" }, clip.element, price.element, stays.element),
        part: h("div", { class: "dp-pair dp-two" }, part.element, trap.element, few.element, scatter.element),
        shares: shares.element,
        walk: walk.element,
    };
    const numbers = h("div", { class: "dp-numbers-box" });
    const table = h("details", { class: "dp-how", ontoggle: () => drawTable() }, h("summary", {}, "Table"), numbers);
    const key = h("p", { class: "dp-hint" });
    const whole = h("div", {}, ...Object.values(panes));
    const element = h(
        "section",
        { class: "dp-explorer dp-plan dp-sampling", "aria-labelledby": titleId },
        h("div", { class: "dp-pane-head" }, h("h3", { id: titleId, class: "dp-screen-title" }, "Learn it, or draw from it?"), badge, h("span", { class: "dp-chip dp-free" }, "free · sees no data")),
        subject,
        views,
        axes,
        note,
        whole,
        finding,
        table,
        key,
    );
    let width = 828;
    let seen: unknown[] = [];
    /** How often a pane was turned by its own buttons. */
    let turns = 0;
    let spoken = "";
    const stop = watchWidth(whole, (now) => {
        width = now;
        draw();
    });

    function turn(): void {
        turns += 1;
        draw();
    }

    function draw(): void {
        const { point, sheet } = store;
        for (const one of Object.values(sliders)) one.draw();
        standing(element, store);
        setText(note, store.fault ?? "");
        show(note, store.fault !== null);
        if (point === null || sheet === null) return;
        const families = store.axis("family")!;
        setText(familyName, families.label);
        setOptions(family, families.grid.map((value, i) => ({ value, label: families.values[i]! })), store.position.get("family")!);
        const scene = sceneOf(store, sheet, point);
        const signature = [point, sheet, view, trapped, width, turns, scene.alpha, scene.p, scene.m, scene.q, scene.seed, scene.crowd];
        if (signature.every((one, i) => one === seen[i])) return;
        seen = signature;
        show(chosen, view === "learn");
        show(badge, view === "shares" || view === "walk");
        for (const [name, one] of Object.entries(sliders)) show(one.element, SLIDERS[view].includes(name));
        for (const [name, pane] of Object.entries(panes)) {
            show(pane, name === view);
            for (const pair of pane.matches(".dp-pair") ? [pane] : pane.querySelectorAll(".dp-pair")) setAttribute(pair, "data-narrow", width >= WIDE ? null : "true");
        }
        place(sliders, view === "learn" ? { n: ofTwo, p: ofTwo, m: ofMany } : {});
        const inner = width - (width >= WIDE ? 35 : 19);
        const wide = Math.floor((inner - 24) * 0.6);
        const pair = width >= WIDE ? ([wide, inner - 24 - wide] as const) : ([inner, inner] as const);
        const drawn: Record<View, () => string | { told: string; said: string }> = {
            learn: () => drawLearn(scene, inner),
            bit: () => drawBit(scene, inner),
            part: () => drawPart(scene, inner),
            shares: () => shares.draw(point, scene.seed, pair),
            walk: () => walk.draw(sheet, scene.crowd, scene.seed, pair),
        };
        const found = drawn[view]();
        const { told, said } = typeof found === "string" ? { told: found, said: found } : found;
        setText(subject, SUBJECTS[view](scene));
        setText(finding, told);
        setText(key, KEYS[view](scene));
        drawTable();
        if (said !== spoken) store.say(said);
        spoken = said;
    }

    /** A slider stands beside the picture that it moves, else above all of them. */
    function place(known: typeof sliders, homes: Record<string, HTMLElement>): void {
        for (const [name, one] of Object.entries(known)) {
            const home = homes[name] ?? axes;
            if (one.element.parentElement !== home) home.append(one.element);
        }
        const own = SLIDERS[view].filter((name) => homes[name] === undefined).map((name) => known[name]!.element);
        const standing = [...axes.children].filter((one) => own.includes(one as HTMLElement));
        if (standing.some((one, i) => one !== own[i])) axes.append(...own);
    }

    function drawLearn(scene: Scene, inner: number): string {
        const { sheet, point, alpha } = scene;
        const told = learnWords(scene);
        const left = width >= WIDE ? Math.floor((inner - 24) * 0.6) : inner;
        const right = width >= WIDE ? inner - 24 - left : inner;
        setText(need.note, `records n (log)${point.at.get("family") === "categories" ? "" : `, ε ${point.at.get("epsilon")} with δ ${sheet.delta}`}; enough for any such distribution`);
        const [draws, learns] = [best(point), way(point, "learn")!];
        const values = point.learn.flatMap(({ values: ys }) => (ys ?? []).filter((y): y is number => y !== null));
        const named = left >= NAMED;
        const floor = way(point, "floor");
        const last = (floor?.values ?? []).findLastIndex((y) => y !== null);
        need.plot.replaceChildren(
            linesChart(left, named ? TALL : 300, {
                title: told,
                x: { low: sheet.alphas[0]!, high: sheet.alphas.at(-1)!, log: true, name: "wanted distance α, total variation (log)" },
                y: { low: Math.max(1, Math.min(...values) / 1.5), high: Math.max(...values) * 1.5, log: true, name: "", text: sizeText },
                series: point.learn.map((one) => seriesOf(one, sheet.alphas, named)),
                area: areaOf(draws, learns, sheet.alphas),
                probe: { at: sheet.alphas[alpha]!, dots: point.learn.filter(({ how }) => how !== "shape").flatMap(({ values: ys }) => (ys?.[alpha] == null ? [] : [ys[alpha]!])) },
                mark: point.crossing === null || point.crossing < sheet.alphas[0]! || point.crossing > sheet.alphas.at(-1)! ? null : { at: point.crossing, name: crossingName(point) },
                notes: named && floor !== null && last >= 1 && last < sheet.alphas.length - 1 ? [{ x: sheet.alphas[1]!, y: floor.values![1]! / 6, text: floor.label }] : [],
                ...(named ? { margin: 124 } : { margin: 14 }),
            }),
            ...(named ? [] : [legend(point.learn)]),
        );
        stats.replaceChildren(...point.learn.filter(({ name }) => ["draw", "sharper", "learn", "private"].includes(name)).map((one) => stat(one, alpha)));
        drawHard(scene, right);
        drawCost(scene, inner);
        return told;
    }

    function drawHard(scene: Scene, wide: number): void {
        const { sheet, point, p } = scene;
        setText(hard.note, `expected distance by the share p of the first of two labels; n = ${point.at.get("n")}, exact${point.hard.some(({ values }) => values === null) ? "; the best draw only up to 120 records" : ""}`);
        const shownWays = point.hard.filter(({ values }) => values !== null);
        const top = niceCeiling(Math.max(1e-6, ...shownWays.flatMap(({ values }) => values as number[])));
        hard.plot.replaceChildren(
            linesChart(wide, SMALL, {
                title: hardWords(scene),
                x: { low: 0, high: 1, log: false, name: "true share p" },
                y: { low: 0, high: top, log: false, name: "" },
                series: shownWays.map((one) => seriesOf(one, sheet.biases, false)),
                probe: { at: sheet.biases[p]!, dots: shownWays.map(({ values }) => values![p]!) },
                margin: 14,
            }),
            legend(shownWays),
        );
    }

    function drawCost(scene: Scene, wide: number): void {
        const { sheet, point, m } = scene;
        setText(cost.note, `ε of all draws together (log), from n = ${point.at.get("n")} records`);
        const ys = point.draws.flatMap(({ values }) => (values ?? []).filter((y): y is number => y !== null));
        const at = sheet.draws.reduce((found, x, i) => (Math.abs(Math.log(x / m)) < Math.abs(Math.log(sheet.draws[found]! / m)) ? i : found), 0);
        cost.plot.replaceChildren(
            linesChart(wide, SMALL, {
                title: costWords(point, sheet.draws[at]!, at),
                x: { low: 1, high: sheet.draws.at(-1)!, log: true, name: "records drawn, m (log)" },
                y: { low: Math.min(...ys) / 1.3, high: Math.max(...ys) * 1.3, log: true, name: "" },
                series: point.draws.map((one) => seriesOf(one, sheet.draws, false)),
                probe: { at: sheet.draws[at]!, dots: point.draws.flatMap(({ values }) => (values?.[at] == null ? [] : [values[at]!])) },
                margin: 14,
            }),
            legend(point.draws),
        );
    }

    function drawBit(scene: Scene, inner: number): string {
        const { sheet, point, p } = scene;
        const told = bitWords(scene);
        const each = width >= WIDE ? Math.floor((inner - 48) / 3) : inner;
        const n = Number(point.at.get("n"));
        const bias = sheet.biases[p]!;
        const off = sheet.clip.errors[p]![sheet.bits.indexOf(n)]!;
        setText(clip.note, `solid: what the coin is given for t ones among n; it never leaves 1/4 to 3/4. Red: how far off the bit is, ${powers(off)}`);
        clip.plot.replaceChildren(
            linesChart(each, SMALL + 40, {
                title: `The coin's chance follows the share of ones between 1/4 and 3/4, and stays there beyond; the true share is ${number(bias)}`,
                x: { low: 0, high: 1, log: false, name: "share of ones, t / n" },
                y: { low: 0, high: 1, log: false, name: "" },
                series: [
                    { name: "", xs: [0, 1], ys: [0, 1], kind: "dp-thin dp-shape-only" },
                    { name: "", xs: [0, 1], ys: [0.25, 0.25], kind: "dp-thin dp-clip-line" },
                    { name: "", xs: [0, 1], ys: [0.75, 0.75], kind: "dp-thin dp-clip-line" },
                    { name: "", xs: [0, 0.25, 0.75, 1], ys: [0.25, 0.25, 0.75, 0.75], kind: "dp-medium dp-exact", colour: 1 },
                    { name: "", xs: [bias, bias], ys: [bias, bias + (bias < 0.5 ? off : -off)], kind: "dp-thick dp-error-stick" },
                ],
                probe: { at: bias, dots: [Math.min(0.75, Math.max(0.25, bias))] },
                margin: 14,
            }),
        );
        const sizes = sheet.clip.prices.map((_, i) => i + 1);
        setText(price.note, `ε of one bit by n (log, both axes): ${sheet.clip.prices[n - 1] ?? ""} at n = ${n}, rounded up; the paper's is 4/n`);
        price.plot.replaceChildren(
            linesChart(each, SMALL + 40, {
                title: `With ${n === 1 ? "1 record" : `${n} records`} one bit costs ε ${sheet.clip.prices[n - 1] ?? ""}; the paper charges ${above(4 / n)}`,
                x: { low: 1, high: sizes.at(-1)!, log: true, name: "records, n (log)" },
                y: { low: approximate(exactly(sheet.clip.prices.at(-1)!)) / 1.2, high: 5, log: true, name: "" },
                series: [
                    { name: "exact", xs: sizes, ys: sheet.clip.prices.map(exact), kind: "dp-medium dp-exact", colour: 1 },
                    { name: "4/n", xs: sizes, ys: sheet.clip.paper.map(exact), kind: "dp-thin dp-bound" },
                ],
                probe: { at: n, dots: sheet.clip.prices[n - 1] === undefined ? [] : [exact(sheet.clip.prices[n - 1]!)] },
                margin: 44,
            }),
        );
        const errors = sheet.clip.errors[p]!;
        const inside = within(bias);
        setText(stays.note, `distance of the bit from a coin of bias p = ${number(bias)} (log), exact${inside ? "; dashed: (3/n) e^(−n/72), for biases from 1/3 to 2/3" : ""}`);
        const low = Math.max(1e-9, Math.min(...[...errors, ...(inside ? sheet.clip.bound : [])].filter((y) => y > LEAST)) / 2);
        stays.plot.replaceChildren(
            linesChart(each, SMALL + 40, {
                title: told,
                x: { low: 1, high: sheet.bits.at(-1)!, log: true, name: "records, n (log)" },
                y: { low: Number.isFinite(low) ? low : 1e-9, high: 4, log: true, name: "", text: (value) => powerText(value) },
                series: [
                    { name: "exact", xs: sheet.bits, ys: errors.map((y) => (y > low ? y : Number.NaN)), kind: "dp-medium dp-exact", colour: 1 },
                    ...(inside ? [{ name: "bound", xs: sheet.bits, ys: sheet.clip.bound.map((y) => (y > low ? y : Number.NaN)), kind: "dp-thin dp-bound" }] : []),
                ],
                probe: { at: n, dots: errors[sheet.bits.indexOf(n)]! > low ? [errors[sheet.bits.indexOf(n)]!] : [] },
                margin: 44,
            }),
        );
        firsts.replaceChildren(
            dataTable(
                "Records for a distance at the worst bias, 1/3",
                ["distance α", "exact, first n", "the paper's n"].map((name) => ({ name, figures: true })),
                sheet.clip.first.length,
                (i) => {
                    const { alpha, exact: first, paper } = sheet.clip.first[i]!;
                    return [number(approximate(exactly(alpha))), shown(first), shown(paper)];
                },
            ),
        );
        return told;
    }

    function drawPart(scene: Scene, inner: number): string {
        const { sheet, point, q } = scene;
        const told = partWords(scene, trapped);
        const each = width >= WIDE ? Math.floor((inner - 24) / 2) : inner;
        const epsilon = exact(point.at.get("epsilon")!);
        setText(part.note, `ε left of ε ${point.at.get("epsilon")}: ln(1 + q (e^ε − 1))`);
        part.plot.replaceChildren(
            linesChart(each, SMALL + 40, {
                title: told,
                x: { low: 0, high: 1, log: false, name: "share looked at, q" },
                y: { low: 0, high: niceCeiling(epsilon), log: false, name: "" },
                series: [
                    { name: "", xs: sheet.shares, ys: point.amplified, kind: "dp-medium dp-exact", colour: 3 },
                    { name: "", xs: [0, 1], ys: [epsilon, epsilon], kind: "dp-thin dp-clip-line" },
                ],
                probe: { at: sheet.shares[q]!, dots: [point.amplified[q]!] },
                margin: 14,
            }),
        );
        setText(trap.note, trapped ? "one record in all; it is 0 or 1. Chance that a 1 comes out" : "a fixed number of records, chosen uniformly and handed over in random order: the curve beside holds for replacing one record");
        trap.plot.replaceChildren(...(trapped ? [trapBars(scene)] : []));
        setText(few.note, "chance that fewer than n records come where 2n are expected (log), and the paper's e^(−n/6)");
        const sizes = sheet.few.exact.map((_, i) => i + 1);
        few.plot.replaceChildren(
            linesChart(each, SMALL + 40, {
                title: `With n = 30, too few records come with chance ${powers(sheet.few.exact[29] ?? 0)}; e^(−n/6) is ${powers(sheet.few.bound[29] ?? 0)}`,
                x: { low: 1, high: sizes.length, log: false, name: "records needed, n" },
                y: { low: Math.min(...sheet.few.exact.filter((y) => y > 0)), high: 1, log: true, name: "", text: powerText },
                series: [
                    { name: "exact", xs: sizes, ys: sheet.few.exact, kind: "dp-medium dp-exact", colour: 1 },
                    { name: "bound", xs: sizes, ys: sheet.few.bound, kind: "dp-thin dp-bound" },
                ],
                margin: 44,
            }),
        );
        drawCounts(sheet.counts, each);
        return told;
    }

    function drawCounts({ records, bins, runs, fixed, free }: Counts, wide: number): void {
        const words = (one: Counts["fixed"]): string => `${number(one.measured, 2)} ± ${number(one.off, 2)}, exactly ${number(one.exact)}`;
        setText(scatter.note, `records in two of ${bins} equal bins, simulated in ${runs} runs; a larger dot came more often. Correlation: fixed ${words(fixed)}; Poisson ${words(free)}`);
        scatter.plot.replaceChildren(
            scatterChart(
                wide,
                `With ${records} records, a bin that has many leaves fewer for another: their correlation is ${words(fixed)}. With a Poisson number of mean ${records} they are independent: ${words(free)}.`,
                [
                    { name: `fixed: ${records}`, dots: fixed.dots },
                    { name: `Poisson: ${records}`, dots: free.dots },
                ],
                "bin 1; up: bin 2",
            ),
        );
    }

    function drawTable(): void {
        const { point, sheet } = store;
        if (point === null || sheet === null || !table.open) return;
        const scene = sceneOf(store, sheet, point);
        const tables: HTMLElement[] = view === "shares" ? shares.tables(point, scene.seed) : view === "walk" ? walk.tables(sheet, scene.crowd, scene.seed) : TABLES[view](scene);
        numbers.replaceChildren(...tables);
    }

    return { element, draw, close: stop };
}

/** Where the reader stands: places on the axes that are looked up along the curves. */
interface Scene {
    sheet: SamplingSheet;
    point: SamplingPoint;
    alpha: number;
    p: number;
    q: number;
    seed: number;
    crowd: number;
    /** How many records are drawn. */
    m: number;
}

const exact = (text: string): number => approximate(exactly(text));
const within = (bias: number): boolean => bias >= 1 / 3 - 1e-9 && bias <= 2 / 3 + 1e-9;

function sceneOf(store: Explorer<SamplingSheet>, sheet: SamplingSheet, point: SamplingPoint): Scene {
    const at = (name: string, xs: readonly number[]): number => {
        const place = store.position.get(name)!;
        const wanted = store.axis(name)!.grid.includes(place) ? exact(place) : exact(point.at.get(name)!);
        return xs.reduce((found, x, i) => (Math.abs(x - wanted) < Math.abs(xs[found]! - wanted) ? i : found), 0);
    };
    const place = (name: string): number => {
        const grid = store.axis(name)!.grid;
        const found = grid.indexOf(store.position.get(name)!);
        return found >= 0 ? found : Math.max(0, grid.indexOf(point.at.get(name)!));
    };
    const drawn = store.position.get("m")!;
    return { seed: place("seed"), crowd: place("crowd"), sheet, point, alpha: at("alpha", sheet.alphas), p: at("p", sheet.biases), q: at("q", sheet.shares), m: store.axis("m")!.grid.includes(drawn) ? Number(drawn) : Number(point.at.get("m")) };
}

const way = (point: SamplingPoint, name: string): Way | null => point.learn.find((one) => one.name === name) ?? null;
/** The least that is proved to be enough for one draw. */
const best = (point: SamplingPoint): Way => way(point, "sharper") ?? way(point, "draw")!;

const seriesOf = (one: Way, xs: readonly number[], named: boolean): Series => ({
    name: named ? `${one.label}${one.how === "shape" ? " *" : ""}` : "",
    xs,
    ys: (one.values ?? []).map((y) => y ?? Number.NaN),
    kind: one.how === "shape" ? "dp-thin dp-shape-only" : `dp-medium dp-${one.how}`,
    colour: Number(one.series),
});

/** Where drawing needs fewer records than learning without privacy. */
function areaOf(draws: Way, learns: Way, xs: readonly number[]): { xs: number[]; low: number[]; high: number[] } {
    const inside = xs.flatMap((x, i) => {
        const [low, high] = [draws.values?.[i], learns.values?.[i]];
        return low != null && high != null && low < high ? [{ x, low, high }] : [];
    });
    return { xs: inside.map(({ x }) => x), low: inside.map(({ low }) => low), high: inside.map(({ high }) => high) };
}

function crossingName(point: SamplingPoint): string {
    return point.at.get("family") === "categories" ? "α ≈ ε/8" : "break-even";
}

function legend(ways: readonly Way[]): HTMLElement {
    return h(
        "ul",
        { class: "dp-legend" },
        ...ways.map(({ label, series, how }) =>
            h("li", { class: `dp-series-${series}` }, s("svg", { class: "dp-sign", viewBox: "-6 -6 12 12", "aria-hidden": "true" }, s("path", { d: SHAPES[Number(series) - 1]!, class: "dp-shape" })), `${label}${how === "shape" ? " *" : ""}`),
        ),
    );
}

function stat({ label, series, how, values }: Way, at: number): HTMLElement {
    const value = values?.[at] ?? null;
    const words = value === null ? "—" : `${how === "shape" ? "~" : "≤"} ${enough(value)}`;
    return h("div", { class: `dp-stat dp-series-${series}` }, h("div", { class: "dp-stat-name" }, `${label}${how === "shape" ? " *" : ""}`), h("div", { class: "dp-readout" }, words));
}

/** At a tick of records. */
const sizeText = (value: number): string => (value >= 1e7 ? `10${raised(Math.round(Math.log10(value)))}` : bitsText(value));

/** 10⁻⁵: a power of ten at a tick. */
const powerText = (value: number): string => (value >= 0.001 && value <= 1000 ? number(value) : `10${raised(Math.round(Math.log10(value)))}`);

/** A number of records, a whole number: rounded up where it is long, for they are enough. */
const enough = (value: number): string => (value < 1e7 ? shown(String(value)) : above(value));
/** The same of records that are needed. */
const needed = (value: number): string => (value < 1e7 ? shown(String(value)) : below(value));

function learnWords({ sheet, point, alpha }: Scene): string {
    const [draws, learns, noisy] = [best(point).values![alpha]!, way(point, "learn")!.values![alpha]!, way(point, "private")];
    const privately = noisy === null || noisy.how === "shape" || noisy.values?.[alpha] == null ? "" : `, ${enough(noisy.values[alpha]!)} with it`;
    const [at, crossing] = [number(sheet.alphas[alpha]!), point.crossing];
    const bound = crossing === null ? "" : ` ${draws < learns ? "Above" : "Below"} α = ${number(Number(crossing.toPrecision(3)))} ${draws < learns ? "learning without privacy" : "drawing"} needs fewer.`;
    if (draws < learns) return `At α = ${at} drawing wins: ${enough(draws)} records are enough for one private draw; learning the distribution takes ${enough(learns)} without privacy${privately}.${bound}`;
    const unknown = crossing === null ? " The proved size of this draw is above it at every α: its constants are very large, and nobody has proved that so many are needed." : bound;
    return `At α = ${at} learning wins: ${enough(learns)} records are enough to learn the distribution without privacy${privately}; one private draw is proved to need no more than ${enough(draws)}.${unknown}`;
}

function hardWords({ sheet, point, p }: Scene): string {
    const said = point.hard.filter(({ values }) => values !== null).map(({ label, values }) => `${label} ${powers(values![p]!)}`);
    return `Distance at a true share of ${number(sheet.biases[p]!)}: ${said.join("; ")}`;
}

function costWords(point: SamplingPoint, m: number, at: number): string {
    const said = point.draws.map(({ label, values }) => `${label} ${values?.[at] == null ? "not possible" : `ε ${above(values[at]!)}`}`);
    return `${m === 1 ? "One record costs" : `${shown(String(m))} records cost`}: ${said.join("; ")}`;
}

function bitWords({ sheet, point, p }: Scene): string {
    const n = Number(point.at.get("n"));
    const bias = sheet.biases[p]!;
    const off = sheet.clip.errors[p]![sheet.bits.indexOf(n)]!;
    const priced = sheet.clip.prices[n - 1];
    const paid = `One bit from ${n === 1 ? "1 record" : `${shown(String(n))} records`}, without noise, costs ε ${priced ?? above(4 / n)}.`;
    if (within(bias)) return `${paid} With a true share of ${number(bias)} the bit is off by ${off === 0 ? "nothing at all" : powers(off)}; whatever the share between 1/3 and 2/3, by no more than ${above(sheet.clip.bound[sheet.bits.indexOf(n)]!)}.`;
    const most = sheet.bits.length - 1;
    return `${paid} A true share of ${number(bias)} lies outside 1/3 to 2/3: the bit is off by ${powers(off)}, and with ${shown(String(sheet.bits[most]!))} records still by ${powers(sheet.clip.errors[p]![most]!)}. More records do not help.`;
}

function partWords({ sheet, point, q }: Scene, trapped: boolean): string {
    const { q: share, ratio, claimed } = sheet.trap[q]!;
    if (trapped) return `Each record is kept with chance ${share} by a coin of its own, and one is replaced: the odds still move by ${ratio}, where the formula says ${claimed}. Under replace-one, choose a fixed number of records and hand them over in random order.`;
    return `A sampler of ε ${point.at.get("epsilon")} that looks at a share of ${share} of the records, chosen uniformly and in random order, costs ε ${above(point.amplified[q]!)}.`;
}

/** The chances of a 1 by what the one record is, and what the formula would allow. */
function trapBars({ sheet, q }: Scene): HTMLElement {
    const { chances, claimed, ratio } = sheet.trap[q]!;
    const [low, high] = chances.map(exact) as [number, number];
    const rows: [string, number, boolean][] = [
        ["it is 0", low, false],
        ["it is 1", high, true],
        [`${claimed} times as often`, low * exact(claimed), false],
    ];
    return h(
        "div",
        { class: "dp-bars", role: "img", "aria-label": `A 1 comes out with chance ${number(low)} where the record is 0 and ${number(high)} where it is 1: ${ratio} times as often. The formula allows ${claimed} times.` },
        ...rows.map(([name, value, thick]) => {
            const bar = h("div", { class: `dp-bar${thick ? " dp-bar-thick" : ""}` });
            bar.style.width = `${(100 * value) / high}%`;
            return h("div", { class: "dp-bar-row dp-trap-row" }, h("span", {}, name), h("div", {}, bar, h("span", { class: "dp-hint" }, number(value))));
        }),
        h("p", { class: "dp-hint" }, `The last bar is the most that the formula would allow. It is passed: ${ratio} times, not ${claimed}.`),
    );
}

const SUBJECTS: Record<View, (scene: Scene) => string> = {
    learn: ({ point }) => `One realistic private record can need far fewer people than the distribution it comes from. Whether it does depends on how close it must be. Privacy is for replacing one of n records, ε = ${point.at.get("epsilon")}.`,
    bit: () => "Draw one bit by a coin whose bias is the share of ones, moved into 1/4 to 3/4. There is no noise: the coin itself protects. So it must not be tossed twice at one price, and its bias is never shown.",
    part: () => "A sampler that looks at a random part of the records costs less. Which random part is allowed depends on what is protected.",
    shares: () => "Counts with noise, divided by n, need not add up to 1, and may lie below 0. Algorithm 3 takes chances that are nearest in L1, but there are many: which are taken is a choice, and costs nothing.",
    walk: () => "A sampler of bits can be made to draw one of seven labels. So it cannot do with fewer people than a sampler of labels: that is how the paper proves that many bits take many people.",
};

const LESSONS = "Made-up people and teaching seeds: nothing here is private, and nothing is released.";

const KEYS: Record<View, (scene: Scene) => string> = {
    learn: ({ point }) =>
        `Dashed and ≤: proved to be enough, or, for “no draw with fewer”, proved to be needed. ${point.learn.some(({ how }) => how === "shape") ? "* Long dashes: only the shape is known; drawn with the constant 1. " : ""}Solid: exact. Shaded: drawing needs fewer records than learning without privacy. Categories can be drawn again at no cost, but such draws share one noisy table and are not independent. Raskhodnikova, Sivakumar, Smith, Swanberg 2021; one record coin-flipped, the best draw and the sharper sizes are ours.`,
    bit: () => "Solid: exact. Dashed: the bounds of Section 6, and a sharper one of ours. Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Theorem 6.1.",
    part: () => "The formula for coins of their own belongs to adding or removing a record. Lemma 3.3 of the paper uses it for replacing one, where it does not hold; the example is ours. Exact, and no data.",
    shares: () => `${LESSONS} The noise is that of a release: whole numbers on every count. Divided is what SampleCategory does unless projection="euclid" is asked for. Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 3; the choice is ours.`,
    walk: () => `${LESSONS} Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithms 5 to 8 with the sampler of Algorithm 4; three misprints are repaired.`,
};

const cellOf = ({ how, values }: Way, i: number, text: (value: number) => string): string => {
    const value = values?.[i] ?? null;
    return value === null ? "—" : `${how === "shape" ? "~ " : how === "bound" ? "≤ " : ""}${text(value)}`;
};

const TABLES: Record<"learn" | "bit" | "part", (scene: Scene) => HTMLElement[]> = {
    learn: ({ sheet, point }) => [
        dataTable(
            "Records by distance",
            ["α", ...point.learn.map(({ label, how }) => `${label}${how === "shape" ? ", shape" : ""}`)].map((name) => ({ name, figures: true })),
            sheet.alphas.length,
            (i) => [number(sheet.alphas[i]!), ...point.learn.map((one) => (one.name === "floor" && one.how === "bound" ? cellOf(one, i, needed).replace("≤", "≥") : cellOf(one, i, enough)))],
        ),
        dataTable(
            "Distance by true share",
            ["p", ...point.hard.map(({ label }) => label)].map((name) => ({ name, figures: true })),
            sheet.biases.length,
            (i) => [number(sheet.biases[i]!), ...point.hard.map((one) => cellOf(one, i, powers))],
        ),
        dataTable(
            "Privacy loss of m draws",
            ["m", ...point.draws.map(({ label }) => label)].map((name) => ({ name, figures: true })),
            sheet.draws.length,
            (i) => [String(sheet.draws[i]!), ...point.draws.map((one) => cellOf(one, i, (value) => `ε ${above(value)}`))],
        ),
    ],
    bit: ({ sheet, p }) => [
        dataTable(
            "A bit without noise",
            ["n", "ε, exact", "ε of the paper", `distance at p = ${number(sheet.biases[p]!)}`, "bound, 1/3 to 2/3"].map((name) => ({ name, figures: true })),
            sheet.bits.length,
            (i) => {
                const n = sheet.bits[i]!;
                return [shown(String(n)), sheet.clip.prices[n - 1] ?? "—", above(4 / n), powers(sheet.clip.errors[p]![i]!), `≤ ${above(sheet.clip.bound[i]!)}`];
            },
        ),
    ],
    part: ({ sheet, point }) => [
        dataTable(
            "Part of the records",
            ["share q", "ε, fixed number", "odds, coins and replacing", "the formula says"].map((name) => ({ name, figures: true })),
            sheet.shares.length,
            (i) => [number(sheet.shares[i]!), above(point.amplified[i]!), `×${sheet.trap[i]!.ratio}`, `×${sheet.trap[i]!.claimed}`],
        ),
        dataTable(
            "Chance that too few records come",
            ["n", "exact", "bound"].map((name) => ({ name, figures: true })),
            sheet.few.exact.length,
            (i) => [String(i + 1), powers(sheet.few.exact[i]!), `≤ ${above(sheet.few.bound[i]!)}`],
        ),
        dataTable(
            "Records in two bins, simulated",
            ["number of records", "correlation measured", "±", "exactly"].map((name, i) => ({ name, figures: i > 0 })),
            2,
            (i) => {
                const one = i === 0 ? sheet.counts.fixed : sheet.counts.free;
                return [`${i === 0 ? "always" : "Poisson, mean"} ${sheet.counts.records}`, number(one.measured), number(one.off), number(one.exact)];
            },
        ),
    ],
};
