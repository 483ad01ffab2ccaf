"""torch's Flight Recorder, read over the worker's unix socket; the C++ server answers even while the GIL is held."""

from __future__ import annotations

import http.client
import json
import re
import socket
from pathlib import Path
from typing import Any

from ddpdoctor.model import json_text
from ddpdoctor.model.collectives import Recorder, RecorderEntry
from ddpdoctor.model.evidence import Gap, Source
from ddpdoctor.model.ranks import Rank, Worker
from ddpdoctor.probe.redact import plain

#: seconds; a full ring of 2000 entries takes 23 ms and 0.94 MB (torch 2.13)
DEADLINE = 2.0
MOST_BYTES = 64 << 20
_RANKS = re.compile(r"\d{1,9}")
_MESSAGE = re.compile(r"(?:send|recv) \d{1,9}(?:->|<-)(\d{1,9})")


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket, as torch's _WorkerServer (2.4 and later) uses it."""

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def fetch(worker: Worker, path: Path, *, deadline: float = DEADLINE) -> bytes | Gap:
    """The JSON of what the rank's backends have recorded, from built-in endpoints only; no Python handler is involved.

    gloo and NCCL record separately. `fr_trace_json` returns gloo's operations; on torch 2.5 gloo keeps no record,
    and there is no such endpoint. NCCL's are at `dump_nccl_trace_json`, which a torch without NCCL does not have, and
    for the backend that torch 2.15 made its default at `fr_trace_json` with that backend's name; an older torch answers
    the latter with gloo's operations again. (torch 2.4 to 2.15: read in Handlers.cpp and ProcessGroupNCCL.cpp; measured
    by benchmarks/compat.py; torch 2.11 with NCCL 2.31 on an H200.)
    """
    if not path.exists():
        return _gap(worker, "the recorder's socket does not exist")
    gloo = _ask(worker, path, "fr_trace_json", deadline, absent=b"")
    if isinstance(gloo, Gap) or (gloo and _entries(gloo) is None):
        return gloo
    nccl = _ask(worker, path, "dump_nccl_trace_json", deadline, absent=b"")
    if not gloo:
        return _without_gloo(worker, nccl)
    if not nccl and not _entries(gloo):
        nccl = _ask(worker, path, "fr_trace_json?backend=nccl", deadline)
    if isinstance(nccl, Gap):
        return gloo if _entries(gloo) else nccl
    return _joined(gloo, nccl)


def _without_gloo(worker: Worker, nccl: bytes | Gap) -> bytes | Gap:
    """NCCL's answer where gloo is not recorded. An empty one is a gap: what ran on gloo would seem not to have run."""
    if isinstance(nccl, Gap) or _entries(nccl):
        return nccl
    return _gap(worker, "this torch does not record gloo's operations" + (", and NCCL recorded none" if nccl else ""))


def _ask(worker: Worker, path: Path, handler: str, deadline: float, *, absent: bytes | None = None) -> bytes | Gap:
    """The answer of one endpoint; `absent` if this torch does not have it."""
    connection = _UnixConnection(path, deadline)
    try:
        connection.request("POST", f"/handler/{handler}", headers={"Content-Length": "0"})
        answer = connection.getresponse()
        body = answer.read(MOST_BYTES)
    except TimeoutError:
        return _gap(worker, f"the recorder gave no answer within {deadline:g} s")
    except (OSError, http.client.HTTPException) as error:
        return _gap(worker, f"the recorder did not answer: {type(error).__name__}")
    finally:
        connection.close()
    if answer.status == http.client.NOT_FOUND and absent is not None:
        return absent
    if answer.status != http.client.OK:
        return _gap(worker, f"the recorder answered with status {answer.status}")
    return body


def _joined(gloo: bytes, nccl: bytes) -> bytes:
    """One dump of two: NCCL's operations, and gloo's operations of groups for which NCCL has none.

    Each backend numbers its own operations, so a group that uses both would have two operations with the same number.
    """
    recorded = [entry for entry in _entries(nccl) or [] if not str(entry.get("profiling_name", "")).startswith("gloo:")]
    if not recorded:
        return gloo
    groups = {_group_of(entry) for entry in recorded}
    others = [entry for entry in _entries(gloo) or [] if _group_of(entry) not in groups]
    return json.dumps({**json_text.parsed(nccl), "entries": [*recorded, *others]}).encode() if others else nccl


def _entries(data: bytes) -> list[dict[str, Any]] | None:
    """The operations of a dump; None if it is damaged, which `parse` will report."""
    try:
        loaded: Any = json_text.parsed(data)
    except ValueError:
        return None
    entries = loaded.get("entries", []) if isinstance(loaded, dict) else None
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else None


def _group_of(entry: dict[str, Any]) -> str:
    group = entry.get("process_group") or [str(entry.get("pg_id", ""))]
    return str(group[0] if isinstance(group, list) else group)


def parse(data: bytes) -> Recorder:
    """Read a recorder's JSON, of gloo or NCCL. Raises ValueError for anything else."""
    loaded: Any = json_text.parsed(data)
    entries = loaded.get("entries", []) if isinstance(loaded, dict) else None
    if not isinstance(entries, list):
        raise ValueError("not a flight recorder dump")
    members = _members(loaded.get("pg_config"))
    try:
        read = [_entry(e, members) for e in _settled([e for e in entries if isinstance(e, dict)])]
    except OverflowError:  # `1e999` is infinity
        raise ValueError("not a flight recorder dump: an infinite number") from None
    return Recorder(version=str(loaded.get("version", "")), entries=tuple(read))


def _settled(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The operations with the state of the batch of messages that they were issued in.

    NCCL records each message of a batch as scheduled for ever, and after them one entry `coalesced` with the batch's
    state, which counts as no message of its own (torch 2.11, seen on NCCL 2.31; `is_p2p` is false there).
    """
    found: list[dict[str, Any]] = []
    batch: dict[str, Any] | None = None
    for place in reversed(range(len(entries))):
        entry, after_message = entries[place], place > 0 and entries[place - 1].get("is_p2p")
        if after_message and str(entry.get("profiling_name", "")).endswith(":coalesced"):
            batch = entry
        elif not entry.get("is_p2p"):
            batch = None
            found.append(entry)
        else:
            state = batch or entry
            found.append({**entry, "state": state.get("state"), "retired": state.get("retired")})
    return found[::-1]


def _members(config: object) -> dict[str, tuple[Rank, ...]]:
    """The global ranks of each group that the dump describes: `"ranks": "[0, 1]"`."""
    found: dict[str, tuple[Rank, ...]] = {}
    for name, group in config.items() if isinstance(config, dict) else ():
        numbers = _RANKS.findall(str(group.get("ranks", ""))) if isinstance(group, dict) else []
        found[str(name)] = tuple(Rank(int(number)) for number in numbers)
    return found


def _peer(op: str, members: tuple[Rank, ...]) -> Rank | None:
    """The peer of `send 0->1` or `recv 1<-0`, whose numbers are places in the group."""
    message = _MESSAGE.fullmatch(op)
    place = int(message.group(1)) if message else len(members)
    return members[place] if place < len(members) else None


def _entry(entry: dict[str, Any], members: dict[str, tuple[Rank, ...]]) -> RecorderEntry:
    backend, _, op = plain(str(entry.get("profiling_name", ""))).rpartition(":")
    sizes = entry.get("input_sizes") or []
    state = str(entry.get("state", ""))
    p2p = bool(entry.get("is_p2p"))
    return RecorderEntry(
        seq=int(entry.get("p2p_seq_id" if p2p else "collective_seq_id", -1)),
        op=op.partition(" ")[0] if p2p else op,
        backend=backend,
        group=_group_of(entry),
        input_sizes=tuple(tuple(int(extent) for extent in shape) for shape in sizes),
        input_dtypes=tuple(str(kind) for kind in entry.get("input_dtypes") or []),
        created_ns=int(entry.get("time_created_ns", 0)),
        state=state,
        retired=state == "completed" if entry.get("retired") is None else bool(entry["retired"]),
        p2p=p2p,
        peer=_peer(op, members.get(_group_of(entry), ())) if p2p else None,
    )


def _gap(worker: Worker, reason: str) -> Gap:
    return Gap(Source.RECORDER, worker.rank, reason)
