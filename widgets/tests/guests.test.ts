/** A view that comes as a bundle of its own draws the answers of its kind, and takes nothing with it where it fails. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Views, type Guest } from "../src/answers/guest_views";
import { readReport } from "../src/protocol/protocol";
import { draw } from "../src/report/report";
import { RELEASES } from "../src/report/report_releases";
import workbench from "../src/programs/workbench";
import { Host, result, settle, type Shown } from "./host";

interface Ranges {
    title: string;
    rows: { label: string; low: string | null; high: string | null }[];
}

const ranges: Guest<Ranges> = ({ dom: { h, dataTable }, readers: { shape, list, text, exact, maybe } }) => {
    const read = shape({ rows: list(shape({ label: text, low: maybe(exact), high: maybe(exact) })) });
    return {
        kind: "ranges",
        read: (answer) => ({ title: answer.title, ...read(answer.content, "result") }),
        create: ({ rows }, around) => {
            const element = h("div", { class: "toy", onclick: () => around.redraw() });
            return {
                element,
                levels: true,
                plain: false,
                draw: (beta, width) => element.replaceChildren(`${rows.length} ranges at ${beta}, ${width} wide`),
                finding: (beta) => `Found at ${beta}.`,
                key: () => [document.createTextNode("a key")],
            };
        },
        table: ({ rows }) => dataTable("Ranges", [{ name: "range" }], rows.length, (i) => [rows[i]!.label]),
    };
};

const answer = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
    ...result(),
    kind: "ranges",
    rows: [{ label: "0 to 3", low: "1/3", high: null }],
    ...more,
});

let host: Host;
let shown: Pick<Shown, "el" | "close">;
let warned: ReturnType<typeof vi.spyOn>;
const asked: string[] = [];

async function open(bring: (reference: string) => Promise<unknown>, traits: Record<string, unknown> = {}): Promise<HTMLElement> {
    host = new Host("result-chart", { result: answer(), ...traits });
    host.traits["views"] = { ranges: "IPY_MODEL_7" };
    const el = document.createElement("div");
    document.body.append(el);
    const close = workbench.render({
        model: host,
        el,
        bring: (reference) => {
            asked.push(reference);
            return bring(reference);
        },
    });
    shown = { el, close };
    await settle();
    return el.querySelector<HTMLElement>(".dp-result")!;
}

beforeEach(() => {
    asked.length = 0;
    warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => {
    shown.close();
    shown.el.remove();
    warned.mockRestore();
});

test("it is asked for once, when an answer of its kind comes, and draws it", async () => {
    const part = await open(() => Promise.resolve(ranges), { result: result() });
    expect([asked, part.querySelector(".dp-stage") !== null]).toEqual([[], true]);
    host.write("result", answer());
    expect(part.textContent).toContain("The view for answers of kind ranges is on its way…");
    await settle();
    expect(asked).toEqual(["IPY_MODEL_7"]);
    expect(part.querySelector(".toy")!.textContent).toBe("1 ranges at 0.05, 640 wide");
    expect(part.querySelector(".dp-finding")!.textContent).toBe("Found at 0.05.");
    expect(part.querySelector(".dp-key")!.textContent).toBe("a key");
    const level = part.querySelector<HTMLSelectElement>("select")!;
    level.value = "0.01";
    level.dispatchEvent(new Event("change"));
    expect(part.querySelector(".toy")!.textContent).toContain("at 0.01");
    [...part.querySelectorAll("button")].find((button) => button.textContent === "Table")!.click();
    expect(part.querySelector("tbody")!.textContent).toBe("0 to 3");
    host.write("result", { ...answer(), title: "Another" });
    await settle();
    expect([asked.length, part.querySelector(".dp-result-title")!.textContent]).toEqual([1, "Another"]);
    expect(warned).not.toHaveBeenCalled();
});

test.each<[string, () => Promise<unknown>, Record<string, unknown>]>([
    ["a bundle that does not run", () => Promise.reject(new SyntaxError("x")), {}],
    ["a bundle that is no view", () => Promise.resolve({ render: 1 }), {}],
    ["a bundle of another kind", () => Promise.resolve((tools: never) => ({ ...ranges(tools), kind: "others" })), {}],
    ["a view that cannot read the answer", () => Promise.resolve(ranges), { rows: [{ label: 7 }] }],
    ["a view that fails as it draws", () => Promise.resolve((tools: never) => ({ ...ranges(tools), create: () => null })), {}],
])("%s is told in words, with what was paid", async (_, bring, more) => {
    const part = await open(bring, { result: answer(more) });
    expect(part.textContent).toContain("The view for answers of kind ranges could not draw this one. It is paid for and stored.");
    expect(part.textContent).toContain("session.releases[3].to_frame()");
    expect(part.querySelector(".dp-chip")!.textContent).toContain("paid");
    expect(warned).toHaveBeenCalled();
    host.write("result", result());
    expect(part.querySelector(".dp-stage")).not.toBeNull();
});

test("no bundle takes the place of a view that comes with the program", async () => {
    const part = await open(() => Promise.resolve(ranges), { result: result() });
    host.hold("views", { histogram: "IPY_MODEL_7" });
    expect([asked, part.querySelector(".dp-stage") !== null]).toEqual([[], true]);
});

test("a view of another kind that comes along leaves the one on show alone, and a new bundle replaces it", async () => {
    const part = await open(() => Promise.resolve(ranges));
    const toy = part.querySelector(".toy")!;
    host.hold("views", { ranges: "IPY_MODEL_7", others: "IPY_MODEL_9" });
    await settle();
    expect([part.querySelector(".toy") === toy, asked]).toEqual([true, ["IPY_MODEL_7"]]);
    host.hold("views", { ranges: "IPY_MODEL_8", others: "IPY_MODEL_9" });
    await settle();
    expect([part.querySelector(".toy") === toy, asked]).toEqual([false, ["IPY_MODEL_7", "IPY_MODEL_8"]]);
});

test("a view that is offered later draws what was told in words before", async () => {
    const part = await open(() => Promise.resolve(ranges), { result: result() });
    host.hold("views", {});
    host.write("result", answer());
    await settle();
    expect(part.textContent).toContain("This page has no view for an answer of kind ranges.");
    host.hold("views", { ranges: "IPY_MODEL_8" });
    await settle();
    expect([part.querySelector(".toy") !== null, asked]).toEqual([true, ["IPY_MODEL_8"]]);
});

test("a report draws with the bundles that it was given, and lists their numbers", async () => {
    const views = new Views(() => undefined);
    views.ask((kind) => (kind === "ranges" ? Promise.resolve(ranges) : null));
    await views.load("ranges");
    const root = document.createElement("main");
    shown = { el: root, close: () => undefined };
    const totals = { epsilon: "0.6", delta: "0", unit: "row", randomness: "operating system", chain: "not checked" };
    const report = { version: 1, title: "Two", lead: null, releases: [result(), answer()], sheets: [], totals, caveats: [] };
    draw(readReport(report), root, { releases: RELEASES }, views);
    expect(root.querySelector(".toy")!.textContent).toContain("1 ranges at 0.05");
    expect(root.querySelectorAll(".dp-numbers")).toHaveLength(2);
});
