/**
 * The line of a quantile on a histogram, and the curve of the shares up to each bin.
 *
 * A reader opens it, and all of a level comes at once: from the kernel, or in a report with the result. From then on
 * the line moves by itself, and stays when the kernel goes.
 */

import { label, line, px, svg } from "../charts/frame";
import type { Histogram } from "../charts/histogram";
import { h, newId, s, setAttribute, setText, show } from "../dom/dom";
import { timed } from "../dom/perf";
import { approximate, exactly } from "../numbers/exact";
import type { Reply } from "../protocol/protocol";
import { exact, list, Malformed, maybe, shape, share, text, whole, type Read } from "../protocol/readers";
import type { Counted } from "../wording/counted";
import { KNOWN, labelText, often } from "../wording/words";
import type { Surroundings } from "./result_view";

const readQuantiles = shape({
    beta: exact,
    nouns: text,
    /** The line stops at these shares: the bin of each, and the first and the last of its interval, alone and of all at once. */
    stops: list(shape({ q: exact, at: maybe(whole), low: whole, high: whole, low_all: whole, high_all: whole })),
    how: text,
    rule: text,
    remarks: list(text),
    curve: shape({ places: list(whole), shares: list(share), low: list(share), high: list(share) }),
    curve_rule: text,
    rests_on: text,
});
type Quantiles = Read<typeof readQuantiles>;
type Stop = Quantiles["stops"][number];

export interface QuantileLine {
    /** The part below the picture. */
    readonly element: HTMLElement;
    /** The marks over the picture. */
    readonly marks: readonly HTMLElement[];
    draw(beta: string, width: number, chart: Histogram, view: { from: number; to: number }): void;
    /** Whether somebody answers may have changed. */
    heed(): void;
    close(): void;
}

const TALL = 120;
/** Narrower, a pill would hide values; the number stands below, too. */
const PILLED = 420;
const MEDIAN = "0.5";
const NO_KERNEL = "Quantiles of this answer need the running notebook: no kernel answers.";
const UNREADABLE = "This page cannot read the kernel's answer; restart the kernel and reload the page.";

/** The quantiles of a result, or null where its bins have none. */
export function quantileLine(result: Counted, around: Surroundings): QuantileLine | null {
    const carried = held(result);
    if (result.content["lined"] !== true || (around.quantiles === undefined && carried === null)) return null;
    const [sliderId, hintId] = [newId(), newId()];
    const slider = h("input", {
        id: sliderId,
        type: "range",
        min: 0,
        max: 0,
        step: 1,
        "aria-describedby": hintId,
        oninput: (event: Event) => timed(event, () => move(Number(slider.value))),
        onkeydown: (event: KeyboardEvent) => keyed(event),
    });
    const shareText = h("span", { class: "dp-quantile-share", "aria-hidden": "true" });
    const median = h("button", { type: "button", class: "dp-button", onclick: (event: Event) => timed(event, () => move(middle())) }, "Median");
    const head = h("p", { class: "dp-ask-head" }, h("strong", {}), h("span", {}));
    const hint = h("p", { id: hintId, class: "dp-hint" });
    const curve = h("div", { class: "dp-quantile-curve" });
    const parts = h(
        "div",
        { hidden: true },
        head,
        h("div", { class: "dp-quantile-row" }, h("label", { for: sliderId }, `Share of the ${result.nouns} up to the line`), slider, shareText, median),
        curve,
        hint,
    );
    const told = h("p", { class: "dp-hint", role: "status" });
    const element = h(
        "details",
        { class: "dp-quantiles", ontoggle: () => opened() },
        h("summary", {}, "Median and quantiles"),
        told,
        parts,
    );
    const pill = h("span", { class: "dp-quantile-pill" });
    const bar = h("div", { class: "dp-quantile-line", hidden: true, "aria-hidden": "true" }, pill);
    const band = h("div", { class: "dp-quantile-band", hidden: true, "aria-hidden": "true" });

    const known = new Map<string, Quantiles>(carried === null ? [] : [[carried.beta, carried]]);
    let [beta, width, sent, at, asking] = [result.beta, 640, 0, -1, false];
    let fault = "";
    let chart: Histogram | null = null;
    let view = { from: 0, to: result.values.length - 1 };

    const now = (): Quantiles | null => (element.open ? (known.get(beta) ?? null) : null);
    const middle = (): number => (known.get(beta)?.stops ?? []).findIndex(({ q }) => q === MEDIAN);

    function opened(): void {
        fault = "";
        if (element.open) ask();
        drawAll();
    }

    /** A level is asked for once and kept: the line needs no kernel from then on. */
    function ask(): void {
        if (known.has(beta) || asking || fault !== "" || around.quantiles === undefined || around.gone?.() === true) return;
        const [mine, level] = [++sent, beta];
        [asking, fault] = [true, ""];
        void around.quantiles({ number: result.number ?? "", beta: level }).then((reply: Reply) => {
            if (mine !== sent) return;
            asking = false;
            if (reply.ok) take(level, reply.body);
            else fault = reply.error.message;
            drawAll();
        });
    }

    function take(level: string, body: unknown): void {
        try {
            known.set(level, checked(body, result.values.length));
        } catch (error) {
            if (!(error instanceof Malformed)) throw error;
            fault = UNREADABLE;
        }
    }

    // --- moving the line ---------------------------------------------------------------------------------------------

    function move(next: number): void {
        const last = (known.get(beta)?.stops.length ?? 1) - 1;
        at = Math.max(0, Math.min(last, next));
        drawLine();
    }

    function keyed(event: KeyboardEvent): void {
        const steps: Record<string, number | undefined> = { PageUp: at + 5, PageDown: at - 5 };
        const next = steps[event.key];
        if (next === undefined) return;
        event.preventDefault();
        timed(event, () => move(next));
    }

    /** The stop whose bin is nearest to this one; of several the middle one. */
    function nearest(bin: number): number {
        const places = (now()?.stops ?? []).map((stop) => Number(stop.at ?? stop.low));
        const least = Math.min(...places.map((place) => Math.abs(place - bin)));
        const found = places.flatMap((place, i) => (Math.abs(place - bin) === least ? [i] : []));
        return found[Math.floor(found.length / 2)] ?? at;
    }

    bar.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        event.preventDefault();
        bar.setPointerCapture?.(event.pointerId);
        slider.focus({ preventScroll: true });
        bar.dataset["held"] = "true";
    });
    bar.addEventListener("pointermove", (event) => {
        const stage = bar.parentElement;
        if (bar.dataset["held"] !== "true" || stage === null || chart === null) return;
        const x = event.clientX - stage.getBoundingClientRect().left;
        const [first, last] = [chart.probe(view.from), chart.probe(view.to)];
        const step = (last.right - first.left) / (view.to - view.from + 1);
        const bin = Math.max(view.from, Math.min(view.to, view.from + Math.floor((x - first.left) / step)));
        timed(event, () => move(nearest(bin)));
    });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) bar.addEventListener(end, () => delete bar.dataset["held"]);

    // --- drawing -----------------------------------------------------------------------------------------------------

    function drawAll(): void {
        const quantiles = now();
        show(parts, quantiles !== null);
        if (quantiles !== null) {
            if (at < 0 || at >= quantiles.stops.length) at = middle();
            [slider.max, slider.value] = [String(quantiles.stops.length - 1), String(at)];
            drawCurve(quantiles);
        }
        if (element.open) setText(told, quantiles !== null ? "" : waiting());
        show(told, quantiles === null);
        drawLine();
    }

    function waiting(): string {
        if (fault !== "") return fault;
        if (around.quantiles === undefined) return `This file carries quantiles ${often(carried!.beta)}. Choose that level, or open the notebook for ${often(beta)}.`;
        return around.gone?.() === true ? NO_KERNEL : "Asking the kernel…";
    }

    function drawLine(): void {
        const quantiles = now();
        const stop = quantiles?.stops[at];
        const seen = stop !== undefined && chart !== null && !chart.sideways;
        show(bar, seen && inView(stop));
        show(band, seen && Number(stop.low) <= view.to && Number(stop.high) >= view.from);
        if (quantiles === null || stop === undefined) return;
        slider.value = String(at);
        const words = said(result, stop, beta);
        setText(head.firstElementChild!, words.name);
        setText(head.lastElementChild!, words.interval);
        setText(shareText, percent(stop.q));
        setText(pill, words.bin);
        setText(hint, explained(quantiles, stop));
        setAttribute(slider, "aria-valuetext", `${percent(stop.q)}, ${words.name}; ${words.interval}`);
        if (!seen) return;
        const box = chart!.probe(Number(stop.at ?? stop.low));
        const [first, last] = [chart!.probe(Math.max(view.from, Number(stop.low))), chart!.probe(Math.min(view.to, Number(stop.high)))];
        const x = (box.left + box.right) / 2;
        Object.assign(bar.style, { left: `${x}px`, top: "20px", height: `${box.bottom - 20}px` });
        show(pill, width >= PILLED);
        bar.dataset["side"] = x > width * 0.7 ? "left" : "right";
        Object.assign(band.style, { left: `${first.left}px`, top: "24px", width: `${Math.max(2, last.right - first.left)}px`, height: `${box.bottom - 24}px` });
        const mark = curve.querySelector<SVGElement>(".dp-quantile-at");
        for (const end of ["x1", "x2"]) mark?.setAttribute(end, px(x));
    }

    function inView(stop: Stop): boolean {
        const bin = Number(stop.at ?? stop.low);
        return bin >= view.from && bin <= view.to;
    }

    function drawCurve(quantiles: Quantiles): void {
        curve.replaceChildren(...(chart === null || chart.sideways ? [] : [curveOf(quantiles, chart, view, width, result)]));
    }

    return {
        element,
        marks: [band, bar],
        draw(level, wide, drawn, seen) {
            const other = level !== beta;
            if (other) [sent, asking, fault] = [sent + 1, false, ""];
            [beta, width, chart, view] = [level, wide, drawn, seen];
            if (element.open) ask();
            drawAll();
        },
        heed() {
            if (element.open) ask();
            if (element.open && !known.has(beta)) drawAll();
        },
        close() {
            sent += 1;
        },
    };
}

/** The quantiles that a report carries. */
function held(result: Counted): Quantiles | null {
    const carried = result.content["quantiles"];
    if (carried === undefined) return null;
    try {
        return checked(carried, result.values.length);
    } catch (error) {
        if (!(error instanceof Malformed)) throw error;
        return null;
    }
}

/** Quantiles whose bins are rows of the picture. */
function checked(body: unknown, rows: number): Quantiles {
    const quantiles = readQuantiles(body, "quantiles");
    const { places, shares, low, high } = quantiles.curve;
    const bins = [...places, ...quantiles.stops.flatMap((stop) => [stop.at ?? "0", stop.low, stop.high, stop.low_all, stop.high_all])];
    if (bins.some((bin) => Number(bin) >= rows) || [shares, low, high].some(({ length }) => length !== places.length)) {
        throw new Malformed("quantiles: a bin that is no row");
    }
    if (quantiles.stops.length === 0) throw new Malformed("quantiles: none");
    return quantiles;
}

// --- in words --------------------------------------------------------------------------------------------------------

const percent = (q: string): string => `${Math.round(approximate(exactly(q)) * 1000) / 10}%`;

function said(result: Counted, stop: Stop, beta: string): { name: string; bin: string; interval: string } {
    const bin = (row: string): string => labelText(result, result.labels.at(Number(row)));
    const span = (low: string, high: string): string => labelText(result, [...new Set([low, high])].map((row) => result.labels.at(Number(row))).join(" to "));
    const name = stop.q === MEDIAN ? "Median" : `${percent(stop.q)} quantile`;
    const alone = span(stop.low, stop.high);
    const among = span(stop.low_all, stop.high_all);
    return {
        name: `${name} of ${result.axis}: ${stop.at === null ? "none is seen" : bin(stop.at)}`,
        bin: stop.at === null ? "none" : bin(stop.at),
        interval: `${often(beta)}: this one alone ${alone} · among all ${among}`,
    };
}

function explained({ nouns, how, rule, curve_rule, remarks, rests_on }: Quantiles, { q }: Stop): string {
    const upTo = q === MEDIAN ? "Half" : percent(q);
    return [
        `${upTo} of the ${nouns} lie at the line or before it. Chosen because it stood out? Read the second interval, that of the curve's band.`,
        `${KNOWN[how] ?? how}: ${rule}; band: ${curve_rule}.`.replace(/^./, (first) => first.toUpperCase()),
        ...remarks,
        rests_on,
    ].join(" ");
}

// --- the curve -------------------------------------------------------------------------------------------------------

/** The shares up to each bin as steps, in the band that holds for all of them, on the axis of the picture above. */
function curveOf({ curve, nouns, beta }: Quantiles, chart: Histogram, view: { from: number; to: number }, width: number, result: Counted): SVGSVGElement {
    const [left, right] = [chart.probe(view.from).left, chart.probe(view.to).right];
    const [top, bottom] = [22, 22 + TALL];
    const title = `Share of the ${nouns} up to each bin, in a band that holds for all bins at once, ${often(beta)}.`;
    const picture = svg(width, bottom + 12, title);
    const y = (value: number): number => bottom - value * TALL;
    const x = (bin: number): number => chart.probe(bin).right;
    picture.append(label(left - 6, 12, `share of the ${nouns} up to each bin`, "start", "dp-tick"));
    for (const value of [0, 0.5, 1]) {
        picture.append(line(left, y(value), right, y(value), value === 0 ? "dp-axis" : "dp-grid"));
        picture.append(label(left - 6, y(value) + 4, `${value * 100}%`, "end", "dp-tick"));
    }
    const shown = steps(curve, view);
    const ends = (values: (row: number, sole: boolean) => number): [number, number][] =>
        shown.flatMap(({ from, to, row, sole }) => {
            const at = y(values(row, sole));
            return [
                [from < view.from ? left : x(from), at],
                [x(to), at],
            ] as [number, number][];
        });
    const path = (points: readonly [number, number][]): string => points.map(([a, b]) => `${px(a)} ${px(b)}`).join("L");
    const upper = ends((row) => curve.high[row]!);
    // Of several bins the shares are no lower than the lower end of the place before them.
    const lower = ends((row, sole) => (sole ? curve.low[row]! : (curve.low[row - 1] ?? 0)));
    if (upper.length > 0) {
        picture.append(s("path", { d: `M${path(upper)}L${path(lower.reverse())}Z`, class: "dp-quantile-shade" }));
        picture.append(s("path", { d: `M${path(ends((row) => curve.shares[row]!))}`, class: "dp-quantile-steps" }));
    }
    picture.append(line(left, top, left, bottom, "dp-quantile-at"));
    setAttribute(picture, "data-teaching", result.teaching === null ? null : "true");
    return picture;
}

interface Stretch {
    from: number;
    to: number;
    row: number;
    /** Whether it is one bin, of which the place tells the share. */
    sole: boolean;
}

/** The stretches between the places of a curve that lie in view: after the bin `from`, up to the bin `to`. */
function steps({ places }: Quantiles["curve"], view: { from: number; to: number }): Stretch[] {
    const bins = places.map(Number);
    const start = bins.length > 1 && bins[1]! - bins[0]! > 1 ? -1 : bins[0]! - 1;
    return bins.flatMap((to, row) => {
        const from = bins[row - 1] ?? start;
        const seen = { from: Math.max(from, view.from - 1), to: Math.min(to, view.to), row, sole: to - from === 1 };
        return to < view.from || from >= view.to ? [] : [seen];
    });
}
