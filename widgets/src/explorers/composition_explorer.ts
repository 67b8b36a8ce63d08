/** The price of k steps together by every rule; Figure 1; and where Gumbel or Laplace noise makes the cheaper list. */

import { axisSlider } from "./axis_slider";
import { linesChart } from "../charts/lines";
import type { Component } from "../dom/component";
import { h, newId, setText, show, watchWidth } from "../dom/dom";
import { approximate, compare, exactly } from "../numbers/exact";
import { standing, type Explorer } from "./explorer";
import type { CompositionPoint, CompositionSheet } from "../protocol/sheets";
import { dataTable } from "../dom/table";
import { shown } from "../wording/words";

const TALL = 320;
const SMALL = 220;
/** Below this width the small charts stand under each other. */
const TWO = 560;
/** The region is drawn for a unit in up to so many bins. */
const BINS = 20;
/** Room for the names at the ends of the curves. */
const [RULES, EPSILONS] = [132, 48];
/** No ratio is below 1. */
const RATIO = { low: 1, high: 3 };

export function compositionExplorer(store: Explorer<CompositionSheet>): Component {
    const titleId = newId();
    const sliders = [axisSlider(store, "epsilon", true), axisSlider(store, "delta"), axisSlider(store, "k", true)];
    const note = h("p", { class: "dp-fault", role: "alert", hidden: true });
    const verdict = h("p", { class: "dp-finding dp-verdict" });
    const figure = (name: string): { element: HTMLElement; plot: HTMLElement; caption: HTMLElement; hint: HTMLElement } => {
        const [plot, caption, hint] = [h("div", { class: "dp-plot" }), h("h4", {}, name), h("p", { class: "dp-hint" })];
        return { element: h("figure", { class: "dp-figure" }, h("figcaption", {}, caption), hint, plot), plot, caption, hint };
    };
    const totals = figure("Total ε (log) by the number of steps");
    setText(totals.hint, "every rule is proved; they differ in what a step must be");
    const numbers = h("div", {});
    const rules = h("figure", { class: "dp-figure" }, h("figcaption", {}, h("h4", {}, "Each rule at this k")), numbers);
    const ratios = [figure("Exact composition against the range-bounded rule (Figure 1)"), figure("Exact composition against range-bounded zCDP")];
    for (const ratio of ratios) setText(ratio.hint, "ε of the optimal rule, divided by that of the other; above 1 it pays to know that steps are range-bounded");
    const region = figure("Gumbel or Laplace noise?");
    setText(region.hint, "bins that one unit touches, by the items asked for; the noise on each count is the same");
    const small = h("div", { class: "dp-panels" }, rules, region.element, ...ratios.map(({ element }) => element));
    const element = h(
        "section",
        { class: "dp-explorer dp-plan", "aria-labelledby": titleId },
        h("div", { class: "dp-pane-head" }, h("h3", { id: titleId, class: "dp-screen-title" }, "What k steps cost together"), h("span", { class: "dp-chip dp-free" }, "free · sees no data")),
        h("p", { class: "dp-quiet" }, "Every step costs the same ε, and each may be chosen after seeing the earlier answers. A draw of the exponential mechanism from counts is range-bounded: between neighbouring datasets, the log ratios of its chances lie within an interval of length ε."),
        h("div", { class: "dp-axes" }, ...sliders.map((slider) => slider.element)),
        note,
        verdict,
        totals.element,
        small,
        h("p", { class: "dp-hint" }, "Prices hold for the unit and the relation of the steps, and are rounded up. A top-k list with a bottom symbol costs k ln(1 + δ) more in ε, and its δ on top of δ′. Durfee, Rogers 2019: Theorem 3 (advanced composition), Lemma 4.4 (range-bounded) and Appendix A."),
    );
    let width = 828;
    let drawn = "";
    let seen: CompositionPoint | null = null;
    const stop = watchWidth(totals.element, (now) => {
        width = now;
        draw();
    });

    function draw(): void {
        const { point, sheet } = store;
        for (const slider of sliders) slider.draw();
        standing(element, store);
        setText(note, store.fault ?? "");
        show(note, store.fault !== null);
        if (point === null || sheet === null) return;
        const grid = store.axis("k")!.grid;
        const placed = store.position.get("k")!;
        const k = grid.includes(placed) ? placed : point.at.get("k")!;
        const signature = `${k} ${width}`;
        if (point === seen && signature === drawn) return;
        [seen, drawn] = [point, signature];
        const at = grid.indexOf(k);
        const words = verdictOf(sheet, point, k, at);
        setText(verdict, words);
        totals.plot.replaceChildren(totalsChart(sheet, point, grid.map(Number), at, width, words));
        numbers.replaceChildren(rulesTable(sheet, point, k, at));
        const columns = width < TWO ? 1 : 2;
        small.style.setProperty("--dp-count", String(columns));
        const each = Math.floor((width - 24 * (columns - 1)) / columns);
        ratios[0]!.plot.replaceChildren(ratioChart(sheet, "bounded", Number(k), each));
        ratios[1]!.plot.replaceChildren(ratioChart(sheet, "zcdp", Number(k), each));
        region.plot.replaceChildren(regionChart(point, grid.map(Number), at, each));
        store.say(words);
    }

    return { element, draw, close: stop };
}

const number = (text: string): number => approximate(exactly(text));

/** The rules at one number of steps, cheapest first; of equal ones, as they are listed. */
function ordered(sheet: CompositionSheet, point: CompositionPoint, at: number): { label: string; about: string; epsilon: string }[] {
    return sheet.rules
        .map(({ label, about }, i) => ({ label, about, epsilon: point.rules[i]!.epsilon[at]! }))
        .sort((a, b) => compare(exactly(a.epsilon), exactly(b.epsilon)));
}

function verdictOf(sheet: CompositionSheet, point: CompositionPoint, k: string, at: number): string {
    const best = ordered(sheet, point, at)[0]!;
    const sum = point.rules[0]!.epsilon[at]!;
    const least = compare(exactly(best.epsilon), exactly(sum)) === 0 ? `no rule is better than the sum, ε ${shown(sum)}` : `${best.label} is cheapest at ε ${shown(best.epsilon)}; the sum is ${shown(sum)}`;
    return `${shown(k)} ${k === "1" ? "step" : "steps"} of ε ${point.at.get("epsilon")} at δ′ ${point.at.get("delta")}: ${least}.`;
}

function totalsChart(sheet: CompositionSheet, point: CompositionPoint, xs: number[], at: number, width: number, title: string): SVGSVGElement {
    const lines = point.rules.map(({ epsilon }) => epsilon.map(number));
    const [low, high] = [Math.min(...lines.map((ys) => ys[0]!)), Math.max(...lines.map((ys) => ys.at(-1)!))];
    return linesChart(width, TALL, {
        title,
        x: { low: xs[0]!, high: xs.at(-1)!, log: true, name: "steps k (log)" },
        y: { low, high, log: true, name: "" },
        series: sheet.rules.map(({ label }, i) => ({ name: label, xs, ys: lines[i]!, kind: "dp-medium dp-exact", colour: i + 1 })),
        probe: { at: xs[at]!, dots: lines.map((ys) => ys[at]!) },
        margin: RULES,
    });
}

function rulesTable(sheet: CompositionSheet, point: CompositionPoint, k: string, at: number): HTMLElement {
    const rules = ordered(sheet, point, at);
    const columns = [{ name: "rule" }, { name: `ε of ${shown(k)} ${k === "1" ? "step" : "steps"}`, figures: true }, { name: "steps must be" }];
    return dataTable("Rules at this number of steps", columns, rules.length, (i) => [rules[i]!.label, shown(rules[i]!.epsilon), rules[i]!.about]);
}

function ratioChart({ figure }: CompositionSheet, rule: "bounded" | "zcdp", k: number, width: number): SVGSVGElement {
    const most = Math.max(...figure.curves.flatMap((curve) => curve[rule]));
    return linesChart(width, SMALL, {
        title: `At δ ${figure.delta} exact composition of private steps costs up to ${most.toFixed(2)} times as much as ${rule === "bounded" ? "the range-bounded rule" : "range-bounded zCDP"}`,
        x: { low: figure.k[0]!, high: figure.k.at(-1)!, log: true, name: "steps k (log)" },
        y: { ...RATIO, log: false, name: "" },
        series: figure.curves.map((curve, i) => ({ name: `ε ${curve.epsilon}`, xs: figure.k, ys: curve[rule], kind: "dp-medium dp-exact", colour: i + 1 })),
        probe: { at: k, dots: [] },
        margin: EPSILONS,
    });
}

/** The part of a rising curve up to a value, and the place on the logarithmic axis where it leaves. */
function below(xs: readonly number[], ys: readonly number[], most: number): { xs: number[]; ys: number[] } {
    const out = ys.findIndex((value) => value > most);
    if (out < 1) return { xs: [...xs], ys: [...ys] };
    const share = (most - ys[out - 1]!) / (ys[out]! - ys[out - 1]!);
    return { xs: [...xs.slice(0, out), xs[out - 1]! * (xs[out]! / xs[out - 1]!) ** share], ys: [...ys.slice(0, out), most] };
}

function regionChart(point: CompositionPoint, xs: number[], at: number, width: number): SVGSVGElement {
    const up = point.laplace[at]!;
    return linesChart(width, SMALL, {
        title: `For a list of ${shown(String(xs[at]))}, Laplace noise costs no more than Gumbel noise where a unit touches at most ${shown(up)} ${up === "1" ? "bin" : "bins"}, and more beyond`,
        x: { low: xs[0]!, high: xs.at(-1)!, log: true, name: "items asked for, k (log)" },
        y: { low: 0, high: BINS, log: false, name: "" },
        series: [{ name: "", ...below(xs, point.equal, BINS), kind: "dp-medium dp-exact" }],
        notes: [
            { x: xs[0]! * 1.3, y: BINS * 0.88, text: "Gumbel costs less" },
            { x: xs.at(-1)! / 12, y: BINS * 0.1, text: "Laplace costs less" },
        ],
        probe: { at: xs[at]!, dots: point.equal[at]! > BINS ? [] : [point.equal[at]!] },
    });
}
