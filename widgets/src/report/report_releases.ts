/** The releases of a report, as they were paid for, and its plan sheets, still alive. */

import * as noAsking from "../answers/no_asking";
import { lend } from "../page/shared";
import { offline } from "../offline/carried";
import { copy, h, save, setText } from "../dom/dom";
import { compare, exactly } from "../numbers/exact";
import { epsilonField } from "../workbench/epsilon_field";
import { barOf, headline, signed } from "../wording/measures";
import { planPane } from "../workbench/plan_pane";
import { epsilonAxis, type Result, type Sheet } from "../protocol/protocol";
import type { ReleaseParts } from "./report";
import type { Views } from "../answers/guest_views";
import { resultChart } from "../workbench/result_chart";
import type { OfPage, ResultView } from "../answers/result_view";
import { stemOf, tableButton, tableOf } from "../answers/saving";
import { mount } from "../page/root";
import { SessionStore } from "../stores/session_store";
import { dataTable } from "../dom/table";
import { costsDelta, kindOf, often, same, shown } from "../wording/words";

lend(noAsking);

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

/** Whether a release answers the question of a sheet by its mechanism. A teaching draw and an answer of a sub-session paid nothing by themselves. */
const paidFor = (item: Result, { question, mechanism }: Sheet): boolean =>
    item.question_id === question.id && item.mechanism.startsWith(`${mechanism.name}(`) && !item.used && item.teaching === null;

/** The mark that tells one of several sheets from the others: its column, or else its mechanism, too. */
function nameOf(sheet: Sheet, sheets: readonly Sheet[]): string {
    if (sheets.length < 2) return "";
    const alike = sheets.filter((one) => about(one) === about(sheet));
    return alike.length < 2 ? about(sheet) : `${about(sheet)}, ${sheet.mechanism.name}`;
}

/** The columns of a plan, and the parts where it is asked by parts. */
const about = ({ question }: Sheet): string => question.column + (question.by === null ? "" : `, for each ${question.by.each}`);

/** One plan sheet with its slider: everything a reader may try, and the button that says why it ends there. */
function trial(sheet: Sheet, releases: readonly Result[], name: string, lesson: boolean): HTMLElement {
    const store = new SessionStore();
    store.ofLesson = lesson;
    const paid = releases.filter((item) => paidFor(item, sheet));
    store.load(sheet, paid.at(-1) ?? null);
    const title = name === "" ? "Try another ε" : `Try another ε: ${name}`;
    const place = live(
        (own) => planPane(own, { title, chip: "free · alive in this file", brief: true }, epsilonField(own)),
        store,
    );
    place.classList.add("dp-half");
    place.append(onPaper(sheet, paid, name));
    place
        .querySelector(".dp-plan")
        ?.append(
            lesson ? "" : h("button", { type: "button", class: "dp-pay dp-off", "aria-disabled": "true" }, "Release needs a kernel"),
            h(
                "p",
                { class: "dp-note" },
                lesson
                    ? "This page holds draws from public data, and plans. Open the notebook to draw again."
                    : "This page holds releases and plans, and no data. Open the notebook to release.",
            ),
        );
    return place;
}

/** No slider moves on paper: there a table says what the labelled values of ε would give, and where it was released. */
function onPaper(sheet: Sheet, paid: readonly Result[], name: string): HTMLElement {
    const labelled = epsilonAxis(sheet).labelled;
    const isReleased = (epsilon: string): boolean => paid.some((item) => same(item.epsilon, epsilon));
    const points = sheet.fans.epsilon
        .filter(({ epsilon }) => isReleased(epsilon) || labelled.some((tick) => same(tick, epsilon)))
        .sort((a, b) => compare(exactly(a.epsilon), exactly(b.epsilon)));
    const title = name === "" ? "At another ε" : `At another ε: ${name}`;
    const columns = headline(sheet).map((measure) => {
        const bars = points.map((point) => barOf(point, sheet.beta, measure));
        const kinds = new Set(bars.map((bar) => (bar === null ? "no bound" : kindOf(bar))));
        const cells = bars.map((bar) => (bar === null ? "no bound" : `${signed(measure, bar)}${kinds.size === 1 ? "" : ` ${kindOf(bar)}`}`));
        const about = [measure.origin, ...(kinds.size === 1 ? kinds : [])].filter((part) => part !== "").join(", ");
        return { name: about === "" ? measure.label : `${measure.label} (${about})`, cells };
    });
    const table = dataTable(title, [{ name: "ε" }, ...columns.map((column) => ({ name: column.name, figures: true }))], points.length, (i) => [
        isReleased(points[i]!.epsilon) ? `${points[i]!.epsilon}, as released` : points[i]!.epsilon,
        ...columns.map(({ cells }) => cells[i]!),
    ]);
    return h(
        "section",
        { class: "dp-paper-only", "aria-label": title },
        h("h2", {}, title),
        h("p", { class: "dp-note" }, `How far off an answer of ${sheet.mechanism.name} may be, ${often(sheet.beta).replace(" in ", " times in ")}. Planned from public facts alone.`),
        table,
    );
}

function copyButton(label: string, content: string): HTMLElement {
    const button = h(
        "button",
        {
            type: "button",
            class: "dp-button",
            onclick: () =>
                void copy(content).then((done) => {
                    setText(button, done ? "Copied" : "Copying failed");
                    setTimeout(() => setText(button, label), 1500);
                }),
        },
        label,
    );
    return button;
}

/** How to have the answer again in Python: to read, to copy, to save. */
function inPython(result: Result, script: string): HTMLElement {
    const write = (): void => save(`${stemOf(result)}.py`, "text/x-python", script);
    return h(
        "div",
        { class: "dp-script" },
        h(
            "div",
            { class: "dp-numbers-head" },
            h("p", { class: "dp-note" }, "The same in Python"),
            h("span", { class: "dp-tools" }, copyButton("Copy Python", script), h("button", { type: "button", class: "dp-button", onclick: write }, "Save Python")),
        ),
        h("pre", { class: "dp-code", tabindex: 0 }, script.trimEnd()),
    );
}

function numbers(result: Result, table: HTMLElement | null, long: OfPage | null, first: boolean): HTMLElement {
    const here = table === null ? null : tableOf(result, null, long);
    const price = `paid ε ${result.price.epsilon}${costsDelta(result.price) ? `, δ ${result.price.delta}` : ""}`;
    return h(
        "details",
        { class: "dp-numbers", open: first },
        h("summary", {}, `${table === null ? "In Python" : "Numbers"}: ${result.plain_title}`),
        h(
            "div",
            { class: "dp-numbers-head" },
            h(
                "p",
                { class: "dp-note" },
                (result.teaching !== null
                    ? "A teaching draw, not private. "
                    : `${result.used ? `Used ${result.used}` : `${result.number === null ? "" : `Release ${shown(result.number)}, `}${price}`}. `) +
                    `${result.guarantee}. ${result.mechanism}, ${result.mode} mode, ` +
                    `random bits: ${result.randomness}.${result.proof ? ` Proof of the price: ${result.proof}.` : ""}`,
            ),
            here === null ? null : h("span", { class: "dp-tools" }, result.csv === "" ? null : copyButton("Copy CSV", result.csv), tableButton(result, here)),
        ),
        table,
        result.script ? inPython(result, result.script) : null,
    );
}

export const RELEASES: ReleaseParts = {
    charts(releases, views) {
        const drawn = releases.map((result) => drawnBy(views, result));
        return [...drawn.filter((item) => !isNarrow(item)), ...drawn.filter(isNarrow)].map((item) => released(item, views));
    },
    sheets: (sheets, releases, lesson) => sheets.map((sheet) => trial(sheet, releases, nameOf(sheet, sheets), lesson)),
    numbers: (releases, views) =>
        releases.flatMap((result) => {
            const { view, body } = drawnBy(views, result);
            if (view?.table === undefined && !result.script) return [];
            return [{ result, table: view?.table?.(body, result.beta) ?? null, long: view?.csv?.(body, result.beta) ?? null }];
        }).map(({ result, table, long }, i) => numbers(result, table, long, i === 0)),
};
