"""Threads are begun at one door, `dpviz/threads.py`, so that everything works where there are none."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.layers import called

PACKAGE = Path(__file__).resolve().parents[2] / "dpviz"
BEGINNERS = {"Thread", "Timer", "ThreadPoolExecutor", "start_new_thread", "to_thread", "run_in_executor"}


def begun(root: Path) -> list[str]:
    """Each place under root that begins a thread by itself, as `file:line`."""
    found = []
    for path in sorted(root.rglob("*.py")):
        text = path.read_text()
        if path == root / "threads.py" or not any(word in text for word in BEGINNERS):
            continue
        for node in ast.walk(ast.parse(text)):
            call = isinstance(node, ast.Call) and called(node) in BEGINNERS
            kind = isinstance(node, ast.ClassDef) and any("Thread" in ast.unparse(base) for base in node.bases)
            if call or kind:
                found.append(f"{path.relative_to(root.parent)}:{node.lineno}")
    return found


def test_only_the_boundary_begins_a_thread() -> None:
    assert begun(PACKAGE) == []


@pytest.mark.parametrize(
    "text",
    [
        "threading.Thread(target=work).start()",
        "from threading import Thread\nThread(target=work).start()",
        "threading.Timer(1, work).start()",
        "import _thread\n_thread.start_new_thread(work, ())",
        "class Worker(threading.Thread):\n    pass",
        "async def late():\n    await asyncio.to_thread(work)",
        "with ThreadPoolExecutor() as pool:\n    pool.submit(work)",
    ],
)
def test_a_planted_thread_is_found(tmp_path: Path, text: str) -> None:
    path = tmp_path / "dpviz" / "session" / "eager.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert len(begun(tmp_path / "dpviz")) == 1


def test_a_thread_that_is_only_named_is_none(tmp_path: Path) -> None:
    path = tmp_path / "dpviz" / "session" / "watching.py"
    path.parent.mkdir(parents=True)
    path.write_text("def ended(thread: threading.Thread) -> bool:\n    return threading.current_thread() is thread")
    assert begun(tmp_path / "dpviz") == []
