"""Sparse vectors from question to look-up in a real JupyterLab: planned, paid, asked, reloaded, with and without a
kernel; and a report that answers for keys with neither kernel nor network."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator, expect

import dpviz as dv
from dpviz.widgets.reading import read_points
from tests.browser.lab import SCREENSHOTS, Lab, Notebook, at_rest, darken

TALL = {"width": 1280, "height": 2200}
WORDS = (
    "import dpviz as dv, pandas as pd\n"
    'words = pd.DataFrame({"word": [f"w{k}" for k in range(40) for _ in range(400 // (k + 1))]})\n'
    'session = dv.Session(words, dv.Unit(), dv.Budget("9", "1e-5"), "{name}.ledger")\n'
    'bench = dv.Workbench(session, dv.Domain.keys(column="word"), mechanism=dv.Stability("0.5", "1e-6"))\n'
    "bench"
)
SHUT_DOWN = "async () => window.panel.sessionContext.session.kernel.shutdown()"
# Where the noise can push a bin past what is stored, no upper end is stated.
READ = re.compile(r"^([^:]+): ([−\d,.]+) \((?:between [\d,.]+ and|at least) [\d,.]+, 95 in 100\)\.$")


def looked_up(form: Locator, column: str, key: str) -> tuple[str, str]:
    """What the look-up field says of a key: its value, and the whole sentence."""
    field = form.get_by_label(column, exact=True)
    field.fill(key)
    field.press("Enter")
    answer = form.get_by_role("status")
    expect(answer).to_contain_text(re.compile(rf"^{re.escape(key)}: "))
    found = READ.match(answer.inner_text())
    assert found is not None, answer.inner_text()
    return found[2], found[0]


@pytest.mark.parametrize(
    ("name", "price"), [("ALP", "ε 0.5"), ("Threshold", "ε 0.5, δ 0.000001"), ("ThresholdALP", "ε 0.5, δ 0.000001")]
)
def test_a_sparse_vector_over_unknown_keys_is_planned_paid_and_asked(
    lab: Lab, browser: Browser, name: str, price: str
) -> None:
    path = f"{name}/{name}.ipynb"
    lab.write(path, WORDS.replace("{name}", name))
    with Notebook.open(lab, browser, path, viewport=TALL) as it:
        it.run_all()
        bench = it.page.locator(".dp-workbench")
        bench.get_by_label("Mechanism", exact=True).select_option(name)
        expect(bench).to_contain_text(getattr(dv, name).about)
        plan, release = it.region("Plan"), it.region("Release")
        pay = release.get_by_role("button", name=f"Release pay {price}", exact=True)
        expect(pay).not_to_have_attribute("aria-disabled", "true")
        call = f"dv.{name}(epsilon='0.5'{', delta=1e-6' * ('δ' in price)})"
        it.ask("from dpviz.exact import rational; beta = rational('0.05', 'beta')")
        said = it.ask(f"print(session.plan(dv.Domain.keys(column='word'), {call}).error.one_bin(beta).value)")
        expect(plan.get_by_label("Any one bin", exact=True)).to_have_value(said.strip())
        several = plan.get_by_label("Look-ups at once, Q", exact=True)
        expect(several).to_have_value("1,000")
        several.fill("20")
        several.press("Enter")
        said = it.ask(f"print(session.plan(dv.Domain.keys(column='word'), {call}).error.look_ups(20, beta).value)")
        expect(plan).to_contain_text(f"all within ≤ {said.strip()}, 95 in 100 · proved bound")
        it.screenshot("planned")
        pay.click()
        released = price.replace("ε ", "ε = ").replace("δ ", "δ = ")
        result = it.region(f"Rows by word, released with {released}")
        expect(result).to_contain_text(f"paid {price}")
        it.screenshot("released")
        if name == "Threshold":  # what is shown is listed, and asked by name under the bars
            assert 5 <= len(it.numbers(result)) <= 40
            assert it.errors == it.offsite == []
            return
        form = it.page.get_by_role("form", name="Read one bin")
        first = looked_up(form, "word", "w0")
        looked_up(form, "word", "no such word")
        code = "r = session.releases[1]; print(f\"{float(r['w0']):,}\", session.remaining.epsilon)"
        value, left = it.ask(code).split()
        assert (float(first[0].replace(",", "")), left) == (float(value.replace(",", "")), "17/2")
        it.screenshot("asked")

        # The page opened anew: while its kernel lives the same answer is there; afterwards the field says why not.
        it.save_with_state()
        it.save()
        it.reload()
        expect(result).to_contain_text(f"paid {price}")
        assert looked_up(form, "word", "w0") == first
        it.page.evaluate(SHUT_DOWN)
        expect(it.page.get_by_text("○ no kernel").first).to_be_visible()
        expect(form).to_contain_text("Reading a bin needs a kernel.")
        expect(form.get_by_role("button", name="Read", exact=True)).to_be_disabled()
        expect(form.get_by_label("word", exact=True)).to_be_disabled()
        expect(form.get_by_role("status")).to_contain_text("w0: ")  # what was read stays
        it.screenshot("gone")
        it.save_with_state()
        assert it.offsite == []


SIDEWAYS = "() => [...document.querySelectorAll('.dp-workbench')].map(root => root.scrollWidth - root.clientWidth)"


@pytest.mark.parametrize("name", ["MaxProjection", "ThresholdMaxProjection"])
def test_buckets_are_picked_planned_paid_asked_and_reloaded(lab: Lab, browser: Browser, name: str) -> None:
    path = f"other-{name}/{name}.ipynb"
    lab.write(path, WORDS.replace("{name}", f"other-{name}"))
    with Notebook.open(lab, browser, path, viewport=TALL) as it:
        it.run_all()
        bench = it.page.locator(".dp-workbench")
        bench.get_by_label("Mechanism", exact=True).select_option(name)
        expect(bench).to_contain_text(getattr(dv, name).about)
        pay = it.region("Release").get_by_role("button", name=re.compile("^Release pay ε 0.5"))
        expect(pay).not_to_have_attribute("aria-disabled", "true")
        it.screenshot("planned")
        pay.click()
        result = it.page.locator(".jp-Notebook").get_by_role("region", name=re.compile("released with ε = 0.5"))
        expect(result).to_contain_text("paid ε 0.5")
        made, left = it.ask("r = session.releases[1]; print(type(r.answer).kind, session.remaining.epsilon)").rsplit(
            maxsplit=1
        )
        assert (made, left) == ("buckets", "17/2")
        form = it.page.get_by_role("form", name="Read one bin")
        field = form.get_by_label("word", exact=True)
        field.fill("w0")
        field.press("Enter")
        said = form.get_by_role("status")
        expect(said).to_contain_text(re.compile(r"^w0: .+, 95 in 100\)\.$"))
        first = said.inner_text()
        assert float(first[4:].split(" ")[0].replace(",", "")) == float(it.ask("print(float(r['w0']))"))

        it.save_with_state()
        it.save()
        it.reload()
        expect(result).to_contain_text("paid ε 0.5")
        field.fill("w0")
        field.press("Enter")
        expect(said).to_have_text(first)
        it.save_with_state()
        darken(it.page)
        it.page.set_viewport_size({"width": 660, "height": 1600})  # the notebook's own margins leave it some 320
        expect(result).to_contain_text("paid ε 0.5")
        at_rest(it.page)
        assert it.page.evaluate(SIDEWAYS) == [0]
        it.screenshot("dark and narrow")
        assert it.errors == it.offsite == []


def test_a_number_of_keys_is_paid_for_and_logarithms_behind_a_threshold_answer_for_them(
    lab: Lab, browser: Browser
) -> None:
    log = 'dv.ThresholdALP("0.5", keys=400, delta="1e-6", split="1/10", encoding="log")'
    lab.write("log/log.ipynb", WORDS.replace("{name}", "log").replace('dv.Stability("0.5", "1e-6")', log))
    with Notebook.open(lab, browser, "log/log.ipynb", viewport=TALL) as it:
        it.run_all()
        bench = it.page.locator(".dp-workbench")
        expect(bench.get_by_label("Mechanism", exact=True)).to_have_value("ThresholdALP")
        plan, release = it.region("Plan"), it.region("Release")
        expect(plan).to_contain_text("×")  # how far off what stays below the threshold may be is a factor
        it.screenshot("planned in logarithms")
        release.get_by_role("button", name="Release pay ε 0.5, δ 0.000001", exact=True).click()
        result = it.region("Rows by word, released with ε = 0.5, δ = 0.000001")
        expect(result).to_contain_text("paid ε 0.5, δ 0.000001")
        form = it.page.get_by_role("form", name="Read one bin")
        field = form.get_by_label("word", exact=True)
        for key in ("w0", "w30", "no such word"):
            field.fill(key)
            field.press("Enter")
            expect(form.get_by_role("status")).to_contain_text(re.compile(rf"^{key}: .+, 95 in 100\)\.$"))
            told = form.get_by_role("status").inner_text()[len(key) + 2 :].split(" ")[0].replace(",", "")
            drawn = it.ask(f"print(float(session.releases[1][{key!r}]))")
            assert abs(float(told) - float(drawn)) <= 5e-4 * float(drawn), (told, drawn)
        it.screenshot("asked in logarithms")

        bench.get_by_label("Mechanism", exact=True).select_option("KeyCount")
        expect(bench).to_contain_text(dv.KeyCount.about)
        it.screenshot("a number of keys planned")
        release.get_by_role("button", name=re.compile("^Release pay ε 0.5")).click()
        counted = it.region(re.compile("released with ε = 0.5$"))
        expect(counted).to_contain_text("paid ε 0.5")
        made, keys = it.ask("r = session.releases[2]; print(type(r.answer).kind, f'{r.answer.keys:,}')").rsplit(
            maxsplit=1
        )
        assert made == "key count"
        expect(counted).to_contain_text(f"Fewer than {keys} bins are not empty")
        expect(counted).not_to_contain_text("clearly above 0")
        darken(it.page)
        it.page.set_viewport_size({"width": 660, "height": 1600})
        expect(counted).to_contain_text(keys)
        at_rest(it.page)
        assert it.page.evaluate(SIDEWAYS) == [0]
        it.screenshot("a number of keys, dark and narrow")
        assert it.errors == it.offsite == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 320)])
def test_a_report_answers_for_keys_with_neither_kernel_nor_network(
    browser: Browser, tmp_path: Path, scheme: str, width: int
) -> None:
    """Every kind of look-up is carried whole, or as the answers for a few keys; every value is Python's."""
    keys = dv.Domain.integers(0, 2**32 - 1, column="key")
    frame = pd.DataFrame(
        {
            "key": [3] * 30 + [4_000_000_000] * 12 + [17],
            "word": ["café"] * 30 + ["日本"] * 13,
            "owed": [-2, 3.5] * 21 + [0],
        }
    )
    lesson = dv.teaching(frame, 11)
    words = dv.Domain.keys(column="word")
    owed = dv.Question.sum("owed", by=keys, low=-6, high=6, step="0.5")
    numbers, names = ["3", "4000000000", "17", "99"], ["café", "日本", "nothing"]
    cases = (
        ("alp", lesson.draw(keys, dv.ALP(1, keys=400, cap=40)), "key", numbers),
        ("both", lesson.draw(words, dv.ThresholdALP(1, keys=400, delta="1e-3")), "word", names),
        ("log", lesson.draw(keys, dv.ALP(1, keys=40, cap=4000, encoding="log")), "key", numbers),
        ("signed", lesson.draw(owed, dv.ALP(8, keys=40, cap=40, encoding="signed")), "key", numbers),
        ("prime", lesson.draw(words, dv.ALP(1, keys=41, cap=40, hashing="carter-wegman")), "word", names),
        ("buckets", lesson.draw(keys, dv.MaxProjection(1, keys=400, cap=40)), "key", numbers),
        ("threshold", lesson.draw(words, dv.ThresholdMaxProjection(2, keys=400, delta="1e-3")), "word", names),
    )
    context = browser.new_context(
        offline=True,
        color_scheme=scheme,  # type: ignore[arg-type]
        viewport={"width": width, "height": 900},
    )
    page = context.new_page()
    wrong: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("request", lambda request: asked.append(request.url))
    for name, release, column, known in cases:
        path = dv.report([release], tmp_path / f"{name}.html")
        some = dv.report([release], tmp_path / f"{name}-some.html", keys=known)
        page.goto(path.as_uri())
        form = page.get_by_role("form", name="Read one bin")
        expect(form).to_contain_text("any key is read here, with no kernel and no network")
        for reader in release.answer.readers or ("",):
            if reader:
                form.get_by_label("estimator").select_option(reader)
            for key in known:
                told(form, column, key, read_points(release, [[key]], Fraction(1, 20), reader)[0])
        at_rest(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        page.screenshot(path=SCREENSHOTS / f"carried-{name}-{scheme}.png", full_page=True)
        page.goto(some.as_uri())
        form = page.get_by_role("form", name="Read one bin")
        expect(form).to_contain_text(f"This file carries the answers for {len(known)} keys, chosen when it was made.")
        told(form, column, known[0], read_points(release, [[known[0]]], Fraction(1, 20))[0])
        form.get_by_label(column, exact=True).fill("1234567")
        form.get_by_role("button", name="Read", exact=True).click()
        expect(form.get_by_role("alert")).to_contain_text("does not carry the answer for this key")
    assert wrong == [] and all(url.startswith(("file:", "blob:")) for url in asked)
    context.close()


def told(form: Locator, column: str, key: str, row: dict[str, str]) -> None:
    """The look-up field says of a key what Python does: the value, both ends, and how they are known."""
    field = form.get_by_label(column, exact=True)
    field.fill(key)
    field.press("Enter")
    value, low, high = (shown(row[name]) if row[name] else "" for name in ("value", "low", "high"))
    within = "no error is stated for this estimator"
    if row["known"]:
        side = "between" if low and high else "at least" if low else "at most"
        within = f"{side} {' and '.join(end for end in (low, high) if end)}, 95 in 100"
        expect(form).to_contain_text(f"Proved bound: {row['rule']}.")
    expect(form.get_by_role("status")).to_have_text(f"{key}: {value} ({within}).")


def shown(number: str) -> str:
    """A decimal as a page writes it: with commas and a true minus sign."""
    whole, point, rest = number.removeprefix("-").partition(".")
    return f"{'−' * number.startswith('-')}{int(whole):,}{point}{rest}"
