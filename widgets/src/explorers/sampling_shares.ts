/** Noisy shares are no chances: two ways of making some of them, on a triangle, and what each does to a label nobody has. */

import { biasChart } from "../charts/biases";
import { simplexChart, type Mark } from "../charts/simplex";
import { h, newId } from "../dom/dom";
import { figure } from "../dom/figure";
import { timed } from "../dom/perf";
import { figures, powers } from "../wording/powers";
import type { SamplingPoint } from "../protocol/sampling_sheets";
import { dataTable } from "../dom/table";
import { MINUS } from "../wording/words";

type Way = "scaled" | "moved";

const NAMES = ["A", "B", "C: nobody"];
const WAYS: readonly { way: Way; name: string; words: string; series: number }[] = [
    { way: "scaled", name: "divided", words: "divide what is above 0 by its sum", series: 3 },
    { way: "moved", name: "nearest", words: "move to the nearest chances", series: 1 },
];

export interface SharesPane {
    readonly element: HTMLElement;
    /** The words on the pictures. */
    draw(point: SamplingPoint, seed: number, wide: readonly [number, number]): string;
    tables(point: SamplingPoint, seed: number): HTMLElement[];
}

/** `turned` is called when the other way is chosen. */
export function sharesPane(turned: () => void): SharesPane {
    let chosen: Way = "scaled";
    const group = newId();
    const [triangle, biases] = [figure("Noisy shares, and what is made of them"), figure("How far off each chance is")];
    const pick = h(
        "fieldset",
        { class: "dp-measures" },
        h("legend", {}, "Make chances"),
        ...WAYS.map(({ way, words }) =>
            h(
                "label",
                {},
                h("input", {
                    type: "radio",
                    name: group,
                    value: way,
                    checked: way === chosen,
                    onchange: (event: Event) =>
                        timed(event, () => {
                            chosen = way;
                            turned();
                        }),
                }),
                words,
            ),
        ),
    );
    const stats = h("div", { class: "dp-stats" });
    biases.element.append(stats);
    triangle.note.before(pick);
    const element = h("div", { class: "dp-pair" }, triangle.element, biases.element);

    return {
        element,
        draw(point, seed, [left, right]) {
            const { projections } = point;
            const drawn = projections.draws[seed]!;
            const n = Number(point.at.get("n"));
            const noisy = drawn.noisy.map((count) => count / n);
            const sum = noisy.reduce((total, share) => total + share, 0);
            const marks: Mark[] = [
                { name: "shares of made-up people", shares: projections.shares, kind: "public" },
                { name: "noisy", shares: noisy, kind: "noisy" },
                ...WAYS.map(({ way, name, series }) => ({ name, shares: drawn[way], kind: "way" as const, series, chosen: way === chosen })),
            ];
            const own = WAYS.find(({ way }) => way === chosen)!;
            const told = `With this noise the shares are ${drawn.noisy.map((count) => short(count / n)).join(", ")} and add up to ${short(sum)}. ${own.way === "scaled" ? "Divided" : "Moved to the nearest chances"}, they are ${drawn[chosen].map(short).join(", ")}. Over all noise the label that nobody has is drawn with chance ${known(point)}${powers(projections.scaled[2]!)} if divided and ${known(point)}${powers(projections.moved[2]!)} if moved.`;
            triangle.note.textContent = `n = ${point.at.get("n")}, ε = ${point.at.get("epsilon")}. Shaded: all chances that are nearest in L1, the distance that the proof needs; both ways end there`;
            triangle.plot.replaceChildren(simplexChart(left, { title: told, names: NAMES, marks, area: drawn.closest }));
            biases.note.textContent = `over all noise, ${projections.how === "exact" ? "exact" : "computed to within 0.001"}: the chance of each label less its share`;
            biases.plot.replaceChildren(
                biasChart(
                    right,
                    `Over all noise: ${NAMES.map((name, i) => `${name} ${WAYS.map((one) => `${one.name} ${signed(off(point, one.way, i))}`).join(", ")}`).join("; ")}`,
                    NAMES.map((name, i) => ({ name, values: WAYS.map(({ way, series }) => ({ series, off: off(point, way, i), chosen: way === chosen })) })),
                    "chance less true share",
                ),
            );
            stats.replaceChildren(
                ...WAYS.map(({ way, name, series }) =>
                    h("div", { class: `dp-stat dp-series-${series}` }, h("div", { class: "dp-stat-name" }, `C, ${name}`), h("div", { class: "dp-readout" }, `${known(point)}${powers(projections[way][2]!)}`)),
                ),
            );
            return told;
        },
        tables(point, seed) {
            const { projections } = point;
            const drawn = projections.draws[seed]!;
            return [
                dataTable(
                    "Noisy shares and chances",
                    ["label", "true share", "noisy count", "divided", "nearest", "chance, divided", "chance, nearest"].map((name, i) => ({ name, figures: i > 0 })),
                    NAMES.length,
                    (i) => [NAMES[i]!, short(projections.shares[i]!), String(drawn.noisy[i]!).replace("-", MINUS), short(drawn.scaled[i]!), short(drawn.moved[i]!), `${known(point)}${powers(projections.scaled[i]!)}`, `${known(point)}${powers(projections.moved[i]!)}`],
                ),
            ];
        },
    };
}

const short = (share: number): string => figures(Math.round(share * 1000) / 1000, 3);
const off = ({ projections }: SamplingPoint, way: Way, i: number): number => projections[way][i]! - projections.shares[i]!;
const signed = (value: number): string => `${value > 0 ? "+" : ""}${short(value)}`;
const known = ({ projections }: SamplingPoint): string => (projections.how === "exact" ? "" : "≈ ");
