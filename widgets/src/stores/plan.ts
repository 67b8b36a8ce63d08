/** The parts of a plan and of an order for it, as a page names them. */

import type { Entry, Point, Price, Sheet } from "../protocol/protocol";

/** The text of the button when it was pressed; the kernel refuses any other price. */
export interface Order {
    readonly price: Price;
    readonly args: Record<string, unknown>;
}

/** A finished release, as far as a plan is held against it. */
export type Paid = Pick<Entry, "number" | "epsilon">;

/** A question that is known by its id, or one that a reader declares. */
export type Question = { id: string } | Record<string, unknown>;

/** The reader's changes to a plan. */
export interface Change {
    question?: Question;
    mechanism?: string;
    parameters?: Record<string, string>;
    /** Of how many look-ups at once the plan tells the error. */
    among?: string;
    /** How the price is shared out among parts; empty for the way that errs least. */
    way?: string;
    /** In how many bins one unit counts; empty for the limit of the unit. */
    max_bins?: string;
    /** The field that it was typed in, where that is none of these. */
    at?: string;
}

/** A plan that is asked for: what stood there, and all that was changed since. */
export type Wanted = Required<Omit<Change, "at">>;

/** Of how many look-ups at once a plan tells the error; empty where it tells of none. */
export const amongOf = (sheet: Sheet | null): string => sheet?.measures.find((one) => one.many !== null)?.many ?? "";

/** In how many bins one unit counts, where the plan names that; empty where the limit of the unit holds. */
export const limitOf = (sheet: Sheet | null): string => sheet?.within?.get("max_bins") ?? "";

/** The part of a plan that the kernel is sent. */
export const planOf = (sheet: Sheet, point: Point): Record<string, unknown> => ({
    question: { id: sheet.question.id },
    mechanism: sheet.mechanism.name,
    parameters: { ...Object.fromEntries(sheet.mechanism.parameters), epsilon: point.epsilon },
    ...(sheet.way === null ? {} : { way: sheet.way }),
    ...(limitOf(sheet) === "" ? {} : { max_bins: limitOf(sheet) }),
});
