"""A real kernel in a process of its own, and a page that sends it what it likes."""

from __future__ import annotations

import os
import queue
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from tests.unpacking import plain, recalled

PATIENCE = 120


class RealKernel:
    """Cells run here, and comm messages go the way that a page sends them: through a subshell, as JupyterLab does."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self.client = client
        self.subshell: str | None = None
        self.comms: list[dict[str, Any]] = []
        self.board: dict[str, Any] = {}
        self.printed = ""
        self.words: list[str] = []

    @classmethod
    @contextmanager
    def start(cls, place: Path) -> Iterator[RealKernel]:
        manager = KernelManager()
        manager.start_kernel(cwd=os.fspath(place), env=os.environ | {"IPYTHONDIR": os.fspath(place / "ipython")})
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=PATIENCE)
            yield cls(client)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)

    def open_subshell(self) -> None:
        """From here on comm messages go to a thread beside the cells."""
        message = self.client.session.msg("create_subshell_request", {})
        self.client.control_channel.send(message)
        while (reply := self.client.get_control_msg(timeout=PATIENCE))["parent_header"]["msg_id"] != message["header"][
            "msg_id"
        ]:
            pass
        self.subshell = reply["content"]["subshell_id"]

    def run(self, code: str) -> str:
        """Run a cell; what it printed. An error in it fails the test."""
        message = self.client.execute(code)
        reply = self._reply(message)
        assert reply["content"]["status"] == "ok", reply["content"].get("traceback")
        printed = len(self.printed)
        self.hear(lambda m: m["msg_type"] == "status" and m["parent_header"].get("msg_id") == message
                  and m["content"]["execution_state"] == "idle")  # fmt: skip
        return self.printed[printed:]

    def seconds(self, code: str = "1+1") -> float:
        """How long a cell takes to be answered."""
        began = time.monotonic()
        assert self._reply(self.client.execute(code, silent=True))["content"]["status"] == "ok"
        return time.monotonic() - began

    def _reply(self, message: str) -> dict[str, Any]:
        while True:
            reply: dict[str, Any] = self.client.get_shell_msg(timeout=PATIENCE)
            if reply["parent_header"].get("msg_id") == message:
                return reply

    def send(self, model: str, data: Any) -> None:
        """One comm message, as a page sends it."""
        message = self.client.session.msg("comm_msg", {"comm_id": model, "data": data})
        if self.subshell is not None:
            message["header"]["subshell_id"] = self.subshell
        self.client.shell_channel.send(message)
        self.hear(wait=0)  # what nobody reads is dropped when the queue is full

    def ask(self, model: str, name: str, **args: Any) -> str:
        asked = uuid.uuid4().hex
        self.send(model, {"method": "custom", "content": {"v": 1, "id": asked, "ask": name, "args": args}})
        return asked

    def hear(self, until: Callable[[dict[str, Any]], bool] = lambda message: False, wait: float = PATIENCE) -> None:
        """Take in what the kernel publishes, until a message is the one that is waited for."""
        deadline = time.monotonic() + wait
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                assert wait < PATIENCE, "the kernel did not say what was waited for"
                return
            kind, said = message["msg_type"], message["content"]
            if kind in ("comm_open", "comm_msg"):
                data = self._read(said["data"], message["buffers"])
                if kind == "comm_msg":
                    self.comms.append({**said, "data": data})
            elif kind == "stream":
                self.printed += said["text"]
                if said["name"] == "stderr":
                    self.words.append(said["text"])
            elif kind == "error":
                self.words.append("\n".join(said["traceback"]))
            if until(message):
                return

    def _read(self, data: dict[str, Any], parts: list[Any]) -> dict[str, Any]:
        """As the page's loader reads it: unpacked, and with what stands on the one board there is in its place."""
        data, _ = plain(data, parts)
        self.board.update(data.get("state") or {})
        if data.get("method") == "custom":
            data = {**data, "content": recalled(data["content"], self.board.__getitem__)}
        return data

    def answer(self, model: str, asked: str) -> dict[str, Any]:
        """The reply to an ask."""

        def replies(comm: dict[str, Any]) -> bool:
            return bool(comm["comm_id"] == model and comm["data"].get("content", {}).get("re") == asked)

        for comm in self.comms:
            if replies(comm):
                return comm["data"]["content"]  # type: ignore[no-any-return]
        self.hear(lambda message: message["msg_type"] == "comm_msg" and replies(self.comms[-1]))
        return self.comms[-1]["data"]["content"]  # type: ignore[no-any-return]
