/** Lines through points, as the text of an SVG path. */

export type At = readonly [x: number, y: number];

const text = (value: number): string => String(Number(value.toFixed(3)));
const to = (letter: "M" | "L", [x, y]: At): string => `${letter}${text(x)},${text(y)}`;

/** A line through these points, interrupted where there is none. `steps`: level, changing halfway between two points. */
export function path(points: readonly (At | null)[], steps = false): string {
    return points
        .map((point, i) => {
            const before = points[i - 1] ?? null;
            if (point === null) return "";
            if (before === null) return to("M", point);
            if (!steps) return to("L", point);
            const middle = (before[0] + point[0]) / 2;
            return to("L", [middle, before[1]]) + to("L", [middle, point[1]]) + to("L", point);
        })
        .join("");
}
