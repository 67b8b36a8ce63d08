/** Sorted counts with noise, and what pooling makes of them: the fit, two bands around it, and how far off each is. */

import { axisSlider } from "./axis_slider";
import { DOTS, isotonicChart, type Band, type Step } from "../charts/isotonic";
import type { Component } from "../dom/component";
import { h, newId, setOptions, setText, show, watchWidth } from "../dom/dom";
import { add, approximate, exactly, format, subtract } from "../numbers/exact";
import { standing, type Explorer } from "./explorer";
import { figure } from "../dom/figure";
import { timed } from "../dom/perf";
import type { IsotonicPoint, IsotonicSheet } from "../protocol/sheets";
import { dataTable } from "../dom/table";
import { MINUS, often, shown } from "../wording/words";

const [TALL, LOW] = [330, 240];
const NARROW = 520;

export function isotonicExplorer(store: Explorer<IsotonicSheet>): Component {
    const [titleId, familyId] = [newId(), newId()];
    const badge = h("span", { class: "dp-chip dp-violet" });
    const sentence = h("p", { class: "dp-quiet" });
    const family = h("select", { id: familyId, onchange: (event: Event) => timed(event, () => store.set("family", family.value)) });
    const sliders = [axisSlider(store, "n", true), axisSlider(store, "epsilon", true)];
    const seedWords = h("p", { class: "dp-hint" });
    const again = h("button", { type: "button", class: "dp-button dp-draw", onclick: (event: Event) => timed(event, () => drawAgain()) }, "New noise");
    const note = h("p", { class: "dp-fault", role: "alert", hidden: true });
    const picture = figure("Ascending counts: true, noisy and fitted");
    const off = figure("The same, less the true counts");
    const verdict = h("p", { class: "dp-finding dp-verdict" });
    const flag = h("p", { class: "dp-notice dp-warning", hidden: true }, "The multiscale band is empty somewhere: the noise of this draw went beyond what the band allows for, as it may in up to 5 of 100 draws. It is shown as it is.");
    const errors = h("div", {});
    const numbers = h("div", { class: "dp-numbers-box" });
    const table = h("details", { class: "dp-how", ontoggle: () => drawTable() }, h("summary", {}, "Table"), numbers);
    const element = h(
        "section",
        { class: "dp-explorer dp-plan dp-isotonic", "aria-labelledby": titleId },
        h("div", { class: "dp-pane-head" }, h("h3", { id: titleId, class: "dp-screen-title" }, "Sorted counts, fitted"), badge, h("span", { class: "dp-chip dp-free" }, "free")),
        sentence,
        h(
            "div",
            { class: "dp-axes" },
            h("div", { class: "dp-field" }, h("label", { for: familyId }, "Counts"), family),
            ...sliders.map((slider) => slider.element),
            h("div", { class: "dp-field" }, h("span", { class: "dp-field-name" }, "Noise"), again, seedWords),
        ),
        note,
        picture.element,
        off.element,
        flag,
        verdict,
        h("figure", { class: "dp-figure" }, h("figcaption", {}, h("h4", {}, "Squared error, all positions together")), errors),
        h("p", { class: "dp-hint" }, "The fit is biased within a run of equal counts: its low end downward, its high end upward. The total is unbiased. A rank is not a bin: nothing here says which bin has which count. Hay, Rastogi, Miklau, Suciu 2010, Theorems 1 and 2; the harmonic bound is sharper than theirs."),
        table,
    );
    let width = 828;
    let seen: { point: IsotonicPoint; width: number } | null = null;
    const stop = watchWidth(picture.element, (now) => {
        width = now;
        draw();
    });

    function drawAgain(): void {
        const tick = store.tick("seed");
        store.moveTo("seed", tick + 1 < store.axis("seed")!.grid.length ? tick + 1 : 0);
    }

    function draw(): void {
        const { point, sheet } = store;
        for (const slider of sliders) slider.draw();
        standing(element, store);
        setText(note, store.fault ?? "");
        show(note, store.fault !== null);
        if (point === null || sheet === null) return;
        const names = store.axis("family")!;
        setOptions(
            family,
            names.grid.map((value, i) => ({ value, label: names.values[i]! })),
            store.position.get("family")!,
        );
        if (seen?.point === point && seen.width === width) return;
        seen = { point, width };
        setText(badge, sheet.badge);
        setText(seedWords, `seed ${point.at.get("seed")}, so not private`);
        setText(sentence, `${shown(point.at.get("n")!)} counts in ascending order, ${shown(point.distinct)} of them distinct. One record more or less changes one of them by 1, so each gets noise for the whole ε.`);
        drawPicture(sheet, point);
        show(flag, point.multiscale.crossed);
        setText(verdict, finding(point));
        drawErrors(point);
        drawTable();
        store.say(finding(point));
    }

    function drawPicture(sheet: IsotonicSheet, point: IsotonicPoint): void {
        const { multiscale, all, one } = point;
        setText(
            picture.note,
            `hatched: true · ${Number(point.at.get("n")) <= DOTS ? "○" : "grey"} noisy, each within ±${shown(one)}, ${often(sheet.beta)} · blue: fitted, flat where counts were pooled · darker band: multiscale, from this draw · paler band: ±${shown(all)} around the fit; each holds everywhere at once, ${often(sheet.beta)}, proved`,
        );
        const [truth, fitted, reach, size] = [point.truth.map(stepOf), point.fitted.map(stepOf), Number(all), Number(point.at.get("n"))];
        const bands: Band[] = [
            { kind: "dp-thin dp-bound dp-sup", low: fitted.map((step) => ({ ...step, value: Math.max(0, step.value - reach) })), high: fitted.map((step) => ({ ...step, value: step.value + reach })) },
            { kind: "dp-medium dp-bound", low: multiscale.low.map(stepOf), high: multiscale.high.map(stepOf) },
        ];
        const shared = { size, every: point.every, axis: "rank, the smallest count first" };
        picture.plot.replaceChildren(
            isotonicChart(width, width < NARROW ? LOW : TALL, { ...shared, title: finding(point), truth, noisy: point.noisy as [number, number][], fitted, bands, falls: point.falls }),
        );
        // On the axis of the counts a band may be thinner than its line: here it has an axis of its own.
        const less = (steps: readonly Step[]): Step[] => difference(steps, truth);
        setText(off.note, "above 0: too many. The noise, the fit and both bands, each less the true count at its rank");
        off.plot.replaceChildren(
            isotonicChart(width, LOW, {
                ...shared,
                title: `The fit is off by ${farthest(less(fitted))} at most, the noise by ${farthest(point.noise.map((pair, start) => ({ start, length: 1, value: Math.max(...pair.map(Math.abs)) })))}`,
                truth: [{ start: 0, length: size, value: 0 }],
                noisy: point.noise as [number, number][],
                fitted: less(fitted),
                bands: bands.map(({ kind, low, high }) => ({ kind, low: less(low), high: less(high) })),
                falls: [],
            }),
        );
    }

    function drawErrors({ errors: said }: IsotonicPoint): void {
        const rows: [string, string, string][] = [
            ["noisy, as drawn (S̃)", shown(said.noisy), `${shown(said.expected)} expected`],
            ["sorted and rounded (S̃r)", shown(said.rounded), "no bound: it depends on the counts"],
            ["fitted (S̄)", shown(said.fitted), `≤ ${shown(said.bound)} expected: one harmonic number for each run of equal counts`],
        ];
        errors.replaceChildren(dataTable("Squared error", [{ name: "estimate" }, { name: "in this draw", figures: true }, { name: "over all draws" }], rows.length, (i) => rows[i]!));
    }

    function drawTable(): void {
        const { point } = store;
        if (point === null || !table.open) return;
        const { fitted, multiscale, all } = point;
        const bandAt = (steps: readonly { start: number; length: number; value: string }[], position: number): string =>
            shown(steps.find(({ start, length }) => position < start + length)?.value ?? "").replace("-", MINUS);
        numbers.replaceChildren(
            dataTable(
                "Blocks of the fit",
                ["ranks", "fitted, exactly", "multiscale, from", "to", "sup norm, from", "to"].map((name, i) => ({ name, figures: i > 0 })),
                fitted.length,
                (i) => {
                    const { start, length, value } = fitted[i]!;
                    const last = start + length - 1;
                    const [low, high] = [subtract(exactly(value), exactly(all)), add(exactly(value), exactly(all))];
                    return [length === 1 ? shown(String(start + 1)) : `${shown(String(start + 1))} to ${shown(String(last + 1))}`, shown(value), bandAt(multiscale.low, start), bandAt(multiscale.high, last), shown(low.n < 0n ? "0" : format(low)), shown(format(high))];
                },
            ),
        );
    }

    return { element, draw, close: stop };
}

const stepOf = ({ start, length, value }: { start: number; length: number; value: string }): Step => ({ start, length, value: approximate(exactly(value)) });

/** Steps less others, both from the first position to the last. */
function difference(steps: readonly Step[], others: readonly Step[]): Step[] {
    const found: Step[] = [];
    let other = 0;
    for (const { start, length, value } of steps) {
        for (let at = start; at < start + length; ) {
            while (others[other]!.start + others[other]!.length <= at) other += 1;
            const end = Math.min(start + length, others[other]!.start + others[other]!.length);
            found.push({ start: at, length: end - at, value: value - others[other]!.value });
            at = end;
        }
    }
    return found;
}

const farthest = (steps: readonly Step[]): string => shown(String(Number(Math.max(...steps.map(({ value }) => Math.abs(value))).toFixed(1))));

/** Describe the point in a sentence: the title of the picture, and what is read out after a move. */
function finding(point: IsotonicPoint): string {
    const { errors, fitted, at } = point;
    const blocks = `${shown(String(fitted.length))} ${fitted.length === 1 ? "block" : "blocks"}`;
    return `${shown(at.get("n")!)} counts are pooled into ${blocks}; squared error ${shown(errors.fitted)} fitted, ${shown(errors.noisy)} noisy, ${shown(errors.rounded)} sorted and rounded.`;
}
