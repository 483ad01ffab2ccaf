"""A group with members that are no ranks of this job."""

from __future__ import annotations

from dataclasses import replace

from ddpdoctor.diagnose.engine import examine
from ddpdoctor.model.diagnosis import Confidence, Diagnosis
from ddpdoctor.model.evidence import Evidence
from tests.unit.diagnose.builders import At, Doing, job

AT = At()
SENDS = Doing([AT.next(3), AT.all("all_reduce", 9), AT.all("broadcast", 12, group="sync")])
WITH_SERVERS = {"sync": (0, 1, 2, 3)}
BESIDE = Doing([AT.next(3), AT.all("all_reduce", 9), AT.all("barrier", 14)])


def _found(evidence: Evidence) -> list[Diagnosis]:
    return [found for found in examine(evidence).diagnoses if found.code == "DD265"]


def test_the_trainer_waits_for_servers() -> None:
    (found,) = _found(job([SENDS, SENDS], groups=WITH_SERVERS, backend="nccl"))
    assert (found.confidence, found.culprits.members, found.waiting.members) == (Confidence.POSSIBLE, (), (0, 1))
    assert "its members 2-3 are no ranks of this job" in found.summary


def test_one_rank_talks_to_the_server_and_the_others_wait_for_it() -> None:
    (found,) = _found(job([SENDS, BESIDE], groups={"sync": (0, 2)}, backend="nccl"))
    assert "rank 0 waits" in found.summary
    assert "its member 2 is no rank of this job" in found.summary


def test_a_group_of_this_job() -> None:
    assert not _found(job([SENDS, SENDS], groups={"sync": (0, 1)}, backend="nccl"))


def test_ranks_that_nobody_saw() -> None:
    evidence = job([SENDS, SENDS], groups=WITH_SERVERS, backend="nccl")
    assert not _found(replace(evidence, world_size=4))
    assert not _found(replace(evidence, size_known=False))


def test_a_rank_of_this_job_that_has_not_come() -> None:
    late = Doing([AT.next(3), AT.all("all_reduce", 9)], blocked=False, stands=AT.line(11))
    assert not _found(job([SENDS, late], groups=WITH_SERVERS, backend="nccl"))


def test_a_rank_of_this_job_in_another_group() -> None:
    assert not _found(job([SENDS, BESIDE], groups=WITH_SERVERS, backend="nccl"))
