"""Whether an engine still answers: asked before every charge, and after a failure, without touching a row."""

from __future__ import annotations

from queue import Empty, SimpleQueue

from dpviz import threads
from dpviz.errors import EngineGone
from dpviz.model.source import Source
from dpviz.session.running import clean

PATIENCE = 10.0
"""Seconds after which an engine that does not answer is taken for gone."""


def gone(source: Source) -> EngineGone | None:
    """Why the engine cannot be asked, or None where it answers. Waits PATIENCE seconds for it, and no longer."""
    answers: SimpleQueue[EngineGone | None] = SimpleQueue()
    threads.run(lambda: _ask(source, answers), "dpviz-probe")
    try:
        return answers.get(timeout=PATIENCE)
    except Empty:
        return _unanswered(f"the engine did not answer for {PATIENCE:g} seconds")


def check(source: Source) -> None:
    """Refuse an engine that is known to be gone, before anything is charged."""
    refused = gone(source)
    if refused is not None:
        raise refused


def _ask(source: Source, answers: SimpleQueue[EngineGone | None]) -> None:
    try:
        source.probe()
    except EngineGone as refused:
        clean(refused)
        answers.put(refused)
    except BaseException:  # what it says is the engine's own
        answers.put(_unanswered("the engine failed when it was asked whether it is there"))
    else:
        answers.put(None)


def _unanswered(what: str) -> EngineGone:
    step = "start the engine again, open a session on it, and ask again"
    return EngineGone(
        f"{what}, so nothing was charged; {step}",
        value=what,
        rule="nothing is charged on an engine that does not answer",
        next_step=step,
    )
