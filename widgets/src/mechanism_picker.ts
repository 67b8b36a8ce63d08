/** Which question, by which mechanism, at which privacy loss. */

import type { Component } from "./component";
import { h, newId, setOptions, setText, show } from "./dom";
import { epsilonField } from "./epsilon_field";
import { isList } from "./measures";
import { questionRow } from "./question_row";
import type { SessionStore } from "./session_store";

export function mechanismPicker(store: SessionStore): Component {
    const question = questionRow(store);
    const epsilon = epsilonField(store);
    const id = newId();
    const mechanism = h("select", { id, onchange: () => void store.plan({ mechanism: mechanism.value }) });
    const about = h("p", { class: "dp-hint" });
    const choices = h("div", { class: "dp-choices" });
    const summary = h("summary", {}, "Noise and sampler");
    const more = h("details", { class: "dp-more", hidden: true }, summary, choices);
    const field = h("div", { class: "dp-field dp-mechanism" }, h("label", { for: id }, "Mechanism"), mechanism, about, more);
    const deltaName = newId();
    const needed = h("output", { class: "dp-fixed dp-not-needed", "aria-labelledby": deltaName });
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
                h("span", { id: deltaName, class: "dp-field-name" }, "δ"),
                needed,
                delta,
            ),
        ),
    );
    const controls = new Map<string, HTMLSelectElement | HTMLInputElement>();
    let seen = "";

    /** A select per choice among values, a box per choice that is a number; a choice of one is no choice. */
    function drawChoices(): void {
        const { choices: offers, parameters } = store.sheet!.mechanism;
        const offered = offers.filter((choice) => choice.options.length !== 1);
        const signature = JSON.stringify(offered);
        if (signature !== seen) {
            seen = signature;
            controls.clear();
            choices.replaceChildren(
                ...offered.map(({ name, label, options }) => {
                    const choiceId = newId();
                    const ask = (): void => void store.plan({ parameters: { [name]: control.value.trim() } });
                    const control =
                        options.length > 0
                            ? h("select", { id: choiceId, onchange: ask })
                            : h("input", {
                                  id: choiceId,
                                  type: "text",
                                  class: "dp-exact-text",
                                  autocomplete: "off",
                                  spellcheck: "false",
                                  placeholder: "not set",
                                  onchange: ask,
                              });
                    controls.set(name, control);
                    return h("div", { class: "dp-field" }, h("label", { for: choiceId }, label), control);
                }),
            );
            show(more, offered.length > 0);
            const list = isList(store.sheet!);
            setText(summary, list ? "Items, rows and δ" : "Noise and sampler");
            if (list) more.open = true; // how many items, out of how many rows, is the question itself
            (list ? element : field).append(more);
        }
        for (const { name, options } of offered) {
            const [control, value] = [controls.get(name)!, parameters.get(name) ?? ""];
            if (control instanceof HTMLSelectElement) setOptions(control, options, value);
            else if (document.activeElement !== control) control.value = value;
            control.disabled = store.locked || store.kernel.health === "gone";
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
            sheet.mechanism.name,
        );
        setText(about, sheet.mechanism.about);
        setText(needed, store.point === null || store.point.price.delta === "0" ? "not needed" : store.point.price.delta);
        setText(delta, sheet.mechanism.delta);
        drawChoices();
    }

    return { element, draw };
}
