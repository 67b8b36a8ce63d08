"""The explorers and the panes of a sparse mechanism in a real JupyterLab: by keyboard and by name."""

from __future__ import annotations

import math
import re
from itertools import combinations
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, expect

import dpviz as dv
from dpviz.planning.draws import ALPHABET, DRAWS
from tests.browser.lab import Lab, Notebook
from tests.browser.test_report import opened
from tests.planning.test_draws import unwritten

SAMPLERS = ('import dpviz as dv\ndv.SamplerExplorer(n=30, c=10, epsilon="1/2", gamma="1/100", t=2)',)
COMPARISON = (
    "import dpviz as dv\n"
    'minutes = dv.Domain.integers(0, 525_599, column="scheduled_minute")\n'
    'dv.MechanismComparison(None, minutes, unit=dv.Unit(relation="replace-one", n=1000), count=30)',
)
SLOW = (
    "import threading\n"
    "import dpviz as dv\n"
    "from dpviz.widgets.explorer import Exploring\n"
    "begun, computed, go, plain = [], [], threading.Event(), Exploring._on_move\n"
    "def slowly(self, args):\n"
    "    begun.append(args['place'])\n"
    "    go.wait()\n"
    "    moved = plain(self, args)\n"
    "    computed.append(args['place'])\n"
    "    return moved\n"
    "Exploring._on_move = slowly",
    "dv.SamplerExplorer(n=30, c=0)",
)
SPARSE = (
    "import dpviz as dv, pandas as pd\n"
    'words = pd.DataFrame({"word": [f"w{k}" for k in range(40) for _ in range(2000 // (k + 1))]})\n'
    'session = dv.Session(words, dv.Unit(), dv.Budget("4", "1e-5"), "words.ledger")\n'
    'bench = dv.Workbench(session, dv.Domain.keys(column="word"), mechanism=dv.Stability("0.5", "1e-6"))\n'
    "bench",
)


def moved(slider: Locator, key: str, says: str | re.Pattern[str]) -> None:
    slider.focus()
    slider.press(key)
    expect(slider).to_have_attribute("aria-valuetext", says)


def test_a_short_truncation_warns_and_the_sliders_walk_back_to_a_proved_one(lab: Lab, browser: Browser) -> None:
    lab.write("samplers/samplers.ipynb", *SAMPLERS)
    with Notebook.open(lab, browser, "samplers/samplers.ipynb", viewport={"width": 1280, "height": 1500}) as it:
        it.run_all()
        explorer = it.region("Samplers on a finite computer")
        alarm = explorer.get_by_role("alert").filter(has_text="too short")
        expect(alarm).to_contain_text("by a factor of up to 219.24, and at most 1.25 was promised")
        expect(explorer.get_by_role("img", name=re.compile("more than promised"))).to_be_visible()
        it.screenshot("broken")

        moved(it.slider("Truncation t"), "End", "143, paper")
        expect(alarm).to_be_hidden()
        expect(explorer).to_contain_text("at most the promised ×1.25")
        expect(explorer.get_by_role("img", name=re.compile("as promised"))).to_be_visible()

        # Another slider after it: the kernel was asked for the sheet through the new point, and it moves as well.
        moved(it.slider("Limit n of a count"), "End", "60")
        expect(explorer).to_contain_text(re.compile("GeoSample needs\\s*141"))
        moved(it.slider("ε, one over a whole number"), "End", "1")
        expect(explorer).to_contain_text("exactly 2 ln(3/2)")
        explorer.get_by_text("Table", exact=True).click()
        expect(explorer.get_by_role("table").get_by_role("row")).to_have_count(62)
        it.screenshot("kept")
        assert it.errors == it.offsite == []


def test_of_thirty_moves_before_a_reply_the_last_is_computed(lab: Lab, browser: Browser) -> None:
    lab.write("moves/moves.ipynb", *SLOW)
    with Notebook.open(lab, browser, "moves/moves.ipynb", viewport={"width": 1280, "height": 1500}) as it:
        it.run_all()
        count = it.slider("True count c")
        count.focus()
        for i in range(1, 31):
            count.press("ArrowRight")
            it.until(lambda i=i: sum(b'"ask":"move"' in said for said in it.traffic) == i)  # type: ignore[misc]
        it.await_answer("print(len(begun), len(computed))", "1 0")
        it.ask("go.set()")
        it.await_answer("print(len(begun), [place['c'] for place in computed])", "2 ['30']")
        expect(count).to_have_attribute("aria-valuetext", "30")
        assert it.errors == it.offsite == []


def test_one_probe_drives_curves_bars_and_table(lab: Lab, browser: Browser) -> None:
    lab.write("which/which.ipynb", *COMPARISON)
    with Notebook.open(lab, browser, "which/which.ipynb", viewport={"width": 1280, "height": 1700}) as it:
        it.run_all()
        page = it.region("Which mechanism?")
        table = page.get_by_role("region", name="Mechanisms at this true count")
        count, epsilon = it.slider("True count c of a bin"), it.slider("Privacy loss ε")
        expect(count).to_have_attribute("aria-valuetext", "30")
        names = ["Dense", "Stability", "PureSparse", "Compact", "Tree"]
        for name in names:
            expect(page.get_by_role("group", name=name, exact=True)).to_be_visible()
        expect(table.get_by_role("row")).to_have_count(6)
        expect(table).to_contain_text("one bin, count 30")

        moved(count, "ArrowRight", "35")
        expect(table).to_contain_text("one bin, count 35")
        expect(page.get_by_role("img", name=re.compile("^Dense at a true count of 35: .*±12"))).to_be_visible()
        expect(page.get_by_text("Errors of a bin whose true count is 35; the bars run from 0")).to_be_visible()
        moved(epsilon, "ArrowLeft", "0.4")
        expect(page.get_by_role("group", name="Dense", exact=True)).to_contain_text("pays 0.4")
        expect(page).to_contain_text("Lower bounds: Balcer, Vadhan 2018, Theorem 7.1")

        # A count that is not on the axis is asked of the kernel, and nonsense is refused in words.
        exact = page.get_by_label("True count c of a bin, exact")
        exact.fill("37")
        exact.press("Enter")
        expect(table).to_contain_text("one bin, count 37")
        exact.fill("many")
        exact.press("Enter")
        expect(page.get_by_role("alert").filter(has_text="c must be a whole number")).to_be_visible()
        it.screenshot("compared")

        # Without its kernel one slider still moves, where the sheet is whole.
        expect(it.page.locator(".dp-explorer[data-part]")).to_have_count(0)
        it.page.evaluate("async () => window.panel.sessionContext.session.kernel.shutdown()")
        moved(epsilon, "Home", "0.01")
        expect(page.get_by_role("group", name="Dense", exact=True)).to_contain_text("pays 0.01")
        assert it.offsite == []


def test_the_workbench_plans_pays_and_shows_a_sparse_answer_over_unknown_keys(lab: Lab, browser: Browser) -> None:
    lab.write("words/words.ipynb", *SPARSE)
    with Notebook.open(lab, browser, "words/words.ipynb", viewport={"width": 1280, "height": 2200}) as it:
        it.run_all()
        plan = it.region("Plan")
        expect(plan.get_by_label("Any one bin", exact=True)).to_have_value("30")
        expect(plan).to_contain_text("All bins at once")
        expect(plan).to_contain_text("no bound")
        expect(plan.get_by_label("All bins at once", exact=True)).to_be_disabled()
        expect(plan).to_contain_text(re.compile(r"0\.5\W*δ\s0\.000001"))
        expect(it.page.locator(".jp-Notebook")).to_contain_text("Unknown keys")
        expect(plan.get_by_role("img", name="At ε 0.5 any one bin within 30")).to_be_visible()
        moved(it.slider("Privacy loss ε"), "ArrowRight", "ε 0.6")

        # δ is a text among the mechanism's choices, and the price follows it.
        it.page.get_by_text("Noise and sampler").click()
        delta = it.page.get_by_label("δ", exact=True).and_(it.page.get_by_role("textbox"))
        delta.fill("0.000002")
        delta.press("Enter")
        pay = it.button("Release pay ε 0.6, δ 0.000002")
        expect(pay).to_be_enabled()
        pay.click()
        result = it.region("Rows by word, released with ε = 0.6, δ = 0.000002")
        expect(result).to_contain_text("no bar holds for all bins at once")
        expect(result).to_contain_text("A bin that is not shown reads 0.")
        rows = it.numbers(result)
        assert 20 <= len(rows) <= 40
        assert rows[0].startswith("w0 ")
        it.screenshot("released")

        # The other mechanism, and back, through the picker.
        it.page.get_by_label("Mechanism", exact=True).select_option("Dense")
        expect(it.page.get_by_text("this question needs declared bins")).to_be_visible()
        assert it.errors == it.offsite == []


def test_hypothetical_draws_of_mechanisms_play_and_count_what_the_sheet_says(browser: Browser, tmp_path: Path) -> None:
    """In a report, so without a kernel: every epsilon of the slider counts what its quantiles say."""
    minutes = dv.Domain.integers(0, 525_599, column="scheduled_minute")
    comparison = dv.MechanismComparison(None, minutes, unit=dv.Unit(relation="replace-one", n=1000), count=30)
    path = dv.report([comparison], tmp_path / "which.html")
    draws = comparison.shown["draws"]
    with opened(browser, path, reduced_motion="no-preference") as page:
        figure = page.locator(".dp-hypothetical")
        table = figure.get_by_role("region", name="How often the order changed")
        expect(figure).to_contain_text("made-up data · not a release")
        expect(figure).to_contain_text("made-up truth, new noise each time")
        expect(figure).to_contain_text("the counts 180, 120, 112, 40 and 20")
        expect(figure).to_contain_text("draw 3 of 50")  # it moves by itself
        figure.get_by_role("button", name="Pause").press("Enter")
        expect(figure.get_by_role("button", name="Play")).to_be_focused()
        expect(figure.locator(".dp-outcomes")).to_be_hidden()
        slider = page.get_by_role("slider", name="Privacy loss ε")
        told = set()
        for key, epsilon in (("", "0.5"), ("Home", "0.01"), ("End", "2"), ("ArrowLeft", "1.5")):
            if key:
                moved(slider, key, epsilon)
            expected = counted(draws, epsilon)
            expect(table.get_by_role("row")).to_have_count(1 + len(expected))
            assert [row.inner_text().split("\t") for row in table.get_by_role("row").all()[1:]] == expected
            told.add(str(expected))
        assert len(told) == 4  # another epsilon, another count
        page.emulate_media(media="print")
        expect(figure.locator(".dp-multiples svg")).to_have_count(12 * 5)
        expect(figure.locator(".dp-multiples").first).to_be_visible()
        expect(figure.locator(".dp-on-stage")).to_be_hidden()
    with opened(browser, path, reduced_motion="reduce", viewport={"width": 320, "height": 800}) as page:
        figure = page.locator(".dp-hypothetical")
        expect(figure.locator(".dp-multiples").first).to_be_visible()
        expect(figure.get_by_role("button")).to_be_hidden()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 320


def counted(draws: dict[str, Any], epsilon: str) -> list[list[str]]:
    """The rows of the table, counted from the texts of a sheet by the words of its protocol."""
    counts = [int(count) for count in draws["counts"]]
    levels = [[ALPHABET.index(letter) for letter in letters] for letters in draws["luck"]]
    found = []
    for name, texts in zip(
        ("Dense", "Stability", "PureSparse", "Compact", "Tree"), draws["reads"][epsilon], strict=True
    ):
        if texts is None:
            continue
        tables = [[-math.inf if value is None else value for value in table] for table in unwritten(counts, texts)]
        read = [[table[level[draw]] for table, level in zip(tables, levels, strict=True)] for draw in range(DRAWS)]
        changed = sum(any(a < b for a, b in combinations(one, 2)) for one in read)
        tied = sum(len(set(one)) < len(one) and one == sorted(one, reverse=True) for one in read)
        hidden = sum(value == -math.inf for one in read for value in one)
        total = DRAWS * len(counts)
        found.append([name, f"{changed} of {DRAWS}", f"{tied} of {DRAWS}", f"{hidden} of {total}"])
    return found
