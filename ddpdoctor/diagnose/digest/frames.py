"""Stack frames: which belong to torch or the probe, and which show a thread inside a blocking wait."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from ddpdoctor.model.collectives import Call
from ddpdoctor.model.collectives import Kind as CallKind
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.framework_meetings import MEETINGS
from ddpdoctor.model.stacks import Site, Thread
from ddpdoctor.model.torch_internals import Meaning, functions, is_in, shows
from ddpdoctor.program import libraries
from ddpdoctor.program.libraries import Kind

#: Outermost functions of a program and of its processes.
_ROOTS = frozenset({"<module>", "_main", "main"})


def is_torch(file: str) -> bool:
    return libraries.origin(file) == (Kind.LIBRARY, "torch")


def is_internal(file: str) -> bool:
    """Whether the file is not user code: torch, the probe, or the interpreter's own machinery."""
    return file.startswith("<") or libraries.origin(file) in ((Kind.LIBRARY, "torch"), (Kind.LIBRARY, "ddpdoctor"))


def is_library(file: str, own: frozenset[str]) -> bool:
    """Whether the file is code that the job uses rather than runs. `own`: the installed packages that the job runs."""
    return file.startswith("<") or not libraries.is_own(file, own)


def own_packages(evidence: Evidence) -> frozenset[str]:
    """The installed packages that the job runs, from its pages or from the frames of its main threads and exceptions.

    A main thread that is exiting has left the program, so its frames are not used.
    """
    stacks = [main.frames for rank in evidence.ranks if (main := main_thread(rank))]
    ended = [rank.page.ending.raised if rank.page and rank.page.ending else rank.raised for rank in evidence.ranks]
    stacks += [raised.frames for raised in ended if raised]
    run = [stack for stack in stacks if any(frame.function == "<module>" for frame in stack)]
    recorded = {package for rank in evidence.ranks if rank.page for package in rank.page.own_packages}
    return libraries.own_packages((frame.file for frame in stack) for stack in run) | recorded


def own_frames(frames: Iterable[Site]) -> tuple[Site, ...]:
    """The frames of the program itself (the code that the stack's outermost frames belong to), innermost first."""
    every = tuple(frames)
    run = libraries.own_packages([(frame.file for frame in every)])
    return tuple(frame for frame in every if not is_library(frame.file, run))


def user_frames(frames: Iterable[Site]) -> tuple[Site, ...]:
    """The program's own frames, innermost first; frames of libraries other than torch if there are no others."""
    every = tuple(frames)
    return own_frames(every) or tuple(frame for frame in every if not is_internal(frame.file))


def innermost_user_frame(frames: Iterable[Site]) -> Site | None:
    return next(iter(user_frames(frames)), None)


def waits_in_torch(thread: Thread, *, backward: bool) -> bool:
    """Whether the thread's innermost Python frame is one from which torch waits in C++."""
    if not thread.frames:
        return False
    top = thread.frames[0]
    path = _slashes(top.file)
    if backward:
        return _runs_backward(top)
    if "/ddpdoctor/probe/" in path or waits_implicitly(thread):
        return True
    return "/torch/distributed/" in path and _name(top) not in functions(Meaning.COMPUTES)


def waits_in_call(thread: Thread, call: Call) -> bool:
    """Whether the thread's stack agrees with a call in flight: it is where torch, or the framework, waits."""
    if meeting := MEETINGS.get(call.op):
        return any(meeting.shows(_slashes(frame.file), frame.function) for frame in thread.frames)
    return waits_in_torch(thread, backward=call.kind is CallKind.BACKWARD)


def waits_implicitly(thread: Thread) -> bool:
    """Whether the thread, if blocked, waits for collectives that torch's C++ issued (backward, buckets, buffers)."""
    if not thread.frames or not is_torch(thread.frames[0].file):
        return False
    if _name(thread.frames[0]) in functions(Meaning.WAITS_UNSEEN) or _runs_backward(thread.frames[0]):
        return True
    below_dispatch = next((frame for frame in thread.frames if not _is_dispatch(frame)), thread.frames[-1])
    return shows(below_dispatch.file, below_dispatch.function, Meaning.WAITS_FOR_TENSOR)


def are_in(frames: Iterable[Site], meaning: Meaning) -> bool:
    """Whether one of the frames is in a file of torch with this meaning."""
    return any(is_in(frame.file, meaning) for frame in frames)


def _runs_backward(frame: Site) -> bool:
    """Whether it is torch's last Python frame before the autograd engine (`backward` itself before torch 2.3)."""
    return shows(frame.file, frame.function, Meaning.RUNS_BACKWARD)


def engine_thread(rank: RankEvidence) -> Thread | None:
    """The thread of the autograd engine that runs Python hooks (FSDP, DeepSpeed and others). None if it is ambiguous.

    C++ started that thread, so neither `threading` nor a module is at its root.
    """
    main = main_thread(rank)
    threads = rank.stacks.threads if rank.stacks else ()
    found = [
        thread
        for thread in threads
        if thread is not main
        and thread.frames
        and thread.frames[-1].function not in _ROOTS
        and not is_python_thread(thread)
    ]
    return found[0] if len(found) == 1 else None


def is_python_thread(thread: Thread) -> bool:
    """Whether Python's `threading` started the thread."""
    return any(_name(frame) in ("_bootstrap", "_bootstrap_inner") for frame in thread.frames[-2:])


def torch_call(thread: Thread) -> str:
    """The function of torch that the user's code called: the outermost frame of the innermost run of torch frames."""
    called = list(itertools.takewhile(lambda frame: is_internal(frame.file), thread.frames))
    names = [_name(frame) for frame in reversed(called) if is_torch(frame.file)]
    return next((name for name in names if name not in ("wrapper", "inner", "__call__")), "a torch call")


def _is_dispatch(frame: Site) -> bool:
    """Whether the frame belongs to torch's dispatch from a Python operator to C++."""
    return is_in(frame.file, Meaning.DISPATCHES)


def _name(frame: Site) -> str:
    """The function's name without qualification; from Python 3.11 on py-spy reports the qualified name."""
    return frame.function.rpartition(".")[2]


def same_place(left: Site | None, right: Site | None) -> bool:
    """Whether both are the same line. Function names are not compared: stacks have qualified ones, pages may not."""
    return left is not None and right is not None and (left.file, left.line) == (right.file, right.line)


def thread_of(rank: RankEvidence, os_id: int) -> Thread | None:
    threads = rank.stacks.threads if rank.stacks else ()
    return next((thread for thread in threads if thread.os_id == os_id), None)


def main_thread(rank: RankEvidence) -> Thread | None:
    """The thread that trains, found by its kernel id, else the main thread: by its id (the process's) or its name.

    Where no page tells which one trains, the main thread may only serve a framework (Ray's workers): then it is the one
    that runs the program.
    """
    found = thread_of(rank, rank.thread) or thread_of(rank, rank.worker.pid)
    main = found or (rank.stacks.main() if rank.stacks else None)
    if rank.page is not None or rank.stacks is None or main is None or not main.frames or own_frames(main.frames):
        return main
    running = [thread for thread in rank.stacks.threads if own_frames(thread.frames)]
    return running[0] if len(running) == 1 else main


def _slashes(file: str) -> str:
    return "/" + file.replace("\\", "/")
