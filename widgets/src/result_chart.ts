/** A release on show: values in ink, both bars, a read-out, the numbers as a table. Never a true count. */

import { histogram, marksOf, type Histogram } from "./charts/histogram";
import { clampOf, ends, interval } from "./charts/intervals";
import { cellList, NO_MORE, valuedList, type Cells, type Valued } from "./charts/ranked";
import type { Component } from "./component";
import { copy, h, newId, s, save, setAttribute, setOptions, setText, show, watchWidth } from "./dom";
import { approximate, compare, exactly, subtract, ZERO } from "./exact";
import { phrase } from "./measures";
import { timed } from "./perf";
import { readField, type ReadPoints } from "./read_field";
import type { Bar, Result } from "./protocol";
import type { Desk } from "./store";
import { dataTable } from "./table";
import { allTip, kindOf, often, oneTip, priceText, shown, spread } from "./words";

const TABLE = "Numbers of this release";
/** From so many bins on, a stretch of them can be looked at alone. */
const LONG = 60;
const MOST_NAMED = 5_000;

export interface ResultOptions {
    /** The heading's level on the page. */
    level: "h2" | "h3";
    tools: boolean;
}

/** Where a result comes from: a desk, or one fixed release in a report. */
export interface ResultSource {
    result: Result | null;
    /** Nothing is known yet, not even that nothing was released. */
    unknown?: boolean;
    /** What the plan promises, for the empty state. */
    promise?: string | null;
    wantsFocus?: boolean;
    focused?: () => void;
    say?: (sentence: string) => void;
    read?: ReadPoints;
}

export function resultOf(desk: Desk): ResultSource {
    return {
        get result() {
            return desk.result;
        },
        get unknown() {
            return desk.state === null;
        },
        get promise() {
            const { sheet, point, beta } = desk;
            if (sheet === null || point === null) return null;
            const promised = phrase(sheet, point, beta);
            return promised === "" ? null : `Planned: ${promised}.`;
        },
        get wantsFocus() {
            return desk.wantsFocus;
        },
        focused: () => (desk.wantsFocus = false),
        say: (sentence) => desk.say(sentence),
        read: (args) => desk.kernel.ask("read", args),
    };
}

export function resultChart(source: ResultSource, options: ResultOptions = { level: "h3", tools: true }): Component {
    const titleId = newId();
    const title = h(options.level, { id: titleId, tabindex: -1, class: "dp-result-title" });
    const guarantee = h("p", { class: "dp-guarantee" });
    const finding = h("p", { class: "dp-hint dp-finding" });
    const key = h("div", { class: "dp-key" });
    const beta = h("select", {
        "aria-label": "How often the bars hold",
        onchange: (event: Event) => timed(event, () => setBeta(beta.value)),
    });
    const tableId = newId();
    const tableButton = h(
        "button",
        {
            type: "button",
            class: "dp-button",
            "aria-expanded": "false",
            "aria-controls": tableId,
            onclick: () => {
                tableOpen = !tableOpen;
                drawTable();
            },
        },
        "Table",
    );
    const saving = saveMenu(() => source.result);
    const tools = h("div", { class: "dp-tools" }, beta, ...(options.tools ? [tableButton, saving] : []));
    const zoom = zoomFields((from, to) => setView(from, to));
    const plot = h("div", { class: "dp-plot" });
    const cover = h("div", { class: "dp-cover" });
    const outline = h("div", { class: "dp-probe-box", hidden: true });
    const brush = h("div", { class: "dp-brush", hidden: true });
    const readout = h("div", { class: "dp-tip", hidden: true });
    const walker = h("input", {
        type: "range",
        class: "dp-walker",
        min: 0,
        max: 0,
        step: 1,
        "aria-label": "Walk the bins",
    });
    const stage = h("div", { class: "dp-stage" }, plot, outline, brush, cover, walker, readout);
    const table = h("div", { id: tableId, hidden: true });
    const listed = h("div", { class: "dp-listed", hidden: true });
    const filled = h("div", {}, h("div", { class: "dp-result-tools" }, key, tools), zoom.element, stage, listed, table);
    const large = h("div", { class: "dp-large" });
    const reading = readField(source.read);
    const empty = h("div", { class: "dp-empty" }, h("strong", {}, "Nothing released yet."), h("span", {}));
    const element = h(
        "section",
        { class: "dp-result", "aria-labelledby": titleId },
        title,
        guarantee,
        finding,
        empty,
        large,
        reading.element,
        filled,
    );

    let width = 640;
    let drawnResult: Result | null = null;
    let drawnAt = "";
    let chosenBeta = "";
    let marks: ReturnType<typeof marksOf> = [];
    let chart: Histogram | null = null;
    let view = { from: 0, to: 0 };
    let bin: number | null = null;
    let tableOpen = false;
    const stops = [stage, listed].map((part) =>
        watchWidth(part, (now) => {
            width = now;
            draw();
        }),
    );

    function setBeta(value: string): void {
        chosenBeta = value;
        draw();
        drawTable();
    }

    function setView(from: number, to: number): void {
        view = { from, to };
        setBin(null);
        draw();
    }

    function setBin(next: number | null): void {
        bin = next === null ? null : Math.max(view.from, Math.min(view.to, next));
        if (bin !== null) walker.value = String(bin);
        drawReadout();
    }

    // --- reading one bin ---------------------------------------------------------------------------------------------

    function drawReadout(): void {
        const result = source.result;
        const on = bin !== null && result !== null && chart !== null;
        show(readout, on);
        show(outline, on);
        if (bin === null || result === null || chart === null) return;
        const words = readOf(result, chosenBeta, bin);
        readout.replaceChildren(
            h("strong", {}, words.value),
            h("span", {}, words.bars),
            h("span", { class: "dp-quiet" }, "Chosen because it stood out? Read the second."),
        );
        setAttribute(walker, "aria-valuetext", `${words.value}; ${words.bars}`);
        const box = chart.probe(bin);
        Object.assign(outline.style, {
            left: `${box.left}px`,
            top: `${box.top}px`,
            width: `${box.right - box.left}px`,
            height: `${box.bottom - box.top}px`,
        });
        const wide = Math.min(336, width - 16);
        const middle = (box.left + box.right) / 2;
        const lying = box.right - box.left > width / 2;
        const left = lying
            ? width - wide - 8
            : middle + 14 + wide < width
              ? middle + 14
              : Math.max(4, middle - 14 - wide);
        const top = lying
            ? box.bottom + 78 < chart.element.height.baseVal.value
                ? box.bottom + 4
                : Math.max(0, box.top - 74)
            : box.top + 6;
        Object.assign(readout.style, { left: `${left}px`, top: `${top}px`, width: `${wide}px` });
    }

    let dragged: number | null = null;
    const place = (event: PointerEvent): { x: number; y: number } => {
        const rect = cover.getBoundingClientRect();
        return { x: event.clientX - rect.left, y: event.clientY - rect.top };
    };
    cover.addEventListener("pointermove", (event) => {
        const at = place(event);
        const over = chart?.binAt(at.x, at.y) ?? null;
        if (dragged !== null && chart !== null && over !== null)
            drawBrush(Math.min(dragged, over), Math.max(dragged, over));
        setBin(over ?? (document.activeElement === walker ? bin : null));
    });
    cover.addEventListener("pointerdown", (event) => {
        const at = place(event);
        dragged = marks.length > LONG ? (chart?.binAt(at.x, at.y) ?? null) : null;
    });
    cover.addEventListener("pointerup", (event) => {
        const at = place(event);
        const end = chart?.binAt(at.x, at.y) ?? null;
        show(brush, false);
        if (dragged !== null && end !== null && Math.abs(end - dragged) >= 4) {
            const [from, to] = [Math.min(dragged, end), Math.max(dragged, end)];
            timed(event, () => setView(from, to));
        }
        dragged = null;
    });
    cover.addEventListener("pointerleave", () => {
        dragged = null;
        show(brush, false);
        if (document.activeElement !== walker) setBin(null);
    });

    function drawBrush(from: number, to: number): void {
        const [a, b] = [chart!.probe(from), chart!.probe(to)];
        show(brush, true);
        Object.assign(brush.style, {
            left: `${a.left}px`,
            width: `${b.right - a.left}px`,
            top: "0",
            height: `${a.bottom}px`,
        });
    }

    walker.addEventListener("focus", () => setBin(bin ?? view.from));
    walker.addEventListener("blur", () => setBin(null));
    walker.addEventListener("input", () => setBin(Number(walker.value)));
    walker.addEventListener("keydown", (event) => {
        const step = event.shiftKey ? 10 : 1;
        const at = bin ?? view.from;
        const to: Record<string, number | undefined> = {
            ArrowRight: at + step,
            ArrowDown: at + step,
            ArrowLeft: at - step,
            ArrowUp: at - step,
            PageUp: at - 10,
            PageDown: at + 10,
            Home: view.from,
            End: view.to,
        };
        const next = to[event.key];
        if (event.key === "Escape") walker.blur();
        if (next === undefined || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        setBin(next);
    });

    // --- drawing -----------------------------------------------------------------------------------------------------

    function draw(): void {
        const result = source.result;
        show(empty, result === null && source.unknown !== true);
        const blank = result?.kind === "histogram" && result.values.length === 0;
        const list = result?.kind === "ranked";
        show(filled, list || (result?.kind === "histogram" && !blank));
        show(finding, list || (result?.kind === "histogram" && !blank));
        show(stage, !list);
        show(listed, list);
        show(large, result?.kind === "large" || result?.drawn === false || blank);
        reading.draw(result, result !== null && result.betas.includes(chosenBeta) ? chosenBeta : (result?.beta ?? ""));
        show(title, result !== null);
        show(guarantee, result !== null);
        if (result === null) {
            setText(empty.lastElementChild!, source.promise ?? "");
            return;
        }
        const fresh = result !== drawnResult;
        if (fresh) {
            if (!result.betas.includes(chosenBeta)) chosenBeta = result.beta;
            view = { from: 0, to: result.values.length - 1 };
            [drawnResult, bin, drawnAt] = [result, null, ""];
            drawHead(result);
        }
        const at = `${chosenBeta} ${width} ${view.from} ${view.to}`;
        if (list) {
            if (fresh || at !== drawnAt) drawList(result);
            if (fresh) show(zoom.element, false);
            drawnAt = at;
        } else if (blank) {
            if (fresh) large.replaceChildren(h("p", {}, findingOf(result, chosenBeta)));
        } else if (!result.drawn) {
            if (fresh) large.replaceChildren(...unknown(result));
        } else if (result.kind === "large") {
            if (fresh) large.replaceChildren(...describe(result, chosenBeta));
        } else if (at !== drawnAt) {
            if (!drawnAt.startsWith(`${chosenBeta} `)) marks = marksOf(result, chosenBeta);
            drawnAt = at;
            const words = findingOf(result, chosenBeta);
            chart = histogram(result, chosenBeta, marks, { width, ...view, title: `${result.title}. ${words}` });
            plot.replaceChildren(chart.element);
            [walker.min, walker.max] = [String(view.from), String(view.to)];
            setText(finding, words);
            show(beta, true);
            key.replaceChildren(...keyOf(result, chosenBeta, chart));
            setOptions(
                beta,
                result.betas.map((value) => ({ value, label: often(value) })),
                chosenBeta,
            );
            zoom.draw(result, view.from, view.to);
            drawReadout();
        }
        if (fresh) drawTable();
        if (source.wantsFocus) {
            source.focused?.();
            title.focus();
        }
    }

    function drawHead(result: Result): void {
        const teaching = result.teaching !== null;
        setAttribute(element, "data-teaching", teaching ? "true" : null);
        setText(title, result.title);
        guarantee.replaceChildren(
            `${result.guarantee}. ${result.odds === "" ? "" : `The odds of any answer move by at most ×${result.odds}. `}`,
            h(
                "span",
                { class: "dp-together" },
                teaching ? "" : `${result.used ? "Entry" : "Release"} ${result.number}, `,
                teaching
                    ? h("span", { class: "dp-chip dp-violet" }, `not a release · seed ${result.teaching!.seed}`)
                    : h("span", { class: "dp-chip dp-paid" }, paidText(result)),
            ),
        );
    }

    function drawTable(): void {
        const result = source.result;
        show(table, tableOpen && result !== null);
        tableButton.setAttribute("aria-expanded", String(tableOpen));
        table.replaceChildren(...(tableOpen && result !== null ? [numbersTable(result, chosenBeta)] : []));
    }

    /** A list: its cells, or where it has values these with their bars. */
    function drawList(result: Result): void {
        const words = result.list!.sentence;
        setText(finding, words);
        key.replaceChildren(...(result.values.length === 0 ? [] : [listKey(result, chosenBeta)]));
        show(beta, result.values.length > 0);
        setOptions(
            beta,
            result.betas.map((value) => ({ value, label: often(value) })),
            chosenBeta,
        );
        listed.replaceChildren(
            result.values.length === 0
                ? cellList(cellsOf(result), `${result.title}. ${words}`)
                : valuedList(width, cellsOf(result), valuesOf(result, chosenBeta), `${result.title}. ${words}`),
        );
    }

    return { element, draw, close: () => stops.forEach((stop) => stop()) };
}

// --- words and tables of a result ------------------------------------------------------------------------------------

/** What was paid for it; an answer of a sub-session used symbols that were paid before. Its title says the rest. */
const paidText = (result: Result): string =>
    result.used ? `used ${result.used.split(" and ")[0]}` : `paid ${priceText(result.price)}`;

const NOTHING_SHOWN = "No bin is shown. A bin that is not shown reads 0: every one may be empty, or small.";

/** How many bins the answer is about: a sparse one is about all of its domain, shown or not. */
const among = (result: Result): string =>
    result.sparse === true ? (result.size ?? "").replace(/ bins?$/, "") : shown(String(result.values.length));

function bounds(result: Result, beta: string, i: number): { one: string; all: string | null } {
    const bars = result.bars.get(beta)!;
    const clamp = clampOf(result);
    const between = (bar: string): string => {
        const { low, high } = ends(interval(exactly(result.values[i]!), exactly(bar), clamp));
        return `${shown(low)} to ${shown(high)}`;
    };
    return { one: between(bars.one.value), all: bars.all === null ? null : between(bars.all.value) };
}

/** A teaching draw is never called a release. */
const made = (result: Result): string => (result.teaching === null ? "released" : "drawn");

export function readOf(result: Result, beta: string, i: number): { value: string; bars: string } {
    const { one, all } = bounds(result, beta, i);
    const name = result.labels[i]!;
    const which = result.scale === "integers" || result.scale === "intervals" ? `${shown(name)} ${result.axis}` : name;
    return {
        value: `${which}: ${shown(result.values[i]!)} ${made(result)}`,
        bars: `this bin alone: ${one}` + (all === null ? "" : ` · among all ${among(result)}: ${all}`),
    };
}

/** The finding in one sentence, from released values and their bars alone. */
export function findingOf(result: Result, beta: string): string {
    const values = result.values.map(exactly);
    if (values.length === 0) return result.sparse === true ? NOTHING_SHOWN : "No bins.";
    let top = 0;
    values.forEach((value, i) => {
        if (compare(value, values[top]!) > 0) top = i;
    });
    const bar = result.bars.get(beta)!.all;
    const most = `Most ${result.nouns} at ${shown(result.labels[top]!)}: ${shown(result.values[top]!)} ${made(result)}. `;
    const unseen = result.sparse === true ? " A bin that is not shown reads 0." : "";
    if (bar === null) return `${most}Read one bin at a time: no bar holds for all at once.${unseen}`;
    const all = exactly(bar.value);
    const apart = values.filter((value) => compare(subtract(value, all), ZERO) > 0).length;
    const count = shown(String(values.length));
    const told =
        apart === values.length
            ? `all ${count} ${result.sparse === true ? "shown " : ""}bins are`
            : `${shown(String(apart))} of ${count} ${result.sparse === true ? "shown " : ""}bins ${apart === 1 ? "is" : "are"}`;
    return `${most}Looking at all bins at once, ${told} told apart from 0.${unseen}`;
}

function cellsOf({ list, labels }: Result): Cells {
    return { items: labels, places: Number(list!.places), ended: list!.ended, ordered: list!.ordered };
}

function valuesOf(result: Result, beta: string): Valued[] {
    const { one, all } = result.bars.get(beta)!;
    const clamp = clampOf(result);
    return result.values.map((value) => {
        const between = (bar: Bar): [number, number] => {
            const { low, high } = ends(interval(exactly(value), exactly(bar.value), clamp));
            return [approximate(exactly(low)), approximate(exactly(high))];
        };
        return {
            value: approximate(exactly(value)),
            text: shown(value),
            one: between(one),
            all: all === null ? null : between(all),
        };
    });
}

function listKey(result: Result, beta: string): HTMLElement {
    const { one, all } = result.bars.get(beta)!;
    return h(
        "div",
        {},
        h("div", {}, h("strong", {}, "thick"), ` ${spread(one)}, holds for any one item, ${often(beta)} (${kindOf(one)})`),
        all && h("div", {}, h("strong", {}, "thin with caps"), ` ${spread(all)}, holds for all at once (${kindOf(all)})`),
        h("div", {}, "Values of items that were chosen by them lie too high on average."),
    );
}

/** A list with its ranks, or a set; with values and intervals where it has them, and ⊥ in its place. */
function listTable(result: Result, beta: string): HTMLElement {
    const { ordered, ended } = result.list!;
    const valued = result.values.length > 0;
    const many = valued && result.bars.get(beta)!.all !== null;
    const columns = [
        ...(ordered ? [{ name: "rank" }] : []),
        { name: result.axis },
        ...(valued ? [{ name: made(result), figures: true }, { name: "this item alone", figures: true }] : []),
        ...(many ? [{ name: "all at once", figures: true }] : []),
    ];
    const rows = result.labels.length + (ended ? 1 : 0);
    return dataTable(TABLE, columns, rows, (i) => {
        const rank = ordered ? [String(i + 1)] : [];
        if (i === result.labels.length) return [...rank, `${NO_MORE} (no more)`, ...columns.slice(rank.length + 1).map(() => "")];
        if (!valued) return [...rank, result.labels[i]!];
        const { one, all } = bounds(result, beta, i);
        return [...rank, result.labels[i]!, shown(result.values[i]!), one, ...(all === null ? [] : [all])];
    });
}

export function numbersTable(result: Result, beta: string): HTMLElement {
    if (result.kind === "ranked") return listTable(result, beta);
    const many = result.bars.get(beta)!.all !== null;
    const columns = [
        { name: result.axis },
        { name: "released", figures: true },
        { name: "this bin alone", figures: true },
        ...(many ? [{ name: `among all ${among(result)}`, figures: true }] : []),
    ];
    return dataTable(TABLE, columns, result.values.length, (i) => {
        const { one, all } = bounds(result, beta, i);
        return [shown(result.labels[i]!), shown(result.values[i]!), one, ...(all === null ? [] : [all])];
    });
}

/** A release too long to draw here: how wrong it is, how long it is, and the call that has it all. */
function describe(result: Result, beta: string): Node[] {
    const { one, all } = result.bars.get(beta)!;
    const count = shown(result.bins ?? "0");
    return [
        h(
            "p",
            {},
            `${count} bins, ${spread(one)} for any one bin` +
                (all === null ? "" : `, ${spread(all)} for all ${result.sparse === true ? among(result) : count} at once`) +
                `, ${often(beta)}: ${result.lookup === true ? "answered one by one" : "too many to draw here"}.`,
        ),
        result.lookup === true
            ? h("p", {}, "Any of them, for nothing more: ", h("code", {}, `${result.python}[label]`))
            : h("p", {}, "The whole of it, for nothing more: ", h("code", {}, `${result.python}.to_frame()`)),
    ];
}

/** A release of a kind that this page has no view for: it is paid and stored, and Python has all of it. */
function unknown({ kind, python, csv }: Result): Node[] {
    return [
        h("p", {}, `This page has no view for an answer of kind ${shown(kind)}. It is paid for and stored.`),
        python === "" ? null : h("p", {}, "The whole of it, for nothing more: ", h("code", {}, `${python}.to_frame()`)),
        csv === ""
            ? null
            : h("p", {}, h("button", { type: "button", class: "dp-button", onclick: () => save("release.csv", "text/csv", csv) }, "Save its table")),
    ].filter((node) => node !== null);
}

function keyOf(result: Result, beta: string, chart: Histogram): Node[] {
    const { one, all } = result.bars.get(beta)!;
    const count = among(result);
    const how = (bar: Bar): string => (bar.kind === "exact" ? "" : `, ${kindOf(bar)}`);
    if (chart.tooShort) {
        return [
            h(
                "p",
                {},
                `${spread(one)} for any one bin${how(one)}` +
                    (all === null ? "" : `, ${spread(all)} for all ${count} at once${how(all)}`) +
                    `, ${often(beta)}: smaller than the marks.`,
            ),
        ];
    }
    const [first, second] = chart.columns ? ["middle", "pale"] : ["thick", "thin with caps"];
    return [
        chart.columns ? columnGlyph() : glyph(),
        h(
            "div",
            {},
            ...(chart.columns
                ? [h("div", {}, h("strong", {}, "dark"), " least to greatest released value in a column")]
                : []),
            h(
                "div",
                { title: oneTip(beta, one) },
                h("strong", {}, first),
                ` ${spread(one)}, holds for any one bin, ${often(beta)}${how(one)}`,
            ),
            all === null
                ? h("div", {}, "no bar holds for all bins at once")
                : h(
                      "div",
                      { title: allTip(beta, all, count) },
                      h("strong", {}, second),
                      ` ${spread(all)}, holds for all ${count} bins at once, ${often(beta)}${how(all)}`,
                  ),
        ),
    ];
}

const glyph = (): SVGSVGElement =>
    s(
        "svg",
        { class: "dp-glyph", width: 14, height: 34, "aria-hidden": "true" },
        s("path", { d: "M7 2V32M3 2H11M3 32H11", class: "dp-all" }),
        s("path", { d: "M7 9V25", class: "dp-one", "stroke-width": 3.4 }),
        s("circle", { cx: 7, cy: 17, r: 4, class: "dp-value" }),
    );

const columnGlyph = (): SVGSVGElement =>
    s(
        "svg",
        { class: "dp-glyph", width: 14, height: 50, "aria-hidden": "true" },
        s("path", { d: "M7 2V48", class: "dp-column dp-column-all", "stroke-width": 8 }),
        s("path", { d: "M7 12V38", class: "dp-column dp-column-one", "stroke-width": 8 }),
        s("path", { d: "M7 20V30", class: "dp-column dp-column-value", "stroke-width": 8 }),
    );

// --- tools -----------------------------------------------------------------------------------------------------------

function saveMenu(current: () => Result | null): HTMLElement {
    const id = newId();
    const stem = (result: Result): string => (result.number === null ? "teaching-draw" : `release-${result.number}`);
    const entry = (name: string, act: (result: Result) => void): HTMLElement =>
        h(
            "button",
            {
                type: "button",
                class: "dp-button",
                onclick: () => {
                    const result = current();
                    if (result !== null) act(result);
                    fold(false);
                },
            },
            name,
        );
    const menu = h(
        "div",
        { id, class: "dp-menu", hidden: true },
        entry("CSV", (result) => save(`${stem(result)}.csv`, "text/csv", result.csv)),
        entry("JSON", (result) => save(`${stem(result)}.json`, "application/json", `${toJson(result)}\n`)),
        entry("Copy as Python", (result) => void copy(result.python)),
    );
    const button = h(
        "button",
        {
            type: "button",
            class: "dp-button",
            "aria-expanded": "false",
            "aria-controls": id,
            onclick: () => fold(menu.hidden),
        },
        "Save",
    );
    const fold = (open: boolean): void => {
        show(menu, open);
        button.setAttribute("aria-expanded", String(open));
    };
    return h(
        "div",
        {
            class: "dp-save",
            onfocusout: (event: FocusEvent) => {
                if (!(event.currentTarget as Element).contains(event.relatedTarget as Node | null)) fold(false);
            },
            onkeydown: (event: KeyboardEvent) => {
                if (event.key !== "Escape") return;
                fold(false);
                button.focus();
            },
        },
        button,
        menu,
    );
}

/** The release as this page holds it: what `show` sent, without the CSV, which is a file of its own. */
function toJson(result: Result): string {
    return JSON.stringify({ ...result, bars: Object.fromEntries(result.bars), csv: undefined, drawn: undefined }, null, 1);
}

/** From and To for a long release: the same as dragging over the chart. */
function zoomFields(setView: (from: number, to: number) => void): {
    element: HTMLElement;
    draw(result: Result, from: number, to: number): void;
} {
    const [fromId, toId, listId] = [newId(), newId(), newId()];
    const list = h("datalist", { id: listId });
    const box = (id: string): HTMLInputElement =>
        h("input", {
            id,
            type: "text",
            class: "dp-exact-text",
            autocomplete: "off",
            list: listId,
            onchange: (event: Event) => timed(event, () => commit()),
        });
    const [from, to] = [box(fromId), box(toId)];
    const whole = h(
        "button",
        { type: "button", class: "dp-button", onclick: (event: Event) => timed(event, () => setView(0, size - 1)) },
        "All bins",
    );
    const fault = h("span", { class: "dp-fault", role: "alert", hidden: true });
    const element = h(
        "div",
        { class: "dp-zoom", hidden: true },
        h("label", { for: fromId }, "From"),
        from,
        h("label", { for: toId }, "to"),
        to,
        whole,
        fault,
        list,
    );
    let size = 0;
    let names: readonly string[] = [];

    function commit(): void {
        const [a, b] = [names.indexOf(from.value.trim()), names.indexOf(to.value.trim())];
        const wrong = a < 0 ? from.value : b < 0 ? to.value : null;
        setText(fault, wrong !== null ? `No bin is called ${wrong}.` : a > b ? "From comes after To." : "");
        show(fault, wrong !== null || a > b);
        if (wrong === null && a <= b) setView(a, b);
    }

    return {
        element,
        draw(result, first, last) {
            if (names !== result.labels) {
                [size, names] = [result.labels.length, result.labels];
                list.replaceChildren(...names.slice(0, MOST_NAMED).map((value) => h("option", { value })));
            }
            show(element, size > LONG);
            from.value = names[first] ?? "";
            to.value = names[last] ?? "";
            whole.disabled = first === 0 && last === size - 1;
            show(fault, false);
        },
    };
}
