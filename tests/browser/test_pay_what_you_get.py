"""The whole story of a sub-session: opened once, asked by keyboard, refused, restarted, read again with no kernel."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Locator, expect

from tests.browser.lab import SCREENSHOTS, Lab, Notebook, darken, holds, set_theme

SESSION = """
import dpviz as dv
flights = dv.datasets.flights()
session = dv.Session(
    flights,
    unit=dv.Unit("aircraft", noun="aircraft", max_bins=5),
    budget=dv.Budget(epsilon="4", delta="1e-6"),
    ledger="flights.ledger",
)
sub = session.open(dv.PayWhatYouGet(symbols=30, questions=6, epsilon="3", delta="1e-6"))
"""
PAY_WHAT_YOU_GET = """
destination = dv.Domain.keys(column="destination")
questions = {
    "All year: destinations by aircraft": destination,
    "First minutes of the year": dv.Question.of(destination, {"scheduled_minute": dv.Between(0, 30)}),
    "December only": dv.Question.of(destination, {"scheduled_minute": dv.Between(480_960)}),
}
tape = dv.PayWhatYouGetTape(sub, questions)
tape
"""
LEFT = "print(sub.symbols_left, sub.questions_left, len(session.ledger.entries()), session.remaining.epsilon)"


def rows(page: Locator) -> list[str]:
    """What each row of the sub-session view says, its white space evened out, without the button that a kernel gives
    it."""
    listed = page.get_by_role("list", name="Questions so far").locator("> li")
    return [" ".join(row.split()).replace(" · look", "") for row in listed.all_inner_texts()]


def ask(it: Notebook, k: str, button: str) -> None:
    """Type how many, walk to the button and press it: with the keyboard alone."""
    box = it.page.get_by_label("Ask for", exact=True)
    expect(box).to_be_enabled()  # it is not while a question is on its way
    box.focus()
    expect(box).to_be_focused()
    it.page.keyboard.press("Control+A")
    it.page.keyboard.type(k)
    press = it.button(button)
    expect(press).to_be_enabled()
    it.page.keyboard.press("Tab")
    it.page.keyboard.press("Tab")
    expect(press).to_be_focused()
    expect(press).to_be_enabled()  # a press too soon after it changed is not heard
    it.page.keyboard.press("Enter")


def test_ask_pay_what_comes_restart_and_read_it_without_a_kernel(lab: Lab, browser: Browser) -> None:
    lab.write("tape/tape.ipynb", SESSION, PAY_WHAT_YOU_GET)
    with Notebook.open(lab, browser, "tape/tape.ipynb", viewport={"width": 1280, "height": 1500}) as it:
        it.save_with_state()
        it.run_all()
        view = it.region("Pay what you get")
        expect(view).to_contain_text("one ledger entry 1 · ε 3 · δ 0.000001")
        expect(view).to_contain_text("Symbols left: 30 of 30")
        expect(view).to_contain_text("Questions left: 6 of 6")
        expect(view).to_contain_text("Nothing asked yet.")
        # It was paid when it was opened, and the question on show is planned for nothing.
        assert it.ask(LEFT).split() == ["30", "6", "1", "1"]
        expect(view).to_contain_text(
            re.compile(r"An item \d+ above the 51st count comes before ⊥, none .+ count, 95 in 100\.")
        )

        # The first question: all that was asked for came.
        ask(it, "5", "Ask up to 5 of 30 left")
        expect(view).to_contain_text("Symbols left: 25 of 30")
        expect(
            view.get_by_text("Question 1: all 5 places were filled; it cost 5 symbols.", exact=False).first
        ).to_be_focused()
        answers = view.get_by_role("list", name="Answer 1, in order").get_by_role("listitem")
        expect(answers).to_have_count(5)

        # The second ends at once: ⊥ came, and it is all that was used. The third is on offer by itself.
        select = view.get_by_label("Question", exact=True)
        expect(select.locator("option:checked")).to_have_text("First minutes of the year")
        ask(it, "5", "Ask up to 5 of 25 left")
        expect(view).to_contain_text("Symbols left: 24 of 30")
        expect(view).to_contain_text("Question 2 returned only ⊥: no destination stood out enough.")
        expect(view.get_by_role("list", name="Answer 2, in order").get_by_role("img", name="no more")).to_be_visible()
        expect(select.locator("option:checked")).to_have_text("December only")
        ask(it, "3", "Ask up to 3 of 24 left")
        expect(view).to_contain_text("Questions left: 3 of 6")
        gauge = view.get_by_role("img", name=re.compile(r"^\d+ of 30 symbols left; the next question uses at most 3"))
        expect(gauge).to_be_visible()
        expect(view).to_contain_text("paying for every answer asked: 13")
        expect(view.get_by_role("list", name="Questions so far").locator("> li")).to_have_count(3)
        said = rows(view)
        assert said[0].startswith("1 All year: destinations by aircraft asked for 5 · k̄ 50")
        assert said[0].endswith("5 paid all 5 places filled")
        assert said[1].endswith("1 paid ended early, 4 not used")
        left = it.ask(LEFT).split()
        assert 30 - 5 - 1 - 3 <= int(left[0]) < 24 and left[1:] == ["3", "1", "1"]
        view.screenshot(path=SCREENSHOTS / "tape-light.png")

        # One answer by itself, with its table, for nothing.
        view.get_by_role("button", name="Look at answer 1").click()
        answer = it.region(
            "Destination, top 5 by aircraft, released for 5 of 30 symbols and 1 of 6 questions of entry 1"
        )
        assert len(it.numbers(answer)) == 5
        assert it.ask(LEFT).split() == left

        # More than is left is refused in words, uses nothing, and the next step is one press away.
        expect(it.button("Ask again")).to_be_visible()
        ask(it, "40", f"Ask up to 40 of {left[0]} left")
        alert = view.get_by_role("alert").filter(has_text="Nothing was charged.")
        expect(alert).to_contain_text(f"may use 40 symbols but {left[0]} are left")
        assert it.ask(LEFT).split() == left
        assert rows(view) == said
        alert.get_by_role("button", name=f"Ask for {left[0]}").click()
        expect(view.get_by_label("Ask for", exact=True)).to_have_value(left[0])
        assert it.errors == it.offsite == []

        # A new kernel, everything run again: the same sub-session view, and nothing is charged or used again.
        it.restart()
        it.run_all()
        expect(view).to_contain_text(f"Symbols left: {left[0]} of 30")
        it.until(lambda: rows(view) == said)
        assert it.ask(LEFT).split() == left
        assert (
            it.ask("print(sub.ask(destination, k=5, kbar=50).items == list(sub.transcript[0].items))").strip() == "True"
        )
        assert it.ask(LEFT).split() == left

        # The saved page, opened anew with no kernel behind it: all of it can be read, and asking says what it needs.
        it.save()
        it.reload()
        # JupyterLab reads the saved widgets once, while it has a kernel to ask.
        expect(view).to_contain_text(f"Symbols left: {left[0]} of 30")
        it.page.evaluate("async () => window.panel.sessionContext.session.kernel.shutdown()")
        expect(view).to_contain_text("no kernel · the sub-session stays readable")
        it.until(lambda: rows(view) == said)
        needs = it.button("Asking needs a kernel")
        expect(needs).to_be_visible()
        expect(needs).to_be_disabled()
        expect(view.get_by_label("Ask for", exact=True)).to_be_disabled()
        it.save_with_state(False)


def test_the_sub_session_view_is_readable_narrow_and_dark(lab: Lab, browser: Browser) -> None:
    lab.write(
        "narrow/narrow.ipynb",
        SESSION,
        "sub.ask('destination', k=10, kbar=50)\nsub.ask('destination', k=2, kbar=9)",
        PAY_WHAT_YOU_GET,
    )
    with Notebook.open(lab, browser, "narrow/narrow.ipynb", viewport={"width": 1280, "height": 1500}) as it:
        it.run_all()
        view = it.region("Pay what you get")
        expect(view).to_contain_text("Questions left: 4 of 6")
        darken(it.page)
        expect(it.page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
        view.screenshot(path=SCREENSHOTS / "tape-dark.png")
        set_theme(it.page, "Light")
        it.page.evaluate("() => { document.querySelector('.dp-tape').closest('.dpviz').style.width = '320px'; }")
        expect(view.get_by_role("img", name=re.compile("symbols left"))).to_be_visible()
        holds(it.page, "document.querySelector('.dp-tape').closest('.dpviz').scrollWidth <= 320")
        view.screenshot(path=SCREENSHOTS / "tape-320.png")
        assert it.errors == it.offsite == []


WORKBENCH = """
bench = dv.Workbench(session, dv.Domain.integers(0, 6, column="scheduled_minute", overflow=True))
bench
"""


def test_a_list_is_picked_planned_paid_and_shown_in_the_workbench(lab: Lab, browser: Browser) -> None:
    lab.write("lists/lists.ipynb", SESSION.replace("sub = session", "# sub = session"), WORKBENCH)
    with Notebook.open(lab, browser, "lists/lists.ipynb", viewport={"width": 1280, "height": 2200}) as it:
        it.run_all()
        # A column of keys, with no list of them; then the mechanism that ranks them.
        it.page.get_by_label("by column", exact=True).select_option("destination")
        it.page.get_by_label("Bins (public, not taken from the data)").select_option(
            label="No list: keys as they occur"
        )
        mechanism = it.page.get_by_label("Mechanism", exact=True)
        expect(it.page.get_by_text("unknown keys.")).to_be_visible()
        mechanism.select_option("TopK")
        question = it.page.get_by_role("group", name="Question", exact=True)
        expect(question).to_contain_text("Which destinations have the most aircraft? Up to 10 of them")
        plan = it.region("Plan")
        expect(plan).to_contain_text("above the 51st count")
        expect(plan).to_contain_text("below the 10th count")
        before = plan.get_by_label("To be listed", exact=True).input_value()
        it.page.get_by_text("Rows, rules and accounting").click()
        box = it.page.get_by_label("k̄, rows that compete")
        box.fill("20")
        box.press("Enter")
        expect(plan).to_contain_text("above the 21st count")
        items = it.page.get_by_label("k, items at most")
        items.fill("3")
        items.press("Enter")
        expect(plan).to_contain_text("below the 3rd count")
        delta = it.page.get_by_label("δ", exact=True).and_(it.page.get_by_role("textbox"))
        delta.fill("0.0000005")
        delta.press("Enter")
        it.slider("Privacy loss ε").focus()
        it.page.keyboard.press("End")
        expect(it.slider("Privacy loss ε")).to_have_attribute("aria-valuetext", "ε 4")
        expect(plan.get_by_label("To be listed", exact=True)).not_to_have_value(before)
        it.screenshot("planned")
        pay = it.button("Release pay ε 4, δ 0.0000005")
        expect(pay).to_be_enabled()
        pay.click()
        it.button("Yes, pay ε 4").click()
        result = it.region("Destination, top 3 by aircraft, released with ε = 4, δ = 0.0000005")
        expect(result).to_contain_text("All three places were filled.")
        listed = it.numbers(result)
        assert len(listed) == 3 and listed[0].startswith("1 ")
        assert it.ask("print(session.releases[1].items)").strip() == str([row.split()[1] for row in listed])
        it.screenshot("released")
        assert it.errors == it.offsite == []
