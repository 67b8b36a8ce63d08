/** GeoSample, its truncation Z' and FastSample side by side. Everything is public; nothing is drawn from data. */

import { axisSlider } from "./axis_slider";
import { linesChart, type Series } from "../charts/lines";
import type { Component } from "../dom/component";
import { h, newId, setText, show, watchWidth } from "../dom/dom";
import { approximate, exactly } from "../numbers/exact";
import { standing, type Explorer } from "./explorer";
import { powerOfTen, powers } from "../wording/powers";
import type { SamplerPoint, SamplerSheet } from "../protocol/sheets";
import { dataTable } from "../dom/table";
import { shown } from "../wording/words";

const LAWS = [
    ["geosample", "GeoSample"],
    ["truncated", "Z′, truncated"],
    ["fastsample", "FastSample"],
] as const;
const AXES = ["n", "c", "epsilon", "gamma", "t"] as const;
const HEIGHT = 300;
const SMALL = 200;
/** Chances below this are under the chart. */
const LEAST = 1e-9;
/** Below this width the two small charts stand one above the other. */
const TWO = 560;

export function samplerExplorer(store: Explorer<SamplerSheet>): Component {
    const titleId = newId();
    const sliders = AXES.map((name) => axisSlider(store, name));
    const alarm = h("p", { class: "dp-notice dp-error", role: "alert", hidden: true });
    const note = h("p", { class: "dp-hint", hidden: true });
    const stats = [stat("Worst ratio, FastSample"), stat("Pays ε, replacing a row"), stat("GeoSample needs"), stat("FastSample needs")];
    const figure = (name: string): { element: HTMLElement; plot: HTMLElement } => {
        const plot = h("div", { class: "dp-plot" });
        return { element: h("figure", { class: "dp-figure" }, h("figcaption", {}, name), plot), plot };
    };
    const laws = figure("Chance of each released value at the true count c (log)");
    const sizes = figure("Bits of the random integer against n (log, log)");
    const stairs = figure("ε paid, by ε asked");
    const small = h("div", { class: "dp-charts dp-two" }, sizes.element, stairs.element);
    const numbers = h("div", {});
    const table = h("details", { class: "dp-how", ontoggle: () => drawTable() }, h("summary", {}, "Table"), numbers);
    const element = h(
        "section",
        { class: "dp-explorer dp-plan", "aria-labelledby": titleId },
        h(
            "div",
            { class: "dp-pane-head" },
            h("h3", { id: titleId }, "Samplers on a finite computer"),
            h("span", { class: "dp-chip dp-free" }, "free · sees no data"),
        ),
        h("p", { class: "dp-hint" }, "One noisy count from 0 to n, drawn with one bounded random integer. GeoSample draws geometric noise exactly; Z′ cuts the noise off at t; FastSample draws from Z′ or, with chance γ, a uniform value, and keeps its promise where t is long enough. Balcer, Vadhan 2018, Figure 2."),
        h("div", { class: "dp-axes" }, ...sliders.map((slider) => slider.element)),
        note,
        alarm,
        h("div", { class: "dp-stats" }, ...stats.map((one) => one.element)),
        laws.element,
        small,
        table,
    );
    let width = 640;
    let drawn: { point: SamplerPoint; width: number } | null = null;
    const stop = watchWidth(laws.element, (now) => {
        width = now;
        draw();
    });

    function drawTable(): void {
        const { point } = store;
        if (point === null || !table.open) return;
        const columns = [{ name: "value", figures: true }, ...LAWS.map(([, name]) => ({ name, figures: true }))];
        const chance = (value: number): string => (value === 0 ? "0" : value < 1e-4 ? powers(value) : value.toPrecision(4));
        numbers.replaceChildren(
            dataTable("Chance of each released value", columns, point.geosample.pmf.length, (i) => [
                String(i),
                ...LAWS.map(([name]) => chance(point[name].pmf[i]!)),
            ]),
        );
    }

    function draw(): void {
        const { point, sheet } = store;
        for (const slider of sliders) slider.draw();
        standing(element, store);
        setText(note, store.fault ?? "");
        show(note, store.fault !== null);
        if (point === null || sheet === null) return;
        if (drawn?.point === point && drawn.width === width) return;
        drawn = { point, width };
        drawStats(point);
        const c = number(point.at.get("c")!);
        laws.plot.replaceChildren(lawsChart(point, width, c));
        const each = width < TWO ? width : Math.floor((width - 16) / 2);
        small.style.setProperty("--dp-count", width < TWO ? "1" : "2");
        sizes.plot.replaceChildren(sizesChart(point, each));
        stairs.plot.replaceChildren(stairsChart(sheet, point, each));
        drawTable();
        store.say(sentence(point));
    }

    function drawStats(point: SamplerPoint): void {
        const { fastsample, geosample, promise, t } = point;
        const [ratio, paid, geo, fast] = stats as [Stat, Stat, Stat, Stat];
        ratio.set(timesText(fastsample.ratio), fastsample.holds ? `at most the promised ×${promise.ratio}` : `promised ×${promise.ratio}`);
        ratio.element.toggleAttribute("data-broken", !fastsample.holds);
        paid.set(promise.epsilon, `asked ${point.at.get("epsilon")}; exactly ${promise.exact}`);
        geo.set(shown(geosample.bits), "random bits for one draw");
        fast.set(shown(fastsample.bits), Number(point.at.get("n")) > Number(t.value) ? "random bits; n is above t" : "random bits; n is not above t, so GeoSample is better");
        setText(alarm, fastsample.holds ? "" : broken(point));
        show(alarm, !fastsample.holds);
    }

    return { element, draw, close: stop };
}

const number = (text: string): number => approximate(exactly(text));

function broken({ fastsample, promise, t }: SamplerPoint): string {
    return (
        `t = ${shown(t.value)} is too short: one row changes the chance of a value by a factor of up to ${shown(fastsample.ratio)}, and at most ${promise.ratio} was promised. ` +
        `This sampler is not private at ε = ${promise.epsilon}. Proved to be long enough: t = ${shown(t.tight)} (tight), t = ${shown(t.paper)} (paper).`
    );
}

function sentence(point: SamplerPoint): string {
    const { fastsample, promise, t } = point;
    return `With t = ${shown(t.value)} the worst ratio is ${shown(fastsample.ratio)}, ${fastsample.holds ? "within" : "above"} the promised ${promise.ratio}.`;
}

function lawsChart(point: SamplerPoint, width: number, c: number): SVGSVGElement {
    const values = point.geosample.pmf.map((_, i) => i);
    const chances = LAWS.flatMap(([name]) => point[name].pmf.filter((chance) => chance > 0));
    const low = Math.max(LEAST, 10 ** Math.floor(Math.log10(Math.min(...chances))));
    const series: Series[] = LAWS.map(([law, name], i) => ({
        name,
        xs: values,
        ys: point[law].pmf.map((chance) => (chance >= low ? chance : 0)),
        kind: "dp-medium dp-exact",
        colour: i + 1,
    }));
    const { ratio, holds } = point.fastsample;
    return linesChart(width, HEIGHT, {
        title: `Chances of the released values for a true count of ${c}: FastSample's worst ratio is ${shown(ratio)}, ${holds ? "as promised" : "more than promised"}`,
        x: { low: 0, high: values.length - 1, log: false, name: "released value" },
        y: { low, high: 1, log: true, name: "", text: powerOfTen },
        series,
        probe: { at: c, dots: [] },
    });
}

function sizesChart({ sizes, at }: SamplerPoint, width: number): SVGSVGElement {
    const xs = sizes.n.map(Number);
    const [geo, fast] = [sizes.geosample.map(Number), sizes.fastsample.map(Number)];
    return linesChart(width, SMALL, {
        title: `From n = ${shown(sizes.crossover)} on, n is above t; at large n FastSample needs fewer random bits`,
        x: { low: xs[0]!, high: xs.at(-1)!, log: true, name: "n (log)" },
        y: { low: 10, high: 10 ** Math.ceil(Math.log10(Math.max(...geo, ...fast))), log: true, name: "" },
        series: [
            { name: "GeoSample", xs, ys: geo, kind: "dp-medium dp-exact", colour: 1 },
            { name: "FastSample", xs, ys: fast, kind: "dp-medium dp-exact", colour: 3 },
        ],
        probe: { at: Number(at.get("n")), dots: [] },
        mark: { at: Number(sizes.crossover), name: `n = t at ${shown(sizes.crossover)}` },
    });
}

function stairsChart({ staircase }: SamplerSheet, point: SamplerPoint, width: number): SVGSVGElement {
    const xs = staircase.epsilon;
    const paid = number(point.promise.epsilon);
    return linesChart(width, SMALL, {
        title: `Asked for ε ${point.at.get("epsilon")}, the paper's base pays ε ${point.promise.epsilon}`,
        x: { low: 0, high: 1, log: false, name: "ε asked, one over a whole number" },
        y: { low: 0, high: 1, log: false, name: "" },
        series: [
            { name: "paper", xs, ys: staircase.paper, kind: "dp-medium dp-exact", colour: 1 },
            { name: "tight", xs, ys: staircase.tight, kind: "dp-medium dp-exact", colour: 3 },
        ],
        probe: { at: number(point.at.get("epsilon")!), dots: [paid] },
    });
}

/** How many times, in as many figures as a read-out has room for. */
const timesText = (ratio: string): string => (number(ratio) < 1e6 ? `×${shown(ratio)}` : `> ×${powerOfTen(10 ** Math.floor(Math.log10(number(ratio))))}`);

interface Stat {
    element: HTMLElement;
    set(value: string, note: string): void;
}

function stat(name: string): Stat {
    const [value, note] = [h("div", { class: "dp-readout" }), h("div", { class: "dp-note" })];
    return {
        element: h("div", { class: "dp-stat dp-stat-cost" }, h("div", { class: "dp-stat-name" }, name), value, note),
        set(text, words) {
            setText(value, text);
            setText(note, words);
        },
    };
}
