"""Dumps with stacks: the dumps show for which rank the others wait, the stack shows what that rank does."""

from __future__ import annotations

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.collectives import Recorder, RecorderEntry
from ddpdoctor.model.diagnosis import Confidence, Outcome
from ddpdoctor.model.evidence import Evidence, RankEvidence, Timing
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.ranks import Group, Rank, RankSet, Role, Worker
from ddpdoctor.model.stacks import Site, Stacks, StackSource, Thread

EVERYONE = Group("0", (Rank(0), Rank(1), Rank(2)), "default_pg")
LINE = Site("/job/train.py", 14, "main")


def rank(number: int, *entries: RecorderEntry, stacks: Stacks | None = None) -> RankEvidence:
    worker = Worker(100 + number, 0.0, Role.RANK, Rank(number))
    return RankEvidence(Rank(number), worker, recorder=Recorder("2.10", entries, (EVERYONE,)), stacks=stacks)


def entry(seq: int, *, done: bool = True, op: str = "all_reduce") -> RecorderEntry:
    state = "completed" if done else "scheduled"
    return RecorderEntry(seq, op, "nccl", "0", ((4,),), ("Float",), 0, state, done, LINE)


def evidence(*ranks: RankEvidence) -> Evidence:
    return Evidence(3, ranks, Timing(0.0, 0.0, 0.0, 0.0), reported_hanging=True)


def stack(*frames: Site) -> Stacks:
    return Stacks(StackSource.PYSPY, (Thread(102, "MainThread", frames, active=Observed.NO),))


def test_recorders_alone_name_the_rank_that_is_missing() -> None:
    report = examine(
        evidence(rank(0, entry(1), entry(2, done=False)), rank(1, entry(1), entry(2, done=False)), rank(2, entry(1)))
    )
    assert report.outcome is Outcome.HANG
    assert [(d.code, d.culprits) for d in report.diagnoses] == [("DD299", RankSet.of([2]))]
    assert [status.label for status in report.ranks[:2]] == ["all_reduce seq 2"] * 2


def test_a_stack_that_tells_the_cause_comes_first() -> None:
    network = stack(Site("/usr/lib/python3.11/ssl.py", 1159, "read"), Site("/job/train.py", 20, "main"))
    waiting = [rank(n, entry(1), entry(2, done=False)) for n in (0, 1)]
    report = examine(evidence(*waiting, rank(2, entry(1), stacks=network)))
    assert (report.diagnoses[0].code, report.diagnoses[0].culprits) == ("DD233", RankSet.of([2]))


def test_a_mismatch_is_told_beside_stacks() -> None:
    waiting = [rank(n, entry(1, done=False)) for n in (0, 1)]
    report = examine(evidence(*waiting, rank(2, entry(1, done=False, op="barrier"))))
    first = report.diagnoses[0]
    assert (first.code, first.culprits, first.confidence) == ("DD213", RankSet.of([2]), Confidence.LIKELY)
