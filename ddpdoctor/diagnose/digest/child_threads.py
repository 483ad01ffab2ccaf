"""The threads of a rank's child that do what the rank may wait for."""

from __future__ import annotations

import ast

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.model.processes import Child
from ddpdoctor.model.stacks import Site, Thread
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import last_name
from ddpdoctor.program.program import Program


def at_work(program: Program, child: Child, own: frozenset[str]) -> tuple[Thread, ...]:
    """Its main thread; the others in its own code if that one only keeps the process alive for them.

    A server often ends with `while True: time.sleep(1)` while its threads serve. That sleep will end, but nothing that
    anybody waits for comes of it.
    """
    main = child.stacks.main() if child.stacks else None
    if child.stacks is None or main is None or not main.frames:
        return ()
    others = tuple(one for one in child.stacks.threads if one is not main and _in_own_code(one, own))
    return others if others and _only_sleeps(program, main.frames[0]) else (main,)


def _in_own_code(thread: Thread, own: frozenset[str]) -> bool:
    return frames.is_python_thread(thread) and any(not frames.is_library(one.file, own) for one in thread.frames)


def _only_sleeps(program: Program, site: Site) -> bool:
    """Whether the line is all that a `while` around it does, and a sleep."""
    match enclosing.loop_around(program, site):
        case ast.While(body=[ast.Expr(value=ast.Call(func=function))]):
            return last_name(function) == "sleep"
    return False
