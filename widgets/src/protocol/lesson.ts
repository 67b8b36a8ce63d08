/** A lesson on public data, as a type and as a check: the draws that the kernel made and the true counts beside them. */

import { decode, version } from "./protocol";
import { exact, list, Malformed, maybe, shape, text, whole, wrong, type Read } from "./readers";

/** One number for each column, or two where a column holds several bins: the least and the greatest. */
const readReach = shape({ low: list(maybe(exact)), high: maybe(list(maybe(exact))) });

/** In how many bins an interval misses the true count, and in which columns how often. */
const readMissed = shape({ bins: whole, columns: list(place), times: list(place) });

const readLessonShape = shape({
    version,
    seed: text,
    key: text,
    title: text,
    axis: text,
    nouns: text,
    beta: exact,
    betas: list(exact),
    drawn: whole,
    /** Where limits of the unit may leave rows out, so that the counts on show are those within them. */
    limits: maybe(text),
    /** The true counts, which are public; `bins` is empty where they are only the largest of unknown keys. */
    truth: maybe(shape({ bins: text, labels: list(text), low: list(exact), high: maybe(list(exact)) })),
    draws: list(shape({ missed: maybe(readMissed), missed_all: maybe(readMissed) })),
    shown: list(shape({ draw: whole, values: readReach, one: maybe(readReach), all: maybe(readReach) })),
});

export type Lesson = Read<typeof readLessonShape>;
export type Missed = Read<typeof readMissed>;
export type Reach = Read<typeof readReach>;
export type Seen = Lesson["shown"][number];

function place(value: unknown, where: string): number {
    return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : wrong(where, "a place");
}

export function readLesson(value: unknown): Lesson | null {
    const given = decode(value);
    if (given === null) return null;
    const lesson = readLessonShape(given, "lesson");
    const columns = lesson.truth?.labels.length ?? 0;
    const fits = (numbers: readonly unknown[] | null | undefined): boolean => numbers == null || numbers.length === columns;
    const reaches = lesson.shown.flatMap(({ values, one, all }) => [values, one, all]);
    if (![lesson.truth, ...reaches].every((reach) => fits(reach?.low) && fits(reach?.high))) throw new Malformed("lesson: columns");
    return lesson;
}
