/** The fitted bins of a tree: a histogram, on which a range that is brushed is read by each estimator. */

import { intervalText, rowText, type AskedRow } from "../answers/asking";
import { WHISKER_ROW, whiskersChart } from "../charts/whiskers";
import { columnGlyph, glyph } from "../charts/glyphs";
import { histogram, Marks, MOST_SINGLE, type Histogram } from "../charts/histogram";
import { numbers as read, texts } from "../protocol/columns";
import { readBar, type Bar } from "../protocol/protocol";
import { exact, maybe, oneOf, shape, table, text, whole, wrong, type Read } from "../protocol/readers";
import { bounds, checkRows, counted, made, type Counted } from "../wording/counted";
import { h } from "../dom/dom";
import { approximate, exactly } from "../numbers/exact";
import type { Drawing, OfPage, ResultView } from "../answers/result_view";
import { cell, headOf } from "../answers/saving";
import { WITHIN } from "../wording/intervals";
import { kindOf, often, shown, spread } from "../wording/words";
import { drawn, numbers, type Sums } from "./histogram";

/** From this width on the names stand beside their bars. */
const BESIDE = 620;
const NAMES = 300;

const TITLES: Partial<Record<string, string>> = { fitted: "fitted tree", subtrees: "subtrees", leaves: "leaves added" };

/** Every estimator's answer on one axis, so that their errors can be compared. */
function estimators(nouns: string, rows: readonly AskedRow[], width: number): Node {
    const beside = width >= BESIDE;
    const near = (text: string): number => approximate(exactly(text));
    const chart = whiskersChart(Math.max(200, beside ? width - NAMES - 16 : width), {
        title: rows.map((row) => `${row.reader}: ${rowText(row)}, ${intervalText(row)}`).join("; "),
        rows: rows.map((row, i) => {
            const value = near(row.value);
            const reach = row.low === null || row.high === null ? 0 : Math.max(value - near(row.low), near(row.high) - value);
            const alone = row.among.startsWith("if ");
            return { name: row.reader, value, one: alone ? reach : 0, all: reach, kinds: [`dp-${row.how}`, `dp-${row.how}`], colour: i + 1, alone };
        }),
        truth: null,
        axis: nouns,
    });
    const names = rows.map((row, i) =>
        h(
            "div",
            { class: `dp-answer dp-series-${i + 1}`, title: row.rule },
            h("strong", { class: "dp-answer-name" }, TITLES[row.reader] ?? row.reader),
            h("span", { class: "dp-hint" }, `${rowText(row)}, ${intervalText(row)}`),
        ),
    );
    const element = h("div", { class: `dp-tree-answers${beside ? " dp-beside" : ""}` }, h("div", {}, ...names), h("div", {}, chart));
    element.style.setProperty("--dp-answer", `${WHISKER_ROW}px`);
    return element;
}

/** Fewer sums than this are no picture: each bin is drawn. */
const FEWEST = 8;

const readStretches = shape({
    stretches: maybe(
        shape({
            size: whole,
            axis: text,
            scale: oneOf("intervals", "categories"),
            labels: texts,
            short_labels: texts,
            values: read,
            bars: table(shape({ one: readBar, all: maybe(readBar) })),
            /** The sum of all bins. */
            whole: exact,
            whole_bars: table(readBar),
        }),
    ),
});

type Tree = Counted & Read<typeof readStretches>;

function treeOf(result: Parameters<typeof counted>[0]): Tree {
    const tree = { ...counted(result), ...readStretches(result.content, "result") };
    const { stretches, betas, values } = tree;
    if (stretches === null) return tree;
    checkRows({ ...stretches, betas });
    for (const beta of betas) if (!stretches.whole_bars.has(beta)) wrong("result.stretches.whole_bars", `given at beta ${beta}`);
    if (Math.ceil(values.length / Number(stretches.size)) !== stretches.values.length) wrong("result.stretches", "sums of all bins");
    return tree;
}

/** The sums of neighbouring bins; none where ends of bins are closed one by one. */
function sumsOf(result: Tree): (Sums & Pick<Drawing, "finding" | "key">) | null {
    if (result.stretches === null || result.asked !== null) return null;
    const { axis, scale, labels, short_labels, values, bars, whole, whole_bars } = result.stretches;
    const size = Number(result.stretches.size);
    const counts: Counted = { ...result, axis, scale, labels, short_labels, values, bars, scales: null, factors: null, strips: null };
    let last: Histogram | null = null;
    const placeOf = (bin: number): number => Math.floor(bin / size);
    return {
        size,
        told(beta, bin) {
            const place = placeOf(bin);
            const { one, all } = bounds(counts, beta, place);
            return { value: `${labels.at(place)}: ${shown(values.at(place))} ${made(result)}`, bars: `this sum alone: ${one}${all === null ? "" : ` · among all ${shown(String(values.length))}: ${all}`}` };
        },
        key(beta) {
            if (last === null) return [];
            const { tooShort, columns } = last;
            const { one, all } = bars.get(beta)!;
            const limited = result.limits === null ? "" : `, for what is ${WITHIN}`;
            const row = (name: string, bar: Bar, of: string): HTMLElement => h("div", {}, h("strong", {}, name), ` ${spread(bar)}, holds for ${of}, ${often(beta)}, ${kindOf(bar)}${limited}`);
            return [
                tooShort ? null : columns ? columnGlyph() : glyph(),
                h(
                    "div",
                    {},
                    tooShort ? h("div", {}, "Both bars are smaller than the marks.") : null,
                    columns ? h("div", {}, h("strong", {}, "dark"), " least to greatest value in a column") : null,
                    row(columns ? "middle" : "thick", one, "any one sum"),
                    all === null ? null : row(columns ? "pale" : "thin with caps", all, `all ${shown(String(values.length))} sums at once`),
                ),
            ].filter((node) => node !== null);
        },
        /** All of it, and where most is. */
        finding(beta) {
            const [top, rest] = [values.top(), result.values.length % size];
            const { one, all } = bars.get(beta)!;
            const among = all === null ? spread(one) : `${spread(all)} with all ${shown(String(values.length))} sums at once`;
            const short = rest === 0 ? "" : ` The last bar has ${shown(String(rest))} bins.`;
            return `${shown(whole)} ${result.nouns} ${made(result)} in all, ${spread(whole_bars.get(beta)!)}. Most in ${labels.at(top)}: ${shown(values.at(top))}, ${among}.${short}`;
        },
        draw(beta, view) {
            last = null;
            if (view.to - view.from < Math.max(MOST_SINGLE, FEWEST * size)) return null;
            const chart = histogram(counts, beta, new Marks(counts, beta), { ...view, title: `${result.title}. ${this.finding(beta)}`, from: placeOf(view.from), to: placeOf(view.to) });
            last = chart;
            return {
                ...chart,
                binAt(x, y) {
                    const place = chart.binAt(x, y);
                    return place === null ? null : Math.max(view.from, place * size);
                },
                probe: (bin) => chart.probe(placeOf(bin)),
            };
        },
    };
}

/** Fitted values as the page has them: rounded, so that no interval is stated. */
function rounded(result: Counted): OfPage {
    const off = result.content["picture_off"];
    const note = `values are rounded and off by at most ${typeof off === "string" ? shown(off) : "0.001"}; exact ones and intervals: ${result.asked?.python || result.python}.to_csv()`;
    return {
        says: "fitted values to a thousandth, no intervals",
        head: headOf(result, null, ["bin", "value"], note),
        rows: result.values.length,
        line: (row) => `${cell(result.labels.at(row))},${result.values.at(row)}`,
    };
}

export const treeView: ResultView<Tree> = {
    kind: "tree",
    read: treeOf,
    table: numbers,
    csv: rounded,
    create(result, around) {
        const sums = sumsOf(result);
        const drawing = drawn(result, around, (rows, _, width) => estimators(result.nouns, rows, width), sums);
        if (sums === null) return drawing;
        /** Of bins that are drawn one by one, the histogram tells its marks. */
        const key = (beta: string): readonly Node[] => {
            const summed = sums.key(beta);
            return summed.length > 0 ? summed : drawing.key(beta);
        };
        return { ...drawing, finding: (beta) => sums.finding(beta), key };
    },
    narrow: () => false,
};
