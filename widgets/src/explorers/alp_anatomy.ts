/** Figures 1 and 2 of the ALP paper, step by step: unary bits scattered by hashing, flipped, read off and climbed. */

import { estimateOf, placeOf, rowOf, tableOf, type Cell, type Estimate, type Setting } from "../numbers/alp";
import { axisSlider } from "./axis_slider";
import { alpTable } from "../charts/alp_table";
import type { Component } from "../dom/component";
import { h, newId, setAttribute, setOptions, setText, show, watchWidth } from "../dom/dom";
import { approximate, exactly } from "../numbers/exact";
import type { Explorer } from "./explorer";
import { figure } from "../dom/figure";
import { timed } from "../dom/perf";
import type { AnatomySheet } from "../protocol/sparse_sheets";
import { stepper } from "../dom/stepper";
import { dataTable } from "../dom/table";
import { shown } from "../wording/words";

const STEPS = ["Write", "Scatter", "Share", "Flip", "Read", "Climb", "Estimate"];
const ESTIMATORS: Record<string, string> = { paper: "paper: mean of the highest places", likelihood: "likelihood: the likeliest values", "posterior-median": "posterior median" };

interface Scene {
    setting: Setting;
    key: number;
    name: string;
    value: number;
    cells: Cell[][];
    row: Cell[];
    bits: number[];
    estimate: Estimate;
    estimator: string;
    p: string;
    figure: boolean;
}

export function alpAnatomy(store: Explorer<AnatomySheet>): Component {
    const [titleId, keyId, estimatorId, seedId, faultId] = [newId(), newId(), newId(), newId(), newId()];
    let values: number[] = [];
    let [columns, bits, key, given, estimator] = [8, 5, 0, false, "paper"];
    /** The box that holds what does not fit, which stays there, and why. */
    let refused: { box: HTMLInputElement; words: string } | null = null;

    const badge = h("span", { class: "dp-chip dp-violet" });
    const fields = h("div", { class: "dp-axes dp-alp-values" });
    const keySelect = h("select", { id: keyId, onchange: (event: Event) => timed(event, () => turn(() => (key = Number(keySelect.value)))) });
    const estimators = h("select", { id: estimatorId, onchange: (event: Event) => timed(event, () => turn(() => (estimator = estimators.value))) });
    const slider = axisSlider(store, "p", true);
    const seed = h("input", {
        id: seedId,
        type: "text",
        class: "dp-exact-text",
        autocomplete: "off",
        inputmode: "numeric",
        "aria-describedby": faultId,
        onchange: (event: Event) =>
            timed(event, () => {
                given = false;
                store.type("seed", seed.value);
                draw();
            }),
        onkeydown: (event: KeyboardEvent) => {
            if (event.key !== "Escape" || store.mistyped?.name !== "seed") return;
            event.stopPropagation();
            seed.value = store.position.get("seed") ?? "";
            store.forgive("seed");
        },
    });
    const again = h("button", { type: "button", class: "dp-button dp-draw", onclick: (event: Event) => timed(event, () => drawAgain()) }, "Draw again");
    const worked = h("button", { type: "button", class: "dp-button", onclick: (event: Event) => timed(event, () => takeFigure()) }, "Worked figure");
    const fault = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
    const steps = stepper(() => draw());
    const picture = figure("The table, one key's bits, and the climb");
    const numbers = h("div", { class: "dp-numbers-box" });
    const table = h("details", { class: "dp-how", ontoggle: () => drawTable() }, h("summary", {}, "Table"), numbers);
    const element = h(
        "section",
        { class: "dp-explorer dp-plan dp-anatomy", "aria-labelledby": titleId },
        h("div", { class: "dp-pane-head" }, h("h3", { id: titleId, class: "dp-screen-title" }, "Anatomy of ALP"), badge, h("span", { class: "dp-chip dp-free" }, "free")),
        h("p", { class: "dp-quiet" }, "How a sparse vector is stored in few bits and any entry read back. Values are in whole bits here; a release first scales a count and rounds it at random."),
        fields,
        h(
            "div",
            { class: "dp-axes dp-five" },
            slider.element,
            h("div", { class: "dp-field" }, h("label", { for: keyId }, "Key that is read"), keySelect),
            h("div", { class: "dp-field" }, h("label", { for: estimatorId }, "Estimator"), estimators),
            h("div", { class: "dp-field" }, h("label", { for: seedId }, "Seed"), seed),
            h("div", { class: "dp-field dp-alp-buttons" }, again, worked),
        ),
        fault,
        steps.element,
        steps.sentence,
        picture.element,
        h("p", { class: "dp-hint" }, "Made-up values, and a seed that everybody knows: nothing here is private, and nothing is released. Reading is free: any key, any number of times. Aumüller, Lebeda, Pagh 2022, Figures 1 and 2; likelihood and posterior median are ours."),
        table,
    );
    let inputs: { box: HTMLInputElement; name: string; most: () => number; least: number; take: (value: number) => void; value: () => number }[] = [];
    let width = 780;
    let scene: Scene | null = null;
    let spoken = "";
    const stop = watchWidth(picture.element, (now) => {
        width = now;
        draw();
    });

    function turn(change: () => void): void {
        change();
        draw();
    }

    function drawAgain(): void {
        const grid = store.axis("seed")!.grid;
        const at = grid.indexOf(store.position.get("seed") ?? "");
        if (!given) store.set("seed", grid[(at + 1) % grid.length]!);
        given = false;
        steps.go(Math.max(steps.at, 3));
    }

    function takeFigure(): void {
        const sheet = store.sheet!;
        values = sheet.figure.values.map(Number);
        [columns, key, given, estimator, refused] = [sheet.figure.bits.length, 0, true, "paper", null];
        bits = Math.max(bits, 2);
        draw();
    }

    /** The boxes for values and sizes, once the sheet says what there is. */
    function build(sheet: AnatomySheet): void {
        values = sheet.start.values.map(Number);
        [columns, bits, estimator] = [Number(sheet.start.columns), Number(sheet.start.bits), sheet.start.estimator];
        if (sheet.start.figure) {
            values = sheet.figure.values.map(Number);
            [columns, given] = [sheet.figure.bits.length, true];
        }
        const field = (name: string, label: string, least: number, most: () => number, value: () => number, take: (value: number) => void): HTMLElement => {
            const id = newId();
            const box = h("input", {
                id,
                type: "number",
                class: "dp-exact-text",
                min: least,
                step: 1,
                "aria-describedby": faultId,
                onchange: (event: Event) =>
                    timed(event, () => {
                        const typed = Number(box.value);
                        const fits = box.value.trim() !== "" && Number.isInteger(typed) && typed >= least && typed <= most();
                        const got = box.value.slice(0, 20) || (box.validity.badInput ? "something else" : "nothing");
                        refused = fits ? null : { box, words: `⚠ ${name} must be a whole number from ${shown(String(least))} to ${shown(String(most()))}, got ${got}. Type one in that range.` };
                        if (fits) take(typed);
                        draw();
                    }),
                onkeydown: (event: KeyboardEvent) => {
                    if (event.key !== "Escape" || refused?.box !== box) return;
                    event.stopPropagation();
                    refused = null;
                    box.value = String(value());
                    draw();
                },
            });
            inputs.push({ box, name, most, least, take, value });
            return h("div", { class: "dp-field" }, h("label", { for: id }, label), box);
        };
        fields.replaceChildren(
            ...sheet.keys.map((name, i) =>
                field(`The value of ${name}`, `Value of ${name}`, 0, () => columns, () => values[i]!, (value) => {
                    values[i] = value;
                    given = false;
                }),
            ),
            field("The number of columns", "Columns, m", 1, () => Number(sheet.most.columns), () => columns, (value) => {
                columns = value;
                values = values.map((one) => Math.min(one, value));
                given = false;
            }),
            field("The number of bits", "Bits a column, s", 2, () => Number(sheet.most.bits), () => bits, (value) => (bits = value)),
        );
    }

    function sceneOf(sheet: AnatomySheet): Scene {
        const known = sheet.seeds.get(store.position.get("seed") ?? "") ?? sheet.seeds.get(store.point!.at.get("seed")!)!;
        const position = store.axis("p")!.grid.includes(store.position.get("p")!) ? store.position.get("p")! : store.point!.at.get("p")!;
        const p = approximate(exactly(position));
        const setting: Setting = { values, columns, bits, p, draw: known, flips: given ? sheet.figure.flipped.map(Number) : null };
        const cells = tableOf(setting);
        const row = rowOf(setting, cells, key);
        const read = row.map(({ bit }) => bit as number);
        const others = values.filter((value, i) => i !== key && value > 0).length;
        const raised = p + Math.min(0.49, others / bits) * (1 - 2 * p);
        return { setting, key, name: sheet.keys[key]!, value: values[key]!, cells, row, bits: read, estimate: estimateOf(read, estimator, p, raised), estimator, p: position, figure: given };
    }

    function draw(): void {
        const { point, sheet } = store;
        slider.draw();
        if (point === null || sheet === null) return;
        if (inputs.length === 0) build(sheet);
        setText(badge, sheet.badge);
        setOptions(keySelect, sheet.keys.map((name, i) => ({ value: String(i), label: name })), String(key));
        setOptions(estimators, sheet.estimators.map((name) => ({ value: name, label: ESTIMATORS[name] ?? name })), estimator);
        for (const { box, value, most } of inputs) {
            setAttribute(box, "max", String(most()));
            setAttribute(box, "aria-invalid", refused?.box === box ? "true" : null);
            if (refused?.box === box) continue;
            const settled = box.value !== "" && Number(box.value) === value(); // who has just emptied it is about to type
            if (document.activeElement !== box || settled) box.value = String(value());
        }
        const wrong = store.mistyped?.name === "seed" ? store.mistyped : null;
        setAttribute(seed, "aria-invalid", wrong === null ? null : "true");
        const words = [refused?.words, wrong === null ? null : `⚠ ${wrong.words}`, store.fault].filter((one) => one != null).join(" ");
        setText(fault, words);
        show(fault, words !== "");
        if (document.activeElement !== seed) seed.value = wrong?.typed ?? store.position.get("seed") ?? "";
        scene = sceneOf(sheet);
        const step = steps.at;
        const said = steps.draw(STEPS, sentenceOf(scene, step));
        setText(picture.note, noteOf(scene, step));
        picture.plot.replaceChildren(chartOf(scene, step, width));
        drawTable();
        if (said !== spoken) store.say(said);
        spoken = said;
    }

    function drawTable(): void {
        if (scene === null || !table.open) return;
        const { row, bits: read, estimate, value, setting } = scene;
        const climbed = scene.estimator === "paper";
        numbers.replaceChildren(
            dataTable(
                `The bits of ${scene.name}`,
                ["column", "hashed to bit", "unary", "set by another key", "flipped", "read", climbed ? "height after it" : "log likelihood after it", "highest"].map((name, i) => ({ name, figures: i !== 3 && i !== 4 && i !== 7 })),
                row.length,
                (i) => [
                    String(i + 1),
                    String(placeOf(setting, scene!.key, i) + 1),
                    i < value ? "1" : "0",
                    row[i]!.setBy.some((other) => other !== scene!.key) ? "yes" : "no",
                    row[i]!.flipped ? "yes" : "no",
                    String(read[i]!),
                    number(estimate.heights[i + 1]!),
                    estimate.peaks.includes(i + 1) ? "yes" : "no",
                ],
            ),
        );
    }

    return { element, draw, close: stop };
}

const number = (value: number): string => String(Number(value.toFixed(2))).replace("-", "\u2212");
const count = (value: number, noun: string): string => `${value} ${noun}${value === 1 ? "" : "s"}`;

function listed(parts: readonly number[]): string {
    return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** One plain sentence for each step. */
function sentenceOf({ setting, key, name, value, cells, row, bits, estimate, estimator, p, figure: given }: Scene, step: number): string {
    const { columns, bits: tall } = setting;
    switch (step) {
        case 0:
            return value === 0 ? `${name} holds 0: its unary number has a zero in ${columns === 1 ? "its one column" : `all ${columns} columns`}.` : `${name} holds ${value}: ones in ${value === 1 ? "column 1" : `columns 1 to ${value}`}, zeros beyond.`;
        case 1:
            return `In each column a public hash picks one of ${tall} bits for ${name}; its ${count(value, "one")} ${value === 1 ? "is" : "are"} written there.`;
        case 2: {
            const met = row.filter(({ setBy }, i) => i >= value && setBy.some((other) => other !== key)).length;
            return met === 0 ? `Other keys write into the same table. None of them sets a bit that ${name} left at 0.` : `Other keys write into the same table: in ${count(met, "column")} one of them sets a bit that ${name} left at 0.`;
        }
        case 3: {
            const flipped = cells.flat().filter((cell) => cell.flipped).length;
            const own = row.filter((cell) => cell.flipped).length;
            return given ? `Bits are flipped, whoever wrote them; in the worked figure three bits of ${name} are.` : `Each of the ${columns * tall} bits is flipped with chance ${p}, whoever wrote it: ${flipped} ${flipped === 1 ? "was" : "were"}, ${own} of them among the bits of ${name}.`;
        }
        case 4:
            return `To read ${name}, take its bit from each column: ${bits.join("")}.`;
        case 5:
            return estimator === "paper" || setting.p === 0 ? "Climb from place 0: one up for every 1, one down for every 0." : "Climb from place 0 by the logarithm of how likely each bit is: a 1 up, a 0 down, by different amounts where other keys may have set bits.";
        default: {
            const found = number(estimate.total / estimate.count);
            const off = Math.abs(estimate.total / estimate.count - value);
            const end = `${name} holds ${value}, so the estimate is ${off === 0 ? "right" : `off by ${number(off)}`}.`;
            if (estimator === "posterior-median" && setting.p > 0) return `If all values were equally likely before, ${found} is the median of what ${name} may hold: the estimate. ${end}`;
            const highest = estimate.peaks.length === 1 ? `The highest place is ${listed(estimate.peaks)}: the estimate.` : `The highest places are ${listed(estimate.peaks)}; their mean, ${found}, is the estimate.`;
            return `${highest} ${end}`;
        }
    }
}

function noteOf({ name }: Scene, step: number): string {
    const parts = step === 0 ? [`only ${name}'s number, not yet in the table`] : [`blue: ${name}'s ones`];
    if (step >= 2) parts.push("hatched: other keys' ones, ringed where both");
    if (step >= 3) parts.push("red frame: flipped");
    if (step >= 4) parts.push(`heavy frame: read for ${name}`);
    return parts.join(" · ");
}

function chartOf(scene: Scene, step: number, width: number): SVGSVGElement {
    const { setting, key, name, cells, bits, estimate, value } = scene;
    const found = estimate.total / estimate.count;
    const read = step >= 4;
    return alpTable(width, {
        title: sentenceOf(scene, step),
        cells,
        places: cells.map((_, i) => placeOf(setting, key, i)),
        key,
        shows: { own: step >= 1, others: step >= 2, flips: step >= 3, path: read, walk: step >= 5, peaks: step >= 6 },
        strip: { bits: read ? bits : bits.map((_, i) => (i < value ? 1 : 0)), name: read ? "read" : name },
        heights: estimate.heights,
        peaks: estimate.peaks,
        estimate: found,
        truth: value,
        words: { truth: `true ${value}`, estimate: `estimate ${number(found)}` },
    });
}
