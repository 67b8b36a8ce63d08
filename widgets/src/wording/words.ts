/** Numbers and sentences as they stand on the screen. */

import { equal, exactly, format, fraction, leftAfter, parse, subtract, times, type Fraction } from "../numbers/exact";
import type { Bar, Budget, Entry, Price } from "../protocol/protocol";

export const MINUS = "\u2212";

/** "-1234.5" as "−1,234.5"; a fraction or anything that is no number stays as it is. */
export function shown(text: string): string {
    const match = /^(-?)(\d+)(\.\d+)?$/.exec(text);
    if (!match) return text.startsWith("-") ? MINUS + text.slice(1) : text;
    const [, sign, whole = "", part = ""] = match;
    return (sign ? MINUS : "") + whole.replace(/\B(?=(\d{3})+$)/g, ",") + part;
}

const LONG = /(?<![\w./])[1-9]\d{4,}(?![\d/])/;
const WHOLE = /(?<![\w./])[1-9]\d{3,}(?![\d/])/g;

/** The sign between the labels of a bin of several columns. */
const BETWEEN = " · ";

/** A bin's name as it stands on the screen: numbers of a range with commas from 10,000 on, both ends of a range alike, for
 * shorter ones may be years; names that somebody chose as they are. As `told` in Python. */
export function labelText({ scale, scales = null }: { scale: string; scales?: readonly string[] | null }, name: string): string {
    const parts = scales === null ? [] : name.split(BETWEEN);
    if (scales !== null && parts.length === scales.length) return parts.map((part, i) => labelText({ scale: scales[i]! }, part)).join(BETWEEN);
    if (scale !== "integers" && scale !== "intervals") return name;
    const signed = name.replace(/(?<![\w.])-(?=\d)/g, MINUS);
    return LONG.test(signed) ? signed.replace(WHOLE, (digits) => shown(digits)) : signed;
}

/** A number as it was typed, without the commas between its thousands; any other comma stays, and is refused. */
export const ungrouped = (typed: string): string => (/^[-+\u2212]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(typed.trim()) ? typed.trim().replaceAll(",", "") : typed.trim());

/** The error in words: as it is, or in three digits, rounded up, where it is no finite decimal: "330/59" as "5.6". */
export function reach(text: string): string {
    if (!text.includes("/")) return shown(text);
    const { n, d } = exactly(text);
    let unit = 1n; // of these parts of 1 it has at least 100
    while (n > 0n && n * unit < 100n * d) unit *= 10n;
    return shown(format(fraction((n * unit + d - 1n) / d, unit)));
}

/** A number in the digits that its interval supports: those that two digits of its half-width reach, and whole numbers as
 * they are. An end of an interval, of which `side` is -1 or 1, is rounded outward. As `sure` in Python. */
export function sure(text: string, half: string | Fraction | null, side: -1 | 0 | 1 = 0): string {
    if (/^-?\d+$/.test(text) || half === null) return shown(text);
    const [{ n, d }, reached] = [exactly(text), typeof half === "string" ? exactly(half) : half];
    if (reached.n <= 0n) return shown(text);
    let parts = 1n; // the unit is one of these parts of 1
    while (reached.n * parts < 10n * reached.d) parts *= 10n;
    const [above, below] = [2n * n * parts + (side === 0 ? d : side > 0 ? 2n * d - 1n : 0n), 2n * d];
    const rest = above % below;
    return shown(format(fraction((above - (rest < 0n ? rest + below : rest)) / below, parts)));
}

const UNITS = ["bits", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Space that is taken: in bits up to 10,000, then in KiB and so on, in three figures. */
export function space(bits: string): string {
    const many = Number(bits);
    if (many < 10_000) return `${shown(bits)} ${many === 1 ? "bit" : "bits"}`;
    let [size, unit] = [many / 8192, 1];
    while (size >= 9999.5 && unit < UNITS.length - 1) [size, unit] = [size / 1024, unit + 1];
    return `${Number(size.toPrecision(size < 1000 ? 3 : 4)).toLocaleString("en-US")} ${UNITS[unit]}`;
}

/** "1st", "2nd", "3rd", "4th", "11th". */
export function ordinal(place: bigint): string {
    const [last, two] = [place % 10n, place % 100n];
    const ending = two >= 11n && two <= 13n ? "th" : last === 1n ? "st" : last === 2n ? "nd" : last === 3n ? "rd" : "th";
    return `${shown(String(place))}${ending}`;
}

/** beta 0.05 as "95 in 100", 0.001 as "999 in 1,000". */
export function often(beta: string): string {
    const holds = subtract(fraction(1n), exactly(beta));
    for (let of = 100n; of <= 10n ** 12n; of *= 10n) {
        const times_of = times(holds, of);
        if (times_of.d === 1n) return `${shown(String(times_of.n))} in ${shown(String(of))}`;
    }
    return format(holds);
}

/** The sign before a half-width: it is the least that holds, is proved to hold, or was calculated. */
export const plusMinus = (kind: Bar["kind"] | undefined): string =>
    kind === "bound" ? "≤ " : kind === "numerical" ? "±≈" : "±";

export const spread = (bar: Pick<Bar, "value" | "kind">): string => `${plusMinus(bar.kind)}${reach(bar.value)}`;

/** In words, how an error is known. */
export const KNOWN: Record<string, string> = { exact: "exact", bound: "proved bound", numerical: "calculated", simulated: "simulated" };

export function kindOf(bar: Bar): string {
    if (bar.kind === "bound") return "proved bound";
    if (bar.kind === "numerical") return bar.off === null ? "calculated" : `calculated to within ${reach(bar.off)}`;
    if (bar.kind === "simulated") return bar.runs === null ? "simulated" : `simulated, ${shown(bar.runs)} runs`;
    return "exact";
}

const isZero = (text: string): boolean => equal(exactly(text), fraction(0n));

export const priceText = (price: Price): string =>
    `ε ${price.epsilon}${isZero(price.delta) ? "" : `, δ ${price.delta}`}`;

/** The remainder after a price. Under the zCDP filter ε does not add up, and steps of a list cost less than its ε tells. */
export function leaves(budget: Budget, price: Price, list: boolean, whole = false): string {
    const { left, total } = budget.epsilon;
    const after = leftAfter(left, price.epsilon);
    if (budget.rho !== null) {
        if (list) return "for which the zCDP filter takes ρ";
        return `${after === null ? "more than" : "of"} the ${left} that one answer may still cost`;
    }
    if (after === null) return `more than the ${left} left`;
    return `leaves ${after}${whole ? ` of ${total}` : ""}${deltaAfter(budget, price, (rest) => `, δ ${rest}${whole ? ` of ${budget.delta.total}` : ""}`)}`;
}

/** The remainder of δ, in words, where something is paid of it and enough is left. */
export function deltaAfter({ delta }: Budget, price: Price, words: (rest: string) => string): string {
    const rest = costsDelta(price) ? leftAfter(delta.left, price.delta) : null;
    return rest === null ? "" : words(rest);
}

export const costsDelta = (price: Price): boolean => !isZero(price.delta);

/** Whether two texts are the same number, or, where one is no number, the same text. */
export function same(a: string, b: string): boolean {
    const [x, y] = [parse(a), parse(b)];
    return x !== null && y !== null ? equal(x, y) : a === b;
}

export const capital = (sentence: string): string => sentence.charAt(0).toUpperCase() + sentence.slice(1);

/** Of a domain whose keys are not declared nobody knows the number. */
export const bins = (count: string): string => (count === "" ? "unknown keys" : count === "1" ? "1 bin" : `${shown(count)} bins`);

export const oneTip = (beta: string, bar: Bar, made = "released", limited = false): string =>
    `Pick a bin before looking: at least ${often(beta).replace(" in ", " times in ")} ` +
    `its ${made} value is within ${shown(bar.value)} of ${limited ? "what is counted within the limits" : "the truth"}.`;

export const allTip = (beta: string, bar: Bar, count: string): string =>
    `At least ${often(beta).replace(" in ", " times in ")} every one of the ${shown(count)} is within ` +
    `${shown(bar.value)}. Use it to compare bins, or when one caught your eye.`;

export const oddsTip = (noun: string): string =>
    `Whatever someone believed, the odds that a given ${noun} is in the data change by at most this factor, ` +
    "either way.";

export const PAYS_TIP = "The finite sampler is a little more private than asked; you pay the real loss, rounded up.";

export const EPSILON_HELP = "Type a number like 0.1 or 1/10.";

/** A ledger's time as the reader's clock shows it, with the day where it is another one. */
export function clock(opened: string): string {
    const when = new Date(opened);
    if (!/T\d\d:/.test(opened) || Number.isNaN(when.getTime())) return opened;
    const two = (value: number): string => String(value).padStart(2, "0");
    const time = `${two(when.getHours())}:${two(when.getMinutes())}`;
    if (when.toDateString() === new Date().toDateString()) return time;
    return `${when.getFullYear()}-${two(when.getMonth() + 1)}-${two(when.getDate())} ${time}`;
}

export function outcome(entry: Entry, shownNumber: string | null): string {
    switch (entry.status) {
        case "done":
            return entry.number === shownNumber ? "shown below" : "chart";
        case "open":
            return "still open";
        case "pending":
            return "pending · this kernel";
        case "elsewhere":
            return "pending · another kernel · counts as spent";
        case "lost":
            return "never reported back · counts as spent";
        case "cancelled":
            return "cancelled · stays spent";
        case "failed":
            return "failed · stays spent";
    }
}

/** A key in a sentence, between quotes where its blanks would be overlooked. */
export const quoted = (key: string): string => (key === "" || /^\s|\s$|\s\s/.test(key) ? `“${key}”` : key);
