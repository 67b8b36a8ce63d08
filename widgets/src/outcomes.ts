/** Hypothetical outcomes: one whole outcome a frame, two frames a second; twelve side by side where nothing may move. */

import { h, setText, show } from "./dom";

/** One place of an outcome. */
export interface Place {
    text: string;
    /** Whether something else stands here than without noise. */
    moved: boolean;
    /** Whether nothing stands here. */
    empty: boolean;
}

export interface Outcomes {
    /** What is made up, or public, and what is new in each. */
    caption: string;
    /** How often what happened, counted in words. */
    finding: string;
    draws: readonly (readonly Place[])[];
}

const FRAME = 500;
const SIDE_BY_SIDE = 12;

const still = (): boolean => typeof matchMedia === "undefined" || matchMedia("(prefers-reduced-motion: reduce)").matches;

export function outcomesView(name: string): { element: HTMLElement; draw(found: Outcomes | null): void; close(): void } {
    const caption = h("p", { class: "dp-hint" });
    const count = h("span", { class: "dp-quiet" });
    const button = h("button", { type: "button", class: "dp-button", onclick: () => toggle() }, "Pause");
    const stage = h("ol", { class: "dp-outcome", "aria-hidden": "true" });
    const many = h("div", { class: "dp-outcomes", "aria-hidden": "true" });
    const finding = h("p", { class: "dp-finding" });
    const element = h(
        "figure",
        { class: "dp-figure dp-hypothetical" },
        h("figcaption", {}, h("h4", {}, name)),
        caption,
        h("div", { class: "dp-on-stage" }, stage, h("div", { class: "dp-stage-foot" }, button, count)),
        many,
        finding,
    );
    let shown: Outcomes | null = null;
    let frame = 0;
    let paused = still();
    let timer: ReturnType<typeof setInterval> | null = null;

    const placeOf = ({ text, moved, empty }: Place): HTMLElement => h("li", { class: empty ? "dp-unused" : null, "data-moved": moved ? "true" : null }, text);

    function drawFrame(): void {
        if (shown === null) return;
        stage.replaceChildren(...shown.draws[frame]!.map(placeOf));
        setText(count, `draw ${frame + 1} of ${shown.draws.length}`);
    }

    function run(): void {
        const runs = shown !== null && !paused && !still();
        if (runs && timer === null)
            timer = setInterval(() => {
                if (shown === null || !element.isConnected) return;
                frame = (frame + 1) % shown.draws.length;
                drawFrame();
            }, FRAME);
        if (!runs && timer !== null) {
            clearInterval(timer);
            timer = null;
        }
        setText(button, paused ? "Play" : "Pause");
    }

    function toggle(): void {
        paused = !paused;
        run();
    }

    function draw(found: Outcomes | null): void {
        show(element, found !== null);
        shown = found;
        frame = 0;
        if (found !== null) {
            setText(caption, found.caption);
            setText(finding, found.finding);
            many.replaceChildren(...found.draws.slice(0, SIDE_BY_SIDE).map((places) => h("ol", { class: "dp-outcome" }, ...places.map(placeOf))));
            drawFrame();
        }
        run();
    }

    return {
        element,
        draw,
        close() {
            if (timer !== null) clearInterval(timer);
            timer = null;
        },
    };
}
