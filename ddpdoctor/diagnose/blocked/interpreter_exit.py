"""Ranks that are leaving the program: in the interpreter's exit, or destroying the process group."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.diagnose.blocked.syscall import blocked_syscall
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site, Thread
from ddpdoctor.program.modules import Module

#: functions of the interpreter and of multiprocessing that run only after the program has ended
_AT_EXIT = frozenset({"_shutdown", "_run_exitfuncs", "_exit_function", "_python_exit"})
#: multiprocessing's function that runs the target of a process and then ends the process
_STARTS = "_bootstrap"
#: multiprocessing.Queue's exit hook: it joins the thread that writes into the queue's pipe what was put
_JOINS_QUEUE = "_finalize_join"
_QUEUES = frozenset({"multiprocessing.Queue", "multiprocessing.JoinableQueue", "torch.multiprocessing.Queue"})


def is_over(facts: Facts, rank: Rank) -> bool:
    """Whether the main thread has left the program and its process does not end."""
    names = _names(facts, rank)
    # a process of multiprocessing has left the program when only _bootstrap is below; a script when nothing is
    callers = [*names[1:], _STARTS]
    return any(name in _AT_EXIT and caller == _STARTS for name, caller in zip(names, callers, strict=False))


def is_leaving(facts: Facts, rank: Rank) -> bool:
    """Whether the program has ended, is destroying its process group, or joins what wrote into its queue."""
    return is_over(facts, rank) or "destroy_process_group" in _names(facts, rank) or in_queue(facts, rank)


def stays_behind(facts: Facts, rank: Rank) -> bool:
    """Whether it waits for a thread of its own (`Queue.join()`, a pool's shutdown), and has done all that those did
    which have ended."""
    blocked = blocked_syscall(facts, rank)
    ended = facts.doing(Activity.EXITED)
    mine = facts.histories.get(rank)
    if blocked is None or not blocked.for_a_thread or not ended or mine is None:
        return False
    theirs = [facts.histories.get(other) for other in ended]
    return bool(mine.steps) and all(other is not None and other.steps[-1:] == mine.steps[-1:] for other in theirs)


def _names(facts: Facts, rank: Rank) -> list[str]:
    """The functions in which the main thread is blocked, innermost first."""
    seen = facts.evidence.rank(rank)
    main = frames.main_thread(seen) if seen and seen.exit is None else None
    if main is None or facts.state(rank).activity not in (Activity.STILL, Activity.WAITING):
        return []
    return [frame.function.rpartition(".")[2] for frame in main.frames]


def in_queue(facts: Facts, rank: Rank) -> bool:
    """Whether the process waits until what it put into a multiprocessing.Queue is read ("Joining processes that use
    queues", docs.python.org/3/library/multiprocessing.html), as it exits or by `join_thread()`.
    """
    return _JOINS_QUEUE in _names(facts, rank)


def made_queue(facts: Facts) -> Site | None:
    """The only line of the program that makes such a queue: in which the process waits, its stack does not show."""
    found = list(_made_queues(facts))
    return found[0] if len(found) == 1 else None


def _made_queues(facts: Facts) -> Iterator[Site]:
    for file in facts.program:
        module = None if facts.is_library(file) else facts.program.module(file)
        for call in module.of(ast.Call) if module else ():
            if module is not None and _is_queue(module, call.func):
                yield Site(file, call.lineno, "")


def _is_queue(module: Module, made: ast.expr) -> bool:
    """`mp.Queue`; `context.Queue` of what no import names."""
    named = module.imported(made)
    return named in _QUEUES or (
        not named and isinstance(made, ast.Attribute) and made.attr in ("Queue", "JoinableQueue")
    )


def kept_by(facts: Facts, rank: Rank) -> tuple[str, Site] | None:
    """What keeps the process from its exit, and where that stands: the child that it joins, or a thread of the user's
    program that is still alive."""
    seen = facts.rank(rank)
    main = frames.main_thread(seen)
    if main is not None and any("/multiprocessing/popen_" in frame.file for frame in main.frames):
        return _joined_child(facts, seen)
    threads: tuple[Thread, ...] = seen.stacks.threads if seen.stacks else ()
    for thread in threads:
        own = [frame for frame in thread.frames if not facts.is_library(frame.file)]
        if thread is not main and own:
            return f"its thread {thread.name or str(thread.os_id)!r}", own[0]
    return None


def _joined_child(facts: Facts, seen: RankEvidence) -> tuple[str, Site] | None:
    """The only child of the rank that is in code of the program."""
    mains = ((child, child.stacks.main()) for child in seen.children if child.stacks)
    places = (
        (child, next((frame for frame in thread.frames if not facts.is_library(frame.file)), None))
        for child, thread in mains
        if thread
    )
    found = [(f"its child process {child.worker.pid}", site) for child, site in places if site]
    return found[0] if len(found) == 1 else None
