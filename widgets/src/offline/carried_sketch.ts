/**
 * A sketch that a report carries whole: any key of it is hashed, read and estimated in the page, with no kernel and no
 * network. The same as `dpviz/model/answers/sketch.py`, `signed_sketch.py` and `log_sketch.py`, digit for digit.
 */

import { estimateOf } from "../numbers/alp";
import { carriedKeys, floor, hashed, nearest, type Carried } from "./carried_keys";
import { add, compare, exactly, format, fraction, product, subtract, ZERO, type Fraction } from "../numbers/exact";
import { exact, flag, list, maybe, oneOf, shape, share, table, whole, wrong, type Read } from "../protocol/readers";

const readHeader = shape({
    kind: oneOf("sketch", "signed-sketch", "log-sketch"),
    parts: whole,
    worth: exact,
    columns: whole,
    slots: whole,
    prime: flag,
    halves: whole,
    p: share,
    raised: share,
});

type Head = Read<typeof readHeader>;
type Ends = [Fraction | null, Fraction | null];

/** The meaning of an estimate, which differs from one encoding to the next. */
interface Scale {
    /** The value in steps that so many bits stand for. */
    steps(bits: Fraction): Fraction;
    /** The ends of the interval of an estimate, in the unit of the question; an open one is null. */
    ends(estimate: { bits: Fraction; value: Fraction }, half: Fraction, level: { reader: string; beta: string }): Ends;
    /** The error of a value that is kept beside the bits, in the unit of the question. */
    kept(half: Fraction, beta: string): Fraction;
}

export function carriedSketch(content: Record<string, unknown>, arrays: ReadonlyMap<string, Uint8Array>): Carried {
    const head = readHeader(content, "carried");
    const keys = carriedKeys(content);
    const [columns, slots, halves] = [Number(head.columns), Number(head.slots), Number(head.halves)];
    const bits = arrays.get("bits");
    if (bits?.length !== (halves * columns * slots) / 8) wrong("carried.bits", "one row of bits for each column");
    const place = hashed({ columns: halves * columns, slots, prime: head.prime }, arrays.get("functions"));
    const parts = BigInt(head.parts);
    const scale = head.kind === "log-sketch" ? logarithms(content, head, keys.step) : even(head, keys.step);

    /** The bits of a key, one from each column. */
    function rowOf(key: bigint): number[] {
        return Array.from({ length: halves * columns }, (_, column) => {
            const at = place(key, column);
            return (bits![column * (slots / 8) + (at >> 3)]! >> (at & 7)) & 1;
        });
    }

    /** The estimate, in bits: of each half by itself, or of both as one number. */
    function estimate(key: bigint, reader: string): Fraction {
        const row = rowOf(key);
        const [more, less] = [row.slice(0, columns), row.slice(columns)];
        const of = (half: readonly number[], cleared = 0): Fraction => {
            const { total, count } = estimateOf(half, reader, head.p, head.raised, cleared);
            return fraction(BigInt(total), BigInt(count));
        };
        if (halves === 1) return of(more);
        if (head.kind !== "signed-sketch") return subtract(of(more), of(less));
        return subtract(of([...less.reverse().map((bit) => 1 - bit), ...more], columns), fraction(BigInt(columns)));
    }

    return {
        readers: [...keys.bars.keys()],
        look(labels, beta, reader) {
            const found = keys.find(labels);
            if (found === null) return null;
            const bits = found.kept === null ? estimate(found.key, reader) : null;
            const value = found.kept ?? product(fraction(nearest(product(scale.steps(bits!), fraction(parts))), parts), keys.step);
            const bar = keys.bars.get(reader)?.get(beta);
            if (bar === undefined) return { value: format(value), low: "", high: "", known: "", rule: "" };
            const half = bits === null ? scale.kept(exactly(bar.value), beta) : exactly(bar.value);
            const ends: Ends = bits === null ? [subtract(value, half), add(value, half)] : scale.ends({ bits, value }, half, { reader, beta });
            const [low, high] = ends.map((end) => (end === null ? "" : format(halves === 1 && compare(end, ZERO) < 0 ? ZERO : end)));
            return { value: format(value), low: low!, high: high!, known: bar.kind, rule: bar.rule };
        },
    };
}

/** Bits that are all worth the same. A bound that reaches the largest value that they can stand for is open. */
function even({ columns, halves, worth }: Head, step: Fraction): Scale {
    const { n, d } = exactly(worth);
    const top = product(fraction(BigInt(columns) * d, n), step);
    return {
        steps: (bits) => product(bits, fraction(d, n)),
        kept: (half) => half,
        ends: ({ value }, half) => {
            const [low, high] = [subtract(value, half), add(value, half)];
            const below = halves === "2" && compare(low, subtract(ZERO, top)) <= 0;
            return [below ? null : low, compare(high, top) >= 0 ? null : high];
        },
    };
}

const readRungs = shape({
    rungs: list(whole),
    fine: whole,
    /** By how many bits an estimate is off, and by how many steps what is kept beside the bits. */
    off: table(table(exact)),
    kept: maybe(table(exact)),
});

/** Bits each of which stands for a value that is larger by a factor: an estimate is off by some bits, not by some steps. */
function logarithms(content: Record<string, unknown>, { columns, parts }: Head, step: Fraction): Scale {
    const { rungs, fine, off, kept } = readRungs(content, "carried");
    const [last, part] = [Number(columns), BigInt(parts)];
    if (rungs.length !== last + 1) wrong("carried.rungs", "one value for each number of bits");

    function steps(bits: Fraction): Fraction {
        const below = Math.min(Math.max(Number(floor(bits)), 0), last);
        const [low, high] = [BigInt(rungs[below]!), BigInt(rungs[Math.min(below + 1, last)]!)];
        const rest = subtract(bits, fraction(BigInt(below)));
        const inside = compare(rest, ZERO) > 0 && below < last;
        return product(inside ? add(fraction(low), product(rest, fraction(high - low))) : fraction(low), fraction(1n, BigInt(fine)));
    }

    return {
        steps,
        kept: (half, beta) => (kept === null ? half : product(exactly(kept.get(beta)!), step)),
        ends({ bits }, _, { reader, beta }) {
            const far = exactly(off.get(reader)!.get(beta)!);
            const [low, high] = [subtract(bits, far), add(bits, far)];
            const down = fraction(floor(product(steps(low), fraction(part))), part);
            const up = fraction(-floor(product(steps(high), fraction(-part))), part);
            return [
                compare(low, ZERO) > 0 ? product(down, step) : ZERO,
                compare(high, fraction(BigInt(last))) < 0 ? product(up, step) : null,
            ];
        },
    };
}
