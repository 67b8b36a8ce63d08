/** The first mechanisms for the question on show, at its price: what each is, why, and how far off it would be. */

import type { Component } from "../dom/component";
import { h, newId, setAttribute, setOptions, setText, show } from "../dom/dom";
import { timed } from "../dom/perf";
import type { AdvisedRow } from "../protocol/protocol";
import type { SessionStore } from "../stores/session_store";
import { priceText } from "../wording/words";
import { advisingOf } from "./advice_lines";
import { undeclared } from "./panel";

const GONE = "Comparing needs a kernel. Restart it and run the session cell.";

interface Card {
    element: HTMLElement;
    draw(row: AdvisedRow, price: string, cost: string): void;
}

/**
 * It stands below the panes, so that nobody's button moves when it opens: by itself where a better way is known, and
 * otherwise as the reader has left it.
 */
export function adviceBox(store: SessionStore): Component {
    const advising = advisingOf(store);
    const [goalId, headId] = [newId(), newId()];
    const says = h("span", { class: "dp-advice-says" });
    const summary = h("summary", { onclick: () => void (wish = !details.open) }, h("h3", { id: headId }, "Compare mechanisms"), " ", says);
    const aloud = h("p", { class: "dp-offscreen", role: "status" });
    const goal = h("select", { id: goalId, onchange: () => advising.choose(goal.value) });
    const at = h("p", { class: "dp-hint" });
    const told = h("p", { class: "dp-hint dp-advice-told", role: "status", hidden: true });
    const cards = h("ul", { class: "dp-advised", "aria-labelledby": headId });
    const choose = h("div", { class: "dp-advice-goal" }, h("label", { for: goalId }, "Read for"), goal, at);
    const details = h("details", { class: "dp-advice", ontoggle: () => draw() }, summary, choose, told, cards);
    const element = h("div", { hidden: true }, details, aloud);
    const known = new Map<string, Card>();
    /** How the reader left it; null where it was never touched. */
    let wish: boolean | null = null;
    let question = "";

    function use({ mechanism, parameters }: AdvisedRow): void {
        wish = true; // it stays open, and the focus in it
        advising.keep();
        void store.plan({ mechanism, parameters: Object.fromEntries(parameters) });
    }

    function cardOf(row: AdvisedRow): Card {
        const name = keyOf(row);
        const found = known.get(name) ?? card((now) => use(now), () => isFree());
        known.set(name, found);
        return found;
    }

    /** Whether a mechanism can be chosen now, of those on show. */
    const isFree = (): boolean => advising.now !== null && !store.locked && store.kernel.health !== "gone";

    function draw(): void {
        const { sheet } = store;
        show(element, advising.applies);
        if (!advising.applies || sheet === null) return;
        const { now, last } = advising;
        if (question !== sheet.question.id) {
            question = sheet.question.id;
            if (wish === false) wish = null;
        }
        const open = wish ?? (now === null ? details.open : now.beaten);
        if (details.open !== open) details.open = open;
        advising.list(open);
        const gone = store.kernel.health === "gone";
        const beaten = last?.advice.beaten === true;
        setText(says, last === null ? (gone ? "needs a kernel" : "") : last.advice.says);
        setText(aloud, beaten ? `A better mechanism is known. ${last.advice.says}` : "");
        setAttribute(details, "data-beaten", beaten ? "true" : null);
        setAttribute(details, "data-stale", now === null && !gone ? "true" : null);
        const sentence = gone ? GONE : (advising.fault ?? (store.declaring !== "" ? undeclared(store) : last?.advice.rows == null ? "Asking the kernel…" : ""));
        setText(told, sentence);
        show(told, sentence !== "");
        show(choose, last !== null);
        const price = last === null ? "" : priceText({ epsilon: last.epsilon, delta: last.delta });
        if (last !== null) {
            setOptions(goal, last.advice.goals, advising.goal);
            goal.disabled = gone || store.locked;
            setText(at, `Each at ${price}; errors hold 95 in 100. Free: no data are read.`);
        }
        if (open || last === null) drawCards(last?.advice.rows ?? [], price);
    }

    function drawCards(rows: readonly AdvisedRow[], price: string): void {
        const held = document.activeElement;
        const drawn = rows.map((row) => [row, cardOf(row)] as const);
        const cost = store.state?.teaching == null ? "would cost" : "noise of"; // nothing is paid in a lesson
        for (const [row, one] of drawn) one.draw(row, price, cost);
        const elements = drawn.map(([, one]) => one.element);
        if (elements.length === cards.children.length && elements.every((one, i) => cards.children[i] === one)) return;
        const within = held !== null && cards.contains(held);
        cards.replaceChildren(...elements);
        if (within) ((cards.contains(held) ? held : summary) as HTMLElement).focus();
    }

    return { element, draw };
}

const keyOf = ({ mechanism, parameters }: AdvisedRow): string => JSON.stringify([mechanism, [...parameters]]);

function card(use: (row: AdvisedRow) => void, isFree: () => boolean): Card {
    let now: AdvisedRow | null = null;
    const id = newId();
    const name = h("h4", { id });
    const chip = h("span", { class: "dp-chip dp-free" });
    const about = h("p", { class: "dp-hint" });
    const settings = h("p", { class: "dp-hint" });
    const why = h("p", { class: "dp-advised-why" });
    const errors = h("dl", {});
    const price = h("p", { class: "dp-hint" });
    const onclick = (event: Event): void => {
        if (now !== null && !now.here && isFree()) timed(event, () => use(now!));
    };
    const button = h("button", { type: "button", class: "dp-button", onclick });
    const element = h("li", { "aria-labelledby": id }, h("div", { class: "dp-advised-head" }, name, chip), about, settings, why, errors, price, button);

    function draw(row: AdvisedRow, asked: string, cost: string): void {
        now = row;
        setText(name, row.mechanism);
        setText(chip, row.first ? "first choice" : "");
        show(chip, row.first);
        setText(about, row.about);
        setText(settings, row.settings);
        show(settings, row.settings !== "");
        setText(why, row.why);
        const written = JSON.stringify(row.errors);
        if (errors.dataset["of"] !== written) {
            errors.dataset["of"] = written;
            errors.replaceChildren(...row.errors.map(({ label, said }) => h("div", {}, h("dt", {}, label), h("dd", {}, said))));
        }
        const own = priceText(row.price);
        setText(price, [own === asked ? "" : `${cost} ${own}`, row.rho === "" ? "" : `takes ρ ${row.rho}`].filter((part) => part !== "").join(", "));
        show(price, price.textContent !== "");
        setText(button, row.here ? "In use" : row.settings === "" ? `Use ${row.mechanism}` : "Use these settings");
        setAttribute(button, "aria-disabled", row.here || !isFree() ? "true" : null);
        setAttribute(element, "data-here", row.here ? "true" : null);
    }

    return { element, draw };
}
