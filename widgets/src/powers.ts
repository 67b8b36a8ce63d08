/** Very large and very small numbers, written with a power of ten. */

import { MINUS } from "./words";

const DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

export const raised = (power: number): string => `${power < 0 ? "⁻" : ""}${[...String(Math.abs(power))].map((digit) => DIGITS[Number(digit)]).join("")}`;

export const figures = (value: number, count = 4): string => String(Number(value.toPrecision(count))).replace("-", MINUS);

/** 0.0123, 1,900, 2.9 × 10⁻⁵, 4.8 × 10⁷ */
export function powers(value: number): string {
    if (value === 0 || (Math.abs(value) >= 0.001 && Math.abs(value) < 1e5)) return figures(value);
    const power = Math.floor(Math.log10(Math.abs(value)));
    return `${figures(value / 10 ** power, 2)} × 10${raised(power)}`;
}
