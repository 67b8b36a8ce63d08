/** The plan, in pencil: what it would cost and how wrong it would be. It sees no data and is free. */

import { chanceChart } from "../charts/chance";
import { curveChart, type CurveOf, type CurvePoint } from "../charts/curve";
import { dotsChart } from "../charts/dots";
import type { Component } from "../dom/component";
import { h, newId, setAttribute, setOptions, setText, show, watchWidth } from "../dom/dom";
import { approximate, compare, equal, exactly } from "../numbers/exact";
import { barOf, headline, isList, phrase, signed, signOf, slowness, tipOf, words } from "../wording/measures";
import { timed } from "../dom/perf";
import { waysBox } from "./ways";
import { planBox } from "./plan_box";
import type { Bar, Measure, Point, Sheet } from "../protocol/protocol";
import { amongOf } from "../stores/plan";
import type { SessionStore } from "../stores/session_store";
import { kindOf, leaves, oddsTip, often, PAYS_TIP, priceText, reach, same, shown, spread, ungrouped } from "../wording/words";

const CHARTS = ["Error against ε", "50 equally likely errors", "Chance above 0"] as const;
const HEIGHT = 186;
/** Below this a chart has the width of the pane to itself, and one is chosen. */
const ONE_CHART = 428;

export interface PlanOptions {
    title: string;
    chip: string;
    /** In a report the question and the budget are told elsewhere: fewer numbers, no charts. */
    brief: boolean;
}

const DEFAULTS: PlanOptions = { title: "Plan", chip: "free · sees no data", brief: false };

export function planPane(store: SessionStore, options: PlanOptions = DEFAULTS, within: Component | null = null, limit: Component | null = null, told: Component | null = null): Component {
    const titleId = newId();
    const chip = h("span", { class: "dp-chip dp-free" }, options.chip);
    const asking = h("span", { class: "dp-quiet", hidden: true }, "asking the kernel…");
    const first = errorStat(store, 0);
    const second = errorStat(store, 1);
    const cost = stat("Would cost");
    const reads = stat("Reads");
    const odds = stat("Odds can move");
    reads.element.classList.add("dp-stat-reads");
    odds.element.classList.add("dp-stat-odds");
    cost.element.classList.add("dp-stat-cost");
    const figures = CHARTS.map((name) =>
        h("figure", { class: "dp-figure" }, h("figcaption", {}, name), h("div", { class: "dp-plot" })),
    );
    const chooser = h(
        "select",
        { "aria-label": "Which plan chart", onchange: () => draw() },
        ...CHARTS.map((name) => h("option", {}, name)),
    );
    const after = h("p", { class: "dp-hint dp-after", hidden: true });
    const limits = h("p", { class: "dp-hint dp-limits", hidden: true });
    const slow = h("p", { class: "dp-slow", role: "note", hidden: true });
    const ways = waysBox(store, options.brief);
    const lookUpsId = newId();
    const lookUps = planBox(
        store,
        "among",
        { id: lookUpsId, inputmode: "numeric" },
        () => shown(amongOf(store.sheet)),
        (text) => ({ among: text.replaceAll(",", "") }),
        "span",
    );
    const held = h("span", {});
    const lookUpsParts = [h("label", { for: lookUpsId }, "Look-ups at once, Q"), lookUps.box, held, lookUps.fault];
    const several = h("p", { class: "dp-hint dp-look-ups", hidden: true });
    const known = h("ul", {});
    const asked = h("summary", {});
    const how = h("details", { class: "dp-how dp-hint", hidden: true }, asked, known);
    const charts = h("div", { class: "dp-charts" }, h("div", { class: "dp-which-chart" }, chooser), ...figures);
    const stats = h(
        "div",
        { class: "dp-stats", "data-of": options.brief ? "3" : "4" },
        first.element,
        second.element,
        cost.element,
        ...(options.brief ? [] : [reads.element, odds.element]),
    );
    const element = h(
        "section",
        { class: "dp-plan", "aria-labelledby": titleId },
        h("div", { class: "dp-pane-head" }, h("h3", { id: titleId }, options.title), asking, chip),
        within?.element,
        ways.element,
        stats,
        several,
        limits,
        told?.element,
        limit?.element,
        after,
        slow,
        options.brief ? null : charts,
        options.brief ? null : how,
    );
    how.addEventListener("toggle", () => drawHow(store.point));
    let width = 560;
    const stop = watchWidth(charts, (now) => {
        width = now;
        draw();
    });

    function drawStats(point: Point | null): void {
        const { sheet, state } = store;
        first.draw(point);
        second.draw(point);
        const budget = state?.budget ?? null;
        const { teaching } = store;
        setText(cost.name, teaching ? "Noise of ε" : "Would cost");
        setText(chip, teaching ? options.chip.replace("free · ", "") : options.chip);
        const [epsilon, ...delta] = point === null ? ["—"] : priceText(point.price).replace(/^ε /, "").split(", ");
        cost.value.replaceChildren(epsilon!, ...delta.map((part) => h("small", {}, ` ${part}`)));
        size(cost.element, epsilon!);
        const asked = point !== null && !equal(exactly(point.price.asked), exactly(point.price.epsilon));
        setText(
            cost.note,
            point === null || sheet === null
                ? ""
                : [
                      budget === null ? `per ${sheet.question.noun}` : leaves(budget, point.price, isList(sheet), true),
                      asked ? `asked ${point.price.asked}, ${teaching ? "gives" : "pays"} ${point.price.epsilon}` : "",
                  ]
                      .filter((part) => part !== "")
                      .join(" · "),
        );
        cost.note.title = asked && !teaching ? PAYS_TIP : "";
        const rows = point?.rows ?? "";
        show(reads.element, rows !== "");
        reads.value.replaceChildren(shown(rows), h("small", {}, " rows"));
        size(reads.element, rows);
        setText(reads.note, rows === "" ? "" : sheet?.question.by == null ? "however many there are" : "in each part, however many there are");
        const combined = together(store);
        const limited = store.sheet?.limits ?? "";
        setText(limits, limited);
        show(limits, limited !== "");
        setText(after, combined || "\u00a0");
        show(after, combined !== "" || (store.second.together === null && store.second.combines)); // an empty line while the slider moves, so that nothing jumps
        const warning = slowness(point);
        setText(slow, warning === "" ? "" : `⚠ ${warning}`);
        show(slow, warning !== "");
        setText(odds.value, point === null || point.odds === "" ? "×—" : `×${point.odds}`);
        setText(odds.note, sheet === null ? "" : point?.odds === "" ? "no bound where there is a δ" : `that a given ${sheet.question.noun} is in`);
        show(odds.element, sheet === null || !isList(sheet) || point?.odds !== "");
        const figures = [first.element, second.element, cost.element, ...(options.brief ? [] : [reads.element, odds.element])];
        const wide = figures.some((one) => !one.hidden && one.dataset["size"] === "wide");
        setAttribute(stats, "data-of", wide ? "2" : String(figures.filter((one) => !one.hidden).length));
        odds.element.title = sheet === null ? "" : oddsTip(sheet.question.noun);
    }

    /** The error of the worst of a number of look-ups, and the number, which a reader may change where a kernel answers. */
    function drawLookUps(point: Point | null): void {
        const measure = store.sheet?.measures.find((one) => one.many !== null) ?? null;
        show(several, measure !== null && point !== null);
        if (measure === null || point === null) return several.replaceChildren();
        if (!several.hasChildNodes()) several.append(...lookUpsParts);
        const bar = barOf(point, store.beta, measure);
        lookUps.draw(shown(store.among));
        lookUps.box.disabled = store.locked || store.kernel.health === "gone";
        setText(held, bar === null ? noBar(measure) : `all within ${signed(measure, bar).trim()}, ${often(store.beta)} · ${kindOf(bar)}`);
        several.title = bar === null ? "" : tipOf(measure, store.beta, bar);
    }

    /** The rules behind the errors, why one has no number, and the published bounds beside them. */
    function drawHow(point: Point | null): void {
        show(how, point !== null);
        const { sheet } = store;
        const proof = store.teaching ? "" : (point?.proof ?? "");
        setText(asked, proof === "" ? "How these errors are known" : "How the price is proved and the errors are known");
        if (point === null || sheet === null || !how.open) return;
        const line = (name: string, value: string, rule: string): HTMLElement =>
            h("li", {}, `${name} ${value}: ${rule}.`);
        const bounds = (point.more ?? []).filter((item) => item.beta === null || same(item.beta, store.beta));
        known.replaceChildren(
            ...(proof === "" ? [] : [line("Price", priceText(point.price), proof)]),
            ...sheet.measures.flatMap((measure) => {
                const bar = barOf(point, store.beta, measure);
                if (bar !== null) return [line(measure.label, `${signed(measure, bar)} ${measure.origin}`.trim(), bar.off === null ? bar.rule : `${kindOf(bar)}, ${bar.rule}`)];
                return measure.missing === "" ? [] : [h("li", {}, noBar(measure))];
            }),
            ...(sheet.ways ?? []).flatMap((way) => (way.rule === null ? [] : [h("li", {}, `Shared out as ${way.label}: ${way.rule}.`)])),
            ...bounds.map((item) =>
                line(item.label, spread(item), item.rule),
            ),
            ...(point.bias === null
                ? []
                : [h("li", {}, `An empty bin is shown ${shown(point.bias)} too high on average.`)]),
        );
    }

    function drawCharts(point: Point | null): void {
        const single = width < ONE_CHART;
        const drawable = [true, point !== null && pictured(store.sheet!, point, store.beta) !== null, point?.chance != null];
        show(chooser.parentElement!, single);
        let chosen = chooser.selectedIndex;
        if (!drawable[chosen]) chosen = 0;
        [...chooser.options].forEach((option, i) => (option.hidden = !drawable[i]));
        const count = single ? 1 : drawable.filter(Boolean).length;
        const each = Math.max(140, Math.floor((width - 16 * (count - 1)) / count));
        figures.forEach((figure, i) => {
            const visible = drawable[i]! && (!single || i === chosen);
            show(figure, visible);
            show(figure.firstElementChild as HTMLElement, !single);
            const plot = figure.lastElementChild!;
            if (!visible) return;
            plot.replaceChildren(
                i === 0
                    ? curve(store, each)
                    : point === null
                      ? ""
                      : i === 1
                        ? dots(store, point, each)
                        : chance(point, each),
            );
        });
        charts.style.setProperty("--dp-count", String(count));
    }

    function draw(): void {
        const { point } = store;
        within?.draw();
        ways.draw();
        limit?.draw();
        told?.draw();
        show(asking, (store.asking || store.sheet === null) && store.kernel.health === "busy");
        setAttribute(
            element,
            "data-stale",
            store.fault !== null || (!store.settled && store.sheet !== null) ? "true" : null,
        );
        drawStats(point);
        drawLookUps(point);
        if (options.brief) return;
        drawHow(point);
        if (store.sheet === null) {
            for (const figure of figures) figure.lastElementChild!.replaceChildren();
            show(chooser.parentElement!, false);
        } else drawCharts(point);
    }

    return {
        element,
        draw,
        close() {
            stop();
            limit?.close?.();
        },
    };
}

/** The error of one bin once this was paid for and read together with an earlier answer, where that is less. */
function together({ second: { together: found }, beta }: SessionStore): string {
    const errors = found?.errors.get(beta);
    if (found === null || errors === undefined || errors.both === null) return "";
    const { both, now } = errors;
    if (now !== null && compare(exactly(both.value), exactly(now.value)) >= 0) return "";
    const before = now === null ? "" : `; now ${spread(now)}`;
    return `After this, together with release ${found.number}: any one bin ${spread(both)} where both agree${before}.`;
}

/** A long number is written smaller, and beside one that is longer still stands one figure only: none leaves its pane. */
function size(element: HTMLElement, text: string): void {
    const digits = text.replaceAll(/[,.]/g, "").length;
    setAttribute(element, "data-size", digits > 8 ? "wide" : digits > 5 ? "long" : null);
}

interface Stat {
    element: HTMLElement;
    name: HTMLElement;
    value: HTMLElement;
    note: HTMLElement;
}

function stat(name: string): Stat {
    const head = h("div", { class: "dp-stat-name" }, name);
    const value = h("div", { class: "dp-readout" });
    const note = h("div", { class: "dp-note" });
    return {
        element: h("div", { class: "dp-stat" }, head, value, note),
        name: head,
        value,
        note,
    };
}

/** A planned error that is also an input: type an error and ε follows, rounded so that the error is met. */
function errorStat(store: SessionStore, place: 0 | 1): { element: HTMLElement; draw(point: Point | null): void } {
    const [id, faultId] = [newId(), newId()];
    const name = h("label", { for: id, class: "dp-stat-name" });
    const sign = h("span", { "aria-hidden": "true" });
    const input = h("input", {
        id,
        type: "text",
        inputmode: "decimal",
        autocomplete: "off",
        spellcheck: "false",
        "aria-describedby": faultId,
        onchange: (event: Event) => timed(event, () => commit()),
        onkeydown: (event: KeyboardEvent) => {
            if (event.key === "Enter") {
                event.preventDefault();
                timed(event, () => commit());
            } else if (event.key === "Escape") {
                event.preventDefault();
                draft = false;
                input.value = written;
                fit();
                store.unseek();
            }
        },
        oninput: () => {
            draft = true;
            fit();
        },
    });
    const beta = h("select", {
        "aria-label": "How often",
        onchange: () => store.setBeta(beta.value),
    });
    const kind = h("span", {});
    const origin = h("div", { class: "dp-note dp-origin" });
    const fault = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
    const element = h(
        "div",
        { class: `dp-stat dp-stat-${place === 0 ? "first" : "second"}` },
        name,
        h(
            "div",
            { class: "dp-readout dp-editable" },
            sign,
            input,
            h("span", { class: "dp-pen", "aria-hidden": "true" }, "✎"),
        ),
        origin,
        h("div", { class: "dp-note" }, beta, kind),
        fault,
    );
    let written = "";
    let draft = false; // being typed: what arrives meanwhile leaves it alone
    const measured = (): Measure | null => (store.sheet === null ? null : (headline(store.sheet)[place] ?? null));

    function commit(): void {
        draft = false;
        const measure = measured();
        if (measure === null) return;
        if (input.value !== written) store.seek(measure, ungrouped(input.value));
        else if (store.seekFault?.measure === measure.name) store.unseek();
    }

    function fit(): void {
        input.style.width = `${Math.max(1, input.value.length) + 0.3}ch`;
        size(element, input.value);
    }

    function draw(point: Point | null): void {
        const { sheet } = store;
        const measure = measured();
        const bar: Bar | null = point === null || measure === null ? null : barOf(point, store.beta, measure);
        const absent = bar === null && point !== null;
        show(element, sheet === null || (measure !== null && (!absent || place === 0 || measure.missing !== "")));
        setText(name, measure?.label ?? "Error");
        setText(sign, absent || measure === null ? "" : signOf(measure, bar));
        setAttribute(beta, "aria-label", measure === null ? "How often" : `How often, ${words(measure)}`);
        written = bar === null ? "—" : reach(bar.value);
        const mine = measure !== null && store.seekFault?.measure === measure.name ? store.seekFault : null;
        if (document.activeElement !== input || !(draft || mine !== null)) input.value = written;
        fit();
        input.disabled = bar === null || store.locked;
        if (sheet !== null)
            setOptions(
                beta,
                sheet.betas.map((value) => ({ value, label: often(value) })),
                store.beta,
            );
        const certain = measure?.certain === true;
        show(beta, sheet !== null && !certain);
        setText(origin, bar === null ? "" : (measure?.origin ?? ""));
        const how = bar === null ? (absent ? "no bound" : "") : bar.kind === "numerical" ? "calculated" : kindOf(bar);
        setText(kind, how === "" ? "" : certain ? `for sure · ${how}` : ` · ${how}`);
        kind.title = bar?.rule ?? (absent && measure !== null ? noBar(measure) : "");
        element.title = bar === null || measure === null ? "" : tipOf(measure, store.beta, bar);
        setText(fault, mine?.text ?? "");
        show(fault, mine !== null);
        setAttribute(input, "aria-invalid", mine === null ? null : "true");
    }

    return { element, draw };
}

const noBar = ({ label, missing }: Measure): string => `${label}: ${missing}.`;

const number = (text: string): number => approximate(exactly(text));

const height = (bar: Bar | null | undefined): number => (bar == null ? NaN : number(bar.value));

function curvePoint(sheet: Sheet, point: Point, beta: string): CurvePoint {
    const [first, second] = headline(sheet).map((measure) => barOf(point, beta, measure));
    return { epsilon: number(point.epsilon), first: height(first), second: height(second) };
}

function curve(store: SessionStore, width: number): SVGSVGElement {
    const { point, beta, last } = store;
    const sheet = store.sheet!;
    const fans = sheet.fans.epsilon;
    const paid = last === null ? undefined : fans.find((item) => same(item.epsilon, last.epsilon));
    const [first, second] = headline(sheet);
    return curveChart(width, HEIGHT, {
        title: point === null ? "Error against epsilon" : `At ε ${point.epsilon} ${phrase(sheet, point, beta) || "no error is bounded"}`,
        points: fans.map((item) => curvePoint(sheet, item, beta)),
        now: point === null ? null : curvePoint(sheet, point, beta),
        first: curveOf(first, point ?? fans[0]!, beta),
        second: curveOf(second, point ?? fans[0]!, beta),
        released: paid === undefined ? null : { ...curvePoint(sheet, paid, beta), number: last!.number },
    });
}

/** How a measure is drawn and what it is called; nothing where the mechanism states no such measure. */
function curveOf(measure: Measure | undefined, at: Point, beta: string): CurveOf {
    if (measure === undefined) return { kind: "exact", weight: "thin", text: "", names: [] };
    const bar = barOf(at, beta, measure);
    return {
        kind: bar?.kind ?? "exact",
        weight: measure.weight || "thin",
        text: bar === null ? "" : signed(measure, bar),
        names: measure.origin === "" ? [words(measure), measure.short] : [measure.origin, measure.short],
    };
}

/** The error that the picture of equally likely errors is about, where there is one. */
function pictured(sheet: Sheet, point: Point, beta: string): { measure: Measure; bar: Bar } | null {
    const measure = sheet.measures.find((one) => one.pictured);
    const bar = measure === undefined ? null : barOf(point, beta, measure);
    return measure === undefined || bar === null || point.dots === null ? null : { measure, bar };
}

function dots(store: SessionStore, point: Point, width: number): SVGSVGElement {
    const { measure, bar } = pictured(store.sheet!, point, store.beta)!;
    return dotsChart(width, HEIGHT, {
        errors: point.dots!.map(number),
        of: words(measure),
        within: number(bar.value),
        words: { within: signed(measure, bar), often: often(store.beta) },
        cut: point.cut == null ? null : number(point.cut),
    });
}

const chance = (point: Point, width: number): SVGSVGElement =>
    chanceChart(width, HEIGHT, { counts: point.chance!.c.map(number), shares: point.chance!.p });
