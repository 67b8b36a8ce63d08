/**
 * Buckets that a report carries whole: a key is hashed to one of them, whose noisy value the page reads, with no kernel
 * and no network. The same as `dpviz/model/answers/buckets.py`, digit for digit; public, as all of a release is.
 */

import { carriedKeys, hashed, type Carried } from "./carried_keys";
import { add, compare, exactly, format, fraction, product, subtract, ZERO } from "../numbers/exact";
import { flag, list, shape, text, whole, wrong } from "../protocol/readers";

const readHeader = shape({
    width: whole,
    cap: whole,
    signed: flag,
    /** The levels at which an interval says only how far the truth may lie above what is read. */
    upward: list(text),
});

export function carriedBuckets(content: Record<string, unknown>, arrays: ReadonlyMap<string, Uint8Array>): Carried {
    const head = readHeader(content, "carried");
    const keys = carriedKeys(content);
    const [slots, buckets] = [2 ** Number(head.width), arrays.get("buckets")];
    const each = (buckets?.length ?? 0) / slots;
    if (![1, 2, 4, 8].includes(each)) wrong("carried.buckets", "a number for each bucket");
    const place = hashed({ columns: 1, slots, prime: false }, arrays.get("functions"));
    const top = product(fraction(BigInt(head.cap)), keys.step);
    const bottom = head.signed ? subtract(ZERO, top) : ZERO;

    /** The content of a bucket, in whole steps: a number of 1, 2, 4 or 8 bytes, the little end first. */
    function held(at: number): bigint {
        let number = 0n;
        for (let i = each - 1; i >= 0; i -= 1) number = (number << 8n) | BigInt(buckets![each * at + i]!);
        return head.signed ? BigInt.asIntN(8 * each, number) : number;
    }

    return {
        readers: [...keys.bars.keys()],
        look(labels, beta, reader) {
            const found = keys.find(labels);
            if (found === null) return null;
            const value = found.kept ?? product(fraction(held(place(found.key, 0))), keys.step);
            const bar = keys.bars.get(reader)?.get(beta);
            if (bar === undefined) return { value: format(value), low: "", high: "", known: "", rule: "" };
            const [low, high] = [subtract(value, exactly(bar.value)), add(value, exactly(bar.value))];
            const below = head.upward.includes(beta) || compare(low, bottom) <= 0;
            const least = head.signed ? "" : "0";
            return {
                value: format(value),
                low: found.kept === null && below ? least : format(!head.signed && compare(low, ZERO) < 0 ? ZERO : low),
                high: found.kept === null && compare(high, top) >= 0 ? "" : format(high),
                known: bar.kind,
                rule: bar.rule,
            };
        },
    };
}
