"""A program: reads a recorder's dump from stdin, as pickle or JSON, and writes to stdout what the live reader needs.

`python -m ddpdoctor.archive.recorder_json`: a process of its own with limits of memory and time, since a file that is
read from a job may be crafted. Exit status 1 if it is no dump.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from ddpdoctor.archive import resource_limits, unpickle
from ddpdoctor.archive.input_files import MOST_BYTES
from ddpdoctor.model import json_text

#: seconds of processor time
MOST_SECONDS = 8.0
#: entries that a recorder can be told to keep, and more; and characters of a value
_MOST_ENTRIES = 100_000
_LONGEST = 300
_MOST_EXTENTS = 48
_FIELDS = (
    "profiling_name", "process_group", "pg_id", "collective_seq_id", "seq_id", "time_created_ns", "state", "retired",
    "is_p2p",
)  # fmt: skip


def reduced(data: bytes) -> dict[str, Any]:
    """A dump's operations with the fields that count, oldest first. Raises ValueError if it is none."""
    loaded: Any = unpickle.load(data) if data[:1] == b"\x80" else json_text.parsed(data)
    entries = loaded.get("entries", []) if isinstance(loaded, dict) and "version" in loaded else None
    if not isinstance(entries, list) or len(entries) > _MOST_ENTRIES:
        raise ValueError("not a flight recorder dump")
    return {"version": _plain(loaded["version"]), "entries": [_entry(e) for e in entries if isinstance(e, dict)]}


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    kept = {name: _plain(entry[name]) for name in _FIELDS if entry.get(name) is not None}
    kept.setdefault("collective_seq_id", kept.pop("seq_id", -1))
    kept["input_sizes"] = [_plain(shape) for shape in _list(entry.get("input_sizes"))]
    kept["input_dtypes"] = [_plain(kind) for kind in _list(entry.get("input_dtypes"))]
    return kept


def _plain(value: object) -> object:
    """A scalar, or a short list of scalars. Raises ValueError for anything else."""
    if isinstance(value, str):
        return value[:_LONGEST]
    if isinstance(value, (bool, int)) and -(1 << 63) <= value < 1 << 63:
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(one, (str, int)) for one in value[:_MOST_EXTENTS]):
        return [_plain(one) for one in value[:_MOST_EXTENTS]]
    raise ValueError("not a value of a flight recorder")


def _list(value: object) -> list[Any]:
    return list(value[:_MOST_EXTENTS]) if isinstance(value, (list, tuple)) else []


def main() -> int:
    data = sys.stdin.buffer.read(MOST_BYTES)
    with os.fdopen(os.dup(1), "wb") as out:
        resource_limits.impose()
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        try:
            out.write(json.dumps(reduced(data)).encode())
        except (ValueError, RecursionError):
            return 1
        except MemoryError:
            os._exit(resource_limits.OUT_OF_MEMORY)
    return 0


if __name__ == "__main__":
    sys.exit(main())
