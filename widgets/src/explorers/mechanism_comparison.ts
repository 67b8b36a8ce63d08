/** Which mechanism? The same question at the same price: errors, what is shown, what is stored. Free; sees no data. */

import { axisSlider } from "./axis_slider";
import { orderOf, tallyOf, type Draws, type Reads, type Tally } from "../protocol/comparison_draws";
import { percent } from "../charts/chance";
import { niceCeiling, textWidth } from "../charts/frame";
import { linesChart, type Series } from "../charts/lines";
import { readsAxis, readsChart, readText } from "../charts/reads";
import type { Component } from "../dom/component";
import { h, newId, setOptions, setText, show, watchWidth } from "../dom/dom";
import { approximate, exactly } from "../numbers/exact";
import { standing, type Explorer } from "./explorer";
import { signed, words, type Size } from "../wording/measures";
import { outcomesView, type Outcomes } from "../dom/outcomes";
import { timed } from "../dom/perf";
import type { Measure } from "../protocol/protocol";
import type { ComparisonPoint, ComparisonSheet, Row } from "../protocol/sheets";
import { dataTable } from "../dom/table";
import { capital, often, shown, space } from "../wording/words";

const HEIGHT = 150;
/** Below this width the parts of a row stand under each other. */
const WIDE = 620;
/** Pictures of a draw stand side by side, none narrower than this. */
const STAGE = 230;
const STAGE_GAP = 24;
/** One of many that stand still. */
const SMALL_WIDTH = 60;

export function mechanismComparison(store: Explorer<ComparisonSheet>): Component {
    const [titleId, betaId] = [newId(), newId()];
    const subject = h("p", { class: "dp-quiet" });
    const epsilon = axisSlider(store, "epsilon", true);
    const count = axisSlider(store, "c", true);
    const beta = h("select", { id: betaId, onchange: (event: Event) => timed(event, () => store.set("beta", beta.value)) });
    const note = h("p", { class: "dp-fault", role: "alert", hidden: true });
    const rows = h("div", { class: "dp-rows" });
    const bars = h("figure", { class: "dp-figure dp-bars" });
    const numbers = h("div", {});
    const finding = h("p", { class: "dp-finding dp-verdict" });
    const key = h("p", { class: "dp-hint" });
    const floors = h("p", { class: "dp-hint" });
    const order = outcomesView("Would the order change?");
    const counted = h("div", {});
    const undrawn = h("p", { class: "dp-hint", hidden: true });
    order.element.append(counted, undrawn, h("p", { class: "dp-hint" }, "Only ties: no bin is out of order, but two bins of different counts read the same or are both not shown."));
    const element = h(
        "section",
        { class: "dp-explorer dp-plan", "aria-labelledby": titleId },
        h("div", { class: "dp-pane-head" }, h("h3", { id: titleId }, "Which mechanism?"), h("span", { class: "dp-chip dp-free" }, "free · sees no data")),
        subject,
        h(
            "div",
            { class: "dp-axes" },
            epsilon.element,
            count.element,
            h("div", { class: "dp-field" }, h("label", { for: betaId }, "How often the stated errors hold"), beta),
        ),
        note,
        rows,
        finding,
        bars,
        numbers,
        key,
        floors,
        order.element,
    );
    let width = 760;
    let drawn = "";
    let seen: ComparisonPoint | null = null;
    const stop = watchWidth(rows, (now) => {
        width = now;
        draw();
    });

    function draw(): void {
        const { sheet, point } = store;
        epsilon.draw();
        count.draw();
        standing(element, store);
        setText(note, store.fault ?? "");
        show(note, store.fault !== null);
        if (sheet === null || point === null) return;
        setText(subject, `${sheet.question.sentence} Protects: ${sheet.unit.text}.`);
        const betas = store.axis("beta")!.grid;
        setOptions(
            beta,
            betas.map((value) => ({ value, label: often(value) })),
            store.position.get("beta")!,
        );
        const grid = store.axis("c")!.grid;
        const placed = store.position.get("c")!;
        const c = grid.includes(placed) ? placed : point.at.get("c")!;
        const signature = `${c} ${width}`;
        if (point === seen && signature === drawn) return;
        [seen, drawn] = [point, signature];
        const at = grid.indexOf(c);
        const views = point.rows.map((row) => viewOf(row, sheet.measures, grid, at));
        const most = niceCeiling(Math.max(1, ...views.map((view) => view.most)));
        rows.replaceChildren(header(point), ...views.map((view) => rowOf(view, grid, most, width, c)));
        bars.replaceChildren(...barsOf(views, c));
        numbers.replaceChildren(numbersOf(views, sheet.measures, c));
        const sentence = verdict(views, sheet.measures, c, point);
        setText(finding, sentence);
        setText(key, keyOf(views, sheet.measures));
        setText(floors, floorsOf(views, sheet.measures));
        drawOrder(sheet, point);
        store.say(sentence);
    }

    function drawOrder({ draws }: ComparisonSheet, point: ComparisonPoint): void {
        const outcomes = draws?.outcomes.get(point.at.get("epsilon")!);
        const drawn = point.rows.flatMap((row, i) => (outcomes?.[i] ? [{ name: row.name, outcomes: outcomes[i]! }] : []));
        if (draws === null || drawn.length === 0) {
            order.draw(null);
            return;
        }
        const sizes = draws.counts.map(Number);
        const told = drawn.map((one) => ({ ...one, tally: tallyOf(sizes, one.outcomes) }));
        order.draw(orderFigure(draws, told, width));
        const absent = point.rows.filter((_, i) => !outcomes?.[i]);
        const missing = absent.filter((row) => row.refused === "").map(({ name }) => name);
        const refused = absent.filter((row) => row.refused !== "").map(({ name }) => name);
        const words = [
            missing.length === 0 ? "" : `Not drawn: ${inWords(missing)}. What would be read of a single count there has not been worked out.`,
            refused.length === 0 ? "" : `${inWords(refused)} ${refused.length === 1 ? "does" : "do"} not answer this question.`,
        ].filter((part) => part !== "");
        setText(undrawn, words.join(" "));
        undrawn.hidden = words.length === 0;
        counted.replaceChildren(countedTable(told, sizes.length));
    }

    function close(): void {
        stop();
        order.close();
    }

    return { element, draw, close };
}

/** The draws of one mechanism, and what was counted in them. */
interface Told {
    name: string;
    outcomes: readonly Reads[];
    tally: Tally;
}

function orderFigure(draws: Draws, told: readonly Told[], width: number): Outcomes {
    const counts = draws.counts.map(Number);
    const labels = draws.names.map((name, bin) => name || shown(draws.counts[bin]!));
    const readings = told.flatMap(({ outcomes }) => outcomes.flat());
    const axis = readsAxis(counts, readings.some((value) => value !== null && value < 0));
    const room = Math.max(...readings.map((value) => textWidth(readText(value))));
    const columns = Math.max(1, Math.min(told.length, Math.floor((width + STAGE_GAP) / (STAGE + STAGE_GAP))));
    const each = Math.floor((width - (columns - 1) * STAGE_GAP) / columns);
    const picture = ({ name, outcomes }: Told, draw: number, small: boolean): SVGSVGElement => {
        const reads = outcomes[draw]!;
        const { moved } = orderOf(counts, reads);
        const title = `${name}, draw ${draw + 1}: ${labels.map((label, bin) => `${label} ${reads[bin] === null ? "is not shown" : `reads ${readText(reads[bin]!)}`}`).join(", ")}`;
        return readsChart(small ? SMALL_WIDTH : each, { title, names: small ? [] : labels, counts, reads, moved, axis, room });
    };
    const headed = (one: Told, kind: string, pictures: Node[]): HTMLElement => h("div", { class: kind }, h("p", {}, h("strong", {}, one.name)), ...pictures);
    return {
        badge: draws.badge,
        caption: `${draws.badge.startsWith("made-up") ? "made-up" : "public"} truth, new noise each time; each bin is simulated by itself, as if all others were empty. Hatched: the counts ${inWords(draws.counts.map(shown))} · ○ what a bin reads · ● out of order`,
        finding: orderWords(told, counts.length),
        count: told[0]!.outcomes.length,
        frame: (draw) => {
            const stage = h("div", { class: "dp-side-by-side" }, ...told.map((one) => headed(one, "dp-bins-read", [picture(one, draw, false)])));
            stage.style.setProperty("--dp-count", String(columns));
            return [stage];
        },
        still: (many) => told.map((one) => headed(one, "dp-bins-read dp-motionless", [h("div", { class: "dp-multiples" }, ...one.outcomes.slice(0, many).map((_, draw) => picture(one, draw, true)))])),
    };
}

const inWords = (parts: readonly string[]): string => (parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`);

/** In how many draws the order changed, and what was not shown, in a sentence. */
function orderWords(told: readonly Told[], bins: number): string {
    const draws = told[0]!.outcomes.length;
    const changed = told.map(({ name, tally }) => `${tally.changed} with ${name}`);
    const hiding = told.filter(({ tally }) => tally.hidden > 0).map(({ name, tally }, i) => `${tally.hidden}${i === 0 ? ` of ${draws * bins} counts` : ""} with ${name}`);
    return `Of ${draws} draws each, the order changed in ${inWords(changed)}.${hiding.length === 0 ? "" : ` Not shown: ${inWords(hiding)}.`}`;
}

function countedTable(told: readonly Told[], bins: number): HTMLElement {
    const columns = [{ name: "mechanism" }, ...["order changed", "only ties", "not shown"].map((name) => ({ name, figures: true }))];
    return dataTable("How often the order changed", columns, told.length, (i) => {
        const { name, outcomes, tally } = told[i]!;
        const draws = outcomes.length;
        return [name, `${tally.changed} of ${draws}`, `${tally.tied} of ${draws}`, `${tally.hidden} of ${draws * bins}`];
    });
}

/** One measure of one mechanism at the probed count. */
interface Probed {
    measure: Measure;
    /** By the true count of a bin, where that matters. */
    curve: number[] | null;
    /** The error at the probed count: of the curve, else the same for every count. */
    error: Size | null;
    worst: Size | null;
    floor: { value: string; rule: string } | null;
}

/** A row as it stands on the screen: its numbers at the probed count. */
interface View {
    row: Row;
    errors: Probed[];
    chance: number | null;
    most: number;
}

const number = (text: string): number => approximate(exactly(text));

function viewOf(row: Row, measures: readonly Measure[], grid: readonly string[], at: number): View {
    const errors = measures.map((measure): Probed => {
        const { worst = null, curve = null, floor = null } = row.errors?.get(measure.name) ?? {};
        const along = curve?.values.length === grid.length ? curve : null;
        return {
            measure,
            curve: along?.values.map(number) ?? null,
            error: along === null ? worst : { value: along.values[at]!, kind: along.kind },
            worst,
            floor,
        };
    });
    return {
        row,
        errors,
        chance: row.chance?.length === grid.length ? (row.chance[at] ?? null) : null,
        most: Math.max(0, ...errors.flatMap(({ curve, worst }) => [worst === null ? 0 : number(worst.value), ...(curve ?? [])])),
    };
}

const sizeText = (measure: Measure, error: Size | null): string => (error === null ? "not known" : signed(measure, error));
const errorsText = (view: View): string => view.errors.map(({ measure, error }) => `${measure.short} ${sizeText(measure, error)}`).join(", ");
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
        return h("div", { class: "dp-row", role: "group", "aria-label": row.name }, label, h("p", { class: "dp-refused" }, `Not available here: ${row.refused}.`));
    }
    const each = width < WIDE ? width : Math.floor((width - 24 * 3 - 130 - 150) / 2);
    const xs = grid.map(number);
    return h(
        "div",
        { class: "dp-row", role: "group", "aria-label": row.name },
        label,
        h("div", {}, errorChart(view, xs, most, each, c), h("p", { class: "dp-note" }, `c = ${shown(c)}: ${errorsText(view)}`)),
        h("div", {}, chanceOf(view, xs, each, c), h("p", { class: "dp-note" }, `c = ${shown(c)}: ${chanceText(view)}`)),
        h("div", {}, h("p", {}, h("strong", {}, row.space === null ? "" : space(row.space.bits))), h("p", { class: "dp-note" }, row.space === null ? "" : `in bits: ${row.space.text}`), h("p", { class: "dp-note" }, `${row.cost?.text ?? ""}${row.cost?.slow ? " · slow" : ""}`)),
    );
}

function errorChart(view: View, xs: number[], most: number, width: number, c: string): SVGSVGElement {
    const ends = [xs[0]!, xs.at(-1)!];
    const flat = (value: string | undefined): number[] => (value === undefined ? [] : ends.map(() => number(value)));
    const series: Series[] = view.errors.flatMap(({ measure, curve, error, floor }) => {
        const kind = `dp-${measure.weight} dp-${error?.kind ?? "exact"}`;
        return [
            { name: "", xs: ends, ys: flat(floor?.value), kind: `dp-${measure.weight} dp-floor` },
            { name: measure.short, xs: curve === null ? ends : xs, ys: curve ?? flat(error?.value), kind },
        ];
    });
    const dots = view.errors.flatMap(({ curve, error }) => (curve === null || error === null ? [] : [number(error.value)]));
    return linesChart(width, HEIGHT, {
        title: `${view.row.name} at a true count of ${shown(c)}: ${errorsText(view)}`,
        x: { low: ends[0]!, high: ends[1]!, log: false, name: "" },
        y: { low: 0, high: most, log: false, name: "" },
        series: series.filter(({ ys }) => ys.length > 0),
        probe: { at: number(c), dots },
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
    const answered = views.filter(({ row }) => row.refused === "");
    const sizes = answered.flatMap(({ errors }) => errors.map(({ error }) => (error === null ? 0 : number(error.value))));
    const most = niceCeiling(Math.max(1, ...sizes));
    const bar = ({ measure, error }: Probed): HTMLElement => {
        const fill = h("div", { class: `dp-bar dp-bar-${measure.weight}` });
        fill.style.width = `${error === null ? 0 : (100 * number(error.value)) / most}%`;
        return fill;
    };
    return [
        h("figcaption", {}, `Errors of a bin whose true count is ${shown(c)}; the bars run from 0 to ${shown(String(most))}`),
        ...answered.map((view) =>
            h(
                "div",
                { class: "dp-bar-row", role: "img", "aria-label": `${view.row.name}: ${errorsText(view)}` },
                h("span", {}, view.row.name),
                h("div", {}, ...view.errors.map(bar)),
            ),
        ),
    ];
}

/** Whether some mechanism's error of this measure depends on the true count. */
const bent = (views: readonly View[], position: number): boolean => views.some(({ errors }) => errors[position]!.curve !== null);

function numbersOf(views: readonly View[], measures: readonly Measure[], c: string): HTMLElement {
    const bends = measures.map((_, position) => bent(views, position));
    const columns = [
        { name: "mechanism" },
        { name: "pays ε", figures: true },
        { name: "δ", figures: true },
        ...measures.flatMap(({ short }, position) =>
            (bends[position] ? [`${short}, count ${shown(c)}`, `${short}, worst count`] : [short]).map((name) => ({ name, figures: true })),
        ),
        { name: "chance above 0", figures: true },
        { name: "space", figures: true },
    ];
    return dataTable("Mechanisms at this true count", columns, views.length, (i) => {
        const view = views[i]!;
        const { row } = view;
        if (row.refused !== "") return [row.name, ...columns.slice(1).map(() => "—")];
        const errors = view.errors.flatMap(({ measure, error, worst }, position) =>
            (bends[position] ? [error, worst] : [worst]).map((one) => sizeText(measure, one)),
        );
        const stored = row.space === null ? "" : space(row.space.bits);
        return [row.name, row.price?.epsilon ?? "", row.price?.delta ?? "", ...errors, chanceText(view), stored];
    });
}

/** Describe the probe in a sentence: who errs least, by each measure. */
function verdict(views: readonly View[], measures: readonly Measure[], c: string, point: ComparisonPoint): string {
    const answered = views.filter(({ row }) => row.refused === "");
    if (answered.length === 0) return "None of these mechanisms answers this question.";
    const parts = measures.flatMap((measure, position) => {
        const known = answered.flatMap(({ row, errors }) => {
            const { error } = errors[position]!;
            return error === null ? [] : [{ name: row.name, error, size: number(error.value) }];
        });
        const best = Math.min(...known.map(({ size }) => size));
        const least = known.filter(({ size }) => size === best);
        if (least.length === 0) return [];
        return [`${inWords(least.map(({ name }) => name))} ${least.length === 1 ? "errs" : "err"} least on ${measure.short} (${signed(measure, least[0]!.error)})`];
    });
    const where = `At ε ${point.at.get("epsilon")} and a true count of ${shown(c)}`;
    return parts.length === 0 ? `${where} no error is known.` : `${where}, ${parts.join("; ")}.`;
}

/** The meaning of the lines. */
function keyOf(views: readonly View[], measures: readonly Measure[]): string {
    const lines = measures.map(
        (measure, position) => `${capital(measure.weight)}: ${words(measure)}${bent(views, position) ? ", by its true count" : ", whatever the counts"}.`,
    );
    const known = views.flatMap(({ errors }) => errors);
    const calculated = known.some(({ error, worst }) => error?.kind === "numerical" || worst?.kind === "numerical");
    const floor = known.some((one) => one.floor !== null) ? " Red dashes: no mechanism at this price can err less in the worst case." : "";
    return `${lines.join(" ")} Solid: exact${calculated ? ", or calculated where it says ≈" : ""}. Dashed: a proved bound.${floor}`;
}

/** The lower bounds, and where they say nothing. */
function floorsOf(views: readonly View[], measures: readonly Measure[]): string {
    const rules = views.flatMap(({ errors }) => errors.flatMap(({ floor }) => (floor === null ? [] : [floor.rule])));
    if (rules.length === 0) return "";
    const parts = measures.flatMap(({ short }, position) => {
        const floor = views.map(({ errors }) => errors[position]!.floor).find((one) => one !== null) ?? null;
        if (floor === null) return [];
        return [number(floor.value) === 0 ? `For ${short} the bound is 0 here and says nothing.` : `For ${short} no error is below ${shown(floor.value)} in the worst case.`];
    });
    return `Lower bounds: ${[...new Set(rules)].join("; ")}. ${parts.join(" ")}`;
}
