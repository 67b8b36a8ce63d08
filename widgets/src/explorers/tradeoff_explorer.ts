/** What does space buy? Error, space and read cost of every sparse release of one budget, with one probe for all. */

import { axisSlider } from "./axis_slider";
import { niceCeiling } from "../charts/frame";
import { bitsText, curvesChart, frontierChart, SIGNS, valueAt, type Curve, type Reach } from "../charts/tradeoff";
import type { Component } from "../dom/component";
import { h, newId, s, setAttribute, setOptions, setText, show, watchWidth } from "../dom/dom";
import { standing, type Explorer } from "./explorer";
import { figure } from "../dom/figure";
import { timed } from "../dom/perf";
import type { Traded, TradeoffPoint, TradeoffSheet } from "../protocol/sparse_sheets";
import { dataTable } from "../dom/table";
import { often, shown } from "../wording/words";

type Way = "mean" | "one" | "all";

const [WIDE, TALL, LOW] = [640, 340, 270];
const CHOICES = ["threshold", "relation", "accounting"];
const SLIDERS = ["epsilon", "d", "load", "alpha", "split", "delta", "look_ups"];
/** Errors are told apart down to this share of the greatest one. */
const SHARE = 1e-4;

export function tradeoffExplorer(store: Explorer<TradeoffSheet>): Component {
    const [titleId, probeId] = [newId(), newId()];
    let way: Way = "mean";
    let probe = -1;
    const hidden = new Set<string>();
    const subject = h("p", { class: "dp-quiet" });
    const sliders = Object.fromEntries(SLIDERS.map((name) => [name, axisSlider(store, name, name !== "look_ups")]));
    const selects = CHOICES.map((name) => {
        const id = newId();
        const select = h("select", { id, onchange: (event: Event) => timed(event, () => store.set(name, select.value)) });
        const words = h("label", { for: id });
        return { name, select, words, element: h("div", { class: "dp-field" }, words, select) };
    });
    const note = h("p", { class: "dp-fault", role: "alert", hidden: true });
    const ways = h("fieldset", { class: "dp-measures" });
    const which = h("fieldset", { class: "dp-which" });
    const slider = h("input", {
        id: probeId,
        type: "range",
        min: 0,
        step: 1,
        oninput: (event: Event) => timed(event, () => look(store.point!.xs[Number(slider.value)]!)),
    });
    const value = h("output", { class: "dp-axis-value", for: probeId });
    const probing = h(
        "div",
        { class: "dp-axis-field" },
        h("div", { class: "dp-epsilon-head" }, h("label", { for: probeId, class: "dp-field-name" }, "True value x of an entry"), value),
        h("div", { class: "dp-track" }, slider),
    );
    const [left, right] = [figure("How far off is an answer?"), figure("How much space does that take?")];
    left.plot.classList.add("dp-probing");
    const pair = h("div", { class: "dp-pair" }, left.element, right.element);
    const finding = h("p", { class: "dp-finding dp-verdict" });
    const numbers = h("div", {});
    const key = h("div", { class: "dp-hint dp-reading" });
    const element = h(
        "section",
        { class: "dp-explorer dp-plan dp-tradeoff", "aria-labelledby": titleId },
        h("div", { class: "dp-pane-head" }, h("h3", { id: titleId, class: "dp-screen-title" }, "What does space buy?"), h("span", { class: "dp-chip dp-free" }, "free · sees no data")),
        subject,
        h("div", { class: "dp-axes dp-chosen" }, ...selects.map((one) => one.element)),
        h("div", { class: "dp-axes dp-seven" }, ...SLIDERS.map((name) => sliders[name]!.element)),
        note,
        h("div", { class: "dp-asked" }, ways, probing),
        which,
        pair,
        finding,
        numbers,
        key,
    );
    let width = 828;
    let seen: unknown[] = [];
    let dragging = false;
    const stop = watchWidth(pair, (now) => {
        width = now;
        draw();
    });

    const chartWidth = (): number => (width >= WIDE ? Math.floor(((width - 24) * 6) / 11) : width);
    const chartHeight = (): number => (width >= WIDE ? TALL : LOW);

    let reach: Reach = { low: 0.1, top: 1 };

    function look(x: number): void {
        probe = x;
        draw();
    }

    /** Where the pointer is, in the picture's own units. */
    function follow(event: PointerEvent): void {
        const chart = left.plot.querySelector("svg");
        if (chart === null || store.point === null) return;
        const box = chart.getBoundingClientRect();
        if (box.width === 0) return;
        const wide = chartWidth();
        timed(event, () => look(valueAt(wide, chartHeight(), reach, store.point!.xs, ((event.clientX - box.left) * wide) / box.width)));
    }
    left.plot.addEventListener("pointerdown", (event) => {
        dragging = event.button === 0;
        if (!dragging) return;
        try {
            left.plot.setPointerCapture(event.pointerId);
        } catch {
            // a pointer that is gone already cannot be held; the press counts all the same
        }
        follow(event);
    });
    left.plot.addEventListener("pointermove", (event) => {
        if (dragging) follow(event);
    });
    for (const end of ["pointerup", "pointercancel"]) left.plot.addEventListener(end, () => (dragging = false));

    /** A box for each mechanism of the sheet; where one is too large at some places, it comes and goes with them. */
    function drawWhich({ rows }: TradeoffPoint): void {
        const names = rows.map(({ name }) => name).join();
        if (which.dataset["names"] === names) return;
        which.dataset["names"] = names;
        which.replaceChildren(
            h("legend", {}, "Methods"),
            ...rows.map(({ name, label, series }) =>
                h(
                    "label",
                    {},
                    h("input", {
                        type: "checkbox",
                        value: name,
                        checked: !hidden.has(name),
                        onchange: (event: Event) =>
                            timed(event, () => {
                                if ((event.target as HTMLInputElement).checked) hidden.delete(name);
                                else hidden.add(name);
                                draw();
                            }),
                    }),
                    sign(series, false),
                    label,
                ),
            ),
        );
    }

    function drawWays(sheet: TradeoffSheet, point: TradeoffPoint): void {
        const usual = often(sheet.psi);
        const looks = Number(point.at.get("look_ups"));
        const names: [Way, string][] = [
            ["mean", "expected error"],
            ["one", `${usual}, one entry`],
            ["all", looks === 1 ? `${usual}, one look-up` : `${usual}, all ${shown(String(looks))} look-ups`],
        ];
        if (ways.childElementCount === 0) {
            const group = newId();
            ways.append(
                h("legend", {}, "Error shown"),
                ...names.map(([name]) =>
                    h(
                        "label",
                        {},
                        h("input", {
                            type: "radio",
                            name: group,
                            value: name,
                            onchange: (event: Event) =>
                                timed(event, () => {
                                    way = name;
                                    draw();
                                }),
                        }),
                        h("span"),
                    ),
                ),
            );
        }
        [...ways.querySelectorAll("label")].forEach((line, i) => {
            line.querySelector("input")!.checked = names[i]![0] === way;
            setText(line.querySelector("span")!, names[i]![1]);
        });
    }

    function draw(): void {
        const { point, sheet } = store;
        for (const one of Object.values(sliders)) one.draw();
        standing(element, store);
        setText(note, store.fault ?? "");
        show(note, store.fault !== null);
        if (point === null || sheet === null) return;
        for (const { name, select, words } of selects) {
            const axis = store.axis(name)!;
            setText(words, axis.label);
            setOptions(select, axis.grid.map((item, i) => ({ value: item, label: axis.values[i]! })), store.position.get(name)!);
        }
        const { xs } = point;
        if (probe < 0) probe = Number(sheet.start);
        const at = xs.reduce((best, x, i) => (Math.abs(x - probe) < Math.abs(xs[best]! - probe) ? i : best), 0);
        const signature = [point, sheet, at, way, width, [...hidden].join()];
        if (signature.every((part, i) => part === seen[i])) return;
        seen = signature;
        drawWays(sheet, point);
        drawWhich(point);
        setAttribute(slider, "max", String(xs.length - 1));
        if (slider.value !== String(at)) slider.value = String(at);
        setAttribute(slider, "aria-valuetext", shown(String(xs[at]!)));
        slider.style.setProperty("--dp-share", String(at / (xs.length - 1)));
        setText(value, shown(String(xs[at]!)));
        setText(subject, subjectOf(sheet, point));
        const rows = point.rows.filter(({ name }) => !hidden.has(name));
        const pure = point.at.get("threshold") === "pure";
        const best = frontier(rows, way, at, pure);
        const curves = rows.map((row) => curveOf(row, way, at, best));
        reach = reachOf(rows, way, point);
        const [wide, high] = [chartWidth(), chartHeight()];
        setAttribute(pair, "data-narrow", width >= WIDE ? null : "true");
        const what = whatOf(sheet, point, way);
        setText(left.note, `${what} of an answer (log), by the true value x of the entry`);
        setText(right.note, `the same error at x = ${shown(String(xs[at]!))}, against the space it takes: lower and further left is better`);
        const sentence = findingOf(point, rows, way, at, best, what, sheet.told);
        left.plot.replaceChildren(curvesChart(wide, high, { title: sentence, xs, probe: xs[at]!, reach, curves }));
        const other = width >= WIDE ? width - 24 - wide : width;
        const stands = curves.filter((curve) => curve.best).sort((a, b) => a.bits - b.bits);
        const title = `Best for their space at x = ${shown(String(xs[at]!))}: ${stands.map(({ name, bits }) => `${name} with ${bitsText(bits)} bits an entry`).join(", ") || "none"}`;
        right.plot.replaceChildren(frontierChart(other, high, { title, empty: pure ? "none without δ gets here" : "none gets here", reach, curves, best: stands, trail: trailOf(sheet, point, way, at, hidden) }));
        setText(finding, sentence);
        numbers.replaceChildren(tableOf(sheet, point, at, best));
        key.replaceChildren(...keyOf(sheet, point).map(([name, words]) => h("p", {}, h("strong", {}, `${name}. `), words)));
        store.say(sentence);
    }

    return { element, draw, close: stop };
}

function sign(series: string, best: boolean): SVGSVGElement {
    return s("svg", { class: "dp-sign", viewBox: "-7 -7 14 14", "aria-hidden": "true" }, s("path", { d: SIGNS[Number(series) - 1]!, class: `dp-spot dp-series-${series}`, "data-best": best }));
}

const errorAt = (row: Traded, way: Way, at: number): number | null => row.errors[way].values?.[at] ?? null;

/**
 * Who errs less than everybody that takes no more space; where a threshold is pure, among those that need no δ. One that
 * takes more space must err less by more than what both may be off by simulation.
 */
function frontier(rows: readonly Traded[], way: Way, at: number, pure: boolean): ReadonlySet<string> {
    const running = rows.filter((row) => errorAt(row, way, at) !== null && !(pure && row.needs_delta));
    const better = (one: Traded, other: Traded): boolean => {
        const [a, b] = [errorAt(one, way, at)!, errorAt(other, way, at)!];
        return one.bits === other.bits ? a < b : one.bits < other.bits && a <= b + noiseOf(one, way) + noiseOf(other, way);
    };
    return new Set(running.filter((row) => !running.some((other) => better(other, row))).map(({ name }) => name));
}

/** The error of an error because it was simulated. */
const noiseOf = ({ errors, off }: Traded, way: Way): number => (errors[way].how === "simulated" ? off : 0);

function curveOf(row: Traded, way: Way, at: number, best: ReadonlySet<string>): Curve {
    const { how, values } = row.errors[way];
    return { name: row.label, series: Number(row.series), values, how, at: errorAt(row, way, at), bits: row.bits, read: `reads ${row.read}`, best: best.has(row.name) };
}

/** Up to the greatest error below the caps, beyond which a curve may leave; down to what most values of each are above. */
function reachOf(rows: readonly Traded[], way: Way, { xs }: TradeoffPoint): Reach {
    const curves = rows.map(({ errors, cap }) => (errors[way].values ?? []).filter((_, i) => cap === null || xs[i]! <= Number(cap)).sort((a, b) => a - b));
    const top = niceCeiling(Math.max(1e-6, ...curves.flat()) * 1.05);
    const usual = curves.filter(({ length }) => length > 0).map((values) => values[values.length >> 1]!);
    const least = Math.min(top / 10, Math.max(top * SHARE, 0.7 * Math.min(...usual)));
    const power = 10 ** Math.floor(Math.log10(least));
    return { low: Number((([5, 2].find((digit) => digit * power <= least * (1 + 1e-9)) ?? 1) * power).toPrecision(6)), top };
}

/** The effect of s/k on error and space of the mechanism that is traced, where the sheet holds it for this place. */
function trailOf(sheet: TradeoffSheet, point: TradeoffPoint, way: Way, at: number, hidden: ReadonlySet<string>): { series: number; points: [number, number][] } | null {
    const fan = sheet.fans.get("load") ?? [];
    if (hidden.has(sheet.traced) || ![...point.at].every(([name, value]) => name === "load" || sheet.now.at.get(name) === value)) return null;
    const x = point.xs[at]!;
    const points = fan.flatMap((one): [number, number][] => {
        const row = one?.rows.find(({ name }) => name === sheet.traced);
        const error = row === undefined ? null : errorAt(row, way, one!.xs.indexOf(x));
        return row === undefined || error === null ? [] : [[row.bits, error]];
    });
    return { series: Number(point.rows.find(({ name }) => name === sheet.traced)?.series ?? 1), points };
}

function whatOf(sheet: TradeoffSheet, point: TradeoffPoint, way: Way): string {
    if (way === "mean") return "expected error";
    const usual = often(sheet.psi);
    return way === "one" ? `error that holds ${usual} for one entry` : `error that holds ${usual} for all ${shown(point.at.get("look_ups")!)} look-ups together`;
}

function subjectOf(sheet: TradeoffSheet, { at }: TradeoffPoint): string {
    const words = sheet.axes.find(({ name }) => name === "relation")!;
    const relation = words.values[words.grid.indexOf(at.get("relation")!)] ?? at.get("relation")!;
    return (
        `Counts by key are released once, with noise that hides ${hides(relation)}, at the same ε = ${at.get("epsilon")}: ${shown(axisText(sheet, "d", at))} keys are possible, and about ${shown(sheet.k)} of them occur. ` +
        "Each method gives another error for another amount of storage. Drag the blue line to any true value x: the picture of space follows."
    );
}

/** "one record, in or out", said of what noise hides. */
const hides = (relation: string): string => (relation.startsWith("one record") ? "whether any one record is there" : relation.startsWith("replace") ? "what any one record says" : `whether ${relation} is there`);

function axisText(sheet: TradeoffSheet, name: string, at: ReadonlyMap<string, string>): string {
    const axis = sheet.axes.find((one) => one.name === name)!;
    return axis.values[axis.grid.indexOf(at.get(name)!)] ?? at.get(name)!;
}

/** An error as it stands in a table or a sentence. */
function sizeText(row: Traded, way: Way, at: number): string {
    const error = errorAt(row, way, at);
    if (error === null) return "no bound";
    const { how } = row.errors[way];
    const text = error >= 1000 ? shown(String(Math.round(error))) : error.toFixed(way === "mean" ? (error < 0.095 && error > 0.0005 ? 3 : 1) : Number.isInteger(error) ? 0 : 1);
    return way === "mean" ? `${how === "bound" ? "≤ " : how === "simulated" ? "~" : ""}${text}` : `${how === "bound" ? "≤ " : "±"}${text}`;
}

function findingOf(point: TradeoffPoint, rows: readonly Traded[], way: Way, at: number, best: ReadonlySet<string>, what: string, told: readonly string[]): string {
    const x = shown(String(point.xs[at]!));
    const parts = rows.filter(({ name }) => told.includes(name)).map((row) => `${row.label} ${sizeText(row, way, at)}`);
    const stands = rows.filter(({ name }) => best.has(name)).map(({ label }) => label);
    const among = point.at.get("threshold") === "pure" ? " without δ" : "";
    return `An entry of ${x}, ${what}: ${parts.join("; ") || "neither is shown"}. Best for their space${among}: ${stands.join(", ") || "none"}.`;
}

function tableOf(sheet: TradeoffSheet, point: TradeoffPoint, at: number, best: ReadonlySet<string>): HTMLElement {
    const usual = often(sheet.psi);
    const x = shown(String(point.xs[at]!));
    const worst = (row: Traded): string => {
        const values = row.errors.mean.values ?? [];
        const reach = values.map((value, i) => (row.cap !== null && point.xs[i]! > Number(row.cap) ? -1 : value));
        return sizeText(row, "mean", reach.indexOf(Math.max(...reach)));
    };
    const columns = ["mechanism", "guarantee", "expected at x = 0", `expected at x = ${x}`, "expected, worst x", `${usual} at x = ${x}`, `${usual}, ${shown(point.at.get("look_ups")!)} look-ups at x = ${x}`, "bits per entry", "one read touches", "moved by"];
    return dataTable(
        "Errors, space and reads",
        columns.map((name, i) => ({ name, figures: i > 1 && i < 9 })),
        point.rows.length,
        (i) => {
            const row = point.rows[i]!;
            const stands = best.has(row.name);
            const name = h("span", { "data-best": stands }, sign(row.series, stands), ` ${row.label}${row.cap === null ? "" : `, up to ${shown(row.cap)}`}${stands ? " ★" : ""}`);
            return [name, row.needs_delta ? "needs δ" : "pure", sizeText(row, "mean", 0), sizeText(row, "mean", at), worst(row), sizeText(row, "one", at), sizeText(row, "all", at), bitsText(row.bits), row.read, row.moved_by];
        },
    );
}

/** How the pictures are read: a few words on each matter. */
function keyOf(sheet: TradeoffSheet, point: TradeoffPoint): [string, string][] {
    const { alone, before, stability } = point.thresholds;
    const traced = point.rows.find(({ name }) => name === sheet.traced)?.label ?? "";
    const simulated = point.rows.filter(({ errors }) => errors.mean.how === "simulated");
    const runs = simulated.length === 0 ? "" : ` Dotted and ~: simulated, ${shown(sheet.runs)} runs, expected errors ${simulated.map((row) => `of ${row.label} ±${row.off.toFixed(2)}`).join(", ")}.`;
    const log = point.rows.find(({ name }) => name === "log");
    const methods = [
        `A count is shown where it reaches a threshold with its noise: ${alone} for Threshold, ${before} before another method, ${stability} for Stability. Below theirs, Threshold and Stability answer 0.`,
        `ALP reads a count off flipped bits, each flipped with chance ${point.flip}.`,
        log === undefined ? "" : `ALP of logarithms tells counts up to ${shown(log.cap!)} apart, and is off by a factor.`,
        point.rows.some(({ name }) => name === "signed") ? "ALP for both signs is for sums that may be negative, too; x is their size." : "",
        sheet.n === null ? "" : `Compact stores an element for each of ${shown(sheet.n)} rows, a public number, and one more.`,
        `Max projection is bounded on average alone where keys meet more often than ${sheet.psi}.`,
    ];
    return [
        ["Lines", `Solid: exact, for ALP with a collision chance of k/s in every column. Dashed and ≤: a proved bound.${runs}`],
        ["Best", `★ and filled: no other takes less space and errs less${point.at.get("threshold") === "pure" ? ", without δ" : ""}${simulated.length === 0 ? "" : " (a lead within the error of a simulation does not count)"}; the line joins them, and none of these methods gets below it. The small dots are ${traced} for s/k from 3 to 100.`],
        ["Methods", methods.filter((words) => words !== "").join(" ")],
        ["Space", `Counts take ${sheet.value_bits} bits, keys as many as d needs. Reading is free: look up as many keys as you like.`],
        ["Sources", "Aumüller, Lebeda, Pagh 2022; Stability and Compact: Balcer, Vadhan 2018."],
    ];
}
