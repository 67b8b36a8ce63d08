/** Which mechanism? The same question at the same price: errors, what is shown, what is stored. Free; sees no data. */

import { axisSlider } from "./axis_slider";
import { percent } from "./charts/chance";
import { niceCeiling } from "./charts/frame";
import { linesChart, type Series } from "./charts/lines";
import type { Component } from "./component";
import { h, newId, setAttribute, setOptions, setText, show, watchWidth } from "./dom";
import { approximate, exactly } from "./exact";
import type { Explorer } from "./explorer";
import { timed } from "./perf";
import type { ComparisonPoint, ComparisonSheet, Row } from "./sheets";
import { dataTable } from "./table";
import { capital, often, shown, spread } from "./words";

const HEIGHT = 150;
/** Below this width the parts of a row stand under each other. */
const WIDE = 620;

export function mechanismComparison(desk: Explorer<ComparisonSheet>): Component {
    const [titleId, betaId] = [newId(), newId()];
    const sentence = h("p", { class: "dp-quiet" });
    const epsilon = axisSlider(desk, "epsilon", true);
    const count = axisSlider(desk, "c", true);
    const beta = h("select", { id: betaId, onchange: (event: Event) => timed(event, () => desk.set("beta", beta.value)) });
    const note = h("p", { class: "dp-fault", role: "alert", hidden: true });
    const rows = h("div", { class: "dp-rows" });
    const bars = h("figure", { class: "dp-figure dp-bars" });
    const numbers = h("div", {});
    const finding = h("p", { class: "dp-finding dp-verdict" });
    const floors = h("p", { class: "dp-hint" });
    const element = h(
        "section",
        { class: "dp-explorer dp-plan", "aria-labelledby": titleId },
        h("div", { class: "dp-pane-head" }, h("h3", { id: titleId }, "Which mechanism?"), h("span", { class: "dp-chip dp-free" }, "free · sees no data")),
        sentence,
        h(
            "div",
            { class: "dp-axes" },
            epsilon.element,
            count.element,
            h("div", { class: "dp-field" }, h("label", { for: betaId }, "How often the errors hold"), beta),
        ),
        note,
        rows,
        finding,
        bars,
        numbers,
        h(
            "p",
            { class: "dp-hint" },
            "Thick: one bin, by its true count. Thin: all bins at once, whatever they hold. Solid is exact, dashed a proved bound. " +
                "Red dashes: no mechanism of this price errs less in the worst case.",
        ),
        floors,
    );
    let width = 760;
    let drawn = "";
    let seen: ComparisonPoint | null = null;
    const stop = watchWidth(rows, (now) => {
        width = now;
        draw();
    });

    function draw(): void {
        const { sheet, point } = desk;
        epsilon.draw();
        count.draw();
        setAttribute(element, "data-stale", desk.settled ? null : "true");
        setText(note, desk.fault ?? "");
        show(note, desk.fault !== null);
        if (sheet === null || point === null) return;
        setText(sentence, `${sheet.question.sentence} Protects ${sheet.unit.text}.`);
        const betas = desk.axis("beta")!.grid;
        setOptions(
            beta,
            betas.map((value) => ({ value, label: often(value) })),
            desk.place.get("beta")!,
        );
        const grid = desk.axis("c")!.grid;
        const placed = desk.place.get("c")!;
        const c = grid.includes(placed) ? placed : point.at.get("c")!;
        const signature = `${c} ${width}`;
        if (point === seen && signature === drawn) return;
        [seen, drawn] = [point, signature];
        const at = grid.indexOf(c);
        const views = point.rows.map((row) => viewOf(row, grid, at));
        const most = niceCeiling(Math.max(1, ...views.map((view) => view.most)));
        rows.replaceChildren(header(point), ...views.map((view) => rowOf(view, grid, most, width, c)));
        bars.replaceChildren(...barsOf(views, c));
        numbers.replaceChildren(numbersOf(views, c));
        const words = verdict(views, c, point);
        setText(finding, words);
        setText(floors, floorsOf(views));
        desk.say(words);
    }

    return { element, draw, close: stop };
}

/** A row as it stands on the screen: its numbers at the probed count. */
interface View {
    row: Row;
    curve: number[] | null;
    at: number;
    one: string | null;
    chance: number | null;
    most: number;
}

const number = (text: string): number => approximate(exactly(text));

function viewOf(row: Row, grid: readonly string[], at: number): View {
    const curve = row.curve?.values.length === grid.length ? row.curve.values.map(number) : null;
    const [all, one] = [row.all, row.one].map((bar) => (bar === null ? 0 : number(bar.value)));
    return {
        row,
        curve,
        at,
        one: curve === null ? null : (row.curve?.values[at] ?? null),
        chance: row.chance?.length === grid.length ? (row.chance[at] ?? null) : null,
        most: Math.max(all ?? 0, one ?? 0, ...(curve ?? [])),
    };
}

const oneText = ({ row, one }: View): string => (one === null ? "not known" : `${row.curve!.kind === "bound" ? "≤ " : "±"}${shown(one)}`);
const allText = ({ row }: View): string => (row.all === null ? "no bound: nothing says how many bins there are" : spread(row.all));
const chanceText = ({ chance }: View): string => (chance === null ? "not known" : chance === 1 ? "> 99.9 %" : chance === 0 ? "never" : percent(chance));

function header(point: ComparisonPoint): HTMLElement {
    const names = [
        ["Mechanism", `same question, ε ${point.at.get("epsilon")}`],
        [`Error, ${often(point.at.get("beta")!)}`, "against true count c"],
        ["Chance of a value above 0", "against true count c"],
        ["Space and time", ""],
    ];
    return h("div", { class: "dp-row dp-row-head", "aria-hidden": "true" }, ...names.map(([name, hint]) => h("div", {}, h("strong", {}, name!), h("p", { class: "dp-hint" }, hint!))));
}

function rowOf(view: View, grid: readonly string[], most: number, width: number, c: string): HTMLElement {
    const { row } = view;
    const label = h(
        "div",
        {},
        h("h4", {}, row.name),
        h("p", { class: "dp-hint" }, row.about),
        ...(row.price === null
            ? []
            : [
                  h("span", { class: `dp-chip ${row.price.delta === "0" ? "" : "dp-costs-delta"}` }, row.price.delta === "0" ? "pure" : `pays δ ${row.price.delta}`),
                  h("p", { class: "dp-note" }, row.price.asked === row.price.epsilon ? `pays ${row.price.epsilon}` : `asked ${row.price.asked}, pays ${row.price.epsilon}`),
              ]),
    );
    if (row.refused !== "") {
        return h("div", { class: "dp-row", role: "group", "aria-label": row.name }, label, h("p", { class: "dp-refused" }, `Not here: ${row.refused}.`));
    }
    const each = width < WIDE ? width : Math.floor((width - 24 * 3 - 130 - 150) / 2);
    const xs = grid.map(number);
    return h(
        "div",
        { class: "dp-row", role: "group", "aria-label": row.name },
        label,
        h("div", {}, errorChart(view, xs, most, each, c), h("p", { class: "dp-note" }, `c = ${shown(c)}: ${oneText(view)} one, ${allText(view)} all`)),
        h("div", {}, chanceOf(view, xs, each, c), h("p", { class: "dp-note" }, `c = ${shown(c)}: ${chanceText(view)}`)),
        h("div", {}, h("p", {}, h("strong", {}, row.space === null ? "" : `${shown(row.space.bits)} bits`)), h("p", { class: "dp-note" }, row.space?.text ?? ""), h("p", { class: "dp-note" }, `${row.cost?.text ?? ""}${row.cost?.slow ? " · slow" : ""}`)),
    );
}

function errorChart(view: View, xs: number[], most: number, width: number, c: string): SVGSVGElement {
    const { row, curve } = view;
    const ends = [xs[0]!, xs.at(-1)!];
    const flat = (value: string | null | undefined): number[] => (value ? ends.map(() => number(value)) : []);
    const series: Series[] = [
        { name: "", xs: ends, ys: flat(row.floor?.one), kind: "dp-thick dp-floor" },
        { name: "", xs: ends, ys: flat(row.floor?.all), kind: "dp-thin dp-floor" },
        { name: "all at once", xs: ends, ys: flat(row.all?.value), kind: `dp-thin dp-${row.all?.kind ?? "exact"}` },
        { name: "one bin", xs, ys: curve ?? [], kind: `dp-thick dp-${row.curve?.kind ?? "exact"}` },
    ];
    return linesChart(width, HEIGHT, {
        title: `${row.name}: a bin of true count ${shown(c)} is within ${oneText(view)}, all bins at once within ${allText(view)}`,
        x: { low: ends[0]!, high: ends[1]!, log: false, name: "" },
        y: { low: 0, high: most, log: false, name: "" },
        series: series.filter(({ ys }) => ys.length > 0),
        probe: { at: number(c), dots: view.one === null ? [] : [number(view.one)] },
    });
}

function chanceOf(view: View, xs: number[], width: number, c: string): SVGSVGElement {
    return linesChart(width, HEIGHT, {
        title: `${view.row.name}: a bin of true count ${shown(c)} shows a value above 0: ${chanceText(view)}`,
        x: { low: xs[0]!, high: xs.at(-1)!, log: false, name: "" },
        y: { low: 0, high: 1, log: false, name: "", text: (value) => (value === 0 ? "0" : `${Math.round(100 * value)} %`) },
        series: [{ name: "", xs, ys: view.row.chance ?? [], kind: "dp-medium dp-exact" }],
        probe: { at: number(c), dots: view.chance === null ? [] : [view.chance] },
    });
}

/** The errors at the probed count, as bars that start at 0. */
function barsOf(views: readonly View[], c: string): Node[] {
    const able = views.filter(({ row }) => row.refused === "");
    const most = niceCeiling(Math.max(1, ...able.flatMap((view) => [view.one === null ? 0 : number(view.one), view.row.all === null ? 0 : number(view.row.all.value)])));
    const bar = (value: string | null, kind: string): HTMLElement => {
        const fill = h("div", { class: kind });
        fill.style.width = `${value === null ? 0 : (100 * number(value)) / most}%`;
        return fill;
    };
    return [
        h("figcaption", {}, `A bin of true count ${shown(c)}, from 0 to ${shown(String(most))}`),
        ...able.map((view) =>
            h(
                "div",
                { class: "dp-bar-row", role: "img", "aria-label": `${view.row.name}: one bin ${oneText(view)}, all at once ${allText(view)}` },
                h("span", {}, view.row.name),
                h("div", {}, bar(view.one, "dp-bar-one"), bar(view.row.all?.value ?? null, "dp-bar-all")),
            ),
        ),
    ];
}

function numbersOf(views: readonly View[], c: string): HTMLElement {
    const columns = [
        { name: "mechanism" },
        { name: "pays ε", figures: true },
        { name: "δ", figures: true },
        { name: `one bin of ${shown(c)}`, figures: true },
        { name: "one bin at worst", figures: true },
        { name: "all at once", figures: true },
        { name: "above 0", figures: true },
        { name: "bits", figures: true },
    ];
    return dataTable("Mechanisms at this count", columns, views.length, (i) => {
        const view = views[i]!;
        const { row } = view;
        if (row.refused !== "") return [row.name, "—", "—", "—", "—", "—", "—", "—"];
        return [
            row.name, row.price?.epsilon ?? "", row.price?.delta ?? "", oneText(view), row.one === null ? "" : spread(row.one),
            row.all === null ? "no bound" : spread(row.all), chanceText(view), row.space === null ? "" : shown(row.space.bits),
        ];
    });
}

/** What the probe says, in a sentence: who errs least on this bin, and on all. */
function verdict(views: readonly View[], c: string, point: ComparisonPoint): string {
    const able = views.filter(({ row }) => row.refused === "");
    if (able.length === 0) return "None of these mechanisms answers this question.";
    const least = (value: (view: View) => string | null | undefined): View[] => {
        const known = able.filter((view) => value(view));
        const best = Math.min(...known.map((view) => number(value(view)!)));
        return known.filter((view) => number(value(view)!) === best);
    };
    const names = (found: readonly View[]): string => found.map(({ row }) => row.name).join(" and ");
    const [one, all] = [least((view) => view.one), least((view) => view.row.all?.value)];
    const parts = [
        one.length === 0 ? "" : `at a true count of ${shown(c)}, ${names(one)} errs least on one bin (${oneText(one[0]!)})`,
        all.length === 0 ? "" : `${names(all)} on all at once (${allText(all[0]!)})`,
    ].filter((part) => part !== "");
    return `${capital(parts.join("; "))}, ε ${point.at.get("epsilon")}.`;
}

/** The lower bounds, and where they say nothing. */
function floorsOf(views: readonly View[]): string {
    const floor = views.find(({ row }) => row.floor !== null)?.row.floor;
    if (floor === null || floor === undefined) return "";
    const rules = [...new Set(views.flatMap(({ row }) => (row.floor === null ? [] : [row.floor.rule])))].join(" and ");
    if (number(floor.one) === 0) {
        return `Lower bounds: Balcer and Vadhan, ${rules}. For one bin they are 0 here and say nothing${floor.all === "" || number(floor.all) === 0 ? "" : `; for all at once at least ${shown(floor.all)}`}.`;
    }
    return `Lower bounds: Balcer and Vadhan, ${rules}. At least ${shown(floor.one)} for one bin at worst${floor.all === "" ? "" : `, ${shown(floor.all)} for all at once`}.`;
}
