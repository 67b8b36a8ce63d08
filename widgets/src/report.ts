/** A report: releases as they were paid for, plan sheets still alive, no kernel, no network. */

import { copy, h, setText } from "./dom";
import { EXPLORERS } from "./explorers";
import { Malformed, Newer, readReport, type Report, type Result, type Sheet } from "./protocol";
import { epsilonField } from "./epsilon_field";
import { planPane } from "./plan_pane";
import { numbersTable, resultChart } from "./result_chart";
import { mount } from "./root";
import { Desk } from "./store";
import { costsDelta, shown } from "./words";

function plural(count: number, noun: string): string {
    return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function head(report: Report): HTMLElement {
    const { totals } = report;
    const parts: [number, string][] = [
        [report.releases.length, "release"],
        [report.sheets.length, "plan sheet"],
        [report.explorers?.length ?? 0, "explorer"],
    ];
    const sums = [
        ["total paid", `ε ${totals.epsilon} · δ ${totals.delta}`],
        ["unit", totals.unit],
        ["random bits", totals.randomness],
        ["ledger chain", totals.chain],
    ];
    return h(
        "header",
        { class: "dp-report-head" },
        h(
            "p",
            { class: "dp-quiet" },
            "dpviz report · one file · works without a network or a kernel · " +
                parts
                    .filter(([count], i) => count > 0 || (i < 2 && !report.explorers?.length))
                    .map(([count, noun]) => plural(count, noun))
                    .join(", "),
        ),
        h("h1", {}, report.title),
        report.lead === null ? null : h("p", { class: "dp-lead" }, report.lead),
        report.releases.length + report.sheets.length === 0
            ? null
            : h(
            "dl",
            { class: "dp-totals" },
            ...sums
                .filter(([, value]) => value !== "")
                .map(([name, value]) => h("div", {}, h("dt", {}, name!), h("dd", {}, value!))),
        ),
    );
}

function live(component: (desk: Desk) => ReturnType<typeof planPane>, desk: Desk): HTMLElement {
    const place = h("div", {});
    mount(desk, component(desk), place);
    return place;
}

const isSmall = ({ kind, scale, values }: Result): boolean =>
    kind === "histogram" && scale === "categories" && values.length <= 8;

function released(result: Result): HTMLElement {
    const small = isSmall(result);
    const place = live(() => resultChart({ result }, { level: "h2", tools: false }), new Desk());
    place.classList.add(small ? "dp-half" : "dp-full");
    return place;
}

/** Whether a release answers the question of a sheet by its mechanism. An answer of a sub-session paid nothing by itself. */
const paidFor = (item: Result, { question, mechanism }: Sheet): boolean =>
    item.question_id === question.id && item.mechanism.startsWith(`${mechanism.name}(`) && !item.used;

/** What tells one of several sheets from the others: its column, or else its mechanism, too. */
function nameOf({ question, mechanism }: Sheet, sheets: readonly Sheet[]): string {
    if (sheets.length < 2) return "";
    const alike = sheets.filter((sheet) => sheet.question.column === question.column);
    return alike.length < 2 ? question.column : `${question.column}, ${mechanism.name}`;
}

/** One plan sheet with its slider: everything a reader may try, and the button that says why it ends there. */
function trial(sheet: Sheet, releases: readonly Result[], name: string): HTMLElement {
    const desk = new Desk();
    desk.furnish(sheet, releases.findLast((item) => paidFor(item, sheet)) ?? null);
    const title = name === "" ? "Try another ε" : `Try another ε: ${name}`;
    const place = live(
        (own) => planPane(own, { title, chip: "free · alive in this file", brief: true }, epsilonField(own)),
        desk,
    );
    place.classList.add("dp-half");
    place
        .querySelector(".dp-plan")
        ?.append(
            h("button", { type: "button", class: "dp-pay dp-off", "aria-disabled": "true" }, "Release needs a kernel"),
            h(
                "p",
                { class: "dp-note" },
                "This page holds releases and plans, and no data. Open the notebook to release.",
            ),
        );
    return place;
}

/** An explorer, alive in the file: its sliders move through the sheet that it was saved with. */
function explored(component: string, sheet: unknown): HTMLElement | null {
    if (!Object.hasOwn(EXPLORERS, component)) return null;
    const place = h("div", { class: "dp-full" });
    const { desk, component: view } = EXPLORERS[component as keyof typeof EXPLORERS]();
    desk.take("sheet", sheet);
    mount(desk, view, place);
    return place;
}

function numbers(result: Result, first: boolean): HTMLElement {
    const button = h(
        "button",
        {
            type: "button",
            class: "dp-button",
            onclick: () =>
                void copy(result.csv).then((done) => {
                    setText(button, done ? "Copied" : "Copy table");
                    setTimeout(() => setText(button, "Copy table"), 1500);
                }),
        },
        "Copy table",
    );
    const price = `paid ε ${result.price.epsilon}${costsDelta(result.price) ? `, δ ${result.price.delta}` : ""}`;
    return h(
        "details",
        { class: "dp-numbers", open: first },
        h("summary", {}, `Numbers: ${result.plain_title}`),
        h(
            "div",
            { class: "dp-numbers-head" },
            h(
                "p",
                { class: "dp-note" },
                (result.teaching !== null
                    ? "A teaching draw, not a release. "
                    : `${result.used ? `Used ${result.used}` : `${result.number === null ? "" : `Release ${shown(result.number)}, `}${price}`}. `) +
                    `${result.guarantee}. ${result.mechanism}, ${result.mode} mode, ` +
                    `random bits: ${result.randomness}.`,
            ),
            button,
        ),
        numbersTable(result, result.beta),
    );
}

export function draw(report: Report, root: HTMLElement): void {
    const ordered = [...report.releases.filter((item) => !isSmall(item)), ...report.releases.filter(isSmall)];
    const page = h(
        "div",
        { class: "dpviz-report" },
        head(report),
        h(
            "div",
            { class: "dp-report-grid" },
            ...ordered.map(released),
            ...report.sheets.map((sheet) => trial(sheet, report.releases, nameOf(sheet, report.sheets))),
            ...(report.explorers ?? []).map(({ component, sheet }) => explored(component, sheet)),
        ),
        h(
            "section",
            { "aria-label": "Numbers" },
            ...report.releases.filter((item) => item.kind !== "large").map((item, i) => numbers(item, i === 0)),
        ),
        report.caveats.length === 0
            ? null
            : h(
                  "footer",
                  { class: "dp-caveats" },
                  h("h2", {}, "What this does not protect"),
                  ...report.caveats.map((caveat) => h("p", {}, caveat)),
              ),
    );
    root.replaceChildren(h("div", { class: "dpviz dp-report-root" }, page));
}

function start(): void {
    const root = document.getElementById("dpviz-report");
    const data = document.getElementById("dpviz-data");
    if (root === null || data === null) return;
    try {
        draw(readReport(data.textContent ?? ""), root);
    } catch (error) {
        if (!(error instanceof Malformed || error instanceof Newer)) throw error;
        root.replaceChildren(
            h(
                "p",
                { role: "alert" },
                error instanceof Newer
                    ? `This report was written in ${error.message} of its format and its program reads version ${error.known}. ` +
                          "Nothing is drawn."
                    : `This report cannot be drawn: ${error.message}.`,
            ),
        );
    }
}

start();
