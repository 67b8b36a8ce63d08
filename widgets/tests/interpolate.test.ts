// @ts-expect-error: d3-scale brings it along, without types
import * as d3 from "d3-interpolate";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as ours from "../src/numbers/interpolate";

test("numbers are interpolated as d3 does", () => {
    for (const t of [0, 0.1, 1 / 3, 0.5, 0.999, 1]) {
        expect(ours.interpolate(-3, 17.5)(t)).toBe(d3.interpolate(-3, 17.5)(t));
        expect(ours.interpolateNumber(2, 2)(t)).toBe(d3.interpolateNumber(2, 2)(t));
        expect(ours.interpolateRound(0, 640)(t)).toBe(d3.interpolateRound(0, 640)(t));
        const through = [0, 10, -5, 3];
        expect(ours.piecewise(ours.interpolateNumber, through)(t)).toBe(d3.piecewise(d3.interpolateNumber, through)(t));
    }
});

test("no source asks d3-scale to write numbers, which what is built cannot", () => {
    const folder = join(import.meta.dirname, "..", "src");
    const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
    const asking = sources.filter((name) => readFileSync(join(folder, name), "utf8").includes(".tickFormat"));
    expect([asking, sources.length > 50]).toEqual([[], true]);
});
