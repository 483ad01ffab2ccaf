"""# DD231 slow-host-work

## What
One rank is busy in Python (tokenizing, scanning files, a regular expression, a reward function) or sleeps for a fixed
time while the others wait.

## Why it hangs
It does not hang: the others wait in a collective until this rank arrives. Only if that takes longer than the group's
timeout does the job end, with an error that blames the collective.

## Example
    if dist.get_rank() == 0:
        prepare_dataset()                    # minutes
    dist.barrier()

## Fix
Do the work before the job, or once and store the result; split it over the ranks; raise
`init_process_group(timeout=...)` if it must stay. Set a time limit on work whose length depends on the data.

## When it is wrong
A busy loop that waits for something looks like work, and so does a loop that sleeps and looks again. A loop that sleeps
until a file appears or disappears is recognised. A data worker that is at work is shown with its own line, whether it
will ever be done or not.

## References
https://github.com/hiyouga/LlamaFactory/issues/2424 https://github.com/verl-project/verl/pull/6673
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked.compiling import compiling
from ddpdoctor.diagnose.blocked.data_workers import busy_workers
from ddpdoctor.diagnose.blocked.saving import saving_at
from ddpdoctor.diagnose.codes import SLOW_HOST_WORK
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.rank_state import Activity
from ddpdoctor.diagnose.divergence.early_returns import left_behind
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Rank, RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    left = left_behind(facts)
    behind = left[1] if left else RankSet()  # who asks again and again for what a rank that has ended was to bring
    working = (rank for rank in facts.blockers - behind if facts.state(rank).activity is Activity.WORKING)
    workers = RankSet.of(rank for rank in working if saving_at(facts, rank) is None and compiling(facts, rank) is None)
    if workers and facts.waiting:
        yield _diagnosis(facts, workers)


def _diagnosis(facts: Facts, workers: RankSet) -> Diagnosis:
    site = facts.state(workers.members[0]).site
    where = f" at {wording.place(site)}" if site else ""
    function = f" in {site.function}" if site else ""
    who = wording.ranks(workers)
    asleep = all(facts.state(rank).naps for rank in workers)
    does = wording.verb(workers, "sleeps", "sleep") if asleep else wording.verb(workers, "works", "work")
    busy = "asleep for a fixed time" if asleep else "busy"
    loading = [(rank, worker) for rank in workers for worker in busy_workers(facts, rank)[:1]]
    still = f"still {does}{function}{where}"
    if loading and len(workers) == 1:
        still = f"waits for its data worker {loading[0][1].pid}, which works at {loading[0][1].site_text()},"
    return diagnosis(
        SLOW_HOST_WORK,
        facts.waiting,
        confidence=Confidence.LIKELY,
        culprits=workers,
        summary=(
            f"{who} {still} while "
            f"{wording.ranks(facts.waiting)} {wording.verb(facts.waiting, 'waits', 'wait')} in "
            f"{wording.waiting(facts, facts.waiting)}"
        ),
        why=(
            f"This is slow, not a deadlock: {who} {wording.verb(workers, 'is', 'are')} {busy}, and the others can "
            "continue as soon as it arrives. If it takes longer than the process group's timeout, the job ends with "
            "an error that blames the collective."
        ),
        fix=(
            "Do this work before the job starts, store its result, or split it over the ranks; if it must stay, give "
            "init_process_group a longer timeout."
        ),
        locations=(
            *(facts.location([rank], one.site) for rank, one in loading if not facts.is_library(one.site.file)),
            *facts.locations_of(workers),
            *facts.locations_of(facts.waiting),
        ),
        evidence=tuple(line for rank in workers for line in _evidence(facts, rank)),
    )


def _evidence(facts: Facts, rank: Rank) -> Iterator[str]:
    seen = facts.rank(rank)
    motion = seen.motion
    if motion is None:
        return
    yield f"rank {rank}: {motion.cpu_share:.0%} of a core between two samples {wording.seconds(motion.seconds)} apart"
    if motion.lines_moved is Observed.YES:
        yield f"rank {rank}: its stack changed between the samples"
    state = facts.state(rank)
    if state.naps and state.site:
        yield f"rank {rank}: the line {wording.place(state.site)} sleeps for a fixed time, and wakes by itself"
    if facts.state(rank).holds_gil:
        yield f"rank {rank}: its heartbeat has stopped: one long call holds the interpreter's lock"
    for child in seen.children:
        if child.motion and child.motion.cpu_share >= 0.1:
            yield f"rank {rank}: its child {child.worker.pid} uses {child.motion.cpu_share:.0%} of a core"
