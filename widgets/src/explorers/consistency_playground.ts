/** Figure 2, editable: made-up counts, what is asked about them with noise, and the nearest values that agree. */

import { axisSlider } from "./axis_slider";
import { boxesChart, type TreeBox } from "../charts/boxes";
import { isotonicChart } from "../charts/isotonic";
import type { Component } from "../dom/component";
import { brokenSums, childrenOf, depthOf, falls, fitTree, pool, pooled, spanOf, squaredError, totals, treeOf, type Block, type Tree } from "../numbers/consistency";
import { h, newId, setAttribute, setOptions, setText, show, watchWidth } from "../dom/dom";
import { add, approximate, format, fraction, type Fraction } from "../numbers/exact";
import { standing, type Explorer } from "./explorer";
import { figure } from "../dom/figure";
import { timed } from "../dom/perf";
import type { ConsistencyPoint, ConsistencySheet } from "../protocol/sheets";
import { capital, MINUS, shown, ungrouped } from "../wording/words";

const [SORTED, EDITED] = ["sorted", "edited"];
const TALL = 240;
/** Fractions with more digits are told as a number nearby, with the fraction behind it. */
const [LONGEST, SHORT, BOXED] = [24, 12, 7];
/** The most sentences about inconsistencies that are written out. */
const TOLD = 8;
const WHOLE = /^[-\u2212]?\d{1,15}$/;

interface Fit {
    /** The tree, or null where the counts are sorted. */
    tree: Tree | null;
    names: string[];
    truth: Fraction[];
    noisy: Fraction[];
    fitted: Fraction[];
    blocks: Block[];
    /** The inconsistencies among the noisy values, in words, and the rows that they concern. */
    broken: { words: string; row: number }[];
    sums: ReadonlyMap<number, Fraction>;
    sensitivity: string;
}

export function consistencyPlayground(store: Explorer<ConsistencySheet>): Component {
    const [titleId, presetId, structureId, countsId, faultId, hintId] = [newId(), newId(), newId(), newId(), newId(), newId()];
    let counts: bigint[] = [];
    let structure = "2";
    let preset = "";
    /** The printed noise of the preset is in force, and not that of a seed. */
    let printed = false;
    /** Noisy values that were typed, by row. */
    let typed = new Map<number, bigint>();
    let refused = "";
    /** The counts as the box showed them last: whoever has typed something else in it is left alone. */
    let stood = "";
    /** The cell that holds what is no number for it, which stays there, and why. */
    let wrongCell: { cell: HTMLInputElement; words: string } | null = null;

    const badge = h("span", { class: "dp-chip dp-violet" });
    const presets = h("select", { id: presetId, onchange: (event: Event) => timed(event, () => take(presets.value)) });
    const structures = h("select", {
        id: structureId,
        onchange: (event: Event) =>
            timed(event, () => {
                structure = structures.value;
                printed &&= structure === SORTED || structure === "2";
                typed = new Map();
                redraw();
            }),
    });
    const box = h("input", {
        id: countsId,
        type: "text",
        class: "dp-exact-text",
        autocomplete: "off",
        spellcheck: "false",
        "aria-describedby": `${faultId} ${hintId}`,
        onchange: (event: Event) => timed(event, () => edit(box.value)),
        onkeydown: (event: KeyboardEvent) => {
            if (event.key !== "Escape") return;
            if (refused !== "") event.stopPropagation(); // it takes back what was typed, and closes nothing
            refused = "";
            box.value = counts.join(", ");
            redraw();
        },
    });
    const fault = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
    const countsHint = h("p", { id: hintId, class: "dp-hint" });
    const slider = axisSlider(store, "epsilon", true);
    const noiseWords = h("p", { class: "dp-hint" });
    const again = h("button", { type: "button", class: "dp-button dp-draw", onclick: (event: Event) => timed(event, () => drawAgain()) }, "New noise");
    const note = h("p", { class: "dp-fault", role: "alert", hidden: true });
    const sentence = h("p", { class: "dp-quiet" });
    const picture = figure("");
    const verdict = h("p", { class: "dp-finding" });
    const broken = h("ul", { class: "dp-lines-said dp-broken" });
    const sums = h("dl", { class: "dp-sums" });
    const body = h("tbody");
    const cellFaultId = newId();
    const cellFault = h("p", { id: cellFaultId, class: "dp-fault", role: "alert" });
    const cellFaultLine = h("tr", { class: "dp-fault-row" }, h("td", { colspan: 4 }, cellFault));
    const caption = "Counts: true, noisy and fitted";
    const table = h(
        "div",
        { class: "dp-table-box", tabindex: 0, role: "region", "aria-label": caption },
        h(
            "table",
            { class: "dp-table dp-consistency" },
            h("caption", { class: "dp-offscreen" }, caption),
            h("thead", {}, h("tr", {}, ...["count", "true", "noisy", "fitted"].map((name, i) => h("th", { scope: "col", class: i === 0 ? null : "dp-figures" }, name)))),
            body,
        ),
    );
    const element = h(
        "section",
        { class: "dp-explorer dp-plan dp-playground", "aria-labelledby": titleId },
        h("div", { class: "dp-pane-head" }, h("h3", { id: titleId, class: "dp-screen-title" }, "Consistency playground"), badge, h("span", { class: "dp-chip dp-free" }, "free")),
        sentence,
        h(
            "div",
            { class: "dp-axes dp-five" },
            h("div", { class: "dp-field" }, h("label", { for: presetId }, "Start from"), presets),
            h("div", { class: "dp-field" }, h("label", { for: structureId }, "What is asked"), structures),
            h("div", { class: "dp-field" }, h("label", { for: countsId }, "Counts"), box, fault, countsHint),
            slider.element,
            h("div", { class: "dp-field" }, h("span", { class: "dp-field-name" }, "Noise"), again, noiseWords),
        ),
        note,
        picture.element,
        h("div", { class: "dp-verdict" }, verdict, broken),
        h("div", { class: "dp-panels dp-beside" }, table, h("figure", { class: "dp-figure" }, h("figcaption", {}, h("h4", {}, "What the fit gains in this draw")), sums)),
        h("p", { class: "dp-hint" }, h("span", { class: "dp-screen-only" }, "Type another count or another noisy value: the fit follows at once. "), "The fit is by least squares, computed on this page in exact fractions, and costs no privacy beyond the noise. Hay, Rastogi, Miklau, Suciu 2010, Theorems 1 and 3."),
    );
    let width = 828;
    let seen: { point: ConsistencyPoint; seed: string; width: number; state: string } | null = null;
    let rows = { signature: "", cells: [] as Row[] };
    const stop = watchWidth(picture.element, (now) => {
        width = now;
        draw();
    });

    function take(name: string): void {
        const chosen = store.sheet!.presets.find((one) => one.name === name);
        if (chosen === undefined) return;
        counts = chosen.counts.map(BigInt);
        [preset, printed, refused, wrongCell] = [name, chosen.printed !== null, "", null];
        if (printed && structure !== SORTED) structure = "2";
        typed = new Map();
        redraw();
    }

    /** Take a list of counts as it was typed; what is no such list is said, and the last good one stays. */
    function edit(text: string): void {
        const parts = text.split(/[\s,;]+/).filter((part) => part !== "");
        const [most, largest] = [Number(store.sheet!.most), BigInt(store.sheet!.largest)];
        const wrong = parts.find((part) => !/^\d{1,12}$/.test(part) || BigInt(part) > largest);
        refused =
            wrong !== undefined
                ? `A count is a whole number from 0 to ${shown(String(largest))}, got ${wrong.slice(0, 20)}. Type counts like 3, 0, 12. The table is still of the last counts that made sense.`
                : parts.length < 1 || parts.length > most
                  ? `Type from 1 to ${most} counts, got ${parts.length || "none"}. The table is still of the last counts that made sense.`
                  : "";
        if (refused === "") {
            printed &&= parts.length === counts.length;
            counts = parts.map(BigInt);
            typed = new Map();
            wrongCell = null;
            stood = box.value;
        }
        redraw();
    }

    function drawAgain(): void {
        const grid = store.axis("seed")!.grid;
        const seed = store.position.get("seed") ?? grid[0]!;
        typed = new Map();
        if (printed) {
            printed = false;
            redraw();
            return;
        }
        const next = grid[grid.indexOf(seed) + 1];
        if (next !== undefined) store.set("seed", next);
        else store.set("seed", store.kernel.health === "gone" ? grid[0]! : String(Number(seed) + 1));
        redraw();
    }

    /** The state of the screen, from the counts, the noise and what was typed. */
    function fitOf(sheet: ConsistencySheet, point: ConsistencyPoint, seed: string): Fit {
        const tree = structure === SORTED ? null : treeOf(Number(structure), counts.length);
        const sorted = [...counts].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
        const truth = (tree === null ? sorted : totals(tree, counts)).map((value) => fraction(value));
        const sensitivity = String(tree?.height ?? 1);
        const figures = sheet.presets.find(({ name }) => name === preset);
        const said = printed ? figures?.printed?.[tree === null ? "sorted" : "tree"] : undefined;
        const base = figures === undefined || said === undefined ? [] : baseOf(figures.counts.map(BigInt), tree);
        const noise = (row: number): Fraction =>
            said !== undefined && base.length === truth.length ? fraction(BigInt(said[row]!) - base[row]!) : fraction(BigInt(point.noise.get(sensitivity)!.get(seed)![row]!));
        const noisy = truth.map((value, row) => (typed.has(row) ? fraction(typed.get(row)!) : add(value, noise(row))));
        if (tree === null) {
            const blocks = pool(noisy);
            const names = noisy.map((_, i) => `rank ${i + 1}`);
            const wrong = falls(noisy).map((row) => ({ row, words: `${number(noisy[row]!)} stands after ${number(noisy[row - 1]!)}, at ranks ${row} and ${row + 1}` }));
            return { tree, names, truth, noisy, blocks, fitted: pooled(blocks), broken: wrong, sums: new Map(), sensitivity };
        }
        const names = truth.map((_, node) => nodeName(tree, node));
        const wrong = brokenSums(tree, noisy);
        const words = ({ node, sum }: (typeof wrong)[number]): string =>
            `${names[node]!}: ${number(noisy[node]!)} ≠ ${childrenOf(tree, node).map((child) => inSum(noisy[child]!)).join(" + ")} = ${number(sum)}`;
        return {
            tree,
            names,
            truth,
            noisy,
            blocks: [],
            fitted: fitTree(tree, noisy),
            broken: wrong.map((one) => ({ row: one.node, words: words(one) })),
            sums: new Map(wrong.map(({ node, sum }) => [node, sum])),
            sensitivity,
        };
    }

    function redraw(): void {
        seen = null;
        draw();
    }

    function draw(): void {
        const { point, sheet } = store;
        slider.draw();
        standing(element, store);
        setText(note, store.fault ?? "");
        show(note, store.fault !== null);
        if (point === null || sheet === null) return;
        if (preset === "") {
            structure = sheet.start.structure === "tree" ? sheet.start.branching : SORTED;
            const begun = structure;
            take(sheet.start.preset);
            if (structure !== begun) {
                [structure, printed] = [begun, false];
                redraw();
            }
            return;
        }
        const wanted = store.position.get("seed") ?? point.at.get("seed")!;
        const seed = point.noise.get("1")!.has(wanted) ? wanted : point.at.get("seed")!;
        const state = JSON.stringify([preset, counts.map(String), structure, printed, [...typed].map(String), refused]);
        if (seen?.point === point && seen.seed === seed && seen.width === width && seen.state === state) return;
        seen = { point, seed, width, state };
        setText(badge, sheet.badge);
        const edited = sheet.presets.find(({ name }) => name === preset)!.counts.join() !== counts.join();
        const known = sheet.presets.map(({ name, label }) => ({ value: name, label }));
        setOptions(presets, edited ? [{ value: EDITED, label: "counts edited here" }, ...known] : known, edited ? EDITED : preset);
        setOptions(
            structures,
            [...sheet.branchings.map((k) => ({ value: k, label: `tree, ${k} children` })), { value: SORTED, label: "sorted counts" }],
            structure,
        );
        if (refused === "" && (document.activeElement !== box || box.value === stood)) box.value = stood = counts.join(", ");
        setAttribute(box, "aria-invalid", refused === "" ? null : "true");
        setText(fault, refused === "" ? "" : `⚠ ${refused}`);
        show(fault, refused !== "");
        setText(countsHint, `1 to ${sheet.most} whole numbers`);
        const fit = fitOf(sheet, point, seed);
        drawWords(point, fit, seed);
        drawPicture(fit);
        drawRows(fit);
        drawSums(fit);
        store.say(finding(fit));
    }

    function drawWords(point: ConsistencyPoint, fit: Fit, seed: string): void {
        const { tree, sensitivity } = fit;
        const asked = tree === null ? `${countsText(fit.truth.length)} in ascending order` : tree.nodes === 1 ? "one count, which is all there is" : `all ${tree.nodes} sums of a tree over ${countsText(counts.length)}${tree.leaves > counts.length ? `, padded to ${tree.leaves}` : ""}`;
        const touch = tree?.nodes === 1 ? "One record more or less changes it by 1" : tree === null ? "One record more or less changes one count of the sorted list by 1" : `One record more or less changes ${tree.height} of them by 1, one on each level`;
        setText(sentence, `Asked for, with noise on each: ${asked}. ${touch}, so the sensitivity is ${sensitivity}.`);
        const within = shown(point.within.get(sensitivity)!);
        setText(noiseWords, printed ? "as printed in the paper" : `seed ${seed}, so not private; 95 in 100 lie within ±${within}`);
        setText(picture.name, tree === null ? "Sorted counts" : tree.nodes === 1 ? "One noisy count" : `Tree of ${tree.nodes} noisy sums`);
        setText(
            picture.note,
            tree === null
                ? "hatched: true · ○ noisy, ✕ where one falls below the one before · line: fitted, flat where counts were pooled"
                : "in each box the noisy sum and, under it in bold, the fitted one; ✕ marks a noisy sum that its parts contradict",
        );
        const count = fit.broken.length;
        setText(verdict, violations(fit));
        verdict.toggleAttribute("data-broken", count > 0);
        show(broken, count > 0);
        broken.replaceChildren(
            ...fit.broken.slice(0, TOLD).map(({ words }) => h("li", {}, h("span", { class: "dp-wrong", "aria-hidden": "true" }, "✕ "), words)),
            ...(count > TOLD ? [h("li", {}, `and ${count - TOLD} more, marked in the table`)] : []),
        );
    }

    function drawPicture(fit: Fit): void {
        const { tree } = fit;
        if (tree !== null) {
            const boxes: TreeBox[] = fit.noisy.map((noisy, node) => {
                const [first, last] = spanOf(tree, node);
                const sum = fit.sums.get(node);
                return { depth: depthOf(tree, node), first, last, noisy: number(noisy), fitted: forms(fit.fitted[node]!), sum: sum === undefined ? null : number(sum), padding: first >= tree.n };
            });
            const names = Array.from({ length: tree.leaves }, (_, i) => (i < tree.n ? String(i + 1) : "pad"));
            picture.plot.replaceChildren(boxesChart(width, { title: finding(fit), boxes, depths: tree.height, leaves: tree.leaves, names }));
            return;
        }
        const step = (value: Fraction, start: number): { start: number; length: number; value: number } => ({ start, length: 1, value: approximate(value) });
        picture.plot.replaceChildren(
            isotonicChart(width, TALL, {
                title: finding(fit),
                size: fit.truth.length,
                truth: fit.truth.map(step),
                noisy: fit.noisy.map((value) => [approximate(value), approximate(value)] as const),
                every: 1,
                fitted: fit.blocks.map(({ start, length, value }) => ({ start, length, value: approximate(value) })),
                bands: [],
                falls: falls(fit.noisy),
                axis: "rank, the smallest count first",
            }),
        );
    }

    /** The rows stay while their number does, so that a box that is being typed in keeps its place. */
    function drawRows(fit: Fit): void {
        const signature = `${structure} ${counts.length}`;
        if (rows.signature !== signature) {
            wrongCell = null;
            rows = { signature, cells: fit.noisy.map((_, row) => rowOf(row, fit)) };
            body.replaceChildren(...rows.cells.map(({ line }) => line));
        }
        const wrong = new Set(fit.broken.map(({ row }) => row));
        rows.cells.forEach((cells, row) => cells.draw(fit, wrong.has(row)));
        if (wrongCell === null) cellFaultLine.remove();
        else wrongCell.cell.closest("tr")!.after(cellFaultLine);
        setText(cellFault, wrongCell === null ? "" : `⚠ ${wrongCell.words}`);
    }

    interface Row {
        line: HTMLElement;
        draw(fit: Fit, wrong: boolean): void;
    }

    function rowOf(row: number, { tree, names }: Fit): Row {
        const leaf = tree === null ? null : row - (tree.nodes - tree.leaves);
        const editable = leaf !== null && leaf >= 0 && leaf < counts.length;
        const largest = store.sheet!.largest;
        const take = (value: bigint): boolean => {
            if (value < 0n || value > BigInt(largest)) return false;
            counts[leaf!] = value;
            return true;
        };
        const truth = editable ? cellBox(`${names[row]!}, true`, `a whole number from 0 to ${shown(largest)}`, take) : h("span", {});
        const noisy = cellBox(`${names[row]!}, noisy`, "a whole number of at most 15 digits", (value) => (typed.set(row, value), true));
        const mark = h("span", { class: "dp-wrong" });
        const fitted = h("span", {});
        const line = h("tr", {}, h("th", { scope: "row" }, names[row]!), ...[truth, h("span", {}, mark, noisy), fitted].map((cell) => h("td", { class: "dp-figures" }, cell)));
        return {
            line,
            draw(fit, wrong) {
                fill(truth, format(fit.truth[row]!), truth === wrongCell?.cell ? cellFaultId : null);
                fill(noisy, format(fit.noisy[row]!), noisy === wrongCell?.cell ? cellFaultId : null);
                setText(mark, wrong ? "✕ " : "");
                line.toggleAttribute("data-broken", wrong);
                setText(fitted, exactText(fit.fitted[row]!));
            },
        };
    }

    /** A box in the table for a whole number; what is none stays, and why is told under its row. */
    function cellBox(name: string, rule: string, take: (value: bigint) => boolean): HTMLInputElement {
        const cell = h("input", {
            type: "text",
            class: "dp-exact-text dp-cell-box",
            inputmode: "numeric",
            autocomplete: "off",
            "aria-label": name,
            onchange: (event: Event) =>
                timed(event, () => {
                    const text = ungrouped(cell.value);
                    const fits = WHOLE.test(text) && take(BigInt(text.replace(MINUS, "-")));
                    const got = text.slice(0, 20) || "nothing";
                    wrongCell = fits ? null : { cell, words: `${capital(name)}, must be ${rule}, got ${got}. Type one, or press Escape for what stood there.` };
                    redraw();
                }),
            onkeydown: (event: KeyboardEvent) => {
                if (event.key !== "Escape" || (cell.value === cell.defaultValue && wrongCell?.cell !== cell)) return;
                event.stopPropagation();
                cell.value = cell.defaultValue; // as it was drawn last
                if (wrongCell?.cell === cell) wrongCell = null;
                redraw();
            },
        });
        return cell;
    }

    function drawSums(fit: Fit): void {
        const [noisy, fitted] = [squaredError(fit.noisy, fit.truth), squaredError(fit.fitted, fit.truth)];
        const items: [string, string][] = [
            ["squared error, noisy", exactText(noisy, SHORT)],
            ["squared error, fitted", exactText(fitted, SHORT)],
            ["moved by the fit, squared", exactText(squaredError(fit.fitted, fit.noisy), SHORT)],
        ];
        if (fit.tree === null) items.push(["blocks of equal values", `${fit.blocks.length}, made of ${countsText(fit.truth.length)}`]);
        sums.replaceChildren(...items.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    }

    return { element, draw, close: stop };
}

/** The true values of a preset in the shape that is asked: what its printed noise is the noise of. */
const baseOf = (counts: readonly bigint[], tree: Tree | null): bigint[] =>
    tree === null ? [...counts].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)) : tree.k === 2 && tree.n === counts.length ? totals(tree, counts) : [];

function nodeName(tree: Tree, node: number): string {
    const [first, last] = spanOf(tree, node);
    if (first === last) return first < tree.n ? `count ${first + 1}` : `padding ${first + 1}`;
    if (node === 0) return "all";
    return `counts ${first + 1} to ${last + 1}${first >= tree.n ? ", padding" : ""}`;
}

const countsText = (count: number): string => (count === 1 ? "1 count" : `${count} counts`);

/** A whole number on the screen. */
const number = (value: Fraction): string => shown(format(value));
const inSum = (value: Fraction): string => (value.n < 0n ? `(${number(value)})` : number(value));

function near(value: Fraction, places = 2): string {
    const about = approximate(value);
    return shown(String(Number(about.toFixed(Math.abs(about) >= 1000 ? 0 : places)))).replace("-", MINUS);
}

/** A fraction for a box, the longest form first: exactly where that is short, nearly, to the next whole number. */
function forms(value: Fraction): string[] {
    const exact = number(value);
    if (value.d === 1n) return [exact];
    return [...(exact.length <= BOXED ? [exact] : []), `≈ ${near(value)}`, `≈ ${near(value, 0)}`, `≈${near(value, 0)}`];
}

/** A fraction in words: exactly, and what it is near to where that is hard to see. */
function exactText(value: Fraction, longest = LONGEST): string {
    const exact = number(value);
    if (exact.length > longest) return `≈ ${near(value)}`;
    return exact.includes("/") ? `${exact} ≈ ${near(value)}` : exact;
}

/** Write a number into a cell; one with a fault keeps what was typed. */
function fill(cell: HTMLElement, text: string, faultId: string | null): void {
    const words = shown(text);
    if (!(cell instanceof HTMLInputElement)) setText(cell, words);
    else {
        cell.defaultValue = words;
        setAttribute(cell, "aria-invalid", faultId === null ? null : "true");
        setAttribute(cell, "aria-describedby", faultId);
        if (faultId === null && (document.activeElement !== cell || ungrouped(cell.value) === text)) cell.value = words;
        cell.style.setProperty("--dp-figures", String(cell.value.length));
    }
}

function violations({ tree, broken, truth }: Fit): string {
    const count = broken.length;
    if (tree === null) {
        const of = truth.length - 1;
        if (of === 0) return "One count has no order to break.";
        const neighbours = of === 1 ? "1 pair of neighbours" : `${of} pairs of neighbours`;
        return count === 0 ? `Noisy: ${of === 1 ? "the pair of neighbours ascends" : `all ${neighbours} ascend`} already. Fitted: the same values.` : `Noisy: ${count} of ${neighbours} ${count === 1 ? "falls" : "fall"}. Fitted: every pair ascends or is equal.`;
    }
    const of = tree.nodes - tree.leaves;
    if (of === 0) return "One count is all there is: nothing can contradict it.";
    return count === 0
        ? `Noisy: ${of === 1 ? "the one sum holds" : `all ${of} sums hold`} already. Fitted: the same values.`
        : `Noisy: ${of === 1 ? "the one sum does" : `${count} of ${of} sums ${count === 1 ? "does" : "do"}`} not hold. Fitted: every sum holds exactly.`;
}

/** The state of the screen, in a sentence: the picture's title, and what is read out after a change. */
const finding = (fit: Fit): string =>
    `${violations(fit)} Squared error ${near(squaredError(fit.noisy, fit.truth))} noisy, ${near(squaredError(fit.fitted, fit.truth))} fitted.`;
