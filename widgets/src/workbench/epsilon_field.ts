/** The privacy loss: a slider that holds grid values only, and a box that keeps any exact text. */

import type { Component } from "../dom/component";
import { h, newId, s, setAttribute, setText, show } from "../dom/dom";
import { equal, exactly, morePrivate, parse } from "../numbers/exact";
import { tooMuch } from "./panel";
import { timed } from "../dom/perf";
import { epsilonAxis } from "../protocol/protocol";
import type { SessionStore } from "../stores/session_store";
import { PAYS_TIP } from "../wording/words";

export function epsilonField(store: SessionStore, brief = false): Component {
    const [id, boxId, helpId, faultId] = [newId(), newId(), newId(), newId()];
    const name = h("label", { for: id, class: "dp-field-name" });
    const hint = h("span", { class: "dp-quiet" });
    const box = h("input", {
        id: boxId,
        type: "text",
        class: "dp-exact-text dp-epsilon-box",
        inputmode: "decimal",
        autocomplete: "off",
        spellcheck: "false",
        "aria-label": "Privacy loss ε, exact",
        "aria-describedby": `${helpId} ${faultId}`,
        oninput: () => {
            draft = true;
        },
        onchange: (event: Event) => timed(event, () => commit()),
        onkeydown: (event: KeyboardEvent) => boxKey(event),
    });
    const slider = h("input", {
        id,
        type: "range",
        min: 0,
        max: 0,
        step: 1,
        "aria-describedby": helpId,
        oninput: (event: Event) => timed(event, () => store.moveTo(Number(slider.value))),
        onkeydown: (event: KeyboardEvent) => sliderKey(event),
    });
    const scale = h("div", { class: "dp-scale", "aria-hidden": "true" });
    const sign = s("svg", { width: 10, height: 8 }, s("path", { d: "M0 0H10L5 8Z" }));
    const marker = h("div", { class: "dp-marker", "aria-hidden": "true", hidden: true }, sign);
    const track = h("div", { class: "dp-track" }, marker, slider, scale);
    const help = h("p", { id: helpId, class: "dp-hint" });
    const fault = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
    const element = h(
        "div",
        { class: "dp-epsilon", role: "group", "aria-label": "Privacy loss" },
        h("div", { class: "dp-epsilon-head" }, h("span", {}, name, " ", hint), brief ? null : box),
        track,
        help,
        fault,
    );
    let axisSeen = "";
    let draft = false; // being typed: what arrives meanwhile must not take the words out of the reader's mouth

    function commit(): void {
        draft = false;
        if (box.value !== store.typed || store.fault !== null) store.type(box.value);
    }

    function boxKey(event: KeyboardEvent): void {
        if (event.key === "Enter") {
            event.preventDefault();
            timed(event, () => commit());
        } else if (event.key === "Escape") {
            draft = false;
            const wrong = store.fault !== null || store.faultOf("epsilon") !== null;
            box.value = wrong ? (store.point?.epsilon ?? store.typed) : store.typed;
            if (wrong) store.type(box.value);
        }
    }

    function sliderKey(event: KeyboardEvent): void {
        const sheet = store.sheet;
        if (sheet === null || event.ctrlKey || event.metaKey || event.altKey) return;
        const axis = epsilonAxis(sheet);
        const last = axis.grid.length - 1;
        const labelled = axis.labelled.map((text) => axis.grid.indexOf(text)).filter((tick) => tick >= 0);
        const to: Record<string, number | undefined> = {
            ArrowLeft: store.tick - 1,
            ArrowDown: store.tick - 1,
            ArrowRight: store.tick + 1,
            ArrowUp: store.tick + 1,
            PageUp: labelled.find((tick) => tick > store.tick) ?? last,
            PageDown: labelled.findLast((tick) => tick < store.tick) ?? 0,
            Home: 0,
            End: last,
        };
        const tick = to[event.key];
        if (tick === undefined) return;
        event.preventDefault();
        timed(event, () => store.moveTo(tick));
    }

    function drawScale(): void {
        const axis = epsilonAxis(store.sheet!);
        const signature = JSON.stringify([axis.grid, axis.labelled]);
        if (signature === axisSeen) return;
        axisSeen = signature;
        slider.max = String(axis.grid.length - 1);
        scale.replaceChildren(
            ...axis.labelled.map((text) => {
                const tick = h("span", {}, text);
                tick.style.left = share(axis.grid.indexOf(text), axis.grid.length);
                return tick;
            }),
        );
    }

    function draw(): void {
        const { sheet, point, last } = store;
        slider.disabled = sheet === null || store.locked;
        box.disabled = sheet === null || store.locked;
        if (sheet === null) return;
        const axis = epsilonAxis(sheet);
        setText(name, axis.label);
        setText(hint, axis.hint === "" ? "" : `— ${axis.hint}`);
        drawScale();
        if (slider.value !== String(store.tick)) slider.value = String(store.tick);
        setAttribute(slider, "aria-valuetext", `ε ${axis.grid[store.tick]}`);
        slider.style.setProperty("--dp-share", String(store.tick / Math.max(1, axis.grid.length - 1)));
        const own = document.activeElement === box && (draft || (store.fault !== null && box.value !== ""));
        if (!own) {
            if (box.value !== store.typed) box.value = store.typed;
        }
        const asked = last === null ? null : parse(last.epsilon);
        const at = asked === null ? -1 : morePrivate(axis.grid.map(exactly), asked);
        show(marker, at >= 0);
        if (at >= 0) sign.style.left = share(at, axis.grid.length);
        const marked = at >= 0 ? `▼ last release of this question, ${last!.epsilon}` : "";
        setText(
            help,
            store.fault === null
                ? [exactPart(), paysPart(), marked].filter((part) => part !== "").join(" · ")
                : stalePart(),
        );
        help.title = point !== null && point.price.asked !== point.price.epsilon ? PAYS_TIP : "";
        const words = store.fault ?? store.faultOf("epsilon");
        const costly = words === null && !brief ? tooMuch(store) : null;
        setAttribute(box, "aria-invalid", words === null && costly === null ? null : "true");
        setAttribute(fault, "role", words === null ? null : "alert"); // what costs too much is said with the plan
        setText(fault, words === null && costly === null ? "" : `⚠ ${words ?? costly}`);
        show(fault, words !== null || costly !== null);
    }

    const stalePart = (): string =>
        store.point === null
            ? ""
            : `The plan below is still for ε ${store.point.epsilon}, the last value that made sense.`;

    function exactPart(): string {
        const { point } = store;
        if (store.settled) return point === null ? "" : `exactly ${point.exactly}`;
        const shown =
            point === null
                ? "no tick is as private"
                : `shown for ε ${point.epsilon}, the nearest tick that is more private`;
        return store.kernel.health === "gone"
            ? `no kernel to plan ε ${store.typed}: ${shown}`
            : `asking the kernel for ε ${store.typed}; ${shown}`;
    }

    function paysPart(): string {
        const price = store.point?.price;
        if (price === undefined || equal(exactly(price.asked), exactly(price.epsilon))) return "";
        return `asked ${price.asked}, ${store.teaching ? "gives" : "pays"} ${price.epsilon}`;
    }

    return { element, draw };
}

/** Where a tick stands along the track, whose ends are half a thumb inside it. */
const share = (tick: number, ticks: number): string => `${(100 * tick) / Math.max(1, ticks - 1)}%`;
