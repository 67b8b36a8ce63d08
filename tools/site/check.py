"""Links of the finished site: every page, anchor and file that it names is there, and it fetches nothing elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
"""Elements whose address a browser opens by itself."""

NEVER_FETCHED = {"canonical", "alternate", "author", "license"}
"""Kinds of `link` that are read and not opened."""

TEMPLATES = {"webpack-macros.html"}
"""Files of the theme that are no pages."""


class Page(HTMLParser):
    """The addresses and anchors of one page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the addresses and the anchor of an element."""
        held = {name: value for name, value in attrs if value}
        self.anchors |= {held[name] for name in ("id", "name") if name in held}
        if tag == "a" and "href" in held:
            self.links.append(held["href"])
        if tag in FETCHED and FETCHED[tag] in held and held.get("rel") not in NEVER_FETCHED:
            self.fetched.append(held[FETCHED[tag]])


def faults(site: Path) -> list[str]:
    """Dead links of a site, and files that it would fetch from another host; each names its page."""
    found = (path for path in sorted(site.rglob("*.html")) if path.name not in TEMPLATES)
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in found}
    return [f"{path.relative_to(site.resolve())}: {fault}" for path in pages for fault in _of_page(path, pages)]


def _of_page(path: Path, pages: dict[Path, Page]) -> Iterator[str]:
    page = pages[path]
    for address in page.fetched:
        if urlsplit(address).netloc:
            yield f"fetches {address}"
    for address in dict.fromkeys(page.links + page.fetched):
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.is_file():
            yield f"{address} is not there"
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
            yield f"{address} has no such anchor"
