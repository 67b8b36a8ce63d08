/** A report: releases as they were paid for, plan sheets still alive, no kernel, no network. */

import { run, style } from "../page/bundles";
import { h } from "../dom/dom";
import type { Explorers } from "../explorers/explorers";
import { Views } from "../answers/guest_views";
import { readReport, type Report, type Result, type Sheet } from "../protocol/protocol";
import { Malformed, Newer } from "../protocol/readers";
import { mount } from "../page/root";
import { fitToPaper } from "./paper";

/** The programs that draw releases and plan sheets; a report without any does without it. */
export interface ReleaseParts {
    charts(releases: readonly Result[], views: Views): HTMLElement[];
    sheets(sheets: readonly Sheet[], releases: readonly Result[], lesson: boolean): HTMLElement[];
    numbers(releases: readonly Result[], views: Views): HTMLElement[];
}

/** The kinds that a report's program can draw: the file carries the program that draws what is in it. */
export interface Parts {
    releases?: ReleaseParts;
    explorers?: Explorers;
}

function plural(count: number, noun: string): string {
    return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function head(report: Report): HTMLElement {
    const { totals } = report;
    const held: [number, string][] = [
        [report.releases.length, report.lesson === true ? "draw" : "release"],
        [report.sheets.length, "plan sheet"],
        [report.explorers?.length ?? 0, "explorer"],
    ];
    const facts = (report.facts ?? []).map(({ name, value }) => [name, value]);
    const sums = [
        ...facts.filter(([name]) => name === "guarantee"),
        ["total paid", report.lesson === true ? "" : `ε ${totals.epsilon} · δ ${totals.delta}`],
        ["unit", totals.unit],
        ["random bits", totals.randomness],
        ["ledger chain", totals.chain],
        ...facts.filter(([name]) => name !== "guarantee"),
    ];
    return h(
        "header",
        { class: "dp-report-head" },
        h(
            "p",
            { class: "dp-quiet" },
            "dpviz report · ",
            h("span", { class: "dp-screen-only" }, "one file · works without a network or a kernel · "),
            held
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

/** An explorer, alive in the file: its sliders move through the sheet that it was saved with. */
function explored(explorers: Explorers, component: string, sheet: unknown): HTMLElement | null {
    if (!Object.hasOwn(explorers, component)) return null;
    const place = h("div", { class: "dp-full" });
    const { store, component: view } = explorers[component]!();
    store.take("sheet", sheet);
    mount(store, view, place);
    return place;
}

export function draw(report: Report, root: HTMLElement, { releases, explorers = {} }: Parts, views = new Views(() => undefined)): void {
    const page = h(
        "div",
        { class: "dpviz-report" },
        head(report),
        h(
            "div",
            { class: "dp-report-grid" },
            ...(releases?.charts(report.releases, views) ?? []),
            ...(releases?.sheets(report.sheets, report.releases, report.lesson === true) ?? []),
            report.explorers?.length ? h("h2", { class: "dp-offscreen" }, "Explorers") : null,
            ...(report.explorers ?? []).map(({ component, sheet }) => explored(explorers, component, sheet)),
        ),
        h(
            "section",
            { "aria-label": "Numbers" },
            ...(releases?.numbers(report.releases, views) ?? []),
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

/** The views of kinds that the report's program does not bring along: run before anything is drawn. */
async function embedded(report: Report): Promise<Views> {
    const views = new Views(() => undefined);
    const bundles = report.views ?? [];
    for (const { css } of bundles) style(css);
    views.ask((kind) => {
        const bundle = bundles.find((item) => item.kind === kind);
        return bundle === undefined ? null : run(bundle.code);
    });
    await Promise.all(bundles.map(({ kind }) => views.load(kind)));
    return views;
}

/** Draw a report on this page, from the text that its file has unpacked. */
export async function start(data: string, parts: Parts): Promise<void> {
    const root = document.getElementById("dpviz-report");
    if (root === null) return;
    try {
        const report = readReport(data);
        draw(report, root, parts, await embedded(report));
        fitToPaper(root);
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
