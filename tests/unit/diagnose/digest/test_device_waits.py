"""On NCCL a process continues after launching a collective: ranks that block where they need its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from ddpdoctor.diagnose.digest.open_operations import Positions
from ddpdoctor.diagnose.digest.waits import find_waits
from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Deadlock, Diagnosis, Outcome
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.progress import Event, EventKind
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread
from tests.unit.diagnose import stories
from tests.unit.diagnose.builders import Act, At, Doing, job

AT = At()
STEP = AT.step(3)
ITEM = AT.line(7)
REPORT = stories.AT.line(20)
CODE = {
    AT.file: """

for batch in loader:
    loss = model(batch)
    loss.backward()
    optimizer.step()
    total += loss.item()
    look()
barrier()
"""
}


def _spins(acts: Sequence[Act]) -> Doing:
    """A rank in `loss.item()`: in no communication, with a whole core in use and its line unchanged."""
    return Doing(acts, blocked=False, stands=ITEM, cpu_share=1.0)


def _job(doing: Sequence[Doing], open_ones: Mapping[int, int], **how: object) -> Evidence:
    """A job on NCCL; by rank, how many of its last operations its GPU has not finished."""
    evidence = job(doing, code=CODE, backend="nccl", **how)  # type: ignore[arg-type]
    return replace(evidence, ranks=tuple(_open(rank, open_ones.get(rank.rank, 0)) for rank in evidence.ranks))


def _open(rank: RankEvidence, count: int) -> RankEvidence:
    if rank.recorder is None or not count:
        return rank
    entries = list(rank.recorder.entries)
    entries[-count:] = [replace(entry, state="started", retired=False) for entry in entries[-count:]]
    return replace(rank, recorder=replace(rank.recorder, entries=tuple(entries)))


def _first(evidence: Evidence, outcome: Outcome = Outcome.HANG) -> Diagnosis:
    report = examine(evidence)
    assert (report.outcome, report.deadlock) == (outcome, _suspected(outcome))
    assert all(found.confidence is not Confidence.CERTAIN for found in report.diagnoses)
    return report.diagnoses[0]


def _suspected(outcome: Outcome) -> Deadlock:
    return Deadlock.SUSPECTED if outcome is Outcome.HANG else Deadlock.NO


def test_a_rank_at_a_prompt_is_waited_for_by_those_that_need_their_loss() -> None:
    asks = Doing([AT.next(3)], blocked=False, stands=AT.line(8))
    evidence = _job([_spins(STEP), asks, _spins(STEP)], {0: 1, 2: 1})
    asking = evidence.ranks[1]
    prompt = (
        Site("/usr/lib/python3.11/cmd.py", 126, "Cmd.cmdloop"),
        Site("/usr/lib/python3.11/pdb.py", 397, "Pdb._cmdloop"),
    )
    stacks = Stacks(StackSource.PYSPY, (Thread(asking.worker.pid, "MainThread", (*prompt, AT.line(8))),))
    ranks = evidence.ranks[0], replace(asking, stacks=stacks), evidence.ranks[2]
    found = _first(replace(evidence, ranks=ranks))
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD241", (1,), 8)


def test_a_rank_that_works_is_slow_and_those_that_spin_are_not() -> None:
    works = Doing([AT.next(3)], blocked=False, stands=AT.line(8), cpu_share=1.0, moves=True)
    found = _first(_job([_spins(STEP), works, _spins(STEP)], {0: 1, 2: 1}), Outcome.SLOW)
    assert (found.code, found.culprits.members) == ("DD231", (1,))


def test_a_rank_that_left_the_loop() -> None:
    leaves = Doing([*STEP, *STEP, AT.stop(3), AT.all("barrier", 9)])
    rest = _spins([*STEP, *STEP, *STEP])
    found = _first(_job([rest, leaves, rest], {0: 1, 1: 1, 2: 1}))
    assert (found.code, found.culprits.members, found.locations[0].line) == ("DD201", (1,), 3)


def test_all_in_one_collective_is_the_transport() -> None:
    found = _first(_job([_spins(STEP)] * 3, {0: 1, 1: 1, 2: 1}))
    assert (found.code, found.culprits.members) == ("DD271", ())
    # THEN it stays open whether a GPU computes for ever instead: only the hardware can tell
    assert found.confidence is Confidence.POSSIBLE


def test_groups_in_another_order_though_every_process_has_launched_both() -> None:
    def uses(order: str) -> Doing:
        sums = [AT.all("all_reduce", 6, group=group, function="synchronize") for group in order]
        return _spins([*STEP, *sums])

    groups = {"a": range(3), "b": range(3)}
    evidence = _job([uses("ab"), uses("ba"), uses("ab")], {0: 2, 1: 2, 2: 2}, groups=groups)
    positions = Positions(evidence)
    waits = [wait for rank in evidence.ranks for wait in find_waits(positions, rank)]
    assert [(wait.group.name if wait.group else "", wait.needs.members) for wait in waits] == [
        ("a", (1,)),
        ("b", (0, 2)),
        ("a", (1,)),
    ]
    found = _first(evidence)
    assert (found.code, found.culprits.members) == ("DD220", (1,))


def test_what_gloo_has_in_the_background_holds_nobody() -> None:
    evidence = job([_spins(STEP)] * 3, code=CODE)
    ranks = tuple(_open(rank, 1) for rank in evidence.ranks)
    assert examine(replace(evidence, ranks=ranks)).outcome is Outcome.HEALTHY


def test_a_rank_that_goes_on_does_not_wait() -> None:
    moving = Doing(STEP, blocked=False, stands=ITEM, cpu_share=1.0, moves=True)
    assert examine(_job([moving] * 3, {0: 1, 1: 1, 2: 1})).outcome is Outcome.HEALTHY


def _on_nccl(evidence: Evidence) -> Evidence:
    """The same job on NCCL: only a barrier holds a process, any other is at the line that reads the loss."""
    ranks = []
    for rank in evidence.ranks:
        assert rank.page is not None
        assert rank.recorder is not None
        assert rank.motion is not None
        entries = tuple(replace(entry, backend="nccl") for entry in rank.recorder.entries)
        page = replace(rank.page, backend="nccl")
        seen = replace(rank, page=page, recorder=replace(rank.recorder, entries=entries))
        if page.calls[0].op != "barrier":
            stacks = Stacks(
                StackSource.PYSPY_NONBLOCKING, (Thread(rank.worker.pid, "MainThread", (REPORT, stories.MAIN)),)
            )
            update = Event(len(page.events), EventKind.OPTIMIZER_STEP, 90.0, rank.worker.pid, stories.AT.line(13))
            page = replace(page, calls=(), events=(*page.events, update))
            seen = replace(seen, page=page, stacks=stacks, motion=replace(rank.motion, cpu_seconds=1.0))
        ranks.append(seen)
    return replace(evidence, ranks=tuple(ranks))


@pytest.mark.parametrize("odd", [0, 2])
@pytest.mark.parametrize(
    "strange",
    [
        stories.ran_out,
        stories.left_early,
        stories.skipped,
        stories.skipped_forward,
        stories.without_sync,
        stories.saves_alone,
    ],
)
def test_the_same_causes_as_on_gloo_and_never_certain(strange: Callable[[], Doing], odd: int) -> None:
    told = stories.among(4, odd, strange)
    known, found = examine(told).diagnoses[0], _first(_on_nccl(told))
    assert (found.code, found.culprits) == (known.code, known.culprits)
    assert found.locations[0].line == known.locations[0].line
