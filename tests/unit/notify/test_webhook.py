"""Real receivers on this machine: one that answers, and those that are slow, refuse, hang, redirect or drip."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ddpdoctor.errors import UsageError
from ddpdoctor.notify import webhook
from ddpdoctor.notify.webhook import Webhook


class Receiver:
    """Answers with these statuses, one after the other, the last one for ever; keeps what it got."""

    def __init__(self, *statuses: int, location: str = "") -> None:
        self.got: list[Any] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.headers["Content-Type"], json.loads(body)))
                self.send_response(statuses[min(len(receiver.got), len(statuses)) - 1])
                if location:
                    self.send_header("Location", location)
                self.end_headers()

            def do_GET(self) -> None:
                receiver.got.append(("GET", None))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/T0/secret"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def mute() -> Iterator[str]:
    """Takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


def _sent(address: str, *payloads: dict[str, Any], within: float = 5.0) -> tuple[list[str], float]:
    """What was said of failures, and how long the caller was held up by sending."""
    said: list[str] = []
    hook = Webhook(address, said.append)
    begun = time.monotonic()
    for payload in payloads:
        hook.send(payload)
    held = time.monotonic() - begun
    hook.close(within)
    return said, held


def test_messages_arrive_in_order() -> None:
    receiver = Receiver(200)
    said, _ = _sent(receiver.address, {"text": "1"}, {"text": "é"})
    receiver.close()
    assert receiver.got == [("application/json", {"text": "1"}), ("application/json", {"text": "é"})]
    assert said == []


def test_a_receiver_that_is_busy_is_asked_again() -> None:
    receiver = Receiver(503, 200)
    said, _ = _sent(receiver.address, {"text": "1"})
    receiver.close()
    assert (len(receiver.got), said) == (2, [])


@pytest.mark.parametrize("status", [400, 404])
def test_a_refusal_is_said_once_without_the_secret_address(status: int) -> None:
    receiver = Receiver(status)
    said, _ = _sent(receiver.address, {"text": "1"}, {"text": "2"})
    receiver.close()
    assert said == [f"cannot notify 127.0.0.1: HTTP status {status}; the job is not affected"]


def test_a_redirect_is_not_followed() -> None:
    other = Receiver(200)
    receiver = Receiver(302, location=other.address)
    said, _ = _sent(receiver.address, {"text": "1"})
    receiver.close()
    other.close()
    assert other.got == []
    assert "HTTP status 302" in said[0]


def test_a_closed_port_is_said() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        said, held = _sent(address, {"text": "1"})
    assert "Connection refused" in said[0]
    assert held < 0.5


def test_a_receiver_that_hangs_holds_nobody_up(mute: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "PATIENCE", 0.5)
    said, held = _sent(mute, {"text": "1"})
    assert held < 0.5
    assert "timed out" in said[0]


def test_the_end_does_not_wait_for_a_receiver_that_hangs(mute: str) -> None:
    begun = time.monotonic()
    said, held = _sent(mute, *({"text": str(n)} for n in range(100)), within=0.3)
    assert held < 0.5
    assert time.monotonic() - begun < 2
    assert said == ["cannot notify 127.0.0.1: too many messages wait; the job is not affected"]


@pytest.mark.parametrize(
    "address",
    [
        "file:///etc/passwd",
        "ftp://a/b",
        "hooks.example.com",
        "http://",
        "https:///x",
        "http://a:99999/",
        "http://a/\nb",
        "",
    ],
)
def test_only_http_and_https_addresses_are_taken(address: str) -> None:
    with pytest.raises(UsageError, match="not an http or https address"):
        webhook.check(address)
    assert webhook.check("https://hooks.example.com/T0/B0") == "https://hooks.example.com/T0/B0"
