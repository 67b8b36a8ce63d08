/** The top k of an unknown list: the threshold, who gets on the list, what k̄ buys, how long it is and what it costs. */

import { axisSlider } from "./axis_slider";
import { anatomyChart, BESIDE } from "../charts/anatomy";
import { percent } from "../charts/chance";
import { niceCeiling } from "../charts/frame";
import { inclusionChart } from "../charts/inclusion";
import { lengthsChart } from "../charts/lengths";
import { linesChart, type Series } from "../charts/lines";
import type { Component } from "../dom/component";
import { h, newId, setOptions, setText, show, watchWidth } from "../dom/dom";
import { add, approximate, exactly, format } from "../numbers/exact";
import { standing, type Explorer } from "./explorer";
import { timed } from "../dom/perf";
import { LETTERS } from "../numbers/letters";
import { outcomesView, type Outcomes } from "../dom/outcomes";
import { powers } from "../wording/powers";
import { DRAWS, type TopKPoint, type TopKSheet } from "../protocol/sheets";
import { dataTable } from "../dom/table";
import { MINUS, ordinal, shown } from "../wording/words";

const TALL = 330;
const TRADE = 150;
const LENGTHS = 168;
/** Room for the names at the ends of the curves. */
const NAMES = 62;
/** The first ranks that are named above their columns. */
const NAMED = 10;
/** Items that are never listed are drawn only while the list of rows is shorter than this. */
const ROWS = 12;
/** From these widths on the three lower panels stand in three columns, or in two. */
const THREE = 760;
const TWO = 520;

export const GUIDANCE = ["Do not choose k̄ by looking at private counts:", "that look would be a release nobody paid for."] as const;

type Open = NonNullable<TopKPoint["open"]>;

export function topKExplorer(store: Explorer<TopKSheet>): Component {
    const [titleId, methodId] = [newId(), newId()];
    const title = h("h3", { id: titleId, class: "dp-screen-title" });
    const badge = h("span", { class: "dp-chip dp-violet", hidden: true });
    const sentence = h("p", { class: "dp-quiet" });
    const sliders = [axisSlider(store, "k", true), axisSlider(store, "kbar", true), axisSlider(store, "epsilon", true), axisSlider(store, "delta"), axisSlider(store, "max_bins")];
    const note = h("p", { class: "dp-fault", role: "alert", hidden: true });
    const list = releasedList();
    const anatomy = figure("Anatomy of the threshold");
    const lines = h("ul", { class: "dp-lines-said" });
    anatomy.element.append(lines);
    const method = h("select", { id: methodId, onchange: (event: Event) => timed(event, () => store.set("method", method.value)) });
    const methodHint = h("p", { class: "dp-hint" });
    const who = figure("Who gets on the list");
    who.plot.before(h("div", { class: "dp-field dp-method" }, h("label", { for: methodId }, "How the list is made"), method), methodHint);
    const buys = figure("What k̄ buys");
    const long = figure("How long, and what it costs");
    const totals = h("dl", { class: "dp-sums" });
    long.element.append(totals);
    const prices = h("figure", { class: "dp-figure dp-prices" });
    const stack = h("div", { class: "dp-stack" }, long.element, prices);
    const panels = h("div", { class: "dp-panels" }, who.element, buys.element, stack);
    const order = outcomesView("Would the order change?");
    const numbers = h("div", { class: "dp-numbers-box" });
    const table = h("details", { class: "dp-how", ontoggle: () => drawNumbers() }, h("summary", {}, "Table"), numbers);
    const element = h(
        "section",
        { class: "dp-explorer dp-plan dp-top-k", "aria-labelledby": titleId },
        h("div", { class: "dp-pane-head" }, title, badge, h("span", { class: "dp-chip dp-free" }, "free")),
        sentence,
        h("div", { class: "dp-axes dp-five" }, ...sliders.map((slider) => slider.element)),
        note,
        list.element,
        anatomy.element,
        panels,
        order.element,
        h("p", { class: "dp-notice dp-warning" }, h("strong", {}, GUIDANCE[0]), ` ${GUIDANCE[1]} Keep a fixed k̄, or let the mechanism choose it privately, for one more symbol.`),
        table,
    );
    let width = 828;
    let seen: { point: TopKPoint; width: number } | null = null;
    const stop = watchWidth(anatomy.element, (now) => {
        width = now;
        draw();
    });

    function drawNumbers(): void {
        const { point, sheet } = store;
        if (point === null || sheet === null || !table.open) return;
        numbers.replaceChildren(...tables(sheet, point));
    }

    function draw(): void {
        const { point, sheet } = store;
        for (const slider of sliders) slider.draw();
        standing(element, store);
        setText(note, store.fault ?? "");
        show(note, store.fault !== null);
        if (point === null || sheet === null || (seen?.point === point && seen.width === width)) return;
        seen = { point, width };
        const view = viewOf(sheet, point);
        const { open } = point;
        setText(title, `Top ${view.k} of an unknown list`);
        setText(badge, sheet.badge);
        show(badge, sheet.badge !== "");
        setText(sentence, sheet.subject.sentence);
        list.draw(sheet);
        drawAnatomy(view);
        show(who.element, open !== null);
        show(long.element, open !== null);
        order.draw(open === null || open.draws === "" ? null : { caption: `${madeUp(sheet) ? "made-up" : "public"} truth, new noise each time; violet: not at its true place`, ...played(orderOf(sheet, point, open)) });
        const columns = width < TWO ? 1 : open === null || width < THREE ? 2 : 3;
        panels.style.setProperty("--dp-count", String(columns));
        stack.classList.toggle("dp-across", open !== null && columns === 2);
        const each = Math.floor((width - 24 * (columns - 1)) / columns);
        if (open !== null) {
            drawWho(view, open, each);
            drawLengths(view, open, each);
        }
        drawTrade(view, each);
        prices.replaceChildren(...pricesOf(view));
        drawNumbers();
        store.say(finding(view));
    }

    function drawAnatomy(view: View): void {
        const { point, sheet } = view;
        const { open } = point;
        const words = besideWords(view);
        show(anatomy.plot, open !== null);
        setText(
            anatomy.note,
            open === null ? "On private data this panel stays closed: it would show true counts. What can be said without them:" : "true counts, public or made up; on private data this panel stays closed",
        );
        const beside = open !== null && width >= BESIDE;
        const said = open === null ? closedWords(view) : [words.high, words.threshold, words.low, words.above, words.next].map(inOneLine);
        show(lines, !beside);
        lines.replaceChildren(...(beside ? [] : said.map((text) => h("li", {}, text))));
        if (open === null) return;
        const ranked = sheet.tables.get(point.at.get("max_bins")!)!;
        const { item, nouns } = sheet.subject;
        anatomy.plot.replaceChildren(
            anatomyChart(width, TALL, {
                title: finding(view),
                counts: ranked.counts.map(Number),
                labels: ranked.labels,
                kbar: view.kbar,
                named: Math.min(view.k, NAMED),
                next: Number(open.next),
                low: view.next + number(point.low),
                threshold: view.next + number(point.above),
                high: view.next + number(point.high),
                words,
                axis: width >= BESIDE ? `rank of ${item} · height: ${nouns} counted, ${limitOf(view)}` : `rank of ${item}`,
            }),
        );
    }

    function drawWho(view: View, open: Open, each: number): void {
        const { point, sheet } = view;
        const names = store.axis("method")!;
        setOptions(
            method,
            names.grid.map((value, i) => ({ value, label: names.values[i]! })),
            store.position.get("method")!,
        );
        const { about, price, refused } = point.method;
        setText(methodHint, refused !== "" ? `Not available here: ${refused}.` : `${about}${price === null ? "" : `; costs ε ${price.epsilon}${price.delta === "0" ? "" : `, δ ${price.delta}`}`}`);
        const first = Number(open.first);
        const after = first === 0 ? "" : ` · the ${first === 1 ? "item before is" : `${first} items before are`} listed at least 99 times in 100`;
        setText(who.note, refused !== "" ? "" : `chance of being listed · bar: calculated · ○ share of ${shown(sheet.runs)} simulated lists${after}`);
        const labels = sheet.tables.get(point.at.get("max_bins")!)!.labels.slice(first);
        const last = open.chance.findLastIndex((chance) => chance >= 0.005);
        const count = Math.min(open.chance.length, Math.max(last + 1, ROWS));
        show(who.plot, refused === "");
        who.plot.replaceChildren(
            inclusionChart(Math.min(each, 460), {
                title: listedWords(view, open),
                labels: labels.slice(0, count),
                chance: open.chance.slice(0, count),
                simulated: open.simulated.slice(0, count),
                text: share,
            }),
        );
    }

    function drawTrade(view: View, each: number): void {
        const { point, sheet, kbar, k } = view;
        const from = sheet.kbar.findIndex((value) => Number(value) >= k);
        const xs = sheet.kbar.slice(from).map(Number);
        const at = Math.max(0, xs.indexOf(kbar));
        const x = { low: xs[0]!, high: Math.max(xs.at(-1)!, xs[0]! + 1), log: true, name: "k̄, rows read before the extra one (log)" };
        const { open } = point;
        const lists = (open?.trade ?? point.distance.map(({ name, above }) => ({ name, threshold: above, items: null }))).map((line) => ({
            name: line.name,
            threshold: line.threshold.slice(from).map(number),
            items: line.items?.slice(from).map(number) ?? null,
        }));
        const series = (values: (line: (typeof lists)[number]) => number[]): Series[] =>
            lists.map((line, i) => ({ name: line.name, xs, ys: values(line), kind: "dp-medium dp-exact", colour: i + 1 }));
        setText(buys.note, open === null ? `how far above the count at rank k̄ + 1 an item beats ⊥ half the time, in ${sheet.subject.nouns}` : buysNote(view, open));
        const charts: Node[] = [
            ...(open === null ? [] : [h("p", { class: "dp-hint" }, `threshold, in ${sheet.subject.nouns}`)]),
            linesChart(each, TRADE, {
                title: open === null ? `Reading ${rowsText(kbar)}, an item ${away(point.above)} the next count beats ⊥ half the time` : `Reading ${rowsText(kbar)} puts the threshold at ${countText(sum(open.next, point.above))}; it is lowest at k̄ = ${shown(open.least)}`,
                x: open === null ? x : { ...x, name: "" },
                y: { low: 0, high: niceCeiling(Math.max(1, ...lists.flatMap((line) => line.threshold))), log: false, name: "" },
                series: series((line) => line.threshold),
                probe: { at: kbar, dots: [lists[0]!.threshold[at]!] },
                margin: NAMES,
                mark: open === null ? null : { at: Number(open.least), name: "" },
            }),
        ];
        if (open !== null) {
            charts.push(
                h("p", { class: "dp-hint" }, `expected items, of ${k}`),
                linesChart(each, TRADE, {
                    title: `Reading ${rowsText(kbar)}, ${open.items} of ${itemsText(k)} are expected`,
                    x,
                    y: { low: 0, high: k, log: false, name: "" },
                    series: series((line) => line.items ?? []),
                    probe: { at: kbar, dots: [lists[0]!.items![at]!] },
                    margin: NAMES,
                }),
            );
        }
        buys.plot.replaceChildren(...charts);
    }

    function drawLengths(view: View, open: Open, each: number): void {
        const { k } = view;
        const last = ordinal(BigInt(k));
        setText(long.note, "chance in 100 of each length, calculated");
        const most = open.lengths.indexOf(Math.max(...open.lengths));
        long.plot.replaceChildren(
            lengthsChart(Math.min(each, 460), LENGTHS, {
                title: `The likeliest length is ${itemsText(most)}, with chance ${share(open.lengths[most]!)}; ${open.items} are expected`,
                chance: open.lengths,
                axis: "items listed",
                text: (chance) => share(chance).replace(" %", ""),
            }),
        );
        totals.replaceChildren(
            ...[
                ["expected items", open.items],
                ["expected charge, symbols", `${open.charge} of ${k}`],
                [k === 1 ? "charge if the place is filled" : `charge if all ${k} places are filled`, symbolsText(k)],
                ["⊥ counts as", symbolsText(1)],
                [`how far below the ${last} count a listed item may lie, 95 in 100`, `≤ ${shown(view.point.alpha)}`],
            ].map(([name, value]) => h("div", {}, h("dt", {}, name!), h("dd", {}, value!))),
        );
    }

    function close(): void {
        stop();
        order.close();
    }

    return { element, draw, close };
}

/** One place of a simulated list. */
interface Place {
    text: string;
    /** Whether something else stands here than without noise. */
    moved: boolean;
    /** Whether nothing stands here. */
    empty: boolean;
}

function played({ finding, draws }: { finding: string; draws: readonly Place[][] }): Pick<Outcomes, "finding" | "count" | "frame" | "still"> {
    const listOf = (places: readonly Place[]): HTMLElement =>
        h("ol", { class: "dp-outcome" }, ...places.map(({ text, moved, empty }) => h("li", { class: empty ? "dp-unused" : null, "data-moved": moved ? "true" : null }, text)));
    return { finding, count: draws.length, frame: (draw) => [listOf(draws[draw]!)], still: (many) => draws.slice(0, many).map(listOf) };
}

/** The first places of simulated lists, and how often the order of the first two changed. */
function orderOf(sheet: TopKSheet, point: TopKPoint, { draws }: Open): { finding: string; draws: Place[][] } {
    const { labels } = sheet.tables.get(point.at.get("max_bins")!)!;
    const places = draws.length / DRAWS;
    const lists = Array.from({ length: DRAWS }, (_, i) => draws.slice(i * places, (i + 1) * places));
    return {
        finding: swaps(lists, places),
        draws: lists.map((list) =>
            [...list].map((letter, place): Place => {
                const rank = LETTERS.indexOf(letter);
                const text = letter === "." ? (list.indexOf(".") === place ? "⊥" : "") : rank >= 0 ? labels[rank]! : "a later item";
                return { text, moved: rank !== place && letter !== ".", empty: letter === "." };
            }),
        ),
    };
}

/** How often the first two changed places, counted in words. */
export function swaps(lists: readonly string[], places: number): string {
    const times = (true_: (list: string) => boolean): number => lists.filter(true_).length;
    if (places < 2) return `Another item came first in ${times((list) => list !== "0" && list !== ".")} of ${lists.length} draws; ⊥ came at once in ${times((list) => list === ".")}.`;
    const kept = times((list) => list.startsWith("01"));
    const swapped = times((list) => list.startsWith("10"));
    const ended = times((list) => list.slice(0, 2).includes("."));
    const others = lists.length - kept - swapped - ended;
    const parts = [`The first two swapped in ${swapped} of ${lists.length} draws and kept their order in ${kept}`];
    if (others > 0) parts.push(`in ${others} another item took one of their places`);
    if (ended > 0) parts.push(`in ${ended} the list ended before its second place`);
    return `${parts.join("; ")}.`;
}

/** A point as it stands on the screen. */
interface View {
    sheet: TopKSheet;
    point: TopKPoint;
    k: number;
    kbar: number;
    next: number;
}

const viewOf = (sheet: TopKSheet, point: TopKPoint): View => ({
    sheet,
    point,
    k: Number(point.at.get("k")),
    kbar: Number(point.at.get("kbar")),
    next: Number(point.open?.next ?? 0),
});

const number = (text: string): number => approximate(exactly(text));
const sum = (a: string, b: string): string => format(add(exactly(a), exactly(b)));

/** A count on the screen: whole, rounded up as what must be beaten. */
const countText = (text: string): string => shown(String(Math.ceil(number(text) - 1e-9))).replace("-", MINUS);

const madeUp = ({ badge }: TopKSheet): boolean => badge.startsWith("made-up");

/** The distance from a count, in words. */
function away(above: string): string {
    const far = countText(above);
    return far.startsWith(MINUS) ? `${far.slice(1)} below` : `${far} above`;
}

const many = (noun: string) => (count: number): string => `${shown(String(count))} ${noun}${count === 1 ? "" : "s"}`;
const [rowsText, itemsText, symbolsText] = [many("row"), many("item"), many("symbol")];

/** A chance on the screen; what is possible is never said to be 0. */
const share = (chance: number): string => (chance > 0 && chance < 0.005 ? "< 1 %" : percent(chance));

const limitOf = ({ sheet, point }: View): string => {
    const limit = point.at.get("max_bins")!;
    const { item, items, noun } = sheet.subject;
    return limit === "none" ? `any number of ${items} per ${noun}` : `at most ${limit} ${limit === "1" ? item : items} kept per ${noun}`;
};

interface Figure {
    element: HTMLElement;
    plot: HTMLElement;
    note: HTMLElement;
}

function figure(name: string): Figure {
    const [plot, note] = [h("div", { class: "dp-plot" }), h("p", { class: "dp-hint" })];
    return { element: h("figure", { class: "dp-figure" }, h("figcaption", {}, h("h4", {}, name)), note, plot), plot, note };
}

type Words = Record<"low" | "threshold" | "high" | "above" | "next", readonly string[]>;

/** The words beside the lines of the anatomy, or under it. */
function besideWords({ point }: View): Words {
    const next = point.open?.next ?? "0";
    const position = (above: string): string => countText(sum(next, above));
    return {
        low: [`${position(point.low)}: beats ⊥ 5 in 100`],
        threshold: [`threshold ${position(point.above)}`, "beaten half the time", "by an item this high"],
        high: [`${position(point.high)}: beats ⊥ 95 in 100`],
        above: [`${point.gap} = +${countText(point.above)}`, "the price of an unknown domain"],
        next: ["count at rank k̄ + 1", `${shown(next)}, read, never shown`],
    };
}

const inOneLine = ([first, ...rest]: readonly string[]): string => (rest.length === 0 ? first! : `${first}: ${rest.join(" ")}`);

/** The same where the count at rank k̄ + 1 is private: measured from there. */
function closedWords({ point, k }: View): string[] {
    return [
        "The count at rank k̄ + 1 is read but never shown.",
        `An item ${away(point.high)} it beats ⊥ 95 times in 100.`,
        `An item ${away(point.above)} it beats ⊥ half the time: ${point.gap}, the price of an unknown domain.`,
        `An item ${away(point.low)} it beats ⊥ 5 times in 100.`,
        `At least 95 times in 100 no listed item lies more than ${shown(point.alpha)} below the count at rank ${k}.`,
    ];
}

function buysNote({ sheet, point }: View, open: Open): string {
    const limits = `${open.trade.length > 1 ? `for two limits on one ${sheet.subject.noun}, calculated` : "calculated"}; grey line: the least threshold, at k̄ = ${shown(open.least)}`;
    if (open.pick === null || point.at.get("max_bins") !== "none") return limits;
    const { low, high } = open.pick;
    return `${limits}; 90 times in 100 a private choice of k̄ is ${low === high ? shown(low) : `from ${shown(low)} to ${shown(high)}`}`;
}

function listedWords({ sheet, point, k }: View, open: Open): string {
    const labels = sheet.tables.get(point.at.get("max_bins")!)!.labels;
    const first = Number(open.first);
    const sure = first + open.chance.filter((chance) => chance >= 0.95).length;
    const even = first + open.chance.filter((chance) => chance >= 0.5).length;
    return sure > 0
        ? `On a list of up to ${k}, ${sure} ${sure === 1 ? "item is" : "items are"} listed at least 95 times in 100, and ${even} at least half the time`
        : `No item is listed 95 times in 100; the first, ${labels[0] ?? "none"}, is listed with chance ${share(open.chance[0] ?? 0)}`;
}

/** Describe the point in a sentence: the title of the first chart, and what is read out after a move. */
function finding(view: View): string {
    const { point, k, kbar } = view;
    const { open } = point;
    const cost = point.prices[0]!;
    const price = `costs at most ε ${cost.epsilon}, δ ${cost.delta}`;
    if (open === null) return `Reading ${rowsText(kbar)}, an item ${away(point.above)} the next count beats ⊥ half the time; a list of up to ${k} ${price}.`;
    return `The threshold is ${countText(sum(open.next, point.above))}; ${open.items} of ${itemsText(k)} are expected; the list ${price}.`;
}

function pricesOf({ sheet, point, k }: View): Node[] {
    const { subject } = sheet;
    const columns = [{ name: "accounting" }, { name: "ε", figures: true }, { name: "δ", figures: true }];
    return [
        h("figcaption", {}, h("h4", {}, `What a list of up to ${k} costs one ${subject.noun}`)),
        h("p", { class: "dp-hint" }, `${subject.protects}; ε ${point.at.get("epsilon")} per answer, δ ${point.at.get("delta")} per question, δ′ ${subject.delta_prime} for composing`),
        dataTable("Price of the list", columns, point.prices.length, (i) => {
            const { label, epsilon, delta } = point.prices[i]!;
            return [label, epsilon, delta];
        }),
    ];
}

function tables(sheet: TopKSheet, point: TopKPoint): HTMLElement[] {
    const { open } = point;
    if (open === null) {
        const columns = [{ name: "k̄", figures: true }, ...point.distance.map(({ name }) => ({ name: `distance, ${name}`, figures: true }))];
        return [dataTable("Distance above the next count", columns, sheet.kbar.length, (i) => [shown(sheet.kbar[i]!), ...point.distance.map(({ above }) => countText(above[i]!))])];
    }
    const ranked = sheet.tables.get(point.at.get("max_bins")!)!;
    const first = Number(open.first);
    const exactChance = (chance: number): string => (chance === 0 ? "0" : chance < 1e-4 ? powers(chance) : chance.toFixed(4));
    const items = dataTable(
        "Who gets on the list",
        [{ name: "rank", figures: true }, { name: sheet.subject.item }, { name: madeUp(sheet) ? "made-up count" : "true count, public", figures: true }, { name: "chance", figures: true }, { name: "simulated", figures: true }],
        open.chance.length,
        (i) => [String(first + i + 1), ranked.labels[first + i]!, shown(ranked.counts[first + i]!), exactChance(open.chance[i]!), exactChance(open.simulated[i]!)],
    );
    const trade = dataTable(
        "What k̄ buys",
        [{ name: "k̄", figures: true }, ...open.trade.flatMap(({ name }) => [{ name: `threshold, ${name}`, figures: true }, { name: `items, ${name}`, figures: true }])],
        sheet.kbar.length,
        (i) => [shown(sheet.kbar[i]!), ...open.trade.flatMap((line) => [countText(line.threshold[i]!), shown(line.items[i]!)])],
    );
    const lengths = dataTable("How long", [{ name: "items", figures: true }, { name: "chance", figures: true }], open.lengths.length, (i) => [String(i), exactChance(open.lengths[i]!)]);
    const lists = open.draws === "" ? null : orderOf(sheet, point, open).draws;
    const head = lists?.[0] ?? [];
    const drawn = dataTable("Forty draws", [{ name: "draw", figures: true }, ...head.map((_, i) => ({ name: `place ${i + 1}` }))], lists?.length ?? 0, (i) => [String(i + 1), ...lists![i]!.map(({ text }) => text)]);
    return [items, trade, ...(lists === null ? [] : [drawn]), lengths];
}

/** The list that was released: what was paid for, in ink; places that were not used, dashed. */
function releasedList(): { element: HTMLElement; draw: (sheet: TopKSheet) => void } {
    const head = h("h4", {});
    const paid = h("span", { class: "dp-chip dp-paid" });
    const guarantee = h("p", { class: "dp-hint" });
    const items = h("ol", { class: "dp-released-list" });
    const element = h("div", { class: "dp-released", hidden: true }, h("div", { class: "dp-pane-head" }, head, paid), items, guarantee);
    let drawn: TopKSheet["released"] = null;
    return {
        element,
        draw({ released }) {
            show(element, released !== null);
            if (released === null || released === drawn) return;
            drawn = released;
            element.toggleAttribute("data-teaching", released.teaching !== null);
            setText(head, released.title);
            setText(paid, released.teaching === null ? `paid ε ${released.paid.epsilon}, δ ${released.paid.delta}` : `Not private · teaching, seed ${released.teaching}`);
            paid.className = released.teaching === null ? "dp-chip dp-paid" : "dp-chip dp-violet";
            const unused = Number(released.k) - released.items.length - (released.ended ? 1 : 0);
            items.replaceChildren(
                ...released.items.map((item, i) => h("li", {}, item, released.values === null ? null : h("small", {}, shown(released.values[i] ?? "")))),
                ...(released.ended ? [h("li", { class: "dp-ended", "aria-label": "bottom symbol: no more" }, "⊥")] : []),
                ...Array.from({ length: Math.max(0, unused) }, () => h("li", { class: "dp-unused", "aria-hidden": "true" })),
            );
            setText(guarantee, `${released.guarantee}.${released.ended ? " ⊥: no further item stood out enough." : ""}`);
        },
    };
}
