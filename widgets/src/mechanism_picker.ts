/** Which question, by which mechanism, at which privacy loss. */

import type { Component } from "./component";
import { h, newId, setAttribute, setOptions, setText, show } from "./dom";
import { epsilonField } from "./epsilon_field";
import { isList } from "./measures";
import { questionRow } from "./question_row";
import type { SessionStore } from "./session_store";

/** The choice that is a part of the price: it stands where the price's δ does, once. */
const DELTA = "delta";

export function mechanismPicker(store: SessionStore): Component {
    const question = questionRow(store);
    const epsilon = epsilonField(store);
    const id = newId();
    const mechanism = h("select", { id, onchange: () => void store.plan({ mechanism: mechanism.value }) });
    const about = h("p", { class: "dp-hint" });
    const plain = h("div", { class: "dp-choices dp-plain-choices" });
    const choices = h("div", { class: "dp-choices" });
    const summary = h("summary", {}, "Noise and sampler");
    const more = h("details", { class: "dp-more", hidden: true }, summary, choices);
    const field = h("div", { class: "dp-field dp-mechanism" }, h("label", { for: id }, "Mechanism"), mechanism, about, plain, more);
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
    const controls = new Map<string, { control: HTMLSelectElement | HTMLInputElement; fault: HTMLElement }>();
    let seen = "";

    type Choice = NonNullable<SessionStore["sheet"]>["mechanism"]["choices"][number];

    /** The control of a choice, with what is wrong with it; the name of δ stands above it already. */
    function drawChoice({ name, label, options }: Choice): HTMLElement {
        const [choiceId, faultId] = [newId(), newId()];
        if (name === DELTA) deltaLabel.htmlFor = choiceId;
        const ask = (): void => void store.plan({ parameters: { [name]: control.value.trim() } });
        const control =
            options.length > 0
                ? h("select", { id: choiceId, onchange: ask, "aria-describedby": faultId })
                : h("input", {
                      id: choiceId,
                      type: "text",
                      class: "dp-exact-text",
                      autocomplete: "off",
                      spellcheck: "false",
                      placeholder: "not set",
                      "aria-describedby": faultId,
                      onchange: ask,
                      onkeydown: (event: KeyboardEvent) => {
                          const value = store.sheet?.mechanism.parameters.get(name) ?? "";
                          if (event.key !== "Escape" || (control.value === value && store.faultOf(name) === null)) return;
                          event.stopPropagation(); // it closes nothing: it takes back what was typed
                          control.value = value;
                          store.forgive();
                      },
                  });
        const fault = h("p", { id: faultId, class: "dp-fault", role: "alert", hidden: true });
        controls.set(name, { control, fault });
        return h("div", { class: "dp-field" }, name === DELTA ? null : h("label", { for: choiceId }, label), control, fault);
    }

    /** A select per choice among values, a box per choice that is a number; a choice of one is no choice. */
    function drawChoices(): void {
        const { choices: offers, parameters } = store.sheet!.mechanism;
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
        for (const { name, options } of offered) {
            const [{ control, fault }, value] = [controls.get(name)!, parameters.get(name) ?? ""];
            const wrong = store.faultOf(name);
            if (control instanceof HTMLSelectElement) setOptions(control, options, value);
            else if (document.activeElement !== control && wrong === null) control.value = value;
            control.disabled = store.locked || store.kernel.health === "gone";
            setAttribute(control, "aria-invalid", wrong === null ? null : "true");
            setText(fault, wrong === null ? "" : `⚠ ${wrong}`);
            show(fault, wrong !== null);
            if (wrong !== null && choices.contains(control)) more.open = true;
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
        show(needed, !sheet.mechanism.choices.some(({ name }) => name === DELTA));
        setText(delta, sheet.mechanism.delta);
        drawChoices();
    }

    return { element, draw };
}
