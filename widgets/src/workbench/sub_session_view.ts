/** Pay what you get: what is left, the sub-session view of answers, and the next question. */

import { cellList, NO_MORE, unused, type Cells } from "../charts/ranked";
import { gaugeChart, questionCells } from "../charts/symbol_gauge";
import type { Component } from "../dom/component";
import { copy, h, newId, setAttribute, setOptions, setText, show, watchWidth } from "../dom/dom";
import { resultChart } from "./result_chart";
import type { Refusal } from "../protocol/protocol";
import { stay, symbolsText, told, type Row, type SubSession, type SubSessionStore } from "../stores/sub_session_store";
import { priceText, shown } from "../wording/words";

/** Statuses of questions that reserved their symbols and have no answer. */
const unanswered = (row: Row): boolean => row.status !== "done";

export function payWhatYouGetTape(store: SubSessionStore): Component {
    const [titleId, selectId, kId, kbarId, faultId] = [newId(), newId(), newId(), newId(), newId()];
    const chip = h("span", { class: "dp-chip dp-paid" });
    const health = h("span", { class: "dp-health" });
    const asof = h("span", { class: "dp-chip dp-asof", hidden: true });
    const lead = h("p", { class: "dp-quiet" });
    const [symbolsName, questionsName] = [h("h3", {}), h("h3", {})];
    const [gauge, cells] = [h("div", { class: "dp-gauge" }), h("div", {})];
    const rows = h("ol", { class: "dp-tape-rows", "aria-label": "Questions so far" });
    const none = h("p", { class: "dp-quiet", hidden: true }, "Nothing asked yet. What comes back is used up; ⊥ (“no more”) counts as one.");
    const place = h("span", { class: "dp-tape-number dp-quiet" });
    const select = h("select", { id: selectId, onchange: () => store.choose(select.value) });
    const box = (id: string, part: "k" | "kbar"): HTMLInputElement =>
        h("input", {
            id,
            type: "text",
            inputmode: "numeric",
            autocomplete: "off",
            spellcheck: "false",
            class: "dp-exact-text",
            oninput: (event: Event) => store.type(part, (event.target as HTMLInputElement).value),
        });
    const [k, kbar] = [box(kId, "k"), box(kbarId, "kbar")];
    const uses = h("p", { class: "dp-hint" });
    const fault = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
    const button = h("button", { type: "button", class: "dp-pay", onclick: () => store.press() });
    const second = h("button", { type: "button", class: "dp-button", hidden: true });
    const third = h("button", { type: "button", class: "dp-button", hidden: true }, "Yes, cancel it");
    third.onclick = () => store.doubt !== null && store.cancel(store.doubt);
    const doubtId = newId();
    const doubt = h("p", { id: doubtId, class: "dp-tape-doubt", hidden: true });
    const note = h("p", { class: "dp-note" });
    const alertId = newId();
    const alert = h("div", { id: alertId, class: "dp-notice dp-error", role: "alert", hidden: true });
    const next = h(
        "div",
        { class: "dp-tape-next", role: "group", "aria-label": "Next question", onkeydown: (event: KeyboardEvent) => guard(event) },
        place,
        h("div", { class: "dp-field dp-tape-question" }, h("label", { for: selectId }, "Question"), select),
        h("div", { class: "dp-field dp-tape-count" }, h("label", { for: kId }, "Ask for"), k),
        h("div", { class: "dp-field dp-tape-count" }, h("label", { for: kbarId, title: KBAR }, "out of the largest k̄"), kbar),
        uses,
        doubt,
        h("div", { class: "dp-tape-actions" }, button, third, second),
    );
    const copied = h(
        "button",
        {
            type: "button",
            class: "dp-link",
            onclick: () =>
                void copy(store.python).then((done) => {
                    setText(copied, done ? "Copied" : COPY);
                    setTimeout(() => setText(copied, COPY), 1500);
                }),
        },
        COPY,
    );
    const answer = resultChart({
        get result() {
            return store.result;
        },
        views: store.views,
        unknown: true,
        get wantsFocus() {
            return store.wantsResult;
        },
        focused: () => (store.wantsResult = false),
        say: (sentence) => store.say(sentence),
    });
    const status = h("p", { class: "dp-notice dp-status", tabindex: -1 });
    const element = h(
        "section",
        { class: "dp-tape", "aria-labelledby": titleId },
        h("div", { class: "dp-head" }, h("h2", { id: titleId }, "Pay what you get"), h("p", {}, health, asof, chip)),
        lead,
        h(
            "div",
            { class: "dp-gauges" },
            h("div", { class: "dp-symbols" }, symbolsName, gauge),
            h("div", { class: "dp-questions" }, questionsName, cells),
        ),
        rows,
        none,
        next,
        fault,
        h("div", { class: "dp-tape-note" }, note, copied),
        alert,
        status,
        answer.element,
    );
    let width = 480;
    let drawn = "";
    const stop = watchWidth(gauge, (now) => {
        width = now;
        draw();
    });

    /** A held key must not ask twice, nor a notebook's "run this cell" ask at all. */
    function guard(event: KeyboardEvent): void {
        if (event.key === "Escape" && store.doubt !== null) store.wonder(null);
        const plain = !event.repeat && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
        if (!plain && (event.key === "Enter" || event.key === " ")) event.preventDefault();
    }

    function drawLeft(subSession: SubSession): void {
        const [symbols, questions] = [subSession.symbols, subSession.questions];
        setText(symbolsName, `Symbols left: ${shown(symbols.left)} of ${shown(symbols.total)}`);
        setText(questionsName, `Questions left: ${shown(questions.left)} of ${shown(questions.total)}`);
        const open = mayAsk(subSession) && store.fault === null && store.chosen !== "" && !store.locked;
        gauge.replaceChildren(
            gaugeChart(width, {
                total: Number(symbols.total),
                left: Number(symbols.left),
                segments: subSession.rows.map((row) => ({
                    number: row.number,
                    used: Number(row.used),
                    hatched: unanswered(row),
                })),
                next: open ? Number(store.most) : null,
                asked: subSession.rows.reduce((sum, row) => sum + Number(row.most), 0),
            }),
        );
        cells.replaceChildren(questionCells(Number(questions.total), Number(questions.left)));
    }

    function drawRows(subSession: SubSession): void {
        const looking = store.kernel.health !== "gone";
        const signature = JSON.stringify([subSession.rows, looking]);
        show(none, subSession.rows.length === 0);
        if (signature === drawn) return;
        drawn = signature;
        rows.replaceChildren(...subSession.rows.map((row) => drawRow(row, looking ? () => void store.show(row.number) : null)));
    }

    function drawNext(subSession: SubSession): void {
        const gone = store.kernel.health === "gone";
        const open = mayAsk(subSession);
        const nothing = store.chosen === "";
        const off = gone || store.locked || !open || nothing;
        setText(place, open ? String(subSession.rows.length + 1) : "");
        setOptions(
            select,
            subSession.offers.map(({ id, label }) => ({ value: id, label })),
            store.chosen,
        );
        for (const [input, value] of [
            [k, store.k],
            [kbar, store.kbar],
        ] as const) {
            if (document.activeElement !== input) input.value = value;
            input.disabled = off;
        }
        select.disabled = off || subSession.offers.length === 0;
        show(next, open || store.locked);
        const wrong = open ? store.fault : null;
        setText(fault, wrong?.text ?? "");
        show(fault, wrong !== null);
        setText(uses, wrong === null && !nothing ? `uses at most ${symbolsText(store.most)}, 1 question` : "");
        drawButton(subSession, gone, wrong !== null);
        const { errors, twin } = store;
        const again = `Question ${twin?.number} asked exactly this. Asking again draws anew, and uses symbols again.`;
        if (nothing) setText(note, open && !gone ? OFFER : "");
        else setText(note, open ? [errors, twin === null ? "" : again].filter(Boolean).join(" ") : "");
        const { purchase, lookFault } = store;
        const ended = purchase.kind === "ended" && purchase.how !== "released" ? purchase : null;
        const refused = ended?.error ?? lookFault?.error ?? null;
        const sent = ended !== null && (ended.how !== "refused" || ended.sent);
        const over = refused !== null && tooMany(subSession.symbols.left); // the alert says so, and what to ask for
        describe(k, wrong?.part === "k" ? faultId : over ? alertId : null);
        describe(kbar, wrong?.part === "kbar" ? faultId : null);
        show(alert, refused !== null);
        if (refused === null) alert.replaceChildren();
        else drawAlert(refused, sent, subSession.symbols.left);
    }

    const tooMany = (left: string): boolean => Number(left) > 0 && Number(store.most) > Number(left);

    /** A field is wrong where something says why. */
    function describe(field: HTMLInputElement, by: string | null): void {
        setAttribute(field, "aria-invalid", by === null ? null : "true");
        setAttribute(field, "aria-describedby", by);
    }

    function drawAlert({ kind, message }: Refusal, sent: boolean, left: string): void {
        const away = kind === "LedgerAway" && !sent;
        const plain = away ? "The ledger's server does not answer. Nothing was charged." : message;
        const words = /nothing was charged/i.test(plain) ? plain : `${plain.replace(/[.\s]+$/, "")}.`;
        if (alert.firstElementChild?.textContent === words) return;
        if (kind === "LedgerAway" || (kind.startsWith("Ledger") && !sent)) {
            const again = h("button", { type: "button", class: "dp-link", onclick: () => store.retry() }, "Try again");
            alert.replaceChildren(h("strong", {}, words), " ", again);
            return;
        }
        alert.replaceChildren(
            h("strong", {}, words),
            ...(tooMany(left)
                ? [" ", h("button", { type: "button", class: "dp-link", onclick: () => store.mend(left) }, `Ask for ${left}`)]
                : []),
        );
    }

    function drawButton(subSession: SubSession, gone: boolean, wrong: boolean): void {
        const { purchase } = store;
        const { kind } = purchase;
        const label = (first: string, rest = ""): void => {
            if (button.dataset["words"] === `${first}|${rest}`) return;
            button.dataset["words"] = `${first}|${rest}`;
            button.replaceChildren(
                h("span", {}, first),
                ...(rest === "" ? [] : [h("span", { class: "dp-divide", "aria-hidden": "true" }), h("span", {}, rest)]),
            );
        };
        const busy = store.locked;
        const doubting = store.doubt !== null;
        const withdrawing = purchase.kind === "sent" && purchase.withdrawn;
        show(second, kind === "waiting" || (kind === "sent" && !withdrawing) || subSession.running !== null);
        const means = (meaning: string): void => setAttribute(second, "data-means", meaning);
        setAttribute(button, "data-means", `${store.chosen} ${store.k} ${store.kbar} ${subSession.symbols.left}`);
        show(third, doubting);
        show(doubt, doubting);
        if (kind === "waiting") {
            label(store.following.fault === "" ? "Waiting for the kernel" : "Waiting for the ledger");
            setText(second, "Withdraw · nothing used");
            means("withdraw");
            second.onclick = () => store.withdraw();
        } else if (kind === "sent" || store.unwritten) {
            label(kind === "sent" ? "Waiting for the kernel" : "Waiting for the ledger");
            setText(second, "Withdraw · nothing used yet");
            means("withdraw");
            second.onclick = () => store.withdraw();
        } else if (busy && !store.mine && subSession.running !== null) {
            const { token } = subSession.running;
            const row = subSession.rows.findLast(({ status }) => status === "pending");
            label("Another view is asking…");
            setText(
                doubt,
                doubting
                    ? "Cancel the question that another view asked? " +
                          (row === undefined ? "What it reserved stays used." : `Its ${symbolsText(row.used)} ${stay(row.used)} used.`)
                    : "",
            );
            setText(second, doubting ? "Keep it running" : "Cancel…");
            setAttribute(second, "aria-describedby", doubting ? doubtId : null);
            means(doubting ? "keep" : `wonder ${token}`);
            second.onclick = () => {
                store.wonder(doubting ? null : token);
                second.focus(); // on the safe answer
            };
        } else if (busy) {
            label("Asking…");
            setText(second, "Cancel · its symbols stay used");
            means("cancel");
            second.onclick = () => subSession.running !== null && store.cancel(subSession.running.token);
        } else if (gone) label("Asking needs a kernel");
        else if (store.chosen === "") label("No question on offer");
        else label(store.twin === null ? "Ask" : "Ask again", `up to ${shown(store.most)} of ${shown(subSession.symbols.left)} left`);
        const off = gone || busy || wrong || store.resting || store.chosen === "";
        setAttribute(button, "aria-disabled", off ? "true" : null);
        button.classList.toggle("dp-off", gone || busy || wrong || store.chosen === "");
    }

    function drawStatus(subSession: SubSession): void {
        const row = subSession.rows.at(-1);
        const ended = subSession.closed
            ? "This sub-session is closed. What came stays readable; nothing is refunded."
            : subSession.symbols.left === "0"
              ? "No symbols are left. What came stays readable; open another sub-session to ask more."
              : subSession.questions.left === "0"
                ? "No questions are left. What came stays readable; open another sub-session to ask more."
                : "";
        const words = [row === undefined ? "" : told(row), ended].filter((part) => part !== "").join(" ");
        show(status, words !== "");
        setText(status, words);
    }

    function draw(): void {
        const subSession = store.state;
        setText(health, HEALTH[store.kernel.health]);
        setAttribute(health, "data-health", store.kernel.health);
        const silent = store.kernel.health === "gone" ? "" : store.following.fault;
        setText(asof, store.asof === "" ? "" : [`as of ${store.asof}`, silent.replace(/\.$/, "")].filter(Boolean).join(" · "));
        show(asof, store.asof !== "");
        if (subSession === null) return;
        const entry = subSession.entry === "" ? "" : ` ${subSession.entry}`;
        setText(chip, `one ledger entry${entry} · ${priceText(subSession.price).replace(", δ", " · δ")}`);
        setText(
            lead,
            "The whole sub-session was paid when it opened. Each question uses up only the symbols it returned; " +
                `${NO_MORE} (“no more”) counts as one. All of it together: ${subSession.guarantee}.`,
        );
        drawLeft(subSession);
        drawRows(subSession);
        drawNext(subSession);
        drawStatus(subSession);
        show(copied, store.chosen !== "" && mayAsk(subSession) && store.fault === null);
        show(answer.element, store.result !== null);
        answer.draw();
        if (store.wantsFocus) {
            store.wantsFocus = false;
            status.focus();
        }
    }

    return {
        element,
        draw,
        close: () => {
            stop();
            answer.close?.();
        },
    };
}

const COPY = "Copy as Python";
const OFFER = 'This sub-session has no questions on offer here. Offer some: dv.PayWhatYouGetTape(sub, {"All year": question}); or ask in a cell: sub.ask(question, k=10).';
const KBAR = "How many of the largest counts compete. The first count after them sets how much it takes to be listed.";

const HEALTH = {
    unknown: "",
    ready: "● kernel ready",
    busy: "◐ kernel busy",
    gone: "○ no kernel · the sub-session stays readable",
};

const mayAsk = (subSession: SubSession): boolean => !subSession.closed && subSession.symbols.left !== "0" && subSession.questions.left !== "0";

/** One question: what it asked, what came, what it paid; `look` shows the answer by itself. */
function drawRow(row: Row, look: (() => void) | null): HTMLElement {
    const cells: Cells = { items: row.items, maxItems: Number(row.k), ended: row.ended, ordered: true };
    const [strong, rest, small] = paid(row, cells);
    return h(
        "li",
        { class: "dp-tape-row", "data-status": row.status },
        h("span", { class: "dp-tape-number", "aria-hidden": "true" }, row.number),
        h(
            "div",
            { class: "dp-tape-name" },
            h("div", {}, row.label),
            h(
                "div",
                { class: "dp-hint" },
                `asked for ${shown(row.k)} · k̄ ${/^\d+$/.test(row.kbar) ? shown(row.kbar) : row.kbar}`,
                look !== null && !unanswered(row) ? " · " : null,
                look !== null && !unanswered(row)
                    ? h("button", { type: "button", class: "dp-link dp-look", "aria-label": `Look at answer ${row.number}`, onclick: look }, "look")
                    : null,
            ),
        ),
        unanswered(row)
            ? h("div", { class: "dp-cells", role: "img", "aria-label": "no answer" }, ...reserved(row))
            : cellList(cells, `Answer ${row.number}, in order`, false),
        h("div", { class: "dp-tape-paid" }, h("div", {}, h("strong", {}, strong), ` ${rest}`), h("div", { class: "dp-hint" }, small)),
    );
}

/** Up to so many reserved symbols are drawn one by one. */
const RESERVED = 12;

const reserved = (row: Row): HTMLElement[] =>
    Array.from({ length: Math.min(RESERVED, Number(row.used)) }, () => h("span", { class: "dp-cell dp-crashed" }));

function paid(row: Row, cells: Cells): [string, string, string] {
    const used = shown(row.used);
    switch (row.status) {
        case "done": {
            const left = unused(cells);
            const early = `ended early${left === 0 ? "" : `, ${shown(String(left))} not used`}`;
            return [used, "paid", row.ended ? early : row.k === "1" ? "the place was filled" : `all ${shown(row.k)} places filled`];
        }
        case "pending":
            return [used, "reserved", "asking…"];
        case "elsewhere":
            return [used, "reserved", "another kernel asks"];
        case "lost":
            return [used, "counts as used", "never reported back"];
        case "cancelled":
            return [used, "stays used", "cancelled, no answer"];
        case "failed":
            return [used, "stays used", "failed, no answer"];
    }
}
