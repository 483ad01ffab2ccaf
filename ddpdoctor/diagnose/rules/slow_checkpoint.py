"""# DD232 slow-checkpoint

## What
A rank writes a checkpoint, exports or uploads something, and the others wait for it in a collective.

## Why it hangs
It does not hang: as soon as the file is written, all ranks continue. But the others' wait counts towards the process
group's timeout, and when that expires, the error names the collective, not the file system.

## Example
    if rank == 0:
        torch.save(model.state_dict(), "/mnt/archive/step.pt")      # minutes
    dist.barrier()

## Fix
Write asynchronously or from all ranks (torch.distributed.checkpoint), first to a local disk. Give the barrier a group
with a longer timeout.

## When it is wrong
That the rank is writing is inferred from the names of the functions it is in. Other slow work under such a name looks
the same.

## References
https://github.com/meta-pytorch/torchtune/issues/2093 https://github.com/deepspeedai/DeepSpeed/issues/7533
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.blocked.saving import saving_at, written
from ddpdoctor.diagnose.codes import SLOW_CHECKPOINT
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Rank, RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    saving = {rank: site for rank in facts.blockers if (site := saving_at(facts, rank))}
    if saving and facts.waiting:
        yield _diagnosis(facts, RankSet.of(saving))


def _diagnosis(facts: Facts, savers: RankSet) -> Diagnosis:
    who = wording.ranks(savers)
    waiting = facts.waiting - savers
    place = facts.state(savers.members[0]).site
    return diagnosis(
        SLOW_CHECKPOINT,
        waiting,
        confidence=Confidence.LIKELY,
        culprits=savers,
        summary=(
            f"{who} still {wording.verb(savers, 'writes', 'write')} at {wording.place(place)} while "
            f"{wording.ranks(waiting)} {wording.verb(waiting, 'waits', 'wait')} in {wording.waiting(facts, waiting)}"
        ),
        why=(
            f"This is slow, not a deadlock: {who} {wording.verb(savers, 'is', 'are')} busy, and the others continue "
            "when it is done. If that takes longer than the process group's timeout, the job ends with an error that "
            "blames the collective."
        ),
        fix=(
            "Write asynchronously, or from all ranks (torch.distributed.checkpoint), or to a local disk first; or "
            "give the group of that barrier a longer timeout."
        ),
        locations=(*facts.locations_of(savers), *facts.locations_of(waiting)),
        evidence=tuple(line for rank in savers for line in _evidence(facts, rank)),
    )


def _evidence(facts: Facts, rank: Rank) -> Iterator[str]:
    yield f"rank {rank}: {facts.state(rank).label}"
    motion = facts.rank(rank).motion
    if motion and written(facts, rank):
        yield f"rank {rank}: {motion.io_bytes} bytes read or written within {wording.seconds(motion.seconds)}"
    if motion and motion.lines_moved is Observed.YES:
        yield f"rank {rank}: its stack changed between the samples"
