import { expect, test } from "vitest";
import {
    add,
    approximate,
    compare,
    exactly,
    format,
    fraction,
    leftAfter,
    morePrivate,
    parse,
    subtract,
    times,
} from "../src/numbers/exact";

test("decimals, fractions, exponents and a true minus sign are read exactly", () => {
    expect(parse("0.1")).toEqual(fraction(1n, 10n));
    expect(parse("1/10")).toEqual(fraction(1n, 10n));
    expect(parse(" 2 / 20 ")).toEqual(fraction(1n, 10n));
    expect(parse(".5")).toEqual(fraction(1n, 2n));
    expect(parse("1e-6")).toEqual(fraction(1n, 1_000_000n));
    expect(parse("\u22121/2")).toEqual(fraction(-1n, 2n));
    expect(parse("9007199254740993")).toEqual(fraction(9007199254740993n));
    expect(parse("\u22121e\u22120003")).toEqual(fraction(-1n, 1000n));
    expect(parse("1e9999")).toEqual(fraction(10n ** 9999n));
});

test("what is no number is null, never zero", () => {
    for (const text of [
        "",
        ".",
        "abc",
        "1/0",
        "0x10",
        "NaN",
        "Infinity",
        "1,5",
        "1e99999",
        "--1",
        "1/2/3",
        "\u00a01",
        "1\t/2",
        "9".repeat(5000),
    ]) {
        expect(parse(text), text).toBeNull();
    }
});

test("a sum that floats get wrong is right", () => {
    expect(format(add(exactly("0.1"), exactly("0.2")))).toBe("0.3");
    expect(format(subtract(exactly("0.3"), exactly("0.1")))).toBe("0.2");
    expect(format(times(exactly("1/3"), 3n))).toBe("1");
    expect(compare(exactly("0.30000000000000001"), exactly("0.3"))).toBe(1);
});

test("a number with no finite decimal is written as a fraction, any other as a decimal", () => {
    expect(format(fraction(1n, 3n))).toBe("1/3");
    expect(format(fraction(-7n, 8n))).toBe("-0.875");
    expect(format(fraction(1n, 1_000_000n))).toBe("0.000001");
    expect(format(fraction(120n))).toBe("120");
    expect(format(exactly("1e-30"))).toBe(`0.${"1".padStart(30, "0")}`);
    expect(format(exactly("1e-31"))).toBe(`1/${10n ** 31n}`);
});

test("what is left after a price is exact, and null where it does not reach", () => {
    expect(leftAfter("1.1", "0.2")).toBe("0.9");
    expect(leftAfter("1/3", "1/3")).toBe("0");
    expect(leftAfter("0.2", "0.2000000000000000001")).toBeNull();
});

test("snapping takes the nearest tick that is at least as private", () => {
    const grid = ["0.01", "0.1", "0.2", "0.5"].map(exactly);
    expect(morePrivate(grid, exactly("0.2"))).toBe(2);
    expect(morePrivate(grid, exactly("0.49999999999999999999"))).toBe(2);
    expect(morePrivate(grid, exactly("0.5"))).toBe(3);
    expect(morePrivate(grid, exactly("7"))).toBe(3);
    expect(morePrivate(grid, exactly("0.001"))).toBe(-1);
});

test("a mark's place is near even for numbers no float can hold", () => {
    expect(approximate(exactly("1/3"))).toBeCloseTo(1 / 3, 15);
    expect(approximate(fraction(10n ** 400n, 10n ** 399n))).toBe(10);
});
