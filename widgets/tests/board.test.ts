import { deflateSync } from "node:zlib";
import { expect, test, vi } from "vitest";
import { Opened } from "../src/page/board";
import { unpacked } from "../src/protocol/packed";
import { Host } from "./host";

/** What `dpviz/widgets/packing.py` makes of a long text, as a page gets it. */
const packed = (text: string): DataView => {
    const bytes = deflateSync(text);
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
};
const settle = (): Promise<void> => new Promise((done) => setTimeout(done, 20));

async function opened(traits: Record<string, unknown>): Promise<[Opened, Host, Host]> {
    const [view, board] = [new Host("workbench"), new Host("workbench")];
    for (const name of ["sheet", "state", "result"]) delete view.traits[name];
    Object.assign(board.traits, traits);
    return [await new Opened(view, board).ready(), view, board];
}

test("a packed text is read as what it was, and others as they are", async () => {
    const long = `{"name":"ε · ${"x".repeat(5_000)}"}`;
    expect(await unpacked(packed(long))).toBe(long);
    for (const value of ["short", null, 7, { parts: [packed("x")] }]) expect(await unpacked(value)).toBe(value);
});

test("what stands on the board is read of the view, and all else of its own model", async () => {
    const [model, view] = await opened({ sheet: packed("a sheet"), state: "a state", result: "" });
    expect(["sheet", "state", "result", "component"].map((name) => model.get(name))).toEqual(["a sheet", "a state", "", "workbench"]);
    model.send({ id: "1", ask: "show", args: {} });
    expect(view.asked.map(({ ask }) => ask)).toEqual(["show"]);
});

test("a reply waits for the packed text that came before it", async () => {
    const [model, view, board] = await opened({ sheet: "first" });
    const heard: unknown[] = [];
    model.on("change:sheet", () => heard.push(model.get("sheet")));
    model.on("msg:custom", ((content: unknown) => heard.push(content)) as never);
    board.hold("sheet", packed("second"));
    view.tell("a reply");
    board.hold("sheet", "third");
    expect(heard).toEqual([]);
    await settle();
    expect(heard).toEqual(["second", "a reply", "third"]);
    board.hold("sheet", "fourth"); // nothing waits: it is heard at once
    expect(heard.at(-1)).toBe("fourth");
});

test("a text that is damaged is read as none, and what comes after it is heard", async () => {
    const [model, view, board] = await opened({ sheet: "first" });
    const heard: unknown[] = [];
    model.on("change:sheet", () => heard.push(model.get("sheet")));
    model.on("msg:custom", ((content: unknown) => heard.push(content)) as never);
    board.hold("sheet", new DataView(new Uint8Array([1, 2, 3]).buffer));
    view.tell("a reply");
    await vi.waitFor(() => expect(heard).toEqual(["", "a reply"]));
});

test("once it is closed nothing is heard any more", async () => {
    const [model, view, board] = await opened({ sheet: "first" });
    const heard: unknown[] = [];
    model.on("change:sheet", () => heard.push("sheet"));
    board.hold("sheet", packed("second"));
    model.close();
    view.tell("a reply");
    board.hold("sheet", "third");
    await settle();
    expect(heard).toEqual([]);
});

test("what a message leaves to the board is put back, a state with the time at which it was seen again", async () => {
    const [model, view, board] = await opened({ state: packed('{"serial":"3","asof":"10:00"}'), result: '{"number":"7"}' });
    const heard: unknown[] = [];
    model.on("msg:custom", ((content: unknown) => heard.push(content)) as never);
    const body = { state: { "on the board": "state", asof: "10:05" }, result: { "on the board": "result" }, other: { "on the board": "state" } };
    view.tell({ v: 1, re: "1", ok: true, body });
    const bytes = packed(JSON.stringify({ v: 1, event: "released", body: { state: { "on the board": "state" }, token: "t" } }));
    board.tell({ v: 1, packed: true }, [bytes]);
    await settle();
    expect(heard).toEqual([
        { v: 1, re: "1", ok: true, body: { state: { serial: "3", asof: "10:05" }, result: { number: "7" }, other: { "on the board": "state" } } },
        { v: 1, event: "released", body: { state: { serial: "3", asof: "10:00" }, token: "t" } },
    ]);
});
