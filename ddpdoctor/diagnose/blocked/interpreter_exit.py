"""Ranks on their way out of the program: in the interpreter's exit, or in the destruction of the group."""

from __future__ import annotations

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site, Thread

#: functions of the interpreter and of multiprocessing that only run when a program is over
_AT_EXIT = frozenset({"_shutdown", "_run_exitfuncs", "_exit_function", "_python_exit"})
#: multiprocessing's function that runs the target of a process, and then ends the process
_STARTS = "_bootstrap"


def is_over(facts: Facts, rank: Rank) -> bool:
    """The main thread has left the program and does not come to its end."""
    names = _names(facts, rank)
    # a process that multiprocessing started is over below its _bootstrap, a program below nothing
    callers = [*names[1:], _STARTS]
    return any(name in _AT_EXIT and caller == _STARTS for name, caller in zip(names, callers, strict=False))


def is_leaving(facts: Facts, rank: Rank) -> bool:
    """The program is over, or destroys its process group."""
    return is_over(facts, rank) or "destroy_process_group" in _names(facts, rank)


def _names(facts: Facts, rank: Rank) -> list[str]:
    """Functions that the main thread stands still in, innermost first."""
    seen = facts.evidence.rank(rank)
    main = frames.main_thread(seen) if seen and seen.exit is None else None
    if main is None or facts.state(rank).activity not in (Activity.STILL, Activity.WAITING):
        return []
    return [frame.function.rpartition(".")[2] for frame in main.frames]


def kept_by(facts: Facts, rank: Rank) -> tuple[str, Site] | None:
    """A thread of the user's that still lives: its name and the place it stands at."""
    seen = facts.rank(rank)
    main = frames.main_thread(seen)
    threads: tuple[Thread, ...] = seen.stacks.threads if seen.stacks else ()
    for thread in threads:
        own = [frame for frame in thread.frames if not facts.is_library(frame.file)]
        if thread is not main and own:
            return thread.name or str(thread.os_id), own[0]
    return None
