/** Fifty equally likely errors of one bin, on whole counts: each dot stands for two in a hundred. */

import { scaleLinear } from "d3-scale";
import { s } from "../dom/dom";
import { shown } from "../wording/words";
import { bottomAxis, label, line, px, svg, textWidth, tickText, type Box } from "./frame";

export interface DotsData {
    errors: readonly number[];
    /** Whose errors: "any one bin". */
    of: string;
    /** Half the width that holds `often`. */
    within: number;
    words: { within: string; often: string };
    /** Where small counts are left out: the true count of the bin. A dot at minus this count is a bin that is not shown. */
    cut: number | null;
}

/** How wide a dot may be: the widest with which every stack has room. */
const RADII = [4.5, 4, 3.5, 3, 2.5, 2, 1.5, 1];
/** A stack has whole counts to itself, at least so wide. */
const NARROWEST = 7;
/** The stack of bins that are not shown is no wider, so that it stays one stack. */
const WIDEST = 46;
const HEAD = 30;
const LINE = 13;

interface Stack {
    /** The middle of the counts that it stands for. */
    at: number;
    count: number;
    /** How wide it may be. */
    room: number;
    nothing: boolean;
}

/** The least of 1, 2, 5 times a power of ten that is at least this, and at least 1. */
function wholeStep(least: number): number {
    for (let power = 1; ; power *= 10) for (const k of [1, 2, 5]) if (k * power >= least) return k * power;
}

/** How many whole counts share a stack: an odd number, so that as many lie above the middle as below. */
function together(least: number): number {
    const step = wholeStep(least);
    return step % 2 === 1 ? step : step + 1;
}

const rowsOf = ({ count, room }: Stack, radius: number): number => Math.ceil(count / Math.max(1, Math.floor(room / (2 * radius + 1))));

export function dotsChart(width: number, height: number, data: DotsData): SVGSVGElement {
    const { errors, of, within, words, cut } = data;
    const box: Box = { left: 10, right: width - 10, top: 8, bottom: height - 38 };
    const reach = Math.max(1, Math.ceil(1.05 * Math.max(within, ...errors.map(Math.abs))));
    const x = scaleLinear().domain([-reach, reach]).range([box.left, box.right]);
    const lost = cut === null ? 0 : errors.filter((error) => error === -cut).length;
    const seen = lost === 0 ? errors : errors.filter((error) => error !== -cut!);
    const each = together((NARROWEST * 2 * reach) / (box.right - box.left));
    const stacks = new Map<number, Stack>();
    for (const error of seen) {
        const place = Math.round(error / each) * each;
        const stack = stacks.get(place) ?? { at: x(place), count: 0, room: x(each) - x(0), nothing: false };
        stack.count += 1;
        stacks.set(place, stack);
    }
    const told = lost === 0 ? [] : nothingText(lost, errors.length, box.right - box.left);
    if (lost > 0) {
        const first = Math.min(box.right, ...[...stacks.values()].map(({ at }) => at)) - (x(each) - x(0));
        const room = Math.min(first - box.left, WIDEST);
        const at = Math.max(box.left + room / 2, Math.min(x(-cut!), first - room / 2));
        stacks.set(-Infinity, { at, count: lost, room, nothing: true });
    }
    const most = box.bottom - box.top - HEAD - (told.length === 0 ? 0 : told.length * LINE + 2);
    const all = [...stacks.values()];
    const radius = RADII.find((r) => all.every((stack) => rowsOf(stack, r) * (2 * r + 1) <= most)) ?? RADII.at(-1)!;
    const pitch = (stack: Stack): number => Math.min(2 * radius + 1, most / rowsOf(stack, radius));
    const dots = all.flatMap((stack) => {
        const [cell, up] = [2 * radius + 1, pitch(stack)];
        const abreast = Math.min(stack.count, Math.max(1, Math.floor(stack.room / cell)));
        return Array.from({ length: stack.count }, (_, i) => {
            const [row, column] = [Math.floor(i / abreast), i % abreast];
            const inRow = Math.min(abreast, stack.count - row * abreast);
            return s("circle", {
                cx: px(stack.at + (column - (inRow - 1) / 2) * cell),
                cy: px(box.bottom - 1 - up / 2 - row * up),
                r: radius,
                class: `dp-plan-dot dp-small-dot${stack.nothing ? " dp-nothing" : ""}`,
            });
        });
    });
    const aside = box.left - 8;
    const under = aside + Math.max(0, ...told.map(textWidth)) + 4 + radius;
    const top = Math.min(box.bottom, ...all.filter(({ at, nothing }) => nothing || at < under).map((stack) => box.bottom - 1 - rowsOf(stack, radius) * pitch(stack)));
    const whose = cut === null ? of : `a bin of true count ${shown(String(cut))}`;
    const axis = cut === null ? [`error of ${of}`] : ["error at true count", "at true count"].map((text) => `${text} ${shown(String(cut))}`);
    const held = `holds ${words.often.replace(" in ", " of ")}`;
    const whole = `${words.within} ${held}`;
    const step = wholeStep(reach / 2.5);
    const ticks = [-2, -1, 0, 1, 2].map((k) => k * step).filter((value) => Math.abs(value) <= reach);
    return svg(
        width,
        height,
        `${errors.length} equally likely errors of ${whose}${lost > 0 ? `, which shows nothing in ${lost} of ${errors.length}` : ""}; ${whole}`,
        label((box.left + box.right) / 2, box.top + 8, textWidth(whole) <= width - 4 ? whole : held, "middle", "dp-tick"),
        line(x(-within) - 1, box.top + 16, x(within) + 1, box.top + 16, "dp-curve dp-thick dp-exact"),
        ...dots,
        ...told.map((text, i) => label(aside, top - 5 - (told.length - 1 - i) * LINE, text, "start", "dp-strong")),
        bottomAxis(box, { at: x, values: ticks, text: signedTick }, axis.find((text) => textWidth(text) <= width - 8) ?? axis.at(-1)!),
    );
}

const signedTick = (value: number): string => `${value > 0 ? "+" : ""}${tickText(value)}`;

/** In one line, or in two where there is no room for one. */
function nothingText(lost: number, all: number, room: number): string[] {
    const parts = ["shows nothing,", `${lost} of ${all}`];
    return textWidth(parts.join(" ")) <= room ? [parts.join(" ")] : parts;
}
