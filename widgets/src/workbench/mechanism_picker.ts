/** Which question, by which mechanism, at which privacy loss. */

import type { Component } from "../dom/component";
import { h, newId, setOptions, setText, show } from "../dom/dom";
import { epsilonField } from "./epsilon_field";
import { isList } from "../wording/measures";
import { drawFault, planBox } from "./plan_box";
import { questionRow } from "./question_row";
import type { Change } from "../stores/plan";
import type { SessionStore } from "../stores/session_store";

/** The choice that is a part of the price: it stands where the price's δ does, once. */
const DELTA = "delta";

export function mechanismPicker(store: SessionStore): Component {
    const question = questionRow(store);
    const epsilon = epsilonField(store);
    const id = newId();
    const mechanism = h("select", { id, "aria-describedby": `${id}-fault`, onchange: () => void store.plan({ mechanism: mechanism.value }) });
    const refused = h("p", { id: `${id}-fault`, class: "dp-fault", role: "alert", hidden: true });
    const about = h("p", { class: "dp-hint" });
    const plain = h("div", { class: "dp-choices dp-plain-choices" });
    const choices = h("div", { class: "dp-choices" });
    const summary = h("summary", {}, "Noise and sampler");
    const more = h("details", { class: "dp-more", hidden: true }, summary, choices);
    const field = h("div", { class: "dp-field dp-mechanism" }, h("label", { for: id }, "Mechanism"), mechanism, refused, about, plain, more);
    const deltaName = newId();
    const deltaLabel = h("label", { id: deltaName, class: "dp-field-name" }, "δ");
    const needed = h("output", { class: "dp-fixed dp-not-needed", "aria-labelledby": deltaName });
    const chosenDelta = h("div", {});
    const delta = h("p", { class: "dp-hint" });
    const element = h(
        "div",
        { class: "dp-picker" },
        question.element,
        h(
            "div",
            { class: "dp-knobs" },
            field,
            epsilon.element,
            h(
                "div",
                { class: "dp-field dp-delta" },
                deltaLabel,
                needed,
                chosenDelta,
                delta,
            ),
        ),
    );
    const controls = new Map<string, { control: HTMLSelectElement | HTMLInputElement; draw(value: string): void }>();
    let seen = "";

    type Choice = NonNullable<SessionStore["sheet"]>["mechanism"]["choices"][number];

    /** The control of a choice, with what is wrong with it; the name of δ stands above it already. */
    function drawChoice({ name, label, options }: Choice): HTMLElement {
        const id = newId();
        if (name === DELTA) deltaLabel.htmlFor = id;
        const [control, fault] = options.length > 0 ? drawSelect(name, id) : drawBox(name, id);
        return h("div", { class: "dp-field" }, name === DELTA ? null : h("label", { for: id }, label), control, fault);
    }

    function drawSelect(name: string, id: string): [HTMLElement, HTMLElement] {
        const fault = h("p", { id: `${id}-fault`, class: "dp-fault", role: "alert", hidden: true });
        const onchange = (): void => void store.plan({ parameters: { [name]: control.value } });
        const control = h("select", { id, onchange, "aria-describedby": fault.id });
        const draw = (value: string): void => {
            setOptions(control, store.sheet!.mechanism.choices.find((one) => one.name === name)!.options, value);
            drawFault(store, name, control, fault);
        };
        controls.set(name, { control, draw });
        return [control, fault];
    }

    function drawBox(name: string, id: string): [HTMLElement, HTMLElement] {
        const was = (): string => store.sheet?.mechanism.parameters.get(name) ?? "";
        const change = (text: string): Change => ({ parameters: { [name]: text } });
        const { box, fault, draw } = planBox(store, name, { id, placeholder: "not set" }, was, change);
        controls.set(name, { control: box, draw });
        return [box, fault];
    }

    /** A select per choice among values, a box per choice that is a number; a choice of one is no choice. */
    function drawChoices(): void {
        const { choices: offers } = store.sheet!.mechanism;
        const offered = offers.filter((choice) => choice.options.length !== 1);
        const signature = JSON.stringify(offered);
        if (signature !== seen) {
            seen = signature;
            controls.clear();
            const expert = offered.filter(({ name, open }) => name !== DELTA && open !== true);
            plain.replaceChildren(...offered.filter(({ open }) => open === true).map(drawChoice));
            chosenDelta.replaceChildren(...offered.filter(({ name }) => name === DELTA).map(drawChoice));
            choices.replaceChildren(...expert.map(drawChoice));
            show(more, expert.length > 0);
            setText(summary, isList(store.sheet!) ? "Rows, rules and accounting" : "Noise and sampler");
        }
        for (const { name } of offered) {
            const { control, draw } = controls.get(name)!;
            draw(store.chosenOf(name));
            control.disabled = store.locked || store.kernel.health === "gone";
            if (store.faultOf(name) !== null && choices.contains(control)) more.open = true;
        }
    }

    function draw(): void {
        const { sheet } = store;
        question.draw();
        epsilon.draw();
        mechanism.disabled = sheet === null || store.locked || store.kernel.health === "gone";
        if (sheet === null) return;
        setOptions(
            mechanism,
            sheet.mechanisms.map(({ name, title }) => ({ value: name, label: title })),
            store.mechanism,
        );
        drawFault(store, "mechanism", mechanism, refused);
        setText(about, sheet.mechanism.about);
        setText(needed, store.point === null || store.point.price.delta === "0" ? "not needed" : store.point.price.delta);
        show(needed, !sheet.mechanism.choices.some(({ name }) => name === DELTA));
        setText(delta, sheet.mechanism.delta);
        drawChoices();
    }

    return { element, draw, close: () => question.close?.() };
}
