/** The bin that a typed label names: the same as `Domain.index` in `dpviz/model/domain.py`, against which it is tested. */

import { compare, exactly, format, typedLabel, type Fraction } from "../numbers/exact";
import { exact, fields, flag, list, maybe, oneOf, shape, text, type Read } from "../protocol/readers";

const readFactor = shape({
    kind: oneOf("integers", "intervals", "categories"),
    column: text,
    low: maybe(exact),
    high: maybe(exact),
    edges: maybe(list(exact)),
    labels: maybe(list(text)),
    underflow: maybe(flag),
    overflow: maybe(flag),
    other: maybe(flag),
    missing: maybe(flag),
    malformed: maybe(flag),
});

type Factor = Read<typeof readFactor>;

/** The factors of a domain, in order; null where its keys are not declared. */
export function readDomain(value: unknown, where: string): Factor[] | null {
    const given = fields(value, where);
    if (given["kind"] === "keys") return null;
    if (given["kind"] !== "product") return [readFactor(value, where)];
    const parts = given["factors"] ?? [given["first"], given["second"]];
    return list(readFactor)(parts, `${where}.factors`);
}

const inner = (factor: Factor): bigint =>
    factor.kind === "integers"
        ? BigInt(factor.high!) - BigInt(factor.low!) + 1n
        : BigInt(factor.kind === "intervals" ? factor.edges!.length - 1 : factor.labels!.length);

const count = (flags: readonly (boolean | null)[]): bigint => BigInt(flags.filter((on) => on === true).length);

const size = (factor: Factor): bigint =>
    inner(factor) + count([factor.underflow, factor.overflow, factor.other, factor.missing, factor.malformed]);

/** Both ends of a domain of numbers, as its labels write them. */
function endsOf(factor: Factor): [string, string] {
    const ends = factor.kind === "integers" ? [factor.low!, factor.high!] : [factor.edges![0]!, factor.edges!.at(-1)!];
    return [format(exactly(ends[0]!)), format(exactly(ends[1]!))];
}

/** Where a number lies in a domain of numbers: the bin among the inner ones, -1 below them, their number above. */
function among(factor: Factor, number: Fraction): bigint | null {
    if (factor.kind === "integers") {
        if (number.d !== 1n) return null;
        const [low, high] = [BigInt(factor.low!), BigInt(factor.high!)];
        return number.n < low ? -1n : number.n > high ? inner(factor) : number.n - low;
    }
    const edges = factor.edges!.map(exactly);
    if (compare(number, edges[0]!) < 0) return -1n;
    if (compare(number, edges.at(-1)!) > 0) return inner(factor);
    const after = edges.findIndex((edge) => compare(edge, number) > 0);
    return BigInt(after < 0 ? edges.length - 2 : after - 1);
}

/** The place of a label in one factor; null where there is none. */
function place(factor: Factor, label: string): bigint | null {
    if (factor.kind === "categories") {
        const found = factor.labels!.indexOf(label);
        if (found >= 0) return BigInt(found);
        // what is not declared has no bin of its own: that of all others is named
        if (label === "other" && factor.other === true) return inner(factor);
        return factor.missing === true && label === "missing" ? size(factor) - 1n : null;
    }
    const last = size(factor) - 1n;
    if (label === "malformed" && factor.malformed === true) return last;
    if (label === "missing" && factor.missing === true) return factor.malformed === true ? last - 1n : last;
    const [low, high] = endsOf(factor);
    if (label === `under ${low}` && factor.underflow === true) return 0n;
    if (label === `over ${high}` && factor.overflow === true) return inner(factor) + (factor.underflow === true ? 1n : 0n);
    const number = typedLabel(label);
    const at = number === null ? null : among(factor, number);
    const beyond = at === null || at < 0n || at >= inner(factor);
    // a whole number beyond the bins has none of its own, while an interval without an end holds all of them
    if (at === null || (beyond && factor.kind === "integers")) return null;
    if ((at < 0n && factor.underflow !== true) || (at >= inner(factor) && factor.overflow !== true)) return null;
    return at + (factor.underflow === true ? 1n : 0n);
}

/** The number of the bin that these labels name, one for each factor; null where there is none. */
export function binOf(factors: readonly Factor[], labels: readonly string[]): bigint | null {
    let bin = 0n;
    for (const [i, factor] of factors.entries()) {
        const at = place(factor, labels[i] ?? "");
        if (at === null) return null;
        bin = bin * size(factor) + at;
    }
    return labels.length === factors.length ? bin : null;
}
