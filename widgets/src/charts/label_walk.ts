/** A label drawn by bits, lane by lane: people, the special label, cells and bits, noisy shares, a row, a label. */

import { s } from "../dom/dom";
import type { Run, Walk } from "../protocol/sampling_sheets";
import { shown } from "../wording/words";
import { label, line, px, svg, textWidth } from "./frame";

export interface WalkPicture {
    title: string;
    walk: Walk;
    run: Run;
    /** The chance of each label, over people and noise. */
    law: readonly number[];
    step: number;
}

const [CELL, GAP, HEAD] = [13, 10, 18];
const [ASIDE, WIDEST] = [8, 96];
/** From which step on a lane is filled. */
export const LANES = { people: 0, looked: 1, cells: 2, thinned: 3, shares: 4, row: 5, label: 6 } as const;

export function labelWalkChart(width: number, { title, walk, run, law, step }: WalkPicture): SVGSVGElement {
    const { names, truth } = walk;
    const one = Math.min(WIDEST, (width - 2 * ASIDE) / names.length);
    const left = (width - one * names.length) / 2;
    const x = (place: number): number => left + (place + 0.5) * one;
    /** The label of a column of bits: there is none for the special one. */
    const labelOf = (column: number): number => (run.special !== null && column >= run.special ? column + 1 : column);
    const half = Math.min(22, one / 2 - 4);
    const parts: Node[] = [];
    let top = 0;

    function lane(name: string, note: string, height: number, from: number, draw: (top: number, bottom: number) => void, floor = true): void {
        const [start, bottom] = [top + HEAD, top + HEAD + height];
        parts.push(label(left, start - 5, name, "start", "dp-strong"));
        if (floor) parts.push(line(left, bottom, left + one * names.length, bottom, "dp-axis"));
        if (step >= from) {
            if (textWidth(name) + textWidth(note) + 24 < one * names.length) parts.push(label(left + one * names.length, start - 5, note, "end", "dp-tick"));
            draw(start, bottom);
        }
        top = bottom + GAP;
    }

    const letters = (y: number): void => names.forEach((name, place) => parts.push(label(x(place), y, name, "middle", "dp-tick")));
    const bars = (counts: readonly number[], kind: string) => (start: number, bottom: number): void => {
        const most = Math.max(1, ...counts);
        counts.forEach((count, place) => {
            const high = ((bottom - start - 16) * count) / most;
            if (count > 0) parts.push(s("rect", { x: px(x(place) - half / 2), y: px(bottom - high), width: px(half), height: px(high), class: kind }));
            parts.push(label(x(place), bottom - high - 4, shown(String(count)), "middle", "dp-tick"));
        });
    };
    const ring = (place: number, start: number, bottom: number): void => {
        parts.push(s("rect", { x: px(x(place) - one / 2 + 2), y: px(start), width: px(one - 4), height: px(bottom - start), rx: 3, class: "dp-walk-ring" }));
    };

    letters((top += 14));
    top += 4;
    lane("People", "made up", 52, LANES.people, bars(run.people, "dp-made-up"));
    lane("Put aside", run.special === null ? "too few" : `${names[run.special]} wins`, 44, LANES.looked, (start, bottom) => {
        bars(run.looked, "dp-made-up")(start, bottom);
        if (run.special !== null) ring(run.special, start - 2, bottom);
    });
    const thin = step >= LANES.thinned;
    lane(thin ? "Bits that are left" : "Cells that are hit", run.rows > 0 ? `${run.hits.length} of ${shown(String(run.rows))} rows` : "", Math.max(1, run.hits.length) * CELL, LANES.cells, (start) => {
        run.hits.forEach((row, i) =>
            [...row].forEach((hit, column) => {
                const kept = thin && run.bits[i]![column] === "1";
                const kind = hit === "0" ? "dp-walk-cell" : thin ? (kept ? "dp-walk-cell dp-walk-cell-kept" : "dp-walk-cell dp-walk-cell-lost") : "dp-walk-cell dp-walk-cell-hit";
                parts.push(s("rect", { x: px(x(labelOf(column)) - half / 2), y: px(start + i * CELL + 1), width: px(half), height: CELL - 3, class: kind }));
            }),
        );
    }, false);
    lane("Noisy shares of ones", "violet: among people", 64, LANES.shares, (start, bottom) => {
        const reach = Math.max(0.2, ...run.shares.map(Math.abs));
        const y = (share: number): number => (start + bottom) / 2 - (share / reach) * ((bottom - start) / 2 - 6);
        parts.push(line(left, y(0), left + one * names.length, y(0), "dp-zero-line"), label(left - 2, y(0) - 3, "0", "end", "dp-tick"));
        run.shares.forEach((share, column) => {
            const place = labelOf(column);
            parts.push(line(x(place) - half / 2, y(truth[place]!), x(place) + half / 2, y(truth[place]!), "dp-truth-tick"));
            parts.push(line(x(place), y(0), x(place), y(share), "dp-share-stick"), s("circle", { cx: px(x(place)), cy: px(y(share)), r: 3.5, class: `dp-measured${share <= 0 ? " dp-falls" : ""}` }));
        });
    }, false);
    lane("Bits drawn", "", 22, LANES.row, (start) =>
        run.row.forEach((bit, column) => {
            const place = labelOf(column);
            parts.push(s("rect", { x: px(x(place) - half / 2), y: px(start + 1), width: px(half), height: 18, class: bit === 1 ? "dp-walk-cell dp-walk-cell-kept" : "dp-walk-cell" }));
            parts.push(label(x(place), start + 14, String(bit), "middle", bit === 1 ? "dp-on-own" : "dp-tick"));
        }),
        false,
    );
    lane("Label drawn", "bar: chance · violet: among people", 60, LANES.label, (start, bottom) => {
        const most = Math.max(...truth, ...law);
        const high = (chance: number): number => ((bottom - start - 4) * chance) / most;
        law.forEach((chance, place) => {
            parts.push(s("rect", { x: px(x(place) - half / 2), y: px(bottom - high(chance)), width: px(half), height: px(high(chance)), class: "dp-law-bar" }));
            parts.push(line(x(place) - half / 2 - 3, bottom - high(truth[place]!), x(place) + half / 2 + 3, bottom - high(truth[place]!), "dp-truth-tick"));
        });
        ring(run.label, start - 2, bottom);
    });
    letters(top + 6);
    return svg(width, top + 14, title, ...parts);
}
