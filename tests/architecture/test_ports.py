"""A port that a test's server listens at is nobody else's."""

from __future__ import annotations

import os
import socket

import pytest

from tests.killing import Call
from tests.ports import BEYOND, FIRST, own_port


def test_a_port_is_given_once_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 1)  # as where two processes would begin with the same one
    first = own_port()
    given = [first, own_port(), Call(own_port).result()]
    assert len(set(given)) == 3 and all(FIRST <= port < BEYOND for port in given)


def test_a_port_that_somebody_listens_at_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 2)
    port = Call(own_port).result()  # free again, for the process that had it has ended
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        assert own_port() != port
    assert Call(own_port).result() == port
