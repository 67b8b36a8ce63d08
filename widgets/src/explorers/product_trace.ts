/** Algorithm 4 step by step: columns of bits fall through buckets, are measured again, and a record is drawn. */

import { axisSlider } from "./axis_slider";
import { fallingChart, powerOfTwo, type Lane } from "../charts/falling";
import { linesChart } from "../charts/lines";
import { bitsText } from "../charts/tradeoff";
import type { Component } from "../dom/component";
import { h, newId, setAttribute, setOptions, setText, show, watchWidth } from "../dom/dom";
import { standing, type Explorer } from "./explorer";
import { figure } from "../dom/figure";
import { timed } from "../dom/perf";
import { figures, powers } from "../wording/powers";
import type { ProductPoint, ProductSheet } from "../protocol/sampling_sheets";
import { stepper } from "../dom/stepper";
import { dataTable } from "../dom/table";
import { shown } from "../wording/words";

const LOWEST = -14;
const CHOICES = ["preset", "noise"];
const WIDE = 640;

export function productTrace(store: Explorer<ProductSheet>): Component {
    const titleId = newId();
    const badge = h("span", { class: "dp-chip dp-violet" });
    const sliders = ["n", "rho", "seed"].map((name) => axisSlider(store, name, true));
    const selects = CHOICES.map((name) => {
        const id = newId();
        const select = h("select", { id, onchange: (event: Event) => timed(event, () => store.set(name, select.value)) });
        const words = h("label", { for: id });
        return { name, select, words, element: h("div", { class: "dp-field" }, words, select) };
    });
    const note = h("p", { class: "dp-fault", role: "alert", hidden: true });
    const steps = stepper(() => draw());
    const stats = h("dl", { class: "dp-sums" });
    const [falling, wins] = [figure("Columns falling through the buckets"), figure("Is it worth it?")];
    const sizes = h("figure", { class: "dp-figure" }, h("figcaption", {}, h("h4", {}, "This run")), stats);
    const pair = h("div", { class: "dp-pair" }, sizes, wins.element);
    const numbers = h("div", { class: "dp-numbers-box" });
    const table = h("details", { class: "dp-how", ontoggle: () => drawTable() }, h("summary", {}, "Table"), numbers);
    const element = h(
        "section",
        { class: "dp-explorer dp-plan dp-sampling", "aria-labelledby": titleId },
        h("div", { class: "dp-pane-head" }, h("h3", { id: titleId, class: "dp-screen-title" }, "How a record of many bits is drawn"), badge, h("span", { class: "dp-chip dp-free" }, "free")),
        h("p", { class: "dp-quiet" }, "Noise that is harmless for a common bit drowns a rare one. So columns are first sorted by how often they are 1; rare ones are measured together with rare ones only, where a record has few ones and little noise is enough."),
        h("div", { class: "dp-axes dp-five" }, ...selects.map((one) => one.element), ...sliders.map((one) => one.element)),
        note,
        steps.element,
        steps.sentence,
        falling.element,
        pair,
        table,
        h("p", { class: "dp-hint" }, "Made-up people and teaching seeds: nothing here is private, and nothing is released. The rounds and their noise are those of a release. The noisy means may be drawn from again at no cost, but all such draws depend on one measurement. Raskhodnikova, Sivakumar, Smith, Swanberg 2021, Algorithm 4; the corrected noise and the tight cuts are ours."),
    );
    let width = 828;
    let seen: unknown[] = [];
    let spoken = "";
    const stop = watchWidth(falling.element, (now) => {
        width = now;
        draw();
    });

    function draw(): void {
        const { point, sheet } = store;
        for (const one of sliders) one.draw();
        standing(element, store);
        setText(note, store.fault ?? "");
        show(note, store.fault !== null);
        if (point === null || sheet === null) return;
        for (const { name, select, words } of selects) {
            const axis = store.axis(name)!;
            setText(words, axis.label);
            setOptions(select, axis.grid.map((value, i) => ({ value, label: axis.values[i]! })), store.position.get(name)!);
        }
        const step = steps.at;
        if (seen[0] === point && seen[1] === width && seen[2] === step) return;
        seen = [point, width, step];
        setText(badge, sheet.badge);
        const told = sentenceOf(sheet, point, step);
        const said = steps.draw(stepsOf(sheet), told);
        setText(falling.note, "violet: true shares · blue: noisy means; hollow ones fall on · bar: what a mean must reach to stay · ▲ under a lane: one standard deviation of its noise");
        falling.plot.replaceChildren(fallingChart(width, { title: told, lanes: lanesOf(sheet, point, step), lowest: LOWEST, axis: "share of ones in a column (log)" }));
        drawRun(sheet, point);
        drawWins(sheet);
        drawTable();
        if (said !== spoken) store.say(said);
        spoken = said;
    }

    function drawRun(sheet: ProductSheet, point: ProductPoint): void {
        const all = point.off.reduce((sum, { here }) => sum + here, 0);
        const naive = point.off.reduce((sum, one) => sum + one.naive, 0);
        const last = point.off.find(({ level }) => level === sheet.levels + 1)?.here ?? 0;
        const theory = sheet.theory.get(point.at.get("rho")!);
        const rows: [string, string][] = [
            ["people here, n", shown(point.at.get("n")!)],
            [`people that the proof asks for, α = ${sheet.alpha}`, theory === undefined ? "—" : powers(theory)],
            ["charged", `ρ ${point.price}`],
            ["people in a chunk", shown(String(point.chunk))],
            ["people in no chunk", shown(String(point.left_over))],
            ["off on average, all columns together", number(all)],
            ["of it in the last bucket", number(last)],
            ["naive: one noisy mean each", number(naive)],
        ];
        stats.replaceChildren(...rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    }

    function drawWins(sheet: ProductSheet): void {
        setAttribute(pair, "data-narrow", width >= WIDE ? null : "true");
        const wide = width >= WIDE ? Math.floor((width - 59) * 0.4) : width - 19;
        const { columns, repaired, tight, repaired_crossing: proved, tight_crossing: sharp } = sheet.noises;
        const known = (from: number | null): string => (from === null ? "nowhere here" : `from ${shown(String(from))} columns on`);
        setText(wins.note, `noise on rare bits, as a multiple of the naive sampler's (log), by columns d; below 1 the buckets win: ${known(proved)} as proved, ${known(sharp)} if cut tightly`);
        wins.plot.replaceChildren(
            linesChart(wide, 220, {
                title: `The buckets have less noise than one noisy mean each ${known(proved)} with the paper's cuts, ${known(sharp)} with tight ones; here d = ${shown(String(sheet.columns))}`,
                x: { low: columns[0]!, high: columns.at(-1)!, log: true, name: "columns, d (log)", text: bitsText },
                y: { low: Math.min(...repaired, ...tight) / 1.5, high: Math.max(...repaired, ...tight) * 1.5, log: true, name: "" },
                series: [
                    { name: "paper", xs: columns, ys: repaired, kind: "dp-medium dp-exact", colour: 2 },
                    { name: "tight", xs: columns, ys: tight, kind: "dp-medium dp-exact", colour: 3 },
                    { name: "naive", xs: columns, ys: columns.map(() => 1), kind: "dp-medium dp-exact", colour: 6 },
                ],
                probe: { at: sheet.columns, dots: [] },
                mark: sharp === null ? null : { at: sharp, name: bitsText(sharp) },
                margin: 44,
            }),
        );
    }

    function drawTable(): void {
        const { point, sheet } = store;
        if (point === null || sheet === null || !table.open) return;
        numbers.replaceChildren(
            dataTable(
                "Rounds",
                ["round", "columns", "mean must reach", "noise, standard deviation", "rows cut above so many ones", "columns kept"].map((name, i) => ({ name, figures: i > 0 })),
                point.rounds.length,
                (i) => {
                    const one = point.rounds[i]!;
                    const kept = one.keeps ? one.size : point.kept.filter((level, place) => level === one.level && one.places.includes(place)).length;
                    return [`${one.keeps ? "measured again, bucket" : "round"} ${one.level}`, String(one.size), one.threshold === null ? "—" : number(one.threshold), number(one.sd), number(one.cut), String(kept)];
                },
            ),
            dataTable(
                "Columns",
                ["column", "true share", "bucket", "turned round", "mean that is drawn with", "bit"].map((name) => ({ name, figures: true })),
                sheet.columns,
                (place) => [String(place + 1), number(point.biases[place]!), String(point.kept[place]!), point.flipped.includes(place) ? "yes" : "no", number(finalOf(point, place)), String(point.record[place]!)],
            ),
        );
    }

    return { element, draw, close: stop };
}

const number = (value: number): string => (Math.abs(value) >= 0.001 && Math.abs(value) < 1e5 ? figures(value, 3) : powers(value));

const stepsOf = (sheet: ProductSheet): string[] => ["People", ...Array.from({ length: sheet.levels }, (_, i) => `Round ${i + 1}`), "Measure again", "Draw"];

/** The mean of a column's own bucket, measured again. */
function finalOf(point: ProductPoint, place: number): number {
    const own = point.rounds.find((one) => one.keeps && one.level === point.kept[place]);
    return own === undefined ? 0 : own.means[own.places.indexOf(place)]!;
}

function lanesOf(sheet: ProductSheet, point: ProductPoint, step: number): Lane[] {
    const truth: Lane = {
        name: "Made-up shares",
        note: "public",
        dots: point.biases.map((mean, place) => ({ place, mean, stays: true, one: false })),
        threshold: null,
        sd: null,
        public: true,
    };
    const again = step > sheet.levels;
    const lanes = Array.from({ length: sheet.levels + 1 }, (_, i): Lane => {
        const level = i + 1;
        const own = point.rounds.find((one) => one.level === level && one.keeps === again);
        const name = level > sheet.levels ? "Last bucket" : again ? `Bucket ${level}` : `Round ${level}`;
        const empty = { name, note: "", dots: [], threshold: null, sd: null, public: false };
        if (own === undefined || (!again && level > step)) return empty;
        return {
            name,
            note: again ? columnsText(own.size) : `${columnsText(own.size)}, ${own.places.filter((place) => point.kept[place] === level).length} stay`,
            dots: own.places.map((place, k) => ({ place, mean: own.means[k]!, stays: again || point.kept[place] === level, one: step === sheet.levels + 2 && point.record[place] === 1 })),
            threshold: own.threshold,
            sd: own.sd,
            public: false,
        };
    });
    return [truth, ...lanes];
}

const columnsText = (count: number): string => (count === 1 ? "1 column" : `${count} columns`);

/** One plain sentence for each step. */
function sentenceOf(sheet: ProductSheet, point: ProductPoint, step: number): string {
    const chunks = 2 * sheet.levels + 1;
    if (step === 0)
        return `${shown(point.at.get("n")!)} people, ${sheet.columns} bits each. They are put into ${chunks} chunks of ${shown(String(point.chunk))} at random; a person is in one chunk only, so all rounds together cost what one costs.`;
    if (step <= sheet.levels) {
        const own = point.rounds.find((one) => one.level === step && !one.keeps);
        if (own === undefined) return `Round ${step}: no column is left.`;
        const stay = own.places.filter((place) => point.kept[place] === step).length;
        const turned = step === 1 && point.flipped.length > 0 ? ` ${point.flipped.length} with a mean near 1 ${point.flipped.length === 1 ? "is turned round and falls on" : "are turned round and fall on"}, too.` : "";
        return `Round ${step}: ${columnsText(own.size)} ${own.size === 1 ? "is" : "are"} measured, with noise of standard deviation ${number(own.sd)}. ${own.size - stay} ${own.size - stay === 1 ? "lies" : "lie"} below ${number(own.threshold!)} and ${own.size - stay === 1 ? "falls" : "fall"} on; ${stay} ${stay === 1 ? "stays" : "stay"}.${turned}`;
    }
    const last = point.rounds.find((one) => one.level === sheet.levels + 1 && one.keeps);
    if (step === sheet.levels + 1)
        return `Every bucket is measured again, by people who have not been asked. ${last === undefined ? "The last bucket is empty." : `The last one holds ${columnsText(last.size)} with shares of about ${powerOfTwo(-sheet.levels - 1)} and less; its noise has a standard deviation of ${number(last.sd)}.`}`;
    const ones = point.record.filter((bit) => bit === 1).length;
    const expected = point.biases.reduce((sum, p) => sum + p, 0);
    return `A record is drawn: each bit is 1 with its noisy mean, moved into 0 to 1. It has ${ones} ${ones === 1 ? "one" : "ones"}, where ${number(expected)} are expected of a person.`;
}
