"""What axe-core finds wrong with a page for those who read it by keyboard, by ear or in colours of their own."""

from __future__ import annotations

from collections.abc import Sequence

from playwright.sync_api import Page

from tests.browser.lab import ROOT, calm

PROGRAM = ROOT / "widgets/node_modules/axe-core/axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
"""Every rule of WCAG 2.0 to 2.2 at the levels A and AA, and what axe-core thinks good besides."""

RUN = """async ([within, values, leave]) => {
    const rules = Object.fromEntries(leave.map(rule => [rule, { enabled: false }]));
    const options = { runOnly: { type: 'tag', values }, rules, resultTypes: ['violations', 'passes'] };
    const words = ({ target, failureSummary, html }) =>
        `${target.join(' ')}: ${failureSummary.split('\\n').slice(1).join(' ').trim()} ${html.slice(0, 200)}`;
    const found = [];
    for (const part of document.querySelectorAll(within)) {
        const { violations, passes } = await axe.run(part, options);
        found.push([passes.length, violations.flatMap(({ id, nodes }) => nodes.map(one => `${id}: ${words(one)}`))]);
    }
    return found;
}"""

OPEN_ALL = """within => {
    const told = [];
    for (const part of document.querySelectorAll(within)) {
        for (const folded of part.querySelectorAll('details:not([open])')) {
            told.push(new Promise(next => folded.addEventListener('toggle', next, { once: true })));
            folded.open = true;
        }
        for (const button of part.querySelectorAll('button[aria-expanded=false]')) button.click();
    }
    return Promise.all(told).then(() => null);  // what is drawn when it opens is drawn
}"""
"""What is folded away is opened, so that it is read, too."""


def violations(page: Page, within: str = ".dpviz", leave: Sequence[str] = ()) -> list[str]:
    """Each rule that is broken in one of these elements, where, and how. Where nothing could be checked, it fails.

    leave   the rules that say nothing here
    """
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(PROGRAM.read_text(encoding="utf-8"))
    page.evaluate(OPEN_ALL, within)
    calm(page)
    found: list[tuple[int, list[str]]] = page.evaluate(RUN, [within, TAGS, list(leave)])
    assert found and all(checked >= 5 for checked, _ in found), "axe-core checked almost nothing"
    return [line for _, broken in found for line in broken]
