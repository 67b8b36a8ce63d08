/** Steps to walk through: Previous, each step by its name, Next; arrow keys, Home and End do the same. */

import { h, setAttribute, setText } from "./dom";
import { timed } from "./perf";

export interface Stepper {
    readonly element: HTMLElement;
    /** Describe this step in words. */
    readonly sentence: HTMLElement;
    /** The step on show, from 0. */
    readonly at: number;
    go(to: number): void;
    /** Draw the steps, which may have other names than before, and what the one on show tells; gives it with its name and number. */
    draw(names: readonly string[], told: string): string;
}

/** `turned` is called when another step is on show. */
export function stepper(turned: () => void): Stepper {
    let [at, names]: [number, readonly string[]] = [0, []];
    const turn = (name: string, by: number): HTMLButtonElement =>
        h("button", { type: "button", class: "dp-button", onclick: (event: Event) => timed(event, () => go(at + by)) }, name);
    const [back, next] = [turn("Previous", -1), turn("Next", 1)];
    const jumps = h("ol", { class: "dp-steps" });
    const sentence = h("p", { class: "dp-finding dp-step-sentence" });
    const element = h(
        "div",
        {
            class: "dp-stepper",
            role: "group",
            "aria-label": "Steps",
            onkeydown: (event: KeyboardEvent) => {
                const to: Record<string, number | undefined> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: names.length - 1 };
                const found = to[event.key];
                if (found === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
                event.preventDefault();
                timed(event, () => go(found));
            },
        },
        back,
        jumps,
        next,
    );

    function go(to: number): void {
        at = Math.max(0, Math.min(names.length - 1, to));
        turned();
        jumps.children[at]?.scrollIntoView?.({ block: "nearest" });
    }

    return {
        element,
        sentence,
        get at() {
            return at;
        },
        go,
        draw(steps, told) {
            if (steps.join() !== names.join()) {
                names = steps;
                at = Math.min(at, names.length - 1);
                jumps.replaceChildren(...names.map((name, i) => h("li", {}, h("button", { type: "button", class: "dp-step-jump", onclick: (event: Event) => timed(event, () => go(i)) }, name))));
            }
            [...jumps.children].forEach((item, i) => setAttribute(item.firstElementChild!, "aria-current", i === at ? "step" : null));
            const held = document.activeElement;
            const ends = [[back, 0], [next, names.length - 1]] as const;
            // the focus goes with the step, and leaves a button that is switched off and would hear no keys
            if (jumps.contains(held) || ends.some(([button, end]) => held === button && at === end)) (jumps.children[at]?.firstElementChild as HTMLElement | null)?.focus();
            for (const [button, end] of ends) button.disabled = at === end;
            setText(sentence, told);
            return `Step ${at + 1} of ${names.length}, ${names[at]}. ${told}`;
        },
    };
}
