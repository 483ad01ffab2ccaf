"""# DD222 threads-share-group

## What
Two threads of one process are inside collectives of one process group at the same time, or have issued them in
different orders on different ranks while the job went on: that is a warning, which `watch` tells on any backend.
Not reproduced here, as a hang: needs GPUs. Its diagnosis is tested on constructed evidence, and is `possible` at most.

## Why it hangs
The collectives of a group are paired by their order alone. The order of two threads is not determined, so one rank may
issue the background thread's operation first and another the training thread's. If their sizes or kinds differ, neither
finishes.

## Example
    threading.Thread(target=save_async).start()          # gathers the state over the default group
    loss.backward()                                      # reduces gradients over the default group

## Fix
Give the background thread a process group of its own (`dist.new_group`), made by the main thread, and use it nowhere
else. Wait for the thread before other code uses its group.

## When it is wrong
Two threads may share a group by agreement, and the hang may have another cause: that both are in it shows a danger, not
the order. If the operations at one position have different names, the report says DD220 instead.

## References
https://docs.pytorch.org/docs/stable/distributed.html https://github.com/verl-project/verl/issues/7423
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ddpdoctor.diagnose import wording
from ddpdoctor.diagnose.codes import THREADS_SHARE_GROUP
from ddpdoctor.diagnose.diagnosis import diagnosis
from ddpdoctor.diagnose.digest.rank_state import wait_label
from ddpdoctor.diagnose.digest.waits import Wait
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model.collectives import COLLECTIVE
from ddpdoctor.model.diagnosis import Confidence, Diagnosis, Outcome
from ddpdoctor.model.ranks import Group, Rank, RankSet


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    # a rank that does not wait is the nearer cause
    if facts.outcome is not Outcome.HANG or facts.blockers:
        return
    for group, shared in _shared(facts).items():
        # other names at one position: a disorder that can be seen
        if not any(wait.mismatched for waits in shared.values() for wait in waits):
            yield _diagnosis(facts, group, shared)


def _shared(facts: Facts) -> Mapping[Group, Mapping[Rank, tuple[Wait, ...]]]:
    """For each group the ranks of which two threads are in it, with those waits."""
    found: dict[Group, dict[Rank, tuple[Wait, ...]]] = {}
    for rank, waits in facts.graph.waits.items():
        for group in dict.fromkeys(wait.group for wait in waits if wait.group and wait.kind in COLLECTIVE):
            inside = tuple(wait for wait in waits if wait.group == group and wait.kind in COLLECTIVE)
            if len({wait.thread for wait in inside}) > 1:
                found.setdefault(group, {})[rank] = inside
    return found


def _diagnosis(facts: Facts, group: Group, shared: Mapping[Rank, tuple[Wait, ...]]) -> Diagnosis:
    who = RankSet.of(shared)
    label = group.label(facts.evidence.world_size)
    sites = dict.fromkeys(wait.site for waits in shared.values() for wait in waits if wait.site)
    return diagnosis(
        THREADS_SHARE_GROUP,
        facts.waiting,
        confidence=Confidence.POSSIBLE,
        summary=f"two threads of {wording.ranks(who)} are in collectives of {label} at the same time",
        why=(
            "Collectives of a group are paired by their order, and the order of two threads is not determined: it may "
            "differ between ranks. No rank is missing."
        ),
        fix="Give the background thread a process group of its own (dist.new_group) and do not use it elsewhere.",
        locations=tuple(
            facts.location([rank for rank, waits in shared.items() if any(w.site == site for w in waits)], site)
            for site in sites
        ),
        evidence=tuple(
            f"rank {w.rank}, thread {w.thread}: {wait_label(w)} at {wording.place(w.site)}"
            for waits in shared.values()
            for w in waits
        ),
    )
