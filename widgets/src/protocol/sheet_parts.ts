/** The parts that the sheets of all explorers have: axes, points, one fan for each slider, and the check that they fit together. */

import { list, shape, table, text, wrong, type Read, type Reader } from "./readers";

export const number: Reader<number> = (value, where) =>
    typeof value === "number" && Number.isFinite(value) ? value : wrong(where, "a number");

export const readAxis = shape({ name: text, label: text, hint: text, grid: list(text), values: list(text) });

export type Axis = Read<typeof readAxis>;

export interface Point {
    readonly at: ReadonlyMap<string, string>;
}

/** One fan per slider through the current point; an axis without a fan is chosen within a point. Null: still to come. */
export interface Sheet<P extends Point> {
    readonly axes: readonly Axis[];
    readonly now: P;
    readonly fans: ReadonlyMap<string, readonly (P | null)[]>;
}

/** All points of a sheet that are there. */
export function pointsOf<P extends Point>({ now, fans }: Sheet<P>): P[] {
    return [now, ...[...fans.values()].flat().filter((point) => point !== null)];
}

export const at = table(text);

/** Each fan has one point per grid value of its axis, at that value. */
export function checked<P extends Point, S extends Sheet<P>>(sheet: S): S {
    for (const axis of sheet.axes) {
        if (axis.grid.length === 0 || axis.grid.length !== axis.values.length) wrong(`sheet.axes.${axis.name}`, "a grid");
        if (!sheet.now.at.has(axis.name)) wrong("sheet.now.at", `in possession of ${axis.name}`);
    }
    for (const [name, points] of sheet.fans) {
        const axis = sheet.axes.find((one) => one.name === name) ?? wrong("sheet.fans", "of its axes");
        if (points.length !== axis.grid.length) wrong(`sheet.fans.${name}`, "one point per grid value");
        points.forEach((point, i) => {
            if (point !== null && point.at.get(name) !== axis.grid[i]) wrong(`sheet.fans.${name}[${i}]`, "the point of its grid value");
        });
    }
    return sheet;
}
