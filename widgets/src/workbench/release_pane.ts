/** The release, in ink: what it pays, on the button, and every way it can go. */

import type { Component } from "../dom/component";
import { copy, h, newId, setAttribute, setText, show } from "../dom/dom";
import { meaningOf, panelOf, type Act, type Button, type Panel } from "./panel";
import type { SessionStore } from "../stores/session_store";

/** `beside`: the field of ε stands beside it, and tells by itself that it holds too much. */
export function releasePane(store: SessionStore, beside = false): Component {
    const titleId = newId();
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
        h("div", { class: "dp-release-head" }, h("h3", { id: titleId }, "Release"), h("span", {}, "paid · once · for good")),
        body,
        foot,
    );
    const askedId = newId(); // the safe answer takes the focus, and is read together with what is asked
    let kind = "";

    function act(what: Act, means: string | undefined): void {
        switch (what.do) {
            case "press":
                return means === store.means ? store.press() : undefined;
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
        const panel = told(panelOf(store), beside);
        const focused = body.contains(document.activeElement) ? document.activeElement : null;
        const same = panel.kind === kind ? focused?.getAttribute("data-act") : null;
        const asks = panel.kind === "confirm" && kind !== "confirm";
        kind = panel.kind;
        setAttribute(element, "data-panel", panel.kind);
        arrange(body, drawPanel(panel, askedId, store.resting, act));
        if (asks || focused?.isConnected === false) refocus(body, same ?? null);
        show(foot, store.sheet !== null && ["offer", "over", "already", "gone", "fault"].includes(panel.kind));
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

/** A part of the pane. One of the same key stays the element that it is, and is drawn anew in place. */
interface Part {
    key: string;
    make(): HTMLElement;
    draw?(element: HTMLElement): void;
}

const keys = new WeakMap<Element, string>();

/** Put the parts into an element. None that stays is moved: a button that is would lose the press that began on it. */
function arrange(into: Element, parts: readonly Part[]): void {
    const there = new Map([...into.children].map((child) => [keys.get(child), child as HTMLElement]));
    const elements = parts.map(({ key, make, draw }) => {
        const element = there.get(key) ?? make();
        keys.set(element, key);
        draw?.(element);
        return element;
    });
    for (const child of there.values()) if (!elements.includes(child)) child.remove();
    elements.forEach((element, i) => {
        if (into.children[i] !== element) into.insertBefore(element, into.children[i] ?? null);
    });
}

type Do = (what: Act, means: string | undefined) => void;

function drawPanel(panel: Panel, askedId: string, resting: boolean, act: Do): Part[] {
    const { asks, notice, text, progress, beside, note, stored } = panel;
    const buttons = panel.buttons.map((item) => buttonPart(item, resting, act, text && item.safe ? askedId : null));
    const parts: Part[] = [
        ...(text === undefined ? [] : [textPart(text, askedId)]),
        ...(progress === undefined ? [] : [{ key: "progress", make: progressBar, draw: (bar: HTMLElement) => drawProgress(bar, progress) }]),
        {
            key: "actions",
            make: () => h("div", { class: "dp-actions" }),
            draw: (actions) => arrange(actions, [...(beside === undefined ? [] : [notePart("span", beside)]), ...buttons]),
        },
    ];
    const dialog = (): HTMLElement => h("div", { class: "dp-asks", role: "alertdialog", "aria-label": asks, "aria-describedby": askedId });
    return [
        ...(notice === undefined ? [] : [noticePart(notice, panel.kind === "over" ? null : "alert")]),
        ...(asks === undefined ? parts : [{ key: `asks ${asks}`, make: dialog, draw: (asked: HTMLElement) => arrange(asked, parts) }]),
        ...(note === undefined ? [] : [notePart("p", note)]),
        ...(stored === undefined ? [] : [storedPart(stored, act)]),
    ];
}

/** The words are made anew where they change: it is read aloud then. */
const noticePart = (notice: NonNullable<Panel["notice"]>, role: string | null): Part => ({
    key: `notice ${JSON.stringify(notice)}`,
    make: () =>
        h(
            "div",
            { class: `dp-notice dp-${notice.tone}`, role, tabindex: -1 },
            h("strong", {}, notice.strong),
            notice.rest ? ` ${notice.rest}` : null,
        ),
});

const textPart = (text: NonNullable<Panel["text"]>, id: string): Part => ({
    key: `text ${JSON.stringify(text)}`,
    make: () => h("p", { id }, ...text.map((part) => (typeof part === "string" ? part : h("strong", {}, part[0])))),
});

const notePart = (tag: "p" | "span", words: string): Part => ({
    key: "note",
    make: () => h(tag, { class: "dp-note" }),
    draw: (element) => setText(element, words),
});

const storedPart = (stored: NonNullable<Panel["stored"]>, act: Do): Part => ({
    key: `stored ${JSON.stringify(stored)}`,
    make: () => h("div", { class: "dp-stored" }),
    draw: (element) =>
        arrange(element, [
            {
                key: "words",
                make: () =>
                    h(
                        "p",
                        { class: "dp-note" },
                        h("strong", {}, `Release ${stored.number}`),
                        ` of this question at ε ${stored.epsilon} is stored. Looking at it again costs nothing.`,
                    ),
            },
            buttonPart(
                { look: "free", label: `Show release ${stored.number} · free`, act: { do: "show", number: stored.number } },
                false,
                act,
                null,
            ),
        ]),
});

const LOOKS: Record<Button["look"], string> = {
    pay: "dp-pay",
    free: "dp-button dp-dashed",
    plain: "dp-button",
    link: "dp-link",
    off: "dp-pay dp-off",
};

/** A button stays the same for as long as it means the same, whether it rests or not. */
function buttonPart(item: Button, resting: boolean, act: Do, about: string | null): Part {
    const off = item.act === null || (item.look === "pay" && resting);
    const means = meaningOf(item);
    return {
        key: means,
        make: () => h("button", { type: "button", class: LOOKS[item.look], "data-act": item.act?.do, "data-means": means }),
        draw(element) {
            setAttribute(element, "aria-disabled", off ? "true" : null);
            setAttribute(element, "data-safe", item.safe ? "" : null);
            setAttribute(element, "aria-describedby", about);
            element.onclick = () => {
                if (!off && item.act !== null) act(item.act, item.means);
            };
            const [first, rest] = typeof item.label === "string" ? [item.label] : item.label;
            if (rest === undefined) return setText(element, first);
            if (element.childElementCount === 0) element.append(h("span", {}), h("span", { class: "dp-divide", "aria-hidden": "true" }), h("span", {}));
            setText(element.firstElementChild!, first);
            setText(element.lastElementChild!, rest);
        },
    };
}

const progressBar = (): HTMLElement =>
    h(
        "div",
        {},
        h("div", { class: "dp-progress-head" }, h("strong", {}), h("span", { class: "dp-note" })),
        h("div", { class: "dp-progress", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100 }, h("div", {})),
    );

function drawProgress(element: HTMLElement, { text, share }: NonNullable<Panel["progress"]>): void {
    const percent = Math.floor(100 * share);
    const bar = element.lastElementChild!;
    setText(element.querySelector("strong")!, text);
    setText(element.querySelector(".dp-note")!, `${percent} %`);
    setAttribute(bar, "aria-label", text);
    setAttribute(bar, "aria-valuenow", String(percent));
    (bar.firstElementChild as HTMLElement).style.width = `${100 * share}%`;
}
