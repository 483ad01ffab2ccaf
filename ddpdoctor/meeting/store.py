"""Impure. The job's own store as a board, through a helper process that runs torch's client (store_helper.py)."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import select
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddpdoctor.meeting.board import Answer, Claimed, Found, Lost
from ddpdoctor.model import json_text

HELPER = Path(__file__).with_name("store_helper.py")
#: seconds for which the store may take to answer, and beyond which the helper itself is given up
PATIENCE, MARGIN = 3.0, 2.0
#: seconds until the helper is connected: it imports torch on a machine that starts a job, and names may take long
STARTING = 90.0
#: seconds that the end may take while something is on its way to the store; on a busy machine a verdict takes some
FAREWELL = 5.0
#: bytes of one answer: the parts of some nodes
MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Address:
    """The job's store, and the interpreter that has its torch."""

    host: str
    port: int
    python: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class StoreBoard:
    """The connection of one node; kept until the watcher ends or the store does not answer."""

    def __init__(self, address: Address, environ: Mapping[str, str], patience: float = PATIENCE) -> None:
        """Start the helper in an environment like that of a rank. Raises OSError."""
        self._address = address
        self._patience = patience
        ours, theirs = socket.socketpair()
        command = [address.python, str(HELPER), address.host, str(address.port), f"{patience:g}"]
        with theirs:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                env=_quiet(environ),
                cwd="/",
            )
        ours.setblocking(False)
        self._socket = ours
        self._incoming, self._outgoing = bytearray(), bytearray()
        #: requests that are not answered, with the time that each may take
        self._pending: deque[tuple[str, float]] = deque()
        self._ready = False
        #: when the helper must have said something next
        self._due = time.monotonic() + STARTING
        self._lost = ""

    @property
    def pid(self) -> int:
        return self._process.pid

    def put(self, key: str, value: bytes) -> None:
        self._ask("set", 0.0, key=key, value=base64.b64encode(value).decode())

    def append(self, key: str, value: bytes) -> None:
        self._ask("append", 0.0, key=key, value=base64.b64encode(value).decode())

    def claim(self, key: str, value: bytes) -> None:
        self._ask("claim", 0.0, key=key, value=base64.b64encode(value).decode())

    def gather(self, keys: Iterable[str], within: float) -> None:
        self._ask("gather", within, keys=list(keys), within=within)

    def _ask(self, what: str, takes: float, **request: Any) -> None:
        if not self._pending and self._ready:
            self._due = time.monotonic() + takes + self._patience + MARGIN
        self._pending.append((what, takes))
        self._outgoing += json.dumps({"id": len(self._pending), "do": what, **request}).encode() + b"\n"
        self._send()

    def poll(self, now: float) -> tuple[Answer, ...]:
        if self._lost:
            return ()
        self._send()
        answers: list[Answer] = []
        for line in self._received():
            answer = self._read(line, now)
            if answer is not None:
                answers.append(answer)
        if not self._lost and (self._pending or not self._ready) and now > self._due:
            answers.append(self._give_up("no answer in time"))
        return tuple(answers)

    def _send(self) -> None:
        with contextlib.suppress(BlockingIOError):
            try:
                while self._outgoing:
                    del self._outgoing[: self._socket.send(self._outgoing)]
            except (BrokenPipeError, ConnectionResetError):
                self._outgoing.clear()  # why it has ended is read from what it said

    def _received(self) -> Iterable[bytes]:
        over = False
        with contextlib.suppress(BlockingIOError):
            while len(self._incoming) <= MOST_BYTES and not over:
                try:
                    data = self._socket.recv(1 << 20)
                except ConnectionResetError:
                    data = b""
                self._incoming += data
                over = not data
        *lines, rest = bytes(self._incoming).split(b"\n")
        self._incoming = bytearray(rest)
        yield from lines
        if (over or len(rest) > MOST_BYTES) and not self._lost:
            yield b'{"error": "the helper has ended"}'

    def _read(self, line: bytes, now: float) -> Answer | None:
        match _decoded(line):
            case {"ready": True}:
                self._ready = True
                self._expect(now)
                return None
            case {"answer": answer} if self._pending:
                what, _ = self._pending.popleft()
                self._expect(now)
                return _answer(what, answer)
            case {"error": str(reason)}:
                return None if self._lost else self._give_up(reason)
        return None if self._lost else self._give_up("the helper said what nobody understands")

    def _expect(self, now: float) -> None:
        if self._pending:
            self._due = now + self._pending[0][1] + self._patience + MARGIN

    def _give_up(self, reason: str) -> Lost:
        self._lost = reason
        self.close()
        return Lost(f"the job's store at {self._address}: {reason}")

    def close(self) -> None:
        """End the helper; what the others wait for is left before, if the store takes it in time."""
        deadline = time.monotonic() + FAREWELL
        while not self._lost and self._leaves() and time.monotonic() < deadline:
            select.select([self._socket], [self._socket] if self._outgoing else [], [], 0.1)
            self.poll(time.monotonic())
        self._lost = self._lost or "closed"
        self._socket.close()
        self._process.kill()
        # on a machine that is busy its memory is given back for seconds
        threading.Thread(target=self._process.wait, daemon=True).start()

    def _leaves(self) -> bool:
        """Whether something that was written for the others is on its way to the store."""
        return self._ready and any(what in ("set", "append") for what, _ in self._pending)


def _decoded(line: bytes) -> Any:
    try:
        return json_text.parsed(line)
    except ValueError:
        return None


def _answer(what: str, answer: Any) -> Answer | None:
    """What an answer means; None for requests that nobody waits for."""
    try:
        if what == "claim":
            return Claimed(base64.b64decode(str(answer)))
        if what == "gather":
            return Found({str(key): base64.b64decode(str(value)) for key, value in dict(answer).items()})
    except (TypeError, ValueError, binascii.Error):
        return Lost("the helper said what nobody understands")
    return None


#: what would load the probe, or take a device, in a process that is none of the job's
_DROPPED = frozenset({"_DDPDOCTOR_RUN", "_DDPDOCTOR_WATCH_PID", "RANK", "LOCAL_RANK", "WORLD_SIZE", "PYTHONSTARTUP"})
_SET = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}


def _quiet(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in environ.items() if name not in _DROPPED}
    return {**kept, **_SET}


def environ_of(pid: int) -> dict[str, str]:
    """The environment in which a rank was started; ours if it cannot be read."""
    try:
        entries = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="surrogateescape").split("\0")
    except OSError:
        return dict(os.environ)
    return dict(entry.split("=", 1) for entry in entries if "=" in entry) or dict(os.environ)
