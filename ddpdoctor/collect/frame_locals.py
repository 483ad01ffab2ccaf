"""Which locals of a process's frames are kept: numbers of a fixed table in torch's frames, and the counters of the
job's own loops. Everything else that py-spy prints, in clear, is dropped before anybody sees it.
"""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddpdoctor.collect.pyspy import CONSTANTS, NUMBER
from ddpdoctor.model import json_text
from ddpdoctor.program import libraries, turn_counters
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.libraries import Kind
from ddpdoctor.program.nodes import walk

_C10D = "distributed/distributed_c10d.py"

#: (file below `torch/`, function) -> locals that are kept if they are numbers, True, False or None.
#: A group is kept only where it is None, the default group: a test looks up every name in the torch that is installed.
TORCH: Mapping[tuple[str, str], tuple[str, ...]] = {
    (_C10D, "recv"): ("src", "group_src", "tag", "group"),
    (_C10D, "send"): ("dst", "group_dst", "tag", "group"),
    (_C10D, "irecv"): ("src", "group_src", "tag", "group"),
    (_C10D, "isend"): ("dst", "group_dst", "tag", "group"),
    (_C10D, "broadcast"): ("src", "group_src", "group", "async_op"),
    (_C10D, "reduce"): ("dst", "group_dst", "group", "async_op"),
    (_C10D, "gather"): ("dst", "group_dst", "group", "async_op"),
    (_C10D, "scatter"): ("src", "group_src", "group", "async_op"),
    (_C10D, "broadcast_object_list"): ("src", "group_src", "group"),
    (_C10D, "gather_object"): ("dst", "group_dst", "group"),
    (_C10D, "scatter_object_list"): ("src", "group_src", "group"),
    (_C10D, "recv_object_list"): ("src", "group_src", "group"),
    (_C10D, "send_object_list"): ("dst", "group_dst", "group"),
    (_C10D, "all_reduce"): ("group", "async_op"),
    (_C10D, "all_gather"): ("group", "async_op"),
    (_C10D, "all_gather_object"): ("group",),
    (_C10D, "reduce_scatter"): ("group", "async_op"),
    (_C10D, "all_to_all"): ("group", "async_op"),
    (_C10D, "barrier"): ("group", "async_op"),
    ("utils/data/dataloader.py", "_next_data"): ("worker_id",),
    ("utils/data/_utils/worker.py", "_worker_loop"): ("worker_id", "num_workers"),
    ("multiprocessing/spawn.py", "_wrap"): ("i",),
}


@dataclass(frozen=True, slots=True)
class View:
    """How a process sees the machine, where it differs from how we do.

    `root` is the folder under which its files are, `threads` gives our ids of its threads.
    """

    root: str = ""
    threads: Mapping[int, int] | None = None


def kept(data: bytes, view: View = View()) -> bytes:
    """py-spy's JSON with only the locals that may be kept, and with the threads' ids as we see them.

    Of what is not py-spy's JSON nothing is left.
    """
    try:
        loaded: Any = json_text.parsed(data)
    except ValueError:
        return b"[]"
    threads = [thread for thread in loaded if isinstance(thread, dict)] if isinstance(loaded, list) else []
    for thread in threads:
        number = thread.get("os_thread_id")
        thread["os_thread_id"] = (view.threads or {}).get(number, number) if isinstance(number, int) else None
        for frame in thread.get("frames") or ():
            if isinstance(frame, dict):
                frame["locals"] = list(_of_frame(frame, view.root))
    return json.dumps(threads).encode()


def _of_frame(frame: Mapping[str, Any], root: str) -> Iterator[dict[str, str]]:
    """Name and value of each local that is kept; of several with one name the first."""
    file, line = str(frame.get("filename")), frame.get("line")
    wanted = _wanted(file, str(frame.get("name")), line if isinstance(line, int) else 0, root)
    found = frame.get("locals")
    for local in found if isinstance(found, list) and wanted else ():
        name, text = (str(local.get("name")), str(local.get("repr"))) if isinstance(local, dict) else ("", "")
        if name in wanted and (NUMBER.fullmatch(text) or text in CONSTANTS):
            yield {"name": name, "repr": text}


def _wanted(file: str, function: str, line: int, root: str) -> tuple[str, ...]:
    origin = libraries.origin(file)
    if origin == (Kind.LIBRARY, "torch"):
        below = file.replace("\\", "/").rpartition("/torch/")[2]
        return TORCH.get((below, function.rpartition(".")[2]), ())
    own = origin.kind in (Kind.PROJECT, Kind.INSTALLED) and not file.startswith("<")
    return _counters(root + file, line) if own else ()


def _counters(path: str, line: int) -> tuple[str, ...]:
    """Names that count the turns of loops around a line, or of loops before it in its function that have ended and
    whose counter has kept its last value, as the source shows."""
    return tuple(dict.fromkeys(kept.name for kept in _of_file(path) if kept.first <= line <= kept.last))


@dataclass(frozen=True, slots=True)
class _Kept:
    """A counter, and the lines between which it counts the turns of its loop."""

    name: str
    first: int
    last: int


@functools.lru_cache(maxsize=64)
def _of_file(path: str) -> tuple[_Kept, ...]:
    """The counters of all loops of a file; what is kept for long are names and lines, no trees."""
    try:
        tree = ast.parse(Path(path).read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return ()
    loops = [node for node in walk(tree) if isinstance(node, turn_counters.LOOPS)]
    return tuple(
        _Kept(name, loop.lineno, turn_counters.kept_until(innermost_function(tree, loop.lineno) or tree, loop, name))
        for loop in loops
        for name in turn_counters.names(loop)
    )
