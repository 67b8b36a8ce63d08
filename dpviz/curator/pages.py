"""The owner's pages as HTML: requests that wait, in the words of their plans. No script, nothing from elsewhere.

Every text that comes from somebody is escaped. A page has one style, named by its hash in the content security policy.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from typing import Final

from dpviz.boundary import protect_module
from dpviz.session.ledger import DecisionRequest

STYLE: Final = """
html { color-scheme: light dark; background: light-dark(#fff, #222120); color: light-dark(#1b1b1b, #ececec); }
body {
  font: 13px/18px system-ui, sans-serif; max-width: 860px; margin: 0 auto; padding: 16px; overflow-wrap: anywhere;
}
h1 { font-size: 20px; line-height: 26px; margin: 0; }
h2 { font-size: 15px; line-height: 20px; margin: 0; }
header, article, section { margin-bottom: 24px; }
article { border: 1px solid light-dark(#d0d0d0, #55524e); padding: 16px; }
pre { font: 12px/16px ui-monospace, monospace; white-space: pre-wrap; margin: 12px 0; }
fieldset { border: 0; padding: 0; margin: 0 0 12px; }
label { display: block; padding: 3px 0; }
label.beside { display: inline-block; }
input[type=text], input[type=password] {
  font: inherit; box-sizing: border-box; height: 32px; width: 100%; max-width: 480px; margin: 3px 0 12px;
  padding: 0 8px;
  background: inherit; color: inherit; border: 1px solid light-dark(#767676, #999); }
input.short { width: 96px; margin: 0 0 0 8px; }
button { font: inherit; height: 36px; padding: 0 16px; background: light-dark(#1b1b1b, #ececec);
  color: light-dark(#fff, #1b1b1b); border: 0; cursor: pointer; }
button.plain { background: inherit; color: inherit; border: 1px solid light-dark(#767676, #999); }
:focus-visible { outline: 2px solid light-dark(#0b5c9e, #86c5f7); outline-offset: 2px; }
a { color: light-dark(#0b5c9e, #86c5f7); }
.said { border-left: 3px solid light-dark(#0b5c9e, #86c5f7); padding: 8px 12px; }
.refused { border-left: 3px solid light-dark(#a8071a, #ff9c9c); padding: 8px 12px; }
.quiet { color: light-dark(#6a6a6a, #b0b0b0); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 12px; margin: 12px 0; }
dd { margin: 0; }
@media (max-width: 459px) {
  button { height: 44px; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 8px; }
}
"""

POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The content security policy of every page."""

LATEST: Final = 20
"""The decisions that a page lists."""

VERDICTS: Final = {"approve": "approved", "refuse": "refused", "instead": "approved at another price"}


def page(title: str, body: str) -> str:
    """A whole page."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def sign_in(dataset: str, *, home: str = "", refused: str = "") -> str:
    """The page that asks for a token.

    home  the way from the page's address to the folder of `owner`
    """
    return page(
        f"Sign in: {dataset}",
        f"<main><header><h1>Requests for {escape(dataset)}</h1></header>\n{_refused(refused)}"
        f'<form method="post" action="{home}owner/sign-in">'
        '<label for="token">Your token, as the declaration of the data set knows it</label>'
        '<input id="token" name="token" type="password" autocomplete="off" required>'
        "<button>Sign in</button></form></main>",
    )


def requests_page(
    dataset: str,
    left: str,
    caller: str,
    found: Sequence[DecisionRequest],
    *,
    form_key: str,
    home: str = "",
    said: str = "",
    refused: str = "",
) -> str:
    """The page of all requests.

    left      what is left of the budget, in words
    form_key  the secret of this visitor's forms
    home      the way from the page's address to the folder of `owner`
    said      what was done just now; `refused`, what was not
    """
    waiting = [one for one in found if one.decision is None]
    decided = [one for one in found if one.decision is not None][-LATEST:][::-1]
    many = f"{len(waiting)} waiting" if waiting else "Nothing is waiting"
    told = f'<p class="said" role="status">{escape(said)}</p>\n' if said else ""
    return page(
        f"{many}: {dataset}",
        f"<main><header><h1>Requests for {escape(dataset)}</h1>"
        f'<p>{escape(left)}</p><p class="quiet">Signed in as {escape(caller)}. Answers are not shown here.</p>'
        f'<form method="post" action="{home}owner/sign-out">{_hidden(form_key)}'
        '<button class="plain">Sign out</button></form></header>\n'
        f"{told}{_refused(refused)}"
        f'<section aria-label="Waiting"><h2>{many}</h2><p><a href="{home}owner">Look again</a></p></section>\n'
        + "\n".join(_waiting(one, form_key, home) for one in waiting)
        + (f"\n<section><h2>Decided</h2>{''.join(map(_decided, decided))}</section>" if decided else "")
        + "</main>",
    )


def _waiting(one: DecisionRequest, form_key: str, home: str) -> str:
    """One request, its plan and its form."""
    number, body = one.number, one.body
    plan = "\n".join(str(line) for line in body.get("plan", ()))
    return (
        f'<article aria-labelledby="request-{number}"><h2 id="request-{number}">Request {number}</h2>\n'
        f"<dl><dt>Asked by</dt><dd>{escape(one.by)}</dd>"
        f"<dt>When (UTC)</dt><dd>{escape(one.at)}</dd>"
        f"<dt>For</dt><dd>{escape(str(body.get('text', '')))}</dd>"
        f"<dt>Price</dt><dd>{escape(str(body.get('price', {}).get('text', '')))}</dd></dl>\n"
        f"<pre>{escape(plan)}</pre>\n"
        f'<form method="post" action="{home}owner/requests/{number}">{_hidden(form_key)}'
        f'<fieldset><legend class="quiet">Decide request {number}</legend>'
        f"{_choice('approve', 'Approve as asked')}"
        f"{_lower(one)}"
        f"{_choice('refuse', 'Refuse')}</fieldset>"
        f'<label for="reason-{number}">Reason, which {escape(one.person)} will read</label>'
        f'<input id="reason-{number}" name="reason" type="text" maxlength="500" autocomplete="off">'
        f"<div><button>Decide request {number}</button></div></form></article>"
    )


_RADIO: Final = '<input type="radio" name="verdict" value="{}" required>'


def _choice(value: str, label: str) -> str:
    return f"<label>{_RADIO.format(value)} {label}</label>"


def _lower(one: DecisionRequest) -> str:
    """The choice of a lower epsilon, where a release has one."""
    if one.body.get("order", {}).get("kind") != "release":
        return ""
    name = f"ε of request {one.number}, at most the one asked for"
    field = f'<input class="short" type="text" name="epsilon" autocomplete="off" aria-label="{name}">'
    return f'<div><label class="beside">{_RADIO.format("lower")} Approve at ε =</label>{field}</div>'


def _decided(one: DecisionRequest) -> str:
    decision = one.decision
    assert decision is not None
    why = f": {escape(decision.reason)}" if decision.reason else ""
    return (
        f"<p>Request {one.number} of {escape(one.person)} ({escape(str(one.body.get('text', '')))}) was "
        f"{VERDICTS[decision.verdict]} by {escape(decision.person)}{why}</p>"
    )


def _hidden(form_key: str) -> str:
    return f'<input type="hidden" name="form" value="{escape(form_key)}">'


def _refused(message: str) -> str:
    return f'<p class="refused" role="alert">{escape(message)}</p>\n' if message else ""


protect_module(vars())
