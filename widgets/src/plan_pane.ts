/** The plan, in pencil: what it would cost and how wrong it would be. It sees no data and is free. */

import { chanceChart } from "./charts/chance";
import { curveChart, type CurvePoint } from "./charts/curve";
import { dotsChart } from "./charts/dots";
import type { Component } from "./component";
import { h, newId, setAttribute, setOptions, setText, show, watchWidth } from "./dom";
import { approximate, equal, exactly } from "./exact";
import { barOf, from, isList, measures, nameOf, phrase, said, signOf, tipOf, type Which } from "./measures";
import { timed } from "./perf";
import type { Bar, Point, Sheet } from "./protocol";
import type { Desk } from "./store";
import { kindOf, leaves, oddsTip, often, PAYS_TIP, priceText, same, shown, spread } from "./words";

const CHARTS = ["Error against ε", "20 equally likely errors", "Chance of a value above 0"] as const;
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

export function planPane(desk: Desk, options: PlanOptions = DEFAULTS, within: Component | null = null): Component {
    const titleId = newId();
    const chip = h("span", { class: "dp-chip dp-free" }, options.chip);
    const asking = h("span", { class: "dp-quiet", hidden: true }, "asking the kernel…");
    const one = errorStat(desk, 0);
    const all = errorStat(desk, 1);
    const cost = stat("Would cost");
    const space = stat("Space");
    const odds = stat("Odds can move");
    space.element.classList.add("dp-stat-space");
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
    const known = h("ul", {});
    const how = h(
        "details",
        { class: "dp-how dp-hint", hidden: true },
        h("summary", {}, "How these errors are known"),
        known,
    );
    const charts = h("div", { class: "dp-charts" }, h("div", { class: "dp-which-chart" }, chooser), ...figures);
    const element = h(
        "section",
        { class: "dp-plan", "aria-labelledby": titleId },
        h("div", { class: "dp-pane-head" }, h("h3", { id: titleId }, options.title), asking, chip),
        within?.element,
        h(
            "div",
            { class: "dp-stats" },
            one.element,
            all.element,
            cost.element,
            ...(options.brief ? [] : [space.element, odds.element]),
        ),
        options.brief ? null : charts,
        options.brief ? null : how,
    );
    how.addEventListener("toggle", () => drawHow(desk.point));
    let width = 560;
    const stop = watchWidth(charts, (now) => {
        width = now;
        draw();
    });

    function drawStats(point: Point | null): void {
        const { sheet, state } = desk;
        one.draw(point);
        all.draw(point);
        const budget = state?.budget ?? null;
        const [epsilon, ...delta] = point === null ? ["—"] : priceText(point.price).replace(/^ε /, "").split(", ");
        cost.value.replaceChildren(epsilon!, ...delta.map((part) => h("small", {}, `, ${part}`)));
        const asked = point !== null && !equal(exactly(point.price.asked), exactly(point.price.epsilon));
        setText(
            cost.note,
            point === null || sheet === null
                ? ""
                : [
                      budget === null ? `per ${sheet.question.noun}` : leaves(budget, point.price, isList(sheet), true),
                      asked ? `asked ${point.price.asked}, pays ${point.price.epsilon}` : "",
                  ]
                      .filter((part) => part !== "")
                      .join(" · "),
        );
        cost.note.title = asked ? PAYS_TIP : "";
        const rows = point?.rows ?? "";
        setText(space.name, rows === "" ? "Space" : "Reads");
        space.value.replaceChildren(
            point === null ? "—" : shown(rows || point.space.bits),
            h("small", {}, point === null ? "" : rows === "" ? " bits" : " rows"),
        );
        setText(space.note, point?.space.text ?? "");
        setText(odds.value, point === null || point.odds === "" ? "×—" : `×${point.odds}`);
        setText(odds.note, sheet === null ? "" : point?.odds === "" ? "no bound: δ is paid" : `that a given ${sheet.question.noun} is in`);
        show(odds.element, sheet === null || !isList(sheet) || point?.odds !== "");
        odds.element.title = sheet === null ? "" : oddsTip(sheet.question.noun);
    }

    /** The rules behind the two errors, what an empty bin errs, and the published bounds beside them. */
    function drawHow(point: Point | null): void {
        show(how, point !== null);
        const { sheet } = desk;
        if (point === null || sheet === null || !how.open) return;
        const { edge } = point.errors.get(desk.beta)!;
        const line = (name: string, value: string, rule: string): HTMLElement =>
            h("li", {}, `${name} ${value}: ${rule}.`);
        const bounds = (point.more ?? []).filter((item) => item.beta === null || same(item.beta, desk.beta));
        known.replaceChildren(
            ...measures(sheet).flatMap((which) => {
                const bar = barOf(point, desk.beta, which);
                if (bar === null) return which === "all" ? [h("li", {}, NO_BAR)] : [];
                const name = which === "all" && !isList(sheet) ? "All at once" : nameOf(sheet, which);
                return [line(name, `${said(which, bar)} ${from(sheet, which)}`.trim(), bar.rule)];
            }),
            ...(edge === null ? [] : [line("An empty bin", spread(edge), edge.rule)]),
            ...bounds.map((item) =>
                line(item.label, `${item.kind === "bound" ? "≤ " : "±"}${shown(item.value)}`, item.rule),
            ),
            ...(point.bias === null
                ? []
                : [h("li", {}, `An empty bin is shown ${shown(point.bias)} too high on average.`)]),
        );
    }

    function drawCharts(point: Point | null): void {
        const single = width < ONE_CHART;
        const drawable = [true, point?.dots != null && barOf(point, desk.beta, "one") !== null, point?.chance != null];
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
                    ? curve(desk, each)
                    : point === null
                      ? ""
                      : i === 1
                        ? dots(desk, point, each)
                        : chance(point, each),
            );
        });
        charts.style.setProperty("--dp-count", String(count));
    }

    function draw(): void {
        const { point } = desk;
        within?.draw();
        show(asking, (desk.asking || desk.sheet === null) && desk.kernel.health === "busy");
        setAttribute(
            element,
            "data-stale",
            desk.fault !== null || (!desk.settled && desk.sheet !== null) ? "true" : null,
        );
        drawStats(point);
        if (options.brief) return;
        drawHow(point);
        if (desk.sheet === null) {
            for (const figure of figures) figure.lastElementChild!.replaceChildren();
            show(chooser.parentElement!, false);
        } else drawCharts(point);
    }

    return { element, draw, close: stop };
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
function errorStat(desk: Desk, place: 0 | 1): { element: HTMLElement; draw(point: Point | null): void } {
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
            }
        },
        oninput: () => {
            draft = true;
            fit();
        },
    });
    const beta = h("select", {
        "aria-label": `How often, ${place === 0 ? "any one bin" : "all bins"}`,
        onchange: () => desk.setBeta(beta.value),
    });
    const kind = h("span", {});
    const origin = h("div", { class: "dp-note dp-origin" });
    const fault = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
    const element = h(
        "div",
        { class: `dp-stat dp-stat-${place === 0 ? "one" : "all"}` },
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
    const which = (): Which => (desk.sheet === null ? (["one", "all"] as const)[place] : measures(desk.sheet)[place]);

    function commit(): void {
        draft = false;
        if (input.value !== written) desk.seek(which(), input.value.replaceAll(",", ""));
    }

    function fit(): void {
        input.style.width = `${Math.max(1, input.value.length) + 0.3}ch`;
    }

    function draw(point: Point | null): void {
        const { sheet } = desk;
        const measure = which();
        const list = sheet !== null && isList(sheet);
        const bar: Bar | null = point === null ? null : barOf(point, desk.beta, measure);
        show(element, place === 0 || !list || bar !== null);
        setText(name, nameOf(sheet, measure));
        setText(sign, bar === null && point !== null ? "" : signOf(measure, bar));
        if (list) setAttribute(beta, "aria-label", `How often, ${nameOf(sheet, measure).toLowerCase()}`);
        written = bar === null ? "—" : shown(bar.value);
        const mine = desk.seekFault?.which === measure ? desk.seekFault : null;
        if (document.activeElement !== input || !(draft || mine !== null)) input.value = written;
        fit();
        input.disabled = bar === null || desk.locked;
        if (sheet !== null)
            setOptions(
                beta,
                sheet.betas.map((value) => ({ value, label: often(value) })),
                desk.beta,
            );
        show(beta, sheet !== null);
        setText(origin, sheet === null || bar === null ? "" : from(sheet, measure));
        setText(kind, bar === null ? (point === null ? "" : " · no bound") : ` · ${kindOf(bar)}`);
        kind.title = bar?.rule ?? (point === null ? "" : NO_BAR);
        element.title = bar === null || sheet === null ? "" : tipOf(sheet, measure, desk.beta, bar);
        setText(fault, mine?.text ?? "");
        show(fault, mine !== null);
        setAttribute(input, "aria-invalid", mine === null ? null : "true");
    }

    return { element, draw };
}

const NO_BAR = "All at once: nothing public says how many bins are occupied, so no bar holds for all of them.";

const number = (text: string): number => approximate(exactly(text));

function curvePoint(sheet: Sheet, point: Point, beta: string): CurvePoint {
    const [first, second] = measures(sheet).map((which) => barOf(point, beta, which));
    return { epsilon: number(point.epsilon), first: height(first), second: height(second) };
}

const height = (bar: Bar | null | undefined): number => (bar == null ? NaN : number(bar.value));

function curve(desk: Desk, width: number): SVGSVGElement {
    const { point, beta, last } = desk;
    const sheet = desk.sheet!;
    const fans = sheet.fans.epsilon;
    const paid = last === null ? undefined : fans.find((item) => same(item.epsilon, last.epsilon));
    const [first, second] = measures(sheet);
    const at = point ?? fans[0]!;
    const [one, all] = [barOf(at, beta, first), barOf(at, beta, second)];
    return curveChart(width, HEIGHT, {
        title: point === null ? "Error against epsilon" : `At ε ${point.epsilon} ${finding(sheet, point, beta)}`,
        points: fans.map((item) => curvePoint(sheet, item, beta)),
        kinds: { first: one?.kind ?? "exact", second: all?.kind ?? "exact" },
        now: point === null ? null : curvePoint(sheet, point, beta),
        words: { first: one === null ? "" : said(first, one), second: all === null ? "" : said(second, all) },
        names: isList(sheet)
            ? { first: [from(sheet, first) || "one value"], second: [from(sheet, second) || "all values"] }
            : {
                  first: ["any one bin", "one bin"],
                  second: [`all ${shown(sheet.question.bins)} at once`, `all ${shown(sheet.question.bins)}`],
              },
        alike: isList(sheet),
        released: paid === undefined ? null : { ...curvePoint(sheet, paid, beta), number: last!.number },
    });
}

/** What the chart shows at the plan's own ε. */
function finding(sheet: Sheet, point: Point, beta: string): string {
    if (isList(sheet)) return phrase(sheet, point, beta);
    const { one, all } = point.errors.get(beta)!;
    const among = all === null ? "" : `, all ${shown(sheet.question.bins)} at once within ${said("all", all)}`;
    return `any one bin is within ${one === null ? "no bound" : said("one", one)}${among}`;
}

function dots(desk: Desk, point: Point, width: number): SVGSVGElement {
    const one = barOf(point, desk.beta, "one")!;
    return dotsChart(width, HEIGHT, {
        errors: point.dots!.map(number),
        within: number(one.value),
        words: { within: said("one", one), often: often(desk.beta) },
    });
}

const chance = (point: Point, width: number): SVGSVGElement =>
    chanceChart(width, HEIGHT, { counts: point.chance!.c.map(number), shares: point.chance!.p });
