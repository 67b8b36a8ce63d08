/** Very large and very small numbers, written with a power of ten. */

import { MINUS } from "./words";

const DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

export const raised = (power: number): string => `${power < 0 ? "⁻" : ""}${[...String(Math.abs(power))].map((digit) => DIGITS[Number(digit)]).join("")}`;

/** A power of ten: 0.001 as 10⁻³, 1 as 1. */
export function powerOfTen(value: number): string {
    const power = Math.round(Math.log10(value));
    return power === 0 ? "1" : `10${raised(power)}`;
}

export const figures = (value: number, count = 4): string => String(Number(value.toPrecision(count))).replace("-", MINUS);

/** 0.0123, 1,900, 2.9 × 10⁻⁵, 4.8 × 10⁷ */
export function powers(value: number): string {
    if (value === 0 || (Math.abs(value) >= 0.001 && Math.abs(value) < 1e5)) return figures(value);
    const power = Math.floor(Math.log10(Math.abs(value)));
    return `${figures(value / 10 ** power, 2)} × 10${raised(power)}`;
}

/** The nearest number of so many figures that is not below a number above 0; a bound that is shown so stays one. */
function outward(value: number, count: number, up: boolean): number {
    if (Number(value.toPrecision(count)) === value) return value;
    const [digits, power] = value.toExponential(20).split("e") as [string, string];
    const cut = Number(digits.slice(0, count + 1)) + (up ? 10 ** (1 - count) : 0);
    return Number(`${cut.toFixed(count - 1)}e${power}`);
}

/** As `powers`, rounded up: what is at most this, or costs it. */
export const above = (value: number): string => (value > 0 ? powers(outward(value, value >= 0.001 && value < 1e5 ? 4 : 2, true)) : powers(value));

/** As `powers`, rounded down. */
export const below = (value: number): string => (value > 0 ? powers(outward(value, value >= 0.001 && value < 1e5 ? 4 : 2, false)) : powers(value));
