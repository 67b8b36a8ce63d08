import { expect, test, vi } from "vitest";
import { panelOf, type Panel } from "../src/workbench/panel";
import { SessionStore } from "../src/stores/session_store";
import { sheet, state } from "./host";

/** A store with a kernel that is there and says nothing. */
function store(
    change: (it: { sheet: ReturnType<typeof sheet>; state: ReturnType<typeof state> }) => void = () => undefined,
): SessionStore {
    const it = { sheet: sheet(), state: state() };
    change(it);
    const made = new SessionStore();
    made.take("sheet", it.sheet);
    made.take("state", it.state);
    made.attach({ send: () => undefined, status: () => "idle" });
    return made;
}

const labels = (panel: Panel): unknown[] => panel.buttons.map((button) => button.label);

test("an offer names the guarantee, the price and both balances", () => {
    const panel = panelOf(store());
    expect(panel.text).toEqual([
        "Adds noise to 42 counts and shows them. Guarantee: ",
        ["0.2-differential privacy for adding or removing one person-year."],
    ]);
    expect(labels(panel)).toEqual([["Release", "pay ε 0.2"]]);
    expect(panel.note).toBe("1.1 left now, 0.9 after. Cannot be undone.");
    expect(panel.stored?.number).toBe("3");
});

test("a price with delta says so on the button", () => {
    const panel = panelOf(store(({ sheet: it }) => (it.now.price.delta = "0.000001")));
    expect(labels(panel)).toEqual([["Release", "pay ε 0.2, δ 0.000001"]]);
});

test("over the budget: value, rule, next step, and the button is off", () => {
    const it = store();
    it.type("1.5");
    const panel = panelOf(it);
    expect([panel.notice?.strong, panel.notice?.rest]).toEqual([
        "This release costs ε = 1.5 but 1.1 is left; ask for at most 1.1.",
        "Nothing was charged.",
    ]);
    expect(labels(panel)).toEqual(["Set ε to 1.1", "Costs 1.5 · 1.1 left"]);
    expect(panel.buttons[1]?.act).toBeNull();
});

test("where less is paid than asked, the most that fits is a tick of the slider", () => {
    const it = store(({ sheet: cheap }) => {
        for (const point of [cheap.now, ...cheap.fans.epsilon])
            point.price.epsilon = String(Math.round(Number(point.epsilon) * 890_000) / 1_000_000);
    });
    it.type("1.5");
    const fits = it.sheet!.fans.epsilon.filter((point) => Number(point.price.epsilon) <= 1.1).at(-1)!;
    expect(labels(panelOf(it))[0]).toBe(`Set ε to ${fits.epsilon}`);
});

test("too little delta is refused as delta", () => {
    const panel = panelOf(store(({ sheet: it }) => (it.now.price.delta = "0.00001")));
    expect(panel.notice?.strong).toBe(
        "This release costs δ = 0.00001 but 0.000001 is left; ask for at most 0.000001.",
    );
});

test("the same question at the same settings is free, and a second answer is not", () => {
    const it = store();
    it.type("0.1");
    const panel = panelOf(it);
    expect(panel.text).toEqual([["Already released as number 3"], ", same question, same settings."]);
    expect(labels(panel)).toEqual(["Show release 3 · free", "A second, independent answer costs ε 0.1 more."]);
    vi.spyOn(it.second, "combines", "get").mockReturnValue(true);
    expect(labels(panelOf(it))[1]).toBe("A second, independent answer costs ε 0.1 more; both can be combined.");
});

test.each([
    ["cancelled", "was cancelled"],
    ["failed", "failed"],
    ["lost", "never reported back"],
])("a %s twin is named before its question is paid for again", (status, words) => {
    const it = store(({ state: session }) => (session.entries[2]!.status = status));
    it.type("0.1");
    const panel = panelOf(it);
    expect([panel.kind, panel.notice?.strong]).toEqual([
        "offer",
        `Number 3 asked exactly this and ${words}; its ε 0.1 stays spent.`,
    ]);
});

test("a twin that another kernel is drawing is waited for", () => {
    const it = store(({ state: session }) => (session.entries[2]!.status = "elsewhere"));
    it.type("0.1");
    expect(panelOf(it).note).toBe(
        "Number 3, the same question and settings, is being drawn by another kernel. " +
            "Its answer will be free to look at here.",
    );
    expect(it.press()).toBeUndefined();
    expect(it.purchase.kind).toBe("idle");
});

test("a spent budget says what is left to do", () => {
    const panel = panelOf(store(({ state: it }) => Object.assign(it.budget.epsilon, { spent: "1.95", left: "0" })));
    expect(panel.text).toEqual([["The budget is used up."], " All of ε 2 is in the ledger."]);
    expect(panel.buttons).toEqual([]);
});

test("an input that makes no sense turns the release off and says where to look", () => {
    const it = store();
    it.type("-1");
    const panel = panelOf(it);
    expect([panel.buttons[0]?.act, panel.note]).toEqual([
        null,
        "Correct ε first.",
    ]);
});

/** The same session under the zCDP filter: ρ adds up, and ε is about one answer. */
function concentrated(change: Parameters<typeof store>[0] = () => undefined): SessionStore {
    return store((it) => {
        const rho = { total: "0.0166", spent: "0.0016", pending: "0", left: "0.015" };
        const epsilon = { total: "0.182", spent: "0.009", pending: "0", left: "0.173" };
        Object.assign(it.state.budget, { rho, epsilon });
        it.sheet.now.price.epsilon = "0.1";
        change(it);
    });
}

test("under the zCDP filter an offer speaks of one answer and subtracts no ε", () => {
    const panel = panelOf(concentrated());
    expect(panel.note).toBe("One answer may cost at most 0.173 now, and less afterwards. Cannot be undone.");
});

test("under the zCDP filter too large an answer is refused as one answer", () => {
    const it = concentrated();
    it.type("1.5");
    const panel = panelOf(it);
    expect(panel.notice?.strong).toBe(
        "This release costs ε = 1.5 but one answer may still cost at most 0.173 (zCDP filter).",
    );
    expect(labels(panel).at(-1)).toBe("Costs 1.5 · at most 0.173");
});

test("under the zCDP filter a list is left to the kernel to judge: its steps cost less than its ε tells", () => {
    const it = concentrated(({ sheet: list }) => {
        Object.assign(list, { places: "10" });
        list.now.price.epsilon = "1.5";
    });
    expect(panelOf(it).kind).toBe("offer");
});
