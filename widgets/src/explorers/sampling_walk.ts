/** A label drawn by a sampler of bits, step by step: why products of bits take as many people as labels do. */

import { labelWalkChart, LANES } from "../charts/label_walk";
import { h } from "../dom/dom";
import { figure } from "../dom/figure";
import { above, figures, powers } from "../wording/powers";
import type { Run, SamplingSheet, Walk } from "../protocol/sampling_sheets";
import { stepper } from "../dom/stepper";
import { dataTable } from "../dom/table";
import { MINUS, shown } from "../wording/words";

const STEPS = ["People", "Special label", "Scatter", "Thin", "Noisy shares", "Bits", "Label"];

const COMING = "Asking the kernel…";

export interface WalkPane {
    readonly element: HTMLElement;
    /** The words on the bars and on the step. */
    draw(sheet: SamplingSheet, crowd: number, seed: number, wide: readonly [number, number]): { told: string; said: string };
    tables(sheet: SamplingSheet, crowd: number, seed: number): HTMLElement[];
}

/** `turned` is called when another step is on show. */
export function walkPane(turned: () => void): WalkPane {
    const steps = stepper(turned);
    const [lanes, bars] = [figure("From people to a label"), figure("How far off is each step?")];
    const element = h("div", {}, steps.element, steps.sentence, h("div", { class: "dp-pair" }, lanes.element, bars.element));

    return {
        element,
        draw(sheet, crowd, seed, [left]) {
            const { walk } = sheet;
            if (walk === null) {
                for (const one of [lanes, bars]) one.plot.replaceChildren();
                lanes.note.textContent = bars.note.textContent = "";
                const said = steps.draw(STEPS, COMING);
                return { told: COMING, said };
            }
            const [run, off] = [walk.runs[crowd]![seed]!, walk.off[crowd]!];
            const sentence = sentenceOf(walk, run, expected(sheet, crowd), steps.at);
            const said = steps.draw(STEPS, sentence);
            lanes.note.textContent = `teaching seeds; ε = ${walk.epsilon}, δ = ${walk.delta} for the whole, half for the special label. Violet: made-up people, and their chances · blue: bits, noisy shares, and the chance of the label that is drawn`;
            lanes.plot.replaceChildren(labelWalkChart(left, { title: sentence, walk, run, law: off.law, step: steps.at }));
            bars.note.textContent = "total variation distance, on average over people and noise; ≤: a bound, the others exact for rows without a cut";
            bars.plot.replaceChildren(barsOf(walk, off));
            const told = `With ${shown(expected(sheet, crowd))} people on average the label that is drawn is off by ${figures(off.label, 3)}: the bits by ${figures(off.bits, 3)}, and turning them into a label by ${figures(off.map, 3)}.`;
            return { told, said };
        },
        tables({ walk }, crowd, seed) {
            if (walk === null) return [];
            const [run, off] = [walk.runs[crowd]![seed]!, walk.off[crowd]!];
            const column = (place: number): number | null => (run.special === null || place === run.special ? null : place - (place > run.special ? 1 : 0));
            const cell = (values: readonly number[], place: number, text: (value: number) => string = String): string => {
                const at = column(place);
                return at === null ? "—" : text(values[at]!);
            };
            return [
                dataTable(
                    "Labels drawn by bits",
                    ["label", "chance among people", "people", "put aside", "chance to be found special", "cells hit", "bits left", "noisy share", "bit drawn", "chance to be drawn"].map((name, i) => ({ name, figures: i > 0 })),
                    walk.names.length,
                    (i) => [
                        `${walk.names[i]!}${i === run.label ? ", drawn" : ""}`,
                        powers(walk.truth[i]!),
                        String(run.people[i]!),
                        String(run.looked[i]!),
                        powers(run.chances[i]!),
                        cell(run.hit, i),
                        cell(run.ones, i),
                        cell(run.shares, i, short),
                        cell(run.row, i),
                        powers(off.law[i]!),
                    ],
                ),
                dataTable(
                    "How far off each step is",
                    ["step", "distance"].map((name, i) => ({ name, figures: i > 0 })),
                    4,
                    (i) => partsOf(off)[i]!.slice(0, 2) as [string, string],
                ),
            ];
        },
    };
}

const short = (value: number): string => figures(Math.round(value * 1000) / 1000, 3).replace("-", MINUS);
const expected = (sheet: SamplingSheet, crowd: number): string => sheet.axes.find(({ name }) => name === "crowd")!.grid[crowd]!;

const partsOf = ({ missed, bits, map, label }: Walk["off"][number]): [string, string, number][] => [
    ["special label missed", `≤ ${above(missed)}`, missed],
    ["bits", figures(bits, 3), bits],
    ["bits to label", figures(map, 3), map],
    ["label, in all", figures(label, 3), label],
];

function barsOf(walk: Walk, off: Walk["off"][number]): HTMLElement {
    const parts = partsOf(off);
    const most = Math.max(...parts.map(([, , value]) => value));
    return h(
        "div",
        { class: "dp-bars", role: "img", "aria-label": `Total variation distance: ${parts.map(([name, text]) => `${name} ${text}`).join("; ")}` },
        ...parts.map(([name, text, value]) => {
            const bar = h("div", { class: "dp-bar dp-bar-thick" });
            bar.style.width = `${Math.max(0.5, (100 * value) / most)}%`;
            return h("div", { class: "dp-bar-row dp-trap-row" }, h("span", {}, name), h("div", {}, bar, h("span", { class: "dp-hint" }, text)));
        }),
        h("p", { class: "dp-hint" }, `Bits to label: |(1 ${MINUS} a/3)³ ${MINUS} (1 ${MINUS} a)| with a = ${walk.a}, whoever draws the bits; more people do not make it smaller. The label, in all, holds where the special one was found.`),
    );
}

const listed = (names: readonly string[]): string => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);

const peopleText = (count: number): string => (count === 1 ? "1 person was" : `${count} people were`);

/** One plain sentence for each step. */
function sentenceOf(walk: Walk, run: Run, crowd: string, step: number): string {
    const { names, truth } = walk;
    const came = run.people.reduce((sum, count) => sum + count, 0);
    const aside = run.looked.reduce((sum, count) => sum + count, 0);
    const others = names.filter((_, place) => place !== walk.special && truth[place]! > 0);
    const nobody = names.filter((_, place) => truth[place] === 0);
    if (step === LANES.people)
        return `${shown(String(came))} people came, a Poisson number with mean ${shown(crowd)}. Most have label ${names[walk.special]}; ${others.length === 1 ? `${others[0]} has the rest` : `${listed(others)} are equally common`}, and nobody has ${listed(nobody)}. Which labels these are is not known.`;
    if (run.special === null) return `Only ${peopleText(aside)} put aside, too few to find the special label among: ${names[run.label]}, the last label, is given.`;
    const special = names[run.special]!;
    switch (step) {
        case LANES.looked:
            return `${peopleText(aside)} put aside by coins. The special label is picked among theirs, each with a chance that grows with e^(ε/4 · count): ${special} wins.`;
        case LANES.cells:
            return `Everybody else, but those with ${special}, falls into one of ${shown(String(run.rows))} rows at random and hits the cell of their label. A replaced person moves two rows at most, so the sampler of bits gets ε/4.`;
        case LANES.thinned:
            return `Cells are hit too often, so each 1 stays with chance p / (1 ${MINUS} e^(${MINUS}2p)), p = a/3. As a Poisson number of people came, the rows are now independent people of bits: each bit is 1 with the chance of its label.`;
        case LANES.shares:
            return "The sampler of bits adds noise to the share of ones in each column. A share below 0 counts as 0; one above 0 may come from noise alone.";
        case LANES.row: {
            const ones = names.filter((_, place) => place !== run.special && run.row[place - (place > run.special! ? 1 : 0)] === 1);
            return ones.length === 0 ? "It draws one row of bits with these chances: all are 0." : `It draws one row of bits with these chances: 1 for ${listed(ones)}, 0 for all others.`;
        }
        default:
            return run.row.some((bit) => bit === 1)
                ? `One of the labels with a 1 is chosen, each with the same chance: ${names[run.label]} is drawn${truth[run.label] === 0 ? ", a label that nobody has" : ""}.`
                : `No bit is 1, which stands for the special label: ${names[run.label]} is drawn.`;
    }
}
