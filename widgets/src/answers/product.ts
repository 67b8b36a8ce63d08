/**
 * Counts of two columns: as a map, as bars beside each other, or as a list of bars, whichever a reader picks.
 *
 * Only the list can be brushed, so that sums and comparisons are asked for there.
 */

import { groupedBars, MOST_BESIDE, MOST_GROUPS, seriesKey } from "../charts/grouped_bars";
import { endsOf, heatMap, heatKey, hollow, isEven, MOST_COLUMNS, MOST_ROWS, type Reach } from "../charts/heat_map";
import { Marks } from "../charts/histogram";
import { among, bounds, findingOf, made, valueText, type Counted } from "../wording/counted";
import { h, show } from "../dom/dom";
import { approximate, exactly } from "../numbers/exact";
import { switchOf } from "../dom/looks";
import type { Bar } from "../protocol/protocol";
import type { Drawing, Surroundings } from "./result_view";
import { CAUGHT, inRows, largestCell, stageOf, type Told, type Walked } from "./walk";
import { kindOf, labelText, often, shown, spread } from "../wording/words";

type Factors = NonNullable<Counted["factors"]>;
export type Product = Counted & { factors: Factors };

const [MAP, BESIDE, LIST] = ["Map", "Grouped bars", "List"] as const;
type Look = typeof MAP | typeof BESIDE | typeof LIST;

/** Whether it is of two columns of several bins each, and how it can be drawn besides the list. */
export function looksOf({ factors }: Counted): Look[] {
    if (factors === null) return [];
    const [few, many] = factors.map(({ labels }) => labels.length).sort((a, b) => a - b) as [number, number];
    if (few < 2) return [];
    return [...(few <= MOST_COLUMNS && many <= MOST_ROWS ? [MAP] : []), ...(few <= MOST_BESIDE && many <= MOST_GROUPS ? [BESIDE] : [])];
}

/**
 * The three of them, and the choice between.
 *
 * list  draws the list, once it is picked
 * key   what error bars mean, in words
 */
export function productOf(result: Product, around: Surroundings, looks: readonly Look[], list: () => Drawing, key: (beta: string) => readonly Node[]): Drawing {
    let look: Look = looks[0]!;
    let listed: Drawing | null = null;
    const cells = new Cells(result);
    const stage = stageOf("Walk the cells");
    const scale = h("div", { class: "dp-map-key" });
    const drawn = h("div", {}, stage.element, scale);
    const place = h("div", {});
    const choice = switchOf("Drawn as", [...looks, LIST], (name) => {
        look = name as Look;
        around.redraw();
    });
    show(choice, true);
    const element = h("div", { class: "dp-product" }, choice, drawn, place);

    function draw(beta: string, room: number): void {
        show(drawn, look !== LIST);
        show(place, look === LIST);
        if (look === LIST) {
            if (listed === null) {
                listed = list();
                place.replaceChildren(listed.element);
            }
            return listed.draw(beta, room);
        }
        const title = `${result.title}. ${findingOf(result, beta)}`;
        const map = look === MAP ? cells.map(beta, room, title) : null;
        stage.draw(look === MAP ? map : cells.beside(beta, room, title), room);
        const largest = map === null ? null : largestCell(map, map.values);
        scale.replaceChildren(...(largest === null ? [] : [largest]), ...(look === MAP ? [heatKey(cells.values, Math.min(room, 520), errorOf(result, beta), reachesOf(result, beta))] : []));
    }

    return {
        element,
        levels: true,
        plain: false,
        draw,
        finding: (beta) => findingOf(result, beta),
        key(beta) {
            if (look === LIST && listed !== null) return listed.key(beta);
            return look === MAP ? [mapKey(result, beta, cells.values)] : [...key(beta), besideKey(cells.series)];
        },
        heed: () => listed?.heed?.(),
        close: () => listed?.close?.(),
    };
}

/** The first column, or the second. */
type Side = 0 | 1;

/** The cells of two columns, by their places in each. */
class Cells {
    readonly values: number[];
    readonly #result: Product;
    readonly #names: [string, string];
    readonly #labels: [string[], string[]];
    /** The places of the longer column, and of the other one. */
    readonly #long: Side;

    constructor(result: Product) {
        const told = result.factors.map((factor) => factor.labels.map((one) => labelText(factor, one)));
        this.#result = result;
        this.#names = result.factors.map(({ name }) => name) as [string, string];
        this.#labels = told as [string[], string[]];
        this.#long = this.#labels[1].length > this.#labels[0].length ? 1 : 0;
        this.values = Array.from({ length: result.values.length }, (_, row) => result.values.near(row));
    }

    get series(): { name: string; labels: readonly string[] } {
        const short = this.#long === 0 ? 1 : 0;
        return { name: this.#names[short], labels: this.#labels[short] };
    }

    /** The row of the answer for a bin of the longer column and one of the other. */
    #row(long: number, short: number): number {
        const [first, second] = this.#long === 0 ? [long, short] : [short, long];
        return first * this.#labels[1].length + second;
    }

    #told(row: number, beta: string, hint = CAUGHT): Told {
        const [result, size] = [this.#result, this.#labels[1].length];
        const { one, all } = bounds(result, beta, row);
        const places = [Math.floor(row / size), row % size];
        const name = this.#names.map((column, at) => `${column} = ${this.#labels[at as Side][places[at]!]!}`).join(", ");
        const bar = result.bars.get(beta)!.one;
        return {
            value: `${name}: ${valueText(result, beta, row)} ${made(result)}, ${spread(bar)}, ${often(beta)}`,
            bars: `this cell alone: ${one}${all === null ? "" : ` · among all ${among(result)}: ${all}`}`,
            hint,
        };
    }

    map(beta: string, room: number, title: string): (Walked & { written: boolean; values: number[] }) | null {
        const [result, marks] = [this.#result, new Marks(this.#result, beta)];
        const [down, across]: [Side, Side] = this.#long === 0 ? [0, 1] : [1, 0];
        const columns = this.#labels[across].length;
        const rows = this.values.map((_, cell) => this.#row(Math.floor(cell / columns), cell % columns));
        const open = rows.map((row) => isOpen(marks, this.values[row]!));
        const side = (at: Side): { name: string; labels: string[]; totals: string[] } => ({ name: this.#names[at], labels: this.#labels[at], totals: [] });
        const cells = rows.map((row, cell) => ({ near: this.values[row]!, text: shown(result.values.at(row)), open: open[cell]! }));
        const map = heatMap({ down: side(down), across: side(across), cells, error: errorOf(result, beta), title }, room);
        if (map === null) return null;
        const told = (cell: number): Told => this.#told(rows[cell]!, beta, open[cell]! ? "Its own interval holds 0: whether it is empty is not settled." : CAUGHT);
        return { ...map, count: rows.length, move: inRows(columns, rows.length), told, values: cells.map(({ near }) => near) };
    }

    /** Left and right walk bars, up and down the same bin of the next group. */
    beside(beta: string, room: number, title: string): Walked {
        const [result, marks] = [this.#result, new Marks(this.#result, beta)];
        const factor = result.factors[this.#long]!;
        const each = this.series.labels.length;
        const labels = this.#labels[this.#long];
        const chart = groupedBars(
            {
                groups: { axis: factor.name, scale: factor.scale === "intervals" ? "categories" : factor.scale, scales: null, sparse: false, short_labels: { length: labels.length, at: (row) => labels[row]! } },
                series: this.series.labels,
                mark: (group, series) => marks.at(this.#row(group, series)),
                nouns: result.nouns,
                title,
                teaching: result.teaching !== null,
            },
            room,
        );
        const count = this.values.length;
        const walk = inRows(each, count);
        return {
            element: chart.element,
            count,
            box: (mark) => chart.box(Math.floor(mark / each), mark % each),
            at(x, y) {
                const found = chart.at(x, y);
                return found === null ? null : found[0] * each + found[1];
            },
            move: (key, from) => (key === "ArrowRight" ? Math.min(count - 1, from + 1) : key === "ArrowLeft" ? Math.max(0, from - 1) : key === "Home" ? 0 : key === "End" ? count - 1 : walk(key, from)),
            told: (mark) => this.#told(this.#row(Math.floor(mark / each), mark % each), beta),
        };
    }
}

/** Whether the interval of one cell holds 0. */
function isOpen(marks: Marks, value: number): boolean {
    const { low, high } = marks.one(value);
    return low <= 0 && high >= 0;
}

const errorOf = (result: Product, beta: string): number => approximate(exactly(result.bars.get(beta)!.one.value));

/** Both half-widths on the scale of the colour. */
function reachesOf(result: Product, beta: string): Reach[] {
    const { one, all } = result.bars.get(beta)!;
    const near = (bar: Bar): number => approximate(exactly(bar.value));
    return [
        { near: near(one), text: `any one cell ${spread(one)}`, thick: true },
        ...(all === null ? [] : [{ near: near(all), text: `all ${among(result)} at once ${spread(all)}`, thick: false }]),
    ];
}

function mapKey(result: Product, beta: string, values: readonly number[]): HTMLElement {
    const { one } = result.bars.get(beta)!;
    const marks = new Marks(result, beta);
    return h("div", {}, values.some((value) => isOpen(marks, value)) ? hollow() : null, h("div", {}, `${isEven(endsOf(values, errorOf(result, beta))) ? "Lines below the colours: how far a cell may be off, on the same scale" : "Lighter colours span fewer values. Below them: how far a cell may be off"}, ${often(beta)} (${kindOf(one)}).`));
}

function besideKey({ name, labels }: { name: string; labels: readonly string[] }): HTMLElement {
    const signs = seriesKey(labels);
    return h("div", { class: "dp-series-key" }, h("strong", {}, name), ...labels.map((words, at) => h("span", {}, signs[at]!, words)));
}
