"""What a careful reader sees of the Workbench: fields that tell what is wrong with them, a focus that is never lost,
figures that stay in their pane, a history that tells two answers apart, and a kernel that is known to be dead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.lab import ROOT, SCREENSHOTS, Lab, Notebook, calm, darken
from tests.unpacking import read

SESSION = """
import sys
import pandas as pd
import dpviz as dv
sys.path.insert(0, {root!r})
frame = pd.DataFrame({{"visits": [0, 1, 2, 3] * 500, "degree": list("abcd") * 500, "paid": [7, 9, 11, 13] * 500}})
session = dv.Session(
    {data}, unit=dv.Unit("row", noun="person-year"), budget=dv.Budget(epsilon="2", delta="1e-6"), ledger="{name}.ledger"
)
"""
VISITS = 'dv.Domain.integers(0, 40, column="visits", overflow=True)'
TALL = {"width": 1280, "height": 1800}
WIDE = "(root, wide) => { root.parentElement.style.width = `${wide}px`; }"
HELD = """() => {
    const now = document.activeElement;
    return now !== null && now !== document.body && now.closest('.dpviz') !== null;
}"""
SETTLED = (
    f"async () => {{ for (let i = 0; i < 3; i += 1) await new Promise(requestAnimationFrame); return ({HELD})(); }}"
)
"""Whether the focus stands in the Workbench, once what a key did is drawn."""


def bench(lab: Lab, name: str, question: str, data: str = "frame") -> str:
    lab.write(
        f"{name}.ipynb",
        SESSION.format(name=name, data=data, root=str(ROOT)),
        f"asked = {question}\nbench = dv.Workbench(session, asked)\nbench",
    )
    return f"{name}.ipynb"


def described(field: Locator) -> str:
    """What a screen reader adds to the name of a field: the visible part of what describes it."""
    said: str = field.evaluate(
        """field => (field.getAttribute('aria-describedby') ?? '').split(' ')
            .map(id => document.getElementById(id)).filter(one => one !== null && !one.hidden)
            .map(one => one.textContent).join(' ')"""
    )
    return said.replace("\u00a0", " ")


def seen(it: Notebook, words: str) -> int:
    """How many paragraphs show these words."""
    return sum(one.is_visible() for one in it.page.locator(".dpviz p, .dpviz .dp-notice").filter(has_text=words).all())


def test_what_is_typed_wrong_is_told_at_its_field_once(lab: Lab, browser: Browser) -> None:
    with Notebook.open(lab, browser, bench(lab, "told", VISITS), viewport=TALL) as it:
        it.run_all()
        box = it.page.get_by_role("textbox", name="Privacy loss ε, exact")
        voice = it.page.locator(".dpviz [aria-live=polite]").first
        box.fill("-1/2")
        box.press("Enter")
        expect(box).to_have_attribute("aria-invalid", "true")
        assert "ε must be positive, got −1/2. Type a number like 0.1 or 1/10." in described(box)
        assert seen(it, "must be positive") == 1
        expect(it.region("Release")).to_contain_text("Correct ε first.")
        box.press("Escape")
        expect(box).not_to_have_attribute("aria-invalid", "true")
        expect(box).to_have_value("0.2")
        # More than is left is wrong, too: the field says so, and what was typed is announced.
        box.fill("7/2")
        box.press("Enter")
        expect(box).to_have_attribute("aria-invalid", "true")
        expect(it.button("Set ε to 2")).to_be_visible()
        assert "This release costs ε = 3.5 but 2 is left; ask for at most 2." in described(box)
        assert seen(it, "ask for at most 2") == 1
        expect(it.region("Release")).to_contain_text("Nothing was charged.")
        expect(voice).to_have_text(re.compile("^ε 7/2: .*would cost 3.5, more than the 2 left"))
        it.screenshot("too-much")
        it.button("Set ε to 2").click()
        expect(box).not_to_have_attribute("aria-invalid", "true")
        assert it.page.evaluate(HELD)
        # Of an error that no ε on the slider reaches.
        error = it.page.get_by_role("textbox", name="Any one bin")
        error.fill("x")
        error.press("Enter")
        expect(error).to_have_attribute("aria-invalid", "true")
        assert "An error must be 0 or more, got x." in described(error)
        assert it.errors == it.offsite == []


def test_top_k_opens_with_what_everybody_chooses_and_tells_at_a_field_what_the_kernel_refuses(
    lab: Lab, browser: Browser
) -> None:
    with Notebook.open(lab, browser, bench(lab, "folded", '"degree"'), viewport=TALL) as it:
        it.run_all()
        expect(it.page.get_by_label("Mechanism", exact=True)).to_have_value("TopK")
        expect(it.region("Release")).to_contain_text("Lists up to 10 of the 50 most common degrees")
        items = it.page.get_by_label("k, items at most")
        expect(items).to_be_visible()
        folded = it.page.get_by_label("k̄, rows that compete")
        expect(folded).to_be_hidden()
        assert it.page.locator(".dpviz").get_by_label("δ", exact=True).filter(visible=True).count() == 1
        protects = it.page.locator(".dp-protects output")
        whole = "it => it.scrollWidth <= it.clientWidth && it.scrollHeight <= it.clientHeight"
        it.until(lambda: protects.evaluate(whole))  # the notebook's own layout may still settle
        items.fill("0")
        items.press("Enter")
        expect(items).to_have_attribute("aria-invalid", "true")
        assert "got 0" in described(items) and seen(it, "got 0") == 1
        it.screenshot("refused")
        items.press("Escape")
        expect(items).to_have_value("10")
        expect(items).not_to_have_attribute("aria-invalid", "true")
        it.page.get_by_text("Rows, rules and accounting").click()
        expect(folded).to_be_visible()
        folded.press("Escape")
        expect(folded).to_be_hidden()
        assert it.page.evaluate("() => document.activeElement.localName") == "summary"
        assert it.errors == it.offsite == []


def test_the_confirmation_is_a_dialog_and_escape_leads_back(lab: Lab, browser: Browser) -> None:
    with Notebook.open(lab, browser, bench(lab, "asks", VISITS), viewport=TALL) as it:
        it.run_all()
        box = it.page.get_by_role("textbox", name="Privacy loss ε, exact")
        box.fill("1")
        box.press("Enter")
        pay = it.button("Release pay ε 1")
        expect(pay).not_to_have_attribute("aria-disabled", "true")
        pay.click()
        dialog = it.page.get_by_role("alertdialog", name="Confirm the payment")
        expect(dialog).to_be_visible()
        assert described(dialog) == "This uses 1 of the 2 that is left."
        expect(it.button("Keep planning")).to_be_focused()
        it.page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(it.button("Release pay ε 1")).to_be_focused()
        assert it.ask("print(session.remaining.epsilon)").strip() == "2"
        assert it.errors == it.offsite == []


def unanswered(it: Notebook) -> set[bytes]:
    """What the page has asked the kernel and has no reply to yet."""
    said = read(b"\n".join(it.traffic))
    return {*re.findall(rb'"id": ?"([^"]+)", ?"ask":', said)} - {*re.findall(rb'"re": ?"([^"]+)"', said)}


def controls(it: Notebook) -> Iterator[Locator]:
    """Every control of the Workbench that a keyboard reaches, as it stands when its turn comes."""
    all_of = it.page.locator(".dpviz :is(button, input, select, textarea, summary, [tabindex='0']):visible:enabled")
    at = 0
    while at < all_of.count():
        yield all_of.nth(at)
        it.until(lambda: unanswered(it) == set())  # an answer may draw controls anew, and move the focus
        it.page.evaluate(SETTLED)
        at += 1


def test_the_focus_is_never_lost_whatever_is_pressed(lab: Lab, browser: Browser) -> None:
    with Notebook.open(lab, browser, bench(lab, "walk", VISITS), viewport=TALL) as it:
        it.run_all()
        assert it.ask("print(session.release(asked, dv.Dense('1/10')).number)").strip()
        expect(it.page.get_by_role("heading", name=re.compile("released with ε = 0.1"))).to_be_visible()
        walked = 0
        for control in controls(it):
            control.focus()
            kind, name = control.evaluate(
                "it => [it.localName + ' ' + (it.type ?? ''), it.getAttribute('aria-label') ?? it.textContent]"
            )
            if re.search("pay|CSV|JSON|SVG|PNG|costs", name):
                continue  # paid or saved; the other tests press these
            for key in {"select": ["ArrowDown"], "input text": ["x", "Enter", "Escape"]}.get(
                kind.split("-")[0].strip(), ["Enter", "Escape"]
            ):
                it.page.keyboard.press(key)
                assert it.page.evaluate(SETTLED), f"{kind} {name!r}: {key}"
            walked += 1
        assert walked > 15
        # A knob that is switched off under the focus hands it on.
        it.page.get_by_label("Mechanism", exact=True).focus()
        it.page.evaluate("async () => window.panel.sessionContext.session.kernel.shutdown()")
        expect(it.button("Release needs a kernel")).to_be_visible()
        it.until(lambda: it.page.evaluate(HELD))


def test_two_answers_to_one_question_are_told_apart(lab: Lab, browser: Browser) -> None:
    with Notebook.open(lab, browser, bench(lab, "apart", VISITS), viewport=TALL) as it:
        it.run_all()
        ask = "print(session.release(asked, dv.Dense('1/10'), key={key!r}).number)"
        assert it.ask(ask.format(key="first look")).strip() == "1"
        assert it.ask(ask.format(key="second look")).strip() == "2"
        history = it.page.get_by_role("region", name="History of the budget")
        expect(history.locator("tbody tr")).to_have_count(2)
        rows = [" ".join(row.split()) for row in history.locator("tbody tr").all_inner_texts()]
        assert re.match(r"1 \d\d:\d\d visits, 42 bins · key first look Dense", rows[0]), rows
        assert re.match(r"2 \d\d:\d\d visits, 42 bins · key second look Dense", rows[1]), rows
        it.screenshot("history")
        assert it.errors == it.offsite == []


def test_nothing_can_be_pressed_against_a_kernel_that_is_known_to_be_dead(lab: Lab, browser: Browser) -> None:
    endless = "__import__('tests.browser.endless', fromlist=['Endless']).Endless()"
    with Notebook.open(
        lab,
        browser,
        bench(lab, "gone", 'dv.Domain.integers(0, 9_998, column="visits", overflow=True)', endless),
        viewport=TALL,
    ) as it:
        it.run_all()
        it.button("Release").filter(has_text="pay ε 0.2").click()
        expect(it.page.get_by_role("progressbar")).to_be_visible()
        watched = """() => {
            window.offered = [];
            new MutationObserver(() => {
                for (const one of document.querySelectorAll('.dpviz .dp-pay:not([aria-disabled=true])'))
                    window.offered.push(one.textContent);
            }).observe(document.querySelector('.dpviz'), { subtree: true, childList: true, attributes: true });
        }"""
        it.page.evaluate(watched)
        it.restart()
        expect(it.region("Release")).to_contain_text("The kernel stopped answering.")
        expect(it.button("Release needs a kernel")).to_be_disabled()
        it.page.wait_for_function("() => window.panel.sessionContext.session.kernel.status === 'idle'")
        expect(it.region("Release")).to_contain_text("Count ε 0.2 as spent until the ledger says otherwise")
        assert it.page.evaluate("() => window.offered") == []
        # With the session cell run again the page says what is true: it was charged, and never reported back.
        it.run_all()
        expect(it.page.get_by_text("and never reported back").first).to_be_visible()
        expect(it.page.get_by_text("pending 0.2", exact=False).first).to_be_visible()
        it.page.evaluate("async () => window.panel.sessionContext.session.kernel.shutdown()")
        expect(it.region("Release")).to_contain_text("The ledger remembers: 0 spent, 0.2 pending, 1.8 left.")


def test_a_domain_too_large_for_dense_opens_on_what_can_answer_it_and_says_why(lab: Lab, browser: Browser) -> None:
    question = 'dv.Domain.integers(0, 2**64 - 1, column="visits")'
    with Notebook.open(lab, browser, bench(lab, "large", question), viewport=TALL) as it:
        it.run_all()
        asked = it.page.get_by_role("group", name="Question", exact=True)
        expect(asked.get_by_role("note")).to_have_text(
            "Dense answers at most 10,000,000 bins, and this question has 2^64 bins. "
            "So the plan opens on Stability, which can answer it."
        )
        expect(asked.get_by_role("alert")).to_have_count(0)
        expect(it.button("Release").filter(has_text="pay ε")).to_be_enabled()
        for wide in (860, 320):
            it.page.locator(".dpviz").evaluate(WIDE, wide)
            calm(it.page)
            assert fits(it) == []
            it.page.locator(".dpviz").screenshot(path=SCREENSHOTS / f"large-domain-{wide}.png")
        assert it.errors == it.offsite == []


def fits(it: Notebook) -> list[Any]:
    """The figures, fields and sentences of a Workbench that reach beyond it, or hide a part of what they say."""
    found: list[Any] = it.page.evaluate(
        """() => {
            const root = document.querySelector('.dpviz');
            const edge = root.getBoundingClientRect().right + 0.5;
            const said = '.dp-stat, .dp-readout, .dp-note, .dp-hint, .dp-fixed, .dp-pay, .dp-balance, h3';
            const parts = root.querySelectorAll(said);
            const cut = one => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1;
            return [...parts]
                .filter(one => one.checkVisibility() && getComputedStyle(one).display !== 'inline')
                .filter(one => one.getBoundingClientRect().right > edge || cut(one))
                .map(one => [one.className, one.textContent.slice(0, 60), one.scrollWidth, one.clientWidth]);
        }"""
    )
    return found


def rows_of_figures(it: Notebook) -> list[int]:
    """How many figures stand in each row of the plan."""
    tops: list[float] = it.page.evaluate(
        "() => [...document.querySelectorAll('.dp-stats > .dp-stat')].filter(one => one.checkVisibility())"
        ".map(one => Math.round(one.getBoundingClientRect().top))"
    )
    return [tops.count(top) for top in sorted(set(tops))]


LARGEST = 'dv.Question.sum("paid", by=dv.Domain.integers(0, 9, column="visits"), low=0, high=100_000_000, step="1")'
CASES = {
    "counts": (VISITS, {860: [4], 320: [2, 2]}),
    "largest": (LARGEST, {860: [2, 2], 320: None}),
    "keys": ('"degree"', {860: [4], 320: [2, 2]}),
}


@pytest.mark.parametrize("case", CASES)
def test_figures_stay_in_their_pane_in_neat_rows(lab: Lab, browser: Browser, case: str) -> None:
    question, neat = CASES[case]
    with Notebook.open(lab, browser, bench(lab, f"fits-{case}", question), viewport=TALL) as it:
        it.run_all()
        view = it.page.locator(".dpviz")
        expect(it.button("Release").filter(has_text="pay ε")).to_be_visible()
        assert it.region("Plan").get_by_text("bits").count() == 0
        for theme in ("light", "dark"):
            if theme == "dark":
                darken(it.page)
            for wide, rows in neat.items():
                view.evaluate(WIDE, wide)
                it.page.wait_for_function(f"() => document.querySelector('.dpviz').clientWidth <= {wide}")
                calm(it.page)
                view.screenshot(path=SCREENSHOTS / f"screens-{case}-{wide}-{theme}.png")
                assert fits(it) == []
                assert rows is None or rows_of_figures(it) == rows, rows_of_figures(it)
        assert it.errors == it.offsite == []
