import { afterEach, beforeEach, expect, test, vi } from "vitest";
import answers from "../fixtures/alp.json";
import { estimateOf, peaksOf, placeOf, rowOf, tableOf, walkOf, type Setting } from "../src/numbers/alp";
import { Malformed } from "../src/protocol/readers";
import { readAnatomy } from "../src/protocol/sparse_sheets";
import { enter, Host, press, render, settle, type Shown } from "./host";

const fraction = (text: string): number => {
    const [above, below = "1"] = text.split("/");
    return Number(above) / Number(below);
};

test("the page reads bits as a release does", () => {
    expect(answers.length).toBeGreaterThan(100);
    for (const { bits, p, raised, estimates } of answers)
        for (const [name, expected] of Object.entries(estimates)) {
            const { total, count } = estimateOf(bits, name, p, raised);
            expect([name, bits.join(""), total / count]).toEqual([name, bits.join(""), fraction(expected)]);
        }
});

test("the worked figure climbs to 3 and 5", () => {
    const heights = walkOf([1, 1, 1, 0, 1, 0, 0, 1]);
    expect(heights).toEqual([0, 1, 2, 3, 2, 3, 2, 1, 2]);
    expect(peaksOf(heights)).toEqual([3, 5]);
    expect(peaksOf([0, -1, 0])).toEqual([0, 2]);
});

const draw = (seed: number): any => ({
    hash: Array.from({ length: 4 }, (_, key) => Array.from({ length: 16 }, (_, column) => (7_919 * (seed + key * key + column * (key + 1))) % 65_536)),
    random: Array.from({ length: 16 }, (_, column) => Array.from({ length: 32 }, (_, place) => (104_729 * (seed + 31 * column + place)) % 65_536)),
});

test("a bit is set by every key whose hash meets it, and flipped where its number is small", () => {
    const setting: Setting = { values: [3, 2, 0, 0], columns: 4, bits: 5, p: 0.25, draw: draw(1), flips: null };
    const cells = tableOf(setting);
    expect([cells.length, cells[0]!.length]).toEqual([4, 5]);
    cells.forEach((column, i) =>
        column.forEach((cell, place) => {
            const setBy = [0, 1].filter((key) => setting.values[key]! > i && Math.floor((setting.draw.hash[key]![i]! * 5) / 65_536) === place);
            expect(cell.setBy).toEqual(setBy);
            expect(cell.flipped).toBe(setting.draw.random[i]![place]! < 16_384);
            expect(cell.bit).toBe((setBy.length > 0) !== cell.flipped ? 1 : 0);
        }),
    );
    expect(rowOf(setting, cells, 1).map((cell, i) => cell === cells[i]![placeOf(setting, 1, i)])).toEqual([true, true, true, true]);
    expect(tableOf({ ...setting, p: 0 }).flat().some(({ flipped }) => flipped)).toBe(false);
    const forced = tableOf({ ...setting, flips: [2] });
    expect(forced.flat().filter(({ flipped }) => flipped)).toEqual([forced[1]![placeOf(setting, 0, 1)]]);
});

const sheet = (): any => ({
    version: 1,
    badge: "made-up data · not a release",
    keys: ["apple", "pear", "plum", "fig"],
    most: { columns: "16", bits: "32" },
    start: { columns: "8", bits: "5", values: ["5", "2", "7", "0"], estimator: "paper", figure: true },
    figure: { values: ["4", "0", "0", "0"], flipped: ["4", "5", "8"], bits: ["1", "1", "1", "0", "1", "0", "0", "1"] },
    estimators: ["paper", "likelihood", "posterior-median"],
    axes: [
        { name: "p", label: "Flip chance p", hint: "", grid: ["0", "0.25", "0.4"], values: ["0", "1/4", "2/5"] },
        { name: "seed", label: "Seed", hint: "", grid: ["1", "2"], values: ["1", "2"] },
    ],
    now: { at: { p: "0.25", seed: "1" } },
    fans: {},
    seeds: { 1: draw(1), 2: draw(2) },
});

let shown: Shown;

function open(given: any = sheet()): Shown {
    shown?.close();
    const host = new Host("alp-anatomy", { sheet: given });
    host.answers["status"] = () => ({});
    shown = render(host);
    return shown;
}

const title = (): string => shown.el.querySelector("svg title")!.textContent!;
const box = (name: string): HTMLInputElement => {
    const label = [...shown.el.querySelectorAll("label")].find((one) => one.textContent === name)!;
    return shown.el.querySelector(`[id="${label.htmlFor}"]`)!;
};
const steps = (): string => shown.el.querySelector('[aria-current="step"]')!.textContent!;

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
    shown?.close();
    vi.useRealTimers();
});

test("the worked figure is told step by step, by buttons and by arrow keys", () => {
    open();
    expect(title()).toBe("apple holds 4: ones in columns 1 to 4, zeros beyond.");
    const said = [title()];
    for (let i = 1; i < 7; i += 1) {
        shown.button("Next").click();
        said.push(title());
    }
    expect(new Set(said).size).toBe(7);
    expect(said[4]).toBe("To read apple, take its bit from each column: 11101001.");
    expect(said[6]).toBe("The highest places are 3 and 5; their mean, 4, is the estimate. apple holds 4, so the estimate is right.");
    expect(steps()).toBe("Estimate");
    expect([shown.button("Next").disabled, shown.el.querySelectorAll(".dp-alp-peak").length]).toEqual([true, 2]);
    press(shown.button("Previous"), "ArrowLeft");
    expect(steps()).toBe("Climb");
    press(shown.button("Previous"), "Home");
    expect([steps(), shown.button("Previous").disabled, shown.el.querySelector(".dp-alp-walk")]).toEqual(["Write", true, null]);
});

test("what is drawn again comes from the next seed, without the kernel", async () => {
    open();
    shown.host.widget_manager.kernel!.status = "dead";
    await settle();
    shown.button("Draw again").click();
    expect([steps(), shown.el.querySelectorAll(".dp-alp-flipped").length > 3]).toEqual(["Flip", true]);
    const first = title();
    shown.button("Draw again").click();
    expect([title() !== first, box("Seed").value]).toEqual([true, "2"]);
    shown.button("Worked figure").click();
    expect(shown.el.querySelectorAll(".dp-alp-flipped").length).toBe(3);
});

test("values, sizes, key and estimator can be chosen, and what does not fit is refused in words", () => {
    open();
    enter(box("Value of apple"), "6");
    expect(title()).toBe("apple holds 6: ones in columns 1 to 6, zeros beyond.");
    enter(box("Value of pear"), "9");
    expect(shown.el.querySelector('[role="alert"]:not([hidden])')!.textContent).toBe("⚠ The value of pear must be a whole number from 0 to 8, got 9. Type one in that range.");
    expect([box("Value of pear").value, box("Value of pear").getAttribute("aria-invalid")]).toEqual(["9", "true"]);
    press(box("Value of pear"), "Escape");
    expect([box("Value of pear").hasAttribute("aria-invalid"), box("Value of pear").value === "9", shown.el.querySelector('[role="alert"]:not([hidden])')]).toEqual([false, false, null]);
    enter(box("Value of pear"), "");
    expect(shown.el.querySelector('[role="alert"]:not([hidden])')!.textContent).toContain("got nothing");
    enter(box("Columns, m"), "5");
    expect([title(), box("Value of apple").value]).toEqual(["apple holds 5: ones in columns 1 to 5, zeros beyond.", "5"]);
    enter(box("Bits a column, s"), "32");
    expect(shown.el.querySelectorAll("svg rect").length).toBeGreaterThan(5 * 32);
    const key = box("Key that is read") as unknown as HTMLSelectElement;
    key.value = "1";
    key.dispatchEvent(new Event("change", { bubbles: true }));
    expect(title()).toContain("pear holds");
    const estimator = box("Estimator") as unknown as HTMLSelectElement;
    estimator.value = "posterior-median";
    estimator.dispatchEvent(new Event("change", { bubbles: true }));
    for (let i = 0; i < 6; i += 1) shown.button("Next").click();
    expect(title()).toContain("is the median of what pear may hold");
    const table = shown.el.querySelector("details")!;
    table.open = true;
    table.dispatchEvent(new Event("toggle"));
    expect(shown.el.querySelectorAll("tbody tr").length).toBe(5);
});

test("sheets that do not hold together are not drawn", () => {
    const wrong: ((one: any) => void)[] = [
        (one) => delete one.seeds["2"],
        (one) => one.seeds["1"].hash.pop(),
        (one) => one.seeds["1"].random[3].pop(),
        (one) => one.start.values.pop(),
        (one) => (one.axes = one.axes.slice(0, 1)),
    ];
    for (const spoil of wrong) {
        const one = sheet();
        spoil(one);
        expect(() => readAnatomy(JSON.stringify(one))).toThrow(Malformed);
    }
});

test("a field that was just emptied stays empty while something is drawn", () => {
    open();
    const apple = box("Value of apple");
    apple.focus();
    apple.value = "";
    shown.button("Next").click();
    expect(apple.value).toBe("");
    apple.blur();
    shown.button("Next").click();
    expect(apple.value).toBe("4");
});
