/** A slider of an explorer: it holds the values of one axis; where asked for, a box beside it takes any other. */

import { h, newId, setAttribute, setText, show } from "./dom";
import type { Component } from "./component";
import type { Explorer } from "./explorer";
import { timed } from "./perf";
import type { Point, Sheet } from "./sheets";

const PAGE = 10;

export function axisSlider<S extends Sheet<Point>>(desk: Explorer<S>, name: string, typed = false): Component {
    const [id, hintId] = [newId(), newId()];
    const label = h("label", { for: id, class: "dp-field-name" });
    const value = h("output", { class: "dp-axis-value", for: id });
    const box = h("input", {
        type: "text",
        class: "dp-exact-text dp-axis-box",
        autocomplete: "off",
        spellcheck: "false",
        "aria-describedby": hintId,
        onchange: (event: Event) => timed(event, () => desk.set(name, box.value.trim().replaceAll(",", ""))),
    });
    const slider = h("input", {
        id,
        type: "range",
        min: 0,
        max: 0,
        step: 1,
        "aria-describedby": hintId,
        oninput: (event: Event) => timed(event, () => desk.moveTo(name, Number(slider.value))),
        onkeydown: (event: KeyboardEvent) => {
            const to: Record<string, number | undefined> = {
                ArrowLeft: desk.tick(name) - 1,
                ArrowDown: desk.tick(name) - 1,
                ArrowRight: desk.tick(name) + 1,
                ArrowUp: desk.tick(name) + 1,
                PageUp: desk.tick(name) + PAGE,
                PageDown: desk.tick(name) - PAGE,
                Home: 0,
                End: Number(slider.max),
            };
            const tick = to[event.key];
            if (tick === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
            event.preventDefault();
            timed(event, () => desk.moveTo(name, tick));
        },
    });
    const hint = h("p", { id: hintId, class: "dp-hint" });
    const element = h(
        "div",
        { class: "dp-axis-field" },
        h("div", { class: "dp-epsilon-head" }, label, typed ? box : value),
        h("div", { class: "dp-track" }, slider),
        hint,
    );

    function draw(): void {
        const axis = desk.axis(name);
        slider.disabled = box.disabled = axis === null;
        if (axis === null) return;
        const [tick, place] = [desk.tick(name), desk.place.get(name) ?? ""];
        setText(label, axis.label);
        setAttribute(box, "aria-label", `${axis.label}, exact`);
        setAttribute(slider, "max", String(axis.grid.length - 1));
        if (slider.value !== String(tick)) slider.value = String(tick);
        const words = axis.grid.includes(place) ? axis.values[tick]! : place;
        setAttribute(slider, "aria-valuetext", words);
        slider.style.setProperty("--dp-share", String(tick / Math.max(1, axis.grid.length - 1)));
        setText(value, words);
        if (document.activeElement !== box && box.value !== place) box.value = place;
        setText(hint, axis.hint);
        show(hint, axis.hint !== "");
    }

    return { element, draw };
}
