/** Answers to a list of queries: a row for each, what was drawn, what fits all of them best, and where the truth lies. */

import { arrow } from "../charts/histogram";
import { within } from "../wording/intervals";
import { scaleLinear } from "d3-scale";
import { asker, type Words } from "../answers/asking";
import { bottomAxis, label, line, px, svg, textWidth } from "../charts/frame";
import { numbers, texts } from "../protocol/columns";
import { h, s } from "../dom/dom";
import { approximate, exactly, fraction, product, subtract, type Fraction } from "../numbers/exact";
import { picker } from "../answers/picking";
import { readHow, type Result } from "../protocol/protocol";
import { exact, list, maybe, shape, table, text, wrong, type Read } from "../protocol/readers";
import type { ResultView } from "../answers/result_view";
import { dataTable, NUMBERS } from "../dom/table";
import { kindOf, MINUS, often, shown, sure } from "../wording/words";

const [ROW, TOP] = [44, 8];
const [WIDE, SHARE] = [560, 0.34];

const PICKS: Words = {
    rows: "answers",
    one: "Query",
    hint: "Click two queries to compare their answers, or name them. Or name two bins to add up all from one to the other, where that follows from the answers.",
    second: "Click another query, or name it, to compare the two.",
    apart: true,
};

const readEnds = list(list(exact));
const readQueries = shape({
    labels: texts,
    fitted: texts,
    noisy: numbers,
    about: list(text),
    constraints: list(shape({ text: text, gap: exact })),
    remark: text,
    intervals: table(shape({ one: maybe(readEnds), all: maybe(readEnds) })),
    how: table(shape({ one: readHow, all: readHow })),
});

type Queries = Result & Read<typeof readQueries>;

export const queriesView: ResultView<Queries> = {
    kind: "queries",
    read(result) {
        const body = readQueries(result.content, "result");
        const count = body.labels.length;
        for (const rows of [body.fitted, body.noisy, body.about]) if (rows.length !== count) wrong("result", "one value for each query");
        for (const { one, all } of body.intervals.values())
            for (const ends of [one, all])
                if (ends !== null && (ends.length !== count || ends.some((pair) => pair.length !== 2))) wrong("result.intervals", "two ends for each query");
        for (let row = 0; row < count; row += 1) exact(body.fitted.at(row), "result.fitted");
        return { ...result, ...body };
    },
    create(result, around) {
        const asking = asker(result, around, () => picks.mark(), [], undefined, PICKS);
        const picks = picker(() => asking, false);
        const element = h("div", { class: "dp-queries" }, picks.element, constraints(result), asking?.element);
        let level: [string, number] = [result.beta, 640];
        return {
            element,
            levels: result.intervals.size > 0,
            plain: false,
            draw(beta, width) {
                level = [beta, width];
                const last = result.labels.length - 1;
                picks.draw(picture(result, beta, width), {
                    rowAt: (_, y) => (y < TOP || y >= TOP + ROW * (last + 1) ? null : Math.min(last, Math.floor((y - TOP) / ROW))),
                    place: (from, to) => ({ left: 2, top: TOP + ROW * from, width: width - 4, height: ROW * (to - from + 1) }),
                });
                asking?.draw(beta, width);
            },
            heed: () => asking?.draw(...level),
            close: () => asking?.close(),
            finding: () => finding(result),
            key: (beta) => [keyOf(result, beta)],
        };
    },
    table: queriesTable,
};

const near = (value: string): number => approximate(exactly(value));

function picture(result: Queries, beta: string, width: number): SVGSVGElement {
    const count = result.labels.length;
    const { one, all } = result.intervals.get(beta) ?? { one: null, all: null };
    const how = result.how.get(beta);
    const beside = width >= WIDE;
    const most = Math.floor((width * SHARE) / 6.6);
    const names = Array.from({ length: count }, (_, row) => result.labels.at(row)).map((name) => (beside && name.length > most ? `${name.slice(0, most - 1)}…` : name));
    const told = names.map((_, row) => sure(result.fitted.at(row), one === null ? null : halfOf(one[row]!)) + (one === null ? "" : `, ${between(result, one[row]!)}`));
    const left = beside ? Math.max(...[...names, ...told].map(textWidth)) + 18 : 10;
    const box = { left, right: width - 26, top: TOP, bottom: TOP + ROW * count };
    const ends = [...(one ?? []), ...(all ?? [])].flat().map(near);
    const drawn = Array.from({ length: count }, (_, row) => result.noisy.near(row));
    const x = scaleLinear()
        .domain([Math.min(0, ...drawn, ...ends), Math.max(1, ...drawn, ...ends)])
        .nice()
        .range([box.left, box.right]);
    const ticks = x.ticks(Math.max(2, Math.floor((box.right - box.left) / 90)));
    const chart = svg(width, box.bottom + 42, `${result.title}. ${finding(result)}`, ...ticks.map((tick) => line(x(tick), box.top, x(tick), box.bottom, "dp-grid")), bottomAxis(box, { at: x, values: ticks }, result.nouns));
    for (let row = 0; row < count; row += 1) {
        const middle = box.top + (row + (beside ? 0.5 : 0.72)) * ROW;
        const across = (pair: readonly string[] | undefined, cap: number, kind: string): Node | "" => {
            if (pair === undefined) return "";
            const [a, b] = [x(near(pair[0]!)), x(near(pair[1]!))];
            const caps = cap === 0 ? "" : `M${px(a)} ${px(middle - cap)}v${2 * cap}M${px(b)} ${px(middle - cap)}v${2 * cap}`;
            return s("path", { d: `M${px(a)} ${px(middle)}H${px(b)}${caps}`, class: kind, ...(cap === 0 ? { "stroke-width": 3.4 } : {}) });
        };
        const at = x(drawn[row]!);
        chart.append(
            ...[
                beside ? label(left - 10, middle - 3, names[row]!, "end") : label(left, middle - 16, clipped(names[row]!, width - textWidth(told[row]!) - 12), "start"),
                beside ? label(left - 10, middle + 12, told[row]!, "end", "dp-tick") : label(width - 2, middle - 16, told[row]!, "end", "dp-tick"),
                across(all?.[row], 4, `dp-all dp-${how?.all ?? "exact"}`),
                across(one?.[row], 0, `dp-one dp-${how?.one ?? "exact"}`),
                s("path", { d: `M${px(at - 4)} ${px(middle - 4)}l8 8m0 -8l-8 8`, class: "dp-drawn" }),
                openEnds(result, (all ?? one)?.[row], x, middle),
                s("circle", { cx: px(x(near(result.fitted.at(row)))), cy: px(middle), r: 4, class: "dp-value" }),
            ].filter((node): node is Exclude<typeof node, ""> => node !== ""),
        );
    }
    return chart;
}

/** Arrows at the ends that are open for what was asked. */
function openEnds({ limits }: Queries, pair: readonly string[] | undefined, x: (value: number) => number, middle: number): Node | "" {
    if (limits === null || pair === undefined) return "";
    const d = (limits.low ? "" : arrow(x(near(pair[0]!)), middle, -1, 0)) + (limits.high ? "" : arrow(x(near(pair[1]!)), middle, 1, 0));
    return d === "" ? "" : s("path", { d, class: "dp-over dp-open-end" });
}

const between = ({ limits }: Queries, [low, high]: readonly string[]): string => {
    const half = halfOf([low!, high!]);
    return within(sure(low!, half, -1), sure(high!, half, 1), limits);
};

const halfOf = ([low, high]: readonly string[]): Fraction => product(subtract(exactly(high!), exactly(low!)), fraction(1n, 2n));

const clipped = (name: string, width: number): string => {
    const most = Math.max(4, Math.floor((width - 24) / 6.6));
    return name.length > most ? `${name.slice(0, most - 1)}…` : name;
};

/** Which sums hold among the fitted answers, and by how much what was drawn missed each. */
function constraints({ constraints: found }: Queries): HTMLElement | null {
    if (found.length === 0) return null;
    return h(
        "ul",
        { class: "dp-hint dp-constraints" },
        ...found.map(({ text: words, gap }) => h("li", {}, `${words}: holds for the fitted answers; as drawn ${gap === "0" ? "it held, too" : `it was off by ${signed(gap)}`}.`)),
    );
}

const signed = (value: string): string => {
    const text = /^-?\d+$/.test(value) ? shown(value) : shown(near(value).toFixed(1));
    return text.replace("-", MINUS);
};

function finding({ labels, fitted, nouns }: Queries): string {
    const count = labels.length;
    return `${shown(String(count))} ${count === 1 ? "query" : "queries"}; ${labels.at(0)}: ${signed(fitted.at(0))} ${nouns}, fitted.`;
}

function keyOf(result: Queries, beta: string): HTMLElement {
    const how = result.how.get(beta);
    const known = (kind: "one" | "all"): string => (how === undefined ? "" : ` (${kindOf({ kind: how[kind], value: "0", rule: "", off: null, runs: null })})`);
    return h(
        "div",
        {},
        h("div", {}, h("strong", {}, "●"), " fitted, so that all answers agree; ", h("strong", {}, "×"), " as drawn"),
        how !== undefined && h("div", {}, h("strong", {}, "thick"), ` any one query, ${often(beta)}${known("one")}; `, h("strong", {}, "thin with caps"), ` all of them at once${known("all")}`),
        h("div", {}, result.remark),
    );
}

function queriesTable(result: Queries, beta: string): HTMLElement {
    const { one, all } = result.intervals.get(beta) ?? { one: null, all: null };
    const columns = [
        { name: "query" },
        { name: "adds up" },
        { name: "fitted, exactly", figures: true },
        { name: "as drawn", figures: true },
        ...(one === null ? [] : [{ name: "this query alone", figures: true }]),
        ...(all === null ? [] : [{ name: "all at once", figures: true }]),
    ];
    return dataTable(NUMBERS, columns, result.labels.length, (row) => [
        result.labels.at(row),
        result.about[row]!,
        shown(result.fitted.at(row)).replace("-", MINUS),
        shown(result.noisy.at(row)).replace("-", MINUS),
        ...(one === null ? [] : [between(result, one[row]!)]),
        ...(all === null ? [] : [between(result, all[row]!)]),
    ]);
}
