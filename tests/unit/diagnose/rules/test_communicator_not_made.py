"""Ranks that stand in NCCL's making of a communicator, of a group that never did anything."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Evidence, RankEvidence
from ddpdoctor.model.stacks import Site, Thread
from tests.unit.diagnose.builders import At, Doing, job

AT = At()
NATIVE = (Site("libc.so.6", 0, "__poll"), Site("libnccl.so.2", 0, "ncclCommInitRankConfig"))
FIRST = Doing([AT.all("barrier", 4, group="d")])
GROUPS = {"d": range(3)}


def _starting(evidence: Evidence, *, native: tuple[Site, ...] = NATIVE) -> Evidence:
    """The first operation of the group: no recorder has it before its communicator is there."""
    return replace(evidence, ranks=tuple(_in_native(rank, native) for rank in evidence.ranks))


def _in_native(rank: RankEvidence, native: tuple[Site, ...]) -> RankEvidence:
    assert rank.recorder is not None
    assert rank.stacks is not None
    entries = tuple(entry for entry in rank.recorder.entries if entry.retired)
    threads = [rank.stacks.threads[0], Thread(rank.worker.pid + 7, "", native)]
    stacks = replace(rank.stacks, threads=tuple(threads))
    return replace(rank, recorder=replace(rank.recorder, entries=entries), stacks=stacks)


def _found(evidence: Evidence) -> list[Diagnosis]:
    return [found for found in examine(evidence).diagnoses if found.code == "DD273"]


def test_all_are_there_and_the_communicator_is_not() -> None:
    (found,) = _found(_starting(job([FIRST] * 3, groups=GROUPS, backend="nccl")))
    assert (found.confidence, found.culprits.members) == (Confidence.POSSIBLE, ())
    assert "ranks 0-2 make the communicator of group 'd'" in found.summary
    assert found.evidence[0] == "rank 0: ncclCommInitRankConfig"


def test_native_frames_in_the_threads_own_stack() -> None:
    evidence = _starting(job([FIRST] * 3, groups=GROUPS, backend="nccl"))
    ranks = []
    for rank in evidence.ranks:
        assert rank.stacks is not None
        main = rank.stacks.threads[0]
        whole = replace(main, frames=(*NATIVE, *main.frames))
        ranks.append(replace(rank, stacks=replace(rank.stacks, threads=(whole,))))
    assert len(_found(replace(evidence, ranks=tuple(ranks)))) == 1


def test_a_group_that_has_worked_before() -> None:
    used = Doing([AT.all("barrier", 3, group="d"), AT.all("barrier", 4, group="d")])
    assert not _found(_starting(job([used] * 3, groups=GROUPS, backend="nccl")))


def test_no_native_frames() -> None:
    assert not _found(_starting(job([FIRST] * 3, groups=GROUPS, backend="nccl"), native=(Site("x", 0, "__poll"),)))


def test_a_member_that_has_not_come() -> None:
    late = Doing([], blocked=False, stands=AT.line(3))
    assert not _found(_starting(job([FIRST, late, FIRST], groups=GROUPS, backend="nccl")))


def test_a_history_that_is_lost_shows_no_beginning() -> None:
    evidence = _starting(job([FIRST] * 3, groups=GROUPS, backend="nccl"))
    ranks = []
    for rank in evidence.ranks:
        assert rank.recorder is not None
        ranks.append(replace(rank, recorder=replace(rank.recorder, truncated=True)))
    assert not _found(replace(evidence, ranks=tuple(ranks)))
