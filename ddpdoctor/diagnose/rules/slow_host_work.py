"""One rank works in Python for a long time while the others wait for it: slow, not dead.

What happens
    A rank tokenizes, scans, downloads, post-processes or evaluates, typically rank 0 before a barrier, and the
    others have nothing to do but wait.

Why it hangs
    It does not: the others go on as soon as the work is done. But the group's timeout (10 minutes on NCCL, 30 on
    gloo) may strike first, and every waiting accelerator is paid for.

Example
    if rank == 0:
        tokenize(corpus)      # 25 minutes
    dist.barrier()

Fix
    Do the work before the launch or on all ranks, or give the waiting group a longer `timeout=`.

When it is wrong
    A loop that never ends also works. If the same line is reported again and again with nothing else moving,
    look at its exit condition.

References
    hiyouga/LlamaFactory#2424, axolotl-ai-cloud/axolotl#2684.
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.rule import Rule
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import RankEvidence, Source
from ddpdoctor.model.ranks import RankSet

RULE = Rule(
    "DD231",
    "slow-host-work",
    frozenset({Source.PROCESSES, Source.STACKS}),
    neighbours=("DD232", "DD242"),
    lint=("DD151",),
    fixture="slow-host-work",
)

#: Half a core over the time between two samples is work, not a poll loop or a heartbeat.
WORKING_CPU_SHARE = 0.5


def is_working(rank: RankEvidence) -> bool:
    """Did the rank or one of its children use processor time between the two samples?"""
    motions = [rank.motion, *(child.motion for child in rank.children)]
    return any(m is not None and m.cpu_share >= WORKING_CPU_SHARE for m in motions)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    if facts.graph.stuck - facts.graph.gone:
        return
    seen = [r for r in facts.evidence.ranks if r.rank in facts.graph.blockers() and r.exit is None]
    working = [r for r in seen if is_working(r)]
    if not working:
        return
    culprits = RankSet.of(r.rank for r in working)
    waiting = facts.graph.waiting()
    places = facts.locations_of(culprits)
    where = f" at {places[0].file.rpartition('/')[2]}:{places[0].line} in {places[0].function}" if places else ""
    shares = ", ".join(f"rank {r.rank}: {r.motion.cpu_share:.0%} of a core" for r in working if r.motion)
    yield RULE.finding(
        culprits=culprits,
        waiting=waiting,
        confidence=Confidence.LIKELY,
        culprit_confidence=Confidence.CERTAIN,
        summary=f"rank {culprits} is working{where}; rank {waiting} waits for it",
        why="The others cannot go on before it enters their collective. It is busy, so this is slow and not dead.",
        fix="Do this work before the launch, share it among the ranks, or give the waiting group a longer timeout=.",
        locations=(*places, *facts.locations_of(waiting)),
        evidence=(f"processor time between two samples: {shares}",),
    )
