/** Brush a range: what each estimator answers, which noisy counts the fit used, and how errors grow with length. */

import { textWidth } from "../charts/frame";
import { icicleChart } from "../charts/icicle";
import { linesChart } from "../charts/lines";
import { overviewChart, type Brushed } from "../charts/overview";
import { WHISKER_ROW, whiskersChart } from "../charts/whiskers";
import type { Component } from "../dom/component";
import { endBoxes, h, newId, setAttribute, setText, show, watchWidth } from "../dom/dom";
import { approximate, exactly } from "../numbers/exact";
import { figure } from "../dom/figure";
import { timed } from "../dom/perf";
import { powers } from "../wording/powers";
import type { Bar } from "../protocol/protocol";
import type { RangeStore } from "../stores/range_store";
import type { RangeReading, RangeSheet } from "../protocol/sheets";
import { dataTable } from "../dom/table";
import { kindOf, labelText, MINUS, often, shown, spread, sure } from "../wording/words";

const [TALL, LOW] = [220, 170];
const CURVE = 250;
/** From these widths on the answers stand beside their bars, and the two lower panels beside each other. */
const BESIDE = 620;
const TWO = 700;
const NEAR = 10;
/** Room for the names at the ends of the curves. */
const NAMES = 84;
const TEN = 10;

export function rangeExplorer(store: RangeStore): Component {
    const [titleId, fromId, toId, scopeId, faultId] = [newId(), newId(), newId(), newId(), newId()];
    const title = h("h3", { id: titleId, class: "dp-screen-title" });
    const badge = h("span", { class: "dp-chip dp-violet", hidden: true });
    const paid = h("span", { class: "dp-chip dp-paid", hidden: true });
    const sentence = h("p", { class: "dp-quiet" });
    const overview = figure("");
    overview.plot.classList.add("dp-brushable");
    const boxes = endBoxes([fromId, toId], faultId, commit, restore);
    const sliders = ["First bin", "Last bin"].map((name, i) =>
        h("input", {
            type: "range",
            min: 0,
            max: 0,
            step: 1,
            "aria-label": name,
            oninput: (event: Event) => timed(event, () => pull(i, Number(sliders[i]!.value))),
            onkeydown: (event: KeyboardEvent) => step(event, i),
        }),
    );
    const note = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
    const remark = h("p", { class: "dp-hint", role: "status", hidden: true });
    const length = h("span", { class: "dp-quiet" });
    const near = h("button", { type: "button", class: "dp-button", onclick: (event: Event) => timed(event, () => lookNear()) }, "Look closer");
    const whole = h("button", { type: "button", class: "dp-button", onclick: (event: Event) => timed(event, () => store.look(0, store.last)) }, "Whole domain");
    const answers = figure("What the range holds");
    const names = h("div", { class: "dp-answer-names" });
    const told = h("div", { class: "dp-answer-values" });
    const bars = h("div", { class: "dp-answer-bars" });
    answers.plot.classList.add("dp-answers");
    answers.plot.append(names, bars, told);
    const used = figure("Which noisy counts the fitted answer used");
    const curve = figure("Error against length");
    const scope = h("select", { id: scopeId, onchange: (event: Event) => timed(event, () => redraw()) }, h("option", { value: "one" }, "this range alone"), h("option", { value: "all" }, "with all in view"));
    curve.plot.before(h("div", { class: "dp-field dp-method" }, h("label", { for: scopeId }, "What holds"), scope));
    const caption = h("p", { class: "dp-hint" });
    const numbers = h("div", { class: "dp-numbers-box" });
    const table = h("details", { class: "dp-how", ontoggle: () => drawTable() }, h("summary", {}, "Table"), numbers);
    const ends = h("div", { class: "dp-brush-ends" }, ...sliders.map((slider) => h("div", { class: "dp-track" }, slider)));
    const panels = h("div", { class: "dp-panels" }, used.element, curve.element);
    const element = h(
        "section",
        { class: "dp-explorer dp-range", "aria-labelledby": titleId },
        h("div", { class: "dp-pane-head" }, title, badge, paid, h("span", { class: "dp-chip dp-free" }, "reading is free")),
        sentence,
        overview.element,
        ends,
        h(
            "div",
            { class: "dp-ends" },
            h("div", { class: "dp-field" }, h("label", { for: fromId }, "From"), boxes[0]!),
            h("div", { class: "dp-field" }, h("label", { for: toId }, "to"), boxes[1]!),
            length,
            near,
            whole,
        ),
        note,
        remark,
        answers.element,
        panels,
        caption,
        table,
    );
    let width = 828;
    let drawn: { sheet: RangeSheet; width: number } | null = null;
    let read: { sheet: RangeSheet; reading: RangeReading; width: number; scope: string } | null = null;
    let chart: Brushed | null = null;
    let hold: number | null = null;
    const stop = watchWidth(overview.element, (now) => {
        width = now;
        draw();
    });

    const frame = overview.plot;
    frame.addEventListener("pointerdown", (event) => {
        if (chart === null || event.button !== 0) return;
        const bin = chart.binAt(event.clientX);
        const reach = Math.abs(chart.binAt(event.clientX + NEAR) - bin);
        hold = Math.abs(bin - store.low) <= reach ? store.high : Math.abs(bin - store.high) <= reach ? store.low : bin;
        frame.setPointerCapture?.(event.pointerId);
        timed(event, () => store.brush(hold!, bin));
        event.preventDefault();
    });
    frame.addEventListener("pointermove", (event) => {
        if (chart === null || hold === null) return;
        timed(event, () => store.brush(hold!, chart!.binAt(event.clientX)));
    });
    for (const end of ["pointerup", "pointercancel"] as const) frame.addEventListener(end, () => (hold = null));

    /** Move one end of the brush to a bin; it does not pass the other end. */
    function pull(end: number, bin: number): void {
        if (end === 0) store.brush(Math.min(bin, store.high), store.high);
        else store.brush(store.low, Math.max(bin, store.low));
    }

    function step(event: KeyboardEvent, end: number): void {
        const sheet = store.sheet;
        if (sheet === null || event.ctrlKey || event.metaKey || event.altKey) return;
        const at = end === 0 ? store.low : store.high + 1;
        const [before, after] = store.beside(at);
        const by = store.gone ? 0 : event.shiftKey ? TEN : 1;
        const page = Number(sheet.view.width);
        const less = store.gone ? before : at - by;
        const more = store.gone ? after : at + by;
        const to: Record<string, number | undefined> = {
            ArrowLeft: less,
            ArrowDown: less,
            ArrowRight: more,
            ArrowUp: more,
            PageDown: store.gone ? before : at - page,
            PageUp: store.gone ? after : at + page,
            Home: 0,
            End: store.last + 1,
        };
        const edge = to[event.key];
        if (edge === undefined) return;
        event.preventDefault();
        timed(event, () => pull(end, end === 0 ? edge : edge - 1));
    }

    /** Read the range whose ends were typed, where they are not those that are shown. */
    function commit(event: Event): void {
        const [low, high] = boxes.map(({ value }) => value.trim()) as [string, string];
        if (store.settled && low === store.reading?.labels[0] && high === store.reading.labels[1]) return store.forgive();
        timed(event, () => store.name(low, high));
    }

    function restore(): void {
        boxes.forEach((box, i) => (box.value = store.reading?.labels[i] ?? ""));
        store.forgive();
    }

    /** The brushed range, and half as much on both sides of it. */
    function lookNear(): void {
        const more = Math.max(TEN, Math.round((store.high - store.low + 1) / 2));
        store.look(Math.max(0, store.low - more), Math.min(store.last, store.high + more));
    }

    function redraw(): void {
        read = null;
        draw();
    }

    function draw(): void {
        const { sheet, reading } = store;
        if (sheet === null || reading === null) return;
        setAttribute(element, "data-stale", store.settled ? null : "true");
        setText(note, store.fault === null ? "" : `⚠ ${store.fault}`);
        show(note, store.fault !== null);
        setText(remark, store.remark ?? "");
        show(remark, store.remark !== null);
        if (drawn?.sheet !== sheet || drawn.width !== width) {
            drawn = { sheet, width };
            drawHead(sheet);
            drawOverview(sheet);
        }
        drawBrush(sheet, reading);
        if (!store.settled || (read?.sheet === sheet && read.reading === reading && read.width === width && read.scope === scope.value)) return;
        read = { sheet, reading, width, scope: scope.value };
        drawAnswers(sheet, reading);
        const two = width >= TWO;
        panels.style.setProperty("--dp-count", two ? "2" : "1");
        const each = two ? Math.floor((width - 24) / 2) : width;
        drawUsed(sheet, reading, each);
        drawCurve(sheet, reading, each);
        drawTable();
        store.say(finding(sheet, reading));
    }

    function drawHead(sheet: RangeSheet): void {
        setText(title, sheet.title);
        setText(badge, sheet.badge ?? "");
        show(badge, sheet.badge !== null);
        setText(paid, sheet.paid ?? "");
        show(paid, sheet.paid !== null);
        element.classList.toggle("dp-plan", sheet.paid === null);
        element.toggleAttribute("data-teaching", sheet.paid === null);
        setText(sentence, sheet.sentence);
        const { view } = sheet;
        const count = view.values.length;
        setText(overview.name, view.width === "1" ? `${capital(sheet.nouns)} in each bin` : `${capital(sheet.nouns)} in stretches of ${shown(view.width)} bins`);
        setText(
            overview.note,
            `each mark is one range, fitted; dark: its value, middle: ${spread(view.one)} alone, pale: ${spread(view.all)} with all ${shown(String(count))} in view${view.truth === null ? "" : "; hatched: true counts, public or made up"}`,
        );
        setText(
            caption,
            `Thick: this range alone, ${often(sheet.beta)}. Thin with caps: this range and all ${shown(String(count))} stretches in view at once. ${crossover(sheet)}Hay, Rastogi, Miklau, Suciu 2010, Theorems 3 and 4.`,
        );
    }

    function drawOverview(sheet: RangeSheet): void {
        const { view } = sheet;
        chart = overviewChart(width, width < BESIDE ? LOW : TALL, {
            title: `${overview.name.textContent}: ${view.values.length} marks from ${view.ticks[0]?.label ?? ""} to ${view.ticks.at(-1)?.label ?? ""}`,
            edges: view.edges,
            values: view.values,
            truth: view.truth,
            one: near0(view.one),
            all: near0(view.all),
            ticks: view.ticks,
            axis: sheet.axis,
        });
        overview.plot.replaceChildren(chart.element);
        ends.style.paddingLeft = `${chart.left - 9}px`;
        ends.style.paddingRight = `${width - chart.right - 9}px`;
    }

    function drawBrush(sheet: RangeSheet, reading: RangeReading): void {
        const { low, high } = store;
        chart?.brush(low, high + 1);
        const labels = store.settled ? reading.labels : [String(low), String(high)];
        [low, high].forEach((bin, i) => {
            const slider = sliders[i]!;
            setAttribute(slider, "min", String(Math.min(Number(sheet.view.first), low)));
            setAttribute(slider, "max", String(Math.max(Number(sheet.view.last), high)));
            if (slider.value !== String(bin)) slider.value = String(bin);
            slider.style.setProperty("--dp-share", "0");
            setAttribute(slider, "aria-valuetext", store.settled ? labels[i]! : `bin ${shown(String(bin + 1))} of ${shown(sheet.bins)}`);
            const box = boxes[i]!;
            const typing = boxes.includes(document.activeElement as HTMLInputElement);
            if (store.settled && !typing && !store.mistyped && box.value !== labels[i]) box.value = labels[i]!;
            setAttribute(box, "aria-invalid", store.mistyped ? "true" : null);
            box.style.setProperty("--dp-figures", String(Math.max(...labels.map(({ length: figures }) => figures))));
        });
        const count = high - low + 1;
        setText(length, `${shown(String(count))} ${count === 1 ? "bin" : "bins"}${store.settled ? "" : " · asking the kernel…"}`);
    }

    function drawAnswers(sheet: RangeSheet, reading: RangeReading): void {
        const beside = width >= BESIDE;
        answers.plot.classList.toggle("dp-beside", beside);
        setText(answers.note, reading.truth === null ? "" : `violet line: the true ${shown(reading.truth)}, public or made up`);
        const rows = sheet.estimators.map(({ name, label }, i) => ({ label, colour: i + 1, row: reading.rows.get(name)! }));
        names.replaceChildren(
            ...rows.map(({ label, colour, row }) =>
                h("div", { class: `dp-answer dp-series-${colour}` }, h("strong", { class: "dp-answer-name" }, label), h("span", { class: "dp-hint" }, `${shown(row.count)} noisy ${row.count === "1" ? "count" : "counts"}`)),
            ),
        );
        told.replaceChildren(
            ...rows.map(({ row }) =>
                h("div", { class: "dp-answer" }, h("strong", {}, `${sure(row.value, row.one.value)} ${spread(row.one)}`), h("span", { class: "dp-hint" }, `${spread(row.all)} with all in view`)),
            ),
        );
        const room = beside ? width - 140 - 180 - 32 : width;
        bars.replaceChildren(
            whiskersChart(Math.max(200, room), {
                title: finding(sheet, reading),
                rows: rows.map(({ label, colour, row }) => ({
                    name: label,
                    value: approximate(exactly(row.value)),
                    one: near0(row.one),
                    all: near0(row.all),
                    kinds: [`dp-${row.one.kind}`, `dp-${row.all.kind}`] as const,
                    colour,
                })),
                truth: reading.truth === null ? null : approximate(exactly(reading.truth)),
                axis: sheet.nouns,
            }),
        );
        element.style.setProperty("--dp-answer", `${WHISKER_ROW}px`);
    }

    function drawUsed(sheet: RangeSheet, reading: RangeReading, each: number): void {
        const sizes = sheet.tree.sizes.map(Number);
        const long = reading.labels.some((words) => textWidth(words) > each / 4);
        const negative = reading.nodes.filter((node) => node[4]! < 0).reduce((sum, node) => sum + node[3]!, 0);
        const count = reading.nodes.reduce((sum, node) => sum + node[3]!, 0);
        setText(used.note, `weight of each tree node: darker counts more, hatched is subtracted; ${shown(String(count))} noisy ${count === 1 ? "count" : "counts"}, ${shown(String(negative))} of them subtracted`);
        used.plot.replaceChildren(
            icicleChart(each, {
                title: `The fitted answer uses ${shown(String(count))} noisy ${count === 1 ? "count" : "counts"} of the tree and subtracts ${shown(String(negative))} of them`,
                names: sizes.map((size) => (size === 1 ? "1 bin" : `${shown(String(size))} bins`)),
                sizes,
                nodes: reading.nodes,
                from: Number(reading.low),
                to: Number(reading.high) + 1,
                bins: Number(sheet.bins),
                ticks: [
                    { at: Number(reading.low), label: long ? "from" : reading.labels.map(numbered)[0]! },
                    { at: Number(reading.high) + 1, label: long ? "to" : reading.labels.map(numbered)[1]! },
                ],
                text: weightText,
            }),
        );
    }

    function drawCurve(sheet: RangeSheet, reading: RangeReading, each: number): void {
        const which = scope.value === "all" ? "all" : "one";
        const { lengths, errors, places } = sheet.curve;
        setText(curve.note, `half-width, ${often(sheet.beta)}, at a typical one of ${places} places; ○ this range`);
        const size = Number(reading.high) - Number(reading.low) + 1;
        const values = sheet.estimators.flatMap(({ name }) => errors.get(name)![which]);
        const dots = sheet.estimators.map(({ name }) => Math.max(1, near0(reading.rows.get(name)![which])));
        const [low, high] = [Math.max(1, Math.min(...values, ...dots)), Math.max(...values, ...dots)];
        curve.plot.replaceChildren(
            linesChart(each, CURVE, {
                title: `A range of ${shown(String(size))} bins: ${sheet.estimators.map(({ label }, i) => `${label} ±${shown(String(dots[i]))}`).join(", ")}`,
                x: { low: 1, high: Math.max(2, lengths.at(-1)!), log: true, name: "range length, bins (log)" },
                y: { low: low * 0.6, high: Math.max(high * 1.4, low * 20), log: true, name: "" },
                series: sheet.estimators.map(({ name, label }, i) => ({ name: label, xs: lengths, ys: errors.get(name)![which], kind: `dp-medium dp-${which === "all" ? "bound" : "exact"}`, colour: i + 1 })),
                probe: { at: size, dots },
                margin: NAMES,
            }),
        );
    }

    function drawTable(): void {
        const { sheet, reading } = store;
        if (sheet === null || reading === null || !table.open) return;
        const columns = ["estimator", "value, exactly", "alone", "how known", "with all in view", "noisy counts", "what it is"];
        numbers.replaceChildren(
            dataTable(
                "Answers for this range",
                columns.map((name, i) => ({ name, figures: i === 1 || i === 2 || i === 4 || i === 5 })),
                sheet.estimators.length,
                (i) => {
                    const { name, label, about } = sheet.estimators[i]!;
                    const row = reading.rows.get(name)!;
                    return [label, shown(row.value), spread(row.one), `${kindOf(row.one)}: ${row.one.rule}`, spread(row.all), shown(row.count), about];
                },
            ),
        );
    }

    return { element, draw, close: stop };
}

const near0 = (bar: Bar): number => approximate(exactly(bar.value));

function weightText(weight: number): string {
    const size = Math.abs(weight);
    return `${weight < 0 ? MINUS : "+"}${size >= 0.005 ? size.toFixed(2) : powers(size)}`;
}

const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** From which length on the tree is better than adding bins, where the sheet has both. */
function crossover({ curve, estimators }: RangeSheet): string {
    const [fitted, bins] = [estimators[0], estimators.at(-1)];
    if (fitted === undefined || bins === undefined || fitted === bins) return "";
    const [tree, flat] = [curve.errors.get(fitted.name)!.one, curve.errors.get(bins.name)!.one];
    const at = curve.lengths.findIndex((_, i) => tree.slice(i).every((error, k) => error <= flat[i + k]!));
    if (at <= 0) return "";
    return `Up to about ${shown(String(curve.lengths[at]))} bins, “${bins.label}” errs less; beyond, the ${fitted.label}. `;
}

/** Bins that are ordered are numbers or times, and these have no number of five digits. */
const numbered = (label: string): string => labelText({ scale: "integers" }, label);

/** Describe the range in a sentence: the title of its chart, and what is read out after a move. */
function finding(sheet: RangeSheet, reading: RangeReading): string {
    const first = sheet.estimators[0]!;
    const row = reading.rows.get(first.name)!;
    return `From ${numbered(reading.labels.join(" to "))}: ${sure(row.value, row.one.value)} ${sheet.nouns} by the ${first.label}, ${spread(row.one)} alone and ${spread(row.all)} with all in view.`;
}
