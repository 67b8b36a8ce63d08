/** Hypothetical outcomes: one whole outcome a frame, two frames a second; twelve side by side where nothing may move. */

import { h, setText, show } from "./dom";

export interface Outcomes {
    /** The outcomes that are made up, or public, and what is new in each. */
    caption: string;
    /** The same in two or three words, where nothing else above says it. */
    badge?: string;
    /** How often what happened, counted in words. */
    finding: string;
    count: number;
    /** One outcome: what stands on the stage. */
    frame: (draw: number) => Node[];
    /** The first of them side by side, so many at most. */
    still: (many: number) => Node[];
}

const FRAME = 500;
const SIDE_BY_SIDE = 12;

const motionless = (): boolean => typeof matchMedia === "undefined" || matchMedia("(prefers-reduced-motion: reduce)").matches;

export function outcomesView(name: string): { element: HTMLElement; draw(found: Outcomes | null): void; close(): void } {
    const caption = h("p", { class: "dp-hint" });
    const count = h("span", { class: "dp-quiet" });
    const button = h("button", { type: "button", class: "dp-button", onclick: () => toggle() }, "Pause");
    const badge = h("span", { class: "dp-chip dp-violet", hidden: true });
    const stage = h("div", { class: "dp-stage", "aria-hidden": "true" });
    const many = h("div", { class: "dp-outcomes", "aria-hidden": "true" });
    const finding = h("p", { class: "dp-finding" });
    const element = h(
        "figure",
        { class: "dp-figure dp-hypothetical" },
        h("figcaption", {}, h("h4", {}, name), badge),
        caption,
        h("div", { class: "dp-on-stage" }, stage, h("div", { class: "dp-stage-foot" }, button, count)),
        many,
        finding,
    );
    let shown: Outcomes | null = null;
    let frame = 0;
    let paused = motionless();
    let timer: ReturnType<typeof setInterval> | null = null;

    function drawFrame(): void {
        if (shown === null) return;
        stage.replaceChildren(...shown.frame(frame));
        setText(count, `draw ${frame + 1} of ${shown.count}`);
    }

    function run(): void {
        const runs = shown !== null && !paused && !motionless();
        if (runs && timer === null)
            timer = setInterval(() => {
                if (shown === null || !element.isConnected) return;
                frame = (frame + 1) % shown.count;
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
        frame = found?.count === shown?.count ? frame : 0; // the same draw of what has moved
        shown = found;
        if (found !== null) {
            setText(badge, found.badge ?? "");
            show(badge, found.badge !== undefined);
            setText(caption, found.caption);
            setText(finding, found.finding);
            many.replaceChildren(...found.still(SIDE_BY_SIDE));
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
