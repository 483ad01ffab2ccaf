"""Holds one node's connection to the job's store, with torch's own client, and does what its watcher asks for.

Run as a program by the interpreter of the job, beside the job: only torch and the standard library are there. Requests
and answers are JSON lines on a socket that is both standard input and standard output; nothing listens. It ends with
its watcher, or when the store does not answer in time: after that an answer could be taken for another one's.

    python store_helper.py HOST PORT SECONDS
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

#: prctl(2)
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
#: how nice it is until it is connected, which takes two seconds of a processor, and then
FIRST, LAST = 5, 19
#: seconds to connect: torch's client asks for the names of both ends, which takes ten seconds where nobody answers
CONNECTING = 20.0
#: the longest line that is read: a node's parts
MOST_BYTES = 16 << 20


def main(host: str, port: int, seconds: float) -> None:
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever prints, prints elsewhere
    _step_back()
    try:
        from torch.distributed import TCPStore

        store = TCPStore(host, port, None, False, timedelta(seconds=CONNECTING), wait_for_workers=False)
        store.set_timeout(timedelta(seconds=seconds))
        _nice(LAST - FIRST)
        _answer(answers, {"ready": True})
        for line in _lines():
            request = json.loads(line)
            _answer(answers, {"id": request["id"], "answer": _do(store, request)})
    except Exception as error:  # noqa: BLE001 - boundary: said to the watcher, who goes on without this store
        first = (str(error).splitlines() or [""])[0][:200]
        with suppress(OSError):
            _answer(answers, {"error": f"{type(error).__name__}: {first}"})


def _step_back() -> None:
    """Never take what the job needs: lowest priority, first to go if memory runs out; and end with the watcher."""
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(PR_SET_NAME, b"ddpdoctor-meet", 0, 0, 0)
    _nice(FIRST)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # what a terminal sends to all; the end of input ends it


def _nice(by: int) -> None:
    with suppress(OSError):
        os.nice(by)


def _lines() -> Iterator[bytes]:
    reader = os.fdopen(0, "rb")
    while line := reader.readline(MOST_BYTES):
        yield line


def _answer(answers: Any, value: dict[str, Any]) -> None:
    data = json.dumps(value).encode() + b"\n"
    while data:
        data = data[answers.write(data) :]


def _do(store: Any, request: dict[str, Any]) -> Any:
    """One request; raises what torch raises if the store does not answer."""
    match request:
        case {"do": "set", "key": key, "value": value}:
            store.set(key, base64.b64decode(value))
        case {"do": "append", "key": key, "value": value}:
            store.append(key, base64.b64decode(value))
        case {"do": "claim", "key": key, "value": value}:
            return _text(store.compare_set(key, "", base64.b64decode(value).decode()))
        case {"do": "gather", "keys": keys, "within": within}:
            return _gather(store, keys, within)
    return None


def _gather(store: Any, keys: list[str], within: float) -> dict[str, str]:
    """What there is under these keys, waiting at most so long for all of them."""
    if within > 0:
        with suppress(RuntimeError):  # torch's DistStoreError is one, a mere timeout
            store.wait(keys, timedelta(seconds=within))
    there = _there(store, keys)
    return dict(zip(there, map(_text, store.multi_get(there)), strict=True)) if there else {}


def _there(store: Any, keys: list[str]) -> list[str]:
    if not keys or store.check(keys):
        return keys
    half = len(keys) // 2
    return [*_there(store, keys[:half]), *_there(store, keys[half:])] if half else []


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
