import { expect, test } from "vitest";
import { counted } from "../src/wording/counted";
import { readMessage, readResult, readSheet, readState } from "../src/protocol/protocol";
import { Malformed, Newer } from "../src/protocol/readers";
import { result, sheet, state } from "./host";

test("what the kernel writes is read, as text or as an object", () => {
    expect(readSheet(JSON.stringify(sheet())).question.bins).toBe("42");
    expect(readState(state()).budget?.epsilon.left).toBe("1.1");
    expect(counted(readResult(result())).values).toHaveLength(42);
});

test("a later version is told apart from a broken text", () => {
    expect(() => readSheet({ version: 3 })).toThrow(Newer);
    expect(() => readState({ ...state(), version: 7 })).toThrow(Newer);
    expect(() => readSheet("{")).toThrow(Malformed);
    expect(() => readSheet("[]")).toThrow(Malformed);
});

test.each([
    ["a fan with a point missing", (it: ReturnType<typeof sheet>) => it.fans.epsilon.pop()],
    ["a fan in another order", (it: ReturnType<typeof sheet>) => it.fans.epsilon.reverse()],
    ["a price that is no number", (it: ReturnType<typeof sheet>) => (it.now.price.epsilon = "NaN")],
    [
        "a price that is a float",
        (it: ReturnType<typeof sheet>) => ((it.now.price as { epsilon: unknown }).epsilon = 0.2),
    ],
    ["a chance above 1", (it: ReturnType<typeof sheet>) => (it.now.chance.p[0] = 1.5)],
    ["a beta without errors", (it: ReturnType<typeof sheet>) => it.betas.push("0.2")],
    ["no epsilon axis", (it: ReturnType<typeof sheet>) => (it.axes[0]!.name = "delta")],
])("a sheet with %s is malformed", (_, spoil) => {
    const spoiled = sheet();
    spoil(spoiled);
    expect(() => readSheet(spoiled)).toThrow(Malformed);
});

test("a result whose labels and values differ in number is malformed", () => {
    const spoiled = result();
    spoiled.labels.pop();
    expect(() => readResult(spoiled)).toThrow(Malformed);
});

test("a field from the prototype is not a field", () => {
    const spoiled = JSON.parse(JSON.stringify(state()).replace('"budget"', '"__proto__"')) as unknown;
    expect(readState(spoiled).budget).toBeNull();
});

test.each([
    ["nothing", null],
    ["a text", "release"],
    ["another version", { v: 2, re: "1", ok: true, body: {} }],
    ["an unknown event", { v: 1, event: "charge", body: {} }],
    ["a reply without a body", { v: 1, re: "1", ok: true }],
    ["a refusal without an error", { v: 1, re: "1", ok: false }],
    ["progress of the wrong shape", { v: 1, event: "progress", body: { token: 3 } }],
    [
        "a release of a broken result",
        { v: 1, event: "released", body: { token: "t", result: { version: 1 }, state: {} } },
    ],
])("%s from the kernel side is ignored", (_, content) => {
    expect(readMessage(content)).toBeNull();
});

test("a good message is heard", () => {
    expect(readMessage({ v: 1, re: "7", ok: true, body: { sheet: 1 } })).toEqual({
        kind: "reply",
        re: "7",
        reply: { ok: true, body: { sheet: 1 } },
    });
});
