/** Sorted counts: the fit with its pooled blocks, what was drawn, and where each rank and all ranks lie. */

import { endCells, endColumns, within, WITHIN } from "../wording/intervals";
import { asker, type Words } from "../answers/asking";
import { drawIsotonic, type Step } from "../charts/isotonic";
import { numbers, type Numbers, type Texts } from "../protocol/columns";
import { h } from "../dom/dom";
import { approximate, exactly, format, fraction, type Fraction } from "../numbers/exact";
import { picker } from "../answers/picking";
import { readBar, type Result } from "../protocol/protocol";
import { flag, maybe, shape, table, text, whole, wrong, type Read } from "../protocol/readers";
import type { OfPage, ResultView } from "../answers/result_view";
import { headOf } from "../answers/saving";
import { dataTable, NUMBERS } from "../dom/table";
import { kindOf, MINUS, often, shown } from "../wording/words";

const [TALL, LOW, NARROW] = [300, 220, 460];
const PICKS: Words = {
    rows: "ranks",
    one: "Rank",
    hint: "Drag over ranks to add them up: 1 to 10 are the ten largest counts. Click two to compare them, or name both ends.",
    second: "Click another rank, or name it, to compare the two.",
};
/** One mark for so many stretches of ranks at most. */
const STRETCHES = 600;

const readRanks = shape({
    noisy: numbers,
    starts: numbers,
    sums: numbers,
    ranks: whole,
    sentence: text,
    remark: text,
    bands: table(shape({ one_crossed: maybe(flag), all_crossed: maybe(flag), supremum: maybe(readBar) })),
});

/** The ends of the intervals at one level, for one rank and for all. */
type Ends = Readonly<Record<"one_low" | "one_high" | "all_low" | "all_high", Numbers>>;
type Ranks = Result & Read<typeof readRanks> & { ends: ReadonlyMap<string, Ends> };

export const ranksView: ResultView<Ranks> = {
    kind: "ranks",
    read(result) {
        const body = readRanks(result.content, "result");
        const content = result.content as Record<string, unknown>;
        const size = Number(body.ranks);
        const column = (name: string): Numbers => {
            const found = numbers(content[name], `result.${name}`);
            return found.length === size ? found : wrong(`result.${name}`, "one number for each rank");
        };
        if (body.noisy.length !== size || body.starts.length !== body.sums.length || body.starts.length === 0) wrong("result", "an answer about ranks");
        for (let block = 0; block < body.starts.length; block += 1) {
            const [start, before] = [body.starts.near(block), block === 0 ? -1 : body.starts.near(block - 1)];
            if (!(start > before && start < size) || (block === 0 && start !== 0)) wrong("result.starts", "blocks in order");
        }
        const told = result.betas.filter((beta) => Object.hasOwn(content, `one_low ${beta}`));
        const ends = new Map(
            told.map((beta) => [beta, { one_low: column(`one_low ${beta}`), one_high: column(`one_high ${beta}`), all_low: column(`all_low ${beta}`), all_high: column(`all_high ${beta}`) }]),
        );
        return { ...result, ...body, ends };
    },
    create(result, around) {
        const asking = asker({ ...result, labels: places(result.noisy.length) }, around, () => picks.mark(), [], undefined, PICKS);
        const picks = picker(() => asking, true);
        const element = h("div", { class: "dp-ranks" }, picks.element, asking?.element);
        let level: [string, number] = [result.beta, 640];
        return {
            element,
            levels: result.ends.size > 0,
            plain: false,
            draw(beta, width) {
                const [size, ends] = [result.noisy.length, result.ends.get(beta)];
                const every = Math.ceil(size / STRETCHES);
                const chart = drawIsotonic(width, width < NARROW ? LOW : TALL, {
                    title: `${result.title}. ${finding(result)}`,
                    size,
                    truth: null,
                    noisy: stretches(result.noisy, every),
                    every,
                    fitted: blocks(result).map(({ start, length, value }) => ({ start, length, value: approximate(value) })),
                    bands:
                        ends === undefined
                            ? []
                            : [
                                  { kind: "dp-thin dp-bound", low: steps(ends.all_low, every, 1), high: steps(ends.all_high, every, 0) },
                                  { kind: "dp-medium dp-bound", low: steps(ends.one_low, every, 1), high: steps(ends.one_high, every, 0) },
                              ],
                    falls: [],
                    axis: "rank, the largest count first",
                });
                level = [beta, width];
                picks.draw(chart.element, {
                    rowAt: (x) => chart.at(x),
                    place: (from, to) => ({ left: chart.left(from), top: chart.top, width: chart.left(to + 1) - chart.left(from), height: chart.bottom - chart.top }),
                });
                asking?.draw(beta, width);
            },
            heed: () => asking?.draw(...level),
            close: () => asking?.close(),
            finding: () => finding(result),
            key: (beta) => [keyOf(result, beta)],
        };
    },
    table: ranksTable,
    csv: written,
};

/** Ranks as they are counted: from 1. */
const places = (length: number): Texts => ({ length, at: (row) => String(row + 1) });

/** The blocks of the fit, rank 1 first, with their exact means. */
function blocks({ starts, sums, noisy }: Ranks): { start: number; length: number; value: Fraction }[] {
    return Array.from({ length: starts.length }, (_, block) => {
        const start = starts.near(block);
        const length = (block + 1 < starts.length ? starts.near(block + 1) : noisy.length) - start;
        const { n, d } = exactly(sums.at(block));
        return { start, length, value: fraction(n, d * BigInt(length)) };
    });
}

/** One step for each stretch: the value at its last rank (1) or its first (0), so that bands grow no narrower. */
function steps(values: Numbers, every: number, last: 0 | 1): Step[] {
    return Array.from({ length: Math.ceil(values.length / every) }, (_, i) => {
        const start = i * every;
        const length = Math.min(every, values.length - start);
        const at = Array.from({ length }, (__, k) => values.near(start + k));
        return { start, length, value: last === 1 ? Math.min(...at) : Math.max(...at) };
    });
}

function stretches(values: Numbers, every: number): [number, number][] {
    const [lows, highs] = [steps(values, every, 1), steps(values, every, 0)];
    return lows.map(({ value }, i) => [value, highs[i]!.value]);
}

function finding({ sentence, starts, noisy }: Ranks): string {
    const count = starts.length;
    return `${sentence} Fitted: ${shown(String(count))} ${count === 1 ? "block" : "blocks"} of equal values among ${shown(String(noisy.length))} ranks.`;
}

function keyOf(result: Ranks, beta: string): HTMLElement {
    const band = result.bands.get(beta);
    return h(
        "div",
        {},
        h("div", {}, h("strong", {}, "line"), " fitted, flat where ranks were pooled; dots or strokes: as drawn"),
        result.ends.size > 0 && h("div", {}, h("strong", {}, "inner band"), ` any one rank, ${often(beta)}; `, h("strong", {}, "outer band"), " all ranks at once (both proved bounds, from this answer)"),
        band?.supremum && h("div", {}, `Without a look at the answer: all ranks within ±${shown(band.supremum.value)} of the fit (${kindOf(band.supremum)}).`),
        band?.all_crossed === true && h("div", {}, "⚠ The outer band is empty somewhere: the noise was beyond what it allows for."),
        band?.one_crossed === true && h("div", {}, "The inner band is empty at some ranks: each of its intervals may fail by itself."),
        result.limits !== null && h("div", {}, `Both bands hold for what is ${WITHIN}; of what was asked their upper ends are open.`),
        h("div", {}, result.remark),
    );
}

const ends = ({ limits }: Ranks, low: Numbers, high: Numbers, rank: number): string => within(signed(low.at(rank)), signed(high.at(rank)), limits);
const signed = (value: string): string => shown(value).replace("-", MINUS);

/** Each rank with its fitted value, exactly, and both its intervals, in the columns of `to_csv`. */
function written(result: Ranks, beta: string): OfPage {
    const found = result.ends.get(beta);
    const all = blocks(result);
    let at = 0;
    return {
        says: "fitted values and intervals",
        head: headOf(result, found === undefined ? null : beta, ["rank", "value", ...(found === undefined ? [] : ["", "_all"].flatMap((ending) => endColumns(result.limits, ending)))], result.sentence),
        rows: result.noisy.length,
        line(rank) {
            while (all[at]!.start > rank) at -= 1;
            while (all[at]!.start + all[at]!.length <= rank) at += 1;
            const cells = found === undefined ? [] : [endCells(result.limits, found.one_low.at(rank), found.one_high.at(rank)), endCells(result.limits, found.all_low.at(rank), found.all_high.at(rank))];
            return [String(rank + 1), format(all[at]!.value), ...cells.flat()].join(",");
        },
    };
}

function ranksTable(result: Ranks, beta: string): HTMLElement {
    const found = result.ends.get(beta);
    const all = blocks(result);
    const columns = [
        { name: "rank", figures: true },
        { name: "fitted, exactly", figures: true },
        { name: "as drawn", figures: true },
        ...(found === undefined ? [] : [{ name: "this rank alone", figures: true }, { name: "all at once", figures: true }]),
    ];
    let at = 0;
    return dataTable(NUMBERS, columns, result.noisy.length, (rank) => {
        while (all[at]!.start > rank) at -= 1;
        while (all[at]!.start + all[at]!.length <= rank) at += 1;
        return [
            shown(String(rank + 1)),
            signed(format(all[at]!.value)),
            signed(result.noisy.at(rank)),
            ...(found === undefined ? [] : [ends(result, found.one_low, found.one_high, rank), ends(result, found.all_low, found.all_high, rank)]),
        ];
    });
}
