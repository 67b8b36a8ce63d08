/** A slider of an explorer: it holds the values of one axis; where asked for, a box beside it takes any other. */

import { h, newId, setAttribute, setText, show } from "../dom/dom";
import { textWidth } from "../charts/frame";
import type { Component } from "../dom/component";
import type { Explorer } from "./explorer";
import { timed } from "../dom/perf";
import type { Axis, Point, Sheet } from "../protocol/sheets";
import { shown } from "../wording/words";

/** The narrowest track, by which labels of ticks keep apart; its ends lie half a thumb inside it. */
const [TRACK, INSET, APART] = [132, 9, 8];
const POWER = /^(10*|0\.0*1|10[⁻⁰¹²³⁴-⁹]+)$/;

export function axisSlider<S extends Sheet<Point>>(store: Explorer<S>, name: string, typed = false): Component {
    const [id, hintId, faultId] = [newId(), newId(), newId()];
    const label = h("label", { for: id, class: "dp-field-name" });
    const value = h("output", { class: "dp-axis-value", for: id });
    const box = h("input", {
        type: "text",
        class: "dp-exact-text dp-axis-box",
        autocomplete: "off",
        spellcheck: "false",
        "aria-describedby": `${hintId} ${faultId}`,
        onchange: (event: Event) => timed(event, () => store.type(name, box.value)),
        onkeydown: (event: KeyboardEvent) => {
            const was = store.position.get(name) ?? "";
            if (event.key !== "Escape" || (box.value === was && store.mistyped?.name !== name)) return;
            event.stopPropagation(); // it takes back what was typed, and closes nothing
            box.value = was;
            store.forgive(name);
        },
    });
    const slider = h("input", {
        id,
        type: "range",
        min: 0,
        max: 0,
        step: 1,
        "aria-describedby": hintId,
        oninput: (event: Event) => timed(event, () => store.moveTo(name, Number(slider.value))),
        onkeydown: (event: KeyboardEvent) => {
            const to: Record<string, number | undefined> = {
                ArrowLeft: store.tick(name) - 1,
                ArrowDown: store.tick(name) - 1,
                ArrowRight: store.tick(name) + 1,
                ArrowUp: store.tick(name) + 1,
                PageUp: labelled.find((tick) => tick > store.tick(name)) ?? Number(slider.max),
                PageDown: labelled.findLast((tick) => tick < store.tick(name)) ?? 0,
                Home: 0,
                End: Number(slider.max),
            };
            const tick = to[event.key];
            if (tick === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
            event.preventDefault();
            timed(event, () => store.moveTo(name, tick));
        },
    });
    const scale = h("div", { class: "dp-scale", "aria-hidden": "true" });
    const track = h("div", { class: "dp-track" }, slider, scale);
    const hint = h("p", { id: hintId, class: "dp-hint" });
    const fault = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
    let labelled: number[] = [];
    let seen = "";
    const element = h(
        "div",
        { class: "dp-axis-field" },
        h("div", { class: "dp-epsilon-head" }, label, typed ? box : value),
        track,
        hint,
        typed ? fault : null,
    );

    function drawScale(axis: Axis): void {
        const signature = JSON.stringify(axis.values);
        if (signature === seen) return;
        seen = signature;
        labelled = ticks(axis.values);
        const last = axis.values.length - 1;
        show(track, last > 0);
        scale.replaceChildren(
            ...labelled.map((tick) => {
                const mark = h("span", { "data-end": tick === 0 ? "first" : tick === last ? "last" : null }, shown(axis.values[tick]!));
                mark.style.left = `${(100 * tick) / Math.max(1, last)}%`;
                return mark;
            }),
        );
    }

    function draw(): void {
        const axis = store.axis(name);
        slider.disabled = box.disabled = axis === null;
        if (axis === null) return;
        const [tick, position] = [store.tick(name), store.position.get(name) ?? ""];
        setText(label, axis.label);
        setAttribute(box, "aria-label", `${axis.label}, exact`);
        setAttribute(slider, "max", String(axis.grid.length - 1));
        drawScale(axis);
        if (slider.value !== String(tick)) slider.value = String(tick);
        const words = axis.grid.includes(position) ? axis.values[tick]! : position;
        setAttribute(slider, "aria-valuetext", shown(words));
        slider.style.setProperty("--dp-share", String(tick / Math.max(1, axis.grid.length - 1)));
        setText(value, shown(words));
        const wrong = store.mistyped?.name === name ? store.mistyped : null;
        const stands = wrong?.typed ?? position;
        if (document.activeElement !== box && box.value !== stands) box.value = stands;
        box.style.setProperty("--dp-figures", String(stands.length));
        setAttribute(box, "aria-invalid", wrong === null ? null : "true");
        setText(fault, wrong === null ? "" : `⚠ ${wrong.words}`);
        show(fault, wrong !== null);
        setText(hint, axis.hint);
        show(hint, axis.hint !== "");
    }

    return { element, draw };
}

/** Which ticks are labelled: both ends and, where there is room, powers of ten from the middle outwards, or the middle. */
function ticks(values: readonly string[]): number[] {
    const last = values.length - 1;
    const taken: [number, number][] = [];
    const chosen: number[] = [];
    const take = (tick: number): void => {
        const [at, width] = [INSET + ((TRACK - 2 * INSET) * tick) / Math.max(1, last), textWidth(shown(values[tick]!))];
        const from = tick === 0 ? 0 : tick === last ? TRACK - width : at - width / 2;
        if (taken.some(([left, right]) => from < right + APART && from + width > left - APART)) return;
        taken.push([from, from + width]);
        chosen.push(tick);
    };
    const inner = values.map((_, tick) => tick).slice(1, -1);
    inner.sort((a, b) => Math.abs(a - last / 2) - Math.abs(b - last / 2));
    for (const tick of [0, last]) take(tick);
    for (const tick of inner) if (POWER.test(values[tick]!)) take(tick);
    for (const tick of inner) if (chosen.length < 3) take(tick);
    return chosen.sort((a, b) => a - b);
}
