/** Spent, pending, left: as typed, exact, and always adding up to the total. */

import { addsUp, meterChart } from "../charts/meter";
import type { Component } from "../dom/component";
import { h, newId, setText, show, watchWidth } from "../dom/dom";
import { compare, exactly } from "../numbers/exact";
import { by, people, raised } from "../stores/following";
import type { Entry, State } from "../protocol/protocol";
import type { SessionStore } from "../stores/session_store";
import { dataTable } from "../dom/table";
import { clock, costsDelta, outcome, priceText } from "../wording/words";

/** Ascending numbers in words: "1 to 3, 7". */
function stretches(numbers: readonly string[]): string {
    const runs: string[][] = [];
    for (const number of numbers) {
        const last = runs.at(-1);
        if (last !== undefined && BigInt(last.at(-1)!) + 1n === BigInt(number)) last.push(number);
        else runs.push([number]);
    }
    return runs.map((run) => (run.length < 3 ? run.join(", ") : `${run[0]} to ${run.at(-1)}`)).join(", ");
}

const FOLDED = 460;
const SLIDE = 300;

export function budgetMeter(store: SessionStore): Component {
    const [titleId, historyId] = [newId(), newId()];
    const unit = h("span", { class: "dp-quiet" });
    const asof = h("span", { class: "dp-chip dp-asof", hidden: true });
    const delta = h("span", { class: "dp-quiet" });
    const fold = h("button", {
        type: "button",
        class: "dp-link",
        "aria-controls": historyId,
        onclick: () => {
            open = !isOpen();
            draw();
        },
    });
    const taken = h("strong", {});
    const left = h("strong", {});
    const bar = h("div", { class: "dp-meter" });
    const wrong = h("p", { class: "dp-fault", role: "alert", hidden: true });
    const notices = h("div", {});
    const entries = h("div", {});
    const rules = h("ul", {});
    const proofs = h("details", { class: "dp-how dp-hint", hidden: true }, h("summary", {}, "How each price is proved"), rules);
    const history = h("div", { id: historyId }, entries, proofs);
    const element = h(
        "section",
        { class: "dp-budget", "aria-labelledby": titleId },
        h(
            "div",
            { class: "dp-section-head" },
            h("h3", { id: titleId }, "Budget"),
            unit,
            asof,
            h("span", { class: "dp-push" }, delta, fold),
        ),
        h("div", { class: "dp-balance" }, taken, left),
        bar,
        wrong,
        notices,
        history,
    );
    let width = 600;
    let open: boolean | null = null;
    let before: string | null = null;
    let slide: { before: string; since: number } | null = null;
    let seen = "";
    let seenEntries: readonly Entry[] | null = null;
    let seenRaises: State["raises"] = null;
    let told = "";
    const stop = watchWidth(bar, (now) => {
        width = now;
        draw();
    });
    const isOpen = (): boolean => open ?? width >= FOLDED;

    function drawHistory(state: State): void {
        const charged = state.entries;
        const raises = state.raises ?? [];
        const number = store.result?.number ?? null;
        const signature = `${number} ${store.kernel.health === "gone"}`;
        if (!isOpen() || charged.length + raises.length === 0) {
            entries.replaceChildren();
            show(proofs, false);
            seen = "";
            return;
        }
        if (charged === seenEntries && state.raises === seenRaises && signature === seen) return;
        [seenEntries, seenRaises, seen] = [charged, state.raises, signature];
        const focused = entries.contains(document.activeElement) ? document.activeElement : null;
        const scrolled = entries.querySelector(".dp-table-box")?.scrollTop ?? 0;
        drawProofs(charged);
        entries.replaceChildren(
            ...(charged.length === 0 ? [] : [drawEntries(state, number)]),
            ...(raises.length === 0
                ? []
                : [
                      h(
                          "ul",
                          { class: "dp-raises", "aria-label": "Raises of the budget" },
                          ...raises.map((raise) =>
                              h(
                                  "li",
                                  {},
                                  raised(raise),
                                  raise.at ? h("span", { class: "dp-quiet" }, ` · ${clock(raise.at)}`) : null,
                              ),
                          ),
                      ),
                  ]),
        );
        const box = entries.querySelector(".dp-table-box");
        if (box !== null) box.scrollTop = scrolled;
        // The ledger may move while somebody reads its history by keyboard: they stay where they were.
        const name = focused?.getAttribute("aria-label");
        const same = [...entries.querySelectorAll<HTMLElement>("[aria-label]")];
        if (name) same.find((element) => element.getAttribute("aria-label") === name)?.focus();
    }

    /** The rule that proves each price, and the numbers of the entries that were priced by it. */
    function drawProofs(charged: readonly Entry[]): void {
        const priced = new Map<string, string[]>();
        for (const { proof, number } of charged) if (proof) priced.set(proof, [...(priced.get(proof) ?? []), number]);
        show(proofs, priced.size > 0);
        rules.replaceChildren(...[...priced].map(([proof, numbers]) => h("li", {}, `${stretches(numbers)}: ${proof}.`)));
    }

    function drawEntries(state: State, number: string | null): HTMLElement {
        const { entries } = state;
        const noun = state.unit.noun;
        const persons = people(state);
        const many = persons.size > 1;
        const alone = many ? "" : ([...persons][0] ?? "");
        const anyDelta = entries.some((entry) => costsDelta(entry.price));
        const columns = [
            { name: "#" },
            { name: "when" },
            { name: "question" },
            { name: "mechanism" },
            { name: `guarantee, per ${noun}` },
            { name: store.state!.budget?.rho == null ? "paid ε" : "ε of this alone", figures: true },
            ...(anyDelta ? [{ name: "paid δ", figures: true }] : []),
            ...(many ? [{ name: "by" }] : []),
            { name: "outcome" },
        ];
        const caption = `History of the budget${alone === "" ? "" : `, all${by(alone)}`}`;
        return dataTable(caption, columns, entries.length, (i) => {
            const entry = entries[i]!;
            const words = outcome(entry, number);
            const look = words === "chart" && store.kernel.health !== "gone";
            return [
                entry.person && !many ? h("span", { title: `charged${by(entry.person)}` }, entry.number) : entry.number,
                h("span", { class: "dp-when" }, clock(entry.opened)),
                entry.named ? h("span", {}, entry.question, h("span", { class: "dp-quiet" }, ` · key ${entry.named}`)) : entry.question,
                entry.mechanism,
                entry.guarantee,
                entry.price.epsilon,
                ...(anyDelta ? [entry.price.delta] : []),
                ...(many ? [entry.person ?? ""] : []),
                look
                    ? h(
                          "button",
                          {
                              type: "button",
                              class: "dp-link",
                              "aria-label": `chart of release ${entry.number}`,
                              onclick: () => store.show(entry.number),
                          },
                          words,
                      )
                    : words === "chart"
                      ? "done"
                      : words,
            ];
        });
    }

    /** Facts about the ledger that a reader must know beside its numbers. Nothing here is drawn anew unless it changed. */
    function drawNotices(state: State): void {
        const { entries } = state;
        const many = people(state).size > 1;
        const silent = store.following.fault !== "" && store.kernel.health !== "gone" ? store.following.fault : "";
        const started = state.new === true && entries.length === 0;
        const lost = entries.filter((entry) => entry.status === "lost");
        const signature = JSON.stringify([silent, store.asof, started, many, lost]);
        if (signature === told) return;
        told = signature;
        notices.replaceChildren(
            ...(silent === ""
                ? []
                : [
                      h(
                          "div",
                          { class: "dp-notice dp-warning" },
                          h("strong", {}, silent),
                          store.asof === "" ? null : ` This is what it said at ${store.asof}.`,
                      ),
                  ]),
            ...(started
                ? [
                      h(
                          "div",
                          { class: "dp-notice dp-started" },
                          h("strong", {}, "New ledger started: nothing spent so far."),
                          " If there was one before, find it: what it paid is not counted here.",
                      ),
                  ]
                : []),
            ...lost.map((entry) =>
                h(
                    "div",
                    { class: "dp-notice dp-warning" },
                    h(
                        "strong",
                        {},
                        `Release ${entry.number}${many ? by(entry.person) : ""} started at ${clock(entry.opened)} and never reported back.`,
                    ),
                    ` Its ${priceText(entry.price)} counts as spent.`,
                ),
            ),
        );
    }

    function draw(): void {
        const { state } = store;
        const budget = state?.budget ?? null;
        show(element, budget !== null && state?.teaching === null);
        if (state === null || budget === null) return;
        const purse = budget.rho ?? budget.epsilon;
        const sign = budget.rho === null ? "ε" : "ρ of the zCDP filter";
        setText(unit, `${sign}, exact · per ${state.unit.text.replace(/^one /, "")}`);
        setText(
            delta,
            budget.delta.total === "0"
                ? "no δ in this budget"
                : `δ spent ${budget.delta.spent} of ${budget.delta.total}`,
        );
        const entries = state.entries;
        const events = entries.length + (state.raises?.length ?? 0);
        show(fold, events > 0);
        setText(asof, store.asof === "" ? "" : `as of ${store.asof}`);
        show(asof, store.asof !== "");
        setText(
            fold,
            isOpen() ? "hide history" : `History, ${events} ${events === 1 ? "entry" : "entries"}`,
        );
        fold.setAttribute("aria-expanded", String(isOpen()));
        setText(taken, `spent ${purse.spent}${purse.pending === "0" ? "" : ` · pending ${purse.pending}`}`);
        const alone = budget.rho === null ? "" : ` · at most ε ${budget.epsilon.left} in one answer`;
        setText(left, `left ${purse.left} of ${purse.total}${alone}`);
        const sound = addsUp(purse) && addsUp(budget.delta);
        show(wrong, !sound);
        setText(
            wrong,
            sound
                ? ""
                : "Spent, pending and left do not add up to the total in what this page was sent; " +
                      "run the session cell again.",
        );
        const planning = !store.locked && state.running === null && budget.rho === null;
        const plan =
            planning && store.point !== null && !(store.twin?.status === "done" && store.fresh === null)
                ? store.point.price.epsilon
                : null;
        const now = performance.now();
        if (before !== null && compare(exactly(before), exactly(purse.spent)) < 0) slide = { before, since: now };
        before = purse.spent;
        const ago = slide === null ? SLIDE : now - slide.since;
        const paid = slide !== null && ago < SLIDE ? { before: slide.before, ago } : null;
        bar.replaceChildren(...(sound ? [meterChart(width, { purse, entries, plan, paid })] : []));
        drawNotices(state);
        drawHistory(state);
    }

    return { element, draw, close: stop };
}
