/**
 * The messages between kernel and page (PROTOCOL.md), as types and as checks.
 *
 * Nothing that comes in is believed before it has been read here: a trait can be written by anybody who can write to
 * the page, and a saved notebook can hold anything. Fields nobody asked for are left out; a missing or malformed one
 * throws `Malformed`, a later version throws `Newer`.
 */

import { besideMessage, withColumns } from "./columns";
import { exact, fields, file, flag, list, Malformed, maybe, Newer, oneOf, shape, share, table, text, versionUpTo, whole, wrong, type Read, type Reader } from "./readers";

export const VERSION = 1;
const SHEET_VERSION = 2;

export const version = versionUpTo(VERSION);
export const sheetVersion = versionUpTo(SHEET_VERSION);

/** A number of bins, empty where the keys are not declared. */
const countOfBins: Reader<string> = (value, where) => (value === "" ? "" : whole(value, where));

const readPrice = shape({ epsilon: exact, delta: exact });

export const readHow = oneOf("exact", "bound", "numerical", "simulated");

/** An error: its size, how it is known, and by which rule; `off` says how far a calculated one may be from the truth. */
export const readBar = shape({ value: exact, kind: readHow, rule: text, off: maybe(exact), runs: maybe(text) });

/** A statement about an error, and the words for it, with {value}, {often} and {times} where the numbers go. */
export const readMeasure = shape({
    name: text,
    label: text,
    short: text,
    phrase: text,
    tip: text,
    sign: text,
    origin: text,
    missing: text,
    weight: oneOf("thick", "medium", "thin", ""),
    pictured: flag,
    /** Whether it holds for sure, so that no chance that it fails is told beside it. */
    certain: maybe(flag),
    /** Of a statement about several look-ups at once, how many they are. */
    many: maybe(whole),
});

const readPoint = shape({
    epsilon: exact,
    exactly: text,
    key: text,
    price: shape({ epsilon: exact, delta: exact, asked: exact }),
    odds: text,
    guarantee: text,
    proof: maybe(text),
    space: shape({ bits: text, text: text }),
    /** How many rows leave the engine, where that bounds what is read. */
    rows: maybe(text),
    /** How much work a release is; `slow` is worth a warning before it is paid. */
    cost: shape({ text: text, slow: flag }),
    verb: text,
    /** By how often they fail, and by the name of their measure. */
    errors: table(table(readBar)),
    more: maybe(
        list(
            shape({
                label: text,
                value: text,
                kind: readHow,
                rule: text,
                beta: maybe(text),
            }),
        ),
    ),
    dots: maybe(list(exact)),
    /** Where small counts are left out, the true count of the bin whose errors `dots` are. */
    cut: maybe(exact),
    bias: maybe(text),
    chance: maybe(shape({ c: list(exact), p: list(share) })),
    /** Of a question that is asked by parts, what each way to share the price out comes to: by its name, for those that can be taken. */
    ways: maybe(table(shape({ price: readPrice, errors: table(maybe(readBar)) }))),
});

/** A way to share the price out among parts: what it says of its error, or why it cannot be taken. */
const readWay = shape({
    name: text,
    label: text,
    refused: text,
    rule: maybe(text),
    measure: maybe(readMeasure),
    /** The things that it leaves out and the others count, in words. */
    leaves_out: maybe(text),
    /** The call that pays for it, where no release does: then it is not picked here. */
    opened: maybe(text),
});

/** The public bins of one column, and the id by which they are named. */
const readBins = shape({ id: text, column: text, text: text, size: text });

/**
 * `stays`: the parameters that are about the data, so that they stay where another mechanism takes them, too; `records`:
 * whether it draws records, and answers nothing else.
 */
const readMechanism = shape({ name: text, title: text, about: text, stays: maybe(list(text)), records: maybe(flag) });

const readSheetShape = shape({
    version: sheetVersion,
    made: text,
    question: shape({
        id: text,
        column: text,
        asks: maybe(text),
        noun: text,
        nouns: text,
        bins: countOfBins, size: maybe(text),
        bins_text: text,
        sentence: text,
        /** The bins of each column, where another question can be made of them. */
        factors: maybe(list(readBins)),
        /** The parts, where it is asked by parts: `most` is in how many of them one unit counts, empty for all. */
        by: maybe(shape({ id: text, column: text, text: text, size: whole, most: text, each: text })),
        /** The same question without parts. */
        plain: maybe(text),
    }),
    unit: shape({ text: text }),
    /** How the price is shared out among parts, and every way there is. */
    way: maybe(text),
    ways: maybe(list(readWay)),
    mechanism: shape({
        name: text,
        title: text,
        about: text,
        delta: text,
        parameters: table(text),
        choices: list(shape({ name: text, label: text, options: list(shape({ value: text, label: text })), stays: maybe(flag), open: maybe(flag) })),
    }),
    mechanisms: list(readMechanism),
    /** How many items the answer names at most; empty where it has a value per bin. */
    places: maybe(countOfBins),
    /** Why a view opened on this mechanism, and not on the usual one. */
    opening: maybe(text),
    /** Whether nobody declared these bins: then the plan is an example, and nothing can be bought. */
    suggested: maybe(flag),
    /** The limits of the unit, and which ends of intervals are open; of a row there is nothing to say. */
    limits: maybe(text),
    /** The limit on the bins of one unit (empty for none), the number of bins, and the noun of one. */
    limit: maybe(shape({ now: text, bins: whole, each: text })),
    /** The limits of this plan that are not the unit's; empty for no limit. */
    within: maybe(table(text)),
    /** Statements about the error, the most important first: the first two head the plan. */
    measures: list(readMeasure),
    betas: list(exact),
    beta: exact,
    axes: list(shape({ name: text, label: text, hint: text, grid: list(exact), labelled: list(exact) })),
    now: readPoint,
    fans: shape({ epsilon: list(readPoint) }),
    python: text,
});

/** The error of one bin together with an answer that is there, and its error now; `key` is the plan's. */
export const readAfter = shape({
    key: text,
    together: maybe(shape({ number: whole, errors: table(shape({ both: maybe(readBar), now: maybe(readBar) })) })),
});
export type After = ReturnType<typeof readAfter>;

/** The first error under each limit on the bins of one unit, and the units over each, by a released profile; `key` is the plan's. */
export const readLimit = shape({
    key: text,
    curve: list(shape({ most: whole, errors: table(maybe(readBar)) })),
    over: maybe(shape({ number: text, rows: list(shape({ value: exact, low: maybe(exact), high: maybe(exact) })) })),
});
export type LimitCurve = ReturnType<typeof readLimit>;

/**
 * The advice beside a plan, of which `key` is the name: sentences under their heads, and the first mechanisms for its
 * question, the best first, by their errors for a goal. `rows` is null where the first choice is in use and the others
 * were not asked for; `here` is the plan itself, which stands last where it is none of the first.
 */
export const readAdvice = shape({
    key: text,
    told: list(shape({ head: text, text: text })),
    goals: list(shape({ value: text, label: text })),
    goal: text,
    says: text,
    beaten: flag,
    rows: maybe(
        list(
            shape({
                mechanism: text,
                parameters: table(text),
                about: text,
                settings: text,
                why: text,
                errors: list(shape({ label: text, said: text })),
                price: readPrice,
                rho: text,
                here: flag,
                first: flag,
            }),
        ),
    ),
});
export type Advice = Read<typeof readAdvice>;
export type AdvisedRow = NonNullable<Advice["rows"]>[number];

/** `number` is empty until it is charged, `waiting` what the charge waits for, `re` the message that ordered it. */
export const readRunning = shape({
    token: text,
    number: text,
    done: whole,
    of: whole,
    text: text,
    re: maybe(text),
    waiting: maybe(text),
});

export const readRefusal = shape({
    kind: text,
    message: text,
    value: maybe(text),
    rule: maybe(text),
    next_step: maybe(text),
    fix: maybe(shape({ epsilon: maybe(exact) })),
});

/** How an order of a page ended; `number` is empty where nothing was charged. */
export const readOutcome = shape({
    token: text,
    re: text,
    event: oneOf("released", "cancelled", "failed"),
    number: text,
    error: maybe(readRefusal),
});

/** States of one kernel are numbered, and news of orders may get lost: the last ends are told in every state. */
export const readOrders = { serial: maybe(whole), outcomes: maybe(list(readOutcome)) };
const readRaise = shape({
    at: maybe(text),
    /** In words: "ε 3, δ 0.000001". */
    budget: text,
    person: maybe(text),
    reason: maybe(text),
});


const readTeaching = shape({ seed: text });

const readPurse = shape({ total: exact, spent: exact, pending: exact, left: exact });

const readStateShape = shape({
    version,
    title: text,
    ledger: maybe(text),
    kernel: text,
    teaching: maybe(readTeaching),
    /** `row`: each row is a unit of its own. */
    unit: shape({ text: text, noun: text, nouns: text, row: maybe(flag) }),
    /** `untyped`: texts that nobody declared, which a question for numbers reads as numbers. */
    columns: list(shape({ name: text, kind: oneOf("number", "text", "time"), untyped: maybe(flag) })),
    /** `asks`: for what in each bin, "counts", "sums" or "records"; `each`: by which parts, where it is. */
    questions: list(shape({ id: text, column: text, bins_text: text, bins: countOfBins, asks: maybe(text), each: maybe(text) })),
    /** The public bins that are known of each column. */
    bins: maybe(list(readBins)),
    budget: maybe(shape({ epsilon: readPurse, delta: readPurse, rho: maybe(readPurse) })),
    entries: list(
        shape({
            number: whole,
            question: text,
            question_id: text,
            key: text,
            mechanism: text,
            guarantee: text,
            proof: maybe(text),
            price: readPrice,
            epsilon: text,
            status: oneOf("done", "open", "pending", "elsewhere", "lost", "cancelled", "failed"),
            opened: text,
            person: maybe(text),
            /** The reader's own name of it, where it has one: a second answer to a question has. */
            named: maybe(text),
        }),
    ),
    raises: maybe(list(readRaise)),
    /** Whether this session started the ledger, and nothing has been charged since. */
    new: maybe(flag),
    /** When the ledger said so, UTC. */
    asof: maybe(text),
    running: maybe(readRunning),
    ...readOrders,
});

/** Ends in every row, open where there is none. */
const readEnds = shape({ low: list(maybe(exact)), high: list(maybe(exact)) });

/** The ends for what was asked, at each level, where a profile closes those that a limit leaves open, and the sentences beside them. */
const readAsked = shape({ ends: table(shape({ one: maybe(readEnds), all: maybe(readEnds) })), remarks: list(text), python: text });

/** The part that every answer tells, of whatever kind. */
const readHead = shape({
    version,
    kind: text,
    number: maybe(whole),
    key: text,
    question_id: text,
    title: text,
    plain_title: text,
    guarantee: text,
    /** The rule that proves the price; empty where nothing was paid. */
    proof: maybe(text),
    odds: text,
    price: readPrice,
    epsilon: exact,
    axis: text,
    /** The parts of a point: one text for each. */
    columns: maybe(list(text)),
    nouns: text,
    betas: list(exact),
    beta: exact,
    mechanism: text,
    mode: text,
    randomness: text,
    teaching: maybe(readTeaching),
    /** The part of an earlier payment that an answer of a sub-session used; empty for a release of its own. */
    used: maybe(text),
    python: text,
    /** In a report: how to have it, and to plan another, in Python. */
    script: maybe(file),
    csv: file,
    /** How many rows its table has; "0" where it has none. */
    table_rows: maybe(whole),
    /** The limits of the unit, where they may leave rows out: in a sentence, and which ends hold for what was asked. */
    limits: maybe(shape({ sentence: text, low: flag, high: flag })),
    /** The ends for what was asked, where a profile closes those that a limit leaves open. */
    asked: maybe(readAsked),
    /** Whether its rows are counts that add up, so that a sum of what is brushed can be asked for. */
    adds_up: maybe(flag),
    /** Another answer to the question, and the call that reads both as one. */
    together: maybe(shape({ number: whole, python: text })),
});

const readReportShape = shape({
    version,
    title: text,
    lead: maybe(text),
    releases: list((value) => value),
    sheets: list((value) => value),
    /** Whether it shows draws of public data alone, so that nothing in it was released or paid for. */
    lesson: maybe(flag),
    explorers: maybe(list(shape({ component: text, sheet: (value) => value }))),
    totals: shape({ epsilon: exact, delta: exact, unit: text, randomness: text, chain: text }),
    facts: maybe(list(shape({ name: text, value: text }))),
    caveats: list(text),
    /** The views of kinds that the program does not bring along. */
    views: maybe(list(shape({ kind: text, code: file, css: file }))),
});

export type Price = Read<typeof readPrice>;
export type Bar = Read<typeof readBar>;
export type Measure = Read<typeof readMeasure>;
export type Point = Read<typeof readPoint>;
export type Sheet = Read<typeof readSheetShape>;
export type Axis = Sheet["axes"][number];
export type Way = Read<typeof readWay>;
export type Bins = Read<typeof readBins>;
export type Running = Read<typeof readRunning>;
export type Raise = Read<typeof readRaise>;
export type Outcome = Read<typeof readOutcome>;
export type State = Read<typeof readStateShape>;
/** Where `rho` is given, it adds up (the zCDP filter), and `epsilon` is about a single answer. */
export type Budget = NonNullable<State["budget"]>;
export type Entry = State["entries"][number];
export type Purse = Read<typeof readPurse>;
/** The part that every answer tells has been checked; the view of its kind reads the rest, which nobody else may believe. */
export type Result = Read<typeof readHead> & { content: Readonly<Record<string, unknown>> };
export type Refusal = Read<typeof readRefusal>;
export type Report = Omit<Read<typeof readReportShape>, "releases" | "sheets"> & {
    releases: Result[];
    sheets: Sheet[];
};

/** A trait or a body as it arrives: JSON text, or the object itself. */
export function decode(value: unknown): unknown {
    if (typeof value !== "string") return value;
    try {
        return JSON.parse(value) as unknown;
    } catch {
        throw new Malformed("the text is not JSON");
    }
}

export function readSheet(value: unknown): Sheet {
    const sheet = readSheetShape(decode(value), "sheet");
    const axis = epsilonAxis(sheet);
    if (axis.grid.length === 0) wrong("sheet.axes.epsilon.grid", "a grid");
    if (sheet.fans.epsilon.length !== axis.grid.length) wrong("sheet.fans.epsilon", "one point per grid value");
    sheet.fans.epsilon.forEach((point, i) => {
        if (point.epsilon !== axis.grid[i]) wrong(`sheet.fans.epsilon[${i}]`, "the point of its grid value");
    });
    for (const point of [sheet.now, ...sheet.fans.epsilon]) {
        for (const beta of sheet.betas) if (!point.errors.has(beta)) wrong("point.errors", `given at beta ${beta}`);
    }
    if (!sheet.betas.includes(sheet.beta)) wrong("sheet.beta", "one of its betas");
    checkWays(sheet);
    return sheet;
}

/** The way on show is one of the ways, and every point says what it comes to. */
function checkWays({ way, ways, now, fans }: Sheet): void {
    if (way === null) return;
    if (!ways?.some(({ name, refused }) => name === way && refused === "")) wrong("sheet.way", "one of its ways");
    for (const point of [now, ...fans.epsilon]) if (!point.ways?.has(way)) wrong("point.ways", "in possession of the way on show");
}

export function epsilonAxis(sheet: Sheet): Axis {
    return sheet.axes.find((axis) => axis.name === "epsilon") ?? wrong("sheet.axes", "in possession of epsilon");
}

export const readState = (value: unknown): State => readStateShape(decode(value), "state");

/** Whether a state was read before another one of the same kernel: it came late, and says nothing new. */
export function isOlder(state: Stamped, than: Stamped | null): boolean {
    if (than === null || state.kernel !== than.kernel || state.serial === null || than.serial === null) return false;
    return BigInt(state.serial) < BigInt(than.serial);
}

type Stamped = { kernel: string; serial: string | null };

const CHECKS = new Map<string, (result: Result) => unknown>();

/** Have results of this kind checked as soon as they are read. */
export function checkResults(kind: string, check: (result: Result) => unknown): void {
    CHECKS.set(kind, check);
}

/** A result, checked by the view of its kind where that comes with this program; else when its view has come. */
export function readResult(value: unknown): Result {
    const content = withColumns(fields(decode(value), "result"));
    const head = readHead(content, "result");
    if (!head.betas.includes(head.beta)) wrong("result.beta", "one of its betas");
    const result = { ...head, content };
    CHECKS.get(head.kind)?.(result);
    return result;
}

export function readReport(value: unknown): Report {
    const report = readReportShape(decode(value), "report");
    return { ...report, releases: report.releases.map(readResult), sheets: report.sheets.map(readSheet) };
}

/** Asks the kernel for points of a stored answer. */
export type ReadPoints = (args: { number: string; points: string[][]; beta: string; reader: string }) => Promise<Reply>;

/** Asks the kernel for a sum or a comparison of what is stored. */
export type AskStored = (args: Record<string, unknown>) => Promise<Reply>;

/** Asks the kernel for the quantiles of what is stored, at a level. */
export type AskQuantiles = (args: { number: string; beta: string }) => Promise<Reply>;

/** Further records of the answer on show. */
export interface Further {
    /** Have so many more of them drawn, free. */
    draw(count: string): Promise<Reply>;
    /** The records drawn last from any answer, as they came, unchecked. */
    drawn(): unknown;
}

export type Reply = { ok: true; body: Record<string, unknown> } | { ok: false; error: Refusal };

export type Heard =
    | { kind: "reply"; re: string; reply: Reply }
    | { kind: "progress"; running: Running }
    | { kind: "released"; token: string; number: string | null; result: Result; state: State }
    | { kind: "cancelled"; token: string; number: string | null; error: Refusal | null; state: State }
    | { kind: "failed"; token: string; number: string | null; error: Refusal; state: State };

/** A message from the kernel side, with the bytes beside it; null for anything this page does not know. */
export function readMessage(content: unknown, parts: readonly unknown[] = []): Heard | null {
    try {
        const message = fields(content, "message");
        if (message["v"] !== VERSION) return null;
        if (typeof message["re"] === "string") {
            if (message["ok"] === true) {
                return { kind: "reply", re: message["re"], reply: { ok: true, body: besideMessage(fields(message["body"], "body"), parts) } };
            }
            return {
                kind: "reply",
                re: message["re"],
                reply: { ok: false, error: readRefusal(message["error"], "error") },
            };
        }
        const body = besideMessage(fields(message["body"], "body"), parts);
        if (message["event"] === "progress") return { kind: "progress", running: readRunning(body, "running") };
        const kind = oneOf("released", "cancelled", "failed")(message["event"], "event");
        const of = {
            token: text(body["token"], "token"),
            number: maybe(text)(body["number"], "number"),
            state: readState(body["state"]),
        };
        switch (kind) {
            case "released":
                return { kind, ...of, result: readResult(body["result"]) };
            case "cancelled":
                return { kind, ...of, error: maybe(readRefusal)(body["error"], "error") };
            case "failed":
                return { kind, ...of, error: readRefusal(body["error"], "error") };
        }
    } catch (error) {
        if (error instanceof Malformed || error instanceof Newer) return null;
        throw error;
    }
}
