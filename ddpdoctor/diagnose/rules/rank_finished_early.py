"""A rank ended with status 0 while others still wait for it.

What happens
    One rank leaves `main` (nothing to do for its part, an early `return`, `sys.exit(0)`), the launcher sees a
    success, and the others go on.

Why it hangs
    torchrun takes status 0 for success and lets the rest run. They wait in a collective, or in the creation of a
    group, for a member that no longer exists.

Example
    if not shard:
        return 0
    group = dist.new_group(ranks)

Fix
    Let every rank take part in every collective up to `destroy_process_group`, with empty input if need be.

When it is wrong
    A rank that legally ends first, after its last collective: nobody waits for it, and nothing is reported.

References
    torch.distributed.elastic: a worker that exits with 0 is not a failure.
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.diagnose import source
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.diagnose.rule import Rule
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Diagnosis, Location
from ddpdoctor.model.evidence import Source
from ddpdoctor.model.ranks import RankSet

RULE = Rule(
    "DD252",
    "rank-finished-early",
    frozenset({Source.EXITS}),
    neighbours=("DD251",),
    lint=("DD112",),
    fixture="rank-finished-early",
)


def diagnose(facts: Facts) -> Iterator[Diagnosis]:
    finished = RankSet.of(r.rank for r in facts.evidence.ranks if r.exit is not None and r.exit.status == 0)
    awaited = RankSet.of(t for edge in facts.graph.edges for t in edge.targets if t in finished)
    if not awaited:
        return
    waiting = RankSet.of(e.wait.rank for e in facts.graph.edges if any(t in awaited for t in e.targets))
    first = facts.wait(waiting.members[0])
    operation = first.label() if first else "a collective"
    proven = facts.graph.deadlock is Deadlock.PROVEN
    yield RULE.finding(
        culprits=awaited,
        waiting=waiting,
        confidence=Confidence.CERTAIN if proven else Confidence.LIKELY,
        culprit_confidence=Confidence.CERTAIN if proven else Confidence.LIKELY,
        summary=f"rank {awaited} has ended with status 0; rank {waiting} waits for it in {operation}",
        why="A launcher takes status 0 for success and lets the others run on, but their operation needs every member.",
        fix="Keep every rank in the job up to destroy_process_group: join the collectives with empty input.",
        locations=(*_early_return(facts, awaited, waiting), *facts.locations_of(waiting)),
        evidence=(f"rank {awaited}: exit status 0, recorded by its parent",),
    )


def _early_return(facts: Facts, finished: RankSet, waiting: RankSet) -> tuple[Location, ...]:
    """The one `return` before the line where the others stand, in a function that they are in, if there is just one."""
    rank = waiting.members[0]
    for frame in facts.frames(rank):
        start = source.function_start(facts.evidence.code, frame)
        if start is None:
            continue
        lines = source.departures(facts.evidence.code, frame.file, start, frame.line)
        if len(lines) == 1:
            where = type(frame)(frame.file, lines[0], frame.function)
            return (facts.location(finished, where),)
    return ()
