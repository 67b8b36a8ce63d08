/** The release, in ink: what it pays, on the button, and every way it can go. */

import type { Component } from "./component";
import { copy, h, newId, setAttribute, setText, show } from "./dom";
import { panelOf, type Act, type Button, type Panel } from "./panel";
import type { SessionStore } from "./session_store";

/** `beside`: the field of ε stands beside it, and tells by itself that it holds too much. */
export function releasePane(store: SessionStore, beside = false): Component {
    const titleId = newId();
    const title = h("h3", { id: titleId });
    const terms = h("span", {});
    const body = h("div", { class: "dp-release-body" });
    const copied = h(
        "button",
        { type: "button", class: "dp-button dp-copy", onclick: () => void copyPython() },
        "Copy as Python",
    );
    const code = h("textarea", {
        class: "dp-code",
        readonly: true,
        rows: 5,
        "aria-label": "The same in Python",
        hidden: true,
    });
    const foot = h("div", { class: "dp-release-foot" }, copied, code);
    const element = h(
        "section",
        { class: "dp-release", "aria-labelledby": titleId, onkeydown: (event: KeyboardEvent) => key(event) },
        h("div", { class: "dp-release-head" }, title, terms),
        body,
        foot,
    );
    let seen = "";
    let kind = "";

    function act(what: Act): void {
        switch (what.do) {
            case "press":
                return store.press();
            case "confirm":
                return store.confirm();
            case "keep":
                return store.keep();
            case "withdraw":
                return store.withdraw();
            case "again":
                return store.again();
            case "cancel":
                return store.cancel(what.token);
            case "wonder":
                return store.wonder(what.token);
            case "trust":
                return store.wonder(null);
            case "retry":
                return store.retry();
            case "show":
                return store.show(what.number);
            case "set":
                return store.type(what.epsilon);
        }
    }

    function key(event: KeyboardEvent): void {
        // A held key must not pay twice, nor a notebook's "run this cell" pay at all.
        const meant = !event.repeat && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
        if (!meant && (event.key === "Enter" || event.key === " ")) event.preventDefault();
        if (event.key !== "Escape") return;
        if (!code.hidden) {
            show(code, false);
            copied.focus();
        }
        if (store.purchase.kind === "confirm") store.keep();
        if (store.doubt !== null) store.wonder(null);
    }

    async function copyPython(): Promise<void> {
        const done = await copy(store.python);
        setText(copied, done ? "Copied" : "Copy as Python");
        code.value = store.python;
        show(code, !done);
        if (!done) code.select();
        setTimeout(() => setText(copied, "Copy as Python"), 1500);
    }

    function draw(): void {
        const teaching = store.state?.teaching ?? null;
        setText(title, teaching === null ? "Release" : `Not private · teaching, seed ${teaching.seed}`);
        setText(terms, teaching === null ? "paid · once · for good" : "no ledger");
        setAttribute(element, "data-teaching", teaching === null ? null : "true");
        const panel = told(panelOf(store), beside);
        const signature = JSON.stringify([{ ...panel, progress: panel.progress?.text }, store.resting]);
        if (signature !== seen) {
            const focused = body.contains(document.activeElement) ? document.activeElement : null;
            const same = panel.kind === kind ? focused?.getAttribute("data-act") : null;
            [seen, kind] = [signature, panel.kind];
            setAttribute(element, "data-panel", panel.kind);
            body.replaceChildren(...drawPanel(panel, store.resting, act));
            if (focused !== null || panel.kind === "confirm") refocus(body, same ?? null);
        }
        if (panel.progress !== undefined) drawProgress(body, panel.progress.share);
        show(
            foot,
            store.sheet !== null && ["offer", "over", "already", "teaching", "gone", "fault"].includes(panel.kind),
        );
    }

    return { element, draw };
}

/** Of what the field of ε tells already only the end: that nothing was charged. */
function told(panel: Panel, beside: boolean): Panel {
    if (!beside || panel.field !== "epsilon") return panel;
    const { notice, ...rest } = panel;
    return { ...rest, note: notice!.rest! };
}

/** Keep the focus in a pane drawn anew: on the same button, else the safe answer, else what there is to read. */
function refocus(body: HTMLElement, act: string | null): void {
    const places = [
        ...(act === null ? [] : [`[data-act="${act}"]`]),
        "[data-safe]",
        ".dp-notice",
        ".dp-pay",
        ".dp-button",
    ];
    for (const place of places) {
        const target = body.querySelector<HTMLElement>(place);
        if (target !== null) return target.focus();
    }
}

function drawPanel(panel: Panel, resting: boolean, act: (what: Act) => void): Node[] {
    const { notice, text, progress, beside, note, stored } = panel;
    const askedId = newId(); // the safe answer takes the focus, and is read together with what is asked
    const parts = [
        text && h("p", { id: askedId }, ...text.map((part) => (typeof part === "string" ? part : h("strong", {}, part[0])))),
        progress && progressBar(progress.text),
        h(
            "div",
            { class: "dp-actions" },
            beside && h("span", { class: "dp-note" }, beside),
            ...panel.buttons.map((item) => drawButton(item, resting, act, text && item.safe ? askedId : null)),
        ),
    ];
    const dialog = { class: "dp-asks", role: "alertdialog", "aria-label": panel.asks, "aria-describedby": askedId };
    const asked = panel.asks === undefined ? parts : [h("div", dialog, ...parts)];
    return [
        notice &&
            h(
                "div",
                { class: `dp-notice dp-${notice.tone}`, role: panel.kind === "over" ? null : "alert", tabindex: -1 },
                h("strong", {}, notice.strong),
                notice.rest ? ` ${notice.rest}` : null,
            ),
        ...asked,
        note && h("p", { class: "dp-note" }, note),
        stored &&
            h(
                "div",
                { class: "dp-stored" },
                h(
                    "p",
                    { class: "dp-note" },
                    h("strong", {}, `Release ${stored.number}`),
                    ` of this question at ε ${stored.epsilon} is stored. Looking at it again costs nothing.`,
                ),
                drawButton(
                    {
                        look: "free",
                        label: `Show release ${stored.number} · free`,
                        act: { do: "show", number: stored.number },
                    },
                    false,
                    act,
                ),
            ),
    ].filter((node): node is HTMLElement => node instanceof Node);
}

function drawButton(item: Button, resting: boolean, act: (what: Act) => void, about: string | null = null): HTMLElement {
    const off = item.act === null || (item.look === "pay" && resting);
    const looks = {
        pay: "dp-pay",
        free: "dp-button dp-dashed",
        plain: "dp-button",
        link: "dp-link",
        off: "dp-pay dp-off",
    };
    return h(
        "button",
        {
            type: "button",
            class: looks[item.look],
            "aria-disabled": off ? "true" : null,
            "data-safe": item.safe ?? false,
            "data-act": item.act?.do,
            "aria-describedby": about,
            onclick: () => {
                if (!off && item.act !== null) act(item.act);
            },
        },
        ...(typeof item.label === "string"
            ? [item.label]
            : [
                  h("span", {}, item.label[0]),
                  h("span", { class: "dp-divide", "aria-hidden": "true" }),
                  h("span", {}, item.label[1]),
              ]),
    );
}

function progressBar(text: string): HTMLElement {
    return h(
        "div",
        {},
        h("div", { class: "dp-progress-head" }, h("strong", {}, text), h("span", { class: "dp-note" })),
        h(
            "div",
            { class: "dp-progress", role: "progressbar", "aria-label": text, "aria-valuemin": 0, "aria-valuemax": 100 },
            h("div", {}),
        ),
    );
}

/** Progress moves in place: a button drawn anew under the pointer would swallow the click that cancels. */
function drawProgress(body: HTMLElement, share: number): void {
    const percent = Math.floor(100 * share);
    const bar = body.querySelector<HTMLElement>("[role=progressbar]");
    const words = body.querySelector(".dp-progress-head .dp-note");
    if (bar === null || words === null) return;
    setText(words, `${percent} %`);
    setAttribute(bar, "aria-valuenow", String(percent));
    (bar.firstElementChild as HTMLElement).style.width = `${100 * share}%`;
}
