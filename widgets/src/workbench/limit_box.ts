/** The limit on the bins of one unit: a box to set it, and the curve of what each limit saves and leaves out. */

import { scaleLinear, scaleLog } from "d3-scale";
import { bottomAxis, label, leftAxis, line, svg, textWidth, tickText, type Box } from "../charts/frame";
import { path } from "../charts/path";
import type { Component } from "../dom/component";
import { h, newId, s, setText, show, watchWidth } from "../dom/dom";
import { dataTable } from "../dom/table";
import { timed } from "../dom/perf";
import { approximate, exactly } from "../numbers/exact";
import { readLimit, type Bar, type LimitCurve, type Sheet } from "../protocol/protocol";
import { planOf } from "../stores/plan";
import type { SessionStore } from "../stores/session_store";
import { kindOf, often, shown, spread } from "../wording/words";
import { planBox } from "./plan_box";

/** The field of the limit. */
const LIMIT = "max_bins";
/** A plan that stays on show for so long is asked about. */
const STILL = 400;
const TALL = 190;

export function limitBox(store: SessionStore): Component {
    const boxId = newId();
    const limit = planBox(store, LIMIT, { id: boxId, inputmode: "numeric" }, () => store.sheet?.limit?.now ?? "", (words) => ({ max_bins: words.replaceAll(",", "") }));
    const [name, after] = [h("label", { for: boxId }, "One unit counts in at most"), h("span", {})];
    const nothing = h("button", { type: "button", class: "dp-button", onclick: (event: Event) => timed(event, () => void uncut()) }, "Nothing cut");
    const told = h("p", { class: "dp-hint", role: "status" });
    const picture = h("div", { class: "dp-limit-curve" });
    const numbers = h("div", {});
    const curve = h("details", { class: "dp-limit-more dp-hint" }, h("summary", {}, "What each limit saves, and what it leaves out"), told, picture, numbers);
    const element = h("div", { class: "dp-limit", role: "group", "aria-label": "Limit", hidden: true }, h("div", { class: "dp-limit-row" }, name, limit.box, after, nothing), limit.fault, curve);
    let [width, sent, asked, fault] = [480, 0, "", ""];
    let known: LimitCurve | null = null;
    let waiting: ReturnType<typeof setTimeout> | undefined;
    curve.addEventListener("toggle", () => draw());
    const stop = watchWidth(picture, (now) => {
        width = now;
        draw();
    });

    function uncut(): Promise<boolean> {
        return store.plan({ max_bins: store.sheet!.limit!.bins });
    }

    /** The plan without its limit: the curve is about one question, mechanism and ε, whatever the limit. */
    function unlimited(): Record<string, unknown> | null {
        const { sheet, point } = store;
        if (sheet === null || point === null) return null;
        const { max_bins: _, ...plan } = planOf(sheet, point);
        return plan;
    }

    /** The subject of the curve, in one text: after each purchase there may be a profile. */
    function subject(): string {
        const plan = unlimited();
        return plan === null ? "" : `${store.state?.entries.length ?? 0} ${JSON.stringify(plan)}`;
    }

    function heed(): void {
        const now = subject();
        if (!curve.open || now === asked || now === "" || !store.settled || store.kernel.health === "gone") return;
        clearTimeout(waiting);
        asked = now;
        fault = "";
        waiting = setTimeout(() => void ask(), known === null ? 0 : STILL);
    }

    async function ask(): Promise<void> {
        const mine = ++sent;
        const reply = await store.kernel.ask("limit", unlimited() ?? {});
        if (mine !== sent) return;
        known = null;
        if (reply.ok) {
            try {
                known = readLimit(reply.body, "limit");
            } catch {
                fault = "This page cannot read the kernel's answer; restart the kernel and reload the page.";
            }
        } else fault = reply.error.message;
        draw();
    }

    function draw(): void {
        const { sheet } = store;
        const on = sheet?.limit ?? null;
        show(element, on !== null);
        if (sheet === null || on === null) return;
        setText(name, `One ${sheet.question.noun} counts in at most`);
        setText(after, `of ${shown(on.bins)} ${many(on.each)}`);
        limit.draw(shown(store.maxBins));
        limit.box.disabled = store.locked || store.kernel.health === "gone";
        nothing.disabled = limit.box.disabled || on.now === "" || on.now === on.bins;
        heed();
        drawCurve(sheet, on);
    }

    function drawCurve(sheet: Sheet, on: NonNullable<Sheet["limit"]>): void {
        if (!curve.open) return;
        const here = known !== null && asked === subject();
        setText(told, here ? wordsOf(known!, sheet, on) : fault !== "" ? fault : store.kernel.health === "gone" ? "The curve needs a kernel." : "Asking the kernel…");
        if (!here) return;
        picture.replaceChildren(drawn(known!, sheet, on, Math.max(220, width)));
        numbers.replaceChildren(tableOf(known!, sheet));
    }

    function wordsOf({ curve: points, over }: LimitCurve, sheet: Sheet, on: NonNullable<Sheet["limit"]>): string {
        const error = (most: string): string | null => barText(points.find((point) => point.most === most)?.errors.get(sheet.beta) ?? null);
        const [now, none] = [error(on.now), error(on.bins)];
        const { noun, nouns } = sheet.question;
        const measure = sheet.measures[0]?.short ?? "one bin";
        const noise = now === null || on.now === on.bins ? "" : `With at most ${shown(on.now)}: ${measure} ${now} of what is counted. `;
        const whole = none === null ? "" : `With nothing cut: ${measure} ${none}. `;
        const row = over?.rows[points.findIndex(({ most }) => most === on.now)];
        const lost =
            over === null || row === undefined
                ? `No plan knows how many ${nouns} are over a limit; a profile of them, released, draws that here, too.`
                : `Over this limit are ${between(row, nouns)}, by release ${over.number}: each may be missing in any one ${on.each}.`;
        return `${noise}${whole}${on.now === on.bins ? `No ${noun} is over this limit.` : lost} ${often(sheet.beta)}.`;
    }

    return {
        element,
        draw,
        close() {
            clearTimeout(waiting);
            sent += 1;
            stop();
        },
    };
}

const many = (each: string): string => (each.endsWith("s") ? each : `${each}s`);
const barText = (bar: Bar | null): string | null => (bar === null ? null : spread(bar));
type Row = NonNullable<LimitCurve["over"]>["rows"][number];

function between({ value, low, high }: Row, nouns: string): string {
    const ends = low === null || high === null ? "" : ` (${shown(low)} to ${shown(high)})`;
    return `${shown(value)} ${nouns}${ends}`;
}

/** Both numbers on one axis, by the limit: the error of one bin, and the units over the limit, where a profile was released. */
function drawn({ curve, over }: LimitCurve, sheet: Sheet, on: NonNullable<Sheet["limit"]>, width: number): SVGSVGElement {
    const near = (words: string | null): number => (words === null ? NaN : approximate(exactly(words)));
    const places = curve.map(({ most }) => Number(most));
    const errors = curve.map(({ errors }) => near(errors.get(sheet.beta)?.value ?? null));
    const missing = over?.rows.map(({ value }) => near(value)) ?? [];
    const positive = [...errors, ...missing].filter((value) => value > 0);
    const [top, lowest] = [Math.max(1, ...positive) * 1.15, Math.max(1, Math.min(...positive, Infinity) * 0.8)];
    const box: Box = { left: 48, right: width - 12, top: 24, bottom: TALL - 38 };
    const ends: [number, number] = [box.bottom, box.top];
    const y = over === null ? scaleLinear().domain([0, top]).range(ends) : scaleLog().domain([lowest, top]).range(ends).clamp(true);
    const levels = y.ticks(4).filter((level) => over === null || Number.isInteger(Math.log10(level)));
    box.left = Math.max(36, ...levels.map((level) => textWidth(tickText(level)) + 12));
    const x = scaleLinear().domain([1, Number(on.bins)]).range([box.left + 8, box.right]);
    const { noun, nouns } = sheet.question;
    const picture = svg(width, TALL, `The error under each limit on the ${many(on.each)} of one ${noun}${over === null ? "" : `, and the ${nouns} over it`}.`);
    picture.append(label(0, 12, `${nouns}${over === null ? "" : " (log)"}`, "start", "dp-tick"), leftAxis(box, { at: y, values: levels }));
    picture.append(bottomAxis(box, { at: x, values: x.ticks(Math.min(8, Number(on.bins))).filter(Number.isInteger) }, `${many(on.each)} of one ${noun}, at most`));
    const here = places.indexOf(Number(on.now));
    if (here >= 0) picture.append(line(x(places[here]!), box.top, x(places[here]!), box.bottom, "dp-probe"));
    const kind = curve[0]?.errors.get(sheet.beta)?.kind ?? "exact";
    [
        { name: `error, ${sheet.measures[0]?.short ?? "one bin"}`, values: errors, how: `dp-${kind}` },
        { name: "over the limit", values: missing, how: "dp-exact" },
    ].forEach(({ name, values, how }, k) => {
        const points = values.map((value, i) => (value > 0 ? ([x(places[i]!), y(value)] as const) : null));
        const seen = points.filter((point) => point !== null);
        const named = seen[Math.floor(seen.length / 3)];
        if (named === undefined) return;
        picture.append(s("g", { class: `dp-line dp-series-${k + 1}` }, s("path", { d: path(points), class: `dp-curve ${how}` })));
        picture.append(label(named[0], named[1] + (k === 0 ? -8 : 16), name, "start", `dp-name dp-series-${k + 1}`));
    });
    return picture;
}

function tableOf({ curve, over }: LimitCurve, sheet: Sheet): HTMLElement {
    const columns = [{ name: "at most", figures: true }, { name: sheet.measures[0]?.label ?? "Any one bin", figures: true }, ...(over === null ? [] : [{ name: "over the limit", figures: true }])];
    return dataTable("The error under each limit", columns, curve.length, (i) => {
        const bar = curve[i]!.errors.get(sheet.beta) ?? null;
        const row = over?.rows[i];
        return [shown(curve[i]!.most), bar === null ? "no bound" : `${spread(bar)}, ${kindOf(bar)}`, ...(row === undefined ? [] : [between(row, "").trim()])];
    });
}
