// What the page writes of a table is what the kernel writes (`tests/model/test_spreadsheet.py`): shown by a spreadsheet, not run.

import { expect, test } from "vitest";
import { cell, guarded, headOf } from "../src/saving";
import { result } from "./host";

const RUN = ["=1+1", "+a", "-a", "@SUM(1)", "\t=1", "\r=1", "\n=1", "'=1", "''@x", "-5 to 3", "+", "-", "-inf", "=", "--1"];
const SHOWN = ["a", "", " =1", "a=1", "'tis", "''", "7", "-7", "+.5", "-1e-3", "-1/2", "1e400", "-7."];

test.each(RUN)("%j would be run, and is written as text", (value) => expect(guarded(value)).toBe(`'${value}`));

test.each(SHOWN)("%j is written as it is", (value) => expect(guarded(value)).toBe(value));

test("a guarded cell is quoted where it must be, a comment is one line, and a column's name is a cell, too", () => {
    expect(cell('=A1&","')).toBe(`"'=A1&"","""`);
    expect(cell("-1/2")).toBe("-1/2");
    const head = headOf({ ...(result() as any), teaching: null, guarantee: "g" }, "0.05", ["=bin", "value"], "one\r\n=two");
    expect(head).toBe("# g\n# one =two\n# intervals fail at most 0.05 of the time\n'=bin,value\n");
});
