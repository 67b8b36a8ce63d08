/** The view of means of neighbouring bins: a bundle of its own, which brings nothing of the page along. */

import type { Guest } from "../../widgets/src/answers/guest_views";

interface Row {
    label: string;
    mean: string;
    low: string | null;
    high: string | null;
}

interface Pairs {
    title: string;
    rows: (beta: string) => Row[];
}

const pairs: Guest<Pairs> = ({ dom: { h, s, dataTable }, words: { shown, often }, exact, readers, theme }) => {
    const { shape, list, text, exact: number, maybe, table } = readers;
    const read = shape({
        labels: list(text),
        means: list(number),
        intervals: table(list(list(maybe(number)))),
    });
    const near = (end: string): number => exact.approximate(exact.exactly(end));
    const within = ({ low, high }: Row): string =>
        low === null ? `at most ${shown(high!)}` : high === null ? `at least ${shown(low)}` : `${shown(low)} to ${shown(high)}`;

    function picture(title: string, rows: readonly Row[], width: number): SVGSVGElement {
        const ends = rows.flatMap(({ mean, low, high }) => [mean, low ?? mean, high ?? mean]).map(near);
        const [least, most] = [Math.min(0, ...ends), Math.max(1, ...ends)];
        const x = (end: string): number => 120 + ((near(end) - least) / (most - least)) * Math.max(40, width - 140);
        return s(
            "svg",
            { width, height: rows.length * 28, role: "img", "aria-label": title },
            ...rows.flatMap(({ label, mean, low, high }, i) => {
                const y = i * 28 + 14;
                return [
                    s("text", { x: 0, y: y + 4, fill: theme.text }, label),
                    s("path", { d: `M${x(low ?? mean)} ${y}H${x(high ?? mean)}`, stroke: theme.pencil, "stroke-width": 3 }),
                    s("circle", { cx: x(mean), cy: y, r: 4, fill: theme.release }),
                ];
            }),
        );
    }

    return {
        kind: "pair-means",
        read(result) {
            const { labels, means, intervals } = read(result.content, "result");
            return {
                title: result.title,
                rows: (beta) =>
                    labels.map((label, i) => {
                        const [low = null, high = null] = intervals.get(beta)?.[i] ?? [];
                        return { label, mean: means[i] ?? "0", low, high };
                    }),
            };
        },
        create({ title, rows }) {
            const element = h("div", {});
            return {
                element,
                levels: true,
                plain: false,
                draw: (beta, width) => element.replaceChildren(picture(`Means of pairs. ${title}`, rows(beta), width)),
                finding: (beta) => `${rows(beta).length} means of neighbouring bins.`,
                key: (beta) => [h("p", {}, `line: where the mean of one pair lies, ${often(beta)}`)],
            };
        },
        table: ({ rows }, beta) =>
            dataTable(
                "Numbers of this answer",
                [{ name: "pair" }, { name: "mean", figures: true }, { name: "this pair alone", figures: true }],
                rows(beta).length,
                (i) => {
                    const row = rows(beta)[i]!;
                    return [row.label, shown(row.mean), within(row)];
                },
            ),
    };
};

export default pairs;
