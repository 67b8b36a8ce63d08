/** The part of an answer to look-ups that a report carries, and how its page answers for keys by itself. */

import { carriedBuckets } from "./carried_buckets";
import type { Carried } from "./carried_keys";
import { carriedSketch } from "./carried_sketch";
import { fromBase64 } from "../protocol/columns";
import type { ReadPoints, Result } from "../protocol/protocol";
import { fields, list, shape, table, text, whole } from "../protocol/readers";
import { quoted, shown } from "../wording/words";

/** An answer for keys with nobody to ask. */
export interface Offline {
    read: ReadPoints;
    /** Describe in a sentence what the file carries. */
    words: string;
    /** The keys it answers, each a text for each column, where it answers only some. */
    points: readonly (readonly string[])[] | null;
}

type Opened = (content: Record<string, unknown>, arrays: ReadonlyMap<string, Uint8Array>) => Carried;

/** The reader of a structure, by its kind. */
const KINDS: Record<string, Opened> = {
    sketch: carriedSketch,
    "signed-sketch": carriedSketch,
    "log-sketch": carriedSketch,
    buckets: carriedBuckets,
};

const readWhole = shape({ kind: text, bytes: whole, arrays: table(shape({ zlib: text })) });
const readAnswers = shape({ points: list(list(text)), readers: table(table(list((value, where) => fields(value, where)))) });

async function inflated(encoded: string, where: string): Promise<Uint8Array> {
    const packed = new Response(fromBase64(encoded, where) as DataView<ArrayBuffer>).body!.pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(packed).arrayBuffer());
}

async function opened(content: Record<string, unknown>): Promise<Carried> {
    const { kind, arrays } = readWhole(content, "carried");
    const parts = [...arrays].map(async ([name, { zlib }]) => [name, await inflated(zlib, `carried.${name}`)] as const);
    return KINDS[kind]!(content, new Map(await Promise.all(parts)));
}

const refused = (message: string): Awaited<ReturnType<ReadPoints>> => ({
    ok: false,
    error: { kind: "DomainError", message, value: null, rule: null, next_step: null, fix: null },
});

/** How the page itself answers for keys of this release; null where the file carries nothing for that. */
export function offline(result: Result): Offline | null {
    const { carried, answers } = result.content;
    if (carried !== undefined) return wholeOf(fields(carried, "carried"));
    return answers === undefined ? null : someOf(answers);
}

function wholeOf(content: Record<string, unknown>): Offline | null {
    const { kind, bytes } = readWhole(content, "carried");
    if (!Object.hasOwn(KINDS, kind)) return null;
    let structure: Promise<Carried> | null = null; // unpacked when the first key is asked for
    return {
        points: null,
        words: `This file carries the whole answer, ${shown(String(Math.ceil(Number(bytes) / 1024)))} KiB: any key is read here, with no kernel and no network.`,
        async read({ points, beta, reader }) {
            let found: Carried;
            try {
                found = await (structure ??= opened(content));
            } catch (error) {
                console.warn("dpviz: what this file carries of an answer could not be read", error);
                return refused(
                    typeof DecompressionStream === "undefined"
                        ? "This browser cannot unpack what the file carries. Open it in a newer one."
                        : "What this file carries of the answer is damaged, so no key can be read. Make the report again.",
                );
            }
            const values = points.map((point) => ({ point, ...found.look(point, beta, reader || found.readers[0]!) }));
            const lost = values.find((row) => !("value" in row));
            return lost === undefined ? { ok: true, body: { values } } : refused(`There is no bin ${lost.point.map(quoted).join(", ")}: it is not among those declared.`);
        },
    };
}

function someOf(answers: unknown): Offline {
    const { points, readers } = readAnswers(answers, "answers");
    const places = new Map(points.map((point, i) => [JSON.stringify(point), i]));
    const many = points.length === 1 ? "one key" : `${shown(String(points.length))} keys`;
    return {
        points,
        words: `This file carries the answers for ${many}, chosen when it was made.`,
        read: ({ points: asked, beta, reader }) => {
            const rows = readers.get(reader || [...readers.keys()][0]!)?.get(beta);
            const values = asked.map((point) => rows?.[places.get(JSON.stringify(point)) ?? -1]);
            return Promise.resolve(
                values.includes(undefined)
                    ? refused(`This file does not carry the answer for this key. It carries those for ${many}; open the notebook for others.`)
                    : { ok: true, body: { values } },
            );
        },
    };
}
