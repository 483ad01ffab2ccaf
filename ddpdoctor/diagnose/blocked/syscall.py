"""A rank that stands still: what its main thread sleeps in, as far as stack and kernel tell."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ddpdoctor.diagnose.blocked import holders
from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.processes import Child, Descriptor, Holder, LockFile, ProcessState
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site


@dataclass(frozen=True, slots=True)
class Sleep:
    """How one rank's main thread stands still."""

    #: innermost frame of the user's own code
    site: Site
    #: frames of libraries that the user's line called, innermost first
    inside: tuple[Site, ...]
    #: kernel function that it sleeps in, "" where the kernel does not say
    wchan: str
    #: system call that it is inside of, "" where unknown
    call: str
    #: what that call is about
    target: Descriptor | None
    #: path that the call is about, "" for calls about descriptors
    path: str = ""
    #: who holds what it waits on
    holders: tuple[Holder, ...] = ()
    #: why there may be more of them, "" where everybody was looked at
    unseen: str = ""
    #: lock files that the process says it sleeps for
    lock_files: tuple[LockFile, ...] = ()

    def calls(self, *names: str) -> bool:
        return self.call in names

    def within(self, *paths: str) -> bool:
        """A library frame stands in one of these files or folders."""
        return any(path in frame.file for frame in self.inside for path in paths)


def sleep_of(facts: Facts, rank: Rank) -> Sleep | None:
    """None for a rank that moves, waits for others, holds the interpreter's lock, or shows no line of the user's."""
    standing = facts.standing(rank)
    seen = facts.evidence.rank(rank)
    main = frames.main_thread(seen) if seen else None
    if seen is None or main is None or standing.activity is not Activity.STILL or standing.holds_gil:
        return None
    site = frames.innermost_user_frame(main.frames)
    if site is None:
        return None
    inside = tuple(itertools.takewhile(lambda frame: frame != site, main.frames))
    return _sleep(site, inside, seen.process, seen.worker.pid)


def sleep_of_child(child: Child, site: Site, inside: tuple[Site, ...]) -> Sleep:
    """How the main thread of a rank's child stands still."""
    return _sleep(site, inside, child.process, child.worker.pid)


def _sleep(site: Site, inside: tuple[Site, ...], process: ProcessState | None, pid: int) -> Sleep:
    state = next((thread for thread in process.threads if thread.os_id == pid), None) if process else None
    if process is None or state is None:
        return Sleep(site, inside, "", "", None)
    target = next((d for d in process.descriptors if d.number == state.descriptor), None)
    about = state.path, state.holders, state.unseen, process.lock_files
    return Sleep(site, inside, state.wchan, state.call, target, *about)


def waits_on(facts: Facts, sleep: Sleep) -> str:
    """`read on descriptor 5, pipe:[77]; at its other end: process 9 (python serve.py), outside of the job`.

    "" where the kernel does not say.
    """
    if sleep.call == "wait4" and sleep.holders:
        return f"wait4, for the end of {holders.listed(facts, sleep.holders)}"
    if not sleep.call or not (sleep.target or sleep.path):
        return ""
    what = sleep.path or (f"descriptor {sleep.target.number}, {sleep.target.target}" if sleep.target else "")
    held = holders.listed(facts, sleep.holders)
    ends = {"pipe": "at its other end", "socket": "at its other end"}
    where = ends.get(sleep.target.kind if sleep.target else "", "held by")
    unseen = f"; who holds it was not seen: {sleep.unseen}" if sleep.unseen and not held else ""
    return f"{sleep.call} on {what}{f'; {where}: {held}' if held else unseen}"
