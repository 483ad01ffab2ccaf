"""Where the watchers of a job on several nodes can meet: the store that the job itself has.

A watcher is told the store's address in a file of its run directory, and the first rank of every watcher writes into
the store that it is watched. Nothing is done in a job that one watcher sees as a whole.

The job's client of the store has one lock, so it is used on the main thread right after `init_process_group` alone,
when it has just served, and for a `set`, which waits for no answer.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from contextlib import suppress
from typing import Any

#: first word of all our keys; the number is that of the protocol
ROOT = "ddpdoctor/1"
#: the file in the run directory, with the attempt's number and the job's size at its end
NOTE = "store."
#: the address of a store that other processes cannot connect to
NOWHERE = ("", 0)
#: marks an attempt whose first rank has registered
REGISTERED = "registered."

_ODD = re.compile(r"[^A-Za-z0-9_.-]")


def namespace(environ: Any, world_size: int) -> str:
    """What the keys of one attempt of a job begin with: its name, the number of the attempt, its size."""
    step = "-".join(environ[name] for name in ("SLURM_JOB_ID", "SLURM_STEP_ID") if name in environ)
    name = environ.get("TORCHELASTIC_RUN_ID") or step or "job"
    return f"{ROOT}/{_ODD.sub('_', name)[:64]}.{_attempt(environ)}.{world_size}"


def _attempt(environ: Any) -> int:
    return _number(environ, "TORCHELASTIC_RESTART_COUNT")


def _number(environ: Any, name: str) -> int:
    text = environ.get(name, "")
    return int(text) if text.isdigit() else 0


def note_before(run: str, environ: Any, place: tuple[int, int]) -> None:
    """Tell the watcher the store's address before the rendezvous, which may block, where the launcher says that the
    job spans several nodes and where its ranks meet. `place`: rank and world size. Raises OSError."""
    world_size = place[1]
    if not 0 < _local_size(environ) < world_size:
        return
    host, port = environ.get("MASTER_ADDR", ""), environ.get("MASTER_PORT", "")
    if host and port.isdigit():
        _write_note(run, environ, place, (host, int(port)))


def register(run: str, environ: Any, place: tuple[int, int], default_store: Any) -> None:
    """Say in the job's store that this node is watched; `place`: rank and world size. Raises OSError, RuntimeError."""
    rank, world_size = place
    if not _is_on_several(run, environ, world_size):
        return
    store = _tcp_store(default_store)
    suffix = f"{_attempt(environ)}.{world_size}"
    if not _is_first(os.path.join(run, REGISTERED + suffix)):
        return
    _write_note(run, environ, place, (str(store.host), int(store.port)) if store is not None else NOWHERE)
    if store is None:
        return
    first = rank - _number(environ, "LOCAL_RANK")
    store.set(f"{namespace(environ, world_size)}/node/{first}", _registration(first, _local_size(environ)))


def _is_on_several(run: str, environ: Any, world_size: int) -> bool:
    """Whether other watchers have ranks of this job. When a group has been made, all its ranks have pages."""
    local = _local_size(environ)
    if local > 0:
        return local < world_size
    return sum(name.endswith(".page") for name in os.listdir(run)) < world_size


def _local_size(environ: Any) -> int:
    return _number(environ, "LOCAL_WORLD_SIZE")


def _tcp_store(store: Any) -> Any:
    """The store below all prefixes, if others can connect to it."""
    for _ in range(8):
        if hasattr(store, "host") and hasattr(store, "port"):
            return store
        store = getattr(store, "underlying_store", None)
    return None


def _is_first(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return False
    return True


def _write_note(run: str, environ: Any, place: tuple[int, int], address: tuple[str, int]) -> None:
    rank, world_size = place
    note = {
        "host": address[0],
        "port": address[1],
        "namespace": namespace(environ, world_size),
        "world_size": world_size,
        "rank": rank,
        "pid": os.getpid(),
        "python": sys.executable,
    }
    path = os.path.join(run, f"{NOTE}{_attempt(environ)}.{world_size}")
    if os.path.exists(path):
        return
    building = f"{path}.{os.getpid()}"
    with open(building, "w", encoding="utf-8") as file:
        json.dump(note, file)
    os.rename(building, path)


def _registration(rank: int, ranks: int) -> bytes:
    """Which host it is, which clock its times are of, and how that clock stands to the time of day."""
    facts = {"host": os.uname().nodename[:64], "rank": rank, "ranks": ranks, "clock": clock()}
    facts["offset"] = round(time.time() - time.monotonic(), 3)
    return json.dumps(facts, separators=(",", ":")).encode()


def clock() -> str:
    """What distinguishes this CLOCK_MONOTONIC from others': the boot, and the time namespace where there is one."""
    with suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read(8)
        with suppress(OSError):
            return f"{boot}.{re.sub('[^0-9]', '', os.readlink('/proc/self/ns/time'))}"
        return boot
    return ""
