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
same; without the histories that part there it is only `likely`.

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
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    if facts.outcome is Outcome.HANG and facts.masked:
        yield _diagnosis(facts, facts.masked[0])


def _diagnosis(facts: Facts, first: Failure) -> Diagnosis:
    culprit = RankSet.of([first.rank])
    raised = first.raised
    site = frames.innermost_user_frame(raised.frames) if raised else None
    waiting = facts.waiting - culprit
    stuck = first.rank in facts.graph.waits and first.rank in facts.graph.stuck
    parted = any(first.rank in story.actors | story.others for story in shapes.stories(facts))
    over = first.status is None and _ended(facts, first)
    confidence = Confidence.CERTAIN if len(facts.masked) == 1 and (over or (stuck and parted)) else Confidence.LIKELY
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
