"""# DD238 lock-wait

## What
A rank waits for a lock that is not released: the lock file of a build, a download or a cache, a lock that the kernel
holds on a file (flock, fcntl), or a lock between threads of the rank itself, of which one may be waited for in a queue.
So are the places of a semaphore that no thread gives back.

## Why it hangs
A process that was killed leaves its lock file behind, and the next process polls for ever until the file is removed.
Other ranks that do not need the lock continue to a collective.

## Example
    torch.utils.cpp_extension.load(...)      # ~/.cache/torch_extensions/*/lock is left from a run that was killed

## Fix
Make sure that no process is building, then remove the lock file (`rm -rf ~/.cache/torch_extensions/*/lock`). Build on
one rank before the job, or into a folder of its own for each job. Release locks before the next collective.

## When it is wrong
The owner of the lock may be alive and busy, here or on another machine that shares the folder: then the job is slow and
does not hang. The owner of a lock between threads is identified from the source (a thread inside a `with` of the same
name), or by the kernel if it is a mutex of the C library; Python's own locks do not record their owner.

## References
https://github.com/pytorch/pytorch/issues/189245 https://github.com/PASSIONLab/OpenEquivariance/issues/207
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked import holders
from ddpdoctor.diagnose.blocked.locks import LockKind, LockWait, lock_wait, owner_sentence
from ddpdoctor.diagnose.blocked.syscall import waits_on
from ddpdoctor.diagnose.codes import LOCK_WAIT
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.ranks import RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    waits = [wait for rank in facts.blockers if (wait := lock_wait(facts, rank))]
    by_lock: dict[tuple[object, ...], list[LockWait]] = {}
    for wait in waits:
        one = wait.rank if wait.kind is LockKind.THREAD else None
        by_lock.setdefault((wait.kind, wait.name, wait.blocked.site, one), []).append(wait)
    for same in by_lock.values():
        yield _diagnosis(facts, same, RankSet.of(wait.rank for wait in waits))


def _diagnosis(facts: Facts, waits: list[LockWait], held: RankSet) -> Diagnosis:
    first = waits[0]
    ranks = RankSet.of(wait.rank for wait in waits)
    waiting = facts.waiting - held
    owners = holders.ranks_among(facts, first.owners) - ranks
    site = first.blocked.site
    # all ranks in the same wait: the lock's owner, which is none of them, is at fault
    culprits = ranks if waiting else owners
    rest = wording.held_up(facts, waiting, wording.verb(ranks, "it", "them"))
    return diagnosis(
        LOCK_WAIT,
        waiting,
        confidence=Confidence.LIKELY,
        culprits=culprits,
        summary=(
            f"{wording.ranks(ranks)} {wording.verb(ranks, 'waits', 'wait')} for {_what(first)} at {wording.place(site)}"
            f"{_held_by(facts, first)}"
        ),
        why=f"{owner_sentence(facts, first)}{_doing(facts, owners)}{rest}",
        fix=_advice(first),
        locations=(
            facts.location(ranks, site),
            *((facts.location(ranks, first.inside),) if first.inside else ()),
            *facts.locations_of(owners - waiting),
            *facts.locations_of(waiting),
        ),
        evidence=tuple(_evidence(facts, wait) for wait in waits),
    )


def _what(wait: LockWait) -> str:
    if wait.through:
        threads = f"threads, {len(wait.through)} of which wait" if len(wait.through) > 1 else "thread, which waits"
        return (
            f"its own {threads} for {'a place of the semaphore' if wait.semaphore else 'the lock'} `{wait.expression}`"
        )
    if wait.semaphore:
        return f"a place of the semaphore `{wait.expression}`"
    if wait.kind is LockKind.THREAD:
        return f"the lock `{wait.expression}`" if wait.expression else "a lock of its own process"
    if wait.path:
        return f"the lock file {wait.path}"
    return f"a lock file (`{wait.expression}`)" if wait.expression else "a lock file"


def _held_by(facts: Facts, wait: LockWait) -> str:
    """The holder, for the first line; "" if it is not known."""
    if wait.thread:
        return f", which {wait.thread} of it holds"
    alive = tuple(owner for owner in wait.owners if owner.name)
    if not alive:
        return ""
    named = holders.listed(facts, alive[:1])
    return f", which {named} holds" if wait.held else f", open in {named}"


def _doing(facts: Facts, owners: RankSet) -> str:
    """What the ranks that hold the lock are doing meanwhile."""
    if not owners:
        return ""
    doing = holders.doing(facts, owners.members[0])
    return f" {wording.ranks(owners).capitalize()} {wording.verb(owners, 'is', 'are')} {doing}."


def _advice(wait: LockWait) -> str:
    alive = any(owner.name for owner in wait.owners)
    if wait.through and not wait.semaphore:
        return "Let every thread take its locks in the same order, and hold none while it waits for another thread."
    if wait.semaphore:
        return (
            "Give each place back on every way out, with `with` or in a `finally`, also where there is nothing to do."
        )
    if wait.kind is LockKind.THREAD:
        return "Take the lock with `with`, and do not communicate or wait for other threads inside it."
    if alive:
        return f"Release the lock before the next collective; do not remove {wait.path} while a process has it open."
    named = f" {wait.path}" if wait.path else ""
    return f"Make sure that no process is using the lock{named}, then remove it; build before the job starts."


def _evidence(facts: Facts, wait: LockWait) -> str:
    blocked = wait.blocked
    what = waits_on(facts, blocked)
    inside = f"in {blocked.inside[-1].file.rpartition('/')[2]}, {blocked.inside[-1].function}" if blocked.inside else ""
    asked = f"its system call is {what}" if what else f"asleep in the kernel's {blocked.wchan}" if blocked.wchan else ""
    polled = f"sleeps for as long as `{wait.expression}`" if wait.kind is LockKind.POLLED and wait.expression else ""
    parts = [part for part in (inside, polled, asked) if part] or ["at its own line"]
    return f"rank {wait.rank}: {'; '.join(parts)}"
