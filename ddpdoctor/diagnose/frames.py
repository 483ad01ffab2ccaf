"""Reading stacks: which frames are torch's or the probe's own, and which show a thread inside a blocking wait."""

from __future__ import annotations

from collections.abc import Iterable

from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.stacks import Site, Thread

#: torch's Python functions that block in C++ on collectives which no Python function issues.
_IMPLICIT_WAITS = frozenset(
    {
        "_engine_run_backward",
        "_pre_forward",
        "_sync_buffers",
        "_sync_module_buffers",
        "_default_broadcast_coalesced",
        "_distributed_broadcast_coalesced",
        "_sync_params_and_buffers",
        "_sync_module_states",
        "_verify_param_shape_across_processes",
        "_ddp_init_helper",
        "_build_debug_param_to_name_mapping",
    }
)
#: Functions of torch.distributed that compute rather than wait.
_COMPUTING = frozenset({"_object_to_tensor", "_tensor_to_object"})
_LIBRARY_ROOTS = ("/torch/", "/ddpdoctor/probe/")


def is_torch(file: str) -> bool:
    return "/torch/" in _slashes(file)


def is_internal(file: str) -> bool:
    """A frame that no user wrote: torch's, the probe's, or the interpreter's own machinery."""
    path = _slashes(file)
    return path.startswith("/<") or any(root in path for root in _LIBRARY_ROOTS)


def is_library(file: str) -> bool:
    """Installed code rather than the user's project."""
    path = _slashes(file)
    return is_internal(file) or "/site-packages/" in path or "/dist-packages/" in path or "/lib/python3" in path


def user_frames(frames: Iterable[Site]) -> tuple[Site, ...]:
    """The user's own frames, innermost first; frames of other libraries where there is nothing else."""
    every = tuple(frames)
    own = tuple(frame for frame in every if not is_library(frame.file))
    return own or tuple(frame for frame in every if not is_internal(frame.file))


def innermost_user_frame(frames: Iterable[Site]) -> Site | None:
    return next(iter(user_frames(frames)), None)


def waits_in_torch(thread: Thread, *, backward: bool) -> bool:
    """The thread's innermost Python frame is one from which torch waits in C++."""
    if not thread.frames:
        return False
    top = thread.frames[0]
    path = _slashes(top.file)
    if backward:
        return top.function == "_engine_run_backward"
    if "/ddpdoctor/probe/" in path:
        return True
    inside = "/torch/distributed/" in path or path.endswith("/torch/_ops.py")
    return top.function in _IMPLICIT_WAITS or (inside and top.function not in _COMPUTING)


def waits_implicitly(thread: Thread) -> bool:
    """Blocked, if at all, on collectives that torch's C++ issued: backward, bucket rebuild, buffers."""
    return bool(thread.frames) and thread.frames[0].function in _IMPLICIT_WAITS and is_torch(thread.frames[0].file)


def thread_of(rank: RankEvidence, os_id: int) -> Thread | None:
    threads = rank.stacks.threads if rank.stacks else ()
    return next((thread for thread in threads if thread.os_id == os_id), None)


def main_thread(rank: RankEvidence) -> Thread | None:
    """The main thread by its kernel id (that of the process), else by its name."""
    return thread_of(rank, rank.worker.pid) or (rank.stacks.main() if rank.stacks else None)


def _slashes(file: str) -> str:
    return "/" + file.replace("\\", "/")
