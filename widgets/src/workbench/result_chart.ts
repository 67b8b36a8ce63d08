/** A release on show: what was paid, its drawing by the view of its kind, its numbers as a table. Never a true count. */

import type { Offline } from "../offline/carried";
import type { Component } from "../dom/component";
import { copy, h, newId, save, setAttribute, setOptions, setText, show, watchWidth } from "../dom/dom";
import type { Views } from "../answers/guest_views";
import { phrase } from "../wording/measures";
import { timed } from "../dom/perf";
import { chartIn, savePng, saveSvg } from "../answers/picture";
import type { AskQuantiles, AskStored, Further, ReadPoints, Result } from "../protocol/protocol";
import type { Drawing, OfPage, ResultView } from "../answers/result_view";
import { saveTable, stemOf, tableOf, type AskTable, type Table } from "../answers/saving";
import type { SessionStore } from "../stores/session_store";
import { often, priceText, shown } from "../wording/words";

export interface ResultOptions {
    /** The heading's level on the page. */
    level: "h2" | "h3";
    tools: boolean;
}

/** Where a result comes from: a store, or one fixed release in a report. */
export interface ResultSource {
    result: Result | null;
    views: Views;
    /** Whether answers are drawn in a lesson, where nothing is released. */
    teaching?: boolean;
    /** Nothing is known yet, not even that nothing was released. */
    unknown?: boolean;
    /** The promise of the plan, for the empty state. */
    promise?: string | null;
    wantsFocus?: boolean;
    focused?: () => void;
    say?: (sentence: string) => void;
    read?: ReadPoints;
    ask?: AskStored;
    quantiles?: AskQuantiles;
    further?: Further;
    table?: AskTable;
    offline?: Offline | null;
    gone?: () => boolean;
}

export function resultOf(store: SessionStore): ResultSource {
    return {
        get result() {
            return store.result;
        },
        views: store.views,
        get teaching() {
            return store.state?.teaching != null;
        },
        get unknown() {
            return store.state === null;
        },
        get promise() {
            const { sheet, point, beta } = store;
            if (sheet === null || point === null) return null;
            const promised = phrase(sheet, point, beta);
            return promised === "" ? null : `Planned: ${promised}.`;
        },
        get wantsFocus() {
            return store.wantsFocus;
        },
        focused: () => (store.wantsFocus = false),
        say: (sentence) => store.say(sentence),
        read: (args) => store.kernel.ask("read", args),
        ask: (args) => store.kernel.ask("ask", args),
        quantiles: (args) => store.kernel.ask("quantiles", args),
        table: (args) => store.kernel.ask("table", args),
        further: { draw: (count) => store.draw(count), drawn: () => store.drawn },
        gone: () => store.kernel.health === "gone",
    };
}

export function resultChart(source: ResultSource, options: ResultOptions = { level: "h3", tools: true }): Component {
    const titleId = newId();
    const title = h(options.level, { id: titleId, tabindex: -1, class: "dp-result-title" });
    const guarantee = h("p", { class: "dp-guarantee" });
    const rule = h("p", {});
    const proof = h("details", { class: "dp-how dp-hint", hidden: true }, h("summary", {}, "How this price is proved"), rule);
    const finding = h("p", { class: "dp-hint dp-finding" });
    const key = h("div", { class: "dp-key" });
    const beta = h("select", {
        "aria-label": "How often the bars hold",
        onchange: (event: Event) => timed(event, () => setBeta(beta.value)),
    });
    const tableId = newId();
    const tableButton = h(
        "button",
        {
            type: "button",
            class: "dp-button",
            "aria-expanded": "false",
            "aria-controls": tableId,
            onclick: () => {
                tableOpen = !tableOpen;
                drawTable();
            },
        },
        "Table",
    );
    const saving = saveMenu(
        () => source.result,
        () => {
            const { result } = source;
            if (result === null) return null;
            return tableOf(result, source.table === undefined || source.gone?.() === true ? null : source.table, ofPage?.(result.beta) ?? null);
        },
        () => chartIn(picture),
    );
    const tools = h(
        "div",
        { class: "dp-result-tools" },
        key,
        h("div", { class: "dp-tools" }, beta, ...(options.tools ? [tableButton, saving] : [])),
    );
    const picture = h("div", {});
    const table = h("div", { id: tableId, hidden: true });
    const empty = h("div", { class: "dp-empty" }, h("strong", {}, "Nothing released yet."), h("span", {}));
    const element = h(
        "section",
        { class: "dp-result", "aria-labelledby": titleId },
        title,
        guarantee,
        options.tools ? proof : null,
        finding,
        empty,
        tools,
        picture,
        table,
    );

    let width = 640;
    let drawnResult: Result | null = null;
    let drawnView: object | null = null;
    let drawing: Drawing | null = null;
    let list: ((beta: string) => HTMLElement) | null = null;
    let ofPage: ((beta: string) => OfPage) | null = null;
    let drawnAt = "";
    let chosenBeta = "";
    let tableOpen = false;
    const stop = watchWidth(picture, (now) => {
        width = now;
        draw();
    });

    function setBeta(value: string): void {
        chosenBeta = value;
        draw();
        drawTable();
    }

    function draw(): void {
        const { result } = source;
        show(empty, result === null && source.unknown !== true);
        for (const part of [title, guarantee, picture]) show(part, result !== null);
        if (result === null) {
            for (const part of [proof, tools, finding]) show(part, false);
            setText(empty.firstElementChild!, `Nothing ${source.teaching === true ? "drawn" : "released"} yet.`);
            setText(empty.lastElementChild!, source.promise ?? "");
            return;
        }
        const found = source.views.of(result.kind);
        const fresh = result !== drawnResult || (found.view ?? found) !== drawnView;
        if (fresh) {
            if (!result.betas.includes(chosenBeta)) chosenBeta = result.beta;
            drawing?.close?.();
            [drawnResult, drawnView, drawnAt] = [result, found.view ?? found, ""];
            drawHead(result);
            ofPage = null;
            if (found.view === null) put(wordsOf(result, found.why), null);
            else attempt(result, () => create(found.view, result));
        }
        attempt(result, () => drawPicture(result));
        if (fresh) drawTable();
        if (source.wantsFocus) {
            source.focused?.();
            title.focus();
        }
    }

    function put(next: Drawing, listing: typeof list): void {
        [drawing, list] = [next, next.plain ? null : listing];
        picture.replaceChildren(next.element);
    }

    function create(view: ResultView, result: Result): void {
        const body = view.read(result);
        const next = view.create(body, {
            redraw() {
                drawnAt = "";
                draw();
            },
            read: source.read,
            ask: source.ask,
            quantiles: source.quantiles,
            further: source.further,
            offline: source.offline,
            gone: () => source.gone?.() ?? false,
        });
        put(next, view.table === undefined ? null : (level) => view.table!(body, level));
        ofPage = view.csv === undefined ? null : (level) => view.csv!(body, level);
    }

    function drawPicture(result: Result): void {
        const at = `${chosenBeta} ${width}`;
        if (drawing === null || at === drawnAt) return drawing?.heed?.();
        drawnAt = at;
        drawing.draw(chosenBeta, width);
        const words = drawing.finding(chosenBeta);
        setText(finding, words);
        show(finding, words !== "");
        key.replaceChildren(...drawing.key(chosenBeta));
        show(tools, !drawing.plain);
        show(beta, drawing.levels);
        show(tableButton, list !== null);
        setOptions(
            beta,
            result.betas.map((value) => ({ value, label: often(value) })),
            chosenBeta,
        );
    }

    /** A view that fails takes nothing else of the page with it. */
    function attempt(result: Result, act: () => void): void {
        try {
            act();
        } catch (error) {
            console.warn(`dpviz: an answer of kind ${result.kind} could not be drawn`, error);
            drawnAt = "";
            put(wordsOf(result, "broken"), null);
            drawPicture(result);
        }
    }

    function drawHead(result: Result): void {
        const teaching = result.teaching !== null;
        setAttribute(element, "data-teaching", teaching ? "true" : null);
        setText(title, result.title);
        show(proof, !!result.proof);
        setText(rule, result.proof ? `${priceText(result.price)}: ${result.proof}.` : "");
        guarantee.replaceChildren(
            `${result.guarantee}. ${result.odds === "" ? "" : `The odds of any answer move by at most ×${result.odds}. `}`,
            h(
                "span",
                { class: "dp-together" },
                teaching ? "" : `${result.used ? "Entry" : "Release"} ${result.number}, `,
                teaching
                    ? h("span", { class: "dp-chip dp-violet" }, `teaching, seed ${result.teaching!.seed}`)
                    : h("span", { class: "dp-chip dp-paid" }, paidText(result)),
            ),
        );
    }

    function drawTable(): void {
        const open = tableOpen && source.result !== null && list !== null;
        show(table, open);
        tableButton.setAttribute("aria-expanded", String(tableOpen));
        table.replaceChildren(...(open ? [list!(chosenBeta)] : []));
    }

    return {
        element,
        draw,
        close() {
            stop();
            drawing?.close?.();
        },
    };
}

// --- words and tools of a result -------------------------------------------------------------------------------------

/** The price that was paid for it; an answer of a sub-session used symbols that were paid before. Its title says the rest. */
const paidText = (result: Result): string =>
    result.used ? `used ${result.used.split(" and ")[0]}` : `paid ${priceText(result.price)}`;

/** An answer that is not drawn: it is paid for and stored, but for one of a lesson, and Python has all of it. */
function wordsOf({ kind, python, csv, teaching }: Result, why: "coming" | "none" | "broken"): Drawing {
    const element = h(
        "div",
        { class: "dp-large" },
        h("p", {}, REASONS[why](shown(kind)), why === "coming" || teaching !== null ? "" : " It is paid for and stored."),
        why !== "coming" &&
            python !== "" &&
            h("p", {}, "All of it, free: ", h("code", {}, `${python}.to_frame()`)),
        why !== "coming" &&
            csv !== "" &&
            h("p", {}, h("button", { type: "button", class: "dp-button", onclick: () => save("release.csv", "text/csv", csv) }, "Save its table")),
    );
    return { element, levels: false, plain: true, draw: () => undefined, finding: () => "", key: () => [] };
}

const REASONS = {
    coming: (kind: string) => `The view for answers of kind ${kind} is on its way…`,
    none: (kind: string) => `This page has no view for an answer of kind ${kind}.`,
    broken: (kind: string) => `The view for answers of kind ${kind} could not draw this one.`,
};

function saveMenu(current: () => Result | null, tableHere: () => Table | null, chartHere: () => SVGSVGElement | null): HTMLElement {
    const id = newId();
    const said = h("span", { class: "dp-hint", role: "status" });
    const entry = (name: string, act: (result: Result) => void): HTMLElement =>
        h(
            "button",
            {
                type: "button",
                class: "dp-button",
                onclick: () => {
                    const result = current();
                    if (result !== null) act(result);
                    fold(false);
                },
            },
            name,
        );
    const table = entry("CSV", (result) => {
        const here = tableHere();
        if (here !== null) void saveTable(result, here, (words) => setText(said, words));
    });
    const ofChart = (act: (chart: SVGSVGElement, result: Result) => void) => (result: Result): void => {
        const chart = chartHere();
        if (chart !== null) act(chart, result);
    };
    const pictures = [
        entry("Picture, SVG", ofChart(saveSvg)),
        entry("Picture, PNG", ofChart((chart, result) => void savePng(chart, result, (words) => setText(said, words)))),
    ];
    const menu = h(
        "div",
        { id, class: "dp-menu", hidden: true },
        ...pictures,
        table,
        entry("JSON", (result) => save(`${stemOf(result)}.json`, "application/json", `${toJson(result)}\n`)),
        entry("Copy as Python", (result) => void copy(result.python)),
    );
    const button = h(
        "button",
        {
            type: "button",
            class: "dp-button",
            "aria-expanded": "false",
            "aria-controls": id,
            onclick: () => fold(menu.hidden),
        },
        "Save",
    );
    const fold = (open: boolean): void => {
        const here = open ? tableHere() : null;
        setText(table, here?.says ?? "CSV");
        show(table, here !== null);
        const drawn = open && chartHere() !== null;
        for (const picture of pictures) show(picture, drawn);
        show(menu, open);
        if (open) setText(said, "");
        button.setAttribute("aria-expanded", String(open));
    };
    return h(
        "div",
        {
            class: "dp-save",
            onfocusout: (event: FocusEvent) => {
                if (!(event.currentTarget as Element).contains(event.relatedTarget as Node | null)) fold(false);
            },
            onkeydown: (event: KeyboardEvent) => {
                if (event.key !== "Escape") return;
                fold(false);
                button.focus();
            },
        },
        button,
        menu,
        said,
    );
}

/** The release as this page holds it: what `show` sent, without the CSV, which is a file of its own. */
function toJson(result: Result): string {
    return JSON.stringify({ ...result.content, csv: undefined }, null, 1);
}
