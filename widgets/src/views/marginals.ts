/** Tables over some of several columns: one at a time as a map with its totals, and all of them as a list. */

import { WITHIN } from "../wording/intervals";
import { heatKey, heatMap, hollow, type Reach } from "../charts/heat_map";
import { numbers } from "../protocol/columns";
import { readFactor } from "../wording/counted";
import { h, newId, setOptions, show } from "../dom/dom";
import { approximate, exactly, format, fraction } from "../numbers/exact";
import { timed } from "../dom/perf";
import { readBar, type Bar, type Result } from "../protocol/protocol";
import { exact, list, shape, table, text, whole, wrong, type Read } from "../protocol/readers";
import type { ResultView } from "../answers/result_view";
import { dataTable, NUMBERS } from "../dom/table";
import { CAUGHT, inRows, largestCell, stageOf, type Told, type Walked } from "../answers/walk";
import { kindOf, labelText, MINUS, often, shown, spread, sure } from "../wording/words";

/** Fitted cells come in hundredths. */
const HUNDREDTHS = 100;

const readMarginals = shape({
    factors: list(readFactor),
    /** Of each table the places of its columns. */
    tables: list(list(whole)),
    /** In hundredths, and rounded to whole counts. */
    fitted: numbers,
    whole: numbers,
    /** The readings that it has, the fitted cells first; and the cells in whole numbers of at least 0, where that is offered. */
    readers: list(text),
    nonnegative: numbers,
    /** Of each table how far one cell may be off. */
    radii: table(shape({ one: list(readBar), all: list(readBar) })),
    /** Of each column what the fitted tables add up to, and how far one such sum may be off; empty where no map needs it. */
    margins: list(shape({ whole: list(exact), radii: table(readBar) })),
    sentence: text,
});

type Marginals = Result & Read<typeof readMarginals>;

const WHOLE = "nonnegative whole";
const READERS: Record<string, string> = { fitted: "fitted: unbiased, with error bars", [WHOLE]: "whole numbers from 0: biased, without error bars" };

export const marginalsView: ResultView<Marginals> = {
    kind: "marginals",
    read(result) {
        const body = readMarginals(result.content, "result");
        const places = body.factors.map((_, place) => String(place));
        if (body.tables.length === 0 || !body.tables.every((some) => some.every((place) => places.includes(place)))) wrong("result.tables", "tables of its columns");
        if (body.nonnegative.length !== (body.readers.includes(WHOLE) ? body.fitted.length : 0)) wrong("result.nonnegative", "a number for each cell");
        if (body.margins.length !== places.length) wrong("result.margins", "one for each column");
        for (const { one, all } of body.radii.values()) if (one.length !== body.tables.length || all.length !== body.tables.length) wrong("result.radii", "one for each table");
        for (const { length } of [body.fitted, body.whole]) if (startsOf(body).at(-1) !== length) wrong("result.fitted", "a number for each cell");
        return { ...result, ...body };
    },
    create(result, around) {
        const starts = startsOf(result);
        const pair = result.tables.findIndex((columns) => columns.length === 2);
        let [at, beta, width] = [Math.max(0, pair), result.beta, 640];
        let reader = result.readers[0] ?? "fitted";
        const [id, readerId] = [newId(), newId()];
        const select = h("select", { id, onchange: (event: Event) => timed(event, () => turn(Number(select.value))) });
        setOptions(
            select,
            result.tables.map((_, i) => ({ value: String(i), label: nameOf(result, i) })),
            String(at),
        );
        const readAs = h("select", { id: readerId, onchange: (event: Event) => timed(event, () => read(readAs.value)) });
        setOptions(
            readAs,
            result.readers.map((value) => ({ value, label: READERS[value] ?? value })),
            reader,
        );
        const plot = h("div", { class: "dp-plot" });
        const picked = result.tables.length > 1 ? h("div", { class: "dp-map-of" }, h("label", { for: id }, "Table of"), select) : null;
        const chosen = result.readers.length > 1 ? h("div", { class: "dp-map-of" }, h("label", { for: readerId }, "Read as"), readAs) : null;
        const stage = stageOf("Walk the cells");
        const element = h("div", { class: "dp-marginals" }, picked, chosen, stage.element, plot);
        let mapped = false;

        function turn(to: number): void {
            at = to;
            around.redraw();
        }

        function read(as: string): void {
            reader = as;
            around.redraw();
        }

        function render(): void {
            const whole = reader === WHOLE;
            const map = mapOf(result, starts, at, beta, width, whole);
            mapped = map !== null && !whole;
            show(stage.element, map !== null);
            stage.draw(map, width);
            const reaches = whole ? [] : reachesOf(result, at, beta);
            const below = map === null ? cellsOf(result, starts, at, beta, whole) : h("div", { class: "dp-map-key" }, largestCell(map, map.values), heatKey(map.values, Math.min(width, 520), errorOf(result, at, beta), reaches));
            plot.replaceChildren(below, h("p", { class: "dp-hint" }, whole ? BIASED : errors(result, at, beta)));
        }

        return {
            element,
            levels: result.radii.size > 0,
            plain: false,
            draw(level, room) {
                [beta, width] = [level, room];
                render();
            },
            finding: () => `${shown(String(result.tables.length))} ${result.tables.length === 1 ? "table" : "tables that agree"}; ${shown(String(result.fitted.length))} cells.`,
            key: () => (reader === WHOLE ? [] : [h("div", {}, mapped ? hollow() : null, h("div", {}, result.sentence))]),
        };
    },
    table: (result, beta) => {
        const starts = startsOf(result);
        const tables = starts.slice(1).map((_, table) => table);
        const { one, all } = result.radii.get(beta)!;
        const counted = result.limits === null ? "" : `, ${WITHIN}`;
        const columns = [{ name: "cell" }, { name: `${result.teaching === null ? "released" : "drawn"}, fitted${counted}`, figures: true }, { name: "this cell alone", figures: true }, { name: "among all", figures: true }];
        return dataTable(NUMBERS, columns, result.fitted.length, (row) => {
            const table = tables.findLast((one_) => starts[one_]! <= row)!;
            return [labelOf(result, table, row - starts[table]!), valueOf(result, row, one[table]!), spread(one[table]!), spread(all[table]!)];
        });
    },
};

function startsOf({ tables, factors }: Pick<Marginals, "tables" | "factors">): number[] {
    const starts = [0];
    for (const places of tables) starts.push(starts.at(-1)! + places.reduce((cells, place) => cells * factors[Number(place)]!.labels.length, 1));
    return starts;
}

const nameOf = ({ tables, factors }: Marginals, table: number): string => tables[table]!.map((place) => factors[Number(place)]!.name).join(" × ") || "total";

const toldOf = ({ factors }: Marginals, place: string): string[] => {
    const { labels, scale } = factors[Number(place)]!;
    return labels.map((one) => labelText({ scale }, one));
};

/** The label of a cell in each column of its table. */
function digitsOf({ tables, factors }: Marginals, table: number, cell: number): number[] {
    const digits: number[] = [];
    for (const place of [...tables[table]!].reverse()) {
        const size = factors[Number(place)]!.labels.length;
        digits.unshift(cell % size);
        cell = Math.floor(cell / size);
    }
    return digits;
}

function labelOf(result: Marginals, table: number, cell: number): string {
    const digits = digitsOf(result, table, cell);
    return result.tables[table]!.map((place, i) => `${result.factors[Number(place)]!.name} = ${toldOf(result, place)[digits[i]!]}`).join(" · ") || "total";
}

/** Hundredths in the digits that this half-width supports. */
const told = (hundredths: string, half: string): string => sure(format(fraction(BigInt(hundredths), 100n)), half);

/** As the kernel says it of such cells. */
const BIASED = "No interval is stated: whole numbers that are never below 0 are biased, full cells downward and empty ones upward; plan.biases says how much. All tables have one total and the same counts of each single column.";

const signed = (count: string): string => shown(count).replace("-", MINUS);

const valueOf = (result: Marginals, row: number, bar: Bar): string => told(result.fitted.at(row), bar.value);

function errors(result: Marginals, at: number, beta: string): string {
    const { one, all } = result.radii.get(beta)!;
    const name = nameOf(result, at);
    return `${name === "total" ? "The total" : `Any one cell of ${name}`} is within ${spread(one[at]!)} of ${result.limits === null ? "the true count" : `what is ${WITHIN}`}, ${often(beta)} (${kindOf(one[at]!)}); with all cells of all tables at once ${spread(all[at]!)} (${kindOf(all[at]!)}).`;
}

interface Drawn extends Walked {
    written: boolean;
    values: number[];
}

/** The half-width of any one cell of a table. */
const errorOf = ({ radii }: Marginals, at: number, beta: string): number => approximate(exactly(radii.get(beta)!.one[at]!.value));

/** Both half-widths of a table's cells on the scale of the colour. */
function reachesOf(result: Marginals, at: number, beta: string): Reach[] {
    const { one, all } = result.radii.get(beta)!;
    const near = ({ value }: Bar): number => approximate(exactly(value));
    return [
        { near: near(one[at]!), text: `any one cell ${spread(one[at]!)}`, thick: true },
        { near: near(all[at]!), text: `all cells of all tables at once ${spread(all[at]!)}`, thick: false },
    ];
}

/** A table of two columns as a map, the longer one down; nothing for other tables, and where there is no room. */
function mapOf(result: Marginals, starts: readonly number[], at: number, beta: string, width: number, whole: boolean): Drawn | null {
    const places = result.tables[at]!;
    if (places.length !== 2) return null;
    const [first, second] = places as [string, string];
    const [rows, columns] = [toldOf(result, first), toldOf(result, second)];
    const turned = columns.length > rows.length;
    const reach = Number(result.radii.get(beta)!.one[at]!.value);
    const rowOf = (i: number): number => (turned ? (i % rows.length) * columns.length + Math.floor(i / rows.length) : i);
    const cells = Array.from({ length: rows.length * columns.length }, (_, i) => {
        const row = rowOf(i);
        if (whole) return { near: result.nonnegative.near(starts[at]! + row), text: signed(result.nonnegative.at(starts[at]! + row)), open: false };
        const near = result.fitted.near(starts[at]! + row) / HUNDREDTHS;
        return { near, text: signed(result.whole.at(starts[at]! + row)), open: Math.floor(near) - reach <= 0 };
    });
    const side = (place: string, labels: string[]): { name: string; labels: string[]; totals: string[] } => {
        const { whole: rounded, radii } = result.margins[Number(place)]!;
        const sums = whole ? sumsOf(result, starts[at]!, rows.length, columns.length, place === first) : rounded;
        const bar = whole ? undefined : radii.get(beta);
        return { name: result.factors[Number(place)]!.name, labels, totals: sums.map((one) => (bar === undefined ? signed(one) : `${signed(one)} ${spread(bar)}`)) };
    };
    const [down, across] = turned ? [side(second, columns), side(first, rows)] : [side(first, rows), side(second, columns)];
    const values = cells.map(({ near }) => near);
    const map = heatMap({ down, across, cells, error: errorOf(result, at, beta), title: `${result.title}: ${nameOf(result, at)}. ${whole ? BIASED : errors(result, at, beta)}` }, width);
    if (map === null) return null;
    const { one, all } = result.radii.get(beta)!;
    const cameAs = result.teaching === null ? "released" : "drawn";
    const labelled = (i: number): string => labelOf(result, at, rowOf(i)).replaceAll(" · ", ", ");
    const told = (i: number): Told =>
        whole
            ? { value: `${labelled(i)}: ${cells[i]!.text} ${cameAs}, as a whole number`, bars: "No interval is stated, for such numbers are biased.", hint: "" }
            : {
                  value: `${labelled(i)}: ${valueOf(result, starts[at]! + rowOf(i), result.radii.get(beta)!.one[at]!)} ${cameAs}, fitted`,
                  bars: `this cell alone: ${spread(one[at]!)}, ${often(beta)} · among all: ${spread(all[at]!)}${result.limits === null ? "" : `; for what is ${WITHIN}`}`,
                  hint: cells[i]!.open ? "Its own interval holds 0: whether it is empty is not settled." : CAUGHT,
              };
    return { ...map, count: cells.length, move: inRows(map.columns, cells.length), told, values };
}

/** The sums of whole cells of a table, by its rows or by its columns. */
function sumsOf({ nonnegative }: Marginals, start: number, rows: number, columns: number, byRow: boolean): string[] {
    const sums = Array.from({ length: byRow ? rows : columns }, () => 0n);
    for (let i = 0; i < rows * columns; i += 1) sums[byRow ? Math.floor(i / columns) : i % columns]! += BigInt(nonnegative.at(start + i));
    return sums.map(String);
}

/** The cells of one table as a list. */
function cellsOf(result: Marginals, starts: readonly number[], at: number, beta: string, whole: boolean): HTMLElement {
    const places = result.tables[at]!;
    const bar = result.radii.get(beta)!.one[at]!;
    const names = places.length === 0 ? ["cell"] : places.map((place) => result.factors[Number(place)]!.name);
    const columns = [...names.map((name) => ({ name })), { name: "count", figures: true }, ...(whole ? [] : [{ name: result.limits === null ? "off by at most" : `off by at most, from what is ${WITHIN}`, figures: true }])];
    return dataTable(`Cells of ${nameOf(result, at)}`, columns, starts[at + 1]! - starts[at]!, (cell) => {
        const digits = digitsOf(result, at, cell);
        const labels = places.length === 0 ? ["total"] : places.map((place, i) => toldOf(result, place)[digits[i]!]!);
        const row = starts[at]! + cell;
        return whole ? [...labels, shown(result.nonnegative.at(row))] : [...labels, valueOf(result, row, bar), spread(bar)];
    });
}
