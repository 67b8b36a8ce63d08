/** Counts in bins: each value in ink with both its bars, a read-out, and for a long one a stretch of it alone. */

import { asker, type Pictured } from "../answers/asking";
import { quantileLine } from "../answers/quantile_line";
import { closedGlyph, columnGlyph, glyph } from "../charts/glyphs";
import { histogram, Marks, type Histogram, type View, type Which } from "../charts/histogram";
import { rowOf, type Texts } from "../protocol/columns";
import { ARROWS, askedText, clampOf, endCells, endColumns, ends as endsOf, interval, WITHIN } from "../wording/intervals";
import { alone, among, bounds, counted, findingOf, made, readOf, valueText, type Counted } from "../wording/counted";
import { exactly, format } from "../numbers/exact";
import { h, newId, s, setAttribute, setText, show } from "../dom/dom";
import { switchOf } from "../dom/looks";
import { timed } from "../dom/perf";
import type { Bar } from "../protocol/protocol";
import type { Drawing, OfPage, ResultView, Surroundings } from "../answers/result_view";
import { cell, headOf } from "../answers/saving";
import { dataTable, NUMBERS } from "../dom/table";
import { allTip, kindOf, labelText, often, oneTip, quoted, spread, sure } from "../wording/words";

/** From so many bins on, a stretch of them can be looked at alone. */
const LONG = 60;
/** So far apart are the ends of a stretch that is worth a closer look. */
const CLOSEST = 4;
/** Above the plot stands its unit. */
const PLOT_TOP = 24;
const MOST_NAMED = 5_000;
const MOST_NARROW = 8;
/** The ends of names of columns: for one bin, and for all at once. */
const ENDINGS = ["", "_all"] as const;

export const histogramView: ResultView<Counted> = {
    kind: "histogram",
    read: counted,
    create: (result, around) => (result.values.length === 0 ? blank(result) : drawn(result, around)),
    table: numbers,
    csv: written,
    narrow: ({ scale, values }) => scale === "categories" && values.length <= MOST_NARROW,
};

/** A picture in which every bin has marks that can be seen. */
export const EVERY = { tooShort: false, columns: false };

/** An answer that shows no bin is told in words. */
function blank(result: Counted): Drawing {
    const element = h("div", { class: "dp-large" });
    return {
        element,
        levels: false,
        plain: true,
        draw: (beta) => element.replaceChildren(h("p", {}, findingOf(result, beta))),
        finding: () => "",
        key: () => [],
    };
}

/** Sums of neighbouring bins, `size` of them each, that are drawn where there is no room for each bin. */
export interface Sums {
    size: number;
    told(beta: string, bin: number): ReturnType<typeof readOf>;
    /** The bars of a stretch of bins, and the bin that a place among them tells; null where each bin has marks. */
    draw(beta: string, view: View): Histogram | null;
}

/** A histogram with its marks, a reader's picks and, for a long one, a stretch of it alone. */
export function drawn(result: Counted, around: Surroundings, pictured?: Pictured, sums: Sums | null = null): Drawing {
    const long = result.values.length > LONG;
    const inner = result.asked === null ? (result.strips ?? []) : [];
    const closer = h("button", { type: "button", class: "dp-button", hidden: true, onclick: (event: Event) => timed(event, () => look()) }, "Look closer");
    const whole = h(
        "button",
        { type: "button", class: "dp-button", hidden: true, onclick: (event: Event) => timed(event, () => setView(0, result.values.length - 1)) },
        "All bins",
    );
    const asking = asker(result, around, () => drawPicked(), [closer, whole], pictured);
    const quantiles = quantileLine(result, around);
    const zoom = zoomFields((from, to) => setView(from, to));
    const plot = h("div", { class: "dp-plot" });
    const cover = h("div", { class: "dp-cover" });
    const outline = h("div", { class: "dp-probe-box", hidden: true });
    /** The bars that are brushed, or the two that are compared. */
    const brushes = [0, 1].map(() => h("div", { class: "dp-brush", hidden: true }));
    const readout = h("div", { class: "dp-tip", hidden: true });
    const walker = h("input", {
        type: "range",
        class: "dp-walker",
        min: 0,
        max: 0,
        step: 1,
        "aria-label": "Walk the bins",
    });
    const stage = h("div", { class: "dp-stage" }, plot, outline, ...brushes, cover, ...(quantiles?.marks ?? []), walker, readout);
    const looks = switchOf("How sure each value is, drawn as", ["Bars", "Strips"], (look) => {
        [striped, marks] = [look === "Strips", null];
        around.redraw();
    });
    const holds = switchOf("Both bars hold for", ["One bin", "All bins at once"], (which) => {
        [held, marks] = [which === "One bin" ? "one" : "all", null];
        around.redraw();
    });
    const element = h("div", {}, asking === null ? zoom.element : null, looks, holds, stage, quantiles?.element, asking?.element ?? elsewhere(result));
    cover.classList.toggle("dp-brushable", asking !== null);

    let width = 640;
    let level = "";
    let striped = false;
    let held: Which = "one";
    let marks: Marks | null = null;
    let words = "";
    let chart: Histogram | null = null;
    let view = { from: 0, to: result.values.length - 1 };
    /** Of so many bins each bar on show is the sum: 1 where each bin has marks of its own. */
    let unit = 1;
    const lastOf = (first: number): number => Math.min(result.values.length, first + unit) - 1;
    let bin: number | null = null;

    function setView(from: number, to: number): void {
        view = { from, to };
        setBin(null);
        around.redraw();
    }

    function setBin(next: number | null): void {
        bin = next === null ? null : Math.max(view.from, Math.min(view.to, next));
        if (bin !== null) walker.value = String(bin);
        drawReadout();
    }

    // --- reading one bin ---------------------------------------------------------------------------------------------

    function drawReadout(): void {
        const on = bin !== null && chart !== null;
        show(readout, on);
        show(outline, on);
        if (bin === null || chart === null) return;
        const told = unit === 1 ? readOf(result, level, bin) : sums!.told(level, bin);
        readout.replaceChildren(
            h("strong", {}, told.value),
            h("span", {}, told.bars),
            h("span", { class: "dp-quiet" }, "Chosen because it stood out? Read the second."),
        );
        setAttribute(walker, "aria-valuetext", `${told.value}; ${told.bars}`);
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

    // --- picking bars ------------------------------------------------------------------------------------------------

    function look(): void {
        const rows = asking?.picked?.rows;
        if (rows) setView(Math.min(...rows), Math.max(...rows));
    }

    /** Mark what is picked, as far as it is in view. */
    function drawPicked(): void {
        const picked = asking?.picked ?? null;
        const rows = picked?.rows ?? null;
        const spans = rows === null ? [] : picked!.what === "pair" ? [...new Set(rows)].map((row) => [row, row]) : [rows];
        brushes.forEach((brush, i) => {
            const [from, to] = [Math.max(view.from, spans[i]?.[0] ?? Infinity), Math.min(view.to, spans[i]?.[1] ?? -Infinity)];
            show(brush, chart !== null && from <= to);
            if (chart !== null && from <= to) lay(brush, from, to);
        });
        show(closer, long && rows !== null && picked!.what === "stretch" && rows[1] - rows[0] >= CLOSEST);
        show(whole, long && (view.from > 0 || view.to < result.values.length - 1));
    }

    function lay(brush: HTMLElement, from: number, to: number): void {
        const [a, b] = [chart!.probe(from), chart!.probe(to)];
        const [left, top] = [Math.min(a.left, b.left), chart!.sideways ? Math.min(a.top, b.top) : PLOT_TOP];
        Object.assign(brush.style, {
            left: `${left}px`,
            top: `${top}px`,
            width: `${Math.max(2, Math.max(a.right, b.right) - left)}px`,
            height: `${Math.max(a.bottom, b.bottom) - top}px`,
        });
    }

    let dragged: number | null = null;
    let moved = false;
    const place = (event: PointerEvent): { x: number; y: number } => {
        const rect = cover.getBoundingClientRect();
        return { x: event.clientX - rect.left, y: event.clientY - rect.top };
    };
    cover.addEventListener("pointermove", (event) => {
        const at = place(event);
        const over = chart?.binAt(at.x, at.y) ?? null;
        if (dragged !== null && chart !== null && over !== null && (moved || over !== dragged)) {
            moved = true;
            if (asking === null) show(brushes[0]!, true);
            if (asking === null) lay(brushes[0]!, Math.min(dragged, over), Math.max(dragged, over));
            else timed(event, () => brush(dragged!, over));
        }
        setBin(over ?? (document.activeElement === walker ? bin : null));
    });
    cover.addEventListener("pointerdown", (event) => {
        const at = place(event);
        moved = false;
        dragged = (long || asking !== null) && event.button === 0 ? (chart?.binAt(at.x, at.y) ?? null) : null;
        if (dragged !== null && asking !== null) cover.setPointerCapture?.(event.pointerId);
    });
    cover.addEventListener("pointerup", (event) => {
        const at = place(event);
        const end = chart?.binAt(at.x, at.y) ?? null;
        if (asking !== null) {
            if (dragged !== null && !moved && end === dragged) timed(event, () => tick(end));
        } else show(brushes[0]!, false);
        if (asking === null && dragged !== null && end !== null && Math.abs(end - dragged) >= CLOSEST) {
            const [from, to] = [Math.min(dragged, end), lastOf(Math.max(dragged, end))];
            timed(event, () => setView(from, to));
        }
        dragged = null;
    });
    cover.addEventListener("pointerleave", () => {
        dragged = null;
        if (asking === null) show(brushes[0]!, false);
        if (document.activeElement !== walker) setBin(null);
    });

    /** Pick a bin; or of a sum, all its bins. */
    function tick(first: number): void {
        if (unit === 1) asking?.tick(first);
        else brush(first, first);
    }

    function brush(one: number, other: number): void {
        asking?.brush(Math.min(one, other), lastOf(Math.max(one, other)));
    }

    /** Where a stretch that is picked with Shift began. */
    let anchor: number | null = null;

    walker.addEventListener("focus", () => setBin(bin ?? view.from));
    walker.addEventListener("blur", () => setBin(null));
    walker.addEventListener("input", () => setBin(Number(walker.value)));
    walker.addEventListener("keydown", (event) => {
        const step = (event.shiftKey && asking === null ? 10 : 1) * unit;
        const at = Math.floor((bin ?? view.from) / unit) * unit;
        const to: Record<string, number | undefined> = {
            ArrowRight: at + step,
            ArrowDown: at + step,
            ArrowLeft: at - step,
            ArrowUp: at - step,
            PageUp: at - 10 * unit,
            PageDown: at + 10 * unit,
            Home: view.from,
            End: view.to,
        };
        const next = to[event.key];
        if (event.key === "Escape" && asking?.picked) asking.clear();
        else if (event.key === "Escape") walker.blur();
        if (asking !== null && (event.key === "Enter" || event.key === " ")) {
            event.preventDefault();
            timed(event, () => tick(at));
        }
        if (next === undefined || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        setBin(next);
        anchor = event.shiftKey ? (anchor ?? at) : null;
        if (asking !== null && anchor !== null) timed(event, () => brush(anchor!, bin!));
    });

    // --- drawing -----------------------------------------------------------------------------------------------------

    function draw(beta: string, wide: number): void {
        if (marks === null || beta !== level) [marks, words] = [new Marks(result, beta, striped ? inner : [], held), findingOf(result, beta)];
        [level, width] = [beta, wide];
        const title = `${result.title}. ${words}`;
        const summed = sums?.draw(beta, { width, ...view, title }) ?? null;
        unit = summed === null ? 1 : sums!.size;
        chart = summed ?? histogram(result, beta, marks, { width, ...view, title });
        plot.replaceChildren(chart.element);
        show(looks, inner.length > 0 && !chart.columns && !chart.tooShort);
        show(holds, (result.asked?.ends.get(beta)?.all ?? null) !== null && !chart.tooShort);
        [walker.min, walker.max] = [String(view.from), String(view.to)];
        zoom.draw(result, view.from, view.to);
        drawReadout();
        drawPicked();
        asking?.draw(beta, wide);
        quantiles?.draw(beta, wide, chart, view);
    }

    return {
        element,
        levels: true,
        plain: false,
        draw,
        finding: (beta) => (beta === level ? words : findingOf(result, beta)),
        key: (beta) => keyOf(result, beta, chart!, striped, held),
        heed() {
            asking?.draw(level, width);
            quantiles?.heed();
        },
        close() {
            asking?.close();
            quantiles?.close();
        },
    };
}

/** Where nobody answers: the call that does it. */
function elsewhere({ adds_up, scale, python }: Counted): HTMLElement | null {
    if (adds_up !== true || python === "") return null;
    const call = scale === "integers" || scale === "intervals" || scale === "times" ? "range(low, high)" : "sum([...])";
    return h("p", { class: "dp-hint" }, "To add up bars or compare two of them, free, use the notebook: ", h("code", {}, `${python}.${call}`));
}

/** Every released value with both its intervals, as a table. */
export function numbers(result: Counted, beta: string): HTMLElement {
    if (result.asked !== null) return closedNumbers(result, beta, result.asked);
    const many = result.bars.get(beta)!.all !== null && !alone(result);
    const columns = [
        { name: result.axis },
        { name: made(result), figures: true },
        { name: "this bin alone", figures: true },
        ...(many ? [{ name: `among all ${among(result)}`, figures: true }] : []),
    ];
    return dataTable(NUMBERS, columns, result.values.length, (i) => {
        const { one, all } = bounds(result, beta, i);
        return [labelText(result, result.labels.at(i)), valueText(result, beta, i), one, ...(all !== null && many ? [all] : [])];
    });
}

/** The same where a profile closes ends: the intervals for what was asked, then those for what was counted. */
function closedNumbers(result: Counted, beta: string, asked: NonNullable<Counted["asked"]>): HTMLElement {
    const ends = asked.ends.get(beta)!;
    const which = (["one", "all"] as const).filter((name) => ends[name] !== null && result.bars.get(beta)![name] !== null);
    const named = { one: "this bin alone", all: `among all ${among(result)}` };
    const columns = [
        { name: result.axis },
        { name: made(result), figures: true },
        ...which.map((name) => ({ name: `asked for, ${named[name]}`, figures: true })),
        ...which.map((name) => ({ name: `counted, ${named[name]}`, figures: true })),
    ];
    const plain = { ...result, limits: null, asked: null };
    return dataTable(NUMBERS, columns, result.values.length, (i) => {
        const counted = bounds(plain, beta, i);
        return [labelText(result, result.labels.at(i)), valueText(result, beta, i), ...which.map((name) => askedText(ends[name]!, i, (end, side) => sure(end, result.bars.get(beta)![name]!.value, side))), ...which.map((name) => counted[name]!)];
    });
}

/** Every released value with both its intervals, in the columns of `to_csv`; with a profile, of `closed.to_csv`. */
function written(result: Counted, beta: string): OfPage {
    const { one, all } = result.bars.get(beta)!;
    const clamp = clampOf(result);
    const bars = [{ ending: "", bar: one }, ...(all === null ? [] : [{ ending: "_all", bar: all }])];
    const reaches = bars.map(({ bar }) => exactly(bar.value));
    const closes = result.asked?.ends.get(beta) ?? null;
    const closed = [closes?.one ?? null, closes?.all ?? null].flatMap((ends, i) => (ends === null ? [] : [{ ends, names: endColumns(null, ENDINGS[i]!) }]));
    const columns =
        closes === null
            ? bars.flatMap(({ ending }) => endColumns(result.limits, ending))
            : [...closed.flatMap(({ names }) => names), ...bars.flatMap(({ ending }) => [`low${ending}_counted`, `high${ending}_counted`])];
    return {
        says: "values and intervals",
        head: headOf(result, beta, ["bin", "value", ...columns]),
        rows: result.values.length,
        line(row) {
            const value = exactly(result.values.at(row));
            const asked = closed.flatMap(({ ends }) => [ends.low[row] ?? "", ends.high[row] ?? ""]);
            const counted = reaches.flatMap((reach) => {
                const { low, high } = endsOf(interval(value, reach, clamp));
                return endCells(closes === null ? result.limits : null, low, high);
            });
            return [cell(result.labels.at(row)), format(value), ...asked, ...counted].join(",");
        },
    };
}

/** The values that strips show: how far one bin is off, more and more rarely, and all bins at once around it. */
function stripsKey(result: Counted, beta: string): Node[] {
    const { one, all } = result.bars.get(beta)!;
    const inner = result.strips!.map((value, i) => ({ ...one, value, beta: INNER[i]! }));
    const told = [...inner.reverse(), { ...one, beta }].map((bar) => `${spread(bar)}, ${often(bar.beta)}`);
    return [
        stripGlyph(),
        h(
            "div",
            {},
            h("div", {}, h("strong", {}, "dark to pale"), ` holds for any one bin: ${told.join("; ")}`),
            all === null
                ? h("div", {}, "nothing holds for all bins at once")
                : h(
                      "div",
                      { title: allTip(beta, all, among(result)) },
                      h("strong", {}, all.kind === "bound" ? "dashed outline" : "outline"),
                      ` ${spread(all)}, holds for all ${among(result)} bins at once, ${often(beta)}`,
                  ),
            result.limits === null ? null : h("div", {}, `All of it for what is ${WITHIN}. ${ARROWS}`),
        ),
    ];
}

const stripGlyph = (): SVGSVGElement =>
    s(
        "svg",
        { class: "dp-glyph", width: 14, height: 34, "aria-hidden": "true" },
        ...[14, 9, 5].map((reach, k) =>
            s("rect", { x: 2, y: 17 - reach, width: 10, height: 2 * reach, class: `dp-strip dp-strip-${k}` }),
        ),
        s("path", { d: "M2 17h10", class: "dp-bar-tick" }),
    );

/** How often the inner strips fail. */
const INNER = ["0.2", "0.5"];

/** Both bars of what a profile closes, in words, and the sentences that a reader of them needs. */
function closedKey(result: Counted, beta: string, asked: NonNullable<Counted["asked"]>, { tooShort, columns }: Pick<Histogram, "tooShort" | "columns">, which: Which): Node[] {
    const ends = asked.ends.get(beta)![which] ?? asked.ends.get(beta)!.one!;
    const bar = result.bars.get(beta)![which] ?? result.bars.get(beta)!.one;
    const covered = alone(result) ? often(beta) : `for ${which === "one" ? "any one bin" : `all ${among(result)} bins at once`}, ${often(beta)}`;
    const how = bar.kind === "exact" ? "" : `, ${kindOf(bar)}`;
    const open = [...ends.low, ...ends.high].includes(null);
    const row = (name: string, says: string): HTMLElement => h("div", {}, h("strong", {}, name), ` ${says}`);
    return [
        ...(tooShort ? [] : [columns ? columnGlyph() : closedGlyph()]),
        h(
            "div",
            {},
            tooShort ? h("div", {}, "Both bars are smaller than the marks.") : null,
            columns ? row("dark", "least to greatest value in a column") : null,
            row(columns ? "middle" : "thin", `${spread(bar)}, holds what was counted within the limit, ${covered}${how}`),
            row(columns ? "pale" : "wide", `holds what you asked for, with what the limit left out, ${covered}`),
            open ? row("arrow", "the profile does not close this end") : null,
            ...asked.remarks.map((said) => h("div", { class: "dp-quiet" }, said)),
            asked.python === "" ? null : h("div", { class: "dp-quiet dp-breaks" }, "In the notebook, free: ", h("code", {}, `${asked.python}.to_frame()`)),
        ),
    ];
}

/** The meaning of the marks, in words. */
export function keyOf(result: Counted, beta: string, chart: Pick<Histogram, "tooShort" | "columns">, striped: boolean, which: Which = "one"): Node[] {
    if (result.asked !== null) return closedKey(result, beta, result.asked, chart, which);
    const { one, all } = result.bars.get(beta)!;
    const count = among(result);
    const limited = result.limits !== null;
    const how = (bar: Bar): string => (bar.kind === "exact" ? "" : `, ${kindOf(bar)}`) + (limited ? `, for what is ${WITHIN}` : "");
    if (alone(result)) return [h("p", {}, `${spread(one)}, ${often(beta)}${how(one)}`)];
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
    if (striped && !chart.columns) return stripsKey(result, beta);
    const [first, second] = chart.columns ? ["middle", "pale"] : ["thick", "thin with caps"];
    return [
        chart.columns ? columnGlyph() : glyph(),
        h(
            "div",
            {},
            ...(chart.columns
                ? [h("div", {}, h("strong", {}, "dark"), " least to greatest value in a column")]
                : []),
            h(
                "div",
                { title: oneTip(beta, one, made(result), limited) },
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
            limited && !chart.columns ? h("div", {}, ARROWS) : null,
        ),
    ];
}

/** From and To for a long release: the same as dragging over the chart. */
function zoomFields(setView: (from: number, to: number) => void): {
    element: HTMLElement;
    draw(result: Counted, from: number, to: number): void;
} {
    const [fromId, toId, listId, faultId] = [newId(), newId(), newId(), newId()];
    const list = h("datalist", { id: listId });
    const box = (id: string): HTMLInputElement =>
        h("input", {
            id,
            type: "text",
            class: "dp-exact-text",
            autocomplete: "off",
            list: listId,
            "aria-describedby": faultId,
            onchange: (event: Event) => timed(event, () => commit()),
        });
    const [from, to] = [box(fromId), box(toId)];
    const whole = h(
        "button",
        { type: "button", class: "dp-button", onclick: (event: Event) => timed(event, () => setView(0, size - 1)) },
        "All bins",
    );
    const fault = h("span", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
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
    let names: Texts | null = null;

    function commit(): void {
        if (names === null) return;
        const [a, b] = [rowOf(names, from.value.trim()), rowOf(names, to.value.trim())];
        const unknown = [...(a < 0 ? [from] : []), ...(b < 0 ? [to] : [])];
        const turned = unknown.length === 0 && a > b;
        const known = `Type the name of a bin, such as ${names.at(0)}.`;
        tell(
            unknown.length > 0 ? `No bin is called ${quoted(unknown[0]!.value)}. ${known}` : turned ? "From comes after to. Name the earlier bin first." : "",
            turned ? [from, to] : unknown,
        );
        if (fault.hidden) setView(a, b);
    }

    function tell(words: string, wrong: readonly HTMLInputElement[]): void {
        setText(fault, words);
        show(fault, words !== "");
        for (const end of [from, to]) setAttribute(end, "aria-invalid", wrong.includes(end) ? "true" : null);
    }

    return {
        element,
        draw(result, first, last) {
            if (names !== result.labels) {
                [size, names] = [result.labels.length, result.labels];
                const named = Array.from({ length: Math.min(size, MOST_NAMED) }, (_, row) => result.labels.at(row));
                list.replaceChildren(...named.map((value) => h("option", { value })));
            }
            show(element, size > LONG);
            from.value = result.labels.at(first);
            to.value = result.labels.at(last);
            whole.disabled = first === 0 && last === size - 1;
            tell("", []);
        },
    };
}
