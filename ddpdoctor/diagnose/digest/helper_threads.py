"""Threads of its own process that a rank's main thread waits for: the producer of a queue, the worker of a future."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.progress import EndedThread
from ddpdoctor.model.stacks import Site, Thread
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.program import Program


@dataclass(frozen=True, slots=True)
class _Wait:
    """A function of the standard library that waits for another thread, and the methods that end the wait."""

    file: str
    function: str
    #: methods of the same object; empty if only the end of a thread or of its task does
    ended_by: frozenset[str] = frozenset()


_WAITS = (
    _Wait("queue.py", "get", frozenset({"put", "put_nowait"})),
    _Wait("queue.py", "join", frozenset({"task_done"})),
    _Wait("threading.py", "join"),
    _Wait("threading.py", "wait", frozenset({"set", "notify", "notify_all", "release"})),
    _Wait("concurrent/futures/_base.py", "result"),
    _Wait("concurrent/futures/_base.py", "as_completed"),
    _Wait("concurrent/futures/_base.py", "wait"),
    _Wait("concurrent/futures/thread.py", "shutdown"),
)


def awaited(program: Program, rank: RankEvidence) -> Iterator[Thread]:
    """The threads of which one ends the wait of the main thread, as far as the source tells."""
    main = frames.main_thread(rank)
    wait = _wait(main) if main else None
    site = frames.innermost_user_frame(main.frames) if main else None
    if main is None or wait is None or site is None or rank.stacks is None:
        return
    if gone(program, rank):
        return  # the one that it waits for may be among those
    others = [one for one in rank.stacks.threads if one is not main and frames.is_python_thread(one) and _places(one)]
    names = {last_name(method.value) for method in _methods(program, site)} - {""}
    for thread in others:
        held = {name for place in _places(thread) for name in _ended_in(program, place, wait)}
        # one object may have another name in the thread that was given it
        if not wait.ended_by or held & names or (held and len(others) == 1):
            yield thread


def gone(program: Program, rank: RankEvidence) -> tuple[EndedThread, ...]:
    """The threads that an exception has ended and the main thread may wait for, and the tasks of a pool that were to
    end its wait; the newest last."""
    main = frames.main_thread(rank)
    wait = _wait(main) if main else None
    ended = rank.page.ended_threads if rank.page is not None else ()
    site = frames.innermost_user_frame(main.frames) if main else None
    asked = {last_name(method.value) for method in _methods(program, site)} if site else set[str]()
    return tuple(
        one
        for one in ended
        if not one.task
        or (wait is not None and any(_gives(program, place, wait, asked) for place in one.raised.frames))
    )


def _gives(program: Program, place: Site, wait: _Wait, asked: set[str]) -> bool:
    """Whether the function around the line was to end such a wait, for an object of one of these names."""
    return not asked.isdisjoint(_ended_in(program, place, wait))


def _methods(program: Program, site: Site) -> Iterator[ast.Attribute]:
    """The methods that are called at a line."""
    return (call.func for call in enclosing.calls_on(program, site) if isinstance(call.func, ast.Attribute))


def _wait(main: Thread) -> _Wait | None:
    """What the user's line has called, if that waits for a thread: the outermost of the library's frames."""
    called = None
    for frame in main.frames:
        name = frame.function.rpartition(".")[2]
        found = next((row for row in _WAITS if row.function == name and frame.file.endswith(f"/{row.file}")), None)
        if found is None and _is_own(frame):
            return called
        called = found or called
    return None


def _places(thread: Thread) -> tuple[Site, ...]:
    """The lines of the program's own code that the thread is in."""
    return tuple(frame for frame in frames.own_frames(thread.frames) if _is_own(frame))


def _is_own(frame: Site) -> bool:
    return not frames.is_library(frame.file, frozenset())


def _ended_in(program: Program, place: Site, wait: _Wait) -> Iterator[str]:
    """The objects with which the function around the line ends such a wait, itself or by a method of the same file that
    it calls (`latch.count_down()`)."""
    function, module = enclosing.function_around(program, place), program.module(place.file)
    called = [node.func for node in walk(function) if isinstance(node, ast.Call)] if function else []
    methods = [method for method in called if isinstance(method, ast.Attribute)]
    names = {method.attr for method in methods}
    helpers = [one for one in module.of(ast.FunctionDef) if one.name in names] if module else []
    inside = [node.func for one in helpers for node in walk(one) if isinstance(node, ast.Call)]
    for method in (*methods, *inside):
        if isinstance(method, ast.Attribute) and method.attr in wait.ended_by:
            yield last_name(method.value)
