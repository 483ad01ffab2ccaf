"""# DD254 teardown-hang

## What
All work is done, but a process does not exit: a non-daemon thread, an atexit hook, a destructor, or
`destroy_process_group()` waits for something.

## Why it hangs
Before it exits, the interpreter joins every non-daemon thread and runs every exit hook. The launcher waits for the
process, and the scheduler waits for the launcher.

## Example
    uploader = threading.Thread(target=send_all)     # waits in queue.get() for ever
    uploader.start()
    train()                                          # the uploader is never told to stop

    queue.put(table)                                 # a multiprocessing.Queue whose reader has ended

    results.join()                                   # a thread has not called task_done() for each item

## Fix
Stop and join helper threads, or make them daemons. Give exit hooks a time limit. Destroy process groups on all ranks,
in the same order.

## When it is wrong
A thread that is still uploading or writing keeps its process alive on purpose; if it is busy, nothing is reported.

## References
https://github.com/pytorch/pytorch/issues/75097 https://github.com/pytorch/pytorch/issues/119215
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked.interpreter_exit import in_queue, is_leaving, is_over, kept_by, made_queue, stays_behind
from ddpdoctor.diagnose.codes import TEARDOWN_HANG
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.ranks import RankSet

_FIX = (
    "Stop and join the thread, or make it a daemon; set a time limit on exit hooks; call destroy_process_group() on "
    "all ranks."
)
_BEFORE_EXIT = (
    "Before a process exits, the interpreter joins every non-daemon thread and runs the exit hooks; one of these does "
    "not return"
)
_JOINED = "The thread that writes into a queue is joined, and does not end"
_QUEUE_WHY = (
    ": that of a multiprocessing.Queue waits until all that was put into it has gone through its pipe, and the process "
    "that read it has ended or reads no more."
)
_QUEUE_FIX = (
    "Let the reader read on until the last process has put its last item, or call cancel_join_thread() on the queue if "
    "its items may be lost."
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    if facts.outcome is not Outcome.HANG or facts.masked:
        return
    leaving = RankSet.of(rank for rank in facts.states if is_leaving(facts, rank))
    left = facts.doing(Activity.EXITED)
    if leaving and leaving | left == RankSet.of(facts.states):
        yield _diagnosis(facts, leaving, left)
    behind = RankSet.of(rank for rank in facts.states if rank not in leaving and stays_behind(facts, rank))
    if behind and behind | leaving | left == RankSet.of(facts.states):
        yield _behind(facts, behind, left)


def _behind(facts: Facts, behind: RankSet, left: RankSet) -> Diagnosis:
    first = behind.members[0]
    site, who = facts.state(first).site, wording.ranks(behind)
    waits = wording.verb(behind, "waits", "wait")
    return diagnosis(
        TEARDOWN_HANG,
        RankSet(),
        confidence=Confidence.LIKELY,
        culprits=behind,
        summary=f"{who} {waits} for a thread of its own at {wording.place(site)}, and all others have ended",
        why=(
            f"{wording.ranks(left).capitalize()} exited without an error. {who.capitalize()} made the same last call "
            f"as {wording.verb(left, 'that one', 'these')}, so nothing is left that ranks do together; a thread does "
            "not do what is waited for."
        ),
        fix=(
            "Let the thread report each item as done, whatever becomes of it (`task_done()` in a `finally`), and wait "
            "with a time limit."
        ),
        locations=facts.locations_of(behind),
        evidence=tuple(f"rank {rank}: {facts.state(rank).label}" for rank in (*behind, *left)),
    )


def _diagnosis(facts: Facts, leaving: RankSet, left: RankSet) -> Diagnosis:
    first = leaving.members[0]
    who, queue = wording.ranks(leaving), in_queue(facts, first)
    kept = None if queue else kept_by(facts, first)
    asked = queue and not is_over(facts, first)
    site = kept[1] if kept else (queue and not asked and made_queue(facts)) or facts.state(first).site
    by = f" for {kept[0]} at {wording.place(site)}" if kept else f" at {wording.place(site)}"
    by = " until its multiprocessing.Queue is read" if queue else by
    return diagnosis(
        TEARDOWN_HANG,
        RankSet(),
        confidence=Confidence.LIKELY,
        culprits=leaving,
        summary=f"{who} {wording.verb(leaving, 'is', 'are')} done and cannot exit, waiting{by}",
        why=(
            f"No rank has work left{f', {wording.ranks(left)} exited already' if left else ''}. "
            f"{_JOINED if asked else _BEFORE_EXIT}{_QUEUE_WHY if queue else '.'}"
        ),
        fix=_QUEUE_FIX if queue else _FIX,
        locations=(
            *((facts.location([first], site),) if site else ()),
            *facts.locations_of(leaving),
        ),
        evidence=tuple(f"rank {rank}: {facts.state(rank).label}" for rank in (*leaving, *left)),
    )
