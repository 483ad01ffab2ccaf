"""# DD253 exception-masked

## What
A rank raised an exception, but its process does not end: a `finally:` or `except:` calls a collective, or a thread that
is no daemon, an atexit hook or a destructor keeps it alive. No traceback is printed.

## Why it hangs
The rank will never come to the collective that the others are in, and the launcher sees no failure.

## Example
    try:
        train()                              # raises on one rank
    finally:
        dist.barrier()                       # the others are in train()'s all_reduce

## Fix
Mend what the traceback says. Call no collectives in `finally:` or `except:`; make helper threads daemons.

## When it is wrong
An exception that is being handled on purpose, in an `except:` that legitimately communicates on all ranks, looks the
same. Only where this rank alone parted from the others, and there, it is `certain`; where the histories blame another
rank, or the exception says that a peer has gone, it is no more than `possible`.

## References
https://github.com/pytorch/torchtitan/issues/1342 https://github.com/pytorch/pytorch/issues/196968
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import frames, shapes, wording
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.failure import Failure
from ddpdoctor.diagnose.rule import Rule
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.evidence import Source
from ddpdoctor.model.ranks import RankSet

RULE = Rule(
    code="DD253",
    name="exception-masked",
    requires=frozenset({Source.PAGES}),
    excludes=("DD208", "DD251"),
    fixture="exception-masked",
    specificity=80,
    lint=("DD116",),
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    if facts.outcome is Outcome.HANG and facts.masked:
        blamed = RankSet.of(rank for story in shapes.stories(facts) for rank in story.culprits)
        first = min(facts.masked, key=lambda one: (one.victim, one.rank not in blamed, one.time))
        yield _diagnosis(facts, first)


def _diagnosis(facts: Facts, first: Failure) -> Diagnosis:
    culprit = RankSet.of([first.rank])
    raised = first.raised
    site = frames.innermost_user_frame(raised.frames) if raised else None
    waiting = facts.waiting - culprit
    confidence = _confidence(facts, first)
    name = raised.type if raised else "an exception"
    message = raised.message.strip().splitlines()[:1] if raised else []
    where = f" at {wording.place(site)}" if site else ""
    return Diagnosis(
        RULE.code,
        RULE.name,
        confidence,
        confidence,
        culprit,
        waiting,
        f"rank {first.rank} raised {name}{': ' + message[0][:160] if message else ''}{where}, and has not ended",
        _why(facts, first, waiting),
        "Mend what the traceback says; call no collective in `finally:` or `except:`, and make helper threads daemons.",
        (
            *((facts.location(culprit, site),) if site else ()),
            *facts.standing_locations(culprit),
            *facts.standing_locations(waiting),
        ),
        (
            f"rank {first.rank} raised {name} "
            f"{wording.seconds(first.time - facts.evidence.timing.started)} after the start",
            f"rank {first.rank}: {facts.standing(first.rank).label}",
        ),
        traceback=raised.traceback if raised else "",
    )


def _confidence(facts: Facts, first: Failure) -> Confidence:
    """An exception may be handled well, on a rank that waits for a third: who parted from the others decides."""
    if first.victim:
        return Confidence.POSSIBLE
    own = RankSet.of([first.rank])
    blamed = [story.culprits for story in shapes.stories(facts)]
    over = _ended(facts, first)
    if blamed and not over and not any(first.rank in culprits for culprits in blamed):
        return Confidence.POSSIBLE
    stuck = first.rank in facts.graph.waits and first.rank in facts.graph.stuck
    parted = stuck and bool(blamed) and all(culprits == own for culprits in blamed) and _went_no_further(facts, first)
    return Confidence.CERTAIN if len(facts.masked) == 1 and (over or parted) else Confidence.LIKELY


def _went_no_further(facts: Facts, first: Failure) -> bool:
    """Nothing but the call that it is in followed the exception: the rank does not do its usual work in a handler."""
    page = facts.rank(first.rank).page
    return page is not None and sum(event.time > first.time for event in page.events) <= 1


def _why(facts: Facts, first: Failure, waiting: RankSet) -> str:
    own = f"Rank {first.rank} is {facts.standing(first.rank).label} on its way out, so nobody has seen its traceback"
    if not waiting:
        return f"{own}."
    verb = wording.verb(waiting, "waits", "wait")
    return f"{own}; {wording.ranks(waiting)} {verb} for it in {wording.waiting(facts, waiting)}."


def _ended(facts: Facts, first: Failure) -> bool:
    """The exception has left the main module: nothing can handle it any more."""
    page = facts.rank(first.rank).page
    return page is not None and page.ending is not None
