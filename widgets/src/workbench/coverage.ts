/** Draws held against the truth, which is public: what missed, counted in words, drawn large and as small multiples. */

import { coverageChart, drawnOf, smallCoverage, type Drawn } from "../charts/coverage";
import type { Component } from "../dom/component";
import { h, newId, setAttribute, setOptions, setText, show, watchWidth } from "../dom/dom";
import type { Lesson } from "../protocol/lesson";
import { allAtOnce, anyOne, isCounted, misses, onePicked, spoken } from "../stores/lesson_draws";
import type { SessionStore } from "../stores/session_store";
import { dataTable } from "../dom/table";
import { capital, often, shown } from "../wording/words";

/** Two draws a second. */
const BEAT = 500;
const SMALL = { least: 128, height: 60, gap: 8 };

const PICKED = "the bin you picked";

export function coverage(store: SessionStore): Component {
    const { lessons } = store;
    const [titleId, drawId, pickId] = [newId(), newId(), newId()];
    const head = h("p", { class: "dp-guarantee" });
    const [one, all] = [h("span", {}), h("span", {})];
    const pick = h("select", { id: pickId, onchange: () => lessons.pick(Number(pick.value)) });
    const held = h("span", {});
    const watched = h("p", {}, h("label", { for: pickId }, "Bin picked before looking: "), pick, " ", held);
    const counts = h("div", { class: "dp-counters" }, h("p", {}, h("strong", {}, "any one bin: "), one), h("p", {}, h("strong", {}, "all at once: "), all), watched);
    const beta = h("select", { "aria-label": "How often the intervals hold", onchange: () => void lessons.level(beta.value) });
    const slider = h("input", {
        id: drawId,
        type: "range",
        step: 1,
        oninput: () => {
            stop();
            lessons.show(Number(slider.value));
            store.say(spoken(lessons));
        },
    });
    const place = h("span", { class: "dp-hint" });
    const play = h("button", { type: "button", class: "dp-button", onclick: () => (timer === null ? start() : pause()) }, PLAY);
    const again = h("button", { type: "button", class: "dp-button", onclick: () => void forget() }, "Count again from zero");
    const walk = h("div", { class: "dp-walk" }, h("label", { for: drawId }, "Draw"), slider, place, play);
    const tools = h("div", { class: "dp-result-tools" }, walk, h("div", { class: "dp-tools" }, beta, again));
    const picture = h("div", {});
    const key = h("p", { class: "dp-hint" });
    const panels = h("div", { class: "dp-twenty" });
    const rows = h("div", {});
    const table = h("details", { class: "dp-how" }, h("summary", {}, "Misses of every draw, as a table"), rows);
    const title = h("h3", { id: titleId, tabindex: -1 }, "Noise beside the truth");
    const element = h(
        "section",
        { class: "dp-coverage", "data-teaching": "true", "aria-labelledby": titleId, hidden: true },
        h("div", { class: "dp-section-head" }, title, h("span", { class: "dp-chip dp-violet" }, "public data")),
        head,
        counts,
        tools,
        picture,
        key,
        panels,
        table,
    );
    table.addEventListener("toggle", () => drawTable());
    let width = 640;
    let timer: ReturnType<typeof setInterval> | null = null;
    let read: { of: Lesson; as: Drawn } | null = null;
    let drawnPanels = "";
    const leave = watchWidth(picture, (now) => {
        width = now;
        draw();
    });

    const still = (): boolean => globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches === true;

    function start(): void {
        const [first, last] = lessons.stretch;
        timer = setInterval(() => {
            lessons.show(lessons.at + 1);
            if (lessons.at >= last) pause();
        }, BEAT);
        lessons.show(lessons.at >= last ? first : lessons.at);
    }

    function stop(): void {
        if (timer !== null) clearInterval(timer);
        timer = null;
    }

    function pause(): void {
        stop();
        store.say(spoken(lessons), 0);
        draw();
    }

    async function forget(): Promise<void> {
        stop();
        await lessons.forget();
        draw();
    }

    /** The lesson as numbers; read again where another one came. */
    function numbers(lesson: Lesson): Drawn {
        if (read?.of !== lesson) read = { of: lesson, as: drawnOf(lesson) };
        return read.as;
    }

    function draw(): void {
        const { lesson } = lessons;
        show(element, lesson !== null && store.state?.teaching != null);
        if (lesson === null) {
            stop();
            return;
        }
        const counted = isCounted(lesson);
        for (const part of [counts, tools, panels, table]) show(part, counted);
        const { limits } = lesson;
        setText(title, limits !== null ? "Noise beside what is counted" : counted ? "Noise beside the truth" : "What is true");
        setText(head, [counted ? `${lesson.title}.` : UNCOUNTED, limits ?? ""].join(" ").trim());
        show(picture, lesson.truth !== null);
        if (lesson.truth === null) {
            setText(key, `There are no ${countsOf(lesson)} to show beside this answer.`);
            return;
        }
        if (!counted) {
            picture.replaceChildren(coverageChart(width, numbers(lesson), null, -1, `${capital(countsOf(lesson))} of ${lesson.truth.labels.length} bins`));
            setText(key, `Hatched: ${countsOf(lesson)}, which are public.`);
            return;
        }
        drawWords(lesson);
        const data = numbers(lesson);
        const now = data.draws.find(({ draw }) => draw === lessons.at) ?? data.draws.at(-1)!;
        picture.replaceChildren(coverageChart(width, data, now, lessons.picked, spoken(lessons)));
        drawPanels(lesson, data);
        drawTable();
    }

    function drawWords(lesson: Lesson & { truth: NonNullable<Lesson["truth"]> }): void {
        const [first, last] = lessons.stretch;
        const gone = store.kernel.health === "gone";
        setText(one, anyOne(lessons));
        setText(all, `${allAtOnce(lessons)}${lessons.at < last ? " so far" : ""}`);
        const single = lesson.truth.high === null;
        show(watched, single);
        const bins = lesson.truth.labels.map((name, i) => ({ value: String(i), label: name }));
        if (single) setOptions(pick, [{ value: "-1", label: "none yet" }, ...bins], String(lessons.picked));
        setText(held, lessons.picked < 0 ? "" : onePicked(lessons));
        setOptions(beta, lesson.betas.map((value) => ({ value, label: often(value) })), lesson.beta);
        beta.disabled = gone;
        setAttribute(again, "aria-disabled", gone ? "true" : null);
        setAttribute(slider, "min", String(first));
        setAttribute(slider, "max", String(last));
        slider.value = String(lessons.at);
        setAttribute(slider, "aria-valuetext", `draw ${lessons.at} of ${last}`);
        setText(place, `${lessons.at} of ${last}`);
        show(walk, last > first);
        show(play, !still());
        setText(play, timer === null ? PLAY : "Pause");
        const level = `for any one bin (thick) and for all at once (thin), ${often(lesson.beta)}`;
        setText(
            key,
            single
                ? `Hatched: ${countsOf(lesson)}. Dots: this draw, with what holds ${level}. A ring with a cross marks a bin whose interval misses ${countOf(lesson)}.`
                : `Each column holds some bins in a row. Hatched: the greatest of the ${countsOf(lesson)}. Line: the greatest drawn one. Below: in how many bins the interval for any one bin misses ${countOf(lesson)}, ${often(lesson.beta)}.`,
        );
    }

    function drawPanels(lesson: Lesson, data: Drawn): void {
        const across = Math.max(2, Math.floor((width + SMALL.gap) / (SMALL.least + SMALL.gap)));
        const each = Math.floor((width - (across - 1) * SMALL.gap) / across);
        show(panels, data.draws.length > 1);
        const signature = `${each} ${lesson.beta} ${lesson.key} ${lesson.drawn}`;
        if (signature !== drawnPanels) {
            drawnPanels = signature;
            panels.style.setProperty("--dp-across", String(across));
            panels.replaceChildren(
                ...data.draws.map((item) => {
                    const words = panelWords(lesson, item.draw);
                    const plot = smallCoverage(each - 2, SMALL.height, data, item, words);
                    return h("figure", { "data-draw": item.draw, onclick: () => { stop(); lessons.show(item.draw); } }, plot, h("figcaption", {}, words));
                }),
            );
        }
        for (const panel of panels.children) setAttribute(panel, "data-on", panel.getAttribute("data-draw") === String(lessons.at) ? "true" : null);
    }

    /** The frame that `lesson.draw(..., times=20).misses()` gives, under headings in words. */
    function drawTable(): void {
        const { lesson, picked } = lessons;
        if (!table.open || !isCounted(lesson)) return rows.replaceChildren();
        const every = lesson.draws.every(({ missed_all }) => missed_all !== null);
        const columns = ["draw", "bins", "missed by their own interval", ...(every ? ["missed by the interval for all"] : []), ...(picked >= 0 ? [PICKED] : [])];
        rows.replaceChildren(
            dataTable("Misses of every draw", columns.map((name) => ({ name, figures: name !== PICKED })), lesson.draws.length, (i) => {
                const { missed, missed_all } = lesson.draws[i]!;
                const numbers = [lesson.truth.bins, missed?.bins ?? "", ...(every ? [missed_all!.bins] : [])].map(shown);
                return [String(i + 1), ...numbers, ...(picked >= 0 ? [misses(missed, picked) ? "missed" : "held"] : [])];
            }),
        );
    }

    return {
        element,
        draw,
        close() {
            stop();
            leave();
        },
    };
}

/** The counts that draws are held against. */
const countsOf = ({ limits }: Lesson): string => (limits === null ? "true counts" : "counts within the limits");
const countOf = ({ limits }: Lesson): string => (limits === null ? "the true count" : "the count within the limits");

const PLAY = "Play, two a second";
const UNCOUNTED = "Misses are counted where an answer has one count for each declared bin. This one has not; it is shown below.";

function panelWords(lesson: Lesson, draw: number): string {
    const { missed, missed_all } = lesson.draws[draw - 1]!;
    const alone = missed === null ? "" : `${shown(missed.bins)} missed`;
    const every = missed_all === null || missed_all.bins === "0" ? "" : ", all at once too";
    return `Draw ${draw}: ${alone}${every}`;
}
