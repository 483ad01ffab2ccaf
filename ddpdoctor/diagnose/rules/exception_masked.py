"""# DD253 exception-masked

## What
A rank raised an exception, but its process does not end: a `finally:` or `except:` calls a collective, or a non-daemon
thread, an atexit hook or a destructor keeps the process alive. No traceback is printed. Or an exception ended a thread
of the rank, a producer for instance, or a task that a pool ran and whose result nobody reads, and the main thread waits
for what that thread or task would have done.

## Why it hangs
The rank will never reach the collective that the others are in, and the launcher sees no failure.

## Example
    try:
        train()                              # raises on one rank
    finally:
        dist.barrier()                       # the others are in train()'s all_reduce

## Fix
Fix the error in the traceback. Do not call collectives in `finally:` or `except:`. Make helper threads daemons.

## When it is wrong
An exception that is handled on purpose, in an `except:` that communicates on all ranks, looks the same. The diagnosis
is `certain` only if this rank alone diverged from the others, at this place. If the histories blame another rank, or
the exception reports that a peer is gone, it is at most `possible`.

## References
https://github.com/pytorch/torchtitan/issues/1342 https://github.com/pytorch/pytorch/issues/196968
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked import holders
from ddpdoctor.diagnose.blocked.syscall import BlockedSyscall, blocked_syscall
from ddpdoctor.diagnose.codes import EXCEPTION_MASKED
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest import failure as failures
from ddpdoctor.diagnose.digest import helper_threads
from ddpdoctor.diagnose.digest.exceptions import retry_of
from ddpdoctor.diagnose.digest.failure import Failure
from ddpdoctor.diagnose.divergence import except_clauses
from ddpdoctor.diagnose.divergence.divergences import Divergence, divergences
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.progress import EndedThread, Raised
from ddpdoctor.model.ranks import Rank, RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    masked = [one for one in facts.masked if not _tries_again(facts, one)]
    if facts.outcome is Outcome.HANG and masked:
        blamed = RankSet.of(rank for divergence in divergences(facts) for rank in divergence.culprits)
        first = min(masked, key=lambda one: (one.victim, one.rank not in blamed, one.time))
        yield _diagnosis(facts, first)
    if facts.outcome is Outcome.HANG:
        for rank in facts.blockers:
            gone, blocked = helper_threads.gone(facts.program, facts.rank(rank)), blocked_syscall(facts, rank)
            if gone and blocked is not None and blocked.for_a_thread:
                yield _of_thread(facts, rank, gone[-1], blocked)


def _of_thread(facts: Facts, rank: Rank, thread: EndedThread, blocked: BlockedSyscall) -> Diagnosis:
    """The main thread waits for a thread that is gone; that it waits for this one is not recorded."""
    culprit = RankSet.of([rank])
    waiting = facts.waiting - culprit
    site = failures.raised_site(thread.raised)
    message = failures.said(thread.raised)
    name = f"thread {thread.name!r}" if thread.name else "a thread"
    lost, still = "one of them is gone.", "a thread"
    passed = "let the thread pass its exception on (through the queue, or a future) and the one that waits raise it."
    if thread.task:
        name, still = f"a task of {name}", "what it was to bring"
        lost = "the task that was to end this wait has failed. Its exception is in a future that nobody reads."
        passed = "keep what `submit()` returns and ask it for its `result()`, which raises the exception."
    return diagnosis(
        EXCEPTION_MASKED,
        waiting,
        confidence=Confidence.LIKELY,
        culprits=culprit,
        summary=(
            f"{name} of rank {rank} ended with {thread.raised.type}{': ' + message if message else ''}"
            f"{f' at {wording.place(site)}' if site else ''}, and rank {rank} still waits for {still}"
        ),
        why=(
            f"The main thread of rank {rank} waits at {wording.place(blocked.site)}, in {blocked.inside[-1].function}, "
            f"for another thread of its process, and {lost}{wording.held_up(facts, waiting)}"
        ),
        fix=f"Fix the error in the traceback; {passed}",
        locations=(
            *((facts.location(culprit, site),) if site else ()),
            facts.location(culprit, blocked.site),
            *facts.locations_of(waiting),
        ),
        evidence=(f"rank {rank}: {facts.state(rank).label}",),
        traceback=thread.raised.traceback,
        retry=retry_of(thread.raised),
    )


def _tries_again(facts: Facts, one: Failure) -> bool:
    """The exception makes a loop wait and try again, or go on to the next turn: `except FileExistsError:
    time.sleep(1)`. The rank is not on its way out then, whatever it waits for in the handler."""
    return one.raised is not None and any(
        except_clauses.tries_again(facts.program, frame, place.line)
        for frame in facts.stack(one.rank)
        for place in one.raised.frames
        if place.file == frame.file and place.plain_function == frame.plain_function
    )


def _diagnosis(facts: Facts, first: Failure) -> Diagnosis:
    culprit = RankSet.of([first.rank])
    raised = first.raised
    site = failures.raised_site(raised) if raised else None
    waiting = facts.waiting - culprit
    confidence = _confidence(facts, first)
    name = raised.type if raised else "an exception"
    message = failures.said(raised) if raised else ""
    where = f" at {wording.place(site)}" if site else ""
    return diagnosis(
        EXCEPTION_MASKED,
        waiting,
        confidence=confidence,
        culprits=culprit,
        summary=f"rank {first.rank} raised {name}{': ' + message if message else ''}{where}, and has not exited",
        why=_why(facts, first, waiting),
        fix=_fix(raised),
        locations=(
            *((facts.location(culprit, site),) if site else ()),
            *facts.locations_of(culprit),
            *facts.locations_of(waiting),
        ),
        evidence=(*_in_time(facts, first), f"rank {first.rank}: {facts.state(first.rank).label}"),
        traceback=raised.traceback if raised else "",
        retry=retry_of(raised),
    )


def _fix(raised: Raised | None) -> str:
    if raised is not None and raised.type == "SystemExit":
        return (
            "Let all ranks decide together to end the program; call no collective in `finally:`, and make helper "
            "threads daemons."
        )
    return (
        "Fix the error in the traceback; call no collective in `finally:` or `except:`, and make helper threads "
        "daemons."
    )


def _in_time(facts: Facts, first: Failure) -> Iterator[str]:
    """Every exception that has not ended its rank, in the order of observation."""
    started = facts.evidence.timing.started
    for one in sorted(facts.masked, key=lambda one: (one.rank != first.rank, one.time)):
        name = one.raised.type if one.raised else "an exception"
        late = one.time - first.time
        when = f"{wording.seconds(abs(late))} {'later' if late >= 0 else 'before'}" if one is not first else ""
        yield f"rank {one.rank} raised {name} {when or f'{wording.seconds(one.time - started)} after the start'}"


def _confidence(facts: Facts, first: Failure) -> Confidence:
    """An exception may be handled correctly on a rank that waits for a third one: the diverging rank decides."""
    if first.victim:
        return Confidence.POSSIBLE
    own = RankSet.of([first.rank])
    told = divergences(facts)
    blamed = [divergence.culprits for divergence in told]
    over = _ended(facts, first)
    outside = blamed and not any(first.rank in culprits for culprits in blamed)
    if outside and not over and not _failed_together(facts, told):
        return Confidence.POSSIBLE
    if first.hidden:
        return Confidence.LIKELY
    stuck = first.rank in facts.graph.waits and first.rank in facts.graph.stuck
    parted = stuck and bool(blamed) and all(culprits == own for culprits in blamed) and _went_no_further(facts, first)
    # a rank without a page may have raised earlier
    alone = len(facts.masked) == 1 and not facts.evidence.without_history()
    return Confidence.CERTAIN if alone and (over or parted) else Confidence.LIKELY


def _failed_together(facts: Facts, told: tuple[Divergence, ...]) -> bool:
    """Several ranks failed and did nothing more, and they are those that diverged, even if they are the majority."""
    own = [one for one in facts.masked if not one.victim]
    together = RankSet.of(one.rank for one in own)
    side = any(together in (divergence.odd, divergence.reference) for divergence in told)
    return len(own) > 1 and side and all(_went_no_further(facts, one) for one in own)


def _went_no_further(facts: Facts, first: Failure) -> bool:
    """Nothing but the call that it is in followed the exception: the rank does not do its usual work in a handler."""
    page = facts.rank(first.rank).page
    return page is not None and sum(event.time > first.time for event in page.events) <= 1


def _why(facts: Facts, first: Failure, waiting: RankSet) -> str:
    own = (
        f"Rank {first.rank} is {holders.doing(facts, first.rank)} on its way out, so its traceback has not been printed"
    )
    later = [text[0].upper() + text[1:] + "." for text in _in_time(facts, first)][1:]
    verb = wording.verb(waiting, "waits", "wait")
    held = f"; {wording.ranks(waiting)} {verb} for it in {wording.waiting(facts, waiting)}" if waiting else ""
    return " ".join((f"{own}{held}.", *later))


def _ended(facts: Facts, first: Failure) -> bool:
    """The exception has left the main module: nothing can handle it any more."""
    page = facts.rank(first.rank).page
    return page is not None and page.ending is not None
