"""Impure. Posts JSON to an address from a thread of its own, so that a receiver that is slow, refuses or hangs delays
nothing."""

from __future__ import annotations

import http.client
import json
import queue
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from ddpdoctor.errors import UsageError

#: seconds for one message, of which there may be several attempts; and for the last ones when `watch` ends
PATIENCE = 10.0
AT_THE_END = 5.0
_PAUSES = (0.5, 2.0)
#: messages that wait; there are few incidents in a job
_MOST_WAITING = 32
#: answers after which another attempt may help
_LATER = frozenset({408, 425, 429, 500, 502, 503, 504})


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """An address that leads elsewhere is an error: the message is for the one that was given."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def check(address: str) -> str:
    """The address, if it is http or https with a host. Raises UsageError; the address itself may be a secret."""
    parts = urllib.parse.urlsplit(address)
    try:
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        named = False
    if not named or any(character <= " " or character == "\x7f" for character in address):
        raise UsageError("--notify-url: not an http or https address", hint="as in https://hooks.example.com/T0/B0")
    return address


class Webhook:
    """Sends in order, one message at a time. `failed` is told once, with the host and the reason."""

    def __init__(self, address: str, failed: Callable[[str], None]) -> None:
        self._address = address
        self._failed = failed
        self._waiting: queue.Queue[Mapping[str, Any] | None] = queue.Queue(_MOST_WAITING)
        self._told = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="ddpdoctor-notify")
        self._thread.start()

    def send(self, payload: Mapping[str, Any]) -> None:
        """Send later; returns at once. If too many messages wait, this one is lost."""
        try:
            self._waiting.put_nowait(payload)
        except queue.Full:
            self._tell("too many messages wait")

    def close(self, within: float = AT_THE_END) -> None:
        """Wait for what is still to be sent, at most this many seconds."""
        try:
            self._waiting.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(within)

    def _run(self) -> None:
        opener = urllib.request.build_opener(_NoRedirect)
        while (payload := self._waiting.get()) is not None:
            try:
                self._post(opener, payload)
            except Exception as error:  # noqa: BLE001 - boundary: nothing that a receiver does may reach the job
                self._tell(type(error).__name__)

    def _post(self, opener: urllib.request.OpenerDirector, payload: Mapping[str, Any]) -> None:
        data = json.dumps(payload).encode()
        deadline = time.monotonic() + PATIENCE
        reason = ""
        for pause in (*_PAUSES, None):
            request = urllib.request.Request(self._address, data, {"Content-Type": "application/json"}, method="POST")
            try:
                with opener.open(request, timeout=max(deadline - time.monotonic(), 0.1)):
                    return
            except urllib.error.HTTPError as error:
                reason = f"HTTP status {error.code}"
                error.close()
                if error.code not in _LATER:
                    break
            except (OSError, http.client.HTTPException) as error:
                reason = str(getattr(error, "reason", "") or error) or type(error).__name__
            if pause is None or time.monotonic() + pause >= deadline:
                break
            time.sleep(pause)
        self._tell(reason)

    def _tell(self, reason: str) -> None:
        if not self._told:
            self._told = True
            host = urllib.parse.urlsplit(self._address).hostname
            self._failed(f"cannot notify {host}: {reason}; the job is not affected")
