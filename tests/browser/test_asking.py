"""Bars of a paid answer are brushed and compared in a real notebook: by mouse, by keyboard, by name; all of it free."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Locator, expect

from tests.browser.lab import READY, Lab, Notebook, at_rest, darken

SESSION = """
import dpviz as dv
session = dv.Session(
    dv.datasets.doctor_visits(), dv.Unit("row", noun="person-year"), dv.Budget(epsilon="4"), "{name}.ledger"
)
bins = dv.Domain.integers(0, 40, column="visits", overflow=True)
"""
TALL = {"width": 1280, "height": 2000}
HELD = re.compile(r"between [\d,−]+ and [\d,−]+")


def place(stage: Locator, bar: int, bars: int = 42) -> tuple[float, float]:
    """The middle of a bar on the screen, by the axis of the chart, once it is drawn as wide as it stays."""
    expect(stage.locator("svg .dp-axis").first).to_be_attached()
    at_rest(stage.page)
    ends: list[float] = stage.evaluate(
        """stage => {
            const lines = [...stage.querySelectorAll('svg .dp-axis')].map(line => line.getBoundingClientRect());
            const axis = lines.find(({ width }) => width > 100);
            return [axis.left, axis.right, axis.top - 40];
        }"""
    )
    left, right, height = ends
    return left + (bar + 0.5) / bars * (right - left), height


def test_a_paid_tree_goes_from_its_question_to_a_brushed_range(lab: Lab, browser: Browser) -> None:
    lab.write("tree.ipynb", SESSION.format(name="tree"), "dv.Workbench(session, bins)")
    with Notebook.open(lab, browser, "tree.ipynb", viewport=TALL) as it:
        it.run_all()
        it.page.locator(".dp-workbench").get_by_label("Mechanism", exact=True).select_option("Tree")
        expect(it.region("Release")).to_contain_text("57 counts of a tree")
        it.page.get_by_role("textbox", name="Privacy loss ε, exact").fill("1")
        it.page.keyboard.press("Enter")
        pay = it.button("Release").filter(has_text="pay ε 1")
        expect(pay).not_to_have_attribute("aria-disabled", "true")
        pay.click()
        confirm = it.button("Yes, pay ε 1")
        confirm.or_(it.page.locator(".dp-stage svg")).first.wait_for()
        if confirm.count():
            confirm.click()
        stage = it.page.locator(".dp-stage")
        expect(stage.locator("svg")).to_be_visible()
        stage.scroll_into_view_if_needed()
        it.page.mouse.move(*place(stage, 2))
        it.page.mouse.down()
        it.page.mouse.move(*place(stage, 9), steps=8)
        it.page.mouse.up()
        asked = it.region("Add up or compare bars")
        answer = asked.get_by_role("status")
        expect(answer).to_contain_text(re.compile(r"visits: 2 to 9: [\d,.]+ person-years"))
        for name, reader in (("fitted tree", "fitted"), ("subtrees", "subtrees"), ("leaves added", "leaves")):
            row = answer.locator(".dp-answer").filter(has_text=name)
            said = it.ask(f"d = session.releases[1].range(2, 9, among='all', reader='{reader}'); print(d.low, d.high)")
            assert len(said.split()) == 2, said
            low, high = said.split()
            expect(row).to_contain_text(f"between {int(low):,} and {int(high):,}".replace("-", "−"))
        assert it.ask("print(session.remaining.epsilon, len(session.releases))").split() == ["3", "1"]
        assert it.errors == it.offsite == []


def test_bars_are_brushed_by_mouse_by_keyboard_and_by_name_and_two_are_compared(lab: Lab, browser: Browser) -> None:
    lab.write(
        "brush.ipynb", SESSION.format(name="brush") + "session.release(bins, dv.Dense(1))", "dv.ResultChart(session)"
    )
    with Notebook.open(lab, browser, "brush.ipynb", viewport=TALL) as it:
        it.run_all()
        stage, asked = it.page.locator(".dp-stage"), it.region("Add up or compare bars")
        answer = asked.get_by_role("status")
        expect(answer).to_contain_text("Drag over bars")
        stage.scroll_into_view_if_needed()
        it.page.mouse.move(*place(stage, 5))
        it.page.mouse.down()
        it.page.mouse.move(*place(stage, 1), steps=6)
        it.page.mouse.up()
        expect(answer).to_contain_text("visits: 1 to 5: ")
        expect(answer).to_contain_text(HELD)
        total = it.ask("r = session.releases[1]; print(f'{sum(r.values[1:6]):,}')").strip()
        expect(answer).to_contain_text(f"visits: 1 to 5: {total} person-years")
        walker = it.page.get_by_role("slider", name="Walk the bins")
        walker.focus()
        for key in ("Home", "Shift+ArrowRight", "Shift+ArrowRight"):
            it.page.keyboard.press(key)
        expect(answer).to_contain_text("visits: 0 to 2: ")
        it.page.keyboard.press("Escape")
        expect(answer).to_contain_text("Drag over bars")
        first, last = asked.get_by_label("From", exact=True), asked.get_by_label("to", exact=True)
        first.fill("40")
        last.fill("over 40")
        last.press("Enter")
        expect(answer).to_contain_text("visits: 40 to over 40: ")
        first.fill("-3")
        last.press("Enter")
        expect(asked.get_by_role("alert")).to_contain_text("a bin must be one of 0, 1, …, 40, over 40, got -3")
        for bar in (7, 0):
            it.page.mouse.click(*place(stage, bar))
        expect(answer).to_contain_text("visits: 0, less 7: ")
        expect(answer).to_contain_text("0 is larger. p ≤ ")
        asked.get_by_label("picked").select_option("before")
        expect(answer).to_contain_text("if this was picked before looking")
        it.screenshot("pair")
        assert it.ask("print(session.remaining.epsilon)").strip() == "3"
        it.page.evaluate("async () => window.panel.sessionContext.session.kernel.shutdown()")
        expect(answer).to_contain_text("0 is larger.")  # what was read stays read
        asked.get_by_label("picked").select_option("after")
        expect(answer).to_contain_text("need the running notebook")
        assert it.errors == it.offsite == []


def test_a_resting_slider_says_what_a_second_answer_would_gain_and_a_moving_one_asks_nobody(
    lab: Lab, browser: Browser
) -> None:
    source = SESSION.format(name="after") + "first = session.release(bins, dv.Dense('1/2'))"
    lab.write("after.ipynb", source, "dv.Workbench(session, bins, mechanism=dv.Dense('0.4'))")
    with Notebook.open(lab, browser, "after.ipynb", viewport=TALL) as it:
        it.run_all()
        line = it.page.locator(".dp-after")

        def promised(epsilon: str) -> str:
            said = it.ask(
                "from dpviz.model.words import reach; "
                f"a = session.plan(bins, dv.Dense('{epsilon}')).after(first); "
                "print(reach(a.error.value), reach(a.before.value))"
            )
            both, now = said.split()
            said = f"any one bin ≤ {both} where both agree; now ±{now}."
            return f"After this, together with release 1: {said}"

        box = it.page.get_by_role("textbox", name="Privacy loss ε, exact")
        expect(box).not_to_have_value("")
        expect(line).to_have_text(promised(box.input_value()))
        at_rest(it.page)
        height = it.region("Plan").evaluate("element => element.getBoundingClientRect().height")
        it.slider("Privacy loss ε").focus()
        for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
            it.page.keyboard.press(key)
        moved = it.page.evaluate(
            """() => {
                const slider = document.querySelector(".dp-track input"), line = document.querySelector(".dp-after");
                slider.value = String(Number(slider.value) + 2);  // a place that no key rested at
                slider.dispatchEvent(new Event("input", { bubbles: true }));
                const plan = line.closest(".dp-plan");
                return [line.textContent.trim(), line.hidden, plan.getBoundingClientRect().height];
            }"""
        )
        assert moved[:2] == ["", False] and abs(moved[2] - height) < 2
        expect(line).to_have_text(promised(box.input_value()))
        assert it.ask("print(len(session.releases))").strip() == "1"
        assert it.errors == it.offsite == []


SIDEWAYS = (
    """() => Math.max(...[...document.querySelectorAll('.dpviz')].map(root => root.scrollWidth - root.clientWidth))"""
)
NARROW = """() => {
    for (const root of document.querySelectorAll('.dpviz')) root.style.width = '320px';
}"""


def pick_and_pay(it: Notebook, name: str, planned: re.Pattern[str]) -> None:
    """Choose a mechanism in the picker, read its plan in words, pay."""
    it.page.locator(".dp-workbench").get_by_label("Mechanism", exact=True).select_option(name)
    expect(it.region("Plan")).to_contain_text(planned)
    it.page.get_by_role("textbox", name="Privacy loss ε, exact").fill("1")
    it.page.keyboard.press("Enter")
    pay = it.button("Release").filter(has_text="pay ε 1")
    expect(pay).not_to_have_attribute("aria-disabled", "true")
    pay.click()
    confirm = it.button("Yes, pay ε 1")
    confirm.or_(it.page.locator(".dp-stage svg")).first.wait_for()
    if confirm.count():
        confirm.click()
    expect(it.page.locator(".dp-stage svg")).to_be_visible()


def reload(it: Notebook) -> None:
    """The page anew, as a reader has it who presses reload: the kernel goes on, and the saved notebook shows again."""
    it.save()
    it.reload()
    it.page.evaluate(READY)
    expect(it.page.get_by_text("● kernel ready").first).to_be_visible()


def everywhere(it: Notebook, title: str) -> None:
    """A picture in the light, in the dark and 320 px wide; nothing scrolls sideways."""
    it.screenshot(title)
    darken(it.page)
    it.screenshot(f"{title}, dark")
    it.page.evaluate(NARROW)
    expect(it.page.locator(".dp-result").first).to_be_visible()
    at_rest(it.page)
    it.until(lambda: it.page.evaluate(SIDEWAYS) == 0)
    it.page.locator(".dp-result").first.scroll_into_view_if_needed()
    it.screenshot(f"{title}, dark, 320 px")


def test_sorted_counts_go_from_the_picker_to_a_sum_of_ranks_and_come_back_after_a_reload(
    lab: Lab, browser: Browser
) -> None:
    lab.write("ranks.ipynb", SESSION.format(name="ranks"), "dv.Workbench(session, bins)")
    with Notebook.open(lab, browser, "ranks.ipynb", viewport=TALL) as it:
        it.run_all()
        pick_and_pay(it, "Sorted", re.compile("Any one rank"))
        result = it.page.locator(".dp-result")
        expect(result).to_contain_text("The counts of all 42 bins, sorted: rank 1 is the largest.")
        it.numbers(result)
        values = it.ask("r = session.releases[1]; print(*r.answer.noisy[:3].tolist())").split()
        rows = result.locator("tbody tr")
        for row, value in enumerate(values):
            expect(rows.nth(row)).to_contain_text(f"{int(value):,}".replace("-", "−"))

        def ask_for_the_first_five() -> None:
            stage, asked = it.page.locator(".dp-stage"), it.region("Add up or compare ranks")
            stage.scroll_into_view_if_needed()
            it.page.mouse.move(*place(stage, 0))
            it.page.mouse.down()
            it.page.mouse.move(*place(stage, 4), steps=6)
            it.page.mouse.up()
            answer = asked.get_by_role("status")
            expect(answer).to_contain_text("visits: rank 1 to rank 5: ")
            said = it.ask("d = r.range(1, 5, among='all'); print(d.low, d.high)").split()
            expect(answer).to_contain_text(f"between {int(said[0]):,} and {int(said[1]):,}")
            expect(answer).to_contain_text("Biased: within a run of equal counts")

        ask_for_the_first_five()
        stage, asked = it.page.locator(".dp-stage"), it.region("Add up or compare ranks")
        for rank in (0, 2):
            it.page.mouse.click(*place(stage, rank))
        expect(asked.get_by_role("status")).to_contain_text("visits: rank 1, less rank 3: ")
        first, last = asked.get_by_label("Rank", exact=True), asked.get_by_label("with", exact=True)
        first.fill("43")
        last.press("Enter")
        expect(asked.get_by_role("alert")).to_contain_text("a rank must be a whole number from 1 to 42, got 43")
        reload(it)
        expect(it.page.get_by_role("heading", name=re.compile("released with ε = 1$"))).to_be_visible()
        ask_for_the_first_five()
        assert it.ask("print(session.remaining.epsilon, len(session.releases))").split() == ["3", "1"]
        everywhere(it, "sorted")
        assert it.errors == it.offsite == []


def test_queries_go_from_the_picker_to_a_comparison_and_come_back_after_a_reload(lab: Lab, browser: Browser) -> None:
    session = SESSION.format(name="queries").replace("0, 40, ", "0, 6, ")
    lab.write("queries.ipynb", session, "dv.Workbench(session, bins)")
    with Notebook.open(lab, browser, "queries.ipynb", viewport=TALL) as it:
        it.run_all()
        pick_and_pay(it, "Queries", re.compile("Any one answer"))
        result = it.page.locator(".dp-result")
        expect(result.get_by_role("list").filter(has_text="holds for the fitted answers")).to_be_visible()
        told = it.ask("r = session.releases[1]; print(f'{r.values[0] // 1:,}')").strip()  # in ninths: never rounded up
        it.numbers(result)
        expect(result.locator("tbody tr")).to_have_count(9)

        def compare_the_first_two() -> None:
            stage, asked = it.page.locator(".dp-stage"), it.region("Add up or compare answers")
            expect(stage.locator("svg")).to_be_visible()  # the view of queries comes after the head
            stage.scroll_into_view_if_needed()
            for row in (0, 1):
                at_rest(it.page)
                box = stage.bounding_box()
                assert box is not None
                it.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 8 + 44 * (row + 0.5))
            answer = asked.get_by_role("status")
            expect(answer).to_contain_text("visits: all, less 0: ")
            expect(answer).to_contain_text("all is larger. p ≤ ")

        compare_the_first_two()
        asked = it.region("Add up or compare answers")
        asked.get_by_label("What to ask").select_option("stretch")
        first, last = asked.get_by_label("From", exact=True), asked.get_by_label("to", exact=True)
        first.fill("2")
        last.fill("5")
        last.press("Enter")
        said = it.ask("d = r.range(2, 5, among=36); print(d.low, d.high)").split()
        expect(asked.get_by_role("status")).to_contain_text("visits: 2 to 5: ")
        expect(asked.get_by_role("status")).to_contain_text(f"between {int(said[0]):,} and {int(said[1]):,}")
        reload(it)
        expect(it.page.get_by_role("heading", name=re.compile("released with ε = 1$"))).to_be_visible()
        expect(it.page.locator(".dp-stage svg")).to_contain_text(told)
        compare_the_first_two()
        assert it.ask("print(session.remaining.epsilon, len(session.releases))").split() == ["3", "1"]
        everywhere(it, "queries")
        assert it.errors == it.offsite == []
