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
from ddpdoctor.program import libraries
from ddpdoctor.program.libraries import Kind
from ddpdoctor.program.nodes import last_name, walk

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

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
#: iterables whose first item counts
_COUNTING = frozenset({"range", "trange", "enumerate", "count"})


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


@functools.lru_cache(maxsize=512)
def _counters(path: str, line: int) -> tuple[str, ...]:
    """Names that count the rounds of the loops around a line, as the source shows."""
    tree = _parsed(path)
    if tree is None:
        return ()
    loops = [node for node in walk(tree) if isinstance(node, _LOOPS) and node.lineno <= line <= (node.end_lineno or 0)]
    return tuple(dict.fromkeys(name for loop in loops for name in counters_of(loop)))


def counters_of(loop: ast.For | ast.AsyncFor | ast.While) -> Iterator[str]:
    """`step` of `for step in range(9)`, of `for step, batch in enumerate(loader)` and of `step += 1` in its body."""
    if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) in _COUNTING:
        target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) and loop.target.elts else loop.target
        if isinstance(target, ast.Name):
            yield target.id
    for statement in loop.body:
        match statement:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.Constant(value=1)):
                yield name


@functools.lru_cache(maxsize=64)
def _parsed(path: str) -> ast.Module | None:
    try:
        return ast.parse(Path(path).read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return None
