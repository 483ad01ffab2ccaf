"""torch's Flight Recorder, asked over the worker's unix socket; C++ answers even while the GIL is held."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any

from ddpdoctor.collect.redact import plain
from ddpdoctor.model.collectives import Recorder, RecorderEntry
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.ranks import Worker

#: seconds; a full ring of 2000 entries takes 23 ms and 0.94 MB (torch 2.13)
DEADLINE = 2.0
MOST_BYTES = 64 << 20


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket, as torch's _WorkerServer speaks it (2.4 on)."""

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def fetch(worker: Worker, path: Path, *, deadline: float = DEADLINE) -> bytes | Gap:
    """The recorder's JSON from the built-in endpoint `fr_trace_json`; no Python handler is ever involved."""
    if not path.exists():
        return _gap(worker, "the recorder's socket is not there")
    connection = _UnixConnection(path, deadline)
    try:
        connection.request("POST", "/handler/fr_trace_json", headers={"Content-Length": "0"})
        answer = connection.getresponse()
        body = answer.read(MOST_BYTES)
    except TimeoutError:
        return _gap(worker, f"the recorder gave no answer within {deadline:g} s")
    except (OSError, http.client.HTTPException) as error:
        return _gap(worker, f"the recorder did not answer: {type(error).__name__}")
    finally:
        connection.close()
    if answer.status != http.client.OK:
        return _gap(worker, f"the recorder answered with status {answer.status}")
    return body


def parse(data: bytes) -> Recorder:
    """Read a recorder's JSON, of gloo or NCCL; raises ValueError for anything else."""
    loaded: Any = json.loads(data)
    entries = loaded.get("entries", []) if isinstance(loaded, dict) else None
    if not isinstance(entries, list):
        raise ValueError("not a flight recorder dump")
    read = [_entry(e) for e in entries if isinstance(e, dict) and not e.get("is_p2p")]
    return Recorder(version=str(loaded.get("version", "")), entries=tuple(read))


def _entry(entry: dict[str, Any]) -> RecorderEntry:
    backend, _, op = plain(str(entry.get("profiling_name", ""))).rpartition(":")
    group = entry.get("process_group") or [str(entry.get("pg_id", ""))]
    sizes = entry.get("input_sizes") or []
    state = str(entry.get("state", ""))
    return RecorderEntry(
        seq=int(entry.get("collective_seq_id", -1)),
        op=op,
        backend=backend,
        group=str(group[0] if isinstance(group, list) else group),
        input_sizes=tuple(tuple(int(extent) for extent in shape) for shape in sizes),
        input_dtypes=tuple(str(kind) for kind in entry.get("input_dtypes") or []),
        created_ns=int(entry.get("time_created_ns", 0)),
        state=state,
        retired=bool(entry.get("retired", state == "completed")),
    )


def _gap(worker: Worker, reason: str) -> Gap:
    return Gap(Source.RECORDER, worker.rank, reason)
