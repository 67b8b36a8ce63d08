/** The releases of a report, as they were paid for, and its plan sheets, still alive. */

import "./shared";
import { offline } from "./carried";
import { copy, h, setText } from "./dom";
import { epsilonField } from "./epsilon_field";
import { planPane } from "./plan_pane";
import type { Result, Sheet } from "./protocol";
import type { ReleaseParts } from "./report";
import type { Views } from "./guest_views";
import { resultChart } from "./result_chart";
import type { OfPage, ResultView } from "./result_view";
import { tableButton, tableOf } from "./saving";
import { mount } from "./root";
import { SessionStore } from "./session_store";
import { costsDelta, shown } from "./words";

function live(component: (store: SessionStore) => ReturnType<typeof planPane>, store: SessionStore): HTMLElement {
    const place = h("div", {});
    mount(store, component(store), place);
    return place;
}

/** A release with the view of its kind, and what that reads of it; null where there is none, or where it cannot. */
interface Drawn {
    result: Result;
    view: ResultView | null;
    body: unknown;
}

function drawnBy(views: Views, result: Result): Drawn {
    const { view } = views.of(result.kind);
    try {
        return { result, view, body: view?.read(result) };
    } catch (error) {
        console.warn(`dpviz: an answer of kind ${result.kind} could not be read`, error);
        return { result, view: null, body: null };
    }
}

const isNarrow = ({ view, body }: Drawn): boolean => view?.narrow?.(body) ?? false;

function released(drawn: Drawn, views: Views): HTMLElement {
    const { result } = drawn;
    const place = live(() => resultChart({ result, views, offline: offline(result) }, { level: "h2", tools: false }), new SessionStore());
    place.classList.add(isNarrow(drawn) ? "dp-half" : "dp-full");
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
    const store = new SessionStore();
    store.load(sheet, releases.findLast((item) => paidFor(item, sheet)) ?? null);
    const title = name === "" ? "Try another ε" : `Try another ε: ${name}`;
    const place = live(
        (own) => planPane(own, { title, chip: "free · alive in this file", brief: true }, epsilonField(own)),
        store,
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

function numbers(result: Result, table: HTMLElement, long: OfPage | null, first: boolean): HTMLElement {
    const here = result.csv === "" ? tableOf(result, null, long) : null;
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
            here !== null ? tableButton(result, here) : result.csv === "" ? null : button,
        ),
        table,
    );
}

export const RELEASES: ReleaseParts = {
    charts(releases, views) {
        const drawn = releases.map((result) => drawnBy(views, result));
        return [...drawn.filter((item) => !isNarrow(item)), ...drawn.filter(isNarrow)].map((item) => released(item, views));
    },
    sheets: (sheets, releases) => sheets.map((sheet) => trial(sheet, releases, nameOf(sheet, sheets))),
    numbers: (releases, views) =>
        releases.flatMap((result) => {
            const { view, body } = drawnBy(views, result);
            return view?.table === undefined ? [] : [{ result, table: view.table(body, result.beta), long: view.csv?.(body, result.beta) ?? null }];
        }).map(({ result, table, long }, i) => numbers(result, table, long, i === 0)),
};
