/** Saving the table of a result as CSV: as it came, asked from the kernel in pieces, or written from what the page holds. */

import { h, save } from "../dom/dom";
import { file, Malformed, maybe, shape, whole } from "../protocol/readers";
import type { Reply, Result } from "../protocol/protocol";
import type { OfPage } from "./result_view";
import { shown } from "../wording/words";

/** Asks the kernel for a piece of a table. */
export type AskTable = (args: { number: string; start: string }) => Promise<Reply>;

/** Where a table comes from, and what its button says of it. */
export type Table = { from: "text" | "kernel" | "page"; says: string; write: (told: (share: number) => void) => Promise<string[]> };

const readPiece = shape({ text: file, next: maybe(whole), size: whole });
/** The rows that are written between two breaths of the page. */
const AT_ONCE = 20_000;
/** The times that a piece is asked for again after another page's wish has pushed it aside. */
const TRIES = 20;
const PAUSE = 250;

/** How the table of a result is had here; null where it has none, or nobody is there who has it. */
export function tableOf(result: Result, ask: AskTable | null, ofPage: OfPage | null): Table | null {
    if (result.csv !== "") return { from: "text", says: "CSV", write: () => Promise.resolve([result.csv]) };
    if (result.table_rows === null || result.table_rows === "0") return null;
    const rows = `${shown(result.table_rows)} rows`;
    if (ask !== null) return { from: "kernel", says: `CSV, all ${rows}`, write: (told) => fromKernel(result, ask, told) };
    if (ofPage === null) return null;
    return { from: "page", says: `CSV, ${shown(String(ofPage.rows))} rows: ${ofPage.says}`, write: (told) => fromPage(ofPage, told) };
}

async function fromKernel(result: Result, ask: AskTable, told: (share: number) => void): Promise<string[]> {
    const parts: string[] = [];
    for (let [start, tries] = ["0", 0]; ; ) {
        const reply = await ask({ number: result.number ?? "", start });
        if (!reply.ok) {
            if (reply.error.kind !== "Superseded" || ++tries > TRIES) throw new Malformed(reply.error.message);
            await pause(PAUSE);
            continue;
        }
        const piece = readPiece(reply.body["next"] === "" ? { ...reply.body, next: null } : reply.body, "body");
        parts.push(piece.text);
        if (piece.next === null) return parts;
        [start, tries] = [piece.next, 0];
        told(Number(piece.next) / Number(piece.size));
    }
}

async function fromPage({ head, rows, line }: OfPage, told: (share: number) => void): Promise<string[]> {
    const parts = [head];
    for (let row = 0; row < rows; row += AT_ONCE) {
        const lines = Array.from({ length: Math.min(AT_ONCE, rows - row) }, (_, i) => line(row + i));
        parts.push(`${lines.join("\n")}\n`);
        told(row / rows);
        await pause(0);
    }
    return parts;
}

const pause = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds));

/** The name of the file. */
export const stemOf = (result: Result): string =>
    result.teaching !== null ? "teaching-draw" : result.number === null ? "release" : `release-${result.number}`;

/** Save a table; what is said meanwhile and at the end goes to `tell`. */
export async function saveTable(result: Result, table: Table, tell: (words: string) => void): Promise<void> {
    try {
        const parts = await table.write((share) => tell(`Writing the table: ${Math.floor(100 * share)} %`));
        save(`${stemOf(result)}.csv`, "text/csv", parts);
        tell(table.from === "text" ? "" : "The table is saved.");
    } catch (error) {
        if (!(error instanceof Malformed)) throw error;
        tell(`Nothing was saved: ${error.message}`);
    }
}

/** A button for where a table stands by itself, as in a report. */
export function tableButton(result: Result, table: Table): HTMLElement {
    const said = h("span", { class: "dp-note", role: "status" });
    const button = h(
        "button",
        {
            type: "button",
            class: "dp-button",
            onclick: () => {
                button.disabled = true;
                void saveTable(result, table, (words) => (said.textContent = words)).finally(() => (button.disabled = false));
            },
        },
        `Save ${table.says}`,
    );
    return h("span", { class: "dp-save-table" }, button, said);
}

// --- what views write ------------------------------------------------------------------------------------------------

const RUN = /^'*[=+\-@\t\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]/;
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?(\/\d+)?$/;

const BROKEN = /[\r\n\0]|\\[rn0\\]/;
const QUOTED = /[",#]|^[ \t\u00a0\ufeff]|[ \t\u00a0]$|^$/;
const SIGNS: Record<string, string> = { "\\": "\\\\", "\r": "\\r", "\n": "\\n", "\0": "\\0" };

/** A cell on one line that a spreadsheet shows and does not run: the rules of `dpviz/model/spreadsheet.py`. */
export function guarded(value: string): string {
    const line = BROKEN.test(value) ? value.replace(/[\\\r\n\0]/g, (sign) => SIGNS[sign]!) : value;
    return RUN.test(line) && !NUMBER.test(line) ? `'${line}` : line;
}

/** A cell, guarded, and quoted where it must be. Its cases are those of `tests/model/cells.json`. */
export function cell(value: string): string {
    const safe = guarded(value);
    return QUOTED.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

/** The lines before the table: the guarantee, what the answer says as a whole, and how often intervals hold. */
export function headOf(result: Result, beta: string | null, columns: readonly string[], ...more: readonly string[]): string {
    const note = result.teaching !== null ? "not private: seeded teaching draw" : result.guarantee;
    const limits = result.teaching !== null && result.limits !== null ? [result.limits.sentence] : [];
    const beside = result.asked === null ? limits : result.asked.remarks;
    const lines = [note, ...beside, ...more, ...(beta === null ? [] : [`intervals fail at most ${beta} of the time`])];
    return `${lines.map((line) => `# ${line.replace(/\r\n|[\r\n]/g, " ")}\n`).join("")}${columns.map(cell).join(",")}\n`;
}
