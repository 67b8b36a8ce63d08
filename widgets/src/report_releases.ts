/** The releases of a report, as they were paid for, and its plan sheets, still alive. */

import { copy, h, setText } from "./dom";
import { epsilonField } from "./epsilon_field";
import { planPane } from "./plan_pane";
import type { Result, Sheet } from "./protocol";
import type { ReleaseParts } from "./report";
import { numbersTable, resultChart } from "./result_chart";
import { mount } from "./root";
import { Desk } from "./store";
import { costsDelta, shown } from "./words";

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

export const RELEASES: ReleaseParts = {
    charts: (releases) =>
        [...releases.filter((item) => !isSmall(item)), ...releases.filter(isSmall)].map(released),
    sheets: (sheets, releases) => sheets.map((sheet) => trial(sheet, releases, nameOf(sheet, sheets))),
    numbers: (releases) =>
        releases.filter((item) => item.drawn && item.kind !== "large").map((item, i) => numbers(item, i === 0)),
};
