/** An answer for each part of the data: small multiples on one axis or a row of cells each, and all of it as a table. */

import { ARROWS, within, WITHIN } from "../wording/intervals";
import { tickText } from "../charts/frame";
import { columnGlyph, glyph } from "../charts/glyphs";
import { Marks, MOST_SIDEWAYS, type Mark, type Named } from "../charts/histogram";
import { moved, multiples, type Panel } from "../charts/multiples";
import { cellList, NO_MORE } from "../charts/ranked";
import { numbers, texts, type Numbers } from "../protocol/columns";
import { bounds, made } from "../wording/counted";
import { h, newId, setOptions, setText, show } from "../dom/dom";
import { timed } from "../dom/perf";
import { readBar, type Result } from "../protocol/protocol";
import { exact, flag, list, maybe, shape, table, text, whole, wrong, type Read } from "../protocol/readers";
import type { ResultView } from "../answers/result_view";
import { dataTable, NUMBERS } from "../dom/table";
import { stageOf, type Told, type Walked } from "../answers/walk";
import { fraction, parse, product, subtract, type Fraction } from "../numbers/exact";
import { kindOf, labelText, often, shown, spread, sure } from "../wording/words";

/** The panels that are drawn at once, and the labelled bars in each; of more parts, a reader turns the pages. */
export const [MOST_PANELS, MOST_BARS] = [12, 12];

/** A label this many times larger than all others, of at least so many, is off the axis. */
const [DOMINATES, FEWEST_LABELS] = [4, 3];

/** The data of the panels; an answer of an earlier version, and one too long, has its table alone. */
const readParts = shape({
    each: text,
    names: list(text),
    axis: text,
    noun: text,
    /** How many points a statement about all of one part covers; empty where nobody can say. */
    whole: text,
    /** How many values, or items, each part has. */
    rows: list(whole),
    /** Whether all parts have the bins of one domain, whose labels come once. */
    shared: flag,
    list: maybe(shape({ places: whole, ordered: flag, ended: list(flag) })),
});

const readGrouped = shape({
    heads: list(text),
    rows: list(list(text)),
    /** Whether the cells are released values; else they are labels. */
    figures: flag,
    sentence: text,
    bars: table(shape({ one: readBar, all: maybe(readBar) })),
    parts: maybe(readParts),
});
const readPanels = shape({ scale: text, scales: maybe(list(text)), labels: texts, short_labels: texts, values: numbers, clamp: shape({ low: maybe(exact), high: maybe(exact) }) });

/** The ends of intervals, where these differ from value to value. */
type Ends = Readonly<Record<"low" | "high", Numbers>>;
type Content = Read<typeof readPanels> & Read<typeof readParts> & { starts: number[]; ends: ReadonlyMap<string, Ends> };
type Grouped = Result & Omit<Read<typeof readGrouped>, "parts"> & { drawn: Content | null };

export const groupedView: ResultView<Grouped> = {
    kind: "grouped",
    read(result) {
        const { parts, ...read } = readGrouped(result.content, "result");
        if (read.rows.some((row) => row.length !== read.heads.length)) wrong("result.rows", "a cell under each name");
        return { ...result, ...read, drawn: parts === null ? null : contentOf(result, parts) };
    },
    create(result, around) {
        const { drawn } = result;
        const said = h("p", { class: "dp-hint" }, result.sentence);
        if (drawn === null) return asTable(result, h("div", {}, said, grid(result)));
        const stage = stageOf(named(drawn) ? `Walk the lists of each ${drawn.each}` : `Walk the ${drawn.noun}s of each ${drawn.each}`);
        const pages = pagesOf(drawn, (next) => {
            page = next;
            around.redraw();
        });
        let page = 0;
        let banded = false;
        let cut = false;
        return {
            element: h("div", { class: "dp-parts" }, said, pages.element, stage.element),
            levels: result.bars.size > 0 || drawn.ends.size > 0,
            plain: false,
            draw(beta, width) {
                pages.draw(page);
                const some = panelsOn(drawn, page);
                if (named(drawn)) return stage.draw(lists(result, drawn, some), width);
                const [walked, runTogether, offScale] = bars(result, drawn, some, beta, width);
                [banded, cut] = [runTogether, offScale];
                stage.draw(walked, width);
            },
            finding: (beta) => findingOf(result, drawn, beta),
            key: (beta) => keyOf(result, drawn, beta, banded, cut),
        };
    },
    table: grid,
};

/** Values that are not drawn have their table, and the error of any one. */
function asTable(result: Grouped, element: HTMLElement): ReturnType<typeof groupedView.create> {
    return { element, levels: result.bars.size > 0, plain: false, draw: () => undefined, finding: (beta) => errors(result, beta), key: () => [] };
}

function contentOf(result: Result, parts: Read<typeof readParts>): Content {
    const read = readPanels(result.content, "result");
    const content = result.content as Record<string, unknown>;
    const starts = [0];
    for (const rows of parts.rows) starts.push(starts.at(-1)! + Number(rows));
    const count = starts.at(-1)!;
    if (parts.rows.length !== parts.names.length) wrong("result.parts.rows", "one number for each part");
    if (parts.shared && parts.rows.some((rows) => Number(rows) !== read.labels.length || read.short_labels.length !== read.labels.length)) wrong("result.labels", "those of each part");
    if (!parts.shared && read.labels.length !== count) wrong("result.labels", "a label for each row");
    if (parts.list !== null && parts.list.ended.length !== parts.names.length) wrong("result.parts.list.ended", "one for each part");
    if (read.values.length !== count && !(parts.list !== null && read.values.length === 0)) wrong("result.values", "a value for each row");
    const ends = new Map<string, Ends>();
    for (const beta of result.betas)
        for (const among of ["one", "all"]) {
            if (!Object.hasOwn(content, `${among}_low ${beta}`)) continue;
            const column = (side: string): Numbers => numbers(content[`${among}_${side} ${beta}`], `result.${among}_${side} ${beta}`);
            const found = { low: column("low"), high: column("high") };
            if (found.low.length !== count || found.high.length !== count) wrong(`result.${among}_low ${beta}`, "an end for each value");
            ends.set(`${among} ${beta}`, found);
        }
    return { ...read, ...parts, starts, ends };
}

// --- pages -------------------------------------------------------------------------------------------------------

const panelsOn = ({ names }: Content, page: number): number[] => Array.from({ length: Math.min(MOST_PANELS, names.length - page * MOST_PANELS) }, (_, at) => page * MOST_PANELS + at);

/** Which parts are on show, where there are more than one picture holds. */
function pagesOf(drawn: Content, turn: (page: number) => void): { element: HTMLElement; draw(page: number): void } {
    const count = Math.ceil(drawn.names.length / MOST_PANELS);
    const id = newId();
    const select = h("select", { id, onchange: (event: Event) => timed(event, () => turn(Number(select.value))) });
    setOptions(
        select,
        Array.from({ length: count }, (_, page) => {
            const some = panelsOn(drawn, page);
            return { value: String(page), label: `${some[0]! + 1} to ${some.at(-1)! + 1}: ${drawn.names[some[0]!]!} …` };
        }),
        "0",
    );
    const step = (words: string, by: number): HTMLButtonElement =>
        h("button", { type: "button", class: "dp-button", onclick: (event: Event) => timed(event, () => turn(Number(select.value) + by)) }, words);
    const [back, on] = [step("Earlier", -1), step("Later", 1)];
    const told = h("span", { class: "dp-hint", role: "status" });
    const element = h("div", { class: "dp-map-of" }, h("label", { for: id }, "On show"), select, back, on, told);
    show(element, count > 1);
    return {
        element,
        draw(page) {
            select.value = String(page);
            [back.disabled, on.disabled] = [page === 0, page === count - 1];
            setText(told, `of ${shown(String(drawn.names.length))}${named(drawn) ? "" : ", all on one axis"}`);
        },
    };
}

// --- bars --------------------------------------------------------------------------------------------------------

/** Lists whose items have no values. */
const named = ({ list: found, values }: Content): boolean => found !== null && values.length === 0;

/** Bars stand over the bins of a domain, but for a few names, beside which they lie. */
const stands = ({ shared, scale, labels }: Content): boolean => shared && !(["categories", "product", "keys"].includes(scale) && labels.length <= MOST_SIDEWAYS);

const rowsOf = ({ starts }: Content, part: number): number[] => Array.from({ length: starts[part + 1]! - starts[part]! }, (_, at) => starts[part]! + at);

const labelAt = (drawn: Content, part: number, row: number): string => labelText(drawn, drawn.labels.at(drawn.shared ? row - drawn.starts[part]! : row));

/** A value in words, in the digits that its own interval supports. */
function told({ bars }: Grouped, { values, ends }: Content, row: number, beta: string): string {
    const bar = bars.get(beta)?.one.value ?? halfOf(ends.get(`one ${beta}`), row);
    const value = values.at(row);
    return bar !== null && parse(value) !== null ? sure(value, bar) : /^-?\d+$/.test(value) ? shown(value) : tickText(Math.round(10 * values.near(row)) / 10);
}

function halfOf(ends: Ends | undefined, row: number): Fraction | null {
    const [low, high] = [parse(ends?.low.at(row) ?? ""), parse(ends?.high.at(row) ?? "")];
    return low === null || high === null ? null : product(subtract(high, low), fraction(1n, 2n));
}

/** The marks of all rows at one level. */
function marksOf({ bars, limits }: Grouped, drawn: Content, beta: string): (row: number) => Mark {
    if (bars.size > 0) {
        const marks = new Marks({ bars, clamp: drawn.clamp, values: drawn.values, limits }, beta);
        return (row) => marks.at(row);
    }
    const [one, all] = [drawn.ends.get(`one ${beta}`), drawn.ends.get(`all ${beta}`)];
    const between = (ends: Ends | undefined, row: number): Mark["one"] => {
        const value = drawn.values.near(row);
        if (ends === undefined) return { low: value, high: value, lowCut: true, highCut: true };
        return { low: ends.low.near(row), high: ends.high.near(row), lowCut: false, highCut: false, lowOpen: limits?.low === false, highOpen: limits?.high === false };
    };
    return (row) => {
        const own = between(one, row);
        return { value: drawn.values.near(row), one: own, all: all === undefined ? { ...own, lowCut: true, highCut: true } : between(all, row), strips: [], around: "" };
    };
}

function bars(result: Grouped, drawn: Content, some: readonly number[], beta: string, width: number): [Walked, banded: boolean, cut: boolean] {
    const mark = marksOf(result, drawn, beta);
    const standing = stands(drawn);
    const rows = some.map((part) => rowsOf(drawn, part).slice(0, standing ? Infinity : MOST_BARS));
    let [low, high] = [0, 1];
    for (let row = 0; row < drawn.values.length; row += 1) {
        const { value, all, one } = mark(row);
        [low, high] = [Math.min(low, value, all.low, one.low), Math.max(high, value, all.high, one.high)];
    }
    const most = standing ? high : scaleEnd(drawn, (row) => mark(row).all.high, high);
    const own = result.bars.get(beta);
    const written = (row: number): string => `${told(result, drawn, row, beta)}${own !== undefined && mark(row).value > most ? ` ${spread(own.one)}` : ""}`;
    const panels = some.map((part, at): Panel => {
        const more = drawn.starts[part + 1]! - drawn.starts[part]! - rows[at]!.length;
        return {
            name: drawn.names[part]!,
            marks: rows[at]!.map(mark),
            labels: standing ? [] : rows[at]!.map((row) => labelAt(drawn, part, row)),
            texts: standing ? [] : rows[at]!.map(written),
            rest: more > 0 ? `${shown(String(more))} more in the table` : drawn.list?.ended[part] === true ? `${NO_MORE} no more` : "",
        };
    });
    const axis: Named | null = standing ? { axis: drawn.axis, scale: drawn.scale as Named["scale"], scales: drawn.scales, sparse: false, short_labels: drawn.short_labels } : null;
    const found = multiples({ panels, axis, low, high: most, nouns: result.nouns, title: `${result.title}. ${findingOf(result, drawn, beta)}`, teaching: result.teaching !== null }, width);
    const toldAt = (at: number): Told => {
        const [panel, place] = found.place(at);
        return toldOf(result, drawn, some[panel]!, rows[panel]![place]!, beta);
    };
    return [{ ...found, told: toldAt }, found.banded, most < high];
}

/** The end of the axis of lying bars: a label so much larger than all others that nobody would see them is off it. */
function scaleEnd(drawn: Content, end: (row: number) => number, high: number): number {
    const labels = new Map<string, number>();
    drawn.names.forEach((_, part) => {
        for (const row of rowsOf(drawn, part)) {
            const name = labelAt(drawn, part, row);
            labels.set(name, Math.max(labels.get(name) ?? 0, end(row)));
        }
    });
    const [first = high, second = high] = [...labels.values()].sort((a, b) => b - a);
    return labels.size >= FEWEST_LABELS && second > 0 && first > DOMINATES * second ? second : high;
}

function toldOf(result: Grouped, drawn: Content, part: number, row: number, beta: string): Told {
    const value = `${drawn.names[part]!}, ${labelAt(drawn, part, row)}: ${told(result, drawn, row, beta)} ${made(result)}`;
    const { one, all } = intervalsOf(result, drawn, row, beta);
    const among = all === null ? "" : ` · among all${drawn.whole === "" ? "" : ` ${drawn.whole}`} of this ${drawn.each}: ${all}`;
    return { value, bars: one === null ? "" : `this ${drawn.noun} alone: ${one}${among}` };
}

function intervalsOf({ bars, limits }: Grouped, drawn: Content, row: number, beta: string): { one: string | null; all: string | null } {
    if (bars.size > 0) return bounds({ bars, clamp: drawn.clamp, values: drawn.values, limits }, beta, row);
    const between = (ends: Ends | undefined): string | null => {
        if (ends === undefined) return null;
        const half = halfOf(ends, row);
        return within(sure(ends.low.at(row), half, -1), sure(ends.high.at(row), half, 1), limits);
    };
    return { one: between(drawn.ends.get(`one ${beta}`)), all: between(drawn.ends.get(`all ${beta}`)) };
}

// --- lists -------------------------------------------------------------------------------------------------------

/** A row of cells for each part's list, in its order, with ⊥ where there were no more. */
function lists(result: Grouped, drawn: Content, some: readonly number[]): Walked {
    const { places, ordered, ended } = drawn.list!;
    const items = some.map((part) => rowsOf(drawn, part).map((row) => labelAt(drawn, part, row)));
    const rows = some.map((part, at) => {
        const name = drawn.names[part]!;
        const cells = cellList({ items: items[at]!, maxItems: Number(places), ended: ended[part]!, ordered }, name, false);
        return h("div", { class: "dp-part" }, h("strong", { title: name }, name), cells);
    });
    const element = h("div", { class: "dp-part-lists", role: "group", "aria-label": result.title }, ...rows);
    const marks = rows.flatMap((row, panel) => [...row.querySelectorAll<HTMLElement>(".dp-cell:not(.dp-unused)")].map((cell, at) => ({ cell, panel, at })));
    const sizes = some.map((_, panel) => marks.filter((mark) => mark.panel === panel).length);
    const box = (mark: number): ReturnType<Walked["box"]> => {
        const [{ left: x, top: y }, { left, right, top, bottom }] = [element.getBoundingClientRect(), marks[mark]!.cell.getBoundingClientRect()];
        return { left: left - x - 2, right: right - x + 2, top: top - y - 2, bottom: bottom - y + 2 };
    };
    return {
        element,
        count: marks.length,
        box,
        at(x, y) {
            const found = marks.findIndex((_, mark) => {
                const { left, right, top, bottom } = box(mark);
                return x >= left && x <= right && y >= top && y <= bottom;
            });
            return found < 0 ? null : found;
        },
        move: (key, from) => moved(key, from, ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"], sizes, 1),
        told(mark) {
            const { panel, at } = marks[mark]!;
            const [name, item] = [drawn.names[some[panel]!]!, items[panel]![at]];
            if (item === undefined) return { value: `${name}: ${NO_MORE} no more`, bars: "That does not say that nothing else is there.", hint: "" };
            return { value: `${name}${ordered ? `, rank ${at + 1}` : ""}: ${item}`, bars: "", hint: "" };
        },
    };
}

// --- words -------------------------------------------------------------------------------------------------------

function findingOf(result: Grouped, drawn: Content, beta: string): string {
    if (named(drawn)) {
        const words = drawn.list!.ordered ? "Ranks from left to right." : "The order within a row says nothing.";
        return drawn.list!.ended.includes(true) ? `${words} ${NO_MORE}: no more; that does not say that nothing else is there.` : words;
    }
    if (drawn.values.length === 0) return "Nothing is shown in any part.";
    const top = drawn.values.top();
    const part = drawn.starts.findLastIndex((start) => start <= top && start < drawn.values.length);
    return `Most ${result.nouns} at ${drawn.names[part]!}, ${labelAt(drawn, part, top)}: ${told(result, drawn, top, beta)} ${made(result)}.`;
}

/** The error of any one value: the same in every part. */
function errors({ bars, limits }: Grouped, beta: string): string {
    const bar = bars.get(beta);
    const truth = limits === null ? "the true count" : `what is ${WITHIN}`;
    return bar === undefined ? "" : `Any one value is within ${spread(bar.one)} of ${truth}, ${often(beta)}.`;
}

function keyOf({ bars, limits }: Grouped, drawn: Content, beta: string, banded: boolean, cut: boolean): Node[] {
    if (drawn.values.length === 0) return [];
    const own = bars.get(beta);
    const every = `all ${drawn.whole === "" ? `${drawn.noun}s` : drawn.whole} of one ${drawn.each} at once`;
    const size = (bar: Read<typeof readBar> | null | undefined): string => (bar ? ` ${spread(bar)}` : "");
    const how = (bar: Read<typeof readBar> | null | undefined): string => (bar ? ` (${kindOf(bar)})` : "");
    const [one, all] = [own !== undefined || drawn.ends.has(`one ${beta}`), own === undefined ? drawn.ends.has(`all ${beta}`) : own.all !== null];
    if (!one) return [];
    const [first, second] = banded ? ["middle", "pale"] : ["thick", "thin with caps"];
    return [
        banded ? columnGlyph() : glyph(),
        h(
            "div",
            {},
            h("div", {}, h("strong", {}, first), `${size(own?.one)}, holds for any one ${drawn.noun}, ${often(beta)}${how(own?.one)}`),
            all ? h("div", {}, h("strong", {}, second), `${size(own?.all)}, holds for ${every}, ${often(beta)}${how(own?.all)}`) : h("div", {}, `no bar holds for all ${drawn.noun}s at once`),
            cut ? h("div", {}, "▸ is off the scale, which leaves room for the others: its number stands beside it.") : null,
            limits === null ? null : h("div", {}, `For what is ${WITHIN}. ${banded ? "" : ARROWS}`),
        ),
    ];
}

function grid({ heads, rows, figures }: Grouped): HTMLElement {
    const columns = heads.map((name, at) => ({ name, figures: figures && at > 0 }));
    return dataTable(NUMBERS, columns, rows.length, (row) => [...rows[row]!]);
}
