"""What a rank needs in order to continue, from the kernel, the stacks or the source: sentences for cases without a
rule.
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked import holders, interpreter_exit, store_keys
from ddpdoctor.diagnose.blocked.syscall import BlockedSyscall, blocked_syscall, waits_on
from ddpdoctor.diagnose.digest import file_polling, frames
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.ranks import Rank, RankSet

_MOST_THREADS = 3


def what_for(facts: Facts, blockers: RankSet) -> str:
    found = next((text for rank in blockers if (text := _need(facts, rank))), "")
    return found or "No rule knows what it waits for: a sleep, a lock, a file, the network."


def _need(facts: Facts, rank: Rank) -> str:
    """What the rank needs in order to continue, as a sentence, if kernel or source tell."""
    if interpreter_exit.is_over(facts, rank):
        kept = interpreter_exit.kept_by(facts, rank)
        by = f" and waits for its thread {kept[0]!r} at {wording.place(kept[1])}" if kept else ""
        return (
            f"It has left the program{by}: the process does not exit, and does not reach the call that the others "
            "wait for."
        )
    blocked = blocked_syscall(facts, rank)
    if blocked is None:
        return ""
    poll = file_polling.polled_file(facts.program, blocked.site)
    if poll is not None and not poll.gone:
        return f"It sleeps in a loop until `{poll.check}` finds the file; which process has to create it is not known."
    peers = holders.peers(facts, blocked.target, blocked.holders) if blocked.target else RankSet()
    if peers - RankSet.of([rank]):
        return f"It waits for {wording.ranks(peers)} over one of the program's own connections."
    if blocked.for_a_thread:
        return _of_threads(facts, rank, blocked)
    what = waits_on(facts, blocked)
    return f"It is inside {what}.{_of_child(facts, rank, blocked)}" if what else ""


def _of_threads(facts: Facts, rank: Rank, blocked: BlockedSyscall) -> str:
    """Where the threads are of which one has to wake it, as a sentence."""
    what = f"It waits for another thread of its own process, in {blocked.inside[-1].function}"
    seen = facts.rank(rank)
    places = []
    for thread in seen.stacks.threads if seen.stacks else ():
        own = [frame for frame in thread.frames if not facts.is_library(frame.file)]
        if own and thread.os_id != seen.thread:
            name = thread.name or thread.os_id
            places.append(f"{name} at {wording.place(own[0])}{_call_of(seen, thread.os_id)}")
    if not places:
        return f"{what}; no other thread is in code of the program."
    return f"{what}. Its other threads: {'; '.join(places[:_MOST_THREADS])}."


def _call_of(seen: RankEvidence, os_id: int) -> str:
    """` in read on pipe:[7]`: a thread's system call; "" if the kernel does not report it."""
    process = seen.process
    state = next((one for one in process.threads if one.os_id == os_id), None) if process else None
    if process is None or state is None or not state.call:
        return ""
    about = next((d.target for d in process.descriptors if d.number == state.descriptor), state.path)
    return f" in {state.call} on {about}" if about else ""


def _of_child(facts: Facts, rank: Rank, blocked: BlockedSyscall) -> str:
    """Where the child that it waits for is, as a sentence."""
    child = next((one for holder in blocked.holders if (one := holders.child_of(facts, rank, holder))), None)
    main = child.stacks.main() if child and child.stacks else None
    site = frames.innermost_user_frame(main.frames) if main else None
    return f" That process is at {wording.place(site)}." if site else ""


def details(facts: Facts, rank: Rank) -> Iterator[str]:
    yield facts.state(rank).label
    blocked = blocked_syscall(facts, rank)
    what = waits_on(facts, blocked) if blocked else ""
    if what:
        yield f"its system call is {what}"


def keys(facts: Facts) -> str:
    """The store keys that ranks wait for, as a sentence that follows others."""
    wait = next((wait for wait in facts.graph.all_waits() if wait.key), None)
    if wait is None:
        return ""
    found = store_keys.setters(facts, wait.key)
    return f" Rank {wait.rank} waits for the store's key '{wait.key}'. {owed(facts, wait.key, found, RankSet())}"


def owed(facts: Facts, key: str, found: tuple[store_keys.Setter, ...], culprits: RankSet) -> str:
    """Which lines set the key, and what the rank that should set it does instead."""
    if not found:
        return f"No line that was read sets '{key}'."
    places = ", ".join(
        f"{wording.place(setter.site)}{f' under `{setter.condition}`' if setter.condition else ''}" for setter in found
    )
    if not culprits:
        return f"'{key}' is set at {places}; which rank has to set it is not known."
    rank = culprits.members[0]
    return f"'{key}' is set at {places}, on rank {rank}, which is {holders.doing(facts, rank)}."
