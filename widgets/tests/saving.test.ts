// The page and the kernel write a table alike: both are held against one list of cases.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cell, headOf } from "../src/answers/saving";
import { result } from "./host";

const CASES = JSON.parse(readFileSync(join(__dirname, "../../tests/model/cells.json"), "utf8")) as { text: string; cell: string }[];

test.each(CASES)("$text is written as the kernel writes it", ({ text, cell: written }) => expect(cell(text)).toBe(written));

test("a comment is one line, and a column's name is a cell, too", () => {
    const head = headOf({ ...(result() as any), teaching: null, asked: null, guarantee: "g" }, "0.05", ["=bin", "value"], "one\r\n=two");
    expect(head).toBe("# g\n# one =two\n# intervals fail at most 0.05 of the time\n'=bin,value\n");
});
