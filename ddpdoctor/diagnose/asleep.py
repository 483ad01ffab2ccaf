"""A rank that stands still: what its main thread sleeps in, as far as stack and kernel tell."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from ddpdoctor.diagnose import frames
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.standing import Activity
from ddpdoctor.model.processes import Descriptor
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
    threads = seen.process.threads if seen.process else ()
    state = next((thread for thread in threads if thread.os_id == seen.worker.pid), None)
    descriptors = seen.process.descriptors if seen.process else ()
    target = next((d for d in descriptors if state and d.number == state.descriptor), None)
    return Sleep(site, inside, state.wchan if state else "", state.call if state else "", target)
